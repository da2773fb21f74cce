/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_pair.c - two small blocks with every kind of row
 */
#include <CUnit/CUnit.h>

#include "testbench/tb_pair.h"

CHAN_OF(note)

static const char *const moods[] = { "calm", "busy", NULL };

struct giver {
	struct block b;
	uint32_t n, step;
	uint64_t pause;
	bool is_loud;
	uint8_t mood;
	struct chan *out;
	uint64_t sent;
};

struct taker {
	struct block b;
	struct chan *in;
	uint64_t taken;
	uint64_t last;
	struct hist value;
};

#define T struct giver
static const struct field giver_fields[] = {
	PARAM(T, n, 4, 0, 1000, "note", "notes to send", "declared"),
	PARAM(T, step, 10, 0, 1000, "", "between two values", "documented: a | b"),
	PARAM_TIME(T, pause, TIME_NEVER, 0, TIME_NEVER, "nothing", "declared"),
	PARAM_BOOL(T, is_loud, 1, "reports each note", "declared"),
	PARAM_ENUM(T, mood, 1, moods, "nothing", "declared"),
	PORT_OUT(T, out, note, "the notes"),
	STAT(T, sent, "note", "notes sent"),
	EVENT(give, "value left", "a note was sent"),
	EVENT(done, "", "all were sent"),
	FIELDS_END
};
#undef T

#define T struct taker
static const struct field taker_fields[] = {
	PORT_IN(T, in, note, "the notes"),   STAT(T, taken, "note", "notes taken"),
	HIST(T, value, "x", "their values"), SIGNAL(T, last, 64, "the last value"),
	EVENT(take, "value", "a note came"), FIELDS_END
};
#undef T

static uint64_t giver_step(struct block *b)
{
	struct giver *g = (struct giver *)b;

	if (g->sent == g->n)
		return CYCLE_NEVER;
	if (!chan_can_push(g->out))
		return chan_stall(g->out);
	note_push(g->out, &(struct note){ g->sent * g->step });
	g->sent++;
	if (g->is_loud)
		block_event(b, 0, (g->sent - 1) * g->step, g->n - g->sent);
	if (g->sent == g->n)
		block_event(b, 1, 0, 0);
	return b->cycle + 1;
}

static uint64_t taker_step(struct block *b)
{
	struct taker *t = (struct taker *)b;
	const struct note *m = note_peek(t->in);

	if (!m)
		return CYCLE_NEVER;
	t->last = m->v;
	hist_add(&t->value, m->v);
	t->taken++;
	block_event(b, 0, m->v, 0);
	chan_pop(t->in);
	return CYCLE_NEVER;
}

static void nothing(struct block *b)
{
	(void)b;
}

const struct block_class giver_class = { .name = "giver",
					 .impl = "c",
					 .size = sizeof(struct giver),
					 .fields = giver_fields,
					 .doc = "sends notes",
					 .reset = nothing,
					 .step = giver_step };
const struct block_class taker_class = { .name = "taker",
					 .impl = "c",
					 .size = sizeof(struct taker),
					 .fields = taker_fields,
					 .doc = "takes notes",
					 .reset = nothing,
					 .step = taker_step };
const struct block_class *const tb_pair_classes[] = { &giver_class, &taker_class, NULL };

void tb_pair_build(struct sim *s, const char *const *sets)
{
	static const char *const paths[][2] = { { "g0.giver", "g0.taker" },
						{ "g1.giver", "g1.taker" } };
	struct err e = { 0 };
	struct config c;

	config_init(&c);
	for (; sets && *sets; sets++)
		CU_ASSERT(config_set(&c, *sets, &e));
	sim_init(s, 1);
	for (unsigned i = 0; i < 2; i++) {
		struct block *g = netlist_add(s, tb_pair_classes, "giver", paths[i][0], &c,
					      250 * MHZ, NULL, &e);
		struct block *t = netlist_add(s, tb_pair_classes, "taker", paths[i][1], &c,
					      250 * MHZ, NULL, &e);

		CU_ASSERT_FATAL(g && t);
		netlist_connect(s, g, "out", t, "in", 2, 1);
	}
	CU_ASSERT_FATAL(netlist_finish(s, &e));
	config_destroy(&c);
}
