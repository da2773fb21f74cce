/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.c - from a trace's set-up records to hosts, their memory and their NICs' set-up
 *
 * Numbers that the trace gives are taken before any is assigned.
 */
#include "models/verbs/setup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MR_BYTES (64 * GIB)
#define MAX_ENTRIES (1ull << 25)
#define KEY_SLACK 17u /* entries before the first key assigned, and one to spare */

/* ---- hosts ---- */

static uint32_t mpt_size(const struct trace *t, uint32_t host)
{
	uint32_t n = KEY_SLACK, top = 0;

	for (uint32_t i = 0; i < t->n_mrs; i++) {
		const struct trace_mr *m = &t->mrs[i];

		if (m->host != host)
			continue;
		n += 2;
		top = (uint32_t)max_u64(top, max_u64(m->lkey >> 8, m->rkey >> 8));
	}
	for (uint32_t i = 0; i < t->n_mws; i++) {
		if (t->mws[i].host != host)
			continue;
		n++;
		top = (uint32_t)max_u64(top, t->mws[i].rkey >> 8);
	}
	return (uint32_t)max_u64(n, top + 1ull);
}

static void create_host(struct system *s, uint32_t i)
{
	const struct trace *t = s->trace;
	const struct trace_host *th = &t->hosts[i];
	struct host *h = &s->hosts[i];
	char name[32];
	uint32_t n_qp = 0, n_cq = 0, n_srq = 0;

	snprintf(name, sizeof(name), "nic%" PRIu32, i);
	h->nic = x_calloc(1, sizeof(*h->nic));
	h->mem = x_calloc(1, sizeof(*h->mem));
	h->space = x_calloc(1, sizeof(*h->space));
	mem_init(h->mem);
	space_init(h->space, h->mem);
	h->oplog = h->nic->oplog = s->oplog;
	h->nic->mem = h->mem;
	h->nic->name = h->nic_name = x_strdup(name);
	memcpy(h->nic->addr.mac, th->mac, sizeof(th->mac));
	memcpy(h->nic->addr.ip, th->ip, sizeof(th->ip));
	h->nic->addr.is_v6 = th->is_v6;
	store_be16(h->nic->addr.lid, th->lid);
	memcpy(h->nic->addr.gid, th->gid, sizeof(th->gid));
	h->trace = s->trace;
	h->system = s;
	h->name = th->name;
	h->index = i;
	h->far = TRACE_NONE;
	for (uint32_t k = 0; k < t->n_qps; k++)
		n_qp += t->qps[k].host == i;
	for (uint32_t k = 0; k < t->n_cqs; k++)
		n_cq += t->cqs[k].host == i;
	for (uint32_t k = 0; k < t->n_srqs; k++)
		n_srq += t->srqs[k].host == i;
	verbs_open(h, mpt_size(t, i), n_qp, n_cq + n_qp, n_srq);
}

/* ---- how large ---- */

/* Add 'n' to a sum that may not pass 'max' with the thing of line 'line'. */
static bool add_up(uint64_t *sum, uint64_t n, uint64_t max, const char *what, const struct trace *t,
		   unsigned line, struct err *e)
{
	if (n <= max - *sum) {
		*sum += n;
		return true;
	}
	return err_set(e, t->path, line,
		       "%" PRIu64 " %s, with %" PRIu64 " asked for before; allowed: %" PRIu64
		       " in all hosts together",
		       n, what, *sum, max);
}

