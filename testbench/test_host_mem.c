/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_host_mem.c - reads and writes in link order against a flat memory, stores, register writes,
 * polls
 */
#include <string.h>

#include "testbench/tb_host.h"

static void host_mem_read_brings_bytes_after_latency(void)
{
	struct tb_host e;
	const uint8_t bytes[4] = { 1, 2, 3, 4 };

	tb_host_start(&e, (const char *[]){ "host_mem.read_latency=200ns", NULL });
	mem_write(&e.mem, e.region + 4094, bytes, 4); /* across frames */
	e.expected[7] = bytes;
	tb_host_dma(&e, 9, TLP_MRD, e.region + 4094, NULL, 4, 7, DMA_WQE, OP_NONE);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.n_cpl, 1);
	CU_ASSERT_EQUAL(e.differ, 0);
	/* 200 ns = 50 cycles, and two channels */
	CU_ASSERT_EQUAL(e.down->cycle[0], 9 + 1 + 50 + 1);
	tb_host_end(&e);
}

static void host_mem_reads_are_pipelined(void)
{
	struct tb_host e;

	tb_host_start(&e, NULL);
	for (uint16_t i = 0; i < 100; i++)
		tb_host_dma(&e, 1, TLP_MRD, e.region, NULL, 64, i, DMA_WQE, OP_NONE);
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.n_cpl, 100);
	CU_ASSERT_EQUAL(e.down->cycle[99] - e.down->cycle[0], 99);
	for (uint16_t i = 0; i < 100; i++)
		CU_ASSERT_EQUAL(((const struct tlp *)tb_got(e.down, i))->tag, i);
	tb_host_end(&e);
}

static void host_mem_missing_address_reads_ones(void)
{
	struct tb_host e;
	uint8_t ones[64];

	tb_host_start(&e, NULL);
	memset(ones, 0xff, sizeof(ones));
	e.expected[0] = ones;
	tb_host_dma(&e, 0, TLP_MWR, 0x7000000000, ones, 64, 0, DMA_WQE, OP_NONE);
	tb_host_dma(&e, 0, TLP_MRD, 0x7000000000, NULL, 64, 0, DMA_WQE, OP_NONE);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.n_cpl, 1);
	CU_ASSERT_EQUAL(e.differ, 0);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "bad_addr"), 2);
	tb_host_end(&e);
}

/*
 * Random reads and writes on the link against a flat array in link order, and stores of the CPU to
 * memory of its own. With 'lost' >= 0, the oracle leaves out that write: a fault that must show.
 * Returns wrong reads.
 */
static uint32_t run_random(const char *const *sets, int lost)
{
	static uint8_t flat[TB_HOST_REGION], snap[TB_HOST_OPS][256], store[64];
	struct tb_host e;
	struct rng r;
	uint64_t cpu_pa;
	uint32_t differ;

	tb_host_start(&e, sets);
	rng_seed(&r, "test_host_mem", 1);
	memset(flat, 0, sizeof(flat));
	cpu_pa = mem_alloc(&e.mem, 64 * TB_HOST_OPS, 64);
	for (uint32_t i = 0; i < TB_HOST_OPS; i++) {
		uint32_t len = 1 + (uint32_t)rng_below(&r, 256), off = (uint32_t)rng_below(&r, 600);
		uint8_t bytes[256];

		for (uint32_t k = 0; k < len; k++)
			bytes[k] = (uint8_t)rng_next(&r);
		if (i & 1) {
			memcpy(snap[i], flat + off, len);
			e.expected[i] = snap[i];
			tb_host_dma(&e, 0, TLP_MRD, e.region + off, NULL, len, (uint16_t)i,
				    DMA_PAYLOAD_READ, OP_NONE);
		} else {
			if ((int)i != lost)
				memcpy(flat + off, bytes, len);
			tb_host_dma(&e, 0, TLP_MWR, e.region + off, bytes, len, 0,
				    DMA_PAYLOAD_WRITE, OP_NONE);
		}
		memset(store, (int)i, sizeof(store));
		tb_host_cpu(&e, 0, CPU_STORE, cpu_pa + 64 * i, store, (uint8_t)(1 + i % 64));
	}
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.n_cpl, TB_HOST_OPS / 2);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "stores"), TB_HOST_OPS);
	for (uint32_t i = 0; i < TB_HOST_OPS; i++) {
		CU_ASSERT_EQUAL(*mem_at(&e.mem, cpu_pa + 64 * i + i % 64), (uint8_t)i);
		CU_ASSERT(i % 64 == 63 || *mem_at(&e.mem, cpu_pa + 64 * i + i % 64 + 1) == 0);
	}
	if (lost < 0)
		CU_ASSERT_EQUAL(memcmp(mem_at(&e.mem, e.region), flat, PAGE_4K), 0);
	differ = e.differ;
	tb_host_end(&e);
	return differ;
}

static void host_mem_random_traffic_matches_flat_memory(void)
{
	for (unsigned k = 0; k < 16; k++) {
		char set_in[64], set_out[64];
		const char *sets[] = { set_in, set_out, NULL, NULL };

		tb_stall_sets(&host_mem_class, k / 4, k % 4, set_in, set_out);
		sets[2] = k & 1 ? "host_mem.queue=2" : NULL;
		CU_ASSERT_EQUAL(run_random(sets, -1), 0);
	}
}

