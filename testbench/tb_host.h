/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_host.h - host memory between a CPU and a link, both played by the test
 */
#ifndef TESTBENCH_TB_HOST_H
#define TESTBENCH_TB_HOST_H

#include "models/host_mem.h"
#include "testbench/tb.h"

#define TB_HOST_CQS 3u
#define TB_HOST_REGION 16384u /* bytes of the flat memory */
#define TB_HOST_OPS 400u

struct tb_host {
	struct host host;
	struct nic nic;
	struct mem mem;
	struct tb t;
	struct tb_port *cpu_req, *up, *cpu_rsp, *down;
	struct pool *pool;
	uint64_t ring[TB_HOST_CQS], region;
	/* completions: what each read is to bring, and how many brought something else */
	const uint8_t *expected[TB_HOST_OPS];
	uint32_t n_cpl, differ;
};

void tb_host_start(struct tb_host *e, const char *const *sets);
void tb_host_end(struct tb_host *e);

/* The NIC's read or write, the CPU's access, to be sent at cycle 'at'. */
void tb_host_dma(struct tb_host *e, uint64_t at, uint8_t kind, uint64_t pa, const void *bytes,
		 uint32_t len, uint16_t tag, uint8_t cls, uint32_t op);
void tb_host_cpu(struct tb_host *e, uint64_t at, uint8_t kind, uint64_t addr, const void *bytes,
		 uint8_t len);

/* A poll of a CQ for its CQE number 'index'; the NIC writes that. */
void tb_host_poll_cq(struct tb_host *e, uint64_t at, uint32_t cq, uint32_t index);
void tb_host_write_cqe(struct tb_host *e, uint64_t at, uint32_t cq, uint32_t index, uint32_t op);

#endif