bool system_check_sizes(const struct trace *t, struct err *e)
{
	static const char bytes[] = "bytes of regions", entries[] = "entries of queues";
	uint64_t n_bytes = 0, n = 0;

	if (t->n_hosts < 2)
		return err_set(e, t->path, 0,
			       "the trace has %s; allowed: `host NAME` records, two or more",
			       t->n_hosts ? "one host" : "no host");
	if (t->n_hosts > MAX_HOSTS)
		return err_set(e, t->path, t->hosts[MAX_HOSTS].line, "more than %u hosts",
			       MAX_HOSTS);
	for (uint32_t i = 0; i < t->n_mrs; i++)
		if (t->mrs[i].fill != FILL_KEEP &&
		    !add_up(&n_bytes, t->mrs[i].len, MAX_MR_BYTES, bytes, t, t->mrs[i].line, e))
			return false;
	for (uint32_t i = 0; i < t->n_cqs; i++)
		if (!add_up(&n, t->cqs[i].depth, MAX_ENTRIES, entries, t, t->cqs[i].line, e))
			return false;
	for (uint32_t i = 0; i < t->n_srqs; i++)
		if (!add_up(&n, t->srqs[i].depth, MAX_ENTRIES, entries, t, t->srqs[i].line, e))
			return false;
	for (uint32_t i = 0; i < t->n_qps; i++)
		/* with as many completions */
		if (!add_up(&n, 2 * (t->qps[i].sq + t->qps[i].rq), MAX_ENTRIES, entries, t,
			    t->qps[i].line, e))
			return false;
	return true;
}

/* ---- queues ---- */

static void create_cqs(struct system *s)
{
	for (uint32_t i = 0; i < s->trace->n_cqs; i++) {
		const struct trace_cq *c = &s->trace->cqs[i];

		verbs_create_cq(&s->hosts[c->host],
				&(struct verbs_cq){ .depth = c->depth,
						    .moderate_count = c->moderate_count,
						    .moderate_ps = c->moderate_ps,
						    .is_event = c->is_event },
				&s->cqs[i]);
		s->hosts[c->host].cq[s->cqs[i]].core_asked = c->core + 1;
	}
}

static bool create_srqs(struct system *s, struct err *e)
{
	const struct trace *t = s->trace;

	for (uint32_t i = 0; i < t->n_srqs; i++) {
		const struct trace_srq *q = &t->srqs[i];
		struct verbs_srq a = {
			.depth = q->depth,
			.max_sge = q->max_sge,
			.limit = q->limit,
			.trace_srq = i,
			.pd = setup_pd_number(t, q->host, q->pd),
		};

		if (verbs_create_srq(&s->hosts[q->host], &a, &s->srqs[i]))
			return err_set(e, t->path, q->line,
				       "SRQ %s: allowed: depth 1 to %u, max_sge 1 to %d", q->name,
				       SQ_MAX_BB, MAX_SGE);
	}
	return true;
}

static bool create_qp(struct system *s, uint32_t i, struct err *e)
{
	const struct trace *t = s->trace;
	const struct trace_qp *q = &t->qps[i];
	struct host *h = &s->hosts[q->host];
	struct verbs_qp a = {
		.type = (uint8_t)q->type,
		.qpn = q->qpn,
		.sq = q->sq,
		.rq = q->rq,
		.max_sge = q->max_sge,
		.max_inline = q->max_inline,
		.trace_qp = i,
		.pd = setup_pd_number(t, q->host, q->pd),
		.sig_all = q->sig_all,
		.scq = q->scq == TRACE_NONE ? CQI_NONE : s->cqs[q->scq],
		.rcq = q->rcq == TRACE_NONE ? CQI_NONE : s->cqs[q->rcq],
		.srq = q->srq == TRACE_NONE ? 0 : s->srqs[q->srq] + 1,
	};
	uint32_t rq = q->srq == TRACE_NONE ? q->rq : t->srqs[q->srq].depth;
	uint32_t own = CQI_NONE;
	int err;

	/* its own CQ holds every completion that its queues can cause */
	if (a.scq == CQI_NONE || a.rcq == CQI_NONE)
		verbs_create_cq(h,
				&(struct verbs_cq){ .depth = (a.scq == CQI_NONE ? q->sq : 0) +
							     (a.rcq == CQI_NONE ? rq : 0) },
				&own);
	a.scq = a.scq == CQI_NONE ? own : a.scq;
	a.rcq = a.rcq == CQI_NONE ? own : a.rcq;
	s->qps[i].host = q->host;
	err = verbs_create_qp(h, &a, &s->qps[i].qpi);
	if (err == EEXIST)
		return err_set(e, t->path, q->line,
			       "QP %s: qpn 0x%" PRIx32
			       " is taken or no QP's; allowed: 1 to 0xfffffe, each once a host",
			       q->name, q->qpn);
	if (err)
		return err_set(e, t->path, q->line,
			       "QP %s: a work request of %" PRIu32 " segments or %" PRIu32
			       " inline bytes is larger than 16 blocks of 64 B",
			       q->name, q->max_sge, q->max_inline);
	h->qp[s->qps[i].qpi].core_asked = q->core + 1; /* TRACE_NONE: 0 */
	return true;
}

