/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_line_share.c - what each QP gets of the line in whole runs, measured on the frames at the port
 */
#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#include "models/mac.h"
#include "testbench/tb_file.h"
#include "testbench/tb_run.h"

#define LINK "[link0]\na = nic0\nb = nic1\nlength = 2m\n"
#define FIRST_QPN 0x100u
#define MAX_QPS 100u

/* One QP, its messages and how many of them wait at a time. */
struct load {
	const char *keys; /* of the QP that sends the bytes */
	uint32_t size, repeat, window;
};

/* What a QP put on the line, frames with preamble and gap. */
struct flow {
	uint64_t bytes;             /* all of it */
	uint64_t first_ps, last_ps; /* starts of the first and the last frame */
	/* behind its first quarter, when all in front of the line is full, while all QPs sent */
	uint64_t rest, rest_ps, end_ps;
	uint32_t last_bytes;
};

struct shares {
	struct flow flow[MAX_QPS];
	uint64_t bytes[MAX_QPS]; /* while all of them sent */
	uint64_t between;        /* mean bytes of one QP before another one's turn */
	uint64_t resent;         /* packets */
};

static const char *losses = ""; /* lines of the trace */
static const uint32_t *mtus;    /* by QP; NULL: that of the run */
static bool is_reading;         /* READs, whose bytes h1 sends; WRITEs otherwise */

static const char *trace_of(const struct load *l, uint32_t n, uint32_t mtu)
{
	static struct tb_text t;

	t.n = 0;
	tb_put(&t, "rnicsim-trace 1\nhost h0\nhost h1\n"
		   "mr h0 src va=0x10000000 len=1MiB access=lw fill=inc\n"
		   "mr h1 dst va=0x20000000 len=1MiB access=lw,rw,rr fill=zero\n");
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t h = 0; h < 2; h++)
			tb_put(&t, "qp h%u q%u type=RC peer=h%u.q%u mtu=%u sq=512 qpn=%u %s\n", h,
			       i, !h, i, mtus ? mtus[i] : mtu, FIRST_QPN + i,
			       h == is_reading ? l[i].keys : "");
	for (uint32_t i = 0; i < n; i++)
		if (l[i].repeat)
			tb_put(&t,
			       "post h0.q%u id=%u op=%s sge=src:0:%u remote=dst:0 repeat=%u "
			       "window=%u\n",
			       i, i + 1, is_reading ? "RDMA_READ" : "RDMA_WRITE", l[i].size,
			       l[i].repeat, l[i].window);
	tb_put(&t, "%s", losses);
	return tb_write("share.trace", t.at, t.n);
}

/* The QP of a frame of the NIC that sends the bytes, or MAX_QPS. */
static uint32_t qp_of(const struct tb_run_packet *p)
{
	const uint8_t *qpn = p->bytes + 42 + 5; /* Ethernet, IPv4, UDP; BTH: destination QP */
	uint32_t i = ((uint32_t)qpn[0] << 16 | (uint32_t)qpn[1] << 8 | qpn[2]) - FIRST_QPN;

	return p->nic == is_reading && p->is_tx && i < MAX_QPS ? i : MAX_QPS;
}

static uint32_t line_bytes(const struct tb_run *t, const struct tb_run_packet *p)
{
	return mac_line_bytes(&rnic_nic(&t->r, 0)->addr, p->len);
}

/* A frame from 'ps' on; the last one's bytes take time behind end_ps. */
static void add_rest(struct flow *f, uint64_t ps, uint32_t bytes)
{
	if (!f->rest_ps)
		f->rest_ps = ps;
	else
		f->rest += f->last_bytes;
	f->last_bytes = bytes;
	f->end_ps = ps;
}

