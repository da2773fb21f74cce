/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pktizer_engine.h - the struct of the packetizer, shared by its two files: pktizer.c (table, the way
 * out) and pktizer_form.c (packets under construction)
 */
#ifndef MODELS_PKTIZER_ENGINE_H
#define MODELS_PKTIZER_ENGINE_H

#include "models/engine.h"
#include "models/pktizer.h"
#include "models/verbs/wqe.h"
#include "sim/pool.h"

enum { REQ, RSP, ENGINES };
#define MAX_FLIGHT 256u
#define NO_JOB 0u

/* A packet under construction. */
struct pkt_slot {
	uint32_t buf;
	uint32_t job;      /* sequence number of its job in the engine */
	uint32_t tag, qpi; /* of the job */
	uint32_t op;       /* row to mark with PAYLOAD, or OP_NONE */
	uint32_t reads;    /* outstanding */
	uint32_t len;      /* payload bytes */
	bool is_formed;    /* all reads are issued */
	bool is_run_last;
	bool is_asked; /* end of a run of requests: as in job_done */
	uint16_t n_unasked;
	uint8_t status;
};

struct engine {
	struct tx_job job;
	bool has_job, is_forming;
	uint32_t seq;          /* of 'job', from 1 */
	uint32_t failed;       /* job whose packets are dropped, or NO_JOB */
	uint32_t off, n_pkt;   /* of the job: payload bytes and packets formed */
	uint32_t left;         /* payload bytes of the packet being formed not asked for yet */
	uint32_t to;           /* where they go in its buffer */
	uint32_t seg, seg_pos; /* data segment and byte in it that come next */
	uint64_t free_cyc;     /* the engine is busy until then */
	struct engine_rate headers;
	struct pkt_slot slot[MAX_FLIGHT];
	uint32_t first, n, n_whole; /* ring of slots; n_whole from the first on have all bytes */
	uint32_t bytes;             /* payload of the packets in the ring */
	struct pool *pool;
};

struct pktizer {
	struct block b;
	/* parameters */
	uint32_t width, inflight, inflight_b, hdr_cyc, units, req_packets, rsp_packets,
		ack_req_every;
	bool mig_req, read_ack_req;
	/* ports */
	struct chan *req_job, *rsp_job, *dma_rsp, *req_done, *dma_req, *pkt;
	/* state */
	struct engine engine[ENGINES];
	uint32_t *no_ack;   /* by QP: packets since the last one with AckReq */
	uint32_t *next_psn; /* by QP: behind the last job */
	uint64_t out_free_cyc;
	bool is_rsp_form_turn, is_rsp_emit_turn;
	uint32_t req_flight, rsp_flight;
	/* statistics */
	uint64_t req_busy_ps, rsp_busy_ps;
	uint64_t jobs, packets, payload_bytes, reads, retry_packets, failed_jobs, busy_ps;
};

static inline const struct nic *pktizer_nic(const struct pktizer *z)
{
	return z->b.env;
}

/* The i-th packet of the ring of an engine. */
static inline struct pkt_slot *pktizer_slot(struct pktizer *z, struct engine *e, uint32_t i)
{
	uint32_t at = e->first + i;

	return &e->slot[at < z->inflight ? at : at - z->inflight];
}

/*
 * One cycle of an engine. 'may_read': the port for reads was not used in this cycle. Returns when
 * to look again; CYCLE_NEVER when there is no job, or a port, the pool or the ring refused.
 */
uint64_t pktizer_form(struct pktizer *z, struct engine *e, struct chan *jobs, bool *may_read);

/* Packets from the first on whose bytes are all there: the message's last byte marks PAYLOAD. */
void pktizer_count_whole(struct pktizer *z, struct engine *e);

/* The engine has no job any more. */
void pktizer_end_job(struct pktizer *z, struct engine *e);

#endif
