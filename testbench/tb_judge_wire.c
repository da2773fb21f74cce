/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_judge_wire.c - every packet on the wires of a run is one that the trace calls for
 *
 * Requests: the PSNs of a QP follow each other in the order of posting, a READ taking as many as its
 * response has packets; the packet with a PSN has the opcode, length and headers that its request
 * has there, however often it is sent, and is not sent before those before it. A fenced request
 * waits for the responses of the READs and ATOMICs before it, which are at most rd_atomic (IBTA vol. 1,
 * 9.2, 9.7.3, 10.8.3.3). The oldest packet is sent again no more often than retries and RNR NAKs
 * allow (selective repeat: since something new came), and what ends because these are spent was sent so
 * often (9.7.5.1.4).
 *
 * Answers: an ACK speaks of packets that came whole, its MSN counts the requests that end with them,
 * its credits are receives that are there (9.7.5.1, 9.7.7); a NAK carries the PSN that is expected. A
 * response has the PSN, length and opcode that its place in the READ calls for, and the MSN of a
 * time when its request was executed; an ATOMIC's value is the same whenever it is sent (9.7.5.1.7).
 *
 * Completions: none with success before the answer is back.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/packet/aeth.h"
#include "models/recovery.h"
#include "models/requester.h"
#include "testbench/tb_judge_way.h"

/* ---- requests ---- */

static const char *bad(const struct way *w, const struct wire_packet *p, const char *what,
		       uint64_t is, uint64_t due)
{
	return judge_wrong("h%" PRIu32 ".%s: %s with PSN %u: %s %" PRIu64 ", not %" PRIu64,
			   w->t->host, w->t->name, p->info->name, p->bth.psn, what, is, due);
}

/* The headers of packet 'at' of request 'r', which sends 'n' bytes from byte 'off' on. */
static const char *judge_headers(const struct wire_judge *j, const struct way *w,
				 const struct wire_packet *p, const struct ref_wr *r, uint32_t at,
				 uint32_t n_packets)
{
	enum wr_opcode op = r->r.opcode;
	uint32_t off = at * w->t->mtu, left = r->len - (op == WR_FLUSH ? 0 : off);
	uint32_t len = op == WR_ATOMIC_WRITE ? 8 : way_is_answered(op) ? 0 : left;
	bool is_last = at + 1 == n_packets;
	uint64_t va = r->r.raddr + (op == WR_RDMA_READ ? off : 0);

	(void)j;
	len = len > w->t->mtu ? w->t->mtu : len;
	if (p->bth.opcode != wire_opcode(w->t->type, op, at, n_packets))
		return bad(w, p, "opcode", p->bth.opcode,
			   wire_opcode(w->t->type, op, at, n_packets));
	if (p->len != len)
		return bad(w, p, "bytes", p->len, len);
	if (p->bth.se != (r->takes_recv && is_last && (r->r.flags & WR_SOLICITED)))
		return bad(w, p, "SE", p->bth.se, !p->bth.se);
	if (opcode_has(p->info, X_RETH) && p->reth.va != va && r->len)
		return bad(w, p, "address", p->reth.va, va);
	if (opcode_has(p->info, X_RETH) && r->r.rkey && p->reth.rkey != r->r.rkey)
		return bad(w, p, "R_Key", p->reth.rkey, r->r.rkey);
	if (opcode_has(p->info, X_RETH) &&
	    (op == WR_RDMA_READ ? p->reth.dmalen > left : p->reth.dmalen != r->len))
		return bad(w, p, "DMA length", p->reth.dmalen, left);
	if (opcode_has(p->info, X_IMMDT) && p->imm.imm != r->r.imm)
		return bad(w, p, "immediate", p->imm.imm, r->r.imm);
	if (opcode_has(p->info, X_IETH) && r->r.inv_key && p->ieth.rkey != r->r.inv_key)
		return bad(w, p, "key", p->ieth.rkey, r->r.inv_key);
	if (!opcode_has(p->info, X_ATOMICETH))
		return NULL;
	if (p->atomic.va != va)
		return bad(w, p, "counter's address", p->atomic.va, va);
	if (op == WR_ATOMIC_FETCH_AND_ADD && p->atomic.swap_add != r->r.compare_add)
		return bad(w, p, "addend", p->atomic.swap_add, r->r.compare_add);
	if (op == WR_ATOMIC_CMP_AND_SWP &&
	    (p->atomic.swap_add != r->r.swap || p->atomic.compare != r->r.compare_add))
		return bad(w, p, "operand", p->atomic.swap_add, r->r.swap);
	return NULL;
}