static void measure(const struct tb_run *t, uint32_t n, struct shares *s)
{
	uint64_t from = 0, to = UINT64_MAX, all = 0, turns = 0, seen[MAX_QPS] = { 0 };
	uint32_t last = MAX_QPS;

	memset(s, 0, sizeof(*s));
	for (uint32_t k = 0; k < t->n_packets; k++) {
		const struct tb_run_packet *p = &t->packets[k];
		uint32_t i = qp_of(p);

		if (i == MAX_QPS)
			continue;
		if (!s->flow[i].bytes)
			s->flow[i].first_ps = p->ps;
		s->flow[i].last_ps = p->ps;
		s->flow[i].bytes += line_bytes(t, p);
	}
	for (uint32_t i = 0; i < n; i++) {
		from = max_u64(from, s->flow[i].first_ps);
		to = min_u64(to, s->flow[i].last_ps);
	}
	for (uint32_t k = 0; k < t->n_packets; k++) {
		const struct tb_run_packet *p = &t->packets[k];
		uint32_t i = qp_of(p);

		if (i == MAX_QPS)
			continue;
		seen[i] += line_bytes(t, p);
		if (seen[i] * 4 > s->flow[i].bytes && p->ps <= to)
			add_rest(&s->flow[i], p->ps, line_bytes(t, p));
		if (p->ps < from || p->ps >= to)
			continue;
		s->bytes[i] += line_bytes(t, p);
		all += line_bytes(t, p);
		turns += i != last;
		last = i;
	}
	s->between = turns ? all / turns : 0;
	s->resent = tb_run_stat(t, "nic0.requester.resent_packets");
}

static void run(const struct load *l, uint32_t n, uint32_t mtu, const char *const *sets,
		struct shares *s)
{
	struct tb_run t;

	tb_run_ok(&t, &(struct tb_run_how){ .trace = trace_of(l, n, mtu),
					    .ini = LINK "[workload]\ncores = 2\n",
					    .sets = sets,
					    .keep_packets = true,
					    .no_checkers = true });
	measure(&t, n, s);
	tb_run_close(&t);
}

/* QPs whose bytes are more than 'percent' from the mean. */
static uint32_t unfair(const struct shares *s, uint32_t n, uint32_t percent)
{
	uint64_t sum = 0;
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += s->bytes[i];
	for (uint32_t i = 0; i < n; i++)
		wrong += s->bytes[i] * n * 100 > sum * (100 + percent) ||
			 s->bytes[i] * n * 100 < sum * (100 - percent);
	return wrong + (sum == 0);
}

/* Bits a second. */
static uint64_t rate_of(const struct flow *f)
{
	return f->rest * 8 * (PS_PER_S / PS_PER_NS) / ((f->end_ps - f->rest_ps) / PS_PER_NS + 1);
}

static bool is_about(uint64_t got, uint64_t want)
{
	return got > want - want / 50 && got < want + want / 50;
}

static void line_long_and_short_messages_get_equal_bytes(void)
{
	static const struct load two[] = { { "", 65536, 24, 16 }, { "", 2048, 1200, 400 } };
	static const struct load three[] = { { "", 524288, 3, 3 },
					     { "", 16384, 200, 64 },
					     { "", 4096, 800, 200 } };
	static const struct load capped[] = { { "rate=40Gbps", 65536, 24, 16 },
					      { "", 2048, 1200, 400 } };
	struct shares s;

	for (uint32_t mtu = 1024; mtu <= 4096; mtu *= 4) {
		run(two, 2, mtu, NULL, &s);
		CU_ASSERT_EQUAL(unfair(&s, 2, 3), 0);
		run(three, 3, mtu, NULL, &s);
		CU_ASSERT_EQUAL(unfair(&s, 3, 3), 0);
	}
	run(capped, 2, 1024, NULL, &s); /* the oracle itself */
	CU_ASSERT(unfair(&s, 2, 3) > 0);
}

/* Every second of many QPs has long messages. */
static void line_many_qps_get_equal_bytes(void)
{
	struct load l[MAX_QPS];
	struct shares s;

	for (uint32_t i = 0; i < MAX_QPS; i++)
		l[i] = i % 2 ? (struct load){ "", 65536, 2, 2 }
			     : (struct load){ "", 1024, 128, 64 };
	run(l, MAX_QPS, 1024, NULL, &s);
	CU_ASSERT_EQUAL(unfair(&s, MAX_QPS, 10), 0);
}

static void line_quantum_is_what_a_turn_sends(void)
{
	static const struct load l[] = { { "", 262144, 4, 4 }, { "", 262144, 4, 4 } };
	static const struct {
		const char *set;
		uint64_t bytes;
	} quanta[] = { { "requester.quantum=1KiB", 1024 },
		       { "requester.quantum=4KiB", 4096 },
		       { "requester.quantum=16KiB", 16384 },
		       { "requester.quantum=64KiB", 65536 } };
	struct shares s;

	for (size_t i = 0; i < ARRAY_LEN(quanta); i++) {
		run(l, 2, 1024, (const char *[]){ quanta[i].set, NULL }, &s);
		CU_ASSERT(s.between + 2000 > quanta[i].bytes && s.between < quanta[i].bytes + 2000);
	}
}

