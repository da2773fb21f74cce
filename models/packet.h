/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.h - a packet in a pool buffer: bytes as on the wire, and what the simulator knows beside them
 */
#ifndef MODELS_PACKET_H
#define MODELS_PACKET_H

#include <stdbool.h>
#include <stdint.h>

/* Room for the largest header stack (Ethernet + IPv6 + UDP + BTH + extended, protocol.md section 1), pad and ICRC. */
#define PACKET_HDR_MAX 160u

struct packet {
	uint32_t op;		/* oplog row of the request that the packet belongs to; OP_NONE for responses */
	uint32_t rsp_op;	/* responses: oplog row of the request answered (READ, ATOMIC), or OP_NONE */
	uint16_t len;		/* bytes in data: Ethernet header to ICRC, without preamble and FCS */
	uint16_t l4;		/* offset of the BTH */
	bool is_msg_first;	/* first packet of a pass over a message (milestone FIRST_BIT) */
	bool is_msg_last;	/* last packet of a message (milestone LAST_BIT) */
	bool is_altered;	/* the wire changed bytes: the receiver must recompute the ICRC */
	uint8_t data[];		/* wire bytes */
};

#endif
