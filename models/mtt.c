/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mtt.c - address translation: key check (MPT) and page look-up (MTT), each behind a finite cache
 *
 * Hardware: set-associative caches of 64 B memory protection entries and of lines of 8 B translation
 * entries, with the tables in host memory (mlx5's mkey and MTT of rdma-core, declared layout of
 * nic.h). Defaults are the open 200 MHz RNIC: one request at a time, true LRU, lines of one entry. A
 * larger window pipelines: look-ups start one in issue_cyc cycles and are over hit_cyc later, hits
 * pass those that wait for reads, up to max_misses reads are outstanding, and requests that want
 * what is on its way share the read.
 *
 * Two clients share the block, round robin, the turn moving on a grant only. Answers leave in the
 * order in which the look-ups are over, so that one that waits for a read holds up no other; the
 * clients know them by their tags. The last free place of the window is kept for a client that has no request in
 * hand and room for an answer, so a client that does not take its answers does not hold up the other.
 *
 * Modelled: validity, low byte of the key, protection domain, access rights and range of the
 * whole request, in this order; a request of no bytes is not checked for range and not translated
 * (address and length of the answer are 0). Misses read real entries by DMA, MPT entry first, and
 * then the look-up is done again; what a read brought its requests have, even where another read has
 * taken its place in the cache since. An mpt_cmd waits until the look-ups under way are over, then
 * forgets the key's entry and its translations, walking the sets that can hold them, one a cycle:
 * those of its pages when its entry is cached, else all; no look-up starts meanwhile.
 *
 * Not modelled: prefetch beyond the line, regions of 2 PiB and more (their entries count as not
 * valid).
 */
#include "models/mtt.h"

#define NO_MISS UINT32_MAX

static const char *const line_sizes[] = { "8", "16", "32", "64", NULL };

#define OPEN_RTL "documented: 200 MHz open RNIC, "
#define T struct mtt
const struct field mtt_fields[] = {
	PARAM_ENUM(T, mpt_sets, 9, assoc_set_counts, "sets of the key cache",
		   OPEN_RTL "MPT 512 sets"),
	PARAM(T, mpt_ways, 2, 1, ASSOC_MAX_LINES, "", "ways of the key cache",
	      OPEN_RTL "2-way LRU"),
	PARAM_ENUM(T, mpt_policy, ASSOC_LRU, assoc_policies, "which key of a set is replaced",
		   OPEN_RTL "2-way LRU"),
	PARAM_BYTES(T, mpt_entry, MPT_SIZE, 40, MPT_SIZE,
		    "bytes of a key's entry that a miss reads",
		    OPEN_RTL "MPT 64 B; mlx5's mkey is as long"),
	PARAM_ENUM(T, sets, 12, assoc_set_counts, "sets of the translation cache",
		   OPEN_RTL "MTT 4096 sets"),
	PARAM(T, ways, 2, 1, ASSOC_MAX_LINES, "", "ways of the translation cache",
	      OPEN_RTL "2-way LRU"),
	PARAM_ENUM(T, policy, ASSOC_LRU, assoc_policies, "which line of a set is replaced",
		   OPEN_RTL "2-way LRU"),
	PARAM_ENUM(T, line, 0, line_sizes,
		   "bytes of a line of the translation cache, at 8 an entry: what a miss reads",
		   OPEN_RTL "MTT 8 B"),
	PARAM(T, levels, 1, 1, MTT_LEVELS, "",
	      "levels of the translation tables, 512 entries a table", OPEN_RTL "one"),
	PARAM(T, walk_entries, 16, 1, 4096, "", "entries of upper levels that are cached",
	      "declared"),
	PARAM(T, hit_cyc, 2, 2, 64, "cyc",
	      "from a request taken to its answer when both caches hit", OPEN_RTL "hit 2 cycles"),
	PARAM(T, issue_cyc, 1, 1, 64, "cyc", "from a look-up's start to the next one's",
	      "declared: a pipeline takes one a cycle"),
	PARAM(T, window, 1, 1, MTT_MAX_WINDOW, "req", "requests in hand, of both clients",
	      OPEN_RTL "one at a time"),
	PARAM(T, max_misses, 1, 1, MTT_MAX_WINDOW, "", "reads of table entries outstanding",
	      OPEN_RTL "one at a time"),
	PORT_IN_N(T, req, MTT_CLIENTS, xlate_req, "requests: 0 the DMA engine, 1 the responder"),
	PORT_OUT_N(T, rsp, MTT_CLIENTS, xlate_rsp, "their answers"),
	PORT_IN(T, inv, mpt_cmd, "keys to forget"),
	PORT_OUT(T, fill, dma_req, "reads of table entries"),
	PORT_IN(T, fill_rsp, dma_rsp, "their completions"),
	STAT(T, requests, "req", "requests taken"),
	STAT(T, mpt_hits, "req", "requests answered whose key was cached"),
	STAT(T, mpt_misses, "req", "MPT entries read"),
	STAT(T, mtt_hits, "req", "requests answered whose translation was cached"),
	STAT(T, mtt_misses, "req", "lines of MTT entries read"),
	STAT(T, walk_reads, "req", "entries of upper levels read"),
	STAT(T, merges, "req", "look-ups that wanted what was on its way"),
	STAT(T, errors, "req", "requests refused"),
	STAT(T, invalidations, "cmd", "keys forgotten"),
	STAT(T, miss_ps, "ps", "from a read to its completion, sum"),
	STAT(T, slot_wait_ps, "ps", "time that a look-up wanted a read and all were outstanding"),
	SIGNAL(T, state, 3, "0 idle, 1 look-up, 2 entry read, 3 drop key, 4 drop translations"),
	SIGNAL(T, client, 1, "whose request was taken last"),
	SIGNAL(T, va_page, 52, "its virtual page of 4 KiB"),
	SIGNAL(T, is_mpt_hit, 1, "the last look-up that was over had its key cached"),
	SIGNAL(T, is_mtt_hit, 1, "the last look-up that was over had its translation cached"),
	SIGNAL(T, status, 3, "status of its answer"),
	FIELDS_END
};
#undef T

