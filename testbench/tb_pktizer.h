/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_pktizer.h - a packetizer between queues of jobs and a memory, and a reference for its packets that cuts a message
 * laid out in one piece, byte by byte
 */
#ifndef TESTBENCH_TB_PKTIZER_H
#define TESTBENCH_TB_PKTIZER_H

#include "models/packet/packet.h"
#include "models/pktizer.h"
#include "testbench/tb_dma.h"

#define TB_PKTIZER_MTU 256u
#define TB_PKTIZER_BASE 0x7f0000001000ull
#define TB_PKTIZER_MEM 65536u
#define TB_PKTIZER_QPN 0x12345u
#define TB_PKTIZER_DEST_QPN 0xabcdefu
#define TB_PKTIZER_JOBS 1024u

enum { QPI_RC, QPI_V6, QPI_UC, QPI_UD, QPI_XRC, N_QP };

extern const struct block_class pktizer_class;

struct tb_pktizer {
	struct nic nic;
	struct qp_attr qp[N_QP];
	struct tb t;
	struct tb_port *req_job, *rsp_job, *req_done, *pkt;
	struct tb_dma dma;
	struct pool *wqes;
	uint8_t mem[TB_PKTIZER_MEM];
	struct tx_job job[TB_PKTIZER_JOBS]; /* by tag */
	uint32_t n_jobs;
	/* packets taken: copies, in order */
	uint8_t *bytes;
	uint32_t *at; /* offsets in 'bytes' of struct packet */
	uint32_t n_pkt, used;
	uint32_t n_rsp_done; /* response jobs that ended */
};

/* With settings 'sets' (NULL at the end) and reads that take up to 'max_delay' cycles. */
void tb_pktizer_start(struct tb_pktizer *e, const char *const *sets, uint32_t max_delay);
void tb_pktizer_end(struct tb_pktizer *e);

/* Packet i of those taken. */
const struct packet *tb_pktizer_got(const struct tb_pktizer *e, uint32_t i);
bool tb_pktizer_is_answer(const struct packet *p);

/* Hand 'job' to its engine; its tag is its place in e->job. */
void tb_pktizer_send_job(struct tb_pktizer *e, const struct tx_job *job);

/*
 * A WQE whose 'n_sge' data segments lie back to front in memory, 'len' bytes together, cut at
 * random.
 */
void tb_pktizer_put_segments(struct tb_pktizer *e, struct tx_job *j, uint32_t len, uint32_t n_sge);

/* Give back the WQEs of all jobs, which the reference needed. */
void tb_pktizer_release_wqes(struct tb_pktizer *e);

/* The 'n' low bytes of 'v', most significant first. */
void tb_pktizer_put_be(uint8_t *p, unsigned n, uint64_t v);

/*
 * Compare all packets of one engine, which stand in the order of its jobs, with the jobs cut at
 * 'mtu'. Returns the number of differences.
 */
unsigned tb_pktizer_differences(const struct tb_pktizer *e, bool responses, uint32_t mtu);

#endif
