/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_srq.c - shared receive queues, and UC and UD, in whole runs: verbs, rings in memory, packets
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbench/tb_event.h"
#include "testbench/tb_file.h"
#include "testbench/tb_run.h"

#define put(...) tb_put(&text, __VA_ARGS__)

static struct tb_text text;

static void begin(const char *setup)
{
	text.n = 0;
	put("rnicsim-trace 1\nhost h0\nhost h1\n"
	    "mr h0 src va=0x10000 len=1MiB access=lw fill=rand:7\n"
	    "mr h1 dst va=0x800000 len=1MiB access=lw,rw rkey=0x4242 fill=zero\n%s",
	    setup);
}

static void go(struct tb_run *t, const struct tb_run_how *like)
{
	struct tb_run_how how = *like;

	how.trace = tb_write("srq.trace", text.at, text.n);
	tb_run_ok(t, &how);
}

/* ---- SRQ ---- */

static const char shared[] = "srq h1 s depth=8 max_sge=2\n"
			     "qp h0 q0 type=RC peer=h1.q0 mtu=512 rnr_retry=7 min_rnr=1\n"
			     "qp h0 q1 type=UC peer=h1.q1 mtu=512\n"
			     "qp h0 q2 type=UD mtu=512\n"
			     "qp h1 q0 type=RC peer=h0.q0 mtu=512 srq=s rnr_retry=7 min_rnr=1\n"
			     "qp h1 q1 type=UC peer=h0.q1 mtu=512 srq=s\n"
			     "qp h1 q2 type=UD mtu=512 srq=s qkey=0x77\n";

/*
 * Messages of all services, one after the other, many times round a ring of eight, more receives
 * posted than it holds.
 */
#define MESSAGES 120u
static void put_messages(void)
{
	static const char *const dest[] = { "", "", " dest=h1.q2 qkey=0x77" };
	uint32_t id = 1000, prev = 0;

	begin(shared);
	for (uint32_t i = 0; i < MESSAGES; i++)
		put("recv h1.s id=%u sge=dst:%u:300,dst:%u:1748\n", i + 1, i * 4096,
		    i * 4096 + 300);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		uint32_t q = i % 3, len = q == 2 ? 400 : 1 + i * 37 % 2000;

		put("post h0.q%u id=%u op=%s sge=src:%u:%u%s", q, ++id,
		    i & 1 ? "SEND" : "SEND_WITH_IMM imm=5", i * 2048, len, dest[q]);
		if (prev)
			put(" after=h1:%u", prev);
		put("\nexpect h0.q%u id=%u status=SUCCESS\n", q, id);
		prev = i + 1;
		put("expect h1.s id=%u status=SUCCESS\n"
		    "expect mem h1 dst:%u:%u == h0 src:%u:%u\n",
		    i + 1, i * 4096 + (q == 2 ? 40 : 0), len, i * 2048, len);
	}
}

static void srq_serves_qps_of_all_services_round_and_round(void)
{
	struct tb_run t;

	put_messages();
	go(&t, &(struct tb_run_how){ .ini = "" });
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic1.wqe_fetch.rq_wqes"), MESSAGES);
	CU_ASSERT_EQUAL(tb_run_stat(&t, "host1.workload.cqes"), MESSAGES);
	tb_run_close(&t);
}

/* Long messages keep their WQEs while short ones of other QPs take and give back: any order of links. */
static void srq_wqes_come_back_in_any_order(void)
{
	struct tb_run t;

	begin("srq h1 s depth=5\n"
	      "qp h0 q0 type=RC peer=h1.q0 mtu=256\nqp h1 q0 type=RC peer=h0.q0 mtu=256 srq=s min_rnr=1\n"
	      "qp h0 q1 type=RC peer=h1.q1 mtu=256\nqp h1 q1 type=RC peer=h0.q1 mtu=256 srq=s min_rnr=1\n"
	      "qp h0 q2 type=RC peer=h1.q2 mtu=256\nqp h1 q2 type=RC peer=h0.q2 mtu=256 srq=s min_rnr=1\n");
	for (uint32_t i = 0; i < 90; i++)
		put("recv h1.s id=%u sge=dst:%u:8192\nexpect h1.s id=%u status=SUCCESS\n", i + 1,
		    i * 8192, i + 1);
	for (uint32_t q = 0; q < 3; q++)
		put("post h0.q%u id=%u op=SEND sge=src:0:%u repeat=30 window=4\n"
		    "expect h0.q%u id=%u status=SUCCESS\n",
		    q, q + 1, q == 0 ? 8000 : 20, q, q + 1);
	go(&t, &(struct tb_run_how){ .ini = "" });
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic1.wqe_fetch.rq_wqes"), 90);
	/* some reads went on behind a link that leads elsewhere */
	CU_ASSERT(tb_run_stat(&t, "nic1.wqe_fetch.rq_reads") > 30);
	tb_run_close(&t);
}

