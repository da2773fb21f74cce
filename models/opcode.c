/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opcode.c - the InfiniBand opcode table
 *
 * Sources: IBTA vol. 1 tables 38 and 39; torvalds/linux drivers/infiniband/sw/rxe/rxe_opcode.c (FLUSH, ATOMIC
 * WRITE, RD); XRC from the wireshark dissector's table, with the XRCETH in requests only.
 */
#include "models/hdr.h"
#include "models/opcode.h"

/* Masks of the headers that follow, one letter group each. */
enum {
	H_0 = 0,
	H_XRC = 1 << X_XRCETH,
	H_RD = 1 << X_RDETH,
	H_D = 1 << X_DETH,
	H_F = 1 << X_FETH,
	H_R = 1 << X_RETH,
	H_A = 1 << X_AETH,
	H_ATOMIC = 1 << X_ATOMICETH,
	H_ATACK = 1 << X_ATOMICACK,
	H_IMM = 1 << X_IMMDT,
	H_INV = 1 << X_IETH
};

/* Bytes of the headers of mask 'm' that stand before header 'x', or all of them for X_COUNT. */
#define PART(m, x, h, bytes) ((x) > (h) && ((m) >> (h) & 1) ? (bytes) : 0)
#define BEFORE(m, x) \
	(PART(m, x, X_XRCETH, XRCETH_BYTES) + PART(m, x, X_RDETH, RDETH_BYTES) + \
	 PART(m, x, X_DETH, DETH_BYTES) + PART(m, x, X_FETH, FETH_BYTES) + PART(m, x, X_RETH, RETH_BYTES) + \
	 PART(m, x, X_AETH, AETH_BYTES) + PART(m, x, X_ATOMICETH, ATOMICETH_BYTES) + \
	 PART(m, x, X_ATOMICACK, ATOMICACK_BYTES) + PART(m, x, X_IMMDT, IMMDT_BYTES) + \
	 PART(m, x, X_IETH, IETH_BYTES))
#define OFF(m, x) ((m) >> (x) & 1 ? BTH_BYTES + BEFORE(m, x) : 0)

#define INFO(n, m, cls, plc, pay, rsp, rq) \
	{ .name = (n), .xeths = (m), .xeth_bytes = BEFORE(m, X_COUNT), .op_class = (cls), .place = (plc), \
	  .payload = (pay), .is_response = (rsp), .takes_rq = (rq), \
	  .off = { OFF(m, X_XRCETH), OFF(m, X_RDETH), OFF(m, X_DETH), OFF(m, X_FETH), OFF(m, X_RETH), \
		   OFF(m, X_AETH), OFF(m, X_ATOMICETH), OFF(m, X_ATOMICACK), OFF(m, X_IMMDT), OFF(m, X_IETH) } }

/* Operations that every connected transport has; q = headers of requests, r = of responses. */
#define FIRST OPCODE_FIRST
#define MIDDLE 0
#define LAST OPCODE_LAST
#define ONLY OPCODE_ONLY
#define SENDS(T, t, q) \
	[T | IB_SEND_FIRST] = INFO(t " SEND First", q, CLASS_SEND, FIRST, PAYLOAD_PMTU, false, true), \
	[T | IB_SEND_MIDDLE] = INFO(t " SEND Middle", q, CLASS_SEND, MIDDLE, PAYLOAD_PMTU, false, false), \
	[T | IB_SEND_LAST] = INFO(t " SEND Last", q, CLASS_SEND, LAST, PAYLOAD_LAST, false, false), \
	[T | IB_SEND_LAST_IMM] = \
		INFO(t " SEND Last with Immediate", (q) | H_IMM, CLASS_SEND, LAST, PAYLOAD_LAST, false, false), \
	[T | IB_SEND_ONLY] = INFO(t " SEND Only", q, CLASS_SEND, ONLY, PAYLOAD_ONLY, false, true), \
	[T | IB_SEND_ONLY_IMM] = \
		INFO(t " SEND Only with Immediate", (q) | H_IMM, CLASS_SEND, ONLY, PAYLOAD_ONLY, false, true)
#define WRITES(T, t, q) \
	[T | IB_WRITE_FIRST] = INFO(t " WRITE First", (q) | H_R, CLASS_WRITE, FIRST, PAYLOAD_PMTU, false, false), \
	[T | IB_WRITE_MIDDLE] = INFO(t " WRITE Middle", q, CLASS_WRITE, MIDDLE, PAYLOAD_PMTU, false, false), \
	[T | IB_WRITE_LAST] = INFO(t " WRITE Last", q, CLASS_WRITE, LAST, PAYLOAD_LAST, false, false), \
	[T | IB_WRITE_LAST_IMM] = \
		INFO(t " WRITE Last with Immediate", (q) | H_IMM, CLASS_WRITE, LAST, PAYLOAD_LAST, false, true), \
	[T | IB_WRITE_ONLY] = INFO(t " WRITE Only", (q) | H_R, CLASS_WRITE, ONLY, PAYLOAD_ONLY, false, false), \
	[T | IB_WRITE_ONLY_IMM] = INFO(t " WRITE Only with Immediate", (q) | H_R | H_IMM, CLASS_WRITE, ONLY, \
				       PAYLOAD_ONLY, false, true)
