/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_loss.c - goodput of RC over a wire that loses packets: go-back-N of WRITEs by its formula,
 * selective repeat above it, of SENDs and READs too (the curve itself: tools/loss-curve.sh); and what
 * a lost response to a READ or ATOMIC costs
 */
#include <CUnit/CUnit.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/packet/packet.h"
#include "models/packet/opcode.h"
#include "testbench/tb_file.h"
#include "testbench/tb_watch.h"

#define TRACE "traces/loss.trace"
#define NIC "[nic]\nprofile = generic-100g\n[link0]\nlength = 100m\n"
#define BAND 0.10  /* of the formula, below 1 % loss */
#define LOST 5000u /* packet that one run loses */

static const char *const slow[] = { "requester.react_delay=2us", "responder.nak_delay=2us", NULL };
static const char *const sr[] = { "requester.recovery=sr", "responder.recovery=sr", NULL };

struct result {
	double goodput; /* bits a ns */
	uint64_t gaps, resent, timeouts, dropped;
	uint64_t lost, sent_back; /* frames that the wire lost; that h1 sent */
	double repair_ns;         /* from the first transmission of packet LOST to its second */
};

/* The n-th data packet that h0 sent, and the next with its PSN. */
static double repair_ns(const struct tb_run *t)
{
	const struct tb_run_packet *first = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_packets; i++) {
		const struct tb_run_packet *p = &t->packets[i];

		if (p->nic != 0 || !p->is_tx)
			continue;
		if (++n == LOST)
			first = p;
		/* BTH of RoCEv2 over IPv4: bytes 42 to 53 */
		else if (first && memcmp(first->bytes + 51, p->bytes + 51, 3) == 0)
			return (double)(p->ps - first->ps) / 1e3;
	}
	return 0;
}

static struct result run_seed(const char *trace, double loss, const char *const *sets, bool keep,
			      uint64_t seed)
{
	static struct tb_watch w;
	static struct tb_run t;
	char ini[200];
	struct result r;
	uint64_t from = UINT64_MAX, to = 0, bytes = 0;

	snprintf(ini, sizeof(ini), NIC "loss = %.6f\n[scenario]\nseed = %" PRIu64 "\n", loss, seed);
	CU_ASSERT_FATAL(tb_run_open(&t, &(struct tb_run_how){ .trace = trace,
							      .ini = ini,
							      .sets = sets,
							      .no_checkers = true,
							      .keep_packets = keep }));
	tb_watch(&w, &t);
	CU_ASSERT_EQUAL(tb_run_go(&t), EXIT_OK);
	for (uint32_t i = 0; i < w.n_rows; i++) {
		from = min_u64(from, w.rows[i].t_ps[OP_POST]);
		to = max_u64(to, w.rows[i].t_ps[OP_CQE]);
		bytes += w.rows[i].bytes;
	}
	r = (struct result){ .goodput = 8e3 * (double)bytes / (double)(to - from),
			     .gaps = tb_run_stat(&t, "nic1.responder.gaps"),
			     .resent = tb_run_stat(&t, "nic0.requester.resent_packets"),
			     .timeouts = tb_run_stat(&t, "nic0.requester.timeouts"),
			     .dropped = tb_run_stat(&t, "nic1.responder.dropped"),
			     .lost = tb_run_stat(&t, "link0.lost"),
			     .sent_back = tb_run_stat(&t, "nic1.mac.tx_frames"),
			     .repair_ns = keep ? repair_ns(&t) : 0 };
	tb_watch_release(&w);
	tb_run_close(&t);
	return r;
}

static struct result run(const char *trace, double loss, const char *const *sets, bool keep)
{
	return run_seed(trace, loss, sets, keep, 1);
}

/* The trace with one packet lost, as a file of that name. */
static void write_one_loss(const char *path)
{
	FILE *in = fopen(TRACE, "r"), *out = fopen(path, "w");
	char line[300];

	CU_ASSERT_FATAL(in && out);
	while (fgets(line, sizeof(line), in)) {
		if (strncmp(line, "post", 4) == 0)
			fprintf(out, "wire h0 h1 drop nth=%u\n", LOST);
		fputs(line, out);
	}
	fclose(in);
	fclose(out);
}

/* What one loss costs go-back-N, in packets. */
static struct result one_loss(const char *const *sets)
{
	char path[300];

	snprintf(path, sizeof(path), "%s", tb_path("one-loss.trace"));
	write_one_loss(path);
	return run(path, 0, sets, true);
}

