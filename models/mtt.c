/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mtt.c - address translation: key check (MPT) and page look-up (MTT), each behind a finite cache
 *
 * Hardware: as in the open 200 MHz RNIC (set-associative LRU caches of 64 B memory protection
 * entries and of 8 B translation entries, hit in 2 cycles) with the tables in host memory
 * (mlx5's mkey and MTT of rdma-core, declared layout of nic.h). Two clients share it, round robin,
 * the turn moving on a grant only; a request is taken only when its answer has room, so a client
 * that does not take its answers does not hold up the other. Answers are in order for each
 * client.
 *
 * Modelled: validity, low byte of the key, protection domain, access rights and range of the
 * whole request, in this order; a request of no bytes is not checked for range and not translated
 * (address and length of the answer are 0). Misses read real entries by DMA, MPT entry first. An
 * mpt_cmd forgets the key's entry and its translations, walking the sets that can hold them, one
 * a cycle: those of its pages when its entry is cached, else all.
 *
 * Not modelled: more than one miss at a time, prefetch of neighbouring MTT entries, multi-level
 * tables, regions of 2 PiB and more (their entries count as not valid).
 *
 * Expected: with both hits an answer hit_cyc cycles after the request was taken and the next
 * request one cycle later, 1 in 3 cycles by default; a miss blocks until its read is back, then
 * the look-up is done again. Keys and translations are never cached when they are not valid.
 */
#include "models/mtt.h"

#include <string.h>

static const char *const set_counts[] = { "1",    "2",    "4",     "8",   "16",   "32",
					  "64",   "128",  "256",   "512", "1024", "2048",
					  "4096", "8192", "16384", NULL };
static const char *const mpt_set_counts[] = { "1",   "2",   "4",   "8",    "16",   "32",   "64",
					      "128", "256", "512", "1024", "2048", "4096", NULL };
_Static_assert(ARRAY_LEN(set_counts) == MTT_SETS_LOG + 2, "one name for each logarithm");
_Static_assert(ARRAY_LEN(mpt_set_counts) == MTT_MPT_SETS_LOG + 2, "one name for each logarithm");

#define OPEN_RTL "documented: 200 MHz open RNIC, "
#define T struct mtt
const struct field mtt_fields[] = {
	PARAM_ENUM(T, mpt_sets, 9, mpt_set_counts, "sets of the key cache",
		   OPEN_RTL "MPT 512 sets"),
	PARAM(T, mpt_ways, 2, 1, MTT_MAX_WAYS, "", "ways of the key cache", OPEN_RTL "2-way LRU"),
	PARAM_ENUM(T, sets, 12, set_counts, "sets of the translation cache",
		   OPEN_RTL "MTT 4096 sets"),
	PARAM(T, ways, 2, 1, MTT_MAX_WAYS, "", "ways of the translation cache",
	      OPEN_RTL "2-way LRU"),
	PARAM(T, hit_cyc, 2, 2, 64, "cyc",
	      "from a request taken to its answer when both caches hit", OPEN_RTL "hit 2 cycles"),
	PORT_IN_N(T, req, MTT_CLIENTS, xlate_req, "requests: 0 the DMA engine, 1 the responder"),
	PORT_OUT_N(T, rsp, MTT_CLIENTS, xlate_rsp, "their answers"),
	PORT_IN(T, inv, mpt_cmd, "keys to forget"),
	PORT_OUT(T, fill, dma_req, "reads of table entries"),
	PORT_IN(T, fill_rsp, dma_rsp, "their completions"),
	STAT(T, requests, "req", "requests taken"),
	STAT(T, mpt_hits, "req", "requests answered whose key was cached"),
	STAT(T, mpt_misses, "req", "MPT entries read"),
	STAT(T, mtt_hits, "req", "requests answered whose translation was cached"),
	STAT(T, mtt_misses, "req", "MTT entries read"),
	STAT(T, errors, "req", "requests refused"),
	STAT(T, invalidations, "cmd", "keys forgotten"),
	SIGNAL(T, state, 3, "0 idle, 1 look-up, 2 entry read, 3 drop key, 4 drop translations"),
	SIGNAL(T, client, 1, "whose request is looked up"),
	SIGNAL(T, va_page, 52, "its virtual page of 4 KiB"),
	SIGNAL(T, is_mpt_hit, 1, "the last one answered had its key cached"),
	SIGNAL(T, is_mtt_hit, 1, "the last one answered had its translation cached"),
	SIGNAL(T, status, 3, "status of the last answer"),
	FIELDS_END
};
#undef T

static uint64_t load_be64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap64(v);
}

