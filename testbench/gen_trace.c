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
}

static void make_connections(struct gen *g)
{
	uint32_t budget = 6;

	g->n_conn = 1 + below(g, MAX_CONN);
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

static uint32_t message_length(struct gen *g, uint32_t mtu)
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
	return message_length(g, mtu) + (op == WR_FLUSH);
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

static void add_pending(struct end *e, bool is_remote, bool is_atomic, uint32_t from, uint32_t len)
{
	e->pending[e->n_pending++] = (struct range){ from, len, is_remote, is_atomic };
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

/*
 * The local pieces of a request, and a fence when it sends what an earlier one may still bring.
 * (What is brought to a place from which an earlier request sends is no conflict: the response
 * tells that the request has arrived.)
 */
static void choose_local(struct gen *g, struct item *it, const struct conn *c, struct end *e)
{
	bool is_target = is_read_like(it->op);
	char mr = is_target || one_in(g, 4) ? 'l' : 's';

	cut(g, it, mr, c->region, e->max_sge, is_target);
	for (uint32_t i = 0; !is_target && mr == 'l' && i < it->n_pieces; i++)
		it->fence |= hits_pending(e, false, true, it->piece[i].off, it->piece[i].len);
	it->is_inline = !is_target && mr == 's' && it->op != WR_FLUSH && it->len <= e->max_inline &&
			one_in(g, 2);
}

/*
 * The place at the peer, within 'len' bytes from 'from' on, and a fence where order there would be open: before a write
 * behind a READ or ATOMIC of the same bytes, and before an ATOMIC behind a READ that may have to be repeated.
 */
static void choose_remote(struct gen *g, struct item *it, struct end *e, uint32_t from,
			  uint32_t len)
{
	bool is_8 = is_atomic(it->op) || it->op == WR_ATOMIC_WRITE;

	if (is_8) {
		it->roff = from + 8 * below(g, 6);
		it->fence |= g->out->may_fail && hits_pending(e, true, false, it->roff, 8);
	} else {
		it->roff = from + below(g, len - it->len + 1);
		it->fence |= it->op != WR_RDMA_READ && it->op != WR_FLUSH &&
			     hits_pending(e, true, true, it->roff, it->len);
	}
}

static void keep_pending(struct item *it, struct end *e)
{
	if (e->n_pending + MAX_PIECES + 1 > MAX_PENDING)
		it->fence = true;
	if (it->fence)
		e->n_pending = 0;
	for (uint32_t i = 0; is_read_like(it->op) && i < it->n_pieces; i++)
		if (it->piece[i].mr == 'l')
			add_pending(e, false, is_atomic(it->op), it->piece[i].off,
				    it->piece[i].len);
	if ((is_read_like(it->op) && !it->is_counter) || it->op == WR_ATOMIC_WRITE)
		add_pending(e, true, it->op != WR_RDMA_READ, it->roff, it->len);
}

static void add_counter(struct gen *g, struct item *it)
{
	it->is_counter = true;
	it->op = one_in(g, 3) ? WR_ATOMIC_CMP_AND_SWP : WR_ATOMIC_FETCH_AND_ADD;
	it->len = 8;
	it->n_pieces = 1;
	it->piece[0] = (struct piece){ 't', 8 * g->n_tickets[it->host]++, 8 };
}

static struct item *new_item(struct gen *g, uint32_t conn, uint32_t host, enum wr_opcode op)
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
	it = new_item(g, s->conn, 1 - s->host, one_in(g, 2) ? WR_RDMA_WRITE : WR_SEND);
	it->len = s->len;
	it->n_pieces = s->len ? 1 : 0;
	it->piece[0] = (struct piece){ 'e', e->ech_at, s->len };
	if (has_remote(it->op))
		choose_remote(g, it, e, 0, c->region);
	keep_pending(it, e);
	it->echo_of = send + 1;
	s->has_echo = true;
	s->echo_at = e->ech_at;
	e->ech_at += s->len;
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

	it = new_item(g, conn, host, ops[below(g, sizeof(ops) / sizeof(ops[0]))]);
	if (one_in(g, g->want->is_clean ? 3 : 12) && g->n_tickets[host] < COUNTER_SLOTS) {
		add_counter(g, it);
	} else {
		it->len = request_length(g, it->op, c->mtu);
		choose_local(g, it, c, e);
		if (has_remote(it->op))
			choose_remote(g, it, e, 0, c->region);
	}
	keep_pending(it, e);
	if (one_in(g, 6))
		add_echo(g, (uint32_t)(it - g->item));
}

/* 'it' waits for 'x' to complete. */
static void await(struct gen *g, struct item *it, struct item *x)
{
	it->wait_for = (uint32_t)(x - g->item) + 1;
	x->is_awaited = true;
}

/* A request through a window over 'len' bytes from 'from' on. */
static struct item *use_window(struct gen *g, struct item *bind, uint32_t from, uint32_t len)
{
	static const enum wr_opcode ops[] = { WR_RDMA_WRITE, WR_RDMA_READ, WR_RDMA_WRITE_WITH_IMM };
	struct conn *c = &g->conn[bind->conn];
	struct end *e = &c->end[1 - bind->host];
	struct item *it = new_item(g, bind->conn, 1 - bind->host, ops[below(g, 3)]);

	it->len = 1 + below(g, len);
	it->window = bind->window;
	choose_local(g, it, c, e);
	choose_remote(g, it, e, from, len);
	keep_pending(it, e);
	return it;
}

/* A window is taken back, by its owner or by the peer, who has ended its READs. */
static void take_back(struct gen *g, struct item *bind, struct item *last)
{
	bool by_peer = one_in(g, 2);
	struct item *it = new_item(g, bind->conn, by_peer ? last->host : bind->host,
				   by_peer ? WR_SEND_WITH_INV : WR_LOCAL_INV);

	it->window = bind->window;
	if (!by_peer) {
		await(g, it, last);
		return;
	}
	it->fence = true;
	it->len = message_length(g, g->conn[it->conn].mtu);
	choose_local(g, it, &g->conn[it->conn], &g->conn[it->conn].end[it->host]);
	keep_pending(it, &g->conn[it->conn].end[it->host]);
}

/* 'host' opens a window over part of its tgt to the peer, who makes use of it. */
static void add_window(struct gen *g, uint32_t conn, uint32_t host)
{
	struct conn *c = &g->conn[conn];
	struct item *bind = new_item(g, conn, host, WR_BIND_MW), *it = NULL;
	struct window *w = &g->window[g->n_windows++];

	w->host = host;
	w->key = (0x400 + g->n_windows) << 8 | below(g, 256);
	w->newkey = one_in(g, 2) ? w->key : (w->key & ~0xffu) | below(g, 256);
	bind->window = g->n_windows;
	bind->len = 1 + below(g, c->region - 1);
	bind->roff = below(g, c->region - bind->len + 1);
	for (uint32_t n = 1 + below(g, 3); n; n--) {
		it = use_window(g, bind, bind->roff,
				bind->len < 10 * c->mtu ? bind->len : 10 * c->mtu);
		await(g, it, bind);
	}
	if (!one_in(g, 4))
		take_back(g, bind, it);
}

/* A request that must be refused, the last of its end. */
static void add_wrong(struct gen *g, uint32_t conn, uint32_t host)
{
	static const enum wr_opcode ops[] = {
		WR_RDMA_WRITE,
		WR_RDMA_READ,
		WR_ATOMIC_CMP_AND_SWP,
		WR_ATOMIC_FETCH_AND_ADD,
	};
	struct conn *c = &g->conn[conn];
	struct item *it = new_item(g, conn, host, ops[below(g, sizeof(ops) / sizeof(ops[0]))]);

	it->len = is_atomic(it->op) ? 8 : 1 + below(g, 3 * c->mtu);
	choose_local(g, it, c, &c->end[host]);
	it->is_wrong = true;
}

/* ---- receives ---- */

/* The receives of requests, each somewhere before its request and behind the ones before. */
static void add_receives(struct gen *g)
{
	uint32_t n = g->n_items, earliest[MAX_CONN][2] = { { 0 } };

	for (uint32_t i = 0; i < n && g->n_items < MAX_ITEMS; i++) {
		struct item *it = &g->item[i], *r = &g->item[g->n_items];
		struct conn *c = &g->conn[it->conn];
		uint32_t *from = &earliest[it->conn][1 - it->host];

		if (!gen_takes_recv(it->op))
			continue;
		*r = (struct item){ .conn = it->conn, .host = 1 - it->host, .is_recv = true };
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
	g->is_lossy = !want->is_clean && one_in(g, 2);
	out->may_fail = g->is_lossy || (!want->is_clean && one_in(g, 8));
	out->is_wrong = !want->is_clean && one_in(g, 6);
	g->may_end = out->may_fail || out->is_wrong;
	make_connections(g);
	n = (want->is_clean ? 20 : 2) + below(g, 30);
	for (uint32_t i = 0; i < n; i++) {
		add_request(g, below(g, g->n_conn), below(g, 4) == 0);
		if (!g->may_end && g->n_windows < MAX_WINDOWS && one_in(g, 10))
			add_window(g, below(g, g->n_conn), below(g, 2));
	}
	if (out->is_wrong)
		add_wrong(g, below(g, g->n_conn), below(g, 2));
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
