/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pcie_credits.c - flow control and ordering of the link against a model that sends TLP by TLP:
 * both must deliver the same TLPs at the same cycles, and have waited as long
 */
#include <stdlib.h>
#include <string.h>

#include "models/msg.h"
#include "sim/pool.h"
#include "testbench/pcie_model.h"
#include "testbench/tb.h"

extern const struct block_class pcie_link_class;

static const char *const cause_names[] = { "ordering", "credit", "link" };

/* ---- the link with its sources and sinks ---- */

struct bench {
	struct tb t;
	struct tb_port *in[2], *out[3]; /* in: up, down; out: up_out, mmio, down_cpl */
	struct pool *pool;
	uint32_t buf; /* of all posted trains */
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
	tb_init(&e->t, &pcie_link_class, NULL, sets);
	e->in[0] = tb_source(&e->t, "up_in");
	e->in[1] = tb_source(&e->t, "down_in");
	e->out[0] = tb_sink_react(&e->t, "up_out", drop, NULL);
	e->out[1] = tb_sink_react(&e->t, "mmio", drop, NULL);
	e->out[2] = tb_sink_react(&e->t, "down_cpl", drop, NULL);
	e->pool = pool_create(&e->in[0]->b, 1, 64);
	tb_start(&e->t);
	e->in[0]->b.now_ps = 1; /* the buffer is taken before the run */
	e->buf = pool_alloc(e->pool);
}

/* Every part of a train had a reference, and all are given back. */
static void bench_end(struct bench *e)
{
	CU_ASSERT_EQUAL(buf_refs(&e->t.sim, e->buf), 1);
	tb_end(&e->t);
}

/* A train is pushed at cycle 'at' if the channel has room; it waits from the next cycle on. */
static void send_at(struct bench *e, unsigned dir, uint64_t at, struct tlp t)
{
	t.ready_ps = (at + 1) * CYC_PS;
	t.buf = e->buf;
	if (t.kind == TLP_MWR)
		buf_ref(&e->t.sim, e->buf);
	tb_send_at(e->in[dir], at, &t);
}

static uint64_t waited(const struct bench *e, const char *dir, const char *cls, unsigned cause)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_wait_%s_%s_ps", dir, cls, cause_names[cause]);
	return tb_stat(&e->t, name);
}

/* ---- random streams through both ---- */

/* Parameters of a run, and what the model is told of them. */
struct random_run {
	char text[10][48];
	const char *sets[16];
	struct rules up, down;
};

static void random_params(struct random_run *p, struct rng *r)
{
	unsigned n = 0, lat = 1 + (unsigned)rng_below(r, 100);
	unsigned gap = rng_below(r, 2) ? (unsigned)rng_below(r, 300) : 0;
	bool is_relaxed = rng_below(r, 2);

	memset(p, 0, sizeof(*p));
	p->up.hdr[P] = (unsigned)rng_below(r, 12);
	p->up.data[P] = rng_below(r, 4) ? 16 + (unsigned)rng_below(r, 40) : 0;
	p->up.hdr[NP] = (unsigned)rng_below(r, 5);
	p->down.hdr[P] = (unsigned)rng_below(r, 4);
	p->down.data[P] = rng_below(r, 2) ? 16 : 0;
	p->down.hdr[CPL] = (unsigned)rng_below(r, 12);
	p->down.data[CPL] = rng_below(r, 2) ? 16 + (unsigned)rng_below(r, 40) : 0;
	p->up.fc_latency = p->down.fc_latency = lat;
	p->up.fc_interval = p->down.fc_interval = gap;
	p->up.is_relaxed = p->down.is_relaxed = is_relaxed;
#define SET(...) \
	snprintf(p->text[n], sizeof(p->text[n]), "pcie_link." __VA_ARGS__); \
	p->sets[n] = p->text[n]; \
	n++
	SET("root_ph=%u", p->up.hdr[P]);
	SET("root_pd=%u", p->up.data[P]);
	SET("root_nph=%u", p->up.hdr[NP]);
	SET("dev_ph=%u", p->down.hdr[P]);
	SET("dev_pd=%u", p->down.data[P]);
	SET("dev_cplh=%u", p->down.hdr[CPL]);
	SET("dev_cpld=%u", p->down.data[CPL]);
	SET("fc_latency=%uns", lat * 4);
	SET("fc_interval=%uns", gap * 4);
	SET("relaxed_ordering=%s", is_relaxed ? "on" : "off");
#undef SET
	p->sets[n++] = "pcie_link.efficiency=10000";
	p->sets[n++] = "pcie_link.tx_queue=1024";
}

