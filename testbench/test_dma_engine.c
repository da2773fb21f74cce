/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_dma_engine.c - random transfers of several clients against flat memories behind a page table
 *
 * The bench plays translation (a page table with key checks), link and host. Each client has a
 * region of its own, where its requests take effect in order.
 */
#include <stdlib.h>
#include <string.h>

#include "models/msg.h"
#include "models/nic.h"
#include "sim/pool.h"
#include "testbench/tb.h"

extern const struct block_class dma_engine_class;

#define CLIENTS 4u
#define REGION (96u * 1024) /* bytes of a client */
#define VA 0x7fff00000000ull
#define KEY 0x100u /* of client 0; the others follow */
#define BUF_BYTES (64u * 1024 + 64)
#define BUFS 80u      /* of a client */
#define OPS 70u       /* of a client */
#define HOST_CYC 100u /* a read's way to the host and back */

struct op {
	struct dma_req req;
	uint32_t at; /* offset in the region */
	bool is_answered;
	uint8_t want_status;
	uint8_t *want; /* reads: the bytes */
};

struct client {
	struct bench *e;
	struct tb_port *req, *rsp;
	struct pool *pool;
	struct op op[OPS];
	uint32_t n;
	uint8_t *flat;
};

struct bench {
	struct nic nic;
	struct mem mem;
	struct space space;
	struct tb t;
	struct tb_port *xlate_req, *xlate_rsp, *tlp, *cpl;
	struct client client[CLIENTS];
	struct rng rng;
	/* faults of the translation */
	bool ignores_pages; /* says that all of the rest is contiguous */
	uint64_t bad_page;  /* this page, by number, is not there; 0 = none */
	/* what was seen */
	uint32_t n_tlps, max_read, crossed, misread;
};

/* The page table: answer after 1 to 20 cycles, in order. */
static void translate(struct tb *t, struct tb_port *p, const void *msg)
{
	struct bench *e = p->arg;
	const struct xlate_req *r = msg;
	struct xlate_rsp a = { .tag = r->tag };
	uint32_t k = r->key - KEY;
	uint64_t run;

	(void)t;
	if (k >= CLIENTS)
		a.status = XLATE_BAD_KEY;
	else if (r->va < VA + k * REGION || r->va + r->len > VA + (k + 1) * REGION)
		a.status = XLATE_OUT_OF_RANGE;
	else if (r->pd != k)
		a.status = XLATE_BAD_PD;
	else if (e->bad_page && r->va / PAGE_4K == e->bad_page)
		a.status = XLATE_NO_ACCESS;
	if (a.status == XLATE_OK) {
		a.pa = space_pa(&e->space, r->va, &run);
		a.len = e->ignores_pages ? r->len : (uint32_t)run;
	}
	tb_send_at(e->xlate_rsp, p->b.cycle + 1 + rng_below(&e->rng, 20), &a);
}

/* Link and host: serve in order, completions HOST_CYC later. */
static void serve(struct tb *t, struct tb_port *p, const void *msg)
{
	struct bench *e = p->arg;
	struct tlp m = *(const struct tlp *)msg;
	uint8_t *buf = (uint8_t *)buf_data(&t->sim, m.buf) + m.off;

	e->n_tlps++;
	e->crossed += m.addr / PAGE_4K != (m.addr + m.len - 1) / PAGE_4K;
	if (m.kind == TLP_MWR) {
		mem_write(&e->mem, m.addr, buf, m.len);
		buf_unref(&p->b, m.buf);
		return;
	}
	CU_ASSERT_EQUAL(m.kind, TLP_MRD);
	if (m.len > e->max_read)
		e->max_read = m.len;
	mem_read(&e->mem, m.addr, buf, m.len);
	m.kind = TLP_CPLD;
	tb_send_at(e->cpl, p->b.cycle + HOST_CYC, &m);
}

/* A client takes an answer. */
static void take(struct tb *t, struct tb_port *p, const void *msg)
{
	struct client *c = p->arg;
	const struct dma_rsp *r = msg;
	struct op *o = &c->op[r->tag];

	CU_ASSERT_FATAL(r->tag < c->n && !o->is_answered);
	o->is_answered = true;
	CU_ASSERT_EQUAL(r->status, o->want_status);
	if (!o->req.is_write) {
		const uint8_t *got = (const uint8_t *)buf_data(&t->sim, o->req.buf) + o->req.off;

		c->e->misread += o->want && memcmp(got, o->want, o->req.len) != 0;
		buf_unref(&p->b, o->req.buf);
	}
}

