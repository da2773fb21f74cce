/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcie_bench.c - a device that does nothing but DMA, to measure a host
 *
 * The source of pcie-bench (Neugebauer et al., SIGCOMM 2018): transfers of one size to the units of
 * a window of host memory, a unit being the size rounded up to cache lines; in turn or at random.
 * Latency is from the descriptor, which takes queue_latency to get through the queues of the DMA
 * engine and back, to the end of the transfer; in direct mode these queues are left out. Bandwidth
 * keeps `depth` transfers under way. Bus addresses are used as they are: translations are answered
 * at once. The CPU's side of the bench is idle.
 */
#include "models/pcie_bench.h"

#include "models/llc.h"
#include "sim/pool.h"

const char *const pcie_bench_kind_names[] = { "lat_rd", "lat_wrrd", "bw_rd",
					      "bw_wr",  "bw_rdwr",  NULL };
static const char *const order_names[] = { "random", "sequential", NULL };

struct pcie_bench {
	struct block b;
	/* parameters */
	uint32_t kind, size, n, depth, order;
	uint64_t window, queue_latency;
	bool direct;
	/* ports */
	struct chan *req, *rsp, *xlate_req, *xlate_rsp, *mmio, *cpu_req, *cpu_rsp;
	/* state */
	struct pool *pool;
	uint32_t read_buf; /* all reads go there */
	uint64_t next_unit;
	uint64_t queue_cyc;
	uint64_t start_cyc, issue_cyc; /* LAT: of the descriptor; it reaches the engine */
	uint64_t addr;                 /* of the transfer to be asked for */
	bool has_written;              /* WRRD: its write has been asked for */
	uint32_t n_asked, n_ended;
	uint32_t under_way; /* requests without an answer */
	uint64_t *sample;
	/* statistics */
	uint64_t reads, writes;
};

#define T struct pcie_bench
static const struct field pcie_bench_fields[] = {
	PARAM_ENUM(T, kind, PCIE_LAT_RD, pcie_bench_kind_names, "what is measured", "declared"),
	PARAM_BYTES(T, size, 64, 1, PCIE_BENCH_MAX_B, "bytes of a transfer", "declared"),
	PARAM_BYTES(T, window, 8 * KIB, 1, 1 * GIB, "memory that is used",
		    "documented: pcie-bench, 8 KiB"),
	PARAM_ENUM(T, order, 0, order_names, "order of the units", "documented: pcie-bench"),
	PARAM(T, n, 10000, 1, 100000000, "transfer", "transfers in all", "declared"),
	PARAM(T, depth, 64, 1, 4096, "transfer", "BW: transfers under way",
	      "declared: more than the engine takes"),
	PARAM_TIME(
		T, queue_latency, 0, 0, PS_PER_MS,
		"LAT: a descriptor through the queues of the DMA engine, and its completion back",
		"declared: off; pcie-bench measured 90 to 130 ns"),
	PARAM_BOOL(T, direct, 0, "LAT: leave these queues out", "declared"),
	PORT_OUT(T, req, dma_req, "transfers"),
	PORT_IN(T, rsp, dma_rsp, "their answers"),
	PORT_IN(T, xlate_req, xlate_req, "translations"),
	PORT_OUT(T, xlate_rsp, xlate_rsp, "their answers: the same address"),
	PORT_IN(T, mmio, tlp, "register writes: none"),
	PORT_OUT(T, cpu_req, cpu_req, "accesses of the CPU: none"),
	PORT_IN(T, cpu_rsp, cpu_rsp, "answers to the CPU: none"),
	STAT(T, reads, "req", "reads asked for"),
	STAT(T, writes, "req", "writes asked for"),
	SIGNAL(T, under_way, 16, "transfers without an answer"),
	FIELDS_END
};
#undef T

static bool is_latency(const struct pcie_bench *p)
{
	return p->kind <= PCIE_LAT_WRRD;
}

/* The next transfer is a write. */
static bool is_write(const struct pcie_bench *p)
{
	if (p->kind == PCIE_LAT_WRRD)
		return !p->has_written;
	return p->kind == PCIE_BW_WR || (p->kind == PCIE_BW_RDWR && p->n_asked % 2);
}

/* Where the next transfer goes, and when. */
static void plan(struct pcie_bench *p, uint64_t start_cyc)
{
	const struct pcie_bench_env *env = p->b.env;
	uint64_t unit = align_up(p->size, LLC_LINE);
	uint64_t units = max_u64(1, p->window / unit);

	if (p->order)
		p->next_unit = (p->next_unit + 1) % units;
	else
		p->next_unit = rng_below(&p->b.rng, units);
	p->addr = env->base + p->next_unit * unit;
	p->has_written = false;
	p->start_cyc = start_cyc;
	p->issue_cyc = start_cyc + p->queue_cyc;
}