/* Random trains of one direction, to the link and to the model. */
static void random_trains(struct bench *e, struct model *m, unsigned dir, struct rng *r)
{
	unsigned pace = 1 + (unsigned)rng_below(r, 60);
	uint64_t at = 0;

	for (unsigned i = 0; i < TRAINS; i++) {
		bool is_posted = rng_below(r, 3) == 0;
		struct tlp t = { .addr = rng_below(r, 1 << 16),
				 .len = 1 + (uint32_t)rng_below(r, 1500),
				 .tag = (uint16_t)i,
				 .kind = is_posted  ? TLP_MWR
					 : dir == 0 ? TLP_MRD
						    : TLP_CPLD,
				 .cls = DMA_MTT };

		at += 1 + rng_below(r, pace);
		send_at(e, dir, at, t);
		model_add(m, at, &t, 256, 64);
	}
}

/* The sink took what the model delivered there, cycle by cycle. */
static bool is_as_delivered(const struct tb_port *p, const struct model *m, bool is_up,
			    unsigned cls)
{
	unsigned k = 0;

	for (unsigned i = 0; i < m->n_parts; i++) {
		const struct model_part *w = &m->part[i];
		const struct tlp *got = tb_got(p, k);

		if (!is_up && w->cls != cls)
			continue;
		if (!got || got->tag != w->tag || got->addr != w->addr || got->len != w->len ||
		    p->cycle[k] != w->deliver_cyc + 1)
			return false;
		k++;
	}
	return k == p->n_received;
}

/* One random run; returns how many of the three ports and two waiting times differ. */
static int run_random(uint64_t seed, bool is_faulty, uint64_t *parts)
{
	static struct model up, down;
	struct random_run p;
	struct bench e;
	struct rng r;
	int wrong;
	uint64_t sum[2] = { 0, 0 };

	rng_seed(&r, "test_pcie_credits", seed);
	random_params(&p, &r);
	memset(&up, 0, sizeof(up));
	memset(&down, 0, sizeof(down));
	up.r = p.up;
	down.r = p.down;
	up.r.rounds_down = down.r.rounds_down = is_faulty;
	bench_start(&e, p.sets);
	random_trains(&e, &up, 0, &r);
	random_trains(&e, &down, 1, &r);
	tb_run(&e.t);
	model_run(&up, true);
	model_run(&down, false);
	for (unsigned k = 0; k < 3; k++) {
		sum[0] += waited(&e, "up", "mtt", k);
		sum[1] += waited(&e, "down", "mtt", k);
	}
	wrong = !is_as_delivered(e.out[0], &up, true, 0) +
		!is_as_delivered(e.out[1], &down, false, P) +
		!is_as_delivered(e.out[2], &down, false, CPL) + (sum[0] != up.wait_ps) +
		(sum[1] != down.wait_ps);
	*parts += tb_stat(&e.t, "up_parts") + tb_stat(&e.t, "down_parts");
	bench_end(&e);
	return wrong;
}

static void credits_random_streams_match_tlp_by_tlp_model(void)
{
	uint64_t parts = 0;

	for (uint64_t seed = 0; seed < 40; seed++)
		CU_ASSERT_EQUAL(run_random(seed, false, &parts), 0);
	CU_ASSERT(parts > 1000); /* the credits were short often enough */
}

static void credits_wrong_rounding_is_caught(void)
{
	int wrong = 0;
	uint64_t parts = 0;

	for (uint64_t seed = 0; seed < 10; seed++)
		wrong += run_random(seed, true, &parts);
	CU_ASSERT(wrong > 0);
}

/* ---- by hand ---- */

static void credits_one_header_gives_one_tlp_a_round_trip(void)
{
	struct bench e;

	bench_start(&e, (const char *[]){ "pcie_link.root_ph=1", "pcie_link.efficiency=10000",
					  "pcie_link.gen=1", "pcie_link.lanes=1", NULL });
	for (unsigned i = 0; i < 10; i++)
		send_at(&e, 0, 1, (struct tlp){ .len = 16, .kind = TLP_MWR, .cls = DMA_CQE });
	tb_run(&e.t);
	/* (16 + 24) x 4 ns on the lane, 100 ns there, 100 ns back */
	for (unsigned i = 1; i < 10; i++)
		CU_ASSERT_EQUAL(e.out[0]->cycle[i] - e.out[0]->cycle[i - 1], 40 + 25 + 25);
	CU_ASSERT_EQUAL(waited(&e, "up", "cqe", 0), 0);
	/* each waits 200 ns with an idle lane, and so do all behind it */
	CU_ASSERT_EQUAL(waited(&e, "up", "cqe", 1) + waited(&e, "up", "cqe", 2),
			(uint64_t)90 * CYC_PS * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9));
	bench_end(&e);
}

