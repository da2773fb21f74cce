/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_packet.c - packets of soft-RoCE taken apart and built again from their fields; broken
 * packets refused
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/icrc.h"
#include "sim/rng.h"
#include "testbench/pcap_in.h"
#include "testbench/pkt_util.h"

extern CU_TestInfo test_packet_tests[];

struct tally {
	unsigned packets, parsed, same;
};

static struct packet *packet_room(void)
{
	return x_calloc(1, packet_buf_size(4096));
}

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

/* The sender's attributes, as far as a packet tells them. */
static void attributes_of(const struct packet *p, const struct packet_view *v, struct qp_attr *qp)
{
	struct packet_path path = { 0 };
	struct port_addr from = { .is_v6 = v->encap == ENCAP_IPV6 }, to = { .is_v6 = v->encap == ENCAP_IPV6 };
	struct hdr_eth eth;
	struct hdr_udp udp;

	hdr_eth_decode(&eth, p->data);
	hdr_udp_decode(&udp, p->data + v->l4 - UDP_BYTES);
	memcpy(from.mac, eth.src, 6);
	memcpy(to.mac, eth.dst, 6);
	path.sport = udp.sport;
	if (v->encap == ENCAP_IPV6) {
		struct hdr_ipv6 ip;

		hdr_ipv6_decode(&ip, p->data + v->net);
		memcpy(from.ip, ip.src, 16);
		memcpy(to.ip, ip.dst, 16);
		path.tclass = ip.tclass;
		path.hop_limit = ip.hop;
		path.flow_label = ip.flow;
	} else {
		struct hdr_ipv4 ip;

		hdr_ipv4_decode(&ip, p->data + v->net);
		memcpy(from.ip + 12, ip.src, 4);
		memcpy(to.ip + 12, ip.dst, 4);
		path.tclass = ip.tos;
		path.hop_limit = ip.ttl;
	}
	packet_template(qp, &from, &to, &path);
	/* the identification is the sender's counter */
	if (v->encap == ENCAP_IPV4)
		memcpy(qp->hdr + ETH_BYTES + 4, p->data + v->net + 4, 2);
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

static void rebuild_packet(void *arg, uint32_t linktype, const uint8_t *bytes, uint32_t len)
{
	struct tally *t = arg;
	struct packet *p, *out;
	struct packet_view v;

	if (linktype != PCAP_ETHERNET || len < 58 || len > PACKET_HDR_MAX + 4096 ||
	    !((bytes[23] == 17 && bytes[36] == 0x12 && bytes[37] == 0xb7) || bytes[12] == 0x86))
		return;
	p = packet_room();
	out = packet_room();
	memcpy(p->data, bytes, len);
	p->len = (uint16_t)len;
	t->packets++;
	if (packet_parse(p, &v) == DROP_NONE) {
		t->parsed++;
		rebuild(out, p, &v);
		t->same += out->len == len && memcmp(out->data, bytes, len) == 0 &&
			   packet_icrc_ok(p, &v) &&
			   opcode_len_ok(v.info, v.payload_len,
					 v.info->payload == PAYLOAD_PMTU ? v.payload_len : 4096);
	}
	free(p);
	free(out);
}

static void vectors_rebuilt_from_fields_are_the_same(void)
{
	struct tally t = { 0 };

	pcap_each("testbench/vectors/rxe_rocev2.pcap", rebuild_packet, &t);
	CU_ASSERT_EQUAL(t.packets, 108);
	CU_ASSERT_EQUAL(t.parsed, 108);
	CU_ASSERT_EQUAL(t.same, 108);
}

static void recordings_rebuilt_from_fields_are_the_same(void)
{
	struct tally t = { 0 };
	unsigned files;

	/* without the scenarios in which the path damaged packets */
	pcap_glob("../shared/rxe/v_rc_[!m]*/veth0.pcap.gz", rebuild_packet, &t, &files);
	printf("%u packets of %u recordings; ", t.same, files);
	CU_ASSERT(files == 0 || t.packets > 1000);
	CU_ASSERT_EQUAL(t.same, t.parsed);
	/* router solicitations and the like are IPv6 too */
	CU_ASSERT(t.packets - t.parsed < 200);
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
	struct packet *p = packet_room();
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
	struct packet *p = packet_room();
	struct packet_view v;

	pkt_bench_init(&b, true);
	pkt_build(p, &b, 0, IB_RC | IB_WRITE_ONLY, 5, 33);
	CU_ASSERT_EQUAL(packet_parse(p, &v), DROP_NONE);
	CU_ASSERT_EQUAL(v.payload_len, 33);
	CU_ASSERT_EQUAL(v.bth.pad, 3);
	CU_ASSERT_EQUAL(drop_after(p, 12, 0x89), DROP_ETHERTYPE);
	CU_ASSERT_EQUAL(drop_after(p, 14, 0x50), DROP_IP);
	CU_ASSERT_EQUAL(drop_after(p, 20, 6), DROP_IP);
	CU_ASSERT_EQUAL(drop_after(p, 56, 0x13), DROP_PORT);
	CU_ASSERT_EQUAL(drop_after(p, 59, 0), DROP_SHORT);	/* UDP length */
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
	pkt_bench_init(&b, false);
	pkt_build(p, &b, 0, IB_RC | IB_SEND_ONLY, 5, 10);
	CU_ASSERT_EQUAL(packet_parse(p, &v), DROP_NONE);
	CU_ASSERT_EQUAL(drop_after(p, 14, 0x46), DROP_IP);		/* options */
	CU_ASSERT_EQUAL(drop_after(p, 20, 0x20), DROP_IP);		/* more fragments */
	CU_ASSERT_EQUAL(drop_after(p, 24, 0x55), DROP_IP);		/* header checksum */
	free(p);
}

static void parse_truncated_packet_is_short(void)
{
	struct pkt_bench b;
	struct packet *p = packet_room();

	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct packet_view v;
		uint16_t len;

		pkt_bench_init(&b, v6);
		pkt_build(p, &b, 0, IB_RC | IB_WRITE_ONLY_IMM, 5, 20);
		len = p->len;
		for (uint16_t n = 0; n < len; n++) {
			/* exactly as many bytes as there are, so that a read beyond is seen */
			struct packet *cut = x_calloc(1, sizeof(*cut) + n);

			memcpy(cut, p, sizeof(*p) + n);
			cut->len = n;
			CU_ASSERT_EQUAL(packet_parse(cut, &v), DROP_SHORT);
			free(cut);
		}
		/* padding of a short frame does not matter */
		p->len = (uint16_t)(len + 2);
		CU_ASSERT_EQUAL(packet_parse(p, &v), DROP_NONE);
		CU_ASSERT(packet_icrc_ok(p, &v));
	}
	free(p);
}

