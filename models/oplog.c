/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oplog.c - rows of milestones: opened at the post, marked on the way, handed out at the poll
 *
 * Observation only. A handle carries a generation, so a mark by a packet that outlived its request
 * (a late duplicate) cannot touch the row's next user. Rows closed at a time stamp are handed out
 * when time has moved on: which block of that time stamp stepped first cannot show.
 */
#include "models/oplog.h"

#include <stdlib.h>
#include <string.h>

#include "models/msg.h"

#define ROW_BITS 22u /* of a handle: row + 1; the rest is the generation */
#define ROW_MASK ((1u << ROW_BITS) - 1)
#define CHUNK_BITS 10u
#define CHUNK (1u << CHUNK_BITS)

struct slot {
	struct op_row row;
	uint32_t gen;
	uint32_t link; /* free: next free row + 1 */
	bool is_open, is_closing;
};

/* A closed row that waits for its time stamp to end. */
struct closed {
	uint32_t host, qp, row;
	uint32_t seq; /* order of closing at this time stamp: within a QP it is the CPU's */
};

struct oplog {
	struct slot **chunk;
	uint32_t n_rows, cap_chunks;
	uint32_t free_head, free_tail; /* row + 1; oldest first */
	struct closed *closed;
	uint32_t n_closed, cap_closed;
	uint64_t closed_ps;
	struct oplog_sink *sinks;
};

struct oplog *oplog_create(void)
{
	return x_calloc(1, sizeof(struct oplog));
}

void oplog_destroy(struct oplog *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->n_rows; i += CHUNK)
		free(l->chunk[i >> CHUNK_BITS]);
	free(l->chunk);
	free(l->closed);
	free(l);
}

void oplog_attach(struct oplog *l, struct oplog_sink *s)
{
	struct oplog_sink **at = &l->sinks;

	while (*at)
		at = &(*at)->next;
	s->next = NULL;
	*at = s;
}

static struct slot *slot_at(const struct oplog *l, uint32_t row)
{
	return &l->chunk[row >> CHUNK_BITS][row & (CHUNK - 1)];
}

/* The slot of a handle that is still good, or NULL. */
static struct slot *slot_of(const struct oplog *l, uint32_t op)
{
	struct slot *s;

	if (op == OP_NONE)
		return NULL;
	s = slot_at(l, (op & ROW_MASK) - 1);
	return s->is_open && s->gen == op >> ROW_BITS ? s : NULL;
}

void oplog_clamp(struct op_row *r)
{
	/* what comes behind the completion (unreliable services complete when they have sent) is not on its way */
	for (unsigned m = OP_ARRIVE; m < OP_CQE; m++)
		if (r->t_ps[OP_CQE] && r->t_ps[m] > r->t_ps[OP_CQE])
			r->t_ps[m] = 0;
	for (unsigned m = 1; m < OP_MILESTONES; m++)
		if (r->t_ps[m] < r->t_ps[m - 1])
			r->t_ps[m] = r->t_ps[m - 1];
}

static int closed_order(const void *a, const void *b)
{
	const struct closed *x = a, *y = b;

	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	if (x->qp != y->qp)
		return x->qp < y->qp ? -1 : 1;
	return x->seq < y->seq ? -1 : 1;
}

static void row_free(struct oplog *l, uint32_t row)
{
	struct slot *s = slot_at(l, row);

	s->is_open = s->is_closing = false;
	s->gen = (s->gen + 1) & (UINT32_MAX >> ROW_BITS);
	s->link = 0;
	if (l->free_head)
		slot_at(l, l->free_tail - 1)->link = row + 1;
	else
		l->free_head = row + 1;
	l->free_tail = row + 1;
}

void oplog_flush(struct oplog *l)
{
	if (l->n_closed > 1)
		qsort(l->closed, l->n_closed, sizeof(*l->closed), closed_order);
	for (uint32_t i = 0; i < l->n_closed; i++) {
		struct slot *s = slot_at(l, l->closed[i].row);

		oplog_clamp(&s->row);
		for (struct oplog_sink *k = l->sinks; k; k = k->next)
			k->take(k, &s->row);
		row_free(l, l->closed[i].row);
	}
	l->n_closed = 0;
}

