/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_dma_waits.c - the time from the grant of a transfer to its first byte on the link is the sum of
 * what it waited for; what may pass what in the DMA engine
 *
 * The first part runs a whole scenario and measures on the channels: when the engine took a request,
 * when it gave each train to the link, when the train arrived. On a x1 link of the first generation a
 * byte takes 4 ns, a cycle, so the first byte of a train follows from its arrival.
 */
#include <stdlib.h>
#include <string.h>

#include "models/msg.h"
#include "models/nic.h"
#include "sim/pool.h"
#include "testbench/tb.h"
#include "testbench/tb_run.h"

extern const struct block_class dma_engine_class;

#define CYC_PS 4000u
#define BYTE_PS 4000u
#define LATENCY_PS 100000u
#define MPS 256u

/* ---- a whole scenario ---- */

struct under_way {
	struct dma_req req;
	uint64_t ready_ps; /* of the next train */
	uint32_t done;     /* bytes in trains */
};

struct gauge;

/* A tap on one channel. */
struct probe {
	struct chan_tap tap;
	struct gauge *g;
};

struct gauge {
	struct probe grant[12], push, arrive;
	struct under_way req[4096], train[4096]; /* in the engine; on the link */
	uint32_t n_req, n_train;
	uint64_t want[DMA_CLS_COUNT];
	bool forgets; /* the fault: the register between engine and link counts as waiting */
};

static struct gauge *gauge_of(struct chan_tap *t)
{
	return ((struct probe *)(void *)t)->g;
}

static void granted(struct chan_tap *t, const struct chan *c, const void *msg)
{
	struct gauge *g = gauge_of(t);

	CU_ASSERT_FATAL(g->n_req < ARRAY_LEN(g->req));
	g->req[g->n_req++] = (struct under_way){ .req = *(const struct dma_req *)msg,
						 .ready_ps = c->consumer->now_ps };
}

/* The oldest entry whose next bytes are those of 't'; 'n' when there is none. */
static uint32_t find(const struct under_way *l, uint32_t n, const struct tlp *t)
{
	uint32_t i = 0;

	while (i < n && (l[i].req.buf != t->buf || l[i].req.off + l[i].done != t->off ||
			 l[i].req.cls != t->cls || l[i].req.is_write != (t->kind == TLP_MWR)))
		i++;
	return i;
}

/* 'len' bytes of entry 'i' are over; the entry too when they were the last. */
static void advance(struct under_way *l, uint32_t *n, uint32_t i, uint32_t len, uint64_t ready_ps)
{
	l[i].done += len;
	l[i].ready_ps = ready_ps;
	if (l[i].done < l[i].req.len)
		return;
	memmove(&l[i], &l[i + 1], (--*n - i) * sizeof(*l));
}

static void pushed(struct chan_tap *t, const struct chan *c, const void *msg)
{
	struct gauge *g = gauge_of(t);
	const struct tlp *m = msg;
	uint32_t i = find(g->req, g->n_req, m);
	uint64_t now = c->producer->now_ps;

	CU_ASSERT_FATAL(i < g->n_req && g->n_train < ARRAY_LEN(g->train));
	g->want[m->cls] += now - g->req[i].ready_ps;
	advance(g->req, &g->n_req, i, m->len, now);
	g->train[g->n_train++] = (struct under_way){ .req = { .buf = m->buf,
							      .off = m->off,
							      .len = m->len,
							      .cls = m->cls,
							      .is_write = m->kind == TLP_MWR },
						     .ready_ps = now + (g->forgets ? 0 : CYC_PS) };
}

static void arrived(struct chan_tap *t, const struct chan *c, const void *msg)
{
	struct gauge *g = gauge_of(t);
	const struct tlp *m = msg;
	uint32_t i = find(g->train, g->n_train, m);
	uint64_t end_ps = c->producer->now_ps - LATENCY_PS;
	uint64_t bytes = m->kind == TLP_MRD ? 24 : m->len + (m->len + MPS - 1) / MPS * 24;

	CU_ASSERT_FATAL(i < g->n_train);
	g->want[m->cls] += end_ps - bytes * BYTE_PS - g->train[i].ready_ps;
	advance(g->train, &g->n_train, i, m->len, end_ps);
}

static void watch(struct gauge *g, struct probe *p, struct chan *c)
{
	p->g = g;
	if (c)
		chan_attach(c, &p->tap);
}

static void attach(struct gauge *g, struct tb_run *t)
{
	const struct block *dma = netlist_find(&t->r.sim, "nic0.dma_engine");
	const struct block *link = netlist_find(&t->r.sim, "nic0.pcie_link");
	char port[16];

	for (unsigned k = 0; k < ARRAY_LEN(g->grant); k++) {
		snprintf(port, sizeof(port), "req%u", k);
		g->grant[k].tap.popped = granted;
		watch(g, &g->grant[k], netlist_chan(dma, port));
	}
	g->push.tap.pushed = pushed;
	watch(g, &g->push, netlist_chan(dma, "tlp"));
	g->arrive.tap.pushed = arrived;
	watch(g, &g->arrive, netlist_chan(link, "up_out"));
}

