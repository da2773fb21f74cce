/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_mem.c - root complex, memory and the CPU's way to them
 *
 * The only place that touches bytes of host memory. TLPs are served in link order, write_latency
 * after they came: writes land then, reads sample then. A read's completion leaves read_latency
 * after the request came, or later, each at its own time: completions of different requests pass
 * each other, in the order of those times. One train is served a cycle. How long an access takes and
 * what it waits for: host_path.c. The CPU's accesses are served by host_cpu.c.
 *
 * A write that waits, for its translation or for memory, holds up all behind it, as nothing passes a
 * posted write (PCI Express Base Specification, 2.4.1). An address that is not there swallows writes
 * and reads as ones, as a master abort does (2.3.1).
 */
#include "models/host_mem.h"

static const char *const llc_names[] = { "warm", "cold", "modelled", NULL };
static const char *const numa_names[] = { "local", "remote", NULL };
static const char *const page_names[] = { "4KiB", "2MiB", "1GiB", NULL };

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
	PARAM_TIME(T, irq_latency, 10 * PS_PER_US, 0, PS_PER_MS,
		   "MSI-X write to the first instruction of its handler",
		   "measured: interrupts instead of polling cost about 10 us on an ordinary host"),
	PARAM_TIME(T, poll_interval, 10 * PS_PER_NS, 1, PS_PER_MS,
		   "a core looks at a CQ this often", "declared"),
	PARAM(T, queue, 256, 1, 65536, "TLP", "trains inside, each of requests and completions",
	      "declared"),
	PARAM(T, mmio_buffers, 64, 1, 65536, "TLP", "register writes on the way to the NIC",
	      "declared"),
	PARAM_ENUM(
		T, llc, LLC_WARM, llc_names,
		"what the NIC reads is in the last-level cache, is not, or as the cache's tags say",
		"declared: warm, as rings and small buffers are"),
	PARAM_TIME(T, miss_latency, 54 * PS_PER_NS, 0, PS_PER_MS, "memory behind the cache",
		   "measured: pcie-bench, 8 B DMA read 453 ns warm, 507 cold"),
	PARAM(T, llc_slices, 6, 1, LLC_MAX_SLICES, "slice", "slices of the cache",
	      "documented: Xeon E5-2637v3, 15 MiB in slices of 2.5 MiB"),
	PARAM_ENUM(T, llc_sets, 11, assoc_set_counts, "sets of a slice",
		   "documented: Xeon E5 v3, 2048"),
	PARAM(T, llc_ways, 20, 1, 64, "way", "ways of a set, lines of 64 B",
	      "documented: Xeon E5 v3, 20"),
	PARAM(T, ddio_ways, 2, 0, 64, "way",
	      "of them, those in which the NIC's writes are allocated; 0: in none",
	      "documented: Intel DDIO, 2 of 20"),
	PARAM_ENUM(T, numa, 0, numa_names, "memory is at the NIC's socket or at the other one",
		   "declared"),
	PARAM_TIME(T, remote_hit, 93 * PS_PER_NS, 0, PS_PER_MS,
		   "the other socket's cache: both ways of a read; writes and registers: half",
		   "measured: pcie-bench, warm reads of the remote node"),
	PARAM_TIME(T, remote_miss, 53 * PS_PER_NS, 0, PS_PER_MS,
		   "the other socket's memory, whose access overlaps with the look into its cache",
		   "measured: pcie-bench, cold reads of the remote node"),
	PARAM_BOOL(T, iommu, 0, "bus addresses are translated", "declared"),
	PARAM_ENUM(T, iommu_page, IOMMU_4K, page_names, "pages of the IOMMU's tables",
		   "measured: pcie-bench, Linux maps 4 KiB; huge pages had no penalty"),
	PARAM_ENUM(T, iotlb_sets, 0, assoc_set_counts, "sets of the IOTLB", "declared: one"),
	PARAM(T, iotlb_ways, 64, 1, 65536, "way", "ways of the IOTLB",
	      "measured: pcie-bench, knee at 64 entries"),
	PARAM(T, walkers, 1, 1, IOMMU_MAX_WALKERS, "walker", "table walks at a time",
	      "measured: pcie-bench, walks are serialised"),
	PARAM_TIME(T, walk_access, 52 * PS_PER_NS, 0, PS_PER_MS,
		   "time of a walker for a level of the table",
		   "fitted: pcie-bench, 64 B reads at 19 M/s when all miss the IOTLB"),
	PARAM(T, cached_levels, 3, 0, 3, "level",
	      "upper levels of the table in the paging-structure cache",
	      "declared: only the last one is read"),
	PARAM_TIME(T, iotlb_miss, 228 * PS_PER_NS, 0, PS_PER_MS,
		   "time of a miss besides its walk; misses overlap in it",
		   "fitted: pcie-bench, 280 ns a miss in all"),
	PARAM_TIME(T, read_spread, 0, 0, PS_PER_MS,
		   "half of the reads take so much longer, half of these twice, and so on",
		   "declared: off; 3.4 ns fits pcie-bench, p99.9 30 ns above the median"),
	PARAM_TIME(T, refresh_time, 0, 0, PS_PER_MS,
		   "a refresh of the memory, which reads that miss the cache meet",
		   "declared: off; 260 ns documented for DDR4 of 4 Gb (JESD79-4, tRFC)"),
	PARAM_TIME(T, refresh_interval, 7800 * PS_PER_NS, 1, PS_PER_MS, "between two refreshes",
		   "documented: DDR4, tREFI"),
	PARAM_RATE(T, mem_rate, 0, 0, 100000 * GBPS,
		   "lines to and from memory, not those of the last-level cache; 0 = not limited",
		   "declared: off; four channels of DDR4-2133 have 546 Gb/s"),
	PARAM_RATE(T, socket_rate, 0, 0, 100000 * GBPS,
		   "bytes between the sockets, of each direction; 0 = not limited",
		   "declared: off; two QPI links of 9.6 GT/s have 307 Gb/s"),
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
	STAT(T, llc_hits, "line", "lines read by the NIC that the last-level cache had"),
	STAT(T, llc_misses, "line", "lines read by the NIC that came from memory"),
	STAT(T, iotlb_hits, "page", "pages found in the IOTLB"),
	STAT(T, iotlb_misses, "page", "pages whose table was walked"),
	STAT(T, iommu_wait_ps, "ps", "time requests waited for their translation"),
	STAT(T, walker_wait_ps, "ps", "time walks waited for a walker"),
	STAT(T, walker_busy_ps, "ps", "time a walker was busy, the mean of all"),
	STAT(T, mem_b, "B", "lines read from memory and written to it, with mem_rate"),
	STAT(T, mem_busy_ps, "ps", "time memory was busy"),
	STAT(T, mem_wait_ps, "ps", "time accesses waited for memory that was busy"),
	STAT(T, socket_rd_busy_ps, "ps", "time the way from the other socket was busy"),
	STAT(T, socket_wr_busy_ps, "ps", "time the way to the other socket was busy"),
	STAT(T, socket_wait_ps, "ps", "time accesses waited for either"),
	SIGNAL(T, waiting, 16, "polls that wait for a CQE"),
	SIGNAL(T, tlps_inside, 16, "TLPs inside, register writes not counted"),
	FIELDS_END
};
#undef T

