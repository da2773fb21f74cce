/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atomic.c - the read-modify-write unit behind the responder
 *
 * Hardware: compare-and-swap and fetch-and-add on 8 bytes of host memory, done by the NIC: a PCIe
 * read, the operation, a PCIe write. An operation is finished when its write stands in the posted
 * queue: a later read on the link cannot pass it (PCI Express base specification, 2.4.1), so it
 * sees the value written.
 *
 * Modelled: 'parallel' operations under way (units), a lock on the 8 bytes, or on all words that
 * share it, from the start of the read until the write is posted; an operation that finds its
 * address locked waits in its slot, in order of arrival. Addresses are virtual and a host has one address space, so the lock needs no key. A
 * compare that fails writes nothing. Memory is little-endian, operands are numbers. Atomicity is
 * against this NIC only (IBV_ATOMIC_HCA); the keys were checked by the responder, and are checked
 * again by the transfers. Not modelled: PCIe AtomicOp requests, masked and extended atomics.
 *
 * ATOMIC WRITE is a store under the same lock, without the read. FLUSH is a read only: on the link
 * it pushes all that was posted before it into memory, so its end says that this is there.
 *
 * Rate: 'parallel' operations a DMA read latency, at most one in 'interval' cycles. IBTA vol.
 * 1, 9.4.5.
 */
#include "models/msg.h"
#include "models/nic.h"
#include "sim/pool.h"

#define ATOMIC_BYTES 8u
#define ATOMIC_SLOTS 64u /* largest 'parallel' */
#define SLOT_NONE UINT32_MAX

enum slot_state {
	SLOT_FREE,
	SLOT_LOOKUP, /* in the table of locks */
	SLOT_WAIT,   /* for the lock */
	SLOT_READ,   /* wants to read */
	SLOT_READING,
	SLOT_COMPUTE,
	SLOT_WRITE, /* wants to write */
	SLOT_WRITING,
	SLOT_DONE /* wants to answer */
};

struct atomic_slot {
	struct atomic_req req;
	uint64_t original;
	uint64_t ready_cyc; /* LOOKUP, COMPUTE: end of it */
	uint64_t age;       /* order of arrival */
	uint64_t lock_ps;   /* WAIT: since when */
	uint32_t buf;
	enum slot_state state;
	uint8_t status;
};

struct atomic {
	struct block b;
	/* parameters */
	uint32_t parallel, interval, alu, cas_alu, lock_cyc, locks;
	/* ports */
	struct chan *req, *dma_rsp, *rsp, *dma_req;
	/* state */
	struct pool *pool;
	struct atomic_slot slot[ATOMIC_SLOTS];
	uint32_t in_use;
	uint64_t next_start_cyc, age;
	/* statistics */
	uint64_t ops, swaps_failed, lock_waits, wait_lock_ps, errors;
};

#define T struct atomic
static const struct field atomic_fields[] = {
	PARAM(T, parallel, 4, 1, ATOMIC_SLOTS, "op", "operations under way",
	      "fitted: ConnectX-5, 5.2 million fetch-and-adds a second at 0.7 us a read"),
	PARAM(T, interval, 1, 1, 65536, "cyc",
	      "cycles from the start of one operation to that of the next", "declared"),
	PARAM(T, alu, 1, 1, 1024, "cyc", "cycles of a fetch-and-add itself", "declared"),
	PARAM(T, cas_alu, 1, 1, 1024, "cyc", "cycles of a compare-and-swap itself", "declared"),
	PARAM(T, lock_cyc, 0, 0, 1024, "cyc",
	      "cycles of the look-up in the table of locks before an operation starts", "declared"),
	PARAM(T, locks, 0, 0, 1u << 20, "lock",
	      "locks, one for all 8-byte words whose number leaves the same rest; 0 = one a word",
	      "declared: ConnectX-3 and Connect-IB lock by low address bits (Kalia, ATC 2016)"),
	PORT_IN(T, req, atomic_req, "operations, checked by the responder"),
	PORT_IN(T, dma_rsp, dma_rsp, "ends of the reads and writes"),
	PORT_OUT(T, rsp, atomic_rsp, "original values; order is not that of the requests"),
	PORT_OUT(T, dma_req, dma_req, "8-byte reads and writes"),
	STAT(T, ops, "op", "operations answered"),
	STAT(T, swaps_failed, "op", "compares that failed"),
	STAT(T, lock_waits, "op", "operations that found their address locked"),
	STAT(T, wait_lock_ps, "ps", "waiting for the lock of their address"),
	STAT(T, errors, "op", "operations ended by a protection error"),
	SIGNAL(T, in_use, 7, "operations under way"),
	FIELDS_END
};
#undef T

static uint64_t load_le64(const uint8_t *p)
{
	uint64_t v = 0;

	for (unsigned i = 8; i-- > 0;)
		v = v << 8 | p[i];
	return v;
}

