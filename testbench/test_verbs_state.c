/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_verbs_state.c - QPs that change their state, windows, events: whole runs, a rule each; and
 * the table of transitions
 */
#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#include "testbench/tb_file.h"
#include "testbench/tb_run.h"
#include "testbench/tb_system.h"

/* Two hosts, h0 the one that asks; QPs by pairs. */
#define HEAD \
	"rnicsim-trace 1\nhost h0\nhost h1\n" \
	"mr h0 src va=0x10000000 len=1MiB access=lw fill=inc\n" \
	"mr h1 dst va=0x20000000 len=1MiB access=lw,rw,rr,ra,fl,mw fill=zero\n"
#define PAIR(name, more) \
	"qp h0 " name " type=RC peer=h1." name " timeout=4\n" \
	"qp h1 " name " type=RC peer=h0." name " " more "\n"

static void open_run(struct tb_run *t, const char *text, enum step_order order, bool every_cycle)
{
	char *all = x_calloc(1, strlen(HEAD) + strlen(text) + 1);

	strcat(strcat(all, HEAD), text);
	tb_run_ok(t, &(struct tb_run_how){ .trace = tb_write("state.trace", all, strlen(all)),
					   .order = order,
					   .every_cycle = every_cycle });
	free(all);
}

/* Every `expect` holds, whatever the order of steps and without sleeping, with the same result. */
static void run(const char *text)
{
	char *want = NULL, *got;
	struct tb_run t;

	for (unsigned k = 0; k < 4; k++) {
		open_run(&t, text, (enum step_order)(k % 3), k == 3);
		CU_ASSERT(t.expects.n_expects > 0);
		got = tb_run_summary(&t);
		if (!want)
			want = got;
		CU_ASSERT_STRING_EQUAL(got, want);
		if (got != want)
			free(got);
		tb_run_close(&t);
	}
	free(want);
}

/* Figure 124 of the specification, as a list. */
static void transition_is_one_of_the_specification_or_refused(void)
{
	static const char *const legal[QPS_STATES] = {
		[QPS_RESET] = "ri", [QPS_INIT] = "riRe", [QPS_RTR] = "rSe", [QPS_RTS] = "rSde",
		[QPS_SQD] = "rSde", [QPS_SQE] = "rSe",   [QPS_ERR] = "re"
	};
	static const char letters[QPS_STATES] = { 'r', 'i', 'R', 'S', 'd', 'q', 'e' };
	struct tb_system t;
	struct cpu_list l;

	tb_system_open(&t, TB_TWO_HOSTS);
	for (unsigned from = 0; from < QPS_STATES; from++) {
		for (unsigned to = 0; to <= QPS_STATES; to++) {
			struct host *h = &t.s->hosts[0];
			bool ok = to < QPS_STATES && strchr(legal[from], letters[to]);

			h->qp[0].state = (uint8_t)from;
			l.n = 0;
			CU_ASSERT_EQUAL(verbs_change_state(h, 0, (uint8_t)to, VERBS_PSN, &l),
					ok ? 0 : EINVAL);
			CU_ASSERT_EQUAL(h->qp[0].state, ok ? to : from);
			CU_ASSERT_EQUAL(l.n, ok);
		}
	}
	tb_system_close(&t);
}

static void qp_brought_up_in_the_run_takes_requests_from_rtr_on(void)
{
	run(PAIR("q0", "state=RESET") "modify h1.q0 state=RTR\n" /* refused */
				      "modify h1.q0 state=INIT\n"
				      "recv h1.q0 id=1 sge=dst:0:4096\n"
				      "modify h1.q0 state=RTR at=300us\n"
				      "post h0.q0 id=1 op=SEND sge=src:0:4096\n"
				      "expect h0.q0 id=1 status=SUCCESS\n"
				      "expect h1.q0 id=1 status=SUCCESS\n"
				      "expect stat nic0.requester.timeouts >= 1\n"
				      "expect stat host1.workload.refused == 1\n"
				      "expect mem h1 dst:0:4096 == h0 src:0:4096\n");
}

