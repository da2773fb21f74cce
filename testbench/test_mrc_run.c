/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mrc_run.c - miss-ratio curves of whole runs against runs with caches of those sizes
 */
#include <CUnit/CUnit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/run/mrc.h"
#include "testbench/tb_file.h"
#include "testbench/tb_run.h"
#include "testbench/tb_trace.h"

#define RUN_TOLERANCE 0.02 /* miss ratio: of a run, whose order of accesses is its own */
#define RUN_QPS 24u

#define MRS(src, dst) \
	"mr h0 src va=0x10000000 len=1MiB access=lw" src "\n" \
	"mr h1 dst va=0x20000000 len=1MiB access=lw," dst "\n"

/* The path of the trace, until there is another. */
static const char *written(const char *text)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s", tb_write("mrc.trace", text, strlen(text)));
	return path;
}

/* QPs of very different activity. */
static const char *write_trace(const char *op, const char *sges, unsigned window)
{
	static char text[16384];
	int n = tb_trace_queues(text, MRS(" fill=inc", "rw,rr fill=zero"), RUN_QPS, "");

	for (unsigned i = 0; i < RUN_QPS; i++)
		n += sprintf(text + n,
			     "post h0.q%u id=%u op=%s sge=src:%u:64%s remote=dst:%u "
			     "repeat=%u window=%u stride=4096 rstride=4096\n",
			     i, i + 1, op, 64 * i, sges, 64 * i, 20 + 6 * i, window);
	return written(text);
}

/* Of two statistics; 'all' may be NULL: the first as it is. */
struct ratio {
	const char *miss, *all;
	double is;
};

/* Run; is_heard: with curves, in mrc.csv. Returns the summary. */
static char *whole_run(const char *trace, const char *const *sets, bool is_heard,
		       struct ratio *ratio, unsigned n_ratios)
{
	struct tb_run t;
	struct mrc *m = NULL;
	char *summary;

	CU_ASSERT_FATAL(tb_run_open(&t, &(struct tb_run_how){ .trace = trace, .sets = sets }));
	if (is_heard)
		m = mrc_open(&t.r.sim);
	CU_ASSERT_EQUAL(tb_run_go(&t), EXIT_OK);
	for (unsigned i = 0; i < n_ratios; i++)
		ratio[i].is = (double)tb_run_stat(&t, ratio[i].miss) /
			      (ratio[i].all ? (double)tb_run_stat(&t, ratio[i].all) : 1);
	summary = tb_run_summary(&t);
	if (m) {
		struct err e = { 0 };

		CU_ASSERT(mrc_write(m, tb_path("."), &e));
		mrc_close(m);
	}
	tb_run_close(&t);
	return summary;
}

/* Column of the row of mrc.csv for a cache and at most that many entries. */
static double csv_value(const char *csv, const char *cache, unsigned entries, bool is_ratio)
{
	double value = -1;

	for (const char *line = csv; line && *line; line = strchr(line, '\n')) {
		char name[64];
		unsigned size, n;
		double v;

		line += *line == '\n';
		if (sscanf(line, "%60[^,],%u,%*u,%u,%*u,%lf", name, &size, &n, &v) == 4 &&
		    strcmp(name, cache) == 0 && size <= entries)
			value = is_ratio ? v : n;
	}
	CU_ASSERT(value >= 0);
	return value;
}

static char *read_csv(void)
{
	char *csv = tb_read(tb_path("mrc.csv"));

	CU_ASSERT_PTR_NOT_NULL_FATAL(csv);
	remove(tb_path("mrc.csv"));
	return csv;
}

#define CONTEXTS(ways) \
	{ \
		"qpc_cache.sets=1", "qpc_cache.max_misses=1", "qpc_cache.queue=1", \
			"qpc_cache.ways=" ways, NULL \
	}

