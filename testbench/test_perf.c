/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_perf.c - `rnicsim perf`: perftest's columns, its arithmetic, and what the numbers must be
 */
#include <CUnit/CUnit.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/perf/perf.h"
#include "sim/units.h"
#include "testbench/tb_file.h"
#include "testbench/tb_run.h"

#define MAX_ARGS 32

/* cmd_perf with the words of 'args'; what it printed goes to *out (free it) unless NULL. */
static int perf(const char *args, char **out, struct err *e)
{
	char *text = x_strdup(args), *argv[MAX_ARGS], *save = NULL;
	const char *path = tb_path("stdout");
	int argc = 0, status, kept;

	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	memset(e, 0, sizeof(*e));
	fflush(stdout);
	kept = dup(STDOUT_FILENO);
	CU_ASSERT_PTR_NOT_NULL_FATAL(freopen(path, "w", stdout));
	status = cmd_perf(argc, argv, e);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	if (out)
		*out = tb_read(path);
	free(text);
	return status;
}

/* Parses 'args' as a command line would and measures; the run must succeed. */
static void measure(const char *args, struct perf_spec *s, struct perf_result *r,
		    struct perf_stat *stats, uint32_t n_stats)
{
	static char text[1024];
	char *argv[MAX_ARGS], *save = NULL;
	struct err e = { 0 };
	int argc = 0, status;

	snprintf(text, sizeof(text), "%s", args);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	CU_ASSERT_FATAL(perf_options_parse(argc, argv, s, &e));
	perf_spec_fit(s);
	status = perf_measure_stats(s, r, stats, n_stats, &e);
	CU_ASSERT_EQUAL_FATAL(status, 0);
}

static double typical_us(const char *args)
{
	struct perf_spec s;
	struct perf_result r;
	struct perf_lat l;

	measure(args, &s, &r, NULL, 0);
	perf_latency(&s, &r, &l);
	perf_result_release(&r);
	return l.typical;
}

static double gbits(const char *args)
{
	struct perf_spec s;
	struct perf_result r;
	struct perf_bw b;

	measure(args, &s, &r, NULL, 0);
	perf_bandwidth(&s, &r, &b);
	perf_result_release(&r);
	return b.average * 8 / 1e9;
}

/* ---- layout ---- */