static void store_le64(uint8_t *p, uint64_t v)
{
	for (unsigned i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static void atomic_build(struct block *b)
{
	struct atomic *a = (struct atomic *)b;

	/* A written buffer comes back when the host has served the write: more than the slots. */
	a->pool = pool_create(b, 8 * ATOMIC_SLOTS, ATOMIC_BYTES);
}

static void atomic_reset(struct block *b)
{
	struct atomic *a = (struct atomic *)b;

	for (uint32_t i = 0; i < ATOMIC_SLOTS; i++)
		a->slot[i].state = SLOT_FREE;
	a->in_use = 0;
	a->next_start_cyc = 0;
	a->age = 0;
}

/* The oldest slot in 'state', or SLOT_NONE. */
static uint32_t oldest(const struct atomic *a, enum slot_state state)
{
	uint32_t best = SLOT_NONE;

	for (uint32_t i = 0; i < a->parallel; i++)
		if (a->slot[i].state == state &&
		    (best == SLOT_NONE || a->slot[i].age < a->slot[best].age))
			best = i;
	return best;
}

/* Whether two operations need the same lock. */
static bool is_same_lock(const struct atomic *a, uint64_t va, uint64_t other)
{
	return va == other ||
	       (a->locks && va / ATOMIC_BYTES % a->locks == other / ATOMIC_BYTES % a->locks);
}

/* Whether an older operation on the same 8 bytes holds the lock or waits for it. */
static bool is_locked(const struct atomic *a, uint64_t va, uint64_t age)
{
	for (uint32_t i = 0; i < a->parallel; i++) {
		const struct atomic_slot *s = &a->slot[i];

		if (s->state != SLOT_FREE && s->state != SLOT_DONE && s->age < age &&
		    is_same_lock(a, va, s->req.va))
			return true;
	}
	return false;
}

/* The lock of a finished operation passes to the oldest that waits for it. */
static void unlock(struct atomic *a, uint64_t va)
{
	uint32_t best = SLOT_NONE;

	for (uint32_t i = 0; i < a->parallel; i++) {
		const struct atomic_slot *s = &a->slot[i];

		if (s->state == SLOT_WAIT && is_same_lock(a, va, s->req.va) &&
		    (best == SLOT_NONE || s->age < a->slot[best].age))
			best = i;
	}
	if (best == SLOT_NONE)
		return;
	a->slot[best].state = SLOT_READ;
	a->wait_lock_ps += a->b.now_ps - a->slot[best].lock_ps;
}

static void finish(struct atomic *a, struct atomic_slot *s, uint8_t status)
{
	s->status = status;
	s->state = SLOT_DONE;
	a->errors += status != XLATE_OK;
	unlock(a, s->req.va);
}

static const uint8_t kind_access[] = { [ATOMIC_RMW] = ACCESS_REMOTE_ATOMIC,
				       [ATOMIC_STORE] = ACCESS_REMOTE_WRITE,
				       [ATOMIC_TOUCH] = ACCESS_FLUSH,
				       [ATOMIC_PUSH] = 0 };

static void push_dma(struct atomic *a, uint32_t i, bool is_write)
{
	const struct atomic_slot *s = &a->slot[i];
	bool is_bus = s->req.kind == ATOMIC_PUSH;

	dma_req_push(
		a->dma_req,
		&(struct dma_req){ .addr = s->req.va,
				   .key = is_bus ? KEY_PHYS : s->req.rkey,
				   .len = s->req.kind == ATOMIC_TOUCH ? s->req.len : ATOMIC_BYTES,
				   .buf = s->buf,
				   .tag = i,
				   .pd = s->req.pd,
				   .access = kind_access[s->req.kind],
				   .is_write = is_write,
				   .cls = is_bus ? DMA_MPT : DMA_ATOMIC,
				   .op = OP_NONE });
}

/* The first transfer of the operation in slot 'i': a read, or the only one of a store. */
static void first_dma(struct atomic *a, uint32_t i)
{
	struct atomic_slot *s = &a->slot[i];
	bool is_store = s->req.kind == ATOMIC_STORE;

	s->buf = pool_alloc(a->pool);
	if (is_store)
		store_le64(buf_data(a->b.sim, s->buf), s->req.swap_add);
	push_dma(a, i, is_store);
	s->state = is_store ? SLOT_WRITING : SLOT_READING;
}

/* One transfer a cycle; writes first, they end operations. False when one was refused. */
static bool start_dma(struct atomic *a)
{
	uint32_t w = oldest(a, SLOT_WRITE);
	uint32_t i = w != SLOT_NONE ? w : oldest(a, SLOT_READ);

	if (i == SLOT_NONE)
		return true;
	if (!chan_can_push(a->dma_req)) {
		chan_stall(a->dma_req);
		return false;
	}
	if (w != SLOT_NONE) {
		push_dma(a, i, true);
		a->slot[i].state = SLOT_WRITING;
		return true;
	}
	if (!pool_can_alloc(a->pool)) {
		pool_stall(a->pool);
		return false;
	}
	first_dma(a, i);
	return true;
}

/* The look-up is over: the operation starts, or waits for its lock. */
static void try_lock(struct atomic *a, struct atomic_slot *s)
{
	s->state = SLOT_READ;
	if (is_locked(a, s->req.va, s->age)) {
		s->state = SLOT_WAIT;
		s->lock_ps = a->b.now_ps;
		a->lock_waits++;
	}
}

/* The operation itself. */
static void execute(struct atomic *a, struct atomic_slot *s)
{
	uint8_t *p = buf_data(a->b.sim, s->buf);

	s->original = load_le64(p);
	if (!s->req.is_fetch_add && s->original != s->req.compare) {
		a->swaps_failed++;
		buf_unref(&a->b, s->buf);
		finish(a, s, XLATE_OK);
		return;
	}
	store_le64(p, s->req.is_fetch_add ? s->original + s->req.swap_add : s->req.swap_add);
	s->state = SLOT_WRITE;
}

/* Operations whose time in the table or the ALU is over. Returns when the next one's is. */
static uint64_t compute(struct atomic *a)
{
	uint64_t next = CYCLE_NEVER;

	for (uint32_t i = 0; i < a->parallel; i++) {
		struct atomic_slot *s = &a->slot[i];

		if (s->state != SLOT_COMPUTE && s->state != SLOT_LOOKUP)
			continue;
		if (s->ready_cyc > a->b.cycle)
			next = min_u64(next, s->ready_cyc);
		else if (s->state == SLOT_LOOKUP)
			try_lock(a, s);
		else
			execute(a, s);
	}
	return next;
}

static void take_dma_rsp(struct atomic *a)
{
	const struct dma_rsp *m = dma_rsp_peek(a->dma_rsp);
	struct atomic_slot *s;

	if (!m)
		return;
	SIM_CHECK(m->tag < a->parallel, a);
	s = &a->slot[m->tag];
	SIM_CHECK(s->state == SLOT_READING || s->state == SLOT_WRITING, a);
	if (s->state == SLOT_WRITING) {
		finish(a, s, m->status);
	} else if (m->status != XLATE_OK || s->req.kind >= ATOMIC_TOUCH) {
		buf_unref(&a->b, s->buf);
		finish(a, s, m->status);
	} else {
		s->state = SLOT_COMPUTE;
		s->ready_cyc = a->b.cycle + (s->req.is_fetch_add ? a->alu : a->cas_alu);
	}
	chan_pop(a->dma_rsp);
}

/* False when the port refused. */
static bool answer(struct atomic *a)
{
	uint32_t i = oldest(a, SLOT_DONE);
	struct atomic_slot *s;

	if (i == SLOT_NONE)
		return true;
	if (!chan_can_push(a->rsp)) {
		chan_stall(a->rsp);
		return false;
	}
	s = &a->slot[i];
	atomic_rsp_push(a->rsp, &(struct atomic_rsp){ .original = s->original,
						      .tag = s->req.tag,
						      .status = s->status });
	s->state = SLOT_FREE;
	a->in_use--;
	a->ops++;
	return true;
}

/* Returns when the next operation may start, if one waits for that. */
static uint64_t take_request(struct atomic *a)
{
	const struct atomic_req *m = atomic_req_peek(a->req);
	uint32_t i = oldest(a, SLOT_FREE);
	struct atomic_slot *s;

	if (!m || i == SLOT_NONE)
		return CYCLE_NEVER;
	if (a->b.cycle < a->next_start_cyc)
		return a->next_start_cyc;
	s = &a->slot[i];
	*s = (struct atomic_slot){ .req = *m,
				   .age = ++a->age,
				   .state = SLOT_LOOKUP,
				   .ready_cyc = a->b.cycle + 1 + a->lock_cyc };
	if (!a->lock_cyc)
		try_lock(a, s);
	a->next_start_cyc = a->b.cycle + a->interval;
	a->in_use++;
	chan_pop(a->req);
	return CYCLE_NEVER;
}

static uint64_t atomic_step(struct block *b)
{
	struct atomic *a = (struct atomic *)b;
	bool is_rsp_free = answer(a);
	uint64_t next = compute(a);
	bool is_dma_free = start_dma(a);

	next = min_u64(next, take_request(a));
	take_dma_rsp(a);
	/* What became possible in this step is done in the next, unless something refused. */
	for (uint32_t i = 0; i < a->parallel; i++) {
		enum slot_state st = a->slot[i].state;

		if (st == SLOT_COMPUTE || st == SLOT_LOOKUP)
			next = min_u64(next, a->slot[i].ready_cyc);
		else if ((st == SLOT_DONE && is_rsp_free) ||
			 ((st == SLOT_READ || st == SLOT_WRITE) && is_dma_free))
			next = b->cycle + 1;
	}
	if (a->in_use < a->parallel && atomic_req_peek(a->req))
		next = min_u64(next, max_u64(a->next_start_cyc, b->cycle + 1));
	return next;
}

const struct block_class atomic_class = {
	.name = "atomic",
	.impl = "c",
	.size = sizeof(struct atomic),
	.fields = atomic_fields,
	.doc = "read-modify-write of host memory with a lock per address",
	.build = atomic_build,
	.reset = atomic_reset,
	.step = atomic_step,
};
