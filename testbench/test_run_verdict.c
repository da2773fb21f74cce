/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_run_verdict.c - how a run ends that went wrong: its exit status, and what it says
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/units.h"
#include "testbench/tb_file.h"
#include "testbench/tb_program.h"

#define HOSTS \
	"rnicsim-trace 1\nhost h0\nhost h1\n" \
	"mr h0 src va=0x10000000 len=64KiB access=lw fill=inc\n" \
	"mr h1 dst va=0x20000000 len=64KiB access=lw,rw,ra fill=zero\n"
#define QPS "qp h0 q0 type=RC peer=h1.q0\nqp h1 q0 type=RC peer=h0.q0\n"
#define WRITES(n) \
	"post h0.q0 id=1 op=RDMA_WRITE sge=src:0:64 remote=dst:0 repeat=" n " window=128\n"
#define OVERRUN \
	HOSTS "cq h0 c depth=1\nqp h0 q0 type=RC peer=h1.q0 scq=c\nqp h1 q0 type=RC peer=h0.q0\n" WRITES( \
		"2000")
#define LOSING \
	HOSTS "cq h0 c depth=1\nqp h0 q0 type=RC peer=h1.q0 scq=c mtu=256\n" \
	      "qp h1 q0 type=RC peer=h0.q0 mtu=256\n" \
	      "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:600 remote=dst:0 repeat=20 window=8\n"
#define UNSIGNALED "post h0.q0 id=1 op=SEND sge=src:0:64 flags=unsignaled\n"
#define SEND "post h0.q0 id=1 op=SEND sge=src:0:64\n"

#define GONE_WRONG \
	(-1) /* 1, or 3 where the last completion is among the lost: a matter of timing */
#define ANY (-2)