static void curves_of_a_run_change_nothing_and_foretell_other_sizes(void)
{
	static const struct {
		unsigned ways;
		const char *sets[5];
	} sizes[] = { { 2, CONTEXTS("2") },
		      { 4, CONTEXTS("4") },
		      { 8, CONTEXTS("8") },
		      { 16, CONTEXTS("16") },
		      { 32, CONTEXTS("32") } };
	struct ratio r[2] = { { "nic0.qpc_tx.misses", "nic0.qpc_tx.requests", 0 },
			      { "nic1.qpc_rx.misses", "nic1.qpc_rx.requests", 0 } };
	const char *trace = write_trace("RDMA_WRITE", "", 2);
	char *with = whole_run(trace, sizes[2].sets, true, r, 2), *csv = read_csv();
	char *without = whole_run(trace, sizes[2].sets, false, r, 2);

	CU_ASSERT_STRING_EQUAL(with, without);
	for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
		unsigned ways = sizes[i].ways;

		free(whole_run(trace, sizes[i].sets, false, r, 2));
		CU_ASSERT(fabs(r[0].is - csv_value(csv, "nic0.qpc_tx", ways, true)) <
			  RUN_TOLERANCE);
		CU_ASSERT(fabs(r[1].is - csv_value(csv, "nic1.qpc_rx", ways, true)) <
			  RUN_TOLERANCE);
	}
	remove(trace);
	free(csv);
	free(with);
	free(without);
}

#define RESOURCES(ways) \
	{ \
		"responder.rsc_cache=on", "rsc_cache.sets=1", "rsc_cache.max_misses=1", \
			"rsc_cache.queue=1", "rsc_cache.ways=" ways, NULL \
	}

static void responder_resources_of_a_run_foretell_other_sizes(void)
{
	static const struct {
		unsigned ways;
		const char *sets[6];
	} sizes[] = { { 4, RESOURCES("4") }, { 8, RESOURCES("8") }, { 16, RESOURCES("16") } };
	struct ratio r = { "nic1.rsc.misses", "nic1.rsc.requests", 0 };
	const char *trace = write_trace("RDMA_READ", "", 2);
	double least = 1, most = 0;
	char *csv;

	free(whole_run(trace, sizes[1].sets, true, &r, 1));
	csv = read_csv();
	for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
		free(whole_run(trace, sizes[i].sets, false, &r, 1));
		least = fmin(least, r.is);
		most = fmax(most, r.is);
		CU_ASSERT(fabs(r.is - csv_value(csv, "nic1.rsc", sizes[i].ways, true)) <
			  RUN_TOLERANCE);
	}
	CU_ASSERT(least < 0.9 * most);
	remove(trace);
	free(csv);
}

/* QPs with READs that all wait for the same cache. */
static const char *write_waiting(void)
{
	enum { QPS = 128 };
	static char text[65536];
	int n = tb_trace_queues(text, MRS("", "rr"), QPS, "");

	for (unsigned i = 0; i < QPS; i++)
		n += sprintf(text + n,
			     "post h0.q%u id=%u op=RDMA_READ sge=src:%u:8 remote=dst:%u repeat=30 "
			     "window=4\n",
			     i, i + 1, 64 * i, 64 * i);
	return written(text);
}

#define WAITING(ways) \
	{ \
		"responder.rsc_cache=on", "workload.cores=16", "rsc_cache.queue=256", \
			"rsc_cache.sets=1", "rsc_cache.ways=" ways, NULL \
	}

/*
 * At its own size a run has its own curve, less what shares a read. From a run with room for all, the
 * size at which all fits holds; the ratios below it are low, by no more than README says: their
 * requests came in bursts, and take turns when the cache is small.
 */
static void cache_that_all_wait_for_has_a_curve_whose_end_holds(void)
{
	static const struct {
		unsigned lines;
		const char *sets[6];
	} sizes[] = { { 8, WAITING("8") },
		      { 32, WAITING("32") },
		      { 100, WAITING("100") },
		      { 128, WAITING("128") } };
	static const char cache[] = "nic1.rsc";
	const char *trace = write_waiting();
	struct ratio r[2] = { { "nic1.rsc.misses", "nic1.rsc.requests", 0 },
			      { "nic1.rsc.merges", "nic1.rsc.requests", 0 } };
	double off = 0;
	char *all, *csv;

	free(whole_run(trace, sizes[3].sets, true, r, 2));
	all = read_csv();
	for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
		double own, foretold = csv_value(all, cache, sizes[i].lines, true);

		free(whole_run(trace, sizes[i].sets, true, r, 2));
		csv = read_csv();
		own = csv_value(csv, cache, sizes[i].lines, true);
		CU_ASSERT(own > r[0].is - RUN_TOLERANCE && own < r[0].is + r[1].is + RUN_TOLERANCE);
		CU_ASSERT(r[0].is > foretold - RUN_TOLERANCE);
		if (sizes[i].lines == 128)
			CU_ASSERT_DOUBLE_EQUAL(r[0].is, foretold, RUN_TOLERANCE);
		off = fmax(off, r[0].is - foretold);
		free(csv);
	}
	CU_ASSERT(off > 0.5 && off < 2. / 3);
	free(all);
	remove(trace);
}

