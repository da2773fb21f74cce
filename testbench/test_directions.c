/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_directions.c - a parameter moves what it should, and only in the direction in which it should
 *
 * A row sets one key to one value after the other, runs its traffic for each, and names a metric that
 * never rises (or never falls) from one value to the next and is different at the two ends. A metric is
 * "time" (the last completion) or a statistic by its name.
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rng.h"
#include "testbench/directions.h"
#include "testbench/tb_file.h"
#include "testbench/tb_run.h"

/* Translations, unless a row has another number: so that those of other blocks see no overlap of misses. */
static const char one_at_a_time[] = "[mtt]\nwindow = 1\nmax_misses = 1\nline = 8\n"
				    "[dma_engine]\ncpl_buffer = 128KiB\n";

static uint64_t metric_of(const struct tb_run *t, const char *metric)
{
	uint64_t last = 0;

	if (strcmp(metric, "time") != 0)
		return tb_run_stat(t, metric);
	for (unsigned i = 0; i < WR_OPCODES; i++)
		last = last > t->report.ops[i].last_ps ? last : t->report.ops[i].last_ps;
	return last;
}

#define SINGLE_QPS 16u
#define SINGLE_REQUESTS 160u
#define MAX_SETS 8u

/* WRITEs of many QPs in a random order, each when the one before it is complete. */
static const char *single_requests(void)
{
	static char text[32 * 1024];
	size_t n = (size_t)snprintf(text, sizeof(text), HOSTS);
	struct rng rng;

	rng_seed(&rng, "directions", 1);
	for (unsigned i = 0; i < SINGLE_QPS; i++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n,
			"qp h0 a%u type=RC peer=h1.a%u\nqp h1 a%u type=RC peer=h0.a%u\n", i, i, i,
			i);
	for (unsigned i = 1; i <= SINGLE_REQUESTS; i++) {
		unsigned qp = (unsigned)rng_below(&rng, SINGLE_QPS);

		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "post h0.a%u id=%u op=RDMA_WRITE sge=src:0:64 remote=dst:0",
				      qp, i);
		n += (size_t)snprintf(text + n, sizeof(text) - n, i > 1 ? " after=%u\n" : "\n",
				      i - 1);
	}
	CU_ASSERT_FATAL(n < sizeof(text));
	return text;
}

static uint64_t measure(const struct row *r, const char *value)
{
	static struct tb_run t;
	const char *traffic = r->traffic ? r->traffic : single_requests(), *sets[MAX_SETS + 1];
	char set[96], *also = x_strdup(r->also ? r->also : ""), *save = NULL;
	unsigned n = 0;
	uint64_t v;

	snprintf(set, sizeof(set), "%s=%s", r->key, value);
	sets[n++] = set;
	for (char *s = strtok_r(also, " ", &save); s && n < MAX_SETS;
	     s = strtok_r(NULL, " ", &save))
		sets[n++] = s;
	sets[n] = NULL;
	tb_run_ok(&t, &(struct tb_run_how){
			      .trace = tb_write("directions.trace", traffic, strlen(traffic)),
			      .ini = one_at_a_time,
			      .sets = sets,
			      .no_checkers = true });
	v = metric_of(&t, r->metric);
	tb_run_close(&t);
	free(also);
	return v;
}

/* Steps of a row that went the other way; one more when the two ends are equal. */
static unsigned count_wrong(const struct row *r, enum direction direction)
{
	uint64_t first = measure(r, r->values[0]), before = first, now = first;
	unsigned wrong = 0;

	for (unsigned i = 1; r->values[i]; i++, before = now) {
		now = measure(r, r->values[i]);
		if (direction == NEVER_RISES ? now > before : now < before) {
			printf("%s=%s: %s is %llu after %llu\n", r->key, r->values[i], r->metric,
			       (unsigned long long)now, (unsigned long long)before);
			wrong++;
		}
	}
	if (now == first)
		printf("%s: %s is %llu at both ends\n", r->key, r->metric, (unsigned long long)now);
	return wrong + (now == first);
}

static void directions_of_parameters_are_right(void)
{
	for (size_t i = 0; i < n_direction_rows; i++)
		CU_ASSERT_EQUAL(count_wrong(&direction_rows[i], direction_rows[i].direction), 0);
}

static void directions_wrong_way_round_are_caught(void)
{
	CU_ASSERT(count_wrong(&direction_rows[0], NEVER_FALLS) > 0);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_directions_tests[] = { TEST(directions_of_parameters_are_right),
					TEST(directions_wrong_way_round_are_caught),
					CU_TEST_INFO_NULL };
