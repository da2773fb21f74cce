/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_responder.h - a responder with everything around it: memory behind keys, posted receives,
 * packets by hand
 */
#ifndef TESTBENCH_TB_RESPONDER_H
#define TESTBENCH_TB_RESPONDER_H

#include "models/packet/aeth.h"
#include "models/nic.h"
#include "models/packet/opcode.h"
#include "models/packet/packet.h"
#include "models/responder.h"
#include "testbench/tb_dma.h"

extern const struct block_class responder_class;

#define TBS_QPS 2u
#define TBS_MTU 256u
#define TBS_PSN 200u         /* first expected */
#define TBS_BASE 0x100000ull /* memory, all of it under both keys */
#define TBS_MEM 65536u
#define TBS_RKEY 0x99u
#define TBS_LKEY 0x77u
#define TBS_PD 3u
#define TBS_RECVS 1024u
#define TBS_ACKS 65536u
#define TBS_CHECKS 64u

/* An ACK or NAK that the responder sent. */
struct tbs_ack {
	uint32_t qpi, psn, msn;
	uint8_t syndrome;
};

struct tb_responder {
	struct nic nic;
	struct qp_attr qp[TBS_QPS];
	struct tb t;
	struct tb_port *rx, *rq_rsp, *xlate_rsp, *atomic_rsp, *job_done;
	struct tb_port *rq_req, *job, *ack, *cqe, *peer_error, *error, *mpt_op, *mpt_rsp, *rsc_rsp;
	uint32_t n_lookups; /* of responder resources */
	struct tb_dma dma;
	uint8_t mem[TBS_MEM];
	struct pool *pkts, *recvs;
	uint8_t access;    /* of the rkey */
	uint32_t n_checks; /* of ranges */
	bool holds_checks; /* they stay unanswered, until tbs_answer_checks */
	struct xlate_rsp check[TBS_CHECKS];
	uint32_t n_held;
	/* posted receives: handles, per QP */
	struct rq_rsp recv[TBS_QPS][TBS_RECVS];
	uint32_t n_posted[TBS_QPS], n_taken[TBS_QPS];
	bool is_mute[TBS_QPS]; /* requests for receive WQEs stay unanswered */
	bool is_silent;        /* no job ends */
	bool has_sacks;        /* selective repeat */
	uint8_t done_status;
	uint8_t mpt_status; /* of the answers to binds and invalidations */
	struct tbs_ack acks[TBS_ACKS];
	uint32_t n_acks;
};

/* What a packet by hand carries. */
struct tbs_pkt {
	uint64_t at;            /* not before this cycle */
	uint32_t qpi, psn, len; /* payload: byte i is seed + i */
	uint8_t operation, seed;
	bool ack_req, solicited;
	uint64_t va; /* RETH, AtomicETH */
	uint32_t rkey, dma_len, imm;
	uint64_t swap_add, compare;
	uint32_t src_qp; /* DETH */
};

/* QPs of MTU 256, all rights, 4 responder resources; set s->qp before tbs_start. */
void tbs_init(struct tb_responder *s);
void tbs_start(struct tb_responder *s, const char *const *sets);

/* Run to the end; every buffer must have come home and nothing may be left over. */
void tbs_end(struct tb_responder *s);

/* Run until it settles. */
void tbs_settle(struct tb_responder *s);

void tbs_send(struct tb_responder *s, const struct tbs_pkt *p);

/* Answer the first 'n' checks that were held, the last of them first, and settle. */
void tbs_answer_checks(struct tb_responder *s, uint32_t n);

/*
 * Post a receive of 'n_sge' segments that share 'len' bytes unevenly, from memory offset 'off' on.
 */
void tbs_recv(struct tb_responder *s, uint32_t qpi, uint32_t off, uint32_t len, uint32_t n_sge);

static inline const struct tx_job *tbs_job(const struct tb_responder *s, uint32_t i)
{
	return tb_got(s->job, i);
}
static inline const struct cqe_req *tbs_cqe(const struct tb_responder *s, uint32_t i)
{
	return tb_got(s->cqe, i);
}

#endif
