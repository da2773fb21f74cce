/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_judge.c - is this what a run of a random trace must come to
 */
#include "testbench/tb_judge_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "models/recovery.h"
#include "models/requester.h"
#include "sim/netlist.h"
#include "testbench/tb_file.h"

#define TEXT_LEN 1200u

const char *judge_wrong(const char *fmt, ...)
{
	static char text[TEXT_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return text;
}

/* What a request must end with if nothing goes wrong before. */
static uint8_t due_status(const struct ref_wr *w)
{
	return w->r.kind == REC_POST && w->r.wr_id >= GEN_WRONG &&
			       w->r.wr_id < GEN_WRONG + WC_STATUSES
		       ? (uint8_t)(w->r.wr_id - GEN_WRONG)
		       : WC_SUCCESS;
}

/* ---- running ---- */

bool tb_case_run_spoilt(struct tb_case *c, uint64_t seed, const struct gen_want *want,
			const char *const *sets, enum step_order order, bool every_cycle,
			void (*spoil)(struct tb_case *c))
{
	struct tb_run_how how = { .sets = sets, .order = order, .every_cycle = every_cycle };
	struct err e = { 0 };
	const char *path;

	memset(c, 0, sizeof(*c));
	gen_make(&c->gen, seed, want);
	path = tb_write("case.trace", c->gen.trace, strlen(c->gen.trace));
	how.trace = path;
	how.ini = c->gen.ini;
	how.no_checkers = !c->gen.is_checked;
	how.keep_packets = true;
	if (!tb_run_open(&c->run, &how) || !ref_open(&c->ref, path, &e)) {
		if (e.is_set)
			c->run.err = e;
		return false;
	}
	for (uint32_t i = 0; i < c->ref.n_wr; i++)
		c->ref.wr[i].is_refused = due_status(&c->ref.wr[i]) != WC_SUCCESS;
	tb_watch(&c->watch, &c->run);
	c->events = tb_events_watch(&c->run);
	c->seen = seen_watch(c);
	if (spoil)
		spoil(c);
	c->status = tb_run_go(&c->run);
	oplog_flush(c->run.r.system->oplog);
	return true;
}

bool tb_case_run(struct tb_case *c, uint64_t seed, const struct gen_want *want,
		 const char *const *sets, enum step_order order, bool every_cycle)
{
	return tb_case_run_spoilt(c, seed, want, sets, order, every_cycle, NULL);
}

void tb_case_close(struct tb_case *c)
{
	tb_run_close(&c->run);
	tb_watch_release(&c->watch);
	tb_events_release(c->events);
	seen_release(c->seen);
	ref_close(&c->ref);
	gen_free(&c->gen);
}

const char *tb_case_refer(struct tb_case *c)
{
	/* what is judged by other rules than equality */
	static const char *const apart[] = { "cnt0", "tkt0", "ltg0", "llo0", "lrv0", "jnk0" };

	if (!ref_outcome(&c->ref, c->watch.rows, c->watch.n_rows))
		return judge_wrong("a row of a request that is not in the trace");
	for (uint32_t h = 0; h < 2; h++) {
		for (size_t i = 0; i < ARRAY_LEN(apart); i++) {
			uint32_t mr = ref_find_mr(&c->ref, h, apart[i]);

			if (mr != TRACE_NONE)
				ref_forget(&c->ref, mr);
		}
	}
	ref_run(&c->ref);
	return NULL;
}

/* ---- the run ---- */

/*
 * Records are left, which is as it must be when they are receives of a QP whose peer has given up,
 * or of an unreliable one to which too little came.
 */
static bool waits_for_the_dead(const struct tb_case *c)
{
	bool has_failed = !c->gen.is_sure;

	for (uint32_t i = 0; i < c->ref.n_wr; i++)
		has_failed |= c->ref.wr[i].is_error;
	for (uint32_t i = 0; i < c->run.trace->n_qps; i++)
		has_failed |= c->ref.qp[i].is_killed;
	return has_failed && c->status == EXIT_BAD_INPUT && !c->run.r.system->err.is_set &&
	       strstr(c->run.err.text, "waits for room in the receive queue");
}

static const char *judge_run(const struct tb_case *c)
{
	uint32_t host = 0, qp = 0;

	if (c->status == EXIT_STALLED) {
		system_unfinished(c->run.r.system, &host, &qp);
		return judge_wrong("stuck at %" PRIu64 " ps: h%" PRIu32 ".%s", c->run.r.sim.now_ps,
				   host, c->run.trace->qps[qp].name);
	}
	if (c->status != EXIT_OK && !waits_for_the_dead(c))
		return judge_wrong("the run ended with status %d: %s", c->status, c->run.err.text);
	for (uint32_t i = 0; c->run.checkers && i < c->run.r.sim.n_chans; i++)
		if (checker_verdict(c->run.checkers[i]))
			return judge_wrong("channel %s: %s", c->run.r.sim.chans[i]->name,
					   checker_verdict(c->run.checkers[i]));
	for (uint32_t i = 0; i < c->run.r.sim.n_chans; i++)
		if (c->run.r.sim.chans[i]->count)
			return judge_wrong("%s holds messages", c->run.r.sim.chans[i]->name);
	if (c->run.r.sim.now_ps >= c->run.sc.until)
		return judge_wrong("the run did not end");
	return NULL;
}

/* ---- rows ---- */

/* The request of a row is of a former life of its QP. */
static bool is_former(const struct tb_case *c, const struct op_row *row)
{
	const struct ref_qp *q = &c->ref.qp[row->qp];

	for (uint32_t i = 0; q->is_reborn && i < c->ref.n_wr; i++)
		if (c->ref.wr[i].r.host == row->host && c->ref.wr[i].r.id == row->id)
			return c->ref.wr[i].is_former;
	return false;
}

/* The work requests of a queue have one row each, in order; receives that nothing came for have
 * none. */
static const char *judge_queue(const struct tb_case *c, const uint32_t *wr, uint32_t n, uint32_t qp,
			       bool is_recv)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < c->watch.n_rows; i++) {
		const struct op_row *row = &c->watch.rows[i];
		const struct ref_wr *w = k < n ? &c->ref.wr[wr[k]] : NULL;

		if (row->qp != qp || row->is_recv != is_recv || is_former(c, row))
			continue;
		if (!w || w->r.id != row->id || w->rep != row->rep)
			return judge_wrong("%s: completion of %" PRIu64 " where %" PRIu64
					   " is next",
					   c->run.trace->qps[qp].name, row->id, w ? w->r.id : 0);
		k++;
	}
	if (k < n && !is_recv)
		return judge_wrong("%s: no completion of request %" PRIu64,
				   c->run.trace->qps[qp].name, c->ref.wr[wr[k]].r.id);
	for (; k < n; k++) {
		const struct ref_wr *w = &c->ref.wr[wr[k]];

		if (w->from && c->ref.wr[w->from - 1].is_sure)
			return judge_wrong("%s: no completion of receive %" PRIu64,
					   c->run.trace->qps[qp].name, w->r.id);
	}
	return NULL;
}

