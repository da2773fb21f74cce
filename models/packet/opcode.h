/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opcode.h - the InfiniBand opcodes: which headers follow the BTH, where in a message a packet
 * stands, and how long its payload may be (IBTA vol. 1, 9.2.1 and table 38; FLUSH and ATOMIC WRITE:
 * 1.6 and later)
 */
#ifndef MODELS_OPCODE_H
#define MODELS_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

/* BTH.opcode = transport (high 3 bits) | operation (low 5 bits). */
enum ib_transport {
	IB_RC = 0x00,
	IB_UC = 0x20,
	IB_RD = 0x40,
	IB_UD = 0x60,
	IB_CNP = 0x80,
	IB_XRC = 0xa0
};
#define IB_TRANSPORT_MASK 0xe0u
#define IB_OPERATION_MASK 0x1fu

enum ib_operation {
	IB_SEND_FIRST = 0x00,
	IB_SEND_MIDDLE = 0x01,
	IB_SEND_LAST = 0x02,
	IB_SEND_LAST_IMM = 0x03,
	IB_SEND_ONLY = 0x04,
	IB_SEND_ONLY_IMM = 0x05,
	IB_WRITE_FIRST = 0x06,
	IB_WRITE_MIDDLE = 0x07,
	IB_WRITE_LAST = 0x08,
	IB_WRITE_LAST_IMM = 0x09,
	IB_WRITE_ONLY = 0x0a,
	IB_WRITE_ONLY_IMM = 0x0b,
	IB_READ_REQUEST = 0x0c,
	IB_READ_RSP_FIRST = 0x0d,
	IB_READ_RSP_MIDDLE = 0x0e,
	IB_READ_RSP_LAST = 0x0f,
	IB_READ_RSP_ONLY = 0x10,
	IB_ACKNOWLEDGE = 0x11,
	IB_ATOMIC_ACK = 0x12,
	IB_CMP_SWAP = 0x13,
	IB_FETCH_ADD = 0x14,
	IB_RESYNC = 0x15, /* RD */
	IB_SEND_LAST_INV = 0x16,
	IB_SEND_ONLY_INV = 0x17,
	IB_FLUSH = 0x1c,
	IB_ATOMIC_WRITE = 0x1d
};
#define IB_OPCODE_CNP 0x81u

/* Extended headers in the order in which they follow the BTH. */
enum xeth {
	X_XRCETH,
	X_RDETH,
	X_DETH,
	X_FETH,
	X_RETH,
	X_AETH,
	X_ATOMICETH,
	X_ATOMICACK,
	X_IMMDT,
	X_IETH,
	X_COUNT
};

/* Place of the packet in its message. ONLY = FIRST | LAST, MIDDLE = 0. */
enum { OPCODE_FIRST = 1, OPCODE_LAST = 2, OPCODE_ONLY = 3 };

/* What a payload may measure; pmtu is the path MTU. */
enum payload_rule {
	PAYLOAD_NONE, /* 0 */
	PAYLOAD_PMTU, /* exactly pmtu */
	PAYLOAD_LAST, /* 1 .. pmtu */
	PAYLOAD_ONLY, /* 0 .. pmtu */
	PAYLOAD_8,    /* exactly 8 */
	PAYLOAD_16    /* exactly 16 (the reserved bytes of a CNP) */
};

/* What the message does. */
enum op_class {
	CLASS_SEND,
	CLASS_WRITE,
	CLASS_READ,
	CLASS_ATOMIC, /* compare and swap, fetch and add */
	CLASS_FLUSH,
	CLASS_ATOMIC_WRITE,
	CLASS_ACK,
	CLASS_RESYNC,
	CLASS_CNP
};

struct opcode_info {
	const char *name;     /* "RC SEND First"; NULL = not an opcode */
	uint16_t xeths;       /* bit 1 << enum xeth for each header that follows */
	uint8_t xeth_bytes;   /* all of them */
	uint8_t op_class;     /* enum op_class */
	uint8_t place;        /* OPCODE_FIRST, OPCODE_LAST; of requests and responses alike */
	uint8_t payload;      /* enum payload_rule */
	bool is_response;     /* goes to the requester */
	bool takes_rq;        /* needs a new receive WQE (SEND: First, Only; WRITE: Last, Only) */
	uint8_t off[X_COUNT]; /* from the BTH's first byte to each header; 0 = not there */
};

/* By BTH.opcode. */
extern const struct opcode_info opcode_info[256];

static inline bool opcode_has(const struct opcode_info *o, enum xeth x)
{
	return o->xeths >> x & 1;
}

/* Whether a packet of 'o' may carry 'len' payload bytes (without pad) on a path of MTU 'pmtu'. */
static inline bool opcode_len_ok(const struct opcode_info *o, uint32_t len, uint32_t pmtu)
{
	switch (o->payload) {
	case PAYLOAD_NONE:
		return len == 0;
	case PAYLOAD_PMTU:
		return len == pmtu;
	case PAYLOAD_LAST:
		return len >= 1 && len <= pmtu;
	case PAYLOAD_ONLY:
		return len <= pmtu;
	case PAYLOAD_8:
		return len == 8;
	default:
		return len == 16;
	}
}

#endif
