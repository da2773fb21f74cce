/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pcie_link.c - bytes on the link against closed forms, exact serialisation, order in both
 * directions
 */
#include <string.h>

#include "models/msg.h"
#include "testbench/tb.h"

extern const struct block_class pcie_link_class;

#define MAX_SIZE 4097u
#define CYC_PS 4000u /* the bench's clock */

struct bench {
	struct tb t;
	struct tb_port *up_in, *down_in, *up_out, *down_cpl, *mmio;
};

static void bench_start(struct bench *e, const char *const *sets)
{
	tb_init(&e->t, &pcie_link_class, NULL, sets);
	e->up_in = tb_source(&e->t, "up_in");
	e->down_in = tb_source(&e->t, "down_in");
	e->up_out = tb_sink(&e->t, "up_out");
	e->down_cpl = tb_sink(&e->t, "down_cpl");
	e->mmio = tb_sink(&e->t, "mmio");
	tb_start(&e->t);
}

/* Bytes around a TLP by hardware.md: Gen1 to Gen5 24 (requests) and 20 (completions); in a flit 16 and 12. */
struct around {
	uint64_t req, cpl;
};

static struct around around_of(unsigned gen)
{
	return gen < 6 ? (struct around){ 24, 20 } : (struct around){ 16, 12 };
}

/* Link bytes of 's' bytes of data, 'mps' in a TLP. */
static uint64_t closed_form(uint8_t kind, uint64_t s, uint64_t mps, struct around a)
{
	switch (kind) {
	case TLP_MWR:
		return (s + mps - 1) / mps * a.req + s;
	case TLP_MRD:
		return a.req;
	default:
		return (s + mps - 1) / mps * a.cpl + s;
	}
}

/*
 * One train of each size of a kind, one by one; returns the sizes whose bytes are not those
 * expected.
 */
static unsigned count_wrong(unsigned gen, uint8_t kind, uint64_t mps, struct around a)
{
	char set[2][64];
	struct bench e;
	unsigned wrong = 0;
	uint64_t before = 0;

	snprintf(set[0], sizeof(set[0]), "pcie_link.mps=%llu", (unsigned long long)mps);
	snprintf(set[1], sizeof(set[1]), "pcie_link.gen=%u", gen);
	bench_start(&e, (const char *[]){ set[0], set[1], "pcie_link.root_ph=0", NULL });
	for (uint32_t s = 1; s <= MAX_SIZE; s++) {
		const char *stat = kind == TLP_CPLD ? "down_payload_read_b" : "up_payload_read_b";
		uint64_t now;

		tb_send(kind == TLP_CPLD ? e.down_in : e.up_in,
			&(struct tlp){
				.addr = 4096, .len = s, .kind = kind, .cls = DMA_PAYLOAD_READ });
		tb_run(&e.t);
		now = tb_stat(&e.t, stat);
		wrong += now - before != closed_form(kind, s, mps, a);
		before = now;
	}
	CU_ASSERT_EQUAL((kind == TLP_CPLD ? e.down_cpl : e.up_out)->n_received, MAX_SIZE);
	tb_end(&e.t);
	return wrong;
}

static void pcie_link_bytes_match_closed_form(void)
{
	static const uint8_t kinds[] = { TLP_MWR, TLP_MRD, TLP_CPLD };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		for (unsigned gen = 1; gen <= 6; gen++)
			CU_ASSERT_EQUAL(count_wrong(gen, kinds[i], 256, around_of(gen)), 0);
		CU_ASSERT_EQUAL(count_wrong(3, kinds[i], 128, around_of(3)), 0);
		CU_ASSERT_EQUAL(count_wrong(6, kinds[i], 512, around_of(6)), 0);
	}
}

static void pcie_link_wrong_header_size_is_caught(void)
{
	CU_ASSERT_EQUAL(count_wrong(3, TLP_CPLD, 256, (struct around){ 24, 24 }), MAX_SIZE);
	CU_ASSERT_EQUAL(count_wrong(6, TLP_CPLD, 256, around_of(5)), MAX_SIZE);
	CU_ASSERT_EQUAL(count_wrong(5, TLP_MWR, 256, around_of(6)), MAX_SIZE);
}

