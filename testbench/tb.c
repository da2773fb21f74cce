/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb.c - a bench for one block
 */
#include "testbench/tb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TB_HZ 250000000ull
#define TB_DEPTH 4u
#define TB_LIMIT_CYCLES 50000000ull

const char *const tb_stalls[4] = { "none", "alternate", "random", "long" };

static uint64_t source_step(struct block *b)
{
	struct tb_port *p = (struct tb_port *)b;

	if (p->n_sent == p->n_queued)
		return CYCLE_NEVER;
	if (p->not_before[p->n_sent] > b->cycle)
		return p->not_before[p->n_sent];
	if (!chan_can_push(p->chan))
		return chan_stall(p->chan);
	chan_push(p->chan, p->queue + (size_t)p->n_sent * p->elem_size, p->elem_size);
	p->n_sent++;
	return p->n_sent < p->n_queued ? b->cycle + 1 : CYCLE_NEVER;
}

static uint64_t sink_step(struct block *b)
{
	struct tb_port *p = (struct tb_port *)b;
	const void *msg = chan_peek(p->chan);
	unsigned char *copy;

	if (!msg)
		return CYCLE_NEVER;
	if (p->n_received == p->cap_log) {
		p->cap_log = p->cap_log ? 2 * p->cap_log : 64;
		p->log = x_realloc(p->log, (size_t)p->cap_log * p->elem_size);
		p->cycle = x_realloc(p->cycle, p->cap_log * sizeof(*p->cycle));
	}
	copy = p->log + (size_t)p->n_received * p->elem_size;
	memcpy(copy, msg, p->elem_size);
	p->cycle[p->n_received++] = b->cycle;
	chan_pop(p->chan);
	if (p->react)
		p->react(p->tb, p, copy);
	return CYCLE_NEVER;
}

static const struct field tb_fields[] = { { .kind = FIELD_END } };
static const struct block_class source_class = { .name = "tb_source",
						 .impl = "c",
						 .size = sizeof(struct tb_port),
						 .fields = tb_fields,
						 .step = source_step };
static const struct block_class sink_class = { .name = "tb_sink",
					       .impl = "c",
					       .size = sizeof(struct tb_port),
					       .fields = tb_fields,
					       .step = sink_step };

static struct block *add(struct tb *t, const struct block_class *cls, const char *path, uint64_t hz,
			 void *env)
{
	const struct block_class *const classes[] = { cls, NULL };
	struct err e = { 0 };
	struct block *b = netlist_add(&t->sim, classes, cls->name, path, &t->cfg, hz, env, &e);

	if (!b)
		CU_FAIL_FATAL(e.text);
	return b;
}

void tb_init(struct tb *t, const struct block_class *cls, void *env, const char *const *sets)
{
	char path[128];
	struct err e = { 0 };

	memset(t, 0, sizeof(*t));
	sim_init(&t->sim, 1);
	config_init(&t->cfg);
	for (; sets && *sets; sets++)
		if (!config_set(&t->cfg, *sets, &e))
			CU_FAIL_FATAL(e.text);
	if (strcmp(cls->impl, "c") != 0) {
		snprintf(path, sizeof(path), "%s.impl=%s", cls->name, cls->impl);
		config_set(&t->cfg, path, &e);
	}
	snprintf(path, sizeof(path), "nic0.%s", cls->name);
	t->dut = add(t, cls, path, TB_HZ, env);
}

static struct tb_port *add_port(struct tb *t, const char *port, bool is_source)
{
	char path[128];
	struct tb_port *p;
	const struct field *row = NULL;
	size_t n = strlen(port);

