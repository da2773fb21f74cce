/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_determinism.c - results do not depend on the order of steps, on sleeping, on waves, on the
 * implementation of a block, or on the day
 *
 * RNICSIM_DETERMINISM_RUNS=N runs so many random traces [40].
 */
#include <CUnit/CUnit.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/run/oplog_csv.h"
#include "sim/wave.h"
#include "testbench/tb_file.h"
#include "testbench/tb_judge.h"

#define RUNS 40u
#define EVERY_CYCLE_PS (60 * PS_PER_US) /* longer runs are not made with sleeping off */

extern const struct block_class *const block_classes[];

/* How a run is made; nothing of it may be seen in what it tells. */
struct manner {
	const char *name;
	enum step_order order;
	bool every_cycle, has_wave, is_rtl;
};

static const struct manner manners[] = {
	{ "again", ORDER_FORWARD, false, false, false },
	{ "reversed", ORDER_REVERSED, false, false, false },
	{ "shuffled", ORDER_SHUFFLED, false, false, false },
	{ "with waves", ORDER_FORWARD, false, true, false },
	{ "mtt in Verilog", ORDER_FORWARD, false, false, true },
	{ "every cycle", ORDER_FORWARD, true, false, false },
	{ "every cycle, shuffled, with waves, mtt in Verilog", ORDER_SHUFFLED, true, true, true },
};

/* All that a run tells: statistics, and every milestone of every request. */
struct told {
	char *summary, *rows;
	uint64_t end_ps;
	int status;
};

/* What the Verilog can do: one translation at a time, lines of one entry. */
static const char *const narrow_sets[] = { "mtt.window=1", "mtt.line=8", NULL };
static const char *const rtl_sets[] = { "mtt.window=1", "mtt.line=8", "mtt.impl=rtl", NULL };

static char *rows_text(const struct tb_watch *w)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (uint32_t i = 0; i < w->n_rows; i++) {
		const struct op_row *r = &w->rows[i];

		fprintf(f, "h%u qp %u id %" PRIu64 ".%" PRIu64 " %s status %u bytes %u", r->host,
			r->qp, r->id, r->rep, r->is_recv ? "recv" : "send", r->status, r->bytes);
		for (unsigned m = 0; m < OP_MILESTONES; m++)
			fprintf(f, " %s %" PRIu64, milestone_names[m], r->t_ps[m]);
		fputc('\n', f);
	}
	fclose(f);
	return text;
}

static void tell(struct told *t, const struct tb_run_how *how, const struct manner *m,
		 const char *const *sets)
{
	struct tb_run_how h = *how;
	struct tb_run run;
	struct tb_watch watch;
	struct wave *wave = NULL;
	struct err e = { 0 };

	h.order = m->order;
	h.every_cycle = m->every_cycle;
	h.sets = sets;
	h.no_checkers = true;
	if (!tb_run_open(&run, &h)) {
		puts(run.err.text);
		CU_FAIL_FATAL("the scenario does not run");
	}
	tb_watch(&watch, &run);
	if (m->has_wave)
		wave = wave_open(&run.r.sim, tb_path("determinism.vcd"), &e);
	t->status = tb_run_go(&run);
	oplog_flush(run.r.system->oplog);
	CU_ASSERT(!m->has_wave || wave_close(wave, &e));
	t->summary = tb_run_summary(&run);
	t->rows = rows_text(&watch);
	t->end_ps = run.r.sim.now_ps;
	tb_watch_release(&watch);
	tb_run_close(&run);
}

static void forget(struct told *t)
{
	free(t->summary);
	free(t->rows);
}

/* The first lines that differ, NULL when none do. */
static const char *difference(const char *a, const char *b)
{
	static char text[1200];
	const char *line = b;

	for (; *a && *a == *b; a++, b++)
		if (*b == '\n')
			line = b + 1;
	if (*a == *b)
		return NULL;
	a -= b - line;
	snprintf(text, sizeof(text), "%.*s | %.*s", (int)strcspn(a, "\n"), a,
		 (int)strcspn(line, "\n"), line);
	return text;
}

/* Run in manner 'm'; whether that told something else than 'first'. */
static bool differs(const struct told *first, const struct tb_run_how *how, const char *name,
		    const struct manner *m)
{
	const char *what;
	struct told t;
	bool is_other;

	tell(&t, how, m, m->is_rtl ? rtl_sets : NULL);
	what = difference(first->rows, t.rows);
	what = what ? what : difference(first->summary, t.summary);
	is_other = what || t.status != first->status;
	if (is_other)
		printf("%s, %s: status %d, %d; %s\n", name, m->name, first->status, t.status, what);
	forget(&t);
	return is_other;
}

/* Run in every manner; returns how many told something else. */
static unsigned count_differences(const struct tb_run_how *how, const char *name, bool has_cycles)
{
	bool has_rtl = class_find(block_classes, "mtt", "rtl") != NULL;
	struct told first, narrow;
	unsigned n = 0;

	tell(&first, how, &manners[0], NULL);
	if (has_rtl)
		tell(&narrow, how, &manners[0], narrow_sets);
	for (unsigned i = 0; i < ARRAY_LEN(manners); i++) {
		const struct manner *m = &manners[i];

		if ((m->is_rtl && !has_rtl) ||
		    (m->every_cycle && (!has_cycles || first.end_ps > EVERY_CYCLE_PS)))
			continue;
		n += differs(m->is_rtl ? &narrow : &first, how, name, m);
	}
	forget(&first);
	if (has_rtl)
		forget(&narrow);
	return n;
}

static void demo_tells_the_same_in_every_manner(void)
{
	CU_ASSERT_EQUAL(count_differences(&(struct tb_run_how){ .trace = "traces/demo.trace" },
					  "demo", true),
			0);
	/* traces/rtl.ini: the profile of the NIC whose translation the Verilog is */
	CU_ASSERT_EQUAL(count_differences(&(struct tb_run_how){ .trace = "traces/demo.trace",
								.ini = "[nic]\nprofile = "
								       "open-rtl\n" },
					  "demo on open-rtl", false),
			0);
	/* a line to the host that is full, and credits that lack, at once */
	CU_ASSERT_EQUAL(count_differences(&(struct tb_run_how){ .trace = "traces/demo.trace",
								.ini = "[host_mem]\nqueue = 1\n"
								       "[dma_engine]\n"
								       "mrrs = 128B\n" },
					  "demo on a full link", false),
			0);
}

static void random_traces_tell_the_same_in_every_manner(void)
{
	const char *v = getenv("RNICSIM_DETERMINISM_RUNS");
	uint64_t n = v ? strtoull(v, NULL, 0) : RUNS;
	unsigned failures = 0;

	for (uint64_t seed = 1; seed <= n && failures < 10; seed++) {
		struct tb_run_how how = { 0 };
		struct gen_case g;
		char name[32], *path;

		gen_make(&g, 0x100000 + seed, &(struct gen_want){ 0 });
		how.trace = path =
			x_strdup(tb_write("determinism.trace", g.trace, strlen(g.trace)));
		how.ini = g.ini;
		snprintf(name, sizeof(name), "seed %" PRIu64, 0x100000 + seed);
		failures += count_differences(&how, name, seed % 4 == 0);
		gen_free(&g);
		free(path);
	}
	CU_ASSERT_EQUAL(failures, 0);
}

CU_TestInfo test_determinism_tests[] = { { "demo_tells_the_same_in_every_manner",
					   demo_tells_the_same_in_every_manner },
					 { "random_traces_tell_the_same_in_every_manner",
					   random_traces_tell_the_same_in_every_manner },
					 CU_TEST_INFO_NULL };
