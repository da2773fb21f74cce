/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_explain.c - `rnicsim run --explain` names what limits a run, by units, waits, chains and latency
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/units.h"
#include "testbench/tb_file.h"
#include "testbench/tb_printed.h"

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

/* WRITEs of 4 KiB, many in flight. */
static const char pages[] =
	"rnicsim-trace 1\n"
	"host h0\n"
	"host h1\n"
	"mr h0 src va=0x10000000 len=64KiB access=lw fill=inc page=2MiB\n"
	"mr h1 dst va=0x20000000 len=64KiB access=lw,rw fill=zero page=2MiB\n"
	"qp h0 q0 type=RC peer=h1.q0 mtu=4096\n"
	"qp h1 q0 type=RC peer=h0.q0 mtu=4096\n"
	"post h0.q0 id=1 op=RDMA_WRITE sge=src:0:4KiB remote=dst:0 repeat=300 window=64\n";

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

static void explain_line_that_is_full_is_the_critical_resource(void)
{
	CU_ASSERT(tb_printed_says(stream, "--explain=counts --set mac.rate=10Gbps",
				  "critical resource: nic0.mac (tx_busy_ps)"));
	CU_ASSERT(tb_printed_says(stream, "--explain=counts --set mac.rate=10Gbps",
				  "nic0.tx_port waits for nic0.mac to take its tx_pkt"));
	CU_ASSERT(tb_printed_says(stream, "--explain=counts --set mac.rate=10Gbps",
				  "nic0.tx_port > nic0.mac\n"));
}

/* The cause moves, and so does the verdict. */
static void explain_slot_that_is_narrow_is_the_critical_resource(void)
{
	struct tb_printed p = tb_printed_run(
		stream, "--explain=counts --set pcie_link.lanes=4 --set pcie_link.gen=1");

	CU_ASSERT_EQUAL(p.status, 0);
	CU_ASSERT(strstr(p.out, "critical resource: nic0.pcie_link (down_busy_ps)") ||
		  strstr(p.out, "critical resource: nic1.pcie_link (up_busy_ps)"));
	tb_printed_free(&p);
}

/* Nothing is busy: what there is too little of, or what is slow, is named all the same. */
static void explain_pool_that_is_empty_is_the_critical_resource(void)
{
	CU_ASSERT(tb_printed_says(
		stream, "--explain=counts --set dma_engine.tags=1",
		"critical resource: tags of nic0.dma_engine (wait_payload_read_tag_ps)"));
	CU_ASSERT(tb_printed_says(
		stream,
		"--explain=counts --set dma_engine.cpl_buffer=4KiB --set pcie_link.latency=2us",
		"critical resource: completion buffer of nic0.dma_engine"));
	CU_ASSERT(tb_printed_says(
		stream,
		"--explain=counts --set pcie_link.root_nph=1 --set pcie_link.fc_latency=2us",
		"critical resource: flow-control credits of nic0.pcie_link"));
}

static void explain_block_that_is_slow_is_the_critical_resource(void)
{
	CU_ASSERT(tb_printed_says(small, "--explain=counts --set nic1.responder.clock=2MHz",
				  "critical resource: nic1.responder (busy_ps)"));
	CU_ASSERT(tb_printed_says(
		small, "--explain=counts --set nic1.responder.clock=2MHz --set responder.checks=0",
		"critical resource: nic1.responder, at the end of the chain"));
	CU_ASSERT(tb_printed_says(
		stream,
		"--explain=counts --set nic0.dma_engine.width=1B --set dma_engine.cpl_buffer=128KiB",
		"critical resource: nic0.dma_engine, at the end of the chain"));
	CU_ASSERT(tb_printed_says(stream, "--explain --set nic0.mtt.clock=2MHz",
				  "critical resource: nic0.mtt.clock"));
}

/* The chain goes on from a block that waits for an answer, to what is busy or used up; no cause, no chain to there. */
static void explain_chain_ends_at_what_holds_it_up(void)
{
	static const struct {
		const char *cause, *chain;
	} cases[] = {
		{ "dma_engine.tags=1", "> nic0.pktizer > nic0.dma_engine (waits for tags)\n" },
		{ "nic0.mtt.clock=2MHz", "> nic0.pktizer > nic0.dma_engine > nic0.mtt\n" },
		{ "pcie_link.root_ph=1 --set pcie_link.fc_latency=1us",
		  "> nic1.pcie_link (waits for flow-control credits)\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char args[128];
		struct tb_printed p;

		snprintf(args, sizeof(args), "--explain=counts --set %s", cases[i].cause);
		CU_ASSERT(tb_printed_says(pages, args, cases[i].chain));
		p = tb_printed_run(pages, "--explain=counts");
		CU_ASSERT(p.status == 0 && !strstr(p.out, cases[i].chain));
		tb_printed_free(&p);
	}
}

static void explain_chain_ends_where_it_is_busy(void)
{
	struct tb_printed p =
		tb_printed_run(stream, "--explain=counts --set requester.job_cyc=1000");

	CU_ASSERT(strstr(p.out, "resource: nic0.requester (tx_busy_ps)") &&
		  !strstr(p.out, "chain: "));
	tb_printed_free(&p);
}

static void explain_single_requests_wait_for_latency(void)
{
	CU_ASSERT(tb_printed_says(single, "--explain=counts", "no unit is the limit"));
	CU_ASSERT(tb_printed_says(single, "--explain=counts --set host0.host_mem.read_latency=5us",
				  "most in fetch (WQE read from host memory)"));
	CU_ASSERT(tb_printed_says(single, "--explain=counts --set host1.host_mem.read_latency=5us",
				  "most in remote (peer: executed, READ and ATOMIC: answered)"));
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
	{ "explain_chain_ends_at_what_holds_it_up", explain_chain_ends_at_what_holds_it_up },
	{ "explain_chain_ends_where_it_is_busy", explain_chain_ends_where_it_is_busy },
	{ "explain_single_requests_wait_for_latency", explain_single_requests_wait_for_latency },
	CU_TEST_INFO_NULL
};
