/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_explain.c - `rnicsim run --explain` and `--what-if`: they name what limits a run, and change no result
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/run/commands.h"
#include "sim/units.h"
#include "testbench/tb_file.h"

#define MAX_ARGS 24u

/* 48 WRITEs of 64 KiB, all in flight. */
static const char stream[] =
	"rnicsim-trace 1\n"
	"host h0\n"
	"host h1\n"
	"mr h0 src va=0x10000000 len=64KiB access=lw fill=inc page=2MiB\n"
	"mr h1 dst va=0x20000000 len=64KiB access=lw,rw fill=zero page=2MiB\n"
	"qp h0 q0 type=RC peer=h1.q0 mtu=4096\n"
	"qp h1 q0 type=RC peer=h0.q0 mtu=4096\n"
	"post h0.q0 id=1 op=RDMA_WRITE sge=src:0:64KiB remote=dst:0 repeat=48\n";

/* One small READ after the other. */
static const char single[] =
	"rnicsim-trace 1\n"
	"host h0\n"
	"host h1\n"
	"mr h0 src va=0x10000000 len=64KiB access=lw fill=zero\n"
	"mr h1 dst va=0x20000000 len=64KiB access=lw,rr fill=inc\n"
	"qp h0 q0 type=RC peer=h1.q0\n"
	"qp h1 q0 type=RC peer=h0.q0\n"
	"post h0.q0 id=1 op=RDMA_READ sge=src:0:8 remote=dst:0 repeat=20 window=1\n";

/* Small WRITEs, many in flight. */
static const char small[] =
	"rnicsim-trace 1\n"
	"host h0\n"
	"host h1\n"
	"mr h0 src va=0x10000000 len=64KiB access=lw fill=inc\n"
	"mr h1 dst va=0x20000000 len=64KiB access=lw,rw fill=zero\n"
	"qp h0 q0 type=RC peer=h1.q0\n"
	"qp h1 q0 type=RC peer=h0.q0\n"
	"post h0.q0 id=1 op=RDMA_WRITE sge=src:0:64 remote=dst:0 repeat=300 window=64\n";

static const char ini[] = "[scenario]\ntrace = t.trace\n";

/* `rnicsim run` of 'trace' with options 'args' in a process of its own: status, and what it printed. */
struct printed {
	int status;
	char *out, *err;
};

static void child(char *args, const char *out, const char *err)
{
	char name[] = "run", scenario[512], *argv[MAX_ARGS] = { name, scenario }, *save = NULL;
	struct err e = { 0 };
	int argc = 2, status;

	snprintf(scenario, sizeof(scenario), "%s", tb_path("t.ini"));
	for (char *a = strtok_r(args, " ", &save); a; a = strtok_r(NULL, " ", &save))
		argv[argc++] = a;
	if (!freopen(out, "w", stdout) || !freopen(err, "w", stderr))
		_exit(99);
	status = cmd_run(argc, argv, &e);
	if (e.is_set)
		fprintf(stderr, "%s\n", e.text);
	fflush(NULL);
	_exit(status);
}

static struct printed run(const char *trace, const char *args)
{
	char *copy = x_strdup(args), *out = x_strdup(tb_path("out")),
	     *err = x_strdup(tb_path("err"));
	struct printed p;
	int status;
	pid_t pid;

	tb_write("t.trace", trace, strlen(trace));
	tb_write("t.ini", ini, sizeof(ini) - 1);
	fflush(NULL);
	pid = fork();
	CU_ASSERT_FATAL(pid >= 0);
	if (pid == 0)
		child(copy, out, err);
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
	p = (struct printed){ WIFEXITED(status) ? WEXITSTATUS(status) : -1, tb_read(out),
			      tb_read(err) };
	CU_ASSERT_FATAL(p.out && p.err);
	free(copy);
	free(out);
	free(err);
	return p;
}

static void release(struct printed *p)
{
	free(p->out);
	free(p->err);
}

