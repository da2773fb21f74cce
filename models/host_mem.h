/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_mem.h - the struct of root complex and memory, for the files that make up the block
 *
 * host_mem.c serves the link, host_cpu.c the CPU; host_path.c tells how long it takes.
 */
#ifndef MODELS_HOST_MEM_H
#define MODELS_HOST_MEM_H

#include "models/host.h"
#include "models/iommu.h"
#include "models/llc.h"
#include "models/msg.h"
#include "sim/pool.h"

#define REG_BYTES 64u /* largest register write */

/* TLPs that wait for their time, in order. */
struct wait_ring {
	struct wait_tlp {
		struct tlp tlp;
		uint64_t
			from_cyc; /* its access to memory runs from here: it came, or was translated */
		uint64_t ready_cyc;
	} * at;
	uint32_t head, n, size;
};

/* Completions that wait for their time, by that time, then in the order of the requests. */
struct cpl_list {
	struct wait_cpl {
		struct tlp tlp;
		uint64_t ready_cyc;
		uint32_t prev, next; /* also of the free ones; index, 0: both ends of the list */
	} * at;
	uint32_t free, n;
};

extern const struct block_class host_mem_class;

/* What the cache holds: everything, nothing that devices read, or what its tags say. */
enum llc_state { LLC_WARM, LLC_COLD, LLC_MODELLED };

/* A CQ's poll. */
struct watch {
	uint64_t addr, since_cyc, ready_cyc;
	uint32_t prev, next; /* list of polls to be answered, by ready_cyc; index + 1 */
	bool owner, is_waiting, is_byte;
	uint8_t value; /* of a byte that is waited for */
};

struct host_mem {
	struct block b;
	/* parameters */
	uint64_t read_latency, write_latency, mmio_latency, store_latency, llc_latency, irq_latency;
	uint64_t poll_interval;
	uint32_t queue, mmio_buffers;
	uint32_t llc, llc_slices, llc_sets, llc_ways, ddio_ways;
	uint64_t miss_latency;
	uint32_t numa;
	uint64_t remote_hit, remote_miss;
	bool iommu;
	uint32_t iotlb_sets, iotlb_ways, iommu_page, walkers, cached_levels;
	uint64_t walk_access, iotlb_miss;
	uint64_t read_spread, refresh_time, refresh_interval;
	uint64_t mem_rate, socket_rate;
	/* ports */
	struct chan *cpu_req, *up, *cpu_rsp, *down;
	/* state */
	struct wait_ring serve, reg;
	struct cpl_list cpl;
	struct llc cache;
	struct iommu mmu;
	struct pool *pool;
	struct watch *watch; /* by CQ index + 1, the event queue, bytes by QP; 0: ends of a list */
	uint64_t cpu_free_cyc;
	uint64_t head_cyc; /* since when the first TLP to be served is the first */
	uint64_t mem_free_ps, socket_rd_free_ps,
		socket_wr_free_ps; /* servers are busy until then */
	/* the parameters, in cycles */
	uint64_t write_cyc, mmio_cyc, store_cyc, llc_cyc, irq_cyc, poll_cyc;
	uint64_t hit_cyc,
		miss_cyc;     /* of a read: from_cyc to its completion, by where its bytes are */
	uint64_t refresh_ppb; /* a read of memory meets a refresh so often */
	bool is_cpl_turn;     /* a register write went last */
	uint32_t waiting, tlps_inside;
	/* statistics */
	uint64_t reads, writes, read_b, write_b, stores, mmios, mmio_b, polls, polls_waited, peeks,
		irqs;
	uint64_t bad_addr;
	uint64_t llc_hits, llc_misses, iotlb_hits, iotlb_misses, iommu_wait_ps, walker_wait_ps,
		walker_busy_ps;
	uint64_t mem_b, mem_busy_ps, mem_wait_ps, socket_rd_busy_ps, socket_wr_busy_ps,
		socket_wait_ps;
};

static inline const struct wait_tlp *ring_head(const struct wait_ring *r)
{
	return r->n ? &r->at[r->head] : NULL;
}

/* When the head of a ring can be dealt with. */
static inline uint64_t next_of(const struct host_mem *h, const struct wait_ring *r)
{
	return r->n ? max_u64(ring_head(r)->ready_cyc, h->b.cycle + 1) : CYCLE_NEVER;
}

static inline void ring_put(struct wait_ring *r, const struct tlp *t, uint64_t from_cyc,
			    uint64_t ready_cyc)
{
	uint32_t end = r->head + r->n++;

	r->at[end < r->size ? end : end - r->size] = (struct wait_tlp){ *t, from_cyc, ready_cyc };
}

static inline void ring_drop(struct wait_ring *r)
{
	r->head = r->head + 1 == r->size ? 0 : r->head + 1;
	r->n--;
}

/* ---- host_path.c ---- */

void host_path_build(struct host_mem *h);
void host_path_reset(struct host_mem *h);

/* When the request, which came in this cycle, is translated. Interrupts are not. */
uint64_t host_path_translate(struct host_mem *h, const struct tlp *t);

/* A read is served now: when its completion can leave, as its access runs from 'from_cyc'. */
uint64_t host_path_read(struct host_mem *h, const struct tlp *t, uint64_t from_cyc);

/* When a write can land, this cycle or later; changes nothing. The first of 'serve' lands now. */
uint64_t host_path_write_at(struct host_mem *h, const struct tlp *t);
void host_path_write(struct host_mem *h, const struct tlp *t);

/*
 * What the CPU leaves in the last-level cache by having written [pa, pa + len): for set-up, after
 * reset. Without effect unless llc = modelled. 'b' is a host_mem.
 */
void host_mem_touch(struct block *b, uint64_t pa, uint64_t len);

/* The CPU uses the lines of [pa, pa + len). Returns the time that it waits for memory, in cycles. */
uint64_t host_mem_cpu_lines(struct host_mem *h, uint64_t pa, uint32_t len);

/* ---- host_cpu.c ---- */

/* How many watches there are, and their reset. */
uint32_t host_cpu_watches(const struct host_mem *h);
void host_cpu_reset(struct host_mem *h);

/* Serve the CPU's next access. Returns when to look again. */
uint64_t host_cpu_serve(struct host_mem *h);

/* Answer one poll whose time has come. Returns when the next one can be answered. */
uint64_t host_cpu_answer(struct host_mem *h);

/* The NIC's bytes landed in [pa, pa + len): polls that wait there look again at their next tick. */
void host_cpu_landed(struct host_mem *h, uint64_t pa, uint32_t len);

/* The NIC raised its interrupt. */
void host_cpu_interrupt(struct host_mem *h);

#endif
