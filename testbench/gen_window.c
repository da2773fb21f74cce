/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_window.c - random small traces: memory windows, their use, their end and their misuse
 */
#include "testbench/gen_parts.h"

/* A request through a window over 'len' bytes from 'from' on. */
static struct item *use_window(struct gen *g, struct item *bind, uint32_t from, uint32_t len)
{
	static const enum wr_opcode ops[] = { WR_RDMA_WRITE, WR_RDMA_READ, WR_RDMA_WRITE_WITH_IMM };
	struct conn *c = &g->conn[bind->conn];
	struct end *e = &c->end[1 - bind->host];
	struct item *it = gen_new_item(g, bind->conn, 1 - bind->host, ops[below(g, 3)]);

	it->len = 1 + below(g, len);
	it->window = bind->window;
	gen_choose_local(g, it, c, e);
	gen_choose_remote(g, it, e, from, len);
	gen_keep_pending(g, it, e);
	return it;
}

/* A window is taken back, by its owner or by the peer, who has ended its READs. */
static struct item *take_back(struct gen *g, struct item *bind, struct item *last)
{
	bool by_peer = one_in(g, 2);
	struct item *it = gen_new_item(g, bind->conn, by_peer ? last->host : bind->host,
				       by_peer ? WR_SEND_WITH_INV : WR_LOCAL_INV);

	it->window = bind->window;
	if (!by_peer) {
		gen_await(g, it, last);
		return it;
	}
	it->fence = true;
	it->len = gen_message_length(g, g->conn[it->conn].mtu);
	gen_choose_local(g, it, &g->conn[it->conn], &g->conn[it->conn].end[it->host]);
	gen_keep_pending(g, it, &g->conn[it->conn].end[it->host]);
	return it;
}

bool gen_is_end_free(const struct gen *g, uint32_t conn, uint32_t host)
{
	return !g->conn[conn].end[host].has_wrong;
}

/* The peer goes beyond what the window allows, as its last request. */
static void misuse(struct gen *g, struct item *bind, struct item *last, bool is_taken_back)
{
	static const enum wr_opcode ops[] = { WR_RDMA_WRITE, WR_RDMA_READ, WR_RDMA_WRITE_WITH_IMM };
	uint32_t host = 1 - bind->host;
	struct conn *c = &g->conn[bind->conn];
	struct item *it = gen_new_item(g, bind->conn, host, ops[below(g, 2)]);
	enum wrong wrong = is_taken_back                                           ? WRONG_INVALID
			   : one_in(g, 3) && bind->roff % 8 == 0 && bind->len >= 8 ? WRONG_ACCESS
										   : WRONG_WINDOW;

	c->end[host].has_wrong = true;
	it->wrong = wrong;
	it->window = bind->window;
	if (wrong == WRONG_ACCESS)
		it->op = WR_ATOMIC_FETCH_AND_ADD;
	it->len = is_atomic(it->op) ? 8
				    : 1 + below(g, bind->len < 3 * c->mtu ? bind->len : 3 * c->mtu);
	gen_choose_local(g, it, c, &c->end[host]);
	it->roff = bind->roff;
	if (wrong == WRONG_WINDOW) /* from the byte before it, or to the byte behind it */
		it->roff = bind->roff && one_in(g, 2) ? bind->roff - 1
						      : bind->roff + bind->len - it->len + 1;
	gen_await(g, it, last);
}

/* 'host' opens a window over part of its tgt to the peer, who makes use of it. */
void gen_add_window(struct gen *g, uint32_t conn, uint32_t host)
{
	struct conn *c = &g->conn[conn];
	struct item *bind, *it = NULL;
	struct window *w;
	bool is_taken_back = !one_in(g, 4);

	if (!gen_is_end_free(g, conn, 0) || !gen_is_end_free(g, conn, 1))
		return;
	bind = gen_new_item(g, conn, host, WR_BIND_MW);
	w = &g->window[g->n_windows++];

	w->host = host;
	w->key = (0x400 + g->n_windows) << 8 | below(g, 256);
	w->newkey = one_in(g, 2) ? w->key : (w->key & ~0xffu) | below(g, 256);
	bind->window = g->n_windows;
	bind->len = 1 + below(g, c->region - 1);
	bind->roff = below(g, c->region - bind->len + 1);
	for (uint32_t n = 1 + below(g, 3); n; n--) {
		it = use_window(g, bind, bind->roff,
				bind->len < 10 * c->mtu ? bind->len : 10 * c->mtu);
		gen_await(g, it, bind);
	}
	if (is_taken_back)
		it = take_back(g, bind, it);
	if (g->out->is_wrong && one_in(g, 2))
		misuse(g, bind, it, is_taken_back);
}