/* ---- completions that wait ---- */

static void cpl_put(struct host_mem *h, const struct tlp *t, uint64_t ready_cyc)
{
	struct cpl_list *l = &h->cpl;
	uint32_t i = l->free, after = l->at[0].prev;
	struct wait_cpl *c = &l->at[i];

	while (after && l->at[after].ready_cyc > ready_cyc)
		after = l->at[after].prev;
	l->free = c->next;
	l->n++;
	*c = (struct wait_cpl){ *t, ready_cyc, after, l->at[after].next };
	l->at[c->next].prev = i;
	l->at[after].next = i;
}

static const struct wait_cpl *cpl_first(const struct host_mem *h)
{
	return h->cpl.n ? &h->cpl.at[h->cpl.at[0].next] : NULL;
}

static uint64_t next_cpl(const struct host_mem *h)
{
	return h->cpl.n ? max_u64(cpl_first(h)->ready_cyc, h->b.cycle + 1) : CYCLE_NEVER;
}

static void cpl_drop_first(struct host_mem *h)
{
	struct cpl_list *l = &h->cpl;
	uint32_t i = l->at[0].next;

	l->at[0].next = l->at[i].next;
	l->at[l->at[0].next].prev = 0;
	l->at[i].next = l->free;
	l->free = i;
	l->n--;
}

