/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.c - building and taking apart RoCEv2 packets (IBTA annex A17)
 *
 * What the packetizer and the responder do to make a packet, and the parser to read one: shared
 * functions, not a block. The UDP checksum is 0 for IPv4 and, as soft-RoCE and hardware send it,
 * for IPv6; IPv4 packets carry DF and identification 0. IPv4 options and fragments are refused.
 */
#include <string.h>

#include "models/icrc.h"
#include "models/msg.h"
#include "models/packet.h"

#define IPV4_DF 2u
#define MAX_PAYLOAD 4096u
#define FIXED_HOP_LIMIT 64u
#define UD_PORT_HASH 0x61c88647u	/* hash_32 of Linux */

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

static uint32_t ipv4_sum(const uint8_t *ip)
{
	uint32_t s = 0;

	for (unsigned i = 0; i < IPV4_BYTES; i += 2)
		s += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	s = (s & 0xffff) + (s >> 16);
	return (s & 0xffff) + (s >> 16);
}

static void template_ipv4(uint8_t *to, const struct port_addr *from, const struct port_addr *dest,
			  const struct packet_path *path)
{
	struct hdr_ipv4 h = { .version = 4, .ihl = IPV4_BYTES / 4, .tos = path->tclass,
			      .flags = IPV4_DF, .ttl = path->hop_limit, .proto = IP_PROTO_UDP };

	memcpy(h.src, from->ip + 12, 4);
	memcpy(h.dst, dest->ip + 12, 4);
	hdr_ipv4_encode(to, &h);
}

static void template_ipv6(uint8_t *to, const struct port_addr *from, const struct port_addr *dest,
			  const struct packet_path *path)
{
	struct hdr_ipv6 h = { .version = 6, .tclass = path->tclass, .flow = path->flow_label,
			      .next = IP_PROTO_UDP, .hop = path->hop_limit };

	memcpy(h.src, from->ip, 16);
	memcpy(h.dst, dest->ip, 16);
	hdr_ipv6_encode(to, &h);
}

void packet_fix_path(struct qp_attr *qp)
{
	uint8_t *ip = qp->hdr + ETH_BYTES;

	if (qp->is_v6) {
		ip[1] &= 0xf0;	/* its other half is of the traffic class */
		ip[2] = ip[3] = 0;
		ip[7] = FIXED_HOP_LIMIT;
	} else {
		ip[8] = FIXED_HOP_LIMIT;
	}
}

void packet_template(struct qp_attr *qp, const struct port_addr *from, const struct port_addr *to,
		     const struct packet_path *path)
{
	struct hdr_eth eth;
	struct hdr_udp udp = { .sport = path->sport, .dport = ROCEV2_PORT };

	qp->is_v6 = from->is_v6 && to->is_v6;
	memcpy(eth.dst, to->mac, 6);
	memcpy(eth.src, from->mac, 6);
	eth.type = qp->is_v6 ? ETHERTYPE_IPV6 : ETHERTYPE_IPV4;
	hdr_eth_encode(qp->hdr, &eth);
	if (qp->is_v6)
		template_ipv6(qp->hdr + ETH_BYTES, from, to, path);
	else
		template_ipv4(qp->hdr + ETH_BYTES, from, to, path);
	qp->hdr_len = (uint8_t)(ETH_BYTES + (qp->is_v6 ? IPV6_BYTES : IPV4_BYTES) + UDP_BYTES);
	if (udp.sport == 0)
		udp.sport = packet_sport(qp->type, qp->qpn, qp->dest_qpn, path->flow_label);
	hdr_udp_encode(qp->hdr + qp->hdr_len - UDP_BYTES, &udp);
	if (from->has_fixed_path)
		packet_fix_path(qp);
}

void packet_begin(struct packet *p, const struct qp_attr *qp, const struct hdr_bth *bth)
{
	*p = (struct packet){ .op = OP_NONE, .rsp_op = OP_NONE, .l4 = qp->hdr_len,
			      .len = (uint16_t)(qp->hdr_len + BTH_BYTES) };
	memcpy(p->data, qp->hdr, HDR_TEMPLATE);
	hdr_bth_encode(p->data + p->l4, bth);
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)(p[0] << 8 | p[1]);
}

