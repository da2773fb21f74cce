/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wqe.c - send and receive WQEs taken apart
 */
#include "models/verbs/wqe.h"

/* Which segments follow the control segment, by opcode. */
enum {
	SEG_RADDR = 1,
	SEG_ATOMIC = 2,
	SEG_DATA = 4,
	SEG_INLINE = 8,
	SEG_KNOWN = 16,
	SEG_BIND = 32,
	SEG_FLUSH = 64
};

static const uint8_t segments[256] = {
	[MLX5_OPCODE_NOP] = SEG_KNOWN,
	[MLX5_OPCODE_SEND_INVAL] = SEG_KNOWN | SEG_DATA | SEG_INLINE,
	[MLX5_OPCODE_RDMA_WRITE] = SEG_KNOWN | SEG_RADDR | SEG_DATA | SEG_INLINE,
	[MLX5_OPCODE_RDMA_WRITE_IMM] = SEG_KNOWN | SEG_RADDR | SEG_DATA | SEG_INLINE,
	[MLX5_OPCODE_SEND] = SEG_KNOWN | SEG_DATA | SEG_INLINE,
	[MLX5_OPCODE_SEND_IMM] = SEG_KNOWN | SEG_DATA | SEG_INLINE,
	[MLX5_OPCODE_RDMA_READ] = SEG_KNOWN | SEG_RADDR | SEG_DATA,
	[MLX5_OPCODE_ATOMIC_CS] = SEG_KNOWN | SEG_RADDR | SEG_ATOMIC | SEG_DATA,
	[MLX5_OPCODE_ATOMIC_FA] = SEG_KNOWN | SEG_RADDR | SEG_ATOMIC | SEG_DATA,
	[MLX5_OPCODE_BIND_MW] = SEG_KNOWN | SEG_BIND,
	[MLX5_OPCODE_LOCAL_INVAL] = SEG_KNOWN,
	[MLX5_OPCODE_FLUSH] = SEG_KNOWN | SEG_RADDR | SEG_FLUSH,
	[MLX5_OPCODE_ATOMIC_WRITE] = SEG_KNOWN | SEG_RADDR | SEG_DATA | SEG_INLINE,
};

/*
 * The list of data segments, or the one inline segment, from 'off' to the end. False when it does
 * not fit.
 */
static bool decode_data(struct wqe *w, const uint8_t *p, uint32_t off, uint32_t end,
			bool may_inline)
{
	uint64_t len = 0;

	w->seg_off = (uint16_t)off;
	if (off < end && load_be32(p + off) & WQE_INLINE) {
		w->len = load_be32(p + off) & ~WQE_INLINE;
		w->seg_off = (uint16_t)(off + 4);
		w->is_inline = true;
		return may_inline && align_up((uint64_t)off + 4 + w->len, WQE_SEG) == end;
	}
	for (; off < end; off += WQE_SEG) {
		if (load_be32(p + off) & WQE_INLINE)
			return false;
		len += wqe_seg_at(p + off).len;
		w->n_sge++;
	}
	w->len = (uint32_t)min_u64(len, UINT32_MAX);
	return true;
}

/* Segments whose layout is declared in wqe.h. Returns the offset behind them. */
static uint32_t decode_declared(struct wqe *w, const uint8_t *p, uint32_t off, uint8_t kinds)
{
	if (kinds & SEG_BIND) {
		w->raddr = load_be64(p + off);
		w->swap_add = load_be64(p + off + 8);
		w->rkey = load_be32(p + off + WQE_SEG);
		w->compare = p[off + WQE_SEG + 4];
		off += WQE_BIND_BYTES;
	}
	if (kinds & SEG_FLUSH) {
		w->len = load_be32(p + off);
		off += WQE_SEG;
	}
	return off;
}

static bool decode_segments(struct wqe *w, const uint8_t *p, uint8_t kinds, uint8_t qp_type)
{
	uint32_t end = (p[7] & 0x3fu) * WQE_SEG, off = WQE_SEG;

	if (qp_type == QP_UD && w->opcode != MLX5_OPCODE_NOP)
		off += WQE_AV_BYTES;
	if (qp_type == QP_XRC && w->opcode != MLX5_OPCODE_NOP)
		off += WQE_SEG;
	if (kinds & SEG_RADDR) {
		w->raddr = load_be64(p + off);
		w->rkey = load_be32(p + off + 8);
		off += WQE_SEG;
	}
	if (kinds & SEG_ATOMIC) {
		w->swap_add = load_be64(p + off);
		w->compare = load_be64(p + off + 8);
		off += WQE_SEG;
	}
	off = decode_declared(w, p, off, kinds);
	if (off > end)
		return false;
	if (kinds & SEG_DATA)
		return decode_data(w, p, off, end, kinds & SEG_INLINE);
	w->seg_off = (uint16_t)off;
	return true;
}

void wqe_send_decode(struct wqe *w, const uint8_t *p, uint8_t qp_type)
{
	uint8_t kinds = segments[p[3]];

	*w = (struct wqe){
		.qpi = w->qpi,
		.buf = w->buf,
		.op = w->op,
		.index = w->index,
		.n_bb = w->n_bb,
		.opcode = p[3],
		.imm = load_be32(p + 12),
		.seg_off = WQE_SEG,
		.fence = (p[11] & MLX5_FENCE) != 0,
		.signaled = (p[11] & 0x0c) == MLX5_CQE_UPDATE,
		.solicited = (p[11] & MLX5_SOLICITED) != 0,
	};
	if (kinds & SEG_KNOWN && !decode_segments(w, p, kinds, qp_type))
		*w = (struct wqe){
			.qpi = w->qpi,
			.buf = w->buf,
			.op = w->op,
			.index = w->index,
			.n_bb = w->n_bb,
			.opcode = WQE_OPCODE_BAD,
			.seg_off = WQE_SEG,
			.signaled = w->signaled,
		};
}

uint8_t wqe_recv_sges(const uint8_t *p, uint32_t bytes)
{
	uint8_t n = 0;

	for (uint32_t off = 0; off + WQE_SEG <= bytes; off += WQE_SEG) {
		if (load_be32(p + off + 4) == WQE_INVALID_LKEY)
			break;
		n++;
	}
	return n;
}