static void qp_in_error_flushes_both_queues_and_what_comes_later(void)
{
	run(PAIR(
		"q0",
		"") "recv h1.q0 id=1 sge=dst:0:64\nrecv h1.q0 id=2 sge=dst:0:64\n"
		    "modify h1.q0 state=ERR at=5us\n"
		    "recv h1.q0 id=3 sge=dst:0:64 after=2\n"
		    "post h1.q0 id=4 op=SEND after=3\n"
		    "post h0.q0 id=1 op=SEND at=10us\n"
		    "expect h1.q0 id=1 status=WR_FLUSH_ERR\nexpect h1.q0 id=2 status=WR_FLUSH_ERR\n"
		    "expect h1.q0 id=3 status=WR_FLUSH_ERR\nexpect h1.q0 id=4 status=WR_FLUSH_ERR\n"
		    "expect h0.q0 id=1 status=RETRY_EXC_ERR\n");
}

static void receive_posted_behind_an_error_of_the_peer_is_flushed(void)
{
	run(PAIR("q0",
		 "") "recv h1.q0 id=1 sge=dst:0:64\n"
		     "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:64 remote=va:0x20000000:rkey:0x5\n"
		     "recv h1.q0 id=2 sge=dst:0:64 after=1\n"
		     "expect h0.q0 id=1 status=REM_ACCESS_ERR\n"
		     "expect h1.q0 id=1 status=WR_FLUSH_ERR\n"
		     "expect h1.q0 id=2 status=WR_FLUSH_ERR\n");
}

static void qp_reset_or_destroyed_completes_nothing_and_refuses_posts(void)
{
	run(PAIR("q0", "") PAIR(
		"q1", "") "recv h1.q0 id=1 sge=dst:0:64\nrecv h1.q1 id=2 sge=dst:0:64\n"
			  "modify h1.q0 state=RESET at=5us\ndestroy h1.q1 at=5us\n"
			  "recv h1.q0 id=3 sge=dst:0:64\nrecv h1.q1 id=4 sge=dst:0:64\n"
			  "post h1.q0 id=5 op=SEND\npost h1.q1 id=6 op=SEND\n"
			  "post h0.q0 id=1 op=SEND at=10us\npost h0.q1 id=2 op=SEND at=10us\n"
			  "expect h1.q0 id=1 none\nexpect h1.q1 id=2 none\n"
			  "expect h1.q0 id=3 error=EINVAL\nexpect h1.q1 id=4 error=EINVAL\n"
			  "expect h1.q0 id=5 error=EINVAL\nexpect h1.q1 id=6 error=EINVAL\n"
			  "expect h0.q0 id=1 status=RETRY_EXC_ERR\n"
			  "expect h0.q1 id=2 status=RETRY_EXC_ERR\n");
}

static void drained_send_queue_begins_nothing_until_rts(void)
{
	struct tb_run t;

	open_run(&t,
		 PAIR("q0", "") "modify h0.q0 state=SQD\n"
				"post h0.q0 id=1 op=RDMA_WRITE sge=src:0:64 remote=dst:0\n"
				"modify h0.q0 state=RTS at=50us\n"
				"expect h0.q0 id=1 status=SUCCESS\n",
		 ORDER_FORWARD, false);
	CU_ASSERT(t.r.sim.now_ps > 50 * PS_PER_US);
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic0.requester.packets"), 1);
	tb_run_close(&t);
}

/* ---- windows, FLUSH, ATOMIC WRITE ---- */

