/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_judge_loose.c - what may have come of the messages of UC, UD and shared receive queues
 *
 * The rules, and where they stand in IBTA vol. 1:
 * - UC, UD: every request ends with success once it was sent (9.8.2, 9.8.3, 10.8.3.3).
 * - UC: a receive is completed by one whole message (9.8.2.2); messages of a QP come in order, as
 *   long as the wire keeps it; a lost packet takes its message with it, whose first packets may be
 *   in memory (9.8.2.2.5): of a WRITE so many, and nothing behind them. A message whose packets
 *   the wire doubles may come twice if it is one packet: nothing in it says so (9.8.2.2.1).
 * - UD: a receive is completed by one datagram, behind 40 bytes of network header (9.8.3.1,
 *   11.4.2.1); each comes at most once unless the wire doubles it, those of a QP in order unless the
 *   wire reorders them. A receive without completion is untouched: a datagram is written whole.
 * - UC, UD: only a receive too short for its message ends badly, with a local length error, and puts its QP
 *   into Error (10.10.2.3); with responder.keep_short_recv the message is dropped (9.9.3, class D).
 * - SRQ: receives are taken in the order of posting, one at a time by a QP, and belong to it from
 *   then on (10.2.9.4); so per QP they complete in that order, and none is left out but the one
 *   that each QP may hold.
 * - RC with an SRQ: as with a receive queue of its own, exactly once and in order (9.7); behind the
 *   first error a request may have been executed in part.
 * - Across partitions, and between limited members of one, nothing arrives (10.9.3).
 * - Nobody else's bytes change.
 * Where nothing is lost and all receives are posted before (gen_case.is_sure), all arrives, once.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/responder.h"
#include "testbench/tb_judge_parts.h"

#define GRH 40u

/* Bytes of an MR as they were and are; 'seen' is set for those that were accounted for. */
struct span {
	const uint8_t *was, *now;
	uint8_t *seen;
	uint32_t len;
};

struct loose_judge {
	const struct tb_case *c;
	const struct ref_exec *x;
	uint8_t *const *actual;
	uint8_t **seen;   /* per MR */
	uint32_t *n_came; /* per request: how often it arrived */
	uint32_t *last;   /* per sending QP: behind the last request that arrived at this QP */
	uint32_t *held;   /* per receive: 1 + the request that it was completed by */
	bool keeps_short; /* responder.keep_short_recv */
};

static struct span span_of(const struct loose_judge *j, uint32_t mr, uint64_t addr, uint32_t len)
{
	uint64_t off = mr == TRACE_NONE ? 0 : addr - j->x->trace->mrs[mr].va;

	if (mr == TRACE_NONE)
		return (struct span){ .len = 0 };
	return (struct span){ j->x->mr[mr].val + off, j->actual[mr] + off, j->seen[mr] + off, len };
}

/* The segments of these requests follow each other. */
static struct span local_span(const struct loose_judge *j, const struct ref_wr *w)
{
	return w->r.n_sge ? span_of(j, w->r.sge[0].mr, w->r.sge[0].addr, w->len)
			  : (struct span){ .len = 0 };
}

static struct span remote_span(const struct loose_judge *j, const struct ref_wr *w)
{
	return span_of(j, w->r.rmr, w->r.raddr, w->len);
}

static void account(const struct span *s)
{
	if (s->len)
		memset(s->seen, 1, s->len);
}

static bool is_same(const uint8_t *a, const uint8_t *b, uint32_t n)
{
	return n == 0 || memcmp(a, b, n) == 0;
}

static uint32_t type_of(const struct loose_judge *j, uint32_t qp)
{
	return j->x->trace->qps[qp].type;
}

static bool is_send(enum wr_opcode op)
{
	return op == WR_SEND || op == WR_SEND_WITH_IMM;
}

/* The QP that a request goes to. */
static uint32_t target_of(const struct loose_judge *j, const struct ref_wr *w)
{
	return type_of(j, w->qp) == QP_UD ? w->r.dest_qp : j->x->qp[w->qp].peer;
}

/* Request 'w' and the QP that it goes to are of one partition, one of them a full member. */
static bool may_meet(const struct loose_judge *j, const struct ref_wr *w)
{
	uint32_t a = j->x->trace->qps[w->qp].pkey, b = j->x->trace->qps[target_of(j, w)].pkey;

	return (a & 0x7fff) == (b & 0x7fff) && (a | b) & 0x8000;
}

