/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload_post.c - the calls that the CPU makes for a record: posts, receives, stores,
 * deregistration
 */
#include "models/cpu_list.h"
#include "models/workload.h"

#define STORE_BYTES 64u

/* The first record of a QP is done or parked: the next one's turn. */
void workload_next(struct workload *w, struct host *h, struct work_queue *q)
{
	struct recs *r = &h->system->recs;

	q->n_recvs -= rec_at(r, q->head)->kind != REC_POST;
	q->head = rec_at(r, q->head)->next;
	if (q->head && rec_at(r, q->head)->is_ready)
		workload_ready(w, h, q->head);
}

static void refuse(struct workload *w, struct host *h, const struct rec *c, int err)
{
	w->refused++;
	system_refused(h->system, c, err, &w->b);
}

/* The record waits until something of its QP is retired; what was not rung for is rung for now. */
static void block_post(struct workload *w, struct host *h, uint32_t qpi)
{
	struct cpu_list *l = new_list(w);

	w->wq[qpi].is_blocked = true;
	verbs_ring(h, qpi, l);
	if (l->n) {
		w->doorbells++;
		spend(w, 1);
	}
}

/* The core spins on the byte that tells that it is the post's turn (poll=). */
static void watch_byte(struct workload *w, struct host *h, const struct rec *c)
{
	struct cpu_req *q =
		append(new_list(w), CPU_WATCH, space_pa(h->space, c->poll_va, NULL), 1, OP_NONE);

	memset(q->data, 0, sizeof(q->data));
	q->data[0] = (uint8_t)(c->done + 1 - c->lag);
	q->tag = workload_byte_tag(h, c->qpi);
	spend(w, 1);
}

void workload_byte_seen(struct workload *w, struct host *h, uint32_t qpi)
{
	struct recs *r = &h->system->recs;
	uint32_t handle = w->wq[qpi].head;

	rec_at(r, handle)->has_polled = true;
	workload_ready(w, h, handle);
	spend(w, 1);
}

/* The post's number becomes the last byte of its message (stamp=). */
static void stamp(struct host *h, const struct rec *c, const struct sge *last, struct cpu_list *l)
{
	uint64_t pa = space_pa(h->space, last->addr + last->len - 1, NULL);

	append_store(l, pa, &(uint8_t){ (uint8_t)(c->done + 1) }, 1, OP_NONE);
}

/* A batch starts when all of it has room in the window. */
static bool has_window(const struct recs *r, const struct rec *c)
{
	uint64_t in_flight = c->done - (c->repeat - r->tickets[c->ticket].left);
	uint64_t n = c->done % c->batch ? 1 : min_u64(c->batch, c->repeat - c->done);

	return in_flight + n <= c->window;
}

static void run_post(struct workload *w, struct host *h, uint32_t handle)
{
	struct recs *r = &h->system->recs;
	struct rec *c = rec_at(r, handle);
	struct sge sge[MAX_SGE];
	struct send_wr wr;
	int err;

	if (c->poll_va && !c->has_polled) {
		watch_byte(w, h, c);
		return;
	}
	rec_send_wr(h->system, c, sge, &wr);
	err = verbs_check_send(h, c->qpi, &wr);
	if (!has_window(r, c) || err == ENOMEM) {
		block_post(w, h, c->qpi);
		return;
	}
	c->has_polled = false;
	spend(w, w->post_cyc);
	if (err) {
		refuse(w, h, c, err);
	} else {
		uint32_t op = rec_open_row(h->system, h, c, (uint32_t)sge_bytes(sge, wr.n_sge),
					   w->b.now_ps);

		new_list(w);
		if (c->is_stamped)
			stamp(h, c, &sge[wr.n_sge - 1], w->c->list);
		verbs_post_send(h, c->qpi, &wr, op, w->c->list);
		workload_want_poll(w, h, h->nic->qp[c->qpi].scq);
		if (c->opcode == WR_BIND_MW)
			h->system->mws[c->mw].mr = c->mr;
		w->posts++;
		w->open_sends++;
		w->doorbells += !(wr.flags & WR_MORE);
	}
	if (++c->done < c->repeat) {
		c->start_ps = w->b.now_ps;
		workload_ready(w, h, handle);
		return;
	}
	workload_next(w, h, &w->wq[c->qpi]);
	rec_free(r, handle, &w->b);
}

/* True when it was posted or refused, false when it has to wait for room. */
static bool run_recv(struct workload *w, struct host *h, const struct rec *c)
{
	struct sge sge[MAX_SGE];
	struct recv_wr wr;
	int err;

	rec_recv_wr(c, sge, &wr);
	err = verbs_check_recv(h, c->qpi, &wr);
	if (err == ENOMEM)
		return false;
	spend(w, w->post_cyc);
	if (err) {
		refuse(w, h, c, err);
	} else {
		uint32_t op = rec_open_row(h->system, h, c, (uint32_t)sge_bytes(sge, wr.n_sge),
					   w->b.now_ps);

		verbs_post_recv(h, c->qpi, &wr, op, new_list(w));
		if (c->qpi < h->nic->n_qp) /* those of an SRQ are polled all the time */
			workload_want_poll(w, h, h->nic->qp[c->qpi].rcq);
		workload_note_recv(w, h, c->qpi);
		w->recvs++;
		w->open_recvs++;
	}
	return true;
}

