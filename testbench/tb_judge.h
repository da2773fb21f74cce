/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_judge.h - is this what a run of a random trace (gen_trace.h) must come to
 */
#ifndef TESTBENCH_TB_JUDGE_H
#define TESTBENCH_TB_JUDGE_H

#include "testbench/gen_trace.h"
#include "testbench/ref_exec.h"
#include "testbench/tb_event.h"
#include "testbench/tb_watch.h"

/* A case and its run. */
struct tb_case {
	struct gen_case gen;
	struct tb_run run;
	struct tb_watch watch;
	struct tb_events *events;
	struct seen *seen; /* tb_judge_seen.c */
	struct ref_exec ref;
	int status; /* of the run */
};

/*
 * Make and run a case; 'spoil', if not NULL, does something to it before it runs. False when it does not
 * even build; tb_case_close is due either way.
 */
bool tb_case_run_spoilt(struct tb_case *c, uint64_t seed, const struct gen_want *want,
			const char *const *sets, enum step_order order, bool every_cycle,
			void (*spoil)(struct tb_case *c));

/* The same, not spoilt. */
bool tb_case_run(struct tb_case *c, uint64_t seed, const struct gen_want *want,
		 const char *const *sets, enum step_order order, bool every_cycle);
void tb_case_close(struct tb_case *c);

/* What the reference makes of how the requests ended; before tb_judge. */
const char *tb_case_refer(struct tb_case *c);

/*
 * NULL when everything is as it must be; else what is not, in a static buffer: the run is over and
 * nothing is stuck; each request has one row, in order per QP, and the completions that belong to
 * it; errors only where there may be; memory as the reference has it; no buffer kept.
 */
const char *tb_judge(struct tb_case *c);

#endif
