/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload_cqe.c - what the program does with a completion
 *
 * Each takes poll_cost, those of a compressed block too, whose title and arrays are read one after the other.
 */
#include "models/workload.h"

/* The completions of a compressed block are in memory when its title is, which is marked for the first. */
static void mark_cqe(struct op_row *row, uint64_t *cqe_ps)
{
	if (row->t_ps[OP_CQE])
		*cqe_ps = row->t_ps[OP_CQE];
	else
		row->t_ps[OP_CQE] = *cqe_ps;
}

/* What one request came to that completion 'wc' ends: its own, or one before it that is covered. */
static void end_request(struct workload *w, struct system *s, const struct wr_entry *e,
			const struct wc *wc, bool is_own)
{
	bool is_lost = !is_own && oplog_fate(s->oplog, e->op) == OP_LOST;

	oplog_close(s->oplog, e->op,
		    is_own    ? wc->status
		    : is_lost ? WC_GENERAL_ERR
			      : WC_SUCCESS,
		    w->b.now_ps);
	system_outcome(s, e->ticket,
		       is_own    ? OUTCOME_COMPLETED
		       : is_lost ? OUTCOME_LOST
				 : OUTCOME_COVERED,
		       wc->status, &w->b);
}

/* cqe_ps: NULL unless the completion came in a compressed block. */
static void retire(struct workload *w, struct host *h, const struct wc *wc, uint64_t *cqe_ps)
{
	struct system *s = h->system;
	struct work_queue *q = &w->wq[wc->is_recv ? verbs_rqi(h, wc->qpi) : wc->qpi];
	struct wr_entry e;
	bool is_last;

	do {
		is_last = verbs_retire(h, wc, &e);
		if (wc->is_recv) {
			struct op_row *row = oplog_row(s->oplog, e.op);

			row->bytes = wc->byte_len;
			row->qp = h->nic->qp[wc->qpi].trace_qp; /* an SRQ's: now known */
			if (wc->opcode == CQE_RESP_WR_IMM)
				row->opcode = OP_RECV_WITH_IMM;
			w->open_recvs--;
		} else {
			w->open_sends--;
		}
		if (cqe_ps && is_last)
			mark_cqe(oplog_row(s->oplog, e.op), cqe_ps);
		end_request(w, s, &e, wc, is_last);
	} while (!is_last);
	if (wc->is_recv) {
		workload_unpark(w, h, q);
	} else if (q->is_blocked) {
		q->is_blocked = false;
		workload_ready(w, h, q->head);
	}
}

static void complete(struct workload *w, struct host *h, uint32_t cqi, const uint8_t *cqe,
		     uint64_t *cqe_ps)
{
	struct wc wc;

	verbs_consume(h, cqi, cqe, &wc);
	w->cqes++;
	w->error_cqes += wc.status != WC_SUCCESS;
	if (!verbs_is_stale(h, &wc)) {
		retire(w, h, &wc, cqe_ps);
		workload_note_error(w, h, &wc);
	}
	spend(w, w->poll_cyc);
}

/* The CQ's completions so far are the program's: tell the device now and then, and look for more. */
static void end_poll(struct workload *w, struct host *h, uint32_t cqi)
{
	struct drv_cq *cq = &h->cq[cqi];

	if (cq->ci - cq->ci_written >= min_u64(w->ci_every, max_u64(1, h->nic->cq[cqi].depth / 4)))
		verbs_update_ci(h, cqi, w->c->list);
	else
		verbs_make_room(h, cqi, w->c->list); /* a receive of an SRQ is posted for any CQ */
	workload_want_poll(w, h, cqi);
}

void workload_take_cqe(struct workload *w, struct host *h, const struct cpu_rsp *rsp)
{
	uint32_t cqi = rsp->tag;

	new_list(w);
	if (h->unzip[cqi].wants_array) {
		verbs_unzip_array(h, cqi, rsp->data);
		w->c->unzip = cqi + 1;
		spend(w, 1);
	} else if (verbs_is_title(rsp->data)) {
		verbs_unzip(h, cqi, rsp->data);
		verbs_unzip_read(h, cqi, w->c->list);
		h->unzip[cqi].cqe_ps = 0;
		spend(w, 1);
	} else {
		complete(w, h, cqi, rsp->data, NULL);
		end_poll(w, h, cqi);
	}
}

void workload_unzip(struct workload *w, struct host *h)
{
	uint32_t cqi = w->c->unzip - 1;
	uint8_t cqe[64];
	enum unzip_next next = verbs_unzip_next(h, cqi, cqe);

	new_list(w);
	complete(w, h, cqi, cqe, &h->unzip[cqi].cqe_ps);
	h->cq[cqi].is_polling = next != UNZIP_OVER;
	if (next == UNZIP_MORE)
		return;
	w->c->unzip = 0;
	if (next == UNZIP_READ) {
		verbs_unzip_read(h, cqi, w->c->list);
		return;
	}
	verbs_unzip_end(h, cqi, w->c->list);
	end_poll(w, h, cqi);
}
