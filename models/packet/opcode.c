/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opcode.c - the InfiniBand opcode table
 *
 * Sources: IBTA vol. 1 tables 38 and 39; torvalds/linux drivers/infiniband/sw/rxe/rxe_opcode.c
 * (FLUSH, ATOMIC WRITE, RD); XRC from the wireshark dissector's table, with the XRCETH in requests
 * only.
 */
#include "models/packet/hdr.h"
#include "models/packet/opcode.h"

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
#define PART(m, x, h, bytes) ((x) > (h) && ((m) >> (h)&1) ? (bytes) : 0)
#define BEFORE(m, x) \
	(PART(m, x, X_XRCETH, XRCETH_BYTES) + PART(m, x, X_RDETH, RDETH_BYTES) + \
	 PART(m, x, X_DETH, DETH_BYTES) + PART(m, x, X_FETH, FETH_BYTES) + \
	 PART(m, x, X_RETH, RETH_BYTES) + PART(m, x, X_AETH, AETH_BYTES) + \
	 PART(m, x, X_ATOMICETH, ATOMICETH_BYTES) + PART(m, x, X_ATOMICACK, ATOMICACK_BYTES) + \
	 PART(m, x, X_IMMDT, IMMDT_BYTES) + PART(m, x, X_IETH, IETH_BYTES))
#define OFF(m, x) ((m) >> (x)&1 ? BTH_BYTES + BEFORE(m, x) : 0)

#define INFO(n, m, cls, plc, pay, rsp, rq) \
	{ \
		.name = (n), .xeths = (m), .xeth_bytes = BEFORE(m, X_COUNT), \
		.op_class = CLASS_##cls, .place = (plc), .payload = PAYLOAD_##pay, \
		.is_response = (rsp), .takes_rq = (rq), \
		.off = { OFF(m, X_XRCETH), \
			 OFF(m, X_RDETH), \
			 OFF(m, X_DETH), \
			 OFF(m, X_FETH), \
			 OFF(m, X_RETH), \
			 OFF(m, X_AETH), \
			 OFF(m, X_ATOMICETH), \
			 OFF(m, X_ATOMICACK), \
			 OFF(m, X_IMMDT), \
			 OFF(m, X_IETH) } \
	}
/* A request; one that takes a receive WQE; a response. */
#define REQ(n, m, cls, plc, pay) INFO(n, m, cls, plc, pay, false, false)
#define RCV(n, m, cls, plc, pay) INFO(n, m, cls, plc, pay, false, true)
#define RSP(n, m, cls, plc, pay) INFO(n, m, cls, plc, pay, true, false)

#define FIRST OPCODE_FIRST
#define MIDDLE 0
#define END OPCODE_LAST
#define WHOLE OPCODE_ONLY

/* Operations of several transports; q = headers before those of requests, r = of responses. */
#define SENDS(T, t, q) \
	[T | IB_SEND_FIRST] = RCV(t " SEND First", q, SEND, FIRST, PMTU), \
	     [T | IB_SEND_MIDDLE] = REQ(t " SEND Middle", q, SEND, MIDDLE, PMTU), \
	     [T | IB_SEND_LAST] = REQ(t " SEND Last", q, SEND, END, LAST), \
	     [T | IB_SEND_LAST_IMM] = \
		     REQ(t " SEND Last with Immediate", (q) | H_IMM, SEND, END, LAST), \
	     [T | IB_SEND_ONLY] = RCV(t " SEND Only", q, SEND, WHOLE, ONLY), \
	     [T | IB_SEND_ONLY_IMM] = \
		     RCV(t " SEND Only with Immediate", (q) | H_IMM, SEND, WHOLE, ONLY)
#define WRITES(T, t, q) \
	[T | IB_WRITE_FIRST] = REQ(t " WRITE First", (q) | H_R, WRITE, FIRST, PMTU), \
	     [T | IB_WRITE_MIDDLE] = REQ(t " WRITE Middle", q, WRITE, MIDDLE, PMTU), \
	     [T | IB_WRITE_LAST] = REQ(t " WRITE Last", q, WRITE, END, LAST), \
	     [T | IB_WRITE_LAST_IMM] = \
		     RCV(t " WRITE Last with Immediate", (q) | H_IMM, WRITE, END, LAST), \
	     [T | IB_WRITE_ONLY] = REQ(t " WRITE Only", (q) | H_R, WRITE, WHOLE, ONLY), \
	     [T | IB_WRITE_ONLY_IMM] = \
		     RCV(t " WRITE Only with Immediate", (q) | H_R | H_IMM, WRITE, WHOLE, ONLY)