static void host_mem_lost_write_is_caught(void)
{
	CU_ASSERT(run_random(NULL, 20) > 0);
}

static void host_mem_copy_takes_bytes_in_program_order(void)
{
	struct tb_host e;
	const uint8_t before[4] = { 1, 2, 3, 4 }, after[4] = { 5, 6, 7, 8 };
	uint8_t from[8], got[5];

	tb_host_start(&e, NULL);
	for (unsigned i = 0; i < 8; i++)
		from[i] = (uint8_t)(e.region >> 8 * i);
	tb_host_cpu(&e, 0, CPU_STORE, e.region, before, 4);
	tb_send(e.cpu_req, &(struct cpu_req){ .addr = e.region + 100,
					      .kind = CPU_COPY,
					      .len = 4,
					      .data = { from[0], from[1], from[2], from[3], from[4],
							from[5], from[6], from[7] } });
	tb_host_cpu(&e, 0, CPU_STORE, e.region, after, 4);
	tb_run(&e.t);
	mem_read(&e.mem, e.region + 100, got, sizeof(got));
	CU_ASSERT_EQUAL(memcmp(got, before, 4), 0);
	CU_ASSERT_EQUAL(got[4], 0);
	tb_host_end(&e);
}

static void host_mem_register_write_goes_down(void)
{
	struct tb_host e;
	const uint8_t bytes[8] = { 9, 8, 7, 6, 5, 4, 3, 2 };
	const struct tlp *m;

	tb_host_start(&e, (const char *[]){ "host_mem.mmio_latency=40ns", NULL });
	tb_host_cpu(&e, 4, CPU_MMIO, 0x800, bytes, 8);
	tb_run(&e.t);
	m = tb_got(e.down, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	CU_ASSERT(m->kind == TLP_MWR && m->addr == 0x800 && m->len == 8 && m->cls == DMA_DOORBELL);
	CU_ASSERT_EQUAL(memcmp((uint8_t *)buf_data(&e.t.sim, m->buf) + m->off, bytes, 8), 0);
	CU_ASSERT_EQUAL(e.down->cycle[0], 4 + 1 + 10 + 1);
	tb_host_end(&e);
}

static void host_mem_register_writes_beyond_buffers_wait(void)
{
	struct tb_host e;
	uint8_t bytes[8] = { 0 };

	tb_host_start(&e, (const char *[]){ "host_mem.mmio_buffers=2", "host_mem.stall_out=random",
					    NULL });
	for (uint32_t i = 0; i < 50; i++)
		tb_host_cpu(&e, 0, CPU_MMIO, i, bytes, 8);
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.down->n_received, 50);
	for (uint32_t i = 0; i < 50; i++)
		CU_ASSERT_EQUAL(((const struct tlp *)tb_got(e.down, i))->addr, i);
	tb_host_end(&e);
}

/* Completions wait for the link: a doorbell takes its turn with them, and is not passed by later ones. */
static void host_mem_register_write_passes_completions_that_wait(void)
{
	static struct tb_host e;
	const uint8_t bytes[8] = { 1 };
	uint32_t at = 0, behind = 0;

	tb_host_start(&e,
		      (const char *[]){ "host_mem.stall_out=random", "host_mem.read_latency=40ns",
					"host_mem.mmio_latency=40ns", NULL });
	for (uint16_t i = 0; i < 200; i++) /* half of what is ready can go */
		tb_host_dma(&e, 1, TLP_MRD, e.region, NULL, 64, i, DMA_WQE, OP_NONE);
	tb_host_cpu(&e, 100, CPU_MMIO, 0x1000, bytes, sizeof(bytes));
	tb_run(&e.t);
	while (at < e.down->n_received && ((const struct tlp *)tb_got(e.down, at))->kind != TLP_MWR)
		at++;
	CU_ASSERT_EQUAL(e.down->n_received, 201);
	CU_ASSERT(e.down->cycle[at] >= 100 + 10 && e.down->cycle[at] < 100 + 10 + 20);
	for (uint32_t i = at + 1; i < e.down->n_received; i++) /* ready before it, sent behind it */
		behind += ((const struct tlp *)tb_got(e.down, i))->tag < 95;
	CU_ASSERT(behind > 30);
	tb_host_end(&e);
}