static bool is_as_formula(double goodput, double clean, double loss, double w)
{
	return fabs(goodput / clean * (1 + loss * w) - 1) <= BAND;
}

static void go_back_n_goodput_follows_the_formula(void)
{
	static const double loss[] = { 0.0003, 0.001, 0.003, 0.008 };
	double clean = run(TRACE, 0, NULL, false).goodput, w;
	struct result one = one_loss(NULL);

	/* W by time and by count: 1024 B and headers of a Middle, at 100 Gb/s */
	w = (double)one.gaps + 1;
	CU_ASSERT(fabs(one.repair_ns * 100 / (8 * (1024 + 58 + 24)) - w) < 1.5);
	CU_ASSERT_EQUAL(one.timeouts, 0);
	for (size_t i = 0; i < ARRAY_LEN(loss); i++) {
		double goodput = run(TRACE, loss[i], NULL, false).goodput;

		CU_ASSERT(is_as_formula(goodput, clean, loss[i], w));
		/* that the band sees something: half of W, twice W */
		CU_ASSERT(loss[i] < 0.005 || !is_as_formula(goodput, clean, loss[i], w / 2));
		CU_ASSERT(loss[i] < 0.005 || !is_as_formula(goodput, clean, loss[i], w * 2));
	}
}

/* The delays of NAK and reaction count as so many packets more. */
static void go_back_n_delays_add_to_the_cost_of_a_loss(void)
{
	double clean = run(TRACE, 0, slow, false).goodput, goodput;
	struct result fast = one_loss(NULL), one = one_loss(slow);

	CU_ASSERT(fabs(one.repair_ns - fast.repair_ns - 4000) < 200);
	CU_ASSERT(fabs((double)(one.gaps - fast.gaps) - 4000.0 * 100 / (8 * (1024 + 58 + 24))) <
		  2.5);
	goodput = run(TRACE, 0.003, slow, false).goodput;
	CU_ASSERT(is_as_formula(goodput, clean, 0.003, (double)one.gaps + 1));
	CU_ASSERT(!is_as_formula(goodput, clean, 0.003, (double)fast.gaps / 2));
}

static void selective_repeat_sends_only_what_was_lost(void)
{
	struct result clean = run(TRACE, 0, sr, false), one = one_loss(sr), lossy;

	CU_ASSERT_EQUAL(clean.resent, 0);
	CU_ASSERT_EQUAL(one.resent, 1);
	CU_ASSERT(one.goodput > 0.999 * clean.goodput);
	lossy = run(TRACE, 0.01, sr, false);
	CU_ASSERT(lossy.goodput > 0.9 * clean.goodput);
	CU_ASSERT(lossy.goodput > 1.5 * run(TRACE, 0.01, NULL, false).goodput);
	/* what a timeout sends again beside it may not be more */
	CU_ASSERT(lossy.resent < 2 * 20480 / 100);
	CU_ASSERT_EQUAL(lossy.dropped, 0);
}

#define N_LONG 80u /* messages of a bulk transfer, of so many packets each */
#define LONG_PKT 64u

/*
 * As a file, with so many READs outstanding. The timer is longer than what they wait for those before
 * them.
 */
static const char *write_deep_bulk(const char *op, uint32_t rd_atomic)
{
	bool is_send = strcmp(op, "SEND") == 0;
	static char path[300];
	char text[900];
	int n = snprintf(
		text, sizeof(text),
		"rnicsim-trace 1\nhost h0\nhost h1\n"
		"mr h0 src va=0x10000000 len=8MiB access=lw page=2MiB\n"
		"mr h1 dst va=0x20000000 len=8MiB access=lw,rw,rr page=2MiB\n"
		"qp h0 q0 type=RC peer=h1.q0 mtu=1024 timeout=4 rd_atomic=%u\n"
		"qp h1 q0 type=RC peer=h0.q0 mtu=1024 rq=128\n"
		"%s"
		"post h0.q0 id=1 op=%s repeat=%u window=16 sge=src:0:64KiB stride=64KiB%s\n",
		rd_atomic, is_send ? "recv h1.q0 id=2 sge=dst:0:64KiB repeat=80\n" : "", op, N_LONG,
		is_send ? "" : " remote=dst:0 rstride=64KiB");

	CU_ASSERT_FATAL(n > 0 && (size_t)n < sizeof(text));
	snprintf(path, sizeof(path), "%s", tb_write("bulk.trace", text, (size_t)n));
	return path;
}

static const char *write_bulk(const char *op)
{
	return write_deep_bulk(op, 16);
}

