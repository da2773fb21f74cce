/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_event.c - are a NIC's events those that are due
 */
#include "testbench/tb_event.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/cqe_writer.h"
#include "models/msg.h"
#include "models/mem.h"
#include "models/trace/trace.h"
#include "models/wqe_fetch.h"

#define TEXT_LEN 200u
#define CQE_LEN 64u
#define LATE_CYCLES 200u
#define CI_BITS 0xffffffu

struct shadow_cq {
	uint32_t count; /* moderation */
	uint64_t time_ps;
	uint32_t n, from;   /* completions written; armed: an event is due for those from here on */
	uint32_t solicited; /* behind the last that is solicited or an error */
	bool is_armed, is_solicited_only;
	bool is_waiting;   /* one it may give the event for is there */
	uint64_t first_ps; /* since when */
	uint64_t stall_ps; /* how long the writer's port had been held up then */
	uint32_t n_writes; /* of others since the event was due */
};

struct shadow_srq {
	uint32_t limit;
	uint16_t taken;
	uint16_t asked; /* doorbell record when the NIC last asked for it */
	bool is_below;  /* with so many posted, fewer than the limit were left when it was told */
};

struct watched {
	struct chan_tap arm, write, read, told, take, limit, event, command, job; /* container_of */
	struct tb_events *all;
	const struct host *host;
	const struct chan *writes;
	struct shadow_cq *cq;
	struct shadow_srq *srq;
	bool *is_drained; /* by QP */
};

struct tb_events {
	struct sim *sim;
	struct watched nic[2];
	uint32_t n;
	char text[TEXT_LEN];
};

#define WATCHED(tap, member) \
	((struct watched *)(void *)((char *)(tap)-offsetof(struct watched, member)))

