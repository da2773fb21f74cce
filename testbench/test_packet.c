/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_packet.c - packets of soft-RoCE and of hardware, of every encapsulation, taken apart and
 * built again from their fields; broken packets refused
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/packet/icrc.h"
#include "models/packet/vcrc.h"
#include "sim/rng.h"
#include "testbench/pcap_in.h"
#include "testbench/pkt_util.h"

extern CU_TestInfo test_packet_tests[];

struct tally {
	unsigned packets, parsed, good, same;
};

/* Append the extended header 'x' read from 'from'. */
static void add_xeth(struct packet *p, enum xeth x, const uint8_t *from)
{
	switch (x) {
#define CASE(X, name) \
	case X: { \
		struct hdr_##name h; \
		hdr_##name##_decode(&h, from); \
		packet_add_##name(p, &h); \
		break; \
	}
		CASE(X_XRCETH, xrceth)
		CASE(X_RDETH, rdeth)
		CASE(X_DETH, deth)
		CASE(X_FETH, feth)
		CASE(X_RETH, reth)
		CASE(X_AETH, aeth)
		CASE(X_ATOMICETH, atomiceth)
		CASE(X_ATOMICACK, atomicack)
		CASE(X_IMMDT, immdt)
		CASE(X_IETH, ieth)
#undef CASE
	default:
		break;
	}
}

/* What a GRH, or an IPv6 header, tells. */
static void read_grh(const uint8_t *at, struct packet_path *path, uint8_t *src, uint8_t *dst)
{
	struct hdr_grh h;

	hdr_grh_decode(&h, at);
	path->tclass = h.tclass;
	path->hop_limit = h.hop;
	path->flow_label = h.flow;
	memcpy(src, h.sgid, 16);
	memcpy(dst, h.dgid, 16);
}

static void read_ethernet(const struct packet *p, const struct packet_view *v,
			  struct packet_path *path, struct port_addr *from, struct port_addr *to)
{
	struct hdr_eth eth;
	struct hdr_ipv4 ip;

	hdr_eth_decode(&eth, p->data);
	memcpy(from->mac, eth.src, 6);
	memcpy(to->mac, eth.dst, 6);
	if (v->encap == ENCAP_ROCE1) {
		read_grh(p->data + v->net, path, from->gid, to->gid);
		return;
	}
	if (v->encap == ENCAP_IPV6) {
		read_grh(p->data + v->net, path, from->ip, to->ip);
		return;
	}
	hdr_ipv4_decode(&ip, p->data + v->net);
	memcpy(from->ip + 12, ip.src, 4);
	memcpy(to->ip + 12, ip.dst, 4);
	path->tclass = ip.tos;
	path->hop_limit = ip.ttl;
}

static void read_infiniband(const struct packet *p, const struct packet_view *v,
			    struct packet_path *path, struct port_addr *from, struct port_addr *to)
{
	struct hdr_lrh h;

	hdr_lrh_decode(&h, p->data);
	path->sl = h.sl;
	hdr_put(from->lid, 0, 16, h.slid);
	hdr_put(to->lid, 0, 16, h.dlid);
	if (v->encap == ENCAP_IB_GRH)
		read_grh(p->data + v->net, path, from->gid, to->gid);
}

/* The sender's attributes, as far as a packet tells them. */
static void attributes_of(const struct packet *p, const struct packet_view *v, struct qp_attr *qp)
{
	struct packet_path path = { 0 };
	struct port_addr from = { .is_v6 = v->encap == ENCAP_IPV6 }, to = { .is_v6 = from.is_v6 };

	from.net = to.net = (uint8_t)pkt_net(v->encap);
	(encap_is_ib(p->encap) ? read_infiniband : read_ethernet)(p, v, &path, &from, &to);
	packet_template(qp, &from, &to, &path);
	/* what the sender is free to choose: a counter; port, and checksum or none; virtual lane */
	if (v->encap == ENCAP_IPV4)
		memcpy(qp->hdr + v->net + 4, p->data + v->net + 4, 2);
	if (v->encap <= ENCAP_IPV6) {
		memcpy(qp->hdr + v->l4 - 8, p->data + v->l4 - 8, 2);
		memcpy(qp->hdr + v->l4 - 2, p->data + v->l4 - 2, 2);
	}
	if (encap_is_ib(p->encap))
		qp->hdr[0] = p->data[0];
}

