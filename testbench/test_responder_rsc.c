/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_responder_rsc.c - responder resources behind a cache: READs and ATOMICs wait for theirs, and
 * nothing else does
 */
#include <string.h>

#include "testbench/tb_responder.h"
#include "testbench/tb_run.h"

extern CU_TestInfo test_responder_rsc_tests[];

static struct tb_responder s;

static void start(const char *set)
{
	tbs_init(&s);
	tbs_start(&s, (const char *const[]){ "responder.credits=off", set, NULL });
}

static void send(uint8_t operation, uint32_t psn, uint32_t off, uint32_t len)
{
	bool is_write = operation == IB_WRITE_ONLY;

	tbs_send(&s, &(struct tbs_pkt){ .operation = operation,
					.psn = psn,
					.len = is_write ? len : 0,
					.ack_req = true,
					.va = TBS_BASE + off,
					.rkey = TBS_RKEY,
					.dma_len = len,
					.swap_add = 1 });
}

static void responses_wait_for_their_resources_in_order(void)
{
	uint64_t first[2];

	for (unsigned on = 0; on < 2; on++) {
		start(on ? "responder.rsc_cache=on" : NULL);
		send(IB_READ_REQUEST, 200, 0, 8);
		send(IB_READ_REQUEST, 201, 64, 8);
		send(IB_FETCH_ADD, 202, 128, 8);
		tbs_settle(&s);
		CU_ASSERT_EQUAL_FATAL(s.job->n_received, 3);
		for (uint32_t i = 0; i < 3; i++)
			CU_ASSERT_EQUAL(tbs_job(&s, i)->psn, 200 + i);
		CU_ASSERT_EQUAL(s.n_lookups, on ? 3 : 0);
		first[on] = s.job->cycle[0];
		send(IB_READ_REQUEST, 200, 0, 8); /* again */
		tbs_settle(&s);
		CU_ASSERT_EQUAL(s.job->n_received, 4);
		CU_ASSERT_EQUAL(s.n_lookups, on ? 4 : 0);
		tbs_end(&s);
	}
	CU_ASSERT(first[1] >= first[0] + 40);
}

static void writes_need_no_resources(void)
{
	start("responder.rsc_cache=on");
	send(IB_WRITE_ONLY, 200, 0, 8);
	send(IB_WRITE_ONLY, 201, 8, 8);
	tbs_settle(&s);
	CU_ASSERT_EQUAL(s.n_lookups, 0);
	CU_ASSERT(s.n_acks > 0);
	tbs_end(&s);
}

/* A whole NIC with room for one QP's resources answers the same, with reads of the context. */
static void small_cache_changes_times_only(void)
{
	static const char *const off[] = { "nic.profile=generic-100g", NULL };
	static const char *const on[] = { "responder.rsc_cache=on", "rsc.sets=1", "rsc.ways=1",
					  NULL };
	struct tb_run t = { 0 };
	uint64_t reads, misses;

	tb_run_ok(&t, &(struct tb_run_how){ .trace = "traces/demo.trace", .sets = off });
	reads = tb_run_stat(&t, "nic1.responder.reads") + tb_run_stat(&t, "nic1.responder.atomics");
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic1.rsc.requests"), 0);
	tb_run_close(&t);
	tb_run_ok(&t, &(struct tb_run_how){ .trace = "traces/demo.trace", .sets = on });
	misses = tb_run_stat(&t, "nic1.rsc.misses");
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic1.responder.reads") +
				tb_run_stat(&t, "nic1.responder.atomics"),
			reads);
	CU_ASSERT(tb_run_stat(&t, "nic1.rsc.requests") >= reads);
	CU_ASSERT(misses > 0);
	tb_run_close(&t);
}

CU_TestInfo test_responder_rsc_tests[] = { { "responses_wait_for_their_resources_in_order",
					     responses_wait_for_their_resources_in_order },
					   { "writes_need_no_resources", writes_need_no_resources },
					   { "small_cache_changes_times_only",
					     small_cache_changes_times_only },
					   CU_TEST_INFO_NULL };
