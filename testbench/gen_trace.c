/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_trace.c - random small traces: what is requested
 *
 * First the requests are drawn, then the receives that they need are put at random places before
 * them, and last everything is written in file order (gen_write.c), with ids, times, dependencies
 * and flags.
 */
#include <stdlib.h>
#include <string.h>

#include "testbench/gen_parts.h"

/* ---- connections ---- */

static void make_end(struct gen *g, struct end *e)
{
	e->psn = one_in(g, 2) ? 0xffffff - below(g, 12) : below(g, 1u << 24);
	e->sq = PICK(g, 1, 2, 4, 16, 128);
	e->rq = PICK(g, 1, 2, 4, 16, 128);
	e->max_sge = PICK(g, 4, 6, 16);
	e->max_inline = PICK(g, 0, 28, 64, 200);
	e->max_run = below(g, (uint32_t)(e->sq > 8 ? 8 : e->sq));
	e->rd_atomic = PICK(g, 1, 2, 4, 16);
}

static void make_connections(struct gen *g)
{
	uint32_t budget = 6;

	g->n_conn = g->want->is_rarely_lossy ? 1 : 1 + below(g, MAX_CONN);
	for (uint32_t i = 0; i < g->n_conn; i++) {
		struct conn *c = &g->conn[i];

		c->mtu = budget > 2 ? PICK(g, 256, 256, 512, 1024, 4096) : PICK(g, 256, 512);
		budget -= c->mtu > 512 ? 2 : 0;
		c->region = 10 * c->mtu + 64 +
			    below(g, 3000); /* 64: what a receive is larger than its message */
		make_end(g, &c->end[0]);
		make_end(g, &c->end[1]);
	}
}

/* ---- requests ---- */

uint32_t gen_message_length(struct gen *g, uint32_t mtu)
{
	switch (below(g, 10)) {
	case 0:
		return 0;
	case 1:
		return 1 + below(g, 16);
	case 2:
		return mtu - 1 + below(g, 3);
	case 3:
		return mtu * (1 + below(g, 10));
	case 4:
		return 1 + below(g, 10 * mtu);
	case 5:
		return 64 + below(g, 2 * mtu);
	default:
		return below(g, mtu);
	}
}

static uint32_t request_length(struct gen *g, enum wr_opcode op, uint32_t mtu)
{
	if (is_atomic(op) || op == WR_ATOMIC_WRITE)
		return 8;
	return gen_message_length(g, mtu) + (op == WR_FLUSH);
}

static bool overlap(uint32_t a, uint32_t a_len, uint32_t b, uint32_t b_len)
{
	return a < b + b_len && b < a + a_len;
}

/* What an earlier READ (or, if 'atomics', ATOMIC) may still do to bytes at 'from'. */
static bool hits_pending(const struct end *e, bool is_remote, bool atomics, uint32_t from,
			 uint32_t len)
{
	for (uint32_t i = 0; i < e->n_pending; i++) {
		const struct range *r = &e->pending[i];

		if (r->is_remote == is_remote && (atomics || !r->is_atomic) &&
		    overlap(r->from, r->len, from, len))
			return true;
	}
	return false;
}

static void add_pending(struct end *e, uint32_t item, bool is_remote, bool is_atomic, uint32_t from,
			uint32_t len)
{
	e->pending[e->n_pending++] = (struct range){ from, len, item, is_remote, is_atomic };
}

/* Cut its bytes into pieces of MR 'mr'; pieces that are written to do not overlap. */
static void cut(struct gen *g, struct item *it, char mr, uint32_t region, uint32_t max_sge,
		bool is_target)
{
	uint32_t most = max_sge < MAX_PIECES ? max_sge : MAX_PIECES, n = it->len ? 1 : 0;
	uint32_t left = it->len, slack = region - it->len, at = 0;

	if (n && !is_atomic(it->op) && it->op != WR_FLUSH && one_in(g, 3))
		n += below(g, most);
	for (uint32_t i = 0; i < n && left; i++) {
		uint32_t len = i + 1 == n ? left : 1 + below(g, left),
			 gap = one_in(g, 2) ? below(g, slack + 1) : 0;
		struct piece *p = &it->piece[it->n_pieces++];

		*p = (struct piece){ mr, is_target ? at + gap : below(g, region - len + 1), len };
		at += gap + len;
		slack -= gap;
		left -= len;
	}
}

