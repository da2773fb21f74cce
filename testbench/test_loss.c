/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_loss.c - goodput of RC WRITE over a wire that loses packets: go-back-N by its formula,
 * selective repeat above it (the curve itself: tools/loss-curve.sh)
 */
#include <CUnit/CUnit.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/packet.h"
#include "models/opcode.h"
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
	double repair_ns; /* from the first transmission of packet LOST to its second */
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

static struct result run(const char *trace, double loss, const char *const *sets, bool keep)
{
	static struct tb_watch w;
	static struct tb_run t;
	char ini[200];
	struct result r;
	uint64_t from = UINT64_MAX, to = 0, bytes = 0;

	snprintf(ini, sizeof(ini), NIC "loss = %.6f\n", loss);
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
			     .repair_ns = keep ? repair_ns(&t) : 0 };
	tb_watch_release(&w);
	tb_run_close(&t);
	return r;
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

static void recovery_that_differs_between_the_ends_is_refused(void)
{
	static const char *const wrong[][3] = {
		{ "requester.recovery=sr", NULL },
		{ "nic1.responder.recovery=sr", NULL },
		{ "requester.sr_window=256", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct tb_run t;

		CU_ASSERT_FALSE(
			tb_run_open(&t, &(struct tb_run_how){ .trace = TRACE, .sets = wrong[i] }));
		CU_ASSERT(strstr(t.err.text, "allowed") != NULL);
		tb_run_close(&t);
	}
}

CU_TestInfo test_loss_tests[] = {
	{ "go-back-N goodput follows the formula", go_back_n_goodput_follows_the_formula },
	{ "go-back-N: delays add to the cost of a loss",
	  go_back_n_delays_add_to_the_cost_of_a_loss },
	{ "selective repeat sends only what was lost", selective_repeat_sends_only_what_was_lost },
	{ "recovery that differs between the ends is refused",
	  recovery_that_differs_between_the_ends_is_refused },
	CU_TEST_INFO_NULL
};
