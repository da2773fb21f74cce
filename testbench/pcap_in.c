/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcap_in.c - reads classic pcap files for the tests
 */
#include "testbench/pcap_in.h"

#include <glob.h>
#include <stddef.h>
#include <zlib.h>

#define MAX_PACKET 65536u
#define ERF_HEADER 16u
#define ERF_INFINIBAND 21u
#define VCRC 2u

static uint32_t u32(const uint8_t *p, bool is_big)
{
	return is_big ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
		      : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

int pcap_each(const char *path, pcap_fn *fn, void *arg)
{
	static uint8_t bytes[MAX_PACKET];
	gzFile f = gzopen(path, "rb");
	uint8_t h[24], record[16];
	bool is_big;
	int n = 0;

	if (!f)
		return -1;
	if (gzread(f, h, sizeof(h)) != sizeof(h)) {
		gzclose(f);
		return -1;
	}
	is_big = h[0] == 0xa1;
	while (gzread(f, record, sizeof(record)) == sizeof(record)) {
		uint32_t len = u32(record + 8, is_big);

		if (len > MAX_PACKET || gzread(f, bytes, len) != (int)len)
			break;
		fn(arg, u32(h + 20, is_big) & 0xffff, bytes, len);
		n++;
	}
	gzclose(f);
	return n;
}

int pcap_glob(const char *pattern, pcap_fn *fn, void *arg, unsigned *n_files)
{
	glob_t g;
	int total = 0;

	*n_files = 0;
	if (glob(pattern, 0, NULL, &g) != 0)
		return 0;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		int n = pcap_each(g.gl_pathv[i], fn, arg);

		total += n > 0 ? n : 0;
		*n_files += n > 0;
	}
	globfree(&g);
	return total;
}

const uint8_t *erf_infiniband(const uint8_t *record, uint32_t *len)
{
	uint32_t off = ERF_HEADER, words;

	if (*len < ERF_HEADER || (record[8] & 0x7f) != ERF_INFINIBAND)
		return NULL;
	for (uint8_t type = record[8]; type & 0x80; off += 8) {
		if (off + 8 > *len)
			return NULL;
		type = record[off];
	}
	if (off + 8 > *len)
		return NULL;
	words = (uint32_t)((record[off + 4] & 7) << 8 | record[off + 5]);
	if (off + 4 * words + VCRC > *len)
		return NULL;
	*len = 4 * words;
	return record + off;
}
