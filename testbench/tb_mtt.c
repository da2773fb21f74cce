/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_mtt.c - a bench for the translation block
 */
#include "testbench/tb_mtt.h"

#include <stdlib.h>
#include <string.h>

#include "models/mtt.h"

#define MTT_AREA (TB_MTT_KEYS * MPT_SIZE)

static void put(uint8_t *p, unsigned bytes, uint64_t v)
{
	while (bytes-- > 0) {
		p[bytes] = (uint8_t)v;
		v >>= 8;
	}
}

/* The tables above the MTT, a page each. */
static void map_walk(struct tb_mtt *e)
{
	for (uint32_t level = 1; level < MTT_LEVELS; level++) {
		uint64_t at = TB_MTT_BASE + TB_MTT_TABLES + (level - 1) * PAGE_4K;

		e->nic.walk_pa[level] = at - TB_MTT_BASE / mtt_walk_span(level) * MTT_ENTRY;
		for (uint64_t pa = TB_MTT_BASE; pa < TB_MTT_BASE + TB_MTT_TABLES;
		     pa += mtt_walk_span(level))
			put(e->mem + (mtt_walk_pa(&e->nic, level, pa) - TB_MTT_BASE), MTT_ENTRY,
			    mtt_walk_entry(&e->nic, level, pa));
	}
}

void tb_mtt_init(struct tb_mtt *e, const struct block_class *cls, const char *const *sets,
		 uint32_t max_delay)
{
	static const char *const in[] = { "req0", "req1" }, *const out[] = { "rsp0", "rsp1" };

	memset(e, 0, sizeof(*e));
	e->nic.mpt_pa = TB_MTT_BASE;
	e->nic.mpt_entries = TB_MTT_KEYS;
	map_walk(e);
	tb_init(&e->t, cls, &e->nic, sets);
	for (unsigned i = 0; i < 2; i++) {
		e->req[i] = tb_source(&e->t, in[i]);
		e->rsp[i] = tb_sink(&e->t, out[i]);
	}
	e->inv = tb_source(&e->t, "inv");
	e->dma = (struct tb_dma){ .rsp = tb_source(&e->t, "fill_rsp"),
				  .mem = e->mem,
				  .base = TB_MTT_BASE,
				  .size = sizeof(e->mem),
				  .max_delay = max_delay };
	rng_seed(&e->dma.rng, "mtt reads", max_delay);
	rng_seed(&e->rng, "mtt", max_delay);
	e->fill = tb_sink_react(&e->t, "fill", tb_dma_react, &e->dma);
	tb_start(&e->t);
}

void tb_mtt_write(struct tb_mtt *e, uint32_t i)
{
	const struct tb_region *r = &e->region[i];
	uint8_t *mpt = e->mem + i * MPT_SIZE, *mtt = e->mem + MTT_AREA + r->first * MTT_ENTRY;

	put(mpt + MPT_FLAGS, 1, r->is_valid);
	put(mpt + MPT_ACCESS, 1, r->access);
	put(mpt + MPT_PD, 2, r->pd);
	put(mpt + MPT_KEY8, 1, r->key & 0xff);
	put(mpt + MPT_LOG_PAGE, 1, r->log_page);
	put(mpt + MPT_START, 8, r->start);
	put(mpt + MPT_LEN, 8, r->len);
	put(mpt + MPT_MTT, 8, TB_MTT_BASE + MTT_AREA + r->first * MTT_ENTRY);
	for (uint32_t k = 0; k < r->n_pages; k++) {
		uint64_t pa = e->page_pa[r->first + k];

		put(mtt + k * MTT_ENTRY, MTT_ENTRY, pa ? pa | MTT_PRESENT : 0);
	}
}

void tb_mtt_map(struct tb_mtt *e, uint32_t i)
{
	struct tb_region *r = &e->region[i];

	r->n_pages = r->len ? (uint32_t)(((r->start + r->len - 1) >> r->log_page) -
					 (r->start >> r->log_page)) +
				      1
			    : 0;
	r->first = e->n_pages;
	e->n_pages += r->n_pages;
	CU_ASSERT_FATAL(e->n_pages <= TB_MTT_PAGES);
	for (uint32_t k = 0; k < r->n_pages; k++)
		e->page_pa[r->first + k] = (1 + rng_below(&e->rng, 1u << 20)) << r->log_page;
	tb_mtt_write(e, i);
}

void tb_mtt_map_random(struct tb_mtt *e)
{
	static const uint8_t log_pages[] = { 12, 12, 12, 16, 21, 31 };

	for (uint32_t i = 0; i < TB_MTT_KEYS; i++) {
		struct tb_region *r = &e->region[i];
		uint8_t log_page = log_pages[rng_below(&e->rng, sizeof(log_pages))];

		*r = (struct tb_region){ .is_valid = i % 8 != 7,
					 .key = i << 8 | (uint8_t)rng_next(&e->rng),
					 .pd = (uint16_t)(1 + i % 3),
					 .access = (uint8_t)rng_below(&e->rng, 32),
					 .log_page = log_page };
		r->len = 1 + rng_below(&e->rng, 30ull << log_page);
		r->start = rng_next(&e->rng) >> 4;
		if (i % 5 == 0) /* up to the last byte of the address space */
			r->start = 0 - r->len;
		tb_mtt_map(e, i);
		if (i % 4 == 0 && r->n_pages > 2) {
			e->page_pa[r->first + 1] = 0;
			tb_mtt_write(e, i);
		}
	}
}

