/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_icrc.c - the ICRC against a bitwise reference, and against packets of real devices
 *
 * Captures are read from ../shared when that is there; the vectors beside the tests always.
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

#include "models/packet/hdr.h"
#include "models/packet/icrc.h"
#include "sim/rng.h"
#include "testbench/pcap_in.h"

extern CU_TestInfo test_icrc_tests[];

/* ---- the oracle: protocol text, one bit at a time ---- */

#define POLY 0xedb88320u /* 0x04C11DB7 reflected */

static uint32_t slow_crc(const uint8_t *p, size_t n, uint32_t poly)
{
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (unsigned k = 0; k < 8; k++)
			crc = crc & 1 ? crc >> 1 ^ poly : crc >> 1;
	}
	return ~crc;
}

/* Builds the whole pseudo packet; 'poly' is POLY, or another to seed a fault. */
static uint32_t slow_icrc(enum icrc_net kind, const uint8_t *net, size_t n, uint32_t poly)
{
	static uint8_t b[8 + 65536];
	uint8_t *h = b + 8;
	size_t l4;

	memset(b, 0xff, 8);
	memcpy(h, net, n);
	if (kind == ICRC_IPV4) {
		l4 = 4u * (h[0] & 15u) + 8;
		h[1] = h[8] = h[10] = h[11] = h[l4 - 2] = h[l4 - 1] = 0xff;
	} else if (kind == ICRC_LRH) {
		l4 = 8;
		h[0] |= 0xf0;
	} else {
		l4 = kind == ICRC_IPV6 ? 48 : 40;
		h[0] |= 0x0f;
		h[1] = h[2] = h[3] = h[7] = 0xff;
		if (kind == ICRC_IPV6)
			h[46] = h[47] = 0xff;
	}
	h[l4 + 4] = 0xff;
	return kind == ICRC_LRH ? slow_crc(h, n, poly) : slow_crc(b, n + 8, poly);
}

static void random_packet(struct rng *r, enum icrc_net kind, uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)rng_next(r);
	if (kind == ICRC_IPV4)
		p[0] = (uint8_t)(0x40 | (5 + rng_below(r, 11)));
}

static void icrc_random_packets_agree_with_bitwise(void)
{
	static uint8_t p[5000];
	struct rng r;

	rng_seed(&r, "icrc", 1);
	for (enum icrc_net kind = ICRC_IPV4; kind <= ICRC_LRH; kind++)
		for (unsigned i = 0; i < 300; i++) {
			size_t n = 80 + (size_t)rng_below(&r, i < 200 ? 200 : 4200);

			random_packet(&r, kind, p, n);
			CU_ASSERT_EQUAL(icrc_of(kind, p, n), slow_icrc(kind, p, n, POLY));
		}
}

static void icrc_wrong_polynomial_is_caught(void)
{
	static uint8_t p[200];
	struct rng r;

	rng_seed(&r, "poly", 1);
	for (unsigned i = 0; i < 50; i++) {
		random_packet(&r, ICRC_IPV6, p, sizeof(p));
		CU_ASSERT_NOT_EQUAL(icrc_of(ICRC_IPV6, p, sizeof(p)),
				    slow_icrc(ICRC_IPV6, p, sizeof(p), POLY ^ 1u << 9));
	}
}

/* Which bits of the shortest packet of a kind do not matter. */
static unsigned blind_bits(enum icrc_net kind, uint8_t *p, size_t n)
{
	uint32_t good = icrc_of(kind, p, n);
	unsigned blind = 0;

	for (size_t i = 0; i < 8 * n; i++) {
		/* the header length is structure, not content */
		if (kind == ICRC_IPV4 && i >= 4 && i < 8)
			continue;
		p[i / 8] ^= (uint8_t)(0x80 >> i % 8);
		blind += icrc_of(kind, p, n) == good;
		p[i / 8] ^= (uint8_t)(0x80 >> i % 8);
	}
	return blind;
}

