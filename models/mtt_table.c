/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mtt_table.c - the tables of the translation block and the two caches in front of them
 *
 * The MPT is an array of entries by key; the MTT of a region is an array of entries by page, so that
 * a line of the translation cache holds entries of neighbouring pages. Keys that are not valid are
 * not cached; of a line, entries that are not valid are read again when wanted.
 *
 * With more than one level the memory that holds MTT entries is itself found through tables, as a
 * device does that has its tables in pages of the host (mlx5's ICM): an entry of level 1 leads to
 * 4 KiB of MTT entries, one of level 2 to a table of level 1, and so on; the device knows where the top
 * table is. Each level is a read that depends on the one above, from the lowest level on whose entry is in
 * a small cache of its own. A table's entry must say where the table below is.
 */
#include "models/mtt.h"

#include <string.h>

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

/* ---- lines of the translation cache ---- */

static uint32_t line_bytes(const struct mtt *m)
{
	return MTT_ENTRY << m->log_entries;
}

static uint32_t mtt_set(const struct mtt *m, uint64_t pa)
{
	return (uint32_t)(pa / MTT_ENTRY >> m->log_entries) & (m->mtt_tags.n_sets - 1);
}

/* Lines are a key's own, even where two keys share a table, so that they go with their key. */
static uint64_t mtt_tag(const struct mtt *m, uint32_t key_idx, uint64_t pa)
{
	return (uint64_t)key_idx << 40 | (pa / MTT_ENTRY >> m->log_entries & 0xffffffffffull);
}

static uint64_t entry_pa(const struct mpt_line *l, uint64_t va)
{
	return l->mtt_pa + ((va >> l->log_page) - (l->start >> l->log_page)) * MTT_ENTRY;
}

static uint64_t *cached_entry(const struct mtt *m, uint32_t line, uint64_t pa)
{
	uint64_t in_line = pa / MTT_ENTRY & ((1u << m->log_entries) - 1);

	return &m->mtt_lines[((uint64_t)line << m->log_entries) + in_line];
}

static bool is_present(uint64_t entry)
{
	return (entry & MTT_PRESENT) == MTT_PRESENT;
}

/* ---- upper levels ---- */

#define LOG_TABLE 12u  /* bytes of a table */
#define LOG_ENTRIES 9u /* in it */

static uint32_t log_span(uint32_t level)
{
	return LOG_TABLE + LOG_ENTRIES * (level - 1);
}

uint64_t mtt_walk_span(uint32_t level)
{
	return 1ull << log_span(level);
}

uint64_t mtt_walk_pa(const struct nic *nic, uint32_t level, uint64_t pa)
{
	return nic->walk_pa[level] + (pa >> log_span(level)) * MTT_ENTRY;
}

uint64_t mtt_walk_entry(const struct nic *nic, uint32_t level, uint64_t pa)
{
	uint64_t below = level == 1 ? pa : mtt_walk_pa(nic, level - 1, pa);

	return (below & ~((1ull << LOG_TABLE) - 1)) | MTT_PRESENT;
}

static uint64_t walk_tag(uint32_t level, uint64_t pa)
{
	return (uint64_t)level << 56 | pa >> log_span(level);
}

/* What is to be read to get the MTT entry at 'pa': its line, or an entry on the way there. */
static struct mtt_line_id next_read(struct mtt *m, const struct mtt_request *r, uint32_t key_idx,
				    uint64_t pa)
{
	struct mtt_line_id id = { .pa = pa & ~(uint64_t)(line_bytes(m) - 1), .key_idx = key_idx };
	uint32_t level = 1, line;

	for (; level < m->levels && level != r->walked; level++) {
		line = assoc_find(&m->walk_tags, 0, walk_tag(level, pa));
		if (line == ASSOC_NONE)
			continue;
		assoc_touch(&m->walk_tags, 0, line);
		break;
	}
	if (level == 1)
		return id;
	return (struct mtt_line_id){ .pa = mtt_walk_pa(m->b.env, level - 1, pa),
				     .level = (uint8_t)(level - 1) };
}

/* ---- the look-up ---- */

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

/* The look-up is over: 'pa' is that of the entry it came to, or 0. */
static bool over(struct mtt *m, struct mtt_request *r, uint32_t mpt, uint32_t mtt, uint64_t pa)
{
	uint32_t key_idx = key_index(r->req.key);

	r->is_mpt_hit = (mpt != ASSOC_NONE || r->has_mpt) && !r->has_missed_mpt;
	r->is_mtt_hit = mtt != ASSOC_NONE && !r->has_missed_mtt;
	if (mpt != ASSOC_NONE)
		assoc_touch(&m->mpt_tags, mpt_set(m, key_idx), mpt);
	if (mtt != ASSOC_NONE)
		assoc_touch(&m->mtt_tags, mtt_set(m, pa), mtt);
	if (mpt != ASSOC_NONE || r->has_mpt)
		assoc_note(&m->mpt_tags, ASSOC_USED, key_idx);
	if (pa)
		assoc_note(&m->mtt_tags, ASSOC_USED, mtt_tag(m, key_idx, pa));
	return true;
}

bool mtt_table_look_up(struct mtt *m, struct mtt_request *r, struct mtt_line_id *want)
{
	const struct nic *nic = m->b.env;
	uint32_t key_idx = key_index(r->req.key), mpt, mtt;
	uint64_t pa, page_bytes, in_page, entry;
	const struct mpt_line *l;

	r->rsp = (struct xlate_rsp){ .tag = r->req.tag, .status = r->fill_status };
	if (key_idx >= nic->mpt_entries)
		r->rsp.status = XLATE_BAD_KEY;
	mpt = assoc_find(&m->mpt_tags, mpt_set(m, key_idx), key_idx);
	if (r->rsp.status != XLATE_OK)
		return over(m, r, mpt, ASSOC_NONE, 0);
	if (mpt == ASSOC_NONE && !r->has_mpt) {
		*want = (struct mtt_line_id){ .pa = nic->mpt_pa + (uint64_t)key_idx * MPT_SIZE,
					      .key_idx = key_idx,
					      .is_mpt = true };
		return false;
	}
	l = mpt == ASSOC_NONE ? &r->mpt : &m->mpt_lines[mpt];
	r->rsp.status = (uint8_t)check(l, &r->req);
	if (r->rsp.status != XLATE_OK || r->req.len == 0)
		return over(m, r, mpt, ASSOC_NONE, 0);
	pa = entry_pa(l, r->req.va);
	mtt = assoc_find(&m->mtt_tags, mtt_set(m, pa), mtt_tag(m, key_idx, pa));
	entry = mtt != ASSOC_NONE ? *cached_entry(m, mtt, pa) : r->has_entry ? r->entry : 0;
	if (!is_present(entry)) {
		r->entry_pa = pa;
		r->mpt = *l;
		r->has_mpt = true;
		*want = next_read(m, r, key_idx, pa);
		return false;
	}
	page_bytes = 1ull << l->log_page;
	in_page = r->req.va & (page_bytes - 1);
	r->rsp.pa = (entry & ~(page_bytes - 1)) | in_page;
	r->rsp.len = (uint32_t)(page_bytes - in_page);
	return over(m, r, mpt, mtt, pa);
}

/* ---- what was read ---- */

/* The entry at 'e', when it is valid. */
static bool load_mpt(const uint8_t *e, struct mpt_line *l)
{
	*l = (struct mpt_line){ .start = load_be64(e + MPT_START),
				.len = load_be64(e + MPT_LEN),
				.mtt_pa = load_be64(e + MPT_MTT),
				.pd = (uint16_t)(e[MPT_PD] << 8 | e[MPT_PD + 1]),
				.access = e[MPT_ACCESS],
				.key8 = e[MPT_KEY8],
				.log_page = e[MPT_LOG_PAGE] };
	return (e[MPT_FLAGS] & MPT_VALID) && l->log_page >= MTT_LOG_PAGE_MIN &&
	       l->log_page <= MTT_LOG_PAGE_MAX && !(l->len >> MTT_LOG_REGION_MAX);
}

static void fill_mtt(struct mtt *m, const struct mtt_line_id *id, const uint8_t *bytes)
{
	uint64_t tag = mtt_tag(m, id->key_idx, id->pa);
	uint32_t set = mtt_set(m, id->pa), line = assoc_find(&m->mtt_tags, set, tag);
	bool is_any = false;

	for (uint32_t i = 0; i < 1u << m->log_entries; i++)
		is_any |= is_present(load_be64(bytes + i * MTT_ENTRY));
	if (!is_any)
		return;
	if (line == ASSOC_NONE) /* else an entry was wanted that was not valid */
		line = assoc_fill(&m->mtt_tags, set, tag);
	for (uint32_t i = 0; i < 1u << m->log_entries; i++)
		m->mtt_lines[((uint64_t)line << m->log_entries) + i] =
			load_be64(bytes + i * MTT_ENTRY);
}

static void fill_walk(struct mtt *m, const struct mtt_line_id *id, const uint8_t *bytes)
{
	const struct nic *nic = m->b.env;
	uint64_t index = (id->pa - nic->walk_pa[id->level]) / MTT_ENTRY;
	uint64_t tag = walk_tag(id->level, index << log_span(id->level));

	if (is_present(load_be64(bytes)) && assoc_find(&m->walk_tags, 0, tag) == ASSOC_NONE)
		assoc_fill(&m->walk_tags, 0, tag);
}

void mtt_table_fill(struct mtt *m, const struct mtt_line_id *id, const uint8_t *bytes)
{
	struct mpt_line l;

	if (id->level)
		fill_walk(m, id, bytes);
	else if (!id->is_mpt)
		fill_mtt(m, id, bytes);
	else if (load_mpt(bytes, &l))
		m->mpt_lines[assoc_fill(&m->mpt_tags, mpt_set(m, id->key_idx), id->key_idx)] = l;
}

void mtt_table_deliver(const struct mtt *m, struct mtt_request *r, const struct mtt_line_id *id,
		       const uint8_t *bytes)
{
	if (id->level) {
		uint64_t want = mtt_walk_entry(m->b.env, id->level, r->entry_pa);

		r->walked = id->level;
		r->fill_status = load_be64(bytes) == want ? XLATE_OK : XLATE_NO_ACCESS;
		return;
	}
	if (id->is_mpt) {
		r->has_mpt = load_mpt(bytes, &r->mpt);
		r->fill_status = r->has_mpt ? XLATE_OK : XLATE_BAD_KEY;
		return;
	}
	r->entry = load_be64(bytes + (r->entry_pa - id->pa));
	r->has_entry = is_present(r->entry);
	r->fill_status = r->has_entry ? XLATE_OK : XLATE_NO_ACCESS;
}

/* ---- forgetting a key ---- */

uint32_t mtt_table_drop(struct mtt *m, uint32_t key)
{
	uint32_t key_idx = key_index(key);
	uint32_t mpt = assoc_find(&m->mpt_tags, mpt_set(m, key_idx), key_idx);
	uint32_t first = 0, n = m->mtt_tags.n_sets, n_ways = m->mtt_tags.n_ways;

	assoc_note(&m->mpt_tags, ASSOC_DROPPED, key_idx);
	if (mpt != ASSOC_NONE) {
		const struct mpt_line *l = &m->mpt_lines[mpt];
		uint64_t n_entries = (l->len >> l->log_page) + 2; /* at least what it touches */

		n = (uint32_t)min_u64(n, (n_entries >> m->log_entries) + (m->log_entries ? 2 : 0));
		first = mtt_set(m, l->mtt_pa);
		assoc_drop(&m->mpt_tags, mpt_set(m, key_idx), mpt);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t set = (first + i) & (m->mtt_tags.n_sets - 1);

		for (uint32_t line = set * n_ways; line < (set + 1) * n_ways; line++)
			if (m->mtt_tags.tag[line] >> 40 == key_idx)
				assoc_drop(&m->mtt_tags, set, line);
	}
	return n;
}

/* ---- life ---- */

void mtt_table_build(struct mtt *m)
{
	struct block *b = &m->b;

	m->log_entries = m->line;
	assoc_build(&m->mpt_tags, b, "mpt", 1u << m->mpt_sets, m->mpt_ways, m->mpt_policy);
	assoc_build(&m->mtt_tags, b, "mtt", 1u << m->sets, m->ways, m->policy);
	assoc_build(&m->walk_tags, b, "walk", 1, m->walk_entries, ASSOC_LRU);
	m->mpt_lines = block_alloc(b, (size_t)m->mpt_ways << m->mpt_sets, sizeof(*m->mpt_lines));
	m->mtt_lines = block_alloc(b, (size_t)m->ways << (m->sets + m->log_entries),
				   sizeof(*m->mtt_lines));
}

void mtt_table_reset(struct mtt *m)
{
	assoc_reset(&m->mpt_tags);
	assoc_reset(&m->mtt_tags);
	assoc_reset(&m->walk_tags);
}
