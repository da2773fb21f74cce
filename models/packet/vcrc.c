/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vcrc.c - the variant CRC (IBTA vol. 1, 7.8.2): x^16 + x^12 + x^3 + x + 1, bit-reversed, all ones
 * before and inverted after
 *
 * In hardware it is computed as the packet streams by. Here by table, eight bytes at a time: row k
 * has what a byte comes to k bytes later. A CRC is linear, so each entry is the sum of those of its
 * bits, and only these are written down.
 */
#include "models/packet/vcrc.h"

#define BIT(n, b, v) ((n) >> (b)&1 ? (v) : 0)
#define ENTRY(n, a, b, c, d, e, f, g, h) \
	BIT(n, 0, a) ^ BIT(n, 1, b) ^ BIT(n, 2, c) ^ BIT(n, 3, d) ^ BIT(n, 4, e) ^ BIT(n, 5, f) ^ \
		BIT(n, 6, g) ^ BIT(n, 7, h)
#define ENTRIES_4(n, ...) \
	ENTRY(n, __VA_ARGS__), ENTRY((n) + 1, __VA_ARGS__), ENTRY((n) + 2, __VA_ARGS__), \
		ENTRY((n) + 3, __VA_ARGS__)
#define ENTRIES_16(n, ...) \
	ENTRIES_4(n, __VA_ARGS__), ENTRIES_4((n) + 4, __VA_ARGS__), \
		ENTRIES_4((n) + 8, __VA_ARGS__), ENTRIES_4((n) + 12, __VA_ARGS__)
#define ENTRIES_64(n, ...) \
	ENTRIES_16(n, __VA_ARGS__), ENTRIES_16((n) + 16, __VA_ARGS__), \
		ENTRIES_16((n) + 32, __VA_ARGS__), ENTRIES_16((n) + 48, __VA_ARGS__)
#define ROW(...) \
	{ \
		ENTRIES_64(0, __VA_ARGS__), ENTRIES_64(64, __VA_ARGS__), \
			ENTRIES_64(128, __VA_ARGS__), ENTRIES_64(192, __VA_ARGS__) \
	}

/* Of the bits of a byte, from the lowest. */
static const uint16_t table[8][256] = {
	ROW(0x1ba1, 0x3742, 0x6e84, 0xdd08, 0x1a01, 0x3402, 0x6804, 0xd008),
	ROW(0xffb0, 0x5f71, 0xbee2, 0xddd5, 0x1bbb, 0x3776, 0x6eec, 0xddd8),
	ROW(0xfef4, 0x5df9, 0xbbf2, 0xd7f5, 0x0ffb, 0x1ff6, 0x3fec, 0x7fd8),
	ROW(0xf875, 0x50fb, 0xa1f6, 0xe3fd, 0x67eb, 0xcfd6, 0x3fbd, 0x7f7a),
	ROW(0x33da, 0x67b4, 0xcf68, 0x3ec1, 0x7d82, 0xfb04, 0x5619, 0xac32),
	ROW(0x4874, 0x90e8, 0x81c1, 0xa393, 0xe737, 0x6e7f, 0xdcfe, 0x19ed),
	ROW(0x28cb, 0x5196, 0xa32c, 0xe649, 0x6c83, 0xd906, 0x121d, 0x243a),
	ROW(0x49cf, 0x939e, 0x872d, 0xae4b, 0xfc87, 0x591f, 0xb23e, 0xc46d),
};

uint16_t vcrc_of(const uint8_t *p, size_t n)
{
	uint16_t crc = 0xffff;

	for (; n >= 8; n -= 8, p += 8)
		crc = table[7][p[0] ^ (crc & 0xff)] ^ table[6][p[1] ^ crc >> 8] ^ table[5][p[2]] ^
		      table[4][p[3]] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^
		      table[0][p[7]];
	while (n--)
		crc = (uint16_t)(table[0][*p++ ^ (crc & 0xff)] ^ crc >> 8);
	return (uint16_t)~crc;
}
