/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_qp_reset.c - QPs that are reset and brought up again, in whole runs: whatever was under way,
 * the next life is as if there had been none before, and no buffer is lost
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbench/tb_file.h"
#include "testbench/tb_run.h"

#define put(...) tb_put(&text, __VA_ARGS__)

static struct tb_text text;

/* Two QPs of a type; 'more' are further keys of both, 'shared' gives that of h1 an SRQ. */
static void begin(const char *type, const char *more, bool is_shared)
{
	bool has_peer = strcmp(type, "UD") != 0;

	text.n = 0;
	put("rnicsim-trace 1\nhost h0\nhost h1\n"
	    "mr h0 src va=0x10000000 len=1MiB access=lw,rw,rr,ra fill=inc\n"
	    "mr h0 back va=0x30000000 len=64KiB access=lw fill=zero\n"
	    "mr h1 dst va=0x20000000 len=1MiB access=lw,rw,rr,ra fill=zero\n%s"
	    "qp h0 q type=%s mtu=1024 psn=0xfffff0 timeout=8 retry=7 min_rnr=1 %s %s\n"
	    "qp h1 q type=%s mtu=1024 psn=100 timeout=8 retry=7 min_rnr=1 %s %s %s\n",
	    is_shared ? "srq h1 s depth=64\n" : "", type, has_peer ? "peer=h1.q" : "", more, type,
	    has_peer ? "peer=h0.q" : "", more, is_shared ? "srq=s" : "");
}

/*
 * Traffic of one life: receives and SENDs, and for a service that has them WRITEs, READs and ATOMICs;
 * 'at' is when it starts, ids count from 'id' on. Bytes go to 'to' in h1's memory.
 */
static void traffic(const char *type, bool is_shared, unsigned id, const char *at, unsigned to)
{
	const char *dest = strcmp(type, "UD") == 0 ? "dest=h1.q" : "";
	const char *how = strcmp(type, "UD") == 0 ? "sge=src:40:984" : "sge=src:40:3000";

	for (unsigned i = 0; i < 4; i++)
		put("recv h1.%s id=%u sge=dst:%u:4096 at=%s\n", is_shared ? "s" : "q", id + i,
		    to + 4096 * i, at);
	for (unsigned i = 0; i < 4; i++)
		put("post h0.q id=%u op=SEND %s %s at=%s delay=1us\n", id + i, how, dest, at);
	if (*dest)
		return;
	put("post h0.q id=%u op=RDMA_WRITE sge=src:0:20000 remote=dst:%u\n", id + 4, to + 65536);
	if (strcmp(type, "RC") != 0)
		return;
	put("post h0.q id=%u op=RDMA_READ sge=back:0:20000 remote=dst:%u\n"
	    "post h0.q id=%u op=ATOMIC_FETCH_AND_ADD sge=src:524288:8 remote=dst:%u add=1\n"
	    "post h1.q id=%u op=RDMA_WRITE sge=dst:0:9000 remote=src:786432 at=%s\n",
	    id + 5, to + 65536, id + 6, to + 262144, id + 7, at);
}

static void expects(const char *type, const char *to_recv, unsigned id, unsigned to)
{
	bool is_ud = strcmp(type, "UD") == 0;

	for (unsigned i = 0; i < 4; i++)
		put("expect h0.q id=%u status=SUCCESS\nexpect h1.%s id=%u status=SUCCESS\n"
		    "expect mem h1 dst:%u:%u == h0 src:40:%u\n",
		    id + i, to_recv, id + i, to + 4096 * i + (is_ud ? 40 : 0), is_ud ? 984 : 3000,
		    is_ud ? 984 : 3000);
	if (is_ud)
		return;
	put("expect h0.q id=%u status=SUCCESS\nexpect mem h1 dst:%u:20000 == h0 src:0:20000\n",
	    id + 4, to + 65536);
	if (strcmp(type, "RC") == 0)
		put("expect h0.q id=%u status=SUCCESS\nexpect h0.q id=%u status=SUCCESS\n"
		    "expect h1.q id=%u status=SUCCESS\n"
		    "expect mem h0 back:0:20000 == h0 src:0:20000\n",
		    id + 5, id + 6, id + 7);
}

