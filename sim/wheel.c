/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wheel.c - one clock domain: exact edges, and the timing wheel of its sleeping blocks
 *
 * A block has at most one pending wake-up, its earliest. Most wake at the next cycle: they stand in an
 * array, and as nothing is earlier none is ever taken off. For the others the queue is the blocks
 * themselves, linked into circular lists: a near wheel with a slot for each cycle of the current page,
 * a far wheel with a slot for each page, and a sorted list beyond it. Where a block hangs follows from its
 * wake-up cycle and the current page, so waking is unlink and link: no allocation, no comparison of
 * events, and a cost that does not grow with the number of blocks pending.
 */
#include <stdlib.h>

#include "sim/chan.h"

/* ---- time ---- */

/* floor(a / b), where 'inv' = floor((2^64 - 1) / b): a product, which is one too small at most. */
static inline uint64_t divide(uint64_t a, uint64_t b, uint64_t inv)
{
	uint64_t q = (uint64_t)((u128)a * inv >> 64);

	return q + (a - q * b >= b);
}

/* edge = floor(cyc x num / den); in 64 bits for as long as the remainder's product fits. */
__attribute__((noinline)) uint64_t domain_edge_slow(const struct domain *d, uint64_t cyc)
{
	uint64_t part;

	if (__builtin_mul_overflow(cyc, d->period_r, &part))
		return cyc * d->period_q + (uint64_t)((u128)cyc * d->period_r / d->period_den);
	return cyc * d->period_q + divide(part, d->period_den, d->inv_den);
}

/* The least k with floor(k x num / den) >= ps, which is ceil(ps x den / num). */
uint64_t domain_cycle_at(const struct domain *d, uint64_t ps)
{
	uint64_t part, cyc;

	if (__builtin_mul_overflow(ps, d->period_den, &part))
		return (uint64_t)(((u128)ps * d->period_den + d->period_num - 1) / d->period_num);
	cyc = divide(part, d->period_num, d->inv_num);
	return cyc + (cyc * d->period_num != part);
}

uint64_t block_cycles_of_ps(const struct block *b, uint64_t ps)
{
	return (uint64_t)(((u128)ps * b->dom->hz + PS_PER_S - 1) / PS_PER_S);
}

/* ---- lists ---- */

/* True when the list was empty. */
static inline bool list_append(struct block **head, struct block *b)
{
	struct block *h = *head;

	if (!h) {
		b->next = b->prev = b;
		*head = b;
		return true;
	}
	b->next = h;
	b->prev = h->prev;
	h->prev->next = b;
	h->prev = b;
	return false;
}

/* True when the list is empty now. */
static inline bool list_remove(struct block **head, struct block *b)
{
	if (b->next == b) {
		*head = NULL;
		return true;
	}
	b->prev->next = b->next;
	b->next->prev = b->prev;
	if (*head == b)
		*head = b->next;
	return false;
}

/* A slot of a wheel: a list, and a bit that says whether it is empty. */
static inline void slot_append(struct block **wheel, uint64_t *used, uint32_t s, struct block *b)
{
	if (list_append(&wheel[s], b))
		used[s / 64] |= 1ull << (s % 64);
}

static inline void slot_remove(struct block **wheel, uint64_t *used, uint32_t s, struct block *b)
{
	if (list_remove(&wheel[s], b))
		used[s / 64] &= ~(1ull << (s % 64));
}

static inline struct block *slot_take(struct block **wheel, uint64_t *used, uint32_t s)
{
	struct block *list = wheel[s];

	wheel[s] = NULL;
	used[s / 64] &= ~(1ull << (s % 64));
	return list;
}

/* Keep the overflow list sorted: the place is looked for from the end, where later wake-ups arrive. */
static void overflow_insert(struct domain *d, struct block *b)
{
	struct block *at;

	if (!d->overflow || b->wake_cyc < d->overflow->wake_cyc) {
		list_append(&d->overflow, b);
		d->overflow = b;
		return;
	}
	for (at = d->overflow->prev; at->wake_cyc > b->wake_cyc; at = at->prev)
		;
	b->prev = at;
	b->next = at->next;
	at->next->prev = b;
	at->next = b;
}

/* ---- the wheel ---- */

static void wheel_link(struct domain *d, struct block *b)
{
	uint64_t page = b->wake_cyc >> WHEEL_BITS;

	SIM_CHECK(page >= d->page, b);
	if (page == d->page)
		slot_append(d->near, d->near_used, b->wake_cyc & (WHEEL_SLOTS - 1), b);
	else if (page - d->page < WHEEL_PAGES)
		slot_append(d->far, d->far_used, page & (WHEEL_PAGES - 1), b);
	else
		overflow_insert(d, b);
}

