/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_mem.c - root complex, memory and the CPU's way to them
 *
 * The only place that touches bytes of host memory. TLPs are served in link order, write_latency
 * after they came: writes land then, reads sample then and their completion leaves read_latency
 * after the request came. Both are latencies, not occupancies: one train is served a cycle. The
 * CPU's accesses are served by host_cpu.c.
 *
 * Not modelled: IOMMU, cache misses, NUMA, bandwidth of memory. An address that is not there
 * swallows writes and reads as ones, as a master abort does (PCI Express Base Specification,
 * 2.3.1).
 */
#include "models/host_mem.h"

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
	STAT(T, mmio_b, "B", "in them"),
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

static void land(struct host_mem *h, const struct tlp *t)
{
	const struct host *host = h->b.env;
	const uint8_t *from = (const uint8_t *)buf_data(h->b.sim, t->buf) + t->off;

	SIM_CHECK(t->len > 0 && t->off + t->len <= buf_size(h->b.sim, t->buf), h);
	if (mem_write(host->mem, t->addr, from, t->len)) {
		host_cpu_landed(h, t->addr, t->len);
		if (t->cls == DMA_CQE)
			oplog_mark(host->oplog, t->op, OP_CQE, h->b.now_ps);
	} else if (t->addr == MSIX_ADDR) {
		host_cpu_interrupt(h);
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
	struct tlp t;

	if (!w || w->ready_cyc > h->b.cycle)
		return true;
	if (!chan_can_push(h->down)) {
		chan_stall(h->down);
		return false;
	}
	t = w->tlp;
	t.ready_ps = domain_edge(h->b.dom, h->b.cycle + 1);
	tlp_push(h->down, &t);
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
	next = min_u64(next, host_cpu_serve(h));
	next = min_u64(next, host_cpu_answer(h));
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

	h->serve.size = h->cpl.size = h->queue;
	h->reg.size = h->mmio_buffers;
	h->serve.at = block_alloc(b, h->queue, sizeof(struct wait_tlp));
	h->cpl.at = block_alloc(b, h->queue, sizeof(struct wait_tlp));
	h->reg.at = block_alloc(b, h->mmio_buffers, sizeof(struct wait_tlp));
	h->pool = pool_create(b, h->mmio_buffers, REG_BYTES);
	h->watch = block_alloc(b, host_cpu_watches(h), sizeof(*h->watch));
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

	h->serve.head = h->serve.n = h->cpl.head = h->cpl.n = h->reg.head = h->reg.n = 0;
	host_cpu_reset(h);
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
