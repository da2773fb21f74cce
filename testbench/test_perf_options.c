/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_perf_options.c - the command line of `rnicsim perf`, and what its help says of it
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

#include "models/nic.h"
#include "tools/perf/perf.h"
#include "sim/command.h"
#include "sim/units.h"

extern CU_TestInfo test_perf_options_tests[];

#define MAX_ARGS 64

static struct perf_spec spec_of(const char *args)
{
	static char text[1024];
	char *argv[MAX_ARGS], *save = NULL;
	struct perf_spec s = { 0 };
	struct err e = { 0 };
	int argc = 0;

	snprintf(text, sizeof(text), "%s", args);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	CU_ASSERT_TRUE(perf_options_parse(argc, argv, &s, &e));
	return s;
}

/* Whether 'test' takes the option. */
static bool is_parsed(const char *test, const char *option)
{
	char text[128], *argv[MAX_ARGS], *save = NULL;
	struct perf_spec s;
	struct err e = { 0 };
	int argc = 0;

	snprintf(text, sizeof(text), "perf %s %s", test, option);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	return perf_options_parse(argc, argv, &s, &e);
}

/* A command line of perftest's as it stands: where it would run is not looked at. */
static void long_names_take_values_behind_an_equals_sign(void)
{
	struct perf_spec s =
		spec_of("perf write_bw --size=64 --iters=10 --connection=UC --mtu 1024 "
			"-d mlx5_0 -i 1 --port=18515 -x 3 --set=mtt.ways=4 --nic=open-rtl");

	CU_ASSERT_EQUAL(s.size, 64);
	CU_ASSERT_EQUAL(s.iters, 10);
	CU_ASSERT_EQUAL(s.type, QP_UC);
	CU_ASSERT_EQUAL(s.mtu, 1024);
	CU_ASSERT_EQUAL_FATAL(s.n_sets, 1);
	CU_ASSERT_STRING_EQUAL(s.sets[0], "mtt.ways=4");
	CU_ASSERT_STRING_EQUAL(s.nic, "open-rtl");
}

extern const struct command *const command_list[];

/* Each option is in the help, and taken by the tests of which the help says so, and no others. */
static void help_tells_where_each_option_is_taken(void)
{
	static const char *const tests[] = { "write_lat", "read_lat", "send_lat", "atomic_lat",
					     "write_bw",  "read_bw",  "send_bw",  "atomic_bw" };
	enum { LAT = 0x0f, BW = 0xf0, ALL = 0xff, WRITE = 0x11, READ = 0x22, SEND = 0x44 };
	static const struct {
		const char *option, *name;
		unsigned taken; /* bit i: tests[i] */
	} rows[] = {
		{ "-s 64", "--size", WRITE | READ | SEND },
		{ "-a", "--all", WRITE | READ | SEND },
		{ "-n 10", "--iters", ALL },
		{ "-q 2", "--qp", BW },
		{ "-t 4", "--tx-depth", BW },
		{ "-r 4", "--rx-depth", ALL },
		{ "-I 8", "--inline_size", WRITE | SEND },
		{ "-m 512", "--mtu", ALL },
		{ "-Q 2", "--cq-mod", BW },
		{ "-l 1", "--post_list", BW },
		{ "-o 2", "--outs", READ | 0x88 },
		{ "-u 10", "--qp-timeout", ALL },
		{ "-b", "--bidirectional", BW },
		{ "-c RC", "--connection", ALL },
		{ "-c UC", "--connection", WRITE | SEND },
		{ "-c UD", "--connection", SEND },
		{ "-A CMP_AND_SWAP", "--atomic_type", 0x88 },
		{ "-H", "--report-histogram", LAT },
		{ "-U", "--report-unsorted", LAT },
		{ "-F", "--CPU-freq", ALL },
		{ "-d x", "--ib-dev", ALL },
		{ "-i 1", "--ib-port", ALL },
		{ "-p 1", "--port", ALL },
		{ "-x 1", "--gid-index", ALL },
		{ "--report_gbits", "--report_gbits", BW },
		{ "--use_hugepages", "--use_hugepages", ALL },
		{ "--threads 1", "--threads", BW },
		{ "--sges 1", "--sges", WRITE | READ | SEND },
		{ "--region 1MiB --stride 8", "--region", BW },
		{ "--drop 3", "--drop", ALL },
		{ "--nic open-rtl", "--nic", ALL },
		{ "--set mtt.ways=2", "--set", ALL },
		{ "--seed 3", "--seed", ALL },
		{ "--out /nowhere", "--out", ALL },
	};
	const struct command *const *c = command_list;
	char word[8];

	while (strcmp((*c)->name, "perf") != 0)
		c++;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool is_dumb = strchr("Fdipx", rows[i].option[1]); /* together, in one line */

		snprintf(word, sizeof(word), "%.*s ", rows[i].option[1] == '-' ? 0 : 2,
			 rows[i].option);
		CU_ASSERT(strstr((*c)->more, word) != NULL);
		CU_ASSERT(is_dumb || strstr((*c)->more, rows[i].name) != NULL);
		for (size_t k = 0; k < ARRAY_LEN(tests); k++) {
			bool is_taken = is_parsed(tests[k], rows[i].option);

			if (is_taken != (rows[i].taken >> k & 1))
				fprintf(stderr, "%s %s: taken %d\n", tests[k], rows[i].option,
					is_taken);
			CU_ASSERT_EQUAL(is_taken, rows[i].taken >> k & 1);
		}
	}
}

CU_TestInfo test_perf_options_tests[] = { { "long_names_take_values_behind_an_equals_sign",
					    long_names_take_values_behind_an_equals_sign },
					  { "help_tells_where_each_option_is_taken",
					    help_tells_where_each_option_is_taken },
					  CU_TEST_INFO_NULL };
