/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_cqe.h - the completion writer with what stands around it: rings in memory, doorbell records, and
 * a program that takes completions, alone or compressed, by the description in models/cqe_compress.h
 */
#ifndef TESTBENCH_TB_CQE_H
#define TESTBENCH_TB_CQE_H

#include "models/msg.h"
#include "models/nic.h"
#include "testbench/tb_dma.h"

#define TB_CQE_CQS 2u
#define TB_CQE_QPS 3u
#define TB_CQE_MAX_DEPTH 64u
#define TB_CQE_MAX 600u

extern const struct block_class cqe_writer_class;

/* A completion as the program has it. */
struct tb_cqe_seen {
	uint8_t opcode, syndrome, wqe_opcode;
	bool solicited;
	uint32_t counter, byte_cnt, imm, qpn;
};

/* What is done wrong on purpose. */
enum tb_cqe_fault {
	TB_CQE_FAULT_NONE,
	TB_CQE_FAULT_MINI,
	TB_CQE_FAULT_OWNERS,
	TB_CQE_FAULT_ARRAY,
	TB_CQE_FAULT_OWNER_100 /* write number 100 lands with the wrong owner bit */
};

struct tb_cqe_bench {
	struct nic nic;
	struct qp_attr qp[TB_CQE_QPS];
	struct cq_attr cq[TB_CQE_CQS];
	struct srq_attr srq;
	struct tb t;
	struct tb_port *req, *rsp, *dma_rsp, *dma_req;
	uint32_t depth;
	uint8_t ring[TB_CQE_CQS][TB_CQE_MAX_DEPTH * 64];
	bool is_new[TB_CQE_CQS][TB_CQE_MAX_DEPTH]; /* written since it was last given back */
	uint32_t ci[TB_CQE_CQS];                   /* of the program */
	uint32_t seen_ci[TB_CQE_CQS];              /* in the doorbell record */
	bool reaps;                                /* the program takes each completion at once */
	uint32_t lag; /* and updates the doorbell record when it is this far behind */
	uint32_t n_seen[TB_CQE_CQS], n_blocks, n_stale, n_errors_in_blocks;
	struct tb_cqe_seen seen[TB_CQE_CQS][TB_CQE_MAX]; /* no padding: compared as bytes */
	uint32_t n_written;
	uint32_t n_asked[TB_CQE_CQS]; /* doorbell records read */
	bool holds[TB_CQE_CQS];       /* the read of the doorbell record is not answered */
	struct dma_req held[TB_CQE_CQS];
	enum tb_cqe_fault fault;
};

/* Start it with CQs of 'depth'. QP 2 has an SRQ. */
void tb_cqe_start(struct tb_cqe_bench *e, uint32_t depth, const char *const *sets);
void tb_cqe_end(struct tb_cqe_bench *e);

/* Entry of a ring, by running number. */
uint8_t *tb_cqe_entry(struct tb_cqe_bench *e, uint32_t cq, uint32_t at);

/* Take what is valid in the ring of a CQ, as poll_cq does. */
void tb_cqe_reap(struct tb_cqe_bench *e, uint32_t cq);

/* Answer the read of a doorbell record that was held, and those to come. */
void tb_cqe_release(struct tb_cqe_bench *e, uint32_t cq);

#endif
