/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recs.c - records of the trace between the feed that reads them and the workloads that run them
 */
#include "models/recs.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BITS 10u
#define CHUNK (1u << CHUNK_BITS)
#define DEP_BITS 5u /* of a node: number of the dependency; above, the record's handle */
_Static_assert(MAX_AFTER <= 1u << DEP_BITS, "dependencies fit a node");

void recs_init(struct recs *r, uint32_t n_hosts)
{
	memset(r, 0, sizeof(*r));
	r->window = TRACE_WINDOW;
	r->n_hosts = n_hosts;
	r->live = x_calloc(n_hosts ? n_hosts : 1, sizeof(*r->live));
	r->expect_at = x_calloc(n_hosts ? n_hosts : 1, sizeof(*r->expect_at));
}

void recs_destroy(struct recs *r)
{
	for (uint32_t h = 1; h <= r->n_slots; h++) {
		free(rec_at(r, h)->ext);
		free(rec_at(r, h)->mem_bytes);
	}
	for (uint32_t i = 0; i < r->n_slots; i += CHUNK)
		free(r->chunk[i >> CHUNK_BITS]);
	free(r->chunk);
	free(r->tickets);
	for (uint32_t i = 0; i < r->n_hosts; i++)
		free(r->live[i].v);
	free(r->live);
	free(r->expects);
	free(r->expect_at);
	free(r->late);
}

/* ---- records ---- */

bool recs_can_alloc(const struct recs *r, uint64_t now_ps)
{
	return r->n_slots < r->window ||
	       (r->free_head && rec_at(r, r->free_head)->usable_ps <= now_ps);
}

static uint32_t slot_new(struct recs *r)
{
	if (r->n_slots >> CHUNK_BITS == r->cap_chunks) {
		r->cap_chunks = r->cap_chunks ? 2 * r->cap_chunks : 4;
		r->chunk = x_realloc(r->chunk, r->cap_chunks * sizeof(*r->chunk));
	}
	if (r->n_slots % CHUNK == 0)
		r->chunk[r->n_slots >> CHUNK_BITS] = x_calloc(CHUNK, sizeof(struct rec));
	return ++r->n_slots;
}

uint32_t rec_alloc(struct recs *r, uint32_t n_seg, uint32_t n_dep, uint64_t now_ps)
{
	bool is_reuse = r->free_head && rec_at(r, r->free_head)->usable_ps <= now_ps;
	uint32_t handle = is_reuse ? r->free_head : slot_new(r);
	size_t need = n_seg * sizeof(struct rec_seg) + n_dep * sizeof(struct rec_dep);
	struct rec *c;
	void *ext;
	size_t ext_size;

	c = rec_at(r, handle);
	if (is_reuse)
		r->free_head = c->next;
	ext = c->ext;
	ext_size = c->ext_size;
	if ((n_seg > REC_INLINE_SEGS || n_dep > REC_INLINE_DEPS) && need > ext_size) {
		ext = x_realloc(ext, need);
		ext_size = need;
	}
	*c = (struct rec){
		.is_used = true, .seq = r->next_seq++, .ext = ext, .ext_size = ext_size
	};
	c->seg = c->seg0;
	c->dep = c->dep0;
	if (n_seg > REC_INLINE_SEGS || n_dep > REC_INLINE_DEPS) {
		c->seg = ext;
		c->dep = (struct rec_dep *)(void *)(c->seg + n_seg);
	}
	c->n_seg = (uint8_t)n_seg;
	c->n_dep = (uint16_t)n_dep;
	r->in_use++;
	return handle;
}

void rec_free(struct recs *r, uint32_t handle, const struct block *by)
{
	struct rec *c = rec_at(r, handle);

	SIM_CHECK(c->is_used, by);
	free(c->mem_bytes);
	c->mem_bytes = NULL;
	c->is_used = false;
	c->next = REC_NONE;
	c->usable_ps = by ? by->now_ps + 1 : 0;
	if (r->free_head)
		rec_at(r, r->free_tail)->next = handle;
	else
		r->free_head = handle;
	r->free_tail = handle;
	r->in_use--;
	if (by && r->is_starved)
		block_wake(r->feed, domain_cycle_at(r->feed->dom, by->now_ps + 1));
}

/* ---- tickets ---- */

