/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_host_mem.c - reads and writes in link order against a flat memory, stores, register writes,
 * polls
 */
#include <string.h>

#include "models/host_mem.h"
#include "testbench/tb.h"

#define N_CQ 3u
#define BUF_BYTES 4096u
#define BUFS 1200u
#define REGION 16384u /* bytes of the flat memory */
#define OPS 400u

struct bench {
	struct host host;
	struct nic nic;
	struct mem mem;
	struct tb t;
	struct tb_port *cpu_req, *up, *cpu_rsp, *down;
	struct pool *pool;
	uint64_t ring[N_CQ], region;
	/* completions: what each read is to bring, and how many brought something else */
	const uint8_t *expected[OPS];
	uint32_t n_cpl, differ;
};

/*
 * The NIC's end of the link: compare a completion with what is expected, drop what comes with
 * register writes.
 */
static void take_down(struct tb *t, struct tb_port *p, const void *msg)
{
	struct bench *e = p->arg;
	const struct tlp *m = msg;

	if (m->kind == TLP_MWR) {
		buf_unref(&p->b, m->buf);
		return;
	}
	CU_ASSERT_EQUAL(m->kind, TLP_CPLD);
	if (e->expected[m->tag])
		e->differ += memcmp((uint8_t *)buf_data(&t->sim, m->buf) + m->off,
				    e->expected[m->tag], m->len) != 0;
	e->n_cpl++;
	buf_unref(&p->b, m->buf);
}

static void bench_start(struct bench *e, const char *const *sets)
{
	memset(e, 0, sizeof(*e));
	mem_init(&e->mem);
	e->nic.n_cq = N_CQ;
	e->host = (struct host){ .nic = &e->nic, .mem = &e->mem, .oplog = oplog_create() };
	for (uint32_t i = 0; i < N_CQ; i++) {
		e->ring[i] = mem_alloc(&e->mem, 512, PAGE_4K);
		e->mem.frame_cq[e->ring[i] / PAGE_4K] = i + 1;
		for (uint32_t k = 0; k < 8; k++)
			mem_at(&e->mem, e->ring[i])[k * 64 + 63] = CQE_INVALID << 4;
	}
	e->region = mem_alloc(&e->mem, REGION, PAGE_4K);
	tb_init(&e->t, &host_mem_class, &e->host, sets);
	e->cpu_req = tb_source(&e->t, "cpu_req");
	e->up = tb_source(&e->t, "up");
	e->cpu_rsp = tb_sink(&e->t, "cpu_rsp");
	e->down = tb_sink_react(&e->t, "down", take_down, e);
	e->pool = pool_create(&e->up->b, BUFS, BUF_BYTES);
	tb_start(&e->t);
	e->up->b.now_ps = 1; /* buffers are taken before the run */
}

static void bench_end(struct bench *e)
{
	for (uint32_t i = 0; i < e->t.sim.n_pools; i++)
		CU_ASSERT_EQUAL(e->t.sim.pools[i]->in_use, 0);
	tb_end(&e->t);
	oplog_destroy(e->host.oplog);
	mem_destroy(&e->mem);
}

static void dma(struct bench *e, uint64_t at, uint8_t kind, uint64_t pa, const void *bytes,
		uint32_t len, uint16_t tag, uint8_t cls, uint32_t op)
{
	struct tlp t = { .addr = pa,
			 .len = len,
			 .buf = pool_alloc(e->pool),
			 .off = 5,
			 .kind = kind,
			 .tag = tag,
			 .cls = cls,
			 .op = op };

	if (kind == TLP_MWR)
		memcpy((uint8_t *)buf_data(&e->t.sim, t.buf) + t.off, bytes, len);
	tb_send_at(e->up, at, &t);
}

static void cpu(struct bench *e, uint64_t at, uint8_t kind, uint64_t addr, const void *bytes,
		uint8_t len)
{
	struct cpu_req r = { .addr = addr, .kind = kind, .len = len };

	memcpy(r.data, bytes, len);
	tb_send_at(e->cpu_req, at, &r);
}

static void poll_cq(struct bench *e, uint64_t at, uint32_t cq, uint32_t index)
{
	tb_send_at(e->cpu_req, at,
		   &(struct cpu_req){ .addr = e->ring[cq] + index % 8 * 64,
				      .tag = cq,
				      .kind = CPU_POLL,
				      .len = 64,
				      .owner = index / 8 & 1 });
}

