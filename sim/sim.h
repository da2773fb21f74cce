/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim.h - the run loop: clock domains, the wheel of sleeping blocks, end conditions
 *
 * Blocks of equal frequency share a clock domain. Edge k of a clock of f Hz is at floor(k x 10^12 / f)
 * ps, exactly, for any k. The run loop takes the domain with the earliest edge and steps every block
 * that wants to run at it.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "arena.h"
#include "block.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WHEEL_BITS 11u
#define WHEEL_SLOTS (1u << WHEEL_BITS) /* near wheel: one slot a cycle of the current page */
#define WHEEL_PAGES 1024u              /* far wheel: one slot a page of WHEEL_SLOTS cycles */

/* One clock domain and its wheel. */
struct domain {
	uint64_t hz;
	uint64_t period_q, period_r,
		period_den;        /* period = q + r/den ps, r < den, in lowest terms */
	uint64_t period_num;       /* = q den + r */
	uint64_t inv_num, inv_den; /* floor((2^64 - 1) / period_num), / period_den */
	uint64_t next_cyc,
		next_ps; /* earliest pending wake-up; CYCLE_NEVER, TIME_NEVER when none */
	uint64_t tick_cyc, tick_ps; /* every_cycle: the next edge */
	uint64_t page;              /* page of cycles that the near wheel holds */
	struct sim *sim;
	/* the blocks that wake at soon_cyc, the cycle behind the edge run last: most do, and stay */
	uint64_t soon_cyc;
	struct block **soon, **other; /* the arrays take turns, one being run */
	uint32_t n_soon, room;
	uint64_t near_used[WHEEL_SLOTS / 64], far_used[WHEEL_PAGES / 64];
	struct block *near[WHEEL_SLOTS]; /* circular lists */
	struct block *far[WHEEL_PAGES];
	struct block *overflow; /* sorted circular list, beyond the far wheel */
};

/* Order of the blocks within an edge: as they were woken, or for tests that it does not matter. */
enum step_order { ORDER_FORWARD, ORDER_REVERSED, ORDER_SHUFFLED };

enum sim_end {
	SIM_END_RUNNING,
	SIM_END_IDLE,   /* nothing left to do */
	SIM_END_UNTIL,  /* the time limit was reached */
	SIM_END_STOPPED /* sim_stop() */
};

/* Something that wants to look at the system after each step and each time stamp (waves). */
struct sim_observer {
	void (*stepped)(struct sim_observer *o, struct block *b);
	void (*time_done)(struct sim_observer *o,
			  uint64_t now_ps); /* all blocks of this time stamp have run */
};

#define SIM_MAX_DOMAINS 32

struct sim {
	uint64_t now_ps;
	uint64_t steps; /* block steps executed */
	uint64_t seed;
	/* options, set before sim_run */
	uint64_t until_ps; /* stop before the first edge after this time; TIME_NEVER = no limit */
	enum step_order order;
	bool every_cycle; /* sleeping off: every block steps at every edge of its clock */
	struct sim_observer *observer;              /* NULL = none */
	void (*progress)(struct sim *s, void *arg); /* called every 2^20 steps or so; NULL = none */
	void *progress_arg;
	/* net-list */
	struct block **blocks;
	uint32_t n_blocks, cap_blocks;
	struct chan **chans;
	uint32_t n_chans, cap_chans;
	struct pool **pools;
	uint32_t n_pools, cap_pools;
	struct domain *domains[SIM_MAX_DOMAINS];
	uint32_t n_domains;
	bool runs_ahead;    /* nobody sees when within a run a message is pushed */
	struct arena arena; /* all that lives as long as the net-list */
	struct rng order_rng;
	bool stop;
};

void sim_init(struct sim *s, uint64_t seed);
void sim_destroy(struct sim *s);

/* Memory that lives as long as 's': zeroed, never NULL; a cache line or more begins on one. */
void *sim_alloc(struct sim *s, size_t n, size_t size);

/*
 * Run until nothing is pending, the time limit, or sim_stop(). May be called again with a later
 * until_ps. With every_cycle all step at every edge, but what they ask for decides as ever when the
 * run is over.
 */
enum sim_end sim_run(struct sim *s);

/* When the next of the blocks wants to run; TIME_NEVER: none does. */
uint64_t sim_next_ps(const struct sim *s);

/* Ask the run loop to end after the current time stamp. Allowed from a step. */
static inline void sim_stop(struct sim *s)
{
	s->stop = true;
}

/* The domain of frequency 'hz', made on first use. hz from 1 to 10^12. */
struct domain *sim_domain(struct sim *s, uint64_t hz);

/* Time of edge 'cyc' of domain 'd'. */
uint64_t domain_edge_slow(const struct domain *d, uint64_t cyc);
static inline uint64_t domain_edge(const struct domain *d, uint64_t cyc)
{
	return d->period_r == 0 ? cyc * d->period_q : domain_edge_slow(d, cyc);
}

/* First cycle of 'd' whose edge is at or after 'ps'. */
uint64_t domain_cycle_at(const struct domain *d, uint64_t ps);

/* Make sure that 'b' runs at cycle 'cyc' of its clock, or earlier. 'cyc' lies after the current edge. */
void block_wake(struct block *b, uint64_t cyc);

/* First own cycle of 'b' at or after time 'ps', and never the current one or an earlier one: what step() returns. */
static inline uint64_t block_cycle_at(const struct block *b, uint64_t ps)
{
	uint64_t cyc;

	if (ps == TIME_NEVER)
		return CYCLE_NEVER;
	cyc = domain_cycle_at(b->dom, ps);
	return cyc > b->cycle ? cyc : b->cycle + 1;
}

/* Cycles of the clock of 'b' that cover 'ps' picoseconds (rounded up). */
uint64_t block_cycles_of_ps(const struct block *b, uint64_t ps);

/*
 * Make room for 'n' blocks; step every block that wants to run at the edge d->next_cyc; all blocks at
 * d->tick_cyc. Only sim_run calls them.
 */
void domain_reserve(struct domain *d, uint32_t n);
void domain_run_edge(struct domain *d);
void domain_run_tick(struct domain *d);

#ifdef __cplusplus
}
#endif
#endif
