/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs_post.c - the data path: WQEs and doorbells as bytes (protocol.md section 13)
 *
 * Order of a post: the WQE's blocks, the doorbell record, the doorbell register: 8 bytes of the last
 * WQE's first control qword, or a copy of a single WQE, in a BlueFlame buffer; the two take turns.
 */
#include <string.h>

#include "models/cpu_list.h"
#include "models/verbs/wqe.h"

#define COUNTER_MASK 0xffffu /* counters in a QP's doorbell record */
#define AV_EXT 0x80000000u   /* a whole address vector, no short form */
#define AV_GRH 0x40000000u

/*
 * What the device wants of each operation, and which QPs other than RC have it; opcodes that are not
 * there are not supported yet.
 */
enum {
	OPC_KNOWN = 1,
	OPC_RADDR = 2,
	OPC_ATOMIC = 4,
	OPC_INLINE = 8,
	OPC_IMM = 16,
	OPC_INV = 32,
	OPC_UC = 64,
	OPC_UD = 128,
	OPC_BIND = 256,
	OPC_FLUSH = 512
};
static const struct {
	uint8_t mlx5;
	uint16_t kind;
} opcodes[WR_OPCODES] = {
	[WR_RDMA_WRITE] = { MLX5_OPCODE_RDMA_WRITE, OPC_KNOWN | OPC_RADDR | OPC_INLINE | OPC_UC },
	[WR_RDMA_WRITE_WITH_IMM] = { MLX5_OPCODE_RDMA_WRITE_IMM,
				     OPC_KNOWN | OPC_RADDR | OPC_INLINE | OPC_IMM | OPC_UC },
	[WR_SEND] = { MLX5_OPCODE_SEND, OPC_KNOWN | OPC_INLINE | OPC_UC | OPC_UD },
	[WR_SEND_WITH_IMM] = { MLX5_OPCODE_SEND_IMM,
			       OPC_KNOWN | OPC_INLINE | OPC_IMM | OPC_UC | OPC_UD },
	[WR_SEND_WITH_INV] = { MLX5_OPCODE_SEND_INVAL, OPC_KNOWN | OPC_INLINE | OPC_INV },
	[WR_RDMA_READ] = { MLX5_OPCODE_RDMA_READ, OPC_KNOWN | OPC_RADDR },
	[WR_ATOMIC_CMP_AND_SWP] = { MLX5_OPCODE_ATOMIC_CS, OPC_KNOWN | OPC_RADDR | OPC_ATOMIC },
	[WR_ATOMIC_FETCH_AND_ADD] = { MLX5_OPCODE_ATOMIC_FA, OPC_KNOWN | OPC_RADDR | OPC_ATOMIC },
	[WR_LOCAL_INV] = { MLX5_OPCODE_LOCAL_INVAL, OPC_KNOWN | OPC_INV },
	[WR_BIND_MW] = { MLX5_OPCODE_BIND_MW, OPC_KNOWN | OPC_INV | OPC_BIND },
	[WR_FLUSH] = { MLX5_OPCODE_FLUSH, OPC_KNOWN | OPC_RADDR | OPC_FLUSH },
	[WR_ATOMIC_WRITE] = { MLX5_OPCODE_ATOMIC_WRITE, OPC_KNOWN | OPC_RADDR | OPC_INLINE },
};
#define FETH_GLOBAL 1u /* FLUSH: up to global visibility */
#define FETH_SEL_SHIFT 4u

uint64_t sge_bytes(const struct sge *sge, uint32_t n)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < n; i++)
		len += sge[i].len;
	return len;
}

/* ---- the WQE ---- */

static bool is_inline(const struct send_wr *wr)
{
	return (wr->flags & WR_INLINE) != 0;
}

/* Segments with no bytes are left out, as libmlx5 does: a byte count of 0 means 2^31 bytes. */
static uint32_t put_data(uint8_t *at, const struct sge *sge, uint32_t n)
{
	uint32_t off = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!sge[i].len)
			continue;
		store_be32(at + off, sge[i].len % WQE_SEG_MAX);
		store_be32(at + off + 4, sge[i].lkey);
		store_be64(at + off + 8, sge[i].addr);
		off += WQE_SEG;
	}
	return off;
}