/* Lines that a recording of ib_write_lat and ib_write_bw has in this form. */
static void perf_output_has_perftests_lines(void)
{
	static const char *const lat[] = {
		"                    RDMA_Write Latency Test\n",
		" Dual-port       : OFF\t\tDevice         : generic-100g\n",
		" Number of qps   : 1\t\tTransport type : IB\n",
		" Connection type : RC\t\tUsing SRQ      : OFF\n",
		" TX depth        : 1\n",
		" Mtu             : 1024[B]\n",
		" Link type       : Ethernet\n",
		" Max inline data : 220[B]\n",
		" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
		"t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n 16      20          ",
	};
	static const char *const bw[] = {
		"                    RDMA_Write BW Test\n",
		" TX depth        : 5\n CQ Moderation   : 5\n Mtu             : 1024[B]\n",
		" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
		" 1500       20               ",
	};
	struct err e;
	char *out;

	CU_ASSERT_EQUAL(perf("perf write_lat -n 20 -m 1024 -s 16", &out, &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(lat); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(out, lat[i]));
	free(out);
	CU_ASSERT_EQUAL(perf("perf write_bw -q 4 -n 5 -m 1024 -s 1500", &out, &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(bw); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(out, bw[i]));
	free(out);
	CU_ASSERT_EQUAL(perf("perf send_bw -n 10 -s 64 --report_gbits", &out, &e), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(out, "BW peak[Gb/sec]    BW average[Gb/sec]"));
	free(out);
}

static void perf_all_prints_a_row_a_size(void)
{
	struct err e;
	char *out, *p;

	CU_ASSERT_EQUAL(perf("perf send_lat -c UD -a -n 10 -m 512", &out, &e), 0);
	p = strstr(out, "[usec] \n");
	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	p += strlen("[usec] \n");
	for (unsigned size = 2; size <= 512; size *= 2) {
		CU_ASSERT_EQUAL(strtoul(p, &p, 10), size);
		CU_ASSERT_EQUAL(strtoul(p, &p, 10), 10);
		p = strchr(p, '\n') + 1;
	}
	CU_ASSERT_EQUAL(*p, '-');
	free(out);
}

/* ---- arithmetic ---- */

/* Five posts of a recording of ib_write_lat, from which perftest printed these numbers. */
static void latency_of_recorded_posts_is_perftests(void)
{
	uint64_t post_ps[] = { 0, 615220000, 1374640000, 2224660000, 3224660000 };
	struct perf_spec s;
	struct perf_result r = { .times[0] = { .post_ps = post_ps, .n = 5 } };
	struct perf_lat l;

	perf_spec_init(&s, PERF_WRITE, true);
	perf_latency(&s, &r, &l);
	CU_ASSERT_DOUBLE_EQUAL(l.min, 307.61, 0.005);
	CU_ASSERT_DOUBLE_EQUAL(l.max, 425.01, 0.005);
	CU_ASSERT_DOUBLE_EQUAL(l.typical, 343.66, 0.005);
	CU_ASSERT_DOUBLE_EQUAL(l.average, 343.66, 0.005);
	CU_ASSERT_DOUBLE_EQUAL(l.p99, 425.01, 0.005);
	CU_ASSERT_DOUBLE_EQUAL(l.p999, 425.01, 0.005);
	s.verb = PERF_READ;
	perf_latency(&s, &r, &l);
	CU_ASSERT_DOUBLE_EQUAL(l.min, 615.22, 0.005);
}

/* Three requests: all of them in 30 us, the last two in 10. */
static void peak_is_the_best_span(void)
{
	uint64_t post_ps[] = { 0, 20000000, 21000000 },
		 poll_ps[] = { 15000000, 25000000, 30000000 };
	struct perf_spec s;
	struct perf_result r = { .times[0] = { post_ps, poll_ps, 3, 3 } };
	struct perf_bw b;

	perf_spec_init(&s, PERF_WRITE, false);
	s.size = 1000;
	s.cq_mod = 1;
	perf_bandwidth(&s, &r, &b);
	CU_ASSERT_DOUBLE_EQUAL(b.average, 3000 / 30e-6, 1);
	CU_ASSERT_DOUBLE_EQUAL(b.rate, 3 / 30e-6, 1);
	CU_ASSERT_DOUBLE_EQUAL(b.peak, 1000 / 5e-6, 1000);
}

/* ---- what the numbers must be ---- */

/* 200 m more of cable are 1 us more each way: half a round trip, or a whole one. */
static void latency_grows_with_the_cable(void)
{
	static const struct {
		const char *test;
		double ways;
	} cases[] = {
		{ "write_lat", 1 },      { "send_lat", 1 }, { "write_lat -c UC", 1 },
		{ "send_lat -c UD", 1 }, { "read_lat", 2 }, { "atomic_lat", 2 },
	};
	char near[128], far[128];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(near, sizeof(near), "perf %s -n 50 --set link0.length=2m", cases[i].test);
		snprintf(far, sizeof(far), "perf %s -n 50 --set link0.length=202m", cases[i].test);
		CU_ASSERT_DOUBLE_EQUAL(typical_us(far) - typical_us(near), cases[i].ways, 0.04);
	}
}

/*
 * A latency test has a CQ for one request, which is one of two entries: no completion waits until its
 * doorbell record is read.
 */
static void latency_does_not_hang_on_the_cq(void)
{
	static const char *const tests[] = { "perf read_lat -n 100", "perf atomic_lat -n 100",
					     "perf write_lat -n 100", "perf send_lat -n 100" };

	for (size_t i = 0; i < ARRAY_LEN(tests); i++) {
		struct perf_stat stats[] = { { "nic0.cqe_writer", "dbr_reads", 0 },
					     { "nic0.cqe_writer", "dbr_waits", 0 } };
		struct perf_spec s;
		struct perf_result r;

		measure(tests[i], &s, &r, stats, 2);
		CU_ASSERT(stats[0].value > 50);
		CU_ASSERT_EQUAL(stats[1].value, 0);
		perf_result_release(&r);
	}
}

/* Middle packets of 4096 B in 4178 B of line: 98.0 of 100 Gb/s; both ways twice that. */
static void bandwidth_of_large_messages_is_the_lines(void)
{
	double line = 100.0 * 4096 / 4178;

	CU_ASSERT_DOUBLE_EQUAL(gbits("perf write_bw -s 262144 -n 200") / line, 1, 0.01);
	CU_ASSERT_DOUBLE_EQUAL(gbits("perf read_bw -s 262144 -n 200") / line, 1, 0.02);
	CU_ASSERT_DOUBLE_EQUAL(gbits("perf send_bw -s 262144 -n 200 -r 16") / line, 1, 0.02);
	CU_ASSERT_DOUBLE_EQUAL(gbits("perf write_bw -s 262144 -n 200 -b") / line, 2, 0.1);
}

static void cq_mod_and_post_list_save_completions_and_doorbells(void)
{
	struct perf_stat stats[] = { { "host0.workload", "doorbells", 0 },
				     { "host0.workload", "cqes", 0 } };
	struct perf_spec s;
	struct perf_result r;

	measure("perf write_bw -s 64 -n 1000 -t 64 -Q 10", &s, &r, stats, 2);
	CU_ASSERT_EQUAL(stats[0].value, 1000);
	CU_ASSERT_EQUAL(stats[1].value, 100);
	perf_result_release(&r);
	measure("perf write_bw -s 64 -n 1000 -t 64 -l 8", &s, &r, stats, 2);
	CU_ASSERT_EQUAL(stats[0].value, 125);
	CU_ASSERT_EQUAL(stats[1].value, 125);
	CU_ASSERT_EQUAL(r.times[0].n, 1000);
	perf_result_release(&r);
}

/* With --out the run can be repeated from its files alone: all settings are in the scenario. */
static void perf_out_keeps_a_scenario_that_repeats_the_run(void)
{
	static const char *const sets[] = {
		"",
		"--set mtt.ways=1 --set nic1.mtt.ways=2 --set link0.length=30m --set mtt.ways=4 "
		"--set nic.clock=300MHz",
		"-q 4 --threads 2 --seed 7 --nic generic-25g --set link0.loss=0.05 "
		"--set nic1.profile=open-rtl --set host0.host_mem.read_spread=50ns",
	};
	char dir[256], args[1024], path[600], again[512];
	struct err e;

	snprintf(dir, sizeof(dir), "%s", tb_path("perf"));
	snprintf(again, sizeof(again), "%s", tb_path("perf-again"));
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		char *argv[] = { (char *)(uintptr_t) "run", path, (char *)(uintptr_t) "--quiet",
				 (char *)(uintptr_t) "-o", again };
		char *first, *second;

		snprintf(args, sizeof(args), "perf send_bw -n 20 -s 3000 %s --out %s", sets[i],
			 dir);
		CU_ASSERT_EQUAL(perf(args, NULL, &e), 0);
		snprintf(path, sizeof(path), "%s/perf.ini", dir);
		CU_ASSERT_EQUAL(cmd_run(5, argv, &e), 0);
		snprintf(path, sizeof(path), "%s/summary.json", dir);
		first = tb_read(path);
		snprintf(path, sizeof(path), "%s/summary.json", again);
		second = tb_read(path);
		CU_ASSERT_FATAL(first && second);
		CU_ASSERT_STRING_EQUAL(first, second);
		free(first);
		free(second);
	}
}