static bool says(const char *trace, const char *args, const char *text)
{
	struct printed p = run(trace, args);
	bool is_there = p.status == 0 && strstr(p.out, text);

	if (!is_there)
		fprintf(stderr, "'%s' not in:\n%s%s\n", text, p.out, p.err);
	release(&p);
	return is_there;
}

static void explain_line_that_is_full_is_the_critical_resource(void)
{
	CU_ASSERT(says(stream, "--explain --set mac.rate=10Gbps",
		       "critical resource: nic0.mac (tx_busy_ps)"));
	CU_ASSERT(says(stream, "--explain --set mac.rate=10Gbps",
		       "nic0.tx_port waits for nic0.mac to take its tx_pkt"));
	CU_ASSERT(says(stream, "--explain --set mac.rate=10Gbps", "nic0.tx_port > nic0.mac\n"));
}

/* The cause moves, and so does the verdict. */
static void explain_slot_that_is_narrow_is_the_critical_resource(void)
{
	struct printed p = run(stream, "--explain --set pcie_link.lanes=4 --set pcie_link.gen=1");

	CU_ASSERT_EQUAL(p.status, 0);
	CU_ASSERT(strstr(p.out, "critical resource: nic0.pcie_link (down_busy_ps)") ||
		  strstr(p.out, "critical resource: nic1.pcie_link (up_busy_ps)"));
	release(&p);
}

/* Nothing is busy: what there is too little of, or what is slow, is named all the same. */
static void explain_pool_that_is_empty_is_the_critical_resource(void)
{
	CU_ASSERT(says(stream, "--explain --set dma_engine.tags=1",
		       "critical resource: tags of nic0.dma_engine (wait_payload_read_tag_ps)"));
	CU_ASSERT(says(stream,
		       "--explain --set dma_engine.cpl_buffer=4KiB --set pcie_link.latency=2us",
		       "critical resource: completion buffer of nic0.dma_engine"));
	CU_ASSERT(says(stream,
		       "--explain --set pcie_link.root_nph=1 --set pcie_link.fc_latency=2us",
		       "critical resource: flow-control credits of nic0.pcie_link"));
}

static void explain_block_that_is_slow_is_the_critical_resource(void)
{
	CU_ASSERT(says(small, "--explain --set nic1.responder.clock=2MHz",
		       "critical resource: nic1.responder (busy_ps)"));
	CU_ASSERT(says(small, "--explain --set nic1.responder.clock=2MHz --set responder.checks=0",
		       "critical resource: nic1.responder, at the end of the chain"));
	CU_ASSERT(
		says(stream,
		     "--explain --set nic0.dma_engine.width=1B --set dma_engine.cpl_buffer=128KiB",
		     "critical resource: nic0.dma_engine, at the end of the chain"));
	CU_ASSERT(says(stream, "--explain --set nic0.mtt.clock=2MHz",
		       "critical resource: address translation of nic0.dma_engine"));
}

static void explain_chain_ends_where_it_is_busy(void)
{
	struct printed p = run(stream, "--explain --set requester.job_cyc=1000");

	CU_ASSERT(strstr(p.out, "resource: nic0.requester (tx_busy_ps)") &&
		  !strstr(p.out, "chain: "));
	release(&p);
}

static void explain_single_requests_wait_for_latency(void)
{
	CU_ASSERT(says(single, "--explain", "no unit is the limit"));
	CU_ASSERT(says(single, "--explain --set host0.host_mem.read_latency=5us",
		       "most in fetch (WQE read from host memory)"));
	CU_ASSERT(says(single, "--explain --set link0.length=2km",
		       "most in remote (peer: executed, READ and ATOMIC: answered)"));
}

/* The number behind 'key' in a summary. */
static unsigned long long number(const char *json, const char *key)
{
	const char *at = strstr(json, key);

	CU_ASSERT_FATAL(at != NULL);
	return strtoull(at + strlen(key) + 2, NULL, 10);
}

