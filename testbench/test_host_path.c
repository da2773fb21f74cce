/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_host_path.c - how long accesses to host memory take, and what they wait for
 */
#include <string.h>

#include "testbench/tb_host.h"

/* Cycles (of 4 ns) from a read's coming to its completion's going. */
static uint64_t read_cycles(const struct tb_host *e, uint32_t i, uint64_t at)
{
	return e->down->cycle[i] - at - 2;
}

static void host_path_read_of_memory_takes_a_miss_more(void)
{
	static const struct {
		const char *llc, *numa;
		bool is_touched;
		uint64_t cyc;
	} want[] = {
		{ "host_mem.llc=warm", "host_mem.numa=local", false, 50 },
		{ "host_mem.llc=cold", "host_mem.numa=local", true, 60 },
		{ "host_mem.llc=modelled", "host_mem.numa=local", false, 60 },
		{ "host_mem.llc=modelled", "host_mem.numa=local", true, 50 },
		{ "host_mem.llc=warm", "host_mem.numa=remote", false, 70 },
		{ "host_mem.llc=cold", "host_mem.numa=remote", false, 65 },
	};

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		struct tb_host e;

		tb_host_start(&e, (const char *[]){
					  want[i].llc, want[i].numa, "host_mem.read_latency=200ns",
					  "host_mem.miss_latency=40ns", "host_mem.remote_hit=80ns",
					  "host_mem.remote_miss=20ns", NULL });
		if (want[i].is_touched)
			host_mem_touch(e.t.dut, e.region, 64);
		tb_host_dma(&e, 9, TLP_MRD, e.region + 10, NULL, 20, 0, DMA_WQE, OP_NONE);
		tb_run(&e.t);
		CU_ASSERT_EQUAL(read_cycles(&e, 0, 9), want[i].cyc);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "llc_hits") + tb_stat(&e.t, "llc_misses"), 1);
		tb_host_end(&e);
	}
}

/* The NIC's write and the CPU's store put the line into the cache, the NIC's read does not. */
static void host_path_written_lines_are_in_the_cache(void)
{
	struct tb_host e;
	const uint8_t bytes[64] = { 1 };

	tb_host_start(&e, (const char *[]){ "host_mem.llc=modelled", NULL });
	tb_host_dma(&e, 0, TLP_MRD, e.region, NULL, 64, 0, DMA_WQE, OP_NONE);
	tb_host_dma(&e, 1, TLP_MRD, e.region, NULL, 64, 1, DMA_WQE, OP_NONE);
	tb_host_dma(&e, 2, TLP_MWR, e.region, bytes, 64, 0, DMA_WQE, OP_NONE);
	tb_host_dma(&e, 3, TLP_MRD, e.region, NULL, 64, 2, DMA_WQE, OP_NONE);
	tb_host_cpu(&e, 0, CPU_STORE, e.region + 256, bytes, 64);
	tb_host_dma(&e, 200, TLP_MRD, e.region + 256, NULL, 128, 3, DMA_WQE, OP_NONE);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "llc_misses"), 3);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "llc_hits"), 2);
	/* the hit passed the misses */
	CU_ASSERT_EQUAL(((const struct tlp *)tb_got(e.down, 0))->tag, 2);
	CU_ASSERT_EQUAL(((const struct tlp *)tb_got(e.down, 1))->tag, 0);
	CU_ASSERT_EQUAL(((const struct tlp *)tb_got(e.down, 2))->tag, 1);
	tb_host_end(&e);
}

static const char *const mmu_sets[] = { "host_mem.iommu=on",          "host_mem.walk_access=40ns",
					"host_mem.iotlb_miss=200ns",  "host_mem.read_latency=200ns",
					"host_mem.write_latency=8ns", NULL };

