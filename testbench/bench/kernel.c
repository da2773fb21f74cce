/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.c - block steps a second of CPU time with 100, 10,000 and 1,000,000 blocks awake in two clock domains
 *
 * Chains of 20 blocks: a source, stages that are busy 16 cycles a message, a sink. Half of the chains run
 * at 250 MHz, half at 322.265625 MHz (whose period is not a whole number of picoseconds).
 *
 *	usage: bench-kernel BLOCKS STEPS
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim/netlist.h"

#define CHAIN 20u
#define STAGE_CYCLES 16u
#define SOURCE_CYCLES 20u

struct word {
	uint64_t a, b, c, d;
};
CHAN_OF(word)

struct stage {
	struct block b;
	struct chan *in, *out;
	uint64_t busy_until, done;
};

#define T struct stage
static const struct field source_fields[] = { PORT_OUT(T, out, word, "words"), FIELDS_END };
static const struct field stage_fields[] = { PORT_IN(T, in, word, "words"),
					     PORT_OUT(T, out, word, "words"), FIELDS_END };
static const struct field sink_fields[] = { PORT_IN(T, in, word, "words"), FIELDS_END };
#undef T

static uint64_t source_step(struct block *b)
{
	struct stage *s = (struct stage *)b;

	if (b->cycle < s->busy_until)
		return s->busy_until;
	if (!chan_can_push(s->out))
		return chan_stall(s->out);
	word_push(s->out, &(struct word){ .a = s->done++ });
	return s->busy_until = b->cycle + SOURCE_CYCLES;
}

static uint64_t stage_step(struct block *b)
{
	struct stage *s = (struct stage *)b;
	const struct word *w = word_peek(s->in);
	struct word out;

	if (!w)
		return CYCLE_NEVER;
	if (b->cycle < s->busy_until)
		return s->busy_until;
	if (!chan_can_push(s->out))
		return chan_stall(s->out);
	out = *w;
	chan_pop(s->in);
	out.b += out.a;
	word_push(s->out, &out);
	s->done++;
	s->busy_until = b->cycle + STAGE_CYCLES;
	return CYCLE_NEVER;
}

static uint64_t sink_step(struct block *b)
{
	struct stage *s = (struct stage *)b;

	if (word_peek(s->in)) {
		chan_pop(s->in);
		s->done++;
	}
	return CYCLE_NEVER;
}

static const struct block_class source = { .name = "source",
					   .impl = "c",
					   .size = sizeof(struct stage),
					   .fields = source_fields,
					   .step = source_step };
static const struct block_class middle = { .name = "stage",
					   .impl = "c",
					   .size = sizeof(struct stage),
					   .fields = stage_fields,
					   .step = stage_step };
static const struct block_class sink = { .name = "sink",
					 .impl = "c",
					 .size = sizeof(struct stage),
					 .fields = sink_fields,
					 .step = sink_step };
static const struct block_class *const classes[] = { &source, &middle, &sink, NULL };

static void stop_after(struct sim *s, void *arg)
{
	if (s->steps >= *(uint64_t *)arg)
		sim_stop(s);
}

static void build(struct sim *s, struct config *cfg, uint32_t n)
{
	struct block *last = NULL;
	struct err e = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i % CHAIN;
		const char *name = at == 0 ? "source" : at == CHAIN - 1 ? "sink" : "stage";
		char path[32];
		struct block *b;

		snprintf(path, sizeof(path), "c%" PRIu32, i);
		b = netlist_add(s, classes, name, path, cfg, i / CHAIN % 2 ? 322265625 : 250000000,
				NULL, &e);
		SIM_CHECK(b != NULL, NULL);
		if (at)
			netlist_connect(s, last, "out", b, "in", 16, 2);
		last = b;
	}
	SIM_CHECK(netlist_finish(s, &e), NULL);
}

int main(int argc, char **argv)
{
	uint32_t n;
	uint64_t steps;
	struct timespec t0, t1;
	struct config cfg;
	struct sim s;
	double seconds;

	if (argc != 3)
		return fprintf(stderr, "usage: bench-kernel BLOCKS STEPS\n"), 2;
	n = (uint32_t)strtoul(argv[1], NULL, 10) / CHAIN * CHAIN;
	steps = strtoull(argv[2], NULL, 10);
	config_init(&cfg);
	sim_init(&s, 1);
	build(&s, &cfg, n);
	s.until_ps = 3 * CHAIN * SOURCE_CYCLES * 4 * PS_PER_NS; /* fill the chains first */
	sim_run(&s);
	s.until_ps = TIME_NEVER;
	steps += s.steps;
	s.progress = stop_after;
	s.progress_arg = &steps;
	uint64_t first = s.steps;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
	sim_run(&s);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
	seconds = (double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec) / 1e9;
	printf("%9" PRIu32 " blocks: %6.1f M steps/s\n", n,
	       (double)(s.steps - first) / seconds / 1e6);
	sim_destroy(&s);
	config_destroy(&cfg);
	return 0;
}