static void selective_repeat_is_no_slower_than_go_back_n(void)
{
	static const char *const ops[] = { "RDMA_WRITE", "SEND", "RDMA_READ" };
	static const double loss[] = { 0, 0.0001, 0.001, 0.01, 0.1 };

	for (size_t k = 0; k < ARRAY_LEN(ops); k++) {
		const char *trace = write_bulk(ops[k]);

		for (size_t i = 0; i < ARRAY_LEN(loss); i++) {
			double goodput = run(trace, loss[i], NULL, false).goodput;

			CU_ASSERT(run(trace, loss[i], sr, false).goodput >= 0.995 * goodput);
		}
	}
}

#define N_SEEDS 8u /* one packet in 5000 is lost twice and costs a timeout: none to three a run */

/* 1 packet in 100 is lost: goodput of all runs together, and sums. */
static struct result run_seeds(const char *trace, const char *const *sets)
{
	struct result sum = { 0 };
	double time = 0;

	for (uint32_t i = 0; i < N_SEEDS; i++) {
		struct result r = run_seed(trace, 0.01, sets, false, 1 + i);

		time += 1 / r.goodput;
		sum.sent_back += r.sent_back;
		sum.lost += r.lost;
	}
	sum.goodput = N_SEEDS / time;
	return sum;
}

/* Of READs that lose 1 packet in 100: most of the goodput is left, and few bytes come twice. */
static bool reads_lose_little(const char *trace, const char *const *sets)
{
	double clean = run(trace, 0, sets, false).goodput;
	struct result lossy = run_seeds(trace, sets);

	return lossy.goodput > 0.7 * clean &&
	       lossy.sent_back < N_SEEDS * N_LONG * LONG_PKT + 2 * lossy.lost;
}

static void selective_repeat_of_reads_brings_only_what_was_lost(void)
{
	static const char *const few[] = { "requester.recovery=sr", "responder.recovery=sr",
					   "requester.sr_window=8", "responder.sr_window=8", NULL };
	const char *trace = write_bulk("RDMA_READ");

	CU_ASSERT(reads_lose_little(trace, sr));
	/* what keeps nothing, or next to nothing, is noticed */
	CU_ASSERT_FALSE(reads_lose_little(trace, NULL));
	CU_ASSERT_FALSE(reads_lose_little(trace, few));
}

/* At 1 % loss, READs are as fast with 16 outstanding as with 4, which fill the window. */
static bool depth_costs_nothing(const char *const *sets)
{
	struct result few = run_seeds(write_deep_bulk("RDMA_READ", 4), sets);
	struct result many = run_seeds(write_deep_bulk("RDMA_READ", 16), sets);

	return many.goodput >= 0.999 * few.goodput && many.sent_back <= few.sent_back;
}

static void selective_repeat_of_many_reads_is_as_fast_as_of_few(void)
{
	static const char *const window[] = { "requester.recovery=sr", "responder.recovery=sr",
					      "requester.sr_window=256", "responder.sr_window=256",
					      NULL };

	CU_ASSERT(depth_costs_nothing(window));
	CU_ASSERT_FALSE(depth_costs_nothing(NULL)); /* go-back-N asks for all of them again */
}

/* Requests of one QP, and frames that the wire loses. */
struct answered_case {
	const char *post;
	const char *lose;
	uint32_t mtu;
};

#define READS "op=RDMA_READ repeat=8 window=8 stride=8 sge=back:0:8 remote=dst:0"
#define LONG_READS "op=RDMA_READ repeat=4 window=4 stride=2048 sge=back:0:2048 remote=dst:0"
#define ADDS "op=ATOMIC_FETCH_AND_ADD repeat=8 window=8 stride=0 sge=back:0:8 remote=dst:0 add=1"
#define MIXED \
	LONG_READS "\npost h0.q0 id=2 op=RDMA_WRITE sge=src:0:2048 remote=dst:16384" \
		   "\npost h0.q0 id=3 " ADDS

