/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cqe_event.c - events of the completion writer: the event queue in host memory, and interrupts
 *
 * A CQ is armed by its doorbell and gives one event: for a CQE behind the consumer index of the
 * doorbell, at once when there is one already; armed for solicited ones, for a CQE that is solicited
 * or an error. Armed for any, it stays so when it is armed for solicited ones besides (IBTA vol. 1,
 * 11.4.2.2, C11-31 and C11-32). Moderation holds the event back until 'count' such CQEs were written or 'time' has
 * passed since the first. An event is an EQE of 64 B (mlx5 shape, protocol.md section 13) behind its
 * CQE in the same posted queue, and behind it a 4-byte write to MSIX_ADDR, the interrupt. An
 * overflow of a CQ and what other blocks report are events without arming.
 * Not modelled: the consumer index and the arming of the event queue (it has room for every event
 * that can be outstanding), more than one event queue, interrupt moderation.
 */
#include "models/cqe_writer.h"

#define MSI_BYTES 4u

void cqe_event_build(struct cqe_writer *w)
{
	size_t n = cqe_nic(w)->n_cq ? cqe_nic(w)->n_cq : 1;

	w->fire_links = block_alloc(&w->b, n, sizeof(uint32_t));
	w->fail_links = block_alloc(&w->b, n, sizeof(uint32_t));
	w->moderated_links = block_alloc(&w->b, n, sizeof(uint32_t));
}

void cqe_event_reset(struct cqe_writer *w)
{
	uint32_t n = cqe_nic(w)->n_cq;

	qp_list_init(&w->fire, w->fire_links, n);
	qp_list_init(&w->fail, w->fail_links, n);
	qp_list_init(&w->moderated, w->moderated_links, n);
	w->eq_pi = 0;
	w->owes_irq = false;
}

/* An armed CQ: give its event now, later, or not yet. */
static void consider(struct cqe_writer *w, uint32_t cqi)
{
	const struct cq_attr *a = &cqe_nic(w)->cq[cqi];
	struct cq_state *q = &w->cq[cqi];
	uint32_t n = q->pi - q->from;

	if (q->armed == CQ_ARMED_SOLICITED && (int32_t)(q->solicited - q->from) <= 0)
		return;
	if (n == 0)
		return;
	if (n >= a->moderate_count || !a->moderate_ps) {
		q->armed = CQ_UNARMED;
		qp_list_add(&w->fire, cqi);
	} else if (!qp_list_has(&w->moderated, cqi)) {
		q->due_ps = w->b.now_ps + a->moderate_ps;
		qp_list_add(&w->moderated, cqi);
	}
}

void cqe_event_completed(struct cqe_writer *w, uint32_t cqi, bool is_solicited)
{
	struct cq_state *q = &w->cq[cqi];

	if (is_solicited)
		q->solicited = q->pi;
	if (q->armed)
		consider(w, cqi);
}

void cqe_event_overflow(struct cqe_writer *w, uint32_t cqi)
{
	if (w->cq[cqi].lost++ == 0 && cqe_nic(w)->eq_pa)
		qp_list_add(&w->fail, cqi);
}

void cqe_event_arm(struct cqe_writer *w)
{
	const struct cq_arm *m = cq_arm_peek(w->arm);
	struct cq_state *q;

	if (!m || qp_list_has(&w->fire, m->cqi)) /* the event of the arming before goes first */
		return;
	q = &w->cq[m->cqi];
	if (q->armed != CQ_ARMED) /* what was asked for is not taken back */
		q->armed = m->solicited_only ? CQ_ARMED_SOLICITED : CQ_ARMED;
	/* the latest index with these 24 bits that is not ahead of the producer */
	q->from = q->pi - ((q->pi - m->ci) & CI_MASK);
	w->arms++;
	if (cqe_nic(w)->eq_pa)
		consider(w, m->cqi);
	else
		q->armed = CQ_UNARMED;
	chan_pop(w->arm);
}

uint64_t cqe_event_time(struct cqe_writer *w)
{
	uint64_t next = TIME_NEVER;

	for (uint32_t n = w->moderated.n; n > 0; n--) {
		uint32_t cqi = qp_list_take(&w->moderated);
		struct cq_state *q = &w->cq[cqi];

		if (!q->armed)
			continue;
		if (q->due_ps <= w->b.now_ps) {
			q->armed = CQ_UNARMED;
			qp_list_add(&w->fire, cqi);
		} else {
			next = min_u64(next, q->due_ps);
			qp_list_add(&w->moderated, cqi);
		}
	}
	return block_cycle_at(&w->b, next);
}

bool cqe_event_is_due(const struct cqe_writer *w)
{
	return w->owes_irq || w->fire.n || w->fail.n || async_event_peek(w->async);
}

static void push(struct cqe_writer *w, uint64_t addr, const uint8_t *bytes, uint32_t len)
{
	uint32_t buf = pool_alloc(w->pool);

	memcpy(buf_data(w->b.sim, buf), bytes, len);
	dma_req_push(w->dma_req, &(struct dma_req){ .addr = addr,
						    .key = KEY_PHYS,
						    .len = len,
						    .buf = buf,
						    .tag = CQE_TAG_EVENT,
						    .is_write = 1,
						    .cls = DMA_EVENT,
						    .op = OP_NONE });
}

static void write_eqe(struct cqe_writer *w, uint8_t type, unsigned number_at, uint32_t number)
{
	const struct nic *nic = cqe_nic(w);
	uint8_t eqe[EQE_BYTES] = { 0 };

	eqe[1] = type;
	hdr_put(eqe, number_at * 8, 32, number);
	eqe[63] = (w->eq_pi & nic->eq_depth) != 0;
	push(w, nic->eq_pa + (w->eq_pi & (nic->eq_depth - 1)) * EQE_BYTES, eqe, EQE_BYTES);
	w->eq_pi++;
	w->owes_irq = true;
}

void cqe_event_write(struct cqe_writer *w)
{
	static const uint8_t vector[MSI_BYTES] = { 0 };
	const struct nic *nic = cqe_nic(w);
	const struct async_event *m;

	if (w->owes_irq) {
		push(w, MSIX_ADDR, vector, MSI_BYTES);
		w->owes_irq = false;
	} else if (w->fire.n) {
		write_eqe(w, EQE_COMP, 56, nic->cq[qp_list_take(&w->fire)].cqn);
		w->events++;
	} else if (w->fail.n) {
		write_eqe(w, EQE_CQ_ERROR, 32, nic->cq[qp_list_take(&w->fail)].cqn);
		w->async_events++;
	} else {
		m = async_event_peek(w->async);
		if (nic->eq_pa)
			write_eqe(w, m->type, 56, m->number);
		w->async_events++;
		chan_pop(w->async);
	}
}
