/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pcie_bench.c - published numbers of PCI Express paths, and what moves them
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

#include "tools/perf/calibrate_pcie.h"
#include "tools/run/commands.h"
#include "models/iommu.h"
#include "testbench/tb.h"

/* 64 B reads, random in 8 KiB. */
static struct pcie_bench_how reads(uint32_t kind, uint32_t n)
{
	return (struct pcie_bench_how){
		.kind = kind, .size = 64, .n = n, .window = 8 * KIB, .seed = 1
	};
}

static struct pcie_bench_result run(const struct pcie_bench_how *how)
{
	struct pcie_bench_result r;
	struct err e = { 0 };

	if (!pcie_bench_run(how, &r, &e))
		CU_FAIL_FATAL(e.text);
	pcie_bench_release(&r);
	return r;
}

static void pcie_bench_published_rows_come_out(void)
{
	for (uint32_t i = 0; i < pcie_n_rows; i++) {
		struct err e = { 0 };
		double got = 0;

		CU_ASSERT_FATAL(pcie_row_run(&pcie_rows[i], &got, &e));
		if (!pcie_row_agrees(&pcie_rows[i], got))
			printf("%s: published %.1f, simulated %.1f %s\n", pcie_rows[i].name,
			       pcie_rows[i].published, got, pcie_rows[i].unit);
		CU_ASSERT(pcie_row_agrees(&pcie_rows[i], got));
	}
}

/* The rate is smaller behind each multiple of the segment than at it. */
static void pcie_bench_rate_dips_past_each_segment(void)
{
	for (uint32_t write = 0; write < 2; write++) {
		struct pcie_bench_how how = reads(write ? PCIE_BW_WR : PCIE_BW_RD, 2000);

		for (uint32_t at = 128; at <= 512; at *= 2) {
			uint64_t before, behind;

			how.size = at;
			before = run(&how).mbps;
			how.size = at + 1;
			behind = run(&how).mbps;
			CU_ASSERT(behind < before * 9 / 10);
		}
	}
}

/* The window may have as many pages as the IOTLB has entries; one page more of eight costs. */
static void pcie_bench_iotlb_knee_is_at_its_entries(void)
{
	struct pcie_bench_how how = reads(PCIE_BW_RD, 4000);
	uint64_t without = run(&how).kops, last = 0;

	how.has_iommu = true;
	for (uint32_t pages = 8; pages <= 64; pages *= 2) {
		how.window = pages * 4 * KIB;
		CU_ASSERT(run(&how).kops > without * 97 / 100);
		CU_ASSERT(run(&how).iotlb_misses <= pages);
	}
	last = without;
	for (uint32_t pages = 128; pages <= 512; pages *= 2) {
		uint64_t kops;

		how.window = pages * 4 * KIB;
		kops = run(&how).kops;
		CU_ASSERT(kops < last * 9 / 10);
		last = kops;
	}
	how.window = 72 * 4 * KIB;
	CU_ASSERT(run(&how).iotlb_misses > 300);
	how.window = 64 * MIB;
	how.page = IOMMU_2M;
	CU_ASSERT(run(&how).iotlb_misses <= 32);
	how.page = IOMMU_1G;
	CU_ASSERT(run(&how).iotlb_misses <= 1);
}

/* More of what may be short is never slower. */
static void pcie_bench_more_is_never_slower(void)
{
	static const struct {
		const char *few, *more;
		uint32_t kind;
		bool iommu;
	} want[] = {
		{ "dma_engine.tags=8", "dma_engine.tags=16", PCIE_BW_RD, false },
		{ "host_mem.walkers=1", "host_mem.walkers=2", PCIE_BW_RD, true },
		{ "host_mem.iotlb_ways=16", "host_mem.iotlb_ways=128", PCIE_BW_RD, true },
		{ "pcie_link.lanes=4", "pcie_link.lanes=8", PCIE_BW_WR, false },
		{ "pcie_link.gen=1", "pcie_link.gen=2", PCIE_BW_RD, false },
		{ "host_mem.mem_rate=10Gbps", "host_mem.mem_rate=30Gbps", PCIE_BW_RD, false },
		{ "host_mem.mem_rate=10Gbps", "host_mem.mem_rate=30Gbps", PCIE_BW_WR, false },
		{ "host_mem.socket_rate=10Gbps", "host_mem.socket_rate=30Gbps", PCIE_BW_RD, false },
		{ "host_mem.socket_rate=10Gbps", "host_mem.socket_rate=30Gbps", PCIE_BW_WR, false }
	};

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		struct pcie_bench_how how = reads(want[i].kind, 2000);
		const char *sets[] = { want[i].few, NULL };
		uint64_t few;

		how.sets = sets;
		how.window = 512 * KIB;
		how.size = 256;
		if (i < 3)
			how.size = 64;
		how.has_iommu = want[i].iommu;
		how.is_remote = strstr(want[i].few, "socket") != NULL;
		how.is_cold = strstr(want[i].few, "mem_rate") != NULL;
		few = run(&how).kops;
		sets[0] = want[i].more;
		CU_ASSERT(run(&how).kops > few * 11 / 10);
	}
}

