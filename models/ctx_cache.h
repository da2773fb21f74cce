/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctx_cache.h - the struct of the context caches, for who looks at them from outside
 */
#ifndef MODELS_CTX_CACHE_H
#define MODELS_CTX_CACHE_H

#include "models/assoc.h"
#include "models/msg.h"
#include "models/nic.h"
#include "sim/pool.h"

/* A request that was taken and not yet answered. */
struct ctx_wait {
	struct ctx_req req;
	uint64_t ready_cyc; /* when miss is none */
	uint32_t miss;      /* the read that it waits for */
};

/* An outstanding read. */
struct ctx_miss {
	bool is_used;
	uint32_t index, buf;
	uint64_t from_ps;
};

/* A context that was replaced and is to be written back. */
struct ctx_victim {
	uint32_t index, buf;
};

struct ctx_cache {
	struct block b;
	/* parameters */
	uint8_t policy; /* enum assoc_policy */
	uint8_t sets;   /* index in the list of powers of two, that is the logarithm */
	uint8_t hit_cyc;
	uint32_t ways, entry, queue, max_misses, write_backs;
	bool write_back;
	/* ports */
	struct chan *req, *rsp, *fill, *fill_rsp;
	/* state */
	uint64_t (*context_pa)(const struct ctx_cache *c, uint32_t index);
	uint8_t cls; /* enum dma_cls of reads and write-backs */
	bool is_rx;
	struct assoc tags;
	uint8_t *bytes;        /* by line: 'entry' each */
	bool *is_dirty;        /* by line */
	struct ctx_wait *wait; /* ring of 'queue' */
	uint32_t head;
	uint32_t ahead;            /* the first so many of 'wait' were answered ahead (chan.h) */
	uint64_t last_cyc;         /* cycle of the last of these */
	struct ctx_miss *miss;     /* max_misses */
	struct ctx_victim *victim; /* ring of max_misses: reads wait for write-backs */
	uint32_t victim_head, n_victims;
	struct pool *pool;   /* contexts that come, contexts that go */
	uint64_t pushed_cyc; /* cycle of the last message on 'fill' */
	uint64_t stalled_ps; /* since when the oldest request wants a place for a read; or never */
	/* waves */
	uint32_t queued, missing, index;
	bool is_hit;
	/* statistics */
	uint64_t requests, hits, misses, merges, evictions, written_back, miss_ps, slot_wait_ps;
};

#endif