	while (n && port[n - 1] >= '0' && port[n - 1] <= '9')
		n--;
	for (const struct field *f = t->dut->cls->fields; f->kind != FIELD_END; f++) {
		bool is_port = f->kind == (is_source ? FIELD_IN : FIELD_OUT);

		if (is_port && (strcmp(f->name, port) == 0 || (f->count && strlen(f->name) == n &&
							       strncmp(f->name, port, n) == 0)))
			row = f;
	}
	if (!row)
		CU_FAIL_FATAL("no such port");
	snprintf(path, sizeof(path), "tb.%s", port);
	p = (struct tb_port *)add(t, is_source ? &source_class : &sink_class, path,
				  t->dut->clock_hz, NULL);
	p->tb = t;
	p->is_source = is_source;
	p->elem_size = row->elem_size;
	t->ports[t->n_ports++] = p;
	p->chan = netlist_connect_raw(&t->sim, is_source ? &p->b : t->dut,
				      is_source ? t->dut : &p->b, row->elem_size, TB_DEPTH, 1);
	p->chan->name = p->b.name;
	((struct chan **)(void *)((char *)t->dut + row->offset))
		[strcmp(row->name, port) == 0 ? 0 : strtoul(port + n, NULL, 10)] = p->chan;
	return p;
}

struct tb_port *tb_source(struct tb *t, const char *port)
{
	return add_port(t, port, true);
}

struct tb_port *tb_sink(struct tb *t, const char *port)
{
	return add_port(t, port, false);
}

struct tb_port *tb_sink_react(struct tb *t, const char *port, tb_react *react, void *arg)
{
	struct tb_port *p = add_port(t, port, false);

	p->react = react;
	p->arg = arg;
	return p;
}

void tb_start(struct tb *t)
{
	struct err e = { 0 };

	t->checkers = checker_attach_all(&t->sim);
	if (!netlist_finish(&t->sim, &e))
		CU_FAIL_FATAL(e.text);
}

void tb_send_at(struct tb_port *p, uint64_t at, const void *msg)
{
	if (p->n_queued == p->cap_queue) {
		p->cap_queue = p->cap_queue ? 2 * p->cap_queue : 64;
		p->queue = x_realloc(p->queue, (size_t)p->cap_queue * p->elem_size);
		p->not_before = x_realloc(p->not_before, p->cap_queue * sizeof(*p->not_before));
	}
	memcpy(p->queue + (size_t)p->n_queued * p->elem_size, msg, p->elem_size);
	p->not_before[p->n_queued++] = at;
	if (p->b.sim->now_ps || p->b.cycle)
		block_wake(&p->b, domain_cycle_at(p->b.dom, p->b.sim->now_ps + 1));
}

void tb_send(struct tb_port *p, const void *msg)
{
	tb_send_at(p, 0, msg);
}

void tb_run_for(struct tb *t, uint64_t cycles)
{
	t->sim.until_ps =
		domain_edge(t->dut->dom, domain_cycle_at(t->dut->dom, t->sim.now_ps) + cycles);
	sim_run(&t->sim);
}

void tb_run(struct tb *t)
{
	tb_run_for(t, TB_LIMIT_CYCLES);
}

const void *tb_got(const struct tb_port *p, uint32_t i)
{
	return i < p->n_received ? p->log + (size_t)i * p->elem_size : NULL;
}

uint64_t tb_stat(const struct tb *t, const char *name)
{
	for (const struct field *f = t->dut->cls->fields; f->kind != FIELD_END; f++)
		if (f->kind == FIELD_STAT && strcmp(f->name, name) == 0)
			return field_get(t->dut, f);
	CU_FAIL("no such statistic");
	return 0;
}

void tb_end(struct tb *t)
{
	for (uint32_t i = 0; i < t->sim.n_chans; i++)
		CU_ASSERT_PTR_NULL(checker_verdict(t->checkers[i]));
	for (uint32_t i = 0; i < t->n_ports; i++) {
		free(t->ports[i]->queue);
		free(t->ports[i]->not_before);
		free(t->ports[i]->log);
		free(t->ports[i]->cycle);
	}
	sim_destroy(&t->sim);
	config_destroy(&t->cfg);
}

void tb_behave(struct tb *t, unsigned manner)
{
	static const enum step_order orders[TB_MANNERS] = { ORDER_FORWARD, ORDER_REVERSED,
							    ORDER_SHUFFLED };

	t->sim.order = orders[manner];
	t->sim.every_cycle = manner == TB_MANNERS - 1;
}

void tb_stall_sets(const struct block_class *cls, unsigned in, unsigned out, char *set_in,
		   char *set_out)
{
	snprintf(set_in, 64, "%s.stall_in=%s", cls->name, tb_stalls[in]);
	snprintf(set_out, 64, "%s.stall_out=%s", cls->name, tb_stalls[out]);
}
