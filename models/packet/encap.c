/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encap.c - the headers below the transport: RoCEv2 over IPv4 and IPv6 (IBTA annex A17), RoCEv1
 * (annex A16), native InfiniBand with and without a GRH (IBTA vol. 1, 7.7 and 8.3)
 *
 * The UDP checksum is 0 for IPv4 and, as soft-RoCE and hardware send it, for IPv6; IPv4 packets
 * carry DF and identification 0. IPv4 options and fragments are refused. InfiniBand packets leave
 * on VL 0 whatever their SL is, since a link joins two ports. Refused too: raw packets (LNH 0, 1).
 */
#include <stddef.h>
#include <string.h>

#include "models/packet/encap.h"

#define IPV4_DF 2u
#define LNH_BTH 2u
#define LNH_GRH 3u
#define PKTLEN_MASK 0x7ffu

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)(p[0] << 8 | p[1]);
}

/* ---- Ethernet: RoCE ---- */

enum {
	IPV4_L4 = ETH_BYTES + IPV4_BYTES + UDP_BYTES,
	IPV6_L4 = ETH_BYTES + IPV6_BYTES + UDP_BYTES,
	ROCE1_L4 = ETH_BYTES + GRH_BYTES
};

static void fill_eth(uint8_t *hdr, const struct port_addr *from, const struct port_addr *to,
		     uint16_t type)
{
	struct hdr_eth h = { .type = type };

	memcpy(h.dst, to->mac, 6);
	memcpy(h.src, from->mac, 6);
	hdr_eth_encode(hdr, &h);
}

static void fill_udp(uint8_t *udp, const struct packet_path *path)
{
	hdr_udp_encode(udp, &(struct hdr_udp){ .sport = path->sport, .dport = ROCEV2_PORT });
}

static enum packet_drop parse_udp(const uint8_t *udp, uint32_t len)
{
	if (get16(udp + 2) != ROCEV2_PORT)
		return DROP_PORT;
	return get16(udp + 4) == len ? DROP_NONE : DROP_SHORT;
}

static uint32_t ipv4_sum(const uint8_t *ip)
{
	uint32_t s = 0;

	for (unsigned i = 0; i < IPV4_BYTES; i += 2)
		s += get16(ip + i);
	s = (s & 0xffff) + (s >> 16);
	return (s & 0xffff) + (s >> 16);
}

static void fill_ipv4(uint8_t *hdr, const struct port_addr *from, const struct port_addr *to,
		      const struct packet_path *path)
{
	struct hdr_ipv4 h = { .version = 4,
			      .ihl = IPV4_BYTES / 4,
			      .tos = path->tclass,
			      .flags = IPV4_DF,
			      .ttl = path->hop_limit,
			      .proto = IP_PROTO_UDP };

	memcpy(h.src, from->ip + 12, 4);
	memcpy(h.dst, to->ip + 12, 4);
	fill_eth(hdr, from, to, ETHERTYPE_IPV4);
	hdr_ipv4_encode(hdr + ETH_BYTES, &h);
	fill_udp(hdr + IPV4_L4 - UDP_BYTES, path);
}

static void finish_ipv4(uint8_t *data, uint32_t n)
{
	uint8_t *ip = data + ETH_BYTES;

	put16(data + IPV4_L4 - UDP_BYTES + 4, UDP_BYTES + n);
	put16(ip + 2, IPV4_BYTES + UDP_BYTES + n);
	put16(ip + 10, 0);
	put16(ip + 10, ~ipv4_sum(ip) & 0xffff);
}

static enum packet_drop parse_ipv4(const uint8_t *data, uint32_t *end)
{
	const uint8_t *ip = data + ETH_BYTES;

	/* no options, no fragment (DF alone may be set) */
	if (ip[0] != (4 << 4 | IPV4_BYTES / 4) || (get16(ip + 6) & 0x3fff) != 0 ||
	    ip[9] != IP_PROTO_UDP || ipv4_sum(ip) != 0xffff)
		return DROP_IP;
	*end = ETH_BYTES + get16(ip + 2);
	return parse_udp(ip + IPV4_BYTES, get16(ip + 2) - (uint32_t)IPV4_BYTES);
}