/* When the last of them has ended, in ps; *timeouts: of the requester. */
static uint64_t end_of(const struct answered_case *c, const char *const *sets, uint64_t *timeouts)
{
	static struct tb_watch w;
	static struct tb_run t;
	char text[1200];
	uint64_t to = 0;
	int n = snprintf(text, sizeof(text),
			 "rnicsim-trace 1\nhost h0\nhost h1\n"
			 "mr h0 src va=0x10000000 len=64KiB access=lw fill=inc\n"
			 "mr h0 back va=0x18000000 len=512KiB access=lw fill=zero\n"
			 "mr h1 dst va=0x20000000 len=512KiB access=lw,rw,rr,ra fill=zero\n"
			 "qp h0 q0 type=RC peer=h1.q0 mtu=%u timeout=8\n"
			 "qp h1 q0 type=RC peer=h0.q0 mtu=%u\n"
			 "%s\npost h0.q0 id=1 %s\n",
			 c->mtu, c->mtu, c->lose, c->post);

	CU_ASSERT_FATAL(n > 0 && (size_t)n < sizeof(text));
	CU_ASSERT_FATAL(tb_run_open(
		&t, &(struct tb_run_how){ .trace = tb_write("answered.trace", text, (size_t)n),
					  .ini = NIC,
					  .sets = sets }));
	tb_watch(&w, &t);
	CU_ASSERT_EQUAL(tb_run_go(&t), EXIT_OK);
	for (uint32_t i = 0; i < w.n_rows; i++)
		to = max_u64(to, w.rows[i].t_ps[OP_POLL]);
	if (strstr(c->post, "add=1")) { /* each once */
		uint8_t sum;

		tb_run_read(&t, "h1", "dst", 0, &sum, 1);
		CU_ASSERT_EQUAL(sum, 8);
	}
	*timeouts = tb_run_stat(&t, "nic0.requester.timeouts");
	tb_watch_release(&w);
	tb_run_close(&t);
	return to;
}

/* No slower than go-back-N, which waits for no timer, but for a few cycles. */
static bool is_no_slower(uint64_t ps, uint64_t gbn_ps)
{
	return ps <= gbn_ps + gbn_ps / 20;
}

/* For one lost response no timer runs out, however many requests wait behind it. */
static void selective_repeat_of_a_lost_response_waits_for_no_timer(void)
{
	static const struct answered_case cases[] = {
		{ READS, "wire h1 h0 drop nth=2", 256 },
		{ LONG_READS, "wire h1 h0 drop nth=3", 256 },
		{ LONG_READS, "wire h1 h0 drop nth=9", 256 },
		{ ADDS, "wire h1 h0 drop nth=2", 256 },
		{ MIXED, "wire h1 h0 drop nth=3", 256 },
	};
	/* the second answer too: that, the timer has to find, and the bound notices */
	static const struct answered_case again = { READS, "wire h1 h0 drop nth=2,9", 256 };
	uint64_t timeouts, gbn = 0;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		gbn = end_of(&cases[i], NULL, &timeouts);
		CU_ASSERT_EQUAL(timeouts, 0);
		CU_ASSERT(is_no_slower(end_of(&cases[i], sr, &timeouts), gbn));
		CU_ASSERT_EQUAL(timeouts, 0);
	}
	gbn = end_of(&cases[0], NULL, &timeouts);
	CU_ASSERT_FALSE(is_no_slower(end_of(&again, sr, &timeouts), gbn));
	CU_ASSERT_EQUAL(timeouts, 1);
}

/* Of one READ longer than the window a response is lost, and lost again when it is asked for. */
static void selective_repeat_of_a_response_lost_twice_waits_for_no_timer(void)
{
	static const struct {
		struct answered_case c;
		const char *sets[5];
	} cases[] = {
		{ { "op=RDMA_READ sge=back:0:256KiB remote=dst:0", "wire h1 h0 drop nth=11,73",
		    1024 },
		  { "requester.recovery=sr", "responder.recovery=sr" } },
		{ { "op=RDMA_READ sge=back:0:512KiB remote=dst:0", "wire h1 h0 drop nth=46,190,193",
		    1024 },
		  { "requester.recovery=sr", "responder.recovery=sr", "requester.sr_window=32",
		    "responder.sr_window=32" } },
	};
	uint64_t timeouts, gbn;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		gbn = end_of(&cases[i].c, NULL, &timeouts);
		CU_ASSERT(end_of(&cases[i].c, cases[i].sets, &timeouts) < 2 * gbn);
		CU_ASSERT_EQUAL(timeouts, 0);
	}
}

/* Requests and responses lost: no more timeouts than losses that only a timer can find. */
static void selective_repeat_of_lost_atomics_needs_no_more_timeouts_than_go_back_n(void)
{
	static const struct answered_case lossy = {
		ADDS, "wire h0 h1 drop nth=2,5\nwire h1 h0 drop nth=3", 256
	};
	uint64_t gbn_timeouts, timeouts, gbn = end_of(&lossy, NULL, &gbn_timeouts);

	CU_ASSERT(is_no_slower(end_of(&lossy, sr, &timeouts), gbn));
	CU_ASSERT(timeouts <= gbn_timeouts);
}