/* WRITEs of up to 4 KiB to and from anywhere. */
static const char *write_scattered(void)
{
	static char text[65536];
	struct rng r;
	int n = tb_trace_queues(text, MRS("", "rw"), RUN_QPS, "");

	rng_seed(&r, "test_mrc_run", 1);
	for (unsigned i = 0; i < 600; i++)
		n += sprintf(
			text + n, "post h0.q%u id=%u op=RDMA_WRITE sge=src:%u:%u remote=dst:%u\n",
			i % RUN_QPS, i + 1, 64 * (unsigned)rng_below(&r, 16000),
			1 + (unsigned)rng_below(&r, 4096), 64 * (unsigned)rng_below(&r, 16000));
	return written(text);
}

#define PAGES(ways, more) \
	{ \
		"mtt.sets=1", "mtt.ways=" ways, more, NULL \
	}
#define ONE_AT_A_TIME "mtt.line=8", "mtt.window=1", "mtt.max_misses=1"
#define MANY_AT_A_TIME "mtt.line=64", "mtt.window=64", "mtt.max_misses=16"

/*
 * Translations of both of its clients. One look-up at a time, the misses of a run are those of its own curve to
 * the last one. With reads outstanding some look-ups share another's read: these are no misses, but the
 * curve, which knows of no reads, counts those that come late; it lies above, by no more than what was shared.
 */
static void translation_cache_of_a_run_has_its_own_curve(void)
{
	static const struct {
		unsigned ways;
		const char *one[6], *many[6];
	} sizes[] = {
		{ 2, PAGES("2", ONE_AT_A_TIME), PAGES("2", MANY_AT_A_TIME) },
		{ 8, PAGES("8", ONE_AT_A_TIME), PAGES("8", MANY_AT_A_TIME) },
		{ 32, PAGES("32", ONE_AT_A_TIME), PAGES("32", MANY_AT_A_TIME) },
		{ 128, PAGES("128", ONE_AT_A_TIME), PAGES("128", MANY_AT_A_TIME) },
	};
	static const char cache[] = "nic1.mtt.mtt";
	const char *trace = write_scattered();
	struct ratio r[2] = { { "nic1.mtt.mtt_misses", NULL, 0 }, { "nic1.mtt.merges", NULL, 0 } };
	double shared = 0;

	for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
		double n, curve;
		char *csv;

		free(whole_run(trace, sizes[i].one, true, r, 2));
		csv = read_csv();
		n = csv_value(csv, cache, 1, false);
		/* the seeded fault: the curve of a cache of half the size */
		CU_ASSERT(i == 0 ||
			  csv_value(csv, cache, sizes[i].ways / 2, true) > r[0].is / n + 0.001);
		/* ratios have six decimals */
		CU_ASSERT_DOUBLE_EQUAL(csv_value(csv, cache, sizes[i].ways, true), r[0].is / n,
				       1e-6);
		free(csv);
		free(whole_run(trace, sizes[i].many, true, r, 2));
		csv = read_csv();
		n = csv_value(csv, cache, 1, false);
		curve = csv_value(csv, cache, sizes[i].ways, true) * n;
		CU_ASSERT(curve > r[0].is - 0.1 && curve < r[0].is + r[1].is + 0.1);
		shared += r[1].is;
		free(csv);
	}
	CU_ASSERT(shared > 100);
	remove(trace);
}

#define WQES(blocks) \
	{ \
		"workload.cores=24", "requester.wqe_reads=1", "requester.rsp_ahead=1", \
			"requester.wqe_cache=" blocks, NULL \
	}

