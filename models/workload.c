/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.c - the CPU of a host and the program that it runs: the records of the trace
 *
 * A core posts work requests through the verbs calls (verbs.h), whose stores and register writes go
 * out in program order, and reads completions. A post takes post_cost before its first store and
 * doorbell_cost before the register write; a completion takes poll_cost. Completions come before
 * posts.
 *
 * Each QP runs its records in file order; among QPs the earliest start goes first, then the file's
 * order. A post that finds the queue full, or its window, waits (a program would poll and try
 * again) and rings for what `more` left unrung. A receive waits for room apart, so that it does not
 * hold up its QP's sends; so do those without at, after or delay from the moment they are read,
 * unless a receive before them waits for its time. Stores to memory (`mem`) and `dereg` belong to
 * no queue and wait for themselves only.
 *
 * Each CQ that has something outstanding is polled: one poll a CQ waits at the memory until a
 * completion is there. Spinning takes no time of the core. The consumer index is stored every
 * ci_every completions.
 *
 * A CQ in event mode is armed instead when something is outstanding. Its event takes irq_cost; then
 * completions are looked for until there is none, and it is armed again.
 *
 * With several cores, a queue and a CQ belong to one each; a core has a UAR page of its own. They
 * work independently and share the way to memory: one access a cycle, in turn. Stores to memory and
 * what concerns no queue are done by the first one.
 *
 * The calls themselves: workload_post.c, workload_state.c; records that wait: workload_records.c.
 * Not modelled: cache misses of the program, locks.
 */
#include "models/workload.h"

static const char *const post_names[] = { "doorbell", "bf_inline", "blueflame", NULL };

#define T struct workload
static const struct field workload_fields[] = {
	PARAM_TIME(T, post_cost, 40 * PS_PER_NS, 0, PS_PER_S,
		   "time of the core to build a work request",
		   "declared: about 100 instructions of libmlx5"),
	PARAM_TIME(T, doorbell_cost, 20 * PS_PER_NS, 0, PS_PER_S, "barrier before the doorbell",
		   "declared"),
	PARAM_ENUM(
		T, post, POST_DOORBELL, post_names,
		"new WQEs are told by the 8-byte doorbell; a single WQE with inline data, or any "
		"single one of up to 256 B, by a copy of it in BlueFlame",
		"documented: rdma-core MLX5_SHUT_UP_BF, MLX5_POST_SEND_PREFER_BF"),
	PARAM_BYTES(T, wc_bytes, 64, 16, 64,
		    "BlueFlame: bytes of a register write, a write-combining buffer; 16, 32, 64",
		    "documented: x86 write-combining buffers hold 64 B"),
	PARAM_TIME(T, wc_cost, PS_PER_NS, 0, PS_PER_S,
		   "BlueFlame: time of the core to fill a write-combining buffer after the first",
		   "declared: four 16-byte stores"),
	PARAM_TIME(T, flush_cost, 10 * PS_PER_NS, 0, PS_PER_S,
		   "BlueFlame: time of the core to flush the write-combining buffers",
		   "declared: sfence"),
	PARAM_TIME(T, poll_cost, 20 * PS_PER_NS, 0, PS_PER_S,
		   "time of the core to take a completion apart", "declared"),
	PARAM_TIME(T, dereg_cost, 1 * PS_PER_US, 0, PS_PER_S,
		   "from a region's removal to the NIC's being told", "declared"),
	PARAM_TIME(T, cmd_cost, 1 * PS_PER_US, 0, PS_PER_S,
		   "time of the core for a change of a QP's state", "declared"),
	PARAM_TIME(T, irq_cost, 2 * PS_PER_US, 0, PS_PER_S,
		   "time of the core for an event: interrupt, and the program that waited wakes up",
		   "declared"),
	PARAM(T, cores, 1, 1, UAR_PAGES, "core",
	      "cores; QPs without a core= of their own belong to them in turn, each has a UAR page",
	      "declared"),
	PARAM(T, ci_every, 16, 1, 1u << 20, "CQE",
	      "the consumer index is stored after so many completions, or a quarter of the CQ",
	      "declared"),
	PORT_IN(T, rec, trace_rec, "records of the trace"),
	PORT_IN(T, cpu_rsp, cpu_rsp, "completions that polls found"),
	PORT_IN(T, closed, qp_closed, "halves of QPs that the NIC let go of"),
	PORT_OUT(T, cpu_req, cpu_req, "accesses to memory and registers"),
	PORT_OUT(T, mpt_cmd, mpt_cmd, "keys of regions that are gone"),
	PORT_OUT(T, srq_cmd, srq_cmd, "limits of shared receive queues"),
	STAT(T, posts, "req", "work requests posted to send queues"),
	STAT(T, recvs, "req", "receives posted during the run"),
	STAT(T, refused, "req",
	     "posts, receives and changes of a QP's state that returned an error"),
	STAT(T, cqes, "CQE", "completions read"),
	STAT(T, error_cqes, "CQE", "of these, with an error"),
	STAT(T, events, "EQE", "events handled"),
	STAT(T, doorbells, "db", "send doorbells rung"),
	STAT(T, mem_b, "B", "stored by the program"),
	STAT(T, busy_ps, "ps", "time for which a core was at work, mean of the cores"),
	SIGNAL(T, open_sends, 20, "send requests that are not completed"),
	SIGNAL(T, open_recvs, 20, "receives that are not completed"),
	SIGNAL(T, is_busy, 1, "a core is at work"),
	FIELDS_END
};
#undef T

