/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.c - packet capture by channel taps
 */
#include <stdlib.h>

#include "models/capture.h"
#include "models/msg.h"
#include "models/packet.h"
#include "sim/pcapng.h"
#include "sim/pool.h"

struct capture_tap {
	struct chan_tap tap;	/* first member */
	struct capture *capture;
	struct capture_tap *next;
	uint32_t interface;
	enum pcapng_dir dir;
};

struct capture {
	struct pcapng *file;
	struct capture_tap *taps;
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

static void frame_pushed(struct chan_tap *t, const struct chan *ch, const void *msg)
{
	const struct capture_tap *ct = (const struct capture_tap *)(const void *)t;
	const struct frame *f = msg;
	const struct packet *p = buf_data(ch->producer->sim, f->buf);

	pcapng_packet(ct->capture->file, ch->producer->now_ps, ct->interface, ct->dir,
		      ct->dir == PCAPNG_TX ? f->first_ps : f->last_ps, p->data, p->len, p->len);
}

static void attach(struct capture *c, struct chan *ch, uint32_t interface, enum pcapng_dir dir)
{
	struct capture_tap *t = x_calloc(1, sizeof(*t));

	t->tap.pushed = frame_pushed;
	t->capture = c;
	t->interface = interface;
	t->dir = dir;
	t->next = c->taps;
	c->taps = t;
	chan_attach(ch, &t->tap);
}

void capture_port(struct capture *c, const char *name, struct chan *tx, struct chan *rx)
{
	uint32_t interface = pcapng_interface(c->file, name, PCAPNG_ETHERNET);

	attach(c, tx, interface, PCAPNG_TX);
	attach(c, rx, interface, PCAPNG_RX);
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
