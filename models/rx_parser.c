/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rx_parser.c - header checks, ICRC, and dispatch of received packets
 *
 * Hardware: a streaming parser behind the receive buffer. It takes a packet apart, checks what
 * needs no per-QP history (IBTA vol. 1, 9.6; annex A17), asks the receive-side context cache for
 * the QP, and passes the packet to the responder (requests) or the requester (responses) once its
 * ICRC is in and the context is there.
 *
 * Modelled: the datapath is busy ceil(len / width) cycles a packet; context look-ups are pipelined,
 * up to `depth` packets deep, and packets leave in order of arrival. What is wrong is dropped
 * silently and counted by reason. The sender's ICRC is known to be right unless the wire altered
 * the packet, so it is recomputed only then, or always with `icrc_always`.
 * Not modelled: multicast, congestion notification (CNPs count as drop_type).
 */
#include <string.h>

#include "models/msg.h"
#include "models/nic.h"
#include "models/packet/packet.h"
#include "sim/pool.h"

/* A parsed packet that waits for its context or its last byte. */
struct parsed {
	uint64_t ready_cyc;
	struct rx_pkt out;
	bool is_response;
};

struct rx_parser {
	struct block b;
	/* parameters */
	uint32_t width, depth, latency;
	bool icrc_always;
	/* ports */
	struct chan *pkt, *qpc_rsp, *to_responder, *to_requester, *qpc_req;
	/* state */
	uint64_t busy_until;  /* cycle */
	struct parsed *queue; /* ring of depth */
	uint32_t head, waiting;
	/* statistics */
	uint64_t packets, bytes, requests, responses, busy_ps;
	uint64_t drop_short, drop_ethertype, drop_ip, drop_lrh, drop_grh, drop_port, drop_tver;
	uint64_t drop_opcode, drop_length, drop_icrc, drop_address, drop_qp, drop_type, drop_pkey,
		drop_qkey;
};

#define T struct rx_parser
static const struct field rx_parser_fields[] = {
	PARAM(T, width, 128, 8, 1024, "B", "datapath: bytes a cycle", "declared"),
	PARAM(T, depth, 32, 1, 1024, "pkt", "packets that wait for their contexts", "declared"),
	PARAM(T, latency, 4, 1, 1024, "cyc", "from the last byte to the dispatch", "declared"),
	PARAM_BOOL(T, icrc_always, 0, "recompute the ICRC of unaltered packets too", "declared"),
	PORT_IN(T, pkt, pkt, "packets of the MAC"),
	PORT_OUT(T, qpc_req, ctx_req, "look-ups of receive contexts"),
	PORT_IN(T, qpc_rsp, ctx_rsp, "their answers, in order"),
	PORT_OUT(T, to_responder, rx_pkt, "requests"),
	PORT_OUT(T, to_requester, rx_pkt, "responses"),
	STAT(T, packets, "pkt", "packets looked at"),
	STAT(T, bytes, "B", "bytes of these"),
	STAT(T, requests, "pkt", "packets passed to the responder"),
	STAT(T, responses, "pkt", "packets passed to the requester"),
	STAT(T, busy_ps, "ps", "time for which packets used the datapath"),
	STAT(T, drop_short, "pkt", "dropped: truncated, or lengths disagree"),
	STAT(T, drop_ethertype, "pkt", "dropped: not IP, not RoCEv1"),
	STAT(T, drop_ip, "pkt", "dropped: IP version, options, fragment, checksum or protocol"),
	STAT(T, drop_lrh, "pkt", "dropped: LRH version, or a raw packet"),
	STAT(T, drop_grh, "pkt", "dropped: GRH version, or no BTH behind"),
	STAT(T, drop_port, "pkt", "dropped: not the RoCEv2 port"),
	STAT(T, drop_tver, "pkt", "dropped: transport version"),
	STAT(T, drop_opcode, "pkt", "dropped: unknown opcode"),
	STAT(T, drop_length, "pkt", "dropped: impossible payload length"),
	STAT(T, drop_icrc, "pkt", "dropped: wrong ICRC"),
	STAT(T, drop_address, "pkt", "dropped: not for this port, or not from the QP's peer"),
	STAT(T, drop_qp, "pkt", "dropped: no such QP"),
	STAT(T, drop_type, "pkt", "dropped: opcode of another transport than the QP's"),
	STAT(T, drop_pkey, "pkt", "dropped: partition key"),
	STAT(T, drop_qkey, "pkt", "dropped: queue key"),
	SIGNAL(T, waiting, 11, "packets that wait for context or last byte"),
	FIELDS_END
};
#undef T

