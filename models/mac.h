/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mac.h - the struct of the port, shared by its two files: the line, and PAUSE frames
 */
#ifndef MODELS_MAC_H
#define MODELS_MAC_H

#include "models/msg.h"
#include "models/nic.h"
#include "models/packet/packet.h"
#include "sim/pool.h"
#include "sim/units.h"

/* Line rates there are, bits a second; rates of QPs and links are of this range, too. */
#define MAC_RATE_MIN (1 * MBPS)
#define MAC_RATE_MAX (3200 * GBPS)

/* What takes line time besides the bytes of a packet. */
struct framing {
	uint32_t before, after, gap;
	uint32_t min; /* a shorter packet is padded */
};
/* A packet in the receive buffer. */
struct rx_slot {
	uint64_t ready_cyc;
	uint32_t buf, bytes;
};

struct mac {
	struct block b;
	/* parameters */
	uint64_t rate, tx_delay, rx_delay;
	uint32_t rx_buffer;
	bool vcrc_always;
	bool pause;
	uint32_t rx_xoff, rx_xon;
	/* ports */
	struct chan *tx_pkt, *rx_frame, *tx_frame, *rx_pkt;
	const struct framing *line;
	/* state: line free at line_ps + line_rem / rate ps */
	uint64_t line_ps, line_rem;
	uint64_t last_bit_ps; /* end of the frame being sent, while its buffer is held */
	uint64_t start_cyc;   /* cycle within which the line becomes free */
	uint32_t sending;     /* buffer being sent, or BUF_NONE */
	struct rx_slot *rx;   /* ring of rx_slots */
	uint32_t rx_slots, rx_head, rx_count;
	uint32_t rx_ahead; /* the first so many were handed on ahead (chan.h) */
	uint64_t rx_cyc;   /* cycle of the last of these */
	uint32_t rx_bytes; /* occupancy of the receive buffer */
	/* state of PAUSE */
	struct pool *control;
	bool is_xoff;             /* the peer was told to wait ... */
	uint64_t xoff_ps;         /* ... at this time, and is to be told again ... */
	uint64_t refresh_ps;      /* ... at this one */
	uint64_t paused_until_ps; /* the peer told this port to wait */
	/* statistics */
	uint64_t tx_frames, tx_bytes, tx_line_bytes, tx_busy_ps;
	uint64_t rx_frames, rx_bytes_in, rx_dropped, rx_vcrc, rx_bytes_max;
	uint64_t rx_pauses, rx_pause_ps, tx_pauses, tx_pause_ps;
};

/* Byte times that a packet of 'bytes' takes on the line of port 'a', framing and gap included. */
uint32_t mac_line_bytes(const struct port_addr *a, uint32_t bytes);

/* The line carries 'buf' from now on: the caller has seen that it is free (start_cyc). */
void mac_start_frame(struct mac *m, uint32_t buf);

/* ---- mac_pause.c ---- */

void mac_pause_build(struct mac *m);
void mac_pause_reset(struct mac *m);

/* The peer is to be told to wait, or to go on, and was not yet. */
bool mac_pause_is_due(const struct mac *m);

/* Tell it, if that is due and the line free. Returns when to look again. */
uint64_t mac_pause_tell(struct mac *m);

/* True when 'p' was a PAUSE frame, which is dealt with; its last bit came at 'last_ps'. */
bool mac_pause_take(struct mac *m, const struct packet *p, uint64_t last_ps);

#endif
