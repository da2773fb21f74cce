/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ref_exec.c - a dumb executor of verbs traces
 */
#include "testbench/ref_exec.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/nic.h"
#include "sim/rng.h"

/* Bytes on their way, and which of them are not known. */
struct ref_message {
	uint8_t *val, *any;
	uint32_t len;
};

/* ---- set-up ---- */

static void fill(const struct trace_mr *m, uint8_t *to)
{
	const uint64_t *a = m->fill_arg;
	uint64_t word = 0;
	struct rng rng;

	rng_seed(&rng, "fill", a[0]);
	for (uint64_t i = 0; i < m->len; i++) {
		if (m->fill == FILL_RAND && i && i % 65536 == 0) /* each 64 KiB is a stream */
			rng_seed(&rng, "fill", a[0] + i / 65536 * 0x9e3779b97f4a7c15ull);
		if (m->fill == FILL_RAND && i % 8 == 0)
			word = rng_next(&rng);
		switch (m->fill) {
		case FILL_INC:
			to[i] = (uint8_t)(i % 251);
			break;
		case FILL_LIN:
			to[i] = (uint8_t)(a[0] * i + a[1] + a[2] * (i >> 8) + a[3] * (i >> 16));
			break;
		case FILL_RAND:
			to[i] = (uint8_t)(word >> i % 8 * 8);
			break;
		case FILL_HEX:
			to[i] = i < m->fill_len ? m->fill_bytes[i] : 0;
			break;
		default:
			to[i] = 0;
		}
	}
}

struct ref_mr ref_new_mr(uint64_t len)
{
	return (struct ref_mr){ .val = x_calloc(1, len),
				.any = x_calloc(1, len),
				.maybe = x_calloc(len, 1),
				.maybe_local = x_calloc(len, 1) };
}

void ref_free_mr(struct ref_mr *m)
{
	free(m->val);
	free(m->any);
	free(m->maybe);
	free(m->maybe_local);
}

static bool takes_recv(enum wr_opcode op)
{
	return op == WR_SEND || op == WR_SEND_WITH_IMM || op == WR_SEND_WITH_INV ||
	       op == WR_RDMA_WRITE_WITH_IMM;
}

bool ref_is_atomic(enum wr_opcode op)
{
	return op == WR_ATOMIC_CMP_AND_SWP || op == WR_ATOMIC_FETCH_AND_ADD;
}

/* Post number k of a record: addresses have moved on, and start over where the MR ends. */
static uint64_t moved(const struct trace *t, uint64_t addr, uint32_t mr, uint64_t len,
		      uint64_t stride, uint64_t k)
{
	while (k-- && stride) {
		addr += stride;
		if (mr != TRACE_NONE && addr + len > t->mrs[mr].va + t->mrs[mr].len)
			addr = t->mrs[mr].va + (addr - t->mrs[mr].va) % stride;
	}
	return addr;
}

static void add_wr(struct ref_exec *x, const struct trace_record *r, uint64_t rep)
{
	struct ref_qp *q = r->qp == TRACE_NONE ? NULL : &x->qp[r->qp];
	struct ref_wr *w;

	if (x->n_wr == x->cap_wr) {
		x->cap_wr = x->cap_wr ? 2 * x->cap_wr : 64;
		x->wr = x_realloc(x->wr, x->cap_wr * sizeof(*x->wr));
	}
	w = &x->wr[x->n_wr];
	*w = (struct ref_wr){ .r = *r, .rep = rep, .qp = r->qp };
	for (uint32_t i = 0; i < r->n_sge; i++)
		w->len += r->sge[i].len;
	for (uint32_t i = 0; i < r->n_sge; i++)
		w->r.sge[i].addr = moved(x->trace, r->sge[i].addr, r->sge[i].mr, r->sge[i].len,
					 r->stride, rep);
	w->r.raddr = moved(x->trace, r->raddr, r->rmr, w->len, r->rstride, rep);
	w->is_loose = !q || q->is_loose;
	w->is_signaled = q && (x->trace->qps[r->qp].sig_all || (r->flags & WR_SIGNALED));
	w->takes_recv = r->kind == REC_POST && takes_recv(r->opcode);
	if (!q) {
		x->n_wr++;
		return;
	}
	if (r->kind == REC_RECV) {
		q->recvs = x_realloc(q->recvs, (q->n_recvs + 1) * sizeof(*q->recvs));
		q->recvs[q->n_recvs++] = x->n_wr;
	} else {
		q->sends = x_realloc(q->sends, (q->n_sends + 1) * sizeof(*q->sends));
		q->sends[q->n_sends++] = x->n_wr;
	}
	x->n_wr++;
}

