/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial.h - the run of a command line once more, with some settings changed, and how it went
 */
#ifndef TOOLS_RUN_TRIAL_H
#define TOOLS_RUN_TRIAL_H

#include "sim/config.h"

/* Over all operations; of the requests that were successful. */
struct trial_result {
	uint64_t n, errors, bytes, span_ps, mean_ps, p99_ps;
	uint64_t packets; /* of requests taken by responders, of responses by requesters */
	bool is_done;     /* the run came to its end, and so did every request */
};

/* What is changed: adds settings to 'cfg'. NULL: nothing. False with 'e' set on a mistake. */
typedef bool trial_change(struct config *cfg, void *arg, struct err *e);

/*
 * The run that argc, argv ask for, until 'until_ps' at most, with 'change'; it writes no files. Built only
 * when 'o' is NULL. False with 'e' set when it cannot be.
 */
bool trial_run(int argc, char **argv, trial_change *change, void *arg, uint64_t until_ps,
	       struct trial_result *o, struct err *e);

#endif