static bool connect_qp(struct system *s, uint32_t i, struct err *e)
{
	const struct trace *t = s->trace;
	const struct trace_qp *q = &t->qps[i];
	const struct nic *peer = q->peer_host == TRACE_NONE ? NULL : s->hosts[q->peer_host].nic;
	uint32_t peer_qpi = QPI_NONE;
	struct verbs_qp_state a = {
		.state = (uint8_t)q->state,
		.sq_psn = q->psn,
		.mtu = q->mtu,
		.qkey = q->qkey,
		.pkey = (uint16_t)q->pkey,
		.access = q->access,
		.rd_atomic = (uint8_t)q->rd_atomic,
		.dest_rd_atomic = (uint8_t)q->dest_rd_atomic,
		.timeout = (uint8_t)q->timeout,
		.retry = (uint8_t)q->retry,
		.rnr_retry = (uint8_t)q->rnr_retry,
		.min_rnr = (uint8_t)q->min_rnr,
		.sl = (uint8_t)q->sl,
		.prio = (uint8_t)q->prio,
		.weight = (uint8_t)q->weight,
		.rate_bps = q->rate_bps,
		.to = peer ? &peer->addr : NULL,
		.path = { .tclass = (uint8_t)q->tclass,
			  .hop_limit = (uint8_t)q->hop_limit,
			  .flow_label = q->flow_label,
			  .sport = (uint16_t)q->sport,
			  .sl = (uint8_t)q->sl },
	};

	if (q->peer_host == q->host)
		return err_set(e, t->path, q->line,
			       "QP %s has its peer on its own host: loopback is not supported yet; "
			       "allowed: a peer on another host",
			       q->name);
	if (peer)
		peer_qpi = q->peer_qp == TRACE_NONE ? nic_qpi(peer, q->peer_qpn)
						    : s->qps[q->peer_qp].qpi;
	a.dest_qpn = peer_qpi == QPI_NONE ? q->peer_qpn : peer->qp[peer_qpi].qpn;
	a.rq_psn = peer_qpi == QPI_NONE ? 0 : t->qps[peer->qp[peer_qpi].trace_qp].psn;
	if (verbs_modify_qp(&s->hosts[q->host], s->qps[i].qpi, &a))
		return err_set(e, t->path, q->line, "QP %s cannot be brought to its state",
			       q->name);
	return true;
}

bool system_connect(struct system *s, struct err *e)
{
	for (uint32_t i = 0; i < s->trace->n_qps; i++)
		if (!connect_qp(s, i, e))
			return false;
	return true;
}

static bool create_queues(struct system *s, struct err *e)
{
	const struct trace *t = s->trace;

	create_cqs(s);
	if (!create_srqs(s, e))
		return false;
	for (int is_assigned = 0; is_assigned < 2; is_assigned++)
		for (uint32_t i = 0; i < t->n_qps; i++)
			if ((t->qps[i].qpn == 0) == is_assigned && !create_qp(s, i, e))
				return false;
	return system_connect(s, e);
}

static void create_eqs(struct system *s)
{
	const struct trace *t = s->trace;

	for (uint32_t i = 0; i < t->n_hosts; i++)
		verbs_create_eq(&s->hosts[i]);
	for (uint32_t i = 0; i < t->n_expects; i++)
		if (t->expects[i].kind == EXPECT_EVENT)
			s->hosts[t->expects[i].host].wants_events = true;
}

/* ---- records before time 0 ---- */

/*
 * A receive without at, after or delay, behind none of its queue that waits: posted before time 0 if
 * there is room.
 */
