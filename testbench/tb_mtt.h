/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_mtt.h - a bench for the translation block: regions in table bytes, a linear page table
 * beside them, and random requests with the answers they should get
 */
#ifndef TESTBENCH_TB_MTT_H
#define TESTBENCH_TB_MTT_H

#include "models/nic.h"
#include "testbench/tb_dma.h"

#define TB_MTT_KEYS 32u
#define TB_MTT_PAGES 4096u /* MTT entries of all regions */
#define TB_MTT_MAX 2048u   /* requests a client */
#define TB_MTT_BASE \
	0x40000000ull         /* of the MPT; the MTT entries follow, then the tables above them */
#define TB_MTT_TABLES 0x9000u /* bytes of MPT and MTT, in whole pages */

/* What the oracle knows: a region and its pages, in order. */
struct tb_region {
	bool is_valid;
	uint32_t key;
	uint16_t pd;
	uint8_t access, log_page;
	uint64_t start, len;
	uint32_t first; /* of its pages in page_pa */
	uint32_t n_pages;
};

struct tb_mtt {
	struct nic nic;
	struct tb t;
	struct tb_port *req[2], *rsp[2], *inv, *fill;
	struct tb_dma dma;
	struct rng rng;
	struct tb_region region[TB_MTT_KEYS];
	uint64_t page_pa[TB_MTT_PAGES]; /* 0 = not present */
	uint32_t n_pages;
	struct xlate_rsp expect[2][TB_MTT_MAX];
	uint32_t n[2]; /* requests sent */
	uint8_t mem[TB_MTT_TABLES + (MTT_LEVELS - 1) * PAGE_4K];
};

/* Bench for class 'cls' of name "mtt"; reads take up to 'max_delay' cycles. Tables are empty. */
void tb_mtt_init(struct tb_mtt *e, const struct block_class *cls, const char *const *sets,
		 uint32_t max_delay);

/* Write region 'i' of e->region into the tables, with new random pages. Free it with tb_mtt_end. */
void tb_mtt_map(struct tb_mtt *e, uint32_t i);

/* Write again what the tables say of region 'i' (after changing it). */
void tb_mtt_write(struct tb_mtt *e, uint32_t i);

/* Fill all regions at random, some of them not valid, some pages absent. */
void tb_mtt_map_random(struct tb_mtt *e);

/* What a look-up in the linear table answers. */
struct xlate_rsp tb_mtt_oracle(const struct tb_mtt *e, const struct xlate_req *r);

/* Send a request; its expected answer is noted. Not before cycle 'at'. */
void tb_mtt_send(struct tb_mtt *e, unsigned client, uint64_t at, struct xlate_req r);

/* A random request with one of the first 'n_keys' keys: mostly good, sometimes wrong in one way. */
struct xlate_req tb_mtt_random(struct tb_mtt *e, uint32_t n_keys);

/* Answers, in any order, that are missing, come twice or differ from what was expected. */
unsigned tb_mtt_differences(const struct tb_mtt *e);

/* Key i is a region of 4 KiB pages from 'start', for local writes and remote reads. */
void tb_mtt_add(struct tb_mtt *e, uint32_t i, uint64_t start, uint64_t len);

/* A byte of it. */
struct xlate_req tb_mtt_request(const struct tb_mtt *e, uint32_t i, uint64_t off);

/* 'n' random requests of each client. */
void tb_mtt_send_random(struct tb_mtt *e, unsigned n);

/* Settings, for tb_mtt_init(). */
#define TB_MTT_SETS(...) \
	(const char *const[]) \
	{ \
		__VA_ARGS__, NULL \
	}

#endif
