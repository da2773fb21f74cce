/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario.h - what one run is: its files, its options, the [scenario] section
 */
#ifndef TOOLS_RUN_SCENARIO_H
#define TOOLS_RUN_SCENARIO_H

#include "sim/config.h"
#include "sim/sim.h"

/* The command line of `rnicsim run`. Strings are the caller's argv. */
struct run_options {
	const char *scenario; /* INI file */
	const char *dir;      /* -o: where summary.json, ops.csv, ... go; NULL = nowhere */
	const char *trace;    /* --trace: instead of the scenario's */
	const char *wave, *pcap, *timeline;
	const char **what_if; /* --what-if: lists of changes, n_what_if of them; owned */
	uint32_t n_what_if;
	bool is_quiet, is_explained;
	bool has_no_trials; /* --explain=counts: from what was counted only */
	bool has_mrc;       /* --mrc: miss-ratio curves */
	bool every_cycle;
	enum step_order order;
};

/* The [scenario] section. */
struct scenario {
	const char *trace;
	uint64_t seed, until, stall;
	uint64_t payload, detail; /* enums; one choice each for now */
};
extern const struct field scenario_fields[];

/*
 * Parse argv into 'o' and settings of 'cfg' (--set, --seed, --until), and read the scenario file. False with 'e'
 * set. run_options_free() is due in any case.
 */
bool run_options_parse(int argc, char **argv, struct run_options *o, struct config *cfg,
		       struct err *e);

/* False with 'e' set when an output has the name of another, of the scenario or of 'trace'. */
bool run_outputs_differ(const struct run_options *o, const char *trace, struct err *e);

void run_options_free(struct run_options *o);

/*
 * Apply the [scenario] section; *trace_path (owned by the caller) is the trace to replay: --trace, or the
 * scenario's, which is relative to the scenario file.
 */
bool scenario_apply(struct config *cfg, const struct run_options *o, struct scenario *s,
		    char **trace_path, struct err *e);

#endif