#define STRICT \
	(const char *[]) \
	{ \
		"requester.strict=on", "qp_sched.strict=on", "responder.strict=on", NULL \
	}

static void line_low_priority_gets_what_is_left(void)
{
	static const struct load all[] = { { "prio=6", 65536, 30, 16 },
					   { "prio=1", 65536, 30, 16 } };
	static const struct load capped[] = { { "prio=6 rate=30Gbps", 65536, 15, 15 },
					      { "prio=1", 65536, 60, 16 } };
	struct shares s;

	run(all, 2, 1024, STRICT, &s);
	/* it starves until the other has ended */
	CU_ASSERT(s.bytes[1] * 50 <= s.bytes[0]);
	CU_ASSERT(s.flow[1].first_ps > s.flow[0].rest_ps);
	run(all, 2, 1024, NULL, &s); /* the oracle itself: without, it does not */
	CU_ASSERT_EQUAL(unfair(&s, 2, 3), 0);
	run(capped, 2, 1024, STRICT, &s);
	CU_ASSERT(is_about(rate_of(&s.flow[0]), 30 * GBPS));
	CU_ASSERT(is_about(s.bytes[1] * 3, s.bytes[0] * 7));
}

/* About half a millisecond of 'size' at 'gbps', alone and beside one without a cap. */
static void check_cap(uint64_t gbps, uint32_t size)
{
	uint32_t repeat = (uint32_t)max_u64(1, min_u64(12000, gbps * 62500 / size));
	uint64_t us = (uint64_t)repeat * size / (gbps * 125);
	uint32_t n = us < 1000 && gbps < 50 ? 2 : 1; /* beyond, a fair share is less */
	char keys[32];
	struct load l[] = { { keys, size, repeat, repeat < 400 ? repeat : 400 },
			    { "", 65536, (uint32_t)(1 + us / 6), 16 } };
	struct shares s;

	snprintf(keys, sizeof(keys), "rate=%uGbps", (unsigned)gbps);
	for (; n; n--) {
		run(l, n, 4096, NULL, &s);
		CU_ASSERT(is_about(rate_of(&s.flow[0]), gbps * GBPS));
		/* the oracle itself */
		CU_ASSERT(!is_about(rate_of(&s.flow[0]), gbps * GBPS * 105 / 100));
	}
}

static void line_caps_hold_for_any_size(void)
{
	static const uint64_t gbps[] = { 1, 10, 25, 50, 90 };

	for (size_t k = 0; k < ARRAY_LEN(gbps); k++) {
		if (gbps[k] <= 10) /* a QP sends about 12 M messages a second */
			check_cap(gbps[k], 64);
		check_cap(gbps[k], 1024);
		check_cap(gbps[k], 65536);
		check_cap(gbps[k], 1u << 20);
	}
}

/* What is sent again counts as what is sent. */
static void line_cap_counts_what_is_sent_again(void)
{
	static const struct load l[] = { { "rate=10Gbps", 65536, 30, 30 }, { "", 65536, 200, 16 } };
	static const char *const recoveries[] = { "gbn", "sr" };

	for (size_t i = 0; i < ARRAY_LEN(recoveries); i++) {
		char req[64], rsp[64];
		struct shares s;
		uint64_t net = 30 * 65536;

		snprintf(req, sizeof(req), "requester.recovery=%s", recoveries[i]);
		snprintf(rsp, sizeof(rsp), "responder.recovery=%s", recoveries[i]);
		losses = "wire h0 h1 drop nth=1000,2000,3000,4000,5000,6000,7000,8000\n";
		run(l, 2, 1024, (const char *[]){ req, rsp, NULL }, &s);
		losses = "";
		CU_ASSERT(s.resent >= 8);
		CU_ASSERT(is_about(rate_of(&s.flow[0]), 10 * GBPS));
		CU_ASSERT(s.flow[0].bytes > net + net / 13); /* headers alone are a thirteenth */
	}
}

