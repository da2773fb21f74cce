/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stalls.c - artificial stalls at the inputs and outputs of any block change times, never
 * results
 *
 * RNICSIM_STALL_RUNS=N runs so many random traces with stalls at all blocks [60].
 */
#include <CUnit/CUnit.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbench/tb.h"
#include "testbench/tb_judge.h"

#define RUNS 60u
#define MAX_SETS 64u

extern const struct block_class *const block_classes[];

/* --set arguments that live as long as this. */
struct sets {
	char text[MAX_SETS][64];
	const char *list[MAX_SETS + 1];
	unsigned n;
};

static void add_stalls(struct sets *s, const struct block_class *cls, unsigned in, unsigned out)
{
	tb_stall_sets(cls, in, out, s->text[s->n], s->text[s->n + 1]);
	s->list[s->n] = s->text[s->n];
	s->list[s->n + 1] = s->text[s->n + 1];
	s->n += 2;
}

/* What is wrong with the run of a clean case, NULL when nothing; its end into *end_ps. */
static const char *run(uint64_t seed, const struct gen_want *want, const struct sets *s,
		       uint64_t *end_ps)
{
	static struct tb_case c;
	static char text[1400];
	const char *what = "it cannot be run";

	if (tb_case_run(&c, seed, want, s->list, ORDER_FORWARD, false)) {
		what = tb_case_refer(&c);
		what = what ? what : tb_judge(&c);
	}
	*end_ps = c.run.r.sim.now_ps;
	if (what)
		snprintf(text, sizeof(text), "seed %" PRIu64 ", %s, %s: %s", seed,
			 s->list[0] ? s->list[0] : "", s->list[0] ? s->list[1] : "", what);
	tb_case_close(&c);
	return what ? text : NULL;
}

static const struct gen_want plain = { .is_clean = true, .is_plain_nic = true };

/* A clean case with every operation of reliable connections. */
static uint64_t full_seed(void)
{
	for (uint64_t seed = 1;; seed++) {
		struct gen_case g;
		bool is_full = true;

		gen_make(&g, seed, &plain);
		for (unsigned op = 0; op < WR_OPCODES; op++) {
			char word[64];

			snprintf(word, sizeof(word), "op=%s ", wr_opcode_names[op]);
			is_full &= strstr(g.trace, word) != NULL;
		}
		gen_free(&g);
		if (is_full)
			return seed;
	}
}

/* pcie_bench stands in the place of a NIC; test_pcie_bench.c stalls it. */
static bool is_of_a_run(const struct block_class *cls)
{
	return strcmp(cls->impl, "c") == 0 && strcmp(cls->name, "pcie_bench") != 0;
}

static void block_under_all_stalls_changes_no_result(void)
{
	uint64_t seed = full_seed(), quiet_ps, end_ps;
	unsigned failures = 0, n_slow = 0, n = 0;

	CU_ASSERT_PTR_NULL(run(seed, &plain, &(struct sets){ .n = 0 }, &quiet_ps));
	for (const struct block_class *const *cls = block_classes; *cls; cls++) {
		uint64_t longest = 0;

		if (!is_of_a_run(*cls))
			continue;
		for (unsigned k = 1; k < 16; k++) {
			struct sets s = { .n = 0 };
			const char *what;

			add_stalls(&s, *cls, k % 4, k / 4);
			what = run(seed, &plain, &s, &end_ps);
			longest = max_u64(longest, end_ps);
			if (what) {
				printf("%s\n", what);
				failures++;
			}
		}
		n_slow += longest > quiet_ps;
		n++;
	}
	CU_ASSERT_EQUAL(failures, 0);
	CU_ASSERT(n_slow > n * 3 / 4); /* the stalls were there; few blocks are never in the way */
}

/*
 * NICs of odd sizes, and a pattern at every block. A responder that is told 1000 cycles late that its answer left may
 * have the next READ or ATOMIC first, which is none too many.
 */
static void all_blocks_stalled_change_no_result(void)
{
	static const struct gen_want clean = { .is_clean = true };
	const char *v = getenv("RNICSIM_STALL_RUNS");
	uint64_t n = v ? strtoull(v, NULL, 0) : RUNS, end_ps;
	unsigned failures = 0;
	struct rng rng;

	rng_seed(&rng, "stalls", 1);
	for (uint64_t seed = 0x200000; seed < 0x200000 + n && failures < 10; seed++) {
		struct sets s = { .n = 0 };
		const char *what;

		for (const struct block_class *const *cls = block_classes; *cls; cls++)
			if (is_of_a_run(*cls))
				add_stalls(&s, *cls, (unsigned)rng_below(&rng, 4),
					   (unsigned)rng_below(&rng, 4));
		s.list[s.n++] = "responder.enforce_rd_atomic=off";
		what = run(seed, &clean, &s, &end_ps);
		if (what) {
			printf("%s\n", what);
			failures++;
		}
	}
	CU_ASSERT_EQUAL(failures, 0);
}

static char *summary(uint64_t seed, const struct sets *s)
{
	static struct tb_case c;
	char *text = NULL;

	if (tb_case_run(&c, seed, &plain, s->list, ORDER_FORWARD, false) && c.status == EXIT_OK)
		text = tb_run_summary(&c.run);
	tb_case_close(&c);
	return text;
}

/* What the Verilog can do: one translation at a time, lines of one entry. */
static const char *const twin_sets[] = { "mtt.window=1", "mtt.line=8" };

static void twin_under_all_stalls_tells_the_same(void)
{
	uint64_t seed = full_seed();

	for (const struct block_class *const *cls = block_classes; *cls; cls++) {
		if (strcmp((*cls)->impl, "rtl") != 0)
			continue;
		for (unsigned k = 0; k < 16; k++) {
			struct sets s = { .n = 0 };
			char *c, *rtl;

			add_stalls(&s, *cls, k % 4, k / 4);
			for (unsigned i = 0; i < ARRAY_LEN(twin_sets); i++)
				s.list[s.n++] = twin_sets[i];
			c = summary(seed, &s);
			snprintf(s.text[s.n], sizeof(s.text[0]), "%s.impl=rtl", (*cls)->name);
			s.list[s.n] = s.text[s.n];
			rtl = summary(seed, &s);
			CU_ASSERT_FATAL(c && rtl);
			CU_ASSERT_STRING_EQUAL(c, rtl);
			free(c);
			free(rtl);
		}
	}
}

CU_TestInfo test_stalls_tests[] = {
	{ "block_under_all_stalls_changes_no_result", block_under_all_stalls_changes_no_result },
	{ "all_blocks_stalled_change_no_result", all_blocks_stalled_change_no_result },
	{ "twin_under_all_stalls_tells_the_same", twin_under_all_stalls_tells_the_same },
	CU_TEST_INFO_NULL
};
