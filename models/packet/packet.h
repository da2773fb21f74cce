/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.h - a packet in a pool buffer: bytes as on the wire, and what the simulator knows beside
 * them
 *
 * Building: packet_begin(), then the extended headers in wire order (packet_add_reth() ...), then
 * the payload (written or DMA-read to packet_payload(), announced by packet_add_payload()), then
 * packet_end(). Reading: packet_parse(). A pool of packets has buffers of packet_buf_size(largest
 * MTU) bytes.
 */
#ifndef MODELS_PACKET_H
#define MODELS_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/packet/hdr.h"
#include "models/nic.h"
#include "models/packet/opcode.h"

/* Room for the largest header stack (Ethernet, IPv6, UDP, BTH, extended), pad and CRCs. */
#define PACKET_HDR_MAX 160u
#define ICRC_BYTES 4u
#define VCRC_BYTES 2u

struct packet {
	uint32_t op;     /* oplog row of the request it belongs to; OP_NONE for responses */
	uint32_t rsp_op; /* READ, ATOMIC responses: oplog row of the request, or OP_NONE */
	/*
	 * bytes in data. Ethernet: from its header to the ICRC, no preamble, no FCS. InfiniBand:
	 * from LRH to VCRC, which ports fill in
	 */
	uint16_t len;
	uint16_t l4;       /* offset of the BTH */
	bool is_msg_first; /* first packet of a pass over a message (milestone FIRST_BIT) */
	bool is_msg_last;  /* last packet of a message (milestone LAST_BIT) */
	bool is_altered;   /* the wire changed bytes: the receiver must recompute the CRCs */
	uint8_t encap;     /* enum encap, as built; to a receiver only the kind of link */
	uint8_t data[];    /* wire bytes */
};

/* Bytes of a pool buffer that holds any packet of path MTU 'mtu'. */
static inline uint32_t packet_buf_size(uint32_t mtu)
{
	return (uint32_t)sizeof(struct packet) + PACKET_HDR_MAX + mtu;
}

/* ---- building ---- */

/* How a QP's packets travel. */
struct packet_path {
	uint8_t tclass; /* IPv4: TOS byte; DSCP and ECN */
	uint8_t hop_limit;
	uint32_t flow_label; /* 20 bits; IPv6, GRH, and source of the UDP source port */
	uint16_t sport;      /* UDP source port; 0 = by rule (packet_sport) */
	uint8_t sl;          /* service level, in the LRH */
};

/*
 * The UDP source port by rule. RC, UC: from the flow label or, when that is 0, from both QPNs
 * (ibv_flow_label_to_udp_sport and its caller in rdma-core); UD: from the local QPN alone (rxe).
 */
uint16_t packet_sport(uint8_t qp_type, uint32_t qpn, uint32_t dest_qpn, uint32_t flow_label);

/*
 * Fill qp->hdr, hdr_len and encap for packets from port 'from' to port 'to', both on the same kind
 * of net; qp->type, qpn and dest_qpn are set. RoCEv2: IPv6 when both ports are. If 'from' has a
 * fixed path, hop limit 64 and flow label 0 are sent, as soft-RoCE does; the UDP source port still
 * comes from the flow label that was asked for.
 */
void packet_template(struct qp_attr *qp, const struct port_addr *from, const struct port_addr *to,
		     const struct packet_path *path);

/*
 * Start a packet of 'qp': header template and BTH (its pad is set by packet_end), marks cleared, op
 * and rsp_op OP_NONE.
 */
void packet_begin(struct packet *p, const struct qp_attr *qp, const struct hdr_bth *bth);

/* packet_add_reth(p, &reth) and so on: append an extended header. */
#define F(ctype, n_bits, name, doc)
#define FA(n, name, doc)
#define HDR(name, NAME, bytes, doc, fields) \
	static inline void packet_add_##name(struct packet *p, const struct hdr_##name *h) \
	{ \
		hdr_##name##_encode(p->data + p->len, h); \
		p->len = (uint16_t)(p->len + (bytes)); \
	}
#include "models/packet/hdr.def"
#undef F
#undef FA
#undef HDR

/*
 * Where the payload goes once all headers are there; as an offset in the pool buffer:
 * packet_payload_off().
 */
static inline uint8_t *packet_payload(struct packet *p)
{
	return p->data + p->len;
}
static inline uint32_t packet_payload_off(const struct packet *p)
{
	return (uint32_t)offsetof(struct packet, data) + p->len;
}

/* Account for 'n' payload bytes behind what is there. */
static inline void packet_add_payload(struct packet *p, uint32_t n)
{
	p->len = (uint16_t)(p->len + n);
}

/* Finish: pad bytes and BTH pad count, lengths, IPv4 header checksum, ICRC, room for a VCRC. */
void packet_end(struct packet *p);

/* ---- reading ---- */

/* Why a packet is dropped before any QP sees it. */
enum packet_drop {
	DROP_NONE,
	DROP_SHORT,     /* truncated, or lengths that disagree */
	DROP_ETHERTYPE, /* not IPv4, IPv6, RoCEv1 */
	DROP_IP,        /* version, options, fragment, header checksum, not UDP */
	DROP_LRH,       /* link version, or a raw packet */
	DROP_GRH,       /* version, or no BTH behind */
	DROP_PORT,      /* UDP destination port */
	DROP_TVER,      /* transport version */
	DROP_OPCODE,    /* unknown opcode */
	DROP_LENGTH,    /* headers and pad do not fit, more than 4096 B, or wrong for a response */
	DROP_ICRC,
	/* found by the parser with the QP's attributes */
	DROP_ADDRESS, /* not for this port, or not from the QP's peer */
	DROP_QP,      /* no such QP here */
	DROP_TYPE,    /* opcode of another transport, or one that nothing takes (CNP) */
	DROP_PKEY,
	DROP_QKEY,
	DROP_REASONS
};

/* A packet taken apart. Offsets are in p->data. */
struct packet_view {
	struct hdr_bth bth;
	const struct opcode_info *info;
	uint16_t net;  /* offset of the IP header, GRH, or LRH when there is no GRH */
	uint16_t l4;   /* of the BTH */
	uint16_t xeth; /* of the first extended header */
	uint16_t payload;
	uint16_t payload_len; /* without pad */
	uint16_t icrc;        /* of the ICRC */
	enum encap encap;
};

/*
 * Check everything that needs no QP, and fill *v (unspecified unless DROP_NONE is returned). Bytes
 * behind the ICRC are ignored on Ethernet (padding to the minimum frame), and are the VCRC on
 * InfiniBand, which the port has checked. The ICRC is not looked at:
 * packet_icrc_ok(). Requests of a length that their opcode forbids pass, for the responder to NAK:
 * opcode_len_ok().
 */
enum packet_drop packet_parse(const struct packet *p, struct packet_view *v);

/* Whether the ICRC in the packet is right. */
bool packet_icrc_ok(const struct packet *p, const struct packet_view *v);

/* Whether its destination addresses are the port's. */
bool packet_is_to(const struct packet *p, const struct packet_view *v,
		  const struct port_addr *port);

/* Whether it looks like one from the peer of 'qp': same encapsulation, and the peer's address. */
bool packet_is_from(const struct packet *p, const struct packet_view *v, const struct qp_attr *qp);

#endif