/* A message takes half a millisecond to leave, and the ACK timer runs a tenth of that: it waits for the end. */
static void line_cap_does_not_run_into_the_ack_timer(void)
{
	static const struct load l[] = { { "rate=1Gbps", 65536, 4, 4 } };
	static const char *const rtos[] = { "low_high", "doubling", "estimated" };

	for (size_t i = 0; i < 2 * ARRAY_LEN(rtos); i++) {
		const char *recovery = i % 2 ? "sr" : "gbn";
		char rto[64], req[64], rsp[64];
		struct shares s;

		snprintf(rto, sizeof(rto), "requester.rto=%s", rtos[i / 2]);
		snprintf(req, sizeof(req), "requester.recovery=%s", recovery);
		snprintf(rsp, sizeof(rsp), "responder.recovery=%s", recovery);
		run(l, 1, 1024,
		    (const char *[]){ rto, "requester.rto_min=50us", "requester.rto_max=50us", req,
				      rsp, NULL },
		    &s);
		CU_ASSERT_EQUAL(s.resent, 0);
		CU_ASSERT(is_about(rate_of(&s.flow[0]), GBPS));
	}
}

/* Time of one without a cap, of 4 MB, beside sixty QPs of 20 Mb/s with much to send. */
static uint64_t time_beside_sixty(const char *ahead_time)
{
	struct load l[61];
	struct shares s;

	for (uint32_t i = 0; i < 61; i++)
		l[i] = i ? (struct load){ "rate=20Mbps", 256, 16, 16 }
			 : (struct load){ "", 65536, 60, 16 };
	run(l, 61, 1024,
	    (const char *[]){ "wqe_fetch.wqe_slots=300", "wqe_fetch.prefetch=4", ahead_time, NULL },
	    &s);
	return s.flow[0].last_ps - s.flow[0].first_ps;
}

static void line_capped_qps_hold_no_one_up(void)
{
	CU_ASSERT(time_beside_sixty("requester.ahead_time=4us") < 370 * PS_PER_US);
	CU_ASSERT(time_beside_sixty("requester.ahead_time=1s") >
		  700 * PS_PER_US); /* the oracle itself */
}

/* Bytes go by weight, of requests as of responses: quarters, and three quarters. */
static void line_bytes_go_by_weight(void)
{
	static const struct load l[] = { { "weight=3", 65536, 36, 16 }, { "", 65536, 12, 12 } };
	struct shares s;

	for (unsigned k = 0; k < 2; k++) {
		is_reading = k;
		run(l, 2, 1024, NULL, &s);
		CU_ASSERT(is_about(s.bytes[0], 3 * s.bytes[1]));
		CU_ASSERT(!is_about(s.bytes[0], 2 * s.bytes[1])); /* the oracle itself */
	}
	is_reading = false;
}

/* The same of responses to READs, with packets of different lengths. */
static void line_responses_get_equal_bytes(void)
{
	static const struct load two[] = { { "", 65536, 24, 16 }, { "", 65536, 24, 16 } };
	static const struct load three[] = { { "", 524288, 3, 3 },
					     { "", 16384, 200, 64 },
					     { "", 32768, 100, 64 } };
	static const struct load capped[] = { { "rate=40Gbps", 65536, 24, 16 },
					      { "", 65536, 24, 16 } };
	struct shares s;

	is_reading = true;
	mtus = (const uint32_t[]){ 4096, 256, 1024 };
	run(two, 2, 0, NULL, &s);
	CU_ASSERT_EQUAL(unfair(&s, 2, 3), 0);
	run(three, 3, 0, NULL, &s);
	CU_ASSERT_EQUAL(unfair(&s, 3, 3), 0);
	run(capped, 2, 0, NULL, &s); /* the oracle itself */
	CU_ASSERT(unfair(&s, 2, 3) > 0);
	mtus = NULL;
	is_reading = false;
}

static void line_responses_of_low_priority_wait(void)
{
	static const struct load l[] = { { "prio=6", 65536, 30, 16 }, { "prio=1", 65536, 30, 16 } };
	struct shares s;

	is_reading = true;
	run(l, 2, 1024, STRICT, &s);
	CU_ASSERT(s.bytes[1] * 20 <= s.bytes[0]);
	run(l, 2, 1024, NULL, &s); /* the oracle itself: without, they do not */
	CU_ASSERT_EQUAL(unfair(&s, 2, 3), 0);
	is_reading = false;
}