/* The NIC writes CQE number 'index' of a CQ. */
static void write_cqe(struct bench *e, uint64_t at, uint32_t cq, uint32_t index, uint32_t op)
{
	uint8_t cqe[64] = { [0] = (uint8_t)index, [63] = (uint8_t)(index / 8 & 1) };

	dma(e, at, TLP_MWR, e->ring[cq] + index % 8 * 64, cqe, 64, 0, DMA_CQE, op);
}

static void host_mem_read_brings_bytes_after_latency(void)
{
	struct bench e;
	const uint8_t bytes[4] = { 1, 2, 3, 4 };

	bench_start(&e, (const char *[]){ "host_mem.read_latency=200ns", NULL });
	mem_write(&e.mem, e.region + 4094, bytes, 4); /* across frames */
	e.expected[7] = bytes;
	dma(&e, 9, TLP_MRD, e.region + 4094, NULL, 4, 7, DMA_WQE, OP_NONE);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.n_cpl, 1);
	CU_ASSERT_EQUAL(e.differ, 0);
	/* 200 ns = 50 cycles, and two channels */
	CU_ASSERT_EQUAL(e.down->cycle[0], 9 + 1 + 50 + 1);
	bench_end(&e);
}

static void host_mem_reads_are_pipelined(void)
{
	struct bench e;

	bench_start(&e, NULL);
	for (uint16_t i = 0; i < 100; i++)
		dma(&e, 1, TLP_MRD, e.region, NULL, 64, i, DMA_WQE, OP_NONE);
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.n_cpl, 100);
	CU_ASSERT_EQUAL(e.down->cycle[99] - e.down->cycle[0], 99);
	for (uint16_t i = 0; i < 100; i++)
		CU_ASSERT_EQUAL(((const struct tlp *)tb_got(e.down, i))->tag, i);
	bench_end(&e);
}

static void host_mem_missing_address_reads_ones(void)
{
	struct bench e;
	uint8_t ones[64];

	bench_start(&e, NULL);
	memset(ones, 0xff, sizeof(ones));
	e.expected[0] = ones;
	dma(&e, 0, TLP_MWR, 0x7000000000, ones, 64, 0, DMA_WQE, OP_NONE);
	dma(&e, 0, TLP_MRD, 0x7000000000, NULL, 64, 0, DMA_WQE, OP_NONE);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.n_cpl, 1);
	CU_ASSERT_EQUAL(e.differ, 0);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "bad_addr"), 2);
	bench_end(&e);
}

/*
 * Random reads and writes on the link against a flat array in link order, and stores of the CPU to
 * memory of its own. With 'lost' >= 0, the oracle leaves out that write: a fault that must show.
 * Returns wrong reads.
 */