/*
 * Errors only where there may be, and then to the end. A wrong request is refused, unless its QP
 * was in Error before; the requests of the other side then find nobody, or are flushed with their
 * QP.
 */
static const char *judge_errors(const struct tb_case *c, uint32_t qp)
{
	const struct ref_qp *q = &c->ref.qp[qp];
	bool is_rc = c->run.trace->qps[qp].type == QP_RC, had_error = false;
	bool peer_fails = is_rc && c->ref.qp[q->peer].is_killed;

	for (uint32_t k = 0; is_rc && k < c->ref.qp[q->peer].n_sends; k++)
		peer_fails |= c->ref.wr[c->ref.qp[q->peer].sends[k]].is_error;
	for (uint32_t k = 0; k < q->n_sends; k++) {
		const struct ref_wr *w = &c->ref.wr[q->sends[k]];
		bool ok = w->status == (had_error ? WC_WR_FLUSH_ERR : due_status(w));

		ok |= (q->is_killed || judge_met_short_recv(c, qp)) && w->status == WC_WR_FLUSH_ERR;
		ok |= peer_fails && (w->status == WC_WR_FLUSH_ERR ||
				     (w->status == WC_RETRY_EXC_ERR && !had_error));
		ok |= is_rc && c->gen.may_fail && w->status == WC_RETRY_EXC_ERR && !had_error;
		ok |= is_rc && (q->is_loose ? !c->gen.is_sure : c->gen.may_fail) &&
		      c->run.trace->qps[qp].rnr_retry < 7 && w->status == WC_RNR_RETRY_EXC_ERR &&
		      !had_error;
		if (!ok)
			return judge_wrong("%s: status %s of request %" PRIu64,
					   c->run.trace->qps[qp].name, wc_status_names[w->status],
					   w->r.id);
		had_error |= w->is_error;
	}
	return NULL;
}

/*
 * Receives of RC end well, and from the first that does not on are flushed: nothing in a trace is wrong
 * with them. But one that a refused WRITE took ends with it (IBTA vol. 1, 11.6.2); so does that of a WRITE
 * whose QP went to Error when it was on its way: when the peer hears that it ended it may take the window
 * back before the WRITE is there.
 */
