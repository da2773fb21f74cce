/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cqe_compress.c - the completion writer's sessions: completions of one CQ that go out as one block
 *
 * Successive completions of a CQ that agree in all that a title says (QP, opcode, solicited bit, immediate, sender)
 * wait for each other in a session, of which the device has compress_sessions. It is written when it has compress_max
 * of them, when compress_time has passed since the first, when the CQ has no room known for one more, when a completion
 * comes that does not join it, or when its place is wanted. One completion alone is written as it is. Errors are
 * never compressed, nor are receives whose WQE counter the format cannot tell. The arrays are written before the
 * title, or in one write with it where both fit a TLP.
 */
#include "models/cqe_writer.h"

#define NO_SESSION UINT32_MAX
#define PAIR_BYTES (2 * CQE_BYTES) /* title and first array */

void cqe_compress_build(struct cqe_writer *w)
{
	w->session = block_alloc(&w->b, w->compress_sessions, sizeof(*w->session));
	w->compress_cyc = block_cycles_of_ps(&w->b, w->compress_time);
}

void cqe_compress_reset(struct cqe_writer *w)
{
	memset(w->session, 0, w->compress_sessions * sizeof(*w->session));
	w->n_open = w->pieces = 0;
	w->writing = NO_SESSION;
}

uint32_t cqe_compress_pending(const struct cqe_writer *w, uint32_t cqi)
{
	uint32_t at = w->cq[cqi].session;

	return at ? w->session[at - 1].n : 0;
}

/* The session that is to be written first; NO_SESSION when none is open. */
static uint32_t earliest(const struct cqe_writer *w)
{
	uint32_t best = NO_SESSION;

	for (uint32_t i = 0; w->n_open && i < w->compress_sessions; i++)
		if (w->session[i].n &&
		    (best == NO_SESSION || w->session[i].due_cyc < w->session[best].due_cyc))
			best = i;
	return best;
}

uint64_t cqe_compress_due(const struct cqe_writer *w)
{
	uint32_t i = w->writing != NO_SESSION ? w->writing : earliest(w);

	if (i == NO_SESSION)
		return CYCLE_NEVER;
	return w->writing != NO_SESSION ? w->b.cycle : w->session[i].due_cyc;
}

/* ---- taking completions ---- */

static bool is_recv(const struct cqe_req *r)
{
	return r->opcode != CQE_REQ;
}

static bool can_compress(const struct cqe_writer *w, const struct cqe_req *r)
{
	if (r->opcode == CQE_REQ_ERR || r->opcode == CQE_RESP_ERR)
		return false;
	return !is_recv(r) || w->mini_format == MINI_CSUM_STRIDX ||
	       cqe_nic(w)->qp[r->qpi].srq >= cqe_nic(w)->n_srq;
}

static bool joins(const struct cqe_writer *w, const struct cqe_session *s, const struct cqe_req *r)
{
	return can_compress(w, r) && r->qpi == s->first.qpi && r->opcode == s->first.opcode &&
	       r->solicited == s->first.solicited && r->imm == s->first.imm &&
	       r->flags_rqpn == s->first.flags_rqpn &&
	       (!is_recv(r) || w->mini_format == MINI_CSUM_STRIDX ||
		r->wqe_counter == (uint16_t)(s->first.wqe_counter + s->n));
}

static void put_mini(const struct cqe_writer *w, const struct cqe_req *r, uint8_t *mini)
{
	memset(mini, 0, MINI_BYTES);
	if (!is_recv(r)) {
		hdr_put(mini, MINI_COUNTER * 8, 16, r->wqe_counter);
		mini[MINI_OPCODE] = r->wqe_opcode;
	} else if (w->mini_format == MINI_CSUM_STRIDX) {
		hdr_put(mini, MINI_STRIDX * 8, 16, r->wqe_counter);
	}
	hdr_put(mini, MINI_BYTE_CNT * 8, 32, r->byte_cnt);
}

/* A free session for the CQ of 'r'; none: the oldest has to go. */
static struct cqe_session *open_session(struct cqe_writer *w, const struct cqe_req *r)
{
	uint32_t i = 0;

	if (w->n_open == w->compress_sessions) {
		w->session[earliest(w)].due_cyc = w->b.cycle;
		return NULL;
	}
	while (w->session[i].n)
		i++;
	w->cq[r->cqi].session = i + 1;
	w->n_open++;
	w->session[i].first = *r;
	w->session[i].first_cyc = w->b.cycle;
	w->session[i].due_cyc = w->b.cycle + max_u64(w->compress_cyc, 1);
	return &w->session[i];
}

