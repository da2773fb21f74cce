/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_feed.c - records handed out in file order within the window, and mistakes met on the way
 */
#include "testbench/tb.h"

#include <stdio.h>
#include <stdlib.h>

#include "testbench/tb_system.h"

extern const struct block_class feed_class;

#define EXTRA 300u /* records beyond the window */

static struct tb tb;
static struct tb_system sys;
static struct tb_port *port[2];

/* A trace of the window's worth of records and 'extra' more, to both hosts in turn; then 'tail'. */
static void start(uint32_t extra, const char *tail, unsigned stall_out)
{
	uint32_t n = TRACE_WINDOW + extra;
	char set_in[64], set_out[64];
	char *text = x_calloc(n + 64, 64), *p = text;

	p += sprintf(p, "%s", TB_TWO_HOSTS);
	for (uint32_t i = 0; i < n; i++)
		p += sprintf(p, "post h%u.q0 id=%u op=SEND\n", i % 2, i / 2 + 1);
	sprintf(p, "%s", tail);
	tb_system_open(&sys, text);
	free(text);
	tb_stall_sets(&feed_class, 0, stall_out, set_in, set_out);
	tb_init(&tb, &feed_class, sys.s, (const char *[]){ set_in, set_out, NULL });
	port[0] = tb_sink(&tb, "rec0");
	port[1] = tb_sink(&tb, "rec1");
	tb_start(&tb);
}

static void finish(void)
{
	tb_end(&tb);
	tb_system_close(&sys);
}

/* Drop 'n' of the records that were read before time 0, as their hosts would. */
static void drop(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct host *h = &sys.s->hosts[i % 2];
		uint32_t handle = h->primed_head;

		h->primed_head = rec_at(&sys.s->recs, handle)->next;
		rec_free(&sys.s->recs, handle, &port[0]->b);
	}
}

/* The records beyond the window came in file order. */
static void check_order(void)
{
	CU_ASSERT_EQUAL(tb_stat(&tb, "records"), EXTRA);
	for (uint32_t i = 0; i < EXTRA; i++) {
		const struct trace_rec *m = tb_got(port[i % 2], i / 2);
		const struct rec *c;

		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		c = rec_at(&sys.s->recs, m->rec);
		CU_ASSERT_EQUAL(c->id, (TRACE_WINDOW + i) / 2 + 1);
		CU_ASSERT_EQUAL(c->host, i % 2);
		CU_ASSERT_EQUAL(c->seq, TRACE_WINDOW + i);
	}
}

static void feed_hands_out_what_the_window_lets_in(void)
{
	start(EXTRA, "", STALL_NONE);
	tb_run_for(&tb, 100);
	CU_ASSERT_EQUAL(sys.s->recs.in_use, TRACE_WINDOW);
	CU_ASSERT_EQUAL(port[0]->n_received, 0);
	drop(10);
	CU_ASSERT_EQUAL(sys.s->recs.in_use, TRACE_WINDOW - 10);
	tb_run_for(&tb, 100);
	CU_ASSERT_EQUAL(port[0]->n_received, 5);
	CU_ASSERT_EQUAL(port[1]->n_received, 5);
	CU_ASSERT_EQUAL(sys.s->recs.in_use, TRACE_WINDOW);
	drop(EXTRA);
	tb_run(&tb);
	CU_ASSERT_TRUE(sys.s->is_eof);
	check_order();
	finish();
}

static void feed_stalled_ports_keep_the_order(void)
{
	for (unsigned out = STALL_ALTERNATE; out <= STALL_LONG; out++) {
		start(EXTRA, "", out);
		drop(EXTRA);
		tb_run(&tb);
		check_order();
		finish();
	}
}

static void feed_full_of_waiting_records_is_named(void)
{
	struct err e = { 0 };

	start(1, "", STALL_NONE);
	tb_run_for(&tb, 100);
	CU_ASSERT_FALSE(feed_blocked(sys.s, &e));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(e.text, "system.trace:8: 65536 records are read ahead and none can run"));
	finish();
}

static void feed_mistake_in_mid_run_stops_the_run(void)
{
	start(2, "post h0.q0 id=99999 op=SEN\n", STALL_NONE);
	drop(10);
	tb_run(&tb);
	CU_ASSERT_EQUAL(tb_stat(&tb, "records"), 2);
	CU_ASSERT_TRUE(sys.s->err.is_set);
	CU_ASSERT_TRUE(tb.sim.stop);
	CU_ASSERT_PTR_NOT_NULL(strstr(sys.s->err.text, "system.trace:65546: "));
	finish();
}

CU_TestInfo test_feed_tests[] = {
	{ "feed_hands_out_what_the_window_lets_in", feed_hands_out_what_the_window_lets_in },
	{ "feed_full_of_waiting_records_is_named", feed_full_of_waiting_records_is_named },
	{ "feed_mistake_in_mid_run_stops_the_run", feed_mistake_in_mid_run_stops_the_run },
	{ "feed_stalled_ports_keep_the_order", feed_stalled_ports_keep_the_order },
	CU_TEST_INFO_NULL,
};