static void window_opens_what_is_bound_until_it_is_invalidated(void)
{
	run("mw h1 w0 rkey=0x5000\n" PAIR("q0", "") PAIR("q1", "") PAIR("q2", "") PAIR(
		"q3",
		"") "post h1.q0 id=1 op=BIND_MW mw=w0 newkey=0x5001 bind=dst:4097:100 access=rw\n"
		    "post h0.q0 id=1 op=RDMA_WRITE sge=src:1:100 "
		    "remote=va:0x20001001:rkey:0x5001 after=h1:1\n"
		    "post h0.q1 id=2 op=RDMA_WRITE sge=src:1:101 "
		    "remote=va:0x20001001:rkey:0x5001 after=1\n"
		    "post h0.q2 id=3 op=RDMA_READ sge=src:1:1 remote=va:0x20001001:rkey:0x5001 "
		    "after=1\n"
		    "post h1.q0 id=2 op=LOCAL_INV inv=w0 after=h0:1,h0:2,h0:3\n"
		    "post h0.q0 id=4 op=RDMA_WRITE sge=src:1:100 "
		    "remote=va:0x20001001:rkey:0x5001 after=h1:2\n"
		    "post h1.q3 id=3 op=LOCAL_INV inv=w0 after=h0:4\n"
		    "post h1.q3 id=4 op=SEND\n"
		    "expect h1.q0 id=1 status=SUCCESS\nexpect h0.q0 id=1 status=SUCCESS\n"
		    "expect h0.q1 id=2 status=REM_ACCESS_ERR\n"
		    "expect h0.q2 id=3 status=REM_ACCESS_ERR\n"
		    "expect h1.q0 id=2 status=SUCCESS\nexpect h0.q0 id=4 status=REM_ACCESS_ERR\n"
		    "expect h1.q3 id=3 status=MW_BIND_ERR\nexpect h1.q3 id=4 status=WR_FLUSH_ERR\n"
		    "expect mem h1 dst:4097:100 == h0 src:1:100\n");
}

/* It is bound again while it is bound: with each bind comes another key, and the one before is void. */
static void window_of_type_1_has_a_new_key_with_every_bind(void)
{
	run("pd h1 P1\nmw h1 w0 type=1 rkey=0x50ff\nmw h1 w1 type=1 rkey=0x6000\n" PAIR(
		"q0", "") PAIR("q1", "") PAIR("q2", "") PAIR("q3", "pd=P1") PAIR("q4", "")
		    PAIR("q5",
			 "") "post h1.q0 id=1 op=BIND_MW mw=w0 bind=dst:0:100 access=rw\n"
			     "post h0.q0 id=1 op=RDMA_WRITE sge=src:1:100 "
			     "remote=va:0x20000000:rkey:0x5000 after=h1:1\n"
			     "post h0.q1 id=2 op=RDMA_WRITE sge=src:1:50 "
			     "remote=va:0x20000000:rkey:0x5000 after=1\n"
			     "post h1.q1 id=2 op=BIND_MW mw=w0 bind=dst:4096:100 access=rw "
			     "after=h0:2\n"
			     "post h0.q0 id=3 op=RDMA_WRITE sge=src:1:100 "
			     "remote=va:0x20001000:rkey:0x5001 after=h1:2\n"
			     "post h0.q1 id=4 op=RDMA_WRITE sge=src:1:50 "
			     "remote=va:0x20000000:rkey:0x5000 after=3\n"
			     "post h0.q4 id=5 op=RDMA_WRITE sge=src:1:50 "
			     "remote=va:0x20000000:rkey:0x5001 after=3\n"
			     /* not invalidated; bound by QPs of its PD only; closed by a bind of nothing */
			     "post h1.q2 id=3 op=LOCAL_INV inv=w0 after=h0:5\n"
			     "post h1.q3 id=4 op=BIND_MW mw=w1 bind=dst:0:100 access=rw\n"
			     "post h0.q0 id=6 op=RDMA_WRITE sge=src:1:100 "
			     "remote=va:0x20001000:rkey:0x5001 after=h1:3\n"
			     "post h1.q0 id=5 op=BIND_MW mw=w0 bind=dst:0:0 after=h0:6\n"
			     "post h0.q0 id=7 op=RDMA_WRITE sge=src:1:100 "
			     "remote=va:0x20001000:rkey:0x5002 after=h1:5\n"
			     "expect h1.q0 id=1 status=SUCCESS\nexpect h0.q0 id=1 status=SUCCESS\n"
			     "expect h0.q1 id=2 status=SUCCESS\nexpect h1.q1 id=2 status=SUCCESS\n"
			     "expect h0.q0 id=3 status=SUCCESS\n"
			     "expect h0.q1 id=4 status=REM_ACCESS_ERR\n"
			     "expect h0.q4 id=5 status=REM_ACCESS_ERR\n"
			     "expect h1.q2 id=3 status=MW_BIND_ERR\n"
			     "expect h1.q3 id=4 status=MW_BIND_ERR\n"
			     "expect h0.q0 id=6 status=SUCCESS\nexpect h1.q0 id=5 status=SUCCESS\n"
			     "expect h0.q0 id=7 status=REM_ACCESS_ERR\n"
			     "expect mem h1 dst:4096:100 == h0 src:1:100\n"
			     "expect stat nic1.mpt_unit.binds == 3\n"
			     "expect stat nic1.mpt_unit.invalidations == 0\n");
}

