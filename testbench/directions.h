/* SPDX-License-Identifier: Apache-2.0 */
/*
 * directions.h - the rows of test_directions.c: what a parameter moves, and which way
 */
#ifndef TESTBENCH_DIRECTIONS_H
#define TESTBENCH_DIRECTIONS_H

#include <stddef.h>

#define HOSTS \
	"rnicsim-trace 1\nhost h0\nhost h1\n" \
	"mr h0 src va=0x10000000 len=1MiB access=lw,rw,rr fill=inc\n" \
	"mr h1 dst va=0x20000000 len=1MiB access=lw,rw,rr fill=inc\n" \
	"qp h0 q0 type=RC peer=h1.q0 mtu=4096\n" \
	"qp h1 q0 type=RC peer=h0.q0 mtu=4096\n"

enum direction { NEVER_RISES, NEVER_FALLS };

struct row {
	const char *traffic, *key; /* no traffic: single_requests() */
	const char *values[8];     /* NULL at the end */
	const char *metric;
	enum direction direction;
	const char *also; /* more settings, spaces between them, or NULL */
};

extern const struct row direction_rows[];
extern const size_t n_direction_rows;

#endif
