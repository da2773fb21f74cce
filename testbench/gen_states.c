/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_states.c - random small traces: send queues that are drained, QPs put into Error, and connections
 * that are used, reset and brought up again first
 *
 * What a former life moves lies in a region of its own (jnk) and counts for nothing. The PSNs of the
 * second life are 2^20 ahead, so that what the wire still holds of the first are duplicates to it. It
 * begins, at each end, with a WRITE of no bytes, whose completion tells that the peer is up too: before
 * it no receive of the second life is posted.
 */
#include <inttypes.h>

#include "testbench/gen_parts.h"

#define JUNK_LEN 8192u
#define FORMER_POSTS 3u

void gen_choose_states(struct gen *g)
{
	for (uint32_t i = 0; i < 2 * g->n_conn; i++) {
		struct end *e = &g->conn[i / 2].end[i % 2];

		if (e->n_sends && one_in(g, 8))
			e->drain_at = 1 + below(g, e->n_sends);
		if (g->may_end && e->n_sends && one_in(g, 24))
			e->kill_at = 1 + below(g, e->n_sends);
	}
}

uint32_t gen_former_psn(uint32_t psn)
{
	return (psn - (1u << 20)) & 0xffffff;
}

/* Before any other request is drawn. CQs that are shared are not for them: their completions have no order. */
void gen_choose_reborn(struct gen *g)
{
	for (uint32_t i = 0; i < g->n_conn; i++) {
		g->conn[i].is_reborn = !g->want->is_clean && !g->has_cq && one_in(g, 8);
		for (uint32_t h = 0; h < 2 && g->conn[i].is_reborn; h++) {
			struct item *it = &g->item[g->n_items++];

			*it = (struct item){ .conn = i,
					     .host = h,
					     .op = WR_RDMA_WRITE,
					     .is_null = true,
					     .is_awaited = true };
			g->conn[i].end[h].n_sends++;
			g->conn[i].end[h].probe = g->n_items;
		}
	}
}

void gen_write_junk(struct gen *g)
{
	for (uint32_t h = 0; h < 2; h++)
		gen_write_mr(g, h, "jnk", 0, JUNK_LEN, "lw,rw,rr,ra", "inc");
}

static void write_former_post(struct gen *g, uint32_t conn, uint32_t host, uint64_t id)
{
	static const enum wr_opcode ops[] = { WR_RDMA_WRITE, WR_SEND, WR_RDMA_READ,
					      WR_ATOMIC_FETCH_AND_ADD };
	enum wr_opcode op = ops[below(g, ARRAY_LEN(ops))];
	uint32_t len = op == WR_ATOMIC_FETCH_AND_ADD ? 8 : 1 + below(g, 4000);

	fprintf(g->f, "post h%u.q%u id=%" PRIu64 " op=%s sge=jnk0:%u:%u", host, conn, id,
		wr_opcode_names[op], 4096, len);
	if (op != WR_SEND)
		fprintf(g->f, " remote=jnk0:0");
	if (op == WR_ATOMIC_FETCH_AND_ADD)
		fprintf(g->f, " add=1");
	fputc('\n', g->f);
}

/* Both ends, in turn: some requests and receives, RESET, and up again. */
void gen_write_former(struct gen *g, uint64_t *id)
{
	for (uint32_t i = 0; i < 2 * g->n_conn; i++) {
		const struct conn *c = &g->conn[i / 2];
		uint32_t h = i % 2, sq = c->end[h].sq, rq = c->end[h].rq;

		if (!c->is_reborn)
			continue;
		for (uint32_t n = below(g, FORMER_POSTS); n && rq; n--, rq--)
			fprintf(g->f, "recv h%u.q%u id=%" PRIu64 " sge=jnk0:0:4096\n", h, i / 2,
				++id[h]);
		for (uint32_t n = 1 + below(g, FORMER_POSTS); n && sq; n--, sq--)
			write_former_post(g, i / 2, h, ++id[h]);
		fprintf(g->f,
			"modify h%u.q%u state=RESET at=%uns\nmodify h%u.q%u state=INIT\n"
			"modify h%u.q%u state=RTR rq_psn=%u\nmodify h%u.q%u state=RTS sq_psn=%u\n",
			h, i / 2, below(g, 30000), h, i / 2, h, i / 2, c->end[1 - h].psn, h, i / 2,
			c->end[h].psn);
	}
}