/* The way from RESET to RTS of both, with PSNs 'psn' and 'psn' + 77 as the first sent. */
static void bring_up(unsigned psn)
{
	put("modify h0.q state=INIT\nmodify h0.q state=RTR rq_psn=%u\n"
	    "modify h0.q state=RTS sq_psn=%u\n"
	    "modify h1.q state=INIT\nmodify h1.q state=RTR rq_psn=%u\n"
	    "modify h1.q state=RTS sq_psn=%u\n",
	    (psn + 77) & 0xffffff, psn, psn, (psn + 77) & 0xffffff);
}

/* Buffers are kept by the queues of receives only: a line and a doorbell record each. */
static void check_pools(const struct tb_run *t)
{
	const struct block *owner = NULL;

	for (uint32_t i = 0, n = 0; i < t->r.sim.n_pools; i++) {
		const struct pool *p = t->r.sim.pools[i];
		uint32_t may_keep = 0;

		n = p->owner == owner ? n + 1 : 0;
		owner = p->owner;
		if (strcmp(owner->cls->name, "wqe_fetch") == 0 && (n == 2 || n == 3))
			may_keep = 2; /* h1.q, h1.s */
		if (p->in_use > may_keep)
			CU_FAIL("a buffer was lost");
	}
}

static void go(const char *const *sets, enum step_order order, bool every_cycle, char **summary)
{
	struct tb_run t;

	tb_run_ok(&t, &(struct tb_run_how){ .trace = tb_write("reset.trace", text.at, text.n),
					    .sets = sets,
					    .order = order,
					    .every_cycle = every_cycle });
	CU_ASSERT(t.expects.n_expects > 0);
	check_pools(&t);
	if (summary)
		*summary = tb_run_summary(&t);
	tb_run_close(&t);
}

/* The same result whatever the order of steps, and without sleeping. */
static void go_in_any_order(const char *const *sets)
{
	char *want, *got;

	go(sets, ORDER_FORWARD, false, &want);
	for (unsigned k = 1; k < 4; k++) {
		go(sets, (enum step_order)(k % 3), k == 3, &got);
		CU_ASSERT_STRING_EQUAL(got, want);
		free(got);
	}
	free(want);
}

/* Both ends are reset at a moment of their first life, wherever that finds it. */
static void reset_at(const char *type, const char *more, bool is_shared, const char *const *sets,
		     unsigned ns, unsigned step)
{
	begin(type, more, is_shared);
	traffic(type, is_shared, 1, "0", 0);
	put("modify h0.q state=RESET at=%uns\nmodify h1.q state=RESET at=%uns\n", ns,
	    ns + step % 3 * 700);
	bring_up(0x1000 + step);
	traffic(type, is_shared, 20, "200us", 524288);
	expects(type, is_shared ? "s" : "q", 20, 524288);
	if (step % 16 == 5)
		go_in_any_order(sets);
	else
		go(sets, ORDER_FORWARD, false, NULL);
}

/* 'ns': from one moment to the next. */
static void sweep(const char *type, const char *more, bool is_shared, const char *const *sets,
		  unsigned ns)
{
	for (unsigned step = 0; step < 40; step++)
		reset_at(type, more, is_shared, sets, 1000 + ns * step, step);
}

static void rc_reset_at_any_moment_lives_again(void)
{
	sweep("RC", "", false, NULL, 370);
}

static void uc_reset_at_any_moment_lives_again(void)
{
	sweep("UC", "", false, NULL, 370);
}

static void ud_reset_at_any_moment_lives_again(void)
{
	sweep("UD", "", false, NULL, 370);
}

static void rc_with_small_caches_and_blueflame_lives_again(void)
{
	sweep("RC", "rate=20Gbps", false,
	      (const char *[]){ "workload.post=blueflame", "requester.wqe_cache=3",
				"responder.rsc_cache=true", "responder.ack_delay=2us",
				"responder.nak_delay=1us", "requester.react_delay=3us",
				"cqe_writer.compress=true", NULL },
	      370);
}