struct xlate_rsp tb_mtt_oracle(const struct tb_mtt *e, const struct xlate_req *r)
{
	struct xlate_rsp a = { .tag = r->tag, .status = XLATE_BAD_KEY };
	const struct tb_region *g = &e->region[r->key >> 8 & (TB_MTT_KEYS - 1)];
	uint64_t page = 1ull << g->log_page, pa;

	if (r->key >> 8 >= TB_MTT_KEYS || !g->is_valid || g->key != r->key)
		return a;
	a.status = XLATE_BAD_PD;
	if (g->pd != r->pd)
		return a;
	a.status = XLATE_NO_ACCESS;
	if (r->access & ~g->access)
		return a;
	a.status = XLATE_OK;
	if (r->len == 0)
		return a;
	/* the last byte, so that nothing overflows for a region that ends with the address space */
	if (r->va < g->start || r->va + (r->len - 1) < r->va ||
	    r->va + (r->len - 1) > g->start + (g->len - 1)) {
		a.status = XLATE_OUT_OF_RANGE;
		return a;
	}
	pa = e->page_pa[g->first + (uint32_t)((r->va >> g->log_page) - (g->start >> g->log_page))];
	if (!pa) {
		a.status = XLATE_NO_ACCESS;
		return a;
	}
	a.pa = pa + r->va % page;
	a.len = (uint32_t)(page - r->va % page);
	return a;
}

void tb_mtt_send(struct tb_mtt *e, unsigned client, uint64_t at, struct xlate_req r)
{
	CU_ASSERT_FATAL(e->n[client] < TB_MTT_MAX);
	r.tag = e->n[client];
	e->expect[client][e->n[client]++] = tb_mtt_oracle(e, &r);
	tb_send_at(e->req[client], at, &r);
}

struct xlate_req tb_mtt_random(struct tb_mtt *e, uint32_t n_keys)
{
	const struct tb_region *g = &e->region[rng_below(&e->rng, n_keys)];
	uint64_t off = rng_below(&e->rng, g->len), rest = min_u64(g->len - off, 1u << 31);
	struct xlate_req r = { .va = g->start + off,
			       .len = (uint32_t)(1 + rng_below(&e->rng, rest)),
			       .key = g->key,
			       .pd = g->pd,
			       .access = (uint8_t)(g->access & rng_below(&e->rng, 32)) };

	switch (rng_below(&e->rng, 20)) {
	case 0:
		r.key ^= 1u << rng_below(&e->rng, 8);
		break;
	case 1:
		r.key ^= 1u << (8 + rng_below(&e->rng, 24));
		break;
	case 2:
		r.pd ^= 1;
		break;
	case 3:
		r.access ^= (uint8_t)(1u << rng_below(&e->rng, 5));
		break;
	case 4:
		r.len = (uint32_t)rest + 1;
		break;
	case 5:
		r.va = g->start - 1;
		break;
	case 6:
		r.len = 0;
		break;
	default:
		break;
	}
	return r;
}

unsigned tb_mtt_differences(const struct tb_mtt *e)
{
	unsigned n = 0;

	for (unsigned c = 0; c < 2; c++) {
		bool *is_seen = x_calloc(e->n[c] + 1, sizeof(*is_seen));

		n += e->rsp[c]->n_received != e->n[c];
		for (uint32_t i = 0; i < e->rsp[c]->n_received; i++) {
			const struct xlate_rsp *got = tb_got(e->rsp[c], i), *want;

			if (got->tag >= e->n[c] || is_seen[got->tag]) {
				n++;
				continue;
			}
			is_seen[got->tag] = true;
			want = &e->expect[c][got->tag];
			n += got->status != want->status || got->pa != want->pa ||
			     got->len != want->len;
		}
		free(is_seen);
	}
	return n;
}

void tb_mtt_add(struct tb_mtt *e, uint32_t i, uint64_t start, uint64_t len)
{
	e->region[i] = (struct tb_region){ .is_valid = true,
					   .key = i << 8 | 0x5a,
					   .pd = 7,
					   .access = ACCESS_LOCAL_WRITE | ACCESS_REMOTE_READ,
					   .log_page = 12,
					   .start = start,
					   .len = len };
	tb_mtt_map(e, i);
}

struct xlate_req tb_mtt_request(const struct tb_mtt *e, uint32_t i, uint64_t off)
{
	const struct tb_region *g = &e->region[i];

	return (struct xlate_req){ .va = g->start + off, .len = 1, .key = g->key, .pd = g->pd };
}

void tb_mtt_send_random(struct tb_mtt *e, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned c = 0; c < 2; c++)
			tb_mtt_send(e, c, 0, tb_mtt_random(e, TB_MTT_KEYS));
}
