/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_mem.c - root complex, memory and the CPU's way to them
 *
 * The only place that touches bytes of host memory. TLPs are served in link order, write_latency
 * after they came: writes land then, reads sample then and their completion leaves read_latency
 * after the request came. Both are latencies, not occupancies: one train is served a cycle. The
 * CPU's accesses are served in program order, one in store_latency; a register write leaves for the
 * NIC mmio_latency later.
 *
 * A poll looks at a CQE every poll_interval from the time it came; instead of looking, a poll that
 * finds nothing waits until a write lands in a frame of its CQ, and is answered at the tick after
 * that. An answer takes llc_latency, as the line comes from the last-level cache into which the NIC
 * wrote it.
 *
 * The event queue is watched like a CQ, but only when the NIC has written to MSIX_ADDR: then its
 * poll, if one waits, is answered irq_latency later.
 *
 * Not modelled: IOMMU, cache misses, NUMA, bandwidth of memory. An address that is not there
 * swallows writes and reads as ones, as a master abort does (PCI Express Base Specification,
 * 2.3.1).
 */
#include "models/host.h"
#include "models/msg.h"
#include "sim/pool.h"

#define CQE_BYTES 64u
#define CQE_OP_OWN 63u
#define REG_BYTES 64u /* largest register write */

/* TLPs that wait for their time, in order. */
struct wait_ring {
	struct wait_tlp {
		struct tlp tlp;
		uint64_t came_cyc, ready_cyc;
	} * at;
	uint32_t head, n, size;
};

/* A CQ's poll. */
struct watch {
	uint64_t addr, since_cyc, ready_cyc;
	uint32_t prev, next; /* list of polls to be answered, by ready_cyc; index + 1 */
	bool owner, is_waiting;
};

struct host_mem {
	struct block b;
	/* parameters */
	uint64_t read_latency, write_latency, mmio_latency, store_latency, llc_latency, irq_latency;
	uint64_t poll_interval;
	uint32_t queue, mmio_buffers;
	/* ports */
	struct chan *cpu_req, *up, *cpu_rsp, *down;
	/* state */
	struct wait_ring serve, cpl, reg;
	struct pool *pool;
	struct watch *watch; /* by CQ index + 1, then the event queue; 0: both ends of a list */
	uint64_t cpu_free_cyc;
	/* the parameters, in cycles */
	uint64_t read_cyc, write_cyc, mmio_cyc, store_cyc, llc_cyc, irq_cyc, poll_cyc;
	uint32_t waiting, tlps_inside;
	/* statistics */
	uint64_t reads, writes, read_b, write_b, stores, mmios, polls, polls_waited, peeks, irqs;
	uint64_t bad_addr;
};

#define T struct host_mem
static const struct field host_mem_fields[] = {
	PARAM_TIME(T, read_latency, 200 * PS_PER_NS, 0, PS_PER_MS,
		   "read request in to completion out",
		   "fitted: pcie-bench, 8 B DMA read of 453 ns with 100 ns on the link each way"),
	PARAM_TIME(T, write_latency, 50 * PS_PER_NS, 0, PS_PER_MS,
		   "TLP in to data seen by everyone", "declared"),
	PARAM_TIME(T, mmio_latency, 60 * PS_PER_NS, 0, PS_PER_MS,
		   "register write from the core to the link", "declared"),
	PARAM_TIME(T, store_latency, PS_PER_NS, 0, PS_PER_MS,
		   "time of the core for a store of up to 64 B", "declared"),
	PARAM_TIME(T, llc_latency, 20 * PS_PER_NS, 0, PS_PER_MS, "load from the last-level cache",
		   "declared"),
	PARAM_TIME(T, irq_latency, 500 * PS_PER_NS, 0, PS_PER_MS,
		   "MSI-X write to the first instruction of its handler", "declared"),
	PARAM_TIME(T, poll_interval, 10 * PS_PER_NS, 1, PS_PER_MS,
		   "a core looks at a CQ this often", "declared"),
	PARAM(T, queue, 256, 1, 65536, "TLP", "trains inside, each of requests and completions",
	      "declared"),
	PARAM(T, mmio_buffers, 64, 1, 65536, "TLP", "register writes on the way to the NIC",
	      "declared"),
	PORT_IN(T, cpu_req, cpu_req, "accesses of the CPU"),
	PORT_IN(T, up, tlp, "from the link"),
	PORT_OUT(T, cpu_rsp, cpu_rsp, "completions found by polls"),
	PORT_OUT(T, down, tlp, "to the link"),
	STAT(T, reads, "TLP", "read requests served"),
	STAT(T, writes, "TLP", "trains of writes served"),
	STAT(T, read_b, "B", "bytes read by the NIC"),
	STAT(T, write_b, "B", "bytes written by the NIC"),
	STAT(T, stores, "req", "stores of the CPU"),
	STAT(T, mmios, "req", "register writes of the CPU"),
	STAT(T, polls, "req", "CQEs found by polls"),
	STAT(T, polls_waited, "req", "polls that found nothing at first"),
	STAT(T, peeks, "req", "looks at CQEs that did not wait"),
	STAT(T, irqs, "irq", "interrupts of the NIC"),
	STAT(T, bad_addr, "TLP", "transfers to an address where there is no memory"),
	SIGNAL(T, waiting, 16, "polls that wait for a CQE"),
	SIGNAL(T, tlps_inside, 16, "TLPs inside, register writes not counted"),
	FIELDS_END
};
#undef T

