/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.c - files in memory, bytes, and short runs for the fuzz targets
 */
#include "testbench/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/run/expect.h"
#include "models/rnic.h"

#define SLOTS 2u
#define LIMIT_PS (50 * PS_PER_US)
#define SLICE_PS (100 * PS_PER_NS)
#define LIMIT_STEPS 20000u

const char *fuzz_file(unsigned slot, const void *data, size_t n)
{
	static char path[SLOTS][32];
	static int fd[SLOTS] = { -1, -1 };

	if (fd[slot] < 0)
		fd[slot] = memfd_create("fuzz", 0);
	if (fd[slot] < 0 || ftruncate(fd[slot], 0) != 0 ||
	    pwrite(fd[slot], data, n, 0) != (ssize_t)n) {
		perror("fuzz: a file in memory");
		abort();
	}
	snprintf(path[slot], sizeof(path[slot]), "/proc/self/fd/%d", fd[slot]);
	return path[slot];
}

uint8_t fuzz_u8(struct fuzz_bytes *b)
{
	return b->at < b->end ? *b->at++ : 0;
}

static void run(struct rnic *r)
{
	struct sim *s = &r->sim;
	enum sim_end end = SIM_END_UNTIL;

	while (end == SIM_END_UNTIL && s->until_ps < LIMIT_PS && s->steps < LIMIT_STEPS) {
		s->until_ps += SLICE_PS;
		end = sim_run(s);
	}
}

int fuzz_play(struct config *cfg, struct trace *t, struct err *e)
{
	struct expect_result expects = { 0 };
	struct rnic r;
	bool is_built = rnic_build(&r, cfg, t, 1, e) && netlist_finish(&r.sim, e);

	if (is_built) {
		r.sim.until_ps = 0;
		run(&r);
		expect_evaluate(r.system, &r.sim, &expects, e);
		expect_release(&expects);
	}
	rnic_destroy(&r);
	return is_built;
}