static uint32_t run_random(const char *const *sets, int lost)
{
	static uint8_t flat[REGION], snap[OPS][256], store[64];
	struct bench e;
	struct rng r;
	uint64_t cpu_pa;
	uint32_t differ;

	bench_start(&e, sets);
	rng_seed(&r, "test_host_mem", 1);
	memset(flat, 0, sizeof(flat));
	cpu_pa = mem_alloc(&e.mem, 64 * OPS, 64);
	for (uint32_t i = 0; i < OPS; i++) {
		uint32_t len = 1 + (uint32_t)rng_below(&r, 256), off = (uint32_t)rng_below(&r, 600);
		uint8_t bytes[256];

		for (uint32_t k = 0; k < len; k++)
			bytes[k] = (uint8_t)rng_next(&r);
		if (i & 1) {
			memcpy(snap[i], flat + off, len);
			e.expected[i] = snap[i];
			dma(&e, 0, TLP_MRD, e.region + off, NULL, len, (uint16_t)i,
			    DMA_PAYLOAD_READ, OP_NONE);
		} else {
			if ((int)i != lost)
				memcpy(flat + off, bytes, len);
			dma(&e, 0, TLP_MWR, e.region + off, bytes, len, 0, DMA_PAYLOAD_WRITE,
			    OP_NONE);
		}
		memset(store, (int)i, sizeof(store));
		cpu(&e, 0, CPU_STORE, cpu_pa + 64 * i, store, (uint8_t)(1 + i % 64));
	}
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.n_cpl, OPS / 2);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "stores"), OPS);
	for (uint32_t i = 0; i < OPS; i++) {
		CU_ASSERT_EQUAL(*mem_at(&e.mem, cpu_pa + 64 * i + i % 64), (uint8_t)i);
		CU_ASSERT(i % 64 == 63 || *mem_at(&e.mem, cpu_pa + 64 * i + i % 64 + 1) == 0);
	}
	if (lost < 0)
		CU_ASSERT_EQUAL(memcmp(mem_at(&e.mem, e.region), flat, PAGE_4K), 0);
	differ = e.differ;
	bench_end(&e);
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
	struct bench e;
	const uint8_t before[4] = { 1, 2, 3, 4 }, after[4] = { 5, 6, 7, 8 };
	uint8_t from[8], got[5];

	bench_start(&e, NULL);
	for (unsigned i = 0; i < 8; i++)
		from[i] = (uint8_t)(e.region >> 8 * i);
	cpu(&e, 0, CPU_STORE, e.region, before, 4);
	tb_send(e.cpu_req, &(struct cpu_req){ .addr = e.region + 100,
					      .kind = CPU_COPY,
					      .len = 4,
					      .data = { from[0], from[1], from[2], from[3], from[4],
							from[5], from[6], from[7] } });
	cpu(&e, 0, CPU_STORE, e.region, after, 4);
	tb_run(&e.t);
	mem_read(&e.mem, e.region + 100, got, sizeof(got));
	CU_ASSERT_EQUAL(memcmp(got, before, 4), 0);
	CU_ASSERT_EQUAL(got[4], 0);
	bench_end(&e);
}

static void host_mem_register_write_goes_down(void)
{
	struct bench e;
	const uint8_t bytes[8] = { 9, 8, 7, 6, 5, 4, 3, 2 };
	const struct tlp *m;

	bench_start(&e, (const char *[]){ "host_mem.mmio_latency=40ns", NULL });
	cpu(&e, 4, CPU_MMIO, 0x800, bytes, 8);
	tb_run(&e.t);
	m = tb_got(e.down, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	CU_ASSERT(m->kind == TLP_MWR && m->addr == 0x800 && m->len == 8 && m->cls == DMA_DOORBELL);
	CU_ASSERT_EQUAL(memcmp((uint8_t *)buf_data(&e.t.sim, m->buf) + m->off, bytes, 8), 0);
	CU_ASSERT_EQUAL(e.down->cycle[0], 4 + 1 + 10 + 1);
	bench_end(&e);
}

static void host_mem_register_writes_beyond_buffers_wait(void)
{
	struct bench e;
	uint8_t bytes[8] = { 0 };

	bench_start(&e, (const char *[]){ "host_mem.mmio_buffers=2", "host_mem.stall_out=random",
					  NULL });
	for (uint32_t i = 0; i < 50; i++)
		cpu(&e, 0, CPU_MMIO, i, bytes, 8);
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.down->n_received, 50);
	for (uint32_t i = 0; i < 50; i++)
		CU_ASSERT_EQUAL(((const struct tlp *)tb_got(e.down, i))->addr, i);
	bench_end(&e);
}

static void host_mem_poll_of_valid_cqe_answers_from_cache(void)
{
	struct bench e;
	const struct cpu_rsp *m;

	bench_start(&e, (const char *[]){ "host_mem.llc_latency=20ns", NULL });
	write_cqe(&e, 0, 1, 0, OP_NONE);
	poll_cq(&e, 100, 1, 0);
	tb_run(&e.t);
	m = tb_got(e.cpu_rsp, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	CU_ASSERT_EQUAL(m->tag, 1);
	CU_ASSERT_EQUAL(m->data[63], 0);
	CU_ASSERT_EQUAL(e.cpu_rsp->cycle[0], 100 + 1 + 5 + 1);
	bench_end(&e);
}

static void host_mem_poll_waits_for_the_tick_after_the_write(void)
{
	struct bench e;
	uint32_t op;

	bench_start(&e,
		    (const char *[]){ "host_mem.llc_latency=20ns", "host_mem.poll_interval=40ns",
				      "host_mem.write_latency=8ns", NULL });
	op = oplog_open(e.host.oplog, &(struct op_row){ .id = 1 }, 1);
	poll_cq(&e, 0, 2, 0);             /* comes at cycle 1: ticks at 11, 21, ... */
	write_cqe(&e, 30, 0, 0, OP_NONE); /* another CQ */
	write_cqe(&e, 44, 2, 0, op);      /* comes at 45, lands at 47: tick at 51 */
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.cpu_rsp->n_received, 1);
	CU_ASSERT_EQUAL(e.cpu_rsp->cycle[0], 51 + 5 + 1);
	CU_ASSERT_EQUAL(((const struct cpu_rsp *)tb_got(e.cpu_rsp, 0))->tag, 2);
	CU_ASSERT_EQUAL(oplog_row(e.host.oplog, op)->t_ps[OP_CQE], 47 * 4000);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "polls_waited"), 1);
	bench_end(&e);
}

