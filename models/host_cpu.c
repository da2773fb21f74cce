/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_cpu.c - the CPU's way to memory and to the NIC: stores, register writes, polls, interrupts
 *
 * The CPU's accesses are served in program order, one in store_latency; a register write leaves for
 * the NIC mmio_latency later.
 *
 * A poll looks at a CQE every poll_interval from the time it came; instead of looking, a poll that
 * finds nothing waits until a write lands in a frame of its CQ, and is answered at the tick after
 * that. An answer takes llc_latency, as the line comes from the last-level cache into which the NIC
 * wrote it; of a line that is not there, the time of a miss more.
 *
 * A program may also wait for a byte to take a value (CPU_WATCH, one a QP): polled in the same way.
 *
 * The event queue is watched like a CQ, but only when the NIC has written to MSIX_ADDR: then its
 * poll, if one waits, is answered irq_latency later.
 */
#include "models/host_mem.h"

#define CQE_BYTES 64u
#define CQE_OP_OWN 63u

/* ---- polls ---- */

/* What poll 'w' waits for is there. */
static bool is_there(const struct host_mem *h, const struct watch *w)
{
	const struct host *host = h->b.env;
	const uint8_t *cqe = mem_at(host->mem, w->addr);

	SIM_CHECK(cqe, h);
	if (w->is_byte)
		return *cqe == w->value;
	return cqe[CQE_OP_OWN] >> 4 != CQE_INVALID && (cqe[CQE_OP_OWN] & 1) == w->owner;
}

/* Lists of polls are rings through their ends: watch 0, and one for bytes that are waited for. */
static void link_behind(struct host_mem *h, uint32_t after, uint32_t i)
{
	struct watch *w = &h->watch[i];

	w->prev = after;
	w->next = h->watch[after].next;
	h->watch[w->next].prev = i;
	h->watch[after].next = i;
}

static void unlink_watch(struct host_mem *h, const struct watch *w)
{
	h->watch[w->prev].next = w->next;
	h->watch[w->next].prev = w->prev;
}

static uint32_t bytes_end(const struct host_mem *h)
{
	return ((const struct host *)h->b.env)->nic->n_cq + 2;
}

uint32_t host_cpu_watches(const struct host_mem *h)
{
	return bytes_end(h) + 1 + ((const struct host *)h->b.env)->nic->n_qp;
}

void host_cpu_reset(struct host_mem *h)
{
	memset(h->watch, 0, host_cpu_watches(h) * sizeof(*h->watch));
	h->watch[bytes_end(h)].prev = h->watch[bytes_end(h)].next = bytes_end(h);
}

/* Put poll 'i' into the list of answers, behind those that are not later. */
static void answer_at(struct host_mem *h, uint32_t i, uint64_t ready_cyc)
{
	uint32_t after = h->watch[0].prev;

	while (after && h->watch[after].ready_cyc > ready_cyc)
		after = h->watch[after].prev;
	h->watch[i].ready_cyc = ready_cyc;
	link_behind(h, after, i);
}

/* The answer to a poll that waited comes at its next tick. */
static void end_wait(struct host_mem *h, uint32_t i)
{
	struct watch *w = &h->watch[i];

	w->is_waiting = false;
	h->waiting--;
	answer_at(h, i,
		  w->since_cyc + align_up(h->b.cycle - w->since_cyc, h->poll_cyc) + h->llc_cyc);
}

/* A program waits for a byte to take a value. */
static void watch_byte(struct host_mem *h, const struct cpu_req *r)
{
	uint32_t i = r->tag + 2; /* behind the end of their list */
	struct watch *w = &h->watch[i];

	SIM_CHECK(i > bytes_end(h) && !w->is_waiting, h);
	w->addr = r->addr;
	w->value = r->data[0];
	w->is_byte = true;
	w->since_cyc = h->b.cycle;
	if (is_there(h, w)) {
		answer_at(h, i, h->b.cycle + h->llc_cyc);
		return;
	}
	w->is_waiting = true;
	h->waiting++;
	h->polls_waited++;
	link_behind(h, bytes_end(h), i);
}

static void poll(struct host_mem *h, const struct cpu_req *r)
{
	const struct host *host = h->b.env;
	struct watch *w = &h->watch[r->tag + 1];

	SIM_CHECK(r->tag <= host->nic->n_cq && !w->is_waiting, h);
	w->addr = r->addr;
	w->owner = r->owner;
	w->since_cyc = h->b.cycle;
	h->peeks += r->kind == CPU_PEEK;
	if (r->kind == CPU_PEEK || is_there(h, w)) {
		answer_at(h, r->tag + 1,
			  h->b.cycle + h->llc_cyc +
				  host_mem_cpu_lines(h, w->addr, w->is_byte ? 1 : CQE_BYTES));
		return;
	}
	w->is_waiting = true;
	h->waiting++;
	h->polls_waited++;
}

/* Programs that wait for a byte see what the device or another program wrote. */
static void bytes_written(struct host_mem *h, uint64_t pa, uint32_t len)
{
	for (uint32_t i = h->watch[bytes_end(h)].next, next; i != bytes_end(h); i = next) {
		struct watch *w = &h->watch[i];

		next = w->next;
		if (w->addr < pa || w->addr >= pa + len || !is_there(h, w))
			continue;
		unlink_watch(h, w);
		end_wait(h, i);
	}
}