static char *summary_of(const char *trace, const char *option)
{
	char args[600], path[512], *text;
	struct printed p;

	snprintf(path, sizeof(path), "%s", tb_path("what"));
	snprintf(args, sizeof(args), "-o %s %s", path, option);
	p = run(trace, args);
	CU_ASSERT_EQUAL(p.status, 0);
	release(&p);
	strcat(path, "/summary.json");
	text = tb_read(path);
	CU_ASSERT_FATAL(text != NULL);
	return text;
}

static int by_number(const void *a, const void *b)
{
	unsigned long long x = *(const unsigned long long *)a, y = *(const unsigned long long *)b;

	return (x > y) - (x < y);
}

/* A column of ops.csv in 'dir', in order; how many. */
static size_t read_column(const char *dir, const char *name, unsigned long long *ps, size_t max)
{
	char path[600], *text, *line, *save = NULL;
	size_t n = 0, column = 0;

	snprintf(path, sizeof(path), "%s/ops.csv", dir);
	text = tb_read(path);
	CU_ASSERT_FATAL(text != NULL);
	line = strtok_r(text, "\n", &save);
	for (const char *c = line; c < strstr(line, name); c++)
		column += *c == ',';
	while (n < max && (line = strtok_r(NULL, "\n", &save))) {
		for (size_t i = 0; i < column; i++)
			line = strchr(line, ',') + 1;
		ps[n++] = strtoull(line, NULL, 10);
	}
	free(text);
	qsort(ps, n, sizeof(*ps), by_number);
	return n;
}

/* ---- causes: each is named in the first line, and is not when it is taken away ---- */

#define PAIR(mr, qp) \
	"rnicsim-trace 1\nhost h0\nhost h1\n" \
	"mr h0 src va=0x10000000 len=" mr "\n" \
	"mr h1 dst va=0x40000000 len=" mr " access=lw,rw,rr,ra\n" \
	"qp h0 q0 type=RC peer=h1.q0 mtu=4096 " qp "\n" \
	"qp h1 q0 type=RC peer=h0.q0 mtu=4096 " qp "\n"
#define HUGE_PAGES "1MiB page=2MiB"
#define WRITES_4K "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:4KiB remote=dst:0 repeat=400 window=64\n"
#define READS_4K "post h0.q0 id=1 op=RDMA_READ sge=src:0:4KiB remote=dst:0 repeat=400 window=64\n"
#define MANY 64u

static const char writes[] = PAIR(HUGE_PAGES, "") WRITES_4K;
static const char long_writes[] = PAIR(
	HUGE_PAGES,
	"") "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:64KiB remote=dst:0 repeat=100 window=32\n";
static const char reads[] = PAIR(HUGE_PAGES, "") READS_4K;
static const char one_read[] = PAIR(HUGE_PAGES, "rd_atomic=1") READS_4K;
static const char capped[] = PAIR(HUGE_PAGES, "rate=5Gbps") WRITES_4K;
#define ADDS(q, at) \
	"post h0." q " op=ATOMIC_FETCH_AND_ADD sge=src:0:8 remote=dst:" at \
	" repeat=99 window=8 add=1\n"
#define TWO_QPS PAIR(HUGE_PAGES, "") "qp h0 q1 type=RC peer=h1.q1\nqp h1 q1 type=RC peer=h0.q1\n"
static const char one_word[] = TWO_QPS ADDS("q0 id=1", "0") ADDS("q1 id=2", "0");
static const char two_words[] = TWO_QPS ADDS("q0 id=1", "0") ADDS("q1 id=2", "64");
/* 64 QPs, small requests, at one address or each on another page; a receive every 20 us, or all at once */
static char many_writes[32768], many_reads[32768], scattered[32768], starved[8192], fed[8192];

