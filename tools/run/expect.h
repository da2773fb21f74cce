/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expect.h - did the run come out as the trace says it must
 */
#ifndef TOOLS_RUN_EXPECT_H
#define TOOLS_RUN_EXPECT_H

#include "models/verbs/setup.h"

#define EXPECT_TEXT 512u

/* An `expect` that did not hold. */
struct expect_failure {
	unsigned line;
	char text[EXPECT_TEXT]; /* "file:line: what was expected, what came", ready to print */
};

struct expect_result {
	uint32_t n_expects;
	struct expect_failure *failures; /* in the order of lines */
	uint32_t n_failures;
};

/*
 * Evaluate every `expect` of the trace after the run; 'sim' is asked for statistics. False with 'e'
 * set when one cannot be evaluated (no such statistic). Free with expect_release.
 */
bool expect_evaluate(const struct system *s, const struct sim *sim, struct expect_result *out,
		     struct err *e);
void expect_release(struct expect_result *r);

#endif