/* Build 'out' from the fields of 'p'. */
static void rebuild(struct packet *out, const struct packet *p, const struct packet_view *v)
{
	struct qp_attr qp = { .type = QP_RC };
	struct hdr_bth bth = v->bth;

	attributes_of(p, v, &qp);
	bth.pad = 0;
	packet_begin(out, &qp, &bth);
	for (unsigned x = 0; x < X_COUNT; x++)
		if (opcode_has(v->info, x))
			add_xeth(out, x, p->data + v->l4 + v->info->off[x]);
	memcpy(packet_payload(out), p->data + v->payload, v->payload_len);
	packet_add_payload(out, v->payload_len);
	packet_end(out);
}

/* Take a packet of 'len' bytes apart, and build it anew. */
static void check_packet(struct tally *t, uint8_t encap, const uint8_t *bytes, uint32_t len)
{
	struct packet *p = pkt_room(), *out = pkt_room();
	struct packet_view v;

	memcpy(p->data, bytes, len);
	p->len = (uint16_t)len;
	p->encap = encap;
	t->packets++;
	if (packet_parse(p, &v) == DROP_NONE) {
		t->parsed++;
		t->good += packet_icrc_ok(p, &v);
		rebuild(out, p, &v);
		if (encap_is_ib(encap))
			vcrc_store(out->data + len - 2, vcrc_of(out->data, len - 2));
		t->same += out->len == len && memcmp(out->data, bytes, len) == 0 &&
			   packet_icrc_ok(p, &v) &&
			   opcode_len_ok(v.info, v.payload_len,
					 v.info->payload == PAYLOAD_PMTU ? v.payload_len : 4096);
	}
	free(p);
	free(out);
}

static void rebuild_packet(void *arg, uint32_t linktype, const uint8_t *bytes, uint32_t len)
{
	if (linktype == PCAP_ERF) {
		bytes = erf_infiniband(bytes, &len);
		if (bytes)
			check_packet(arg, ENCAP_IB, bytes, len + VCRC_BYTES);
	} else if (linktype == PCAP_ETHERNET && len >= 58 && len <= PACKET_HDR_MAX + 4096 &&
		   ((bytes[23] == 17 && bytes[36] == 0x12 && bytes[37] == 0xb7) ||
		    bytes[12] == 0x86 || bytes[12] == 0x89)) {
		check_packet(arg, ENCAP_IPV4, bytes, len);
	}
}

static void vectors_rebuilt_from_fields_are_the_same(void)
{
	struct tally t = { 0 };

	pcap_each("testbench/vectors/rxe_rocev2.pcap", rebuild_packet, &t);
	CU_ASSERT_EQUAL(t.packets, 108);
	CU_ASSERT_EQUAL(t.parsed, 108);
	CU_ASSERT_EQUAL(t.same, 108);
}

static void captures_rebuilt_from_fields_are_the_same(void)
{
	struct tally t = { 0 };
	unsigned files;

	pcap_glob("../shared/captures/*.pcap", rebuild_packet, &t, &files);
	printf("%u packets of %u captures; ", t.same, files);
	/* InfiniBand with and without GRH, RoCEv2 over IPv4, RoCEv1 and a few others */
	CU_ASSERT(files == 0 || t.parsed == 43 + 105 + 5);
	CU_ASSERT_EQUAL(t.same, t.parsed);
}

static void recordings_rebuilt_from_fields_are_the_same(void)
{
	struct tally t = { 0 };
	unsigned files;

	pcap_glob("../shared/rxe/*/veth?.pcap.gz", rebuild_packet, &t, &files);
	printf("%u packets of %u recordings, %u parsed; ", t.same, files, t.parsed);
	/* all but those that the path damaged, in the scenarios made for it */
	CU_ASSERT(files == 0 || (files == 233 && t.packets == 32876 && t.good == 32836));
	CU_ASSERT_EQUAL(t.same, t.good);
}

