/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpt_unit.c - changes the table entries of memory windows while the NIC runs
 *
 * Hardware: the unit behind BIND_MW and LOCAL_INV work requests and SEND with Invalidate. The
 * memory protection table is in host memory; an entry is read, checked, and written back, and the
 * caches of the translation unit forget the key. A read of the table cannot pass the write in the
 * posted queue (PCI Express base specification, 2.4.1), so whoever looks the key up after the
 * answer finds the new entry.
 *
 * Modelled: windows with their checks (IBTA vol. 1, 10.6.7.2): a bind takes a window that is not
 * bound, of the QP's protection domain, and a region that allows binds, holds the range and, for
 * remote write and atomic, is open to local writes; an invalidation takes a window that is bound. A
 * window of type 1 may be bound to something else at once, its former key being void when the bind
 * completes, and is not invalidated. Keys that the CPU took away (deregistration) are passed on. One
 * operation at a time, requester and responder in turn. Not modelled: the QP to which a window of
 * type 2 is bound, keys of regions changed by work requests.
 *
 * Rate: an operation takes one or two DMA reads and a write.
 */
#include "models/packet/hdr.h"
#include "models/msg.h"
#include "models/nic.h"
#include "sim/pool.h"

enum mpt_state {
	MPT_IDLE,
	MPT_ASK_WINDOW,
	MPT_WINDOW_READ,
	MPT_ASK_REGION,
	MPT_REGION_READ,
	MPT_STORE,
	MPT_STORING,
	MPT_DROP,
	MPT_ANSWER
};

struct mpt_unit {
	struct block b;
	/* parameters */
	uint32_t buffers;
	/* ports */
	struct chan *op[2], *cmd, *dma_rsp, *rsp[2], *dma_req, *inv;
	/* state */
	struct pool *pool;
	struct mpt_op at;        /* under way */
	uint8_t client;          /* whose */
	uint8_t status;          /* enum xlate_status */
	uint32_t buf;            /* of the read */
	uint8_t entry[MPT_SIZE]; /* the window's */
	bool is_bound;           /* it was, when it was read */
	/* waves */
	uint8_t state; /* enum mpt_state */
	/* statistics */
	uint64_t binds, invalidations, refused, dropped_keys;
};

#define T struct mpt_unit
static const struct field mpt_unit_fields[] = {
	PARAM(T, buffers, 8, 2, 256, "entry", "entries between here and host memory", "declared"),
	PORT_IN_N(T, op, 2, mpt_op, "operations: 0 the requester's, 1 the responder's"),
	PORT_IN(T, cmd, mpt_cmd, "keys that the CPU took away"),
	PORT_IN(T, dma_rsp, dma_rsp, "ends of own transfers"),
	PORT_OUT_N(T, rsp, 2, mpt_rsp, "answers"),
	PORT_OUT(T, dma_req, dma_req, "reads and writes of entries"),
	PORT_OUT(T, inv, mpt_cmd, "keys that the translation unit is to forget"),
	STAT(T, binds, "op", "windows bound"),
	STAT(T, invalidations, "op", "windows invalidated by work requests or messages"),
	STAT(T, refused, "op", "operations that a check refused"),
	STAT(T, dropped_keys, "key", "keys that the CPU took away"),
	SIGNAL(T, state, 4, "0 idle, 1-2 window, 3-4 region, 5-6 store, 7 forget, 8 answer"),
	FIELDS_END
};
#undef T

static uint64_t entry_pa(const struct mpt_unit *m, uint32_t key)
{
	return ((const struct nic *)m->b.env)->mpt_pa + (uint64_t)(key >> 8) * MPT_SIZE;
}

static bool has_entry(const struct mpt_unit *m, uint32_t key)
{
	return key >> 8 < ((const struct nic *)m->b.env)->mpt_entries;
}

/* End the operation without a change. */
static void refuse(struct mpt_unit *m, enum xlate_status why)
{
	m->refused++;
	m->status = (uint8_t)why;
	m->state = MPT_ANSWER;
}

static void read_entry(struct mpt_unit *m, uint32_t key)
{
	m->buf = pool_alloc(m->pool);
	dma_req_push(m->dma_req, &(struct dma_req){ .addr = entry_pa(m, key),
						    .key = KEY_PHYS,
						    .len = MPT_SIZE,
						    .buf = m->buf,
						    .cls = DMA_MPT,
						    .op = OP_NONE });
	m->state++;
}

/* ---- checks, once an entry is there ---- */

