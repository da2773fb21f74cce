/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pkt_util.c - packets for tests
 */
#include "testbench/pkt_util.h"

#include <string.h>

#include "models/packet/vcrc.h"

#define FIRST_QPN 0x100u
#define PEER_QPN 0x200u
#define QKEY 0x11112222u

static void port_init(struct port_addr *a, enum encap encap, uint8_t n)
{
	*a = (struct port_addr){ .net = (uint8_t)pkt_net(encap),
				 .mac = { 2, 0, 0, 0, 0, n },
				 .is_v6 = encap != ENCAP_IPV4,
				 .lid = { 0, n } };
	if (a->is_v6) {
		a->ip[0] = 0xfd;
		a->ip[15] = n;
	} else {
		memcpy(a->ip + 10, (const uint8_t[6]){ 0xff, 0xff, 10, 0, 0, n }, 6);
	}
	memcpy(a->gid, a->ip, 16);
}

enum port_net pkt_net(enum encap encap)
{
	static const enum port_net nets[ENCAPS] = { NET_ROCE2, NET_ROCE2, NET_ROCE1, NET_IB,
						    NET_IB_GRH };

	return nets[encap];
}

struct packet *pkt_room(void)
{
	return x_calloc(1, packet_buf_size(4096));
}

void pkt_bench_init(struct pkt_bench *p, enum encap encap)
{
	static const uint8_t types[3] = { QP_RC, QP_UC, QP_UD };
	const struct packet_path path = { .tclass = 0x6a, .hop_limit = 64, .sl = 5 };
	struct port_addr peer = { 0 };

	memset(p, 0, sizeof(*p));
	p->nic.name = "nic0";
	p->nic.qp = p->qp;
	p->nic.n_qp = 3;
	p->nic.qp_dir[0] = p->dir;
	port_init(&p->nic.addr, encap, 2);
	port_init(&peer, encap, 1);
	for (unsigned i = 0; i < 3; i++) {
		p->dir[FIRST_QPN + i] = i + 1;
		p->qp[i] = (struct qp_attr){ .qpn = FIRST_QPN + i,
					     .dest_qpn = PEER_QPN + i,
					     .type = types[i],
					     .pkey = PKEY_DEFAULT,
					     .qkey = QKEY,
					     .mtu = 4096 };
		p->peer[i] = (struct qp_attr){ .qpn = PEER_QPN + i,
					       .dest_qpn = FIRST_QPN + i,
					       .type = types[i],
					       .pkey = PKEY_DEFAULT,
					       .qkey = QKEY,
					       .mtu = 4096 };
		packet_template(&p->qp[i], &p->nic.addr, &peer, &path);
		packet_template(&p->peer[i], &peer, &p->nic.addr, &path);
	}
}

static void add_xeths(struct packet *p, const struct opcode_info *o, const struct qp_attr *from)
{
	if (opcode_has(o, X_DETH))
		packet_add_deth(p, &(struct hdr_deth){ .qkey = from->qkey, .srcqp = from->qpn });
	if (opcode_has(o, X_FETH))
		packet_add_feth(p, &(struct hdr_feth){ .plt = 1 });
	if (opcode_has(o, X_RETH))
		packet_add_reth(p, &(struct hdr_reth){ .va = 0x123456789abcdef0,
						       .rkey = 0x11223344,
						       .dmalen = 8 });
	if (opcode_has(o, X_AETH))
		packet_add_aeth(p, &(struct hdr_aeth){ .syndrome = 0x1f, .msn = 0x010203 });
	if (opcode_has(o, X_ATOMICETH))
		packet_add_atomiceth(
			p, &(struct hdr_atomiceth){
				   .va = 0x1000, .rkey = 5, .swap_add = 6, .compare = 7 });
	if (opcode_has(o, X_ATOMICACK))
		packet_add_atomicack(p, &(struct hdr_atomicack){ .original = 0x8877665544332211 });
	if (opcode_has(o, X_IMMDT))
		packet_add_immdt(p, &(struct hdr_immdt){ .imm = 0xcafe0001 });
	if (opcode_has(o, X_IETH))
		packet_add_ieth(p, &(struct hdr_ieth){ .rkey = 0xbeef });
}

void pkt_build(struct packet *at, const struct pkt_bench *p, unsigned i, uint8_t opcode,
	       uint32_t psn, uint32_t len)
{
	const struct qp_attr *from = &p->peer[i];
	struct hdr_bth bth = { .opcode = opcode,
			       .migreq = 1,
			       .pkey = from->pkey,
			       .destqp = from->dest_qpn,
			       .ackreq = 1,
			       .psn = psn };

	packet_begin(at, from, &bth);
	add_xeths(at, &opcode_info[opcode], from);
	for (uint32_t k = 0; k < len; k++)
		packet_payload(at)[k] = (uint8_t)(k + psn);
	packet_add_payload(at, len);
	packet_end(at);
	if (encap_is_ib(at->encap))
		vcrc_store(at->data + at->len - VCRC_BYTES,
			   vcrc_of(at->data, at->len - VCRC_BYTES));
}

uint32_t pkt_in_pool(struct pool *pool, const struct pkt_bench *p, unsigned i, uint8_t opcode,
		     uint32_t psn, uint32_t len)
{
	uint32_t h = pool_alloc(pool);

	pkt_build(buf_data(pool->owner->sim, h), p, i, opcode, psn, len);
	return h;
}

uint32_t frame_in_pool(struct pool *pool, uint32_t len)
{
	uint32_t h = pool_alloc(pool);
	struct packet *p = buf_data(pool->owner->sim, h);

	memset(p, 0, sizeof(*p) + len);
	p->len = (uint16_t)len;
	return h;
}