static void store(struct ref_exec *x, const struct trace_record *r)
{
	for (uint64_t i = 0; i < r->mem_len; i++)
		x->mr[r->mr].val[r->mem_off + i] = r->mem_bytes ? r->mem_bytes[i] : r->mem_byte;
}

static void modify(struct ref_exec *x, struct ref_qp *q, const struct trace_record *r)
{
	if (r->state == QPS_RESET) {
		for (uint32_t k = 0; k < q->n_sends; k++)
			x->wr[q->sends[k]].is_former = true;
		for (uint32_t k = 0; k < q->n_recvs; k++)
			x->wr[q->recvs[k]].is_former = true;
		q->n_sends = q->n_recvs = 0;
		q->is_reborn = true;
	}
	if (r->state == QPS_RTS && r->psn != TRACE_NONE)
		q->psn = r->psn;
	q->is_killed |= r->state == QPS_ERR;
	q->t_modify_ps = max_u64(q->t_modify_ps, r->at_ps + r->delay_ps);
}

/* Which request consumes which receive: in order. */
static void match(struct ref_exec *x)
{
	for (uint32_t i = 0; i < x->trace->n_qps; i++) {
		const struct ref_qp *q = &x->qp[i], *peer = &x->qp[q->peer];

		if (q->is_loose)
			continue;
		for (uint32_t k = 0, n = 0; k < q->n_sends; k++)
			if (x->wr[q->sends[k]].takes_recv && n < peer->n_recvs)
				x->wr[peer->recvs[n++]].from = q->sends[k] + 1;
	}
}

bool ref_open(struct ref_exec *x, const char *path, struct err *e)
{
	struct trace_record r;
	int got;

	memset(x, 0, sizeof(*x));
	x->trace = trace_open(path, e);
	if (!x->trace)
		return false;
	if (x->trace->n_qps >= UINT8_MAX)
		return err_set(e, path, 0, "too many QPs for the reference");
	x->mr = x_calloc(x->trace->n_mrs + 1, sizeof(*x->mr));
	x->qp = x_calloc(x->trace->n_qps + 1, sizeof(*x->qp));
	for (uint32_t i = 0; i < x->trace->n_mrs; i++) {
		x->mr[i] = ref_new_mr(x->trace->mrs[i].len);
		fill(&x->trace->mrs[i], x->mr[i].val);
	}
	for (uint32_t i = 0; i < x->trace->n_qps; i++) {
		const struct trace_qp *t = &x->trace->qps[i];

		x->qp[i].peer = t->peer_qp;
		x->qp[i].psn = t->psn;
		x->qp[i].is_loose = t->type != QP_RC || t->srq != TRACE_NONE ||
				    x->trace->qps[t->peer_qp].srq != TRACE_NONE;
	}
	while ((got = trace_next(x->trace, &r, e)) == 1) {
		if (r.kind == REC_POST || r.kind == REC_RECV)
			for (uint64_t k = 0; k < (r.repeat ? r.repeat : 1); k++)
				add_wr(x, &r, k);
		else if (r.kind == REC_MEM)
			store(x, &r);
		else if (r.kind == REC_MODIFY_QP)
			modify(x, &x->qp[r.qp], &r);
		trace_record_release(&r);
	}
	match(x);
	return got == 0;
}

