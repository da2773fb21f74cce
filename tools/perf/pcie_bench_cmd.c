/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcie_bench_cmd.c - `rnicsim pcie-bench`: what a host's PCI Express path does to DMA
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/run/commands.h"
#include "models/iommu.h"
#include "models/pcie_bench.h"
#include "sim/config.h"

#define MAX_SETS 64u
#define N_LAT 10000u
#define N_BW 20000u

static const char usage[] =
	"usage: rnicsim pcie-bench {lat_rd,lat_wrrd,bw_rd,bw_wr,bw_rdwr} [-s SIZE | -a] [-w WINDOW] "
	"[-n TRANSFERS] [--sequential] [--cold] [--remote] [--iommu 4KiB|2MiB|1GiB] [--direct] "
	"[--histogram] [--nic PROFILE] [--set block.key=value]... [--seed N]";

/* The sizes of -a: where segments and maximum payloads end, and one byte more. */
static const uint32_t all_sizes[] = {
	8, 16, 32, 64, 128, 129, 256, 257, 512, 513, 1024, 2048, 4096
};

struct request {
	struct pcie_bench_how how;
	uint64_t size, window, n, seed;
	bool is_all, has_histogram;
	const char *page;
	const char *sets[MAX_SETS + 1];
	uint32_t n_sets;
};

enum form { OPT_FLAG, OPT_BYTES, OPT_COUNT, OPT_WORD, OPT_SET };

struct option {
	const char *name;
	enum form form;
	size_t member; /* of struct request: bool, uint64_t or const char * */
	uint64_t min, max;
};

#define AT(m) offsetof(struct request, m)
static const struct option options[] = {
	{ "-s", OPT_BYTES, AT(size), 1, PCIE_BENCH_MAX_B },
	{ "-a", OPT_FLAG, AT(is_all), 0, 0 },
	{ "-w", OPT_BYTES, AT(window), 1, 1 * GIB },
	{ "-n", OPT_COUNT, AT(n), 16, 10000000 },
	{ "--sequential", OPT_FLAG, AT(how.is_sequential), 0, 0 },
	{ "--cold", OPT_FLAG, AT(how.is_cold), 0, 0 },
	{ "--remote", OPT_FLAG, AT(how.is_remote), 0, 0 },
	{ "--iommu", OPT_WORD, AT(page), 0, 0 },
	{ "--direct", OPT_FLAG, AT(how.is_direct), 0, 0 },
	{ "--histogram", OPT_FLAG, AT(has_histogram), 0, 0 },
	{ "--nic", OPT_WORD, AT(how.profile), 0, 0 },
	{ "--set", OPT_SET, 0, 0, 0 },
	{ "--seed", OPT_COUNT, AT(seed), 0, UINT64_MAX },
};

/* ---- the command line ---- */

static bool take_number(struct request *q, const struct option *o, const char *text, struct err *e)
{
	uint64_t *to = (uint64_t *)(void *)((char *)q + o->member);
	bool ok = o->form == OPT_BYTES ? parse_bytes(text, to) : parse_count(text, to);

	if (ok && *to >= o->min && *to <= o->max)
		return true;
	return err_set(e, NULL, 0, "pcie-bench: %s %s: allowed: %" PRIu64 " to %" PRIu64 "%s",
		       o->name, text, o->min, o->max, o->form == OPT_BYTES ? " bytes" : "");
}

static bool take_option(struct request *q, const struct option *o, const char *text, struct err *e)
{
	void *to = (char *)q + o->member;

	if (o->form != OPT_FLAG && (!text || !text[0]))
		return err_set(e, NULL, 0, "pcie-bench: %s needs a value; %s", o->name, usage);
	switch (o->form) {
	case OPT_FLAG:
		*(bool *)to = true;
		return true;
	case OPT_WORD:
		*(const char **)to = text;
		return true;
	case OPT_SET:
		if (q->n_sets == MAX_SETS)
			return err_set(e, NULL, 0, "pcie-bench: allowed: %u times --set", MAX_SETS);
		q->sets[q->n_sets++] = text;
		return true;
	default:
		return take_number(q, o, text, e);
	}
}

static bool take_page(struct request *q, struct err *e)
{
	static const char *const names[IOMMU_PAGES] = { "4KiB", "2MiB", "1GiB" };

	q->how.has_iommu = q->page != NULL;
	for (uint32_t i = 0; q->page && i < IOMMU_PAGES; i++) {
		if (strcmp(q->page, names[i]) == 0) {
			q->how.page = i;
			return true;
		}
	}
	return !q->page ||
	       err_set(e, NULL, 0, "pcie-bench: --iommu %s: allowed: 4KiB, 2MiB, 1GiB", q->page);
}

