/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - what a trace does to single packets on a link: the wire block's 'env'
 */
#ifndef MODELS_WIRE_H
#define MODELS_WIRE_H

#include <stdint.h>

#include "models/trace/trace.h"
#include "sim/block.h"
#include "sim/units.h"

/* Do 'kind' to the nth[] frames of one direction, counted from 1 as they enter the wire. */
struct wire_rule {
	enum wire_fault kind;
	uint64_t delay_ps;   /* WIRE_DELAY: added to the wire's own */
	const uint64_t *nth; /* ascending */
	uint32_t n_nth;
};

struct wire_env {
	bool is_ib; /* InfiniBand has shorter packets than Ethernet */
	/* index 0: from end a to end b; 1: from b to a */
	const struct wire_rule *rules[2];
	uint32_t n_rules[2];
};

/* A frame that enters wire 'b' from now on may be lost or damaged: by chance, or because a rule says so. */
bool wire_may_lose(const struct block *b);

#define WIRE_PS_PER_M 5000ull /* copper and fibre alike, about 2/3 of the speed of light */

/* Propagation time of a cable. */
static inline uint64_t wire_delay_ps(uint64_t length_mm)
{
	return length_mm * WIRE_PS_PER_M / 1000;
}

#endif
