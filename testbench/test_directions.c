/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_directions.c - a parameter moves what it should, in the direction in which it should, and nothing else
 *
 * A row sets one key to one value after the other, runs its traffic for each, and names a metric that
 * never rises (never falls, hardly rises) from one value to the next and is different at the two ends. A metric is
 * "time" (the last completion) or a statistic by its name. What is counted besides is the same at all
 * values, but for the groups that the row names.
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

/* What a program sees; then each group. NULL at the end. */
#define BOTH(of, what) "nic0." of "." what, "nic1." of "." what
#define LINK(what) BOTH("pcie_link", "up_" what "_b"), BOTH("pcie_link", "down_" what "_b")
#define GROUPS 14u
#define SEEN 13u /* of these: what is seen */
static const char *const counted[GROUPS][20] = {
	/* PACKETS */ { BOTH("mac", "tx_frames"), BOTH("mac", "tx_bytes") },
	/* PAYLOAD */ { LINK("payload_read"), LINK("payload_write"), LINK("atomic") },
	/* DOORBELLS */ { LINK("doorbell") },
	/* WQES */ { LINK("wqe"), LINK("rq_wqe"), LINK("dbr") },
	/* CQES */ { LINK("cqe") },
	/* QPCS */ { BOTH("qpc_tx", "misses"), BOTH("qpc_rx", "misses") },
	/* CQCS */ { BOTH("cqc", "misses") },
	/* KEYS */ { BOTH("mtt", "mpt_misses"), LINK("mpt") },
	/* PAGES */ { BOTH("mtt", "mtt_misses"), LINK("mtt") },
	/* RSCS */ { BOTH("rsc", "misses") },
	/* REFETCHES */ { BOTH("requester", "wqe_refetches") },
	/* IOTLB */ { "host0.host_mem.iotlb_misses", "host1.host_mem.iotlb_misses" },
	/* LLC */ { "host0.host_mem.llc_misses", "host1.host_mem.llc_misses" },
	[SEEN] = { "host0.workload.posts", "host0.workload.cqes", "host1.workload.cqes",
		   "host0.workload.error_cqes", "nic1.responder.messages", "nic0.wqe_fetch.wqes",
		   "nic0.requester.wqes", BOTH("requester", "resent_packets"),
		   BOTH("mac", "rx_dropped"), BOTH("responder", "naks_sent") },
};
static const char *const group_names[GROUPS] = { "PACKETS", "PAYLOAD",     "DOORBELLS", "WQES",
						 "CQES",    "QPCS",        "CQCS",      "KEYS",
						 "PAGES",   "RSCS",        "REFETCHES", "IOTLB",
						 "LLC",     "what is seen" };

/* What a run gave. */
struct counts {
	uint64_t metric, group[GROUPS]; /* a hash of each group's counts; of memory too */
};

static uint64_t mix(uint64_t h, uint64_t v)
{
	return (h ^ v) * 0x9e3779b97f4a7c15ull ^ h >> 29;
}

/* The first bytes of all that is written to. */
static uint64_t memory_hash(const struct tb_run *t)
{
	static const char *const mrs[][2] = { { "h0", "src" }, { "h1", "dst" } };
	static uint8_t bytes[64 * 1024];
	uint64_t h = 0, word;

	for (size_t i = 0; i < ARRAY_LEN(mrs); i++) {
		tb_run_read(t, mrs[i][0], mrs[i][1], 0, bytes, sizeof(bytes));
		for (size_t k = 0; k < sizeof(bytes); k += sizeof(word)) {
			memcpy(&word, bytes + k, sizeof(word));
			h = mix(h, word);
		}
	}
	return h;
}

static struct counts counts_of(const struct tb_run *t, const char *metric)
{
	struct counts o = { .metric = metric_of(t, metric) };

	for (unsigned g = 0; g < GROUPS; g++)
		for (const char *const *s = counted[g]; *s; s++)
			if (strcmp(*s, metric) != 0)
				o.group[g] = mix(o.group[g], tb_run_stat(t, *s));
	o.group[SEEN] = mix(o.group[SEEN], memory_hash(t));
	return o;
}

/* Run the row's traffic, and more if that is not NULL, with one value. */
static struct counts measure(const struct row *r, const char *value, const char *more)
{
	static struct tb_run t;
	static char text[64 * 1024];
	const char *sets[MAX_SETS + 1];
	char set[96], *also = x_strdup(r->also ? r->also : ""), *save = NULL;
	unsigned n = 0;
	struct counts o;
	int len;

