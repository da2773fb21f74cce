/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tx_port.c - the multiplexer in front of the MAC
 *
 * Hardware: an arbiter between the packetizer's packets (requests, READ and ATOMIC responses) and
 * the responder's acknowledgements. What came first goes first, of two at once the one that was not
 * served last: the responder hands over an ACK when the responses to the requests before it have
 * been handed over, and it must not pass them here (IBTA vol. 1, 9.7.5.1). One packet a cycle, and
 * the MAC's serialisation is what limits throughput. Congestion notification packets and priority
 * classes will be further inputs.
 */
#include "models/msg.h"

struct tx_port {
	struct block b;
	/* ports */
	struct chan *data, *ack, *pkt;
	/* state */
	uint8_t turn; /* input that goes first of two at once: 0 data, 1 ack */
	/* statistics */
	uint64_t data_pkts, ack_pkts;
};

#define T struct tx_port
static const struct field tx_port_fields[] = {
	PORT_IN(T, data, pkt, "packets of the packetizer"),
	PORT_IN(T, ack, pkt, "acknowledgements of the responder"),
	PORT_OUT(T, pkt, pkt, "granted packets to the MAC"),
	STAT(T, data_pkts, "pkt", "packets granted to the packetizer"),
	STAT(T, ack_pkts, "pkt", "packets granted to the responder"),
	SIGNAL(T, turn, 1, "input that goes first of two at once: 0 data, 1 ack"),
	FIELDS_END
};
#undef T

static void tx_port_reset(struct block *b)
{
	struct tx_port *t = (struct tx_port *)b;

	t->turn = 0;
}

/* The input whose head has waited longer; 2 = none has one. */
static unsigned oldest(const struct tx_port *t)
{
	const struct chan *const in[2] = { t->data, t->ack };
	unsigned first = t->turn, other = first ^ 1;

	if (!chan_peek(in[first]))
		return chan_peek(in[other]) ? other : 2;
	return chan_peek(in[other]) && *chan_stamp(in[other], in[other]->head) <
					       *chan_stamp(in[first], in[first]->head)
		       ? other
		       : first;
}

static uint64_t tx_port_step(struct block *b)
{
	struct tx_port *t = (struct tx_port *)b;
	struct chan *in[2] = { t->data, t->ack };
	unsigned from = oldest(t);

	if (from == 2)
		return CYCLE_NEVER;
	if (!chan_can_push(t->pkt))
		return chan_stall(t->pkt);
	pkt_push(t->pkt, pkt_peek(in[from]));
	chan_pop(in[from]);
	t->turn = (uint8_t)(from ^ 1);
	if (from == 0)
		t->data_pkts++;
	else
		t->ack_pkts++;
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