static void bench_start(struct bench *e, const char *const *sets)
{
	memset(e, 0, sizeof(*e));
	e->nic.oplog = oplog_create();
	mem_init(&e->mem);
	space_init(&e->space, &e->mem);
	space_map(&e->space, VA, CLIENTS * REGION, PAGE_4K);
	rng_seed(&e->rng, "test_dma_engine", 1);
	tb_init(&e->t, &dma_engine_class, &e->nic, sets);
	for (uint32_t k = 0; k < CLIENTS; k++) {
		struct client *c = &e->client[k];
		char req[16], rsp[16];

		/* ports are an array; clients may be anywhere in it */
		snprintf(req, sizeof(req), "req%u", 3 * k);
		snprintf(rsp, sizeof(rsp), "rsp%u", 3 * k);
		c->e = e;
		c->req = tb_source(&e->t, req);
		c->rsp = tb_sink_react(&e->t, rsp, take, c);
		c->pool = pool_create(&c->req->b, BUFS, BUF_BYTES);
		c->flat = x_calloc(1, REGION);
	}
	e->xlate_req = tb_sink_react(&e->t, "xlate_req", translate, e);
	e->xlate_rsp = tb_source(&e->t, "xlate_rsp");
	e->tlp = tb_sink_react(&e->t, "tlp", serve, e);
	e->cpl = tb_source(&e->t, "cpl");
	tb_start(&e->t);
	for (uint32_t k = 0; k < CLIENTS; k++)
		e->client[k].req->b.now_ps = 1; /* buffers are taken before the run */
}

static void bench_end(struct bench *e)
{
	for (uint32_t k = 0; k < CLIENTS; k++) {
		struct client *c = &e->client[k];

		CU_ASSERT_EQUAL(c->pool->in_use, 0);
		for (uint32_t i = 0; i < c->n; i++) {
			CU_ASSERT_TRUE(c->op[i].is_answered);
			free(c->op[i].want);
		}
		free(c->flat);
	}
	tb_end(&e->t);
	space_destroy(&e->space);
	mem_destroy(&e->mem);
	oplog_destroy(e->nic.oplog);
}

/* Queue a transfer of client 'k' and follow it in its flat memory. Writes carry random bytes. */
static struct op *transfer(struct bench *e, uint32_t k, bool is_write, uint32_t at, uint32_t len)
{
	struct client *c = &e->client[k];
	struct op *o = &c->op[c->n];
	struct dma_req *r = &o->req;
	uint8_t *bytes;

	*r = (struct dma_req){ .addr = VA + k * REGION + at,
			       .key = KEY + k,
			       .len = len,
			       .buf = pool_alloc(c->pool),
			       .off = (uint32_t)rng_below(&e->rng, 64),
			       .tag = c->n++,
			       .pd = (uint16_t)k,
			       .is_write = is_write,
			       .cls = is_write ? DMA_PAYLOAD_WRITE : DMA_PAYLOAD_READ };
	o->at = at;
	bytes = (uint8_t *)buf_data(&e->t.sim, r->buf) + r->off;
	for (uint32_t i = 0; i < len; i++)
		bytes[i] = is_write ? (uint8_t)rng_next(&e->rng) : 0xee;
	if (is_write) {
		memcpy(c->flat + at, bytes, len);
	} else {
		o->want = x_calloc(1, len);
		memcpy(o->want, c->flat + at, len);
	}
	return o;
}

static void send(struct bench *e, uint32_t k, const struct op *o)
{
	tb_send(e->client[k].req, &o->req);
}

/* The memory differs from what the clients wrote. */
static bool differs(const struct bench *e)
{
	static uint8_t now[REGION];

	for (uint32_t k = 0; k < CLIENTS; k++)
		if (!space_read(&e->space, VA + k * REGION, now, REGION) ||
		    memcmp(now, e->client[k].flat, REGION) != 0)
			return true;
	return false;
}

/* Turn a translated request that stays within a page into one with a bus address. */
static void make_phys(struct bench *e, struct op *o)
{
	if (o->req.addr / PAGE_4K == (o->req.addr + o->req.len - 1) / PAGE_4K) {
		o->req.addr = space_pa(&e->space, o->req.addr, NULL);
		o->req.key = KEY_PHYS;
		o->req.cls = o->req.is_write ? DMA_CQE : DMA_WQE; /* payload is always translated */
	}
}

/* Random load of all clients. Returns the transfers that went wrong. */
static uint32_t run_random(const char *const *sets, uint64_t seed, bool ignores_pages)
{
	static struct bench e;
	uint32_t wrong;

	bench_start(&e, sets);
	rng_seed(&e.rng, "test_dma_engine", seed);
	e.ignores_pages = ignores_pages;
	for (uint32_t i = 0; i < OPS; i++)
		for (uint32_t k = 0; k < CLIENTS; k++) {
			uint32_t most = rng_below(&e.rng, 8) == 0 ? 65536 : 6000;
			uint32_t len = 1 + (uint32_t)rng_below(&e.rng, most);
			uint32_t at = (uint32_t)rng_below(&e.rng, min_u64(REGION - len, 20000) + 1);
			struct op *o = transfer(&e, k, rng_below(&e.rng, 2), at, len);

			if (rng_below(&e.rng, 4) == 0)
				make_phys(&e, o);
			send(&e, k, o);
		}
	tb_run(&e.t);
	wrong = e.misread + differs(&e) + e.crossed;
	CU_ASSERT_EQUAL(tb_stat(&e.t, "reads") + tb_stat(&e.t, "writes"), OPS * CLIENTS);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "read_tlps") + tb_stat(&e.t, "write_tlps"), e.n_tlps);
	CU_ASSERT(e.max_read <= 512);
	bench_end(&e);
	return wrong;
}