static void make_many(char *text, const char *op, const char *page, const char *stride)
{
	int n = sprintf(text,
			"rnicsim-trace 1\nhost h0\nhost h1\n"
			"mr h0 src va=0x10000000 len=1MiB page=%s\n"
			"mr h1 dst va=0x40000000 len=1MiB access=lw,rw,rr page=%s\n",
			page, page);

	for (unsigned i = 0; i < MANY; i++)
		n += sprintf(text + n,
			     "qp h0 q%u type=RC peer=h1.q%u\nqp h1 q%u type=RC peer=h0.q%u\n", i, i,
			     i, i);
	for (unsigned i = 0; i < MANY; i++)
		n += sprintf(text + n,
			     "post h0.q%u id=%u op=%s sge=src:0:64 remote=dst:0 repeat=30 window=4"
			     "%s\n",
			     i, i + 1, op, stride);
}

static void make_sends(char *text, unsigned every_us)
{
	int n = sprintf(text, "%s", PAIR(HUGE_PAGES, "min_rnr=1"));

	for (unsigned i = 1; i <= 60; i++)
		n += sprintf(text + n, "recv h1.q0 id=%u sge=dst:0:4KiB at=%uus\n", i,
			     i * every_us);
	sprintf(text + n, "post h0.q0 id=1 op=SEND sge=src:0:4KiB repeat=60 window=16 at=1us\n");
}

#define FAST_HOST "--set workload.cores=8 --set workload.post_cost=5ns "
static const struct {
	const char *trace, *without, *with; /* settings */
	const char *cause;
	const char *trace_without; /* NULL: the same */
} causes[] = {
	{ long_writes, "", "--set link0.loss=0.02", "link0: frames lost on the wire (lost, ",
	  NULL },
	{ reads, "", "--set link0.loss=0.01", "link0: frames lost on the wire (lost, ", NULL },
	{ long_writes, "", "--set link0.corrupt=0.02", "link0: frames damaged on the wire", NULL },
	{ long_writes, "--set mac.rx_buffer=16KiB",
	  "--set mac.rx_buffer=16KiB --set nic1.pcie_link.lanes=4",
	  "nic1.mac: frames dropped, the receive buffer is full (rx_dropped, ", NULL },
	{ starved, "", "", "nic1.responder: no receive WQE (rnr_naks, ", fed },
	{ writes, "", "--set dma_engine.tags=1", "tags of nic0.dma_engine", NULL },
	{ reads, "", "--set dma_engine.tags=1", "tags of nic1.dma_engine", NULL },
	{ writes, "", "--set pcie_link.root_ph=2 --set pcie_link.fc_latency=1us",
	  "flow-control credits of nic1.pcie_link (up_wait_payload_write_credit_ps)", NULL },
	{ writes, "", "--set pcie_link.root_nph=1 --set pcie_link.fc_latency=2us",
	  "flow-control credits of nic0.pcie_link (up_wait_payload_read_credit_ps)", NULL },
	{ writes, "", "--set requester.window=2", "QPs of nic0.requester wait for the window",
	  NULL },
	{ one_read, "", "", "QPs of nic0.requester wait for max_rd_atomic", reads },
	{ capped, "", "", "QPs of nic0.requester wait for their rate limit", writes },
	{ scattered, FAST_HOST,
	  FAST_HOST "--set nic0.mtt.sets=1 --set nic0.mtt.ways=1 --set nic0.mtt.line=8",
	  "cache misses of nic0.mtt (miss_ps)", NULL },
	{ many_writes, FAST_HOST, FAST_HOST "--set qpc_tx.sets=1 --set qpc_tx.ways=4",
	  "cache misses of nic0.qpc_tx (miss_ps)", NULL },
	{ many_writes, FAST_HOST, FAST_HOST "--set nic1.qpc_rx.sets=1 --set nic1.qpc_rx.ways=4",
	  "cache misses of nic1.qpc_rx (miss_ps)", NULL },
	{ many_reads, FAST_HOST, FAST_HOST "--set requester.wqe_cache=16",
	  "cache misses of nic0.requester (wqe_miss_ps)", NULL },
	{ writes, "", "--set host0.workload.post_cost=2us", "host0.workload (busy_ps)", NULL },
	{ writes, "--set mac.rate=400Gbps", "--set mac.rate=10Gbps", "nic0.mac (tx_busy_ps)",
	  NULL },
	{ writes, "", "--set qp_sched.wqe_per_qp=1", "QPs of nic0.qp_sched wait for wqe_per_qp",
	  NULL },
	{ writes, "", "--set nic0.wqe_fetch.prefetch=1 --set nic0.wqe_fetch.reads=1",
	  "QPs of nic0.qp_sched wait for WQE fetch", NULL },
	{ many_writes, "", "--set nic0.dma_engine.write_req_time=1us",
	  "nic0.dma_engine (write_busy_ps)", NULL },
	{ one_word, "", "", "the lock of a word of nic1.atomic (wait_lock_ps)", two_words },
	{ writes, "", "--set link0.length=20km", "round trip", NULL },
};