void workload_want_poll(struct workload *w, struct host *h, uint32_t cqi)
{
	struct drv_cq *cq = &h->cq[cqi];
	struct core *c = &w->core[cq->core];

	if (cq->is_polling || cq->is_armed ||
	    (cq->outstanding == 0 && (int32_t)(cq->stale - cq->ci) <= 0))
		return;
	cq->is_polling = true;
	cq->next_poll = 0;
	if (c->poll_head)
		h->cq[c->poll_tail - 1].next_poll = cqi + 1;
	else
		c->poll_head = cqi + 1;
	c->poll_tail = cqi + 1;
	w->is_kicked |= c != w->c;
}

bool workload_may_push(struct workload *w)
{
	bool is_free = !w->is_port_used;

	w->is_port_used = true;
	return is_free;
}

/* ---- the core ---- */

static bool is_register(uint8_t kind)
{
	return kind == CPU_MMIO || kind == CPU_MMIO_COPY;
}

/* From the access of kind 'done', the last one pushed, to the next of the list. */
static uint64_t access_cost(const struct workload *w, uint8_t done)
{
	if (w->c->at == w->c->list->n)
		return done == CPU_MMIO_COPY ? w->flush_cyc : 1;
	if (!is_register(w->c->list->req[w->c->at].kind))
		return 1;
	return is_register(done) ? w->wc_cyc : w->doorbell_cyc;
}

/* With one core nothing comes between the accesses of a call: each is pushed ahead, at its cycle. */
static void push_ahead(struct workload *w)
{
	struct core *c = w->c;

	while (w->cores == 1 && c->n_drop == 0 && c->at < c->list->n &&
	       cpu_req_push_ahead(w->cpu_req, &c->list->req[c->at], c->free_cyc)) {
		uint8_t done = c->list->req[c->at++].kind;

		spend_from(w, c->free_cyc, access_cost(w, done));
	}
}

static uint64_t push_access(struct workload *w)
{
	const struct cpu_req *q = &w->c->list->req[w->c->at];

	if (!workload_may_push(w))
		return w->b.cycle + 1;
	if (!chan_can_push(w->cpu_req))
		return chan_stall(w->cpu_req);
	cpu_req_push(w->cpu_req, q);
	w->c->at++;
	w->turn = (uint32_t)(w->c + 1 - w->core) % w->cores;
	spend(w, access_cost(w, q->kind));
	if (w->c->at == w->c->list->n && w->c->n_drop)
		spend(w, w->dereg_cyc);
	push_ahead(w);
	return w->c->free_cyc;
}

static uint64_t push_poll(struct workload *w, struct host *h)
{
	uint32_t cqi = w->c->poll_head - 1;

	if (w->is_port_used)
		return w->b.cycle + 1;
	if (!chan_can_push(w->cpu_req))
		return chan_stall(w->cpu_req);
	w->c->poll_head = h->cq[cqi].next_poll;
	if (h->nic->cq[cqi].is_event)
		workload_serve_cq(w, h, cqi);
	else
		verbs_poll_cq(h, cqi, new_list(w));
	return push_access(w);
}

