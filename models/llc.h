/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llc.h - the last-level cache of a host: which lines it holds
 *
 * Tags only; memory has the bytes. The CPU's lines go to any way. What a device writes is allocated
 * in the first few ways of a set (Intel DDIO: 2 of 20) unless the line is there; what it reads is
 * not allocated. Slices take lines in turn, so that their number need not be a power of two.
 */
#ifndef MODELS_LLC_H
#define MODELS_LLC_H

#include "models/assoc.h"

#define LLC_LINE 64u
#define LLC_MAX_SLICES 64u

/* Who uses a line, and whoever listens is told of it: attached from outside, changes nothing. */
enum llc_use { LLC_CPU, LLC_IO_READ, LLC_IO_WRITE };
struct llc_tap {
	void (*used)(struct llc_tap *t, enum llc_use how, uint64_t pa);
};

struct llc {
	struct assoc *slice;
	uint32_t n_slices, io_ways;
	struct llc_tap *tap; /* NULL = none */
};

/*
 * Allocate for block 'b'; from its build() only. 'sets' of a slice is a power of two; 'io_ways', up
 * to 'ways', are those for what devices write; 0: they do not allocate.
 */
void llc_build(struct llc *c, struct block *b, uint32_t slices, uint32_t sets, uint32_t ways,
	       uint32_t io_ways);

/* Empty it. */
void llc_reset(struct llc *c);

/*
 * The line of 'pa' is used: the CPU reads or writes it, a device reads it, a device writes to it.
 * Returns whether it was there. Now it is, but for a device's reads, and its writes with io_ways 0.
 */
bool llc_use(struct llc *c, enum llc_use how, uint64_t pa);

/* Whether the line of 'pa' is there. Changes nothing. */
bool llc_has(struct llc *c, uint64_t pa);

#endif