static void icrc_covers_all_but_variant_bits(void)
{
	static uint8_t p[100];
	struct rng r;

	rng_seed(&r, "blind", 1);
	random_packet(&r, ICRC_IPV6, p, sizeof(p));
	/* traffic class, flow label, hop limit, UDP checksum, BTH byte 4 */
	CU_ASSERT_EQUAL(blind_bits(ICRC_IPV6, p, sizeof(p)), 8 + 20 + 8 + 16 + 8);
	CU_ASSERT_EQUAL(blind_bits(ICRC_GRH, p, sizeof(p)), 8 + 20 + 8 + 8);
	/* virtual lane, BTH byte 4 */
	CU_ASSERT_EQUAL(blind_bits(ICRC_LRH, p, sizeof(p)), 4 + 8);
	p[0] = 0x45;
	/* TOS, TTL, both checksums, BTH byte 4 */
	CU_ASSERT_EQUAL(blind_bits(ICRC_IPV4, p, sizeof(p)), 8 + 8 + 16 + 16 + 8);
}

/* ---- real packets ---- */

struct tally {
	unsigned packets, bad, disagree;
};

static void check(struct tally *t, enum icrc_net kind, const uint8_t *net, size_t n)
{
	uint32_t crc = icrc_of(kind, net, n - 4);

	t->packets++;
	t->bad += crc != icrc_load(net + n - 4);
	t->disagree += crc != slow_icrc(kind, net, n - 4, POLY);
}

static void check_packet(void *arg, uint32_t linktype, const uint8_t *p, uint32_t len)
{
	struct tally *t = arg;

	if (linktype == PCAP_ERF) {
		p = erf_infiniband(p, &len);
		if (p && (p[1] & 3) == 2)
			check(t, ICRC_LRH, p, len);
		else if (p && (p[1] & 3) == 3)
			check(t, ICRC_GRH, p + 8, len - 8);
	} else if (p[12] == 0x08 && p[13] == 0x00 && p[23] == IP_PROTO_UDP && p[36] == 0x12 &&
		   p[37] == 0xb7) {
		check(t, ICRC_IPV4, p + 14, (size_t)(p[16] << 8 | p[17]));
	} else if (p[12] == 0x86 && p[20] == IP_PROTO_UDP && p[56] == 0x12 && p[57] == 0xb7) {
		check(t, ICRC_IPV6, p + 14, (size_t)(p[18] << 8 | p[19]) + 40);
	} else if (p[12] == 0x89 && p[13] == 0x15) {
		check(t, ICRC_GRH, p + 14, (size_t)(p[18] << 8 | p[19]) + 40);
	}
}

static void vectors_icrc_is_right(void)
{
	struct tally t = { 0 };

	pcap_each("testbench/vectors/rxe_rocev2.pcap", check_packet, &t);
	CU_ASSERT_EQUAL(t.packets, 108);
	CU_ASSERT_EQUAL(t.bad, 0);
	CU_ASSERT_EQUAL(t.disagree, 0);
}

static void captures_icrc_is_right(void)
{
	struct tally t = { 0 };
	unsigned files;

	pcap_glob("../shared/captures/*.pcap", check_packet, &t, &files);
	printf("%u packets of %u captures; ", t.packets, files);
	CU_ASSERT(files == 0 || t.packets == 43 + 105 + 5);
	CU_ASSERT_EQUAL(t.bad, 0);
	CU_ASSERT_EQUAL(t.disagree, 0);
}

CU_TestInfo test_icrc_tests[] = {
	{ "icrc_random_packets_agree_with_bitwise", icrc_random_packets_agree_with_bitwise },
	{ "icrc_wrong_polynomial_is_caught", icrc_wrong_polynomial_is_caught },
	{ "icrc_covers_all_but_variant_bits", icrc_covers_all_but_variant_bits },
	{ "vectors_icrc_is_right", vectors_icrc_is_right },
	{ "captures_icrc_is_right", captures_icrc_is_right },
	CU_TEST_INFO_NULL
};