static void rx_parser_build(struct block *b)
{
	struct rx_parser *r = (struct rx_parser *)b;

	r->queue = block_alloc(b, r->depth, sizeof(*r->queue));
}

static void rx_parser_reset(struct block *b)
{
	struct rx_parser *r = (struct rx_parser *)b;

	r->busy_until = 0;
	r->head = r->waiting = 0;
}

static uint64_t *drop_counter(struct rx_parser *r, enum packet_drop why)
{
	switch (why) {
	case DROP_SHORT:
		return &r->drop_short;
	case DROP_ETHERTYPE:
		return &r->drop_ethertype;
	case DROP_IP:
		return &r->drop_ip;
	case DROP_LRH:
		return &r->drop_lrh;
	case DROP_GRH:
		return &r->drop_grh;
	case DROP_PORT:
		return &r->drop_port;
	case DROP_TVER:
		return &r->drop_tver;
	case DROP_OPCODE:
		return &r->drop_opcode;
	case DROP_LENGTH:
		return &r->drop_length;
	case DROP_ICRC:
		return &r->drop_icrc;
	case DROP_ADDRESS:
		return &r->drop_address;
	case DROP_QP:
		return &r->drop_qp;
	case DROP_TYPE:
		return &r->drop_type;
	case DROP_PKEY:
		return &r->drop_pkey;
	default:
		return &r->drop_qkey;
	}
}

/* IBTA vol. 1, 10.9.3: equal in 15 bits, not 0, and not two limited members. */
static bool is_pkey_match(uint16_t a, uint16_t b)
{
	return (a & 0x7fff) == (b & 0x7fff) && (a & 0x7fff) != 0 && ((a | b) & 0x8000);
}

static unsigned transport_of(uint8_t qp_type)
{
	switch (qp_type) {
	case QP_RC:
		return IB_RC;
	case QP_UC:
		return IB_UC;
	case QP_UD:
		return IB_UD;
	default:
		return IB_XRC;
	}
}

/* Checks against the QP's attributes. */
static enum packet_drop check_qp(const struct packet *p, const struct packet_view *v,
				 const struct qp_attr *qp)
{
	struct hdr_deth deth;

	if ((v->bth.opcode & IB_TRANSPORT_MASK) != transport_of(qp->type))
		return DROP_TYPE;
	if (!is_pkey_match(v->bth.pkey, qp->pkey))
		return DROP_PKEY;
	if (qp->type != QP_UD)
		return packet_is_from(p, v, qp) ? DROP_NONE : DROP_ADDRESS;
	hdr_deth_decode(&deth, p->data + v->l4 + v->info->off[X_DETH]);
	return deth.qkey == qp->qkey ? DROP_NONE : DROP_QKEY;
}

/* All checks in the order in which the bytes come; on success *qpi is the QP. */
static enum packet_drop check(const struct rx_parser *r, const struct packet *p,
			      struct packet_view *v, uint32_t *qpi)
{
	const struct nic *nic = r->b.env;
	enum packet_drop why = packet_parse(p, v);

