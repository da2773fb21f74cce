/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doorbell.c - the UAR page: decodes the CPU's register writes into send doorbells
 *
 * Modelled: the 8-byte write of a first control qword to either BlueFlame buffer (mlx5 shape,
 * rdma-core mlx5dv.h), its check, and coalescing: a doorbell of a QP that still waits for the
 * scheduler only moves the producer on. CQ doorbells go on to the completion writer. Not modelled:
 * WQEs written whole through BlueFlame. One write in and one doorbell out a cycle; a write
 * leaves in the cycle in which it came when nothing waits.
 */
#include "models/hdr.h"
#include "models/msg.h"
#include "models/nic.h"
#include "sim/pool.h"

#define UAR_BLUEFLAME_ALT (UAR_BLUEFLAME + 0x100u)
#define DB_BYTES 8u

struct doorbell {
	struct block b;
	/* parameters */
	uint32_t slots;
	/* ports */
	struct chan *mmio, *sq_db, *arm;
	/* state: QPs that wait, oldest first, and per QP the producer last rung */
	uint32_t *wait;
	uint32_t head, waiting;
	uint16_t *producer;
	bool *is_waiting;
	/* statistics */
	uint64_t rings, coalesced, bad_addr, bad_size, bad_qpn, bad_cqn, bad_index, cq_rings;
};

#define T struct doorbell
static const struct field doorbell_fields[] = {
	PARAM(T, slots, 64, 1, 65536, "QP", "QPs whose doorbells may wait for the scheduler",
	      "declared"),
	PORT_IN(T, mmio, tlp, "register writes of the CPU"),
	PORT_OUT(T, sq_db, sq_db, "send doorbells, at most one waiting for each QP"),
	PORT_OUT(T, arm, cq_arm, "CQs to give an event"),
	STAT(T, rings, "db", "send doorbells taken"),
	STAT(T, coalesced, "db", "of these, merged into one that was waiting"),
	STAT(T, cq_rings, "db", "CQ doorbells"),
	STAT(T, bad_addr, "db", "dropped: no register there"),
	STAT(T, bad_size, "db", "dropped: wrong size"),
	STAT(T, bad_qpn, "db", "dropped: no such QP"),
	STAT(T, bad_cqn, "db", "dropped: no such CQ"),
	STAT(T, bad_index, "db", "dropped: more posted than the ring holds, or nothing new"),
	SIGNAL(T, waiting, 16, "QPs whose doorbells wait"),
	FIELDS_END
};
#undef T

/* Mark the requests in ring slots [from, to) as rung. */
static void mark_rung(struct doorbell *d, const struct nic *nic, const struct qp_attr *qp,
		      uint16_t from, uint16_t to)
{
	if (!qp->sq_op)
		return;
	for (uint16_t i = from; i != to; i++)
		oplog_mark(nic->oplog, qp->sq_op[i & (qp->sq_bb - 1)], OP_DOORBELL, d->b.now_ps);
}

/* The first control qword of the last WQE posted: opmod8 wqe_idx16 opcode8, qpn24 ds8. */
static void ring_sq(struct doorbell *d, const uint8_t *ctrl)
{
	const struct nic *nic = d->b.env;
	uint32_t qpi = nic_qpi(nic, (uint32_t)hdr_get(ctrl, 32, 24));
	uint16_t n_bb = (uint16_t)ceil_div(hdr_get(ctrl, 58, 6) * WQE_SEG, WQE_BB);
	uint16_t producer = (uint16_t)(hdr_get(ctrl, 8, 16) + n_bb);
	uint16_t added;

	if (qpi == QPI_NONE) {
		d->bad_qpn++;
		return;
	}
	added = (uint16_t)(producer - d->producer[qpi]);
	if (added == 0 || added > nic->qp[qpi].sq_bb) {
		d->bad_index++;
		return;
	}
	mark_rung(d, nic, &nic->qp[qpi], d->producer[qpi], producer);
	d->producer[qpi] = producer;
	d->rings++;
	if (d->is_waiting[qpi]) {
		d->coalesced++;
		return;
	}
	d->is_waiting[qpi] = true;
	d->wait[(d->head + d->waiting++) % d->slots] = qpi;
}

/* Arm dword: sn2 (bit 28) cmd (bit 24: solicited only) ci24; then the CQN. */
static void ring_cq(struct doorbell *d, const uint8_t *db)
{
	const struct nic *nic = d->b.env;
	uint32_t cqi = (uint32_t)hdr_get(db, 32, 32) - (nic->n_cq ? nic->cq[0].cqn : 0);

	d->cq_rings++;
	if (cqi >= nic->n_cq) {
		d->bad_cqn++;
		return;
	}
	cq_arm_push(d->arm, &(struct cq_arm){ .cqi = cqi,
					      .ci = (uint32_t)hdr_get(db, 8, 24),
					      .solicited_only = (uint8_t)hdr_get(db, 7, 1) });
}

static void take(struct doorbell *d, const struct tlp *t)
{
	const uint8_t *bytes = (const uint8_t *)buf_data(d->b.sim, t->buf) + t->off;

	if (t->addr == UAR_CQ_DOORBELL && t->len == DB_BYTES)
		ring_cq(d, bytes);
	else if (t->addr != UAR_BLUEFLAME && t->addr != UAR_BLUEFLAME_ALT &&
		 t->addr != UAR_CQ_DOORBELL)
		d->bad_addr++;
	else if (t->len != DB_BYTES)
		d->bad_size++;
	else
		ring_sq(d, bytes);
	buf_unref(&d->b, t->buf);
}

static void doorbell_build(struct block *b)
{
	struct doorbell *d = (struct doorbell *)b;
	const struct nic *nic = b->env;

	d->wait = block_alloc(b, d->slots, sizeof(*d->wait));
	d->producer = block_alloc(b, nic->n_qp, sizeof(*d->producer));
	d->is_waiting = block_alloc(b, nic->n_qp, sizeof(*d->is_waiting));
}

static void doorbell_reset(struct block *b)
{
	struct doorbell *d = (struct doorbell *)b;
	const struct nic *nic = b->env;

	d->head = d->waiting = 0;
	for (uint32_t i = 0; i < nic->n_qp; i++) {
		d->producer[i] = 0;
		d->is_waiting[i] = false;
	}
}

static uint64_t doorbell_step(struct block *b)
{
	struct doorbell *d = (struct doorbell *)b;
	const struct tlp *t = tlp_peek(d->mmio);

	if (t && t->addr == UAR_CQ_DOORBELL && !chan_can_push(d->arm)) {
		chan_stall(d->arm);
		t = NULL;
	} else if (t && d->waiting < d->slots) {
		take(d, t);
		chan_pop(d->mmio);
	}
	if (d->waiting == 0)
		return CYCLE_NEVER;
	if (!chan_can_push(d->sq_db))
		return chan_stall(d->sq_db);
	uint32_t qpi = d->wait[d->head];

	sq_db_push(d->sq_db, &(struct sq_db){ .qpi = qpi, .producer = d->producer[qpi] });
	d->is_waiting[qpi] = false;
	d->head = (d->head + 1) % d->slots;
	d->waiting--;
	return d->waiting || (t && tlp_peek(d->mmio)) ? b->cycle + 1 : CYCLE_NEVER;
}

const struct block_class doorbell_class = {
	.name = "doorbell",
	.impl = "c",
	.size = sizeof(struct doorbell),
	.fields = doorbell_fields,
	.doc = "UAR page: register writes to send doorbells, coalesced per QP",
	.build = doorbell_build,
	.reset = doorbell_reset,
	.step = doorbell_step,
};