static const struct wait_tlp *ring_head(const struct wait_ring *r)
{
	return r->n ? &r->at[r->head] : NULL;
}

/* When the head of a ring can be dealt with. */
static uint64_t next_of(const struct host_mem *h, const struct wait_ring *r)
{
	return r->n ? max_u64(ring_head(r)->ready_cyc, h->b.cycle + 1) : CYCLE_NEVER;
}

static void ring_put(struct wait_ring *r, const struct tlp *t, uint64_t came_cyc,
		     uint64_t ready_cyc)
{
	uint32_t end = r->head + r->n++;

	r->at[end < r->size ? end : end - r->size] = (struct wait_tlp){ *t, came_cyc, ready_cyc };
}

static void ring_drop(struct wait_ring *r)
{
	r->head = r->head + 1 == r->size ? 0 : r->head + 1;
	r->n--;
}

/* ---- polls ---- */

static bool is_valid_cqe(const struct host_mem *h, const struct watch *w)
{
	const struct host *host = h->b.env;
	const uint8_t *cqe = mem_at(host->mem, w->addr);

	SIM_CHECK(cqe, h);
	return cqe[CQE_OP_OWN] >> 4 != CQE_INVALID && (cqe[CQE_OP_OWN] & 1) == w->owner;
}

/* Put poll 'i' into the list of answers, behind those that are not later. */
static void answer_at(struct host_mem *h, uint32_t i, uint64_t ready_cyc)
{
	uint32_t after = h->watch[0].prev;
	struct watch *w = &h->watch[i];

	while (after && h->watch[after].ready_cyc > ready_cyc)
		after = h->watch[after].prev;
	w->ready_cyc = ready_cyc;
	w->prev = after;
	w->next = h->watch[after].next;
	h->watch[w->next].prev = i;
	h->watch[after].next = i;
}

static void poll(struct host_mem *h, const struct cpu_req *r)
{
	const struct host *host = h->b.env;
	struct watch *w = &h->watch[r->tag + 1];

	SIM_CHECK(r->tag <= host->nic->n_cq && !w->is_waiting, h);
	w->addr = r->addr;
	w->owner = r->owner;
	w->since_cyc = h->b.cycle;
	h->peeks += r->kind == CPU_PEEK;
	if (r->kind == CPU_PEEK || is_valid_cqe(h, w)) {
		answer_at(h, r->tag + 1, h->b.cycle + h->llc_cyc);
		return;
	}
	w->is_waiting = true;
	h->waiting++;
	h->polls_waited++;
}

/* Bytes landed in [pa, pa + len): polls that wait there look again at their next tick. */
static void wake_polls(struct host_mem *h, uint64_t pa, uint32_t len)
{
	const struct host *host = h->b.env;

	for (uint64_t f = pa / PAGE_4K; f <= (pa + len - 1) / PAGE_4K; f++) {
		uint32_t i = host->mem->frame_cq[f];
		struct watch *w = &h->watch[i];

		if (i == 0 || !w->is_waiting || !is_valid_cqe(h, w))
			continue;
		w->is_waiting = false;
		h->waiting--;
		answer_at(h, i,
			  w->since_cyc + align_up(h->b.cycle - w->since_cyc, h->poll_cyc) +
				  h->llc_cyc);
	}
}

/* When the first poll of the list can be answered. */
static uint64_t next_answer(const struct host_mem *h)
{
	uint32_t i = h->watch[0].next;

	return i ? max_u64(h->watch[i].ready_cyc, h->b.cycle + 1) : CYCLE_NEVER;
}

