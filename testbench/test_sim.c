/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sim.c - clock edges, and the wheel against a plain list of who wants to run when
 */
#include "testbench/tb.h"

#define N_SLEEPERS 64u
#define N_RUNS 400u

/* Sleeps for random times of very different sizes and writes down when it ran. */
struct sleeper {
	struct block b;
	uint64_t wanted_cyc;
	uint64_t runs, late; /* late: ran at another cycle than the one it asked for */
	uint64_t bad_edge;   /* ran at a time that is not the edge of its cycle */
	uint64_t backwards;  /* simulated time went back */
};

static const struct field sleeper_fields[] = { FIELDS_END };
static uint64_t last_ps;

static uint64_t sleeper_step(struct block *b)
{
	struct sleeper *s = (struct sleeper *)b;
	/* 1 cycle .. beyond the near wheel, the far wheel and the overflow list */
	static const uint64_t span[] = { 1,
					 3,
					 100,
					 WHEEL_SLOTS - 1,
					 WHEEL_SLOTS,
					 3 * WHEEL_SLOTS,
					 (uint64_t)WHEEL_SLOTS * WHEEL_PAGES,
					 5ull * WHEEL_SLOTS * WHEEL_PAGES };

	s->late += b->cycle != s->wanted_cyc;
	s->bad_edge += b->now_ps != (uint64_t)((u128)b->cycle * PS_PER_S / b->dom->hz);
	s->backwards += b->now_ps < last_ps;
	last_ps = b->now_ps;
	if (++s->runs == N_RUNS)
		return CYCLE_NEVER;
	return s->wanted_cyc =
		       b->cycle + 1 + rng_below(&b->rng, span[rng_below(&b->rng, ARRAY_LEN(span))]);
}

static const struct block_class sleeper_class = { .name = "sleeper",
						  .impl = "c",
						  .size = sizeof(struct sleeper),
						  .fields = sleeper_fields,
						  .step = sleeper_step };

static void run_sleepers(enum step_order order, struct sleeper *out)
{
	static const uint64_t hz[] = { 250000000, 322265625, 1000000000, 333333333 };
	const struct block_class *const classes[] = { &sleeper_class, NULL };
	struct sleeper *s[N_SLEEPERS];
	struct config cfg;
	struct err e = { 0 };
	struct sim sim;

	config_init(&cfg);
	sim_init(&sim, 7);
	sim.order = order;
	last_ps = 0;
	for (uint32_t i = 0; i < N_SLEEPERS; i++) {
		char path[16];

		snprintf(path, sizeof(path), "s%u", i);
		s[i] = (struct sleeper *)netlist_add(&sim, classes, "sleeper", path, &cfg,
						     hz[i % 4], NULL, &e);
	}
	CU_ASSERT_TRUE_FATAL(netlist_finish(&sim, &e));
	CU_ASSERT_EQUAL(sim_run(&sim), SIM_END_IDLE);
	CU_ASSERT_EQUAL(sim.steps, (uint64_t)N_SLEEPERS * N_RUNS);
	for (uint32_t i = 0; i < N_SLEEPERS; i++)
		out[i] = *s[i];
	sim_destroy(&sim);
	config_destroy(&cfg);
}

static void wheel_random_sleeps_run_at_their_cycle(void)
{
	static struct sleeper s[3][N_SLEEPERS];

	for (unsigned order = ORDER_FORWARD; order <= ORDER_SHUFFLED; order++) {
		run_sleepers((enum step_order)order, s[order]);
		for (uint32_t i = 0; i < N_SLEEPERS; i++) {
			CU_ASSERT_EQUAL(s[order][i].runs, N_RUNS);
			CU_ASSERT_EQUAL(s[order][i].late, 0);
			CU_ASSERT_EQUAL(s[order][i].bad_edge, 0);
			CU_ASSERT_EQUAL(s[order][i].backwards, 0);
			CU_ASSERT_EQUAL(s[order][i].wanted_cyc, s[0][i].wanted_cyc);
		}
	}
}

