/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_pair.h - two small blocks with every kind of row, for tests of what is derived from tables
 */
#ifndef TESTBENCH_TB_PAIR_H
#define TESTBENCH_TB_PAIR_H

#include "sim/netlist.h"

/* A message. */
struct note {
	uint64_t v;
};

/* "giver" sends 'n' notes, the values 0, step, 2 x step, ..., and "taker" keeps a histogram of them. */
extern const struct block_class giver_class, taker_class;
extern const struct block_class *const tb_pair_classes[];

/* g0.giver -> g0.taker and g1.giver -> g1.taker in 's'; 'sets' as in tb_init. */
void tb_pair_build(struct sim *s, const char *const *sets);

#endif
