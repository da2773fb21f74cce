/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mac.c - the port: MAC and PHY of Ethernet, or link layer and PHY of InfiniBand; serialisation on
 * the way out, the receive buffer on the way in
 *
 * Hardware: frames packets with preamble, FCS and padding to 64 B, sends them one behind the other
 * with the inter-frame gap, and takes frames off the line into the NIC's receive buffer (IEEE 802.3
 * clauses 3, 4). On InfiniBand: sets packets between a start and an end delimiter, and makes and
 * checks their VCRC (IBTA vol. 1, 7.8.2; vol. 2 for the delimiters).
 *
 * Modelled: exact line times. A frame starts at the picosecond at which the line is free, within
 * the clock cycle in which that happens, and the fraction of a picosecond that a rate may leave is
 * carried over, so N back-to-back frames take exactly N x (bytes + 24) x 8 / rate, or + 2 on
 * InfiniBand. Frames are store-and-forward: a received packet goes on when its last bit is in. A
 * receive buffer that is full drops; with `pause` the peer is paused before (mac_pause.c). The port's PHYs are two constant delays. The sender's VCRC is known to be right
 * unless the wire altered the packet, so it is recomputed only then, or always with `vcrc_always`.
 * Not modelled: FCS bytes (what a link damages is lost, or passes with a fresh FCS: wire.c), beats
 * of the bus between the MAC and its neighbours, code words, FLITs. At most one frame a clock cycle
 * each way: a clock slower than the rate of the smallest frames leaves gaps between these.
 */
#include "models/mac.h"
#include "models/packet/vcrc.h"

/* preamble and start of frame, FCS, inter-frame gap; 64 B with FCS */
static const struct framing ethernet = { .before = 8, .after = 4, .gap = 12, .min = 60 };
/* a symbol for each delimiter (declared); LRH, BTH and CRCs: no packet is shorter */
static const struct framing infiniband = {
	.before = 1, .after = 1, .gap = 0, .min = LRH_BYTES + BTH_BYTES + ICRC_BYTES + VCRC_BYTES
};

#define T struct mac
static const struct field mac_fields[] = {
	PARAM_RATE(T, rate, 100 * GBPS, MAC_RATE_MIN, MAC_RATE_MAX, "line rate after line coding",
		   "declared"),
	PARAM_TIME(T, tx_delay, 0, 0, 1000 * PS_PER_US,
		   "from the MAC to the first bit on the cable", "declared"),
	PARAM_TIME(T, rx_delay, 0, 0, 1000 * PS_PER_US, "from the last bit on the cable to the MAC",
		   "declared"),
	PARAM_BYTES(T, rx_buffer, 262016, 8192, 64 * MIB, "receive buffer",
		    "documented: ingress buffer of a ConnectX-5"),
	PARAM_BOOL(T, vcrc_always, 0, "recompute the VCRC of unaltered packets too", "declared"),
	PARAM_BOOL(T, pause, 0, "lossless Ethernet: PAUSE frames before the receive buffer is full",
		   "declared"),
	PARAM_BYTES(T, rx_xoff, 192 * KIB, 4096, 64 * MIB,
		    "occupancy of the receive buffer above which the peer is paused", "declared"),
	PARAM_BYTES(T, rx_xon, 128 * KIB, 4096, 64 * MIB, "at and below it goes on", "declared"),
	PORT_IN(T, tx_pkt, pkt, "packets to send"),
	PORT_OUT(T, tx_frame, frame, "frames to the line, pushed as they start"),
	PORT_IN(T, rx_frame, frame, "frames from the line"),
	PORT_OUT(T, rx_pkt, pkt, "packets received"),
	STAT(T, tx_frames, "pkt", "frames sent"),
	STAT(T, tx_bytes, "B", "bytes of the packets sent, without FCS and padding"),
	STAT(T, tx_line_bytes, "B", "byte times used on the line, framing and gap included"),
	STAT(T, tx_busy_ps, "ps", "time for which the line was used"),
	STAT(T, rx_frames, "pkt", "frames received"),
	STAT(T, rx_bytes_in, "B", "bytes of the packets received, without FCS and padding"),
	STAT(T, rx_dropped, "pkt", "frames dropped because the receive buffer was full"),
	STAT(T, rx_vcrc, "pkt", "InfiniBand: packets dropped because of a wrong VCRC"),
	STAT(T, rx_bytes_max, "B", "highest occupancy of the receive buffer"),
	STAT(T, rx_pauses, "pkt", "PAUSE frames sent that stop the peer, repeats included"),
	STAT(T, rx_pause_ps, "ps", "time for which the peer was to wait"),
	STAT(T, tx_pauses, "pkt", "PAUSE frames received that stop this port"),
	STAT(T, tx_pause_ps, "ps", "time for which this port was to wait"),
	SIGNAL(T, is_xoff, 1, "the peer was told to wait"),
	SIGNAL(T, rx_bytes, 27, "occupancy of the receive buffer"),
	FIELDS_END
};
#undef T