static void sport_follows_rule(void)
{
	/* from recordings: QPNs, flow label, port seen */
	CU_ASSERT_EQUAL(packet_sport(QP_RC, 23, 23, 0), 49681);
	CU_ASSERT_EQUAL(packet_sport(QP_UC, 40, 40, 0), 50752);
	CU_ASSERT_EQUAL(packet_sport(QP_RC, 52, 52, 0), 51856);
	CU_ASSERT_EQUAL(packet_sport(QP_RC, 55, 55, 0), 52177);
	CU_ASSERT_EQUAL(packet_sport(QP_RC, 125, 125, 74565), 0xe341);
	CU_ASSERT_EQUAL(packet_sport(QP_UD, 123, 123, 0), 65238);
	/* the rule written out: all 48 bits of the product take part */
	CU_ASSERT_EQUAL(packet_sport(QP_RC, 0xabcdef, 0xfedcba, 0), 58493);
	/* both directions of a connection use one port */
	CU_ASSERT_EQUAL(packet_sport(QP_RC, 0x123456, 0xabcdef, 0),
			packet_sport(QP_RC, 0xabcdef, 0x123456, 0));
}

static enum packet_drop drop_after(const struct packet *good, unsigned at, uint8_t value)
{
	struct packet *p = pkt_room();
	struct packet_view v;
	enum packet_drop d;

	memcpy(p, good, sizeof(*p) + good->len);
	p->data[at] = value;
	d = packet_parse(p, &v);
	free(p);
	return d;
}

static void parse_each_broken_field_has_its_reason(void)
{
	struct pkt_bench b;
	struct packet *p = pkt_room();
	struct packet_view v;

	pkt_bench_init(&b, ENCAP_IPV6);
	pkt_build(p, &b, 0, IB_RC | IB_WRITE_ONLY, 5, 33);
	CU_ASSERT_EQUAL(packet_parse(p, &v), DROP_NONE);
	CU_ASSERT_EQUAL(v.payload_len, 33);
	CU_ASSERT_EQUAL(v.bth.pad, 3);
	CU_ASSERT_EQUAL(drop_after(p, 12, 0x88), DROP_ETHERTYPE);
	CU_ASSERT_EQUAL(drop_after(p, 14, 0x50), DROP_IP);
	CU_ASSERT_EQUAL(drop_after(p, 20, 6), DROP_IP);
	CU_ASSERT_EQUAL(drop_after(p, 56, 0x13), DROP_PORT);
	CU_ASSERT_EQUAL(drop_after(p, 59, 0), DROP_SHORT); /* UDP length */
	CU_ASSERT_EQUAL(drop_after(p, v.l4, 0x1f), DROP_OPCODE);
	CU_ASSERT_EQUAL(drop_after(p, v.l4 + 1u, 1), DROP_TVER);
	CU_ASSERT_EQUAL(drop_after(p, v.l4, IB_ACKNOWLEDGE), DROP_LENGTH);
	/* a byte more, in all lengths: not whole words */
	p->data[19]++;
	p->data[59]++;
	p->len++;
	CU_ASSERT_EQUAL(packet_parse(p, &v), DROP_SHORT);
	pkt_build(p, &b, 0, IB_RC | IB_READ_REQUEST, 5, 0);
	CU_ASSERT_EQUAL(packet_parse(p, &v), DROP_NONE);
	/* pad where there is no payload */
	CU_ASSERT_EQUAL(drop_after(p, v.l4 + 1u, 0x10), DROP_LENGTH);
	pkt_bench_init(&b, ENCAP_IPV4);
	pkt_build(p, &b, 0, IB_RC | IB_SEND_ONLY, 5, 10);
	CU_ASSERT_EQUAL(packet_parse(p, &v), DROP_NONE);
	CU_ASSERT_EQUAL(drop_after(p, 14, 0x46), DROP_IP); /* options */
	CU_ASSERT_EQUAL(drop_after(p, 20, 0x20), DROP_IP); /* more fragments */
	CU_ASSERT_EQUAL(drop_after(p, 24, 0x55), DROP_IP); /* header checksum */
	free(p);
}