static void wrong_options_are_refused(void)
{
	static const char *const cases[][2] = {
		{ "perf", "write_lat, write_bw" },
		{ "perf write", "unknown benchmark" },
		{ "perf write_lat -q 2", "no meaning in write_lat" },
		{ "perf write_lat -b", "no meaning" },
		{ "perf write_bw -n 4", "from 5 to" },
		{ "perf write_bw -s", "wants a value" },
		{ "perf write_bw -s x", "allowed: a number" },
		{ "perf write_bw -m 1000", "256, 512" },
		{ "perf write_bw -c UD", "allowed with write: RC, UC" },
		{ "perf read_bw -I 8", "no inline data" },
		{ "perf atomic_bw -s 16", "8 bytes" },
		{ "perf atomic_bw -A ADD", "FETCH_AND_ADD" },
		{ "perf write_bw -D 10", "iterations" },
		{ "perf write_bw -l 7 -n 50", "multiple" },
		{ "perf write_bw -l 256 -n 512", "up to the TX depth" },
		{ "perf write_bw --itres 9", "did you mean '--iters'" },
		{ "perf write_bw --size=x", "allowed: a number" },
		{ "perf write_bw --bidirectional=1", "unknown option" },
		{ "perf write_bw -s=64", "unknown option" },
		{ "perf write_bw -d", "wants a value" },
		{ "perf write_bw -n 5 --nic nothing", "no profile" },
		{ "perf write_bw -n 5 --set mtt.wais=1", "nearest" },
	};
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CU_ASSERT_EQUAL(perf(cases[i][0], NULL, &e), EXIT_BAD_INPUT);
		CU_ASSERT_PTR_NOT_NULL(strstr(e.text, cases[i][1]));
	}
}