static uint32_t key_index(uint32_t key)
{
	return key >> 8;
}

static uint32_t mpt_set(const struct mtt *m, uint32_t key_idx)
{
	return key_idx & (m->mpt_tags.n_sets - 1);
}

static uint64_t page_in_region(const struct mpt_line *l, uint64_t va)
{
	return (va >> l->log_page) - (l->start >> l->log_page);
}

/* By the place of the entry in memory, so that those of a region fill sets in turn. */
static uint32_t mtt_set(const struct mtt *m, const struct mpt_line *l, uint64_t page)
{
	return (uint32_t)(l->mtt_pa / MTT_ENTRY + page) & (m->mtt_tags.n_sets - 1);
}

/* They are a key's own, even where two keys share a table, so that they go with their key. */
static uint64_t mtt_tag(uint32_t key_idx, uint64_t page)
{
	return (uint64_t)key_idx << 40 | page;
}

static enum xlate_status check(const struct mpt_line *l, const struct xlate_req *r)
{
	if (l->key8 != (r->key & 0xff))
		return XLATE_BAD_KEY;
	if (l->pd != r->pd)
		return XLATE_BAD_PD;
	if ((l->access & r->access) != r->access)
		return XLATE_NO_ACCESS;
	if (r->len && (r->va < l->start || r->va - l->start >= l->len ||
		       r->len > l->len - (r->va - l->start)))
		return XLATE_OUT_OF_RANGE;
	return XLATE_OK;
}

/* What waits is looked at in the next cycle; what comes later wakes the block. */
static uint64_t go_idle(struct mtt *m)
{
	m->state = MTT_IDLE;
	if (mpt_cmd_peek(m->inv) || xlate_req_peek(m->req[0]) || xlate_req_peek(m->req[1]))
		return m->b.cycle + 1;
	return CYCLE_NEVER;
}

/* The look-up is over: the answer has had its room since the request was taken. */
static uint64_t answer(struct mtt *m, uint32_t mpt, uint32_t mtt, const struct xlate_rsp *rsp)
{
	xlate_rsp_push(m->rsp[m->client], rsp);
	m->status = rsp->status;
	m->is_mpt_hit = mpt != ASSOC_NONE && !m->has_missed_mpt;
	m->is_mtt_hit = mtt != ASSOC_NONE && !m->has_missed_mtt;
	if (mpt != ASSOC_NONE)
		assoc_touch(&m->mpt_tags, mpt);
	if (mtt != ASSOC_NONE)
		assoc_touch(&m->mtt_tags, mtt);
	m->mpt_hits += m->is_mpt_hit;
	m->mtt_hits += m->is_mtt_hit;
	m->errors += rsp->status != XLATE_OK;
	return go_idle(m);
}

/* The one buffer is free again before another look-up can come here. */
static uint64_t read_entry(struct mtt *m, bool is_mpt, uint64_t pa)
{
	struct dma_req rd = { .addr = pa,
			      .key = KEY_PHYS,
			      .len = is_mpt ? MPT_SIZE : MTT_ENTRY,
			      .cls = is_mpt ? DMA_MPT : DMA_MTT };

	if (!chan_can_push(m->fill))
		return chan_stall(m->fill);
	rd.buf = m->fill_buf = pool_alloc(m->pool);
	dma_req_push(m->fill, &rd);
	m->is_mpt_fill = is_mpt;
	if (is_mpt) {
		m->has_missed_mpt = true;
		m->mpt_misses++;
	} else {
		m->has_missed_mtt = true;
		m->mtt_misses++;
	}
	m->state = MTT_FILL;
	return CYCLE_NEVER;
}

