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
#include "testbench/tb_trace.h"

static void explain_line_that_is_full_is_the_critical_resource(void)
{
	CU_ASSERT(tb_printed_says(tb_trace_stream, "--explain=counts --set mac.rate=10Gbps",
				  "critical resource: nic0.mac (tx_busy_ps)"));
	CU_ASSERT(tb_printed_says(tb_trace_stream, "--explain=counts --set mac.rate=10Gbps",
				  "nic0.tx_port waits for nic0.mac to take its tx_pkt"));
	CU_ASSERT(tb_printed_says(tb_trace_stream, "--explain=counts --set mac.rate=10Gbps",
				  "nic0.tx_port > nic0.mac\n"));
}

/* The cause moves, and so does the verdict. */
static void explain_slot_that_is_narrow_is_the_critical_resource(void)
{
	struct tb_printed p = tb_printed_run(
		tb_trace_stream, "--explain=counts --set pcie_link.lanes=4 --set pcie_link.gen=1");

	CU_ASSERT_EQUAL(p.status, 0);
	CU_ASSERT(strstr(p.out, "critical resource: nic0.pcie_link (down_busy_ps)") ||
		  strstr(p.out, "critical resource: nic1.pcie_link (up_busy_ps)"));
	tb_printed_free(&p);
}

/* Nothing is busy: what there is too little of, or what is slow, is named all the same. */
static void explain_pool_that_is_empty_is_the_critical_resource(void)
{
	CU_ASSERT(tb_printed_says(
		tb_trace_stream, "--explain=counts --set dma_engine.tags=1",
		"critical resource: tags of nic0.dma_engine (wait_payload_read_tag_ps)"));
	CU_ASSERT(tb_printed_says(
		tb_trace_stream,
		"--explain=counts --set dma_engine.cpl_buffer=4KiB --set pcie_link.latency=2us",
		"critical resource: completion buffer of nic0.dma_engine"));
	CU_ASSERT(tb_printed_says(
		tb_trace_stream,
		"--explain=counts --set pcie_link.root_nph=1 --set pcie_link.fc_latency=2us",
		"critical resource: flow-control credits of nic0.pcie_link"));
}

static void explain_block_that_is_slow_is_the_critical_resource(void)
{
	CU_ASSERT(tb_printed_says(tb_trace_small,
				  "--explain=counts --set nic1.responder.clock=2MHz",
				  "critical resource: nic1.responder (busy_ps)"));
	CU_ASSERT(tb_printed_says(
		tb_trace_small,
		"--explain=counts --set nic1.responder.clock=2MHz --set responder.checks=0",
		"critical resource: nic1.responder, at the end of the chain"));
	CU_ASSERT(tb_printed_says(
		tb_trace_stream,
		"--explain=counts --set nic0.dma_engine.width=1B --set dma_engine.cpl_buffer=128KiB",
		"critical resource: nic0.dma_engine, at the end of the chain"));
	CU_ASSERT(tb_printed_says(tb_trace_stream, "--explain --set nic0.mtt.clock=2MHz",
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
		CU_ASSERT(tb_printed_says(tb_trace_pages, args, cases[i].chain));
		p = tb_printed_run(tb_trace_pages, "--explain=counts");
		CU_ASSERT(p.status == 0 && !strstr(p.out, cases[i].chain));
		tb_printed_free(&p);
	}
}

static void explain_chain_ends_where_it_is_busy(void)
{
	struct tb_printed p =
		tb_printed_run(tb_trace_stream, "--explain=counts --set requester.job_cyc=1000");

	CU_ASSERT(strstr(p.out, "resource: nic0.requester (tx_busy_ps)") &&
		  !strstr(p.out, "chain: "));
	tb_printed_free(&p);
}

static void explain_single_requests_wait_for_latency(void)
{
	CU_ASSERT(tb_printed_says(tb_trace_single, "--explain=counts", "no unit is the limit"));
	CU_ASSERT(tb_printed_says(tb_trace_single,
				  "--explain=counts --set host0.host_mem.read_latency=5us",
				  "most in fetch (WQE read from host memory)"));
	CU_ASSERT(tb_printed_says(tb_trace_single,
				  "--explain=counts --set host1.host_mem.read_latency=5us",
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
