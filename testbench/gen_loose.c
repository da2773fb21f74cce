/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_loose.c - random small traces: unreliable connections, datagrams, shared receive queues
 *
 * What of these arrives, and in which receive, only the run tells. So every message has bytes of
 * its own at the target: a place in ltg for a WRITE, in llo for what a READ brings, a buffer in lrv
 * for a receive. All are sent from lsr, which nobody writes. Each host has one SRQ, shared by QPs
 * of all three services.
 */
#include <inttypes.h>

#include "testbench/gen_parts.h"

#define SOURCE_LEN 8192u
#define GRH 40u
#define PORT_MTU 4096u /* the most that a datagram carries, whatever mtu= its QP has */
#define TARGET_GAP 16u

static const char *const type_names[] = { [QP_RC] = "RC", [QP_UC] = "UC", [QP_UD] = "UD" };

bool gen_takes_recv(enum wr_opcode op)
{
	return op == WR_SEND || op == WR_SEND_WITH_IMM || op == WR_SEND_WITH_INV ||
	       op == WR_RDMA_WRITE_WITH_IMM;
}

/* ---- what there is ---- */

static void add_conn(struct gen *g, enum qp_type type, bool is_shared)
{
	struct loose *l = &g->loose;
	struct loose_conn *c = &l->conn[l->n_conn++];
	bool is_odd = !l->is_sure && type != QP_RC && one_in(g, 8);

	*c = (struct loose_conn){ .type = type,
				  .mtu = PICK(g, 256, 256, 512, 1024),
				  .is_reborn = !l->is_sure && one_in(g, 6) };
	for (uint32_t h = 0; h < 2; h++) {
		struct loose_end *e = &c->end[h];

		e->is_shared = is_shared || (l->n_conn > 1 && one_in(g, 4));
		e->psn = one_in(g, 2) ? 0xffffff - below(g, 12) : below(g, 1u << 24);
		if (is_odd) /* two of a partition, one a limited member, or of two */
			e->pkey = PICK(g, 0xffff, 0x7fff, 0x8001, 1);
		e->sq = PICK(g, 1, 2, 4, 16);
		e->max_run = below(g, e->sq);
	}
	/* an RC QP with receives of its own at both ends is not of this kind */
	c->end[below(g, 2)].is_shared |= type == QP_RC;
}

