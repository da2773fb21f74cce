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

/* Bus addresses and translated requests have queues of their own; each has one for reads and one for writes. */
enum { DMA_PHYS, DMA_VIRT, DMA_GROUPS };
#define DMA_QUEUES (2u * DMA_GROUPS)
#define DMA_QUEUE(group, is_write) (2u * (group) + (is_write))
#define DMA_QUEUE_WRITES(q) (((q)&1u) != 0)
#define DMA_QUEUE_GROUP(q) ((q) >> 1)

/*
 * What keeps the first request of a queue from the link: its translation, older requests that must go
 * first, a tag, room for the completions, the engine (pipeline, data path, its other queues), the
 * port to the link. DMA_WAIT_NAMES has their names, in that order.
 */
enum dma_wait { WAIT_XLATE, WAIT_ORDER, WAIT_TAG, WAIT_CPL, WAIT_ENGINE, WAIT_LINK, DMA_WAITS };

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
	uint32_t order;        /* of the grants into its group */
	uint32_t reads_before; /* of its client, granted */
	uint64_t granted_ps, ready_cyc;
	uint64_t waited[DMA_WAITS]; /* what its queue had waited when its next train was ready */
	uint8_t client, status;
	bool is_asking; /* a translation is under way */
	bool is_queued;
};

struct dma_list {
	uint32_t head, tail;
};

/* Requests that are sent in order. */
struct dma_queue {
	struct dma_list list;
	uint64_t waited[DMA_WAITS]; /* time that this queue has waited, up to since_ps */
	uint64_t since_ps;          /* from then on it is for 'cause' */
	uint8_t cause;              /* enum dma_wait */
};

struct dma_tag {
	uint32_t ctx, left; /* bytes that have not come back */
};

struct dma_engine {
	struct block b;
	/* parameters */
	uint32_t width, tags, mrrs, per_client, ahead, pipeline, seg_size, cpl_buffer;
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
	uint32_t cpl_room; /* bytes of the completion buffer that no read on the way needs */
	struct dma_queue queue[DMA_QUEUES];
	uint32_t used; /* bit q: queue[q] is not empty */
	uint32_t grants[DMA_GROUPS];
	bool has_changed; /* what the queues wait for, in this step */
	bool is_refused;  /* by the port to the link */
	bool is_short;    /* a queue waits for a tag or for room for completions */
	uint64_t due_cyc; /* when the queues must be looked at, if nothing changes before */
	uint32_t *ring;   /* translated requests by order & ring_mask, as long as they are queued */
	uint64_t *unasked; /* bits of the ring: a page of this request may be asked for */
	uint32_t ring_mask, n_unasked;
	uint32_t
		first_lacking; /* order of the oldest translated request whose pages are not all known */
	struct dma_list free[DMA_CLIENTS], done[DMA_CLIENTS];
	struct dma_list handed; /* reads being handed over */
	uint32_t to_answer;     /* bit k: done[k] is not empty */
	uint64_t req_bits;      /* of b.in_pending: some client's request */
	uint8_t client_of_bit[64];
	uint32_t queued[DMA_CLIENTS][DMA_GROUPS];
	uint32_t reads_granted[DMA_CLIENTS], reads_left[DMA_CLIENTS]; /* left = out of the queue */
	uint32_t last_client;                                         /* granted */
	uint32_t last_group;                                          /* that sent */
	uint64_t free_ps[2];  /* by is_write: when the sending side is free */
	uint64_t free_cyc[2]; /* the cycle within which that is */
	uint64_t cpl_free_cyc;
	uint64_t over_ps; /* when the last read will be handed over */
	uint32_t in_phys, in_virt, tags_used;
	/* statistics */
	uint64_t reads, writes, read_b, write_b, read_tlps, write_tlps, xlates, errors;
	uint64_t read_busy_ps, write_busy_ps;
	struct hist read_time;
	union {
		uint64_t wait_ps[DMA_CLS_COUNT][DMA_WAITS];
		struct {
#define X(c) \
	uint64_t wait_##c##_xlate_ps, wait_##c##_ordering_ps, wait_##c##_tag_ps, \
		wait_##c##_cpl_buffer_ps, wait_##c##_engine_ps, wait_##c##_link_ps;
			DMA_CLASSES(X)
#undef X
		};
	};
};

/* ---- dma_engine.c ---- */

/* Put request 'i' at the end of 'l'; take the first one of 'l' out, which is not empty. */
void dma_list_put(struct dma_engine *d, struct dma_list *l, uint32_t i);
uint32_t dma_list_take(struct dma_engine *d, struct dma_list *l);

/* What becomes of a request that may be out of its queue and have nothing on the way. */
void dma_finish_if_over(struct dma_engine *d, uint32_t i);

/* ---- dma_queue.c ---- */

/* Request 'i' is granted: put it into its queue. */
void dma_enqueue(struct dma_engine *d, uint32_t i, uint32_t group);

/* Drop what has failed and send one train, the queues taking turns. */
void dma_send_next(struct dma_engine *d);

/* Note what each queue waits for from now on, and when to look at the queues again. */
void dma_queues_note(struct dma_engine *d);

void dma_queues_reset(struct dma_engine *d);

/* ---- dma_xlate.c ---- */

/* Pages of request 'i' are not known yet. */
static inline bool dma_lacks_pages(const struct dma_ctx *c)
{
	return c->status == XLATE_OK && c->translated < c->req.len;
}

void dma_xlate_build(struct dma_engine *d);
void dma_xlate_reset(struct dma_engine *d);

/* Take an answer of the translation. */
void dma_take_xlate_rsp(struct dma_engine *d);

/* Ask for one page. False when the port refused. */
bool dma_ask(struct dma_engine *d);

/* There is a page to ask for. */
bool dma_wants_page(const struct dma_engine *d);

/* Request 'i' was put into a translated queue. */
void dma_xlate_add(struct dma_engine *d, uint32_t i);

/* Of the translated request 'c' a piece was sent, or it left its queue. */
void dma_xlate_note(struct dma_engine *d, const struct dma_ctx *c);

#endif
