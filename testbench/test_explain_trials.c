/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_explain_trials.c - whatever there is too little of, the trials of `--explain` name that
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/units.h"
#include "testbench/tb_file.h"
#include "testbench/tb_printed.h"
#include "testbench/tb_trace.h"

/* 8 QPs with requests of 'len' each. */
#define QPS 8u
static char smalls[4096], pages[4096], reads[4096], adds[4096], sends[4096], scattered[4096];

#define MRS(page) \
	"mr h0 src va=0x10000000 len=1MiB page=" page "\n" \
	"mr h1 dst va=0x40000000 len=1MiB access=lw,rw,rr,ra page=" page "\n"
static const char huge_pages[] = MRS("2MiB"), small_pages[] = MRS("4KiB");

static void make(char *text, const char *op, const char *mrs, const char *request)
{
	int n = tb_trace_queues(text, mrs, QPS, "mtu=4096");

	for (unsigned i = 0; strcmp(op, "SEND") == 0 && i < QPS; i++)
		n += sprintf(text + n, "recv h1.q%u id=%u sge=dst:0:64 repeat=40\n", i, i + 1);
	tb_trace_posts(text + n, QPS, op, request);
}

static void make_all(void)
{
	make(smalls, "RDMA_WRITE", huge_pages, "8 remote=dst:0 flags=inline repeat=40 window=16");
	make(pages, "RDMA_WRITE", huge_pages, "4KiB remote=dst:0 repeat=20 window=16");
	make(reads, "RDMA_READ", huge_pages, "4KiB remote=dst:0 repeat=20 window=16");
	make(adds, "ATOMIC_FETCH_AND_ADD", huge_pages,
	     "8 remote=dst:0 stride=64 rstride=64 add=1 repeat=20 window=16");
	make(sends, "SEND", huge_pages, "64 repeat=40 window=16");
	make(scattered, "RDMA_WRITE", small_pages,
	     "64 remote=dst:0 stride=8256 rstride=8256 repeat=40 window=16");
}

/* Enough of these. */
#define FAST \
	"--set workload.cores=8 --set workload.post_cost=5ns --set atomic.parallel=16 " \
	"--set wqe_fetch.rq_prefetch=16 "

/* With 'scarce' the verdict is 'name', and without it is not. */
static const struct {
	const char *trace, *scarce, *name;
} rows[] = {
	{ smalls, "nic1.responder.contexts=1", "nic1.responder.contexts" },
	{ smalls, "nic1.responder.pkt_cyc=64", "nic1.responder.pkt_cyc" },
	{ smalls, "nic1.rx_parser.depth=1", "nic1.rx_parser.depth" },
	{ smalls, "nic1.qpc_rx.sets=1+nic1.qpc_rx.ways=1", "nic1.qpc_rx." },
	{ smalls, "nic0.qpc_tx.sets=1+nic0.qpc_tx.ways=1", "nic0.qpc_tx." },
	{ smalls, "nic0.pktizer.hdr_cyc=64", "nic0.pktizer.hdr_cyc" },
	{ smalls, "nic0.requester.job_cyc=64", "nic0.requester.job_cyc" },
	{ smalls, "host0.workload.post_cost=2us", "host0.workload.post_cost" },
	{ smalls, "host0.host_mem.mmio_buffers=1", "host0.host_mem.mmio_" },
	{ smalls, "nic0.pcie_link.dev_ph=1", "nic0.pcie_link.dev_ph" },
	{ smalls, "workload.post=doorbell+nic0.wqe_fetch.reads=1+nic0.wqe_fetch.prefetch=1",
	  "nic0.wqe_fetch." },
	{ smalls, "workload.post=doorbell+nic0.wqe_fetch.width=16+nic0.wqe_fetch.clock=10MHz",
	  "nic0.wqe_fetch." },
	{ pages, "nic0.dma_engine.tags=1", "nic0.dma_engine." },
	{ pages, "nic0.dma_engine.per_client=1", "nic0.dma_engine.per_client" },
	{ pages, "nic0.dma_engine.width=2", "nic0.dma_engine.width" },
	{ pages, "nic1.dma_engine.width=2", "nic1.dma_engine.width" },
	{ pages, "nic0.pktizer.inflight=1", "nic0.pktizer.inflight" },
	{ pages, "host0.host_mem.queue=1", "host0.host_mem.queue" },
	{ pages, "nic0.mac.rate=10Gbps", "nic0.mac.rate (line rate after line coding): 40Gbps" },
	{ pages, "nic0.pcie_link.lanes=1", "nic0.pcie_link.lanes" },
	{ pages, "nic1.pcie_link.lanes=1", "nic1.pcie_link.lanes" },
	{ reads, "nic1.pktizer.inflight=1", "nic1.pktizer.inflight" },
	{ reads, "nic1.responder.read_cyc=300", "nic1.responder.read_cyc" },
	{ reads, "nic0.requester.rsp_cyc=200", "nic0.requester.rsp_cyc" },
	{ adds, "nic1.atomic.parallel=1", "nic1.atomic.parallel" },
	{ adds, "nic1.atomic.interval=500", "nic1.atomic.interval" },
	{ sends, "nic1.wqe_fetch.rq_prefetch=1", "nic1.wqe_fetch.rq_prefetch" },
	{ sends, "nic1.wqe_fetch.clock=5MHz", "nic1.wqe_fetch.clock" },
	{ scattered, "mtt.issue_cyc=64+nic0.mtt.issue_cyc=1", "nic1.mtt.issue_cyc" },
	{ scattered, "mtt.issue_cyc=64+nic1.mtt.issue_cyc=1", "nic0.mtt.issue_cyc" },
	{ scattered, "nic1.mtt.max_misses=1+nic1.mtt.window=8+nic1.mtt.line=8", "nic1.mtt." },
};