static const struct ending {
	const char *trace;
	int status;
	const char *says, *table; /* on stderr; on stdout */
} endings[] = {
	/* completions lost */
	{ OVERRUN, GONE_WRONG, "completion(s) were lost: CQ h0.c (depth 1) was full",
	  "RDMA_WRITE" },
	{ OVERRUN "expect h0.q0 id=1 status=SUCCESS\n", GONE_WRONG, "CQ h0.c (depth 1)",
	  "RDMA_WRITE" },
	{ HOSTS
	  "cq h0 c depth=8\nqp h0 q0 type=RC peer=h1.q0 scq=c\nqp h1 q0 type=RC peer=h0.q0\n" WRITES(
		  "2000"),
	  GONE_WRONG, "completion(s) were lost: CQ h0.c (depth 8) was full", "RDMA_WRITE" },
	{ OVERRUN "expect event h0 CQ_ERR\n", ANY, "", "RDMA_WRITE" },
	{ LOSING "expect event h0 CQ_ERR\n", 0, "", "RDMA_WRITE" },
	{ LOSING "expect event h0 CQ_ERR\nexpect h0.q0 id=1 status=WR_FLUSH_ERR\n", 1, "", "" },
	/* nobody would tell of an unsignaled request */
	{ HOSTS QPS UNSIGNALED, 3, "no receive was posted", "" },
	{ HOSTS QPS
	  "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:8 remote=dst:0 flags=unsignaled,more\n",
	  3, "its doorbell was never rung", "" },
	{ HOSTS QPS
	  "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:8 remote=dst:0 flags=unsignaled\n"
	  "modify h0.q0 state=SQD\npost h0.q0 id=2 op=RDMA_WRITE sge=src:0:8 remote=dst:0\n",
	  3, "the first on h0.q0: the QP is in SQD", "" },
	{ HOSTS QPS "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:8 remote=dst:0 at=100000s\n", 0, "",
	  "RDMA_WRITE                       1" },
	{ HOSTS "qp h0 q0 type=RC peer=h1.q0 timeout=10 retry=7\nqp h1 q0 type=RC peer=h0.q0\n"
		"wire h0 h1 drop nth=1\n"
		"post h0.q0 id=1 op=RDMA_WRITE sge=src:0:8 remote=dst:0 at=200s\n",
	  0, "", "RDMA_WRITE                       1" },
	/* eight timeouts of 34 s, and nobody awake between them */
	{ HOSTS "qp h0 q0 type=RC peer=h1.q0 timeout=23 retry=7\nqp h1 q0 type=RC peer=h0.q0\n"
		"wire h0 h1 drop nth=1,2,3,4,5,6,7,8\n"
		"post h0.q0 id=1 op=RDMA_WRITE sge=src:0:8 remote=dst:0\n"
		"expect h0.q0 id=1 status=RETRY_EXC_ERR\n",
	  0, "", "" },
	/* set-up that comes late is blamed, not what speaks of it */
	{ HOSTS "mem h0 src:0 hex:ab\n" QPS SEND "expect h0.q0 id=1 status=SUCCESS\n", 2,
	  "/x.trace:7: 'qp' stands behind the first record of the stream", "" },
	/* no receive */
	{ HOSTS QPS SEND, 3, "no receive was posted", "operation" },
	{ HOSTS QPS SEND "recv h1.q0 id=1 sge=dst:0:64 after=h0:1\n", 3, "no receive was posted",
	  "operation" },
	{ HOSTS QPS SEND "recv h1.q0 id=1 sge=dst:0:64 at=5ms\n", 0, "", "SEND" },
	{ HOSTS
	  "qp h0 q0 type=RC peer=h1.q0 rnr_retry=6\nqp h1 q0 type=RC peer=h0.q0 min_rnr=1\n" SEND,
	  0, "", "SEND                             0       1" },
	/* not of those that another QP's receiver has not posted */
	{ HOSTS "qp h0 q0 type=RC peer=h1:99 timeout=0 retry=0\n"
		"qp h0 q1 type=RC peer=h1.q1 rnr_retry=2\nqp h1 q1 type=RC peer=h0.q1\n"
		"post h0.q0 id=1 op=RDMA_WRITE sge=src:0:8 remote=va:0:rkey:1\n"
		"post h0.q1 id=2 op=SEND sge=src:0:8\n",
	  3, "the first on h0.q0: no acknowledgement or completion came, and its ACK timer is off",
	  "" },
	/* refused */
	{ HOSTS QPS "post h0.q0 id=1 op=ATOMIC_FETCH_AND_ADD sge=src:0:4 remote=dst:0 add=1\n", 0,
	  "", "refused                          1: 1 ATOMIC_FETCH_AND_ADD; the first by " },
	{ HOSTS QPS "recv h1.q0 id=1 sge=va:0:lkey:1:0xffffffff,va:0:lkey:1:0xffffffff\n", 0, "",
	  ": 1 receives; the first by " },
	{ HOSTS QPS "post h0.q0 id=1 op=ATOMIC_FETCH_AND_ADD sge=src:0:4 remote=dst:0 add=1\n"
		    "expect h0.q0 id=1 status=SUCCESS\n",
	  1, "", "status=SUCCESS, but 1 of its posts were refused" },
	{ HOSTS QPS "modify h0.q0 state=INIT\nmodify h0.q0 state=SQE at=1us\n", 0, "",
	  "refused                          2: 2 changes of state; the first by " },
	{ HOSTS QPS "modify h1.q0 state=RTR\nrecv h1.q0 id=1 sge=va:0:lkey:1:0xffffffff,"
		    "va:0:lkey:1:0xffffffff\n",
	  0, "", "2: 1 receives, 1 changes of state; the first by " },
	/* who can reach whom */
	{ "rnicsim-trace 1\nhost h0 ip=fd00::1\nhost h1\n" QPS, 2,
	  "/x.trace:4: q0: host h0 has an IPv6 address, host h1 an IPv4 one", "" },
	{ "rnicsim-trace 1\nhost h0\nhost h1 ip=fd00::1\nmr h0 src va=0x10000 len=64\nqp h0 u type=UD\n"
	  "qp h1 u type=UD\npost h0.u id=1 op=SEND sge=src:0:8 dest=h1.u\n",
	  2, "/x.trace:7: this request: host h0 has an IPv4 address, host h1 an IPv6 one", "" },
};

