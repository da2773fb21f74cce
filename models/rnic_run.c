/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rnic_run.c - when a built scenario is over
 */
#include <string.h>

#include "models/requester.h"
#include "models/rnic.h"
#include "models/wire.h"

#define SLICE_PS (1 * PS_PER_MS) /* of the first look whether anything gets done */

/* What only grows when something gets done: a sender that is told to wait over and over does not count. */
static uint64_t progress(const struct sim *s)
{
	static const char *const stats[][2] = {
		{ "host_mem", "write_b" },
		{ "responder", "messages" },
		{ "cqe_writer", "cqes" },
	};
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->n_blocks; i++) {
		const struct block *b = s->blocks[i];

		for (size_t k = 0; k < ARRAY_LEN(stats); k++)
			if (strcmp(b->cls->name, stats[k][0]) == 0)
				sum += field_get(
					b, field_find(b->cls->fields, FIELD_STAT, stats[k][1]));
	}
	return sum;
}

/* The receive queue that the requests of a QP arrive at is empty. */
static bool peer_has_no_receive(const struct system *s, const struct qp_attr *q)
{
	const struct trace_qp *t = &s->trace->qps[q->trace_qp];
	const struct host *peer = t->peer_host == TRACE_NONE ? NULL : &s->hosts[t->peer_host];
	uint32_t qpi = peer ? nic_qpi(peer->nic, q->dest_qpn) : QPI_NONE;

	return qpi != QPI_NONE && verbs_posted(peer, verbs_rqi(peer, qpi)) == 0;
}

/* Every request under way was told to wait for a receive, and does so for ever (rnr_retry = 7). */
static bool all_wait_for_receives(const struct rnic *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->sim.n_blocks; i++) {
		const struct block *b = r->sim.blocks[i];
		const struct requester *q = (const struct requester *)b;
		const struct nic *nic = b->env;

		if (strcmp(b->cls->name, "requester") != 0)
			continue;
		for (uint32_t k = 0; k < nic->n_qp; k++) {
			if (q->qp[k].head == q->qp[k].tail)
				continue;
			if (!q->qp[k].is_rnr_wait || nic->qp[k].rnr_retry != 7 ||
			    !peer_has_no_receive(r->system, &nic->qp[k]))
				return false;
			n++;
		}
	}
	return n > 0;
}

/* Nothing is under way and nobody has anything to do, but the requesters. */
static bool is_quiet(const struct sim *s)
{
	for (uint32_t i = 0; i < s->n_chans; i++)
		if (s->chans[i]->count)
			return false;
	for (uint32_t i = 0; i < s->n_blocks; i++)
		if (s->blocks[i]->wake_cyc != CYCLE_NEVER &&
		    strcmp(s->blocks[i]->cls->name, "requester") != 0)
			return false;
	return true;
}

/*
 * All that goes on are requests that meet no receive, and no record is left that could post one before something
 * completes. Each attempt will be as the last, unless the wire loses one: then it counts as a retry.
 */
static bool is_out_of_receives(const struct rnic *r)
{
	const struct recs *recs = &r->system->recs;

	if (!r->system->is_eof || !is_quiet(&r->sim) || !all_wait_for_receives(r))
		return false;
	for (uint32_t i = 0; i < r->n_links; i++)
		if (wire_may_lose(r->links[i].wire))
			return false;
	for (uint32_t h = 1; h <= recs->n_slots; h++) {
		const struct rec *c = rec_at(recs, h);

		if (c->is_used && c->is_ready && c->kind != REC_POST)
			return false;
	}
	return true;
}

/*
 * Run on, as long as something gets done in every stall_ps of simulated time: retries for ever would never leave
 * the run idle. Where all wait for a receive that nobody is going to post it is over at the first look that finds them so. Time in which
 * nobody is awake is jumped over and does not count: a timer that is armed is something to come.
 */
enum sim_end rnic_run(struct rnic *r)
{
	struct sim *s = &r->sim;
	uint64_t limit = s->until_ps, mark = 0, quiet = 0, slice = SLICE_PS, before = 0, after;
	enum sim_end end;

	for (;;) {
		slice = min_u64(slice, r->stall_ps);
		mark = min_u64(max_u64(mark, sim_next_ps(s)), limit);
		mark = slice < limit - mark ? mark + slice : limit;
		s->until_ps = mark;
		end = sim_run(s);
		after = progress(s);
		if (end != SIM_END_UNTIL || mark == limit)
			return end;
		quiet += slice;
		if (after != before || system_has_future(r->system, s->now_ps)) {
			quiet = 0;
			slice = SLICE_PS;
		} else if (quiet >= r->stall_ps || is_out_of_receives(r)) {
			return SIM_END_STOPPED;
		} else {
			slice *= 2;
		}
		before = after;
	}
}