/* A request goes out for the first time. */
static const char *judge_start(const struct wire_judge *j, struct way *w,
			       const struct wire_packet *p, uint32_t k)
{
	uint32_t n_open = 0;

	for (uint32_t i = 0; i < k; i++)
		n_open += way_is_answered(way_request(j, w, i)->r.opcode) && !w->answered[i];
	if (n_open && (way_request(j, w, k)->r.flags & WR_FENCE))
		return bad(w, p, "READs and ATOMICs in front of a fence", n_open, 0);
	if (way_is_answered(way_request(j, w, k)->r.opcode) && n_open >= w->t->rd_atomic)
		return bad(w, p, "READs and ATOMICs open", n_open + 1, w->t->rd_atomic);
	return heed_request_starts(j, w, k);
}

static const char *judge_request(struct wire_judge *j, struct way *w, const struct wire_packet *p,
				 uint64_t ps)
{
	uint32_t psn = (p->bth.psn - w->q->psn) & PSN_MASK, k, n, at, n_psn = 1, most;
	const struct ref_wr *r;
	const char *what;

	if (psn >= way_total(w) || psn > w->n_new)
		return bad(w, p, "PSN", psn, w->n_new);
	k = way_request_at(w, psn);
	r = way_request(j, w, k);
	n = w->first[k + 1] - w->first[k];
	at = psn - w->first[k];
	what = judge_headers(j, w, p, r, at, n);
	if (!what && psn == w->first[k] && psn == w->n_new && w->t->type == QP_RC)
		what = judge_start(j, w, p, k);
	if (what)
		return what;
	if (r->r.opcode == WR_RDMA_READ && p->reth.dmalen)
		n_psn = (p->reth.dmalen + w->t->mtu - 1) / w->t->mtu;
	for (uint32_t i = 0; i < n_psn; i++)
		w->n_sent[psn + i]++;
	w->is_end[psn + n_psn - 1] = true;
	w->n_tries += psn <= w->una && w->una < psn + n_psn;
	/*
	 * the first, one more while the answer to those before is not looked at yet, and those made for
	 * the one before this, which wait for the line in the NIC when that is answered
	 */
	most = 2 + w->t->retry + 1 + w->t->retry +
	       (w->t->rnr_retry < w->n_rnr && w->t->rnr_retry != 7 ? w->t->rnr_retry : w->n_rnr);
	if (w->t->type == QP_RC && w->n_tries > most)
		return bad(w, p, "attempts", w->n_tries, most);
	w->n_new = w->n_new > psn + n_psn ? w->n_new : psn + n_psn;
	return gap_request_sent(j, w, psn, n_psn, ps);
}

/* ---- answers ---- */

/* Receives posted before 'ps', less those that the first 'msn' requests took, in messages. */
static uint32_t receives_left(const struct wire_judge *j, const struct way *w, uint32_t msn,
			      uint64_t ps)
{
	const struct ref_qp *peer = &j->c->ref.qp[w->q->peer];
	uint32_t n = 0;

	for (uint32_t i = 0; i < peer->n_recvs; i++) {
		const struct ref_wr *r = &j->c->ref.wr[peer->recvs[i]];

		n += !r->has_row || r->t_post <= ps;
	}
	for (uint32_t k = 0; k < w->q->n_sends; k++) {
		uint32_t before = way_requests_before(w, w->first[k + 1]);

		n -= n && way_request(j, w, k)->takes_recv && before <= msn;
	}
	return n;
}

/* A selective acknowledgement (recovery.h): each packet that it names came. */
static const char *judge_sack(const struct way *w, const struct wire_packet *p, uint32_t psn)
{
	for (uint32_t i = 0; i < p->len * 8; i++)
		if (sack_has(p->payload, i) && (psn + i >= way_total(w) || !w->came[psn + i]))
			return bad(w, p, "a packet named that did not come", psn + i, psn);
	return NULL;
}

