/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mrc.c - the caches of a system, and their curves as a file and as a table
 */
#include "tools/run/mrc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/ctx_cache.h"
#include "models/host_mem.h"
#include "models/mtt.h"
#include "models/requester.h"
#include "models/verbs/wqe.h"
#include "sim/outfile.h"

#define NAME_LEN 96

/* A cache and its curve. */
struct mrc_cache {
	char name[NAME_LEN];
	uint64_t lines;         /* that it has; 0: room for all */
	uint32_t bytes;         /* of a line */
	const uint64_t *misses; /* as the run counted them */
	struct mrc_curve *curve;
	struct mrc_llc *llc; /* instead, for a last-level cache */
};

struct mrc {
	struct mrc_cache *cache;
	uint32_t n;
};

static struct mrc_cache *add(struct mrc *m, const struct block *b, const char *part, uint32_t bytes,
			     const uint64_t *misses)
{
	struct mrc_cache *c;

	m->cache = x_realloc(m->cache, (m->n + 1) * sizeof(*m->cache));
	c = &m->cache[m->n++];
	*c = (struct mrc_cache){ .bytes = bytes, .misses = misses };
	snprintf(c->name, sizeof(c->name), "%.60s%s", b->name, part);
	return c;
}

/* A tag store whose lines have 'bytes', and the curve that listens to it. */
static void add_tags(struct mrc *m, const struct block *b, const char *part, struct assoc *a,
		     uint32_t bytes, const uint64_t *misses)
{
	struct mrc_cache *c = add(m, b, part, bytes, misses);

	c->lines = (uint64_t)a->n_sets * a->n_ways;
	c->curve = mrc_curve_create();
	a->tap = mrc_curve_tap(c->curve);
}

static void add_contexts(struct mrc *m, struct block *b)
{
	struct ctx_cache *c = (struct ctx_cache *)b;

	add_tags(m, b, "", &c->tags, c->entry, &c->misses);
}

static void add_wqes(struct mrc *m, struct block *b)
{
	struct requester *r = (struct requester *)b;

	add_tags(m, b, ".wqe_cache", &r->cached, WQE_BB, &r->wqe_refetched_bb);
}

static void add_translation(struct mrc *m, struct block *b)
{
	struct mtt *t = (struct mtt *)b;

	if (t->rtl) /* the caches are in the Verilog */
		return;
	add_tags(m, b, ".mpt", &t->mpt_tags, t->mpt_entry, &t->mpt_misses);
	add_tags(m, b, ".mtt", &t->mtt_tags, MTT_ENTRY << t->line, &t->mtt_misses);
}

static void add_host(struct mrc *m, struct block *b)
{
	struct host_mem *h = (struct host_mem *)b;

	if (h->iommu)
		add_tags(m, b, ".iotlb", &h->mmu.tlb, 8, &h->iotlb_misses);
	if (h->llc == LLC_MODELLED) {
		struct mrc_cache *c = add(m, b, ".llc", LLC_LINE, &h->llc_misses);

		c->lines = (uint64_t)h->cache.n_slices * h->cache.slice[0].n_sets *
			   h->cache.slice[0].n_ways;
		c->llc = mrc_llc_create(&h->cache, b);
	}
}

struct mrc *mrc_open(struct sim *s)
{
	static const struct {
		const char *cls;
		void (*add)(struct mrc *m, struct block *b);
	} kinds[] = {
		{ "qpc_cache", add_contexts }, { "cqc_cache", add_contexts },
		{ "rsc_cache", add_contexts }, { "mtt", add_translation },
		{ "requester", add_wqes },     { "host_mem", add_host },
	};
	struct mrc *m = x_calloc(1, sizeof(*m));

	for (uint32_t i = 0; i < s->n_blocks; i++)
		for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
			if (strcmp(s->blocks[i]->cls->name, kinds[k].cls) == 0)
				kinds[k].add(m, s->blocks[i]);
	return m;
}

