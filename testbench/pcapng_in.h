/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcapng_in.h - reads pcapng files for the tests: little-endian, one section, packets with one
 * option
 */
#ifndef TESTBENCH_PCAPNG_IN_H
#define TESTBENCH_PCAPNG_IN_H

#include <stddef.h>
#include <stdint.h>

#define PCAPNG_FOUND_MAX 64u /* packets of which the details are kept */

struct pcapng_found {
	unsigned sections, interfaces, packets;
	unsigned bad;     /* violations of the format */
	uint64_t tick_ps; /* unit of the stamps in the file, 0 = none that is 1 ps or more */
	uint64_t stamp[PCAPNG_FOUND_MAX]; /* ps */
	uint32_t interface[PCAPNG_FOUND_MAX], len[PCAPNG_FOUND_MAX], wire_len[PCAPNG_FOUND_MAX];
	uint32_t flags[PCAPNG_FOUND_MAX];         /* 1 inbound, 2 outbound */
	unsigned char first[PCAPNG_FOUND_MAX];    /* first byte */
	unsigned char head[PCAPNG_FOUND_MAX][16]; /* first bytes, if there are so many */
};

/* What a reader finds in file 'name'. */
void pcapng_read(struct pcapng_found *r, const char *name);

/* The bytes of a file of up to 1 MiB; free them. */
unsigned char *pcapng_slurp(const char *name, size_t *n);

#endif