/* A read that waits for its translation holds up nothing; walks come one after the other. */
static void host_path_reads_pass_one_that_is_translated(void)
{
	struct tb_host e;
	const uint16_t order[] = { 1, 0, 2 };

	tb_host_start(&e, mmu_sets);
	tb_host_dma(&e, 9, TLP_MRD, e.region, NULL, 64, 9, DMA_WQE, OP_NONE); /* fills the IOTLB */
	tb_host_dma(&e, 200, TLP_MRD, e.region + PAGE_4K, NULL, 64, 0, DMA_WQE, OP_NONE);
	tb_host_dma(&e, 201, TLP_MRD, e.region + 64, NULL, 64, 1, DMA_WQE, OP_NONE);
	tb_host_dma(&e, 202, TLP_MRD, e.region + 2 * PAGE_4K, NULL, 64, 2, DMA_WQE, OP_NONE);
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.n_cpl, 4);
	for (uint32_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(((const struct tlp *)tb_got(e.down, i + 1))->tag, order[i]);
	CU_ASSERT_EQUAL(read_cycles(&e, 0, 9), 50 + 60);
	CU_ASSERT_EQUAL(read_cycles(&e, 1, 201), 50);
	CU_ASSERT_EQUAL(read_cycles(&e, 2, 200), 50 + 60);
	CU_ASSERT_EQUAL(read_cycles(&e, 3, 202), 50 + 60 + 8);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "iotlb_misses"), 3);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "iotlb_hits"), 1);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "walker_wait_ps"), 8 * 4000);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "walker_busy_ps"), 3 * 40000);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "iommu_wait_ps"), (3 * 60 + 8) * 4000);
	tb_host_end(&e);
}

/* Nothing passes a posted write: what comes behind one that is translated lands and reads later. */
static void host_path_nothing_passes_a_write_that_is_translated(void)
{
	struct tb_host e;
	const uint8_t old[4] = { 1, 2, 3, 4 }, new[4] = { 5, 6, 7, 8 };

	tb_host_start(&e, mmu_sets);
	mem_write(&e.mem, e.region, old, 4);
	mem_write(&e.mem, e.region + PAGE_4K, old, 4);
	e.expected[9] = old;
	e.expected[0] = e.expected[1] = new;
	tb_host_dma(&e, 9, TLP_MRD, e.region, NULL, 4, 9, DMA_WQE, OP_NONE);
	tb_host_dma(&e, 200, TLP_MWR, e.region + PAGE_4K, new, 4, 0, DMA_WQE, OP_NONE);
	tb_host_dma(&e, 201, TLP_MWR, e.region, new, 4, 0, DMA_WQE, OP_NONE);
	tb_host_dma(&e, 202, TLP_MRD, e.region, NULL, 4, 0, DMA_WQE, OP_NONE);
	tb_host_dma(&e, 203, TLP_MRD, e.region + PAGE_4K, NULL, 4, 1, DMA_WQE, OP_NONE);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.n_cpl, 3);
	CU_ASSERT_EQUAL(e.differ, 0);
	CU_ASSERT(read_cycles(&e, 1, 202) > 50);
	tb_host_end(&e);
}

/* ---- bandwidth ---- */

#define N_ACCESSES 60u
#define CYC_PS 4000u

/* Reads or writes of 1 KiB that come one a cycle, and a read of a line behind them. */
static void flood(struct tb_host *e, uint8_t kind, const char *const *sets)
{
	static const uint8_t bytes[1024];

	tb_host_start(e, sets);
	for (uint16_t i = 0; i < N_ACCESSES; i++)
		tb_host_dma(e, i, kind, e->region + i % 16 * 1024, bytes, 1024, i, DMA_WQE,
			    OP_NONE);
	tb_host_dma(e, N_ACCESSES, TLP_MRD, e->region, NULL, 64, N_ACCESSES, DMA_WQE, OP_NONE);
	tb_run(&e->t);
	CU_ASSERT_EQUAL(e->n_cpl, kind == TLP_MWR ? 1 : N_ACCESSES + 1);
}

static uint64_t last_cycle(const struct tb_host *e)
{
	return e->down->cycle[e->down->n_received - 1];
}