void workload_unpark(struct workload *w, struct host *h, struct work_queue *q)
{
	if (!q->parked || q->is_parked_ready)
		return;
	q->is_parked_ready = true;
	workload_ready(w, h, q->parked);
}

void workload_park(struct workload *w, struct host *h, uint32_t handle)
{
	struct recs *r = &h->system->recs;
	struct rec *c = rec_at(r, handle);
	struct work_queue *q = &w->wq[c->qpi];

	c->is_parked = true;
	c->next = REC_NONE;
	if (q->parked)
		rec_at(r, q->parked_tail)->next = handle;
	else
		q->parked = handle;
	q->parked_tail = handle;
	workload_unpark(w, h, q);
}

/* A receive's turn in its QP, or in those that wait for room. */
static void run_queued_recv(struct workload *w, struct host *h, uint32_t handle)
{
	struct recs *r = &h->system->recs;
	struct rec *c = rec_at(r, handle);
	struct work_queue *q = &w->wq[c->qpi];

	if (!c->is_parked) {
		workload_next(w, h, q);
		workload_park(w, h, handle);
		return;
	}
	q->is_parked_ready = false;
	if (!run_recv(w, h, c))
		return;
	if (++c->done == c->repeat) {
		q->parked = c->next;
		rec_free(r, handle, &w->b);
	}
	workload_unpark(w, h, q);
}

/* ---- stores of the program, regions that go ---- */

void workload_store(struct workload *w, struct host *h)
{
	struct recs *r = &h->system->recs;
	struct rec *c = rec_at(r, w->c->storing);
	struct cpu_list *l = new_list(w);

	while (l->n < CPU_LIST_MAX && w->c->stored < c->mem_len) {
		struct cpu_req *q = &l->req[l->n++];
		uint64_t pa = space_pa(h->space, c->mem_va + w->c->stored, NULL);
		uint64_t n = min_u64(c->mem_len - w->c->stored, STORE_BYTES - pa % STORE_BYTES);

		*q = (struct cpu_req){
			.addr = pa, .op = OP_NONE, .kind = CPU_STORE, .len = (uint8_t)n
		};
		if (c->mem_bytes)
			memcpy(q->data, c->mem_bytes + w->c->stored, n);
		else
			memset(q->data, c->mem_byte, n);
		w->c->stored += n;
	}
	if (w->c->stored < c->mem_len)
		return;
	w->mem_b += c->mem_len;
	rec_free(r, w->c->storing, &w->b);
	w->c->storing = REC_NONE;
}

/* The windows that were bound to a region, as many as a call takes: true when there are no more. */
static bool unbind_windows(struct workload *w, struct host *h, uint32_t mr)
{
	struct system *s = h->system;

	for (uint32_t i = 0; i < s->trace->n_mws; i++) {
		if (s->trace->mws[i].host != h->index || s->mws[i].mr != mr)
			continue;
		if (w->c->n_drop == DROP_KEYS - 2)
			return false;
		verbs_unbind_mw(h, &s->mws[i], w->c->list);
		w->c->drop_key[w->c->n_drop++] = s->mws[i].rkey;
		s->mws[i].mr = TRACE_NONE;
	}
	return true;
}

static void run_dereg(struct workload *w, struct host *h, uint32_t handle)
{
	struct rec *c = rec_at(&h->system->recs, handle);
	const struct verbs_mr *mr = &h->system->mrs[c->mr];

	new_list(w);
	if (!unbind_windows(w, h, c->mr)) {
		workload_ready(w, h, handle);
		return;
	}
	verbs_dereg_mr(h, mr, w->c->list);
	w->c->drop_key[w->c->n_drop++] = mr->lkey;
	if (mr->rkey != mr->lkey)
		w->c->drop_key[w->c->n_drop++] = mr->rkey;
	rec_free(&h->system->recs, handle, &w->b);
}

uint64_t workload_drop_keys(struct workload *w)
{
	if (!workload_may_push(w))
		return w->b.cycle + 1;
	if (!chan_can_push(w->mpt_cmd))
		return chan_stall(w->mpt_cmd);
	mpt_cmd_push(w->mpt_cmd, &(struct mpt_cmd){ .key = w->c->drop_key[--w->c->n_drop] });
	spend(w, 1);
	return w->c->free_cyc;
}

void workload_run(struct workload *w, struct host *h, uint32_t handle)
{
	struct rec *c = rec_at(&h->system->recs, handle);

	switch (c->kind) {
	case REC_POST:
		run_post(w, h, handle);
		break;
	case REC_RECV:
		run_queued_recv(w, h, handle);
		break;
	case REC_MEM:
		w->c->storing = handle;
		w->c->stored = 0;
		break;
	case REC_MODIFY_QP:
		workload_modify(w, h, handle);
		break;
	case REC_DESTROY:
		workload_destroy(w, h, handle);
		break;
	case REC_ARM:
		workload_arm(w, h, handle);
		break;
	case REC_MODIFY_SRQ:
		workload_limit(w, h, handle);
		break;
	default:
		SIM_CHECK(c->kind == REC_DEREG, w);
		run_dereg(w, h, handle);
	}
}