static void host_mem_poll_ignores_the_other_owner(void)
{
	struct bench e;

	bench_start(&e, NULL);
	write_cqe(&e, 0, 0, 0, OP_NONE); /* first pass over the ring */
	poll_cq(&e, 100, 0, 8);          /* waits for the second */
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.cpu_rsp->n_received, 0);
	write_cqe(&e, 0, 0, 8, OP_NONE);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.cpu_rsp->n_received, 1);
	bench_end(&e);
}

/*
 * CQEs of all CQs in random order, each polled once before or after: every poll gets its own, once.
 */
static void host_mem_random_polls_get_their_cqe(void)
{
	for (unsigned k = 0; k < 16; k++) {
		char set_in[64], set_out[64];
		uint32_t seen[N_CQ] = { 0 };
		struct bench e;
		struct rng r;

		tb_stall_sets(&host_mem_class, k / 4, k % 4, set_in, set_out);
		bench_start(&e, (const char *[]){ set_in, set_out, NULL });
		rng_seed(&r, "polls", k);
		for (uint32_t i = 0; i < 20; i++) {
			for (uint32_t c = 0; c < N_CQ; c++) {
				write_cqe(&e, i * 3000 + rng_below(&r, 500), c, i, OP_NONE);
				poll_cq(&e, i * 3000 + rng_below(&r, 500), c, i);
			}
		}
		tb_run(&e.t);
		CU_ASSERT_EQUAL_FATAL(e.cpu_rsp->n_received, 20 * N_CQ);
		for (uint32_t i = 0; i < e.cpu_rsp->n_received; i++) {
			const struct cpu_rsp *m = tb_got(e.cpu_rsp, i);

			CU_ASSERT_EQUAL(m->data[0], seen[m->tag]++);
		}
		bench_end(&e);
	}
}

/* Cycles (of 4 ns) from a read's coming to its completion's going. */
static uint64_t read_cycles(const struct bench *e, uint32_t i, uint64_t at)
{
	return e->down->cycle[i] - at - 2;
}

static void host_mem_read_of_memory_takes_a_miss_more(void)
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
		struct bench e;

		bench_start(&e, (const char *[]){
					want[i].llc, want[i].numa, "host_mem.read_latency=200ns",
					"host_mem.miss_latency=40ns", "host_mem.remote_hit=80ns",
					"host_mem.remote_miss=20ns", NULL });
		if (want[i].is_touched)
			host_mem_touch(e.t.dut, e.region, 64);
		dma(&e, 9, TLP_MRD, e.region + 10, NULL, 20, 0, DMA_WQE, OP_NONE);
		tb_run(&e.t);
		CU_ASSERT_EQUAL(read_cycles(&e, 0, 9), want[i].cyc);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "llc_hits") + tb_stat(&e.t, "llc_misses"), 1);
		bench_end(&e);
	}
}