static const struct framing *framing_of(const struct port_addr *a)
{
	return port_is_ib(a) ? &infiniband : &ethernet;
}

uint32_t mac_line_bytes(const struct port_addr *a, uint32_t bytes)
{
	const struct framing *f = framing_of(a);

	return f->before + (bytes > f->min ? bytes : f->min) + f->after + f->gap;
}

static void mac_build(struct block *b)
{
	struct mac *m = (struct mac *)b;
	const struct nic *nic = b->env;

	m->line = framing_of(&nic->addr);
	m->rx_slots = m->rx_buffer / m->line->min + 1;
	m->rx = block_alloc(b, m->rx_slots, sizeof(*m->rx));
	mac_pause_build(m);
}

static void mac_reset(struct block *b)
{
	struct mac *m = (struct mac *)b;

	m->line_ps = m->line_rem = m->last_bit_ps = m->start_cyc = 0;
	m->sending = BUF_NONE;
	m->rx_head = m->rx_count = m->rx_bytes = m->rx_ahead = 0;
	m->rx_cyc = 0;
	mac_pause_reset(m);
}

static uint32_t padded(const struct mac *m, const struct packet *p)
{
	return p->len > m->line->min ? p->len : m->line->min;
}

static void add_vcrc(struct packet *p)
{
	uint32_t at = p->len - VCRC_BYTES;

	vcrc_store(p->data + at, vcrc_of(p->data, at));
}

static bool is_vcrc_ok(const struct packet *p)
{
	uint32_t at = p->len - VCRC_BYTES;

	return vcrc_load(p->data + at) == vcrc_of(p->data, at);
}

/* Occupy the line for 'bytes' more. */
static void line_advance(struct mac *m, uint64_t bytes)
{
	uint64_t t = bytes * 8 * PS_PER_S + m->line_rem;

	m->line_ps += t / m->rate;
	m->line_rem = t % m->rate;
}

/* First whole picosecond at which the line is free. */
static uint64_t line_free(const struct mac *m)
{
	return m->line_ps + (m->line_rem != 0);
}

static void release(struct mac *m)
{
	buf_unref(&m->b, m->sending);
	m->sending = BUF_NONE;
}

void mac_start_frame(struct mac *m, uint32_t buf)
{
	const struct nic *nic = m->b.env;
	struct packet *p = buf_data(m->b.sim, buf);
	uint32_t bytes = padded(m, p);
	struct frame f = { .buf = buf };
	uint64_t from_ps;

	if (m->sending !=
	    BUF_NONE) /* its last bit and the gap fall into this cycle, after the edge */
		release(m);
	if (line_free(m) < m->b.now_ps) {
		m->line_ps = m->b.now_ps;
		m->line_rem = 0;
	}
	from_ps = m->line_ps;
	f.first_ps = line_free(m) + m->tx_delay;
	line_advance(m, m->line->before + bytes + m->line->after);
	m->last_bit_ps = line_free(m);
	f.last_ps = m->last_bit_ps + m->tx_delay;
	line_advance(m, m->line->gap);
	m->tx_busy_ps += m->line_ps - from_ps;
	m->start_cyc = domain_cycle_at(m->b.dom, m->line_ps + 1) - 1;
	if (m->line == &infiniband)
		add_vcrc(p);
	if (p->is_msg_first)
		oplog_mark(nic->oplog, p->op, OP_FIRST_BIT, f.first_ps);
	if (p->is_msg_last)
		oplog_mark(nic->oplog, p->op, OP_LAST_BIT, f.last_ps);
	m->tx_frames++;
	m->tx_bytes += p->len;
	m->tx_line_bytes += m->line->before + bytes + m->line->after + m->line->gap;
	/* the sender keeps its buffer up to the last bit */
	m->sending = buf;
	buf_ref(m->b.sim, buf);
	frame_push(m->tx_frame, &f);
}

static uint64_t send(struct mac *m)
{
	struct block *b = &m->b;
	const struct pkt *in = pkt_peek(m->tx_pkt);
	uint64_t wake = CYCLE_NEVER;

	if (m->sending != BUF_NONE && m->last_bit_ps <= b->now_ps)
		release(m);
	if (m->sending != BUF_NONE)
		wake = block_cycle_at(b, m->last_bit_ps);
	if (!in)
		return wake;
	if (m->start_cyc > b->cycle)
		return min_u64(wake, m->start_cyc);
	if (m->paused_until_ps > b->now_ps)
		return min_u64(wake, block_cycle_at(b, m->paused_until_ps));
	if (!chan_can_push(m->tx_frame)) {
		chan_stall(m->tx_frame);
		return wake;
	}
	mac_start_frame(m, in->buf);
	chan_pop_only(m->tx_pkt);
	wake = block_cycle_at(b, m->last_bit_ps);
	return pkt_peek(m->tx_pkt) ? min_u64(wake, max_u64(m->start_cyc, b->cycle + 1)) : wake;
}

static void leave_rx(struct mac *m)
{
	m->rx_bytes -= m->rx[m->rx_head].bytes;
	m->rx_head = m->rx_head + 1 == m->rx_slots ? 0 : m->rx_head + 1;
	m->rx_count--;
}

