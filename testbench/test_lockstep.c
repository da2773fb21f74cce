/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_lockstep.c - every block that has a twin in Verilog: the same stimulus gives the same
 * messages in the same cycles, the same signals and the same statistics, whatever the step order
 * and the sleeping
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbench/tb_mtt.h"

extern const struct block_class *const block_classes[];

#define SETS(...) \
	(const char *const[]) \
	{ \
		__VA_ARGS__, NULL \
	}
#define MAX_RECORDS 16u
#define MAX_SIGNALS 64u

/* Numbers, in order. */
struct numbers {
	uint64_t *v;
	uint32_t n, cap;
};

/* What passes one output: cycle and fields of each message. */
struct port_record {
	struct chan_tap tap;
	struct numbers out;
	const char *type;
};

/* All that can be seen of a block during a run. */
struct record {
	struct sim_observer observer;
	const struct block *dut;
	struct port_record port[MAX_RECORDS];
	unsigned n_ports;
	struct numbers signals; /* cycle, index, value of each change */
	uint64_t last[MAX_SIGNALS];
	struct numbers stats;
};

static void put(struct numbers *l, uint64_t v)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 1024;
		l->v = x_realloc(l->v, l->cap * sizeof(*l->v));
	}
	l->v[l->n++] = v;
}