/* A bind of a window that is not bound, or the key of one that is. */
static bool fits_type_2(const struct mpt_unit *m)
{
	if (m->at.is_bind)
		return !m->is_bound;
	return m->is_bound && m->entry[MPT_KEY8] == (m->at.key & 0xff);
}

static void check_window(struct mpt_unit *m)
{
	const uint8_t *e = m->entry;

	if (!(e[MPT_FLAGS] & MPT_WINDOW) ||
	    !(e[MPT_FLAGS] & MPT_TYPE_1 ? m->at.is_bind : fits_type_2(m))) {
		refuse(m, XLATE_BAD_KEY);
	} else if (hdr_get(e, 8 * MPT_PD, 16) != m->at.pd) {
		refuse(m, XLATE_BAD_PD);
	} else if (m->at.is_bind && m->at.len) {
		m->state = MPT_ASK_REGION;
	} else {
		m->entry[MPT_FLAGS] &= (uint8_t)~MPT_VALID;
		m->entry[MPT_KEY8] = (uint8_t)m->at.key;
		m->state = MPT_STORE;
	}
}

static enum xlate_status check_region(const struct mpt_op *o, const uint8_t *e)
{
	const uint8_t stores = ACCESS_REMOTE_WRITE | ACCESS_REMOTE_ATOMIC;
	uint64_t off = o->va - hdr_get(e, 8 * MPT_START, 64), len = hdr_get(e, 8 * MPT_LEN, 64);

	if ((e[MPT_FLAGS] & (MPT_VALID | MPT_WINDOW)) != MPT_VALID ||
	    e[MPT_KEY8] != (o->lkey & 0xff))
		return XLATE_BAD_KEY;
	if (hdr_get(e, 8 * MPT_PD, 16) != o->pd)
		return XLATE_BAD_PD;
	if (!(e[MPT_ACCESS] & ACCESS_MW_BIND) ||
	    ((o->access & stores) && !(e[MPT_ACCESS] & ACCESS_LOCAL_WRITE)))
		return XLATE_NO_ACCESS;
	return off > len || o->len > len - off ? XLATE_OUT_OF_RANGE : XLATE_OK;
}

/* The window's entry: the part of the region's pages that it opens. */
static void fill_window(struct mpt_unit *m, const uint8_t *region)
{
	const struct mpt_op *o = &m->at;
	uint8_t log_page = region[MPT_LOG_PAGE];
	uint64_t page = (o->va >> log_page) - (hdr_get(region, 8 * MPT_START, 64) >> log_page);
	uint8_t flags = m->entry[MPT_FLAGS] | MPT_VALID;

	memset(m->entry, 0, MPT_SIZE);
	hdr_put(m->entry, 8 * MPT_PD, 16, o->pd);
	m->entry[MPT_FLAGS] = flags;
	m->entry[MPT_ACCESS] = o->access;
	m->entry[MPT_KEY8] = (uint8_t)o->key;
	m->entry[MPT_LOG_PAGE] = log_page;
	hdr_put(m->entry, 8 * MPT_START, 64, o->va);
	hdr_put(m->entry, 8 * MPT_LEN, 64, o->len);
	hdr_put(m->entry, 8 * MPT_MTT, 64, hdr_get(region, 8 * MPT_MTT, 64) + page * MTT_ENTRY);
	hdr_put(m->entry, 8 * MPT_LKEY, 32, o->lkey);
}

static void take_entry(struct mpt_unit *m, const uint8_t *bytes)
{
	enum xlate_status why;

	if (m->state == MPT_WINDOW_READ) {
		memcpy(m->entry, bytes, MPT_SIZE);
		m->is_bound = m->entry[MPT_FLAGS] & MPT_VALID;
		check_window(m);
		return;
	}
	why = check_region(&m->at, bytes);
	if (why != XLATE_OK) {
		refuse(m, why);
		return;
	}
	fill_window(m, bytes);
	m->state = MPT_STORE;
}

static void take_dma_rsp(struct mpt_unit *m)
{
	if (!dma_rsp_peek(m->dma_rsp))
		return;
	if (m->state == MPT_STORING) {
		m->binds += m->at.is_bind;
		m->invalidations += !m->at.is_bind;
		/* entries that are not valid are nowhere cached */
		m->state = m->is_bound ? MPT_DROP : MPT_ANSWER;
	} else {
		SIM_CHECK(m->state == MPT_WINDOW_READ || m->state == MPT_REGION_READ, m);
		take_entry(m, buf_data(m->b.sim, m->buf));
		buf_unref(&m->b, m->buf);
	}
	chan_pop(m->dma_rsp);
}