#define READS_ATOMICS(T, t, q, r) \
	[T | IB_READ_REQUEST] = INFO(t " READ Request", (q) | H_R, CLASS_READ, ONLY, PAYLOAD_NONE, false, false), \
	[T | IB_READ_RSP_FIRST] = \
		INFO(t " READ Response First", (r) | H_A, CLASS_READ, FIRST, PAYLOAD_PMTU, true, false), \
	[T | IB_READ_RSP_MIDDLE] = \
		INFO(t " READ Response Middle", r, CLASS_READ, MIDDLE, PAYLOAD_PMTU, true, false), \
	[T | IB_READ_RSP_LAST] = \
		INFO(t " READ Response Last", (r) | H_A, CLASS_READ, LAST, PAYLOAD_LAST, true, false), \
	[T | IB_READ_RSP_ONLY] = \
		INFO(t " READ Response Only", (r) | H_A, CLASS_READ, ONLY, PAYLOAD_ONLY, true, false), \
	[T | IB_ACKNOWLEDGE] = INFO(t " Acknowledge", (r) | H_A, CLASS_ACK, ONLY, PAYLOAD_NONE, true, false), \
	[T | IB_ATOMIC_ACK] = INFO(t " ATOMIC Acknowledge", (r) | H_A | H_ATACK, CLASS_ATOMIC, ONLY, \
				   PAYLOAD_NONE, true, false), \
	[T | IB_CMP_SWAP] = \
		INFO(t " CmpSwap", (q) | H_ATOMIC, CLASS_ATOMIC, ONLY, PAYLOAD_NONE, false, false), \
	[T | IB_FETCH_ADD] = \
		INFO(t " FetchAdd", (q) | H_ATOMIC, CLASS_ATOMIC, ONLY, PAYLOAD_NONE, false, false)
#define INVALS(T, t, q) \
	[T | IB_SEND_LAST_INV] = \
		INFO(t " SEND Last with Invalidate", (q) | H_INV, CLASS_SEND, LAST, PAYLOAD_LAST, false, false), \
	[T | IB_SEND_ONLY_INV] = \
		INFO(t " SEND Only with Invalidate", (q) | H_INV, CLASS_SEND, ONLY, PAYLOAD_ONLY, false, true)
#define FLUSHES(T, t, q) \
	[T | IB_FLUSH] = INFO(t " FLUSH", (q) | H_F | H_R, CLASS_FLUSH, ONLY, PAYLOAD_NONE, false, false)

const struct opcode_info opcode_info[256] = {
	SENDS(IB_RC, "RC", H_0),
	WRITES(IB_RC, "RC", H_0),
	READS_ATOMICS(IB_RC, "RC", H_0, H_0),
	INVALS(IB_RC, "RC", H_0),
	FLUSHES(IB_RC, "RC", H_0),
	[IB_RC | IB_ATOMIC_WRITE] = INFO("RC ATOMIC WRITE", H_R, CLASS_ATOMIC_WRITE, ONLY, PAYLOAD_8, false, false),

	SENDS(IB_UC, "UC", H_0),
	WRITES(IB_UC, "UC", H_0),

	SENDS(IB_RD, "RD", H_RD | H_D),
	WRITES(IB_RD, "RD", H_RD | H_D),
	READS_ATOMICS(IB_RD, "RD", H_RD | H_D, H_RD),
	[IB_RD | IB_RESYNC] = INFO("RD RESYNC", H_RD | H_D, CLASS_RESYNC, ONLY, PAYLOAD_NONE, false, false),
	/* without a DETH, unlike the other requests: rxe_opcode.c */
	FLUSHES(IB_RD, "RD", H_RD),

	[IB_UD | IB_SEND_ONLY] = INFO("UD SEND Only", H_D, CLASS_SEND, ONLY, PAYLOAD_ONLY, false, true),
	[IB_UD | IB_SEND_ONLY_IMM] =
		INFO("UD SEND Only with Immediate", H_D | H_IMM, CLASS_SEND, ONLY, PAYLOAD_ONLY, false, true),

	[IB_OPCODE_CNP] = INFO("CNP", H_0, CLASS_CNP, ONLY, PAYLOAD_16, false, false),

	SENDS(IB_XRC, "XRC", H_XRC),
	WRITES(IB_XRC, "XRC", H_XRC),
	READS_ATOMICS(IB_XRC, "XRC", H_XRC, H_0),
	INVALS(IB_XRC, "XRC", H_XRC),
	FLUSHES(IB_XRC, "XRC", H_XRC),
};