/* ---- lists of requests ---- */

static void fifo_put(const struct mtt *m, struct mtt_fifo *f, uint32_t slot)
{
	uint32_t at = f->head + f->n++;

	f->slot[at < m->window ? at : at - m->window] = (uint16_t)slot;
}

static uint32_t fifo_take(const struct mtt *m, struct mtt_fifo *f)
{
	uint32_t slot = f->slot[f->head];

	f->head = f->head + 1 == m->window ? 0 : f->head + 1;
	f->n--;
	return slot;
}

static struct mtt_request *oldest(const struct mtt *m, const struct mtt_fifo *f)
{
	return f->n ? &m->request[f->slot[f->head]] : NULL;
}

/* ---- taking requests and commands ---- */

static bool take_command(struct mtt *m, const struct mpt_cmd *cmd)
{
	if (m->n_active)
		return false;
	m->drop_key = cmd->key;
	m->is_dropping = true;
	m->invalidations++;
	chan_pop(m->inv);
	return true;
}

/* Client 'i' has a request and the window a place for it. */
static bool can_take(struct mtt *m, uint32_t i)
{
	if (!xlate_req_peek(m->req[i]))
		return false;
	if (m->free.n > 1)
		return true;
	if (m->in_hand[i])
		return false;
	if (chan_can_push(m->rsp[i]))
		return true;
	chan_stall(m->rsp[i]);
	return false;
}

static bool take(struct mtt *m)
{
	const struct mpt_cmd *cmd = mpt_cmd_peek(m->inv);
	uint8_t other = m->client ^ 1u;
	bool has_own, has_other;
	struct mtt_request *r;
	uint32_t slot;

	if (cmd)
		return take_command(m, cmd);
	if (m->free.n == 0 || m->b.cycle < m->next_cyc)
		return false;
	has_own = can_take(m, m->client);
	has_other = can_take(m, other);
	if (!has_own && !has_other)
		return false;
	if (has_other)
		m->client = other;
	slot = fifo_take(m, &m->free);
	r = &m->request[slot];
	r->req = *xlate_req_peek(m->req[m->client]);
	r->client = m->client;
	r->at_cyc = m->b.cycle + m->hit_cyc;
	r->fill_status = XLATE_OK;
	r->has_missed_mpt = r->has_missed_mtt = r->has_mpt = r->has_entry = false;
	r->walked = 0;
	fifo_put(m, &m->looked_up, slot);
	m->in_hand[m->client]++;
	m->n_active++;
	m->next_cyc = m->b.cycle + m->issue_cyc;
	m->va_page = r->req.va >> MTT_LOG_PAGE_MIN;
	m->requests++;
	chan_pop_only(m->req[m->client]);
	return true;
}

/* ---- reads ---- */

static uint32_t find_miss(const struct mtt *m, const struct mtt_line_id *id)
{
	for (uint32_t i = 0; i < m->max_misses && m->missing; i++) {
		const struct mtt_miss *s = &m->miss[i];

		if (s->is_used && s->id.pa == id->pa && s->id.key_idx == id->key_idx &&
		    s->id.is_mpt == id->is_mpt && s->id.level == id->level)
			return i;
	}
	return NO_MISS;
}

