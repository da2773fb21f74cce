/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tx_port.c - the multiplexer in front of the MAC
 *
 * Hardware: an arbiter between the packetizer's packets (requests, READ and ATOMIC responses) and
 * the responder's acknowledgements. Round robin that moves on a grant, so neither can starve the
 * other; one packet a cycle, and the MAC's serialisation is what limits throughput. The responder
 * is told when the last packet of a run of responses is granted: an acknowledgement that must not
 * pass it (IBTA vol. 1, 9.7.5.1) is handed over then and no sooner, however long packets wait.
 * Congestion notification packets and priority classes will be further inputs.
 */
#include "models/msg.h"
#include "sim/pool.h"

struct tx_port {
	struct block b;
	/* ports */
	struct chan *data, *ack, *pkt, *rsp_done;
	/* state */
	uint8_t turn; /* input looked at first: 0 data, 1 ack */
	/* statistics */
	uint64_t data_pkts, ack_pkts;
};

#define T struct tx_port
static const struct field tx_port_fields[] = {
	PORT_IN(T, data, pkt, "packets of the packetizer"),
	PORT_IN(T, ack, pkt, "acknowledgements of the responder"),
	PORT_OUT(T, pkt, pkt, "granted packets to the MAC"),
	PORT_OUT(T, rsp_done, job_done, "response runs whose last packet was granted, or failed"),
	STAT(T, data_pkts, "pkt", "packets granted to the packetizer"),
	STAT(T, ack_pkts, "pkt", "packets granted to the responder"),
	SIGNAL(T, turn, 1, "input looked at first: 0 data, 1 ack"),
	FIELDS_END
};
#undef T

static void tx_port_reset(struct block *b)
{
	struct tx_port *t = (struct tx_port *)b;

	t->turn = 0;
}

/* Pass the packet on, and say that a run of responses ended with it. False when a port refused. */
static bool grant(struct tx_port *t, const struct pkt *m)
{
	if (m->ends_job && !chan_can_push(t->rsp_done)) {
		chan_stall(t->rsp_done);
		return false;
	}
	if (m->buf != BUF_NONE) {
		if (!chan_can_push(t->pkt)) {
			chan_stall(t->pkt);
			return false;
		}
		pkt_push(t->pkt, &(struct pkt){ .buf = m->buf });
	}
	if (m->ends_job)
		job_done_push(
			t->rsp_done,
			&(struct job_done){ .tag = m->tag, .qpi = m->qpi, .status = m->status });
	return true;
}

static uint64_t tx_port_step(struct block *b)
{
	struct tx_port *t = (struct tx_port *)b;
	struct chan *in[2] = { t->data, t->ack };
	unsigned from = t->turn;
	const struct pkt *m = pkt_peek(in[from]);

	if (!m)
		m = pkt_peek(in[from ^= 1]);
	if (!m || !grant(t, m))
		return CYCLE_NEVER;
	*(from == 0 ? &t->data_pkts : &t->ack_pkts) += m->buf != BUF_NONE;
	chan_pop(in[from]);
	t->turn = (uint8_t)(from ^ 1);
	/* the other input's head may be waiting, and only this step knows */
	return pkt_peek(in[from ^ 1]) ? b->cycle + 1 : CYCLE_NEVER;
}

const struct block_class tx_port_class = {
	.name = "tx_port",
	.impl = "c",
	.size = sizeof(struct tx_port),
	.fields = tx_port_fields,
	.doc = "arbiter between data packets and acknowledgements in front of the MAC",
	.reset = tx_port_reset,
	.step = tx_port_step,
};