/* What is printed for 'trace' with "a=b+c=d" set; 'how' is the option, *us the time that the run took. */
static struct tb_printed explain(const char *trace, const char *how, const char *set, double *us)
{
	static const char span[] = "\nbusiest units (share of ";
	char args[512], copy[256], *save = NULL;
	int n = snprintf(args, sizeof(args), "%s " FAST, how);
	struct tb_printed p;
	const char *time;

	snprintf(copy, sizeof(copy), "%s", set);
	for (char *s = strtok_r(copy, "+", &save); s; s = strtok_r(NULL, "+", &save))
		n += snprintf(args + n, sizeof(args) - (size_t)n, "--set %s ", s);
	p = tb_printed_run(trace, args);
	time = strstr(p.out, span);
	CU_ASSERT(p.status == 0 && time);
	*us = time ? strtod(time + strlen(span), NULL) : 0;
	return p;
}

/* Named, or one of some that gain as much. */
static bool is_verdict(const struct tb_printed *p, const char *name)
{
	static const char intro[] = "critical resource: ";
	const char *at = strstr(p->out, intro);
	char other[128];

	snprintf(other, sizeof(other), "  or as well: %s", name);
	return at &&
	       (strncmp(at + strlen(intro), name, strlen(name)) == 0 || strstr(p->out, other));
}

/* Short: it costs this much time. */
#define LEAST_COST 1.1

static void trials_name_whatever_there_is_too_little_of(void)
{
	const char *trace = NULL;
	struct tb_printed plain = { 0 };
	double without = 0;

	make_all();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double with;
		struct tb_printed p;
		bool is_right;

		if (rows[i].trace != trace) {
			tb_printed_free(&plain);
			trace = rows[i].trace;
			plain = explain(trace, "--explain", "", &without);
		}
		p = explain(trace, "--explain", rows[i].scarce, &with);
		is_right = is_verdict(&p, rows[i].name) && !is_verdict(&plain, rows[i].name) &&
			   with > LEAST_COST * without;
		if (!is_right)
			fprintf(stderr, "%s: %.1f us, without it %.1f\n%.1500s%.700s\n",
				rows[i].scarce, with, without,
				strstr(p.out, "critical") ? strstr(p.out, "critical") : "none",
				strstr(plain.out, "critical") ? strstr(plain.out, "critical")
							      : "none");
		CU_ASSERT(is_right);
		tb_printed_free(&p);
	}
	tb_printed_free(&plain);
}

/* As rows[], whose trials run to their end, with so many requests a QP: a little more than a trial runs, and far more. */
static const struct {
	const char *op, *request, *scarce, *name;
	unsigned repeats[2];
} lengths[] = {
	{ "RDMA_WRITE",
	  "8 remote=dst:0 flags=inline window=16",
	  "nic1.responder.pkt_cyc=64",
	  "nic1.responder.pkt_cyc",
	  { 620, 1500 } },
	{ "RDMA_WRITE",
	  "4KiB remote=dst:0 window=16",
	  "nic0.dma_engine.tags=1",
	  "nic0.dma_engine.tags",
	  { 430, 1000 } },
	{ "RDMA_READ",
	  "4KiB remote=dst:0 window=16",
	  "nic0.requester.rsp_cyc=200",
	  "nic0.requester.rsp_cyc",
	  { 340, 800 } },
};

/* However long a trace is, a trial is not too fast for it: its gain is not bounded by where the trace ends. */
static void trials_name_the_same_however_long_the_trace_is(void)
{
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++)
		for (size_t k = 0; k < ARRAY_LEN(lengths[i].repeats); k++) {
			char request[128], text[4096];
			struct tb_printed p;
			double us;

			snprintf(request, sizeof(request), "%s repeat=%u", lengths[i].request,
				 lengths[i].repeats[k]);
			make(text, lengths[i].op, huge_pages, request);
			p = explain(text, "--explain", lengths[i].scarce, &us);
			CU_ASSERT(strstr(p.out, "in the first part of the run") != NULL);
			CU_ASSERT(is_verdict(&p, lengths[i].name));
			tb_printed_free(&p);
		}
}

/* More than anything that one block has gains the clock of all. */
static void trials_name_the_clock_of_a_nic_that_is_slow(void)
{
	double us;
	struct tb_printed p;

	make_all();
	p = explain(smalls, "--explain", "nic.clock=25MHz", &us);
	CU_ASSERT(is_verdict(&p, "nic.clock (clock of the NIC's blocks): 100MHz instead of 25MHz"));
	tb_printed_free(&p);
	p = explain(smalls, "--explain", "nic1.clock=25MHz", &us);
	CU_ASSERT(is_verdict(&p, "nic1.clock"));
	tb_printed_free(&p);
}

CU_TestInfo test_explain_trials_tests[] = { { "trials_name_whatever_there_is_too_little_of",
					      trials_name_whatever_there_is_too_little_of },
					    { "trials_name_the_same_however_long_the_trace_is",
					      trials_name_the_same_however_long_the_trace_is },
					    { "trials_name_the_clock_of_a_nic_that_is_slow",
					      trials_name_the_clock_of_a_nic_that_is_slow },
					    CU_TEST_INFO_NULL };