void host_cpu_landed(struct host_mem *h, uint64_t pa, uint32_t len)
{
	const struct host *host = h->b.env;

	for (uint64_t f = pa / PAGE_4K; f <= (pa + len - 1) / PAGE_4K; f++) {
		uint32_t i = host->mem->frame_cq[f];
		struct watch *w = &h->watch[i];

		if (i && w->is_waiting && is_there(h, w))
			end_wait(h, i);
	}
	bytes_written(h, pa, len);
}

/* When the first poll of the list can be answered. */
static uint64_t next_answer(const struct host_mem *h)
{
	uint32_t i = h->watch[0].next;

	return i ? max_u64(h->watch[i].ready_cyc, h->b.cycle + 1) : CYCLE_NEVER;
}

/* The event queue's handler is entered, unless it is at work: then it finds the entry itself. */
void host_cpu_interrupt(struct host_mem *h)
{
	const struct host *host = h->b.env;
	struct watch *w = &h->watch[host->nic->n_cq + 1];

	h->irqs++;
	if (!w->is_waiting || !is_there(h, w))
		return;
	w->is_waiting = false;
	h->waiting--;
	answer_at(h, host->nic->n_cq + 1, h->b.cycle + h->irq_cyc);
}

uint64_t host_cpu_answer(struct host_mem *h)
{
	const struct host *host = h->b.env;
	uint32_t i = h->watch[0].next;
	struct watch *w = &h->watch[i];
	struct cpu_rsp rsp = { 0 };

	if (i == 0)
		return CYCLE_NEVER;
	if (w->ready_cyc > h->b.cycle)
		return w->ready_cyc;
	if (!chan_can_push(h->cpu_rsp))
		return chan_stall(h->cpu_rsp);
	rsp.tag = i - 1 - w->is_byte;
	memcpy(rsp.data, mem_at(host->mem, w->addr), w->is_byte ? 1 : CQE_BYTES);
	cpu_rsp_push(h->cpu_rsp, &rsp);
	unlink_watch(h, w);
	h->polls++;
	return next_answer(h);
}

/* ---- the CPU ---- */

/* The bytes of a CPU_COPY or CPU_MMIO_COPY. */
static void load(struct host_mem *h, const struct cpu_req *r, uint8_t *to)
{
	const struct host *host = h->b.env;
	uint64_t from = 0;

	for (unsigned i = 0; i < sizeof(from); i++)
		from |= (uint64_t)r->data[i] << 8 * i;
	SIM_CHECK(mem_read(host->mem, from, to, r->len), h);
}

static void send_register(struct host_mem *h, const struct cpu_req *r)
{
	struct tlp t = {
		.addr = r->addr,
		.len = r->len,
		.buf = pool_alloc(h->pool),
		.kind = TLP_MWR,
		.cls = DMA_DOORBELL,
		.op = r->op,
	};

	if (r->kind == CPU_MMIO)
		memcpy(buf_data(h->b.sim, t.buf), r->data, r->len);
	else
		load(h, r, buf_data(h->b.sim, t.buf));
	ring_put(&h->reg, &t, h->b.cycle, h->b.cycle + h->mmio_cyc);
	h->mmios++;
	h->mmio_b += r->len;
}

static void store(struct host_mem *h, const struct cpu_req *r, const uint8_t *bytes)
{
	const struct host *host = h->b.env;

	SIM_CHECK(mem_write(host->mem, r->addr, bytes, r->len), h);
	host_mem_cpu_lines(h, r->addr, r->len); /* the store buffer waits, not the CPU */
	bytes_written(h, r->addr, r->len);
	h->stores++;
}

/* Inline data: a store of bytes that are in memory (msg.h). */
static void copy(struct host_mem *h, const struct cpu_req *r)
{
	uint8_t bytes[sizeof(r->data)];

	load(h, r, bytes);
	store(h, r, bytes);
}

uint64_t host_cpu_serve(struct host_mem *h)
{
	const struct cpu_req *r = cpu_req_peek(h->cpu_req);

	if (!r)
		return CYCLE_NEVER;
	if (h->b.cycle < h->cpu_free_cyc)
		return h->cpu_free_cyc;
	SIM_CHECK(r->len <= sizeof(r->data), h);
	switch (r->kind) {
	case CPU_STORE:
		store(h, r, r->data);
		break;
	case CPU_COPY:
		copy(h, r);
		break;
	case CPU_MMIO:
	case CPU_MMIO_COPY:
		if (!pool_can_alloc(h->pool))
			return pool_stall(h->pool);
		if (h->reg.n == h->reg.size)
			return CYCLE_NEVER;
		send_register(h, r);
		break;
	case CPU_WATCH:
		watch_byte(h, r);
		break;
	default:
		poll(h, r);
	}
	h->cpu_free_cyc = h->b.cycle + h->store_cyc;
	chan_pop(h->cpu_req);
	return CYCLE_NEVER; /* the next one wakes the block */
}