static const char *judge_receives(const struct tb_case *c, uint32_t qp)
{
	const struct ref_qp *q = &c->ref.qp[qp];
	bool had_error = false;

	for (uint32_t k = 0; k < q->n_recvs && !q->is_loose; k++) {
		const struct ref_wr *w = &c->ref.wr[q->recvs[k]], *from;

		if (!w->has_row)
			continue;
		had_error |= w->is_error;
		from = w->from ? &c->ref.wr[w->from - 1] : NULL;
		if (w->status == WC_LOC_ACCESS_ERR && from &&
		    (from->is_refused || (from->is_error && ref_may_lose_key(&c->ref, from))))
			continue;
		if (w->status != (had_error ? WC_WR_FLUSH_ERR : WC_SUCCESS))
			return judge_wrong("%s: status %s of receive %" PRIu64,
					   c->run.trace->qps[qp].name, wc_status_names[w->status],
					   w->r.id);
	}
	return NULL;
}

static const char *judge_rows(const struct tb_case *c)
{
	const char *timeouts = judge_timeouts(c);

	if (timeouts)
		return timeouts;
	for (uint32_t i = 0; i < c->run.trace->n_qps; i++) {
		const struct ref_qp *q = &c->ref.qp[i];
		const char *what = judge_queue(c, q->sends, q->n_sends, i, false);

		if (!what && c->run.trace->qps[i].srq == TRACE_NONE)
			what = judge_queue(c, q->recvs, q->n_recvs, i, true);
		what = what ? what : judge_errors(c, i);
		what = what ? what : judge_receives(c, i);
		what = what ? what : judge_time(c, i);
		if (what)
			return what;
	}
	return NULL;
}

/* ---- completions ---- */

static bool is_right_recv(const struct tb_case *c, const struct tb_cqe *e, const struct ref_wr *w)
{
	const struct ref_wr *s = w->from ? &c->ref.wr[w->from - 1] : NULL;

	if (!w->has_row || e->status != w->status)
		return false;
	if (e->is_error)
		return true;
	if (!s || e->byte_cnt != s->len || e->is_solicited != ((s->r.flags & WR_SOLICITED) != 0))
		return false;
	if (s->r.opcode == WR_SEND)
		return e->opcode == CQE_RESP_SEND;
	if (s->r.opcode == WR_SEND_WITH_INV)
		return e->opcode == CQE_RESP_SEND_INV && e->imm == s->r.inv_key;
	return e->imm == s->r.imm &&
	       e->opcode == (s->r.opcode == WR_SEND_WITH_IMM ? CQE_RESP_SEND_IMM : CQE_RESP_WR_IMM);
}

static bool is_right_send(const struct tb_cqe *e, const struct ref_wr *w)
{
	return e->status == w->status &&
	       (e->is_error || w->r.opcode != WR_RDMA_READ || e->byte_cnt == w->len);
}

static bool is_of_queue(const struct tb_cqe *e, uint32_t qp, bool is_recv)
{
	return e->qp == qp && e->is_recv == is_recv;
}

/* CQEs of a former life that the program passed over or took: they come first, one a request of it at most. */
static uint32_t former_cqes(const struct tb_case *c, const uint32_t *wr, uint32_t n, uint32_t qp,
			    bool is_recv)
{
	uint32_t n_cqes = 0, n_due = 0, n_former = 0;

	if (!c->ref.qp[qp].is_reborn)
		return 0;
	for (uint32_t i = 0; i < c->watch.n_cqes; i++)
		n_cqes += is_of_queue(&c->watch.cqes[i], qp, is_recv);
	for (uint32_t k = 0; k < n; k++) {
		const struct ref_wr *w = &c->ref.wr[wr[k]];

		n_due += is_recv ? w->has_row : w->is_signaled || w->is_error;
	}
	for (uint32_t i = 0; i < c->ref.n_wr; i++)
		n_former += c->ref.wr[i].is_former && c->ref.wr[i].qp == qp &&
			    (c->ref.wr[i].r.kind == REC_RECV) == is_recv;
	return n_cqes > n_due && n_cqes - n_due <= n_former ? n_cqes - n_due : 0;
}

