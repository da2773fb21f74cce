/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_scenario.c - any bytes as a scenario file
 *
 * Every section and key is open to the input; the trace is a small one of this file. What would only
 * make a run long (memory of many MB, which the tables allow) is left out.
 */
#include <string.h>

#include "tools/run/scenario.h"
#include "models/trace/trace.h"
#include "testbench/fuzz/fuzz.h"

#define MAX_BYTES (16u << 10)

static const char trace_text[] =
	"rnicsim-trace 1\nhost h0\nhost h1\n"
	"mr h0 m va=0x10000 len=8KiB access=lw,rw,rr,ra fill=inc\n"
	"mr h1 m va=0x10000 len=8KiB access=lw,rw,rr,ra\n"
	"qp h0 q type=RC peer=h1.q sq=16 rq=16\nqp h1 q type=RC peer=h0.q sq=16 rq=16\n"
	"recv h1.q id=1 sge=m:4096:2048\n"
	"post h0.q id=1 op=RDMA_WRITE sge=m:0:1500 remote=m:0\n"
	"post h0.q id=2 op=SEND sge=m:0:1100\n"
	"post h0.q id=3 op=RDMA_READ sge=m:4096:1100 remote=m:0\n"
	"post h0.q id=4 op=ATOMIC_FETCH_AND_ADD sge=m:8000:8 remote=m:8 add=1 after=3\n"
	"expect h0.q id=4 status=SUCCESS\n";

/* A number of the file has so many digits, or such a unit, that its block would be huge. */
static bool is_huge(const uint8_t *data, size_t n)
{
	size_t digits = 0;

	for (size_t i = 0; i < n; i++) {
		digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
		if (digits > 5)
			return true;
	}
	return memmem(data, n, "profile", 7) != NULL;
}

static int play(struct config *cfg)
{
	struct err e = { 0 };
	struct trace *t = trace_open(fuzz_file(1, trace_text, sizeof(trace_text) - 1), &e);
	int ok = fuzz_play(cfg, t, &e);

	trace_close(t);
	return ok;
}

int fuzz_scenario(const uint8_t *data, size_t n)
{
	struct err e = { 0 };
	struct scenario s = { 0 };
	struct config cfg;
	int ok = 0;

	if (n > MAX_BYTES)
		return 0;
	config_init(&cfg);
	if (config_read_file(&cfg, fuzz_file(0, data, n), &e) &&
	    config_apply(&cfg, "scenario", NULL, scenario_fields, &s, &e) && !is_huge(data, n))
		ok = play(&cfg);
	config_destroy(&cfg);
	return ok;
}