/* The first line of --explain names the cause. */
static bool is_named(const char *trace, const char *settings, const char *cause)
{
	char args[256], line[256];
	struct printed p;
	const char *at;
	bool is_there;

	snprintf(args, sizeof(args), "--explain %s", settings);
	snprintf(line, sizeof(line), "critical resource: %s", cause);
	p = run(trace, args);
	at = strstr(p.out, "\n\nwhere the time of a request goes");
	CU_ASSERT(p.status == 0 && at != NULL);
	is_there = at && strstr(p.out, line) && strstr(p.out, line) < at;
	release(&p);
	return is_there;
}

static void explain_names_each_cause_and_only_while_it_is_there(void)
{
	make_many(many_writes, "RDMA_WRITE", "2MiB", "");
	make_many(many_reads, "RDMA_READ", "2MiB", "");
	make_many(scattered, "RDMA_WRITE", "4KiB", " stride=8256 rstride=8256");
	make_sends(starved, 20);
	make_sends(fed, 0);
	for (size_t i = 0; i < ARRAY_LEN(causes); i++) {
		const char *other = causes[i].trace_without;
		bool is_there = is_named(causes[i].trace, causes[i].with, causes[i].cause);
		bool is_wrong = is_named(other ? other : causes[i].trace, causes[i].without,
					 causes[i].cause);

		if (!is_there || is_wrong)
			fprintf(stderr, "'%s', %s: named %d, without it %d\n", causes[i].cause,
				causes[i].with, is_there, is_wrong);
		CU_ASSERT(is_there);
		CU_ASSERT_FALSE(is_wrong);
	}
}

/* What a QP with work waits for adds up to the time that it has work: here always. */
static void explain_waits_of_queue_pairs_add_up(void)
{
	static const char *const names[] = { "turn",  "peer", "window", "credit", "rd_atomic",
					     "order", "rate", "wqe",    "rnr",    "loss" };
	unsigned long long fetch[400] = { 0 }, ack[400] = { 0 }, sum = 0, span;
	char *json = summary_of(reads, "--set link0.loss=0.01"), key[32];
	size_t n = read_column(tb_path("what"), "t_fetch_ps", fetch, ARRAY_LEN(fetch));

	CU_ASSERT_EQUAL_FATAL(n, 400);
	CU_ASSERT_EQUAL_FATAL(read_column(tb_path("what"), "t_ack_ps", ack, n), n);
	span = ack[n - 1] - fetch[0]; /* within a few cycles, from the first WQE to the last end */
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(key, sizeof(key), "\"qp_%s_ps\"", names[i]);
		sum += number(json, key);
	}
	CU_ASSERT(sum + 100000 > span && sum < span + 100000);
	CU_ASSERT(number(json, "\"qp_loss_ps\"") > span / 10);
	free(json);
}

/* Percentiles of the tables and of --what-if are those of ops.csv, at most 1 % above. */
static void percentiles_are_those_of_the_rows_within_one_percent(void)
{
	unsigned long long ps[300] = { 0 }, p50, p99;
	char *json = summary_of(small, ""), line[128];
	size_t n = read_column(tb_path("what"), "latency_ps", ps, ARRAY_LEN(ps));

	CU_ASSERT_EQUAL_FATAL(n, 300);
	p50 = number(json, "\"latency_p50_ps\"");
	p99 = number(json, "\"latency_p99_ps\"");
	CU_ASSERT(p50 >= ps[149] && p50 <= ps[149] + ps[149] / 100);
	CU_ASSERT(p99 >= ps[296] && p99 <= ps[296] + ps[296] / 100);
	snprintf(line, sizeof(line), "+0.0 %% %11.3f    +0.0 %%", (double)p99 / 1e6);
	CU_ASSERT(says(small, "--what-if link0.length=1m", line));
	free(json);
}