static void parse_random_damage_stays_in_bounds(void)
{
	struct pkt_bench b;
	struct packet *p = packet_room();
	struct rng r;
	unsigned accepted = 0, wrong = 0;

	rng_seed(&r, "damage", 1);
	pkt_bench_init(&b, false);
	pkt_build(p, &b, 0, IB_RC | IB_WRITE_ONLY, 5, 61);
	for (unsigned i = 0; i < 20000; i++) {
		struct packet *bad = x_calloc(1, sizeof(*bad) + p->len);
		unsigned flips = 1 + (unsigned)rng_below(&r, 3);
		struct packet_view v;

		memcpy(bad, p, sizeof(*p) + p->len);
		while (flips--) {
			unsigned bit = (unsigned)rng_below(&r, 8u * p->len);

			bad->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		if (packet_parse(bad, &v) == DROP_NONE && packet_icrc_ok(bad, &v)) {
			accepted++;
			/*
			 * only fields outside the ICRC may differ: Ethernet addresses, TOS, TTL,
			 * UDP checksum, BTH byte 4
			 */
			bad->data[v.l4 + 4] = p->data[v.l4 + 4];
			memcpy(bad->data + v.l4 - 2, p->data + v.l4 - 2, 2);
			wrong += memcmp(bad->data + 26, p->data + 26, p->len - 26u) != 0;
		}
		free(bad);
	}
	CU_ASSERT(accepted > 0);
	CU_ASSERT_EQUAL(wrong, 0);
	free(p);
}

static void icrc_single_flip_is_caught(void)
{
	struct pkt_bench b;
	struct packet *p = packet_room();
	struct packet_view v;

	pkt_bench_init(&b, true);
	pkt_build(p, &b, 2, IB_UD | IB_SEND_ONLY_IMM, 5, 7);
	CU_ASSERT_EQUAL(packet_parse(p, &v), DROP_NONE);
	CU_ASSERT(packet_icrc_ok(p, &v));
	p->data[v.payload] ^= 1;
	CU_ASSERT(!packet_icrc_ok(p, &v));
	free(p);
}

CU_TestInfo test_packet_tests[] = {
	{ "vectors_rebuilt_from_fields_are_the_same", vectors_rebuilt_from_fields_are_the_same },
	{ "recordings_rebuilt_from_fields_are_the_same",
	  recordings_rebuilt_from_fields_are_the_same },
	{ "sport_follows_rule", sport_follows_rule },
	{ "parse_each_broken_field_has_its_reason", parse_each_broken_field_has_its_reason },
	{ "parse_truncated_packet_is_short", parse_truncated_packet_is_short },
	{ "parse_random_damage_stays_in_bounds", parse_random_damage_stays_in_bounds },
	{ "icrc_single_flip_is_caught", icrc_single_flip_is_caught },
	CU_TEST_INFO_NULL
};
