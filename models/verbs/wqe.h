/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wqe.h - send and receive WQEs taken apart (protocol.md section 13: mlx5 shape, big-endian)
 */
#ifndef MODELS_WQE_H
#define MODELS_WQE_H

#include "models/msg.h"
#include "models/nic.h"

/*
 * Opcode given to a WQE whose segments do not fit its opcode and length: no opcode that a requester
 * knows, so it ends in a local QP operation error like any unknown one.
 */
#define WQE_OPCODE_BAD 0xffu

/*
 * Layouts declared here, as mlx5 has none that is documented; behind the control segment:
 *	LOCAL_INVAL	nothing; the key stands in the control segment's imm
 *	BIND_MW		bind segment, 32 B: va64 len64 | lkey32 access8 rsv; imm: the new key
 *	FLUSH		raddr segment | flush segment, 16 B: len32 rsv; imm: the FETH
 *	ATOMIC_WRITE	raddr segment | data or inline segment of 8 B
 * In struct wqe a bind has va in raddr, len in swap_add, lkey in rkey and access in compare.
 */
#define WQE_BIND_BYTES 32u

#define WQE_AV_OFF 16u /* UD: address vector; XRC: SRQ number */
#define WQE_AV_BYTES 48u
#define WQE_NEXT 2u /* SRQ: index of the next WQE, in the first segment of each */

static inline uint16_t load_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}
static inline uint32_t load_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}
static inline uint64_t load_be64(const uint8_t *p)
{
	return (uint64_t)load_be32(p) << 32 | load_be32(p + 4);
}

/* A data segment. */
struct wqe_seg {
	uint64_t addr;
	uint32_t len, lkey;
};
static inline struct wqe_seg wqe_seg_at(const uint8_t *p)
{
	uint32_t len = load_be32(p);

	return (struct wqe_seg){ .len = len ? len : WQE_SEG_MAX,
				 .lkey = load_be32(p + 4),
				 .addr = load_be64(p + 8) };
}

/* Basic blocks of the send WQE whose control segment is at 'p'; 0 when its length field is 0. */
static inline uint32_t wqe_send_bbs(const uint8_t *p)
{
	return ((uint32_t)(p[7] & 0x3f) + 3) / 4;
}

/*
 * Fill the fields of *w that come from the bytes at 'p' (the whole WQE is there): all but qpi, buf,
 * op, index and n_bb. An unknown opcode is passed through, with no segments; segments that do not
 * fit give WQE_OPCODE_BAD.
 */
void wqe_send_decode(struct wqe *w, const uint8_t *p, uint8_t qp_type);

/* Data segments in front of the end mark of the receive WQE of 'bytes' bytes at 'p'. */
uint8_t wqe_recv_sges(const uint8_t *p, uint32_t bytes);

#endif
