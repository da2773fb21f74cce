/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pktizer_hdr.c - segmentation and headers of pktizer.c: opcode by place in the message, extended
 * headers by opcode (IBTA vol. 1, 9.2 and table 38; protocol.md section 2)
 */
#include "models/packet/encap.h"
#include "models/mac.h"
#include "models/pktizer.h"
#include "models/verbs/wqe.h"

struct pkt_place pktizer_place(const struct tx_job *j, uint32_t off, uint32_t n, uint32_t mtu)
{
	uint32_t left = pktizer_has_payload(j->kind) ? j->len - off : 0;
	struct pkt_place at = { .psn = (j->psn + n) & PSN_MASK, .len = left < mtu ? left : mtu };

	at.is_run_last = left <= mtu;
	at.is_first = j->is_first && n == 0;
	at.is_last = j->is_last && at.is_run_last;
	return at;
}

/* Operations by place. */
struct operations {
	uint8_t plain[4];             /* Middle, First, Last, Only: by OPCODE_FIRST | OPCODE_LAST */
	uint8_t last_more, only_more; /* with immediate data or a key to invalidate */
};
#define SAME(op) \
	{ \
		{ op, op, op, op }, op, op \
	}
static const struct operations operations[] = {
	[JOB_SEND] = { { IB_SEND_MIDDLE, IB_SEND_FIRST, IB_SEND_LAST, IB_SEND_ONLY },
		       IB_SEND_LAST_IMM,
		       IB_SEND_ONLY_IMM },
	[JOB_SEND_INV] = { { IB_SEND_MIDDLE, IB_SEND_FIRST, IB_SEND_LAST_INV, IB_SEND_ONLY_INV },
			   IB_SEND_LAST_INV,
			   IB_SEND_ONLY_INV },
	[JOB_WRITE] = { { IB_WRITE_MIDDLE, IB_WRITE_FIRST, IB_WRITE_LAST, IB_WRITE_ONLY },
			IB_WRITE_LAST_IMM,
			IB_WRITE_ONLY_IMM },
	[JOB_READ_REQ] = SAME(IB_READ_REQUEST),
	[JOB_CMP_SWAP] = SAME(IB_CMP_SWAP),
	[JOB_FETCH_ADD] = SAME(IB_FETCH_ADD),
	[JOB_FLUSH] = SAME(IB_FLUSH),
	[JOB_ATOMIC_WRITE] = SAME(IB_ATOMIC_WRITE),
	[JOB_READ_RSP] = { { IB_READ_RSP_MIDDLE, IB_READ_RSP_FIRST, IB_READ_RSP_LAST,
			     IB_READ_RSP_ONLY },
			   IB_READ_RSP_LAST,
			   IB_READ_RSP_ONLY },
	[JOB_ATOMIC_ACK] = SAME(IB_ATOMIC_ACK),
};

uint8_t pktizer_opcode(const struct tx_job *j, const struct pkt_place *at, uint8_t qp_type)
{
	static const uint8_t transport[] = {
		[QP_RC] = IB_RC, [QP_UC] = IB_UC, [QP_UD] = IB_UD, [QP_XRC] = IB_XRC
	};
	const struct operations *o = &operations[j->kind];
	uint8_t op = o->plain[(at->is_first ? OPCODE_FIRST : 0) | (at->is_last ? OPCODE_LAST : 0)];

	if (at->is_last && j->has_imm)
		op = at->is_first ? o->only_more : o->last_more;
	return (uint8_t)(transport[qp_type] | op);
}

bool pktizer_ack_req(const struct tx_job *j, const struct pkt_place *at, uint8_t qp_type,
		     uint32_t every, bool on_read, uint32_t *since)
{
	bool want =
		j->kind == JOB_READ_REQ ? on_read : at->is_last || (j->ack_req && at->is_run_last);

	if (j->kind >= JOB_READ_RSP || (qp_type != QP_RC && qp_type != QP_XRC))
		return false;
	want = want || (every && *since >= every);
	*since = want ? 0 : *since + 1;
	return want;
}

/*
 * A datagram's path and destination stand in its WQE (struct mlx5_wqe_av). Returns the destination
 * QPN.
 */
static uint32_t datagram_path(struct qp_attr *qp, const struct nic *nic, const uint8_t *av)
{
	static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct packet_path path = {
		.tclass = av[26],
		.hop_limit = av[27],
		.flow_label = load_be32(av + 28) & 0xfffff,
		.sport = (uint16_t)load_be32(av + 12),
		.sl = av[12] & 15,
	};
	struct port_addr to = { .is_v6 = memcmp(av + 32, v4_mapped, sizeof(v4_mapped)) != 0 };

	memcpy(to.lid, av + 14, sizeof(to.lid));
	memcpy(to.mac, av + 20, sizeof(to.mac));
	memcpy(to.ip, av + 32, sizeof(to.ip));
	memcpy(to.gid, av + 32, sizeof(to.gid));
	packet_template(qp, &nic->addr, &to, &path);
	return load_be32(av + 8) & 0xffffff;
}