static void window_goes_with_its_region(void)
{
	run("mw h1 w0 rkey=0x5000\n" PAIR(
		"q0",
		"") "post h1.q0 id=1 op=BIND_MW mw=w0 bind=dst:0:100 access=rw\n"
		    "post h0.q0 id=1 op=RDMA_WRITE sge=src:1:100 "
		    "remote=va:0x20000000:rkey:0x5000 after=h1:1\n"
		    "dereg h1 dst after=h0:1\n"
		    "post h0.q0 id=2 op=RDMA_WRITE sge=src:1:100 "
		    "remote=va:0x20000000:rkey:0x5000 after=1 "
		    "delay=10us\n"
		    "expect h0.q0 id=1 status=SUCCESS\nexpect h0.q0 id=2 status=REM_ACCESS_ERR\n");
}

/*
 * A READ request is held up on its way; its repetition is executed, and the window taken back. What comes late has
 * nothing to read from any more, and the connection goes on.
 */
static void late_duplicate_of_a_read_whose_window_is_gone_is_dropped(void)
{
	run("mw h1 w0 rkey=0x5000\n"
	    "wire h0 h1 delay=1ms nth=1\n" PAIR(
		    "q0",
		    "") "recv h1.q0 id=1\n"
			"post h1.q0 id=2 op=BIND_MW mw=w0 bind=dst:0:100 access=rr\n"
			"post h0.q0 id=1 op=RDMA_READ sge=src:0:100 remote=va:0x20000000:rkey:0x5000 after=h1:2\n"
			"post h1.q0 id=3 op=LOCAL_INV inv=w0 after=h0:1\n"
			"post h0.q0 id=2 op=SEND after=h1:3 delay=2ms\n"
			"expect h0.q0 id=1 status=SUCCESS\nexpect h1.q0 id=3 status=SUCCESS\n"
			"expect h0.q0 id=2 status=SUCCESS\nexpect h1.q0 id=1 status=SUCCESS\n"
			"expect stat nic1.responder.duplicates > 0\n"
			"expect stat nic1.responder.dropped == 1\n");
}

static void send_with_invalidate_takes_the_key_before_it_completes(void)
{
	run("mw h1 w0 rkey=0x5000\n" PAIR("q0", "") PAIR(
		"q1",
		"") "recv h1.q0 id=1 sge=dst:8192:4096\nrecv h1.q1 id=2 sge=dst:16384:64\n"
		    "post h1.q0 id=3 op=BIND_MW mw=w0 bind=dst:0:4096 access=rw\n"
		    "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:4096 "
		    "remote=va:0x20000000:rkey:0x5000 after=h1:3\n"
		    "post h0.q0 id=2 op=SEND_WITH_INV sge=src:0:4096 inv=w0\n"
		    "post h0.q0 id=3 op=RDMA_WRITE sge=src:0:64 remote=va:0x20000000:rkey:0x5000\n"
		    "post h0.q1 id=4 op=SEND_WITH_INV sge=src:0:64 inv=w0 after=h1:1\n"
		    "expect h0.q0 id=1 status=SUCCESS\nexpect h0.q0 id=2 status=SUCCESS\n"
		    "expect h1.q0 id=1 status=SUCCESS\nexpect h0.q0 id=3 status=REM_ACCESS_ERR\n"
		    "expect h0.q1 id=4 status=REM_ACCESS_ERR\n"
		    "expect h1.q1 id=2 status=LOC_ACCESS_ERR\n"
		    "expect mem h1 dst:0:4096 == h0 src:0:4096\n"
		    "expect mem h1 dst:8192:4096 == h0 src:0:4096\n"
		    "expect stat nic1.responder.invalidations == 1\n");
}