/* ---- receives ---- */

/* Bytes of a receive that no completion speaks of: as they were, or of a message that was given up. */
static bool is_leftover(const struct loose_judge *j, const struct ref_wr *recv,
			const struct span *s, uint32_t k)
{
	if (s->now[k] == s->was[k])
		return true;
	for (uint32_t i = 0; i < j->x->n_wr; i++) {
		const struct ref_wr *w = &j->x->wr[i];
		uint32_t to;

		if (w->r.kind != REC_POST || !w->is_loose || w->is_former ||
		    !is_send(w->r.opcode) || k >= w->len || type_of(j, w->qp) == QP_UD)
			continue;
		to = target_of(j, w);
		if (recv->r.srq == TRACE_NONE ? to != recv->qp
					      : j->x->trace->qps[to].srq != recv->r.srq)
			continue;
		if (s->now[k] == local_span(j, w).was[k])
			return true;
	}
	return false;
}

/* From byte 'from' on, the receive holds what it did. May it also hold what is left of messages? */
static bool is_rest_right(const struct loose_judge *j, const struct ref_wr *recv,
			  const struct span *s, uint32_t from, bool may_hold)
{
	for (uint32_t k = from; k < s->len; k++)
		if (may_hold ? !is_leftover(j, recv, s, k) : s->now[k] != s->was[k])
			return false;
	return true;
}

/* The network header of datagram 'w' lies in front of it: from its host to the receiver's. */
static bool is_header_right(const struct loose_judge *j, const struct ref_wr *w, const uint8_t *p)
{
	const struct trace_host *from = &j->x->trace->hosts[w->r.host];
	const struct trace_host *to = &j->x->trace->hosts[j->x->trace->qps[w->r.dest_qp].host];
	static const uint8_t none[20];

	if (is_same(p, none, 20) && p[20] == 0x45)
		return is_same(p + 32, from->ip + 12, 4) && is_same(p + 36, to->ip + 12, 4);
	return p[0] >> 4 == 6 && (is_same(p + 8, from->ip, 16) || is_same(p + 8, from->gid, 16)) &&
	       (is_same(p + 24, to->ip, 16) || is_same(p + 24, to->gid, 16));
}

/* Completion 'e' of a receive with bytes 's' is what message 'w' makes of it. */
static bool is_of(const struct loose_judge *j, const struct ref_wr *w, const struct tb_cqe *e,
		  const struct span *s)
{
	static const uint8_t cqes[] = { [WR_SEND] = CQE_RESP_SEND,
					[WR_SEND_WITH_IMM] = CQE_RESP_SEND_IMM,
					[WR_RDMA_WRITE_WITH_IMM] = CQE_RESP_WR_IMM };
	bool is_ud = type_of(j, w->qp) == QP_UD;
	uint32_t head = is_ud ? GRH : 0;
	struct span m = local_span(j, w), to;

	if (!w->takes_recv || e->opcode != cqes[w->r.opcode] || e->byte_cnt != w->len + head ||
	    e->is_solicited != ((w->r.flags & WR_SOLICITED) != 0) ||
	    (w->r.opcode != WR_SEND && e->imm != w->r.imm) || (is_ud && e->src_qp != w->qp))
		return false;
	if (w->r.opcode == WR_RDMA_WRITE_WITH_IMM) {
		to = remote_span(j, w);
		return is_same(to.now, m.was, w->len);
	}
	return s->len >= w->len + head && is_same(s->now + head, m.was, w->len) &&
	       (!e->has_grh || is_header_right(j, w, s->now));
}

/* May request number k of its QP come now, behind those that came to this QP before? */
static bool is_in_order(const struct loose_judge *j, const struct ref_wr *w, uint32_t k)
{
	const struct gen_case *g = &j->c->gen;
	uint32_t n = j->n_came[w - j->x->wr];

	if (type_of(j, w->qp) == QP_RC)
		return k == j->last[w->qp];
	if (!g->may_double && n)
		return false;
	return g->may_pass || k >= j->last[w->qp] || (n && k + 1 == j->last[w->qp]);
}