static bool post_early(struct system *s, uint32_t handle)
{
	struct rec *c = rec_at(&s->recs, handle);
	struct host *h = &s->hosts[c->host];
	struct sge sge[MAX_SGE];
	struct recv_wr wr;

	rec_recv_wr(c, sge, &wr);
	for (; c->done < c->repeat; c->done++) {
		struct cpu_list list = { .n = 0 };
		int err = verbs_check_recv(h, c->qpi, &wr);

		if (err == ENOMEM)
			return false;
		if (err) {
			system_refused(s, c, err, NULL);
		} else {
			uint32_t op = rec_open_row(s, h, c, (uint32_t)sge_bytes(sge, wr.n_sge), 0);

			verbs_post_recv(h, c->qpi, &wr, op, &list);
			verbs_apply(h, &list);
			if (c->qpi < h->nic->n_qp && !h->nic->qp[c->qpi].is_closed)
				h->nic->qp[c->qpi].rq_known++;
		}
	}
	rec_free(&s->recs, handle, NULL);
	return true;
}

static void prime_one(struct system *s, uint32_t handle, bool *rq_waits)
{
	struct rec *c = rec_at(&s->recs, handle);
	struct host *h = &s->hosts[c->host];

	uint32_t queue =
		s->record.qp == TRACE_NONE ? s->trace->n_qps + s->record.srq : s->record.qp;

	if (c->kind == REC_MODIFY_QP || c->kind == REC_DESTROY)
		rq_waits[queue] = true;
	if (c->kind == REC_RECV && !rq_waits[queue]) {
		if (!c->n_dep && !c->at_ps && !c->delay_ps && post_early(s, handle))
			return;
		rq_waits[queue] = true;
	}
	c->next = REC_NONE;
	if (h->primed_head)
		rec_at(&s->recs, h->primed_tail)->next = handle;
	else
		h->primed_head = handle;
	h->primed_tail = handle;
}

bool system_prime(struct system *s, struct err *e)
{
	bool *rq_waits = x_calloc(s->trace->n_qps + s->trace->n_srqs + 1, sizeof(*rq_waits));
	uint32_t handle;
	int got = 1;

	while (got == 1 && recs_can_alloc(&s->recs, 0)) {
		got = system_read(s, 0, &handle);
		if (got == 1)
			prime_one(s, handle, rq_waits);
	}
	free(rq_waits);
	if (got < 0)
		*e = s->err;
	return got >= 0;
}

/* ---- the whole ---- */

struct system *system_create(struct trace *t, struct err *e)
{
	struct system *s;

	s = x_calloc(1, sizeof(*s));
	s->trace = t;
	s->n_hosts = t->n_hosts;
	s->hosts = x_calloc(t->n_hosts + 1, sizeof(*s->hosts));
	s->mrs = x_calloc(t->n_mrs + 1, sizeof(*s->mrs));
	s->mws = x_calloc(t->n_mws + 1, sizeof(*s->mws));
	s->qps = x_calloc(t->n_qps + 1, sizeof(*s->qps));
	s->cqs = x_calloc(t->n_cqs + 1, sizeof(*s->cqs));
	s->srqs = x_calloc(t->n_srqs + 1, sizeof(*s->srqs));
	s->oplog = oplog_create();
	recs_init(&s->recs, t->n_hosts);
	for (uint32_t i = 0; i < t->n_hosts; i++)
		create_host(s, i);
	system_index_expects(s);
	if (setup_mrs(s, e) && create_queues(s, e)) {
		create_eqs(s);
		return s;
	}
	system_destroy(s);
	return NULL;
}

void system_destroy(struct system *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n_hosts; i++) {
		struct host *h = &s->hosts[i];

		verbs_close(h);
		space_destroy(h->space);
		mem_destroy(h->mem);
		free(h->space);
		free(h->mem);
		free(h->nic_name);
		free(h->nic);
	}
	recs_destroy(&s->recs);
	oplog_destroy(s->oplog);
	free(s->hosts);
	free(s->mrs);
	free(s->mws);
	free(s->qps);
	free(s->cqs);
	free(s->srqs);
	free(s);
}
