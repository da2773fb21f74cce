/* SPDX-License-Identifier: Apache-2.0 */
/*
 * system.c - records of the trace made ready to run
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "models/verbs/setup.h"

/* ---- reading ---- */

bool system_check_record(const struct system *s, const struct trace_record *r, struct err *e)
{
	if (r->kind != REC_POST || r->opcode != WR_BIND_MW || !r->newkey)
		return true;
	if (s->mws[r->mw].type == 1)
		return err_set(e, s->trace->path, r->line,
			       "newkey= has no meaning with window %s of type 1, whose low byte "
			       "each bind counts up",
			       s->trace->mws[r->mw].name);
	if (r->newkey >> 8 != s->mws[r->mw].rkey >> 8)
		return err_set(e, s->trace->path, r->line,
			       "newkey=0x%" PRIx32 " is no key of window %s; allowed: 0x%" PRIx32
			       " to 0x%" PRIx32,
			       r->newkey, s->trace->mws[r->mw].name, s->mws[r->mw].rkey & ~0xffu,
			       s->mws[r->mw].rkey | 0xffu);
	return true;
}

/* The key of a window of type 1 behind its next bind: its low byte counts up. */
static uint32_t next_key(uint32_t rkey)
{
	return (rkey & ~0xffu) | ((rkey + 1) & 0xff);
}

/* A window's key is that of the last bind before in the file. */
static void fill_bind(struct system *s, struct rec *c)
{
	const struct trace_record *r = &s->record;
	const struct verbs_mr *mr = &s->mrs[r->bind_mr];

	c->mr = r->bind_mr;
	c->mw = r->mw;
	if (s->mws[r->mw].type == 1) /* ibv_inc_rkey(3) */
		s->mws[r->mw].rkey = next_key(s->mws[r->mw].rkey);
	else if (r->newkey)
		s->mws[r->mw].rkey = r->newkey;
	c->inv_key = s->mws[r->mw].rkey;
	c->raddr = mr->va + r->bind_off;
	c->compare_add = r->bind_len;
	c->rkey = mr->lkey;
	c->bind_access = (uint8_t)r->bind_access & (ACCESS_REMOTE_WRITE | ACCESS_REMOTE_READ |
						    ACCESS_REMOTE_ATOMIC | ACCESS_FLUSH);
}

static void fill_work(struct system *s, struct rec *c)
{
	const struct trace_record *r = &s->record;

	if (r->qp == TRACE_NONE)
		c->qpi = s->hosts[r->host].nic->n_qp + s->srqs[r->srq];
	else
		c->qpi = s->qps[r->qp].qpi;
	c->opcode = (uint8_t)r->opcode;
	c->flags = r->flags;
	c->id = r->id;
	c->wr_id = r->wr_id;
	c->raddr = r->raddr;
	c->rmr = r->rmr;
	c->rkey = r->rmr == TRACE_NONE ? r->rkey : s->mrs[r->rmr].rkey;
	c->imm = r->imm;
	c->dest_host = r->dest_host;
	c->dest_qpn = r->dest_qpn;
	if (r->dest_qp != TRACE_NONE)
		c->dest_qpn = s->hosts[r->dest_host].nic->qp[s->qps[r->dest_qp].qpi].qpn;
	c->qkey = r->qkey;
	c->inv_key = r->inv_mr == TRACE_NONE ? r->inv_key : s->mrs[r->inv_mr].rkey;
	c->compare_add = r->compare_add;
	c->swap = r->swap;
	c->flush_level = (uint8_t)r->flush_level;
	if (r->inv_mw != TRACE_NONE)
		c->inv_key = s->mws[r->inv_mw].rkey;
	if (r->opcode == WR_BIND_MW)
		fill_bind(s, c);
	c->repeat = r->repeat ? r->repeat : 1;
	c->window = r->window ? r->window : 1;
	c->stride = r->stride;
	c->rstride = r->rstride;
	c->signal = r->signal;
	c->batch = r->batch;
	c->is_stamped = r->is_stamped;
	c->lag = r->lag;
	if (r->poll_mr != TRACE_NONE)
		c->poll_va = s->mrs[r->poll_mr].va + r->poll_off;
	for (uint32_t i = 0; i < r->n_sge; i++) {
		const struct rec_sge *g = &r->sge[i];

		c->seg[i].mr = g->mr;
		c->seg[i].s =
			(struct sge){ .addr = g->addr,
				      .len = g->len,
				      .lkey = g->mr == TRACE_NONE ? g->lkey : s->mrs[g->mr].lkey };
	}
}

