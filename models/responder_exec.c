/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responder_exec.c - one request packet: PSN, opcode sequence, rights, lengths, receive WQE, range
 *
 * Source: IBTA vol. 1, 9.7.3 to 9.7.5 and 9.9.3; protocol.md section 9.
 */
#include "models/packet/aeth.h"
#include "models/packet/packet.h"
#include "models/responder.h"
#include "models/verbs/wqe.h"

#define MAX_MESSAGE (1u << 31)
#define ATOMIC_BYTES 8u

const uint8_t rsp_class_access[RSP_CLASSES] = { [CLASS_SEND] = 0,
						[CLASS_WRITE] = ACCESS_REMOTE_WRITE,
						[CLASS_READ] = ACCESS_REMOTE_READ,
						[CLASS_ATOMIC] = ACCESS_REMOTE_ATOMIC,
						[CLASS_FLUSH] = ACCESS_FLUSH,
						[CLASS_ATOMIC_WRITE] = ACCESS_REMOTE_WRITE };

void rsp_answer(struct responder *r, struct rsp_ctx *c, enum rsp_outcome outcome, uint8_t syndrome)
{
	c->outcome = (uint8_t)outcome;
	c->syndrome = syndrome;
	c->left = 0;
	c->stage = RSP_WRITE;
	qp_list_add(&r->want_write, (uint32_t)(c - r->ctx));
}

void rsp_fatal(struct responder *r, struct rsp_ctx *c, uint8_t syndrome, uint8_t recv_syndrome)
{
	struct rsp_qp *q = &r->qp[c->m.qpi];

	rsp_enter_error(r, c->m.qpi);
	q->recv_syndrome = recv_syndrome;
	rsp_answer(r, c, RSP_NAK, syndrome);
}

/* What a receive in use ends with for a fault of the packet. */
static uint8_t recv_end(const struct responder *r, const struct rsp_ctx *c, uint8_t syndrome)
{
	if (!r->qp[c->m.qpi].has_recv)
		return CQE_SYNDROME_WR_FLUSH;
	if (syndrome != NAK_REMOTE_ACCESS)
		return CQE_SYNDROME_REMOTE_INVAL_REQ;
	return r->recv_remote_access ? CQE_SYNDROME_REMOTE_ACCESS : CQE_SYNDROME_LOCAL_ACCESS;
}

void rsp_refuse(struct responder *r, struct rsp_ctx *c, uint8_t syndrome)
{
	rsp_fatal(r, c, syndrome, recv_end(r, c, syndrome));
}

void rsp_decode(struct responder *r, struct rsp_ctx *c, const struct opcode_info *i)
{
	const struct packet *p = buf_data(r->b.sim, c->m.buf);
	const uint8_t *bth = p->data + p->l4;
	struct hdr_atomiceth a;
	struct hdr_immdt imm;
	struct hdr_reth h;

	c->op = p->op;
	c->off = (uint32_t)offsetof(struct packet, data) + c->m.payload;
	c->left = c->m.len;
	if (opcode_has(i, X_RETH)) {
		hdr_reth_decode(&h, bth + i->off[X_RETH]);
		c->va = h.va;
		c->rkey = h.rkey;
		c->dma_len = h.dmalen;
	} else if (opcode_has(i, X_ATOMICETH)) {
		hdr_atomiceth_decode(&a, bth + i->off[X_ATOMICETH]);
		c->va = a.va;
		c->rkey = a.rkey;
		c->swap_add = a.swap_add;
		c->compare = a.compare;
		c->dma_len = ATOMIC_BYTES;
	}
	if (opcode_has(i, X_IMMDT)) {
		hdr_immdt_decode(&imm, bth + i->off[X_IMMDT]);
		c->imm = imm.imm;
	}
	if (rsp_is_extended(i))
		rsp_decode_extended(r, c, i);
}

/* Whether a WRITE packet carries what the message's length says. */
static bool write_len_ok(const struct rsp_qp *q, const struct rsp_ctx *c,
			 const struct opcode_info *i)
{
	uint32_t left = i->place & OPCODE_FIRST ? c->dma_len : q->left;

	return i->place & OPCODE_LAST ? c->m.len == left : c->m.len < left;
}

bool rsp_is_valid(const struct responder *r, const struct rsp_qp *q, const struct rsp_ctx *c,
		  const struct opcode_info *i)
{
	const struct qp_attr *a = rsp_attr(r, c->m.qpi);
	bool is_first = i->place & OPCODE_FIRST;
	uint8_t need;

	if ((q->in_msg == RSP_NO_MESSAGE) != is_first || (!is_first && q->in_msg != i->op_class))
		return false;
	if (i->op_class >= RSP_CLASSES || !opcode_len_ok(i, c->m.len, a->mtu))
		return false;
	need = rsp_class_access[i->op_class];
	if ((a->access & need) != need || c->dma_len > MAX_MESSAGE)
		return false;
	if (i->op_class == CLASS_WRITE)
		return write_len_ok(q, c, i);
	return i->op_class < CLASS_ATOMIC || rsp_operands_ok(c, i);
}