/* Read what 'want' names. NO_MISS when there is no place or no room for it now. */
static uint32_t start_miss(struct mtt *m, const struct mtt_line_id *want)
{
	struct dma_req rd = { .addr = want->pa,
			      .key = KEY_PHYS,
			      .len = want->is_mpt  ? m->mpt_entry
				     : want->level ? MTT_ENTRY
						   : MTT_ENTRY << m->line,
			      .cls = want->is_mpt ? DMA_MPT : DMA_MTT };
	struct mtt_miss *s;

	if (m->missing == m->max_misses) { /* the next completion is a reason to look again */
		if (m->stalled_ps == TIME_NEVER)
			m->stalled_ps = m->b.now_ps;
		return NO_MISS;
	}
	if (!chan_can_push(m->fill)) {
		chan_stall(m->fill);
		return NO_MISS;
	}
	if (m->stalled_ps != TIME_NEVER)
		m->slot_wait_ps += m->b.now_ps - m->stalled_ps;
	m->stalled_ps = TIME_NEVER;
	while (m->miss[rd.tag].is_used)
		rd.tag++;
	s = &m->miss[rd.tag];
	rd.buf = s->buf = pool_alloc(m->pool);
	s->is_used = true;
	s->id = *want;
	s->from_ps = m->b.now_ps;
	dma_req_push(m->fill, &rd);
	m->missing++;
	m->mpt_misses += want->is_mpt;
	m->mtt_misses += !want->is_mpt && !want->level;
	m->walk_reads += want->level != 0;
	return rd.tag;
}

/* Request number 'slot' waits for a read. False when that could not be started. */
static bool wait_for(struct mtt *m, uint32_t slot, const struct mtt_line_id *want)
{
	uint32_t i = find_miss(m, want);

	if (i != NO_MISS)
		m->merges++;
	else
		i = start_miss(m, want);
	if (i == NO_MISS)
		return false;
	qp_list_add(&m->miss[i].waiting, slot);
	if (want->is_mpt)
		m->request[slot].has_missed_mpt = true;
	else
		m->request[slot].has_missed_mtt = true;
	return true;
}

/* The entry is written, then the look-ups start again, one cycle later. */
static bool take_fill(struct mtt *m)
{
	const struct dma_rsp *rsp = dma_rsp_peek(m->fill_rsp);
	struct mtt_miss *s;
	const uint8_t *bytes;

	if (!rsp)
		return false;
	SIM_CHECK(rsp->tag < m->max_misses && m->miss[rsp->tag].is_used, m);
	s = &m->miss[rsp->tag];
	bytes = buf_data(m->b.sim, s->buf);
	if (rsp->status == XLATE_OK)
		mtt_table_fill(m, &s->id, bytes);
	while (s->waiting.n) {
		uint32_t slot = qp_list_take(&s->waiting);
		struct mtt_request *r = &m->request[slot];

		r->fill_status = XLATE_BAD_KEY;
		if (rsp->status == XLATE_OK)
			mtt_table_deliver(m, r, &s->id, bytes);
		r->at_cyc = m->b.cycle + 1 + m->hit_cyc;
		fifo_put(m, &m->looked_up, slot);
	}
	m->miss_ps += m->b.now_ps - s->from_ps;
	buf_unref(&m->b, s->buf);
	s->is_used = false;
	m->missing--;
	chan_pop(m->fill_rsp);
	return true;
}

/* ---- look-ups and answers ---- */

static bool look_up(struct mtt *m)
{
	struct mtt_request *r = oldest(m, &m->looked_up);
	struct mtt_line_id want;

	if (!r || m->b.cycle < r->at_cyc)
		return false;
	if (!mtt_table_look_up(m, r, &want)) {
		if (!wait_for(m, (uint32_t)(r - m->request), &want))
			return false;
	} else {
		fifo_put(m, &m->over[r->client], (uint32_t)(r - m->request));
		m->n_active--;
		m->status = r->rsp.status;
		m->is_mpt_hit = r->is_mpt_hit;
		m->is_mtt_hit = r->is_mtt_hit;
		m->mpt_hits += r->is_mpt_hit;
		m->mtt_hits += r->is_mtt_hit;
		m->errors += r->rsp.status != XLATE_OK;
	}
	fifo_take(m, &m->looked_up);
	return true;
}

static bool answer(struct mtt *m)
{
	bool has_moved = false;

	for (uint32_t i = 0; i < MTT_CLIENTS; i++) {
		const struct mtt_request *r = oldest(m, &m->over[i]);

		if (!r)
			continue;
		if (!chan_can_push(m->rsp[i])) {
			chan_stall(m->rsp[i]);
			continue;
		}
		xlate_rsp_push(m->rsp[i], &r->rsp);
		fifo_put(m, &m->free, fifo_take(m, &m->over[i]));
		m->in_hand[i]--;
		has_moved = true;
	}
	return has_moved;
}