/* A queue's CQEs: one for each work request that is signaled or failed, in order. */
static const char *judge_cqes(const struct tb_case *c, const uint32_t *wr, uint32_t n, uint32_t qp,
			      bool is_recv)
{
	uint32_t n_former = former_cqes(c, wr, n, qp, is_recv), k = 0;

	for (uint32_t i = 0; i < c->watch.n_cqes; i++) {
		const struct tb_cqe *e = &c->watch.cqes[i];

		if (!is_of_queue(e, qp, is_recv))
			continue;
		if (n_former) {
			n_former--;
			continue;
		}
		while (k < n && !is_recv && !c->ref.wr[wr[k]].is_signaled &&
		       !c->ref.wr[wr[k]].is_error)
			k++;
		if (k == n ||
		    (is_recv ? !is_right_recv(c, e, &c->ref.wr[wr[k]]) || e->counter != (k & 0xffff)
			     : !is_right_send(e, &c->ref.wr[wr[k]])))
			return judge_wrong("%s: CQE of counter %u: not what is next",
					   c->run.trace->qps[qp].name, e->counter);
		k++;
	}
	for (; k < n; k++)
		if (is_recv ? c->ref.wr[wr[k]].has_row
			    : c->ref.wr[wr[k]].is_signaled || c->ref.wr[wr[k]].is_error)
			return judge_wrong("%s: no CQE for %" PRIu64, c->run.trace->qps[qp].name,
					   c->ref.wr[wr[k]].r.id);
	return NULL;
}

static const char *judge_completions(const struct tb_case *c)
{
	for (uint32_t i = 0; i < c->run.trace->n_qps; i++) {
		const struct ref_qp *q = &c->ref.qp[i];
		const char *what = judge_cqes(c, q->sends, q->n_sends, i, false);

		if (!what && !q->is_loose)
			what = judge_cqes(c, q->recvs, q->n_recvs, i, true);
		if (what)
			return what;
	}
	return NULL;
}

/* ---- memory ---- */

static const char *judge_memory(struct tb_case *c)
{
	const struct trace *t = c->run.trace;
	const struct requester *r =
		(const struct requester *)netlist_find(&c->run.r.sim, "nic0.requester");
	uint8_t **actual = x_calloc(t->n_mrs + 1, sizeof(*actual));
	const char *what = NULL;

	c->ref.is_selective = r->recovery == RECOVERY_SR;
	for (uint32_t i = 0; i < t->n_mrs; i++) {
		actual[i] = x_calloc(1, t->mrs[i].len);
		if (!space_read(c->run.r.system->hosts[t->mrs[i].host].space, t->mrs[i].va,
				actual[i], t->mrs[i].len))
			what = judge_wrong("an MR that is not mapped");
	}
	what = what ? what : ref_compare(&c->ref, actual);
	for (uint32_t h = 0; h < 2 && !what; h++)
		what = judge_counter(c, h, actual);
	what = what ? what : judge_loose(c, actual);
	what = what ? what : judge_seen(c, actual);
	for (uint32_t i = 0; i < t->n_mrs; i++)
		free(actual[i]);
	free(actual);
	return what;
}

/* ---- buffers ---- */

/*
 * Buffers that may be kept: by the fetcher, a line of receive WQEs and a doorbell record a QP or
 * SRQ; by a responder, the receive in which a message stopped whose sender gave up, or of which a
 * packet was lost; and with selective repeat the packets behind what was never sent again.
 */
static uint32_t may_keep(const struct tb_case *c, const struct pool *p, uint32_t n_before)
{
	const char *name = p->owner->cls->name;
	uint32_t n_failed = 0, n_stopped = 0;

	for (uint32_t i = 0; i < c->run.trace->n_qps; i++) {
		const struct ref_qp *q = &c->ref.qp[i];
		bool may_give_up = q->n_sure < q->n_sends;

		n_failed += q->is_loose || may_give_up;
		n_stopped += q->is_loose ? !c->gen.is_sure : may_give_up;
	}
	if (strcmp(name, "responder") == 0 && n_before == 1)
		return n_stopped ? p->n : 0;
	if (strcmp(name, "wqe_fetch") != 0 || n_before < 2)
		return 0;
	return n_before == 4 ? n_failed : (c->run.trace->n_qps + c->run.trace->n_srqs) / 2;
}

static const char *judge_pools(const struct tb_case *c)
{
	const struct block *owner = NULL;

	for (uint32_t i = 0, n = 0; i < c->run.r.sim.n_pools; i++) {
		const struct pool *p = c->run.r.sim.pools[i];

		n = p->owner == owner ? n + 1 : 0;
		owner = p->owner;
		if (p->in_use > may_keep(c, p, n))
			return judge_wrong("%s keeps %" PRIu32 " of %" PRIu32 " buffers of %" PRIu32
					   " B",
					   owner->name, p->in_use, p->n, p->size);
	}
	return NULL;
}

const char *tb_judge(struct tb_case *c)
{
	const char *what = judge_run(c);

	what = what ? what : tb_events_verdict(c->events);
	what = what ? what : judge_rows(c);
	what = what ? what : judge_completions(c);
	what = what ? what : judge_memory(c);
	what = what ? what : judge_wire(c);
	return what ? what : judge_pools(c);
}
