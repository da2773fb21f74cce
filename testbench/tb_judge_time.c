/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_judge_time.c - no QP is wedged: every request ends within a bound that its timers give
 *
 * Counted from when it is the oldest of its QP, posted, and the receive that it needs is posted
 * too, and the send queue is not drained (SQD), a request of n packets (PSNs) ends, well or badly, within
 *
 *	UC, UD	service
 *	RC	(n + 1) * ((retry + 1) * (RTO + round) + (rnr_retry + 1) * RNR) + service
 *
 * where RTO is the longest the ACK timer runs: 4.096 us * 2^timeout * requester.timeout_factor
 * (IBTA vol. 1, 9.7.6.1.3), or what requester.rto and its limits make of it; RNR is the time of the
 * peer's min_rnr (table 46), once when rnr_retry is 7 (without end), as the receive is there.
 * Why: while nothing new is acknowledged each attempt ends in a timeout or a NAK, of which retry +
 * 1 end the QP (9.7.5.1.4), or in an RNR NAK, of which rnr_retry + 1 do; each acknowledgement that
 * reloads the counters is for at least one of n packets more. 'service' is for all that is not a
 * timer: NICs of odd sizes, slow links, other QPs' packets; it follows the bytes of the whole trace.
 * 'round' is what of it each attempt meets again: the timer of an attempt runs from its packet's
 * departure, before which all others' packets may have had their turn.
 */
#include <inttypes.h>

#include "models/packet/aeth.h"
#include "models/requester.h"
#include "testbench/tb_judge_parts.h"

#define ACK_UNIT_PS (4096 * PS_PER_NS)
#define RNR_UNIT_PS (10 * PS_PER_US)
#define RNR_CODE_0 65536u

/*
 * The slowest NIC that is drawn moves a byte in 20 ns (dma_engine.width 1 at 50 MHz), often twice; one
 * with one tag reads 128 B in 5 us or more.
 */
#define SERVICE_PS (2 * PS_PER_MS)
#define SERVICE_PS_PER_BYTE (100 * PS_PER_NS)

static uint64_t rto_ps(const struct tb_case *c, const struct trace_qp *q)
{
	char name[32];
	const struct requester *r;

	snprintf(name, sizeof(name), "nic%" PRIu32 ".requester", q->host);
	r = (const struct requester *)netlist_find(&c->run.r.sim, name);
	switch (r->rto) {
	case RTO_FIXED:
		return (ACK_UNIT_PS << q->timeout) * r->timeout_factor;
	case RTO_DOUBLING:
		return r->rto_min << (REQ_RTO_STEPS - 1);
	case RTO_ESTIMATED:
		return r->rto_max + r->rto_max / 2; /* its grid */
	default:
		return r->rto_max;
	}
}

/* The bytes of the whole trace, moved once. */
static uint64_t round_ps(const struct tb_case *c)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < c->ref.n_wr; i++)
		bytes += c->ref.wr[i].r.kind == REC_POST ? c->ref.wr[i].len : 0;
	return bytes * SERVICE_PS_PER_BYTE;
}

uint64_t judge_service_ps(const struct tb_case *c)
{
	return SERVICE_PS + round_ps(c);
}

static uint64_t attempts_ps(const struct tb_case *c, const struct trace_qp *q, uint32_t len,
			    uint64_t round)
{
	const struct trace_qp *peer = &c->run.trace->qps[q->peer_qp];
	uint64_t n_rnr = q->rnr_retry == 7 ? 1 : q->rnr_retry + 1;
	uint64_t rnr = (peer->min_rnr ? aeth_credits(peer->min_rnr) : RNR_CODE_0) * RNR_UNIT_PS;

	return (psn_count(len, q->mtu) + 1ull) *
	       ((q->retry + 1) * (rto_ps(c, q) + round) + n_rnr * rnr);
}