#define READS_ATOMICS(T, t, q, r) \
	[T | IB_READ_REQUEST] = REQ(t " READ Request", (q) | H_R, READ, WHOLE, NONE), \
	     [T | IB_READ_RSP_FIRST] = \
		     RSP(t " READ Response First", (r) | H_A, READ, FIRST, PMTU), \
	     [T | IB_READ_RSP_MIDDLE] = RSP(t " READ Response Middle", r, READ, MIDDLE, PMTU), \
	     [T | IB_READ_RSP_LAST] = RSP(t " READ Response Last", (r) | H_A, READ, END, LAST), \
	     [T | IB_READ_RSP_ONLY] = RSP(t " READ Response Only", (r) | H_A, READ, WHOLE, ONLY), \
	     [T | IB_ACKNOWLEDGE] = RSP(t " Acknowledge", (r) | H_A, ACK, WHOLE, NONE), \
	     [T | IB_ATOMIC_ACK] = \
		     RSP(t " ATOMIC Acknowledge", (r) | H_A | H_ATACK, ATOMIC, WHOLE, NONE), \
	     [T | IB_CMP_SWAP] = REQ(t " CmpSwap", (q) | H_ATOMIC, ATOMIC, WHOLE, NONE), \
	     [T | IB_FETCH_ADD] = REQ(t " FetchAdd", (q) | H_ATOMIC, ATOMIC, WHOLE, NONE)
#define INVALS(T, t, q) \
	[T | IB_SEND_LAST_INV] = \
		REQ(t " SEND Last with Invalidate", (q) | H_INV, SEND, END, LAST), \
	     [T | IB_SEND_ONLY_INV] = \
		     RCV(t " SEND Only with Invalidate", (q) | H_INV, SEND, WHOLE, ONLY)
#define FLUSHES(T, t, q) [T | IB_FLUSH] = REQ(t " FLUSH", (q) | H_F | H_R, FLUSH, WHOLE, NONE)

const struct opcode_info opcode_info[256] = {
	SENDS(IB_RC, "RC", H_0),
	WRITES(IB_RC, "RC", H_0),
	READS_ATOMICS(IB_RC, "RC", H_0, H_0),
	INVALS(IB_RC, "RC", H_0),
	FLUSHES(IB_RC, "RC", H_0),
	[IB_RC | IB_ATOMIC_WRITE] = REQ("RC ATOMIC WRITE", H_R, ATOMIC_WRITE, WHOLE, 8),

	SENDS(IB_UC, "UC", H_0),
	WRITES(IB_UC, "UC", H_0),

	SENDS(IB_RD, "RD", H_RD | H_D),
	WRITES(IB_RD, "RD", H_RD | H_D),
	READS_ATOMICS(IB_RD, "RD", H_RD | H_D, H_RD),
	[IB_RD | IB_RESYNC] = REQ("RD RESYNC", H_RD | H_D, RESYNC, WHOLE, NONE),
	/* without a DETH, unlike the other requests: rxe_opcode.c */
	FLUSHES(IB_RD, "RD", H_RD),

	[IB_UD | IB_SEND_ONLY] = RCV("UD SEND Only", H_D, SEND, WHOLE, ONLY),
	[IB_UD | IB_SEND_ONLY_IMM] =
		RCV("UD SEND Only with Immediate", H_D | H_IMM, SEND, WHOLE, ONLY),

	[IB_OPCODE_CNP] = REQ("CNP", H_0, CNP, WHOLE, 16),

	SENDS(IB_XRC, "XRC", H_XRC),
	WRITES(IB_XRC, "XRC", H_XRC),
	READS_ATOMICS(IB_XRC, "XRC", H_XRC, H_0),
	INVALS(IB_XRC, "XRC", H_XRC),
	FLUSHES(IB_XRC, "XRC", H_XRC),
};