static const char *judge_ack(const struct wire_judge *j, struct way *w, const struct wire_packet *p,
			     uint32_t psn, uint64_t ps)
{
	uint32_t kind = p->aeth.syndrome & AETH_KIND_MASK;
	uint32_t code = p->aeth.syndrome & AETH_VALUE_MASK;
	uint32_t upto = (kind == AETH_ACK ? psn + 1 : psn) & PSN_MASK,
		 due = way_requests_before(w, upto), most = due;
	const char *what;

	if (upto > w->n_came)
		return bad(w, p, "packets acknowledged", upto, w->n_came);
	/* a READ that fails while it is answered has been counted (C9-148), as have those behind it */
	if (kind == AETH_NAK && code && psn < way_total(w) && p->aeth.msn > due &&
	    way_request(j, w, way_request_at(w, psn))->r.opcode == WR_RDMA_READ)
		most = way_requests_before(w, w->n_came);
	if (p->aeth.msn < due || p->aeth.msn > most)
		return bad(w, p, "MSN", p->aeth.msn, due);
	if (kind == AETH_ACK && code != AETH_NO_CREDITS &&
	    aeth_credits(code) > receives_left(j, w, due, ps))
		return bad(w, p, "credits", aeth_credits(code), receives_left(j, w, due, ps));
	if (kind == AETH_RNR_NAK && code != j->c->run.trace->qps[w->q->peer].min_rnr)
		return bad(w, p, "RNR timer", code, j->c->run.trace->qps[w->q->peer].min_rnr);
	what = heed_nak_sent(j, w, p, psn);
	return what ? what : judge_sack(w, p, psn);
}

/* READ Response and ATOMIC Acknowledge. */
static const char *judge_response(const struct wire_judge *j, struct way *w,
				  const struct wire_packet *p, uint32_t psn)
{
	uint32_t k = psn < way_total(w) ? way_request_at(w, psn) : 0,
		 operation = p->bth.opcode & 0x1f;
	const struct ref_wr *r = way_request(j, w, k);
	uint32_t at = psn - w->first[k], left = r->len - at * w->t->mtu;
	bool is_read = r->r.opcode == WR_RDMA_READ, is_last = (p->info->place & OPCODE_LAST) != 0;

	if (psn >= w->n_came || !way_is_answered(r->r.opcode))
		return bad(w, p, "packets answered", psn + 1, w->n_came);
	if (ref_is_atomic(r->r.opcode) != (operation == IB_ATOMIC_ACK))
		return bad(w, p, "kind of response", p->bth.opcode, IB_ATOMIC_ACK);
	if (operation == IB_ATOMIC_ACK) {
		if (w->has_original[k] && w->original[k] != p->original.original)
			return bad(w, p, "value", p->original.original, w->original[k]);
		w->original[k] = p->original.original;
		w->has_original[k] = true;
	} else if (is_last ? !w->is_end[psn] : psn + 1 == w->first[k + 1]) {
		return bad(w, p, "place in the READ", p->bth.opcode, IB_READ_RSP_LAST);
	} else if (p->len != (!is_read ? 0 : left > w->t->mtu ? w->t->mtu : left)) {
		return bad(w, p, "response bytes", p->len, left);
	}
	if (opcode_has(p->info, X_AETH) && (p->aeth.msn < way_requests_before(w, w->first[k + 1]) ||
					    p->aeth.msn > way_requests_before(w, w->n_came)))
		return bad(w, p, "response MSN", p->aeth.msn, way_requests_before(w, w->n_came));
	return NULL;
}

static const char *judge_answer(const struct wire_judge *j, struct way *w,
				const struct wire_packet *p, uint64_t ps)
{
	uint32_t psn = (p->bth.psn - w->q->psn) & PSN_MASK;
	const char *what = (p->bth.opcode & 0x1f) == IB_ACKNOWLEDGE ? judge_ack(j, w, p, psn, ps)
								    : judge_response(j, w, p, psn);

	return what ? what : gap_answer_sent(j, w, p, psn, ps);
}

/* ---- what arrives ---- */

