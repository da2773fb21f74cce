/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dma_engine.h - the struct of the DMA engine
 */
#ifndef MODELS_DMA_ENGINE_H
#define MODELS_DMA_ENGINE_H

#include "models/msg.h"
#include "models/nic.h"

#define DMA_CLIENTS 12u
#define DMA_CTX_NONE UINT32_MAX
#define DMA_RUNS 2u /* translated pages kept for a request: being sent, and the next */

enum { DMA_PHYS, DMA_VIRT, DMA_QUEUES };

/* A translated, contiguous piece that is not sent yet. */
struct dma_run {
	uint64_t pa;
	uint32_t len;
};

/* A request between its grant and its answer. It is in one list at most: free, queue, answers. */
struct dma_ctx {
	struct dma_req req;
	struct dma_run run[DMA_RUNS];
	uint32_t n_runs;
	uint32_t translated, sent; /* bytes */
	uint32_t tags;             /* reads on the way */
	uint32_t next;
	uint32_t order; /* of the grants into the translated queue */
	uint64_t granted_ps, ready_cyc;
	uint8_t client, status;
	bool is_asking; /* a translation is under way */
	bool is_queued;
};

struct dma_list {
	uint32_t head, tail;
};

struct dma_tag {
	uint32_t ctx, left; /* bytes that have not come back */
};

struct dma_engine {
	struct block b;
	/* parameters */
	uint32_t width, tags, mrrs, per_client, ahead, pipeline, seg_size;
	uint64_t read_seg_time, write_seg_time, read_req_time, write_req_time, read_kib_time;
	bool hands_over; /* reads take a time to be handed over */
	/* ports */
	struct chan *req[DMA_CLIENTS], *rsp[DMA_CLIENTS];
	struct chan *xlate_req, *xlate_rsp, *tlp, *cpl;
	/* state */
	struct dma_ctx *ctx;
	struct dma_tag *tag;
	uint32_t *free_tag; /* stack */
	uint32_t n_free_tags;
	struct dma_list queue[DMA_QUEUES];
	uint32_t first_lacking; /* oldest of the translated queue whose pages are not all known */
	uint32_t virt_grants;
	struct dma_list free[DMA_CLIENTS], done[DMA_CLIENTS];
	struct dma_list handed; /* reads being handed over */
	uint32_t to_answer;     /* bit k: done[k] is not empty */
	uint64_t req_bits;      /* of b.in_pending: some client's request */
	uint32_t queued[DMA_CLIENTS][DMA_QUEUES];
	uint32_t last_client; /* granted */
	uint32_t last_queue;  /* that sent */
	uint64_t free_ps[2];  /* by is_write: when the sending side is free */
	uint64_t free_cyc[2]; /* the cycle within which that is */
	uint64_t cpl_free_cyc;
	uint64_t over_ps;          /* when the last read will be handed over */
	uint64_t tag_wait_from_ps; /* TIME_NEVER = not waiting */
	uint32_t in_phys, in_virt, tags_used;
	/* statistics */
	uint64_t reads, writes, read_b, write_b, read_tlps, write_tlps, xlates, errors, tag_wait_ps;
	uint64_t read_busy_ps;
	struct hist read_time;
};

#endif
