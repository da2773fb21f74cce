/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doorbell.c - the UAR pages: decodes the CPU's register writes into send doorbells
 *
 * Modelled: the 8-byte write of a first control qword to either BlueFlame buffer of a page (mlx5
 * shape, rdma-core mlx5dv.h), its check, and coalescing: a doorbell of a QP that still waits for
 * the scheduler only moves the producer on. CQ doorbells go on to the completion writer, changes of a
 * QP's state to the requester. A reset follows the doorbells that were rung before it to the scheduler.
 *
 * A WQE written whole into a BlueFlame buffer, in one or more register writes from its start on, is
 * gathered and goes on with its doorbell, so that it need not be read. The NIC has 'bf_buffers' for
 * WQEs on their way to the decoder; without a free one, or when another doorbell of the QP waits,
 * it takes the doorbell only (the WQE is in its ring too).
 *
 * One write in and one doorbell out a cycle; a write leaves in the cycle in which it came when
 * nothing waits. Not modelled: write-combining buffers that are flushed out of order.
 */
#include <string.h>

#include "models/packet/hdr.h"
#include "models/msg.h"
#include "models/nic.h"
#include "models/trace/trace.h"
#include "sim/pool.h"

#define DB_BYTES 8u
#define BF_BUFFERS 256u

/* A BlueFlame buffer whose WQE is not there in full. */
struct bf_open {
	uint64_t at;     /* its address in the BAR, 0 = none */
	uint32_t buf;    /* what came so far */
	uint32_t len, n; /* bytes it takes, has */
};

struct doorbell {
	struct block b;
	/* parameters */
	uint32_t slots, bf_buffers;
	/* ports */
	struct chan *mmio, *sq_db, *arm, *cmd;
	/* state: QPs that wait, oldest first, and per QP the producer last rung */
	uint32_t *wait;
	struct sq_db *db; /* by QP: what waits; its producer stays */
	struct bf_open open[BF_BUFFERS];
	struct pool *bf_pool;
	uint32_t head, waiting;
	bool *is_waiting;
	/* statistics */
	uint64_t bf_rings, bf_full, bf_dropped, bf_torn;
	uint64_t rings, coalesced, bad_addr, bad_size, bad_qpn, bad_cqn, bad_index, cq_rings,
		commands;
};