void ref_close(struct ref_exec *x)
{
	for (uint32_t i = 0; x->mr && i < x->trace->n_mrs; i++)
		ref_free_mr(&x->mr[i]);
	for (uint32_t i = 0; x->qp && i < x->trace->n_qps; i++) {
		free(x->qp[i].sends);
		free(x->qp[i].recvs);
	}
	free(x->mr);
	free(x->qp);
	free(x->wr);
	if (x->trace)
		trace_close(x->trace);
}

uint32_t ref_find_mr(const struct ref_exec *x, uint32_t host, const char *name)
{
	for (uint32_t i = 0; i < x->trace->n_mrs; i++)
		if (x->trace->mrs[i].host == host && strcmp(x->trace->mrs[i].name, name) == 0)
			return i;
	return TRACE_NONE;
}

void ref_forget(struct ref_exec *x, uint32_t mr)
{
	memset(x->mr[mr].any, 1, x->trace->mrs[mr].len);
}

/* ---- what is known of the run ---- */

bool ref_outcome(struct ref_exec *x, const struct op_row *rows, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct ref_wr *w = NULL;

		for (uint32_t k = 0; k < x->n_wr && !w; k++)
			if (x->wr[k].r.host == rows[i].host && x->wr[k].r.id == rows[i].id &&
			    x->wr[k].rep == rows[i].rep)
				w = &x->wr[k];
		if (w && w->qp == TRACE_NONE)
			w->qp = rows[i].qp;
		if (!w || w->qp != rows[i].qp || rows[i].is_recv != (w->r.kind == REC_RECV))
			return false;
		w->has_row = true;
		w->status = rows[i].status;
		w->is_error = rows[i].status != WC_SUCCESS;
		w->t_post = rows[i].t_ps[OP_POST];
		w->t_poll = rows[i].t_ps[OP_POLL];
	}
	return true;
}

/* Requests up to the last of which success is known, at either side, were executed. */
static void find_sure(struct ref_exec *x, struct ref_qp *q)
{
	const struct ref_qp *peer = &x->qp[q->peer];

	for (uint32_t k = 0; k < q->n_sends; k++)
		if (x->wr[q->sends[k]].has_row && !x->wr[q->sends[k]].is_error)
			q->n_sure = k + 1;
	for (uint32_t i = 0; i < peer->n_recvs; i++) {
		const struct ref_wr *r = &x->wr[peer->recvs[i]];

		for (uint32_t k = q->n_sure;
		     r->from && r->has_row && !r->is_error && k < q->n_sends; k++)
			if (q->sends[k] == r->from - 1)
				q->n_sure = k + 1;
	}
	for (uint32_t k = 0; k < q->n_sure; k++)
		x->wr[q->sends[k]].is_sure = true;
}

/* ---- memory ---- */

/* The MR and offset of an address: by the MR that the trace names, or by a key that it has given
 * one. */
static uint32_t find_place(const struct ref_exec *x, uint32_t host, uint32_t mr, uint64_t addr,
			   uint32_t len, uint32_t key, bool is_remote)
{
	for (uint32_t i = 0; mr == TRACE_NONE && i < x->trace->n_mrs; i++) {
		const struct trace_mr *m = &x->trace->mrs[i];

		if (m->host == host && key && (is_remote ? m->rkey : m->lkey) == key &&
		    addr >= m->va && addr + len <= m->va + m->len)
			mr = i;
	}
	for (uint32_t i = 0; mr == TRACE_NONE && is_remote && i < x->n_wr; i++) {
		const struct trace_record *r = &x->wr[i].r; /* a window that was bound there */

		if (r->opcode == WR_BIND_MW && r->kind == REC_POST && r->host == host &&
		    key == (r->newkey ? r->newkey : x->trace->mws[r->mw].rkey))
			mr = r->bind_mr;
	}
	return mr;
}

