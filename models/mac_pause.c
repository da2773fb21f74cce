/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mac_pause.c - lossless Ethernet: PAUSE frames (IEEE 802.3, annex 31B)
 *
 * When the receive buffer holds more than rx_xoff, the peer is told to wait for the longest time
 * that a PAUSE can say, again before that is over, and to go on as soon as rx_xon is reached. What
 * lies between rx_xoff and rx_buffer takes in what the line and the peer hold by then. PAUSE frames
 * go before data and are not held up by those of the peer. All traffic of the port is paused: the
 * NIC's is of one class here.
 */
#include "models/mac.h"

#define PAUSE_LEN 60u     /* without FCS */
#define PAUSE_FRAMES 4u   /* between here and the peer */
#define QUANTUM_BITS 512u /* 31B.2 */
#define MAX_QUANTA 0xffffu

/* Destination 01-80-C2-00-00-01; type MAC control, opcode PAUSE. */
static const uint8_t to_all[6] = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 };
static const uint8_t control[4] = { 0x88, 0x08, 0x00, 0x01 };
enum { AT_SOURCE = 6, AT_TYPE = 12, AT_QUANTA = 16 };

static uint64_t quanta_ps(const struct mac *m, uint64_t quanta)
{
	return quanta * ps_of_bytes(QUANTUM_BITS / 8, m->rate);
}

void mac_pause_build(struct mac *m)
{
	if (m->line->gap == 0) /* InfiniBand has credits */
		m->pause = false;
	if (m->pause)
		m->control = pool_create(&m->b, PAUSE_FRAMES, packet_buf_size(0));
}

void mac_pause_reset(struct mac *m)
{
	m->is_xoff = false;
	m->xoff_ps = m->refresh_ps = m->paused_until_ps = 0;
}

bool mac_pause_is_due(const struct mac *m)
{
	if (!m->is_xoff)
		return m->rx_bytes > m->rx_xoff;
	return m->rx_bytes <= m->rx_xon || m->refresh_ps <= m->b.now_ps;
}

/* Half of the time that the peer waits is left when it is told again. */
static void note(struct mac *m, bool is_xoff)
{
	uint64_t now = m->b.now_ps;

	if (m->is_xoff)
		m->rx_pause_ps += now - m->xoff_ps;
	m->is_xoff = is_xoff;
	m->xoff_ps = now;
	m->refresh_ps = now + quanta_ps(m, MAX_QUANTA / 2);
	m->rx_pauses += is_xoff;
}

uint64_t mac_pause_tell(struct mac *m)
{
	const struct nic *nic = m->b.env;
	bool is_xoff = m->rx_bytes > (m->is_xoff ? m->rx_xon : m->rx_xoff);
	struct packet *p;
	uint32_t buf;

	if (!mac_pause_is_due(m))
		return m->is_xoff ? block_cycle_at(&m->b, m->refresh_ps) : CYCLE_NEVER;
	if (m->start_cyc > m->b.cycle)
		return m->start_cyc;
	if (!chan_can_push(m->tx_frame))
		return chan_stall(m->tx_frame);
	if (!pool_can_alloc(m->control))
		return pool_stall(m->control);
	buf = pool_alloc(m->control);
	p = buf_data(m->b.sim, buf);
	memset(p, 0, sizeof(*p) + PAUSE_LEN);
	p->op = p->rsp_op = OP_NONE;
	p->len = PAUSE_LEN;
	memcpy(p->data, to_all, sizeof(to_all));
	memcpy(p->data + AT_SOURCE, nic->addr.mac, sizeof(nic->addr.mac));
	memcpy(p->data + AT_TYPE, control, sizeof(control));
	if (is_xoff)
		memset(p->data + AT_QUANTA, 0xff, 2);
	note(m, is_xoff);
	mac_start_frame(m, buf);
	return block_cycle_at(&m->b, m->is_xoff ? m->refresh_ps : m->last_bit_ps);
}

bool mac_pause_take(struct mac *m, const struct packet *p, uint64_t last_ps)
{
	uint64_t quanta, left;

	if (p->len < AT_QUANTA + 2 || memcmp(p->data + AT_TYPE, control, sizeof(control)) != 0)
		return false;
	if (p->is_altered) /* a wrong FCS */
		return true;
	quanta = (uint64_t)p->data[AT_QUANTA] << 8 | p->data[AT_QUANTA + 1];
	left = m->paused_until_ps > last_ps ? m->paused_until_ps - last_ps : 0;
	m->paused_until_ps = last_ps + quanta_ps(m, quanta);
	m->tx_pause_ps += quanta_ps(m, quanta) - left;
	m->tx_pauses += quanta != 0;
	return true;
}