/* ---- what goes out ---- */

static void take_op(struct mpt_unit *m)
{
	const struct mpt_op *op = NULL;

	for (uint8_t k = 1; k <= 2 && !op; k++) {
		uint8_t i = (m->client + k) & 1;

		op = mpt_op_peek(m->op[i]);
		if (op)
			m->client = i;
	}
	if (!op)
		return;
	m->at = *op;
	m->status = XLATE_OK;
	m->state = MPT_ASK_WINDOW;
	chan_pop(m->op[m->client]);
}

static uint64_t use_dma(struct mpt_unit *m)
{
	if (!chan_can_push(m->dma_req))
		return chan_stall(m->dma_req);
	if (!pool_can_alloc(m->pool))
		return pool_stall(m->pool);
	if (m->state != MPT_STORE) {
		read_entry(m, m->state == MPT_ASK_WINDOW ? m->at.key : m->at.lkey);
		return CYCLE_NEVER;
	}
	m->buf = pool_alloc(m->pool);
	memcpy(buf_data(m->b.sim, m->buf), m->entry, MPT_SIZE);
	dma_req_push(m->dma_req, &(struct dma_req){ .addr = entry_pa(m, m->at.key),
						    .key = KEY_PHYS,
						    .len = MPT_SIZE,
						    .buf = m->buf,
						    .is_write = 1,
						    .cls = DMA_MPT,
						    .op = OP_NONE });
	m->state = MPT_STORING;
	return CYCLE_NEVER;
}

/* The caches forget the key: they take that before any look-up that comes after the answer. */
static uint64_t drop(struct mpt_unit *m, bool *is_port_free)
{
	if (!*is_port_free)
		return m->b.cycle + 1;
	if (!chan_can_push(m->inv))
		return chan_stall(m->inv);
	mpt_cmd_push(m->inv, &(struct mpt_cmd){ .key = m->at.key });
	*is_port_free = false;
	m->state = MPT_ANSWER;
	return m->b.cycle + 1;
}

static uint64_t answer(struct mpt_unit *m)
{
	struct chan *to = m->rsp[m->client];

	if (!chan_can_push(to))
		return chan_stall(to);
	mpt_rsp_push(to, &(struct mpt_rsp){ .tag = m->at.tag, .status = m->status });
	m->state = MPT_IDLE;
	return m->b.cycle + 1;
}

/* A key of the CPU's goes through at once. */
static void pass_on(struct mpt_unit *m, bool *is_port_free)
{
	const struct mpt_cmd *c = mpt_cmd_peek(m->cmd);

	if (!c)
		return;
	if (!chan_can_push(m->inv)) {
		chan_stall(m->inv);
		return;
	}
	mpt_cmd_push(m->inv, c);
	*is_port_free = false;
	m->dropped_keys++;
	chan_pop(m->cmd);
}

static uint64_t mpt_unit_step(struct block *b)
{
	struct mpt_unit *m = (struct mpt_unit *)b;
	bool is_port_free = true;

	pass_on(m, &is_port_free);
	take_dma_rsp(m);
	if (m->state == MPT_IDLE)
		take_op(m);
	if (m->state == MPT_ASK_WINDOW && !has_entry(m, m->at.key))
		refuse(m, XLATE_BAD_KEY);
	if (m->state == MPT_ASK_REGION && !has_entry(m, m->at.lkey))
		refuse(m, XLATE_BAD_KEY);
	switch ((enum mpt_state)m->state) {
	case MPT_ASK_WINDOW:
	case MPT_ASK_REGION:
	case MPT_STORE:
		return use_dma(m);
	case MPT_DROP:
		return drop(m, &is_port_free);
	case MPT_ANSWER:
		return answer(m);
	default:
		return CYCLE_NEVER;
	}
}

static void mpt_unit_build(struct block *b)
{
	struct mpt_unit *m = (struct mpt_unit *)b;

	m->pool = pool_create(b, m->buffers, MPT_SIZE);
}

static void mpt_unit_reset(struct block *b)
{
	struct mpt_unit *m = (struct mpt_unit *)b;

	m->state = MPT_IDLE;
	m->client = 1; /* so that the requester has the first turn */
}

const struct block_class mpt_unit_class = {
	.name = "mpt_unit",
	.impl = "c",
	.size = sizeof(struct mpt_unit),
	.fields = mpt_unit_fields,
	.doc = "binds and invalidates memory windows in the protection table",
	.build = mpt_unit_build,
	.reset = mpt_unit_reset,
	.step = mpt_unit_step,
};