/* The oldest answer that waits for the core is dealt with. */
static void take_answer(struct workload *w, struct host *h)
{
	const struct cpu_rsp *rsp = &w->rsp[w->c->rsp_head - 1];

	w->c->rsp_head = w->rsp_next[w->c->rsp_head - 1];
	if (rsp->tag > verbs_eq_tag(h))
		workload_byte_seen(w, h, rsp->tag - workload_byte_tag(h, 0));
	else if (rsp->tag != verbs_eq_tag(h) &&
		 (h->unzip[rsp->tag].wants_array || verbs_peeked(h, rsp->tag, rsp->data)))
		workload_take_cqe(w, h, rsp);
	else
		workload_take_event(w, h, rsp);
}

/* The core that waits for an answer. Events are the first one's. */
static struct core *asker(struct workload *w, const struct host *h, uint32_t tag)
{
	if (tag > verbs_eq_tag(h))
		return core_of(w, h, tag - workload_byte_tag(h, 0));
	return &w->core[tag == verbs_eq_tag(h) ? 0 : h->cq[tag].core];
}

/* An answer waits for its core. */
static void sort_answer(struct workload *w, struct host *h)
{
	const struct cpu_rsp *m = cpu_rsp_peek(w->cpu_rsp);
	struct core *c;

	if (!m)
		return;
	c = asker(w, h, m->tag);
	w->rsp[m->tag] = *m;
	w->rsp_next[m->tag] = 0;
	if (c->rsp_head)
		w->rsp_next[c->rsp_tail - 1] = m->tag + 1;
	else
		c->rsp_head = m->tag + 1;
	c->rsp_tail = m->tag + 1;
	chan_pop(w->cpu_rsp);
}

/* One thing at a time; returns when the core wants to go on. */
static uint64_t run_core(struct workload *w, struct host *h)
{
	struct recs *r = &h->system->recs;

	if (w->b.cycle < w->c->free_cyc)
		return w->c->free_cyc;
	if (w->c->at < w->c->list->n)
		return push_access(w);
	if (w->c->n_drop)
		return workload_drop_keys(w);
	if (w->c->has_limit)
		return workload_push_limit(w);
	if (w->c->unzip) {
		workload_unzip(w, h);
		return w->c->free_cyc;
	}
	if (w->c->rsp_head) {
		take_answer(w, h);
		return w->c->free_cyc;
	}
	if (w->c->poll_head)
		return push_poll(w, h);
	if (w->c->storing) {
		workload_store(w, h);
		return w->c->list->n ? push_access(w) : w->b.cycle + 1;
	}
	if (!w->c->ready)
		return CYCLE_NEVER;
	if (rec_at(r, w->c->ready)->start_ps > w->b.now_ps)
		return block_cycle_at(&w->b, rec_at(r, w->c->ready)->start_ps);
	workload_run(w, h, ready_pop(r, &w->c->ready));
	return max_u64(w->c->free_cyc, w->b.cycle + 1);
}

/* A cycle of every core. The one after that which pushed last goes first. */
static uint64_t run_cores(struct workload *w, struct host *h)
{
	uint64_t next = CYCLE_NEVER;
	uint32_t first = w->turn;

	w->is_port_used = w->is_kicked = w->is_busy = false;
	for (uint32_t k = 0; k < w->cores; k++) {
		w->c = &w->core[first + k < w->cores ? first + k : first + k - w->cores];
		next = min_u64(next, run_core(w, h));
		w->is_busy |= w->c->at < w->c->list->n || w->c->free_cyc > w->b.cycle;
	}
	return w->is_kicked && w->cores > 1 ? w->b.cycle + 1 : next;
}

static uint64_t workload_step(struct block *b)
{
	struct workload *w = (struct workload *)b;
	struct host *h = b->env;
	const struct trace_rec *rec;
	uint64_t next;

	if (h->inbox)
		workload_take_inbox(w, h);
	rec = trace_rec_peek(w->rec);
	if (rec) {
		workload_arrive(w, h, rec->rec);
		chan_pop(w->rec);
	}
	sort_answer(w, h);
	if (chan_has(w->closed))
		workload_take_closed(w, h);
	next = run_cores(w, h);
	return h->inbox ? min_u64(next, b->cycle + 1) : next;
}