void packet_end(struct packet *p)
{
	/* BTH and extended headers are whole words */
	uint32_t pad = (0u - (uint32_t)(p->len - p->l4)) & 3u, udp_len;
	uint8_t *bth = p->data + p->l4, *udp = bth - UDP_BYTES, *ip = p->data + ETH_BYTES;
	bool is_v6 = get16(p->data + 12) == ETHERTYPE_IPV6;

	memset(p->data + p->len, 0, pad);
	p->len = (uint16_t)(p->len + pad);
	bth[1] = (uint8_t)((bth[1] & 0xcf) | pad << 4);
	udp_len = UDP_BYTES + (uint32_t)(p->len - p->l4) + ICRC_BYTES;
	put16(udp + 4, udp_len);
	if (is_v6) {
		put16(ip + 4, udp_len);
	} else {
		put16(ip + 2, IPV4_BYTES + udp_len);
		put16(ip + 10, 0);
		put16(ip + 10, ~ipv4_sum(ip) & 0xffff);
	}
	icrc_store(p->data + p->len,
		   icrc_of(is_v6 ? ICRC_IPV6 : ICRC_IPV4, ip, (size_t)(p->len - ETH_BYTES)));
	p->len = (uint16_t)(p->len + ICRC_BYTES);
}

/* Check Ethernet and IP; on success *end is the offset behind the IP payload. */
static enum packet_drop parse_net(const struct packet *p, struct packet_view *v, uint32_t *end)
{
	const uint8_t *d = p->data, *ip = d + ETH_BYTES;
	uint32_t type, hdr;

	if (p->len < ETH_BYTES + IPV4_BYTES)
		return DROP_SHORT;
	type = get16(d + 12);
	if (type != ETHERTYPE_IPV4 && type != ETHERTYPE_IPV6)
		return DROP_ETHERTYPE;
	v->is_v6 = type == ETHERTYPE_IPV6;
	hdr = v->is_v6 ? IPV6_BYTES : IPV4_BYTES;
	if (p->len < ETH_BYTES + hdr + UDP_BYTES)
		return DROP_SHORT;
	if (v->is_v6) {
		if (ip[0] >> 4 != 6 || ip[6] != IP_PROTO_UDP)
			return DROP_IP;
		*end = ETH_BYTES + hdr + get16(ip + 4);
	} else {
		/* no options, no fragment (DF alone may be set) */
		if (ip[0] != (4 << 4 | IPV4_BYTES / 4) || (get16(ip + 6) & 0x3fff) != 0 ||
		    ip[9] != IP_PROTO_UDP || ipv4_sum(ip) != 0xffff)
			return DROP_IP;
		*end = ETH_BYTES + get16(ip + 2);
	}
	v->net = ETH_BYTES;
	v->l4 = (uint16_t)(ETH_BYTES + hdr + UDP_BYTES);
	return *end > p->len || *end < v->l4 + BTH_BYTES + ICRC_BYTES ? DROP_SHORT : DROP_NONE;
}

/* A payload that cannot be answered by a NAK. */
static bool is_bad_response(const struct opcode_info *o, uint32_t len)
{
	if (!o->is_response && o->op_class != CLASS_CNP)
		return false;
	return (o->payload == PAYLOAD_NONE || o->payload == PAYLOAD_16) &&
	       !opcode_len_ok(o, len, MAX_PAYLOAD);
}

enum packet_drop packet_parse(const struct packet *p, struct packet_view *v)
{
	uint32_t end, len, fixed;
	enum packet_drop d = parse_net(p, v, &end);
	struct hdr_udp udp;

	if (d != DROP_NONE)
		return d;
	hdr_udp_decode(&udp, p->data + v->l4 - UDP_BYTES);
	if (udp.dport != ROCEV2_PORT)
		return DROP_PORT;
	len = end - v->l4;
	if (udp.len != UDP_BYTES + len || len % 4 != 0)
		return DROP_SHORT;
	hdr_bth_decode(&v->bth, p->data + v->l4);
	if (v->bth.tver != 0)
		return DROP_TVER;
	v->info = &opcode_info[v->bth.opcode];
	if (v->info->name == NULL)
		return DROP_OPCODE;
	fixed = (uint32_t)(BTH_BYTES + v->info->xeth_bytes + v->bth.pad) + ICRC_BYTES;
	if (len < fixed || len - fixed > MAX_PAYLOAD || is_bad_response(v->info, len - fixed))
		return DROP_LENGTH;
	v->xeth = (uint16_t)(v->l4 + BTH_BYTES);
	v->payload = (uint16_t)(v->xeth + v->info->xeth_bytes);
	v->payload_len = (uint16_t)(len - fixed);
	v->icrc = (uint16_t)(end - ICRC_BYTES);
	return DROP_NONE;
}

bool packet_icrc_ok(const struct packet *p, const struct packet_view *v)
{
	enum icrc_net kind = v->is_v6 ? ICRC_IPV6 : ICRC_IPV4;
	size_t n = (size_t)(v->icrc - v->net);

	return icrc_load(p->data + v->icrc) == icrc_of(kind, p->data + v->net, n);
}