static void parse_broken_lrh_or_grh_has_its_reason(void)
{
	struct pkt_bench b;
	struct packet *p = pkt_room();
	struct packet_view v;

	pkt_bench_init(&b, ENCAP_IB_GRH);
	pkt_build(p, &b, 0, IB_RC | IB_WRITE_ONLY, 5, 33);
	CU_ASSERT_EQUAL(packet_parse(p, &v), DROP_NONE);
	CU_ASSERT_EQUAL(v.encap, ENCAP_IB_GRH);
	CU_ASSERT_EQUAL(v.l4, 48);
	CU_ASSERT_EQUAL(drop_after(p, 0, 0x01), DROP_LRH);  /* link version */
	CU_ASSERT_EQUAL(drop_after(p, 0, 0xf0), DROP_NONE); /* any virtual lane */
	CU_ASSERT_EQUAL(drop_after(p, 1, 0x50), DROP_LRH);  /* raw: no transport */
	CU_ASSERT_EQUAL(drop_after(p, 1, 0x51), DROP_LRH);  /* raw: IPv6 */
	CU_ASSERT_EQUAL(drop_after(p, 5, (uint8_t)(p->data[5] + 1)), DROP_SHORT); /* a word more */
	CU_ASSERT_EQUAL(drop_after(p, 5, (uint8_t)(p->data[5] - 1)), DROP_SHORT); /* a word less */
	/* reserved bits */
	CU_ASSERT_EQUAL(drop_after(p, 4, (uint8_t)(0xf8 | p->data[4])), DROP_NONE);
	CU_ASSERT_EQUAL(drop_after(p, 8, 0x40), DROP_GRH); /* IP version */
	CU_ASSERT_EQUAL(drop_after(p, 14, 17), DROP_GRH);  /* not a BTH */
	CU_ASSERT_EQUAL(drop_after(p, 13, p->data[13] + 4u), DROP_SHORT);
	/* InfiniBand pads nothing */
	p->len++;
	CU_ASSERT_EQUAL(packet_parse(p, &v), DROP_SHORT);
	pkt_bench_init(&b, ENCAP_IB);
	pkt_build(p, &b, 0, IB_RC | IB_WRITE_ONLY, 5, 33);
	CU_ASSERT_EQUAL(packet_parse(p, &v), DROP_NONE);
	CU_ASSERT_EQUAL(v.encap, ENCAP_IB);
	CU_ASSERT_EQUAL(drop_after(p, 1, 0x51), DROP_LRH);
	CU_ASSERT_EQUAL(drop_after(p, v.l4 + 1u, 1), DROP_TVER);
	CU_ASSERT_EQUAL(drop_after(p, v.l4, 0x1f), DROP_OPCODE);
	pkt_bench_init(&b, ENCAP_ROCE1);
	pkt_build(p, &b, 0, IB_RC | IB_WRITE_ONLY, 5, 33);
	CU_ASSERT_EQUAL(packet_parse(p, &v), DROP_NONE);
	CU_ASSERT_EQUAL(v.encap, ENCAP_ROCE1);
	CU_ASSERT_EQUAL(drop_after(p, 14, 0x40), DROP_GRH);
	CU_ASSERT_EQUAL(drop_after(p, 20, 58), DROP_GRH);
	CU_ASSERT_EQUAL(drop_after(p, 19, (uint8_t)(p->data[19] + 4)), DROP_SHORT);
	free(p);
}

/* The first 'n' bytes of a packet, and not a byte more, so that a read beyond is seen. */
static struct packet *cut_off(const struct packet *p, uint16_t n)
{
	struct packet *cut = x_calloc(1, sizeof(*cut) + n);

	memcpy(cut, p, sizeof(*p) + n);
	cut->len = n;
	return cut;
}