/* Every field of a message of type 'type', without what may lie between the fields. */
static void put_message(struct numbers *l, const char *type, const void *msg)
{
#define F(ctype, bits, name, doc) put(l, m->name);
#define FA(ctype, len, name, doc) \
	for (unsigned i = 0; i < (len); i++) \
		put(l, m->name[i]);
#define MSG(msg_name, doc, fields) \
	if (strcmp(type, #msg_name) == 0) { \
		const struct msg_name *m = msg; \
		fields \
	}
#include "models/msg.def"
#undef MSG
#undef F
#undef FA
}

static void pushed(struct chan_tap *tap, const struct chan *c, const void *msg)
{
	struct port_record *p = (struct port_record *)tap;

	put(&p->out, c->producer->cycle);
	put_message(&p->out, p->type, msg);
}

static void stepped(struct sim_observer *o, struct block *b)
{
	struct record *r = (struct record *)o;
	const struct field *f;
	unsigned i = 0;

	if (b != r->dut)
		return;
	FIELDS_EACH(f, b->cls->fields) {
		uint64_t v;

		if (f->kind != FIELD_SIGNAL)
			continue;
		v = field_get(b, f);
		if (v != r->last[i]) {
			put(&r->signals, b->cycle);
			put(&r->signals, i);
			put(&r->signals, v);
			r->last[i] = v;
		}
		i++;
	}
}

static void nothing(struct sim_observer *o, uint64_t now_ps)
{
	(void)o;
	(void)now_ps;
}

static void watch(struct record *r, struct tb *t)
{
	const struct field *f;
	unsigned n_signals = 0;
	char name[64];

	memset(r, 0, sizeof(*r));
	r->dut = t->dut;
	r->observer = (struct sim_observer){ .stepped = stepped, .time_done = nothing };
	t->sim.observer = &r->observer;
	FIELDS_EACH(f, t->dut->cls->fields) {
		n_signals += f->kind == FIELD_SIGNAL;
		for (unsigned i = 0; f->kind == FIELD_OUT && i < (f->count ? f->count : 1); i++) {
			struct port_record *p = &r->port[r->n_ports++];

			snprintf(name, sizeof(name), f->count ? "%s%u" : "%s", f->name, i);
			p->type = f->unit;
			p->tap.pushed = pushed;
			chan_attach(netlist_chan(t->dut, name), &p->tap);
		}
	}
	CU_ASSERT_FATAL(n_signals <= MAX_SIGNALS && r->n_ports <= MAX_RECORDS);
}

/* End of run: statistics of the block, and of its channels, whose stalls both implementations must
 * cause alike. */
static void conclude(struct record *r, struct tb *t)
{
	const struct field *f;

	FIELDS_EACH(f, t->dut->cls->fields)
		if (f->kind == FIELD_STAT)
			put(&r->stats, field_get(t->dut, f));
	for (uint32_t i = 0; i < t->sim.n_chans; i++) {
		put(&r->stats, t->sim.chans[i]->pushes);
		put(&r->stats, t->sim.chans[i]->stall_ps);
		put(&r->stats, t->sim.chans[i]->wait_cyc);
	}
}

static void release(struct record *r)
{
	for (unsigned i = 0; i < r->n_ports; i++)
		free(r->port[i].out.v);
	free(r->signals.v);
	free(r->stats.v);
}

/* The first number that differs, or UINT32_MAX. */
static uint32_t first_difference(const struct numbers *a, const struct numbers *b)
{
	for (uint32_t i = 0; i < a->n && i < b->n; i++)
		if (a->v[i] != b->v[i])
			return i;
	return a->n == b->n ? UINT32_MAX : a->n < b->n ? a->n : b->n;
}

static bool is_equal(const struct record *a, const struct record *b)
{
	for (unsigned i = 0; i < a->n_ports; i++)
		if (first_difference(&a->port[i].out, &b->port[i].out) != UINT32_MAX)
			return false;
	return first_difference(&a->signals, &b->signals) == UINT32_MAX &&
	       first_difference(&a->stats, &b->stats) == UINT32_MAX;
}

/* How a run is made; nothing of it may be seen in the record. */
struct manner {
	enum step_order order;
	bool every_cycle;
};

/* Bursts, pauses, wrong requests, and keys forgotten while requests are under way. */
static void run_mtt(const struct block_class *cls, const char *const *sets, unsigned seed,
		    struct manner how, struct record *r)
{
	static struct tb_mtt e;
	uint64_t at[2] = { 0, 0 };
	uint32_t n_keys = seed & 1 ? 4 : TB_MTT_KEYS; /* few: evictions are rare, so each is seen */

	tb_mtt_init(&e, cls, sets, seed % 4 * 10);
	rng_seed(&e.rng, "lockstep", seed);
	tb_mtt_map_random(&e);
	for (unsigned i = 0; i < 250; i++)
		for (unsigned c = 0; c < 2; c++) {
			if (rng_below(&e.rng, 8) == 0)
				at[c] += rng_below(&e.rng, 200);
			tb_mtt_send(&e, c, at[c], tb_mtt_random(&e, n_keys));
			if (rng_below(&e.rng, 10) == 0)
				tb_send_at(e.inv, at[c],
					   &(struct mpt_cmd){
						   .key = (uint32_t)rng_below(&e.rng, n_keys + 1)
							  << 8 });
		}
	e.t.sim.order = how.order;
	e.t.sim.every_cycle = how.every_cycle;
	watch(r, &e.t);
	tb_run_for(&e.t, 120000);
	CU_ASSERT_EQUAL(tb_mtt_differences(&e), 0);
	conclude(r, &e.t);
	tb_end(&e.t);
}

struct twin {
	const char *name;
	void (*run)(const struct block_class *cls, const char *const *sets, unsigned seed,
		    struct manner how, struct record *r);
	const char *small, *large; /* settings that make many misses, and few */
	const char *other;         /* one that changes times */
};
static const struct twin twins[] = {
	{ "mtt", run_mtt, "mtt.sets=4", "mtt.sets=128", "mtt.hit_cyc=3" },
};

/* The run of one implementation is in lockstep with the reference. */
static bool is_in_step(const struct twin *t, const char *impl, const char *const *sets,
		       unsigned seed, struct manner how, const struct record *reference)
{
	const struct block_class *cls = class_find(block_classes, t->name, impl);
	struct record r;
	bool ok;

	if (!cls)
		return true;
	t->run(cls, sets, seed, how, &r);
	ok = is_equal(reference, &r);
	release(&r);
	return ok;
}

static void twin_under_all_stalls_is_in_lockstep(void)
{
	for (const struct twin *t = twins; t < twins + ARRAY_LEN(twins); t++)
		for (unsigned k = 0; k < 32; k++) {
			const struct block_class *cls = class_find(block_classes, t->name, "c");
			char in[64], out[64], ways[64];
			const char *const *sets = SETS(in, out, ways, k & 16 ? t->small : t->large);
			struct record c;

			tb_stall_sets(cls, k % 4, k / 4 % 4, in, out);
			snprintf(ways, sizeof(ways), "%s.ways=%u", t->name, 1 + (k + k / 4) % 4);
			t->run(cls, sets, k, (struct manner){ ORDER_FORWARD, false }, &c);
			CU_ASSERT(is_in_step(t, "rtl", sets, k,
					     (struct manner){ ORDER_FORWARD, false }, &c));
			release(&c);
		}
}

static void step_order_and_sleeping_are_not_seen(void)
{
	static const struct manner manners[] = {
		{ ORDER_REVERSED, false },
		{ ORDER_SHUFFLED, false },
		{ ORDER_FORWARD, true },
		{ ORDER_SHUFFLED, true },
	};

	for (const struct twin *t = twins; t < twins + ARRAY_LEN(twins); t++) {
		const struct block_class *cls = class_find(block_classes, t->name, "c");
		struct record c;

		t->run(cls, SETS(t->small), 2, (struct manner){ ORDER_FORWARD, false }, &c);
		for (unsigned i = 0; i < ARRAY_LEN(manners); i++) {
			CU_ASSERT(is_in_step(t, "c", SETS(t->small), 2, manners[i], &c));
			CU_ASSERT(is_in_step(t, "rtl", SETS(t->small), 2, manners[i], &c));
		}
		release(&c);
	}
}

static void twin_that_is_slower_is_noticed(void)
{
	for (const struct twin *t = twins; t < twins + ARRAY_LEN(twins); t++) {
		const struct block_class *cls = class_find(block_classes, t->name, "c");
		const struct manner plain = { ORDER_FORWARD, false };
		struct record c, slower;

		t->run(cls, SETS(t->small), 1, plain, &c);
		t->run(cls, SETS(t->small, t->other), 1, plain, &slower);
		CU_ASSERT_FALSE(is_equal(&c, &slower));
		release(&slower);
		release(&c);
	}
}

CU_TestInfo test_lockstep_tests[] = {
	{ "twin_under_all_stalls_is_in_lockstep", twin_under_all_stalls_is_in_lockstep },
	{ "step_order_and_sleeping_are_not_seen", step_order_and_sleeping_are_not_seen },
	{ "twin_that_is_slower_is_noticed", twin_that_is_slower_is_noticed },
	CU_TEST_INFO_NULL
};
