/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responder_sr.c - selective repeat: packets that arrive behind a gap, and what is said of them
 *
 * After IRN (Mittal et al., SIGCOMM 2018), but stricter about order. Per QP a window of PSNs from
 * the expected one on. A later packet of the WRITE in progress, whose range was checked with its
 * first packet, is written to memory at once (bytes of one message may land in any order). All else
 * is copied into a buffer of the NIC and waits: SENDs for their receive WQE, READs and ATOMICs for
 * what comes before, WRITEs for the range that only their first packet carries. So no message
 * overtakes another in memory, and packets look as IBTA has them; IRN adds offsets to them instead.
 * When the gap is filled, what waits behind it passes through execution in order, with the payload
 * or, if that was written, without it: MSN, completions and acknowledgements follow as ever.
 *
 * Every packet behind a gap is answered with a selective acknowledgement (recovery.h); those in
 * order are as ever, when they ask for it, and all until nothing is kept any more. Without a free
 * buffer a packet is dropped.
 *
 * The other way round the requester keeps responses (requester_sr.c) and asks for some packets of a
 * READ: they go out before all responses that were not sent yet, one such request of a QP at a time.
 */
#include <string.h>

#include "models/packet/aeth.h"
#include "models/packet/packet.h"
#include "models/responder.h"

static struct rsp_held *held_at(const struct responder *r, const struct rsp_qp *q, uint32_t psn)
{
	return &q->held[psn & r->sr_mask];
}

static bool is_held(const struct responder *r, const struct rsp_qp *q, uint32_t psn)
{
	const struct rsp_held *h = held_at(r, q, psn);

	return h->is_used && h->m.psn == psn;
}

static void release(struct responder *r, struct rsp_qp *q, struct rsp_held *h)
{
	if (h->m.buf != BUF_NONE)
		buf_unref(&r->b, h->m.buf);
	h->is_used = false;
	q->n_held--;
	r->n_held--;
}

/* Keep the packet of 'c', whose payload is in 'buf' or (BUF_NONE) on its way to memory. */
static void keep(struct responder *r, struct rsp_qp *q, const struct rsp_ctx *c, uint32_t buf)
{
	struct rsp_held *h = held_at(r, q, c->m.psn);

	if (h->is_used) /* within a READ: no such packet was ever sent */
		release(r, q, h);
	*h = (struct rsp_held){ .m = c->m, .op = c->op, .imm = c->imm, .is_used = true };
	h->m.buf = buf;
	q->n_held++;
	r->n_held++;
}

/* Whether it is a packet of the WRITE in progress, as long as its place in it says. */
static bool is_of_message(const struct responder *r, const struct rsp_qp *q,
			  const struct rsp_ctx *c, const struct opcode_info *i, uint32_t ahead)
{
	uint64_t mtu = rsp_attr(r, c->m.qpi)->mtu, off = ahead * mtu;

	return q->in_msg == CLASS_WRITE && i->op_class == CLASS_WRITE &&
	       !(i->place & OPCODE_FIRST) && off < q->left &&
	       c->m.len == min_u64(q->left - off, mtu) &&
	       (q->left - off <= mtu) == ((i->place & OPCODE_LAST) != 0);
}

/* A copy of packet 'm' up to its last payload byte. */
static uint32_t copy(struct responder *r, const struct rx_pkt *m)
{
	uint32_t n = (uint32_t)sizeof(struct packet) + m->payload + m->len;
	uint32_t to = pool_alloc(r->hold_pool);

	SIM_CHECK(n <= r->hold_pool->size, r);
	memcpy(buf_data(r->b.sim, to), buf_data(r->b.sim, m->buf), n);
	return to;
}

void rsp_sr_hold(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c,
		 const struct opcode_info *i)
{
	uint32_t ahead = (uint32_t)psn_diff(c->m.psn, q->epsn);
	uint8_t syndrome = q->is_nak_sent ? 0 : NAK_SEQUENCE; /* not after an RNR NAK */

	if (ahead >= r->sr_window) {
		r->dropped++;
	} else if (is_held(r, q, c->m.psn)) {
		r->duplicates++;
	} else if (is_of_message(r, q, c, i, ahead)) {
		rsp_decode(r, c, i);
		c->va = q->va + ahead * (uint64_t)rsp_attr(r, c->m.qpi)->mtu;
		keep(r, q, c, BUF_NONE);
		r->placed++;
		c->outcome = RSP_PLACE;
		c->syndrome = syndrome;
		c->stage = RSP_WRITE;
		qp_list_add(&r->want_write, (uint32_t)(c - r->ctx));
		return;
	} else if (pool_can_alloc(r->hold_pool)) {
		keep(r, q, c, copy(r, &c->m));
		r->held++;
	} else {
		r->dropped++;
		q->is_gap_dropped = true;
	}
	rsp_answer(r, c, RSP_NAK, syndrome);
}

bool rsp_sr_next(struct responder *r, struct rsp_ctx *c)
{
	struct rsp_qp *q = &r->qp[c->m.qpi];
	struct rsp_held *h;

	if (!q->n_held || q->is_error || !is_held(r, q, q->epsn))
		return false;
	h = held_at(r, q, q->epsn);
	*c = (struct rsp_ctx){ .m = h->m,
			       .next = c->next,
			       .op = h->op,
			       .imm = h->imm,
			       .was_early = true,
			       .is_placed = h->m.buf == BUF_NONE };
	h->m.buf = BUF_NONE;
	release(r, q, h);
	qp_list_add(&r->run, c->m.qpi);
	return true;
}

bool rsp_sr_replay(struct responder *r, struct rsp_qp *q, const struct rsp_ctx *c)
{
	const struct rsp_slot *s = &q->slot[c->slot];
	bool is_read = opcode_info[s->opcode].op_class == CLASS_READ;
	uint32_t end_b = is_read ? c->at * rsp_attr(r, c->m.qpi)->mtu + c->dma_len : s->len;
	uint32_t stop = is_read ? psn_count(end_b, rsp_attr(r, c->m.qpi)->mtu) : 1;
	bool is_cut = s->is_active && stop > s->pass.at; /* the rest was not sent yet */

	if (s->is_active && c->at >= s->pass.at)
		return true;
	if (rsp_is_replaying(q))
		return false;
	q->again = (struct rsp_pass){ .start = c->at,
				      .at = c->at,
				      .stop = is_cut ? s->pass.at : stop,
				      .end_b = end_b,
				      .is_cut = is_cut };
	q->again_slot = c->slot;
	if (r->rsc_cache)
		rsp_want_rsc(r, c->m.qpi);
	rsp_stream(r, c->m.qpi);
	return true;
}

void rsp_sr_forget(struct responder *r, struct rsp_qp *q)
{
	for (uint32_t k = 0; q->n_held && k <= r->sr_mask; k++)
		if (q->held[k].is_used)
			release(r, q, &q->held[k]);
}

uint32_t rsp_sr_map(const struct responder *r, const struct rsp_qp *q, uint32_t from, uint8_t *map)
{
	uint32_t n = 0, top = 0;

	memset(map, 0, SACK_MAX_BYTES);
	for (uint32_t k = 0; k < r->sr_window; k++) {
		uint32_t psn = psn_add(from, k);
		bool is_behind = psn_diff(psn, q->epsn) > 0;

		if (is_behind ? is_held(r, q, psn) : psn != q->epsn) {
			sack_set(map, k);
			n += is_behind;
			top = k;
		}
	}
	return n || q->is_gap_dropped ? (top / 32 + 1) * 4 : 0;
}