/* ---- ping-pongs in traces ---- */

struct posts {
	struct oplog_sink sink;
	uint64_t post_ps[2][32], remote_ps[2][32];
};

static void note(struct oplog_sink *sink, const struct op_row *row)
{
	struct posts *p = (struct posts *)sink;

	p->post_ps[row->host][row->rep] = row->t_ps[OP_POST];
	p->remote_ps[row->host][row->rep] = row->t_ps[OP_REMOTE];
}

/* Posts that came before what they answer had landed; 'lag' is the server's. */
static unsigned early_posts(unsigned lag)
{
	char text[1024];
	struct posts p = { .sink.take = note };
	struct tb_run t = { 0 };
	unsigned early = 0;
	int n = snprintf(text, sizeof(text),
			 "rnicsim-trace 1\nhost h0\nhost h1\n"
			 "mr h0 buf va=0x1000000 len=8KiB access=lw,rw fill=zero\n"
			 "mr h1 buf va=0x2000000 len=8KiB access=lw,rw fill=zero\n"
			 "qp h0 q0 type=RC peer=h1.q0\nqp h1 q0 type=RC peer=h0.q0\n"
			 "post h0.q0 id=1 op=RDMA_WRITE sge=buf:0:8 remote=buf:4096 repeat=32 "
			 "stamp=yes poll=buf:4103 lag=1\n"
			 "post h1.q0 id=1 op=RDMA_WRITE sge=buf:0:8 remote=buf:4096 repeat=32 "
			 "stamp=yes poll=buf:4103 lag=%u\n"
			 "expect h1.q0 id=1 status=SUCCESS\n"
			 "expect mem h1 buf:4096:8 == hex:0000000000000020\n",
			 lag);

	CU_ASSERT_FATAL(tb_run_open(
		&t, &(struct tb_run_how){ .trace = tb_write("pp.trace", text, (size_t)n) }));
	oplog_attach(t.r.system->oplog, &p.sink);
	CU_ASSERT_EQUAL(tb_run_go(&t), 0);
	oplog_flush(t.r.system->oplog);
	for (unsigned k = 0; k < 32; k++) {
		early += p.post_ps[1][k] <= p.remote_ps[0][k];
		early += k && p.post_ps[0][k] <= p.remote_ps[1][k - 1];
	}
	tb_run_close(&t);
	return early;
}

/* The seeded fault: a server that does not wait for the client's write. */
static void posts_wait_for_the_peers_byte(void)
{
	CU_ASSERT_EQUAL(early_posts(0), 0);
	CU_ASSERT(early_posts(1) > 0);
}