static void flush_and_atomic_write_need_their_rights(void)
{
	run("mr h1 nof va=0x30000000 len=64KiB access=lw,rr fill=zero\n" PAIR("q0", "") PAIR(
		"q1", "") PAIR("q2", "")
		    PAIR("q3",
			 "") "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:4096 remote=dst:0\n"
			     "post h0.q0 id=2 op=FLUSH sge=src:0:4096 remote=dst:0\n"
			     "post h0.q0 id=3 op=FLUSH remote=dst:0\n"
			     "post h0.q0 id=4 op=ATOMIC_WRITE sge=src:8:8 remote=dst:8192\n"
			     "post h0.q0 id=5 op=ATOMIC_FETCH_AND_ADD sge=src:65536:8 "
			     "remote=dst:8192 add=1\n"
			     "post h0.q0 id=6 op=ATOMIC_WRITE sge=src:24:8 remote=dst:16384 "
			     "flags=inline\n"
			     "post h0.q0 id=7 op=ATOMIC_WRITE sge=src:24:4 remote=dst:16384\n"
			     "post h0.q1 id=8 op=FLUSH sge=src:0:64 remote=nof:0\n"
			     "post h0.q2 id=9 op=ATOMIC_WRITE sge=src:0:8 remote=nof:0\n"
			     "post h0.q3 id=10 op=ATOMIC_WRITE sge=src:0:8 remote=dst:4\n"
			     "expect h0.q0 id=1 status=SUCCESS\nexpect h0.q0 id=2 status=SUCCESS\n"
			     "expect h0.q0 id=3 status=SUCCESS\nexpect h0.q0 id=4 status=SUCCESS\n"
			     "expect h0.q0 id=5 status=SUCCESS\nexpect h0.q0 id=6 status=SUCCESS\n"
			     "expect h0.q0 id=7 error=EINVAL\n"
			     "expect h0.q1 id=8 status=REM_ACCESS_ERR\n"
			     "expect h0.q2 id=9 status=REM_ACCESS_ERR\n"
			     "expect h0.q3 id=10 status=REM_INV_REQ_ERR\n"
			     "expect mem h1 dst:8192:8 == hex:09090a0b0c0d0e0f\n"
			     "expect mem h0 src:65536:8 == h0 src:8:8\n"
			     "expect mem h1 dst:16384:8 == h0 src:24:8\n");
}

/* The key counts, not the range; a read goes to memory behind the writes. */
static void flush_of_a_region_looks_at_its_key_alone(void)
{
	run("mr h1 one va=0x30000000 len=64KiB access=lw,rw,fl rkey=0x900 fill=zero\n"
	    "mr h1 nof va=0x40000000 len=64KiB access=lw,rw rkey=0xa00 fill=zero\n" PAIR(
		    "q0", "") PAIR("q1", "") PAIR("q2", "") PAIR("q3", "")
		    PAIR("q4",
			 "access=rw") "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:4096 remote=one:0\n"
				      "post h0.q0 id=2 op=FLUSH level=mr remote=one:0\n"
				      "post h0.q0 id=3 op=FLUSH level=mr sge=src:0:4096 "
				      "remote=va:0x5:rkey:0x900\n"
				      "post h0.q1 id=4 op=FLUSH level=mr remote=nof:0\n"
				      "post h0.q2 id=5 op=FLUSH level=mr remote=va:0x30000000:rkey:0x901\n"
				      "post h0.q3 id=6 op=FLUSH level=range sge=src:0:64 "
				      "remote=va:0x5:rkey:0x900\n"
				      "post h0.q4 id=7 op=FLUSH level=mr remote=one:0\n"
				      "expect h0.q0 id=1 status=SUCCESS\n"
				      "expect h0.q0 id=2 status=SUCCESS\n"
				      "expect h0.q0 id=3 status=SUCCESS\n"
				      "expect h0.q1 id=4 status=REM_ACCESS_ERR\n"
				      "expect h0.q2 id=5 status=REM_ACCESS_ERR\n"
				      "expect h0.q3 id=6 status=REM_ACCESS_ERR\n"
				      "expect h0.q4 id=7 status=REM_INV_REQ_ERR\n"
				      "expect stat nic1.atomic.ops == 2\n"
				      "expect mem h1 one:0:4096 == h0 src:0:4096\n");
}