/* With small and large prefetch, every cycle, and in other orders of steps: the same results. */
static void srq_results_depend_on_neither_sleep_nor_order(void)
{
	static const char *const inis[] = { "", "[wqe_fetch]\nrq_prefetch = 1\nrq_low = 0\n",
					    "[wqe_fetch]\nrq_prefetch = 7\n" };

	put_messages();
	for (size_t i = 0; i < ARRAY_LEN(inis); i++) {
		const struct tb_run_how how[] = {
			{ .ini = inis[i] },
			{ .ini = inis[i], .every_cycle = true },
			{ .ini = inis[i], .order = ORDER_REVERSED },
		};
		char *first = NULL;

		for (size_t k = 0; k < ARRAY_LEN(how); k++) {
			struct tb_run t;
			char *s;

			go(&t, &how[k]);
			s = tb_run_summary(&t);
			tb_run_close(&t);
			if (first) {
				CU_ASSERT_STRING_EQUAL(s, first);
				free(s);
			} else {
				first = s;
			}
		}
		free(first);
	}
}

/* Many QPs at once: whoever comes gets one; when it is empty RC waits for more, UC and UD lose. */
static void srq_empty_is_rnr_on_rc_and_a_loss_on_the_others(void)
{
	struct tb_run t;

	begin(shared);
	put("post h0.q1 id=1 op=SEND sge=src:0:8\npost h0.q2 id=2 op=SEND sge=src:0:8 dest=h1.q2 qkey=0x77\n"
	    "post h0.q0 id=3 op=SEND sge=src:64:700\n"
	    "recv h1.s id=1 sge=dst:0:1000 at=100us\nrecv h1.s id=2 sge=dst:1000:1000 at=100us\n"
	    "expect h0.q0 id=3 status=SUCCESS\nexpect h1.s id=1 status=SUCCESS\nexpect h1.s id=2 none\n"
	    "expect mem h1 dst:0:700 == h0 src:64:700\nexpect mem h1 dst:1000:1000 == fill\n"
	    "expect stat nic1.responder.rnr_naks > 0\n");
	go(&t, &(struct tb_run_how){ .ini = "" });
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic1.responder.dropped"), 2);
	tb_run_close(&t);
}

static void srq_below_its_limit_is_noticed_once(void)
{
	static const struct {
		uint32_t limit, messages, events;
	} cases[] = { { 0, 8, 0 }, { 3, 5, 0 }, { 3, 6, 1 }, { 3, 8, 1 }, { 8, 1, 1 } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct tb_run t;
		char setup[512];

		snprintf(setup, sizeof(setup),
			 "srq h1 s depth=8 limit=%u\nqp h0 q0 type=RC peer=h1.q0\n"
			 "qp h1 q0 type=RC peer=h0.q0 srq=s\n",
			 cases[i].limit);
		begin(setup);
		for (uint32_t k = 0; k < 8; k++)
			put("recv h1.s id=%u sge=dst:%u:64\n", k + 1, k * 64);
		put("post h0.q0 id=1 op=SEND sge=src:0:64 repeat=%u\n"
		    "expect stat nic1.wqe_fetch.srq_limits == %u\n",
		    cases[i].messages, cases[i].events);
		go(&t, &(struct tb_run_how){ .ini = "" });
		tb_run_close(&t);
	}
}

/*
 * A limit that is set at any time round that at which the one before it gives its event: there is one
 * for each that is reached, and none of the first behind the second.
 */