/* Bytes of the segments of 'wr' on a QP of type 'type', by the bytes of its data. */
static uint32_t wqe_bytes(const struct send_wr *wr, uint8_t type)
{
	uint16_t kind = opcodes[wr->opcode].kind;
	uint32_t n = WQE_SEG + (kind & OPC_RADDR ? WQE_SEG : 0) +
		     (kind & OPC_ATOMIC ? WQE_SEG : 0) + (type == QP_UD ? WQE_AV_BYTES : 0);

	if (kind & OPC_BIND)
		return WQE_SEG + WQE_BIND_BYTES;
	if (kind & OPC_FLUSH)
		return n + WQE_SEG;
	if (is_inline(wr)) {
		uint32_t data = (uint32_t)sge_bytes(wr->sge, wr->n_sge);

		return data ? n + (uint32_t)align_up(4 + data, WQE_SEG) : n;
	}
	for (uint32_t i = 0; i < wr->n_sge; i++)
		n += wr->sge[i].len ? WQE_SEG : 0;
	return n;
}

/*
 * The datagram segment: where to, and how (struct mlx5_wqe_av; without LIDs, rlid is the UDP source
 * port).
 */
static void put_av(uint8_t *av, const struct qp_attr *q, const struct packet_path *path,
		   const struct send_wr *wr)
{
	bool has_ip = wr->to->net == NET_ROCE2;
	uint16_t sport = path->sport ? path->sport
				     : packet_sport(QP_UD, q->qpn, wr->dest_qpn, path->flow_label);

	store_be32(av, wr->qkey);
	store_be32(av + 8, AV_EXT | wr->dest_qpn);
	av[12] = q->sl & 0xf;
	if (port_is_ib(wr->to))
		memcpy(av + 14, wr->to->lid, sizeof(wr->to->lid));
	else
		store_be16(av + 14, sport);
	memcpy(av + 20, wr->to->mac, sizeof(wr->to->mac));
	av[26] = path->tclass;
	av[27] = path->hop_limit;
	store_be32(av + 28, AV_GRH | path->flow_label);
	memcpy(av + 32, has_ip ? wr->to->ip : wr->to->gid, sizeof(wr->to->gid));
}

/* What the control segment carries for an operation. */
static uint32_t control_imm(const struct send_wr *wr)
{
	uint16_t kind = opcodes[wr->opcode].kind;

	if (kind & OPC_FLUSH)
		return FETH_GLOBAL | (uint32_t)wr->flush_level << FETH_SEL_SHIFT;
	return kind & OPC_IMM ? wr->imm : kind & OPC_INV ? wr->inv_key : 0;
}

static void put_bind(uint8_t *at, const struct send_wr *wr)
{
	store_be64(at, wr->raddr);
	store_be64(at + 8, wr->compare_add);
	store_be32(at + WQE_SEG, wr->rkey);
	at[WQE_SEG + 4] = wr->bind_access;
}

/* Everything but inline data, whose place stays zero. Returns the offset of the data segments. */
static uint32_t build_wqe(uint8_t *w, const struct send_wr *wr, const struct qp_attr *q,
			  const struct drv_qp *d, bool signaled)
{
	uint16_t kind = opcodes[wr->opcode].kind;
	uint32_t bytes = wqe_bytes(wr, q->type), off = WQE_SEG;

	memset(w, 0, align_up(bytes, WQE_BB));
	store_be32(w, (uint32_t)d->sq_bb << 8 | opcodes[wr->opcode].mlx5);
	store_be32(w + 4, q->qpn << 8 | bytes / WQE_SEG);
	w[11] = (uint8_t)((wr->flags & WR_FENCE ? MLX5_FENCE : 0) |
			  (signaled ? MLX5_CQE_UPDATE : 0) |
			  (wr->flags & WR_SOLICITED ? MLX5_SOLICITED : 0));
	store_be32(w + 12, control_imm(wr));
	if (q->type == QP_UD) {
		put_av(w + off, q, &d->path, wr);
		off += WQE_AV_BYTES;
	}
	if (kind & OPC_RADDR) {
		store_be64(w + off, wr->raddr);
		store_be32(w + off + 8, wr->rkey);
		off += WQE_SEG;
	}
	if (kind & OPC_ATOMIC) {
		bool is_cas = wr->opcode == WR_ATOMIC_CMP_AND_SWP;

		store_be64(w + off, is_cas ? wr->swap : wr->compare_add);
		store_be64(w + off + 8, is_cas ? wr->compare_add : 0);
		off += WQE_SEG;
	}
	if (kind & OPC_BIND)
		put_bind(w + off, wr);
	else if (kind & OPC_FLUSH)
		store_be32(w + off, (uint32_t)sge_bytes(wr->sge, wr->n_sge));
	else if (is_inline(wr) && off < bytes)
		store_be32(w + off, (uint32_t)sge_bytes(wr->sge, wr->n_sge) | WQE_INLINE);
	else if (!is_inline(wr))
		put_data(w + off, wr->sge, wr->n_sge);
	return off;
}