	if (why != DROP_NONE)
		return why;
	if ((p->is_altered || r->icrc_always) && !packet_icrc_ok(p, v))
		return DROP_ICRC;
	if (!packet_is_to(p, v, &nic->addr))
		return DROP_ADDRESS;
	*qpi = nic_qpi(nic, v->bth.destqp);
	if (*qpi == QPI_NONE)
		return DROP_QP;
	return check_qp(p, v, &nic->qp[*qpi]);
}

static void enqueue(struct rx_parser *r, uint32_t buf, const struct packet_view *v, uint32_t qpi)
{
	struct parsed *e = &r->queue[(r->head + r->waiting++) % r->depth];

	e->ready_cyc = r->busy_until + r->latency;
	e->is_response = v->info->is_response;
	e->out = (struct rx_pkt){ .buf = buf,
				  .qpi = qpi,
				  .psn = v->bth.psn,
				  .len = v->payload_len,
				  .xeth = v->xeth,
				  .payload = v->payload,
				  .opcode = v->bth.opcode,
				  .ack_req = v->bth.ackreq,
				  .solicited = v->bth.se };
	ctx_req_push(r->qpc_req, &(struct ctx_req){ .index = qpi });
}

/* Start on the next packet. */
static uint64_t accept(struct rx_parser *r)
{
	struct block *b = &r->b;
	const struct pkt *in = pkt_peek(r->pkt);
	const struct packet *p;
	struct packet_view v;
	uint32_t qpi, buf;
	enum packet_drop why;

	/* a full queue is looked at again when its head leaves */
	if (!in || r->waiting == r->depth)
		return CYCLE_NEVER;
	if (b->cycle < r->busy_until)
		return r->busy_until;
	if (!chan_can_push(r->qpc_req))
		return chan_stall(r->qpc_req);
	buf = in->buf;
	p = buf_data(b->sim, buf);
	r->packets++;
	r->bytes += p->len;
	r->busy_until = b->cycle + ceil_div(p->len, r->width);
	r->busy_ps += domain_edge(b->dom, r->busy_until) - b->now_ps;
	why = check(r, p, &v, &qpi);
	if (why == DROP_NONE) {
		enqueue(r, buf, &v, qpi);
	} else {
		*drop_counter(r, why) += 1;
		buf_unref(b, buf);
	}
	chan_pop(r->pkt);
	return CYCLE_NEVER;
}

/* Pass the oldest packet on, when its context and its last byte are there. */
static uint64_t dispatch(struct rx_parser *r)
{
	struct block *b = &r->b;
	struct parsed *e = &r->queue[r->head];
	const struct nic *nic = b->env;
	const struct packet *p;
	struct chan *to;

	if (!ctx_rsp_peek(r->qpc_rsp))
		return CYCLE_NEVER;
	SIM_CHECK(r->waiting > 0, b);
	if (b->cycle < e->ready_cyc)
		return e->ready_cyc;
	to = e->is_response ? r->to_requester : r->to_responder;
	if (!chan_can_push(to))
		return chan_stall(to);
	p = buf_data(b->sim, e->out.buf);
	if (p->is_msg_last)
		oplog_mark_before(nic->oplog, p->op, OP_PARSE, OP_REMOTE, b->now_ps);
	rx_pkt_push(to, &e->out);
	chan_pop(r->qpc_rsp);
	if (e->is_response)
		r->responses++;
	else
		r->requests++;
	r->head = r->head + 1 == r->depth ? 0 : r->head + 1;
	r->waiting--;
	return CYCLE_NEVER;
}

static uint64_t rx_parser_step(struct block *b)
{
	struct rx_parser *r = (struct rx_parser *)b;
	uint64_t wake = dispatch(r);

	return min_u64(wake, accept(r));
}

const struct block_class rx_parser_class = {
	.name = "rx_parser",
	.impl = "c",
	.size = sizeof(struct rx_parser),
	.fields = rx_parser_fields,
	.doc = "header checks, ICRC and dispatch of received packets",
	.build = rx_parser_build,
	.reset = rx_parser_reset,
	.step = rx_parser_step,
};
