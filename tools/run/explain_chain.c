/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_chain.c - from the block that waits longest for another to the one that holds it up
 *
 * A block waits for the one that does not take its messages. One whose ports are free may wait for an answer:
 * then the chain goes on at the block that it asks, if that is busy or short of something most of the time, or
 * asks one that is.
 */
#include <string.h>

#include "sim/chan.h"
#include "tools/run/explain_parts.h"

#define MAX_CHAIN 16u
#define MAX_ASKED 2u /* blocks that ask on behind one that is asked */

const struct wait *port_wait(const struct wait *w, unsigned n, const char *who)
{
	for (unsigned i = 0; i < n; i++)
		if (w[i].whom && (!who || strcmp(w[i].who, who) == 0))
			return &w[i];
	return NULL;
}

/* The share of the time for which 'who' was busy. */
static uint64_t busy_ppm(const struct evidence *e, const char *who)
{
	for (unsigned i = 0; i < e->n_units; i++)
		if (strcmp(e->units[i].b->name, who) == 0)
			return e->units[i].ppm;
	return 0;
}

/* What 'who' itself is short of, or NULL. */
static const struct wait *short_of(const struct evidence *e, const char *who)
{
	for (unsigned i = 0; i < e->n_waits; i++)
		if (strcmp(e->waits[i].who, who) == 0 && is_pool_short(e, &e->waits[i]))
			return &e->waits[i];
	return NULL;
}

/* How much of the time 'who' is busy, short of something, or waits for answers of a block that is: up to 'depth' behind. */
static uint64_t hold_ppm(const struct evidence *e, const char *who, unsigned depth);

/* Of the blocks that 'who' sends requests (messages "..._req"), the one that holds most up, and how much of the time. */
static const char *asked(const struct evidence *e, const char *who, unsigned depth, uint64_t *most)
{
	const char *worst = NULL;

	*most = EXPLAIN_CRITICAL_PPM;
	for (uint32_t i = 0; i < e->s->n_chans; i++) {
		const struct chan *c = e->s->chans[i];
		uint64_t ppm;

		if (strcmp(c->producer->name, who) != 0 || !ends_with(c->out->unit, "_req"))
			continue;
		ppm = hold_ppm(e, c->consumer->name, depth);
		if (ppm >= *most) {
			*most = ppm;
			worst = c->consumer->name;
		}
	}
	return worst;
}

static uint64_t hold_ppm(const struct evidence *e, const char *who, unsigned depth)
{
	uint64_t ppm = short_of(e, who) ? PPM : busy_ppm(e, who), behind = 0;

	if (ppm < EXPLAIN_CRITICAL_PPM && depth && asked(e, who, depth - 1, &behind))
		ppm = max_u64(ppm, behind);
	return ppm;
}

/* Who holds 'who' up, or NULL: it is busy itself, or short of something, or all is well. */
static const char *next_of(const struct evidence *e, const char *who)
{
	const struct wait *w = port_wait(e->waits, e->n_waits, who);
	uint64_t ppm;

	if (busy_ppm(e, who) >= EXPLAIN_CRITICAL_PPM)
		return NULL;
	if (w)
		return w->whom;
	return short_of(e, who) ? NULL : asked(e, who, MAX_ASKED, &ppm);
}

static bool is_in(const char *const *chain, unsigned n, const char *who)
{
	while (n && strcmp(chain[n - 1], who) != 0)
		n--;
	return n > 0;
}

static void print_chain(const struct evidence *e, const char *const *chain, unsigned n, FILE *f)
{
	const struct wait *lacks = short_of(e, chain[n - 1]);

	fprintf(f, "\nchain: ");
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "%s%s", i ? " > " : "", chain[i]);
	if (lacks && busy_ppm(e, chain[n - 1]) < EXPLAIN_CRITICAL_PPM)
		fprintf(f, " (waits for %s)", pool_name(lacks));
	fprintf(f, "\n");
}

const char *follow_chain(const struct evidence *e, FILE *f)
{
	const struct wait *head = port_wait(e->waits, e->n_waits, NULL);
	const char *chain[MAX_CHAIN], *next;
	unsigned n = 0;

	if (!head)
		return NULL;
	chain[n++] = head->who;
	for (next = head->whom; next && n < MAX_CHAIN && !is_in(chain, n, next);
	     next = next_of(e, next))
		chain[n++] = next;
	if (f)
		print_chain(e, chain, n, f);
	return chain[n - 1];
}

const char *end_of_chain(const struct evidence *e)
{
	const struct wait *head = port_wait(e->waits, e->n_waits, NULL);
	uint64_t least = e->limit ? EXPLAIN_CRITICAL_PPM : CRITICAL_WAIT_PPM;

	return head && head->ppm >= least ? follow_chain(e, NULL) : NULL;
}
