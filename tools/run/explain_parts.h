/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_parts.h - what the files of --explain share: shares, waits, and what limits a run
 */
#ifndef TOOLS_RUN_EXPLAIN_PARTS_H
#define TOOLS_RUN_EXPLAIN_PARTS_H

#include "tools/run/explain.h"
#include "tools/run/explain_trials.h"

#define PPM 1000000u
#define MIN_WAIT_PPM 10000u /* less than 1 % is no news */
/* Of the time: who waits longer is held up by it. */
#define CRITICAL_WAIT_PPM 500000u

/* 'who' waited for 'whom' (NULL: for what its statistic 'what' says), so much of the time. */
struct wait {
	const char *who, *whom, *what;
	uint64_t ppm;
};

/* What all operations have in common. */
struct totals {
	uint64_t n, first_ps, last_ps, latency_ps;
	uint64_t served_ps; /* of latencies: from the first packet's turn to the acknowledgement */
	uint64_t flight_ps; /* of latencies: on the link, there and back */
	uint64_t stage_ps[REPORT_STAGES];
};

/* What the verdict is found from. */
struct evidence {
	const struct sim *s;
	const struct totals *t;
	const char *intro;                /* of the line */
	const struct explain_unit *units; /* busiest first */
	const struct wait *waits, *qps;   /* longest first */
	const struct wait *limit;         /* of qps: what they are not allowed, or NULL */
	const struct trials *trials;      /* NULL: none was made */
	unsigned n_units, n_waits, n_qps;
};

uint64_t share_ppm(uint64_t part, uint64_t whole);
bool ends_with(const char *s, const char *end);
bool starts_with(const char *s, const char *start);

/* All waits worth a line, longest first; free it. */
struct wait *find_waits(const struct sim *s, uint64_t span_ps, unsigned *n);

/* What the QPs of each requester wait for, of the time that they hold WQEs, longest first; 'whom' is the text. */
struct wait *find_qp_waits(const struct sim *s, unsigned *n);

/* The longest wait of 'who' (NULL: of any) for another block's port, or NULL. */
const struct wait *port_wait(const struct wait *w, unsigned n, const char *who);

/*
 * From the one that waits longest for another to the one that waits for nobody, which is returned
 * (NULL: none waits); printed if there is a file.
 */
const char *follow_chain(const struct evidence *e, FILE *f);

/* The same end if the chain holds the run up: its head waits long, and longer yet where QPs are at a limit. */
const char *end_of_chain(const struct evidence *e);

/* 'w' is a wait for something that is used up, and holds requests up: then it has a name. */
bool is_pool_short(const struct evidence *e, const struct wait *w);
const char *pool_name(const struct wait *w);

/* The line that names what is used up; false: nothing is. */
bool name_pool(const struct evidence *e, FILE *f);

/* What QPs are not allowed, most of their time, or NULL. */
const struct wait *limit_of_qps(const struct evidence *e);

/* What a stage is, by its index. */
const char *explain_stage(unsigned stage);

/* A share as "12.3 %". */
void print_percent(FILE *f, int width, uint64_t ppm);

/* The line that names what limits the run; when a NIC loses frames, one more that says what holds it up. */
void print_verdict(const struct evidence *e, FILE *f);

/* What was lost, by cause, and what it cost; nothing when nothing was. */
void print_losses(const struct evidence *e, FILE *f);

#endif
