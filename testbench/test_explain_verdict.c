/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_explain_verdict.c - each cause is named in the first line of `--explain`, and is not when it is taken away
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/units.h"
#include "testbench/tb_file.h"
#include "testbench/tb_printed.h"
#include "testbench/tb_trace.h"

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
/* as many at once as the responder takes; fewer; of 64 KiB, which fill the PCIe link of the peer in bursts */
static const char all_reads[] = PAIR(HUGE_PAGES, "rd_atomic=64 dest_rd_atomic=64") READS_4K;
static const char few_reads[] =
	PAIR(HUGE_PAGES,
	     "") "post h0.q0 id=1 op=RDMA_READ sge=src:0:4KiB remote=dst:0 repeat=99 window=4\n";
static const char long_reads[] =
	PAIR(HUGE_PAGES,
	     "") "post h0.q0 id=1 op=RDMA_READ sge=src:0:64KiB remote=dst:0 repeat=99 window=64\n";
static const char one_read[] = PAIR(HUGE_PAGES, "rd_atomic=1") READS_4K;
static const char capped[] = PAIR(HUGE_PAGES, "rate=5Gbps") WRITES_4K;
#define ADDS(q, at) \
	"post h0." q " op=ATOMIC_FETCH_AND_ADD sge=src:0:8 remote=dst:" at \
	" repeat=99 window=8 add=1\n"
#define TWO_QPS PAIR(HUGE_PAGES, "") "qp h0 q1 type=RC peer=h1.q1\nqp h1 q1 type=RC peer=h0.q1\n"
static const char one_word[] = TWO_QPS ADDS("q0 id=1", "0") ADDS("q1 id=2", "0");
static const char two_words[] = TWO_QPS ADDS("q0 id=1", "0") ADDS("q1 id=2", "64");
/* 64 QPs, small requests, at one address or each on another page; a receive every 20 us, every 2 us, or all at once */
static char many_writes[32768], many_reads[32768], scattered[32768];
static char starved[8192], credited[8192], fed[8192];

#define MRS(page) \
	"mr h0 src va=0x10000000 len=1MiB page=" page "\n" \
	"mr h1 dst va=0x40000000 len=1MiB access=lw,rw,rr page=" page "\n"
#define SMALL "64 remote=dst:0 repeat=30 window=4"

static void make_many(char *text, const char *op, const char *mrs, const char *request)
{
	int n = tb_trace_queues(text, mrs, MANY, "");

	tb_trace_posts(text + n, MANY, op, request);
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
	{ few_reads, "", "--set link0.length=20km", "round trip", NULL },
	{ all_reads, "", "--set link0.length=20km", "round trip", NULL },
	{ reads, "--set link0.length=20km", "--set link0.length=20km",
	  "QPs of nic0.requester wait for max_rd_atomic", all_reads },
	{ long_reads, "", "--set link0.length=20km", "QPs of nic0.requester wait for max_rd_atomic",
	  NULL },
	{ reads, "--set link0.length=20km",
	  "--set link0.length=20km --set requester.recovery=sr --set responder.recovery=sr --set "
	  "requester.sr_window=8",
	  "QPs of nic0.requester wait for the window", NULL },
	{ many_writes, "--set workload.cores=8",
	  "--set workload.cores=8 --set qp_sched.wqe_per_qp=1",
	  "QPs of nic0.qp_sched wait for wqe_per_qp", NULL },
	{ credited, "", "", "QPs of nic0.requester wait for end-to-end credits", fed },
};

/* The first line of --explain=counts names the cause; 'us' is the time that the run took. */
static bool is_named(const char *trace, const char *settings, const char *cause, double *us)
{
	static const char span[] = "\nbusiest units (share of ";
	char args[256], line[256];
	struct tb_printed p;
	const char *at, *time;
	bool is_there;

	snprintf(args, sizeof(args), "--explain=counts %s", settings);
	snprintf(line, sizeof(line), "critical resource: %s", cause);
	p = tb_printed_run(trace, args);
	at = strstr(p.out, "\n\nwhere the time of a request goes");
	time = strstr(p.out, span);
	CU_ASSERT(p.status == 0 && at && time);
	is_there = at && strstr(p.out, line) && strstr(p.out, line) < at;
	*us = time ? strtod(time + strlen(span), NULL) : 0;
	tb_printed_free(&p);
	return is_there;
}

/* A cause that is named costs time: without it the run is this much shorter at least. */
#define LEAST_GAIN 1.1

static void explain_names_each_cause_and_only_while_it_is_there(void)
{
	make_many(many_writes, "RDMA_WRITE", MRS("2MiB"), SMALL);
	make_many(many_reads, "RDMA_READ", MRS("2MiB"), SMALL);
	make_many(scattered, "RDMA_WRITE", MRS("4KiB"), SMALL " stride=8256 rstride=8256");
	make_sends(starved, 20);
	make_sends(credited, 2);
	make_sends(fed, 0);
	for (size_t i = 0; i < ARRAY_LEN(causes); i++) {
		const char *other = causes[i].trace_without;
		double with, without;
		bool is_there = is_named(causes[i].trace, causes[i].with, causes[i].cause, &with);
		bool is_wrong = is_named(other ? other : causes[i].trace, causes[i].without,
					 causes[i].cause, &without);
		bool is_right = is_there && !is_wrong && with > LEAST_GAIN * without;

		if (!is_right)
			fprintf(stderr,
				"'%s', %s: named %d, without it %d; %.1f us, without it %.1f\n",
				causes[i].cause, causes[i].with, is_there, is_wrong, with, without);
		CU_ASSERT(is_right);
	}
}

/* What a QP with work waits for adds up to the time that it has work: here always. */
static void explain_waits_of_queue_pairs_add_up(void)
{
	static const char *const names[] = { "turn",  "peer", "window", "credit", "rd_atomic",
					     "order", "rate", "wqe",    "rnr",    "loss" };
	unsigned long long fetch[400] = { 0 }, ack[400] = { 0 }, sum = 0, span;
	char *json = tb_printed_summary(reads, "--set link0.loss=0.01"), key[32];
	size_t n = tb_printed_column(tb_path("summary"), "t_fetch_ps", fetch, ARRAY_LEN(fetch));

	CU_ASSERT_EQUAL_FATAL(n, 400);
	CU_ASSERT_EQUAL_FATAL(tb_printed_column(tb_path("summary"), "t_ack_ps", ack, n), n);
	span = ack[n - 1] - fetch[0]; /* within a few cycles, from the first WQE to the last end */
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(key, sizeof(key), "\"qp_%s_ps\"", names[i]);
		sum += tb_printed_number(json, key);
	}
	CU_ASSERT(sum + 100000 > span && sum < span + 100000);
	CU_ASSERT(tb_printed_number(json, "\"qp_loss_ps\"") > span / 10);
	free(json);
}

CU_TestInfo test_explain_verdict_tests[] = {
	{ "explain_names_each_cause_and_only_while_it_is_there",
	  explain_names_each_cause_and_only_while_it_is_there },
	{ "explain_waits_of_queue_pairs_add_up", explain_waits_of_queue_pairs_add_up },
	CU_TEST_INFO_NULL
};