static void wheel_unlink(struct domain *d, struct block *b)
{
	uint64_t page = b->wake_cyc >> WHEEL_BITS;

	if (page == d->page)
		slot_remove(d->near, d->near_used, b->wake_cyc & (WHEEL_SLOTS - 1), b);
	else if (page - d->page < WHEEL_PAGES)
		slot_remove(d->far, d->far_used, page & (WHEEL_PAGES - 1), b);
	else
		list_remove(&d->overflow, b);
}

static __attribute__((noinline)) void next_is(struct domain *d, uint64_t cyc)
{
	d->next_cyc = cyc;
	d->next_ps = cyc == CYCLE_NEVER ? TIME_NEVER : domain_edge(d, cyc);
}

static __attribute__((noinline)) void wake_other(struct domain *d, struct block *b, uint64_t cyc)
{
	if (b->wake_cyc != CYCLE_NEVER)
		wheel_unlink(d, b);
	b->wake_cyc = cyc;
	if (cyc == d->soon_cyc)
		d->soon[d->n_soon++] = b;
	else
		wheel_link(d, b);
	if (cyc < d->next_cyc)
		next_is(d, cyc);
}

static inline void wake(struct domain *d, struct block *b, uint64_t cyc)
{
	if (b->wake_cyc <= cyc)
		return;
	/* most of the time a block sleeps, and wakes at the next cycle or on this page */
	if (b->wake_cyc != CYCLE_NEVER) {
		wake_other(d, b, cyc);
		return;
	}
	if (cyc == d->soon_cyc)
		d->soon[d->n_soon++] = b;
	else if (cyc >> WHEEL_BITS == d->page)
		slot_append(d->near, d->near_used, cyc & (WHEEL_SLOTS - 1), b);
	else {
		wake_other(d, b, cyc);
		return;
	}
	b->wake_cyc = cyc;
	if (cyc < d->next_cyc)
		next_is(d, cyc);
}

void block_wake(struct block *b, uint64_t cyc)
{
	wake(b->dom, b, cyc);
}

/* First set bit at or after 'from' of a map of n bits, or n. */
static uint32_t bit_next(const uint64_t *map, uint32_t n, uint32_t from)
{
	uint32_t w = from / 64;
	uint64_t rest;

	if (from >= n)
		return n;
	rest = map[w] >> (from % 64);
	if (rest)
		return from + (uint32_t)__builtin_ctzll(rest);
	while (++w < n / 64)
		if (map[w])
			return w * 64 + (uint32_t)__builtin_ctzll(map[w]);
	return n;
}

/* Earliest wake-up on the far wheel and beyond: the first page in use holds it, in no order. */
static uint64_t far_next(const struct domain *d)
{
	uint32_t here = d->page & (WHEEL_PAGES - 1);
	uint32_t s = bit_next(d->far_used, WHEEL_PAGES, here + 1);
	uint64_t first = CYCLE_NEVER;
	const struct block *b;

	if (s == WHEEL_PAGES)
		s = bit_next(d->far_used, WHEEL_PAGES, 0);
	if (s == WHEEL_PAGES)
		return d->overflow ? d->overflow->wake_cyc : CYCLE_NEVER;
	b = d->far[s];
	do {
		first = min_u64(first, b->wake_cyc);
		b = b->next;
	} while (b != d->far[s]);
	return first;
}

static __attribute__((noinline)) void find_later(struct domain *d, uint64_t after)
{
	uint32_t s = bit_next(d->near_used, WHEEL_SLOTS, (uint32_t)(after & (WHEEL_SLOTS - 1)) + 1);

	next_is(d, s < WHEEL_SLOTS ? (d->page << WHEEL_BITS) + s : far_next(d));
}

static inline void find_next(struct domain *d, uint64_t after)
{
	if (!d->n_soon) {
		find_later(d, after);
		return;
	}
	d->next_cyc = d->soon_cyc;
	d->next_ps = domain_edge(d, d->soon_cyc);
}

/* Make 'page' the current one: its blocks move to the near wheel, those in reach to the far wheel. */
static void turn_page(struct domain *d, uint64_t page)
{
	struct block *b, *list = slot_take(d->far, d->far_used, page & (WHEEL_PAGES - 1));

	d->page = page;
	while ((b = list)) {
		list_remove(&list, b);
		wheel_link(d, b);
	}
	while ((b = d->overflow) && (b->wake_cyc >> WHEEL_BITS) - page < WHEEL_PAGES) {
		list_remove(&d->overflow, b);
		wheel_link(d, b);
	}
}

/* ---- one edge ---- */

/* Earliest cycle at which the head of an input that is not visible yet becomes so. */
static uint64_t inputs_next(const struct block *b)
{
	uint64_t pending = b->in_pending, first = CYCLE_NEVER;

	for (; pending; pending &= pending - 1) {
		uint64_t ready = b->inputs[__builtin_ctzll(pending)]->visible_cyc;

		if (ready > b->cycle)
			first = min_u64(first, ready);
	}
	return first;
}