static void parse_truncated_packet_is_short(void)
{
	struct pkt_bench b;
	struct packet *p = pkt_room();

	for (enum encap e = 0; e < ENCAPS; e++) {
		struct packet_view v;
		uint16_t len;

		pkt_bench_init(&b, e);
		pkt_build(p, &b, 0, IB_RC | IB_WRITE_ONLY_IMM, 5, 20);
		len = p->len;
		for (uint16_t n = 0; n < len; n++) {
			struct packet *cut = cut_off(p, n);

			CU_ASSERT_EQUAL(packet_parse(cut, &v), DROP_SHORT);
			free(cut);
		}
		CU_ASSERT_EQUAL(packet_parse(p, &v), DROP_NONE);
		CU_ASSERT_EQUAL(v.encap, e);
		CU_ASSERT(packet_icrc_ok(p, &v));
		if (encap_is_ib((uint8_t)e))
			continue;
		/* padding of a short frame does not matter */
		p->len = (uint16_t)(len + 2);
		CU_ASSERT_EQUAL(packet_parse(p, &v), DROP_NONE);
		CU_ASSERT(packet_icrc_ok(p, &v));
	}
	free(p);
}

/* Bits of a packet of each encapsulation that neither its checks nor its ICRC see. */
static const struct {
	uint16_t first, n; /* bits */
} blind[ENCAPS][8] = {
	/* MAC addresses; TOS, TTL with checksum together only; UDP checksum; BTH byte 4 */
	[ENCAP_IPV4] = { { 0, 96 }, { 8 * 40, 16 }, { 8 * 46, 8 } },
	/* MAC addresses; traffic class, flow label; hop limit; UDP checksum */
	[ENCAP_IPV6] = { { 0, 96 },
			 { 8 * 14 + 4, 28 },
			 { 8 * 21, 8 },
			 { 8 * 60, 16 },
			 { 8 * 66, 8 } },
	[ENCAP_ROCE1] = { { 0, 96 }, { 8 * 14 + 4, 28 }, { 8 * 21, 8 }, { 8 * 58, 8 } },
	/* virtual lane; the VCRC is the port's */
	[ENCAP_IB] = { { 0, 4 }, { 8 * 12, 8 } },
	/* the LRH's lane, level, reserved bits and LIDs too */
	[ENCAP_IB_GRH] = { { 0, 4 },
			   { 8, 6 },
			   { 16, 16 + 5 },
			   { 48, 16 },
			   { 8 * 8 + 4, 28 },
			   { 8 * 15, 8 },
			   { 8 * 52, 8 } },
};

static bool is_blind(enum encap e, unsigned bit)
{
	for (unsigned i = 0; i < 8; i++)
		if (bit - blind[e][i].first < blind[e][i].n)
			return true;
	return false;
}

static void parse_every_single_flip_is_seen_or_may_happen(void)
{
	struct pkt_bench b;
	struct packet *p = pkt_room();

	for (enum encap e = 0; e < ENCAPS; e++) {
		unsigned bits, differ = 0;

		pkt_bench_init(&b, e);
		pkt_build(p, &b, 0, IB_RC | IB_WRITE_ONLY, 5, 61);
		bits = 8u * (p->len - (encap_is_ib((uint8_t)e) ? VCRC_BYTES : 0));
		for (unsigned i = 0; i < bits; i++) {
			struct packet_view v;
			bool is_taken;

			p->data[i / 8] ^= (uint8_t)(0x80 >> i % 8);
			is_taken = packet_parse(p, &v) == DROP_NONE && packet_icrc_ok(p, &v);
			differ += is_taken != is_blind(e, i);
			p->data[i / 8] ^= (uint8_t)(0x80 >> i % 8);
		}
		CU_ASSERT_EQUAL(differ, 0);
	}
	free(p);
}

