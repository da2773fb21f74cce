/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evlog.h - the event log: what blocks report with block_event(), and spans of whoever has them
 *
 * Off costs one predictable branch an event. On, the last events are kept as binary records (printed when
 * a SIM_CHECK fails) and, when a file was asked for, everything is streamed as Chrome trace JSON, which
 * Perfetto opens: a process for each group ("nic0"), a track for each block, events as instants, spans as
 * slices. Within one time stamp lines are ordered by track, so the file does not depend on step order.
 * One log is active at a time.
 */
#ifndef SIM_EVLOG_H
#define SIM_EVLOG_H

#include <stdio.h>

#include "sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One reported event. */
struct event_rec {
	uint64_t ps;
	uint32_t block; /* index in the net-list */
	uint32_t event; /* number among the EVENT rows of its table */
	uint64_t a0, a1;
};

struct evlog;

/*
 * Start logging the events of 's', whose net-list is complete. 'path' is the JSON file, or NULL to keep
 * only the last events. NULL with 'e' set when it cannot be written.
 */
struct evlog *evlog_open(struct sim *s, const char *path, struct err *e);

/* Stop, finish the file and give it its name. False with 'e' set when that failed. */
bool evlog_close(struct evlog *l, struct err *e);

/* Stop and leave no file. NULL is ignored. */
void evlog_abort(struct evlog *l);

/*
 * A track for spans, shown under 'group' ("h0") with name 'name' ("q0"); both are copied. Spans may overlap:
 * those that do are spread over lanes, each a row of its own. Tracks are made before the run.
 */
uint32_t evlog_track(struct evlog *l, const char *group, const char *name);

/*
 * Reserve a lane of 'track' from start_ps to end_ps; spans that shall nest go into one lane. Overlap is kept
 * lowest when calls come in the order of end_ps. The number of lanes is bounded; beyond, the last is shared.
 */
uint32_t evlog_lane(struct evlog *l, uint32_t track, uint64_t start_ps, uint64_t end_ps);

/* A span in a lane. 'args' is NULL or the inside of a JSON object ("\"id\":7,\"bytes\":64"). */
void evlog_span(struct evlog *l, uint32_t lane, const char *name, uint64_t start_ps,
		uint64_t dur_ps, const char *args);

/* Print the last events, oldest first. */
void evlog_print_last(const struct evlog *l, FILE *f);

/* The newest recorded events, oldest first: copies up to 'max' into 'out' and returns how many. */
uint32_t evlog_last(const struct evlog *l, struct event_rec *out, uint32_t max);

#ifdef __cplusplus
}
#endif
#endif
