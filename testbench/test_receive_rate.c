/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_receive_rate.c - small SENDs of many queues, whose receive WQEs come from host memory in time
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "testbench/tb_file.h"
#include "testbench/tb_run.h"

#define QPS 8u
#define FAST \
	"workload.cores=8", "workload.post_cost=0", "workload.doorbell_cost=0", \
		"workload.poll_cost=0"

/* Time that 'n' SENDs of each queue take, all received. */
static double sends_ps(unsigned n, const char *more)
{
	static char text[16384];
	struct tb_run t;
	double ps;
	int len = sprintf(text, "rnicsim-trace 1\nhost h0\nhost h1\n"
				"mr h0 src va=0x10000000 len=64KiB access=lw fill=inc\n"
				"mr h1 dst va=0x20000000 len=64KiB access=lw fill=zero\n");

	for (unsigned i = 0; i < QPS; i++)
		len += sprintf(
			text + len,
			"qp h0 q%u type=RC peer=h1.q%u\nqp h1 q%u type=RC peer=h0.q%u rq=512\n", i,
			i, i, i);
	for (unsigned i = 0; i < QPS; i++)
		len += sprintf(text + len,
			       "recv h1.q%u id=%u sge=dst:%u:64 repeat=%u\n"
			       "post h0.q%u id=%u op=SEND sge=src:%u:64 repeat=%u window=64\n",
			       i, 100 + i, 64 * i, n, i, i + 1, 64 * i, n);
	tb_run_ok(&t, &(struct tb_run_how){ .trace = tb_write("rate.trace", text, (size_t)len),
					    .sets = (const char *const[]){ FAST, more, NULL },
					    .no_checkers = true });
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic1.responder.messages"), QPS * n);
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic1.responder.rnr_naks"), 0);
	ps = (double)t.r.sim.now_ps;
	tb_run_close(&t);
	return ps;
}

/* The seeded fault: a queue with one receive WQE at a time is slower, the longer the more. */
static void rate_of_sends_does_not_fall_with_their_number(void)
{
	double few = sends_ps(100, NULL), many = sends_ps(400, NULL);

	CU_ASSERT(many < 4.2 * few);
	CU_ASSERT(sends_ps(400, "wqe_fetch.rq_prefetch=1") > 1.5 * many);
}

CU_TestInfo test_receive_rate_tests[] = { { "rate_of_sends_does_not_fall_with_their_number",
					    rate_of_sends_does_not_fall_with_their_number },
					  CU_TEST_INFO_NULL };