static void make_conns(struct gen *g)
{
	static const enum qp_type types[] = { QP_UC, QP_UD, QP_RC };
	uint32_t n = 1 + below(g, 3);

	if (g->want->is_clean) {
		for (uint32_t i = 0; i < 6; i++)
			add_conn(g, types[i % 3], i >= 3);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		add_conn(g, types[below(g, 3)], one_in(g, 2));
}

static uint32_t loose_length(struct gen *g, const struct loose_conn *c)
{
	uint32_t most = c->type == QP_UD ? PORT_MTU : 4 * c->mtu;

	switch (below(g, 6)) {
	case 0:
		return below(g, 9);
	case 1:
		return c->mtu - below(g, 2);
	case 2:
		return most - below(g, 3);
	default:
		return below(g, most + 1);
	}
}

static enum wr_opcode loose_op(struct gen *g, enum qp_type type)
{
	static const enum wr_opcode ops[] = { WR_SEND,          WR_SEND_WITH_IMM,
					      WR_RDMA_WRITE,    WR_RDMA_WRITE_WITH_IMM,
					      WR_SEND_WITH_IMM, WR_RDMA_READ };

	return ops[below(g, type == QP_UD ? 2 : type == QP_UC ? 5 : 6)];
}

/* Another UD QP of 'host' may be the destination; else it is the peer's. */
static uint32_t destination(struct gen *g, uint32_t conn, uint32_t host)
{
	uint32_t other = below(g, g->loose.n_conn);
	const struct loose_conn *c = &g->loose.conn[other];

	if (g->loose.conn[conn].type != QP_UD || c->type != QP_UD)
		return conn;
	return c->is_reborn && c->end[host].is_shared ? conn
						      : other; /* its former life takes none */
}

static void add_message(struct gen *g)
{
	struct loose *l = &g->loose;
	uint32_t conn = below(g, l->n_conn), host = below(g, 2);
	struct loose_item *m = &l->item[l->n_items++];
	struct loose_conn *c = &l->conn[conn];
	bool is_read;

	*m = (struct loose_item){ .conn = conn, .host = host, .op = loose_op(g, c->type) };
	m->len = loose_length(g, c);
	m->dest = destination(g, conn, 1 - host);
	m->off = below(g, SOURCE_LEN - m->len + 1);
	is_read = m->op == WR_RDMA_READ;
	if (is_read || has_remote(m->op)) {
		uint32_t *at = is_read ? &l->local_at[host] : &l->target_at[1 - host];

		m->to = *at + below(g, TARGET_GAP);
		*at = m->to + m->len;
	}
	c->end[host].n_sends++;
}

/* ---- receives ---- */

/* The queue that a receive of this end goes to; queue 'n_conn' is the SRQ. */
static struct loose_queue *queue_of(struct gen *g, uint32_t conn, uint32_t host)
{
	struct loose *l = &g->loose;

	return &l->queue[l->conn[conn].end[host].is_shared ? l->n_conn : conn][host];
}

static void count_receives(struct gen *g)
{
	struct loose *l = &g->loose;

	for (uint32_t i = 0; i < l->n_items; i++) {
		const struct loose_item *m = &l->item[i];
		struct loose_queue *q = queue_of(g, m->dest, 1 - m->host);
		uint32_t room = m->len + (l->conn[m->conn].type == QP_UD ? GRH : 0);

		if (!gen_takes_recv(m->op))
			continue;
		q->n++;
		q->room = q->room > room ? q->room : room;
		q->has_rc |= l->conn[m->conn].type == QP_RC;
	}
}

/* Receives as many as there are messages; where some are lost or doubled, not always. */
static void add_receives(struct gen *g, uint32_t queue, uint32_t host)
{
	struct loose *l = &g->loose;
	struct loose_queue *q = &l->queue[queue][host];
	uint32_t n = q->n;

	if (!l->is_sure)
		n += q->has_rc ? 4 : below(g, 5);
	if (!l->is_sure && !q->has_rc && n > 3 && one_in(g, 3))
		n -= 1 + below(g, 3);
	q->n = 0;
	while (q->n < n && l->n_items < MAX_LOOSE_ITEMS) {
		struct loose_item *r = &l->item[l->n_items++];
		bool is_short = !l->is_sure && !q->has_rc && one_in(g, 12);

		*r = (struct loose_item){ .conn = queue, .host = host, .is_recv = true };
		r->len = is_short ? below(g, q->room + 1) : q->room + below(g, 20);
		r->off = l->recv_at[host];
		l->recv_at[host] += r->len + below(g, 3);
		q->n++;
	}
}

/* Messages in the order drawn, receives of each queue anywhere among them; or all of them first. */
static void shuffle(struct gen *g, uint32_t n_messages)
{
	struct loose *l = &g->loose;
	uint32_t n = 0, next = n_messages;

	for (uint32_t i = 0; i <= n_messages; i++) {
		while (next < l->n_items && (l->is_sure || i == n_messages || one_in(g, 2)))
			l->order[n++] = next++;
		if (i < n_messages)
			l->order[n++] = i;
	}
}

void gen_make_loose(struct gen *g)
{
	struct loose *l = &g->loose;
	uint32_t n;

	if (g->want->is_rarely_lossy || (!g->want->is_clean && one_in(g, 2)))
		return;
	l->is_sure = g->want->is_clean || (!g->is_lossy && one_in(g, 2));
	g->out->is_sure = l->is_sure;
	make_conns(g);
	n = g->want->is_clean ? 72 : 2 + below(g, 24);
	for (uint32_t i = 0; i < n; i++)
		add_message(g);
	count_receives(g);
	for (uint32_t i = 0; i <= l->n_conn; i++)
		for (uint32_t h = 0; h < 2; h++)
			if (i == l->n_conn || !l->conn[i].end[h].is_shared)
				add_receives(g, i, h);
	shuffle(g, n);
}

/* ---- text: set-up ---- */

static void write_loose_qp(struct gen *g, uint32_t conn, uint32_t host, bool has_cq)
{
	struct loose_conn *c = &g->loose.conn[conn];
	struct loose_end *e = &c->end[host];
	uint32_t rq = g->loose.queue[conn][host].n;

	if (!g->loose.is_sure && g->want->may_block && rq && one_in(g, 4))
		rq = 1 + below(g, rq);
	e->rq = e->is_shared ? 0 : rq ? rq : 1;
	fprintf(g->f, "qp h%u l%u type=%s psn=%u mtu=%u sq=%u rq=%u max_sge=4 inline=64", host,
		conn, type_names[c->type], c->is_reborn ? gen_former_psn(e->psn) : e->psn, c->mtu,
		e->sq, rq ? rq : 1);
	if (c->type == QP_UD)
		fprintf(g->f, " qkey=0x%x", 0x7700 + conn);
	else
		fprintf(g->f, " peer=h%u.l%u", 1 - host, conn);
	if (c->type == QP_RC)
		fprintf(g->f, " timeout=%u min_rnr=%u rnr_retry=%u rd_atomic=%u",
			g->out->may_fail ? 1 + below(g, 10) : 14, 1 + below(g, 6),
			g->loose.is_sure ? 7 : below(g, 7), PICK(g, 1, 2, 16));
	if (e->pkey)
		fprintf(g->f, " pkey=0x%x", e->pkey);
	if (e->is_shared)
		fprintf(g->f, " srq=s");
	if (has_cq)
		fprintf(g->f, " scq=c0%s", one_in(g, 2) ? " rcq=c0" : "");
	fputc('\n', g->f);
}

uint32_t gen_loose_depth(const struct gen *g)
{
	uint32_t n = g->loose.n_items;

	for (uint32_t i = 0; i < g->loose.n_conn; i++)
		n += g->loose.conn[i].end[0].sq + g->loose.conn[i].end[1].sq + 4 * FORMER_POSTS;
	return n;
}

void gen_write_loose_mrs(struct gen *g)
{
	const struct loose *l = &g->loose;

	for (uint32_t h = 0; l->n_conn && h < 2; h++) {
		gen_write_mr(g, h, "lsr", 0, SOURCE_LEN, "rr", "rand:11");
		gen_write_mr(g, h, "ltg", 0, l->target_at[h] + 8, "lw,rw", "rand:12");
		gen_write_mr(g, h, "llo", 0, l->local_at[h] + 8, "lw", "zero");
		gen_write_mr(g, h, "lrv", 0, l->recv_at[h] + 8, "lw", "rand:13");
	}
}

void gen_write_loose_qps(struct gen *g, bool has_cq)
{
	const struct loose *l = &g->loose;

	for (uint32_t h = 0; l->n_conn && h < 2; h++)
		fprintf(g->f, "srq h%u s depth=%u max_sge=4 limit=%u\n", h,
			l->queue[l->n_conn][h].n ? l->queue[l->n_conn][h].n : 1,
			one_in(g, 2) ? below(g, l->queue[l->n_conn][h].n + 1) : 0);
	for (uint32_t h = 0; h < 2; h++)
		for (uint32_t i = 0; i < l->n_conn; i++)
			write_loose_qp(g, i, h, has_cq);
}

/* ---- text: the stream ---- */

/* Bytes from 'off' on in one to three segments that follow each other. */
static void write_segments(struct gen *g, const char *mr, uint32_t off, uint32_t len)
{
	const char *before = " sge=";

	for (uint32_t i = 0, n; len; i++, off += n, len -= n) {
		n = i < 2 && one_in(g, 3) ? 1 + below(g, len) : len;
		fprintf(g->f, "%s%s0:%u:%u", before, mr, off, n);
		before = ",";
	}
}

static void write_late(struct gen *g, uint32_t *late_ns, uint32_t most)
{
	if (!one_in(g, 4))
		return;
	*late_ns += below(g, most);
	fprintf(g->f, " at=%uns", *late_ns);
}

static void write_loose_post(struct gen *g, const struct loose_item *m, uint64_t id)
{
	const struct loose_conn *c = &g->loose.conn[m->conn];
	struct loose_end *e = &g->loose.conn[m->conn].end[m->host];
	bool is_read = m->op == WR_RDMA_READ, is_last = ++e->n_written == e->n_sends;
	bool is_signaled = is_last || e->unsignaled >= e->max_run || one_in(g, 2);

	e->unsignaled = is_signaled ? 0 : e->unsignaled + 1;
	fprintf(g->f, "post h%u.l%u id=%" PRIu64 " op=%s", m->host, m->conn, id,
		wr_opcode_names[m->op]);
	write_segments(g, is_read ? "llo" : "lsr", is_read ? m->to : m->off, m->len);
	if (has_remote(m->op))
		fprintf(g->f, is_read ? " remote=lsr0:%u" : " remote=ltg0:%u",
			is_read ? m->off : m->to);
	if (m->op == WR_SEND_WITH_IMM || m->op == WR_RDMA_WRITE_WITH_IMM)
		fprintf(g->f, " imm=%u", below(g, UINT32_MAX));
	if (c->type == QP_UD)
		fprintf(g->f, " dest=h%u.l%u", 1 - m->host, m->dest);
	fprintf(g->f, " flags=%s%s%s", is_signaled ? "signaled" : "unsignaled",
		!is_read && m->len <= 64 && one_in(g, 2) ? ",inline" : "",
		one_in(g, 4) ? ",solicited" : "");
	write_late(g, &e->late_ns, 4000);
	fputc('\n', g->f);
}

static void write_loose_recv(struct gen *g, const struct loose_item *r, uint64_t id)
{
	struct loose *l = &g->loose;

	if (r->conn == l->n_conn)
		fprintf(g->f, "recv h%u.s id=%" PRIu64, r->host, id);
	else
		fprintf(g->f, "recv h%u.l%u id=%" PRIu64, r->host, r->conn, id);
	write_segments(g, "lrv", r->off, r->len);
	if (!l->is_sure)
		write_late(g, &l->queue[r->conn][r->host].late_ns, 8000);
	fputc('\n', g->f);
}

void gen_write_loose(struct gen *g, uint64_t *id, bool is_all)
{
	struct loose *l = &g->loose;

	while (l->n_written < l->n_items) {
		const struct loose_item *m = &l->item[l->order[l->n_written]];

		if (!is_all && !(l->is_sure && m->is_recv) && one_in(g, 2))
			return;
		l->n_written++;
		id[m->host] += 1 + below(g, 3);
		if (m->is_recv)
			write_loose_recv(g, m, id[m->host]);
		else
			write_loose_post(g, m, id[m->host]);
	}
}

void gen_write_events(struct gen *g)
{
	uint32_t h = below(g, 2);

	if (g->loose.n_conn && one_in(g, 24))
		fprintf(g->f, "modify h%u.s limit=%u at=%uns\n", h,
			below(g, g->loose.queue[g->loose.n_conn][h].n + 1), below(g, 20000));
	if (g->has_cq && !g->is_event[h] && one_in(g, 12))
		fprintf(g->f, "arm h%u.c0 solicited=%s at=%uns\n", h, one_in(g, 2) ? "yes" : "no",
			below(g, 20000));
}
