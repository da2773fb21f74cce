/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_what_if.c - `rnicsim run --what-if`: a line is the run with that setting, and changes no result
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/units.h"
#include "testbench/tb_file.h"
#include "testbench/tb_printed.h"
#include "testbench/tb_trace.h"

/* Percentiles of the tables and of --what-if are those of ops.csv, at most 1 % above. */
static void percentiles_are_those_of_the_rows_within_one_percent(void)
{
	unsigned long long ps[300] = { 0 }, p50, p99;
	char *json = tb_printed_summary(tb_trace_small, ""), line[128];
	size_t n = tb_printed_column(tb_path("summary"), "latency_ps", ps, ARRAY_LEN(ps));

	CU_ASSERT_EQUAL_FATAL(n, 300);
	p50 = tb_printed_number(json, "\"latency_p50_ps\"");
	p99 = tb_printed_number(json, "\"latency_p99_ps\"");
	CU_ASSERT(p50 >= ps[149] && p50 <= ps[149] + ps[149] / 100);
	CU_ASSERT(p99 >= ps[296] && p99 <= ps[296] + ps[296] / 100);
	snprintf(line, sizeof(line), "+0.0 %% %11.3f    +0.0 %%", (double)p99 / 1e6);
	CU_ASSERT(tb_printed_says(tb_trace_small, "--what-if link0.length=1m", line));
	free(json);
}

/* A line of the table is what a run with --set gives; ten times as much is a factor. */
static void check_what_if(const char *set, const char *list)
{
	const char *cable = set + strlen("--set ");
	char *base = tb_printed_summary(tb_trace_single, ""),
	     *longer = tb_printed_summary(tb_trace_single, set);
	double a = (double)tb_printed_number(base, "\"latency_mean_ps\"") / 1e6;
	double b = (double)tb_printed_number(longer, "\"latency_mean_ps\"") / 1e6;
	char line[256], change[32];

	snprintf(change, sizeof(change), b < 10 * a ? "%+7.1f %%" : "x %.0f",
		 b < 10 * a ? (b / a - 1) * 100 : b / a);
	snprintf(line, sizeof(line), "\n%-40s %8d %7d %11.3f %9s ", cable, 20, 0, b, change);
	CU_ASSERT(b > a && tb_printed_says(tb_trace_single, list, line));
	snprintf(line, sizeof(line), "\nas it is %40d %7d %11.3f    +0.0 %%", 20, 0, a);
	CU_ASSERT(tb_printed_says(tb_trace_single, list, line));
	free(base);
	free(longer);
}

static void what_if_line_is_the_run_with_that_setting(void)
{
	check_what_if("--set link0.length=200m", "--what-if link0.length=200m,mac.rate=10Gbps");
	check_what_if("--set link0.length=20km",
		      "--what-if mac.rate=10Gbps+link0.length=1m,link0.length=20km");
}

static void what_if_and_explain_change_no_result(void)
{
	char *plain = tb_printed_summary(tb_trace_stream, "");
	char *looked = tb_printed_summary(tb_trace_stream, "--explain --what-if mac.rate=10Gbps");

	CU_ASSERT_STRING_EQUAL(plain, looked);
	free(plain);
	free(looked);
}

static void what_if_that_cannot_be_is_refused_before_the_run(void)
{
	static const struct {
		const char *list, *message;
	} bad[] = {
		{ "mac.rate=0", "--what-if" },
		{ "mac.rte=1Gbps", "rate" },
		{ "mac.rate", "--what-if" },
		{ "mac.rate=1Gbps,", "--what-if" },
		{ ",", "--what-if" },
		{ "mac.rate=1Gbps+", "--what-if" },
		{ "mtt.ways=4+mtt.ways=8", "mtt.ways twice" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char args[128];
		struct tb_printed p;

		snprintf(args, sizeof(args), "--what-if %s", bad[i].list);
		p = tb_printed_run(tb_trace_single, args);
		CU_ASSERT_EQUAL(p.status, 2);
		CU_ASSERT_STRING_EQUAL(p.out, "");
		CU_ASSERT(strstr(p.err, bad[i].message) != NULL);
		tb_printed_free(&p);
	}
}

CU_TestInfo test_what_if_tests[] = {
	{ "percentiles_are_those_of_the_rows_within_one_percent",
	  percentiles_are_those_of_the_rows_within_one_percent },
	{ "what_if_line_is_the_run_with_that_setting", what_if_line_is_the_run_with_that_setting },
	{ "what_if_and_explain_change_no_result", what_if_and_explain_change_no_result },
	{ "what_if_that_cannot_be_is_refused_before_the_run",
	  what_if_that_cannot_be_is_refused_before_the_run },
	CU_TEST_INFO_NULL
};