static bool is_read_like(enum wr_opcode op)
{
	return op == WR_RDMA_READ || is_atomic(op);
}

/* 'it' waits for 'x' to complete, and by a fence for what it waited for before. */
void gen_await(struct gen *g, struct item *it, struct item *x)
{
	it->fence |= it->wait_for != 0;
	it->wait_for = (uint32_t)(x - g->item) + 1;
	x->is_awaited = true;
}

/* Bytes that an earlier request brings are sent when that is over: behind a fence, or its completion. */
static void wait_for_bytes(struct gen *g, struct item *it, struct end *e, const struct piece *p)
{
	uint32_t last = 0;

	if (!hits_pending(e, false, true, p->off, p->len))
		return;
	for (uint32_t i = 0; i < e->n_pending; i++)
		if (!e->pending[i].is_remote &&
		    overlap(e->pending[i].from, e->pending[i].len, p->off, p->len))
			last = e->pending[i].item;
	if (one_in(g, 2) || it->fence)
		it->fence = true;
	else if (it->wait_for <= last)
		gen_await(g, it, &g->item[last]);
}

/*
 * The local pieces of a request, which waits when it sends what an earlier one may still bring.
 * (What is brought to a place from which an earlier request sends is no conflict: the response
 * tells that the request has arrived.)
 */
void gen_choose_local(struct gen *g, struct item *it, const struct conn *c, struct end *e)
{
	bool is_target = is_read_like(it->op);
	char mr = is_target || one_in(g, 4) ? 'l' : 's';

	cut(g, it, mr, c->region, e->max_sge, is_target);
	for (uint32_t i = 0; !is_target && mr == 'l' && i < it->n_pieces; i++)
		wait_for_bytes(g, it, e, &it->piece[i]);
	it->is_inline = !is_target && mr == 's' && it->op != WR_FLUSH && it->len <= e->max_inline &&
			one_in(g, 2);
}

/*
 * The place at the peer, within 'len' bytes from 'from' on, and a fence where order there would be open: before a write
 * behind a READ or ATOMIC of the same bytes, and before an ATOMIC behind a READ that may have to be repeated.
 */
void gen_choose_remote(struct gen *g, struct item *it, struct end *e, uint32_t from, uint32_t len)
{
	bool is_8 = is_atomic(it->op) || it->op == WR_ATOMIC_WRITE;

	if (is_8) {
		it->roff = from + 8 * below(g, 6);
		it->fence |= g->out->may_fail && hits_pending(e, true, false, it->roff, 8);
	} else {
		/* READs often of the words that ATOMICs change */
		it->roff =
			from + below(g, it->op == WR_RDMA_READ && one_in(g, 4) && len - it->len > 48
						? 48
						: len - it->len + 1);
		it->fence |= it->op != WR_RDMA_READ && it->op != WR_FLUSH &&
			     hits_pending(e, true, true, it->roff, it->len);
	}
}

void gen_keep_pending(struct gen *g, struct item *it, struct end *e)
{
	uint32_t n = (uint32_t)(it - g->item);

	if (e->n_pending + MAX_PIECES + 1 > MAX_PENDING)
		it->fence = true;
	if (it->fence)
		e->n_pending = 0;
	for (uint32_t i = 0; is_read_like(it->op) && i < it->n_pieces; i++)
		if (it->piece[i].mr == 'l')
			add_pending(e, n, false, is_atomic(it->op), it->piece[i].off,
				    it->piece[i].len);
	if ((is_read_like(it->op) && !it->is_counter) || it->op == WR_ATOMIC_WRITE)
		add_pending(e, n, true, it->op != WR_RDMA_READ, it->roff, it->len);
}

static void add_counter(struct gen *g, struct item *it)
{
	it->is_counter = true;
	it->op = one_in(g, 3) ? WR_ATOMIC_CMP_AND_SWP : WR_ATOMIC_FETCH_AND_ADD;
	it->len = 8;
	it->n_pieces = 1;
	it->piece[0] = (struct piece){ 't', 8 * g->n_tickets[it->host]++, 8 };
}

struct item *gen_new_item(struct gen *g, uint32_t conn, uint32_t host, enum wr_opcode op)
{
	struct item *it = &g->item[g->n_items++];

	*it = (struct item){ .conn = conn, .host = host, .op = op, .fence = one_in(g, 12) };
	g->conn[conn].end[host].n_sends++;
	return it;
}