/* The saved READ or ATOMIC that holds PSN 'psn', or n_slot. */
static uint32_t find_slot(const struct rsp_qp *q, uint32_t psn)
{
	uint32_t i;

	for (i = 0; i < q->n_slot; i++)
		if (q->slot[i].is_used &&
		    ((psn - q->slot[i].first_psn) & PSN_MASK) < q->slot[i].n_psn)
			break;
	return i;
}

/* A slot for a new READ or ATOMIC: false when it must wait or was refused (then the packet has its
 * answer). */
static bool take_slot(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c, uint32_t n_psn)
{
	struct rsp_slot *s = &q->slot[q->next_slot];
	bool is_busy = rsp_is_slot_busy(q, q->next_slot);

	if (r->enforce_rd_atomic &&
	    ((is_busy && !s->is_answered) || !rsp_attr(r, c->m.qpi)->dest_rd_atomic)) {
		rsp_refuse(r, c, NAK_INVALID_REQUEST);
		return false;
	}
	if (is_busy) {
		q->is_parked = true;
		return false;
	}
	*s = (struct rsp_slot){ .va = c->va,
				.rkey = c->rkey,
				.len = c->dma_len,
				.first_psn = c->m.psn,
				.n_psn = n_psn,
				.op = c->op,
				.opcode = c->m.opcode,
				.is_used = true };
	return true;
}

/* The READ or ATOMIC at the head was executed: its response starts. */
static void executed(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c)
{
	uint32_t n = q->next_slot;

	q->next_slot = n + 1 == q->n_slot ? 0 : n + 1;
	q->epsn = psn_add(q->epsn, q->slot[n].n_psn);
	q->msn = psn_add(q->msn, 1);
	q->commit_psn = psn_add(q->epsn, PSN_MASK);
	q->commit_msn = q->msn;
	r->messages++;
	rsp_activate(r, c->m.qpi, n, 0);
	rsp_ctx_done(r, c);
}

static void start_message(struct rsp_qp *q, const struct rsp_ctx *c, const struct opcode_info *i)
{
	q->in_msg = i->op_class;
	q->va = c->va;
	q->rkey = c->rkey;
	q->left = q->msg_len = c->dma_len; /* SEND: 0, counted up */
}

/*
 * An ATOMIC behind a READ that still fetches its bytes: it must not change them (IBTA vol. 1,
 * 10.8.3.3: the order of a READ and an ATOMIC is kept without a fence).
 */
static bool must_let_read(const struct rsp_qp *q, const struct opcode_info *i)
{
	if (i->op_class != CLASS_ATOMIC && i->op_class != CLASS_ATOMIC_WRITE)
		return false;
	for (uint32_t n = 0; rsp_is_answering(q) && n < q->n_slot; n++)
		if (rsp_is_slot_busy(q, n) && opcode_info[q->slot[n].opcode].op_class == CLASS_READ)
			return true;
	return false;
}

/* Answer again what the saved resource and the packet say. */
static void replay(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c)
{
	c->stage = RSP_READY;
	if (r->recovery == RECOVERY_SR && !rsp_sr_replay(r, q, c)) {
		q->is_parked = true;
		return;
	}
	if (r->recovery != RECOVERY_SR)
		rsp_activate(r, c->m.qpi, c->slot, c->at);
	r->replays++;
	rsp_ctx_done(r, c);
}

/*
 * SEND, WRITE: write the payload. READ, ATOMIC: once earlier writes are posted.
 */
void rsp_execute(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c,
		 const struct opcode_info *i)
{
	c->stage = RSP_READY;
	if (q->is_error) {
		rsp_ctx_done(r, c);
		return;
	}
	if (i->op_class == CLASS_SEND || i->op_class == CLASS_WRITE) {
		if (opcode_has(i, X_IETH) && !c->is_invalidated) {
			rsp_invalidate(r, q, c);
			return;
		}
		if (i->place & OPCODE_FIRST)
			start_message(q, c, i);
		c->stage = RSP_WRITE;
		qp_list_add(&r->want_write, (uint32_t)(c - r->ctx));
		return;
	}
	if (q->n_commit || must_let_read(q, i)) {
		q->is_parked = true;
		return;
	}
	if (c->is_dup) {
		replay(r, q, c);
	} else if (i->op_class == CLASS_READ) {
		if (!take_slot(r, q, c, psn_count(c->dma_len, rsp_attr(r, c->m.qpi)->mtu)))
			return;
		r->reads++;
		executed(r, q, c);
	} else if (!take_slot(r, q, c, 1)) {
		return;
	} else if (i->op_class == CLASS_FLUSH && !c->dma_len && !c->is_region) {
		executed(r, q, c);
	} else {
		c->stage = RSP_ATOMIC;
		qp_list_add(&r->want_atomic, (uint32_t)(c - r->ctx));
	}
}