static bool is_status(int got, int wanted)
{
	return wanted == ANY || (wanted == GONE_WRONG ? got == 1 || got == 3 : got == wanted);
}

/* Who polls is slow: a CQ of few entries overflows. */
static const char ini[] = "[scenario]\ntrace = x.trace\n[workload]\npoll_cost = 1us\n";

static void check_endings(char *program)
{
	tb_write("x.ini", ini, strlen(ini));
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		const struct ending *c = &endings[i];
		struct tb_ended r;
		bool is_right;

		tb_write("x.trace", c->trace, strlen(c->trace));
		r = tb_program_run(program, "run @x.ini");
		is_right = is_status(r.status, c->status) && strstr(r.err, c->says) &&
			   strstr(r.out, c->table) && (c->says[0] || !strstr(r.err, "were lost"));
		CU_ASSERT(is_right);
		if (!is_right)
			printf("\n%s\nstatus %d\n%s%s\n", c->trace, r.status, r.err, r.out);
		tb_ended_release(&r);
	}
}

static void run_that_went_wrong_says_how(void)
{
	tb_programs_each(check_endings);
}

/* Four hosts in two pairs: a QP whose peer is in the other pair. */
static void check_pairs(char *program)
{
	static const char pairs[] = "[scenario]\ntrace = y.trace\n[link0]\na = nic0\nb = nic1\n"
				    "[link1]\na = nic2\nb = nic3\n";
	static const char trace[] = "rnicsim-trace 1\nhost h0\nhost h1\nhost h2\nhost h3\n"
				    "qp h0 q0 type=RC peer=h3.q0\nqp h3 q0 type=RC peer=h0.q0\n";
	struct tb_ended r;

	tb_write("y.ini", pairs, strlen(pairs));
	tb_write("y.trace", trace, strlen(trace));
	r = tb_program_run(program, "run @y.ini");
	CU_ASSERT_EQUAL(r.status, 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		r.err, "/y.trace:6: q0 sends to host h3, but the link of host h0 leads to h1"));
	tb_ended_release(&r);
}

static void run_peer_behind_another_link_is_refused(void)
{
	tb_programs_each(check_pairs);
}

/* The stuck run is found out when the first wait is over, not after `stall` of simulated time. */
static void check_early(char *program)
{
	static const char trace[] = HOSTS QPS SEND;
	struct tb_ended r;
	const char *at;

	tb_write("x.trace", trace, strlen(trace));
	r = tb_program_run(program, "run @x.ini");
	at = strstr(r.err, "stuck at ");
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	CU_ASSERT(strtod(at + strlen("stuck at "), NULL) < 20e3); /* us */
	tb_ended_release(&r);
}

static void run_without_receives_is_stuck_early(void)
{
	tb_programs_each(check_early);
}