/* The receive that a request takes, or NULL: it takes none, or which is not known. */
static const struct ref_wr *recv_of(const struct tb_case *c, const struct ref_qp *q, uint32_t wr)
{
	const struct ref_qp *peer = &c->ref.qp[q->peer];

	for (uint32_t i = 0; c->ref.wr[wr].takes_recv && !q->is_loose && i < peer->n_recvs; i++)
		if (c->ref.wr[peer->recvs[i]].from == wr + 1)
			return &c->ref.wr[peer->recvs[i]];
	return NULL;
}

/*
 * No bound: the request ended badly and its receive did not end, so it may have been posted later or never; until it
 * is, a request whose RNR retries have no end (rnr_retry 7) goes on, and only what the wire loses meanwhile is counted.
 */
static bool has_no_bound(const struct trace_qp *t, const struct ref_wr *w,
			 const struct ref_wr *recv)
{
	return w->is_error && t->rnr_retry == 7 && recv && !recv->t_poll;
}

static uint64_t nic_stat(const struct tb_case *c, uint32_t host, const char *stat)
{
	char name[48];

	snprintf(name, sizeof(name), "nic%" PRIu32 ".%s", host, stat);
	return tb_run_stat(&c->run, name);
}

/* Whether each timer of an RC QP is longer than all service, and none of its requests ended badly or was given up. */
static bool is_patient(const struct tb_case *c)
{
	uint64_t service = SERVICE_PS + 2 * round_ps(c);

	for (uint32_t i = 0; i < c->run.trace->n_qps; i++) {
		const struct trace_qp *t = &c->run.trace->qps[i];
		const struct ref_qp *q = &c->ref.qp[i];

		if (t->type != QP_RC)
			continue;
		if (q->is_reborn || rto_ps(c, t) < service)
			return false;
		for (uint32_t k = 0; k < q->n_sends; k++)
			if (c->ref.wr[q->sends[k]].is_error)
				return false;
	}
	return true;
}

const char *judge_timeouts(const struct tb_case *c)
{
	static const char *const lost[] = { "mac.rx_dropped", "responder.dropped" };
	static const char *const harmed[] = { "link0.lost", "link0.overrun", "link0.corrupted",
					      "link0.delayed", "link0.late" };
	const struct requester *r =
		(const struct requester *)netlist_find(&c->run.r.sim, "nic0.requester");
	uint64_t timeouts = 0, causes = 0;

	if (r->recovery != RECOVERY_SR || !is_patient(c))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(harmed); i++)
		causes += tb_run_stat(&c->run, harmed[i]);
	for (uint32_t host = 0; host < 2; host++) {
		timeouts += nic_stat(c, host, "requester.timeouts");
		for (size_t i = 0; i < ARRAY_LEN(lost); i++)
			causes += nic_stat(c, host, lost[i]);
	}
	if (timeouts > causes)
		return judge_wrong("%" PRIu64 " ACK timeouts for %" PRIu64 " frames lost or late",
				   timeouts, causes);
	return NULL;
}

const char *judge_time(const struct tb_case *c, uint32_t qp)
{
	const struct ref_qp *q = &c->ref.qp[qp];
	const struct trace_qp *t = &c->run.trace->qps[qp];
	uint64_t due = q->t_modify_ps, round = round_ps(c);

	for (uint32_t k = 0; k < q->n_sends; k++) {
		const struct ref_wr *w = &c->ref.wr[q->sends[k]], *recv;

		recv = recv_of(c, q, q->sends[k]);
		due = max_u64(due, w->t_post);
		if (t->type == QP_RC)
			due = max_u64(due, recv ? recv->t_post : 0) +
			      attempts_ps(c, t, w->len, round);
		due += SERVICE_PS + round;
		if (!w->is_signaled && !w->is_error)
			continue;
		if (w->t_poll > due && !(t->type == QP_RC && has_no_bound(t, w, recv)))
			return judge_wrong("h%" PRIu32 ".%s: %" PRIu64 " ended at %" PRIu64
					   " ps, not by %" PRIu64,
					   t->host, t->name, w->r.id, w->t_poll, due);
		due = w->t_poll;
	}
	return NULL;
}
