/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain.h - `rnicsim run --explain`: which unit limits a run, and what waits for what
 *
 * What limits is found by trials (explain_trials.h), and from statistics where these find nothing or are not
 * made; what waits is read from statistics. It changes no result. By name: a statistic that ends in
 * "busy_ps" is the time for which a unit was occupied, one that contains "wait" and ends in "_ps"
 * the time for which something ready waited for that resource (both summed over what it counts).
 * A block is also as busy as its busiest port, which moves one message a cycle at most, and a cache as
 * its reads ("miss_ps", over the reads that it may have outstanding). "qp_" and "_ps" are around what
 * queue pairs with requests waited for.
 */
#ifndef TOOLS_RUN_EXPLAIN_H
#define TOOLS_RUN_EXPLAIN_H

#include <stdio.h>

#include "tools/run/report.h"
#include "sim/sim.h"

/* A unit above this share of the time is the critical resource: parts in a million. */
#define EXPLAIN_CRITICAL_PPM 800000u

/* How busy a unit was. */
struct explain_unit {
	const struct block *b;
	const char *what; /* the statistic, or the port */
	uint64_t ppm;     /* of the time from the first post to the last completion */
};

/*
 * The 'max' busiest units, busiest first, one row a block and statistic; returns how many. 'span_ps' > 0 is
 * the time that counts.
 */
unsigned explain_units(const struct sim *s, uint64_t span_ps, struct explain_unit *u, unsigned max);

/*
 * The whole text. 'argc', 'argv' ask for the same run again, for trials (explain_trials.h); argc 0: it cannot
 * be had again.
 */
void explain_print(const struct sim *s, const struct report *r, int argc, char **argv, FILE *f);

#endif