static uint64_t look_up(struct mtt *m)
{
	const struct xlate_req *r = &m->at;
	struct xlate_rsp rsp = { .tag = r->tag, .status = m->fill_status };
	uint32_t key_idx = key_index(r->key), mpt, mtt;
	const struct mpt_line *l;
	const struct nic *nic = m->b.env;
	uint64_t page, page_bytes, in_page;

	if (key_idx >= nic->mpt_entries)
		rsp.status = XLATE_BAD_KEY;
	mpt = assoc_find(&m->mpt_tags, mpt_set(m, key_idx), key_idx);
	if (rsp.status != XLATE_OK)
		return answer(m, mpt, ASSOC_NONE, &rsp);
	if (mpt == ASSOC_NONE)
		return read_entry(m, true, nic->mpt_pa + (uint64_t)key_idx * MPT_SIZE);
	l = &m->mpt_lines[mpt];
	rsp.status = (uint8_t)check(l, r);
	if (rsp.status != XLATE_OK || r->len == 0)
		return answer(m, mpt, ASSOC_NONE, &rsp);
	page = page_in_region(l, r->va);
	mtt = assoc_find(&m->mtt_tags, mtt_set(m, l, page), mtt_tag(key_idx, page));
	if (mtt == ASSOC_NONE)
		return read_entry(m, false, l->mtt_pa + page * MTT_ENTRY);
	page_bytes = 1ull << l->log_page;
	in_page = r->va & (page_bytes - 1);
	rsp.pa = (m->mtt_lines[mtt] & ~(page_bytes - 1)) | in_page;
	rsp.len = (uint32_t)(page_bytes - in_page);
	return answer(m, mpt, mtt, &rsp);
}

static enum xlate_status fill_mpt(struct mtt *m, const uint8_t *e)
{
	uint32_t key_idx = key_index(m->at.key);
	struct mpt_line l = { .start = load_be64(e + MPT_START),
			      .len = load_be64(e + MPT_LEN),
			      .mtt_pa = load_be64(e + MPT_MTT),
			      .pd = (uint16_t)(e[MPT_PD] << 8 | e[MPT_PD + 1]),
			      .access = e[MPT_ACCESS],
			      .key8 = e[MPT_KEY8],
			      .log_page = e[MPT_LOG_PAGE] };

	if (!(e[MPT_FLAGS] & 1) || l.log_page < MTT_LOG_PAGE_MIN || l.log_page > MTT_LOG_PAGE_MAX ||
	    l.len >> MTT_LOG_REGION_MAX)
		return XLATE_BAD_KEY;
	m->mpt_lines[assoc_fill(&m->mpt_tags, mpt_set(m, key_idx), key_idx)] = l;
	return XLATE_OK;
}

static enum xlate_status fill_mtt(struct mtt *m, const uint8_t *e)
{
	uint32_t key_idx = key_index(m->at.key);
	const struct mpt_line *l =
		&m->mpt_lines[assoc_find(&m->mpt_tags, mpt_set(m, key_idx), key_idx)];
	uint64_t entry = load_be64(e), page = page_in_region(l, m->at.va);

	if ((entry & MTT_PRESENT) != MTT_PRESENT)
		return XLATE_NO_ACCESS;
	m->mtt_lines[assoc_fill(&m->mtt_tags, mtt_set(m, l, page), mtt_tag(key_idx, page))] = entry;
	return XLATE_OK;
}

/* The entry is written, then the look-up starts again, one cycle later. */
static uint64_t take_fill(struct mtt *m)
{
	const struct dma_rsp *rsp = dma_rsp_peek(m->fill_rsp);
	const uint8_t *entry;

	if (!rsp)
		return CYCLE_NEVER;
	entry = buf_data(m->b.sim, m->fill_buf);
	if (rsp->status != XLATE_OK)
		m->fill_status = XLATE_BAD_KEY;
	else if (m->is_mpt_fill)
		m->fill_status = (uint8_t)fill_mpt(m, entry);
	else
		m->fill_status = (uint8_t)fill_mtt(m, entry);
	chan_pop(m->fill_rsp);
	buf_unref(&m->b, m->fill_buf);
	m->state = MTT_LOOKUP;
	m->at_cyc = m->b.cycle + 1 + m->hit_cyc;
	return m->at_cyc;
}

