/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate_pcie.c - published numbers of PCI Express paths and how they are simulated
 *
 * All of pcie-bench (Neugebauer et al., SIGCOMM 2018): raw data and figures, a NIC at PCIe Gen3 x8
 * in a Haswell Xeon E5-2637v3, 8 KiB window unless named. Nothing here sets a parameter that decides
 * a number: these are in models/profiles/pcie-bench.ini.
 */
#include "tools/perf/calibrate_pcie.h"

#include "models/iommu.h"

#define N_LATENCY 4000u
#define N_TAIL 40000u
#define N_BANDWIDTH 6000u
#define SEED 1u

#define SMALL (8 * KIB) /* window */
#define HOW(k, bytes, count, win, ...) \
	{ \
		.kind = (k), .size = (bytes), .n = (count), .window = (win), .seed = SEED, \
		__VA_ARGS__ \
	}
#define READ(bytes, gbps) \
	{ \
		"DMA read " #bytes " B", "Gb/s", gbps, 10, PCIE_GBPS, \
			HOW(PCIE_BW_RD, bytes, N_BANDWIDTH, SMALL, ) \
	}
#define WRITE(bytes, gbps) \
	{ \
		"DMA write " #bytes " B", "Gb/s", gbps, 10, PCIE_GBPS, \
			HOW(PCIE_BW_WR, bytes, N_BANDWIDTH, SMALL, ) \
	}
#define LATENCY(bytes, ns) \
	{ \
		"DMA read latency " #bytes " B", "ns", ns, 10, PCIE_MEDIAN_NS, \
			HOW(PCIE_LAT_RD, bytes, N_LATENCY, SMALL, ) \
	}
#define DIRECT(what, ns, ...) \
	{ \
		"8 B read latency, " what, "ns", ns, 10, PCIE_MEDIAN_NS, \
			HOW(PCIE_LAT_RD, 8, N_LATENCY, SMALL, .is_direct = true, __VA_ARGS__) \
	}
#define TAIL(what, ns, ...) \
	{ \
		"8 B read latency, p99.9 over median, " what, "ns", ns, 10, PCIE_TAIL_NS, \
			HOW(PCIE_LAT_RD, 8, N_TAIL, SMALL, .is_direct = true, __VA_ARGS__) \
	}
#define READS(what, unit, published, band, value, bytes, win, ...) \
	{ \
		"DMA read " what, unit, published, band, value, \
			HOW(PCIE_BW_RD, bytes, N_BANDWIDTH, win, __VA_ARGS__) \
	}

const struct pcie_row pcie_rows[] = {
	READ(64, 28.7),
	READ(128, 43.0),
	READ(129, 34.1),
	READ(256, 46.9),
	READ(257, 39.1),
	READ(512, 55.1),
	READ(513, 43.2),
	READ(1024, 49.1),
	READ(2048, 55.2),
	WRITE(64, 24.3),
	WRITE(128, 42.4),
	WRITE(129, 27.2),
	WRITE(256, 50.5),
	WRITE(257, 37.4),
	WRITE(512, 54.4),
	WRITE(513, 46.1),
	WRITE(1024, 54.4),
	WRITE(2048, 54.4),
	LATENCY(64, 600),
	LATENCY(128, 626),
	LATENCY(256, 667),
	LATENCY(512, 747),
	LATENCY(1024, 907),
	LATENCY(2048, 1173),
	DIRECT("in the cache", 453, ),
	DIRECT("in memory", 507, .is_cold = true),
	{ "64 B write, then read", "ns", 640, 10, PCIE_MEDIAN_NS,
	  HOW(PCIE_LAT_WRRD, 64, N_LATENCY, SMALL, ) },
	DIRECT("in the other socket's cache", 453 + 93, .is_remote = true),
	DIRECT("in the other socket's memory", 507 + 53, .is_cold = true, .is_remote = true),
	TAIL("in the cache", 30, ),
	TAIL("in memory", 270, .is_cold = true),
	READS("64 B, local node", "Gb/s", 32.5, 10, PCIE_GBPS, 64, SMALL, ),
	READS("64 B, remote node", "Gb/s", 25.5, 10, PCIE_GBPS, 64, SMALL, .is_remote = true),
	READS("512 B, remote node", "Gb/s", 55.1, 10, PCIE_GBPS, 512, SMALL, .is_remote = true),
	READS("64 B, IOMMU, window 256 KiB", "M/s", 63, 15, PCIE_MOPS, 64, 256 * KIB,
	      .has_iommu = true),
	READS("64 B, IOMMU, window 64 MiB", "M/s", 19, 15, PCIE_MOPS, 64, 64 * MIB,
	      .has_iommu = true),
	READS("64 B, IOMMU, knee", "pages", 64, 15, PCIE_KNEE_PAGES, 64, SMALL, .has_iommu = true),
	READS("512 B, IOMMU, window 256 KiB", "Gb/s", 55.0, 15, PCIE_GBPS, 512, 256 * KIB,
	      .has_iommu = true),
	READS("512 B, IOMMU, window 64 MiB", "Gb/s", 53.6, 15, PCIE_GBPS, 512, 64 * MIB,
	      .has_iommu = true),
	READS("64 B, IOMMU, pages of 2 MiB, window 64 MiB", "M/s", 63, 15, PCIE_MOPS, 64, 64 * MIB,
	      .has_iommu = true, .page = IOMMU_2M),
	{ "8 B read latency, IOTLB miss", "ns", 453 + 280, 10, PCIE_MEDIAN_NS,
	  HOW(PCIE_LAT_RD, 8, N_LATENCY, 8 * MIB, .is_direct = true, .has_iommu = true) },
};
const uint32_t pcie_n_rows = ARRAY_LEN(pcie_rows);

#define KNEE_STEP 8u
#define KNEE_MOST 512u

/* The last window, in steps of some pages, whose rate is within 3 % of the first one's. */
static bool run_knee(const struct pcie_row *row, double *simulated, struct err *e)
{
	struct pcie_bench_how how = row->how;
	uint64_t first = 0;

	*simulated = 0;
	for (uint32_t pages = KNEE_STEP; pages <= KNEE_MOST; pages += KNEE_STEP) {
		struct pcie_bench_result r;

		how.window = pages * 4 * KIB;
		if (!pcie_bench_run(&how, &r, e))
			return false;
		pcie_bench_release(&r);
		first = max_u64(first, r.kops);
		if (r.kops < first * 97 / 100)
			break;
		*simulated = pages;
	}
	return true;
}

bool pcie_row_run(const struct pcie_row *row, double *simulated, struct err *e)
{
	struct pcie_bench_result r;

	if (row->value == PCIE_KNEE_PAGES)
		return run_knee(row, simulated, e);
	if (!pcie_bench_run(&row->how, &r, e))
		return false;
	switch (row->value) {
	case PCIE_GBPS:
		*simulated = (double)r.mbps / 1e3;
		break;
	case PCIE_MOPS:
		*simulated = (double)r.kops / 1e3;
		break;
	case PCIE_MEDIAN_NS:
		*simulated = (double)r.median_ps / 1e3;
		break;
	default:
		*simulated = (double)(r.p999_ps - r.median_ps) / 1e3;
		break;
	}
	pcie_bench_release(&r);
	return true;
}

bool pcie_row_agrees(const struct pcie_row *row, double simulated)
{
	double band = row->published * row->band_percent / 100;

	return simulated >= row->published - band && simulated <= row->published + band;
}