static void cpl_reset(struct host_mem *h)
{
	struct cpl_list *l = &h->cpl;

	l->at[0].prev = l->at[0].next = 0;
	l->n = 0;
	l->free = 1;
	for (uint32_t i = 1; i <= h->queue; i++)
		l->at[i].next = i + 1;
}

/* ---- the link ---- */

static void land(struct host_mem *h, const struct tlp *t)
{
	const struct host *host = h->b.env;
	const uint8_t *from = (const uint8_t *)buf_data(h->b.sim, t->buf) + t->off;

	SIM_CHECK(t->len > 0 && t->off + t->len <= buf_size(h->b.sim, t->buf), h);
	if (mem_write(host->mem, t->addr, from, t->len)) {
		host_path_write(h, t);
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
	uint64_t ready = host_path_read(h, &t, w->from_cyc);
	uint8_t *to = (uint8_t *)buf_data(h->b.sim, t.buf) + t.off;

	SIM_CHECK(t.len > 0 && t.off + t.len <= buf_size(h->b.sim, t.buf), h);
	if (!mem_read(host->mem, t.addr, to, t.len)) {
		memset(to, 0xff, t.len);
		h->bad_addr++;
	}
	t.kind = TLP_CPLD;
	cpl_put(h, &t, ready);
	h->reads++;
	h->read_b += t.len;
}

static uint64_t serve_link(struct host_mem *h)
{
	const struct wait_tlp *w = ring_head(&h->serve);

	if (!w || w->ready_cyc > h->b.cycle)
		return next_of(h, &h->serve);
	if (w->tlp.kind == TLP_MRD) {
		if (h->cpl.n == h->queue)
			return CYCLE_NEVER; /* until one leaves, which is a step */
		sample(h, w);
	} else {
		uint64_t at = host_path_write_at(h, &w->tlp);

		SIM_CHECK(w->tlp.kind == TLP_MWR, h);
		if (at > h->b.cycle)
			return at;
		land(h, &w->tlp);
	}
	ring_drop(&h->serve);
	h->head_cyc = h->b.cycle + 1;
	return next_of(h, &h->serve);
}

static void take_tlp(struct host_mem *h)
{
	const struct tlp *t = tlp_peek(h->up);
	uint64_t from;

	if (!t || h->serve.n == h->serve.size)
		return;
	from = host_path_translate(h, t);
	ring_put(&h->serve, t, from, (t->kind == TLP_MWR ? from : h->b.cycle) + h->write_cyc);
	chan_pop(h->up);
}

/*
 * Which of a register write and a completion that are both ready goes: nothing passes a posted write
 * that was ready before it; one that was ready later may pass completions, in turn with them, so that
 * a doorbell does not wait for all the data that the NIC asked for (PCI Express Base Specification,
 * 2.4.1).
 */
static bool reg_goes(const struct host_mem *h, const struct wait_tlp *r, const struct wait_cpl *c)
{
	if (!r || r->ready_cyc > h->b.cycle)
		return false;
	if (!c || c->ready_cyc > h->b.cycle || r->ready_cyc <= c->ready_cyc)
		return true;
	return !h->is_cpl_turn;
}

/* Send one. False when the port refused. */
static bool send_down(struct host_mem *h)
{
	const struct wait_cpl *c = cpl_first(h);
	const struct wait_tlp *r = ring_head(&h->reg);
	bool is_reg = reg_goes(h, r, c);
	uint64_t ready;
	struct tlp t;

	if (!is_reg && (!c || c->ready_cyc > h->b.cycle))
		return true;
	if (!chan_can_push(h->down)) {
		chan_stall(h->down);
		return false;
	}
	t = is_reg ? r->tlp : c->tlp;
	ready = is_reg ? r->ready_cyc : c->ready_cyc;
	t.ready_ps = domain_edge(h->b.dom, ready + 1); /* if the link had been free */
	tlp_push(h->down, &t);
	h->is_cpl_turn = is_reg;
	if (is_reg)
		ring_drop(&h->reg);
	else
		cpl_drop_first(h);
	return true;
}

static uint64_t host_mem_step(struct block *b)
{
	struct host_mem *h = (struct host_mem *)b;
	bool is_down_free = send_down(h);
	uint64_t next;

	take_tlp(h);
	next = serve_link(h);
	if (chan_has(h->cpu_req))
		next = min_u64(next, host_cpu_serve(h));
	next = min_u64(next, host_cpu_answer(h));
	if (is_down_free) /* with what came to wait in this step */
		next = min_u64(next, min_u64(next_cpl(h), next_of(h, &h->reg)));
	if (h->serve.n < h->serve.size && tlp_peek(h->up))
		next = b->cycle + 1;
	h->tlps_inside = h->serve.n + h->cpl.n;
	return next;
}

static const char *host_mem_check(const struct block *b, const char **param)
{
	const struct host_mem *h = (const struct host_mem *)b;
	const char *why = NULL;

	if (h->llc == LLC_MODELLED && h->ddio_ways > h->llc_ways) {
		*param = "ddio_ways";
		return "more than the cache has; allowed: up to llc_ways";
	}
	if (h->llc == LLC_MODELLED) {
		*param = "llc_ways";
		why = assoc_check(1u << h->llc_sets, h->llc_ways, ASSOC_LRU);
	}
	if (!why && h->iommu) {
		*param = "iotlb_ways";
		why = assoc_check(1u << h->iotlb_sets, h->iotlb_ways, ASSOC_LRU);
	}
	return why;
}

static void host_mem_build(struct block *b)
{
	struct host_mem *h = (struct host_mem *)b;

	h->serve.size = h->queue;
	h->reg.size = h->mmio_buffers;
	h->serve.at = block_alloc(b, h->queue, sizeof(struct wait_tlp));
	h->cpl.at = block_alloc(b, h->queue + 1, sizeof(struct wait_cpl));
	h->reg.at = block_alloc(b, h->mmio_buffers, sizeof(struct wait_tlp));
	h->pool = pool_create(b, h->mmio_buffers, REG_BYTES);
	h->watch = block_alloc(b, host_cpu_watches(h), sizeof(*h->watch));
	host_path_build(h);
	h->store_cyc = max_u64(1, block_cycles_of_ps(b, h->store_latency));
	h->irq_cyc = block_cycles_of_ps(b, h->irq_latency);
	h->llc_cyc = block_cycles_of_ps(b, h->llc_latency);
	h->poll_cyc = max_u64(1, block_cycles_of_ps(b, h->poll_interval));
}

static void host_mem_reset(struct block *b)
{
	struct host_mem *h = (struct host_mem *)b;

	h->serve.head = h->serve.n = h->reg.head = h->reg.n = 0;
	cpl_reset(h);
	h->head_cyc = 0;
	h->is_cpl_turn = false;
	host_path_reset(h);
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
	.check = host_mem_check,
};