/* The request that completion 'e' of QP 'qp' tells of, or NULL. */
static const struct ref_wr *find_message(const struct loose_judge *j, uint32_t qp,
					 const struct tb_cqe *e, const struct span *s)
{
	for (uint32_t i = 0; i < j->x->trace->n_qps; i++) {
		const struct ref_qp *q = &j->x->qp[i];

		if (!q->is_loose)
			continue;
		for (uint32_t k = 0, n = 0; k < q->n_sends; k++) {
			const struct ref_wr *w = &j->x->wr[q->sends[k]];

			if (!w->takes_recv || target_of(j, w) != qp)
				continue;
			if (may_meet(j, w) && is_of(j, w, e, s) && is_in_order(j, w, n)) {
				j->last[i] = n + 1;
				return w;
			}
			n++;
		}
	}
	return NULL;
}

/* Some message for QP 'qp' is longer than receive 'w'. */
static bool is_short(const struct loose_judge *j, uint32_t qp, const struct ref_wr *w)
{
	uint32_t head = type_of(j, qp) == QP_UD ? GRH : 0;

	for (uint32_t i = 0; i < j->x->n_wr; i++) {
		const struct ref_wr *m = &j->x->wr[i];

		if (m->r.kind == REC_POST && m->is_loose && !m->is_former && is_send(m->r.opcode) &&
		    target_of(j, m) == qp && m->len + head > w->len)
			return true;
	}
	return false;
}

bool judge_met_short_recv(const struct tb_case *c, uint32_t qp)
{
	for (uint32_t i = 0; i < c->watch.n_rows; i++)
		if (c->watch.rows[i].qp == qp && c->watch.rows[i].is_recv &&
		    c->watch.rows[i].status == WC_LOC_LEN_ERR)
			return true;
	return false;
}

/* The end with an error of receive 'w'; 'had_error': one before it on its QP ended so. */
static const char *judge_bad_end(const struct loose_judge *j, uint32_t qp, const struct ref_wr *w,
				 bool had_error)
{
	const struct ref_qp *q = &j->x->qp[qp];
	bool is_right = w->status == WC_LOC_LEN_ERR
				? !had_error && !j->keeps_short && is_short(j, qp, w)
				: w->status == WC_WR_FLUSH_ERR && (had_error || q->is_killed);
	return is_right || type_of(j, qp) == QP_RC || q->is_reborn
		       ? NULL
		       : judge_wrong("%s of h%" PRIu32 ": receive %" PRIu64 " ended with %s",
				     j->x->trace->qps[qp].name, w->r.host, w->r.id,
				     wc_status_names[w->status]);
}

static const char *judge_receive(const struct loose_judge *j, uint32_t qp, const struct ref_wr *w,
				 const struct tb_cqe *e)
{
	struct span s = local_span(j, w);
	const struct ref_wr *m;
	uint32_t used;

	if (e->is_error != w->is_error)
		return judge_wrong("h%" PRIu32 ": CQE and row of receive %" PRIu64 " differ",
				   w->r.host, w->r.id);
	if (w->is_error)
		return NULL;
	m = find_message(j, qp, e, &s);
	if (!m)
		return judge_wrong("%s of h%" PRIu32 ": receive %" PRIu64
				   " holds no message that is due",
				   j->x->trace->qps[qp].name, w->r.host, w->r.id);
	used = is_send(m->r.opcode) ? e->byte_cnt : 0;
	if (!is_rest_right(j, w, &s, used, type_of(j, qp) == QP_UC))
		return judge_wrong("h%" PRIu32 ": receive %" PRIu64
				   " was written behind its message",
				   w->r.host, w->r.id);
	j->n_came[m - j->x->wr]++;
	j->held[w - j->x->wr] = (uint32_t)(m - j->x->wr) + 1;
	account(&s);
	return NULL;
}

static const struct ref_wr *recv_of_row(const struct loose_judge *j, const struct op_row *row)
{
	for (uint32_t i = 0; i < j->x->n_wr; i++)
		if (j->x->wr[i].r.host == row->host && j->x->wr[i].r.id == row->id)
			return &j->x->wr[i];
	return NULL;
}

static bool is_recv_of(const struct tb_cqe *e, uint32_t qp)
{
	return e->qp == qp && e->is_recv;
}