static void fill_memory(struct system *s, struct rec *c)
{
	struct trace_record *r = &s->record;

	c->mr = r->mr;
	c->repeat = 1;
	c->state = (uint8_t)r->state;
	c->psn = r->psn;
	if (r->qp != TRACE_NONE)
		c->qpi = s->qps[r->qp].qpi;
	else if (r->srq != TRACE_NONE)
		c->qpi = s->hosts[r->host].nic->n_qp + s->srqs[r->srq];
	if (r->cq != TRACE_NONE)
		c->cqi = s->cqs[r->cq];
	c->limit = r->limit;
	c->is_solicited = r->solicited_only;
	if (r->kind != REC_MEM)
		return;
	c->mem_va = s->mrs[r->mr].va + r->mem_off;
	c->mem_len = r->mem_len;
	c->mem_byte = r->mem_byte;
	c->mem_bytes = r->mem_bytes; /* now the slot's */
	r->mem_bytes = NULL;
}

/* The first `expect` about a record; ids of a host rise, and so do the sorted `expect`s. */
static uint32_t find_expect(struct recs *r, const struct trace *t, uint32_t host, uint64_t id)
{
	uint32_t *at = &r->expect_at[host];

	while (*at < r->n_expects && t->expects[r->expects[*at]].host == host &&
	       t->expects[r->expects[*at]].id < id)
		++*at;
	if (*at < r->n_expects && t->expects[r->expects[*at]].host == host &&
	    t->expects[r->expects[*at]].id == id)
		return *at;
	return TICKET_NONE;
}

static void fill_deps(struct system *s, uint32_t handle, uint64_t now_ps)
{
	const struct trace_record *r = &s->record;
	struct rec *c = rec_at(&s->recs, handle);

	c->wait_ps = now_ps;
	for (uint32_t i = 0; i < r->n_after; i++) {
		uint32_t ticket = ticket_find(&s->recs, r->after[i].host, r->after[i].id);

		c->dep[i].ticket = TICKET_NONE;
		if (ticket != TICKET_NONE)
			ticket_wait(&s->recs, ticket, handle, i);
	}
}

/*
 * `expect`s that were not known when the trace was opened, as it comes from a pipe: their records
 * may be open.
 */
static void attach_late(struct system *s)
{
	struct recs *r = &s->recs;
	const struct trace *t = s->trace;

	if (r->n_known == t->n_expects)
		return;
	r->late = x_realloc(r->late, t->n_expects * sizeof(*r->late));
	for (; r->n_known < t->n_expects; r->n_known++) {
		const struct trace_expect *x = &t->expects[r->n_known];
		uint32_t ticket = x->kind <= EXPECT_NO_COMPLETION ? ticket_find(r, x->host, x->id)
								  : TICKET_NONE;

		r->late[r->n_known] = 0;
		if (ticket == TICKET_NONE)
			continue;
		r->late[r->n_known] = r->tickets[ticket].late;
		r->tickets[ticket].late = r->n_known + 1;
	}
}

int system_read(struct system *s, uint64_t now_ps, uint32_t *handle)
{
	struct trace_record *r = &s->record;
	int got = trace_next(s->trace, r, &s->err);
	struct rec *c;

	attach_late(s);
	if (got <= 0) {
		s->is_eof = true;
		return got;
	}
	if (!system_check_record(s, r, &s->err)) {
		trace_record_release(r);
		s->is_eof = true;
		return -1;
	}
	*handle = rec_alloc(&s->recs, r->n_sge, r->n_after, now_ps);
	c = rec_at(&s->recs, *handle);
	c->kind = (uint8_t)r->kind;
	c->line = r->line;
	c->host = r->host;
	c->at_ps = r->at_ps;
	c->delay_ps = r->delay_ps;
	c->ticket = TICKET_NONE;
	fill_deps(s, *handle, now_ps);
	if (r->kind == REC_POST || r->kind == REC_RECV) {
		fill_work(s, c);
		if (!reach_check_rec(s, c, &s->err)) {
			trace_record_release(r);
			s->is_eof = true;
			return -1;
		}
		c->ticket = ticket_open(&s->recs, r->host, r->id, c->repeat);
		s->recs.tickets[c->ticket].expect = find_expect(&s->recs, s->trace, r->host, r->id);
	} else {
		fill_memory(s, c);
	}
	trace_record_release(r);
	return 1;
}