	snprintf(set, sizeof(set), "%s=%s", r->key, value);
	sets[n++] = set;
	for (char *s = strtok_r(also, " ", &save); s && n < MAX_SETS;
	     s = strtok_r(NULL, " ", &save))
		sets[n++] = s;
	sets[n] = NULL;
	len = snprintf(text, sizeof(text), "%s%s", r->traffic ? r->traffic : single_requests(),
		       more ? more : "");
	tb_run_ok(&t,
		  &(struct tb_run_how){ .trace = tb_write("directions.trace", text, (size_t)len),
					.ini = one_at_a_time,
					.sets = sets,
					.no_checkers = true });
	o = counts_of(&t, r->metric);
	tb_run_close(&t);
	free(also);
	return o;
}

/* Groups in which two runs of a row differ and must not. */
static unsigned moved(const struct row *r, const struct counts *a, const struct counts *b)
{
	unsigned n = 0;

	for (unsigned g = 0; g < GROUPS; g++)
		n |= a->group[g] != b->group[g] ? 1u << g : 0;
	return n & ~r->moves;
}

/* What is wrong with the outcomes at the row's n values: steps the other way, equal ends, groups moved. */
static unsigned count_wrong(const struct row *r, const struct counts *o, unsigned n,
			    enum direction direction, bool is_told)
{
	unsigned wrong = o[n - 1].metric == o[0].metric, others = 0;
	uint64_t least = o[0].metric;

	for (unsigned i = 1; i < n; i++) {
		uint64_t now = o[i].metric, before = o[i - 1].metric;
		bool is_wrong = direction == NEVER_RISES   ? now > before
				: direction == NEVER_FALLS ? now < before
							   : now > least + least / 20;

		least = least < now ? least : now;
		wrong += is_wrong;
		others |= moved(r, &o[0], &o[i]);
		if (is_wrong && is_told)
			printf("%s=%s: %s is %llu after %llu\n", r->key, r->values[i], r->metric,
			       (unsigned long long)now, (unsigned long long)before);
	}
	if (o[n - 1].metric == o[0].metric && is_told)
		printf("%s: %s is %llu at both ends\n", r->key, r->metric,
		       (unsigned long long)o[0].metric);
	for (unsigned g = 0; g < GROUPS; g++)
		if (others >> g & 1 && is_told)
			printf("%s (%s): moves %s\n", r->key, r->metric, group_names[g]);
	return wrong + (others != 0);
}

#define MAX_VALUES 8u

/* A request more than the row's traffic has. */
static const char one_more[] = "post h0.q0 id=9999 op=RDMA_WRITE sge=src:0:8 remote=dst:64\n";

/*
 * A row holds. The seeded faults, of every row: the other direction; each group that must not move
 * moved; a run with a request more, which moves what is seen.
 */
static void check_row(const struct row *r)
{
	enum direction other = r->direction == NEVER_FALLS ? NEVER_RISES : NEVER_FALLS;
	struct counts o[MAX_VALUES], last;
	unsigned n = 0;

	for (; n < MAX_VALUES && r->values[n]; n++)
		o[n] = measure(r, r->values[n], NULL);
	CU_ASSERT_FATAL(n > 1);
	CU_ASSERT_EQUAL(count_wrong(r, o, n, r->direction, true), 0);
	CU_ASSERT(count_wrong(r, o, n, other, false) > 0);
	last = o[n - 1];
	for (unsigned g = 0; g < GROUPS; g++) {
		o[n - 1].group[g]++;
		CU_ASSERT_EQUAL(count_wrong(r, o, n, r->direction, false), !(r->moves >> g & 1));
		o[n - 1] = last;
	}
	o[n - 1] = measure(r, r->values[n - 1], one_more);
	o[n - 1].metric = last.metric;
	CU_ASSERT_EQUAL(count_wrong(r, o, n, r->direction, false), 1);
}

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_row(&rows[i]);
}

static void directions_of_link_and_host_are_right(void)
{
	check_rows(direction_link_rows, n_direction_link_rows);
}

static void directions_of_caches_are_right(void)
{
	check_rows(direction_caches_rows, n_direction_caches_rows);
}

static void directions_of_engines_are_right(void)
{
	check_rows(direction_engines_rows, n_direction_engines_rows);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_directions_tests[] = { TEST(directions_of_link_and_host_are_right),
					TEST(directions_of_caches_are_right),
					TEST(directions_of_engines_are_right), CU_TEST_INFO_NULL };