/* Something of a packet: bits flipped, bytes overwritten, cut off or longer; or anything at all. */
static struct packet *mangle(const struct packet *p, struct rng *r)
{
	uint16_t n = (uint16_t)(rng_below(r, 4) ? p->len : rng_below(r, p->len + 9u));
	struct packet *bad = x_calloc(1, sizeof(*bad) + n);
	unsigned flips = (unsigned)rng_below(r, 4);

	memcpy(bad, p, sizeof(*p) + (n < p->len ? n : p->len));
	bad->len = n;
	while (n && flips--) {
		unsigned bit = (unsigned)rng_below(r, 8u * n);

		bad->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	for (unsigned i = 0; n && i < 3 && rng_below(r, 2); i++)
		bad->data[rng_below(r, n < 70 ? n : 70)] = (uint8_t)rng_next(r);
	if (rng_below(r, 8) == 0)
		for (uint16_t i = 0; i < n; i++)
			bad->data[i] = (uint8_t)rng_next(r);
	return bad;
}

static void parse_random_damage_stays_in_bounds(void)
{
	struct pkt_bench b;
	struct packet *p = pkt_room();
	struct rng r;
	unsigned taken = 0, good = 0, outside = 0;

	rng_seed(&r, "damage", 1);
	for (unsigned i = 0; i < 100000; i++) {
		struct packet *bad;
		struct packet_view v;

		if (i % 100 == 0) {
			pkt_bench_init(&b, (enum encap)(i / 100 % ENCAPS));
			pkt_build(p, &b, 0, i / 100 % 2 ? IB_RC | IB_WRITE_ONLY : IB_READ_RSP_LAST,
				  5, (uint32_t)rng_below(&r, 90));
		}
		bad = mangle(p, &r);
		if (packet_parse(bad, &v) == DROP_NONE) {
			taken++;
			outside += v.payload + v.payload_len + v.bth.pad != v.icrc ||
				   v.icrc + ICRC_BYTES > bad->len || v.l4 + BTH_BYTES != v.xeth;
			/* these read what they may, or the sanitizer says */
			good += packet_icrc_ok(bad, &v) && packet_is_to(bad, &v, &b.nic.addr) &&
				packet_is_from(bad, &v, &b.qp[0]);
		}
		free(bad);
	}
	CU_ASSERT(taken > 10000 && taken < 90000);
	CU_ASSERT(good > 5000 && good < taken);
	CU_ASSERT_EQUAL(outside, 0);
	free(p);
}

static void icrc_single_flip_is_caught(void)
{
	struct pkt_bench b;
	struct packet *p = pkt_room();
	struct packet_view v;

	pkt_bench_init(&b, ENCAP_IPV6);
	pkt_build(p, &b, 2, IB_UD | IB_SEND_ONLY_IMM, 5, 7);
	CU_ASSERT_EQUAL(packet_parse(p, &v), DROP_NONE);
	CU_ASSERT(packet_icrc_ok(p, &v));
	p->data[v.payload] ^= 1;
	CU_ASSERT(!packet_icrc_ok(p, &v));
	free(p);
}

CU_TestInfo test_packet_tests[] = {
	{ "vectors_rebuilt_from_fields_are_the_same", vectors_rebuilt_from_fields_are_the_same },
	{ "captures_rebuilt_from_fields_are_the_same", captures_rebuilt_from_fields_are_the_same },
	{ "recordings_rebuilt_from_fields_are_the_same",
	  recordings_rebuilt_from_fields_are_the_same },
	{ "sport_follows_rule", sport_follows_rule },
	{ "parse_each_broken_field_has_its_reason", parse_each_broken_field_has_its_reason },
	{ "parse_broken_lrh_or_grh_has_its_reason", parse_broken_lrh_or_grh_has_its_reason },
	{ "parse_truncated_packet_is_short", parse_truncated_packet_is_short },
	{ "parse_every_single_flip_is_seen_or_may_happen",
	  parse_every_single_flip_is_seen_or_may_happen },
	{ "parse_random_damage_stays_in_bounds", parse_random_damage_stays_in_bounds },
	{ "icrc_single_flip_is_caught", icrc_single_flip_is_caught },
	CU_TEST_INFO_NULL
};