/* The NIC's write and the CPU's store put the line into the cache, the NIC's read does not. */
static void host_mem_written_lines_are_in_the_cache(void)
{
	struct bench e;
	const uint8_t bytes[64] = { 1 };

	bench_start(&e, (const char *[]){ "host_mem.llc=modelled", NULL });
	dma(&e, 0, TLP_MRD, e.region, NULL, 64, 0, DMA_WQE, OP_NONE);
	dma(&e, 1, TLP_MRD, e.region, NULL, 64, 1, DMA_WQE, OP_NONE);
	dma(&e, 2, TLP_MWR, e.region, bytes, 64, 0, DMA_WQE, OP_NONE);
	dma(&e, 3, TLP_MRD, e.region, NULL, 64, 2, DMA_WQE, OP_NONE);
	cpu(&e, 0, CPU_STORE, e.region + 256, bytes, 64);
	dma(&e, 200, TLP_MRD, e.region + 256, NULL, 128, 3, DMA_WQE, OP_NONE);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "llc_misses"), 3);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "llc_hits"), 2);
	/* the hit passed the misses */
	CU_ASSERT_EQUAL(((const struct tlp *)tb_got(e.down, 0))->tag, 2);
	CU_ASSERT_EQUAL(((const struct tlp *)tb_got(e.down, 1))->tag, 0);
	CU_ASSERT_EQUAL(((const struct tlp *)tb_got(e.down, 2))->tag, 1);
	bench_end(&e);
}

static const char *const mmu_sets[] = { "host_mem.iommu=on",          "host_mem.walk_access=40ns",
					"host_mem.iotlb_miss=200ns",  "host_mem.read_latency=200ns",
					"host_mem.write_latency=8ns", NULL };

/* A read that waits for its translation holds up nothing; walks come one after the other. */
static void host_mem_reads_pass_one_that_is_translated(void)
{
	struct bench e;
	const uint16_t order[] = { 1, 0, 2 };

	bench_start(&e, mmu_sets);
	dma(&e, 9, TLP_MRD, e.region, NULL, 64, 9, DMA_WQE, OP_NONE); /* fills the IOTLB */
	dma(&e, 200, TLP_MRD, e.region + PAGE_4K, NULL, 64, 0, DMA_WQE, OP_NONE);
	dma(&e, 201, TLP_MRD, e.region + 64, NULL, 64, 1, DMA_WQE, OP_NONE);
	dma(&e, 202, TLP_MRD, e.region + 2 * PAGE_4K, NULL, 64, 2, DMA_WQE, OP_NONE);
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
	bench_end(&e);
}

/* Nothing passes a posted write: what comes behind one that is translated lands and reads later. */
static void host_mem_nothing_passes_a_write_that_is_translated(void)
{
	struct bench e;
	const uint8_t old[4] = { 1, 2, 3, 4 }, new[4] = { 5, 6, 7, 8 };

	bench_start(&e, mmu_sets);
	mem_write(&e.mem, e.region, old, 4);
	mem_write(&e.mem, e.region + PAGE_4K, old, 4);
	e.expected[9] = old;
	e.expected[0] = e.expected[1] = new;
	dma(&e, 9, TLP_MRD, e.region, NULL, 4, 9, DMA_WQE, OP_NONE);
	dma(&e, 200, TLP_MWR, e.region + PAGE_4K, new, 4, 0, DMA_WQE, OP_NONE);
	dma(&e, 201, TLP_MWR, e.region, new, 4, 0, DMA_WQE, OP_NONE);
	dma(&e, 202, TLP_MRD, e.region, NULL, 4, 0, DMA_WQE, OP_NONE);
	dma(&e, 203, TLP_MRD, e.region + PAGE_4K, NULL, 4, 1, DMA_WQE, OP_NONE);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.n_cpl, 3);
	CU_ASSERT_EQUAL(e.differ, 0);
	CU_ASSERT(read_cycles(&e, 1, 202) > 50);
	bench_end(&e);
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
				       NULL,
				       NULL };

		tb_stall_sets(&host_mem_class, k / 4, k % 4, set_in, set_out);
		sets[8] = k & 1 ? "host_mem.queue=2" : NULL;
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
				      TEST(host_mem_poll_of_valid_cqe_answers_from_cache),
				      TEST(host_mem_poll_waits_for_the_tick_after_the_write),
				      TEST(host_mem_poll_ignores_the_other_owner),
				      TEST(host_mem_random_polls_get_their_cqe),
				      TEST(host_mem_read_of_memory_takes_a_miss_more),
				      TEST(host_mem_written_lines_are_in_the_cache),
				      TEST(host_mem_reads_pass_one_that_is_translated),
				      TEST(host_mem_nothing_passes_a_write_that_is_translated),
				      TEST(host_mem_random_traffic_with_all_on_matches_flat_memory),
				      CU_TEST_INFO_NULL };