/* A write-combining buffer that is flushed early is written in parts of one size. */
static const char *workload_check(const struct block *b, const char **param)
{
	const struct workload *w = (const struct workload *)b;

	*param = "wc_bytes";
	return w->wc_bytes & (w->wc_bytes - 1) ? "must be 16, 32 or 64" : NULL;
}

static void workload_build(struct block *b)
{
	struct workload *w = (struct workload *)b;
	struct host *h = b->env;
	uint32_t n_tags = workload_byte_tag(h, h->nic->n_qp);

	w->wq = block_alloc(b, verbs_n_rq(h), sizeof(*w->wq));
	w->core = block_alloc(b, w->cores, sizeof(*w->core));
	for (uint32_t i = 0; i < w->cores; i++)
		w->core[i].list = block_alloc(b, 1, sizeof(*w->core->list));
	h->unzip = block_alloc(b, h->nic->n_cq + 1, sizeof(*h->unzip));
	w->rsp = block_alloc(b, n_tags, sizeof(*w->rsp));
	w->rsp_next = block_alloc(b, n_tags, sizeof(*w->rsp_next));
	w->post_cyc = block_cycles_of_ps(b, w->post_cost);
	w->doorbell_cyc = block_cycles_of_ps(b, w->doorbell_cost);
	w->wc_cyc = block_cycles_of_ps(b, w->wc_cost);
	w->flush_cyc = block_cycles_of_ps(b, w->flush_cost);
	w->poll_cyc = block_cycles_of_ps(b, w->poll_cost);
	w->irq_cyc = block_cycles_of_ps(b, w->irq_cost);
	w->cmd_cyc = block_cycles_of_ps(b, w->cmd_cost);
	w->dereg_cyc = block_cycles_of_ps(b, w->dereg_cost);
	h->cpu = b;
	h->post = w->post;
	h->wc_bytes = w->wc_bytes;
}

/* QPs take turns; a CQ is polled by the core of the first QP that it serves; unless the trace says which. */
static void assign_cores(struct workload *w, struct host *h)
{
	for (uint32_t i = 0; i < h->nic->n_cq; i++)
		h->cq[i].core = 0;
	for (uint32_t i = h->nic->n_qp; i-- > 0;) {
		h->qp[i].core = (h->qp[i].core_asked ? h->qp[i].core_asked - 1 : i) % w->cores;
		for (uint32_t k = 0; k < 2; k++) {
			uint32_t cqi = k ? h->nic->qp[i].scq : h->nic->qp[i].rcq;

			if (cqi < h->nic->n_cq)
				h->cq[cqi].core = h->qp[i].core;
		}
	}
	for (uint32_t i = 0; i < h->nic->n_cq; i++)
		if (h->cq[i].core_asked)
			h->cq[i].core = (h->cq[i].core_asked - 1) % w->cores;
}

/*
 * Once a run: the records read before time 0 are taken over, and receives posted by then are waited
 * for.
 */
static void workload_reset(struct block *b)
{
	struct workload *w = (struct workload *)b;
	struct host *h = b->env;

	assign_cores(w, h);
	for (uint32_t i = 0; i < w->cores; i++) {
		w->core[i] = (struct core){ .list = w->core[i].list };
		w->core[i].list->n = 0;
	}
	w->c = w->core;
	w->turn = 0;
	w->busy_cyc = 0;
	if (h->wants_events)
		verbs_wait_event(h, w->c->list);
	w->open_sends = w->open_recvs = 0;
	for (uint32_t i = 0; i < verbs_n_rq(h); i++)
		w->open_recvs += verbs_posted(h, i);
	for (uint32_t i = 0; i < h->nic->n_cq; i++)
		workload_want_poll(w, h, i);
	for (uint32_t handle = h->primed_head, next; handle; handle = next) {
		next = rec_at(&h->system->recs, handle)->next;
		workload_arrive(w, h, handle);
	}
	h->primed_head = REC_NONE;
}

const struct block_class workload_class = {
	.name = "workload",
	.impl = "c",
	.size = sizeof(struct workload),
	.fields = workload_fields,
	.doc = "the CPU of a host: runs the trace's records and reads completions",
	.check = workload_check,
	.build = workload_build,
	.reset = workload_reset,
	.step = workload_step,
};