/* CQEs of a QP's receives that a former life left or took: those without a row of this one, which come first. */
static uint32_t former_cqes(const struct loose_judge *j, uint32_t qp)
{
	const struct tb_watch *t = &j->c->watch;
	uint32_t n = 0;

	for (uint32_t i = 0; j->x->qp[qp].is_reborn && i < t->n_cqes; i++)
		n += is_recv_of(&t->cqes[i], qp);
	for (uint32_t i = 0; n && i < t->n_rows; i++) {
		const struct op_row *row = &t->rows[i];

		n -= row->qp == qp && row->is_recv && !recv_of_row(j, row)->is_former;
	}
	return n;
}

/* The completed receives of one QP: in the order of posting, each with a message. */
static const char *judge_receives(const struct loose_judge *j, uint32_t qp)
{
	const struct tb_watch *t = &j->c->watch;
	uint32_t next = 0, n_former = former_cqes(j, qp);
	const struct ref_wr *before = NULL;
	bool had_error = false;
	const char *what = NULL;

	for (uint32_t i = 0; i < t->n_rows && !what; i++) {
		const struct op_row *row = &t->rows[i];
		const struct ref_wr *w = recv_of_row(j, row);

		if (row->qp != qp || !row->is_recv || (w && w->is_former))
			continue;
		for (; next < t->n_cqes && (!is_recv_of(&t->cqes[next], qp) || n_former); next++)
			n_former -= is_recv_of(&t->cqes[next], qp);
		if (next == t->n_cqes || !w)
			return judge_wrong("receive %" PRIu64 " has no CQE", row->id);
		if (before && before >= w)
			return judge_wrong(
				"%s of h%" PRIu32 " took receive %" PRIu64 " behind %" PRIu64,
				j->x->trace->qps[qp].name, row->host, w->r.id, before->r.id);
		before = w;
		what = w->is_error ? judge_bad_end(j, qp, w, had_error) : NULL;
		if (!what && had_error && !w->is_error && type_of(j, qp) != QP_RC)
			what = judge_wrong("a receive ends well behind one that did not");
		had_error |= w->is_error;
		what = what ? what : judge_receive(j, qp, w, &t->cqes[next]);
		next++;
	}
	for (; !what && next < t->n_cqes && (!is_recv_of(&t->cqes[next], qp) || n_former); next++)
		n_former -= is_recv_of(&t->cqes[next], qp);
	return what || next == t->n_cqes ? what : judge_wrong("a CQE of a receive without a row");
}

/* Receives of an SRQ were taken from its head: at most one a QP has no completion. */
static const char *judge_srq(const struct loose_judge *j, uint32_t srq)
{
	uint32_t n_without = 0, n_before_last = 0, n_qps = 0;

	for (uint32_t i = 0; i < j->x->trace->n_qps; i++)
		n_qps += j->x->trace->qps[i].srq == srq;
	for (uint32_t i = 0; i < j->x->n_wr; i++) {
		const struct ref_wr *w = &j->x->wr[i];

		if (w->r.kind != REC_RECV || w->r.srq != srq)
			continue;
		if (w->has_row)
			n_before_last = n_without;
		else
			n_without++;
	}
	return n_before_last <= n_qps
		       ? NULL
		       : judge_wrong("SRQ: %" PRIu32 " receives were left out", n_before_last);
}

/* Receives without a completion, or with an error. */
static const char *judge_unused(const struct loose_judge *j)
{
	for (uint32_t i = 0; i < j->x->n_wr; i++) {
		const struct ref_wr *w = &j->x->wr[i];
		struct span s = local_span(j, w);

		if (w->r.kind != REC_RECV || !w->is_loose || w->is_former || j->held[i])
			continue;
		if (!is_rest_right(j, w, &s, 0,
				   w->r.srq != TRACE_NONE || type_of(j, w->qp) != QP_UD))
			return judge_wrong("h%" PRIu32 ": receive %" PRIu64
					   ", not completed, holds bytes of no message",
					   w->r.host, w->r.id);
		account(&s);
	}
	return NULL;
}

/* ---- requests ---- */

/* So many packets from the front are new, the others old; or, out of order, any. */
static bool is_cut(const struct span *to, const uint8_t *new, uint32_t mtu, bool is_prefix)
{
	bool was_old = false;

	for (uint32_t at = 0; at < to->len; at += mtu) {
		uint32_t n = (uint32_t)min_u64(mtu, to->len - at);
		bool is_new = is_same(to->now + at, new + at, n);
		bool is_old = is_same(to->now + at, to->was + at, n);

		if (!is_new && !is_old)
			return false;
		if (is_prefix && was_old && !is_old)
			return false;
		was_old |= !is_new;
	}
	return true;
}

