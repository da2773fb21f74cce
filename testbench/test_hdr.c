/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hdr.c - header codecs against a bit-by-bit reading of hdr.def, and against packets of real
 * devices
 *
 * Captures are read from ../shared when that is there; the vectors beside the tests always.
 */
#include <CUnit/CUnit.h>
#include <stdio.h>

#include "models/packet/hdr.h"
#include "models/packet/opcode.h"
#include "sim/rng.h"
#include "testbench/pcap_in.h"

extern CU_TestInfo test_hdr_tests[];

#define TRIES 200

/* ---- the oracle: one bit at a time ---- */

static uint64_t slow_get(const uint8_t *p, unsigned at, unsigned bits)
{
	uint64_t v = 0;

	for (unsigned i = at; i < at + bits; i++)
		v = v << 1 | (p[i / 8] >> (7 - i % 8) & 1);
	return v;
}

static void random_bytes(struct rng *r, uint8_t *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		p[i] = (uint8_t)rng_next(r);
}

/*
 * Differences between members and bits; 'skew' shifts the oracle's reading by that many bits: the
 * seeded fault.
 */
#define F(ctype, n_bits, name, doc) \
	bad += h.name != slow_get(p, at + skew, n_bits); \
	at += (n_bits);
#define FA(n, name, doc) \
	for (unsigned i = 0; i < (n); i++, at += 8) \
		bad += h.name[i] != slow_get(p, at + skew, 8);
#define HDR(x, NAME, n, doc, fields) \
	static unsigned x##_mismatches(const uint8_t *p, unsigned skew) \
	{ \
		struct hdr_##x h; \
		unsigned at = 0, bad = 0; \
\
		hdr_##x##_decode(&h, p); \
		fields return bad; \
	} \
	static int x##_round_trip(uint8_t *to, const uint8_t *p) \
	{ \
		struct hdr_##x h; \
\
		hdr_##x##_decode(&h, p); \
		hdr_##x##_encode(to, &h); \
		return memcmp(to, p, n); \
	}
#include "models/packet/hdr.def"
#undef F
#undef FA
#undef HDR

static const struct {
	const char *name;
	unsigned bytes;
	unsigned (*mismatches)(const uint8_t *p, unsigned skew);
	int (*round_trip)(uint8_t *to, const uint8_t *p);
} codecs[] = {
#define HDR(x, NAME, n, doc, fields) { #x, n, x##_mismatches, x##_round_trip },
#include "models/packet/hdr.def"
#undef HDR
};
#define N_CODECS (sizeof(codecs) / sizeof(codecs[0]))

static void decode_random_bytes_agrees_with_single_bits(void)
{
	struct rng r;
	uint8_t p[64];

	rng_seed(&r, "decode", 1);
	for (unsigned c = 0; c < N_CODECS; c++)
		for (unsigned i = 0; i < TRIES; i++) {
			random_bytes(&r, p, sizeof(p));
			CU_ASSERT_EQUAL(codecs[c].mismatches(p, 0), 0);
		}
}

static void decode_wrong_position_is_caught(void)
{
	struct rng r;
	uint8_t p[64];

	rng_seed(&r, "skew", 1);
	for (unsigned c = 0; c < N_CODECS; c++) {
		unsigned caught = 0;

		for (unsigned i = 0; i < TRIES; i++) {
			random_bytes(&r, p, sizeof(p));
			caught += codecs[c].mismatches(p, 1) != 0;
		}
		CU_ASSERT(caught > TRIES / 2);
	}
}

static void encode_what_was_decoded_gives_same_bytes(void)
{
	struct rng r;
	uint8_t p[64], to[64];

	rng_seed(&r, "encode", 1);
	for (unsigned c = 0; c < N_CODECS; c++)
		for (unsigned i = 0; i < TRIES; i++) {
			random_bytes(&r, p, sizeof(p));
			random_bytes(&r, to, sizeof(to));
			memcpy(to + codecs[c].bytes, p + codecs[c].bytes,
			       sizeof(p) - codecs[c].bytes);
			CU_ASSERT_EQUAL(codecs[c].round_trip(to, p), 0);
			/* nothing behind the header was touched */
			CU_ASSERT_EQUAL(memcmp(to, p, sizeof(p)), 0);
		}
}

static void encode_value_too_wide_leaves_neighbours_alone(void)
{
	struct hdr_bth h = { .pad = 0xff, .psn = 0xffffffff, .destqp = 0xff123456 };
	uint8_t p[BTH_BYTES];

	hdr_bth_encode(p, &h);
	hdr_bth_decode(&h, p);
	CU_ASSERT_EQUAL(h.pad, 3);
	CU_ASSERT_EQUAL(h.tver, 0);
	CU_ASSERT_EQUAL(h.migreq, 0);
	CU_ASSERT_EQUAL(h.resv6, 0);
	CU_ASSERT_EQUAL(h.destqp, 0x123456);
	CU_ASSERT_EQUAL(h.ackreq, 0);
	CU_ASSERT_EQUAL(h.resv7, 0);
	CU_ASSERT_EQUAL(h.psn, 0xffffff);
}

static void rows_describe_every_header(void)
{
	CU_ASSERT_EQUAL(n_hdr_rows, N_CODECS);
	for (uint32_t i = 0; i < n_hdr_rows; i++) {
		uint32_t bits = 0;

		CU_ASSERT_STRING_EQUAL(hdr_rows[i].name, codecs[i].name);
		for (uint32_t k = 0; k < hdr_rows[i].n_fields; k++)
			bits += hdr_rows[i].fields[k].bits;
		CU_ASSERT_EQUAL(bits, 8 * hdr_rows[i].bytes);
	}
}

