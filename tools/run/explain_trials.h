/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_trials.h - what limits a run, by experiment: the run again with four times of one thing
 *
 * Waits and busy times say what is used, not what more of it would gain: work that is pipelined waits for nothing,
 * and one that waits may wait for who stands behind. So each part of the NICs, hosts and links is
 * given four times of all that it has, in a run of its own; of the parts that gain most each parameter,
 * and each NIC of the parameters that gain most. A long run is cut off; what counts is then how long its packets
 * take, however much sooner a trial has done with them. (The same idea for programs: Curtsinger and Berger, Coz:
 * finding code that counts with causal profiling, SOSP 2015.)
 */
#ifndef TOOLS_RUN_EXPLAIN_TRIALS_H
#define TOOLS_RUN_EXPLAIN_TRIALS_H

#include <stdio.h>

#include "tools/run/lever.h"
#include "tools/run/trial.h"

#define TRIALS_SHOWN 6u

/* What is changed, and what that gains. */
struct trial {
	const char *part;         /* "mtt": in all NICs */
	const struct field *f;    /* NULL: all parameters of the part */
	const struct lever *only; /* NULL: in all NICs */
	uint64_t rate_ppm;        /* so many more requests a second */
	uint64_t latency_ppm;     /* the mean latency is the 1 + latency_ppm / 10^6 th part */
};

struct totals;

struct trials {
	struct trial found[TRIALS_SHOWN]; /* which gain most first */
	unsigned n, runs;
	struct lever *levers; /* owned */
	unsigned n_levers;
	struct trial_end end; /* of all, when is_cut; else trials are as long as the run */
	bool is_cut;
	bool by_latency;  /* no rate gains: ranked by latency */
	bool is_terminal; /* say on stderr how far it is */
};

/*
 * Try what argc, argv ran as 's', which is at its end; 'sum' of its requests, of which some were successful.
 * Release with trials_free().
 */
void trials_make(struct trials *t, const struct sim *s, int argc, char **argv,
		 const struct totals *sum);
void trials_free(struct trials *t);

/* What 'x' gains by what counts in 't'. */
uint64_t trial_gain(const struct trials *t, const struct trial *x);

/* What counts of that when trials are ranked: less of what is in all that a part does. */
uint64_t trial_weight(const struct trials *t, const struct trial *x);

/* Its lever in the first block that has it; NULL: it is a whole part. */
const struct lever *trial_lever(const struct trials *t, const struct trial *x);

/* "nic0.mtt.window", or without a NIC when it is that of all. Returns buf. */
char *trial_name(const struct trial *x, char *buf, size_t len);

#endif
