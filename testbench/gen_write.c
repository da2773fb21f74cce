/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_write.c - random small traces: their text
 */
#include <inttypes.h>
#include <string.h>

#include "testbench/gen_parts.h"

static const char *mr_prefix(char mr)
{
	return mr == 's'   ? "src"
	       : mr == 'l' ? "loc"
	       : mr == 'r' ? "rcv"
	       : mr == 'e' ? "ech"
			   : "tkt";
}

#define TGT_KEY(conn) ((0x600u + (conn)) << 8)

uint64_t gen_write_mr(struct gen *g, uint32_t host, const char *name, uint32_t conn, uint32_t len,
		      const char *access, const char *fill)
{
	static const char *const pages[] = { "4KiB", "2MiB" };
	uint64_t va = 0x10000000ull + conn * 0x4000000ull + ((uint64_t)name[0] << 32) +
		      ((uint64_t)name[1] << 40);

	va += one_in(g, 2) ? 0 : 8 * below(g, 512);
	fprintf(g->f, "mr h%u %s%u va=0x%" PRIx64 " len=%u access=%s page=%s fill=%s", host, name,
		conn, va, len, access, pages[one_in(g, 10)], fill);
	if (strcmp(name, "tgt") == 0)
		fprintf(g->f, " rkey=0x%x", TGT_KEY(conn));
	fputc('\n', g->f);
	return va;
}

static void write_qp(struct gen *g, uint32_t conn, uint32_t host, bool has_cq)
{
	const struct conn *c = &g->conn[conn];
	const struct end *e = &c->end[host];

	fprintf(g->f,
		"qp h%u q%u type=RC peer=h%u.q%u psn=%u mtu=%u sq=%u rq=%u max_sge=%u inline=%u",
		host, conn, 1 - host, conn, c->is_reborn ? gen_former_psn(e->psn) : e->psn, c->mtu,
		e->sq, e->rq, e->max_sge, e->max_inline);
	if (g->out->may_fail && one_in(g, 3))
		fprintf(g->f, " rnr_retry=%u", below(g, 3));
	fprintf(g->f, " access=rw,rr,ra,fl rd_atomic=%u dest_rd_atomic=%u timeout=%u min_rnr=%u",
		e->rd_atomic, one_in(g, 3) ? 16 : c->end[1 - host].rd_atomic,
		g->out->may_fail ? 1 + below(g, 10) : 14, 1 + below(g, 6));
	if (has_cq)
		fprintf(g->f, " scq=c0%s", one_in(g, 2) ? " rcq=c0" : "");
	if (one_in(g, 4))
		fprintf(g->f, " sig_all=yes");
	if (one_in(g, 4))
		fprintf(g->f, " rate=%uMbps", PICK(g, 100, 1000, 7000, 40000));
	if (one_in(g, 4))
		fprintf(g->f, " prio=%u weight=%u", below(g, 8), 1 + below(g, 9));
	fputc('\n', g->f);
}

/* A CQ that many QPs share, and whose program may wait for events. */
static void write_cq(struct gen *g, uint32_t host, uint32_t depth)
{
	fprintf(g->f, "cq h%u c0 depth=%u", host, depth);
	g->is_event[host] = one_in(g, 3);
	if (g->is_event[host])
		fprintf(g->f, " mode=event");
	if (one_in(g, 3))
		fprintf(g->f, " moderate=%u:%uns", 1 + below(g, 8), 1 + below(g, 5000));
	fputc('\n', g->f);
}

static void write_setup(struct gen *g)
{
	bool has_cq = g->has_cq, is_v6 = one_in(g, 5);
	uint32_t depth = 1 + gen_loose_depth(g);

	fprintf(g->f, "rnicsim-trace 1\n");
	for (uint32_t h = 0; h < 2; h++)
		fprintf(g->f, is_v6 ? "host h%u ip=fd00::%u\n" : "host h%u\n", h, h + 1);
	for (uint32_t h = 0; h < 2; h++) {
		for (uint32_t i = 0; i < g->n_conn; i++) {
			uint32_t len = g->conn[i].region;

			gen_write_mr(g, h, "src", i, len, "", one_in(g, 2) ? "inc" : "rand:7");
			gen_write_mr(g, h, "loc", i, len, "lw", "lin:3,1,5,0");
			g->conn[i].end[h].tgt_va =
				gen_write_mr(g, h, "tgt", i, len, "lw,rw,rr,ra,mw,fl",
					     one_in(g, 2) ? "zero" : "lin:7,3,13,29");
			gen_write_mr(g, h, "rcv", i, len, "lw", "zero");
			gen_write_mr(g, h, "ech", i, len, "lw", "zero");
		}
		gen_write_mr(g, h, "cnt", 0, 8, "lw,rr,ra", "zero");
		gen_write_mr(g, h, "tkt", 0, 8 * COUNTER_SLOTS, "lw", "zero");
	}
	gen_write_loose_mrs(g);
	gen_write_junk(g);
	for (uint32_t i = 0; i < g->n_windows; i++)
		fprintf(g->f, "mw h%u w%u rkey=0x%x\n", g->window[i].host, i, g->window[i].key);
	for (uint32_t i = 0; i < g->n_conn; i++)
		for (uint32_t h = 0; h < 2; h++)
			depth += g->conn[i].end[h].sq + g->conn[i].end[h].rq + 2 * FORMER_POSTS;
	for (uint32_t h = 0; has_cq && h < 2; h++)
		write_cq(g, h, depth);
	for (uint32_t h = 0; h < 2; h++)
		for (uint32_t i = 0; i < g->n_conn; i++)
			write_qp(g, i, h, has_cq);
	gen_write_loose_qps(g, has_cq);
}

