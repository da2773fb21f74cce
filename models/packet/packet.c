/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.c - building and taking apart packets (IBTA vol. 1, chapters 5.2 and 9)
 *
 * What the packetizer and the responder do to make a packet, and the parser to read one: shared
 * functions, not a block. The transport is here; what stands before and behind it, in encap.c.
 */
#include <string.h>

#include "models/packet/aeth.h"
#include "models/packet/encap.h"
#include "models/msg.h"
#include "models/recovery.h"

#define MAX_PAYLOAD 4096u
#define FIXED_HOP_LIMIT 64u
#define UD_PORT_HASH 0x61c88647u /* hash_32 of Linux */

uint16_t packet_sport(uint8_t qp_type, uint32_t qpn, uint32_t dest_qpn, uint32_t flow_label)
{
	uint64_t v;

	if (qp_type == QP_UD)
		return (uint16_t)(0xc000u + (qpn * UD_PORT_HASH >> 18));
	v = flow_label;
	if (v == 0) {
		v = (uint64_t)qpn * dest_qpn;
		v ^= v >> 20;
		v ^= v >> 40;
	}
	return (uint16_t)(0xc000u | ((v & 0x3fff) ^ (v & 0xfc000) >> 14));
}

void packet_template(struct qp_attr *qp, const struct port_addr *from, const struct port_addr *to,
		     const struct packet_path *path)
{
	struct packet_path sent = *path;

	if (sent.sport == 0)
		sent.sport = packet_sport(qp->type, qp->qpn, qp->dest_qpn, path->flow_label);
	if (from->has_fixed_path) {
		sent.hop_limit = FIXED_HOP_LIMIT;
		sent.flow_label = 0;
	}
	qp->encap = (uint8_t)encap_between(from, to);
	qp->hdr_len = encaps[qp->encap].l4;
	encaps[qp->encap].fill(qp->hdr, from, to, &sent);
}

void packet_begin(struct packet *p, const struct qp_attr *qp, const struct hdr_bth *bth)
{
	*p = (struct packet){ .op = OP_NONE,
			      .rsp_op = OP_NONE,
			      .l4 = qp->hdr_len,
			      .len = (uint16_t)(qp->hdr_len + BTH_BYTES),
			      .encap = qp->encap };
	memcpy(p->data, qp->hdr, HDR_TEMPLATE);
	hdr_bth_encode(p->data + p->l4, bth);
}

void packet_end(struct packet *p)
{
	const struct encap_info *e = &encaps[p->encap];
	/* BTH and extended headers are whole words */
	uint32_t pad = (0u - (uint32_t)(p->len - p->l4)) & 3u;
	uint8_t *bth = p->data + p->l4;

	memset(p->data + p->len, 0, pad);
	p->len = (uint16_t)(p->len + pad);
	bth[1] = (uint8_t)((bth[1] & 0xcf) | pad << 4);
	e->finish(p->data, (uint32_t)(p->len - p->l4) + ICRC_BYTES);
	icrc_store(p->data + p->len, icrc_of(e->icrc, p->data + e->net, (size_t)(p->len - e->net)));
	p->len = (uint16_t)(p->len + ICRC_BYTES + e->tail);
}

/* Check what stands before the BTH; on success *end is the offset behind the ICRC. */
static enum packet_drop parse_net(const struct packet *p, struct packet_view *v, uint32_t *end)
{
	enum packet_drop d = encap_of(p, &v->encap);
	const struct encap_info *e;

	if (d != DROP_NONE)
		return d;
	e = &encaps[v->encap];
	if (p->len < e->l4)
		return DROP_SHORT;
	d = e->parse(p->data, end);
	if (d != DROP_NONE)
		return d;
	v->net = e->net;
	v->l4 = e->l4;
	/* InfiniBand knows no padding (IBTA vol. 1, 7.3: the length is checked) */
	if (*end < e->l4 + BTH_BYTES + ICRC_BYTES || *end + e->tail > p->len ||
	    (e->tail && *end + e->tail != p->len))
		return DROP_SHORT;
	return DROP_NONE;
}

/* A payload that cannot be answered by a NAK; 'aeth' is where an AETH would be. */
static bool is_bad_response(const struct opcode_info *o, const uint8_t *aeth, uint32_t len)
{
	if (!o->is_response && o->op_class != CLASS_CNP)
		return false;
	if (o->op_class == CLASS_ACK && len && len <= SACK_MAX_BYTES)
		return aeth[0] != NAK_SEQUENCE; /* a selective acknowledgement */
	return (o->payload == PAYLOAD_NONE || o->payload == PAYLOAD_16) &&
	       !opcode_len_ok(o, len, MAX_PAYLOAD);
}

enum packet_drop packet_parse(const struct packet *p, struct packet_view *v)
{
	uint32_t end, len, fixed;
	enum packet_drop d = parse_net(p, v, &end);

	if (d != DROP_NONE)
		return d;
	len = end - v->l4;
	if (len % 4 != 0)
		return DROP_SHORT;
	hdr_bth_decode(&v->bth, p->data + v->l4);
	if (v->bth.tver != 0)
		return DROP_TVER;
	v->info = &opcode_info[v->bth.opcode];
	if (v->info->name == NULL)
		return DROP_OPCODE;
	fixed = (uint32_t)(BTH_BYTES + v->info->xeth_bytes + v->bth.pad) + ICRC_BYTES;
	if (len < fixed || len - fixed > MAX_PAYLOAD ||
	    is_bad_response(v->info, p->data + v->l4 + BTH_BYTES, len - fixed))
		return DROP_LENGTH;
	v->xeth = (uint16_t)(v->l4 + BTH_BYTES);
	v->payload = (uint16_t)(v->xeth + v->info->xeth_bytes);
	v->payload_len = (uint16_t)(len - fixed);
	v->icrc = (uint16_t)(end - ICRC_BYTES);
	return DROP_NONE;
}

bool packet_icrc_ok(const struct packet *p, const struct packet_view *v)
{
	size_t n = (size_t)(v->icrc - v->net);

	return icrc_load(p->data + v->icrc) == icrc_of(encaps[v->encap].icrc, p->data + v->net, n);
}

bool packet_is_to(const struct packet *p, const struct packet_view *v, const struct port_addr *port)
{
	const struct addr_place *link = &encaps[v->encap].link, *host = &encaps[v->encap].host;
	const uint8_t *own = (const uint8_t *)port;

	return memcmp(p->data + link->dst, own + link->port, link->len) == 0 &&
	       memcmp(p->data + host->dst, own + host->port, host->len) == 0;
}

bool packet_is_from(const struct packet *p, const struct packet_view *v, const struct qp_attr *qp)
{
	const struct addr_place *host = &encaps[v->encap].host;

	/* the peer's address is the destination in the QP's header template */
	return v->encap == qp->encap &&
	       memcmp(p->data + host->src, qp->hdr + host->dst, host->len) == 0;
}