/* The check above must see a wake-up that comes a cycle early. */
static void wheel_early_wakeup_is_caught(void)
{
	const struct block_class *const classes[] = { &sleeper_class, NULL };
	struct config cfg;
	struct err e = { 0 };
	struct sim sim;
	struct sleeper *s;

	config_init(&cfg);
	sim_init(&sim, 7);
	last_ps = 0;
	s = (struct sleeper *)netlist_add(&sim, classes, "sleeper", "s", &cfg, 250000000, NULL, &e);
	CU_ASSERT_TRUE_FATAL(netlist_finish(&sim, &e));
	s->wanted_cyc =
		1; /* the seeded fault: the block runs at 0 and believes that it asked for 1 */
	sim_run(&sim);
	CU_ASSERT_EQUAL(s->late, 1);
	sim_destroy(&sim);
	config_destroy(&cfg);
}

static void domain_cycle_at_is_first_edge_at_or_after(void)
{
	static const uint64_t hz[] = { 1,         250000000, 322265625,    333333333,
				       156250000, 999999937, 1000000000000 };
	struct rng r;
	struct sim s;

	rng_seed(&r, "edges", 1);
	for (size_t i = 0; i < ARRAY_LEN(hz); i++) {
		struct domain *d;

		sim_init(&s, 1);
		d = sim_domain(&s, hz[i]);
		for (unsigned k = 0; k < 20000; k++) {
			uint64_t ps = rng_next(&r) >> (1 + rng_below(&r, 62)),
				 cyc = domain_cycle_at(d, ps);

			CU_ASSERT_TRUE(domain_edge(d, cyc) >= ps);
			CU_ASSERT_TRUE(cyc == 0 || domain_edge(d, cyc - 1) < ps);
		}
		sim_destroy(&s);
	}
}

/* 322.265625 MHz is 3103.0303... ps: after a whole second there are exactly 322,265,625 cycles. */
static void domain_fractional_period_does_not_drift(void)
{
	struct sim s;
	struct domain *d;

	sim_init(&s, 1);
	d = sim_domain(&s, 322265625);
	CU_ASSERT_EQUAL(domain_edge(d, 1), 3103);
	CU_ASSERT_EQUAL(domain_edge(d, 33), 102400);
	CU_ASSERT_EQUAL(domain_edge(d, 322265625), PS_PER_S);
	CU_ASSERT_EQUAL(domain_edge(d, 322265625ull * 1000000), PS_PER_S * 1000000);
	CU_ASSERT_PTR_EQUAL(sim_domain(&s, 322265625), d);
	sim_destroy(&s);
}

static void run_until_stops_before_the_limit_and_goes_on(void)
{
	const struct block_class *const classes[] = { &sleeper_class, NULL };
	struct config cfg;
	struct err e = { 0 };
	struct sim sim;
	struct sleeper *s;

	config_init(&cfg);
	sim_init(&sim, 3);
	last_ps = 0;
	s = (struct sleeper *)netlist_add(&sim, classes, "sleeper", "s", &cfg, 250000000, NULL, &e);
	CU_ASSERT_TRUE_FATAL(netlist_finish(&sim, &e));
	sim.until_ps = 0;
	CU_ASSERT_EQUAL(sim_run(&sim), SIM_END_UNTIL);
	CU_ASSERT_EQUAL(s->runs, 1);
	sim.until_ps = TIME_NEVER;
	CU_ASSERT_EQUAL(sim_run(&sim), SIM_END_IDLE);
	CU_ASSERT_EQUAL(s->runs, N_RUNS);
	CU_ASSERT_EQUAL(s->late, 0);
	sim_destroy(&sim);
	config_destroy(&cfg);
}

CU_TestInfo test_sim_tests[] = {
	{ "wheel_random_sleeps_run_at_their_cycle", wheel_random_sleeps_run_at_their_cycle },
	{ "wheel_early_wakeup_is_caught", wheel_early_wakeup_is_caught },
	{ "domain_cycle_at_is_first_edge_at_or_after", domain_cycle_at_is_first_edge_at_or_after },
	{ "domain_fractional_period_does_not_drift", domain_fractional_period_does_not_drift },
	{ "run_until_stops_before_the_limit_and_goes_on",
	  run_until_stops_before_the_limit_and_goes_on },
	CU_TEST_INFO_NULL,
};