/* The key and the range are known to be right, or wrong. */
static void checked(struct responder *r, struct rsp_ctx *c, bool is_ok)
{
	struct rsp_qp *q = &r->qp[c->m.qpi];

	if (is_ok) {
		rsp_execute(r, q, c, &opcode_info[c->m.opcode]);
	} else if (c->is_dup) {
		/* the requester has its answer, or the key would still be good: no fault of a request */
		r->dropped++;
		rsp_ctx_done(r, c);
	} else {
		rsp_services[q->type]->refuse(r, c, NAK_REMOTE_ACCESS,
					      recv_end(r, c, NAK_REMOTE_ACCESS));
	}
}

/* The packet's turn has come: check them, unless that was begun before. */
static void want_xlate(struct responder *r, struct rsp_ctx *c)
{
	enum rsp_check known = rsp_ahead_use(&r->qp[c->m.qpi], c);

	if (known == RSP_CHECK_OK || known == RSP_CHECK_BAD) {
		checked(r, c, known == RSP_CHECK_OK);
		return;
	}
	c->stage = RSP_XLATE;
	if (known != RSP_CHECK_ASKED)
		qp_list_add(&r->want_xlate, (uint32_t)(c - r->ctx));
}

/*
 * The READ lies within that of slot 's', and ends where that ended; with selective repeat it may end
 * before.
 */
static bool is_within(const struct responder *r, const struct rsp_slot *s, const struct rsp_ctx *c)
{
	uint64_t off = c->at * (uint64_t)rsp_attr(r, c->m.qpi)->mtu, end = off + c->dma_len;

	if (c->va != s->va + off)
		return false;
	return end == s->len || (r->recovery == RECOVERY_SR && end > off && end < s->len);
}

/*
 * Never a NAK: executed once already. READ and ATOMIC are answered again from the saved resource;
 * a READ whose key was taken back since is not (protocol.md section 9; as qib does).
 */
static void duplicate(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c,
		      const struct opcode_info *i)
{
	uint32_t n = find_slot(q, c->m.psn);
	const struct rsp_slot *s = &q->slot[n];

	r->duplicates++;
	if (i->op_class == CLASS_SEND || i->op_class == CLASS_WRITE) {
		if (c->m.ack_req || !r->dup_needs_ack_req)
			rsp_answer(r, c, RSP_ACK_AGAIN, 0);
		else
			rsp_ctx_done(r, c);
		return;
	}
	if (n == q->n_slot || s->opcode != c->m.opcode || s->rkey != c->rkey) {
		r->dropped++;
		rsp_ctx_done(r, c);
		return;
	}
	c->at = (c->m.psn - s->first_psn) & PSN_MASK;
	c->is_dup = true;
	c->slot = (uint8_t)n;
	if (i->op_class >= CLASS_ATOMIC) {
		replay(r, q, c);
	} else if (!is_within(r, s, c)) {
		r->dropped++;
		rsp_ctx_done(r, c);
	} else if (c->dma_len) {
		want_xlate(r, c);
	} else {
		rsp_execute(r, q, c, i);
	}
}

/* With the receive WQE, if it needs one, at hand: have the range checked, once a message. */
static void translate(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c,
		      const struct opcode_info *i)
{
	if (i->op_class == CLASS_SEND && c->m.len + c->grh_left > q->room && !q->is_error)
		rsp_services[q->type]->refuse(
			r, c, r->long_send_remote_op ? NAK_REMOTE_OP : NAK_INVALID_REQUEST,
			CQE_SYNDROME_LOCAL_LENGTH);
	else if (i->op_class != CLASS_SEND && i->place & OPCODE_FIRST &&
		 (c->dma_len || c->is_region))
		want_xlate(r, c);
	else
		rsp_execute(r, q, c, i);
}

void rsp_proceed(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c,
		 const struct opcode_info *i)
{
	if (i->takes_rq && !q->has_recv) {
		c->stage = RSP_RECV;
		qp_list_add(&r->want_recv, (uint32_t)(c - r->ctx));
	} else {
		translate(r, q, c, i);
	}
}