static void host_mem_poll_of_valid_cqe_answers_from_cache(void)
{
	struct tb_host e;
	const struct cpu_rsp *m;

	tb_host_start(&e, (const char *[]){ "host_mem.llc_latency=20ns", NULL });
	tb_host_write_cqe(&e, 0, 1, 0, OP_NONE);
	tb_host_poll_cq(&e, 100, 1, 0);
	tb_run(&e.t);
	m = tb_got(e.cpu_rsp, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	CU_ASSERT_EQUAL(m->tag, 1);
	CU_ASSERT_EQUAL(m->data[63], 0);
	CU_ASSERT_EQUAL(e.cpu_rsp->cycle[0], 100 + 1 + 5 + 1);
	tb_host_end(&e);
}

static void host_mem_poll_waits_for_the_tick_after_the_write(void)
{
	struct tb_host e;
	uint32_t op;

	tb_host_start(&e,
		      (const char *[]){ "host_mem.llc_latency=20ns", "host_mem.poll_interval=40ns",
					"host_mem.write_latency=8ns", NULL });
	op = oplog_open(e.host.oplog, &(struct op_row){ .id = 1 }, 1);
	tb_host_poll_cq(&e, 0, 2, 0);             /* comes at cycle 1: ticks at 11, 21, ... */
	tb_host_write_cqe(&e, 30, 0, 0, OP_NONE); /* another CQ */
	tb_host_write_cqe(&e, 44, 2, 0, op);      /* comes at 45, lands at 47: tick at 51 */
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.cpu_rsp->n_received, 1);
	CU_ASSERT_EQUAL(e.cpu_rsp->cycle[0], 51 + 5 + 1);
	CU_ASSERT_EQUAL(((const struct cpu_rsp *)tb_got(e.cpu_rsp, 0))->tag, 2);
	CU_ASSERT_EQUAL(oplog_row(e.host.oplog, op)->t_ps[OP_CQE], 47 * 4000);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "polls_waited"), 1);
	tb_host_end(&e);
}

static void host_mem_poll_ignores_the_other_owner(void)
{
	struct tb_host e;

	tb_host_start(&e, NULL);
	tb_host_write_cqe(&e, 0, 0, 0, OP_NONE); /* first pass over the ring */
	tb_host_poll_cq(&e, 100, 0, 8);          /* waits for the second */
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.cpu_rsp->n_received, 0);
	tb_host_write_cqe(&e, 0, 0, 8, OP_NONE);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.cpu_rsp->n_received, 1);
	tb_host_end(&e);
}

/*
 * CQEs of all CQs in random order, each polled once before or after: every poll gets its own, once.
 */
static void host_mem_random_polls_get_their_cqe(void)
{
	for (unsigned k = 0; k < 16; k++) {
		char set_in[64], set_out[64];
		uint32_t seen[TB_HOST_CQS] = { 0 };
		struct tb_host e;
		struct rng r;

		tb_stall_sets(&host_mem_class, k / 4, k % 4, set_in, set_out);
		tb_host_start(&e, (const char *[]){ set_in, set_out, NULL });
		rng_seed(&r, "polls", k);
		for (uint32_t i = 0; i < 20; i++) {
			for (uint32_t c = 0; c < TB_HOST_CQS; c++) {
				tb_host_write_cqe(&e, i * 3000 + rng_below(&r, 500), c, i, OP_NONE);
				tb_host_poll_cq(&e, i * 3000 + rng_below(&r, 500), c, i);
			}
		}
		tb_run(&e.t);
		CU_ASSERT_EQUAL_FATAL(e.cpu_rsp->n_received, 20 * TB_HOST_CQS);
		for (uint32_t i = 0; i < e.cpu_rsp->n_received; i++) {
			const struct cpu_rsp *m = tb_got(e.cpu_rsp, i);

			CU_ASSERT_EQUAL(m->data[0], seen[m->tag]++);
		}
		tb_host_end(&e);
	}
}

static void host_mem_random_traffic_with_all_on_matches_flat_memory(void)
{
	for (unsigned k = 0; k < 16; k++) {
		char set_in[64], set_out[64];
		const char *sets[] = { set_in,
				       set_out,
				       "host_mem.llc=modelled",
				       "host_mem.iommu=on",
				       "host_mem.iotlb_ways=2",
				       "host_mem.read_spread=20ns",
				       "host_mem.refresh_time=3us",
				       "host_mem.numa=remote",
				       "host_mem.mem_rate=40Gbps",
				       "host_mem.socket_rate=90Gbps",
				       NULL,
				       NULL };

		tb_stall_sets(&host_mem_class, k / 4, k % 4, set_in, set_out);
		sets[10] = k & 1 ? "host_mem.queue=2" : NULL;
		CU_ASSERT_EQUAL(run_random(sets, -1), 0);
	}
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_host_mem_tests[] = { TEST(host_mem_read_brings_bytes_after_latency),
				      TEST(host_mem_reads_are_pipelined),
				      TEST(host_mem_missing_address_reads_ones),
				      TEST(host_mem_random_traffic_matches_flat_memory),
				      TEST(host_mem_lost_write_is_caught),
				      TEST(host_mem_copy_takes_bytes_in_program_order),
				      TEST(host_mem_register_write_goes_down),
				      TEST(host_mem_register_writes_beyond_buffers_wait),
				      TEST(host_mem_register_write_passes_completions_that_wait),
				      TEST(host_mem_poll_of_valid_cqe_answers_from_cache),
				      TEST(host_mem_poll_waits_for_the_tick_after_the_write),
				      TEST(host_mem_poll_ignores_the_other_owner),
				      TEST(host_mem_random_polls_get_their_cqe),
				      TEST(host_mem_random_traffic_with_all_on_matches_flat_memory),
				      CU_TEST_INFO_NULL };