static void dma_engine_random_transfers_match_flat_memory(void)
{
	static const char *const variants[] = { "dma_engine.tags=64", "dma_engine.tags=1",
						"dma_engine.per_client=1", "dma_engine.ahead=1",
						"dma_engine.read_seg_time=9ns" };

	for (unsigned k = 0; k < 16; k++) {
		char set_in[64], set_out[64];
		const char *sets[] = { set_in, set_out, NULL, NULL };

		tb_stall_sets(&dma_engine_class, k / 4, k % 4, set_in, set_out);
		sets[2] = variants[(k + k / 4) % ARRAY_LEN(variants)];
		CU_ASSERT_EQUAL(run_random(sets, k, false), 0);
	}
}

static void dma_engine_missing_page_split_is_caught(void)
{
	CU_ASSERT(run_random(NULL, 1, true) > 0);
}

static void dma_engine_every_size_and_alignment_is_exact(void)
{
	for (uint32_t first = 1; first <= 4200; first += CLIENTS * OPS / 2) {
		static struct bench e;

		bench_start(&e, NULL);
		for (uint32_t i = 0; i < CLIENTS * OPS / 2; i++) {
			uint32_t at = 4096 - i * 17 % 300, len = first + i;

			send(&e, i % CLIENTS, transfer(&e, i % CLIENTS, true, at, len));
			send(&e, i % CLIENTS, transfer(&e, i % CLIENTS, false, at, len));
		}
		tb_run(&e.t);
		CU_ASSERT_EQUAL(e.misread, 0);
		CU_ASSERT_EQUAL(e.crossed, 0);
		CU_ASSERT_FALSE(differs(&e));
		bench_end(&e);
	}
}

static void dma_engine_bad_key_does_nothing(void)
{
	struct bench e;
	struct op *o;

	bench_start(&e, NULL);
	o = transfer(&e, 1, true, 0, 5000);
	memset(e.client[1].flat, 0, REGION);
	o->req.key = KEY + CLIENTS;
	o->want_status = XLATE_BAD_KEY;
	send(&e, 1, o);
	o = transfer(&e, 1, false, 0, 5000);
	o->req.pd = 3;
	o->want_status = XLATE_BAD_PD;
	memset(o->want, 0xee, 5000); /* the buffer stays as it was */
	send(&e, 1, o);
	o = transfer(&e, 1, true, 0,
		     8); /* the program's key happens to be the mark of a bus address */
	memset(e.client[1].flat, 0, 8);
	o->req.key = KEY_PHYS;
	o->want_status = XLATE_BAD_KEY;
	send(&e, 1, o);
	send(&e, 1, transfer(&e, 1, true, 100, 10)); /* and what follows is done */
	send(&e, 1, transfer(&e, 1, false, 90, 30));
	tb_run(&e.t);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "errors"), 3);
	CU_ASSERT_EQUAL(e.misread, 0);
	CU_ASSERT_FALSE(differs(&e));
	bench_end(&e);
}

static void dma_engine_failure_on_later_page_stops_there(void)
{
	struct bench e;
	struct op *w, *r;
	uint8_t byte;

	bench_start(&e, NULL);
	e.bad_page = VA / PAGE_4K + 1;
	w = transfer(&e, 0, true, 100, 9000);
	w->want_status = XLATE_NO_ACCESS;
	send(&e, 0, w);
	r = transfer(&e, 0, false, 0, 9000);
	r->want_status = XLATE_NO_ACCESS;
	free(r->want);
	r->want = NULL;
	send(&e, 0, r);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "errors"), 2);
	for (uint32_t i = PAGE_4K; i < 9100; i++) {
		space_read(&e.space, VA + i, &byte, 1);
		if (byte != 0)
			CU_FAIL("written behind the page that failed");
	}
	bench_end(&e);
}

static void dma_engine_bus_addresses_pass_translation(void)
{
	struct bench e;
	struct op *o;

	bench_start(&e, NULL);
	for (uint32_t i = 0; i < 20; i++)
		send(&e, 0, transfer(&e, 0, false, i * 4096, 4096));
	o = transfer(&e, 3, false, 0, 64);
	make_phys(&e, o);
	send(&e, 3, o);
	tb_run(&e.t);
	/* behind the pipeline and the host's latency only: long before the 20 reads are over */
	CU_ASSERT(e.client[3].rsp->cycle[0] < HOST_CYC + 20);
	CU_ASSERT(e.client[0].rsp->cycle[19] > 2 * HOST_CYC);
	bench_end(&e);
}