static inline void step_block(struct sim *s, struct domain *d, struct block *b, uint64_t cyc)
{
	uint64_t at;

	b->wake_cyc = CYCLE_NEVER;
	b->rearm_cyc = CYCLE_NEVER;
	b->cycle = cyc;
	b->now_ps = s->now_ps;
	at = b->step(b);
	at = min_u64(at, b->rearm_cyc);
	if (b->in_pending)
		at = min_u64(at, inputs_next(b));
	if (__builtin_expect(s->observer != NULL, 0))
		s->observer->stepped(s->observer, b);
	if (at != CYCLE_NEVER) {
		SIM_CHECK(at > cyc, b);
		wake(d, b, at);
	}
}

static int by_index_descending(const void *a, const void *b)
{
	const struct block *x = *(struct block *const *)a, *y = *(struct block *const *)b;

	return x->index < y->index ? 1 : -1;
}

/* Another order than that in which the blocks were woken. */
static void __attribute__((noinline)) reorder(struct sim *s, struct block **run, uint32_t n)
{
	qsort(run, n, sizeof(struct block *), by_index_descending);
	for (uint32_t i = n; s->order == ORDER_SHUFFLED && i > 1; i--) {
		uint32_t j = (uint32_t)rng_below(&s->order_rng, i);
		struct block *b = run[j];

		run[j] = run[i - 1];
		run[i - 1] = b;
	}
}

void domain_reserve(struct domain *d, uint32_t n)
{
	if (n <= d->room)
		return;
	d->soon = x_realloc(d->soon, n * sizeof(struct block *));
	d->other = x_realloc(d->other, n * sizeof(struct block *));
	d->room = n;
}

/* The n blocks of 'run', an array that was 'soon', are stepped at this edge; wake-ups for the next are gathered anew. */
static inline void begin_edge(struct domain *d, struct block **run, uint32_t n, uint64_t cyc)
{
	struct sim *s = d->sim;

	d->soon = d->other;
	d->other = run;
	d->n_soon = 0;
	d->soon_cyc = cyc + 1;
	if (s->order != ORDER_FORWARD)
		reorder(s, run, n);
	s->steps += n;
}

void domain_run_edge(struct domain *d)
{
	uint64_t cyc = d->next_cyc;
	struct block **run = d->soon, *first;
	uint32_t n = d->n_soon, slot = cyc & (WHEEL_SLOTS - 1);
	struct sim *s = d->sim;

	if (cyc >> WHEEL_BITS != d->page)
		turn_page(d, cyc >> WHEEL_BITS);
	first = d->near[slot] ? slot_take(d->near, d->near_used, slot) : NULL;
	for (struct block *b = first; b; b = b->next == first ? NULL : b->next)
		run[n++] = b;
	begin_edge(d, run, n, cyc);
	for (struct block **end = run + n; run < end; run++)
		step_block(s, d, *run, cyc);
	find_next(d, cyc);
}

/* Take off a wake-up for a later cycle. One for soon_cyc may have come when that was still far. */
static void cancel_wake(struct domain *d, struct block *b)
{
	for (uint32_t i = 0; b->wake_cyc == d->soon_cyc && i < d->n_soon; i++) {
		if (d->soon[i] == b) {
			d->soon[i] = d->soon[--d->n_soon];
			return;
		}
	}
	wheel_unlink(d, b);
}

/*
 * A step that may be early. The block asks anew for its wake-up, but what another block did at this edge wakes it
 * at the next one as ever.
 */
static void step_early(struct domain *d, struct block *b, uint64_t cyc)
{
	bool is_woken = b->wake_cyc == d->soon_cyc;

	if (b->wake_cyc != cyc && b->wake_cyc != CYCLE_NEVER)
		cancel_wake(d, b);
	step_block(d->sim, d, b, cyc);
	if (is_woken)
		block_wake(b, cyc + 1);
}

void domain_run_tick(struct domain *d)
{
	uint64_t cyc = d->tick_cyc;
	struct block **run = d->soon;
	struct sim *s = d->sim;
	uint32_t n = 0;

	if (cyc >> WHEEL_BITS != d->page)
		turn_page(d, cyc >> WHEEL_BITS);
	slot_take(d->near, d->near_used, cyc & (WHEEL_SLOTS - 1));
	for (uint32_t i = 0; i < s->n_blocks; i++)
		if (s->blocks[i]->dom == d)
			run[n++] = s->blocks[i];
	begin_edge(d, run, n, cyc);
	for (uint32_t i = 0; i < n; i++)
		step_early(d, run[i], cyc);
	find_next(d, cyc);
	d->tick_cyc = cyc + 1;
	d->tick_ps = domain_edge(d, d->tick_cyc);
}
