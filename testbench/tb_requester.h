/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_requester.h - a requester with everything around it: posts, a packetizer that says done,
 * packets by hand
 */
#ifndef TESTBENCH_TB_REQUESTER_H
#define TESTBENCH_TB_REQUESTER_H

#include "models/packet/aeth.h"
#include "models/nic.h"
#include "models/packet/opcode.h"
#include "models/packet/packet.h"
#include "models/requester.h"
#include "testbench/tb_dma.h"

extern const struct block_class requester_class;

#define TBR_QPS 2u
#define TBR_MTU 256u
#define TBR_MEM_BASE 0x100000ull
#define TBR_MEM (1u << 20)
#define TBR_RADDR 0x7000000000ull
#define TBR_LKEY 0x77u
#define TBR_RKEY 0x99u
#define TBR_XETH 60u /* where packets by hand have their extended headers */

struct tb_requester {
	struct nic nic;
	struct qp_attr qp[TBR_QPS];
	struct tb t;
	struct tb_port *wqe, *rx, *job_done, *job, *credit, *cqe, *peer_error, *error;
	struct tb_port *mpt_op, *mpt_rsp, *cmd;
	struct tb_dma dma;
	uint8_t mem[TBR_MEM];
	struct pool *wqes, *pkts;
	uint16_t index[TBR_QPS]; /* WQE counter */
	/* how jobs end */
	uint32_t done_delay; /* cycles */
	uint8_t done_status;
	uint8_t mpt_status; /* of the answers to binds and invalidations */
	bool is_silent;     /* no job ends */
	tb_react *on_job;   /* besides; NULL = none */
	tb_react *on_cqe;
	void *arg; /* for the caller */
};

/* QPs of MTU 256, PSN 100, timeout 14, 16 outstanding READs; set e->qp before tbr_start. */
void tbr_init(struct tb_requester *e);
void tbr_start(struct tb_requester *e, const char *const *sets);

/* Run to the end; every buffer must have come home. */
void tbr_end(struct tb_requester *e);

/* WQEs released so far. */
uint32_t tbr_released(const struct tb_requester *e);

/* A WQE of one segment (or of 'n_sge' that share 'len' unevenly) at memory offset 'off'; flags:
 * enum below. */
enum { TBR_SILENT = 1, TBR_FENCE = 2, TBR_INLINE = 4 };
void tbr_post_sges(struct tb_requester *e, uint32_t qpi, uint8_t opcode, uint32_t len, uint32_t off,
		   uint32_t n_sge, unsigned flags);
void tbr_post(struct tb_requester *e, uint32_t qpi, uint8_t opcode, uint32_t len, uint32_t off);

/* Packets to the requester, not before cycle 'at' (0 = now). The payload of PSN p is bytes p, p +
 * 1, ... */
void tbr_ack(struct tb_requester *e, uint64_t at, uint32_t qpi, uint32_t psn, uint8_t syndrome,
	     uint32_t msn);
/* Selective: with a map of 'n' bytes (recovery.h). */
void tbr_sack(struct tb_requester *e, uint64_t at, uint32_t qpi, uint32_t psn, uint32_t msn,
	      const uint8_t *map, uint32_t n);
void tbr_read_rsp(struct tb_requester *e, uint64_t at, uint32_t qpi, uint8_t operation,
		  uint32_t psn, uint32_t len, uint8_t syndrome);
void tbr_atomic_rsp(struct tb_requester *e, uint64_t at, uint32_t qpi, uint32_t psn,
		    uint64_t original);

/* Run so that everything but long timers settles. */
void tbr_settle(struct tb_requester *e);

static inline const struct tx_job *tbr_job(const struct tb_requester *e, uint32_t i)
{
	return tb_got(e->job, i);
}
static inline const struct cqe_req *tbr_cqe(const struct tb_requester *e, uint32_t i)
{
	return tb_got(e->cqe, i);
}

#endif
