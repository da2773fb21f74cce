/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_repair.c - how long NICs take to repair a loss, seen from the line
 *
 * As Lumina measures it (SIGCOMM 2023): one frame is dropped on purpose, and an observer beside both ports notes when
 * the next one arrives, when the NAK leaves and arrives, and when the lost packet is sent again.
 */
#include <stdlib.h>

#include "models/packet/aeth.h"
#include "models/packet/packet.h"
#include "tools/perf/perf.h"
#include "models/rnic.h"
#include "sim/pool.h"

enum side { CLIENT_TX, SERVER_RX, SERVER_TX, CLIENT_RX, SIDES };

struct watch_tap {
	struct chan_tap tap; /* first member */
	struct perf_watch *watch;
	enum side side;
};

struct perf_watch {
	struct watch_tap tap[SIDES];
	struct perf_repair *to;
	uint64_t drop;
	uint64_t n[SIDES]; /* frames seen */
	uint32_t psn;      /* of the lost packet */
};

static void note(uint64_t *to, uint64_t ps)
{
	if (*to == 0)
		*to = ps;
}

static bool is_gap_nak(const struct packet *p, const struct packet_view *v)
{
	return (v->bth.opcode & IB_OPERATION_MASK) == IB_ACKNOWLEDGE &&
	       p->data[v->xeth] == NAK_SEQUENCE;
}

static void seen(struct chan_tap *t, const struct chan *c, const void *msg)
{
	const struct watch_tap *at = (const struct watch_tap *)(const void *)t;
	struct perf_watch *w = at->watch;
	const struct frame *f = msg;
	const struct packet *p = buf_data(c->producer->sim, f->buf);
	struct packet_view v;

	if (packet_parse(p, &v) != DROP_NONE)
		return;
	w->n[at->side]++;
	if (at->side == CLIENT_TX && w->n[CLIENT_TX] == w->drop) {
		w->psn = v.bth.psn;
		w->to->lost_ps = f->first_ps;
	} else if (at->side == CLIENT_TX && w->n[CLIENT_TX] > w->drop && v.bth.psn == w->psn) {
		note(&w->to->resent_ps, f->first_ps);
	} else if (at->side == SERVER_RX && w->n[SERVER_RX] == w->drop) {
		w->to->gap_ps = f->last_ps;
	} else if (at->side == SERVER_TX && is_gap_nak(p, &v)) {
		note(&w->to->nak_ps, f->first_ps);
	} else if (at->side == CLIENT_RX && is_gap_nak(p, &v)) {
		note(&w->to->told_ps, f->last_ps);
	}
}

struct perf_watch *perf_watch_open(struct rnic *r, uint64_t drop, struct perf_repair *to)
{
	static const struct {
		const char *mac, *port;
	} at[SIDES] = {
		[CLIENT_TX] = { "nic0.mac", "tx_frame" },
		[SERVER_RX] = { "nic1.mac", "rx_frame" },
		[SERVER_TX] = { "nic1.mac", "tx_frame" },
		[CLIENT_RX] = { "nic0.mac", "rx_frame" },
	};
	struct perf_watch *w = x_calloc(1, sizeof(*w));

	w->to = to;
	w->drop = drop;
	for (unsigned i = 0; i < SIDES; i++) {
		const struct block *mac = netlist_find(&r->sim, at[i].mac);

		w->tap[i] = (struct watch_tap){ { .pushed = seen }, w, (enum side)i };
		chan_attach(netlist_chan(mac, at[i].port), &w->tap[i].tap);
	}
	return w;
}

void perf_watch_close(struct perf_watch *w)
{
	free(w);
}