/* ---- running ---- */

/*
 * Post number k of an address that advances by 'stride': it wraps where 'len' bytes would not fit
 * the MR any more.
 */
static uint64_t advance(const struct system *s, uint64_t addr, uint32_t mr, uint64_t len,
			uint64_t stride, uint64_t k)
{
	uint64_t off, base, n;

	if (stride == 0 || k == 0)
		return addr;
	if (mr == TRACE_NONE)
		return addr + k * stride;
	off = addr - s->mrs[mr].va;
	base = off % stride;
	n = (s->mrs[mr].len - len - base) / stride + 1;
	return s->mrs[mr].va + base + (off / stride + k) % n * stride;
}

/* Of a repeated record only every so many-th is signaled, or rings; the last always as it says. */
static uint32_t post_flags(const struct rec *c)
{
	uint32_t flags = c->flags;

	if (c->done + 1 == c->repeat)
		return flags;
	if ((c->done + 1) % c->signal)
		flags &= ~(uint32_t)WR_SIGNALED;
	if ((c->done + 1) % c->batch)
		flags |= WR_MORE;
	return flags;
}

void rec_send_wr(const struct system *s, const struct rec *c, struct sge *sge, struct send_wr *wr)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < c->n_seg; i++) {
		sge[i] = c->seg[i].s;
		sge[i].addr = advance(s, sge[i].addr, c->seg[i].mr, sge[i].len, c->stride, c->done);
		len += sge[i].len;
	}
	if (c->opcode == WR_ATOMIC_CMP_AND_SWP || c->opcode == WR_ATOMIC_FETCH_AND_ADD)
		len = 8;
	*wr = (struct send_wr){
		.wr_id = c->wr_id,
		.sge = sge,
		.n_sge = c->n_seg,
		.flags = post_flags(c),
		.opcode = c->opcode,
		.imm = c->imm,
		.inv_key = c->inv_key,
		.bind_access = c->bind_access,
		.flush_level = c->flush_level,
		.rkey = c->rkey,
		.raddr = advance(s, c->raddr, c->rmr, len, c->rstride, c->done),
		.compare_add = c->compare_add,
		.swap = c->swap,
		.to = c->dest_host == TRACE_NONE ? NULL : &s->hosts[c->dest_host].nic->addr,
		.dest_qpn = c->dest_qpn,
		.qkey = c->qkey,
		.ticket = c->ticket,
	};
}

void rec_recv_wr(const struct rec *c, struct sge *sge, struct recv_wr *wr)
{
	for (uint32_t i = 0; i < c->n_seg; i++)
		sge[i] = c->seg[i].s;
	*wr = (struct recv_wr){
		.wr_id = c->wr_id, .sge = sge, .n_sge = c->n_seg, .ticket = c->ticket
	};
}

uint32_t rec_open_row(struct system *s, const struct host *h, const struct rec *c, uint32_t bytes,
		      uint64_t now_ps)
{
	bool is_recv = c->kind == REC_RECV, is_shared = c->qpi >= h->nic->n_qp;
	struct op_row row = {
		.wr_id = c->wr_id,
		.id = c->id,
		.rep = c->done,
		.host = h->index,
		.qp = is_shared ? TRACE_NONE : h->nic->qp[c->qpi].trace_qp,
		.bytes = bytes,
		.opcode = is_recv ? OP_RECV : c->opcode,
		.is_recv = is_recv,
	};

	return oplog_open(s->oplog, &row, now_ps);
}

/* ---- the end ---- */