/* The cycle after the command came the key is forgotten; the walk takes its time. */
static bool drop(struct mtt *m)
{
	if (!m->is_walking) {
		m->drop_cyc = m->b.cycle + 1 + mtt_table_drop(m, m->drop_key);
		m->is_walking = true;
		return false;
	}
	if (m->b.cycle < m->drop_cyc)
		return false;
	m->is_dropping = m->is_walking = false;
	return true;
}

/* ---- life ---- */

static enum mtt_state state_of(const struct mtt *m)
{
	if (m->is_dropping)
		return m->is_walking ? MTT_WALK : MTT_DROP;
	if (m->free.n == m->window)
		return MTT_IDLE;
	return m->missing && !m->looked_up.n ? MTT_FILL : MTT_LOOKUP;
}

/* When something can be taken, as far as the block itself knows. */
static uint64_t take_at(const struct mtt *m, bool has_moved)
{
	bool has_cmd = mpt_cmd_peek(m->inv) != NULL;

	if (m->is_dropping)
		return m->is_walking ? m->drop_cyc : m->b.cycle + 1;
	if (has_cmd)
		return has_moved && !m->n_active ? m->b.cycle + 1 : CYCLE_NEVER;
	if (!m->free.n || (!xlate_req_peek(m->req[0]) && !xlate_req_peek(m->req[1])))
		return CYCLE_NEVER;
	if (m->next_cyc > m->b.cycle + 1)
		return m->next_cyc;
	return has_moved || m->next_cyc > m->b.cycle ? m->b.cycle + 1 : CYCLE_NEVER;
}

static uint64_t mtt_step(struct block *b)
{
	struct mtt *m = (struct mtt *)b;
	bool has_moved = m->is_dropping ? drop(m) : take(m);
	const struct mtt_request *r;
	uint64_t next;

	has_moved |= look_up(m);
	has_moved |= answer(m);
	has_moved |= take_fill(m);
	m->state = (uint8_t)state_of(m);
	next = take_at(m, has_moved);
	r = oldest(m, &m->looked_up);
	if (r && (has_moved || r->at_cyc > b->cycle))
		next = min_u64(next, max_u64(r->at_cyc, b->cycle + 1));
	if (has_moved && (m->over[0].n || m->over[1].n))
		next = b->cycle + 1;
	return next;
}

static const char *mtt_check(const struct block *b, const char **param)
{
	const struct mtt *m = (const struct mtt *)b;
	const char *why;

	*param = "mpt_ways";
	why = assoc_check(1u << m->mpt_sets, m->mpt_ways, m->mpt_policy);
	if (why)
		return why;
	*param = "ways";
	return assoc_check(1u << m->sets, m->ways, m->policy);
}

static void mtt_build(struct block *b)
{
	struct mtt *m = (struct mtt *)b;

	mtt_table_build(m);
	m->request = block_alloc(b, m->window, sizeof(*m->request));
	m->free.slot = block_alloc(b, m->window, sizeof(*m->free.slot));
	m->looked_up.slot = block_alloc(b, m->window, sizeof(*m->looked_up.slot));
	for (uint32_t i = 0; i < MTT_CLIENTS; i++)
		m->over[i].slot = block_alloc(b, m->window, sizeof(*m->over[i].slot));
	m->miss = block_alloc(b, m->max_misses, sizeof(*m->miss));
	m->links = block_alloc(b, m->window, sizeof(*m->links));
	/* a request waits for each read */
	m->pool = pool_create(b, (uint32_t)min_u64(m->max_misses, m->window), MPT_SIZE);
}

static void mtt_reset(struct block *b)
{
	struct mtt *m = (struct mtt *)b;

	mtt_table_reset(m);
	m->free.head = m->free.n = m->looked_up.head = m->looked_up.n = 0;
	for (uint32_t i = 0; i < MTT_CLIENTS; i++)
		m->over[i].head = m->over[i].n = m->in_hand[i] = 0;
	for (uint32_t i = 0; i < m->window; i++)
		fifo_put(m, &m->free, i);
	for (uint32_t i = 0; i < m->max_misses; i++) {
		m->miss[i].is_used = false;
		qp_list_init(&m->miss[i].waiting, m->links, m->window);
	}
	m->n_active = m->missing = 0;
	m->next_cyc = 0;
	m->stalled_ps = TIME_NEVER;
	m->is_dropping = m->is_walking = false;
	m->state = MTT_IDLE;
	m->client = 1; /* so that client 0 has the first turn */
	m->va_page = 0;
	m->is_mpt_hit = m->is_mtt_hit = false;
	m->status = XLATE_OK;
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
	.check = mtt_check,
};