struct place {
	struct ref_mr *mr;
	uint64_t off;
};

static struct place local_place(const struct ref_exec *x, struct ref_mr *mem,
				const struct ref_wr *w, uint32_t i)
{
	const struct rec_sge *s = &w->r.sge[i];
	uint32_t mr = find_place(x, w->r.host, s->mr, s->addr, s->len, s->lkey, false);

	return mr == TRACE_NONE ? (struct place){ NULL, 0 }
				: (struct place){ &mem[mr], s->addr - x->trace->mrs[mr].va };
}

static struct place remote_place(const struct ref_exec *x, struct ref_mr *mem,
				 const struct ref_wr *w)
{
	uint32_t mr = find_place(x, x->trace->qps[w->qp].peer_host, w->r.rmr, w->r.raddr, w->len,
				 w->r.rkey, true);

	return mr == TRACE_NONE ? (struct place){ NULL, 0 }
				: (struct place){ &mem[mr], w->r.raddr - x->trace->mrs[mr].va };
}

static void take(const struct place *p, struct ref_message *m, uint32_t at, uint32_t len,
		 uint32_t qp)
{
	for (uint32_t i = 0; p->mr && i < len; i++) {
		uint64_t k = p->off + i;
		uint32_t by = p->mr->maybe[k] ? p->mr->maybe[k] : p->mr->maybe_local[k];

		m->val[at + i] = p->mr->val[k];
		m->any[at + i] = p->mr->any[k] || (by && by != qp + 1);
	}
}

static void put(const struct place *p, const struct ref_message *m, uint32_t at, uint32_t len)
{
	for (uint32_t i = 0; p->mr && i < len; i++) {
		p->mr->val[p->off + i] = m->val[at + i];
		p->mr->any[p->off + i] |= m->any[at + i];
	}
}

static void mark(const struct place *p, uint32_t len, uint32_t qp, bool is_local)
{
	for (uint32_t i = 0; p->mr && i < len; i++)
		(is_local ? p->mr->maybe_local : p->mr->maybe)[p->off + i] = (uint8_t)(qp + 1);
}

/* ---- one request ---- */

static void gather(const struct ref_exec *x, struct ref_mr *mem, const struct ref_wr *w,
		   struct ref_message *m)
{
	for (uint32_t i = 0, at = 0; i < w->r.n_sge; at += w->r.sge[i++].len) {
		struct place p = local_place(x, mem, w, i);

		take(&p, m, at, w->r.sge[i].len, w->qp);
	}
}

/* Into the segments of a READ or receive. */
static void scatter(const struct ref_exec *x, struct ref_mr *mem, const struct ref_wr *w,
		    const struct ref_message *m)
{
	for (uint32_t i = 0, at = 0; i < w->r.n_sge && at < m->len; at += w->r.sge[i++].len) {
		struct place p = local_place(x, mem, w, i);

		put(&p, m, at, (uint32_t)min_u64(w->r.sge[i].len, m->len - at));
	}
}

static const struct ref_wr *receive_of(const struct ref_exec *x, const struct ref_wr *w)
{
	const struct ref_qp *peer = &x->qp[x->qp[w->qp].peer];

	for (uint32_t i = 0; i < peer->n_recvs; i++)
		if (x->wr[peer->recvs[i]].from == (uint32_t)(w - x->wr) + 1)
			return &x->wr[peer->recvs[i]];
	return NULL;
}

/* The 8 bytes, least significant first, before (into the message) and after (into the place). */
static void do_atomic(const struct ref_wr *w, const struct place *p, struct ref_message *m)
{
	struct ref_message after = { (uint8_t[8]){ 0 }, (uint8_t[8]){ 0 }, 8 };
	uint64_t old = 0, new;

	take(p, m, 0, 8, w->qp);
	for (unsigned i = 0; i < 8; i++)
		old |= (uint64_t)m->val[i] << 8 * i;
	new = w->r.opcode == WR_ATOMIC_FETCH_AND_ADD ? old + w->r.compare_add
	      : old == w->r.compare_add              ? w->r.swap
						     : old;
	for (unsigned i = 0; i < 8; i++)
		after.val[i] = (uint8_t)(new >> 8 * i);
	put(p, &after, 0, 8);
}

