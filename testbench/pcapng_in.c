/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcapng_in.c - reads pcapng files for the tests
 */
#include "testbench/pcapng_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/err.h"

#define MAX_FILE (1u << 20)

unsigned char *pcapng_slurp(const char *name, size_t *n)
{
	FILE *f = fopen(name, "rb");
	unsigned char *bytes = x_calloc(1, MAX_FILE);

	*n = f ? fread(bytes, 1, MAX_FILE, f) : 0;
	if (f)
		fclose(f);
	return bytes;
}

static uint32_t u32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Option 9 (if_tsresol) of an interface block: the unit, a power of ten of a second. */
static uint64_t read_tick_ps(const unsigned char *b, uint32_t len)
{
	for (uint32_t at = 16; at + 8 <= len; at += 4 + ((b[at + 2] + 3u) & ~3u)) {
		uint64_t ps = 1;

		if ((b[at] | b[at + 1] << 8) != 9)
			continue;
		for (unsigned k = b[at + 4]; k < 12; k++)
			ps *= 10;
		return b[at + 4] <= 12 ? ps : 0;
	}
	return 0;
}

static void read_packet(struct pcapng_found *r, const unsigned char *b)
{
	unsigned k = r->packets++;
	uint32_t padded = (u32(b + 20) + 3) & ~3u;

	if (k >= PCAPNG_FOUND_MAX)
		return;
	r->interface[k] = u32(b + 8);
	r->stamp[k] = ((uint64_t)u32(b + 12) << 32 | u32(b + 16)) * r->tick_ps;
	r->len[k] = u32(b + 20);
	r->wire_len[k] = u32(b + 24);
	r->first[k] = b[28];
	memcpy(r->head[k], b + 28, 16);
	/* option 2, 4 bytes, then the end of options and of the block */
	r->bad += u32(b + 28 + padded) != (2 | 4 << 16) || u32(b + 28 + padded + 8) != 0;
	r->flags[k] = u32(b + 28 + padded + 4);
	r->bad += u32(b + 4) != 28 + padded + 12 + 4;
}

void pcapng_read(struct pcapng_found *r, const char *name)
{
	size_t n, at = 0;
	unsigned char *f = pcapng_slurp(name, &n);

	memset(r, 0, sizeof(*r));
	while (at + 12 <= n) {
		const unsigned char *b = f + at;
		uint32_t len = u32(b + 4);

		if (len % 4 || len < 12 || at + len > n || u32(b + len - 4) != len) {
			r->bad++;
			break;
		}
		if (u32(b) == 0x0a0d0d0a) {
			r->sections++;
			r->bad += u32(b + 8) != 0x1a2b3c4d || u32(b + 12) != 1;
		} else if (u32(b) == 1) {
			r->interfaces++;
			r->tick_ps = read_tick_ps(b, len);
		} else if (u32(b) == 6) {
			read_packet(r, b);
		} else {
			r->bad++;
		}
		at += len;
	}
	r->bad += at != n;
	free(f);
}