/* What is set by hand stays, whatever the generation. */
static void pcie_link_header_set_by_hand_wins(void)
{
	static const char *const gens[] = { "pcie_link.gen=3", "pcie_link.gen=6" };

	for (size_t i = 0; i < ARRAY_LEN(gens); i++) {
		struct bench e;

		bench_start(&e, (const char *[]){ gens[i], "pcie_link.hdr_req=28",
						  "pcie_link.hdr_cpl=24", NULL });
		tb_send(e.up_in,
			&(struct tlp){ .len = 64, .kind = TLP_MWR, .cls = DMA_PAYLOAD_WRITE });
		tb_send(e.down_in,
			&(struct tlp){ .len = 64, .kind = TLP_CPLD, .cls = DMA_PAYLOAD_READ });
		tb_run(&e.t);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "up_payload_write_b"), 64 + 28);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "down_payload_read_b"), 64 + 24);
		tb_end(&e.t);
	}
}

/*
 * A read of 'len' at 'addr': completions by cutting at every boundary that the root may not cross.
 */
static unsigned slow_completions(uint64_t addr, uint64_t len, uint64_t mps, uint64_t rcb)
{
	unsigned n = 0;

	while (len) {
		uint64_t most = addr % rcb ? mps - addr % rcb : mps;
		uint64_t take = len < most ? len : most;

		addr += take;
		len -= take;
		n++;
	}
	return n;
}

static void pcie_link_completions_end_at_rcb(void)
{
	struct bench e;
	uint64_t before = 0;

	bench_start(&e, (const char *[]){ "pcie_link.mps=128", "pcie_link.rcb=64", NULL });
	for (uint32_t a = 0; a < 200; a += 3)
		for (uint32_t len = 1; len < 600; len += 37) {
			uint64_t now;

			tb_send(e.down_in,
				&(struct tlp){ .addr = a, .len = len, .kind = TLP_CPLD });
			tb_run(&e.t);
			now = tb_stat(&e.t, "down_cpld");
			CU_ASSERT_EQUAL(now - before, slow_completions(a, len, 128, 64));
			before = now;
		}
	tb_end(&e.t);
}

/* Time on the wire of n writes of 's' bytes as fast as they go, in ps, by the link's own count. */
static uint64_t busy_ps(const char *gen, const char *lanes, const char *efficiency, uint32_t s,
			unsigned n)
{
	struct bench e;
	char sets[3][64];
	uint64_t busy, span;

	snprintf(sets[0], 64, "pcie_link.gen=%s", gen);
	snprintf(sets[1], 64, "pcie_link.lanes=%s", lanes);
	snprintf(sets[2], 64, "pcie_link.efficiency=%s", efficiency);
	bench_start(&e, (const char *[]){ sets[0], sets[1], sets[2], "pcie_link.root_ph=0",
					  "pcie_link.root_pd=0", NULL });
	for (unsigned i = 0; i < n; i++)
		tb_send(e.up_in, &(struct tlp){ .addr = 4096, .len = s, .kind = TLP_MWR });
	tb_run(&e.t);
	busy = tb_stat(&e.t, "up_busy_ps");
	CU_ASSERT_EQUAL_FATAL(e.up_out->n_received, n);
	/* the line was never idle: the trains came out as close as they went in */
	span = (e.up_out->cycle[n - 1] - e.up_out->cycle[0]) * CYC_PS;
	CU_ASSERT(span <= busy && span + busy / n + 2 * CYC_PS >= busy);
	tb_end(&e.t);
	return busy;
}

static void pcie_link_rate_is_exact(void)
{
	/* 1000 x (256 + 24 or 16) B; ps by hand: bytes x 8 / (GT/s x encoding x lanes x efficiency) */
	static const struct {
		const char *gen, *lanes, *efficiency;
		uint64_t ps;
	} want[] = {
		{ "1", "1", "10000", 1120000000 },
		{ "2", "4", "10000", 140000000 },
		{ "3", "8", "10000", 35546875 },
		{ "4", "8", "10000", 17773437 },
		{ "5", "4", "10000", 17773437 },
		{ "6", "2", "10000", 18440677 },
		{ "3", "8", "9185", 38701007 },
		/* 0: DLLPs take their share from framed TLPs, none from those in flits */
		{ "1", "1", "0", 1219379422 },
		{ "3", "8", "0", 38701007 },
		{ "5", "4", "0", 19350503 },
		{ "6", "2", "0", 18440677 },
	};

	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		CU_ASSERT_EQUAL(busy_ps(want[i].gen, want[i].lanes, want[i].efficiency, 256, 1000),
				want[i].ps);
	/* pcie-bench: 57.88 Gb/s for TLPs at Gen3 x8; 280000 B in 10 Mb/s, rounded */
	CU_ASSERT_EQUAL((280000ull * 8 * PS_PER_S / want[6].ps + 5000000) / 10000000, 5788);
}