static const char *request_came(const struct wire_judge *j, struct way *w,
				const struct wire_packet *p, uint64_t ps)
{
	uint32_t psn = (p->bth.psn - w->q->psn) & PSN_MASK, n = 1;
	const struct ref_wr *r;

	if (psn >= way_total(w))
		return NULL;
	heed_request_came(w, psn);
	r = way_request(j, w, way_request_at(w, psn));
	if (r->r.opcode == WR_RDMA_READ && p->reth.dmalen)
		n = (p->reth.dmalen + w->t->mtu - 1) / w->t->mtu;
	for (uint32_t i = 0; i < n && psn + i < way_total(w); i++)
		w->came[psn + i] = true;
	while (w->n_came < way_total(w) && w->came[w->n_came])
		w->n_came++;
	return gap_request_came(j, w, psn, n, ps);
}

/* The requests up to PSN 'upto' have their answers; READs and ATOMICs when their responses came. */
static void note_answers(const struct wire_judge *j, struct way *w, uint32_t upto, uint64_t ps)
{
	for (uint32_t k = 0; k < w->q->n_sends && w->first[k + 1] <= upto; k++) {
		bool is_all = true;

		for (uint32_t i = w->first[k]; i < w->first[k + 1]; i++)
			is_all &=
				!way_is_answered(way_request(j, w, k)->r.opcode) || w->came_back[i];
		if (is_all && !w->answered[k])
			w->answered[k] = ps;
	}
}

/* What is oldest now; its attempts are counted anew. */
static void note_oldest(const struct wire_judge *j, struct way *w, uint32_t upto)
{
	w->acked = upto > w->acked ? upto : w->acked;
	while (w->una < way_total(w)) {
		bool is_response_due =
			way_is_answered(way_request(j, w, way_request_at(w, w->una))->r.opcode);

		if (is_response_due ? !w->came_back[w->una] : w->una >= w->acked)
			return;
		w->una++;
		w->n_tries = w->n_rnr = 0;
	}
}

/* Selective repeat: something behind the oldest packet is there, or known to be, that was not before. */
static bool is_news(struct way *w, const struct wire_packet *p, uint32_t psn, bool is_ack)
{
	bool is_new = !is_ack && !w->came_back[psn];

	for (uint32_t i = 0; i < p->len * 8 && is_ack && psn + i < way_total(w); i++) {
		is_new |= sack_has(p->payload, i) && !w->is_named[psn + i];
		w->is_named[psn + i] |= sack_has(p->payload, i);
	}
	return is_new;
}

static const char *answer_came(const struct wire_judge *j, struct way *w,
			       const struct wire_packet *p, uint64_t ps)
{
	uint32_t psn = (p->bth.psn - w->q->psn) & PSN_MASK;
	bool is_ack = (p->bth.opcode & 0x1f) == IB_ACKNOWLEDGE;
	uint32_t kind = p->aeth.syndrome & AETH_KIND_MASK, upto;

	heed_answer_came(w, p);
	if (psn >= way_total(w))
		return NULL;
	if (j->is_selective && is_news(w, p, psn, is_ack))
		w->n_tries = 0;
	if (!is_ack)
		w->came_back[psn] = true;
	upto = psn + (!is_ack || kind == AETH_ACK);
	note_oldest(j, w, upto);
	/* what came ahead of a response that was lost is kept */
	note_answers(j, w, j->is_selective ? w->acked : upto, ps);
	if (is_ack && kind == AETH_RNR_NAK && psn == w->una) {
		uint32_t *most = &w->most_rnr[way_request_at(w, psn)];

		w->n_rnr++;
		*most = w->n_rnr > *most ? w->n_rnr : *most;
	}
	return gap_answer_came(j, w, p, psn, ps);
}

/* ---- all ---- */

/* The QP of host 'h' that sends to QPN 'dest', or (UD) whose number is 'src'. */
static uint32_t sender(const struct wire_judge *j, uint32_t h, uint32_t dest, uint32_t src)
{
	const struct nic *nic = j->c->run.r.system->hosts[h].nic;

	for (uint32_t i = 0; i < nic->n_qp; i++)
		if (nic->qp[i].type == QP_UD ? nic->qp[i].qpn == src && src
					     : nic->qp[i].dest_qpn == dest && !src)
			return nic->qp[i].trace_qp;
	return TRACE_NONE;
}

