/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pktizer.h - which packet comes next of a job, and its headers: what pktizer.c needs and a test
 * can call alone
 */
#ifndef MODELS_PKTIZER_H
#define MODELS_PKTIZER_H

#include "models/msg.h"
#include "models/packet/packet.h"

/* Place of one packet in its job. */
struct pkt_place {
	uint32_t psn;
	uint32_t len;           /* payload bytes */
	bool is_first, is_last; /* of the message */
	bool is_run_last;       /* of the job */
};

/* The packet that starts 'off' payload bytes into the job, the n-th (from 0); path MTU 'mtu'. */
struct pkt_place pktizer_place(const struct tx_job *j, uint32_t off, uint32_t n, uint32_t mtu);

/* Whether jobs of this kind carry payload bytes. */
static inline bool pktizer_has_payload(uint8_t job_kind)
{
	return job_kind == JOB_SEND || job_kind == JOB_SEND_INV || job_kind == JOB_WRITE ||
	       job_kind == JOB_READ_RSP || job_kind == JOB_ATOMIC_WRITE;
}

/*
 * BTH opcode of that packet on a QP of type 'qp_type' (enum qp_type).
 */
uint8_t pktizer_opcode(const struct tx_job *j, const struct pkt_place *at, uint8_t qp_type);

/*
 * Whether packet 'at' of a job asks for an acknowledgement: the last of a message or of a job that wants one, a READ
 * request if 'on_read', and one after 'every' without (0 = none). '*since' counts those without, per QP.
 */
bool pktizer_ack_req(const struct tx_job *j, const struct pkt_place *at, uint8_t qp_type,
		     uint32_t every, bool on_read, uint32_t *since);

/*
 * Write headers into *p for QP 'qp' of NIC 'nic': path and BTH (flags 'mig_req' and 'ack_req' as
 * given), then what the opcode has. 'wqe' are the WQE's bytes (UD: address vector; XRC: SRQ
 * number), NULL for responses.
 */
void pktizer_headers(struct packet *p, const struct nic *nic, const struct qp_attr *qp,
		     const struct tx_job *j, const struct pkt_place *at, const uint8_t *wqe,
		     bool mig_req, bool ack_req);

/*
 * Byte times that job 'j' of QP 'qp' of NIC 'nic' takes on the line: headers, payload, pad, CRCs,
 * framing and gaps of all its packets.
 */
uint64_t pktizer_line_bytes(const struct nic *nic, const struct qp_attr *qp,
			    const struct tx_job *j);

#endif