static double ratio(uint64_t misses, uint64_t accesses)
{
	return accesses ? (double)misses / (double)accesses : 0;
}

static void write_row(const struct mrc_cache *c, uint64_t size, uint64_t n, uint64_t misses,
		      FILE *f)
{
	fprintf(f, "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6f\n", c->name, size,
		size * c->bytes, n, misses, ratio(misses, n));
}

/* Rows where the count changes, and that of the cache's own size. */
static void write_curve(const struct mrc_cache *c, FILE *f)
{
	uint64_t n = mrc_curve_accesses(c->curve), end = mrc_curve_end(c->curve);
	uint64_t last = n, misses = n;

	for (uint64_t size = 1; size <= (end > c->lines ? end : c->lines); size++) {
		if (size <= end) /* counted on from the size before */
			misses -= mrc_curve_at(c->curve, size - 1);
		if (misses == last && size != c->lines && size != 1)
			continue;
		write_row(c, size, n, misses, f);
		last = misses;
	}
}

static void write_cache(const struct mrc_cache *c, FILE *f)
{
	if (c->curve)
		write_curve(c, f);
	for (uint32_t i = 0; c->llc && i < mrc_llc_sizes(c->llc); i++)
		write_row(c, mrc_llc_entries(c->llc, i), mrc_llc_accesses(c->llc),
			  mrc_llc_misses(c->llc, i), f);
}

static uint64_t accesses_of(const struct mrc_cache *c)
{
	return c->llc ? mrc_llc_accesses(c->llc) : mrc_curve_accesses(c->curve);
}

/* Misses with so many entries; of a last-level cache, with the next smaller size that was kept. */
static uint64_t misses_with(const struct mrc_cache *c, uint64_t entries)
{
	uint32_t i = 0;

	if (!c->llc)
		return mrc_curve_misses(c->curve, entries);
	while (i + 1 < mrc_llc_sizes(c->llc) && mrc_llc_entries(c->llc, i + 1) <= entries)
		i++;
	return mrc_llc_misses(c->llc, i);
}

bool mrc_write(const struct mrc *m, const char *dir, struct err *e)
{
	struct outfile o = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%.480s/mrc.csv", dir);
	if (!outfile_open(&o, path, e))
		return false;
	fprintf(o.f, "cache,entries,bytes,accesses,misses,miss_ratio\n");
	for (uint32_t i = 0; i < m->n; i++)
		write_cache(&m->cache[i], o.f);
	return outfile_commit(&o, e);
}

void mrc_print(const struct mrc *m, FILE *f)
{
	fprintf(f,
		"%-24s %9s %10s %8s   miss ratio, LRU, of entries x\n%-55s  %7s %7s %7s %7s %7s\n",
		"cache", "entries", "accesses", "missed", "", "1/4", "1/2", "1", "2", "4");
	for (uint32_t i = 0; i < m->n; i++) {
		const struct mrc_cache *c = &m->cache[i];
		uint64_t n = accesses_of(c);
		uint64_t lines = c->lines ? c->lines : n ? mrc_curve_end(c->curve) : 0;

		if (n == 0)
			continue;
		fprintf(f, "%-24s %9" PRIu64 " %10" PRIu64 " %8.4f  ", c->name, lines, n,
			ratio(*c->misses, n));
		for (uint64_t x = 1; x <= 16; x *= 2)
			fprintf(f, " %7.4f", ratio(misses_with(c, lines * x / 4), n));
		fprintf(f, "\n");
	}
	fprintf(f,
		"A curve is that of this run's order of accesses. A cache of another size changes the "
		"order where\nrequests wait for it (closed loop): run with that size before you rely "
		"on a step of the curve.\n");
}

void mrc_close(struct mrc *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->n; i++) {
		if (m->cache[i].curve)
			mrc_curve_destroy(m->cache[i].curve);
		free(m->cache[i].llc);
	}
	free(m->cache);
	free(m);
}