static void dma_engine_clients_share_evenly(void)
{
	struct bench e;

	bench_start(&e, NULL);
	for (uint32_t i = 0; i < 60; i++)
		for (uint32_t k = 0; k < CLIENTS; k++)
			send(&e, k, transfer(&e, k, true, i * 64, 64));
	tb_run(&e.t);
	for (uint32_t k = 1; k < CLIENTS; k++)
		CU_ASSERT(e.client[k].rsp->cycle[59] - e.client[0].rsp->cycle[59] <= CLIENTS);
	CU_ASSERT_FALSE(differs(&e));
	bench_end(&e);
}

static void dma_engine_width_and_segments_take_time(void)
{
	static const struct {
		const char *width, *seg;
		uint64_t cyc; /* between two writes of 1024 B */
	} want[] = { { "64", "0", 16 },
		     { "32", "0", 32 },
		     { "1024", "0", 1 },
		     { "1024", "8ns", 17 },
		     { "64", "6ns", 28 } };

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		char width[64], seg[64];
		struct bench e;

		snprintf(width, sizeof(width), "dma_engine.width=%s", want[i].width);
		snprintf(seg, sizeof(seg), "dma_engine.write_seg_time=%s", want[i].seg);
		bench_start(&e, (const char *[]){ width, seg, NULL });
		for (uint32_t n = 0; n < 50; n++) {
			struct op *o = transfer(&e, 0, true, n * 1024, 1024);

			make_phys(&e, o);
			send(&e, 0, o);
		}
		tb_run(&e.t);
		CU_ASSERT_EQUAL(e.client[0].rsp->cycle[49] - e.client[0].rsp->cycle[9],
				40 * want[i].cyc);
		bench_end(&e);
	}
}

/* 320 B: a request, three segments and 320 B of data; one after the other, before the answer. */
static void dma_engine_reads_are_handed_over_in_turn(void)
{
	const char *sets[] = { "dma_engine.read_req_time=40ns", "dma_engine.read_seg_time=80ns",
			       "dma_engine.read_kib_time=384ns", NULL };
	const uint64_t over = (40 + 3 * 80 + 120) / 4;
	uint64_t first[2];

	for (unsigned is_slow = 0; is_slow < 2; is_slow++) {
		struct bench e;

		bench_start(&e, is_slow ? sets : NULL);
		for (uint32_t n = 0; n < 10; n++) {
			struct op *o = transfer(&e, 0, false, n * 1024, 320);

			make_phys(&e, o);
			send(&e, 0, o);
		}
		tb_run(&e.t);
		first[is_slow] = e.client[0].rsp->cycle[0];
		if (is_slow)
			CU_ASSERT_EQUAL(e.client[0].rsp->cycle[9] - first[1], 9 * over);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "read_busy_ps"), is_slow ? 10 * over * 4000 : 0);
		bench_end(&e);
	}
	CU_ASSERT_EQUAL(first[1] - first[0], over);
}

static void dma_engine_payload_read_marks_translation(void)
{
	struct bench e;
	struct op *o;
	uint32_t op;
	uint64_t at;

	bench_start(&e, NULL);
	op = oplog_open(e.nic.oplog, &(struct op_row){ .id = 1 }, 1);
	o = transfer(&e, 0, false, 4000, 8192);
	o->req.op = op;
	send(&e, 0, o);
	tb_run(&e.t);
	/* the last of three pages: seen in the cycle after its answer was sent */
	CU_ASSERT_EQUAL(e.xlate_req->n_received, 3);
	at = oplog_row(e.nic.oplog, op)->t_ps[OP_TRANSLATE];
	CU_ASSERT(at > e.xlate_req->cycle[2] * 4000);
	CU_ASSERT(at < e.client[0].rsp->cycle[0] * 4000);
	bench_end(&e);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_dma_engine_tests[] = { TEST(dma_engine_random_transfers_match_flat_memory),
					TEST(dma_engine_missing_page_split_is_caught),
					TEST(dma_engine_every_size_and_alignment_is_exact),
					TEST(dma_engine_bad_key_does_nothing),
					TEST(dma_engine_failure_on_later_page_stops_there),
					TEST(dma_engine_bus_addresses_pass_translation),
					TEST(dma_engine_clients_share_evenly),
					TEST(dma_engine_width_and_segments_take_time),
					TEST(dma_engine_reads_are_handed_over_in_turn),
					TEST(dma_engine_payload_read_marks_translation),
					CU_TEST_INFO_NULL };