/* What came with a SEND goes back. */
static void add_echo(struct gen *g, uint32_t send)
{
	struct item *s = &g->item[send], *it;
	struct conn *c = &g->conn[s->conn];
	struct end *e = &c->end[1 - s->host];

	if (g->may_end || s->op > WR_SEND_WITH_IMM || s->op < WR_SEND ||
	    e->ech_at + s->len > c->region)
		return;
	it = gen_new_item(g, s->conn, 1 - s->host, one_in(g, 2) ? WR_RDMA_WRITE : WR_SEND);
	it->len = s->len;
	it->n_pieces = s->len ? 1 : 0;
	it->piece[0] = (struct piece){ 'e', e->ech_at, s->len };
	if (has_remote(it->op))
		gen_choose_remote(g, it, e, 0, c->region);
	gen_keep_pending(g, it, e);
	it->echo_of = send + 1;
	s->has_echo = true;
	s->echo_at = e->ech_at;
	e->ech_at += s->len;
}

/* Words that a READ may still be fetching are changed behind it: what it brings must be what was. */
static void add_change(struct gen *g, const struct item *read)
{
	struct conn *c = &g->conn[read->conn];
	struct end *e = &c->end[read->host];
	struct item *it = gen_new_item(g, read->conn, read->host, WR_ATOMIC_FETCH_AND_ADD);

	it->len = 8;
	gen_choose_local(g, it, c, e);
	gen_choose_remote(g, it, e, 0, c->region);
	it->roff = (read->roff + read->len - 8) / 8 * 8; /* the last that it fetches */
	gen_keep_pending(g, it, e);
}

static void add_request(struct gen *g, uint32_t conn, uint32_t host)
{
	static const enum wr_opcode ops[] = {
		WR_RDMA_WRITE,
		WR_RDMA_WRITE,
		WR_RDMA_WRITE_WITH_IMM,
		WR_SEND,
		WR_SEND,
		WR_SEND_WITH_IMM,
		WR_RDMA_READ,
		WR_RDMA_READ,
		WR_ATOMIC_CMP_AND_SWP,
		WR_ATOMIC_FETCH_AND_ADD,
		WR_ATOMIC_WRITE,
		WR_FLUSH,
	};
	struct conn *c = &g->conn[conn];
	struct end *e = &c->end[host];
	struct item *it;

	it = gen_new_item(g, conn, host, ops[below(g, sizeof(ops) / sizeof(ops[0]))]);
	if (one_in(g, g->want->is_clean || g->want->is_rarely_lossy ? 3 : 12) &&
	    g->n_tickets[host] < COUNTER_SLOTS) {
		add_counter(g, it);
	} else {
		it->len = request_length(g, it->op, c->mtu);
		gen_choose_local(g, it, c, e);
		if (has_remote(it->op))
			gen_choose_remote(g, it, e, 0, c->region);
		it->is_null = it->op != WR_FLUSH && has_remote(it->op) && !it->len && one_in(g, 2);
	}
	gen_keep_pending(g, it, e);
	if (it->op == WR_RDMA_READ && it->len > 16 && !g->out->may_fail && one_in(g, 2))
		add_change(g, it);
	if (one_in(g, 6))
		add_echo(g, (uint32_t)(it - g->item));
}

/* A request that must be refused, the last of its end. */
static void add_wrong(struct gen *g, uint32_t conn, uint32_t host)
{
	static const enum wr_opcode ops[] = {
		WR_RDMA_WRITE,         WR_RDMA_WRITE_WITH_IMM,  WR_RDMA_READ,
		WR_ATOMIC_CMP_AND_SWP, WR_ATOMIC_FETCH_AND_ADD,
	};
	struct conn *c = &g->conn[conn];
	struct item *it;

	if (!gen_is_end_free(g, conn, host))
		return;
	it = gen_new_item(g, conn, host, ops[below(g, ARRAY_LEN(ops))]);
	c->end[host].has_wrong = true;
	it->wrong = PICK(g, WRONG_KEY, WRONG_END, WRONG_RIGHTS, WRONG_ALIGN, WRONG_LOCAL);
	if (it->wrong == WRONG_ALIGN && !is_atomic(it->op))
		it->op = WR_ATOMIC_FETCH_AND_ADD;
	if (it->wrong == WRONG_LOCAL)
		it->op = WR_RDMA_WRITE;
	it->len = is_atomic(it->op) ? 8 : 1 + below(g, 3 * c->mtu);
	gen_choose_local(g, it, c, &c->end[host]);
	it->is_inline &= it->wrong != WRONG_LOCAL;
	if (it->wrong == WRONG_LOCAL && it->n_pieces > 1)
		it->n_pieces = 1;
	if (it->wrong == WRONG_ALIGN)
		it->roff = 8 * below(g, 6) + 1 + below(g, 7);
	else if (it->wrong == WRONG_END) /* of an ATOMIC the alignment is looked at first */
		it->roff = is_atomic(it->op) ? c->region & ~7u
					     : c->region - it->len + 1 + below(g, it->len);
}

