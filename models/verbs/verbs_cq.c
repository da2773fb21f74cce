/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs_cq.c - the data path behind the posts: CQEs read and taken apart, queues retired, doorbells
 * of CQs, regions removed (protocol.md section 13)
 */
#include "models/cpu_list.h"
#include "models/verbs/wqe.h"

#define CQE_BYTES 64u
#define CI_MASK 0xffffffu
#define ARM_SOLICITED (1u << 24)

/* ---- completions ---- */

void verbs_poll_cq(struct host *h, uint32_t cqi, struct cpu_list *out)
{
	const struct cq_attr *cq = &h->nic->cq[cqi];
	struct drv_cq *d = &h->cq[cqi];
	struct cpu_req *r =
		append(out, CPU_POLL, cq->pa + (uint64_t)(d->ci & (cq->depth - 1)) * CQE_BYTES,
		       CQE_BYTES, OP_NONE);

	memset(r->data, 0, sizeof(r->data));
	r->tag = cqi;
	r->owner = d->ci >> d->log_depth & 1;
	d->is_polling = true;
}

void verbs_peek_cq(struct host *h, uint32_t cqi, struct cpu_list *out)
{
	verbs_poll_cq(h, cqi, out);
	out->req[out->n - 1].kind = CPU_PEEK;
}

bool verbs_peeked(const struct host *h, uint32_t cqi, const uint8_t *cqe)
{
	const struct drv_cq *d = &h->cq[cqi];

	return cqe[63] >> 4 != CQE_INVALID && (cqe[63] & 1) == (d->ci >> d->log_depth & 1);
}

static uint8_t status_of(uint8_t syndrome)
{
	static const uint8_t statuses[] = {
		[CQE_SYNDROME_LOCAL_LENGTH] = WC_LOC_LEN_ERR,
		[CQE_SYNDROME_LOCAL_QP_OP] = WC_LOC_QP_OP_ERR,
		[CQE_SYNDROME_LOCAL_PROT] = WC_LOC_PROT_ERR,
		[CQE_SYNDROME_WR_FLUSH] = WC_WR_FLUSH_ERR,
		[CQE_SYNDROME_MW_BIND] = WC_MW_BIND_ERR,
		[CQE_SYNDROME_BAD_RESP] = WC_BAD_RESP_ERR,
		[CQE_SYNDROME_LOCAL_ACCESS] = WC_LOC_ACCESS_ERR,
		[CQE_SYNDROME_REMOTE_INVAL_REQ] = WC_REM_INV_REQ_ERR,
		[CQE_SYNDROME_REMOTE_ACCESS] = WC_REM_ACCESS_ERR,
		[CQE_SYNDROME_REMOTE_OP] = WC_REM_OP_ERR,
		[CQE_SYNDROME_RETRY_EXC] = WC_RETRY_EXC_ERR,
		[CQE_SYNDROME_RNR_RETRY_EXC] = WC_RNR_RETRY_EXC_ERR,
		[CQE_SYNDROME_REMOTE_ABORTED] = WC_REM_ABORT_ERR,
	};
	uint8_t s = syndrome < ARRAY_LEN(statuses) ? statuses[syndrome] : 0;

	return s ? s : WC_GENERAL_ERR;
}

void verbs_consume(struct host *h, uint32_t cqi, const uint8_t *cqe, struct wc *wc)
{
	struct drv_cq *d = &h->cq[cqi];
	uint8_t opcode = cqe[63] >> 4;
	bool is_error = opcode == CQE_REQ_ERR || opcode == CQE_RESP_ERR;

	SIM_CHECK(opcode != CQE_INVALID && (cqe[63] & 1) == (d->ci >> d->log_depth & 1), h->cpu);
	*wc = (struct wc){
		.qpi = nic_qpi(h->nic, load_be32(cqe + 56) & 0xffffff),
		.status = is_error ? status_of(cqe[55]) : WC_SUCCESS,
		.opcode = opcode,
		.is_recv = opcode != CQE_REQ && opcode != CQE_REQ_ERR,
		.index = (uint16_t)(cqe[60] << 8 | cqe[61]),
		.byte_len = is_error ? 0 : load_be32(cqe + 44),
		.imm = is_error ? 0 : load_be32(cqe + 36),
		.src_qp = is_error ? 0 : load_be32(cqe + 24) & 0xffffff,
		.number = d->ci,
	};
	SIM_CHECK(wc->qpi != QPI_NONE, h->cpu);
	d->is_polling = false;
	d->ci++;
}

