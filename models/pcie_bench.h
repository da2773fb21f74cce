/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcie_bench.h - measures a host's PCI Express path with a device that does nothing but DMA
 *
 * The five measurements of pcie-bench (Neugebauer et al., SIGCOMM 2018), by a net-list of the source
 * pcie_bench in the place of a NIC, dma_engine, pcie_link and host_mem, all named nic0.*. A profile
 * gives the device and the host; the default is `pcie-bench`, the device and Haswell host that were
 * measured.
 */
#ifndef MODELS_PCIE_BENCH_H
#define MODELS_PCIE_BENCH_H

#include "models/host.h"
#include "models/msg.h"
#include "sim/block.h"
#include "sim/hist.h"

#define PCIE_BENCH_PROFILE "pcie-bench"
#define PCIE_BENCH_MAX_B 4096u

/*
 * LAT: one transfer at a time, from descriptor to completion; WRRD: a write and behind it a read of
 * the same bytes. BW: as many as the device can have under way; RDWR: in turns.
 */
enum pcie_bench_kind {
	PCIE_LAT_RD,
	PCIE_LAT_WRRD,
	PCIE_BW_RD,
	PCIE_BW_WR,
	PCIE_BW_RDWR,
	PCIE_BENCH_KINDS
};

/* What to measure. Zero is a good value of all but kind, size, window and n. */
struct pcie_bench_how {
	uint32_t kind;
	uint32_t size;   /* bytes of a transfer, 1 to PCIE_BENCH_MAX_B */
	uint64_t window; /* bytes of host memory that are used, a transfer and more */
	uint32_t n;      /* transfers */
	uint32_t page;   /* with has_iommu: enum iommu_page */
	bool is_sequential;
	bool is_cold;   /* the CPU has not touched the window; needs host_mem.llc = modelled */
	bool is_remote; /* the memory is at the other socket */
	bool has_iommu;
	bool is_direct;      /* latency without the queues of the device's DMA engine */
	uint64_t seed;       /* of addresses and of the host's spread */
	const char *profile; /* NULL: PCIE_BENCH_PROFILE */
	const char *const
		*sets; /* NULL, or "block.key=value" as --set takes them, NULL at the end */
};

struct pcie_bench_result {
	uint64_t n, time_ps;  /* BW: transfers counted, and the time in which they ended */
	uint64_t mbps, kops;  /* BW: data, Mb/s, and thousands of transfers a second */
	uint64_t *latency_ps; /* LAT: every transfer, sorted; released by pcie_bench_release */
	uint64_t median_ps, p999_ps, min_ps, max_ps; /* LAT: exact */
	uint64_t iotlb_misses, llc_misses;           /* of the host */
};

/* Measure. False with 'e' set on a user's mistake; 'r' needs no release then. */
bool pcie_bench_run(const struct pcie_bench_how *how, struct pcie_bench_result *r, struct err *e);
void pcie_bench_release(struct pcie_bench_result *r);

/* ---- the block ---- */

/* Set-up of the block: its env. */
struct pcie_bench_env {
	struct nic nic; /* env of the DMA engine */
	struct mem mem;
	struct host host; /* env of host_mem */
	uint64_t base;    /* bus address of the window */
};

/* Transfers that have ended: number i (from 0) took sample[i] ps (LAT) or ended at sample[i] ps (BW). */
const uint64_t *pcie_bench_samples(const struct block *b, uint32_t *n);

extern const struct block_class pcie_bench_class;
extern const char *const pcie_bench_kind_names[];

#endif
