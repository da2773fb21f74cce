/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup_mr.c - from a trace's records to memory regions and windows, their keys, pages and bytes
 *
 * Large pages are mapped first, so that MRs of different page sizes may overlap in any order; keys that the trace
 * gives are taken before any is assigned.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/verbs/setup.h"

#define FILL_BLOCK 65536u

uint16_t setup_pd_number(const struct trace *t, uint32_t host, uint32_t pd)
{
	return (uint16_t)(1 + (pd == TRACE_NONE ? host : t->n_hosts + pd));
}

static bool map_pages(struct system *s, struct err *e)
{
	static const uint64_t sizes[] = { 1ull << 30, 2ull << 20, PAGE_4K };

	for (size_t p = 0; p < ARRAY_LEN(sizes); p++) {
		for (uint32_t i = 0; i < s->trace->n_mrs; i++) {
			const struct trace_mr *m = &s->trace->mrs[i];

			if (m->page == sizes[p] &&
			    !space_map(s->hosts[m->host].space, m->va, m->len, m->page))
				return err_set(e, s->trace->path, m->line,
					       "MR %s reaches beyond the end of the address space",
					       m->name);
		}
	}
	return true;
}

static bool register_mr(struct system *s, uint32_t i, struct err *e)
{
	const struct trace_mr *m = &s->trace->mrs[i];
	struct verbs_mr *mr = &s->mrs[i];
	int err;

	*mr = (struct verbs_mr){ .va = m->va,
				 .len = m->len,
				 .page = m->page,
				 .lkey = m->lkey,
				 .rkey = m->rkey,
				 .pd = setup_pd_number(s->trace, m->host, m->pd),
				 .access = m->access };
	err = verbs_reg_mr(&s->hosts[m->host], mr);
	if (err == EEXIST)
		return err_set(e, s->trace->path, m->line,
			       "MR %s: a key with the index (key >> 8) of lkey 0x%" PRIx32
			       " or rkey 0x%" PRIx32
			       " is there already; allowed: one key for each index",
			       m->name, m->lkey, m->rkey);
	if (err)
		return err_set(e, s->trace->path, m->line,
			       "MR %s cannot be registered: %s; allowed: len from 1, keys below "
			       "0xffffffff",
			       m->name, strerror(err));
	return true;
}

static bool alloc_mw(struct system *s, uint32_t i, struct err *e)
{
	const struct trace_mw *m = &s->trace->mws[i];
	struct verbs_mw *mw = &s->mws[i];
	int err;

	*mw = (struct verbs_mw){ .rkey = m->rkey,
				 .type = (uint8_t)m->type,
				 .pd = setup_pd_number(s->trace, m->host, m->pd),
				 .mr = TRACE_NONE };
	err = verbs_alloc_mw(&s->hosts[m->host], mw);
	if (err)
		return err_set(e, s->trace->path, m->line,
			       "window %s cannot have rkey 0x%" PRIx32 ": %s; allowed: one key for "
			       "each index (key >> 8), below 0xffffffff",
			       m->name, m->rkey, strerror(err));
	return true;
}

/* Those whose keys the trace gives, or those whose keys it does not. */
static bool create_keys(struct system *s, bool is_assigned, struct err *e)
{
	const struct trace *t = s->trace;

	for (uint32_t i = 0; i < t->n_mrs; i++)
		if ((t->mrs[i].lkey == 0 && t->mrs[i].rkey == 0) == is_assigned &&
		    !register_mr(s, i, e))
			return false;
	for (uint32_t i = 0; i < t->n_mws; i++)
		if ((t->mws[i].rkey == 0) == is_assigned && !alloc_mw(s, i, e))
			return false;
	return true;
}

/* Zeroes need not be written where no earlier MR has filled memory. */
static bool overlaps_earlier(const struct trace *t, uint32_t i)
{
	const struct trace_mr *m = &t->mrs[i];

	for (uint32_t k = 0; k < i; k++)
		if (t->mrs[k].host == m->host &&
		    (t->mrs[k].va - m->va < m->len || m->va - t->mrs[k].va < t->mrs[k].len))
			return true;
	return false;
}

static void fill_mr(struct system *s, uint32_t i)
{
	const struct trace_mr *m = &s->trace->mrs[i];
	uint8_t *block;

	if (m->fill == FILL_KEEP || (m->fill == FILL_ZERO && !overlaps_earlier(s->trace, i)))
		return;
	block = x_calloc(1, FILL_BLOCK);
	for (uint64_t off = 0; off < m->len; off += FILL_BLOCK) {
		uint64_t n = min_u64(FILL_BLOCK, m->len - off);

		trace_fill(m, off, block, n);
		space_write(s->hosts[m->host].space, m->va + off, block, n);
	}
	free(block);
}

bool setup_mrs(struct system *s, struct err *e)
{
	const struct trace *t = s->trace;

	if (t->n_hosts + t->n_pds >= UINT16_MAX)
		return err_set(e, t->path, 0, "more than %d protection domains and hosts",
			       UINT16_MAX - 1);
	if (!map_pages(s, e))
		return false;
	if (!create_keys(s, false, e) || !create_keys(s, true, e))
		return false;
	for (uint32_t i = 0; i < t->n_mrs; i++)
		fill_mr(s, i);
	return true;
}