/* Windows beyond the cache are read from memory, and beyond DDIO's ways what was just written too. */
static void pcie_bench_windows_beyond_the_cache_miss(void)
{
	struct pcie_bench_how how = reads(PCIE_LAT_RD, 2000);
	const char *sets[] = { "host_mem.llc_slices=1", "host_mem.llc_sets=64",
			       "host_mem.read_spread=0", "host_mem.refresh_time=0", NULL };

	how.sets = sets; /* 80 KiB, 8 KiB of them for the device's writes */
	how.window = 80 * KIB;
	CU_ASSERT_EQUAL(run(&how).llc_misses, 0);
	how.window = 800 * KIB;
	CU_ASSERT(run(&how).llc_misses > 1600);
	how.window = 8 * KIB;
	how.is_cold = true;
	CU_ASSERT_EQUAL(run(&how).llc_misses, 2000);
	how.kind = PCIE_LAT_WRRD;
	CU_ASSERT_EQUAL(run(&how).llc_misses, 0);
	how.kind = PCIE_BW_RDWR;
	how.window = 4 * KIB;
	CU_ASSERT(run(&how).llc_misses < 300);
	how.window = 64 * KIB;
	CU_ASSERT(run(&how).llc_misses > 700);
}

static uint64_t quantile(const struct pcie_bench_result *r, uint32_t per_mille)
{
	return r->latency_ps[(uint64_t)r->n * per_mille / 1000];
}

/*
 * The spread is exponential: half of the reads take its time longer, an eighth three times, one of 1024 ten
 * times. In memory, refresh_time / refresh_interval of the reads wait for a refresh, evenly up to its end.
 */
static void pcie_bench_spread_has_its_quantiles(void)
{
	struct pcie_bench_how how = reads(PCIE_LAT_RD, 20000);
	const char *sets[] = { "host_mem.read_spread=16ns", "host_mem.refresh_time=0",
			       "host_mem.clock=10GHz", NULL };
	struct pcie_bench_result r;
	struct err e = { 0 };
	uint64_t least;

	how.sets = sets;
	how.is_direct = true;
	CU_ASSERT_FATAL(pcie_bench_run(&how, &r, &e));
	least = r.min_ps;
	CU_ASSERT(quantile(&r, 500) - least > 14500 && quantile(&r, 500) - least < 17500);
	CU_ASSERT(quantile(&r, 875) - least > 46000 && quantile(&r, 875) - least < 50000);
	CU_ASSERT(r.p999_ps - least > 140000 && r.p999_ps - least < 185000);
	pcie_bench_release(&r);
	sets[0] = "host_mem.read_spread=0";
	CU_ASSERT_FATAL(pcie_bench_run(&how, &r, &e));
	CU_ASSERT(r.max_ps - r.min_ps <= 2 * 1250); /* a cycle of the device */
	pcie_bench_release(&r);
	sets[1] = "host_mem.refresh_time=780ns"; /* one of ten */
	how.is_cold = true;
	CU_ASSERT_FATAL(pcie_bench_run(&how, &r, &e));
	CU_ASSERT(quantile(&r, 890) - r.min_ps < 3000);
	CU_ASSERT(quantile(&r, 950) - r.min_ps > 350000 && quantile(&r, 950) - r.min_ps < 430000);
	CU_ASSERT(r.max_ps - r.min_ps > 770000 && r.max_ps - r.min_ps < 783000);
	pcie_bench_release(&r);
}

