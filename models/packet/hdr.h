/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hdr.h - packet headers: hdr.def expanded to C structs, encoders and decoders
 *
 * For every header x of hdr.def: `struct hdr_x`, X_BYTES, hdr_x_decode() and hdr_x_encode(). The
 * codecs are inline, and every position is a constant once inlined: a field costs a load, a swap
 * and a shift.
 */
#ifndef MODELS_HDR_H
#define MODELS_HDR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ETHERTYPE_IPV4 0x0800u
#define ETHERTYPE_IPV6 0x86ddu
#define ETHERTYPE_ROCEV1 0x8915u
#define IP_PROTO_UDP 17u
#define GRH_NEXT_BTH 0x1bu
#define ROCEV2_PORT 4791u
#define PKEY_DEFAULT 0xffffu
#define PSN_MASK 0xffffffu

/*
 * The 'bits' bits that start 'at' bits into 'p', most significant first; they span at most 8 bytes.
 */
static inline __attribute__((always_inline)) uint64_t hdr_get(const uint8_t *p, unsigned at,
							      unsigned bits)
{
	unsigned first = at / 8, last = (at + bits - 1) / 8;
	uint64_t v = 0;

#pragma GCC unroll 8
	for (unsigned i = first; i <= last; i++)
		v = v << 8 | p[i];
	v >>= (last + 1) * 8 - (at + bits);
	return bits == 64 ? v : v & ((1ull << bits) - 1);
}

/* Or the low 'bits' bits of 'v' into cleared bytes. */
static inline __attribute__((always_inline)) void hdr_put(uint8_t *p, unsigned at, unsigned bits,
							  uint64_t v)
{
	unsigned first = at / 8, last = (at + bits - 1) / 8;

	v &= bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
	v <<= (last + 1) * 8 - (at + bits);
#pragma GCC unroll 8
	for (unsigned i = last + 1; i-- > first; v >>= 8)
		p[i] = (uint8_t)(p[i] | v);
}

#define F(ctype, n_bits, name, doc) ctype name;
#define FA(n, name, doc) uint8_t name[n];
#define HDR(name, NAME, bytes, doc, fields) \
	enum { NAME##_BYTES = (bytes) }; \
	struct hdr_##name { \
		fields \
	};
#include "models/packet/hdr.def"
#undef F
#undef FA
#undef HDR

/* Read *h from the header's bytes at 'p'. */
#define F(ctype, n_bits, name, doc) \
	h->name = (ctype)hdr_get(p, at, n_bits); \
	at += (n_bits);
#define FA(n, name, doc) \
	memcpy(h->name, p + at / 8, n); \
	at += 8 * (n);
#define HDR(name, NAME, bytes, doc, fields) \
	static inline void hdr_##name##_decode(struct hdr_##name *h, const uint8_t *p) \
	{ \
		unsigned at = 0; \
		fields(void) at; \
	}
#include "models/packet/hdr.def"
#undef F
#undef FA
#undef HDR

/* Write *h to the header's bytes at 'p'; bits of a member beyond the field's width are ignored. */
#define F(ctype, n_bits, name, doc) \
	hdr_put(p, at, n_bits, h->name); \
	at += (n_bits);
#define FA(n, name, doc) \
	memcpy(p + at / 8, h->name, n); \
	at += 8 * (n);
#define HDR(name, NAME, bytes, doc, fields) \
	static inline void hdr_##name##_encode(uint8_t *p, const struct hdr_##name *h) \
	{ \
		unsigned at = 0; \
		memset(p, 0, bytes); \
		fields(void) at; \
	}
#include "models/packet/hdr.def"
#undef F
#undef FA
#undef HDR

/* The same as rows, for what describes headers rather than reading them. */
struct hdr_field {
	const char *name, *doc;
	uint32_t bits;
};
struct hdr_row {
	const char *name, *doc;
	const struct hdr_field *fields;
	uint32_t n_fields, bytes;
};
extern const struct hdr_row hdr_rows[];
extern const uint32_t n_hdr_rows;

#endif