/*
 * WQEs of two blocks, READ, so that each is used when it is sent and when it is answered, and none
 * is read ahead and kept. What a run missed is what its own curve says; and of other sizes, as all
 * queues are full at all times, nearly.
 */
static void wqe_cache_of_a_run_foretells_other_sizes(void)
{
	static const struct {
		unsigned blocks;
		const char *sets[5];
	} sizes[] = {
		{ 24, WQES("24") }, { 48, WQES("48") }, { 96, WQES("96") }, { 512, WQES("512") }
	};
	static const char cache[] = "nic0.requester.wqe_cache";
	const char *trace = write_trace("RDMA_READ", ",src:8192:8,src:12288:8,src:16384:8", 4);
	struct ratio r = { "nic0.requester.wqe_refetched_bb", NULL, 0 };
	double real[ARRAY_LEN(sizes)];
	char *csv;

	for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
		free(whole_run(trace, sizes[i].sets, true, &r, 1));
		csv = read_csv();
		real[i] = r.is / csv_value(csv, cache, 1, false);
		CU_ASSERT(fabs(real[i] - csv_value(csv, cache, sizes[i].blocks, true)) < 0.001);
		free(csv);
	}
	CU_ASSERT(real[0] > 0.4 && real[2] < 0.9 * real[0] && real[3] == 0);
	free(whole_run(trace, sizes[1].sets, true, &r, 1));
	csv = read_csv();
	for (unsigned i = 0; i < ARRAY_LEN(sizes); i++)
		CU_ASSERT(fabs(real[i] - csv_value(csv, cache, sizes[i].blocks, true)) <
			  RUN_TOLERANCE);
	free(csv);
	remove(trace);
}

#define LLC(sets) \
	{ \
		"host_mem.llc=modelled", "host_mem.llc_slices=1", "host_mem.llc_ways=4", \
			"host_mem.llc_sets=" sets, NULL \
	}

static void last_level_cache_of_a_run_foretells_other_sizes(void)
{
	static const struct {
		unsigned lines;
		const char *sets[5];
	} sizes[] = { { 16, LLC("4") },
		      { 64, LLC("16") },
		      { 128, LLC("32") },
		      { 256, LLC("64") },
		      { 512, LLC("128") } };
	const char *trace = write_trace("RDMA_WRITE", "", 4);
	struct ratio r[2] = { { "host0.host_mem.llc_misses", NULL, 0 },
			      { "host0.host_mem.llc_hits", NULL, 0 } };
	char *with = whole_run(trace, sizes[4].sets, true, r, 2), *csv = read_csv(), *without;

	CU_ASSERT_EQUAL(csv_value(csv, "host0.host_mem.llc", 512, false), r[0].is + r[1].is);
	CU_ASSERT(csv_value(csv, "host0.host_mem.llc", 16, true) >
		  csv_value(csv, "host0.host_mem.llc", 512, true) + 0.1);
	for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
		without = whole_run(trace, sizes[i].sets, false, r, 2);
		CU_ASSERT(fabs(r[0].is / (r[0].is + r[1].is) -
			       csv_value(csv, "host0.host_mem.llc", sizes[i].lines, true)) <
			  RUN_TOLERANCE);
		if (i + 1 == ARRAY_LEN(sizes))
			CU_ASSERT_STRING_EQUAL(with, without);
		free(without);
	}
	free(with);
	free(csv);
	remove(trace);
}

CU_TestInfo test_mrc_run_tests[] = { { "responder_resources_of_a_run_foretell_other_sizes",
				       responder_resources_of_a_run_foretell_other_sizes },
				     { "curves_of_a_run_change_nothing_and_foretell_other_sizes",
				       curves_of_a_run_change_nothing_and_foretell_other_sizes },
				     { "cache_that_all_wait_for_has_a_curve_whose_end_holds",
				       cache_that_all_wait_for_has_a_curve_whose_end_holds },
				     { "translation_cache_of_a_run_has_its_own_curve",
				       translation_cache_of_a_run_has_its_own_curve },
				     { "wqe_cache_of_a_run_foretells_other_sizes",
				       wqe_cache_of_a_run_foretells_other_sizes },
				     { "last_level_cache_of_a_run_foretells_other_sizes",
				       last_level_cache_of_a_run_foretells_other_sizes },
				     CU_TEST_INFO_NULL };
