/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mtt.h - the struct of the translation block, shared by its C model (mtt.c: requests; mtt_table.c:
 * tables and caches) and its Verilog twin
 */
#ifndef MODELS_MTT_H
#define MODELS_MTT_H

#include "models/assoc.h"
#include "models/msg.h"
#include "models/nic.h"
#include "models/qp_list.h"
#include "sim/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MTT_CLIENTS 2u
#define MTT_MAX_WINDOW 256u
#define MTT_MAX_LINE_LOG 6u /* bytes of a line: 8 .. 64 */
#define MTT_LOG_PAGE_MIN \
	12u /* page sizes of an MPT entry that is taken for valid: 4 KiB .. 2 GiB */
#define MTT_LOG_PAGE_MAX 31u
#define MTT_LOG_REGION_MAX \
	51u /* and lengths below 2^51, so that a page's number in its region has 40 bits */

/* What the Verilog can be built for. */
#define MTT_RTL_WAYS 4u
#define MTT_RTL_MPT_SETS_LOG 12u
#define MTT_RTL_SETS_LOG 14u

enum mtt_state { MTT_IDLE, MTT_LOOKUP, MTT_FILL, MTT_DROP, MTT_WALK };

/* An MPT entry as the cache holds it. */
struct mpt_line {
	uint64_t start, len, mtt_pa;
	uint16_t pd;
	uint8_t access, key8, log_page;
};

/* What a read of the tables brings: an MPT entry or a line of MTT entries. */
struct mtt_line_id {
	uint64_t pa;
	uint32_t key_idx; /* whose; of an upper level: 0 */
	uint8_t level;    /* 0: MTT entries; above: the entry that leads to the level below */
	bool is_mpt;
};

/* A request in hand. */
struct mtt_request {
	struct xlate_req req;
	struct xlate_rsp rsp; /* once the look-up is over */
	uint64_t at_cyc;      /* when the look-up is over */
	uint64_t entry_pa;    /* MTT entry that is being read */
	/* what reads have brought, so that it is not wanted again when others have replaced it */
	struct mpt_line mpt;
	uint64_t entry;
	bool has_mpt, has_entry;
	uint8_t walked; /* upper level whose entry was read last; 0 = none */
	uint8_t client;
	uint8_t fill_status; /* enum xlate_status: what the entry read was found to be */
	bool has_missed_mpt, has_missed_mtt; /* earlier */
	bool is_mpt_hit, is_mtt_hit;         /* in the last look-up */
};

/* An outstanding read, and the requests that wait for it. */
struct mtt_miss {
	struct mtt_line_id id;
	struct qp_list waiting;
	uint64_t from_ps;
	uint32_t buf;
	bool is_used;
};

/* Request numbers in order. */
struct mtt_fifo {
	uint16_t *slot; /* ring of 'window' */
	uint32_t head, n;
};

struct mtt {
	struct block b;
	/* parameters; sets: index in the list of powers of two, that is the logarithm */
	uint8_t mpt_sets, sets, mpt_policy, policy, line, hit_cyc, issue_cyc;
	uint8_t levels;
	uint32_t mpt_ways, ways, mpt_entry, window, max_misses, walk_entries;
	/* ports */
	struct chan *req[MTT_CLIENTS], *rsp[MTT_CLIENTS];
	struct chan *inv, *fill, *fill_rsp;
	/* requests: 'window' of them */
	struct mtt_request *request;
	struct mtt_fifo free, looked_up, over[MTT_CLIENTS];
	uint32_t n_active; /* whose look-up is not over */
	uint32_t in_hand[MTT_CLIENTS];
	uint64_t next_cyc; /* a request may be taken */
	/* reads: max_misses of them */
	struct mtt_miss *miss;
	uint32_t *links; /* of the requests that wait */
	uint32_t missing;
	uint64_t stalled_ps; /* since when a look-up wants a place for a read; or never */
	/* the key being forgotten */
	uint32_t drop_key;
	uint64_t drop_cyc; /* when the walk is over */
	bool is_dropping, is_walking;
	/* tables */
	struct assoc mpt_tags, mtt_tags, walk_tags;
	struct mpt_line *mpt_lines; /* by line */
	uint64_t *mtt_lines;        /* MTT entries, by line and place in the line */
	uint32_t log_entries;       /* of a line */
	struct pool *pool;
	uint32_t fill_buf; /* of the Verilog's read */
	uint64_t fill_ps;
	void *rtl; /* the Verilog model, when this is its twin */
	/* waves */
	uint8_t state;  /* enum mtt_state */
	uint8_t client; /* whose request was taken last */
	uint64_t va_page;
	bool is_mpt_hit, is_mtt_hit;
	uint8_t status; /* of the last answer */
	/* statistics */
	uint64_t requests, mpt_hits, mpt_misses, mtt_hits, mtt_misses, errors, invalidations;
	uint64_t merges, walk_reads, miss_ps, slot_wait_ps;
};

extern const struct field mtt_fields[];

/* ---- mtt_table.c ---- */

void mtt_table_build(struct mtt *m);
void mtt_table_reset(struct mtt *m);

/*
 * Look request 'r' up: true when it is over, with its answer in r->rsp; false with *want to be
 * read first.
 */
bool mtt_table_look_up(struct mtt *m, struct mtt_request *r, struct mtt_line_id *want);

/* What was read comes into its cache, unless it is not valid. */
void mtt_table_fill(struct mtt *m, const struct mtt_line_id *id, const uint8_t *bytes);

/* Bytes of MTT entries that an entry of 'level' leads to. */
uint64_t mtt_walk_span(uint32_t level);

/* Address of the entry of 'level' on the way to the MTT entry at 'pa', and what it says: the table below. */
uint64_t mtt_walk_pa(const struct nic *nic, uint32_t level, uint64_t pa);
uint64_t mtt_walk_entry(const struct nic *nic, uint32_t level, uint64_t pa);

/* And to a request that waits for it. */
void mtt_table_deliver(const struct mtt *m, struct mtt_request *r, const struct mtt_line_id *id,
		       const uint8_t *bytes);

/* Forget a key's entry and its translations. Returns how many sets were walked. */
uint32_t mtt_table_drop(struct mtt *m, uint32_t key);

#ifdef __cplusplus
}
#endif
#endif
