/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_judge_gap.c - what is known to be lost is not left to the ACK timer
 *
 * Reliable connections on which all ends well, on wires that lose, delay, repeat and reorder, in the time
 * that the NICs need for service (tb_judge_time.c):
 * - a responder that a packet reaches behind a gap says so, by a NAK for a sequence error or an RNR NAK, or the gap
 *   closes: once a gap by go-back-N (IBTA vol. 1, 9.7.5.1.2), for every packet by selective repeat (recovery.h);
 * - what such a NAK says is missing is sent again; by selective repeat also what it does not name below the last
 *   that it names;
 * - a READ or ATOMIC whose response is missing when the answer to something behind it comes is asked for again
 *   (implied NAK, 9.7.5.1.1).
 * The latter two for what was sent once until then: of what is lost again nobody may know. What the NIC itself
 * throws away (full receive buffer, damaged headers) is not seen here: such runs are not judged.
 */
#include <inttypes.h>

#include "models/packet/aeth.h"
#include "models/recovery.h"
#include "testbench/tb_judge_way.h"

/* All of a QP's requests end well in the one life that it has. */
static bool is_well(const struct wire_judge *j, const struct ref_qp *q)
{
	for (uint32_t k = 0; k < q->n_sends; k++)
		if (j->c->ref.wr[q->sends[k]].is_error)
			return false;
	return !q->is_killed && !q->is_reborn;
}

void gap_open(struct wire_judge *j)
{
	static const char *const unseen[] = { "link0.corrupted", "nic0.mac.rx_dropped",
					      "nic1.mac.rx_dropped" };

	for (size_t i = 0; i < ARRAY_LEN(unseen); i++)
		if (tb_run_stat(&j->c->run, unseen[i]))
			return;
	j->patience_ps = judge_service_ps(j->c);
	for (uint32_t i = 0; i < j->c->run.trace->n_qps; i++) {
		struct way *w = &j->way[i];

		w->gap.is_judged = w->t->type == QP_RC && is_well(j, w->q) &&
				   is_well(j, &j->c->ref.qp[w->q->peer]);
	}
}

/* A packet that is sent has the time of its first bit, one that comes that of its last: order is not time's. */
static bool is_late(const struct wire_judge *j, uint64_t since_ps, uint64_t ps)
{
	return since_ps && ps > since_ps + j->patience_ps;
}

/* ---- the responder ---- */

static const char *close_gap(const struct wire_judge *j, struct way *w, uint64_t ps)
{
	uint64_t since_ps = w->gap.since_ps;

	w->gap.since_ps = 0;
	if (!is_late(j, since_ps, ps))
		return NULL;
	return judge_wrong("h%" PRIu32 ".%s: a gap at PSN %" PRIu32 " from %" PRIu64 " to %" PRIu64
			   " ps without a NAK",
			   w->t->host, w->t->name, (w->q->psn + w->gap.expected) & PSN_MASK,
			   since_ps, ps);
}

const char *gap_request_came(const struct wire_judge *j, struct way *w, uint32_t psn, uint32_t n,
			     uint64_t ps)
{
	struct gap *g = &w->gap;
	bool is_next = psn == g->expected;
	const char *what = NULL;

	if (!g->is_judged)
		return NULL;
	if (g->is_told && psn == g->told)
		g->is_told = false;
	if (j->is_selective) {
		is_next = w->n_came > g->expected;
		g->expected = w->n_came;
	} else if (is_next) {
		g->expected += n;
	}
	if (is_next)
		what = close_gap(j, w, ps);
	else if (psn > g->expected && !g->is_told && !g->since_ps)
		g->since_ps = ps;
	return what;
}