static uint64_t block_pa(const struct qp_attr *q, uint32_t block)
{
	return q->sq_pa + (uint64_t)(block & (q->sq_bb - 1)) * WQE_BB;
}

/* An access of bytes that are in memory at 'from'. */
static void append_from(struct cpu_list *out, uint8_t kind, uint64_t to, uint64_t from, uint32_t n,
			uint32_t op)
{
	struct cpu_req *r = append(out, kind, to, n, op);

	memset(r->data, 0, sizeof(r->data));
	for (unsigned k = 0; k < 8; k++)
		r->data[k] = (uint8_t)(from >> 8 * k);
}

/* Copy inline data from the program's memory to byte 'off' on of the WQE at block 'index'. */
static void append_inline(struct host *h, const struct qp_attr *q, uint32_t index, uint32_t off,
			  const struct send_wr *wr, uint32_t op, struct cpu_list *out)
{
	for (uint32_t i = 0; i < wr->n_sge; i++) {
		uint64_t va = wr->sge[i].addr;
		uint32_t left = wr->sge[i].len;

		while (left) {
			uint64_t run, from = space_pa(h->space, va, &run);
			uint32_t n = (uint32_t)min_u64(min_u64(left, WQE_BB - off % WQE_BB),
						       min_u64(run, PAGE_4K - from % PAGE_4K));

			append_from(out, CPU_COPY, block_pa(q, index + off / WQE_BB) + off % WQE_BB,
				    from, n, op);
			va += n;
			off += n;
			left -= n;
		}
	}
}

/* ---- posting ---- */

static bool is_readable(const struct host *h, const struct sge *s)
{
	uint64_t run = 0;

	for (uint64_t off = 0; off < s->len; off += run)
		if (space_pa(h->space, s->addr + off, &run) == UINT64_MAX)
			return false;
	return true;
}

static int check_data(const struct host *h, uint32_t qpi, const struct send_wr *wr)
{
	const struct qp_attr *q = &h->nic->qp[qpi];
	uint16_t kind = opcodes[wr->opcode].kind;
	uint64_t len = sge_bytes(wr->sge, wr->n_sge);

	if (wr->n_sge > q->max_sge || len > VERBS_MAX_MSG)
		return EINVAL;
	if (q->type == QP_UD && (!wr->to || (len > q->mtu && !h->nic->takes_long_ud)))
		return EINVAL;
	if (kind & OPC_ATOMIC &&
	    (wr->n_sge != 1 || len != 8 || (h->nic->refuses_misaligned && wr->raddr % 8)))
		return EINVAL;
	if (wr->opcode == WR_ATOMIC_WRITE && len != 8)
		return EINVAL;
	if (!is_inline(wr))
		return 0;
	if (!(kind & OPC_INLINE) || len > h->qp[qpi].max_inline)
		return EINVAL;
	for (uint32_t i = 0; i < wr->n_sge; i++)
		if (!is_readable(h, &wr->sge[i]))
			return EFAULT;
	return 0;
}

/* Blocks that are in use, counted from the oldest request that is not retired. */
static uint32_t blocks_used(const struct drv_qp *d)
{
	if (d->sq.head == d->sq.tail)
		return 0;
	return (uint16_t)(d->sq_bb - d->sq.entry[d->sq.tail & d->sq.mask].index);
}

int verbs_check_send(const struct host *h, uint32_t qpi, const struct send_wr *wr)
{
	static const uint8_t kinds[] = {
		[QP_RC] = OPC_KNOWN, [QP_UC] = OPC_UC, [QP_UD] = OPC_UD, [QP_XRC] = OPC_KNOWN
	};
	const struct drv_qp *d = &h->qp[qpi];
	const struct qp_attr *q = &h->nic->qp[qpi];
	int err;

	if (d->state < QPS_RTS || wr->opcode >= WR_OPCODES ||
	    !(opcodes[wr->opcode].kind & kinds[q->type]))
		return EINVAL;
	err = check_data(h, qpi, wr);
	if (err)
		return err;
	if (d->sq.head - d->sq.tail >= d->sq.depth ||
	    blocks_used(d) + ceil_div(wqe_bytes(wr, q->type), WQE_BB) > q->sq_bb)
		return ENOMEM;
	return 0;
}