static void pcie_bench_is_the_same_for_a_seed(void)
{
	struct pcie_bench_how how = reads(PCIE_LAT_RD, 3000);
	struct pcie_bench_result a, b, c;
	struct err e = { 0 };

	how.is_cold = true;
	CU_ASSERT(pcie_bench_run(&how, &a, &e) && pcie_bench_run(&how, &b, &e));
	how.seed = 2;
	CU_ASSERT(pcie_bench_run(&how, &c, &e));
	CU_ASSERT_EQUAL(memcmp(a.latency_ps, b.latency_ps, 3000 * sizeof(uint64_t)), 0);
	CU_ASSERT_NOT_EQUAL(memcmp(a.latency_ps, c.latency_ps, 3000 * sizeof(uint64_t)), 0);
	pcie_bench_release(&a);
	pcie_bench_release(&b);
	pcie_bench_release(&c);
}

static void pcie_bench_kinds_and_orders_all_run(void)
{
	for (uint32_t kind = 0; kind < PCIE_BENCH_KINDS; kind++) {
		for (uint32_t size = 1; size <= 4096; size = size * 5 + 3) {
			struct pcie_bench_how how = reads(kind, 100);
			struct pcie_bench_result r;

			how.size = size;
			how.is_sequential = kind & 1;
			how.sets = (const char *[]){ "pcie_bench.stall_in=random",
						     "host_mem.stall_out=alternate", NULL };
			r = run(&how);
			CU_ASSERT(kind <= PCIE_LAT_WRRD ? r.median_ps > 300000 : r.mbps > 0);
			CU_ASSERT(r.min_ps <= r.median_ps && r.median_ps <= r.p999_ps &&
				  r.p999_ps <= r.max_ps);
		}
	}
}

/* Every transfer ends, whatever pattern stalls every block; the slowest shows that they were there. */
static void pcie_bench_stalled_blocks_lose_nothing(void)
{
	static const char *const blocks[] = { "pcie_bench", "dma_engine", "pcie_link", "host_mem" };
	uint64_t slowest = UINT64_MAX, quickest = 0;

	for (uint32_t k = 0; k < 16; k++) {
		struct pcie_bench_how how = reads(PCIE_BW_RDWR, 500);
		const char *sets[2 * ARRAY_LEN(blocks) + 1] = { NULL };
		char text[2 * ARRAY_LEN(blocks)][64];
		uint64_t kops;

		for (uint32_t i = 0; i < ARRAY_LEN(blocks); i++) {
			snprintf(text[2 * i], 64, "%s.stall_in=%s", blocks[i], tb_stalls[k % 4]);
			snprintf(text[2 * i + 1], 64, "%s.stall_out=%s", blocks[i],
				 tb_stalls[k / 4]);
			sets[2 * i] = text[2 * i];
			sets[2 * i + 1] = text[2 * i + 1];
		}
		how.sets = sets;
		how.has_iommu = k & 1;
		kops = run(&how).kops; /* which checks that all have ended */
		slowest = min_u64(slowest, kops);
		quickest = max_u64(quickest, kops);
	}
	CU_ASSERT(slowest > 0 && slowest < quickest / 2);
}