static void credits_interval_gathers_updates(void)
{
	struct bench e;

	bench_start(&e, (const char *[]){ "pcie_link.root_nph=2", "pcie_link.fc_interval=4us",
					  "pcie_link.efficiency=10000", NULL });
	for (unsigned i = 0; i < 8; i++)
		send_at(&e, 0, 1, (struct tlp){ .len = 64, .kind = TLP_MRD, .cls = DMA_MTT });
	tb_run(&e.t);
	/* two go, then as many as came back since the last UpdateFC */
	CU_ASSERT_EQUAL(e.out[0]->n_received, 8);
	for (unsigned i = 4; i < 8; i++)
		CU_ASSERT_EQUAL(e.out[0]->cycle[i] - e.out[0]->cycle[i - 2], 1000);
	bench_end(&e);
}

/* A posted train without credits, and one of class 'kind' right behind it: which comes first? */
static bool passes(unsigned dir, uint8_t first, uint8_t second, const char *relaxed,
		   uint64_t *ordering_ps)
{
	struct bench e;
	bool is_passing;
	const struct tb_port *a, *b;

	bench_start(&e, (const char *[]){ "pcie_link.root_ph=1", "pcie_link.dev_ph=1",
					  "pcie_link.root_nph=1", "pcie_link.dev_cplh=1", relaxed,
					  NULL });
	a = e.out[dir == 0 ? 0 : first == TLP_MWR ? 1 : 2];
	b = e.out[dir == 0 ? 0 : second == TLP_MWR ? 1 : 2];
	for (unsigned i = 0; i < 2; i++) /* the second one lacks credits */
		send_at(&e, dir, 1 + i,
			(struct tlp){ .len = 64, .kind = first, .cls = DMA_WQE, .tag = 1 });
	send_at(&e, dir, 3, (struct tlp){ .len = 64, .kind = second, .cls = DMA_MTT, .tag = 2 });
	tb_run(&e.t);
	if (a == b)
		is_passing = ((const struct tlp *)tb_got(a, 1))->tag == 2;
	else
		is_passing = b->cycle[0] < a->cycle[1];
	*ordering_ps = waited(&e, dir ? "down" : "up", "mtt", 0);
	bench_end(&e);
	return is_passing;
}

static void ordering_is_that_of_the_specification(void)
{
	static const struct {
		unsigned dir;
		uint8_t first, second;
		const char *relaxed;
		bool is_passing;
	} row[] = {
		{ 0, TLP_MRD, TLP_MWR, "pcie_link.relaxed_ordering=off", true },
		{ 0, TLP_MWR, TLP_MRD, "pcie_link.relaxed_ordering=off", false },
		{ 0, TLP_MWR, TLP_MRD, "pcie_link.relaxed_ordering=on", false },
		{ 1, TLP_MWR, TLP_CPLD, "pcie_link.relaxed_ordering=off", false },
		{ 1, TLP_MWR, TLP_CPLD, "pcie_link.relaxed_ordering=on", true },
		{ 1, TLP_CPLD, TLP_MWR, "pcie_link.relaxed_ordering=off", true },
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		uint64_t ordering_ps;

		CU_ASSERT_EQUAL(passes(row[i].dir, row[i].first, row[i].second, row[i].relaxed,
				       &ordering_ps),
				row[i].is_passing);
		/* what may pass has not waited for order; what may not has */
		CU_ASSERT_EQUAL(ordering_ps == 0, row[i].is_passing);
	}
}

static void credits_long_write_goes_in_parts(void)
{
	struct bench e;
	uint64_t len = 0, addr = 1 << 20;

	/* 33 data credits: two TLPs of 256 B at first, then as they come back */
	bench_start(&e, (const char *[]){ "pcie_link.root_pd=33", NULL });
	send_at(&e, 0, 1, (struct tlp){ .addr = addr, .len = 4000, .kind = TLP_MWR });
	tb_run(&e.t);
	CU_ASSERT(e.out[0]->n_received > 1);
	for (unsigned i = 0; i < e.out[0]->n_received; i++) {
		const struct tlp *t = tb_got(e.out[0], i);

		CU_ASSERT_EQUAL(t->addr, addr + len);
		CU_ASSERT_EQUAL(t->off, len);
		CU_ASSERT(t->len <= 512);
		len += t->len;
	}
	CU_ASSERT_EQUAL(len, 4000);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "up_mwr"), 16);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "up_doorbell_b"), 4000 + 16 * 24);
	bench_end(&e);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_pcie_credits_tests[] = { TEST(credits_random_streams_match_tlp_by_tlp_model),
					  TEST(credits_wrong_rounding_is_caught),
					  TEST(credits_one_header_gives_one_tlp_a_round_trip),
					  TEST(credits_interval_gathers_updates),
					  TEST(ordering_is_that_of_the_specification),
					  TEST(credits_long_write_goes_in_parts),
					  CU_TEST_INFO_NULL };