/* Whichever packet is lost, of either side, it costs one timeout at most, and no more time than go-back-N's. */
static void selective_repeat_of_any_single_loss_waits_for_one_timer(void)
{
	for (unsigned k = 1; k <= 120; k++) {
		char lose[40];
		struct answered_case c = { MIXED, lose, 256 };
		uint64_t gbn_timeouts, timeouts, gbn;

		snprintf(lose, sizeof(lose), "wire h%u h%u drop nth=%u", k % 2, 1 - k % 2,
			 (k + 1) / 2);
		gbn = end_of(&c, NULL, &gbn_timeouts);
		CU_ASSERT(is_no_slower(end_of(&c, sr, &timeouts), gbn));
		CU_ASSERT(timeouts <= gbn_timeouts && timeouts <= 1);
	}
}

/* READs of 1024 packets, at a timer shorter than one takes: what is behind the window comes in vain. */
static void selective_repeat_of_long_reads_is_no_slower_than_go_back_n(void)
{
	static const char text[] =
		"rnicsim-trace 1\nhost h0\nhost h1\n"
		"mr h0 back va=0x18000000 len=1MiB access=lw fill=zero\n"
		"mr h1 dst va=0x20000000 len=1MiB access=lw,rr fill=zero\n"
		"qp h0 q0 type=RC peer=h1.q0 mtu=1024 timeout=3\nqp h1 q0 type=RC peer=h0.q0 mtu=1024\n"
		"post h0.q0 id=1 op=RDMA_READ sge=back:0:1MiB remote=dst:0 repeat=4\n";
	static const uint64_t seeds[] = { 1, 2, 3, 5, 6, 11 };

	for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
		const char *trace = tb_write("long-reads.trace", text, sizeof(text) - 1);

		CU_ASSERT(run_seed(trace, 0.01, sr, false, seeds[i]).goodput >
			  run_seed(trace, 0.01, NULL, false, seeds[i]).goodput);
	}
}

static void recovery_that_differs_between_the_ends_is_refused(void)
{
	static const char *const wrong[][3] = {
		{ "requester.recovery=sr", NULL,
		  "nic0: requester.recovery = sr and responder.recovery = gbn; allowed: sr" },
		{ "nic1.responder.recovery=sr", NULL,
		  "nic1: requester.recovery = gbn and responder.recovery = sr; allowed: gbn" },
		{ "requester.sr_window=256", NULL, "allowed: up to" },
	};

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct tb_run t;

		CU_ASSERT_FALSE(
			tb_run_open(&t, &(struct tb_run_how){ .trace = TRACE, .sets = wrong[i] }));
		CU_ASSERT_PTR_NOT_NULL(strstr(t.err.text, wrong[i][2]));
		tb_run_close(&t);
	}
}

CU_TestInfo test_loss_tests[] = {
	{ "go-back-N goodput follows the formula", go_back_n_goodput_follows_the_formula },
	{ "go-back-N: delays add to the cost of a loss",
	  go_back_n_delays_add_to_the_cost_of_a_loss },
	{ "selective repeat sends only what was lost", selective_repeat_sends_only_what_was_lost },
	{ "selective repeat is no slower than go-back-N",
	  selective_repeat_is_no_slower_than_go_back_n },
	{ "selective repeat of READs brings only what was lost",
	  selective_repeat_of_reads_brings_only_what_was_lost },
	{ "selective repeat of many READs is as fast as of few",
	  selective_repeat_of_many_reads_is_as_fast_as_of_few },
	{ "selective repeat of a lost response waits for no timer",
	  selective_repeat_of_a_lost_response_waits_for_no_timer },
	{ "selective repeat of a response lost twice waits for no timer",
	  selective_repeat_of_a_response_lost_twice_waits_for_no_timer },
	{ "selective repeat of lost atomics needs no more timeouts than go-back-N",
	  selective_repeat_of_lost_atomics_needs_no_more_timeouts_than_go_back_n },
	{ "selective repeat of any single loss waits for one timer",
	  selective_repeat_of_any_single_loss_waits_for_one_timer },
	{ "selective repeat of long READs is no slower than go-back-N",
	  selective_repeat_of_long_reads_is_no_slower_than_go_back_n },
	{ "recovery that differs between the ends is refused",
	  recovery_that_differs_between_the_ends_is_refused },
	CU_TEST_INFO_NULL
};