static void pcie_bench_mistakes_are_told(void)
{
	struct pcie_bench_how how = reads(PCIE_BW_RD, 10);
	struct pcie_bench_result r;
	struct err e = { 0 };

	how.window = 32;
	CU_ASSERT_FALSE(pcie_bench_run(&how, &r, &e));
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "allowed: a transfer or more"));
	how.window = 8 * KIB;
	how.sets = (const char *[]){ "mtt.ways=4", NULL };
	e = (struct err){ 0 };
	CU_ASSERT_FALSE(pcie_bench_run(&how, &r, &e));
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "unknown section [mtt]"));
	how.sets = (const char *[]){ "host_mem.ddio_ways=21", NULL };
	e = (struct err){ 0 };
	CU_ASSERT_FALSE(pcie_bench_run(&how, &r, &e));
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "host_mem.ddio_ways = 21: more than the cache has"));
	how.sets = (const char *[]){ "host_mem.iommu=on", "host_mem.iotlb_ways=64",
				     "host_mem.iotlb_sets=32768", NULL };
	e = (struct err){ 0 };
	CU_ASSERT_FALSE(pcie_bench_run(&how, &r, &e));
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "host_mem.iotlb_ways = 64: too many lines"));
	how.sets = (const char *[]){ "pcie_link.mps=300B", NULL };
	e = (struct err){ 0 };
	CU_ASSERT_FALSE(pcie_bench_run(&how, &r, &e));
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "pcie_link.mps = 300B: no maximum payload size"));
	how.sets = (const char *[]){ "pcie_link.rcb=65B", NULL };
	e = (struct err){ 0 };
	CU_ASSERT_FALSE(pcie_bench_run(&how, &r, &e));
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "no read completion boundary; allowed: 64, 128"));
	how.sets = (const char *[]){ "dma_engine.mrrs=129B", NULL };
	e = (struct err){ 0 };
	CU_ASSERT_FALSE(pcie_bench_run(&how, &r, &e));
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "dma_engine.mrrs = 129B: no maximum read request"));
	how.sets = (const char *[]){ "nic.profile=none-such", NULL };
	e = (struct err){ 0 };
	CU_ASSERT_FALSE(pcie_bench_run(&how, &r, &e));
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "there is no profile 'none-such'"));
}

static void pcie_bench_command_tells_what_is_allowed(void)
{
	static const struct {
		const char *args[5], *says;
	} want[] = {
		{ { "pcie-bench" }, "usage: rnicsim pcie-bench {lat_rd" },
		{ { "pcie-bench", "bw" }, "no measurement 'bw'; allowed: lat_rd, lat_wrrd" },
		{ { "pcie-bench", "bw_rd", "-s", "4097" }, "-s 4097: allowed: 1 to 4096 bytes" },
		{ { "pcie-bench", "bw_rd", "-s", "x" }, "-s x: allowed: 1 to 4096 bytes" },
		{ { "pcie-bench", "bw_rd", "-n" }, "-n needs a value" },
		{ { "pcie-bench", "bw_rd", "-z" }, "unknown option '-z'" },
		{ { "pcie-bench", "bw_rd", "--iommu", "4K" }, "allowed: 4KiB, 2MiB, 1GiB" },
		{ { "pcie-bench", "bw_rd", "-w", "32" }, "allowed: a transfer or more" },
		{ { "pcie-bench", "bw_rd", "-a", "-w", "64" }, "allowed with -a: 4096 bytes" },
		{ { "pcie-bench", "bw_rd", "--set", "host_mem.llc=hot" },
		  "must be warm, cold or modelled" },
	};

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		char *argv[6] = { NULL };
		struct err e = { 0 };
		int argc = 0;

		for (; argc < 5 && want[i].args[argc]; argc++)
			argv[argc] = (char *)(uintptr_t)want[i].args[argc];
		CU_ASSERT_EQUAL(cmd_pcie_bench(argc, argv, &e), EXIT_BAD_INPUT);
		CU_ASSERT_PTR_NOT_NULL(strstr(e.text, want[i].says));
	}
}

CU_TestInfo test_pcie_bench_tests[] = {
	{ "pcie_bench_published_rows_come_out", pcie_bench_published_rows_come_out },
	{ "pcie_bench_rate_dips_past_each_segment", pcie_bench_rate_dips_past_each_segment },
	{ "pcie_bench_iotlb_knee_is_at_its_entries", pcie_bench_iotlb_knee_is_at_its_entries },
	{ "pcie_bench_more_is_never_slower", pcie_bench_more_is_never_slower },
	{ "pcie_bench_windows_beyond_the_cache_miss", pcie_bench_windows_beyond_the_cache_miss },
	{ "pcie_bench_spread_has_its_quantiles", pcie_bench_spread_has_its_quantiles },
	{ "pcie_bench_is_the_same_for_a_seed", pcie_bench_is_the_same_for_a_seed },
	{ "pcie_bench_kinds_and_orders_all_run", pcie_bench_kinds_and_orders_all_run },
	{ "pcie_bench_stalled_blocks_lose_nothing", pcie_bench_stalled_blocks_lose_nothing },
	{ "pcie_bench_mistakes_are_told", pcie_bench_mistakes_are_told },
	{ "pcie_bench_command_tells_what_is_allowed", pcie_bench_command_tells_what_is_allowed },
	CU_TEST_INFO_NULL
};