static void ring_push(struct wr_ring *r, const struct wr_entry *e)
{
	r->entry[r->head++ & r->mask] = *e;
}

/* The BlueFlame buffer of the QP's core whose turn it is. */
static uint64_t next_blueflame(struct host *h, const struct drv_qp *d)
{
	uint8_t half = h->uar_half[d->core];

	h->uar_half[d->core] ^= 1;
	return (uint64_t)d->core * UAR_PAGE + UAR_BLUEFLAME + half * UAR_BLUEFLAME_BYTES;
}

static void append_doorbell(struct host *h, const struct qp_attr *q, struct drv_qp *d, uint32_t op,
			    struct cpu_list *out)
{
	struct cpu_req *r;

	append_store32(out, q->dbr_pa + 4, d->sq_bb & COUNTER_MASK, op);
	r = append(out, CPU_MMIO, next_blueflame(h, d), sizeof(d->last_ctrl), op);
	memset(r->data, 0, sizeof(r->data));
	memcpy(r->data, d->last_ctrl, sizeof(d->last_ctrl));
	d->sq_rung = d->sq_bb;
}

/* Whether the request, the only one not rung for, goes by BlueFlame. */
static bool is_blueflame(const struct host *h, const struct drv_qp *d, const struct send_wr *wr,
			 uint32_t bytes)
{
	return h->post != POST_DOORBELL && (h->post == POST_BLUEFLAME || is_inline(wr)) &&
	       d->sq_rung == d->sq_bb && !(wr->flags & WR_MORE) && bytes > WQE_SEG &&
	       bytes <= UAR_BLUEFLAME_BYTES;
}

/* Copy the last WQE, in whole basic blocks from 'index' on, from its ring to a BlueFlame buffer. */
static void append_blueflame(struct host *h, const struct qp_attr *q, struct drv_qp *d,
			     uint16_t index, uint32_t op, struct cpu_list *out)
{
	uint64_t to = next_blueflame(h, d);
	uint32_t n = (uint16_t)(d->sq_bb - index) * WQE_BB;

	append_store32(out, q->dbr_pa + 4, d->sq_bb & COUNTER_MASK, op);
	for (uint32_t off = 0; off < n; off += h->wc_bytes)
		append_from(out, CPU_MMIO_COPY, to + off,
			    block_pa(q, index + off / WQE_BB) + off % WQE_BB, h->wc_bytes, op);
	d->sq_rung = d->sq_bb;
}

/* One completion more may come to a CQ. */
static void expect_completion(struct host *h, uint32_t cqi, struct cpu_list *out)
{
	h->cq[cqi].outstanding++;
	verbs_make_room(h, cqi, out);
}

int verbs_post_send(struct host *h, uint32_t qpi, const struct send_wr *wr, uint32_t op,
		    struct cpu_list *out)
{
	struct qp_attr *q = &h->nic->qp[qpi];
	struct drv_qp *d = &h->qp[qpi];
	bool signaled = d->sig_all || (wr->flags & WR_SIGNALED), by_blueflame;
	int err = verbs_check_send(h, qpi, wr);
	uint32_t bytes, blocks, off;
	uint8_t w[VERBS_MAX_WQE];

	if (err)
		return err;
	expect_completion(h, q->scq, out);
	bytes = wqe_bytes(wr, q->type);
	blocks = (uint32_t)ceil_div(bytes, WQE_BB);
	off = build_wqe(w, wr, q, d, signaled);
	for (uint32_t i = 0; i < blocks; i++) {
		append_store(out, block_pa(q, d->sq_bb + i), w + i * WQE_BB,
			     (uint32_t)min_u64(WQE_BB, bytes - i * WQE_BB), op);
		q->sq_op[(d->sq_bb + i) & (q->sq_bb - 1)] = i ? OP_NONE : op;
	}
	if (is_inline(wr))
		append_inline(h, q, d->sq_bb, off + 4, wr, op, out);
	ring_push(&d->sq, &(struct wr_entry){ .wr_id = wr->wr_id,
					      .op = op,
					      .ticket = wr->ticket,
					      .index = d->sq_bb,
					      .is_signaled = signaled });
	memcpy(d->last_ctrl, w, sizeof(d->last_ctrl));
	by_blueflame = is_blueflame(h, d, wr, bytes);
	d->sq_bb = (uint16_t)(d->sq_bb + blocks);
	if (by_blueflame)
		append_blueflame(h, q, d, (uint16_t)(d->sq_bb - blocks), op, out);
	else if (!(wr->flags & WR_MORE))
		append_doorbell(h, q, d, op, out);
	return 0;
}

