/* SPDX-License-Identifier: Apache-2.0 */
/*
 * directions.h - the rows of test_directions.c: what a parameter moves, which way, and what besides
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

/* Traffic: what is posted (directions_traffic.c). */
extern const char traffic_writes[], traffic_reads[], traffic_small[], traffic_bulk[];
extern const char traffic_rounds[], traffic_fresh[], traffic_tables[], traffic_queues[];
extern const char traffic_queues_read[], traffic_scattered[], traffic_pages[];
extern const char traffic_few_entries[], traffic_inlined[], traffic_posted[], traffic_capped[];
extern const char traffic_atomics[], traffic_one_word[], traffic_sends[];

/* HARDLY_RISES: by no more than a twentieth above the least so far, where who goes first changes. */
enum direction { NEVER_RISES, NEVER_FALLS, HARDLY_RISES };

/* Values of what there is a number of: from one to enough. */
#define UP_TO_16 "1", "2", "4", "16"

/* Metric and direction of most rows: with more of it a run takes no longer, or no less. */
#define FASTER "time", NEVER_RISES
#define SLOWER "time", NEVER_FALLS

/*
 * What is counted besides the metric, in groups; each is equal at all values of a row's parameter
 * unless the row names it. What a program sees (completions, errors, memory) is of no group: it never
 * moves.
 */
enum moves {
	PACKETS = 1 << 0,    /* on the line */
	PAYLOAD = 1 << 1,    /* its bytes on the PCIe link, headers included */
	DOORBELLS = 1 << 2,  /* theirs */
	WQES = 1 << 3,       /* those of WQEs and doorbell records: how many a read brings */
	CQES = 1 << 4,       /* those of CQEs */
	QPCS = 1 << 5,       /* QP contexts read */
	CQCS = 1 << 6,       /* CQ contexts read */
	KEYS = 1 << 7,       /* MPT entries read, their bytes */
	PAGES = 1 << 8,      /* lines of the MTT read, their bytes */
	RSCS = 1 << 9,       /* responder resources read */
	REFETCHES = 1 << 10, /* WQEs read again */
	IOTLB = 1 << 11,
	LLC = 1 << 12
};

struct row {
	const char *traffic, *key; /* no traffic: single_requests() */
	const char *values[8];     /* NULL at the end */
	const char *metric;
	enum direction direction;
	const char *also; /* more settings, spaces between them, or NULL */
	unsigned moves;   /* enum moves, besides the metric */
};

extern const struct row direction_link_rows[], direction_caches_rows[], direction_engines_rows[];
extern const size_t n_direction_link_rows, n_direction_caches_rows, n_direction_engines_rows;

#endif