/* ---- receives ---- */

/* The receives of requests, each somewhere before its request and behind the ones before. */
static void add_receives(struct gen *g)
{
	uint32_t n = g->n_items, earliest[MAX_CONN][2] = { { 0 } };

	for (uint32_t i = 0; i < 2 * g->n_conn; i++)
		earliest[i / 2][i % 2] = g->conn[i / 2].end[i % 2].probe;
	for (uint32_t i = 0; i < n && g->n_items < MAX_ITEMS; i++) {
		struct item *it = &g->item[i], *r = &g->item[g->n_items];
		struct conn *c = &g->conn[it->conn];
		uint32_t *from = &earliest[it->conn][1 - it->host];

		if (!gen_takes_recv(it->op))
			continue;
		*r = (struct item){ .conn = it->conn, .host = 1 - it->host, .is_recv = true };
		r->wait_for = c->end[1 - it->host].probe;
		r->before = *from + below(g, i - *from + 1);
		*from = r->before;
		if (it->has_echo) {
			r->n_pieces = it->len ? 1 : 0;
			r->piece[0] = (struct piece){ 'e', it->echo_at, it->len };
		} else if (it->op != WR_RDMA_WRITE_WITH_IMM || one_in(g, 2)) {
			r->len = it->len + (one_in(g, 2) ? below(g, 64) : 0);
			cut(g, r, 'r', c->region, c->end[1 - it->host].max_sge, true);
		}
		it->recv = ++g->n_items;
	}
}

static void make_order(struct gen *g, uint32_t n_requests)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_requests; i++) {
		for (uint32_t k = n_requests; k < g->n_items; k++)
			if (g->item[k].before == i)
				g->order[n++] = k;
		g->order[n++] = i;
	}
}

/* ---- the whole ---- */

void gen_make(struct gen_case *out, uint64_t seed, const struct gen_want *want)
{
	struct gen *g = calloc(1, sizeof(*g));
	uint32_t n;
	size_t len;

	*out = (struct gen_case){ 0 };
	rng_seed(&g->rng, "trace", seed);
	g->out = out;
	g->want = want;
	out->is_checked = one_in(g, 4);
	g->is_lossy = want->is_rarely_lossy || (!want->is_clean && one_in(g, 2));
	out->may_fail = g->is_lossy || (!want->is_clean && one_in(g, 8));
	out->is_wrong = !want->is_clean && !want->is_rarely_lossy && one_in(g, 6);
	g->may_end = out->may_fail || out->is_wrong;
	make_connections(g);
	g->has_cq = one_in(g, 3);
	gen_choose_reborn(g);
	n = (want->is_clean || want->is_rarely_lossy ? 20 : 2) + below(g, 30);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t conn = below(g, g->n_conn), host = below(g, 4) == 0;

		if (gen_is_end_free(g, conn, host) && gen_is_end_free(g, conn, 1 - host))
			add_request(g, conn, host);
		if (g->n_windows < MAX_WINDOWS && one_in(g, 10))
			gen_add_window(g, below(g, g->n_conn), below(g, 2));
	}
	if (out->is_wrong)
		add_wrong(g, below(g, g->n_conn), below(g, 2));
	gen_choose_states(g);
	n = g->n_items;
	add_receives(g);
	make_order(g, n);
	gen_make_loose(g);
	g->f = open_memstream(&out->trace, &len);
	gen_write_trace(g);
	fclose(g->f);
	g->f = open_memstream(&out->ini, &len);
	gen_write_scenario(g, seed);
	fclose(g->f);
	free(g);
}

void gen_free(struct gen_case *g)
{
	free(g->trace);
	free(g->ini);
}