/* Ask for the transfer that is planned, or for one of the two. */
static void ask(struct pcie_bench *p)
{
	bool write = is_write(p);
	struct dma_req r = {
		.addr = p->addr,
		.len = p->size,
		.buf = write ? pool_alloc(p->pool) : p->read_buf,
		.is_write = write,
		.cls = write ? DMA_PAYLOAD_WRITE : DMA_PAYLOAD_READ,
		.op = OP_NONE,
	};

	dma_req_push(p->req, &r);
	*(write ? &p->writes : &p->reads) += 1;
	p->under_way++;
	p->n_asked++;
	if (p->kind == PCIE_LAT_WRRD && write)
		p->has_written = true;
	else if (!is_latency(p))
		plan(p, p->b.cycle);
}

/* Requests in all: a write and a read each make one WRRD. */
static uint32_t requests(const struct pcie_bench *p)
{
	return p->kind == PCIE_LAT_WRRD ? 2 * p->n : p->n;
}

/* A transfer may be asked for, as far as this device is concerned. */
static bool may_ask(const struct pcie_bench *p)
{
	if (p->n_asked == requests(p))
		return false;
	if (p->kind == PCIE_LAT_WRRD && p->n_asked % 2)
		return true; /* the read that goes with the write */
	return p->under_way < (is_latency(p) ? 1 : p->depth);
}

/* Returns when to ask for the next transfer. */
static uint64_t ask_next(struct pcie_bench *p)
{
	if (!may_ask(p))
		return CYCLE_NEVER; /* an answer will be a step */
	if (p->b.cycle < p->issue_cyc)
		return p->issue_cyc;
	if (is_write(p) && !pool_can_alloc(p->pool))
		return pool_stall(p->pool);
	if (!chan_can_push(p->req))
		return chan_stall(p->req);
	ask(p);
	return may_ask(p) ? p->b.cycle + 1 : CYCLE_NEVER;
}

static void take_answer(struct pcie_bench *p)
{
	const struct dma_rsp *r = dma_rsp_peek(p->rsp);

	if (!r)
		return;
	SIM_CHECK(r->status == XLATE_OK, p);
	p->under_way--;
	chan_pop(p->rsp);
	if (!is_latency(p)) {
		p->sample[p->n_ended++] = p->b.now_ps;
	} else if (p->under_way == 0 && p->n_asked % (requests(p) / p->n) == 0) {
		p->sample[p->n_ended++] = p->b.now_ps - domain_edge(p->b.dom, p->start_cyc);
		plan(p, p->b.cycle + 1);
	}
}

static void translate(struct pcie_bench *p)
{
	const struct xlate_req *q = xlate_req_peek(p->xlate_req);

	if (!q)
		return;
	if (!chan_can_push(p->xlate_rsp)) {
		chan_stall(p->xlate_rsp);
		return;
	}
	xlate_rsp_push(p->xlate_rsp,
		       &(struct xlate_rsp){
			       .pa = q->va, .len = q->len, .tag = q->tag, .status = XLATE_OK });
	chan_pop(p->xlate_req);
}

static uint64_t pcie_bench_step(struct block *b)
{
	struct pcie_bench *p = (struct pcie_bench *)b;

	SIM_CHECK(!tlp_peek(p->mmio) && !cpu_rsp_peek(p->cpu_rsp), p);
	translate(p);
	take_answer(p);
	return ask_next(p);
}

static void pcie_bench_build(struct block *b)
{
	struct pcie_bench *p = (struct pcie_bench *)b;

	p->pool = pool_create(b, 2 * p->depth + 1, PCIE_BENCH_MAX_B);
	p->sample = block_alloc(b, p->n, sizeof(*p->sample));
	p->queue_cyc = p->direct || !is_latency(p) ? 0 : block_cycles_of_ps(b, p->queue_latency);
}

static void pcie_bench_reset(struct block *b)
{
	struct pcie_bench *p = (struct pcie_bench *)b;

	p->read_buf = pool_alloc(p->pool);
	p->n_asked = p->n_ended = p->under_way = 0;
	p->next_unit = UINT64_MAX;
	plan(p, 1);
}

const uint64_t *pcie_bench_samples(const struct block *b, uint32_t *n)
{
	const struct pcie_bench *p = (const struct pcie_bench *)b;

	SIM_CHECK(b->cls == &pcie_bench_class, b);
	*n = p->n_ended;
	return p->sample;
}

const struct block_class pcie_bench_class = {
	.name = "pcie_bench",
	.impl = "c",
	.size = sizeof(struct pcie_bench),
	.fields = pcie_bench_fields,
	.doc = "a device that does nothing but DMA, to measure a host's PCI Express path",
	.build = pcie_bench_build,
	.reset = pcie_bench_reset,
	.step = pcie_bench_step,
};