static const char *judge_request(const struct loose_judge *j, const struct ref_wr *w)
{
	uint32_t type = type_of(j, w->qp), mtu = j->x->trace->qps[w->qp].mtu;
	bool is_read = w->r.opcode == WR_RDMA_READ, is_sure = j->c->gen.is_sure;
	bool is_due = type == QP_RC ? w->has_row && !w->is_error : is_sure;
	struct span to, from;

	if (w->takes_recv && is_due && j->n_came[w - j->x->wr] != 1)
		return judge_wrong("h%" PRIu32 ": message %" PRIu64 " came %" PRIu32 " times",
				   w->r.host, w->r.id, j->n_came[w - j->x->wr]);
	if (is_send(w->r.opcode))
		return NULL;
	to = is_read ? local_span(j, w) : remote_span(j, w);
	from = is_read ? remote_span(j, w) : local_span(j, w);
	if (!may_meet(j, w) ? !is_same(to.now, to.was, w->len)
	    : is_due        ? !is_same(to.now, from.was, w->len)
			    : !is_cut(&to, from.was, mtu, type == QP_UC))
		return judge_wrong("h%" PRIu32 ": %s %" PRIu64 " was not carried out as it must be",
				   w->r.host, wr_opcode_names[w->r.opcode], w->r.id);
	account(&to);
	return NULL;
}

/* What belongs to nobody is as it was. */
static const char *judge_others(const struct loose_judge *j)
{
	static const char *const names[] = { "lsr0", "ltg0", "llo0", "lrv0" };

	for (uint32_t h = 0; h < 2; h++) {
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			uint32_t mr = ref_find_mr(j->x, h, names[i]);

			for (uint64_t k = 0; mr != TRACE_NONE && k < j->x->trace->mrs[mr].len; k++)
				if (!j->seen[mr][k] && j->actual[mr][k] != j->x->mr[mr].val[k])
					return judge_wrong("h%" PRIu32 " %s:%" PRIu64
							   " is nobody's and has changed",
							   h, names[i], k);
		}
	}
	return NULL;
}

static const char *judge_all(const struct loose_judge *j)
{
	const struct trace *t = j->x->trace;
	const char *what = NULL;

	for (uint32_t i = 0; i < t->n_qps && !what; i++) {
		memset(j->last, 0, t->n_qps * sizeof(*j->last));
		if (j->x->qp[i].is_loose)
			what = judge_receives(j, i);
	}
	for (uint32_t i = 0; i < t->n_srqs && !what; i++)
		what = judge_srq(j, i);
	what = what ? what : judge_unused(j);
	for (uint32_t i = 0; i < j->x->n_wr && !what; i++)
		if (j->x->wr[i].r.kind == REC_POST && j->x->wr[i].is_loose &&
		    !j->x->wr[i].is_former)
			what = judge_request(j, &j->x->wr[i]);
	return what ? what : judge_others(j);
}

const char *judge_loose(const struct tb_case *c, uint8_t *const *actual)
{
	const struct trace *t = c->run.trace;
	struct loose_judge j = { .c = c,
				 .x = &c->ref,
				 .actual = actual,
				 .seen = x_calloc(t->n_mrs + 1, sizeof(*j.seen)),
				 .n_came = x_calloc(c->ref.n_wr + 1, sizeof(*j.n_came)),
				 .last = x_calloc(t->n_qps + 1, sizeof(*j.last)),
				 .held = x_calloc(c->ref.n_wr + 1, sizeof(*j.held)) };
	const char *what;

	j.keeps_short =
		((const struct responder *)(void *)netlist_find(&c->run.r.sim, "nic0.responder"))
			->keep_short_recv;
	for (uint32_t i = 0; i < t->n_mrs; i++)
		j.seen[i] = x_calloc(1, t->mrs[i].len);
	what = judge_all(&j);
	for (uint32_t i = 0; i < t->n_mrs; i++)
		free(j.seen[i]);
	free(j.seen);
	free(j.n_came);
	free(j.last);
	free(j.held);
	return what;
}