/* A line of the table is what a run with --set gives; ten times as much is a factor. */
static void check_what_if(const char *set, const char *list)
{
	const char *cable = set + strlen("--set ");
	char *base = summary_of(single, ""), *longer = summary_of(single, set);
	double a = (double)number(base, "\"latency_mean_ps\"") / 1e6;
	double b = (double)number(longer, "\"latency_mean_ps\"") / 1e6;
	char line[256], change[32];

	snprintf(change, sizeof(change), b < 10 * a ? "%+7.1f %%" : "x %.0f",
		 b < 10 * a ? (b / a - 1) * 100 : b / a);
	snprintf(line, sizeof(line), "\n%-40s %8d %7d %11.3f %9s ", cable, 20, 0, b, change);
	CU_ASSERT(b > a && says(single, list, line));
	snprintf(line, sizeof(line), "\nas it is %40d %7d %11.3f    +0.0 %%", 20, 0, a);
	CU_ASSERT(says(single, list, line));
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
	char *plain = summary_of(stream, "");
	char *looked = summary_of(stream, "--explain --what-if mac.rate=10Gbps");

	CU_ASSERT_STRING_EQUAL(plain, looked);
	free(plain);
	free(looked);
}

static void what_if_that_cannot_be_is_refused_before_the_run(void)
{
	static const struct {
		const char *list, *message;
	} bad[] = {
		{ "mac.rate=0", "--what-if" }, { "mac.rte=1Gbps", "rate" },
		{ "mac.rate", "--what-if" },   { "mac.rate=1Gbps,", "--what-if" },
		{ ",", "--what-if" },          { "mac.rate=1Gbps+", "--what-if" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char args[128];
		struct printed p;

		snprintf(args, sizeof(args), "--what-if %s", bad[i].list);
		p = run(single, args);
		CU_ASSERT_EQUAL(p.status, 2);
		CU_ASSERT_STRING_EQUAL(p.out, "");
		CU_ASSERT(strstr(p.err, bad[i].message) != NULL);
		release(&p);
	}
}

CU_TestInfo test_explain_tests[] = {
	{ "explain_line_that_is_full_is_the_critical_resource",
	  explain_line_that_is_full_is_the_critical_resource },
	{ "explain_slot_that_is_narrow_is_the_critical_resource",
	  explain_slot_that_is_narrow_is_the_critical_resource },
	{ "explain_pool_that_is_empty_is_the_critical_resource",
	  explain_pool_that_is_empty_is_the_critical_resource },
	{ "explain_block_that_is_slow_is_the_critical_resource",
	  explain_block_that_is_slow_is_the_critical_resource },
	{ "explain_chain_ends_where_it_is_busy", explain_chain_ends_where_it_is_busy },
	{ "explain_single_requests_wait_for_latency", explain_single_requests_wait_for_latency },
	{ "explain_names_each_cause_and_only_while_it_is_there",
	  explain_names_each_cause_and_only_while_it_is_there },
	{ "explain_waits_of_queue_pairs_add_up", explain_waits_of_queue_pairs_add_up },
	{ "percentiles_are_those_of_the_rows_within_one_percent",
	  percentiles_are_those_of_the_rows_within_one_percent },
	{ "what_if_line_is_the_run_with_that_setting", what_if_line_is_the_run_with_that_setting },
	{ "what_if_and_explain_change_no_result", what_if_and_explain_change_no_result },
	{ "what_if_that_cannot_be_is_refused_before_the_run",
	  what_if_that_cannot_be_is_refused_before_the_run },
	CU_TEST_INFO_NULL
};