/* A Q_Key with its high bit set stands for the QP's own (IBTA vol. 1, 10.2.5). */
static uint32_t datagram_qkey(uint32_t qkey, const struct nic *nic, const struct qp_attr *qp)
{
	return qkey >> 31 && !nic->has_plain_qkey ? qp->qkey : qkey;
}

/* The extended headers that the opcode has, in wire order. */
static void add_extended(struct packet *p, const struct nic *nic, const struct qp_attr *qp,
			 const struct tx_job *j, uint8_t opcode, const uint8_t *wqe)
{
	const struct opcode_info *o = &opcode_info[opcode];

	if (opcode_has(o, X_XRCETH))
		packet_add_xrceth(p, &(struct hdr_xrceth){ .xrcsrq = load_be32(wqe + WQE_AV_OFF) &
								     0xffffff });
	if (opcode_has(o, X_DETH))
		packet_add_deth(p,
				&(struct hdr_deth){
					.qkey = datagram_qkey(load_be32(wqe + WQE_AV_OFF), nic, qp),
					.srcqp = qp->qpn });
	if (opcode_has(o, X_FETH))
		packet_add_feth(p,
				&(struct hdr_feth){ .sel = j->imm >> 4 & 3, .plt = j->imm & 0xf });
	if (opcode_has(o, X_RETH))
		packet_add_reth(p, &(struct hdr_reth){
					   .va = j->raddr, .rkey = j->rkey, .dmalen = j->dma_len });
	if (opcode_has(o, X_AETH))
		packet_add_aeth(
			p, &(struct hdr_aeth){ .syndrome = j->syndrome, .msn = j->msn & PSN_MASK });
	if (opcode_has(o, X_ATOMICETH))
		packet_add_atomiceth(p, &(struct hdr_atomiceth){ .va = j->raddr,
								 .rkey = j->rkey,
								 .swap_add = j->swap_add,
								 .compare = j->compare });
	if (opcode_has(o, X_ATOMICACK))
		packet_add_atomicack(p, &(struct hdr_atomicack){ .original = j->swap_add });
	if (opcode_has(o, X_IMMDT))
		packet_add_immdt(p, &(struct hdr_immdt){ .imm = j->imm });
	if (opcode_has(o, X_IETH))
		packet_add_ieth(p, &(struct hdr_ieth){ .rkey = j->imm });
}

void pktizer_headers(struct packet *p, const struct nic *nic, const struct qp_attr *qp,
		     const struct tx_job *j, const struct pkt_place *at, const uint8_t *wqe,
		     bool mig_req, bool ack_req)
{
	bool takes_rq = j->kind == JOB_SEND || j->kind == JOB_SEND_INV ||
			(j->kind == JOB_WRITE && j->has_imm);
	struct hdr_bth bth = {
		.opcode = pktizer_opcode(j, at, qp->type),
		.migreq = mig_req,
		.pkey = qp->pkey,
		.destqp = qp->dest_qpn,
		.psn = at->psn,
		.ackreq = ack_req,
		.se = j->solicited && at->is_last && takes_rq,
	};

	if (qp->type == QP_UD) {
		struct qp_attr to = *qp;

		bth.destqp = datagram_path(&to, nic, wqe + WQE_AV_OFF);
		packet_begin(p, &to, &bth);
	} else {
		packet_begin(p, qp, &bth);
	}
	add_extended(p, nic, qp, j, bth.opcode, wqe);
}

/* Packet bytes as the port takes them. 'encap': how the QP's packets travel. */
static uint32_t packet_bytes(const struct tx_job *j, const struct encap_info *encap,
			     const struct pkt_place *at, uint8_t qp_type)
{
	uint32_t xeth = opcode_info[pktizer_opcode(j, at, qp_type)].xeth_bytes;
	uint32_t words = (at->len + 3u) & ~3u;

	return encap->l4 + BTH_BYTES + xeth + words + ICRC_BYTES + encap->tail;
}

uint64_t pktizer_line_bytes(const struct nic *nic, const struct qp_attr *qp, const struct tx_job *j)
{
	/* a datagram's destination stands in its WQE; it is on the port's kind of net */
	const struct encap_info *encap =
		&encaps[qp->hdr_len ? qp->encap : encap_between(&nic->addr, &nic->addr)];
	struct pkt_place at = pktizer_place(j, 0, 0, qp->mtu);
	uint64_t sum = mac_line_bytes(&nic->addr, packet_bytes(j, encap, &at, qp->type));
	uint32_t n, off;

	if (at.is_run_last)
		return sum;
	n = (uint32_t)ceil_div(j->len, qp->mtu);
	if (n > 2) {
		at = pktizer_place(j, qp->mtu, 1, qp->mtu);
		sum += (uint64_t)(n - 2) *
		       mac_line_bytes(&nic->addr, packet_bytes(j, encap, &at, qp->type));
	}
	off = (n - 1) * qp->mtu;
	at = pktizer_place(j, off, n - 1, qp->mtu);
	return sum + mac_line_bytes(&nic->addr, packet_bytes(j, encap, &at, qp->type));
}