/* The program loses no time between two lives, and memory is far away. */
static void rc_brought_up_at_once_lives_again(void)
{
	static const char *const far[] = { "workload.cmd_cost=1ns",
					   "host_mem.read_latency=3us",
					   "responder.nak_delay=2us",
					   "responder.ack_delay=2us",
					   "requester.react_delay=3us",
					   "wire.loss=0.03",
					   NULL };

	sweep("RC", "", false, far, 2300);
}

/*
 * With an SRQ, receives go on to the next life; one that a message had taken is lost, so there are
 * more of them than the two lives need.
 */
static void rc_of_an_srq_lives_again(void)
{
	for (unsigned step = 0; step < 30; step++) {
		begin("RC", "", true);
		traffic("RC", true, 1, "0", 0);
		put("modify h0.q state=RESET at=%uns\nmodify h1.q state=RESET at=%uns\n",
		    1000 + 400 * step, 1500 + 400 * step);
		bring_up(0x1000);
		traffic("RC", true, 20, "200us", 524288);
		for (unsigned id = 20; id < 28; id++)
			put("expect h0.q id=%u status=SUCCESS\n", id == 27 ? 20 : id);
		put("expect mem h1 dst:589824:20000 == h0 src:0:20000\n");
		go(NULL, ORDER_FORWARD, false, NULL);
	}
}

static void rc_reset_under_loss_lives_again(void)
{
	static const char *const gbn[] = { "wire.loss=0.08", NULL };
	static const char *const sr[] = { "wire.loss=0.08", "requester.recovery=sr",
					  "responder.recovery=sr", NULL };

	for (unsigned step = 0; step < 24; step++)
		reset_at("RC", "", false, step % 2 ? sr : gbn, 3000 + 900 * step, step);
}

static void idle_qp_reset_again_and_again_lives_again(void)
{
	begin("RC", "", false);
	for (unsigned i = 0; i < 3; i++) {
		put("modify h0.q state=RESET at=%uus\nmodify h0.q state=RESET\n"
		    "modify h1.q state=RESET at=%uus\n",
		    100 * i, 100 * i);
		bring_up(0xfffff0 + i);
		traffic("RC", false, 1 + 20 * i, i ? i > 1 ? "250us" : "150us" : "50us",
			131072 * i);
	}
	for (unsigned i = 0; i < 3; i++)
		for (unsigned id = 1; id < 8; id++)
			put("expect h0.q id=%u status=SUCCESS\n", id + 20 * i);
	put("expect mem h1 dst:65536:20000 == h0 src:0:20000\n"
	    "expect mem h1 dst:131072:3000 == h0 src:40:3000\n"
	    "expect stat host0.workload.error_cqes == 0\n");
	go_in_any_order(NULL);
}

/* From Error, with what was flushed still in the CQ and more to be flushed. */
static void qp_in_error_is_reset_while_it_flushes(void)
{
	for (unsigned step = 0; step < 12; step++) {
		begin("RC", "", false);
		traffic("RC", false, 1, "0", 0);
		put("modify h0.q state=ERR at=3us\nmodify h0.q state=RESET at=%uns\n"
		    "modify h1.q state=ERR at=3us\nmodify h1.q state=RESET at=%uns\n",
		    3000 + 150 * step, 3100 + 150 * step);
		bring_up(0x2000);
		traffic("RC", false, 20, "200us", 524288);
		expects("RC", "q", 20, 524288);
		go(NULL, ORDER_FORWARD, false, NULL);
	}
}

/* Packets of the former life that come late are not those of this one: their PSNs tell. */
static void packets_of_a_former_life_change_nothing(void)
{
	begin("RC", "", false);
	put("wire h0 h1 delay=200us nth=3,4\nwire h1 h0 delay=200us nth=1\n");
	traffic("RC", false, 1, "0", 0);
	put("modify h0.q state=RESET at=12us\nmodify h1.q state=RESET at=12us\n");
	bring_up(0x200);
	traffic("RC", false, 20, "190us", 524288);
	expects("RC", "q", 20, 524288);
	put("mem h0 src:1048000 set:0:1 at=300us\n"); /* until all of them have come */
	put("expect stat nic1.responder.duplicates > 0\nexpect stat nic0.requester.ghosts > 0\n");
	go_in_any_order(NULL);
}