static uint32_t row_new(struct oplog *l)
{
	uint32_t row = l->n_rows;

	SIM_CHECK(row + CHUNK < ROW_MASK, NULL);
	if (row >> CHUNK_BITS == l->cap_chunks) {
		l->cap_chunks = l->cap_chunks ? 2 * l->cap_chunks : 16;
		l->chunk = x_realloc(l->chunk, l->cap_chunks * sizeof(*l->chunk));
	}
	if ((row & (CHUNK - 1)) == 0)
		l->chunk[row >> CHUNK_BITS] = x_calloc(CHUNK, sizeof(struct slot));
	l->n_rows++;
	return row;
}

uint32_t oplog_open(struct oplog *l, const struct op_row *what, uint64_t now_ps)
{
	struct slot *s;
	uint32_t row;

	if (l->n_closed && l->closed_ps != now_ps)
		oplog_flush(l);
	if (l->free_head) {
		row = l->free_head - 1;
		l->free_head = slot_at(l, row)->link;
	} else {
		row = row_new(l);
	}
	s = slot_at(l, row);
	s->row = *what;
	memset(s->row.t_ps, 0, sizeof(s->row.t_ps));
	s->row.t_ps[OP_POST] = now_ps;
	s->is_open = true;
	return s->gen << ROW_BITS | (row + 1);
}

struct op_row *oplog_row(struct oplog *l, uint32_t op)
{
	struct slot *s = slot_of(l, op);

	SIM_CHECK(s, NULL);
	return &s->row;
}

void oplog_close(struct oplog *l, uint32_t op, uint8_t status, uint64_t now_ps)
{
	struct slot *s = slot_of(l, op);

	SIM_CHECK(s && !s->is_closing, NULL);
	if (l->n_closed && l->closed_ps != now_ps)
		oplog_flush(l);
	s->row.t_ps[OP_POLL] = now_ps;
	s->row.status = status;
	s->is_closing = true;
	if (l->n_closed == l->cap_closed) {
		l->cap_closed = l->cap_closed ? 2 * l->cap_closed : 64;
		l->closed = x_realloc(l->closed, l->cap_closed * sizeof(*l->closed));
	}
	l->closed_ps = now_ps;
	l->closed[l->n_closed] = (struct closed){
		.host = s->row.host,
		.qp = s->row.qp,
		.row = (op & ROW_MASK) - 1,
		.seq = l->n_closed,
	};
	l->n_closed++;
}

/* A mark counts until the time stamp of the poll has passed. */
static bool may_mark(const struct oplog *l, const struct slot *s, uint64_t now_ps)
{
	return s && (!s->is_closing || l->closed_ps == now_ps);
}

void oplog_mark(struct oplog *l, uint32_t op, enum milestone m, uint64_t now_ps)
{
	struct slot *s = slot_of(l, op);

	if (may_mark(l, s, now_ps))
		s->row.t_ps[m] = now_ps;
}

void oplog_settle(struct oplog *l, uint32_t op, enum op_fate fate)
{
	struct slot *s = slot_of(l, op);

	if (s && !s->is_closing)
		s->row.fate = (uint8_t)fate;
}

enum op_fate oplog_fate(const struct oplog *l, uint32_t op)
{
	const struct slot *s = slot_of(l, op);

	return s ? (enum op_fate)s->row.fate : OP_OPEN;
}

void oplog_mark_once(struct oplog *l, uint32_t op, enum milestone m, uint64_t now_ps)
{
	struct slot *s = slot_of(l, op);

	if (may_mark(l, s, now_ps) && s->row.t_ps[m] == 0)
		s->row.t_ps[m] = now_ps;
}

void oplog_mark_before(struct oplog *l, uint32_t op, enum milestone m, enum milestone end,
		       uint64_t now_ps)
{
	struct slot *s = slot_of(l, op);

	if (may_mark(l, s, now_ps) && (s->row.t_ps[end] == 0 || s->row.t_ps[end] >= now_ps))
		s->row.t_ps[m] = now_ps;
}
