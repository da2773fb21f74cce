/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs.c - the control path: memory regions, completion queues and queue pairs as the device sees them
 *
 * Objects are bytes in the host's memory in the mlx5 shape (protocol.md section 13; rdma-core mlx5dv.h, qp.c,
 * cq.c) and rows of struct nic. Not modelled: the firmware's command interface and its time.
 */
#include "models/mtt.h"
#include "models/verbs/verbs.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_KEY 16u /* index of the first key assigned; index 1 holds the list-end key 0x100 */
#define FIRST_QPN 0x11u
#define FIRST_CQN 0x400u
#define FIRST_SRQN 0x800u
#define MAX_QPN 0xfffffeu /* 0xffffff is multicast */
#define DBR_ALLOC 64u     /* a doorbell record has a cache line of its own */
#define CQE_BYTES 64u
#define CQE_EMPTY 0xf1u /* opcode 15, owner 1 */

static uint32_t pow2_at_least(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

void verbs_open(struct host *h, uint32_t mpt_entries, uint32_t max_qp, uint32_t max_cq,
		uint32_t max_srq)
{
	struct nic *n = h->nic;

	n->mpt_entries = mpt_entries;
	n->mpt_pa = mem_alloc(h->mem, (uint64_t)mpt_entries * MPT_SIZE, PAGE_4K);
	n->qp = x_calloc(max_qp ? max_qp : 1, sizeof(*n->qp));
	n->cq = x_calloc(max_cq ? max_cq : 1, sizeof(*n->cq));
	h->qp = x_calloc(max_qp ? max_qp : 1, sizeof(*h->qp));
	h->cq = x_calloc(max_cq ? max_cq : 1, sizeof(*h->cq));
	h->cap_qp = max_qp;
	n->srq = x_calloc(max_srq ? max_srq : 1, sizeof(*n->srq));
	h->srq = x_calloc(max_srq ? max_srq : 1, sizeof(*h->srq));
	h->cap_cq = max_cq;
	h->cap_srq = max_srq;
	h->next_key = FIRST_KEY;
	h->next_qpn = FIRST_QPN;
}

void verbs_close(struct host *h)
{
	struct nic *n = h->nic;

	for (uint32_t i = 0; i < n->n_qp; i++) {
		free(n->qp[i].sq_op);
		free(n->qp[i].rq_op);
		free(h->qp[i].sq.entry);
		free(h->qp[i].rq.entry);
	}
	for (uint32_t i = 0; i < n->n_srq; i++) {
		free(n->srq[i].op);
		free(h->srq[i].entry);
		free(h->srq[i].next);
	}
	for (uint32_t i = 0; i < ARRAY_LEN(n->qp_dir); i++)
		free(n->qp_dir[i]);
	free(n->qp);
	free(n->cq);
	free(n->srq);
	free(h->qp);
	free(h->cq);
	free(h->srq);
}

/* ---- memory regions ---- */

static uint8_t *mpt_entry(const struct host *h, uint32_t index)
{
	return mem_at(h->mem, h->nic->mpt_pa + (uint64_t)index * MPT_SIZE);
}

static bool key_is_free(const struct host *h, uint32_t key)
{
	return key >> 8 < h->nic->mpt_entries && !mpt_entry(h, key >> 8)[MPT_FLAGS];
}

/* The next free index with a low byte that differs from its neighbours'; 0 when the table is full. */
static uint32_t assign_key(struct host *h)
{
	while (h->next_key < h->nic->mpt_entries && !key_is_free(h, h->next_key << 8))
		h->next_key++;
	if (h->next_key >= h->nic->mpt_entries)
		return 0;
	return h->next_key << 8 | (h->next_key * 7 & 0xff);
}

static void write_mpt(struct host *h, const struct verbs_mr *mr, uint32_t key, uint8_t access,
		      uint64_t mtt_pa)
{
	uint8_t *e = mpt_entry(h, key >> 8);

	e[MPT_FLAGS] = MPT_VALID;
	e[MPT_ACCESS] = access;
	store_be16(e + MPT_PD, mr->pd);
	e[MPT_KEY8] = (uint8_t)key;
	e[MPT_LOG_PAGE] = (uint8_t)__builtin_ctzll(mr->page);
	store_be64(e + MPT_START, mr->va);
	store_be64(e + MPT_LEN, mr->len);
	store_be64(e + MPT_MTT, mtt_pa);
}

/* The page list of [va, va + len), as the device walks it. */
static uint64_t write_mtt(struct host *h, const struct verbs_mr *mr)
{
	uint64_t first = mr->va / mr->page * mr->page,
		 n = (mr->va + mr->len - 1 - first) / mr->page + 1;
	uint64_t table = mem_alloc(h->mem, n * MTT_ENTRY, DBR_ALLOC);

	for (uint64_t i = 0; i < n; i++) {
		uint8_t entry[MTT_ENTRY];

		store_be64(entry, space_pa(h->space, first + i * mr->page, NULL) | MTT_PRESENT);
		mem_write(h->mem, table + i * MTT_ENTRY, entry, MTT_ENTRY);
	}
	return table;
}

int verbs_reg_mr(struct host *h, struct verbs_mr *mr)
{
	const uint8_t local = ACCESS_LOCAL_WRITE | ACCESS_MW_BIND;
	uint64_t table;

	if (mr->len == 0 || mr->va + (mr->len - 1) < mr->va || mr->page < PAGE_4K ||
	    (mr->page & (mr->page - 1)))
		return EINVAL;
	if (!mr->lkey && !mr->rkey)
		mr->lkey = assign_key(h);
	if (!mr->lkey)
		mr->lkey = mr->rkey;
	if (!mr->rkey)
		mr->rkey = mr->lkey;
	if (mr->lkey == KEY_PHYS || mr->rkey == KEY_PHYS)
		return EINVAL;
	if (!key_is_free(h, mr->lkey) || !key_is_free(h, mr->rkey) ||
	    (mr->lkey != mr->rkey && mr->lkey >> 8 == mr->rkey >> 8))
		return EEXIST;
	if (!space_map(h->space, mr->va, mr->len, mr->page))
		return ENOMEM;
	table = write_mtt(h, mr);
	if (mr->lkey == mr->rkey) {
		write_mpt(h, mr, mr->lkey, mr->access, table);
	} else {
		write_mpt(h, mr, mr->lkey, mr->access & local, table);
		write_mpt(h, mr, mr->rkey, mr->access & (uint8_t)~local, table);
	}
	return 0;
}

void verbs_build_walk(struct host *h, uint32_t levels)
{
	struct nic *nic = h->nic;
	uint64_t end = h->mem->next_pa;

	for (uint32_t level = 1; level < levels; level++) {
		uint64_t step = mtt_walk_span(level);

		nic->walk_pa[level] = mem_alloc(h->mem, (end / step + 1) * MTT_ENTRY, PAGE_4K);
		for (uint64_t pa = 0; pa < end; pa += step) {
			uint8_t entry[MTT_ENTRY];

			store_be64(entry, mtt_walk_entry(nic, level, pa));
			mem_write(h->mem, mtt_walk_pa(nic, level, pa), entry, MTT_ENTRY);
		}
	}
}

int verbs_alloc_mw(struct host *h, struct verbs_mw *mw)
{
	uint8_t *e;

	if (!mw->rkey)
		mw->rkey = assign_key(h);
	if (!mw->rkey)
		return ENOMEM;
	if (mw->rkey == KEY_PHYS)
		return EINVAL;
	if (!key_is_free(h, mw->rkey))
		return EEXIST;
	e = mpt_entry(h, mw->rkey >> 8);
	e[MPT_FLAGS] = MPT_WINDOW | (mw->type == 1 ? MPT_TYPE_1 : 0);
	e[MPT_KEY8] = (uint8_t)mw->rkey;
	store_be16(e + MPT_PD, mw->pd);
	return 0;
}

/* ---- completion queues ---- */

int verbs_create_cq(struct host *h, const struct verbs_cq *a, uint32_t *cqi)
{
	uint32_t i = h->nic->n_cq;
	struct cq_attr *cq = &h->nic->cq[i];

	if (a->depth == 0 || a->depth > 1u << 22)
		return EINVAL;
	SIM_CHECK(i < h->cap_cq, NULL);
	*cq = (struct cq_attr){
		.cqn = FIRST_CQN + i,
		.depth = pow2_at_least(a->depth),
		.moderate_count = a->moderate_count,
		.moderate_ps = a->moderate_ps,
		.is_event = a->is_event,
		.dbr_pa = mem_alloc(h->mem, DBR_ALLOC, DBR_ALLOC),
		.cqc_pa = mem_alloc(h->mem, CTX_SLOT, CTX_SLOT),
	};
	cq->pa = mem_alloc(h->mem, (uint64_t)cq->depth * CQE_BYTES, PAGE_4K);
	for (uint32_t k = 0; k < cq->depth; k++)
		mem_at(h->mem, cq->pa + (uint64_t)k * CQE_BYTES)[CQE_BYTES - 1] = CQE_EMPTY;
	for (uint64_t pa = cq->pa; pa < cq->pa + (uint64_t)cq->depth * CQE_BYTES; pa += PAGE_4K)
		h->mem->frame_cq[pa / PAGE_4K] = i + 1;
	h->cq[i].log_depth = (uint8_t)__builtin_ctz(cq->depth);
	h->nic->n_cq++;
	*cqi = i;
	return 0;
}

/* ---- shared receive queues ---- */

int verbs_create_srq(struct host *h, const struct verbs_srq *a, uint32_t *srqi)
{
	uint32_t i = h->nic->n_srq;
	struct srq_attr *q = &h->nic->srq[i];
	struct drv_srq *d = &h->srq[i];

	if (a->depth == 0 || a->depth > SQ_MAX_BB || a->max_sge == 0 || a->max_sge > MAX_SGE)
		return EINVAL;
	SIM_CHECK(i < h->cap_srq, NULL);
	*q = (struct srq_attr){
		.srqn = FIRST_SRQN + i,
		.n_wqe = pow2_at_least(a->depth + 1),
		.max_sge = a->max_sge,
		.stride = WQE_SEG * pow2_at_least(1 + a->max_sge),
		.pd = a->pd,
		.trace_srq = a->trace_srq,
		.limit = a->limit,
		.dbr_pa = mem_alloc(h->mem, DBR_ALLOC, DBR_ALLOC),
	};
	q->pa = mem_alloc(h->mem, (uint64_t)q->n_wqe * q->stride, PAGE_4K);
	q->op = x_calloc(q->n_wqe, sizeof(*q->op));
	*d = (struct drv_srq){ .rcq = CQI_NONE,
			       .entry = x_calloc(q->n_wqe, sizeof(*d->entry)),
			       .next = x_calloc(q->n_wqe, sizeof(*d->next)),
			       .tail = (uint16_t)(q->n_wqe - 1),
			       .depth = a->depth };
	for (uint32_t k = 0; k < q->n_wqe; k++)
		d->next[k] = (uint16_t)(k + 1 == q->n_wqe ? 0 : k + 1);
	h->nic->n_srq++;
	*srqi = i;
	return 0;
}

/* ---- queue pairs ---- */

/* Blocks of the largest WQE with so many segments or inline bytes; 0 when it does not fit. */
static uint32_t wqe_blocks(const struct verbs_qp *a)
{
	uint32_t bytes = 2 * WQE_SEG; /* control and remote address */
	uint64_t data = max_u64((uint64_t)a->max_sge * WQE_SEG,
				2 * WQE_SEG); /* an atomic and its segment */

	if (a->max_inline)
		data = max_u64(data, align_up(4ull + a->max_inline, WQE_SEG));
	if (a->type == QP_UD)
		bytes += 3 * WQE_SEG;
	if (a->type == QP_XRC)
		bytes += WQE_SEG;
	if (bytes + data > VERBS_MAX_WQE)
		return 0;
	return (uint32_t)ceil_div(bytes + data, WQE_BB);
}

static void ring_init(struct wr_ring *r, uint32_t depth)
{
	uint32_t n = pow2_at_least(depth);

	r->entry = x_calloc(n, sizeof(*r->entry));
	r->mask = n - 1;
	r->depth = depth;
}

static bool qpn_take(struct host *h, const struct verbs_qp *a, uint32_t qpi, uint32_t *qpn)
{
	uint32_t **dir;

	*qpn = a->qpn;
	if (*qpn == 0) {
		while (nic_qpi(h->nic, h->next_qpn) != QPI_NONE)
			h->next_qpn++;
		*qpn = h->next_qpn;
	}
	if (*qpn > MAX_QPN || nic_qpi(h->nic, *qpn) != QPI_NONE)
		return false;
	dir = &h->nic->qp_dir[*qpn >> 12];
	if (!*dir)
		*dir = x_calloc(4096, sizeof(**dir));
	(*dir)[*qpn & 4095] = qpi + 1;
	return true;
}

static void alloc_rings(struct host *h, struct qp_attr *q)
{
	q->sq_pa = mem_alloc(h->mem, (uint64_t)q->sq_bb * WQE_BB, PAGE_4K);
	if (q->rq_wqe)
		q->rq_pa = mem_alloc(h->mem, (uint64_t)q->rq_wqe * q->rq_stride, PAGE_4K);
	q->dbr_pa = mem_alloc(h->mem, DBR_ALLOC, DBR_ALLOC);
	q->qpc_pa = mem_alloc(h->mem, 3 * CTX_SLOT, CTX_SLOT);
	q->sq_op = x_calloc(q->sq_bb, sizeof(*q->sq_op));
	q->rq_op = x_calloc(q->rq_wqe ? q->rq_wqe : 1, sizeof(*q->rq_op));
}

/* The receives of an SRQ may complete at a CQ of one of its QPs, at any time: CQ 'cqi' is another, as a rule. */
static void share_cq(struct host *h, uint32_t srqi, uint32_t cqi)
{
	struct drv_srq *s = &h->srq[srqi];

	h->cq[cqi].outstanding++;
	if (s->rcq != cqi)
		h->cq[cqi].shared += s->depth;
	s->rcq = cqi;
}

int verbs_create_qp(struct host *h, const struct verbs_qp *a, uint32_t *qpi)
{
	uint32_t i = h->nic->n_qp, blocks = wqe_blocks(a), qpn;
	struct qp_attr *q = &h->nic->qp[i];

	if (a->sq == 0 || a->rq == 0 || a->sq > SQ_MAX_BB || a->rq > SQ_MAX_BB || a->max_sge == 0 ||
	    a->max_sge > MAX_SGE || !blocks)
		return EINVAL;
	SIM_CHECK(i < h->cap_qp && a->scq < h->nic->n_cq && a->rcq < h->nic->n_cq &&
			  a->srq <= h->nic->n_srq,
		  NULL);
	if (!qpn_take(h, a, i, &qpn))
		return EEXIST;
	*q = (struct qp_attr){
		.qpn = qpn,
		.scq = a->scq,
		.rcq = a->rcq,
		.srq = a->srq - 1,
		.host = h->index,
		.trace_qp = a->trace_qp,
		.pd = a->pd,
		.type = a->type,
		.max_sge = a->max_sge,
		.sq_bb = (uint32_t)min_u64(pow2_at_least(a->sq * blocks), SQ_MAX_BB),
		.rq_wqe = a->srq ? 0 : pow2_at_least(a->rq),
		.rq_stride = WQE_SEG * pow2_at_least(a->max_sge),
	};
	alloc_rings(h, q);
	ring_init(&h->qp[i].sq, a->sq);
	if (a->srq)
		share_cq(h, a->srq - 1, a->rcq);
	else
		ring_init(&h->qp[i].rq, a->rq);
	h->qp[i].max_inline = a->max_inline;
	h->qp[i].sig_all = a->sig_all;
	h->qp[i].state = QPS_RESET;
	h->nic->n_qp++;
	*qpi = i;
	return 0;
}

int verbs_modify_qp(struct host *h, uint32_t qpi, const struct verbs_qp_state *a)
{
	struct qp_attr *q = &h->nic->qp[qpi];

	if (a->state > QPS_RTS)
		return ENOTSUP;
	if (a->mtu < 256 || a->mtu > 4096 || (a->mtu & (a->mtu - 1)))
		return EINVAL;
	q->dest_qpn = a->dest_qpn;
	q->sq_psn = a->sq_psn;
	q->rq_psn = a->rq_psn;
	q->mtu = a->mtu;
	q->qkey = a->qkey;
	q->pkey = a->pkey;
	q->access = a->access;
	q->rd_atomic = a->rd_atomic;
	q->dest_rd_atomic = a->dest_rd_atomic;
	q->timeout = a->timeout;
	q->retry = a->retry;
	q->rnr_retry = a->rnr_retry;
	q->min_rnr = a->min_rnr;
	q->sl = a->sl;
	q->prio = a->prio;
	q->weight = a->weight;
	q->rate_bps = a->rate_bps;
	h->qp[qpi].path = a->path;
	if (a->to)
		packet_template(q, &h->nic->addr, a->to, &a->path);
	q->is_closed = a->state < QPS_RTR;
	q->is_idle = a->state < QPS_RTS;
	h->qp[qpi].state = a->state;
	return 0;
}