/* ---- real packets ---- */

struct tally {
	unsigned packets, bad, headers;
};

/* Re-encode one header in place of itself. */
static uint8_t *recode(struct tally *t, const char *name, uint8_t *out, const uint8_t **in)
{
	for (unsigned c = 0; c < N_CODECS; c++)
		if (strcmp(codecs[c].name, name) == 0) {
			t->bad += codecs[c].round_trip(out, *in) != 0;
			t->headers++;
			*in += codecs[c].bytes;
			return out + codecs[c].bytes;
		}
	CU_FAIL("no such header");
	return out;
}

static const char *const xeth_name[X_COUNT] = {
	"xrceth", "rdeth", "deth", "feth", "reth", "aeth", "atomiceth", "atomicack", "immdt", "ieth"
};

/* BTH and what follows it; the rest is copied. Compares the whole. */
static void recode_transport(struct tally *t, uint8_t *out, uint8_t *at, const uint8_t *whole,
			     const uint8_t *in, uint32_t len)
{
	const struct opcode_info *o = &opcode_info[in[0]];
	uint32_t rest;

	t->packets++;
	if (!o->name) {
		t->bad++;
		return;
	}
	at = recode(t, "bth", at, &in);
	for (unsigned x = 0; x < X_COUNT; x++)
		if (opcode_has(o, x))
			at = recode(t, xeth_name[x], at, &in);
	rest = len - (uint32_t)(in - whole);
	memcpy(at, in, rest);
	t->bad += memcmp(out, whole, len) != 0;
}

static void recode_packet(void *arg, uint32_t linktype, const uint8_t *bytes, uint32_t len)
{
	static uint8_t out[65536];
	struct tally *t = arg;
	const uint8_t *in = bytes;
	uint8_t *at = out;

	if (linktype == PCAP_ERF) {
		in = bytes = erf_infiniband(bytes, &len);
		if (!bytes || (bytes[1] & 3) < 2)
			return;
		at = recode(t, "lrh", at, &in);
		if ((bytes[1] & 3) == 3)
			at = recode(t, "grh", at, &in);
		recode_transport(t, out, at, bytes, in, len);
		return;
	}
	if (len < 58)
		return;
	if (bytes[12] == 0x08 && bytes[13] == 0x00 && bytes[23] == IP_PROTO_UDP &&
	    bytes[36] == 0x12 && bytes[37] == 0xb7) {
		at = recode(t, "eth", at, &in);
		at = recode(t, "ipv4", at, &in);
		at = recode(t, "udp", at, &in);
	} else if (bytes[12] == 0x86 && bytes[20] == IP_PROTO_UDP && bytes[56] == 0x12 &&
		   bytes[57] == 0xb7) {
		at = recode(t, "eth", at, &in);
		at = recode(t, "ipv6", at, &in);
		at = recode(t, "udp", at, &in);
	} else if (bytes[12] == 0x89 && bytes[13] == 0x15) {
		at = recode(t, "eth", at, &in);
		at = recode(t, "grh", at, &in);
	} else {
		return;
	}
	recode_transport(t, out, at, bytes, in, len);
}

static void vectors_reencoded_are_unchanged(void)
{
	struct tally t = { 0 };

	CU_ASSERT_EQUAL(pcap_each("testbench/vectors/rxe_rocev2.pcap", recode_packet, &t), 108);
	CU_ASSERT_EQUAL(t.packets, 108);
	CU_ASSERT_EQUAL(t.bad, 0);
}

static void captures_reencoded_are_unchanged(void)
{
	struct tally t = { 0 };
	unsigned files;

	pcap_glob("../shared/captures/*.pcap", recode_packet, &t, &files);
	printf("%u packets (%u headers) of %u captures; ", t.packets, t.headers, files);
	/* 43 native InfiniBand, 105 RoCEv2, 5 of both RoCE versions */
	CU_ASSERT(files == 0 || t.packets == 43 + 105 + 5);
	CU_ASSERT_EQUAL(t.bad, 0);
}

static void soft_roce_recordings_reencoded_are_unchanged(void)
{
	struct tally t = { 0 };
	unsigned files;

	pcap_glob("../shared/rxe/*/veth?.pcap.gz", recode_packet, &t, &files);
	printf("%u packets (%u headers) of %u recordings; ", t.packets, t.headers, files);
	CU_ASSERT(files == 0 || (files == 233 && t.packets == 32876));
	CU_ASSERT_EQUAL(t.bad, 0);
}

CU_TestInfo test_hdr_tests[] = {
	{ "decode_random_bytes_agrees_with_single_bits",
	  decode_random_bytes_agrees_with_single_bits },
	{ "decode_wrong_position_is_caught", decode_wrong_position_is_caught },
	{ "encode_what_was_decoded_gives_same_bytes", encode_what_was_decoded_gives_same_bytes },
	{ "encode_value_too_wide_leaves_neighbours_alone",
	  encode_value_too_wide_leaves_neighbours_alone },
	{ "rows_describe_every_header", rows_describe_every_header },
	{ "vectors_reencoded_are_unchanged", vectors_reencoded_are_unchanged },
	{ "captures_reencoded_are_unchanged", captures_reencoded_are_unchanged },
	{ "soft_roce_recordings_reencoded_are_unchanged",
	  soft_roce_recordings_reencoded_are_unchanged },
	CU_TEST_INFO_NULL
};
