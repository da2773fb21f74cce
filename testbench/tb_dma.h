/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_dma.h - what stands behind a block's DMA port in a bench: flat memory, random latency, answers
 * out of order
 */
#ifndef TESTBENCH_TB_DMA_H
#define TESTBENCH_TB_DMA_H

#include "models/msg.h"
#include "testbench/tb.h"

struct tb_dma {
	struct tb_port *rsp; /* source of dma_rsp */
	uint8_t *mem;
	uint64_t base, size; /* addresses base .. base + size - 1 */
	uint32_t max_delay;  /* cycles; 0 = answers in order, in the next cycle */
	struct rng rng;
	uint64_t fail_at; /* a request that touches this byte is refused; 0 = none */
	uint64_t n_reads, n_writes, n_outside;
};

/*
 * The tb_react of a sink of dma_req; 'arg' is a struct tb_dma. Bytes move when the request comes.
 */
void tb_dma_react(struct tb *t, struct tb_port *p, const void *msg);

/* The tb_react of a sink of ctx_req, a cache that always hits; 'arg' is the source of ctx_rsp. */
void tb_context_react(struct tb *t, struct tb_port *p, const void *msg);

#endif
