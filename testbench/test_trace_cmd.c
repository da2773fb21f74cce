/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace_cmd.c - `rnicsim trace` and what it writes (convert: test_convert.c)
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/trace/trace.h"
#include "testbench/tb_file.h"

static int run(struct err *e, int argc, const char *const *argv)
{
	char *copy[32];

	memset(e, 0, sizeof(*e));
	for (int i = 0; i < argc; i++)
		copy[i] = (char *)(uintptr_t)argv[i];
	return cmd_trace(argc, copy, e);
}
#define RUN(e, ...) \
	run(e, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *), \
	    (const char *[]){ __VA_ARGS__ })

/* Posts and receives of a good trace. */
static void count(const char *path, uint64_t *posts, uint64_t *recvs)
{
	struct err e = { 0 };
	struct trace *t = trace_open(path, &e);
	struct trace_record r;

	*posts = *recvs = 0;
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	while (trace_next(t, &r, &e) == 1) {
		*posts += r.kind == REC_POST;
		*recvs += r.kind == REC_RECV;
	}
	CU_ASSERT_FALSE(e.is_set);
	trace_close(t);
}

static void trace_gen_makes_good_traces_again_and_again(void)
{
	const char *a = tb_path("a.trace"), *b = tb_path("b.trace"), *gz = tb_path("c.trace.gz");
	struct err e;
	uint64_t posts, recvs;
	char *x, *y;

	CU_ASSERT_EQUAL(RUN(&e, "trace", "gen", "-o", a, "--count", "5000", "--qps", "7", "--ops",
			    "write=5,send=2,read,faa,cas,write_imm,send_imm", "--size", "0,64,4KiB",
			    "--window", "8", "--signal", "4", "--inline", "64", "--seed", "3"),
			0);
	count(a, &posts, &recvs);
	CU_ASSERT(posts == 5000 && recvs > 7 * 64);
	CU_ASSERT_EQUAL(RUN(&e, "trace", "gen", "-o", b, "--count", "5000", "--qps", "7", "--ops",
			    "write=5,send=2,read,faa,cas,write_imm,send_imm", "--size", "0,64,4KiB",
			    "--window", "8", "--signal", "4", "--inline", "64", "--seed", "3"),
			0);
	x = tb_read(a);
	y = tb_read(b);
	CU_ASSERT(x && y && strcmp(x, y) == 0);
	free(x);
	free(y);
	CU_ASSERT_EQUAL(RUN(&e, "trace", "gen", "-o", gz, "--count", "100", "--gap", "1us"), 0);
	count(gz, &posts, &recvs);
	CU_ASSERT(posts == 100 && recvs == 0);
}

static void trace_commands_refuse_wrong_words(void)
{
	struct err e;

	CU_ASSERT(RUN(&e, "trace") == 2 && strstr(e.text, "usage: rnicsim trace info FILE"));
	CU_ASSERT(RUN(&e, "trace", "infos", "x") == 2 && strstr(e.text, "usage"));
	CU_ASSERT(RUN(&e, "trace", "check", "no/such") == 2 &&
		  strstr(e.text, "no/such: cannot open"));
	CU_ASSERT(RUN(&e, "trace", "gen", "--cuont", "3") == 2 &&
		  strstr(e.text, "did you mean '--count'"));
	CU_ASSERT(RUN(&e, "trace", "gen", "--count", "0") == 2 && strstr(e.text, "must be 1 to"));
	CU_ASSERT(RUN(&e, "trace", "gen", "--count") == 2 && strstr(e.text, "--count"));
	CU_ASSERT(RUN(&e, "trace", "gen", "--ops", "write,jump") == 2 &&
		  strstr(e.text, "write_imm"));
	CU_ASSERT(RUN(&e, "trace", "gen", "--size", "64,") == 2 && strstr(e.text, "--size"));
	CU_ASSERT(RUN(&e, "trace", "gen", "--signal", "17") == 2 &&
		  strstr(e.text, "never see a completion"));
	CU_ASSERT(RUN(&e, "trace", "gen", "--mtu", "1000") == 2 && strstr(e.text, "256, 512"));
	CU_ASSERT(RUN(&e, "trace", "gen", "--mr", "4096", "--size", "8KiB") == 2 &&
		  strstr(e.text, "at least the largest"));
	CU_ASSERT(RUN(&e, "trace", "gen", "-o", "no/such/dir/x") == 2 &&
		  strstr(e.text, "cannot write"));
}

CU_TestInfo test_trace_cmd_tests[] = { { "trace_gen_makes_good_traces_again_and_again",
					 trace_gen_makes_good_traces_again_and_again },
				       { "trace_commands_refuse_wrong_words",
					 trace_commands_refuse_wrong_words },
				       CU_TEST_INFO_NULL };
