/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial.h - the run of a command line once more, with some settings changed, and how it went
 */
#ifndef TOOLS_RUN_TRIAL_H
#define TOOLS_RUN_TRIAL_H

#include "sim/config.h"

/* Over all operations; of the requests that were successful. */
struct trial_result {
	uint64_t n, errors, bytes, span_ps, last_ps, mean_ps, p99_ps;
	uint64_t packets; /* of requests taken by responders, of responses by requesters */
	uint64_t
		took_ps; /* from 'from_ps' until 'packets' were taken, or all was done; 0: was not to be */
	bool is_done; /* the run came to its end, and so did every request */
};

/* Where a trial ends, if the run does not before: at 'until_ps', or as soon as so many packets were taken. */
struct trial_end {
	uint64_t from_ps, until_ps; /* from_ps <= until_ps */
	uint64_t packets;
};

/* What is changed: adds settings to 'cfg'. NULL: nothing. False with 'e' set on a mistake. */
typedef bool trial_change(struct config *cfg, void *arg, struct err *e);

/*
 * The run that argc, argv ask for, with 'change', up to 'end' (NULL: its own); it writes no files. Built only
 * when 'o' is NULL. False with 'e' set when it cannot be.
 */
bool trial_run(int argc, char **argv, trial_change *change, void *arg, const struct trial_end *end,
	       struct trial_result *o, struct err *e);

#endif
