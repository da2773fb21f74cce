/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.c - packet capture by channel taps
 */
#include <stdlib.h>
#include <string.h>

#include "tools/run/capture.h"
#include "models/msg.h"
#include "models/packet/packet.h"
#include "sim/pcapng.h"
#include "sim/pool.h"

/* ERF, of Endace: a header before each record, its time stamp in 2^-32 s, little-endian. */
#define ERF_HEADER 16u
#define ERF_TYPE_INFINIBAND 21u
#define ERF_VARYING_LENGTH 4u
#define PS_PER_S_ODD 244140625u /* 10^12 = 2^12 times this */

struct capture_tap {
	struct chan_tap tap; /* first member */
	struct capture *capture;
	struct capture_tap *next;
	uint32_t interface;
	bool is_ib;
	enum pcapng_dir dir;
};

struct capture {
	struct pcapng *file;
	struct capture_tap *taps;
	uint8_t record[ERF_HEADER + PACKET_HDR_MAX + 4096];
};

struct capture *capture_open(const char *path, struct err *e)
{
	struct pcapng *file = pcapng_open(path, "rnicsim", e);
	struct capture *c;

	if (!file)
		return NULL;
	c = x_calloc(1, sizeof(*c));
	c->file = file;
	return c;
}

/* Put a packet behind an ERF header; returns the bytes of both. */
static uint32_t erf_record(uint8_t *to, const struct packet *p, uint64_t ps)
{
	uint64_t ts = ps / PS_PER_S << 32 | (ps % PS_PER_S << 20) / PS_PER_S_ODD;
	uint32_t n = ERF_HEADER + p->len;

	for (unsigned i = 0; i < 8; i++)
		to[i] = (uint8_t)(ts >> 8 * i);
	to[8] = ERF_TYPE_INFINIBAND;
	to[9] = ERF_VARYING_LENGTH;
	to[10] = (uint8_t)(n >> 8);
	to[11] = (uint8_t)n;
	to[12] = to[13] = 0; /* records lost */
	to[14] = (uint8_t)(p->len >> 8);
	to[15] = (uint8_t)p->len;
	memcpy(to + ERF_HEADER, p->data, p->len);
	return n;
}

static void frame_pushed(struct chan_tap *t, const struct chan *ch, const void *msg)
{
	const struct capture_tap *ct = (const struct capture_tap *)(const void *)t;
	const struct frame *f = msg;
	const struct packet *p = buf_data(ch->producer->sim, f->buf);
	uint64_t stamp = ct->dir == PCAPNG_TX ? f->first_ps : f->last_ps;
	const uint8_t *bytes = p->data;
	uint32_t n = p->len;

	if (ct->is_ib) {
		n = erf_record(ct->capture->record, p, stamp);
		bytes = ct->capture->record;
	}
	pcapng_packet(ct->capture->file, ch->producer->now_ps, ct->interface, ct->dir, stamp, bytes,
		      n, n);
}

static void attach(struct capture *c, struct chan *ch, uint32_t interface, bool is_ib,
		   enum pcapng_dir dir)
{
	struct capture_tap *t = x_calloc(1, sizeof(*t));

	t->tap.pushed = frame_pushed;
	t->capture = c;
	t->interface = interface;
	t->is_ib = is_ib;
	t->dir = dir;
	t->next = c->taps;
	c->taps = t;
	chan_attach(ch, &t->tap);
}

void capture_port(struct capture *c, const char *name, bool is_ib, struct chan *tx, struct chan *rx)
{
	uint32_t interface = pcapng_interface(c->file, name, is_ib ? PCAPNG_ERF : PCAPNG_ETHERNET);

	attach(c, tx, interface, is_ib, PCAPNG_TX);
	attach(c, rx, interface, is_ib, PCAPNG_RX);
}

uint64_t capture_count(const struct capture *c)
{
	return pcapng_count(c->file);
}

static struct pcapng *capture_free(struct capture *c)
{
	struct pcapng *file = c->file;
	struct capture_tap *t, *next;

	for (t = c->taps; t; t = next) {
		next = t->next;
		free(t);
	}
	free(c);
	return file;
}

bool capture_close(struct capture *c, struct err *e)
{
	return pcapng_close(capture_free(c), e);
}

void capture_abort(struct capture *c)
{
	if (c)
		pcapng_abort(capture_free(c));
}