/* ---- events ---- */

static void program_that_waits_for_events_sees_every_completion(void)
{
	run("cq h0 c0 depth=256 moderate=4:4us mode=event\ncq h1 c1 depth=256\n"
	    "qp h0 q0 type=RC peer=h1.q0 scq=c0\nqp h1 q0 type=RC peer=h0.q0 rcq=c1\n"
	    "qp h0 q1 type=RC peer=h1.q1 scq=c0\nqp h1 q1 type=RC peer=h0.q1 rcq=c1\n"
	    "recv h1.q0 id=1 sge=dst:0:64\nrecv h1.q0 id=2 sge=dst:0:64\n"
	    "arm h1.c1 solicited=yes\n"
	    "post h0.q0 id=1 op=SEND sge=src:0:64\n"
	    "post h0.q0 id=2 op=SEND sge=src:0:64 flags=solicited at=30us\n"
	    "post h0.q0 id=3 op=RDMA_WRITE sge=src:0:64 remote=dst:4096 repeat=40 window=8\n"
	    "post h0.q1 id=4 op=RDMA_WRITE sge=src:0:64 remote=dst:8192 repeat=40 window=8\n"
	    "expect h0.q0 id=1 status=SUCCESS\nexpect h0.q0 id=2 status=SUCCESS\n"
	    "expect h0.q0 id=3 status=SUCCESS\nexpect h0.q1 id=4 status=SUCCESS\n"
	    "expect event h1 c1\nexpect event h0 c0\n"
	    "expect stat nic1.cqe_writer.events == 1\nexpect stat host1.host_mem.irqs == 1\n"
	    "expect stat host0.workload.cqes == 82\nexpect stat nic0.cqe_writer.events <= 41\n");
}

static void srq_below_the_limit_of_the_run_is_an_event(void)
{
	run("cq h1 c2 depth=64\nsrq h1 s0\n"
	    "qp h0 q0 type=RC peer=h1.q0\nqp h1 q0 type=RC peer=h0.q0 rcq=c2\n"
	    "qp h0 q1 type=RC peer=h1.q1\nqp h1 q1 type=RC peer=h0.q1 rcq=c2 srq=s0\n"
	    "recv h1.s0 id=1 sge=dst:0:64\nrecv h1.s0 id=2 sge=dst:0:64\n"
	    "modify h1.s0 limit=2\n"
	    "post h0.q1 id=1 op=SEND sge=src:0:64 at=10us\n"
	    "expect h0.q1 id=1 status=SUCCESS\nexpect event h1 SRQ_LIMIT_REACHED\n");
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_verbs_state_tests[] = {
	TEST(transition_is_one_of_the_specification_or_refused),
	TEST(qp_brought_up_in_the_run_takes_requests_from_rtr_on),
	TEST(qp_in_error_flushes_both_queues_and_what_comes_later),
	TEST(receive_posted_behind_an_error_of_the_peer_is_flushed),
	TEST(qp_reset_or_destroyed_completes_nothing_and_refuses_posts),
	TEST(drained_send_queue_begins_nothing_until_rts),
	TEST(window_opens_what_is_bound_until_it_is_invalidated),
	TEST(window_of_type_1_has_a_new_key_with_every_bind),
	TEST(window_goes_with_its_region),
	TEST(late_duplicate_of_a_read_whose_window_is_gone_is_dropped),
	TEST(send_with_invalidate_takes_the_key_before_it_completes),
	TEST(flush_and_atomic_write_need_their_rights),
	TEST(flush_of_a_region_looks_at_its_key_alone),
	TEST(program_that_waits_for_events_sees_every_completion),
	TEST(srq_below_the_limit_of_the_run_is_an_event),
	CU_TEST_INFO_NULL,
};