enum cqe_offer cqe_compress_offer(struct cqe_writer *w, const struct cqe_req *r)
{
	struct cq_state *q = &w->cq[r->cqi];
	struct cqe_session *s = q->session ? &w->session[q->session - 1] : NULL;

	if (s && !joins(w, s, r)) {
		s->due_cyc = w->b.cycle;
		return CQE_WAITS;
	}
	if (!s) {
		if (!can_compress(w, r))
			return CQE_ALONE;
		s = open_session(w, r);
		if (!s)
			return CQE_WAITS;
	}
	put_mini(w, r, s->mini[s->n++]);
	if (s->n >= w->compress_max || q->pi + s->n - q->ci >= cqe_nic(w)->cq[r->cqi].depth)
		s->due_cyc = w->b.cycle;
	return CQE_TAKEN;
}

/* ---- writing ---- */

static uint64_t entry_pa(const struct cqe_writer *w, uint32_t cqi, uint32_t at)
{
	const struct cq_attr *cq = &cqe_nic(w)->cq[cqi];

	return cq->pa + (uint64_t)(at & (cq->depth - 1)) * CQE_BYTES;
}

/* The title and the first array can be one TLP: they stand side by side in one page. */
static bool is_pair(uint64_t title_pa, uint64_t array_pa)
{
	return array_pa == title_pa + CQE_BYTES && title_pa % PAGE_4K + PAIR_BYTES <= PAGE_4K;
}

static void put_title(const struct cqe_writer *w, const struct cqe_session *s, uint8_t *to)
{
	struct cqe_req r = s->first;

	r.byte_cnt = s->n;
	cqe_build(w, &r, s->first_cyc, to);
	to[63] |= CQE_COMPRESSED;
}

/* The block is written: its completions are the program's. */
static void close_session(struct cqe_writer *w, struct cqe_session *s)
{
	uint32_t cqi = s->first.cqi;

	w->cq[cqi].pi += s->n;
	w->cq[cqi].session = 0;
	w->cqes += s->n;
	w->blocks++;
	w->minis += s->n;
	s->n = 0;
	w->n_open--;
	w->writing = NO_SESSION;
	cqe_event_completed(w, cqi, s->first.solicited);
}

/* One array alone, or the title, with the first array where that can be. */
static void write_piece(struct cqe_writer *w, struct cqe_session *s)
{
	uint32_t cqi = s->first.cqi, pi = w->cq[cqi].pi;
	uint64_t title_pa = entry_pa(w, cqi, pi), array_pa = entry_pa(w, cqi, pi + 1);
	bool has_title = w->pieces == 0 || (w->pieces == 1 && is_pair(title_pa, array_pa));
	struct dma_req d = {
		.addr = title_pa,
		.key = KEY_PHYS,
		.len = CQE_BYTES,
		.buf = pool_alloc(w->pool),
		.tag = CQE_TAG_CQE,
		.is_write = 1,
		.cls = DMA_CQE,
		.op = has_title ? s->first.op : OP_NONE,
	};
	uint8_t *to = buf_data(w->b.sim, d.buf);

	if (has_title) {
		put_title(w, s, to);
		to += CQE_BYTES;
	}
	if (w->pieces) {
		w->pieces--;
		memcpy(to, s->mini[w->pieces * MINI_ARRAY], CQE_BYTES);
		if (has_title)
			d.len = PAIR_BYTES;
		else
			d.addr = entry_pa(w, cqi, pi + mini_array_at(w->pieces));
	}
	w->cqe_b += d.len;
	dma_req_push(w->dma_req, &d);
	if (has_title)
		close_session(w, s);
}

void cqe_compress_write(struct cqe_writer *w)
{
	struct cqe_session *s;

	if (w->writing == NO_SESSION) {
		w->writing = earliest(w);
		w->pieces = (uint32_t)ceil_div(w->session[w->writing].n, MINI_ARRAY);
	}
	s = &w->session[w->writing];
	if (s->n > 1) {
		write_piece(w, s);
		return;
	}
	w->cq[s->first.cqi].session = s->n = 0;
	w->n_open--;
	w->writing = NO_SESSION;
	cqe_write(w, &s->first, s->first_cyc);
}
