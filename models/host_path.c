/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_path.c - how long an access to host memory takes, and what it waits for
 *
 * What makes a read later: its translation by the IOMMU (iommu.h), during which others go on; a line
 * that is not in the last-level cache (llc.h); the way to the other socket; the spread of single
 * accesses, which has an exponential tail, and, in memory, the refresh of the rank: the read comes in
 * it with the probability of refresh_time / refresh_interval and waits for its end.
 *
 * Bandwidth: memory, and each direction between the sockets, is a server that does one access after
 * the other, in the order in which they are served here. Memory moves whole lines: those that a read
 * or the CPU misses, and one for each line that a write did not find in the cache, as it, or a dirty
 * one that it displaces, goes to memory (llc = cold: all; warm: none). A read waits on its own; a
 * write lands when the servers are free.
 *
 * Not modelled: banks and channels of the memory, other programs' traffic, write-back of lines that
 * the CPU displaces.
 */
#include "models/host_mem.h"

static uint64_t first_line(uint64_t pa)
{
	return pa / LLC_LINE * LLC_LINE;
}

static uint64_t lines_of(uint64_t pa, uint64_t len)
{
	return (pa + len - 1) / LLC_LINE - pa / LLC_LINE + 1;
}

/* ---- bandwidth ---- */

/* Give a server another access. Returns the time until it is begun. */
static uint64_t serve(struct host_mem *h, uint64_t *free_ps, uint64_t *busy_ps, uint64_t bytes,
		      uint64_t bps)
{
	uint64_t start = max_u64(h->b.now_ps, *free_ps), ps = ps_of_bytes(bytes, bps);

	*free_ps = start + ps;
	*busy_ps += ps;
	return start - h->b.now_ps;
}

static uint64_t wait_for_memory(struct host_mem *h, uint64_t lines)
{
	if (!h->mem_rate || !lines)
		return 0;
	h->mem_b += lines * LLC_LINE;
	return serve(h, &h->mem_free_ps, &h->mem_busy_ps, lines * LLC_LINE, h->mem_rate);
}

/* ---- the CPU ---- */

uint64_t host_mem_cpu_lines(struct host_mem *h, uint64_t pa, uint32_t len)
{
	uint64_t n = 0, ps;

	if (h->llc != LLC_MODELLED)
		return 0;
	for (uint64_t line = first_line(pa); line < pa + len; line += LLC_LINE)
		n += !llc_use(&h->cache, LLC_CPU, line);
	if (n == 0)
		return 0;
	ps = wait_for_memory(h, n);
	h->mem_wait_ps += ps;
	return block_cycles_of_ps(&h->b, h->miss_latency + ps);
}

void host_mem_touch(struct block *b, uint64_t pa, uint64_t len)
{
	struct host_mem *h = (struct host_mem *)b;

	SIM_CHECK(b->cls == &host_mem_class, b);
	for (uint64_t line = first_line(pa); h->llc == LLC_MODELLED && line < pa + len;
	     line += LLC_LINE)
		llc_use(&h->cache, LLC_CPU, line);
}

/* ---- the NIC's reads ---- */

/* Lines of [pa, pa + len) that come from memory. */
static uint64_t read_lines(struct host_mem *h, uint64_t pa, uint32_t len)
{
	uint64_t lines = lines_of(pa, len), hits = 0;

	if (h->llc == LLC_WARM)
		hits = lines;
	else if (h->llc == LLC_MODELLED)
		for (uint64_t line = first_line(pa); line < pa + len; line += LLC_LINE)
			hits += llc_use(&h->cache, LLC_IO_READ, line);
	h->llc_hits += hits;
	h->llc_misses += lines - hits;
	return lines - hits;
}

/*
 * Exponential, of integers: the number of leading zeros of a random word is geometric, its next 16
 * bits place the time between two halvings.
 */
static uint64_t draw_spread(struct host_mem *h)
{
	uint64_t r = rng_next(&h->b.rng) | 1, zeros = (uint64_t)__builtin_clzll(r);
	uint64_t halvings = (zeros << 16) + (0xffff - (r << zeros >> 47 & 0xffff));

	return h->read_spread * halvings >> 16;
}

/* How much longer this read takes than others of its kind. */
static uint64_t read_extra_ps(struct host_mem *h, bool is_miss)
{
	uint64_t ps = h->read_spread ? draw_spread(h) : 0;

	if (is_miss && h->refresh_ppb && rng_chance(&h->b.rng, h->refresh_ppb))
		ps += rng_below(&h->b.rng, h->refresh_time);
	return ps;
}

uint64_t host_path_read(struct host_mem *h, const struct tlp *t, uint64_t from_cyc)
{
	uint64_t missed = read_lines(h, t->addr, t->len), extra = read_extra_ps(h, missed);
	uint64_t memory = wait_for_memory(h, missed), socket = 0, ready;

	if (h->numa && h->socket_rate)
		socket = serve(h, &h->socket_rd_free_ps, &h->socket_rd_busy_ps, t->len,
			       h->socket_rate);
	h->mem_wait_ps += memory;
	h->socket_wait_ps += socket;
	ready = from_cyc + (missed ? h->miss_cyc : h->hit_cyc) +
		(extra ? block_cycles_of_ps(&h->b, extra) : 0);
	ready = max_u64(ready, h->b.cycle);
	if (memory || socket)
		ready += block_cycles_of_ps(&h->b, max_u64(memory, socket));
	return ready;
}