/* Cold lines of either kind take their time of the memory; warm ones do not, nor where it is off. */
static void host_path_memory_moves_lines_at_its_rate(void)
{
	static const struct {
		const char *llc, *rate;
		uint64_t kib_cyc; /* cycles that 1 KiB takes; 0: not limited */
	} want[] = { { "host_mem.llc=cold", "host_mem.mem_rate=512Gbps", 4 },
		     { "host_mem.llc=cold", "host_mem.mem_rate=64Gbps", 32 },
		     { "host_mem.llc=cold", "host_mem.mem_rate=0bps", 0 },
		     { "host_mem.llc=warm", "host_mem.mem_rate=64Gbps", 0 } };
	static const uint8_t kinds[] = { TLP_MRD, TLP_MWR };

	for (size_t i = 0; i < 2 * ARRAY_LEN(want); i++) {
		static struct tb_host e;
		uint64_t kib_cyc = want[i / 2].kib_cyc, busy = kib_cyc * (16 * N_ACCESSES + 1) / 16;

		flood(&e, kinds[i % 2],
		      (const char *[]){ want[i / 2].llc, want[i / 2].rate, NULL });
		CU_ASSERT_EQUAL(tb_stat(&e.t, "mem_busy_ps") / CYC_PS, busy);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "mem_b"), kib_cyc ? 1024 * N_ACCESSES + 64 : 0);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "mem_wait_ps") > 0, kib_cyc > 0);
		CU_ASSERT(last_cycle(&e) >= busy);
		CU_ASSERT(last_cycle(&e) < (busy > N_ACCESSES ? busy : N_ACCESSES) + 100);
		tb_host_end(&e);
	}
}

/* A write that found its lines in the cache needs no memory; one that did not takes a line for each. */
static void host_path_writes_of_cached_lines_take_no_memory(void)
{
	static struct tb_host e;
	static const char *const sets[] = { "host_mem.llc=modelled", "host_mem.mem_rate=64Gbps",
					    NULL };

	flood(&e, TLP_MWR, sets); /* 16 KiB, again and again */
	CU_ASSERT_EQUAL(tb_stat(&e.t, "mem_b"), 16 * 1024);
	tb_host_end(&e);
}

/* The ways between the sockets are two; memory of the NIC's own socket needs neither. */
static void host_path_sockets_move_bytes_at_their_rate(void)
{
	static const char *const remote[] = { "host_mem.numa=remote", "host_mem.socket_rate=64Gbps",
					      NULL };
	static const char *const local[] = { "host_mem.socket_rate=64Gbps", NULL };
	static struct tb_host e;
	const uint8_t bytes[1024] = { 0 };

	flood(&e, TLP_MRD, remote);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "socket_rd_busy_ps") / CYC_PS, 32 * N_ACCESSES + 2);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "socket_wr_busy_ps"), 0);
	CU_ASSERT(last_cycle(&e) >= 32 * N_ACCESSES && last_cycle(&e) < 32 * N_ACCESSES + 150);
	tb_host_end(&e);
	flood(&e, TLP_MWR, remote);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "socket_wr_busy_ps") / CYC_PS, 32 * N_ACCESSES);
	CU_ASSERT(tb_stat(&e.t, "socket_wait_ps") / CYC_PS >= 31 * (N_ACCESSES - 1));
	tb_host_end(&e);
	flood(&e, TLP_MRD, local);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "socket_rd_busy_ps"), 0);
	tb_host_end(&e);

	tb_host_start(&e, remote); /* a read beside a write: each has its way */
	tb_host_dma(&e, 0, TLP_MWR, e.region, bytes, 1024, 0, DMA_WQE, OP_NONE);
	tb_host_dma(&e, 1, TLP_MRD, e.region, NULL, 64, 0, DMA_WQE, OP_NONE);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "socket_wait_ps"), 0);
	tb_host_end(&e);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_host_path_tests[] = { TEST(host_path_read_of_memory_takes_a_miss_more),
				       TEST(host_path_written_lines_are_in_the_cache),
				       TEST(host_path_reads_pass_one_that_is_translated),
				       TEST(host_path_nothing_passes_a_write_that_is_translated),
				       TEST(host_path_memory_moves_lines_at_its_rate),
				       TEST(host_path_writes_of_cached_lines_take_no_memory),
				       TEST(host_path_sockets_move_bytes_at_their_rate),
				       CU_TEST_INFO_NULL };