/* Packets that were handed on ahead, at cycles before 'end'. */
static void leave_ahead(struct mac *m, uint64_t end)
{
	for (; m->rx_ahead && m->rx[m->rx_head].ready_cyc < end; m->rx_ahead--)
		leave_rx(m);
}

/* The packet received last: hand it on ahead if all before it were. PAUSE looks at what the buffer holds. */
static void deliver_ahead(struct mac *m, struct rx_slot *s)
{
	s->ready_cyc = max_u64(s->ready_cyc, m->rx_cyc + 1);
	if (m->pause || m->rx_ahead + 1 != m->rx_count || s->ready_cyc <= m->b.cycle ||
	    !pkt_push_ahead(m->rx_pkt, &(struct pkt){ .buf = s->buf }, s->ready_cyc))
		return;
	m->rx_cyc = s->ready_cyc;
	m->rx_ahead++;
}

/* Take a frame whose last bit is in off the line. */
static uint64_t take(struct mac *m)
{
	struct block *b = &m->b;
	const struct nic *nic = b->env;
	const struct frame *f = frame_peek(m->rx_frame);
	const struct packet *p;
	uint32_t bytes;

	if (!f)
		return CYCLE_NEVER;
	if (f->last_ps > b->now_ps)
		return block_cycle_at(b, f->last_ps);
	p = buf_data(b->sim, f->buf);
	if (m->pause && mac_pause_take(m, p, f->last_ps)) {
		buf_unref(b, f->buf);
		chan_pop(m->rx_frame);
		return b->cycle + 1; /* the port may send again */
	}
	bytes = padded(m, p);
	m->rx_frames++;
	m->rx_bytes_in += p->len;
	if (m->line == &infiniband && (p->is_altered || m->vcrc_always) && !is_vcrc_ok(p)) {
		m->rx_vcrc++;
		buf_unref(b, f->buf);
	} else if (m->rx_bytes + bytes > m->rx_buffer) {
		m->rx_dropped++;
		buf_unref(b, f->buf);
	} else {
		uint32_t at = (m->rx_head + m->rx_count) % m->rx_slots;

		if (p->is_msg_last) {
			oplog_mark_before(nic->oplog, p->op, OP_ARRIVE, OP_REMOTE, f->last_ps);
			oplog_mark(nic->oplog, p->rsp_op, OP_REMOTE, f->last_ps);
		}
		m->rx[at] = (struct rx_slot){ .ready_cyc = domain_cycle_at(
						      b->dom, f->last_ps + m->rx_delay),
					      .buf = f->buf,
					      .bytes = bytes };
		m->rx_count++;
		m->rx_bytes += bytes;
		m->rx_bytes_max = max_u64(m->rx_bytes_max, m->rx_bytes);
		deliver_ahead(m, &m->rx[at]);
	}
	chan_pop(m->rx_frame);
	return CYCLE_NEVER;
}

/* Hand the oldest packet of the receive buffer on. */
static uint64_t deliver(struct mac *m)
{
	struct block *b = &m->b;
	const struct rx_slot *s = &m->rx[m->rx_head];

	if (m->rx_ahead == m->rx_count)
		return CYCLE_NEVER;
	if (m->rx_ahead || s->ready_cyc > b->cycle)
		return s->ready_cyc;
	if (!chan_can_push(m->rx_pkt))
		return chan_stall(m->rx_pkt);
	pkt_push(m->rx_pkt, &(struct pkt){ .buf = s->buf });
	leave_rx(m);
	return m->rx_count ? b->cycle + 1 : CYCLE_NEVER;
}

static uint64_t mac_step(struct block *b)
{
	struct mac *m = (struct mac *)b;
	uint64_t wake;

	leave_ahead(m, b->cycle);
	wake = m->pause ? mac_pause_tell(m) : CYCLE_NEVER;
	wake = min_u64(wake, send(m));
	wake = min_u64(wake, take(m));
	leave_ahead(m, b->cycle + 1);
	wake = min_u64(wake, deliver(m));
	if (m->pause && mac_pause_is_due(m))
		wake = min_u64(wake, max_u64(m->start_cyc, b->cycle + 1));
	return wake;
}

static const char *mac_check(const struct block *b, const char **param)
{
	const struct mac *m = (const struct mac *)b;

	if (m->rx_xon > m->rx_xoff) {
		*param = "rx_xon";
		return "above where the peer is paused; allowed: up to rx_xoff";
	}
	if (m->pause && m->rx_xoff >= m->rx_buffer) {
		*param = "rx_xoff";
		return "the buffer is full before the peer is paused; allowed: below rx_buffer";
	}
	return NULL;
}

const struct block_class mac_class = {
	.name = "mac",
	.impl = "c",
	.size = sizeof(struct mac),
	.fields = mac_fields,
	.doc = "MAC and PHY, Ethernet or InfiniBand: exact serialisation, receive buffer",
	.build = mac_build,
	.reset = mac_reset,
	.step = mac_step,
	.check = mac_check,
};