/* ---- its writes ---- */

static bool is_to_memory(const struct tlp *t)
{
	return t->addr != MSIX_ADDR;
}

/* Lines for which memory is needed; the cache is not changed. */
static uint64_t missing_lines(struct host_mem *h, const struct tlp *t)
{
	uint64_t n = 0;

	if (h->llc == LLC_COLD)
		return lines_of(t->addr, t->len);
	if (h->llc == LLC_MODELLED)
		for (uint64_t line = first_line(t->addr); line < t->addr + t->len; line += LLC_LINE)
			n += !llc_has(&h->cache, line);
	return n;
}

uint64_t host_path_write_at(struct host_mem *h, const struct tlp *t)
{
	uint64_t ps = h->b.now_ps;

	if (!is_to_memory(t))
		return h->b.cycle;
	if (h->mem_free_ps > ps && missing_lines(h, t))
		ps = h->mem_free_ps;
	if (h->numa && h->socket_wr_free_ps > ps)
		ps = h->socket_wr_free_ps;
	return ps > h->b.now_ps ? block_cycle_at(&h->b, ps) : h->b.cycle;
}

/* Since when the write could have landed, but for a server that was busy until 'free_ps': what it waited. */
static uint64_t waited(const struct host_mem *h, uint64_t free_ps)
{
	uint64_t due = domain_edge(h->b.dom, max_u64(ring_head(&h->serve)->ready_cyc, h->head_cyc));

	return free_ps > due ? min_u64(free_ps, h->b.now_ps) - due : 0;
}

void host_path_write(struct host_mem *h, const struct tlp *t)
{
	uint64_t lines = h->mem_rate ? missing_lines(h, t) : 0;

	if (lines)
		h->mem_wait_ps += waited(h, h->mem_free_ps);
	wait_for_memory(h, lines);
	if (h->numa && h->socket_rate) {
		h->socket_wait_ps += waited(h, h->socket_wr_free_ps);
		serve(h, &h->socket_wr_free_ps, &h->socket_wr_busy_ps, t->len, h->socket_rate);
	}
	for (uint64_t line = first_line(t->addr); h->llc == LLC_MODELLED && line < t->addr + t->len;
	     line += LLC_LINE)
		llc_use(&h->cache, LLC_IO_WRITE, line);
}

/* ---- translation ---- */

static uint64_t span_ps(const struct host_mem *h, uint64_t from_cyc, uint64_t to_cyc)
{
	return domain_edge(h->b.dom, to_cyc) - domain_edge(h->b.dom, from_cyc);
}

uint64_t host_path_translate(struct host_mem *h, const struct tlp *t)
{
	uint64_t now = h->b.cycle;
	struct iommu_look look;

	if (!h->iommu || !is_to_memory(t))
		return now;
	look = iommu_translate(&h->mmu, t->addr, t->len, now);
	h->iotlb_hits += look.hits;
	h->iotlb_misses += look.walks;
	h->iommu_wait_ps += span_ps(h, now, look.ready_cyc);
	h->walker_wait_ps += span_ps(h, now, now + look.walker_wait_cyc);
	h->walker_busy_ps += span_ps(h, now, now + look.walks * h->mmu.walk_cyc) / h->walkers;
	return look.ready_cyc;
}

/* ---- life ---- */

void host_path_build(struct host_mem *h)
{
	struct block *b = &h->b;
	uint64_t hit = h->read_latency, miss = h->read_latency + h->miss_latency, one_way = 0;

	if (h->numa) {
		hit += h->remote_hit;
		miss += h->remote_miss;
		one_way = h->remote_hit / 2;
	}
	h->hit_cyc = block_cycles_of_ps(b, hit);
	h->miss_cyc = block_cycles_of_ps(b, miss);
	h->write_cyc = block_cycles_of_ps(b, h->write_latency + one_way);
	h->mmio_cyc = block_cycles_of_ps(b, h->mmio_latency + one_way);
	h->refresh_ppb = min_u64(PPB_ONE, h->refresh_time * PPB_ONE / h->refresh_interval);
	if (h->llc == LLC_MODELLED)
		llc_build(&h->cache, b, h->llc_slices, 1u << h->llc_sets, h->llc_ways,
			  h->ddio_ways);
	if (!h->iommu)
		return;
	h->mmu.sets = 1u << h->iotlb_sets;
	h->mmu.ways = h->iotlb_ways;
	h->mmu.page = h->iommu_page;
	h->mmu.walkers = h->walkers;
	h->mmu.cached_levels = h->cached_levels;
	h->mmu.access_cyc = block_cycles_of_ps(b, h->walk_access);
	h->mmu.miss_cyc = block_cycles_of_ps(b, h->iotlb_miss);
	iommu_build(&h->mmu, b);
}

void host_path_reset(struct host_mem *h)
{
	h->mem_free_ps = h->socket_rd_free_ps = h->socket_wr_free_ps = 0;
	if (h->llc == LLC_MODELLED)
		llc_reset(&h->cache);
	if (h->iommu)
		iommu_reset(&h->mmu);
}