static void write_pieces(struct gen *g, const struct item *it)
{
	if (it->wrong == WRONG_LOCAL) {
		fprintf(g->f, " sge=va:0x%x:lkey:0x7f0000:%u", 8 * below(g, 1u << 20), it->len);
		return;
	}
	for (uint32_t i = 0; i < it->n_pieces; i++) {
		const struct piece *p = &it->piece[i];

		fprintf(g->f, "%s%s%u:%u:%u", i ? "," : " sge=", mr_prefix(p->mr),
			p->mr == 't' ? 0 : it->conn, p->off, p->len);
	}
}

/* Something earlier in the file whose completion will come, or NULL. */
static const struct item *find_event(struct gen *g, uint32_t upto)
{
	for (unsigned tries = 0; tries < 4 && upto; tries++) {
		const struct item *x = &g->item[g->order[below(g, upto)]];

		if (x->is_recv ? x->is_done && !g->may_end : x->is_signaled)
			return x;
	}
	return NULL;
}

static void write_after(struct gen *g, const struct item *it, const struct item *x)
{
	if (x->host == it->host)
		fprintf(g->f, " after=%" PRIu64, x->id);
	else
		fprintf(g->f, " after=h%u:%" PRIu64, x->host, x->id);
}

/* When it starts. A post behind one that did not ring must not wait. */
static void write_when(struct gen *g, const struct item *it, uint32_t at, bool may_wait)
{
	struct end *e = &g->conn[it->conn].end[it->host];
	const struct item *x = may_wait && one_in(g, 8) ? find_event(g, at) : NULL;

	if (it->echo_of)
		x = &g->item[g->item[it->echo_of - 1].recv - 1];
	if (it->wait_for)
		x = &g->item[it->wait_for - 1];
	if (x)
		write_after(g, it, x);
	else if (may_wait && one_in(g, it->is_recv ? 4 : 8)) {
		e->late_ns += below(g, it->is_recv ? 8000 : 2000);
		fprintf(g->f, " at=%uns", e->late_ns);
	}
	if (may_wait && one_in(g, 12))
		fprintf(g->f, " delay=%uns", below(g, 1000));
}

static void write_remote(struct gen *g, const struct item *it)
{
	uint32_t count = below(g, g->n_tickets[it->host] + 1);

	if (it->wrong == WRONG_KEY || it->is_null)
		fprintf(g->f, " remote=va:0x%x:rkey:0x%x", 8 * below(g, 1u << 20),
			it->is_null ? 0x7e0000 : 0x7f0000);
	else if (it->wrong == WRONG_RIGHTS)
		fprintf(g->f, " remote=src%u:0", it->conn);
	else if (it->wrong == WRONG_END)
		fprintf(g->f, " remote=va:0x%" PRIx64 ":rkey:0x%x",
			g->conn[it->conn].end[1 - it->host].tgt_va + it->roff, TGT_KEY(it->conn));
	else if (it->is_counter)
		fprintf(g->f, " remote=cnt0:0");
	else if (it->window)
		fprintf(g->f, " remote=va:0x%" PRIx64 ":rkey:0x%x",
			g->conn[it->conn].end[1 - it->host].tgt_va + it->roff,
			g->window[it->window - 1].newkey);
	else
		fprintf(g->f, " remote=tgt%u:%u", it->conn, it->roff);
	if (it->op == WR_ATOMIC_FETCH_AND_ADD)
		fprintf(g->f, " add=%" PRIu64, it->is_counter ? 1 : rng_next(&g->rng));
	else if (it->is_counter)
		fprintf(g->f, " compare=%u swap=%u", count, count + 1);
	else if (it->op == WR_ATOMIC_CMP_AND_SWP)
		fprintf(g->f, " compare=%u swap=%" PRIu64, one_in(g, 2) ? 0 : below(g, 4),
			rng_next(&g->rng) >> below(g, 64));
}