/* Drop the gaps of a host's list of open tickets, or make it longer. */
static void live_make_room(struct recs *r, struct live_list *l)
{
	uint32_t n = 0;

	if (l->n < l->cap)
		return;
	if (l->n_gaps <= l->n / 2) {
		l->cap = l->cap ? 2 * l->cap : 256;
		l->v = x_realloc(l->v, l->cap * sizeof(*l->v));
		return;
	}
	for (uint32_t i = 0; i < l->n; i++) {
		if (l->v[i].ticket == TICKET_NONE)
			continue;
		r->tickets[l->v[i].ticket].live = n;
		l->v[n++] = l->v[i];
	}
	l->n = n;
	l->n_gaps = 0;
}

uint32_t ticket_open(struct recs *r, uint32_t host, uint64_t id, uint64_t n)
{
	struct live_list *l = &r->live[host];
	uint32_t i;

	if (r->free_ticket) {
		i = r->free_ticket - 1;
		r->free_ticket = r->tickets[i].link;
	} else {
		if (r->n_tickets == r->cap_tickets) {
			r->cap_tickets = r->cap_tickets ? 2 * r->cap_tickets : 256;
			r->tickets = x_realloc(r->tickets, r->cap_tickets * sizeof(*r->tickets));
		}
		i = r->n_tickets++;
	}
	live_make_room(r, l);
	r->tickets[i] = (struct ticket){
		.id = id, .left = n, .host = host, .live = l->n, .expect = TICKET_NONE
	};
	l->v[l->n++] = (struct live){ .id = id, .ticket = i };
	return i;
}

uint32_t ticket_find(const struct recs *r, uint32_t host, uint64_t id)
{
	const struct live_list *l = &r->live[host];
	uint32_t lo = 0, hi = l->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (l->v[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < l->n && l->v[lo].id == id ? l->v[lo].ticket : TICKET_NONE;
}

void ticket_wait(struct recs *r, uint32_t ticket, uint32_t handle, uint32_t k)
{
	struct rec *c = rec_at(r, handle);

	c->dep[k] = (struct rec_dep){ .ticket = ticket, .next = r->tickets[ticket].waiters };
	r->tickets[ticket].waiters = handle << DEP_BITS | k;
	c->n_wait++;
}

uint32_t ticket_done(struct recs *r, uint32_t ticket)
{
	struct ticket *t = &r->tickets[ticket];
	struct live_list *l = &r->live[t->host];

	SIM_CHECK(t->left > 0, NULL);
	if (--t->left)
		return 0;
	l->v[t->live].ticket = TICKET_NONE;
	l->n_gaps++;
	t->link = r->free_ticket;
	r->free_ticket = ticket + 1;
	return t->waiters;
}

uint32_t ticket_next_waiter(struct recs *r, uint32_t *node)
{
	uint32_t handle = *node >> DEP_BITS;
	struct rec_dep *d = &rec_at(r, handle)->dep[*node & ((1u << DEP_BITS) - 1)];

	*node = d->next;
	d->ticket = TICKET_NONE;
	return handle;
}

/* ---- the heap of ready records ---- */

static bool runs_before(const struct rec *a, const struct rec *b)
{
	return a->start_ps != b->start_ps ? a->start_ps < b->start_ps : a->seq < b->seq;
}

/* Join two heaps (either may be empty). */
static uint32_t meld(struct recs *r, uint32_t a, uint32_t b)
{
	uint32_t t;

	if (!a || !b)
		return a ? a : b;
	if (runs_before(rec_at(r, b), rec_at(r, a))) {
		t = a;
		a = b;
		b = t;
	}
	rec_at(r, b)->sibling = rec_at(r, a)->child;
	rec_at(r, a)->child = b;
	return a;
}

void ready_push(struct recs *r, uint32_t *root, uint32_t handle)
{
	struct rec *c = rec_at(r, handle);

	c->child = c->sibling = REC_NONE;
	*root = meld(r, *root, handle);
}

uint32_t ready_pop(struct recs *r, uint32_t *root)
{
	uint32_t top = *root, pairs = REC_NONE, h = rec_at(r, top)->child;

	/* meld neighbours in pairs from the left, then the pairs from the right */
	while (h) {
		uint32_t a = h, b = rec_at(r, a)->sibling;

		h = b ? rec_at(r, b)->sibling : REC_NONE;
		rec_at(r, a)->sibling = REC_NONE;
		if (b)
			rec_at(r, b)->sibling = REC_NONE;
		a = meld(r, a, b);
		rec_at(r, a)->sibling = pairs;
		pairs = a;
	}
	for (*root = REC_NONE; pairs; pairs = h) {
		h = rec_at(r, pairs)->sibling;
		rec_at(r, pairs)->sibling = REC_NONE;
		*root = meld(r, *root, pairs);
	}
	return top;
}