/* Of a life that a reset ended: its PSNs lie far behind, those of the answers too. */
static bool is_former(const struct wire_judge *j, uint32_t qp, const struct wire_packet *p)
{
	const struct way *w = &j->way[p->info->is_response ? j->way[qp].q->peer : qp];

	return w->q->is_reborn && ((p->bth.psn - w->q->psn) & PSN_MASK) >= 1u << 22 &&
	       ((p->bth.psn - w->q->psn) & PSN_MASK) != PSN_MASK;
}

static const char *judge_packet(struct wire_judge *j, const struct tb_run_packet *k)
{
	const struct system *s = j->c->run.r.system;
	uint32_t from = k->is_tx ? k->nic : 1 - k->nic, qp;
	struct wire_packet p;

	if (!wire_decode(&p, k, port_is_ib(&s->hosts[k->nic].nic->addr)) || !p.is_whole)
		return k->is_tx ? judge_wrong("nic%" PRIu32 " sent no packet", k->nic) : NULL;
	qp = sender(j, from, p.bth.destqp, p.deth.srcqp);
	if (qp == TRACE_NONE)
		return judge_wrong("a packet to QP %u", p.bth.destqp);
	if (is_former(j, qp, &p))
		return NULL;
	if (p.info->is_response) {
		struct way *w = &j->way[j->way[qp].q->peer];

		return k->is_tx ? judge_answer(j, w, &p, k->ps) : answer_came(j, w, &p, k->ps);
	}
	return k->is_tx ? judge_request(j, &j->way[qp], &p, k->ps)
			: request_came(j, &j->way[qp], &p, k->ps);
}

/* Completions of RC: not before the answer; a request given up was sent as often as it may be. */
static const char *judge_ends(const struct wire_judge *j, const struct way *w)
{
	for (uint32_t k = 0; k < w->q->n_sends; k++) {
		const struct ref_wr *r = way_request(j, w, k);
		uint32_t most = 0;

		if (w->first[k + 1] == w->first[k] || !r->has_row)
			continue;
		if (r->status == WC_SUCCESS && (!w->answered[k] || w->answered[k] > r->t_poll))
			return judge_wrong("h%" PRIu32 ".%s: %" PRIu64
					   " completed before its answer came",
					   w->t->host, w->t->name, r->r.id);
		for (uint32_t i = w->first[k]; i < w->first[k + 1]; i++)
			most = w->n_sent[i] > most ? w->n_sent[i] : most;
		if (r->status == WC_RETRY_EXC_ERR && most <= w->t->retry)
			return judge_wrong("h%" PRIu32 ".%s: %" PRIu64
					   " was given up after %" PRIu32 " attempts",
					   w->t->host, w->t->name, r->r.id, most);
		/* of a request in which it stopped: packets on their way then may still be answered */
		if (r->status == WC_RNR_RETRY_EXC_ERR && w->most_rnr[k] <= w->t->rnr_retry &&
		    w->una >= w->first[k] && w->una < w->first[k + 1])
			return judge_wrong("h%" PRIu32 ".%s: %" PRIu64
					   " was given up after %" PRIu32 " RNR NAKs",
					   w->t->host, w->t->name, r->r.id, w->most_rnr[k]);
	}
	return NULL;
}

const char *judge_wire(const struct tb_case *c)
{
	struct wire_judge j = { .c = c, .way = x_calloc(c->run.trace->n_qps, sizeof(*j.way)) };
	const struct requester *r =
		(const struct requester *)netlist_find(&c->run.r.sim, "nic0.requester");
	const char *what = NULL;

	j.is_selective = r->recovery == RECOVERY_SR;
	for (uint32_t i = 0; i < c->run.trace->n_qps; i++)
		way_open(&j, i);
	gap_open(&j);
	heed_open(&j);
	for (uint32_t i = 0; i < c->run.n_packets && !what; i++)
		what = judge_packet(&j, &c->run.packets[i]);
	for (uint32_t i = 0; i < c->run.trace->n_qps; i++) {
		if (!what && c->run.trace->qps[i].type == QP_RC)
			what = judge_ends(&j, &j.way[i]);
		what = what ? what : gap_end(&j, &j.way[i], c->run.r.sim.now_ps);
		way_close(&j.way[i]);
	}
	free(j.way);
	return what;
}
