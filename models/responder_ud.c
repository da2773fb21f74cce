/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responder_ud.c - the receive side of unreliable datagrams
 *
 * A message is one packet, whatever its PSN. In front of its payload the receive buffer gets 40
 * bytes: the GRH or IPv6 header, or 20 zeros and the IPv4 header, or zeros when there is none. What
 * cannot be taken is dropped; the parser has checked P_Key and Q_Key.
 *
 * Source: IBTA vol. 1, 9.8.3 and 11.4.2.1; annex A17.4.5 (IPv4); protocol.md section 9.
 */
#include "models/packet/encap.h"
#include "models/responder.h"

/* Bytes of the packet's network header, which begins at *at; 0 = it has none. */
static uint32_t network_header(const struct packet *p, const uint8_t **at)
{
	static const uint8_t bytes[ENCAPS] = { [ENCAP_IPV4] = IPV4_BYTES,
					       [ENCAP_IPV6] = IPV6_BYTES,
					       [ENCAP_ROCE1] = GRH_BYTES,
					       [ENCAP_IB_GRH] = GRH_BYTES };
	enum encap encap;

	if (encap_of(p, &encap) != DROP_NONE)
		return 0;
	*at = p->data + encaps[encap].net;
	return bytes[encap];
}

static void begin(struct responder *r, struct rsp_qp *q, struct rsp_ctx *c,
		  const struct opcode_info *i)
{
	const struct packet *p = buf_data(r->b.sim, c->m.buf);
	const uint8_t *header;
	struct hdr_deth h;

	rsp_decode(r, c, i);
	if (!rsp_is_valid(r, q, c, i)) {
		rsp_drop(r, c);
		return;
	}
	hdr_deth_decode(&h, p->data + c->m.xeth);
	c->flags_rqpn = h.srcqp | (network_header(p, &header) ? CQE_HAS_GRH : 0);
	c->grh_left = RSP_GRH_BYTES;
	rsp_proceed(r, q, c, i);
}

/* The network header area of the packet in *to. */
static void grh_area(const struct packet *p, uint8_t *to)
{
	const uint8_t *header = NULL;
	uint32_t n = network_header(p, &header);

	memset(to, 0, RSP_GRH_BYTES - n);
	if (n)
		memcpy(to + RSP_GRH_BYTES - n, header, n);
}

void rsp_push_grh(struct responder *r, struct rsp_ctx *c, struct rsp_commit *e)
{
	struct dma_req d = { .buf = pool_alloc(r->grh_pool),
			     .off = RSP_GRH_BYTES - c->grh_left,
			     .tag = (uint32_t)(e - r->ring),
			     .pd = rsp_attr(r, c->m.qpi)->pd,
			     .is_write = 1,
			     .cls = DMA_PAYLOAD_WRITE,
			     .op = OP_NONE };

	grh_area(buf_data(r->b.sim, c->m.buf), buf_data(r->b.sim, d.buf));
	rsp_recv_piece(r, &r->qp[c->m.qpi], e, c->grh_left, &d);
	c->grh_left -= d.len;
	dma_req_push(r->dma_req, &d);
}

const struct rsp_service rsp_service_ud = {
	.transport = IB_UD, .begin = begin, .no_recv = rsp_drop, .refuse = rsp_refuse_unreliable
};
