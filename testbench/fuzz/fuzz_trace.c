/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_trace.c - any bytes as a trace
 */
#include "models/trace/trace.h"
#include "sim/config.h"
#include "testbench/fuzz/fuzz.h"

#define MAX_BYTES (64u << 10)
#define MAX_MR_BYTES (1u << 20) /* of all regions, of a trace that is played */
#define MAX_ENTRIES 4096u       /* of all queues */
#define MAX_THINGS 32u

/* The memory and the queues of a trace are so small that building it takes no time. */
static bool is_small(const struct trace *t)
{
	uint64_t bytes = 0, entries = 0;

	for (uint32_t i = 0; i < t->n_mrs; i++)
		bytes += t->mrs[i].len > MAX_MR_BYTES || t->mrs[i].page > 4096 ? MAX_MR_BYTES
									       : t->mrs[i].len;
	for (uint32_t i = 0; i < t->n_qps; i++)
		entries += t->qps[i].sq + t->qps[i].rq;
	for (uint32_t i = 0; i < t->n_cqs; i++)
		entries += t->cqs[i].depth;
	for (uint32_t i = 0; i < t->n_srqs; i++)
		entries += t->srqs[i].depth;
	return bytes < MAX_MR_BYTES && entries <= MAX_ENTRIES && t->n_hosts <= 4 &&
	       t->n_qps + t->n_mrs + t->n_mws + t->n_pds <= MAX_THINGS;
}

static int read_all(const char *path, bool *small)
{
	struct err e = { 0 };
	struct trace *t = trace_open(path, &e);
	struct trace_record r;
	int got = -1;

	while (t && (got = trace_next(t, &r, &e)) == 1)
		trace_record_release(&r);
	*small = t && is_small(t);
	trace_close(t);
	return got == 0;
}

int fuzz_trace(const uint8_t *data, size_t n)
{
	struct err e = { 0 };
	struct config cfg;
	struct trace *t;
	const char *path;
	bool small;
	int ok;

	if (n > MAX_BYTES)
		return 0;
	path = fuzz_file(0, data, n);
	ok = read_all(path, &small);
	if (!small)
		return ok;
	t = trace_open(path, &e);
	config_init(&cfg);
	ok = fuzz_play(&cfg, t, &e) && ok;
	config_destroy(&cfg);
	trace_close(t);
	return ok;
}
