/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stages.c - ops.csv as `rnicsim run` writes it: in every row the stages sum to the latency,
 * and follow each other
 */
#include <CUnit/CUnit.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/run/commands.h"
#include "tools/run/oplog_csv.h"
#include "testbench/gen_trace.h"
#include "testbench/tb_file.h"

#define MAX_COLUMNS 64u
#define MAX_PATH 512u

/* Cut a line at its commas; returns how many fields. */
static unsigned cut(char *line, char **field)
{
	unsigned n = 0;

	while (line && n < MAX_COLUMNS) {
		field[n++] = line;
		line = strchr(line, ',');
		if (line)
			*line++ = '\0';
	}
	return n;
}

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static bool is_row_right(char **name, char **field, unsigned n)
{
	uint64_t sum = 0, before = 0, first = 0, last = 0, latency = UINT64_MAX;
	unsigned n_stages = 0, n_times = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t v = strtoull(field[i], NULL, 10);

		if (starts(name[i], "stage_")) {
			sum += v;
			n_stages++;
		} else if (starts(name[i], "t_")) {
			if (v < before)
				return false;
			first = n_times++ ? first : v;
			before = last = v;
		} else if (strcmp(name[i], "latency_ps") == 0) {
			latency = v;
		}
	}
	return n_stages == OP_MILESTONES - 1 && n_times == OP_MILESTONES && sum == latency &&
	       last - first == latency;
}

/* Rows that are right; *n_wrong: the others. */
static unsigned count_rows(const char *csv, unsigned *n_wrong)
{
	char *text = strdup(csv), *names[MAX_COLUMNS], *field[MAX_COLUMNS], *save = NULL;
	unsigned n = cut(strtok_r(text, "\n", &save), names), n_right = 0;
	char *line;

	*n_wrong = 0;
	while ((line = strtok_r(NULL, "\n", &save)) != NULL) {
		if (cut(line, field) == n && is_row_right(names, field, n))
			n_right++;
		else
			++*n_wrong;
	}
	free(text);
	return n_right;
}

/* ops.csv of a run of `rnicsim run`; free it. */
static char *ops_csv(char *ini)
{
	char dir[MAX_PATH], file[MAX_PATH + 16];
	char run[] = "run", o[] = "-o", quiet[] = "--quiet";
	char *argv[] = { run, ini, o, dir, quiet, NULL };
	struct err e = { 0 };

	snprintf(dir, sizeof(dir), "%s", tb_path("stages"));
	CU_ASSERT_EQUAL(cmd_run(5, argv, &e), 0);
	CU_ASSERT_FALSE(e.is_set);
	snprintf(file, sizeof(file), "%s/ops.csv", dir);
	return tb_read(file);
}

static void remove_files(void)
{
	static const char *const names[] = { "ops.csv", "recvs.csv", "summary.json", "run.json",
					     "" };
	char file[MAX_PATH];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(file, sizeof(file), "%s/%s", tb_path("stages"), names[i]);
		remove(file);
	}
}

static void demo_stages_sum_to_the_latency(void)
{
	char ini[] = "traces/demo.ini", *csv = ops_csv(ini), *digit;
	unsigned n_wrong;

	CU_ASSERT_FATAL(csv != NULL);
	CU_ASSERT(count_rows(csv, &n_wrong) > 150);
	CU_ASSERT_EQUAL(n_wrong, 0);
	/* one digit of one stage */
	digit = strrchr(csv, ',') - 1;
	*digit = *digit == '9' ? '8' : (char)(*digit + 1);
	count_rows(csv, &n_wrong);
	CU_ASSERT_EQUAL(n_wrong, 1);
	free(csv);
	remove_files();
}

/* With retries, fences, errors and all. */
static void random_stages_sum_to_the_latency(void)
{
	unsigned n = 0;

	for (uint64_t seed = 0x300000; seed < 0x300000 + 20; seed++) {
		char name[64], ini[MAX_PATH], *csv;
		struct gen_case g;
		unsigned n_wrong;

		gen_make(&g, seed, &(struct gen_want){ 0 });
		if (g.is_wrong || g.may_fail == (seed & 1)) { /* half of them on bad wires */
			gen_free(&g);
			continue;
		}
		snprintf(name, sizeof(name), "rnicsim-case-%" PRIu64 ".trace", seed);
		tb_write(name, g.trace, strlen(g.trace));
		snprintf(ini, sizeof(ini), "%s", tb_write("stages.ini", g.ini, strlen(g.ini)));
		csv = ops_csv(ini);
		n += csv ? count_rows(csv, &n_wrong) : 0;
		CU_ASSERT(csv && n_wrong == 0);
		free(csv);
		gen_free(&g);
		remove_files();
	}
	CU_ASSERT(n > 50);
}

CU_TestInfo test_stages_tests[] = {
	{ "demo_stages_sum_to_the_latency", demo_stages_sum_to_the_latency },
	{ "random_stages_sum_to_the_latency", random_stages_sum_to_the_latency },
	CU_TEST_INFO_NULL
};
