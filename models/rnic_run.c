/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rnic_run.c - when a built scenario is over
 */
#include "models/rnic.h"

#define QUIET_SLICE_PS (10 * PS_PER_US)
#define QUIET_SLICES 10u

/* True when no channel holds a message: with sleeping off, the sign that a run may be over. */
static bool is_drained(const struct sim *s)
{
	for (uint32_t i = 0; i < s->n_chans; i++)
		if (s->chans[i]->count)
			return false;
	return true;
}

/* Every request is done, and no record is left that starts later. */
static bool is_done(const struct rnic *r)
{
	uint32_t host, qp;

	return r->system->is_eof && system_unfinished(r->system, &host, &qp) == 0 &&
	       is_drained(&r->sim) && !system_has_future(r->system, r->sim.now_ps);
}

enum sim_end rnic_run(struct rnic *r)
{
	struct sim *s = &r->sim;
	uint64_t limit = s->until_ps;
	enum sim_end end;

	if (!s->every_cycle)
		return sim_run(s);
	for (unsigned quiet = 0; quiet < QUIET_SLICES;) {
		s->until_ps = min_u64(limit, s->now_ps + QUIET_SLICE_PS);
		end = sim_run(s);
		if (end != SIM_END_UNTIL || s->until_ps == limit)
			return end;
		quiet = is_done(r) ? quiet + 1 : 0;
	}
	return SIM_END_IDLE;
}