/* The event queue's handler is entered, unless it is at work: then it finds the entry itself. */
static void interrupt(struct host_mem *h)
{
	const struct host *host = h->b.env;
	struct watch *w = &h->watch[host->nic->n_cq + 1];

	h->irqs++;
	if (!w->is_waiting || !is_valid_cqe(h, w))
		return;
	w->is_waiting = false;
	h->waiting--;
	answer_at(h, host->nic->n_cq + 1, h->b.cycle + h->irq_cyc);
}

static uint64_t answer_polls(struct host_mem *h)
{
	const struct host *host = h->b.env;
	uint32_t i = h->watch[0].next;
	struct watch *w = &h->watch[i];
	struct cpu_rsp rsp = { .tag = i - 1 };

	if (i == 0 || w->ready_cyc > h->b.cycle)
		return next_answer(h);
	if (!chan_can_push(h->cpu_rsp))
		return chan_stall(h->cpu_rsp);
	memcpy(rsp.data, mem_at(host->mem, w->addr), CQE_BYTES);
	cpu_rsp_push(h->cpu_rsp, &rsp);
	h->watch[0].next = w->next;
	h->watch[w->next].prev = 0;
	h->polls++;
	return next_answer(h);
}

/* ---- the CPU ---- */

static void send_register(struct host_mem *h, const struct cpu_req *r)
{
	struct tlp t = {
		.addr = r->addr,
		.len = r->len,
		.buf = pool_alloc(h->pool),
		.kind = TLP_MWR,
		.cls = DMA_DOORBELL,
		.op = r->op,
	};

	memcpy(buf_data(h->b.sim, t.buf), r->data, r->len);
	ring_put(&h->reg, &t, h->b.cycle, h->b.cycle + h->mmio_cyc);
	h->mmios++;
}

/* Inline data: a store of bytes that are in memory (msg.h). */
static void copy(struct host_mem *h, const struct cpu_req *r)
{
	const struct host *host = h->b.env;
	uint8_t bytes[sizeof(r->data)];
	uint64_t from = 0;

	for (unsigned i = 0; i < sizeof(from); i++)
		from |= (uint64_t)r->data[i] << 8 * i;
	SIM_CHECK(mem_read(host->mem, from, bytes, r->len) &&
			  mem_write(host->mem, r->addr, bytes, r->len),
		  h);
	h->stores++;
}

static uint64_t serve_cpu(struct host_mem *h)
{
	const struct host *host = h->b.env;
	const struct cpu_req *r = cpu_req_peek(h->cpu_req);

	if (!r)
		return CYCLE_NEVER;
	if (h->b.cycle < h->cpu_free_cyc)
		return h->cpu_free_cyc;
	SIM_CHECK(r->len <= sizeof(r->data), h);
	switch (r->kind) {
	case CPU_STORE:
		SIM_CHECK(mem_write(host->mem, r->addr, r->data, r->len), h);
		h->stores++;
		break;
	case CPU_COPY:
		copy(h, r);
		break;
	case CPU_MMIO:
		if (!pool_can_alloc(h->pool))
			return pool_stall(h->pool);
		if (h->reg.n == h->reg.size)
			return CYCLE_NEVER;
		send_register(h, r);
		break;
	default:
		poll(h, r);
	}
	h->cpu_free_cyc = h->b.cycle + h->store_cyc;
	chan_pop(h->cpu_req);
	return CYCLE_NEVER; /* the next one wakes the block */
}

/* ---- the link ---- */

static void land(struct host_mem *h, const struct tlp *t)
{
	const struct host *host = h->b.env;
	const uint8_t *from = (const uint8_t *)buf_data(h->b.sim, t->buf) + t->off;

	SIM_CHECK(t->len > 0 && t->off + t->len <= buf_size(h->b.sim, t->buf), h);
	if (mem_write(host->mem, t->addr, from, t->len)) {
		wake_polls(h, t->addr, t->len);
		if (t->cls == DMA_CQE)
			oplog_mark(host->oplog, t->op, OP_CQE, h->b.now_ps);
	} else if (t->addr == MSIX_ADDR) {
		interrupt(h);
	} else {
		h->bad_addr++;
	}
	buf_unref(&h->b, t->buf);
	h->writes++;
	h->write_b += t->len;
}

static void sample(struct host_mem *h, const struct wait_tlp *w)
{
	const struct host *host = h->b.env;
	struct tlp t = w->tlp;
	uint8_t *to = (uint8_t *)buf_data(h->b.sim, t.buf) + t.off;

	SIM_CHECK(t.len > 0 && t.off + t.len <= buf_size(h->b.sim, t.buf), h);
	if (!mem_read(host->mem, t.addr, to, t.len)) {
		memset(to, 0xff, t.len);
		h->bad_addr++;
	}
	t.kind = TLP_CPLD;
	ring_put(&h->cpl, &t, w->came_cyc, max_u64(w->came_cyc + h->read_cyc, h->b.cycle));
	h->reads++;
	h->read_b += t.len;
}

