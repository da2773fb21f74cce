/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_states.c - random small traces: send queues that are drained, QPs put into Error, and connections
 * that are used, reset and brought up again first
 *
 * What a former life moves lies in a region of its own (jnk) and counts for nothing. The PSNs of the
 * second life are 2^20 ahead, so that what the wire still holds of the first are duplicates to it. It
 * begins, at each end, with a WRITE of no bytes, whose completion tells that the peer is up too: before
 * it no receive of the second life is posted.
 *
 * Connections of other services are brought up again so late that the wire holds nothing of the first life: no PSN
 * tells UC and UD (9.8.2.2.1). Their former messages take no receives from an SRQ.
 */
#include <inttypes.h>

#include "testbench/gen_parts.h"

#define JUNK_LEN 8192u
#define UP_AGAIN_NS 20000000u

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

/* Before any other request is drawn. */
void gen_choose_reborn(struct gen *g)
{
	for (uint32_t i = 0; i < g->n_conn; i++) {
		g->conn[i].is_reborn = !g->want->is_clean && one_in(g, 8);
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

/* A request of a former life of QP h<host>.<name>, of 'most' bytes at most. */
static void write_former_post(struct gen *g, const char *qp, enum qp_type type, bool may_send,
			      uint32_t most, uint64_t id)
{
	static const enum wr_opcode ops[] = { WR_RDMA_WRITE, WR_SEND, WR_RDMA_READ,
					      WR_ATOMIC_FETCH_AND_ADD };
	enum wr_opcode op = type == QP_UD ? WR_SEND : ops[below(g, type == QP_RC ? 4 : 2)];
	uint32_t len = op == WR_ATOMIC_FETCH_AND_ADD ? 8 : 1 + below(g, most);

	if (op == WR_SEND && !may_send)
		op = WR_RDMA_WRITE;
	fprintf(g->f, "post %s id=%" PRIu64 " op=%s sge=jnk0:%u:%u", qp, id, wr_opcode_names[op],
		4096, len);
	if (op != WR_SEND)
		fprintf(g->f, " remote=jnk0:0");
	if (op == WR_ATOMIC_FETCH_AND_ADD)
		fprintf(g->f, " add=1");
	if (type == QP_UD)
		fprintf(g->f, " dest=h%u%s", qp[1] == '0', qp + 2);
	fputc('\n', g->f);
}

/* One end: some requests and receives, RESET, and up again. */
struct former {
	char qp[12];
	enum qp_type type;
	uint32_t sq, rq, most, up_ns, psn, peer_psn;
	bool may_send;
};

static void write_former_life(struct gen *g, const struct former *f, uint64_t *id)
{
	uint32_t n = below(g, FORMER_POSTS);

	for (uint32_t i = 0; i < n && i < f->rq; i++)
		fprintf(g->f, "recv %s id=%" PRIu64 " sge=jnk0:0:4096\n", f->qp, ++*id);
	n = 1 + below(g, FORMER_POSTS);
	for (uint32_t i = 0; i < n && i < f->sq; i++)
		if (f->type != QP_UD || f->may_send)
			write_former_post(g, f->qp, f->type, f->may_send, f->most, ++*id);
	fprintf(g->f, "modify %s state=RESET at=%uns\nmodify %s state=INIT\nmodify %s state=RTR",
		f->qp, below(g, 30000), f->qp, f->qp);
	if (f->type != QP_UD)
		fprintf(g->f, " rq_psn=%u", f->peer_psn);
	if (f->up_ns)
		fprintf(g->f, " at=%uns", f->up_ns);
	fprintf(g->f, "\nmodify %s state=RTS sq_psn=%u\n", f->qp, f->psn);
}

void gen_write_former(struct gen *g, uint64_t *id)
{
	for (uint32_t i = 0; i < 2 * g->n_conn; i++) {
		const struct conn *c = &g->conn[i / 2];
		const struct end *e = &c->end[i % 2];
		struct former f = { .type = QP_RC,
				    .sq = e->sq,
				    .rq = e->rq,
				    .most = 4000,
				    .psn = e->psn,
				    .peer_psn = c->end[1 - i % 2].psn,
				    .may_send = true };

		snprintf(f.qp, sizeof(f.qp), "h%u.q%u", i % 2, i / 2 % MAX_CONN);
		if (c->is_reborn)
			write_former_life(g, &f, &id[i % 2]);
	}
	for (uint32_t i = 0; i < 2 * g->loose.n_conn; i++) {
		const struct loose_conn *c = &g->loose.conn[i / 2];
		const struct loose_end *e = &c->end[i % 2];
		struct former f = { .type = c->type,
				    .sq = e->sq,
				    .rq = e->rq,
				    .most = c->type == QP_UD ? c->mtu : 4000,
				    .up_ns = UP_AGAIN_NS,
				    .psn = e->psn,
				    .peer_psn = c->end[1 - i % 2].psn,
				    .may_send = !c->end[1 - i % 2].is_shared };

		snprintf(f.qp, sizeof(f.qp), "h%u.l%u", i % 2, i / 2 % MAX_LOOSE_CONN);
		if (c->is_reborn)
			write_former_life(g, &f, &id[i % 2]);
	}
}