static void begin(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c,
		  const struct opcode_info *i)
{
	int32_t ahead = psn_diff(c->m.psn, q->epsn);

	if (ahead > 0) {
		r->gaps++;
		if (r->recovery == RECOVERY_SR) {
			rsp_sr_hold(r, q, c, i);
		} else if (q->is_nak_sent) {
			rsp_ctx_done(r, c);
		} else {
			q->is_nak_sent = true;
			rsp_answer(r, c, RSP_NAK, NAK_SEQUENCE);
		}
		return;
	}
	if (!c->is_placed)
		rsp_decode(r, c, i);
	if (ahead < 0) {
		duplicate(r, q, c, i);
		return;
	}
	q->is_nak_sent = false;
	if (rsp_is_valid(r, q, c, i))
		rsp_proceed(r, q, c, i);
	else
		rsp_refuse(r, c, NAK_INVALID_REQUEST);
}

static void receiver_not_ready(struct responder *r, struct rsp_ctx *c)
{
	r->rnr_naks++;
	r->qp[c->m.qpi].is_nak_sent = !r->nak_after_rnr;
	rsp_answer(r, c, RSP_NAK,
		   (uint8_t)(AETH_RNR_NAK | (rsp_attr(r, c->m.qpi)->min_rnr & AETH_VALUE_MASK)));
}

static const struct rsp_service service_rc = {
	.transport = IB_RC, .begin = begin, .no_recv = receiver_not_ready, .refuse = rsp_fatal
};
const struct rsp_service *const rsp_services[] = { [QP_RC] = &service_rc,
						   [QP_UC] = &rsp_service_uc,
						   [QP_UD] = &rsp_service_ud,
						   [QP_XRC] = &service_rc };

void rsp_run(struct responder *r, uint32_t qpi)
{
	struct rsp_qp *q = &r->qp[qpi];
	struct rsp_ctx *c = rsp_first_ctx(r, q);
	const struct opcode_info *i = &opcode_info[c->m.opcode];

	if (c->stage == RSP_READY) {
		rsp_execute(r, q, c, i);
	} else if (q->is_error || !i->name || i->is_response ||
		   (c->m.opcode & IB_TRANSPORT_MASK) != rsp_services[q->type]->transport) {
		r->dropped++;
		rsp_ctx_done(r, c);
	} else {
		rsp_services[q->type]->begin(r, q, c, i);
	}
}

void rsp_rewind_recv(struct responder *r, struct rsp_qp *q)
{
	const uint8_t *segs = buf_data(r->b.sim, q->recv.buf);

	q->sge = q->sge_off = 0;
	q->room = 0;
	for (uint32_t i = 0; i < q->recv.n_sge; i++)
		q->room += wqe_seg_at(segs + i * WQE_SEG).len;
}

/* The receive WQE that a packet or the flush waits for. */
void rsp_take_recv(struct responder *r)
{
	const struct rq_rsp *m = rq_rsp_peek(r->rq_rsp);
	struct rsp_qp *q;
	struct rsp_ctx *c;

	if (!m)
		return;
	if (m->is_reset) {
		if (r->ring_len == r->writes)
			return;
		rsp_closed(r, m->qpi);
		chan_pop(r->rq_rsp);
		return;
	}
	q = &r->qp[m->qpi];
	q->has_recv = m->buf != BUF_NONE;
	q->rq_free = m->free_wqe;
	q->recv = *m;
	if (q->has_recv)
		rsp_rewind_recv(r, q);
	c = q->ctx_head == RSP_CTX_NONE ? NULL : rsp_first_ctx(r, q);
	if (!c || c->stage != RSP_RECV) {
		q->is_flush_wait = false;
		q->is_flushed = !q->has_recv && !q->is_flush_stale;
		q->is_flush_stale = false;
		rsp_try_flush(r, m->qpi);
	} else if (q->has_recv) {
		translate(r, q, c, &opcode_info[c->m.opcode]);
	} else {
		rsp_services[q->type]->no_recv(r, c);
	}
	chan_pop(r->rq_rsp);
}

void rsp_take_xlate(struct responder *r)
{
	const struct xlate_rsp *m = xlate_rsp_peek(r->xlate_rsp);
	struct rsp_ctx *c;

	if (!m)
		return;
	c = &r->ctx[m->tag];
	if (!rsp_ahead_answer(r, c, m->status == XLATE_OK))
		checked(r, c, m->status == XLATE_OK);
	chan_pop(r->xlate_rsp);
}

void rsp_take_atomic(struct responder *r)
{
	const struct atomic_rsp *m = atomic_rsp_peek(r->atomic_rsp);
	struct rsp_ctx *c;
	struct rsp_qp *q;

	if (!m)
		return;
	c = &r->ctx[m->tag];
	q = &r->qp[c->m.qpi];
	if (m->status != XLATE_OK) {
		rsp_refuse(r, c, NAK_REMOTE_ACCESS);
	} else {
		q->slot[q->next_slot].result = m->original;
		r->atomics++;
		executed(r, q, c);
	}
	chan_pop(r->atomic_rsp);
}