static bool all_unsignaled(const struct wr_ring *r)
{
	for (uint32_t i = r->tail; i != r->head; i++)
		if (r->entry[i & r->mask].is_signaled)
			return false;
	return true;
}

/* What record 'c', the first in the file that is left, waits for. */
static void wait_reason(const struct system *s, const struct rec *c, char *text, size_t len)
{
	for (uint32_t i = 0; i < c->n_dep; i++) {
		const struct ticket *t;

		if (c->dep[i].ticket == TICKET_NONE)
			continue;
		t = &s->recs.tickets[c->dep[i].ticket];
		snprintf(text, len, "the completion of %s:%" PRIu64 ", which did not come",
			 s->hosts[t->host].name, t->id);
		return;
	}
	if (c->kind == REC_POST && c->poll_va && !c->has_polled)
		snprintf(text, len,
			 "the byte at 0x%" PRIx64 " of %s to become %u: its post %" PRIu64
			 " of %" PRIu64 " polls it",
			 c->poll_va, s->hosts[c->host].name, (uint8_t)(c->done + 1 - c->lag),
			 c->done + 1, c->repeat);
	else if (c->kind == REC_POST && c->done)
		snprintf(text, len,
			 "completions of its own: %" PRIu64 " of %" PRIu64 " are posted%s", c->done,
			 c->repeat,
			 all_unsignaled(&s->hosts[c->host].qp[c->qpi].sq)
				 ? ", and all that fill the send queue are unsignaled"
				 : "");
	else if (c->kind == REC_POST)
		snprintf(text, len, "room in the send queue%s",
			 all_unsignaled(&s->hosts[c->host].qp[c->qpi].sq)
				 ? ", where all requests are unsignaled: no completion makes room"
				 : "");
	else
		snprintf(text, len, "room in the receive queue");
}

bool feed_blocked(const struct system *s, struct err *e)
{
	const struct rec *first = NULL;
	char why[160];

	for (uint32_t h = 1; h <= s->recs.n_slots; h++) {
		const struct rec *c = rec_at(&s->recs, h);

		if (c->is_used && (!first || c->seq < first->seq))
			first = c;
	}
	if (!first)
		return true;
	wait_reason(s, first, why, sizeof(why));
	if (!s->is_eof)
		return err_set(e, s->trace->path, first->line,
			       "%u records are read ahead and none can run: this one waits for %s; "
			       "allowed: at most %u records behind one that waits",
			       s->recs.in_use, why, s->recs.window);
	return err_set(e, s->trace->path, first->line,
		       "nothing is left to do, but this record waits for %s (%u record%s left)",
		       why, s->recs.in_use, s->recs.in_use == 1 ? "" : "s");
}

bool system_has_future(const struct system *s, uint64_t now_ps)
{
	for (uint32_t h = 1; h <= s->recs.n_slots; h++) {
		const struct rec *c = rec_at(&s->recs, h);

		if (c->is_used && c->is_ready && c->start_ps > now_ps)
			return true;
	}
	return false;
}

bool system_means_overflow(const struct system *s, uint32_t host)
{
	const struct trace *t = s->trace;

	for (uint32_t i = 0; i < t->n_expects; i++)
		if (t->expects[i].kind == EXPECT_EVENT && t->expects[i].host == host &&
		    strcmp(t->expects[i].text, "CQ_ERR") == 0)
			return true;
	return false;
}

uint64_t system_unfinished(const struct system *s, uint32_t *host, uint32_t *qp)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->n_hosts; i++) {
		const struct host *h = &s->hosts[i];
		bool is_meant = system_means_overflow(s, i);

		for (uint32_t k = 0; k < h->nic->n_qp; k++) {
			const struct wr_ring *r = &h->qp[k].sq;

			for (uint32_t w = r->tail; w != r->head; w++) {
				enum op_fate fate = oplog_fate(s->oplog, r->entry[w & r->mask].op);

				if (fate == OP_DONE || (fate == OP_LOST && is_meant))
					continue;
				if (n++ == 0) {
					*host = i;
					*qp = h->nic->qp[k].trace_qp;
				}
			}
		}
	}
	return n;
}