static void fill_ipv6(uint8_t *hdr, const struct port_addr *from, const struct port_addr *to,
		      const struct packet_path *path)
{
	struct hdr_ipv6 h = { .version = 6,
			      .tclass = path->tclass,
			      .flow = path->flow_label,
			      .next = IP_PROTO_UDP,
			      .hop = path->hop_limit };

	memcpy(h.src, from->ip, 16);
	memcpy(h.dst, to->ip, 16);
	fill_eth(hdr, from, to, ETHERTYPE_IPV6);
	hdr_ipv6_encode(hdr + ETH_BYTES, &h);
	fill_udp(hdr + IPV6_L4 - UDP_BYTES, path);
}

static void finish_ipv6(uint8_t *data, uint32_t n)
{
	put16(data + IPV6_L4 - UDP_BYTES + 4, UDP_BYTES + n);
	put16(data + ETH_BYTES + 4, UDP_BYTES + n);
}

static enum packet_drop parse_ipv6(const uint8_t *data, uint32_t *end)
{
	const uint8_t *ip = data + ETH_BYTES;

	if (ip[0] >> 4 != 6 || ip[6] != IP_PROTO_UDP)
		return DROP_IP;
	*end = ETH_BYTES + IPV6_BYTES + get16(ip + 4);
	return parse_udp(ip + IPV6_BYTES, get16(ip + 4));
}

/* ---- GRH ---- */

static void fill_grh(uint8_t *grh, const struct port_addr *from, const struct port_addr *to,
		     const struct packet_path *path)
{
	struct hdr_grh h = { .version = 6,
			     .tclass = path->tclass,
			     .flow = path->flow_label,
			     .next = GRH_NEXT_BTH,
			     .hop = path->hop_limit };

	memcpy(h.sgid, from->gid, 16);
	memcpy(h.dgid, to->gid, 16);
	hdr_grh_encode(grh, &h);
}

/* *end: offset behind the ICRC, from the start of the GRH. */
static enum packet_drop parse_grh(const uint8_t *grh, uint32_t *end)
{
	if (grh[0] >> 4 != 6 || grh[6] != GRH_NEXT_BTH)
		return DROP_GRH;
	*end = GRH_BYTES + get16(grh + 4);
	return DROP_NONE;
}

static void fill_roce1(uint8_t *hdr, const struct port_addr *from, const struct port_addr *to,
		       const struct packet_path *path)
{
	fill_eth(hdr, from, to, ETHERTYPE_ROCEV1);
	fill_grh(hdr + ETH_BYTES, from, to, path);
}

static void finish_roce1(uint8_t *data, uint32_t n)
{
	put16(data + ETH_BYTES + 4, n);
}

static enum packet_drop parse_roce1(const uint8_t *data, uint32_t *end)
{
	enum packet_drop d = parse_grh(data + ETH_BYTES, end);

	*end += ETH_BYTES;
	return d;
}

/* ---- InfiniBand ---- */

static void fill_lrh(uint8_t *hdr, const struct port_addr *from, const struct port_addr *to,
		     const struct packet_path *path, uint8_t lnh)
{
	hdr_lrh_encode(hdr, &(struct hdr_lrh){ .sl = path->sl,
					       .lnh = lnh,
					       .dlid = (uint16_t)get16(to->lid),
					       .slid = (uint16_t)get16(from->lid) });
}

static void fill_ib(uint8_t *hdr, const struct port_addr *from, const struct port_addr *to,
		    const struct packet_path *path)
{
	fill_lrh(hdr, from, to, path, LNH_BTH);
}

static void finish_ib(uint8_t *data, uint32_t n)
{
	put16(data + 4, (LRH_BYTES + n) / 4);
}

static enum packet_drop parse_ib(const uint8_t *data, uint32_t *end)
{
	*end = 4 * (get16(data + 4) & PKTLEN_MASK);
	return DROP_NONE;
}

static void fill_ib_grh(uint8_t *hdr, const struct port_addr *from, const struct port_addr *to,
			const struct packet_path *path)
{
	fill_lrh(hdr, from, to, path, LNH_GRH);
	fill_grh(hdr + LRH_BYTES, from, to, path);
}

static void finish_ib_grh(uint8_t *data, uint32_t n)
{
	put16(data + LRH_BYTES + 4, n);
	finish_ib(data, GRH_BYTES + n);
}