static void srq_limit_set_beside_an_event_keeps_its_own(void)
{
	for (uint32_t ns = 3500; ns < 3700; ns++) {
		struct tb_run t;
		struct tb_events *e;
		const char *wrong;

		begin("srq h1 s depth=8 limit=7\nqp h0 q0 type=UC peer=h1.q0\n"
		      "qp h1 q0 type=UC peer=h0.q0 srq=s\n");
		for (uint32_t k = 0; k < 8; k++)
			put("recv h1.s id=%u sge=dst:%u:64\n", k + 1, k * 64);
		put("post h0.q0 id=1 op=SEND sge=src:0:64 repeat=2\n"
		    "modify h1.s limit=%u at=%uns\n",
		    ns % 8, ns);
		CU_ASSERT_FATAL(tb_run_open(
			&t, &(struct tb_run_how){ .trace = tb_write("srq.trace", text.at, text.n),
						  .ini = "" }));
		e = tb_events_watch(&t);
		CU_ASSERT_EQUAL(tb_run_go(&t), EXIT_OK);
		wrong = tb_events_verdict(e);
		if (wrong)
			printf("limit at %u ns: %s\n", ns, wrong);
		CU_ASSERT_PTR_NULL(wrong);
		tb_events_release(e);
		tb_run_close(&t);
	}
}

/* ---- UC, UD ---- */

static void post_that_the_service_lacks_is_refused(void)
{
	struct tb_run t;

	begin(shared);
	put("post h0.q1 id=1 op=RDMA_READ sge=src:0:8 remote=dst:0\n"
	    "post h0.q1 id=2 op=ATOMIC_FETCH_AND_ADD sge=src:0:8 remote=dst:0 add=1\n"
	    "post h0.q2 id=3 op=SEND sge=src:0:4097 dest=h1.q2\n"
	    "recv h1.q0 id=1 sge=dst:0:8\n"
	    "expect h0.q1 id=1 error=EINVAL\nexpect h0.q1 id=2 error=EINVAL\n"
	    "expect h0.q2 id=3 error=EINVAL\nexpect h1.q0 id=1 error=EINVAL\n");
	go(&t, &(struct tb_run_how){ .ini = "" });
	tb_run_close(&t);
}

/* Of a datagram only the ports limit the length, each its own end. */
static void datagram_is_as_long_as_the_ports_allow(void)
{
	struct tb_run t;

	text.n = 0;
	put("rnicsim-trace 1\nhost h0 mtu=2048\nhost h1 mtu=512\n"
	    "mr h0 src va=0x10000 len=1MiB access=lw fill=rand:7\n"
	    "mr h1 dst va=0x800000 len=1MiB access=lw fill=zero\n"
	    "qp h0 q0 type=UD mtu=256\nqp h1 q0 type=UD mtu=256\n");
	put("recv h1.q0 id=1 sge=dst:0:4096\nrecv h1.q0 id=2 sge=dst:4096:4096\n"
	    "post h0.q0 id=1 op=SEND sge=src:0:2049 dest=h1.q0\n"
	    "post h0.q0 id=2 op=SEND sge=src:0:2048 dest=h1.q0\n"
	    "post h0.q0 id=3 op=SEND sge=src:0:512 dest=h1.q0\n"
	    "expect h0.q0 id=1 error=EINVAL\nexpect h0.q0 id=2 status=SUCCESS\n"
	    "expect h1.q0 id=1 status=SUCCESS\nexpect h1.q0 id=2 none\n"
	    "expect mem h1 dst:40:512 == h0 src:0:512\n");
	go(&t, &(struct tb_run_how){ .ini = "" });
	tb_run_close(&t);
}

/* A receive that is too short ends, and with it the QP; what is in the SRQ stays for others. */
static void datagram_too_long_for_its_receive_ends_it(void)
{
	struct tb_run t;

	begin("srq h1 s depth=8\nqp h0 q0 type=UD\nqp h1 q0 type=UD srq=s\nqp h1 q1 type=UD srq=s\n"
	      "qp h1 q2 type=UD\n");
	put("recv h1.s id=1 sge=dst:0:50\nrecv h1.s id=2 sge=dst:4096:500\n"
	    "recv h1.q2 id=3 sge=dst:8192:50\nrecv h1.q2 id=4 sge=dst:12288:500\n"
	    "post h0.q0 id=1 op=SEND sge=src:0:100 dest=h1.q0\n"
	    "post h0.q0 id=2 op=SEND sge=src:0:100 dest=h1.q1 after=1 delay=20us\n"
	    "post h0.q0 id=3 op=SEND sge=src:0:100 dest=h1.q2 after=2\n"
	    "expect h0.q0 id=1 status=SUCCESS\nexpect h0.q0 id=3 status=SUCCESS\n"
	    "expect h1.s id=1 status=LOC_LEN_ERR\nexpect h1.s id=2 status=SUCCESS\n"
	    "expect h1.q2 id=3 status=LOC_LEN_ERR\nexpect h1.q2 id=4 status=WR_FLUSH_ERR\n"
	    "expect mem h1 dst:4136:100 == h0 src:0:100\n");
	go(&t, &(struct tb_run_how){ .ini = "" });
	tb_run_close(&t);
}

