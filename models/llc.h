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

struct llc {
	struct assoc *slice;
	uint32_t n_slices, io_ways;
};

/*
 * Allocate for block 'b'; from its build() only. 'sets' of a slice is a power of two; 'io_ways', up
 * to 'ways', are those for what devices write; 0: they do not allocate.
 */
void llc_build(struct llc *c, struct block *b, uint32_t slices, uint32_t sets, uint32_t ways,
	       uint32_t io_ways);

/* Empty it. */
void llc_reset(struct llc *c);

/* The CPU reads or writes the line of 'pa'. Returns whether it was there; now it is. */
bool llc_cpu(struct llc *c, uint64_t pa);

/* A device reads the line of 'pa'. Returns whether it was there. */
bool llc_io_read(struct llc *c, uint64_t pa);

/* A device writes to the line of 'pa'. Returns whether it was there; now it is, but for io_ways 0. */
bool llc_io_write(struct llc *c, uint64_t pa);

#endif