static uint64_t serve_link(struct host_mem *h)
{
	const struct wait_tlp *w = ring_head(&h->serve);

	if (!w || w->ready_cyc > h->b.cycle)
		return next_of(h, &h->serve);
	if (w->tlp.kind == TLP_MRD) {
		if (h->cpl.n == h->cpl.size)
			return CYCLE_NEVER; /* until one leaves, which is a step */
		sample(h, w);
	} else {
		SIM_CHECK(w->tlp.kind == TLP_MWR, h);
		land(h, &w->tlp);
	}
	ring_drop(&h->serve);
	return next_of(h, &h->serve);
}

static void take_tlp(struct host_mem *h)
{
	const struct tlp *t = tlp_peek(h->up);

	if (!t || h->serve.n == h->serve.size)
		return;
	ring_put(&h->serve, t, h->b.cycle, h->b.cycle + h->write_cyc);
	chan_pop(h->up);
}

/*
 * What was ready first goes first; register writes before completions of the same cycle: posted may
 * pass. False when the port refused.
 */
static bool send_down(struct host_mem *h)
{
	const struct wait_tlp *c = ring_head(&h->cpl), *r = ring_head(&h->reg);
	struct wait_ring *from = !c || (r && r->ready_cyc <= c->ready_cyc) ? &h->reg : &h->cpl;
	const struct wait_tlp *w = ring_head(from);

	if (!w || w->ready_cyc > h->b.cycle)
		return true;
	if (!chan_can_push(h->down)) {
		chan_stall(h->down);
		return false;
	}
	tlp_push(h->down, &w->tlp);
	ring_drop(from);
	return true;
}

static uint64_t host_mem_step(struct block *b)
{
	struct host_mem *h = (struct host_mem *)b;
	bool is_down_free = send_down(h);
	uint64_t next;

	take_tlp(h);
	next = serve_link(h);
	next = min_u64(next, serve_cpu(h));
	next = min_u64(next, answer_polls(h));
	if (is_down_free) /* with what came to wait in this step */
		next = min_u64(next, min_u64(next_of(h, &h->cpl), next_of(h, &h->reg)));
	if (h->serve.n < h->serve.size && tlp_peek(h->up))
		next = b->cycle + 1;
	h->tlps_inside = h->serve.n + h->cpl.n;
	return next;
}

static void host_mem_build(struct block *b)
{
	struct host_mem *h = (struct host_mem *)b;
	const struct host *host = b->env;

	h->serve.size = h->cpl.size = h->queue;
	h->reg.size = h->mmio_buffers;
	h->serve.at = block_alloc(b, h->queue, sizeof(struct wait_tlp));
	h->cpl.at = block_alloc(b, h->queue, sizeof(struct wait_tlp));
	h->reg.at = block_alloc(b, h->mmio_buffers, sizeof(struct wait_tlp));
	h->pool = pool_create(b, h->mmio_buffers, REG_BYTES);
	h->watch = block_alloc(b, host->nic->n_cq + 2, sizeof(*h->watch));
	h->read_cyc = block_cycles_of_ps(b, h->read_latency);
	h->write_cyc = block_cycles_of_ps(b, h->write_latency);
	h->mmio_cyc = block_cycles_of_ps(b, h->mmio_latency);
	h->store_cyc = max_u64(1, block_cycles_of_ps(b, h->store_latency));
	h->irq_cyc = block_cycles_of_ps(b, h->irq_latency);
	h->llc_cyc = block_cycles_of_ps(b, h->llc_latency);
	h->poll_cyc = max_u64(1, block_cycles_of_ps(b, h->poll_interval));
}

static void host_mem_reset(struct block *b)
{
	struct host_mem *h = (struct host_mem *)b;
	const struct host *host = b->env;

	h->serve.head = h->serve.n = h->cpl.head = h->cpl.n = h->reg.head = h->reg.n = 0;
	memset(h->watch, 0, (host->nic->n_cq + 2) * sizeof(*h->watch));
	h->cpu_free_cyc = 0;
	h->waiting = h->tlps_inside = 0;
}

const struct block_class host_mem_class = {
	.name = "host_mem",
	.impl = "c",
	.size = sizeof(struct host_mem),
	.fields = host_mem_fields,
	.doc = "root complex and memory: serves TLPs, and the CPU's stores, register writes, polls",
	.build = host_mem_build,
	.reset = host_mem_reset,
	.step = host_mem_step,
};