/* What is wrong with a datagram is for the receiver to drop: the sender succeeds. */
static void datagram_that_nobody_takes_is_dropped(void)
{
	struct tb_run t;

	begin("qp h0 q0 type=UD qkey=0x80000005\nqp h0 q1 type=UD pkey=0x1234\n"
	      "qp h1 q0 type=UD qkey=0x77\nqp h1 q1 type=UD qkey=0x80000005\n");
	put("recv h1.q0 id=1 sge=dst:0:1000\nrecv h1.q1 id=2 sge=dst:1000:1000\n"
	    "post h0.q0 id=1 op=SEND sge=src:0:8 dest=h1.q0 qkey=0x78\n"       /* Q_Key */
	    "post h0.q0 id=2 op=SEND sge=src:0:8 dest=h1:0x999 qkey=0x77\n"    /* QPN */
	    "post h0.q1 id=3 op=SEND sge=src:0:8 dest=h1.q0 qkey=0x77\n"       /* P_Key */
	    "post h0.q0 id=4 op=SEND sge=src:0:8 dest=h1.q1 qkey=0x80000000\n" /* the QP's own */
	    "expect h0.q0 id=1 status=SUCCESS\nexpect h0.q0 id=2 status=SUCCESS\n"
	    "expect h0.q1 id=3 status=SUCCESS\nexpect h0.q0 id=4 status=SUCCESS\n"
	    "expect h1.q0 id=1 none\nexpect h1.q1 id=2 status=SUCCESS\n"
	    "expect stat nic1.rx_parser.drop_qkey == 1\nexpect stat nic1.rx_parser.drop_qp == 1\n"
	    "expect stat nic1.rx_parser.drop_pkey == 1\nexpect mem h1 dst:1040:8 == h0 src:0:8\n");
	go(&t, &(struct tb_run_how){ .ini = "" });
	tb_run_close(&t);
}

/* A lost packet takes its message with it, and the receive stays for the next. */
static void uc_message_with_a_lost_packet_leaves_its_receive(void)
{
	struct tb_run t;

	begin("qp h0 q0 type=UC peer=h1.q0 mtu=256\nqp h1 q0 type=UC peer=h0.q0 mtu=256\n"
	      "wire h0 h1 drop nth=2\n");
	put("recv h1.q0 id=1 sge=dst:0:1000\nrecv h1.q0 id=2 sge=dst:1000:1000\n"
	    "post h0.q0 id=1 op=SEND sge=src:0:1000\npost h0.q0 id=2 op=SEND sge=src:2000:900\n"
	    "post h0.q0 id=3 op=RDMA_WRITE sge=src:0:5000 remote=dst:8192\n"
	    "expect h0.q0 id=1 status=SUCCESS\nexpect h0.q0 id=2 status=SUCCESS\n"
	    "expect h1.q0 id=1 status=SUCCESS\nexpect h1.q0 id=2 none\n"
	    "expect mem h1 dst:0:900 == h0 src:2000:900\nexpect mem h1 dst:1000:1000 == fill\n"
	    "expect mem h1 dst:8192:5000 == h0 src:0:5000\n");
	go(&t, &(struct tb_run_how){ .ini = "" });
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic1.responder.acks_sent"), 0);
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic0.requester.timeouts"), 0);
	tb_run_close(&t);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_srq_tests[] = {
	TEST(srq_serves_qps_of_all_services_round_and_round),
	TEST(srq_wqes_come_back_in_any_order),
	TEST(srq_results_depend_on_neither_sleep_nor_order),
	TEST(srq_empty_is_rnr_on_rc_and_a_loss_on_the_others),
	TEST(srq_below_its_limit_is_noticed_once),
	TEST(srq_limit_set_beside_an_event_keeps_its_own),
	TEST(post_that_the_service_lacks_is_refused),
	TEST(datagram_is_as_long_as_the_ports_allow),
	TEST(datagram_too_long_for_its_receive_ends_it),
	TEST(datagram_that_nobody_takes_is_dropped),
	TEST(uc_message_with_a_lost_packet_leaves_its_receive),
	CU_TEST_INFO_NULL,
};