void ref_execute(const struct ref_exec *x, struct ref_mr *mem, const struct ref_wr *w)
{
	struct ref_message m = { x_calloc(1, w->len + 8), x_calloc(1, w->len + 8), w->len };
	const struct ref_wr *recv = takes_recv(w->r.opcode) ? receive_of(x, w) : NULL;
	struct place to = remote_place(x, mem, w);

	if (w->is_refused)
		;
	else if (w->r.opcode == WR_RDMA_READ) {
		take(&to, &m, 0, w->len, w->qp);
		if (to.mr)
			scatter(x, mem, w, &m);
	} else if (ref_is_atomic(w->r.opcode)) {
		if (to.mr) {
			do_atomic(w, &to, &m);
			scatter(x, mem, w, &m);
		}
	} else {
		gather(x, mem, w, &m);
		if (w->r.opcode <= WR_RDMA_WRITE_WITH_IMM || w->r.opcode == WR_ATOMIC_WRITE)
			put(&to, &m, 0, w->len);
		else if (recv)
			scatter(x, mem, recv, &m);
	}
	free(m.val);
	free(m.any);
}

/* The bytes that a request writes. */
static void mark_targets(struct ref_exec *x, const struct ref_wr *w)
{
	const struct ref_wr *recv = takes_recv(w->r.opcode) ? receive_of(x, w) : NULL;
	bool is_read = w->r.opcode == WR_RDMA_READ || ref_is_atomic(w->r.opcode);
	const struct ref_wr *segs = is_read                                         ? w
				    : recv && w->r.opcode != WR_RDMA_WRITE_WITH_IMM ? recv
										    : NULL;

	for (uint32_t i = 0; segs && i < segs->r.n_sge; i++) {
		struct place p = local_place(x, x->mr, segs, i);

		mark(&p, segs->r.sge[i].len, w->qp, is_read);
	}
	if (w->r.opcode != WR_RDMA_READ && w->r.opcode != WR_FLUSH && !segs) {
		struct place p = remote_place(x, x->mr, w);

		mark(&p, w->len, w->qp, false);
		if (p.mr && ref_may_lose_key(x, w))
			memset(p.mr->any + p.off, 1, w->len);
	} else if (ref_is_atomic(w->r.opcode)) {
		struct place p = remote_place(x, x->mr, w);

		mark(&p, 8, w->qp, false);
	}
}

/* What a READ or ATOMIC brought back is not known, though it was executed. */
static void forget_result(struct ref_exec *x, const struct ref_wr *w)
{
	for (uint32_t i = 0;
	     i < w->r.n_sge && (w->r.opcode == WR_RDMA_READ || ref_is_atomic(w->r.opcode)); i++) {
		struct place p = local_place(x, x->mr, w, i);

		if (p.mr)
			memset(p.mr->any + p.off, 1, w->r.sge[i].len);
	}
}

void ref_run(struct ref_exec *x)
{
	for (uint32_t i = 0; i < x->trace->n_qps; i++)
		if (!x->qp[i].is_loose)
			find_sure(x, &x->qp[i]);
	for (uint32_t i = 0; i < x->n_wr; i++) {
		const struct ref_wr *w = &x->wr[i];

		if (w->r.kind != REC_POST || w->is_loose || w->is_former)
			continue;
		if (w->is_sure)
			ref_execute(x, x->mr, w);
		else if (!w->is_refused)
			mark_targets(x, w);
		if (w->is_sure && w->is_error)
			forget_result(x, w);
	}
}