#define T struct doorbell
static const struct field doorbell_fields[] = {
	PARAM(T, slots, 64, 1, 65536, "QP", "QPs whose doorbells may wait for the scheduler",
	      "declared"),
	PARAM(T, bf_buffers, 16, 0, BF_BUFFERS, "WQE",
	      "BlueFlame WQEs on their way to the decoder; 0 = they are taken as doorbells",
	      "declared: eight UAR pages of two"),
	PORT_IN(T, mmio, tlp, "register writes of the CPU"),
	PORT_OUT(T, sq_db, sq_db, "send doorbells, at most one waiting for each QP"),
	PORT_OUT(T, arm, cq_arm, "CQs to give an event"),
	PORT_OUT(T, cmd, qp_cmd, "states that QPs are to take"),
	STAT(T, rings, "db", "send doorbells taken"),
	STAT(T, coalesced, "db", "of these, merged into one that was waiting"),
	STAT(T, bf_rings, "db", "of these, with the WQE in the write"),
	STAT(T, bf_full, "WQE", "BlueFlame WQEs that found no buffer: doorbells only"),
	STAT(T, bf_dropped, "WQE", "BlueFlame WQEs behind a doorbell that waited: not kept"),
	STAT(T, bf_torn, "WQE", "BlueFlame WQEs whose end never came"),
	STAT(T, cq_rings, "db", "CQ doorbells"),
	STAT(T, commands, "cmd", "changes of a QP's state"),
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

static uint32_t wqe_segs(const uint8_t *ctrl)
{
	return (uint32_t)hdr_get(ctrl, 58, 6);
}

/*
 * The first control qword of the last WQE posted: opmod8 wqe_idx16 opcode8, qpn24 ds8. False when it
 * is not one.
 */
static bool check_ring(struct doorbell *d, const uint8_t *ctrl, struct sq_db *m)
{
	const struct nic *nic = d->b.env;
	uint32_t qpi = nic_qpi(nic, (uint32_t)hdr_get(ctrl, 32, 24));
	uint16_t added;

	m->qpi = qpi;
	m->index = (uint16_t)hdr_get(ctrl, 8, 16);
	m->n_bb = (uint8_t)ceil_div(wqe_segs(ctrl) * WQE_SEG, WQE_BB);
	m->tail = wqe_segs(ctrl) % (WQE_BB / WQE_SEG);
	m->producer = (uint16_t)(m->index + m->n_bb);
	if (qpi == QPI_NONE) {
		d->bad_qpn++;
		return false;
	}
	added = (uint16_t)(m->producer - d->db[qpi].producer);
	if (added == 0 || added > nic->qp[qpi].sq_bb) {
		d->bad_index++;
		return false;
	}
	return true;
}

/* The QP has something for the scheduler, behind what other QPs have. */
static void enqueue(struct doorbell *d, uint32_t qpi)
{
	if (d->is_waiting[qpi])
		return;
	d->is_waiting[qpi] = true;
	d->wait[(d->head + d->waiting++) % d->slots] = qpi;
}

/* A doorbell, with its WQE in 'buf' or BUF_NONE; a reference of it moves. */
static void ring_sq(struct doorbell *d, const uint8_t *ctrl, uint32_t buf)
{
	const struct nic *nic = d->b.env;
	struct sq_db m = { .buf = buf };
	bool is_good = check_ring(d, ctrl, &m);
	bool is_merged = is_good && d->is_waiting[m.qpi];

	if (buf != BUF_NONE && (!is_good || is_merged)) {
		d->bf_dropped += is_merged;
		buf_unref(&d->b, buf);
	}
	if (!is_good)
		return;
	mark_rung(d, nic, &nic->qp[m.qpi], d->db[m.qpi].producer, m.producer);
	d->rings++;
	if (is_merged) {
		d->db[m.qpi].producer = m.producer;
		d->coalesced++;
		return;
	}
	d->bf_rings += buf != BUF_NONE;
	d->db[m.qpi] = m;
	enqueue(d, m.qpi);
}

/* The gathering that is open for the BlueFlame buffer at 'at' (0: one that is not in use), or NULL. */
static struct bf_open *find_open(struct doorbell *d, uint64_t at)
{
	for (uint32_t i = 0; i < d->bf_buffers; i++)
		if (d->open[i].at == at)
			return &d->open[i];
	return NULL;
}

/* The start of a WQE at 'at'. NULL when it goes no further: it was no WQE, or taken as a doorbell. */
static struct bf_open *open_blueflame(struct doorbell *d, uint64_t at, const uint8_t *ctrl)
{
	uint32_t len = (uint32_t)align_up((uint64_t)wqe_segs(ctrl) * WQE_SEG, WQE_BB);
	struct bf_open *o = find_open(d, at);

	if (o) {
		d->bf_torn++;
		buf_unref(&d->b, o->buf);
		o->at = 0;
	}
	if (len == 0 || len > UAR_BLUEFLAME_BYTES) {
		d->bad_size++;
		return NULL;
	}
	o = find_open(d, 0);
	if (!o || !pool_can_alloc(d->bf_pool)) {
		d->bf_full++;
		ring_sq(d, ctrl, BUF_NONE);
		return NULL;
	}
	*o = (struct bf_open){ .at = at, .buf = pool_alloc(d->bf_pool), .len = len };
	return o;
}

/* Bytes of a WQE: the first ones, or those that follow what is there. */
static void gather(struct doorbell *d, const struct tlp *t, const uint8_t *bytes)
{
	uint32_t off = (uint32_t)(t->addr % UAR_BLUEFLAME_BYTES);
	uint64_t at = t->addr - off;
	struct bf_open *o = off ? find_open(d, at) : open_blueflame(d, at, bytes);
	uint8_t *to;

	if (!o || off != o->n || off + t->len > o->len)
		return; /* of a WQE that was taken as a doorbell */
	to = buf_data(d->b.sim, o->buf);
	memcpy(to + off, bytes, t->len);
	o->n += t->len;
	if (o->n < o->len)
		return;
	o->at = 0;
	ring_sq(d, to, o->buf);
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

/* What was rung for a QP that is reset is void. */
static void reset_qp(struct doorbell *d, uint32_t qpi)
{
	if (d->is_waiting[qpi] && d->db[qpi].buf != BUF_NONE)
		buf_unref(&d->b, d->db[qpi].buf);
	d->db[qpi] = (struct sq_db){ .qpi = qpi, .buf = BUF_NONE, .is_reset = 1 };
	enqueue(d, qpi);
}

/* A change of a QP's state: qpn24 state8; then a PSN. */
static void command(struct doorbell *d, const uint8_t *reg)
{
	uint32_t qpi = nic_qpi(d->b.env, (uint32_t)hdr_get(reg, 0, 24));
	uint8_t state = (uint8_t)hdr_get(reg, 24, 8);

	if (qpi == QPI_NONE) {
		d->bad_qpn++;
		return;
	}
	d->commands++;
	if (state == QPS_RESET)
		reset_qp(d, qpi);
	qp_cmd_push(d->cmd, &(struct qp_cmd){ .qpi = qpi,
					      .psn = (uint32_t)hdr_get(reg, 40, 24),
					      .state = state });
}

/* The port that a register write goes to at once, or NULL. */
static struct chan *port_of(const struct doorbell *d, const struct tlp *t)
{
	switch (t->addr % UAR_PAGE) {
	case UAR_CQ_DOORBELL:
		return d->arm;
	case UAR_COMMAND:
		return d->cmd;
	default:
		return NULL;
	}
}

static void take(struct doorbell *d, const struct tlp *t)
{
	const uint8_t *bytes = (const uint8_t *)buf_data(d->b.sim, t->buf) + t->off;

	uint64_t at = t->addr % UAR_PAGE;
	bool is_bf = at >= UAR_BLUEFLAME && at < UAR_BLUEFLAME + 2 * UAR_BLUEFLAME_BYTES;

	if (t->addr >= (uint64_t)UAR_PAGE * UAR_PAGES || (!port_of(d, t) && !is_bf))
		d->bad_addr++;
	else if (at == UAR_COMMAND && t->len == DB_BYTES)
		command(d, bytes);
	else if (at == UAR_CQ_DOORBELL && t->len == DB_BYTES)
		ring_cq(d, bytes);
	else if (is_bf && at % UAR_BLUEFLAME_BYTES == 0 && t->len == DB_BYTES)
		ring_sq(d, bytes, BUF_NONE);
	else if (is_bf && t->len % WQE_SEG == 0 && at % WQE_SEG == 0)
		gather(d, t, bytes);
	else
		d->bad_size++;
	buf_unref(&d->b, t->buf);
}

static void doorbell_build(struct block *b)
{
	struct doorbell *d = (struct doorbell *)b;
	const struct nic *nic = b->env;

	d->wait = block_alloc(b, d->slots, sizeof(*d->wait));
	d->db = block_alloc(b, nic->n_qp, sizeof(*d->db));
	d->bf_pool = pool_create(b, d->bf_buffers ? d->bf_buffers : 1, UAR_BLUEFLAME_BYTES);
	d->is_waiting = block_alloc(b, nic->n_qp, sizeof(*d->is_waiting));
}

static void doorbell_reset(struct block *b)
{
	struct doorbell *d = (struct doorbell *)b;
	const struct nic *nic = b->env;

	d->head = d->waiting = 0;
	memset(d->open, 0, sizeof(d->open));
	for (uint32_t i = 0; i < nic->n_qp; i++) {
		d->db[i] = (struct sq_db){ 0 };
		d->is_waiting[i] = false;
	}
}

static uint64_t doorbell_step(struct block *b)
{
	struct doorbell *d = (struct doorbell *)b;
	const struct tlp *t = tlp_peek(d->mmio);
	struct chan *port = t ? port_of(d, t) : NULL;

	if (port && !chan_can_push(port)) {
		chan_stall(port);
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

	sq_db_push(d->sq_db, &d->db[qpi]);
	d->db[qpi].is_reset = 0;
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