#define X(c) #c,
static const char *const cls_names[] = { DMA_CLASSES(X) };
#undef X

/* What the statistics of engine and link say that class 'c' waited for 'cause'. */
static uint64_t waited(const struct tb_run *t, const char *block, uint32_t c, const char *cause)
{
	char name[96];

	snprintf(name, sizeof(name), "nic0.%s%s_%s_ps", block, cls_names[c], cause);
	return tb_run_stat(t, name);
}

static uint64_t sum_of(const struct tb_run *t, uint32_t c)
{
	static const char *const engine[] = { "xlate",      "ordering", "tag",
					      "cpl_buffer", "engine",   "link" };
	static const char *const link[] = { "ordering", "credit", "link" };
	uint64_t sum = 0;

	for (size_t k = 0; k < ARRAY_LEN(engine); k++)
		sum += waited(t, "dma_engine.wait_", c, engine[k]);
	for (size_t k = 0; k < ARRAY_LEN(link); k++)
		sum += waited(t, "pcie_link.up_wait_", c, link[k]);
	return sum;
}

/* The classes of which the measured waiting is not that of the statistics. 'cause' must not be zero. */
static uint32_t run_demo(const char *const *row, bool forgets)
{
	static const char *const slow[] = { "pcie_link.gen=1", "pcie_link.lanes=1",
					    "pcie_link.efficiency=10000" };
	static struct gauge g;
	const char *sets[16] = { slow[0], slow[1], slow[2] };
	struct tb_run t;
	uint32_t wrong = 0, n = 3;

	for (uint32_t k = 2; row[k]; k++)
		sets[n++] = row[k];
	memset(&g, 0, sizeof(g));
	g.forgets = forgets;
	CU_ASSERT_FATAL(tb_run_open(
		&t, &(struct tb_run_how){ .trace = "traces/demo.trace", .sets = sets }));
	attach(&g, &t);
	CU_ASSERT_EQUAL(tb_run_go(&t), EXIT_OK);
	CU_ASSERT_EQUAL(g.n_req, 0);
	CU_ASSERT_EQUAL(g.n_train, 0);
	for (uint32_t c = 0; c < DMA_CLS_COUNT; c++)
		wrong += g.want[c] != sum_of(&t, c);
	CU_ASSERT(waited(&t, row[0], DMA_PAYLOAD_READ, row[1]) +
			  waited(&t, row[0], DMA_PAYLOAD_WRITE, row[1]) >
		  0);
	tb_run_close(&t);
	return wrong;
}

/* A cause that must show, and the parameters that bring it about. */
static const char *const demo_rows[][10] = {
	{ "pcie_link.up_wait_", "link", NULL },
	{ "dma_engine.wait_", "xlate", NULL },
	{ "dma_engine.wait_", "engine", NULL },
	{ "dma_engine.wait_", "tag", "dma_engine.tags=1", NULL },
	{ "dma_engine.wait_", "cpl_buffer", "dma_engine.cpl_buffer=4KiB", NULL },
	{ "pcie_link.up_wait_", "credit", "pcie_link.root_nph=1", "pcie_link.fc_latency=3us",
	  NULL },
	{ "pcie_link.up_wait_", "credit", "pcie_link.root_ph=1", "pcie_link.root_pd=17", NULL },
	{ "pcie_link.up_wait_", "credit", "pcie_link.root_pd=33", "pcie_link.root_nph=2",
	  "pcie_link.fc_interval=7us", "pcie_link.tx_queue=1", NULL },
	{ "dma_engine.wait_", "link", "pcie_link.root_nph=1", "pcie_link.fc_latency=3us",
	  "pcie_link.tx_queue=1", NULL },
	{ "dma_engine.wait_", "engine", "dma_engine.width=1B", "dma_engine.per_client=3", NULL },
};

static void waits_add_up_to_the_measured_time(void)
{
	for (size_t i = 0; i < ARRAY_LEN(demo_rows); i++)
		CU_ASSERT_EQUAL(run_demo(demo_rows[i], false), 0);
}

static void waits_one_cycle_too_long_are_caught(void)
{
	CU_ASSERT(run_demo(demo_rows[0], true) > 0);
}

/* ---- the engine alone: what passes what ---- */

struct bench {
	struct tb t;
	struct nic nic;
	struct tb_port *req[2], *tlp, *cpl;
	struct pool *pool;
	uint32_t buf;
};

static void drop(struct tb *t, struct tb_port *p, const void *msg)
{
	(void)t;
	if (((const struct tlp *)msg)->kind == TLP_MWR)
		buf_unref(&p->b, ((const struct tlp *)msg)->buf);
}