static bool take_kind(struct request *q, const char *text, struct err *e)
{
	for (uint32_t i = 0; i < PCIE_BENCH_KINDS; i++) {
		if (text && strcmp(text, pcie_bench_kind_names[i]) == 0) {
			q->how.kind = i;
			return true;
		}
	}
	return text ? err_set(e, NULL, 0,
			      "pcie-bench: no measurement '%s'; allowed: lat_rd, lat_wrrd, bw_rd, "
			      "bw_wr, bw_rdwr",
			      text)
		    : err_set(e, NULL, 0, "%s", usage);
}

static bool parse(struct request *q, int argc, char **argv, struct err *e)
{
	*q = (struct request){ .size = 64, .window = 8 * KIB, .seed = 1 };
	if (!take_kind(q, argc > 1 ? argv[1] : NULL, e))
		return false;
	for (int i = 2; i < argc; i++) {
		const struct option *o = NULL;

		for (size_t k = 0; k < ARRAY_LEN(options); k++)
			if (strcmp(argv[i], options[k].name) == 0)
				o = &options[k];
		if (!o)
			return err_set(e, NULL, 0, "pcie-bench: unknown option '%s'; %s", argv[i],
				       usage);
		if (!take_option(q, o, o->form == OPT_FLAG ? NULL : argv[i + 1], e))
			return false;
		i += o->form != OPT_FLAG;
	}
	if (!take_page(q, e))
		return false;
	if (q->is_all && q->window < PCIE_BENCH_MAX_B)
		return err_set(e, NULL, 0,
			       "pcie-bench: -w %" PRIu64 ": allowed with -a: %u bytes or more",
			       q->window, PCIE_BENCH_MAX_B);
	if (q->has_histogram && q->how.kind > PCIE_LAT_WRRD)
		return err_set(e, NULL, 0,
			       "pcie-bench: --histogram: allowed with lat_rd, lat_wrrd");
	q->how.sets = q->sets;
	q->how.seed = q->seed;
	q->how.window = q->window;
	q->how.n = (uint32_t)(q->n ? q->n : q->how.kind <= PCIE_LAT_WRRD ? N_LAT : N_BW);
	return true;
}

/* ---- the table ---- */

static void print_head(const struct request *q)
{
	printf("# %s, window %" PRIu64 " B, %s, %s cache, %s node, IOMMU %s, seed %" PRIu64 "\n",
	       pcie_bench_kind_names[q->how.kind], q->how.window,
	       q->how.is_sequential ? "sequential" : "random", q->how.is_cold ? "cold" : "warm",
	       q->how.is_remote ? "remote" : "local", q->page ? q->page : "off", q->seed);
	if (q->how.kind <= PCIE_LAT_WRRD)
		puts("#bytes  transfers   min[ns]  median[ns]   p99[ns]  p99.9[ns]   max[ns]");
	else
		puts("#bytes  transfers      Gb/s  Mtransfers/s");
}

static double ns(uint64_t ps)
{
	return (double)ps / 1e3;
}

/* The latencies that came, each once, with how many did and the share up to it. */
static void print_histogram(const struct pcie_bench_result *r)
{
	puts("#latency[ns]  transfers  share[%]");
	for (uint64_t i = 0, from = 0; i < r->n; i++) {
		if (i + 1 < r->n && r->latency_ps[i + 1] == r->latency_ps[i])
			continue;
		printf("%12.3f  %9" PRIu64 "  %8.3f\n", ns(r->latency_ps[i]), i + 1 - from,
		       100.0 * (double)(i + 1) / (double)r->n);
		from = i + 1;
	}
}

static void print_row(const struct request *q, const struct pcie_bench_result *r)
{
	if (q->how.kind > PCIE_LAT_WRRD) {
		printf("%6" PRIu32 "  %9" PRIu64 "  %8.2f  %12.2f\n", q->how.size, r->n,
		       (double)r->mbps / 1e3, (double)r->kops / 1e3);
		return;
	}
	printf("%6" PRIu32 "  %9" PRIu64 "  %8.1f  %10.1f  %8.1f  %9.1f  %8.1f\n", q->how.size,
	       r->n, ns(r->min_ps), ns(r->median_ps), ns(r->latency_ps[r->n - 1 - r->n / 100]),
	       ns(r->p999_ps), ns(r->max_ps));
	if (q->has_histogram)
		print_histogram(r);
}

int cmd_pcie_bench(int argc, char **argv, struct err *e)
{
	struct request q;
	uint32_t one, n = 1;
	const uint32_t *sizes = &one;

	if (!parse(&q, argc, argv, e))
		return EXIT_BAD_INPUT;
	one = (uint32_t)q.size;
	if (q.is_all) {
		sizes = all_sizes;
		n = ARRAY_LEN(all_sizes);
	}
	for (uint32_t i = 0; i < n; i++) {
		struct pcie_bench_result r;

		q.how.size = sizes[i];
		if (!pcie_bench_run(&q.how, &r, e))
			return EXIT_BAD_INPUT;
		if (i == 0)
			print_head(&q);
		print_row(&q, &r);
		pcie_bench_release(&r);
	}
	return EXIT_OK;
}
