/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcapng.c - pcapng writer (IETF draft-ietf-opsawg-pcapng): one section, one interface block an
 * interface with a resolution of 100 ps, enhanced packet blocks with their direction; little-endian
 */
#include <stdlib.h>
#include <string.h>

#include "sim/outfile.h"
#include "sim/pcapng.h"

enum { BLOCK_SHB = 0x0a0d0d0a, BLOCK_IDB = 1, BLOCK_EPB = 6 };
enum { OPT_END = 0, OPT_SHB_USERAPPL = 4, OPT_IF_NAME = 2, OPT_IF_TSRESOL = 9, OPT_EPB_FLAGS = 2 };
/*
 * Stamps are in units of 10^-10 s, cut off: Wireshark multiplies the units within a second by 10^9
 * in 64 bits (wiretap/pcapng.c), which finer ones overflow after 18.4 or 184 ms of each second.
 */
#define TSRESOL 10u
#define TICK_PS 100u

/* A packet that is held back: a sorted, doubly linked list. */
struct held {
	struct held *prev, *next;
	uint64_t stamp_ps;
	uint32_t interface, dir, len, wire_len;
	unsigned char bytes[];
};

struct pcapng {
	struct outfile out;
	struct held *first, *last;
	uint64_t count, now_ps;
	uint32_t n_interfaces;
	/* the block being put together */
	unsigned char *block;
	size_t n, cap;
};

static void put(struct pcapng *w, const void *bytes, size_t n)
{
	if (w->n + n + 4 > w->cap) {
		w->cap = 2 * (w->n + n + 4);
		w->block = x_realloc(w->block, w->cap);
	}
	memcpy(w->block + w->n, bytes, n);
	w->n += n;
	/* everything is padded to words; the length that counts was written before */
	while (w->n % 4)
		w->block[w->n++] = 0;
}

static void put_u32(struct pcapng *w, uint32_t v)
{
	unsigned char b[4] = { (unsigned char)v, (unsigned char)(v >> 8), (unsigned char)(v >> 16),
			       (unsigned char)(v >> 24) };

	put(w, b, sizeof(b));
}

static void put_u16_pair(struct pcapng *w, uint32_t lo, uint32_t hi)
{
	put_u32(w, (lo & 0xffff) | hi << 16);
}

static void put_option(struct pcapng *w, uint32_t code, const void *bytes, uint32_t n)
{
	put_u16_pair(w, code, n);
	put(w, bytes, n);
}

static void block_begin(struct pcapng *w, uint32_t type)
{
	w->n = 0;
	put_u32(w, type);
	put_u32(w, 0);
}

static void block_end(struct pcapng *w)
{
	size_t total = w->n + 4;

	put_u32(w, (uint32_t)total);
	for (unsigned i = 0; i < 4; i++)
		w->block[4 + i] = (unsigned char)(total >> 8 * i);
	/* an output error is kept by the stream and found by outfile_commit */
	fwrite(w->block, 1, w->n, w->out.f);
}

struct pcapng *pcapng_open(const char *path, const char *application, struct err *e)
{
	struct pcapng *w = x_calloc(1, sizeof(*w));

	if (!outfile_open(&w->out, path, e)) {
		free(w);
		return NULL;
	}
	block_begin(w, BLOCK_SHB);
	put_u32(w, 0x1a2b3c4d);
	put_u16_pair(w, 1, 0);  /* version 1.0 */
	put_u32(w, UINT32_MAX); /* section length: not given */
	put_u32(w, UINT32_MAX);
	put_option(w, OPT_SHB_USERAPPL, application, (uint32_t)strlen(application));
	put_u32(w, OPT_END);
	block_end(w);
	return w;
}

uint32_t pcapng_interface(struct pcapng *w, const char *name, uint16_t linktype)
{
	const unsigned char resolution = TSRESOL;

	SIM_CHECK(w->count == 0, NULL);
	block_begin(w, BLOCK_IDB);
	put_u16_pair(w, linktype, 0);
	put_u32(w, 0); /* no snap length */
	put_option(w, OPT_IF_NAME, name, (uint32_t)strlen(name));
	put_option(w, OPT_IF_TSRESOL, &resolution, 1);
	put_u32(w, OPT_END);
	block_end(w);
	return w->n_interfaces++;
}

static void write_packet(struct pcapng *w, const struct held *h)
{
	/* epb_flags bits 0-1: 1 = inbound, 2 = outbound */
	const unsigned char flags[4] = { h->dir == PCAPNG_TX ? 2 : 1, 0, 0, 0 };
	const uint64_t ticks = h->stamp_ps / TICK_PS;

	block_begin(w, BLOCK_EPB);
	put_u32(w, h->interface);
	put_u32(w, (uint32_t)(ticks >> 32));
	put_u32(w, (uint32_t)ticks);
	put_u32(w, h->len);
	put_u32(w, h->wire_len);
	put(w, h->bytes, h->len);
	put_option(w, OPT_EPB_FLAGS, flags, sizeof(flags));
	put_u32(w, OPT_END);
	block_end(w);
}

/* Write and free everything stamped before 'limit_ps'. */
static void flush_before(struct pcapng *w, uint64_t limit_ps)
{
	while (w->first && w->first->stamp_ps < limit_ps) {
		struct held *h = w->first;

		w->first = h->next;
		write_packet(w, h);
		free(h);
	}
	if (w->first)
		w->first->prev = NULL;
	else
		w->last = NULL;
}

static bool is_after(const struct held *a, const struct held *b)
{
	if (a->stamp_ps != b->stamp_ps)
		return a->stamp_ps > b->stamp_ps;
	if (a->interface != b->interface)
		return a->interface > b->interface;
	return a->dir > b->dir;
}

/* Packets come nearly in order, so the place is looked for from the end. */
static void insert(struct pcapng *w, struct held *h)
{
	struct held *at = w->last;

	while (at && is_after(at, h))
		at = at->prev;
	h->prev = at;
	h->next = at ? at->next : w->first;
	if (h->next)
		h->next->prev = h;
	else
		w->last = h;
	if (at)
		at->next = h;
	else
		w->first = h;
}

void pcapng_packet(struct pcapng *w, uint64_t now_ps, uint32_t interface, enum pcapng_dir dir,
		   uint64_t stamp_ps, const void *bytes, uint32_t len, uint32_t wire_len)
{
	struct held *h = x_calloc(1, sizeof(*h) + len);

	SIM_CHECK(now_ps >= w->now_ps && interface < w->n_interfaces, NULL);
	/* once a time stamp: what is written depends on earlier ones only */
	if (now_ps > w->now_ps) {
		w->now_ps = now_ps;
		flush_before(w, now_ps > PCAPNG_LAG_PS ? now_ps - PCAPNG_LAG_PS : 0);
	}
	h->stamp_ps = stamp_ps;
	h->interface = interface;
	h->dir = dir;
	h->len = len;
	h->wire_len = wire_len;
	memcpy(h->bytes, bytes, len);
	insert(w, h);
	w->count++;
}

uint64_t pcapng_count(const struct pcapng *w)
{
	return w->count;
}

bool pcapng_close(struct pcapng *w, struct err *e)
{
	bool is_ok;

	flush_before(w, UINT64_MAX);
	is_ok = outfile_commit(&w->out, e);
	free(w->block);
	free(w);
	return is_ok;
}

void pcapng_abort(struct pcapng *w)
{
	struct held *h, *next;

	if (!w)
		return;
	for (h = w->first; h; h = next) {
		next = h->next;
		free(h);
	}
	outfile_abort(&w->out);
	free(w->block);
	free(w);
}