static enum packet_drop parse_ib_grh(const uint8_t *data, uint32_t *end)
{
	uint32_t grh_end = 0;
	enum packet_drop d = parse_grh(data + LRH_BYTES, &grh_end);

	parse_ib(data, end);
	if (d == DROP_NONE && *end != LRH_BYTES + grh_end)
		return DROP_SHORT;
	return d;
}

/* ---- the table ---- */

#define PORT(member) offsetof(struct port_addr, member)
#define MACS \
	{ \
		.dst = 0, .src = 6, .len = 6, .port = PORT(mac) \
	}
#define LIDS \
	{ \
		.dst = 2, .src = 6, .len = 2, .port = PORT(lid) \
	}
#define GIDS(grh) \
	{ \
		.dst = (grh) + 24, .src = (grh) + 8, .len = 16, .port = PORT(gid) \
	}

const struct encap_info encaps[ENCAPS] = {
	[ENCAP_IPV4] = { .net = ETH_BYTES,
			 .l4 = IPV4_L4,
			 .icrc = ICRC_IPV4,
			 .link = MACS,
			 .host = { ETH_BYTES + 16, ETH_BYTES + 12, 4, PORT(ip) + 12 },
			 .fill = fill_ipv4,
			 .finish = finish_ipv4,
			 .parse = parse_ipv4 },
	[ENCAP_IPV6] = { .net = ETH_BYTES,
			 .l4 = IPV6_L4,
			 .icrc = ICRC_IPV6,
			 .link = MACS,
			 .host = { ETH_BYTES + 24, ETH_BYTES + 8, 16, PORT(ip) },
			 .fill = fill_ipv6,
			 .finish = finish_ipv6,
			 .parse = parse_ipv6 },
	[ENCAP_ROCE1] = { .net = ETH_BYTES,
			  .l4 = ROCE1_L4,
			  .icrc = ICRC_GRH,
			  .link = MACS,
			  .host = GIDS(ETH_BYTES),
			  .fill = fill_roce1,
			  .finish = finish_roce1,
			  .parse = parse_roce1 },
	[ENCAP_IB] = { .net = 0,
		       .l4 = LRH_BYTES,
		       .tail = VCRC_BYTES,
		       .icrc = ICRC_LRH,
		       .link = LIDS,
		       .host = LIDS,
		       .fill = fill_ib,
		       .finish = finish_ib,
		       .parse = parse_ib },
	[ENCAP_IB_GRH] = { .net = LRH_BYTES,
			   .l4 = LRH_BYTES + GRH_BYTES,
			   .tail = VCRC_BYTES,
			   .icrc = ICRC_GRH,
			   .link = LIDS,
			   .host = GIDS(LRH_BYTES),
			   .fill = fill_ib_grh,
			   .finish = finish_ib_grh,
			   .parse = parse_ib_grh },
};

enum encap encap_between(const struct port_addr *from, const struct port_addr *to)
{
	switch (from->net) {
	case NET_ROCE1:
		return ENCAP_ROCE1;
	case NET_IB:
		return ENCAP_IB;
	case NET_IB_GRH:
		return ENCAP_IB_GRH;
	default:
		return from->is_v6 && to->is_v6 ? ENCAP_IPV6 : ENCAP_IPV4;
	}
}

enum packet_drop encap_of(const struct packet *p, enum encap *encap)
{
	if (encap_is_ib(p->encap)) {
		uint8_t lnh;

		if (p->len < LRH_BYTES)
			return DROP_SHORT;
		lnh = p->data[1] & 3;
		*encap = lnh == LNH_GRH ? ENCAP_IB_GRH : ENCAP_IB;
		return (p->data[0] & 15) != 0 || lnh < LNH_BTH ? DROP_LRH : DROP_NONE;
	}
	if (p->len < ETH_BYTES)
		return DROP_SHORT;
	switch (get16(p->data + 12)) {
	case ETHERTYPE_IPV4:
		*encap = ENCAP_IPV4;
		break;
	case ETHERTYPE_IPV6:
		*encap = ENCAP_IPV6;
		break;
	case ETHERTYPE_ROCEV1:
		*encap = ENCAP_ROCE1;
		break;
	default:
		return DROP_ETHERTYPE;
	}
	return DROP_NONE;
}