__attribute__((format(printf, 2, 3))) static void complain(struct watched *w, const char *fmt, ...)
{
	va_list ap;

	if (w->all->text[0])
		return;
	va_start(ap, fmt);
	vsnprintf(w->all->text, TEXT_LEN, fmt, ap);
	va_end(ap);
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* ---- completion queues ---- */

static bool is_due(const struct watched *w, uint32_t cqi)
{
	const struct shadow_cq *q = &w->cq[cqi];

	return q->is_waiting && (!q->time_ps || q->n - q->from >= q->count ||
				 w->all->sim->now_ps >= q->first_ps + q->time_ps);
}

static void consider(struct watched *w, uint32_t cqi)
{
	struct shadow_cq *q = &w->cq[cqi];

	if (!q->is_armed || q->is_waiting || q->n == q->from ||
	    (q->is_solicited_only && (int32_t)(q->solicited - q->from) <= 0))
		return;
	q->is_waiting = true;
	q->first_ps = w->all->sim->now_ps;
	q->n_writes = 0;
	q->stall_ps = w->writes->stall_ps;
}

static void take_arm(struct chan_tap *t, const struct chan *c, const void *msg)
{
	struct watched *w = WATCHED(t, arm);
	const struct cq_arm *m = msg;
	struct shadow_cq *q = &w->cq[m->cqi];

	(void)c;
	if (!w->host->nic->eq_pa) /* nobody to tell */
		return;
	/* what was asked for is not taken back (C11-31, C11-32) */
	q->is_solicited_only = m->solicited_only && (!q->is_armed || q->is_solicited_only);
	q->is_armed = true;
	q->from = q->n - ((q->n - m->ci) & CI_BITS);
	consider(w, m->cqi);
}

/* What is written to a CQ: one CQE, the title of a block, or an array of one. */
static void take_cqes(struct watched *w, const struct dma_req *m, const uint8_t *d)
{
	const struct nic *nic = w->host->nic;
	uint8_t opcode = d[63] >> 4;
	bool is_title = (d[63] & CQE_FORMAT_MASK) == CQE_COMPRESSED;
	uint32_t i = 0;

	while (i < nic->n_cq &&
	       (m->addr < nic->cq[i].pa || m->addr >= nic->cq[i].pa + nic->cq[i].depth * CQE_LEN))
		i++;
	if (i == nic->n_cq) {
		complain(w, "%s: a CQE to no CQ", nic->name);
		return;
	}
	if (m->op == OP_NONE && !is_title) /* mini CQEs, whose title comes behind */
		return;
	w->cq[i].n += is_title ? be32(d + 44) : 1;
	if (d[63] & 2 || opcode == CQE_REQ_ERR || opcode == CQE_RESP_ERR)
		w->cq[i].solicited = w->cq[i].n;
	consider(w, i);
}

/* Since it was due by time, the writer was not held up: then its event took no longer than this. */
static bool is_late(const struct watched *w, uint32_t cqi, const struct chan *c)
{
	const struct cqe_writer *writer = (const struct cqe_writer *)c->producer;
	const struct shadow_cq *q = &w->cq[cqi];
	uint64_t due_ps = q->first_ps + q->time_ps;

	return writer->buffers >= 16 && c->stall_ps == q->stall_ps && q->is_waiting &&
	       w->all->sim->now_ps > due_ps + LATE_CYCLES * writer->b.dom->period_q;
}

static void take_eqe(struct watched *w, const uint8_t *d, const struct chan *c)
{
	const struct nic *nic = w->host->nic;
	uint32_t i = 0;

	if (d[1] != EQE_COMP)
		return;
	while (i < nic->n_cq && nic->cq[i].cqn != be32(d + 56))
		i++;
	if (i == nic->n_cq || !w->cq[i].is_armed)
		complain(w, "%s: an event of CQ %" PRIu32 ", which is not armed", nic->name, i);
	else if (!is_due(w, i))
		complain(w, "%s: an event of CQ %" PRIu32 " at %" PRIu64 " ps, before it is due",
			 nic->name, i, w->all->sim->now_ps);
	else if (is_late(w, i, c))
		complain(w, "%s: the event of CQ %" PRIu32 " comes late, at %" PRIu64 " ps",
			 nic->name, i, w->all->sim->now_ps);
	if (i < nic->n_cq)
		w->cq[i].is_armed = w->cq[i].is_waiting = false;
}

static void take_write(struct chan_tap *t, const struct chan *c, const void *msg)
{
	struct watched *w = WATCHED(t, write);
	const struct nic *nic = w->host->nic;
	const struct dma_req *m = msg;
	const uint8_t *d = buf_data(c->producer->sim, m->buf);

	if (!m->is_write)
		return;
	if (m->cls == DMA_EVENT && m->len == EQE_BYTES)
		take_eqe(w, d, c);
	/* events go first, each with its interrupt; a block of completions is not interrupted */
	for (uint32_t i = 0; i < nic->n_cq; i++)
		if (is_due(w, i) &&
		    ++w->cq[i].n_writes > 4 * (nic->n_cq + nic->n_srq) + MINI_MAX / MINI_ARRAY)
			complain(w, "%s: CQ %" PRIu32 ": its event is late", nic->name, i);
	if (m->cls == DMA_CQE)
		take_cqes(w, m, d + m->off);
}

/* ---- shared receive queues ---- */

/* What the doorbell record says. */
static uint16_t posted(const struct watched *w, uint32_t srq)
{
	return (uint16_t)be32(mem_at(w->host->mem, w->host->nic->srq[srq].dbr_pa));
}

/* The NIC reads the doorbell record of an SRQ: it learns at least this. */
static void take_read(struct chan_tap *t, const struct chan *c, const void *msg)
{
	struct watched *w = WATCHED(t, read);
	const struct nic *nic = w->host->nic;
	const struct dma_req *m = msg;

	(void)c;
	for (uint32_t i = 0; m->cls == DMA_DBR && i < nic->n_srq; i++)
		if (m->addr == nic->srq[i].dbr_pa)
			w->srq[i].asked = posted(w, i);
}

/* Receives that 'n' posted ones leave, less those that were taken. */
static int16_t left(const struct watched *w, uint32_t srq, uint16_t n)
{
	return (int16_t)(n - w->srq[srq].taken);
}

/* The NIC is told what it asked for. */
static void take_told(struct chan_tap *t, const struct chan *c, const void *msg)
{
	struct watched *w = WATCHED(t, told);
	const struct nic *nic = w->host->nic;
	const struct dma_rsp *m = msg;
	uint32_t srq = (m->tag & ~TAG_KIND) - nic->n_qp;

	(void)c;
	if ((m->tag & TAG_KIND) == TAG_DBR && srq < nic->n_srq)
		w->srq[srq].is_below |=
			left(w, srq, w->srq[srq].asked) < (int32_t)w->srq[srq].limit;
}

static void take_recv(struct chan_tap *t, const struct chan *c, const void *msg)
{
	struct watched *w = WATCHED(t, take);
	const struct rq_rsp *m = msg;
	uint32_t srq = w->host->nic->qp[m->qpi].srq;

	(void)c;
	if (srq >= w->host->nic->n_srq || m->buf == BUF_NONE || m->is_reset)
		return;
	w->srq[srq].taken++;
}

static void take_limit(struct chan_tap *t, const struct chan *c, const void *msg)
{
	struct watched *w = WATCHED(t, limit);
	const struct srq_cmd *m = msg;

	(void)c;
	w->srq[m->srqi].limit = m->limit;
	w->srq[m->srqi].is_below = false;
}

static void take_async(struct chan_tap *t, const struct chan *c, const void *msg)
{
	struct watched *w = WATCHED(t, event);
	const struct async_event *m = msg;
	const struct nic *nic = w->host->nic;
	uint32_t i = 0;

	(void)c;
	while (m->type == EQE_SRQ_LIMIT && i < nic->n_srq && nic->srq[i].srqn != m->number)
		i++;
	if (m->type != EQE_SRQ_LIMIT || i == nic->n_srq) {
		complain(w, "%s: an event of type %u for %" PRIu32, nic->name, m->type, m->number);
	} else if (!w->srq[i].limit) {
		complain(w, "%s: an event of SRQ %" PRIu32 ", which has no limit", nic->name, i);
	} else if (!w->srq[i].is_below) {
		complain(w,
			 "%s: an event of SRQ %" PRIu32
			 ", which has %d receives, not fewer than %" PRIu32,
			 nic->name, i, left(w, i, w->srq[i].asked), w->srq[i].limit);
	}
	if (i < nic->n_srq) {
		w->srq[i].limit = 0;
		w->srq[i].is_below = false;
	}
}

/* ---- drained send queues ---- */

static void take_command(struct chan_tap *t, const struct chan *c, const void *msg)
{
	struct watched *w = WATCHED(t, command);
	const struct qp_cmd *m = msg;

	(void)c;
	w->is_drained[m->qpi] = m->state == QPS_SQD;
}

static void take_job(struct chan_tap *t, const struct chan *c, const void *msg)
{
	struct watched *w = WATCHED(t, job);
	const struct tx_job *m = msg;

	(void)c;
	if (w->is_drained[m->qpi] && m->is_first && !m->is_retry)
		complain(w, "%s: QP %u begins a message though its send queue is drained",
			 w->host->nic->name, w->host->nic->qp[m->qpi].qpn);
}

/* ---- all ---- */

static void attach(struct tb_run *t, uint32_t nic, const char *block, const char *port,
		   struct chan_tap *tap)
{
	char name[32];

	snprintf(name, sizeof(name), "nic%" PRIu32 ".%s", nic, block);
	chan_attach(netlist_chan(netlist_find(&t->r.sim, name), port), tap);
}

struct tb_events *tb_events_watch(struct tb_run *t)
{
	struct tb_events *e = x_calloc(1, sizeof(*e));
	char name[32];

	e->sim = &t->r.sim;
	for (e->n = 0; e->n < t->trace->n_hosts && e->n < ARRAY_LEN(e->nic); e->n++) {
		struct watched *w = &e->nic[e->n];

		w->all = e;
		w->host = &t->r.system->hosts[e->n];
		w->cq = x_calloc(w->host->nic->n_cq + 1, sizeof(*w->cq));
		w->srq = x_calloc(w->host->nic->n_srq + 1, sizeof(*w->srq));
		w->is_drained = x_calloc(w->host->nic->n_qp + 1, sizeof(*w->is_drained));
		for (uint32_t i = 0; i < w->host->nic->n_cq; i++) {
			w->cq[i].count = w->host->nic->cq[i].moderate_count;
			w->cq[i].time_ps = w->host->nic->cq[i].moderate_ps;
		}
		for (uint32_t i = 0; i < w->host->nic->n_srq; i++)
			w->srq[i].limit = w->host->nic->srq[i].limit;
		snprintf(name, sizeof(name), "nic%" PRIu32 ".cqe_writer", e->n);
		w->writes = netlist_chan(netlist_find(&t->r.sim, name), "dma_req");
		w->arm.popped = take_arm;
		w->write.pushed = take_write;
		w->read.pushed = take_read;
		w->told.popped = take_told;
		w->take.pushed = take_recv;
		w->limit.popped = take_limit;
		w->event.pushed = take_async;
		w->command.popped = take_command;
		w->job.pushed = take_job;
		attach(t, e->n, "cqe_writer", "arm", &w->arm);
		attach(t, e->n, "cqe_writer", "dma_req", &w->write);
		attach(t, e->n, "wqe_fetch", "dma_req", &w->read);
		attach(t, e->n, "wqe_fetch", "dma_rsp", &w->told);
		attach(t, e->n, "wqe_fetch", "rq_rsp", &w->take);
		attach(t, e->n, "wqe_fetch", "srq_cmd", &w->limit);
		attach(t, e->n, "wqe_fetch", "event", &w->event);
		attach(t, e->n, "requester", "cmd", &w->command);
		attach(t, e->n, "requester", "job", &w->job);
	}
	return e;
}

void tb_events_release(struct tb_events *e)
{
	for (uint32_t i = 0; e && i < e->n; i++) {
		free(e->nic[i].cq);
		free(e->nic[i].srq);
		free(e->nic[i].is_drained);
	}
	free(e);
}

const char *tb_events_verdict(struct tb_events *e)
{
	for (uint32_t i = 0; i < e->n; i++) {
		struct watched *w = &e->nic[i];
		const struct nic *nic = w->host->nic;

		for (uint32_t k = 0; k < nic->n_cq; k++)
			if (w->cq[k].is_waiting)
				complain(w, "%s: CQ %" PRIu32 ": its event never came", nic->name,
					 k);
		for (uint32_t k = 0; k < nic->n_srq; k++)
			if (w->srq[k].taken && left(w, k, posted(w, k)) < (int32_t)w->srq[k].limit)
				complain(w, "%s: SRQ %" PRIu32 ": its event never came", nic->name,
					 k);
	}
	return e->text[0] ? e->text : NULL;
}