/* Behind a completion with an error none is a success: those whose completion was lost are LOST. */
static void check_lost(char *program)
{
	static const char trace[] = LOSING;
	struct tb_ended r;
	char *rows, *flushed;

	tb_write("x.trace", trace, strlen(trace));
	r = tb_program_run(program, "run @x.ini -o @lost --quiet");
	CU_ASSERT_EQUAL(r.status, 3);
	tb_ended_release(&r);
	rows = tb_read(tb_path("lost/ops.csv"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(rows);
	CU_ASSERT_PTR_NOT_NULL(strstr(rows, ",LOST,"));
	flushed = strstr(rows, "WR_FLUSH_ERR");
	CU_ASSERT_PTR_NOT_NULL_FATAL(flushed);
	CU_ASSERT_PTR_NULL(strstr(flushed, "SUCCESS"));
	CU_ASSERT_PTR_NOT_NULL(strstr(flushed, "LOST"));
	free(rows);
}

static void lost_completions_are_no_success(void)
{
	tb_programs_each(check_lost);
}

/* Where timers alone are pending, where all wait for ever, and where nothing goes on: one end in both modes. */
static const char *const ends[] = {
	HOSTS "qp h0 q0 type=RC peer=h1.q0 timeout=5 retry=2\nqp h1 q0 type=RC peer=h0.q0\n"
	      "wire h0 h1 drop nth=1,2\npost h0.q0 id=1 op=RDMA_WRITE sge=src:0:10 remote=dst:0 "
	      "flags=unsignaled\nexpect mem h1 dst:0:10 == h0 src:0:10\n",
	HOSTS "qp h0 q0 type=RC peer=h1.q0 rnr_retry=7 timeout=1 retry=0\n"
	      "qp h1 q0 type=RC peer=h0.q0 min_rnr=1\nwire h0 h1 drop nth=5\n" SEND,
	/* what looks as without end ends: a later attempt is lost; an event comes late, and a receive with it */
	HOSTS "qp h0 q0 type=RC peer=h1.q0 rnr_retry=7 timeout=1 retry=0\n"
	      "qp h1 q0 type=RC peer=h0.q0 min_rnr=1\nwire h0 h1 drop nth=500\n" SEND,
	HOSTS "cq h1 c0 depth=16 mode=event moderate=8:6ms\n" QPS
	      "qp h0 q1 type=RC peer=h1.q1\nqp h1 q1 type=RC peer=h0.q1 scq=c0\n"
	      "post h1.q1 id=1 op=RDMA_WRITE remote=src:0\n"
	      "recv h1.q0 id=2 sge=dst:64:64 after=1\n" SEND,
	HOSTS QPS "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:10 remote=dst:0 flags=more\n",
	HOSTS QPS UNSIGNALED,
	LOSING,
};

static void check_modes(char *program)
{
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		struct tb_ended sleeping, awake;

		tb_write("x.trace", ends[i], strlen(ends[i]));
		sleeping = tb_program_run(program, "run @x.ini --set scenario.stall=10ms");
		awake = tb_program_run(program,
				       "run @x.ini --set scenario.stall=10ms --every-cycle");
		CU_ASSERT_EQUAL(awake.status, sleeping.status);
		CU_ASSERT_EQUAL(sleeping.status, i < 4 ? 0 : 3);
		CU_ASSERT_STRING_EQUAL(awake.err, sleeping.err);
		CU_ASSERT_STRING_EQUAL(awake.out, sleeping.out);
		tb_ended_release(&sleeping);
		tb_ended_release(&awake);
	}
}

static void every_cycle_run_ends_as_ever(void)
{
	tb_programs_each(check_modes);
}

static void check_rate(char *program)
{
	static const char trace[] = HOSTS QPS WRITES("4");
	struct tb_ended own, none;

	tb_write("x.trace", trace, strlen(trace));
	own = tb_program_run(program, "run @x.ini");
	none = tb_program_run(program, "run @x.ini --set link.rate=0bps");
	CU_ASSERT_EQUAL(none.status, 0);
	CU_ASSERT_STRING_EQUAL(none.out, own.out);
	tb_ended_release(&own);
	tb_ended_release(&none);
}

static void link_rate_of_zero_is_left_to_the_macs(void)
{
	tb_programs_each(check_rate);
}

CU_TestInfo test_run_verdict_tests[] = {
	{ "run that went wrong says how", run_that_went_wrong_says_how },
	{ "peer behind another link is refused", run_peer_behind_another_link_is_refused },
	{ "run without receives is stuck early", run_without_receives_is_stuck_early },
	{ "lost completions are no success", lost_completions_are_no_success },
	{ "every-cycle run ends as ever", every_cycle_run_ends_as_ever },
	{ "link rate of 0 is left to the MACs", link_rate_of_zero_is_left_to_the_macs },
	CU_TEST_INFO_NULL
};
