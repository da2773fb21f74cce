/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lever.h - the parameters of a net-list of which there may be too little, and what more of them is
 *
 * Of capacities, widths, rates and clocks there is four times as much, of the lines of caches 64 times;
 * latencies and costs are a quarter. What a standard, the driver or the trace fixes, what is off or has
 * no limit, policies and odds are no levers.
 */
#ifndef TOOLS_RUN_LEVER_H
#define TOOLS_RUN_LEVER_H

#include "sim/config.h"
#include "sim/sim.h"

struct lever {
	const struct block *b; /* of a group: the first with its clock */
	const struct field *f;
	char path[48];      /* "nic0.mtt", "nic0" */
	const char *part;   /* what it is, whichever NIC it is in: "mtt", "nic" */
	uint64_t now, then; /* in base units; they differ */
	bool is_alone;      /* it does not go together with the others of its part */
	bool is_group;      /* the clock of all blocks of a NIC or a host */
	bool is_latency;    /* time that passes, which others can use: less is better */
};

/* All levers of the blocks that moved a message, in the order of the net-list; returns how many. Free it. */
struct lever *levers_of(const struct sim *s, unsigned *n);

/* Set 'l' as an option would. False with 'e' set if that cannot be. */
bool lever_set(const struct lever *l, struct config *cfg, struct err *e);

#endif