/* What was posted for a message of the former life is not there for one of this. */
static void receives_of_a_former_life_are_not_taken(void)
{
	begin("RC", "", false);
	put("recv h1.q id=1 sge=dst:0:4096 repeat=9\n"
	    "post h0.q id=1 op=SEND sge=src:40:3000\n"
	    "modify h0.q state=RESET at=20us\nmodify h1.q state=RESET at=20us\n");
	bring_up(0x3000);
	put("post h0.q id=2 op=SEND sge=src:80:3000 at=50us\n"
	    "recv h1.q id=2 sge=dst:8192:4096 at=100us\n"
	    "expect h0.q id=1 status=SUCCESS\nexpect h0.q id=2 status=SUCCESS\n"
	    "expect h1.q id=2 status=SUCCESS\n"
	    "expect mem h1 dst:0:3000 == h0 src:40:3000\n"
	    "expect mem h1 dst:8192:3000 == h0 src:80:3000\n"
	    "expect stat nic1.responder.rnr_naks > 0\n");
	go_in_any_order(NULL);
}

static void qp_that_is_reset_acknowledges_nothing(void)
{
	static const char *const late[] = { "responder.ack_delay=20us", "responder.ack_count=9",
					    NULL };

	begin("RC", "", false);
	put("post h0.q id=1 op=RDMA_WRITE sge=src:0:3000 remote=dst:0\n"
	    "modify h1.q state=RESET at=10us\n"
	    "expect h0.q id=1 status=RETRY_EXC_ERR\n"
	    "expect mem h1 dst:0:3000 == h0 src:0:3000\n"
	    "expect stat nic1.responder.acks_sent == 0\n");
	go_in_any_order(late);
}

static void steps_that_there_are_not_are_refused(void)
{
	begin("RC", "", false);
	put("modify h0.q state=RTR\nmodify h0.q state=RESET\nmodify h0.q state=RTR\n"
	    "modify h0.q state=RTS\nmodify h0.q state=SQD\nmodify h0.q state=ERR\n"
	    "post h0.q id=1 op=SEND\nrecv h0.q id=2\n"
	    "modify h0.q state=INIT\nmodify h0.q state=RTS\nrecv h0.q id=3\n"
	    "post h0.q id=4 op=SEND\nmodify h0.q state=RTR\npost h0.q id=5 op=SEND\n"
	    "modify h0.q state=RTS\nmodify h0.q state=RTS sq_psn=9\nmodify h0.q state=RTR\n"
	    "destroy h0.q\ndestroy h0.q\nmodify h0.q state=INIT\n"
	    "expect h0.q id=1 error=EINVAL\nexpect h0.q id=2 error=EINVAL\n"
	    "expect h0.q id=3 none\n"
	    "expect h0.q id=4 error=EINVAL\nexpect h0.q id=5 error=EINVAL\n"
	    "expect stat host0.workload.refused == 14\n"
	    "expect stat nic0.doorbell.commands == 5\n");
	go_in_any_order(NULL);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_qp_reset_tests[] = {
	TEST(rc_reset_at_any_moment_lives_again),
	TEST(uc_reset_at_any_moment_lives_again),
	TEST(ud_reset_at_any_moment_lives_again),
	TEST(rc_with_small_caches_and_blueflame_lives_again),
	TEST(rc_brought_up_at_once_lives_again),
	TEST(rc_of_an_srq_lives_again),
	TEST(rc_reset_under_loss_lives_again),
	TEST(idle_qp_reset_again_and_again_lives_again),
	TEST(qp_in_error_is_reset_while_it_flushes),
	TEST(packets_of_a_former_life_change_nothing),
	TEST(receives_of_a_former_life_are_not_taken),
	TEST(qp_that_is_reset_acknowledges_nothing),
	TEST(steps_that_there_are_not_are_refused),
	CU_TEST_INFO_NULL,
};