static void line_caps_hold_for_responses(void)
{
	static const struct load l[] = { { "rate=10Gbps", 65536, 20, 16 }, { "", 65536, 200, 16 } };
	struct shares s;

	is_reading = true;
	for (uint32_t n = 1; n <= 2; n++) {
		run(l, n, 1024, NULL, &s);
		CU_ASSERT(is_about(rate_of(&s.flow[0]), 10 * GBPS));
	}
	run(&l[1], 1, 1024, NULL, &s); /* the oracle itself */
	CU_ASSERT(rate_of(&s.flow[0]) > 80 * GBPS);
	is_reading = false;
}

/* Time from one READ of 1 KiB to the next, ps, beside READs of 1 MiB of another QP. */
static uint64_t time_of_short_reads(const char *const *sets)
{
	static const struct load l[] = { { "", 1u << 20, 8, 8 }, { "", 1024, 5, 1 } };
	struct shares s;

	is_reading = true;
	run(l, 2, 1024, sets, &s);
	is_reading = false;
	CU_ASSERT(s.flow[0].last_ps > s.flow[1].last_ps);
	return (s.flow[1].last_ps - s.flow[1].first_ps) / (l[1].repeat - 1);
}

static void line_long_reads_do_not_hold_up_short_ones(void)
{
	CU_ASSERT(time_of_short_reads(NULL) < 12 * PS_PER_US);
	CU_ASSERT(time_of_short_reads((const char *[]){ "responder.quantum=1MiB",
							"responder.burst=1024", NULL }) >
		  25 * PS_PER_US); /* the oracle itself */
}

static char *summary(const char *path, enum step_order order, bool every_cycle)
{
	struct tb_run t;
	char *s;

	tb_run_ok(&t, &(struct tb_run_how){ .trace = path,
					    .ini = LINK,
					    .sets = STRICT,
					    .order = order,
					    .every_cycle = every_cycle });
	s = tb_run_summary(&t);
	tb_run_close(&t);
	return s;
}

/* Caps, priorities, losses, long and short messages. */
static void check_step_order(void)
{
	static const struct load l[] = { { "rate=7Gbps prio=5", 3000, 12, 12 },
					 { "prio=5", 65536, 3, 3 },
					 { "rate=1Gbps prio=6", 64, 40, 40 },
					 { "", 16384, 6, 6 },
					 { "rate=30Gbps", 700, 60, 60 } };
	const char *path;
	char *want;

	losses = "wire h0 h1 drop nth=60\n";
	path = trace_of(l, ARRAY_LEN(l), 1024);
	losses = "";
	want = summary(path, ORDER_FORWARD, false);
	for (unsigned i = 0; i < 3; i++) {
		char *got = summary(path, i == 0 ? ORDER_REVERSED : ORDER_SHUFFLED, i == 2);

		CU_ASSERT_STRING_EQUAL(got, want);
		free(got);
	}
	free(want);
}

static void line_step_order_and_sleeping_change_nothing(void)
{
	check_step_order();
	is_reading = true;
	check_step_order();
	is_reading = false;
}

CU_TestInfo test_line_share_tests[] = {
	{ "long and short messages get equal bytes", line_long_and_short_messages_get_equal_bytes },
	{ "many QPs get equal bytes", line_many_qps_get_equal_bytes },
	{ "quantum is what a turn sends", line_quantum_is_what_a_turn_sends },
	{ "low priority gets what is left", line_low_priority_gets_what_is_left },
	{ "caps hold for any size", line_caps_hold_for_any_size },
	{ "cap counts what is sent again", line_cap_counts_what_is_sent_again },
	{ "cap does not run into the ACK timer", line_cap_does_not_run_into_the_ack_timer },
	{ "capped QPs hold no one up", line_capped_qps_hold_no_one_up },
	{ "bytes go by weight", line_bytes_go_by_weight },
	{ "responses get equal bytes", line_responses_get_equal_bytes },
	{ "responses of low priority wait", line_responses_of_low_priority_wait },
	{ "caps hold for responses", line_caps_hold_for_responses },
	{ "long READs do not hold up short ones", line_long_reads_do_not_hold_up_short_ones },
	{ "step order and sleeping change nothing", line_step_order_and_sleeping_change_nothing },
	CU_TEST_INFO_NULL
};
