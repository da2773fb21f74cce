/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_recs.c - slots, tickets and the heap of records, each against a plain list
 */
#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#include "models/recs.h"
#include "sim/rng.h"

#define N 1000u

static struct recs r;

/* The plain list: the handle in 'live' that starts first. */
static uint32_t first_of(const uint32_t *live, uint32_t n)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < n; i++) {
		const struct rec *a = rec_at(&r, live[i]), *b = rec_at(&r, live[best]);

		if (a->start_ps < b->start_ps || (a->start_ps == b->start_ps && a->seq < b->seq))
			best = i;
	}
	return best;
}

/*
 * Pushes and pops at random; returns how often heap and list disagreed. 'fault' breaks the heap's
 * order once.
 */
static uint32_t heap_against_list(bool fault)
{
	uint32_t live[N], n = 0, root = REC_NONE, bad = 0;
	struct rng g;

	recs_init(&r, 1);
	rng_seed(&g, "heap", 3);
	for (uint32_t i = 0; i < 5 * N && !bad; i++) {
		if (n < N && (n == 0 || rng_below(&g, 5) < 3)) {
			uint32_t h = rec_alloc(&r, 0, 0, 0);

			rec_at(&r, h)->start_ps = rng_below(&g, 100);
			ready_push(&r, &root, h);
			live[n++] = h;
		} else {
			uint32_t k = first_of(live, n), h;

			if (fault && n > 10)
				rec_at(&r, root)->start_ps = 1000;
			h = ready_pop(&r, &root);
			bad += h != live[fault ? first_of(live, n) : k];
			live[k] = live[--n];
			rec_free(&r, h, NULL);
		}
	}
	recs_destroy(&r);
	return bad;
}

static void heap_pops_in_order_of_start_then_file(void)
{
	CU_ASSERT_EQUAL(heap_against_list(false), 0);
	CU_ASSERT_NOT_EQUAL(heap_against_list(true), 0); /* the seeded fault */
}

static void slot_is_usable_from_the_next_time_stamp_on(void)
{
	struct block by = { .now_ps = 500 };
	uint32_t a;

	recs_init(&r, 1);
	r.window = 2;
	a = rec_alloc(&r, 0, 0, 500);
	rec_alloc(&r, 0, 0, 500);
	CU_ASSERT_FALSE(recs_can_alloc(&r, 500));
	rec_free(&r, a, &by);
	CU_ASSERT_EQUAL(r.in_use, 1);
	CU_ASSERT_FALSE(recs_can_alloc(&r, 500));
	CU_ASSERT_TRUE(recs_can_alloc(&r, 501));
	CU_ASSERT_EQUAL(rec_alloc(&r, 0, 0, 501), a);
	recs_destroy(&r);
}

static void slot_with_many_segments_keeps_them_apart(void)
{
	struct rec *c;

	recs_init(&r, 1);
	for (uint32_t round = 0; round < 3; round++) {
		uint32_t h = rec_alloc(&r, round == 1 ? 1 : MAX_SGE, MAX_AFTER, 0);

		c = rec_at(&r, h);
		for (uint32_t i = 0; i < c->n_seg; i++)
			c->seg[i].mr = i;
		for (uint32_t i = 0; i < c->n_dep; i++)
			c->dep[i].ticket = 100 + i;
		for (uint32_t i = 0; i < c->n_seg; i++)
			CU_ASSERT_EQUAL(c->seg[i].mr, i);
		rec_free(&r, h, NULL);
	}
	CU_ASSERT_EQUAL(r.n_slots, 1);
	recs_destroy(&r);
}

/* Tickets open and close out of order; the list of open ones stays short and finds just those. */
static void ticket_list_follows_what_is_open(void)
{
	uint32_t open[64], n = 0;
	uint64_t ids[64], id = 0;
	struct rng g;

	recs_init(&r, 2);
	rng_seed(&g, "tickets", 4);
	for (uint32_t i = 0; i < 20000; i++) {
		if (n < 64 && (n == 0 || rng_below(&g, 2))) {
			id += 1 + rng_below(&g, 3);
			ids[n] = id;
			open[n++] = ticket_open(&r, 1, id, 1);
		} else {
			uint32_t k = (uint32_t)rng_below(&g, n);

			CU_ASSERT_EQUAL(ticket_find(&r, 1, ids[k]), open[k]);
			CU_ASSERT_EQUAL(ticket_done(&r, open[k]), 0);
			CU_ASSERT_EQUAL(ticket_find(&r, 1, ids[k]), TICKET_NONE);
			ids[k] = ids[--n];
			open[k] = open[n];
		}
	}
	CU_ASSERT_EQUAL(ticket_find(&r, 0, id), TICKET_NONE);
	CU_ASSERT_TRUE(r.n_tickets <= 64);
	CU_ASSERT_TRUE(r.live[1].cap <= 512);
	recs_destroy(&r);
}

static void ticket_with_its_last_completion_names_who_waits(void)
{
	uint32_t t, a, b, node, seen = 0;

	recs_init(&r, 1);
	t = ticket_open(&r, 0, 7, 2);
	a = rec_alloc(&r, 0, 1, 0);
	b = rec_alloc(&r, 0, 3, 0);
	rec_at(&r, b)->dep[0].ticket = rec_at(&r, b)->dep[1].ticket = TICKET_NONE;
	ticket_wait(&r, t, a, 0);
	ticket_wait(&r, t, b, 2);
	CU_ASSERT_EQUAL(ticket_done(&r, t), 0);
	CU_ASSERT_EQUAL(ticket_find(&r, 0, 7), t);
	node = ticket_done(&r, t);
	while (node) {
		uint32_t h = ticket_next_waiter(&r, &node);

		seen |= h == a ? 1 : h == b ? 2 : 4;
		CU_ASSERT_EQUAL(rec_at(&r, h)->n_wait, 1);
	}
	CU_ASSERT_EQUAL(seen, 3);
	CU_ASSERT_EQUAL(rec_at(&r, b)->dep[2].ticket, TICKET_NONE);
	recs_destroy(&r);
}

CU_TestInfo test_recs_tests[] = {
	{ "heap_pops_in_order_of_start_then_file", heap_pops_in_order_of_start_then_file },
	{ "slot_is_usable_from_the_next_time_stamp_on",
	  slot_is_usable_from_the_next_time_stamp_on },
	{ "slot_with_many_segments_keeps_them_apart", slot_with_many_segments_keeps_them_apart },
	{ "ticket_list_follows_what_is_open", ticket_list_follows_what_is_open },
	{ "ticket_with_its_last_completion_names_who_waits",
	  ticket_with_its_last_completion_names_who_waits },
	CU_TEST_INFO_NULL,
};