/* Forget the key's entry and its translations; the walk over the sets takes its time. */
static uint64_t drop_key(struct mtt *m)
{
	uint32_t key_idx = key_index(m->at.key);
	uint32_t mpt = assoc_find(&m->mpt_tags, mpt_set(m, key_idx), key_idx);
	uint32_t first = 0, n = m->mtt_tags.n_sets, n_ways = m->mtt_tags.n_ways;

	if (mpt != ASSOC_NONE) {
		const struct mpt_line *l = &m->mpt_lines[mpt];

		/* at least the pages that the region touches */
		n = (uint32_t)min_u64(n, (l->len >> l->log_page) + 2);
		first = mtt_set(m, l, 0);
		assoc_drop(&m->mpt_tags, mpt);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t set = (first + i) & (m->mtt_tags.n_sets - 1);

		for (uint32_t line = set * n_ways; line < (set + 1) * n_ways; line++)
			if (m->mtt_tags.tag[line] >> 40 == key_idx)
				assoc_drop(&m->mtt_tags, line);
	}
	m->state = MTT_WALK;
	m->at_cyc = m->b.cycle + 1 + n;
	return m->at_cyc;
}

static uint64_t take_request(struct mtt *m)
{
	const struct mpt_cmd *cmd = mpt_cmd_peek(m->inv);
	const struct xlate_req *req[MTT_CLIENTS];
	bool can_take[MTT_CLIENTS];
	uint8_t other = m->client ^ 1u;

	if (cmd) {
		m->at.key = cmd->key;
		chan_pop(m->inv);
		m->invalidations++;
		m->state = MTT_DROP;
		return m->b.cycle + 1;
	}
	for (unsigned i = 0; i < MTT_CLIENTS; i++) {
		req[i] = xlate_req_peek(m->req[i]);
		can_take[i] = req[i] && chan_can_push(m->rsp[i]);
		if (req[i] && !can_take[i])
			chan_stall(m->rsp[i]);
	}
	if (!can_take[0] && !can_take[1])
		return CYCLE_NEVER;
	if (can_take[other])
		m->client = other;
	m->at = *req[m->client];
	chan_pop(m->req[m->client]);
	m->va_page = m->at.va >> MTT_LOG_PAGE_MIN;
	m->has_missed_mpt = m->has_missed_mtt = false;
	m->fill_status = XLATE_OK;
	m->requests++;
	m->state = MTT_LOOKUP;
	m->at_cyc = m->b.cycle + m->hit_cyc;
	return m->at_cyc;
}

static void mtt_build(struct block *b)
{
	struct mtt *m = (struct mtt *)b;

	assoc_build(&m->mpt_tags, b, 1u << m->mpt_sets, m->mpt_ways);
	assoc_build(&m->mtt_tags, b, 1u << m->sets, m->ways);
	m->mpt_lines = block_alloc(b, (size_t)m->mpt_ways << m->mpt_sets, sizeof(*m->mpt_lines));
	m->mtt_lines = block_alloc(b, (size_t)m->ways << m->sets, sizeof(*m->mtt_lines));
	m->pool = pool_create(b, 1, MPT_SIZE);
}

static void mtt_reset(struct block *b)
{
	struct mtt *m = (struct mtt *)b;

	assoc_reset(&m->mpt_tags);
	assoc_reset(&m->mtt_tags);
	m->state = MTT_IDLE;
	m->client = 1; /* so that client 0 has the first turn */
	m->va_page = 0;
	m->is_mpt_hit = m->is_mtt_hit = false;
	m->status = XLATE_OK;
}

static uint64_t mtt_step(struct block *b)
{
	struct mtt *m = (struct mtt *)b;

	switch ((enum mtt_state)m->state) {
	case MTT_IDLE:
		return take_request(m);
	case MTT_LOOKUP:
		return b->cycle < m->at_cyc ? m->at_cyc : look_up(m);
	case MTT_FILL:
		return take_fill(m);
	case MTT_DROP:
		return drop_key(m);
	case MTT_WALK:
		return b->cycle < m->at_cyc ? m->at_cyc : go_idle(m);
	}
	return CYCLE_NEVER;
}

const struct block_class mtt_class = {
	.name = "mtt",
	.impl = "c",
	.size = sizeof(struct mtt),
	.fields = mtt_fields,
	.doc = "address translation: key check, page look-up, their caches",
	.build = mtt_build,
	.reset = mtt_reset,
	.step = mtt_step,
};