void verbs_ring(struct host *h, uint32_t qpi, struct cpu_list *out)
{
	struct drv_qp *d = &h->qp[qpi];

	if (d->sq_rung != d->sq_bb)
		append_doorbell(h, &h->nic->qp[qpi], d, OP_NONE, out);
}

uint32_t verbs_posted(const struct host *h, uint32_t rqi)
{
	uint32_t n_qp = h->nic->n_qp;

	return rqi < n_qp ? h->qp[rqi].rq.head - h->qp[rqi].rq.tail : h->srq[rqi - n_qp].n_posted;
}

int verbs_check_recv(const struct host *h, uint32_t rqi, const struct recv_wr *wr)
{
	const struct nic *n = h->nic;
	bool is_srq = rqi >= n->n_qp;
	uint32_t max_sge = is_srq ? n->srq[rqi - n->n_qp].max_sge : n->qp[rqi].max_sge;
	uint32_t depth = is_srq ? h->srq[rqi - n->n_qp].depth : h->qp[rqi].rq.depth;

	if ((!is_srq && (h->qp[rqi].state == QPS_RESET || n->qp[rqi].srq != SRQ_NONE)) ||
	    wr->n_sge > max_sge || sge_bytes(wr->sge, wr->n_sge) > VERBS_MAX_MSG)
		return EINVAL;
	return verbs_posted(h, rqi) >= depth ? ENOMEM : 0;
}

/* The data segments of a receive, and what ends them early in 'room' bytes; their bytes. */
static uint32_t put_recv(uint8_t *at, const struct recv_wr *wr, uint32_t room)
{
	uint32_t n = put_data(at, wr->sge, wr->n_sge);

	if (n < room) {
		memset(at + n, 0, WQE_SEG);
		store_be32(at + n + 4, WQE_INVALID_LKEY);
		n += WQE_SEG;
	}
	return n;
}

static void append_bytes(struct cpu_list *l, uint64_t addr, const uint8_t *bytes, uint32_t n,
			 uint32_t op)
{
	for (uint32_t off = 0; off < n; off += WQE_BB)
		append_store(l, addr + off, bytes + off, (uint32_t)min_u64(WQE_BB, n - off), op);
}

/* Into the first free WQE of an SRQ, whose link to the next one it keeps. */
static void post_shared(struct host *h, uint32_t srqi, const struct recv_wr *wr, uint32_t op,
			struct cpu_list *out)
{
	const struct srq_attr *q = &h->nic->srq[srqi];
	struct drv_srq *d = &h->srq[srqi];
	uint8_t w[(1 + MAX_SGE) * WQE_SEG] = { 0 };
	uint16_t index = d->head;

	store_be16(w + WQE_NEXT, d->next[index]);
	append_bytes(out, q->pa + (uint64_t)index * q->stride, w,
		     WQE_SEG + put_recv(w + WQE_SEG, wr, q->stride - WQE_SEG), op);
	d->entry[index] = (struct wr_entry){ .wr_id = wr->wr_id,
					     .op = op,
					     .ticket = wr->ticket,
					     .index = index,
					     .is_signaled = true };
	d->head = d->next[index];
	d->n_posted++;
	q->op[index] = op;
	append_store32(out, q->dbr_pa, ++d->counter, op);
}

int verbs_post_recv(struct host *h, uint32_t rqi, const struct recv_wr *wr, uint32_t op,
		    struct cpu_list *out)
{
	int err = verbs_check_recv(h, rqi, wr);
	struct qp_attr *q = &h->nic->qp[rqi];
	struct drv_qp *d = &h->qp[rqi];
	uint8_t w[MAX_SGE * WQE_SEG];
	uint32_t slot;

	if (err)
		return err;
	if (rqi >= h->nic->n_qp) {
		post_shared(h, rqi - h->nic->n_qp, wr, op, out);
		return 0;
	}
	expect_completion(h, q->rcq, out);
	slot = d->rq.head & (q->rq_wqe - 1);
	append_bytes(out, q->rq_pa + (uint64_t)slot * q->rq_stride, w,
		     put_recv(w, wr, q->rq_stride), op);
	q->rq_op[slot] = op;
	ring_push(&d->rq, &(struct wr_entry){ .wr_id = wr->wr_id,
					      .op = op,
					      .ticket = wr->ticket,
					      .index = (uint16_t)d->rq.head,
					      .is_signaled = true });
	append_store32(out, q->dbr_pa, d->rq.head & COUNTER_MASK, op);
	return 0;
}
