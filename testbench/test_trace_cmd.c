/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace_cmd.c - `rnicsim trace` and what it writes (convert: test_convert.c)
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "models/trace/trace.h"
#include "tools/run/commands.h"
#include "testbench/tb_file.h"
#include "testbench/tb_run.h"

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
	CU_ASSERT(RUN(&e, "trace", "infos", "x") == 2 &&
		  strstr(e.text, "unknown 'infos'; allowed: info, check, gen, convert"));
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

#define HOSTS_2 "rnicsim-trace 1\nhost h0\nhost h1\n"

/* What a run refuses, `trace check` refuses in the same words. */
static void trace_check_and_run_agree_on_what_is_too_much(void)
{
	static const struct {
		const char *text, *says; /* NULL: it is good */
	} traces[] = {
		{ HOSTS_2 "mr h0 a va=0x1000 len=4KiB\n", NULL },
		{ "rnicsim-trace 1\n", "no host" },
		{ "rnicsim-trace 1\nhost h0\n", "one host" },
		{ HOSTS_2 "mr h0 a va=0x1000 len=65GiB fill=zero\n", "bytes of regions" },
		{ HOSTS_2 "mr h0 a va=0x1000 len=0\n", "len" },
		{ HOSTS_2 "mr h0 a va=0xfffffffffffff000 len=8KiB\n", ":4: " },
		{ HOSTS_2 "mr h0 a va=0x1000 len=4KiB lkey=0x700\n"
			  "mr h0 b va=0x9000 len=4KiB lkey=0x701\n",
		  "one key for each index" },
		{ HOSTS_2 "mr h0 a va=0x1000 len=4KiB\nmw h0 w type=2 rkey=0xffffffff\n",
		  "below 0xffffffff" },
		{ HOSTS_2 "cq h0 c depth=4194304\ncq h0 d depth=4194304\ncq h0 e depth=4194304\n"
			  "cq h0 f depth=4194304\ncq h0 g depth=4194304\ncq h0 h depth=4194304\n"
			  "cq h0 i depth=4194304\ncq h0 j depth=4194304\ncq h0 k depth=4194304\n",
		  "entries of queues" },
		{ HOSTS_2 "qp h0 q type=RC peer=h0.r\nqp h0 r type=RC peer=h0.q\n", "loopback" },
		{ HOSTS_2 "qp h0 q type=UD qpn=0xffffff\n", "qpn" },
		{ HOSTS_2 "qp h0 q type=UD max_sge=64\n", "max_sge" },
		{ HOSTS_2 "qp h0 q type=UD inline=2000\n", "inline" },
		{ HOSTS_2 "psot h0.q\n", "unknown record" },
		{ HOSTS_2 "mr h0 a va=0x1000 len=4KiB access=lw,rw,mw\nmw h0 w type=2 rkey=0x500\n"
			  "qp h0 q type=RC peer=h1.q\nqp h1 q type=RC peer=h0.q\n"
			  "post h0.q id=1 op=BIND_MW mw=w mr=a access=rw sge=a:0:64 newkey=0x600\n",
		  ":8: " },
	};
	char hosts[64 * 1024] = "rnicsim-trace 1\n";
	const char *path;
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(traces); i++) {
		static struct tb_run t;
		const char *says = traces[i].says;
		bool is_run;
		int status;

		path = tb_write("limits.trace", traces[i].text, strlen(traces[i].text));
		status = RUN(&e, "trace", "check", path);
		is_run = tb_run_open(&t, &(struct tb_run_how){ .trace = path });
		CU_ASSERT_EQUAL(status, says ? 2 : 0);
		CU_ASSERT_EQUAL(is_run, !says);
		if (says && (!strstr(e.text, says) || strcmp(e.text, t.err.text) != 0))
			fprintf(stderr, "%s: check '%s', run '%s'\n", says, e.text, t.err.text);
		CU_ASSERT(!says || (strstr(e.text, says) && strcmp(e.text, t.err.text) == 0));
		tb_run_close(&t);
	}
	for (unsigned i = 0, n = (unsigned)strlen(hosts); i < 4097; i++)
		n += (unsigned)sprintf(hosts + n, "host h%u\n", i);
	path = tb_write("limits.trace", hosts, strlen(hosts));
	CU_ASSERT(RUN(&e, "trace", "check", path) == 2 &&
		  strstr(e.text, ":4098: more than 4096 hosts"));
}

/* What is said of a trace from a pipe, read once, is said of the same from a file. */
static void trace_check_reads_a_pipe_once(void)
{
	static const char text[] = HOSTS_2
		"mr h0 a va=0x1000 len=4KiB fill=inc\nqp h0 q type=RC peer=h1.q\n"
		"qp h1 q type=RC peer=h0.q\nrecv h1.q id=1\npost h0.q id=1 op=SEND sge=a:0:0\n"
		"expect mem h0 a:0:16 == fill\n";
	static const char bad[] = HOSTS_2 "qp h0 q type=RC peer=h1.q\nqp h1 q type=RC peer=h0.q\n"
					  "post h0.q id=1 op=SEDN\n";
	struct err e;
	const char *path;

	path = tb_fifo("check.fifo", text);
	CU_ASSERT_EQUAL(RUN(&e, "trace", "check", path), 0);
	unlink(path);
	path = tb_fifo("check.fifo", bad);
	CU_ASSERT(RUN(&e, "trace", "check", path) == 2 && strstr(e.text, "check.fifo:6: "));
	unlink(path);
	while (wait(NULL) > 0)
		;
}

CU_TestInfo test_trace_cmd_tests[] = {
	{ "trace_gen_makes_good_traces_again_and_again",
	  trace_gen_makes_good_traces_again_and_again },
	{ "trace_commands_refuse_wrong_words", trace_commands_refuse_wrong_words },
	{ "trace_check_and_run_agree_on_what_is_too_much",
	  trace_check_and_run_agree_on_what_is_too_much },
	{ "trace_check_reads_a_pipe_once", trace_check_reads_a_pipe_once },
	CU_TEST_INFO_NULL
};