/* WQE 'index' of an SRQ is free again. */
static void retire_shared(struct host *h, uint32_t srqi, uint16_t index, struct wr_entry *e)
{
	struct drv_srq *d = &h->srq[srqi];

	SIM_CHECK(index < h->nic->srq[srqi].n_wqe && d->entry[index].is_signaled, h->cpu);
	*e = d->entry[index];
	d->entry[index].is_signaled = false;
	d->next[d->tail] = index;
	d->tail = index;
	d->n_posted--;
}

bool verbs_is_stale(const struct host *h, const struct wc *wc)
{
	const struct drv_qp *d = &h->qp[wc->qpi];

	if (wc->is_recv && h->nic->qp[wc->qpi].srq != SRQ_NONE)
		return false;
	return d->n_closing || (int32_t)(wc->number - d->life[wc->is_recv]) < 0;
}

bool verbs_retire(struct host *h, const struct wc *wc, struct wr_entry *e)
{
	const struct qp_attr *q = &h->nic->qp[wc->qpi];
	struct drv_qp *d = &h->qp[wc->qpi];
	struct wr_ring *r = wc->is_recv ? &d->rq : &d->sq;
	bool is_it;

	if (wc->is_recv && q->srq != SRQ_NONE) {
		retire_shared(h, q->srq, wc->index, e);
		return true;
	}
	SIM_CHECK(r->head != r->tail, h->cpu); /* a completion of something that was not posted */
	*e = r->entry[r->tail & r->mask];
	is_it = e->index == wc->index;
	r->tail++;
	h->cq[wc->is_recv ? q->rcq : q->scq].outstanding--;
	return is_it;
}

void verbs_update_ci(struct host *h, uint32_t cqi, struct cpu_list *out)
{
	struct drv_cq *d = &h->cq[cqi];

	d->ci_written = d->ci;
	append_store32(out, h->nic->cq[cqi].dbr_pa, d->ci & CI_MASK, OP_NONE);
}

void verbs_make_room(struct host *h, uint32_t cqi, struct cpu_list *out)
{
	const struct drv_cq *d = &h->cq[cqi];
	uint32_t untold = d->ci - d->ci_written;

	if (untold && untold + d->outstanding + d->shared > h->nic->cq[cqi].depth)
		verbs_update_ci(h, cqi, out);
}

int verbs_req_notify(struct host *h, uint32_t cqi, bool solicited_only, struct cpu_list *out)
{
	const struct cq_attr *cq = &h->nic->cq[cqi];
	struct drv_cq *d = &h->cq[cqi];
	uint32_t arm = (uint32_t)(d->arm_sn & 3) << 28 | (solicited_only ? ARM_SOLICITED : 0) |
		       (d->ci & CI_MASK);
	struct cpu_req *r;

	append_store32(out, cq->dbr_pa + 4, arm, OP_NONE);
	r = append(out, CPU_MMIO, UAR_CQ_DOORBELL, 8, OP_NONE);
	memset(r->data, 0, sizeof(r->data));
	store_be32(r->data, arm);
	store_be32(r->data + 4, cq->cqn);
	d->arm_sn++;
	return 0;
}

void verbs_dereg_mr(struct host *h, const struct verbs_mr *mr, struct cpu_list *out)
{
	static const uint8_t invalid[1] = { 0 };
	const uint64_t mpt = h->nic->mpt_pa + MPT_FLAGS;

	append_store(out, mpt + (uint64_t)(mr->lkey >> 8) * MPT_SIZE, invalid, 1, OP_NONE);
	if (mr->rkey != mr->lkey)
		append_store(out, mpt + (uint64_t)(mr->rkey >> 8) * MPT_SIZE, invalid, 1, OP_NONE);
}

void verbs_unbind_mw(struct host *h, const struct verbs_mw *mw, struct cpu_list *out)
{
	const uint8_t unbound[1] = { MPT_WINDOW | (mw->type == 1 ? MPT_TYPE_1 : 0) };

	append_store(out, h->nic->mpt_pa + (uint64_t)(mw->rkey >> 8) * MPT_SIZE + MPT_FLAGS,
		     unbound, 1, OP_NONE);
}

void verbs_apply(struct host *h, const struct cpu_list *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct cpu_req *r = &l->req[i];

		SIM_CHECK(r->kind == CPU_STORE, NULL);
		mem_write(h->mem, r->addr, r->data, r->len);
	}
}
