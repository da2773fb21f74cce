/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mtt.h - the struct of the translation block, shared by its C model and its Verilog twin
 */
#ifndef MODELS_MTT_H
#define MODELS_MTT_H

#include "models/assoc.h"
#include "models/msg.h"
#include "models/nic.h"
#include "sim/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MTT_CLIENTS 2u
#define MTT_MAX_WAYS 4u /* of the Verilog's arrays */
#define MTT_MPT_SETS_LOG 12u
#define MTT_SETS_LOG 14u
#define MTT_LOG_PAGE_MIN \
	12u /* page sizes of an MPT entry that is taken for valid: 4 KiB .. 2 GiB */
#define MTT_LOG_PAGE_MAX 31u
#define MTT_LOG_REGION_MAX \
	51u /* and lengths below 2^51, so that a page's number in its region has 40 bits */

enum mtt_state { MTT_IDLE, MTT_LOOKUP, MTT_FILL, MTT_DROP, MTT_WALK };

/* An MPT entry as the cache holds it. */
struct mpt_line {
	uint64_t start, len, mtt_pa;
	uint16_t pd;
	uint8_t access, key8, log_page;
};

struct mtt {
	struct block b;
	/* parameters */
	uint8_t mpt_sets, sets; /* index in the list of powers of two, that is the logarithm */
	uint8_t mpt_ways, ways, hit_cyc;
	/* ports */
	struct chan *req[MTT_CLIENTS], *rsp[MTT_CLIENTS];
	struct chan *inv, *fill, *fill_rsp;
	/* state */
	struct xlate_req at; /* being looked up; its key alone: being forgotten */
	uint64_t at_cyc;     /* when the look-up or the walk is over */
	bool is_mpt_fill;    /* what the outstanding read is for: MPT or MTT entry */
	bool has_missed_mpt, has_missed_mtt; /* the look-up, earlier */
	uint8_t fill_status; /* enum xlate_status: what the entry read was found to be */
	uint32_t fill_buf;
	struct assoc mpt_tags, mtt_tags;
	struct mpt_line *mpt_lines;
	uint64_t *mtt_lines; /* MTT entries */
	struct pool *pool;
	void *rtl; /* the Verilog model, when this is its twin */
	/* waves */
	uint8_t state;  /* enum mtt_state */
	uint8_t client; /* whose request is, or was last, looked up */
	uint64_t va_page;
	bool is_mpt_hit, is_mtt_hit;
	uint8_t status; /* of the last answer */
	/* statistics */
	uint64_t requests, mpt_hits, mpt_misses, mtt_hits, mtt_misses, errors, invalidations;
};

extern const struct field mtt_fields[];

#ifdef __cplusplus
}
#endif
#endif