const char *gap_answer_sent(const struct wire_judge *j, struct way *w, const struct wire_packet *p,
			    uint32_t psn, uint64_t ps)
{
	struct gap *g = &w->gap;
	bool is_ack = (p->bth.opcode & 0x1f) == IB_ACKNOWLEDGE;
	uint32_t kind = p->aeth.syndrome & AETH_KIND_MASK;
	bool is_rnr = kind == AETH_RNR_NAK;

	if (!g->is_judged)
		return NULL;
	if (is_ack && kind != AETH_ACK) {
		/* what was said before of a packet that is there now counts for it when it comes again */
		if (is_rnr || !j->is_selective) {
			g->is_told = true;
			g->told = psn;
		}
		if (!j->is_selective)
			g->expected = psn;
		return close_gap(j, w, ps);
	}
	if (!j->is_selective && psn < way_total(w) && psn + 1 > g->expected) {
		g->expected = psn + 1;
		g->is_told = false;
		return close_gap(j, w, ps);
	}
	return NULL;
}

/* ---- the requester ---- */

static const char *see_to(const struct wire_judge *j, struct way *w, uint32_t psn, uint64_t ps)
{
	uint64_t since_ps = w->gap.missed[psn];

	w->gap.missed[psn] = 0;
	if (!is_late(j, since_ps, ps))
		return NULL;
	return judge_wrong("h%" PRIu32 ".%s: what has PSN %" PRIu32
			   " is known to be lost from %" PRIu64 " to %" PRIu64 " ps",
			   w->t->host, w->t->name, (w->q->psn + psn) & PSN_MASK, since_ps, ps);
}

const char *gap_request_sent(const struct wire_judge *j, struct way *w, uint32_t psn, uint32_t n,
			     uint64_t ps)
{
	const char *what = NULL;

	for (uint32_t i = 0; w->gap.is_judged && i < n && !what; i++)
		what = see_to(j, w, psn + i, ps);
	return what;
}

/* The requester is told that a packet, or the response to it, is missing. */
static void miss(struct way *w, uint32_t psn, uint64_t ps)
{
	if (psn < w->n_new && w->n_sent[psn] == 1 && !w->gap.missed[psn])
		w->gap.missed[psn] = ps;
}

/* A NAK for a sequence error, of PSN 'psn': the packets that are missing by it. */
static void take_nak(const struct wire_judge *j, struct way *w, const struct wire_packet *p,
		     uint32_t psn, uint64_t ps)
{
	uint32_t top = 0;

	if (psn < w->una || psn >= w->n_new)
		return;
	for (uint32_t i = 0; i < p->len * 8; i++)
		top = sack_has(p->payload, i) ? i : top;
	for (uint32_t i = 0; i <= top && psn + i < w->n_new; i++) {
		uint32_t k = way_request_at(w, psn + i);
		bool is_later = way_is_answered(way_request(j, w, k)->r.opcode) &&
				psn + i != w->first[k]; /* within a READ: it has one packet */

		if (i ? j->is_selective && !sack_has(p->payload, i) && !is_later : psn == w->una)
			miss(w, psn + i, ps);
	}
}

const char *gap_answer_came(const struct wire_judge *j, struct way *w, const struct wire_packet *p,
			    uint32_t psn, uint64_t ps)
{
	bool is_ack = (p->bth.opcode & 0x1f) == IB_ACKNOWLEDGE;
	uint32_t kind = p->aeth.syndrome & AETH_KIND_MASK;
	uint32_t upto = psn + (is_ack && kind == AETH_ACK);
	const char *what = NULL;

	if (!w->gap.is_judged || (is_ack && kind == AETH_RNR_NAK))
		return NULL;
	while (w->gap.n_over < w->una && !what)
		what = see_to(j, w, w->gap.n_over++, ps);
	if (is_ack && kind == AETH_NAK)
		take_nak(j, w, p, psn, ps);
	if (w->una < upto &&
	    way_is_answered(way_request(j, w, way_request_at(w, w->una))->r.opcode))
		miss(w, w->una, ps);
	return what;
}

const char *gap_end(const struct wire_judge *j, struct way *w, uint64_t ps)
{
	const char *what = w->gap.is_judged ? close_gap(j, w, ps) : NULL;

	for (uint32_t i = 0; w->gap.is_judged && i < way_total(w) && !what; i++)
		what = see_to(j, w, i, ps);
	return what;
}