/* A run of one WRITE that waits for a byte, and of 'more'; 'told' is what went wrong. */
static int run_watcher(const char *more, char *told, size_t len)
{
	char text[1024];
	struct tb_run t = { 0 };
	int status, n = snprintf(text, sizeof(text),
				 "rnicsim-trace 1\nhost h0\nhost h1\n"
				 "mr h0 buf va=0x1000000 len=8KiB access=lw fill=zero\n"
				 "mr h1 buf va=0x2000000 len=8KiB access=lw,rw fill=zero\n"
				 "qp h0 q0 type=RC peer=h1.q0\nqp h1 q0 type=RC peer=h0.q0\n"
				 "post h0.q0 id=1 op=RDMA_WRITE sge=buf:0:8 remote=buf:0 repeat=2 "
				 "poll=buf:4103\n%s",
				 more);

	CU_ASSERT_FATAL(tb_run_open(
		&t, &(struct tb_run_how){ .trace = tb_write("watch.trace", text, (size_t)n) }));
	status = tb_run_go(&t);
	snprintf(told, len, "%.*s", (int)len - 1, t.err.text);
	tb_run_close(&t);
	return status;
}

static void byte_stored_by_the_own_program_is_seen(void)
{
	char told[512];

	CU_ASSERT_EQUAL(run_watcher("mem h0 buf:4103 set:1:1 at=5us\n"
				    "mem h0 buf:4102 hex:0002 at=9us\n"
				    "expect h0.q0 id=1 status=SUCCESS\n",
				    told, sizeof(told)),
			0);
}

static void byte_that_never_comes_is_named(void)
{
	char told[512];

	CU_ASSERT_EQUAL(run_watcher("mem h0 buf:4103 set:1:1 at=5us\n", told, sizeof(told)),
			EXIT_BAD_INPUT);
	CU_ASSERT_PTR_NOT_NULL(strstr(told, "watch.trace:8: nothing is left to do"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(told, "the byte at 0x1001007 of h0 to become 2: its post 2 of 2 polls it"));
}

/* -U as they came, -H sorted: as many numbered lines as spans between posts, and the same values. */
static void samples_are_printed_as_perftest_does(void)
{
	struct err e;
	char *out, *at;
	double last = 0, us, sum[2] = { 0 };
	unsigned k, n = 0;

	CU_ASSERT_EQUAL(perf("perf write_lat -n 12 -U -H", &out, &e), 0);
	at = out;
	for (unsigned list = 0; list < 2; list++) {
		at = strstr(at, "#, usec\n");
		CU_ASSERT_PTR_NOT_NULL_FATAL(at);
		at = strchr(at, '\n') + 1;
		for (n = 0; sscanf(at, "%u, %lg", &k, &us) == 2; at = strchr(at, '\n') + 1) {
			CU_ASSERT_EQUAL(k, ++n);
			CU_ASSERT(list == 0 || us >= last);
			last = us;
			sum[list] += us;
		}
		CU_ASSERT_EQUAL(n, 11);
		last = 0;
	}
	CU_ASSERT_DOUBLE_EQUAL(sum[0], sum[1], 1e-6);
	free(out);
	CU_ASSERT_EQUAL(perf("perf write_bw -H", NULL, &e), 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "has no meaning"));
}

CU_TestInfo test_perf_tests[] = {
	{ "samples_are_printed_as_perftest_does", samples_are_printed_as_perftest_does },
	{ "perf_output_has_perftests_lines", perf_output_has_perftests_lines },
	{ "perf_all_prints_a_row_a_size", perf_all_prints_a_row_a_size },
	{ "latency_of_recorded_posts_is_perftests", latency_of_recorded_posts_is_perftests },
	{ "peak_is_the_best_span", peak_is_the_best_span },
	{ "latency_grows_with_the_cable", latency_grows_with_the_cable },
	{ "latency_does_not_hang_on_the_cq", latency_does_not_hang_on_the_cq },
	{ "bandwidth_of_large_messages_is_the_lines", bandwidth_of_large_messages_is_the_lines },
	{ "cq_mod_and_post_list_save_completions_and_doorbells",
	  cq_mod_and_post_list_save_completions_and_doorbells },
	{ "perf_out_keeps_a_scenario_that_repeats_the_run",
	  perf_out_keeps_a_scenario_that_repeats_the_run },
	{ "wrong_options_are_refused", wrong_options_are_refused },
	{ "posts_wait_for_the_peers_byte", posts_wait_for_the_peers_byte },
	{ "byte_stored_by_the_own_program_is_seen", byte_stored_by_the_own_program_is_seen },
	{ "byte_that_never_comes_is_named", byte_that_never_comes_is_named },
	CU_TEST_INFO_NULL
};