static void bench_start(struct bench *e, const char *const *sets)
{
	memset(e, 0, sizeof(*e));
	e->nic.oplog = oplog_create();
	tb_init(&e->t, &dma_engine_class, &e->nic, sets);
	e->req[0] = tb_source(&e->t, "req0");
	e->req[1] = tb_source(&e->t, "req1");
	tb_sink(&e->t, "rsp0");
	tb_sink(&e->t, "rsp1");
	tb_sink(&e->t, "xlate_req");
	tb_source(&e->t, "xlate_rsp");
	e->tlp = tb_sink_react(&e->t, "tlp", drop, NULL);
	e->cpl = tb_source(&e->t, "cpl");
	e->pool = pool_create(&e->req[0]->b, 1, 8192);
	tb_start(&e->t);
	e->req[0]->b.now_ps = 1; /* the buffer is taken before the run */
	e->buf = pool_alloc(e->pool);
}

static void bench_end(struct bench *e)
{
	CU_ASSERT_EQUAL(buf_refs(&e->t.sim, e->buf), 1);
	tb_end(&e->t);
	oplog_destroy(e->nic.oplog);
}

/* A transfer of client 'k' at a bus address that tells it from the others. */
static void request(struct bench *e, unsigned k, uint64_t at, bool is_write, uint32_t page,
		    uint32_t len)
{
	if (is_write)
		buf_ref(&e->t.sim, e->buf);
	tb_send_at(e->req[k], at,
		   &(struct dma_req){ .addr = page * (uint64_t)PAGE_4K,
				      .key = KEY_PHYS,
				      .len = len,
				      .buf = e->buf,
				      .tag = page,
				      .is_write = is_write,
				      .cls = is_write ? DMA_CQE : DMA_WQE });
}

static void complete(struct bench *e, uint64_t at, uint16_t tag, uint32_t len)
{
	tb_send_at(e->cpl, at,
		   &(struct tlp){ .kind = TLP_CPLD, .tag = tag, .len = len, .cls = DMA_WQE });
}

/* The pages of the trains in the order in which they were sent, as text. */
static void sent_order(const struct bench *e, char *text)
{
	uint32_t i;

	for (i = 0; i < e->tlp->n_received; i++)
		text[i] = (char)('0' + ((const struct tlp *)tb_got(e->tlp, i))->addr / PAGE_4K);
	text[i] = '\0';
}

static void write_passes_reads_that_lack_a_tag(void)
{
	char order[16];
	struct bench e;

	bench_start(&e, (const char *[]){ "dma_engine.tags=1", NULL });
	request(&e, 0, 1, false, 1, 64);
	request(&e, 0, 2, false, 2, 64); /* no tag */
	request(&e, 1, 3, true, 3, 64);  /* passes */
	request(&e, 0, 4, true, 4, 64);  /* not its own client's read */
	request(&e, 1, 5, false, 5, 64); /* does not pass the write before it */
	complete(&e, 1000, 0, 64);
	complete(&e, 2000, 0, 64);
	complete(&e, 3000, 0, 64);
	tb_run(&e.t);
	sent_order(&e, order);
	CU_ASSERT_STRING_EQUAL(order, "13245");
	CU_ASSERT(e.tlp->cycle[1] < 1000);
	CU_ASSERT(e.tlp->cycle[2] > 1000 && e.tlp->cycle[3] < 2000);
	/* reads 2 (from 6 on, behind read 1 before) and 5 waited for the tag */
	CU_ASSERT(tb_stat(&e.t, "wait_wqe_tag_ps") > 1900 * (uint64_t)CYC_PS);
	CU_ASSERT(tb_stat(&e.t, "wait_cqe_ordering_ps") > 900 * (uint64_t)CYC_PS);
	bench_end(&e);
}

static void read_waits_for_room_of_its_completion(void)
{
	char order[16];
	struct bench e;

	/* 4 KiB are reserved: 3 KiB at first, so 2 KiB must wait and 1 KiB behind them too */
	bench_start(&e,
		    (const char *[]){ "dma_engine.cpl_buffer=4KiB", "dma_engine.mrrs=4KiB", NULL });
	request(&e, 0, 1, false, 1, 3072);
	request(&e, 0, 2, false, 2, 2048);
	request(&e, 1, 3, false, 3, 1024);
	complete(&e, 1000, 0, 1024); /* a part of the first: room for the second */
	complete(&e, 2000, 0, 2048);
	complete(&e, 3000, 1, 2048);
	complete(&e, 3001, 0, 1024);
	tb_run(&e.t);
	sent_order(&e, order);
	CU_ASSERT_STRING_EQUAL(order, "123");
	CU_ASSERT(e.tlp->cycle[1] > 1000 && e.tlp->cycle[1] < 1010);
	CU_ASSERT(e.tlp->cycle[2] > 2000 && e.tlp->cycle[2] < 2010);
	CU_ASSERT(tb_stat(&e.t, "wait_wqe_cpl_buffer_ps") > 2900 * (uint64_t)CYC_PS);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "wait_wqe_tag_ps"), 0);
	bench_end(&e);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_dma_waits_tests[] = { TEST(waits_add_up_to_the_measured_time),
				       TEST(waits_one_cycle_too_long_are_caught),
				       TEST(write_passes_reads_that_lack_a_tag),
				       TEST(read_waits_for_room_of_its_completion),
				       CU_TEST_INFO_NULL };
