/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_vcrc.c - the VCRC against a bitwise reference, and against packets of a real fabric
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

#include "models/packet/packet.h"
#include "models/packet/vcrc.h"
#include "sim/rng.h"
#include "testbench/pcap_in.h"

extern CU_TestInfo test_vcrc_tests[];

/* ---- the oracle: protocol text, one bit at a time, highest power first ---- */

#define POLY 0x100bu

static uint16_t slow_vcrc(const uint8_t *p, size_t n, uint32_t poly)
{
	uint32_t crc = 0xffff, reversed = 0;

	for (size_t i = 0; i < 8 * n; i++) {
		uint32_t bit = (uint32_t)p[i / 8] >> i % 8;

		crc = (crc << 1 & 0xffff) ^ ((crc >> 15 ^ bit) & 1 ? poly : 0);
	}
	for (unsigned i = 0; i < 16; i++)
		reversed |= (crc >> i & 1) << (15 - i);
	return (uint16_t)~reversed;
}

/* Packets, of each length up to one of 4 KiB payload, of which 'poly' gives another VCRC. */
static unsigned disagreements(uint32_t poly)
{
	static uint8_t p[4400];
	unsigned n = 0;
	struct rng r;

	rng_seed(&r, "vcrc", 1);
	for (size_t i = 0; i < sizeof(p); i++)
		p[i] = (uint8_t)rng_next(&r);
	for (size_t len = 0; len < sizeof(p); len += len < 300 ? 1 : 97) {
		size_t at = (size_t)rng_below(&r, sizeof(p) - len);

		n += vcrc_of(p + at, len) != slow_vcrc(p + at, len, poly);
	}
	return n;
}

static void vcrc_random_bytes_agree_with_bitwise(void)
{
	CU_ASSERT_EQUAL(disagreements(POLY), 0);
}

static void vcrc_wrong_polynomial_is_caught(void)
{
	CU_ASSERT(disagreements(POLY ^ 1u << 5) > 300);
}

static void vcrc_single_bits_are_seen(void)
{
	uint8_t p[30] = { 0 };
	uint16_t good = vcrc_of(p, sizeof(p));

	for (unsigned i = 0; i < 8 * sizeof(p); i++) {
		p[i / 8] ^= (uint8_t)(1u << i % 8);
		CU_ASSERT_NOT_EQUAL(vcrc_of(p, sizeof(p)), good);
		p[i / 8] ^= (uint8_t)(1u << i % 8);
	}
}

static void vcrc_goes_out_low_byte_first(void)
{
	/* link packets, whose LPCRC is the same CRC */
	static const uint8_t a[6] = { 0x01, 0x23, 0x04, 0x56, 0x1c, 0xb3 };
	static const uint8_t b[6] = { 0x10, 0x00, 0x00, 0x40, 0x5c, 0x6d };
	uint8_t out[2];

	vcrc_store(out, vcrc_of(a, 4));
	CU_ASSERT_EQUAL(memcmp(out, a + 4, 2), 0);
	CU_ASSERT_EQUAL(vcrc_load(b + 4), vcrc_of(b, 4));
}

struct tally {
	unsigned packets, bad;
};

static void check_packet(void *arg, uint32_t linktype, const uint8_t *p, uint32_t len)
{
	struct tally *t = arg;

	if (linktype != PCAP_ERF)
		return;
	p = erf_infiniband(p, &len);
	if (!p)
		return;
	t->packets++;
	t->bad += vcrc_load(p + len) != vcrc_of(p, len);
	t->bad += vcrc_load(p + len) != slow_vcrc(p, len, POLY);
}

static void captures_vcrc_is_right(void)
{
	struct tally t = { 0 };
	unsigned files;

	pcap_glob("../shared/captures/*.pcap", check_packet, &t, &files);
	printf("%u packets of %u captures; ", t.packets, files);
	CU_ASSERT(files == 0 || t.packets == 43);
	CU_ASSERT_EQUAL(t.bad, 0);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_vcrc_tests[] = {
	TEST(vcrc_random_bytes_agree_with_bitwise),
	TEST(vcrc_wrong_polynomial_is_caught),
	TEST(vcrc_single_bits_are_seen),
	TEST(vcrc_goes_out_low_byte_first),
	TEST(captures_vcrc_is_right),
	CU_TEST_INFO_NULL,
};