static void pcie_link_train_arrives_after_its_last_byte(void)
{
	struct bench e;

	/* 4096 + 16 x 24 B at 1015.625 / 8 ps = 568750 ps; sent at cycle 1; 100 ns on the way */
	bench_start(&e, (const char *[]){ "pcie_link.efficiency=10000", NULL });
	tb_send(e.up_in, &(struct tlp){ .addr = 4096, .len = 4096, .kind = TLP_MWR });
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.up_out->n_received, 1);
	CU_ASSERT_EQUAL(e.up_out->cycle[0], (4000 + 568750 + 100000 + 3999) / 4000 + 1);
	tb_end(&e.t);
}

static struct tlp random_tlp(struct rng *r, uint32_t number, bool is_up)
{
	struct tlp t = { .addr = rng_below(r, 1 << 20),
			 .len = 1 + (uint32_t)rng_below(r, 600),
			 .tag = (uint16_t)number };

	t.kind = rng_below(r, 3) == 0 ? TLP_MWR : is_up ? TLP_MRD : TLP_CPLD;
	t.cls = (uint8_t)rng_below(r, DMA_CLS_COUNT);
	return t;
}

/* The messages of a sink are those of 'sent' of one kind (or any: 0xff), in order. */
static bool is_same_order(const struct tb_port *p, const struct tlp *sent, uint32_t n, uint8_t kind)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct tlp *got = tb_got(p, k);

		if (kind != 0xff && sent[i].kind != kind)
			continue;
		if (!got || got->tag != sent[i].tag || got->addr != sent[i].addr ||
		    got->len != sent[i].len)
			return false;
		k++;
	}
	return k == p->n_received;
}

static void pcie_link_random_trains_keep_order(void)
{
	enum { N = 500 };
	static struct tlp up[N], down[N];

	for (unsigned k = 0; k < 16; k++) {
		char set_in[64], set_out[64];
		struct bench e;
		struct rng r;

		tb_stall_sets(&pcie_link_class, k / 4, k % 4, set_in, set_out);
		bench_start(&e, (const char *[]){ set_in, set_out, "pcie_link.root_ph=0",
						  "pcie_link.root_pd=0", "pcie_link.dev_ph=0",
						  "pcie_link.dev_pd=0",
						  k & 1 ? "pcie_link.depth=2" : NULL, NULL });
		rng_seed(&r, "test_pcie_link", k);
		for (uint32_t i = 0; i < N; i++) {
			up[i] = random_tlp(&r, i, true);
			down[i] = random_tlp(&r, i, false);
			tb_send(e.up_in, &up[i]);
			tb_send(e.down_in, &down[i]);
		}
		tb_run(&e.t);
		CU_ASSERT_TRUE(is_same_order(e.up_out, up, N, 0xff));
		CU_ASSERT_TRUE(is_same_order(e.down_cpl, down, N, TLP_CPLD));
		CU_ASSERT_TRUE(is_same_order(e.mmio, down, N, TLP_MWR));
		up[N / 2].len++;
		CU_ASSERT_FALSE(is_same_order(e.up_out, up, N, 0xff));
		tb_end(&e.t);
	}
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_pcie_link_tests[] = { TEST(pcie_link_bytes_match_closed_form),
				       TEST(pcie_link_wrong_header_size_is_caught),
				       TEST(pcie_link_header_set_by_hand_wins),
				       TEST(pcie_link_completions_end_at_rcb),
				       TEST(pcie_link_rate_is_exact),
				       TEST(pcie_link_train_arrives_after_its_last_byte),
				       TEST(pcie_link_random_trains_keep_order),
				       CU_TEST_INFO_NULL };
