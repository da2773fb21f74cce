/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_verdict.h - what went wrong in a run besides its `expect`s: requests that can never end, completions that
 * were lost
 */
#ifndef TOOLS_RUN_RUN_VERDICT_H
#define TOOLS_RUN_RUN_VERDICT_H

#include <stdio.h>

#include "models/rnic.h"

/*
 * True when the run ended with something left to do that can never be done; says on stderr what, and who waits
 * for whom. A run that was cut off at its time limit is not stuck: 'f' (may be NULL) is told how much was open.
 * 'e' is set when the trace is at fault: too many records behind one that waits.
 */
bool run_is_stuck(const struct rnic *r, enum sim_end end, FILE *f, struct err *e);

/*
 * True when completions were lost in a full CQ of a host of which the trace expects no event CQ_ERR; 'f' is told
 * of each such CQ.
 */
bool run_has_lost(const struct rnic *r, FILE *f);

#endif