/* What its completion is to say. */
static void write_wrong(struct gen *g, enum wrong wrong)
{
	static const enum wc_status due[WRONGS] = {
		[WRONG_KEY] = WC_REM_ACCESS_ERR,    [WRONG_END] = WC_REM_ACCESS_ERR,
		[WRONG_RIGHTS] = WC_REM_ACCESS_ERR, [WRONG_ALIGN] = WC_REM_INV_REQ_ERR,
		[WRONG_LOCAL] = WC_LOC_PROT_ERR,    [WRONG_WINDOW] = WC_REM_ACCESS_ERR,
		[WRONG_ACCESS] = WC_REM_ACCESS_ERR, [WRONG_INVALID] = WC_REM_ACCESS_ERR,
	};

	if (wrong != WRONG_NOT)
		fprintf(g->f, " wrid=%u", GEN_WRONG + due[wrong]);
}

/* The record of the same end that comes next in the file is a post that need not wait. */
static bool next_can_ring(const struct gen *g, uint32_t at)
{
	const struct item *it = &g->item[g->order[at]];

	for (uint32_t i = at + 1; i < g->n_items; i++) {
		const struct item *x = &g->item[g->order[i]];

		if (x->conn == it->conn && x->host == it->host)
			return !x->is_recv && !x->echo_of && !x->wait_for;
	}
	return false;
}

static void write_state(struct gen *g, const struct item *it, const char *state, uint32_t after_ns)
{
	struct end *e = &g->conn[it->conn].end[it->host];

	e->late_ns += below(g, after_ns);
	fprintf(g->f, "modify h%u.q%u state=%s at=%uns\n", it->host, it->conn, state, e->late_ns);
}

/* Before the next post of the end its state changes, if it is to. */
static void write_states(struct gen *g, const struct item *it)
{
	struct end *e = &g->conn[it->conn].end[it->host];

	if (e->is_more)
		return;
	if (e->drain_at && e->n_written >= e->drain_at - 1) {
		write_state(g, it, "SQD", 6000);
		write_state(g, it, "RTS", 20000);
		e->drain_at = 0;
	}
	if (e->kill_at && e->n_written >= e->kill_at - 1) {
		write_state(g, it, "ERR", 20000);
		e->kill_at = 0;
	}
}

static void write_post(struct gen *g, struct item *it, uint32_t at)
{
	struct end *e = &g->conn[it->conn].end[it->host];
	bool is_last = ++e->n_written == e->n_sends;
	bool is_more = !is_last && one_in(g, 5) && next_can_ring(g, at);

	it->is_signaled = is_last || it->is_awaited || e->unsignaled >= e->max_run || one_in(g, 2);
	e->unsignaled = it->is_signaled ? 0 : e->unsignaled + 1;
	fprintf(g->f, "post h%u.q%u id=%" PRIu64 " op=%s", it->host, it->conn, it->id,
		wr_opcode_names[it->op]);
	write_pieces(g, it);
	if (has_remote(it->op))
		write_remote(g, it);
	if (it->op == WR_SEND_WITH_IMM || it->op == WR_RDMA_WRITE_WITH_IMM)
		fprintf(g->f, " imm=%u", below(g, UINT32_MAX));
	if (it->op == WR_BIND_MW)
		fprintf(g->f, " mw=w%u bind=tgt%u:%u:%u access=rw,rr newkey=0x%x", it->window - 1,
			it->conn, it->roff, it->len, g->window[it->window - 1].newkey);
	if (it->op == WR_SEND_WITH_INV || it->op == WR_LOCAL_INV)
		fprintf(g->f, " inv=0x%x", g->window[it->window - 1].newkey);
	fprintf(g->f, " flags=%s%s%s%s%s", it->is_signaled ? "signaled" : "unsignaled",
		it->fence ? ",fence" : "", it->is_inline ? ",inline" : "", is_more ? ",more" : "",
		one_in(g, 6) ? ",solicited" : "");
	write_wrong(g, it->wrong);
	write_when(g, it, at, !e->is_more);
	fputc('\n', g->f);
	e->is_more = is_more;
	if (it->recv)
		g->item[it->recv - 1].is_done = true;
}

static void write_stream(struct gen *g)
{
	uint64_t id[2] = { 0, 0 };

	gen_write_former(g, id);
	for (uint32_t i = 0; i < g->n_items; i++) {
		struct item *it = &g->item[g->order[i]];

		gen_write_loose(g, id, false);
		it->id = id[it->host] += 1 + below(g, 3);
		gen_write_events(g);
		if (!it->is_recv) {
			write_states(g, it);
			write_post(g, it, i);
			continue;
		}
		fprintf(g->f, "recv h%u.q%u id=%" PRIu64, it->host, it->conn, it->id);
		write_pieces(g, it);
		if (it->wait_for || one_in(g, 3))
			write_when(g, it, i, true);
		fputc('\n', g->f);
	}
	gen_write_loose(g, id, true);
}

void gen_write_trace(struct gen *g)
{
	write_setup(g);
	write_stream(g);
}
