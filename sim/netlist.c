/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netlist.c - instances from classes and configuration, channels between their ports, and the checks
 */
#include "sim/netlist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INPUTS 64u /* bits of block.in_pending */
#define MAX_DEPTH (1u << 20)

const struct block_class *class_find(const struct block_class *const *classes, const char *name,
				     const char *impl)
{
	for (; *classes; classes++)
		if (strcmp((*classes)->name, name) == 0 && strcmp((*classes)->impl, impl) == 0)
			return *classes;
	return NULL;
}

static const char *impl_name(const struct block *b)
{
	for (const struct field *f = block_common_fields; f->kind != FIELD_END; f++)
		if (strcmp(f->name, "impl") == 0)
			return f->names[b->impl];
	return "c";
}

static struct block *add_instance(struct sim *s, const struct block_class *cls, const char *path)
{
	struct block *b = sim_alloc(s, 1, cls->size);
	char *name = sim_alloc(s, 1, strlen(path) + 1);

	strcpy(name, path);
	b->cls = cls;
	b->sim = s;
	b->name = name;
	b->step = cls->step;
	b->wake_cyc = CYCLE_NEVER;
	b->index = s->n_blocks;
	rng_seed(&b->rng, path, s->seed);
	if (s->n_blocks == s->cap_blocks) {
		s->cap_blocks = s->cap_blocks ? 2 * s->cap_blocks : 64;
		s->blocks = x_realloc(s->blocks, s->cap_blocks * sizeof(struct block *));
	}
	s->blocks[s->n_blocks++] = b;
	return b;
}

/* Ask the class whether its parameters go together. */
static bool check_params(struct config *cfg, const char *path, const char *name,
			 const struct block *b, struct err *e)
{
	const char *param = "impl", *why = b->cls->check ? b->cls->check(b, &param) : NULL;
	const struct setting *set;

	if (!why)
		return true;
	set = config_lookup(cfg, path, name, param);
	return err_set(e, set ? set->file : NULL, set ? set->line : 0, "%s.%s%s%s: %s", path, param,
		       set ? " = " : "", set ? set->value : "", why);
}

struct block *netlist_add(struct sim *s, const struct block_class *const *classes, const char *name,
			  const char *path, struct config *cfg, uint64_t clock_hz, void *env,
			  struct err *e)
{
	struct block common = { 0 }, *b;
	const struct setting *clock = config_lookup(cfg, path, name, "clock");
	const struct setting *impl = config_lookup(cfg, path, name, "impl");
	const struct block_class *cls;

	if (!config_apply(cfg, path, name, block_common_fields, &common, e))
		return NULL;
	cls = class_find(classes, name, impl_name(&common));
	if (!cls) {
		SIM_CHECK(impl != NULL, NULL);
		err_set(e, impl->file, impl->line,
			"block '%s' has no implementation '%s' in this build; allowed: c%s", name,
			impl->value, class_find(classes, name, "rtl") ? ", rtl" : "");
		return NULL;
	}
	b = add_instance(s, cls, path);
	b->clock_hz = clock ? common.clock_hz : clock_hz;
	b->impl = common.impl;
	b->stall_in = common.stall_in;
	b->stall_out = common.stall_out;
	b->dom = sim_domain(s, b->clock_hz);
	b->env = env;
	if (!config_apply(cfg, path, name, cls->fields, b, e) ||
	    !check_params(cfg, path, name, b, e))
		return NULL;
	return b;
}

/* The row and the member of port 'port' ("x", or "x3" for element 3 of array x); NULL when there is none. */
static struct chan **port_member(const struct block *b, const char *port, enum field_kind kind,
				 const struct field **row)
{
	for (const struct field *f = b->cls->fields; f->kind != FIELD_END; f++) {
		size_t n = strlen(f->name);
		unsigned long i = 0;
		char *end;

		if ((f->kind != FIELD_IN && f->kind != FIELD_OUT) ||
		    (kind != FIELD_END && f->kind != kind))
			continue;
		if (strncmp(f->name, port, n) != 0)
			continue;
		if (f->count) {
			i = strtoul(port + n, &end, 10);
			if (end == port + n || *end || i >= f->count)
				continue;
		} else if (port[n]) {
			continue;
		}
		*row = f;
		return (struct chan **)(void *)((char *)(uintptr_t)b + f->offset) + i;
	}
	return NULL;
}

struct chan *netlist_chan(const struct block *b, const char *port)
{
	const struct field *f;
	struct chan **member = port_member(b, port, FIELD_END, &f);

	return member ? *member : NULL;
}

/* Room for a block's inputs doubles: most have few. */
static void add_input(struct sim *s, struct block *to, struct chan *c)
{
	uint32_t n = to->n_inputs;

	if ((n & (n - 1)) == 0) {
		struct chan **room = sim_alloc(s, n ? 2 * n : 1, sizeof(*room));

		if (n)
			memcpy(room, to->inputs, n * sizeof(*room));
		to->inputs = room;
	}
	c->in_bit = (uint8_t)n;
	to->inputs[to->n_inputs++] = c;
}

struct chan *netlist_connect_raw(struct sim *s, struct block *from, struct block *to,
				 uint32_t elem_size, uint32_t depth, uint32_t latency)
{
	struct chan *c = sim_alloc(s, 1, sizeof(*c));
	uint64_t stride;

	SIM_CHECK(depth >= 1 && depth <= MAX_DEPTH && latency >= 1 && latency <= UINT16_MAX, from);
	SIM_CHECK(to->n_inputs < MAX_INPUTS, to);
	c->producer = from;
	c->consumer = to;
	c->depth = depth;
	c->latency = (uint16_t)latency;
	c->elem_size = elem_size;
	stride = align_up(elem_size, sizeof(uint64_t)) + sizeof(uint64_t);
	SIM_CHECK(stride <= UINT16_MAX && depth * stride <= UINT32_MAX, from);
	c->stride = (uint16_t)stride;
	c->end = (uint32_t)(depth * stride);
	c->slots = sim_alloc(s, depth, c->stride);
	c->visible_cyc = CYCLE_NEVER;
	c->is_quiet = true;
	c->is_plain = from->dom == to->dom;
	add_input(s, to, c);
	c->type = c->name = "";
	c->index = s->n_chans;
	if (s->n_chans == s->cap_chans) {
		s->cap_chans = s->cap_chans ? 2 * s->cap_chans : 64;
		s->chans = x_realloc(s->chans, s->cap_chans * sizeof(struct chan *));
	}
	s->chans[s->n_chans++] = c;
	return c;
}

struct chan *netlist_connect(struct sim *s, struct block *from, const char *out, struct block *to,
			     const char *in, uint32_t depth, uint32_t latency)
{
	const struct field *fo = NULL, *fi = NULL;
	struct chan **mo = port_member(from, out, FIELD_OUT, &fo),
		    **mi = port_member(to, in, FIELD_IN, &fi);
	size_t len = strlen(from->name) + strlen(out) + strlen(to->name) + strlen(in) + 4;
	struct chan *c;
	char *name;

	SIM_CHECK(mo != NULL, from);
	SIM_CHECK(mi != NULL, to);
	SIM_CHECK(*mo == NULL, from);
	SIM_CHECK(*mi == NULL, to);
	SIM_CHECK(strcmp(fo->unit, fi->unit) == 0 && fo->elem_size == fi->elem_size, from);
	c = netlist_connect_raw(s, from, to, fo->elem_size, depth, latency);
	name = sim_alloc(s, 1, len);
	snprintf(name, len, "%s.%s>%s.%s", from->name, out, to->name, in);
	c->name = name;
	c->type = fo->unit;
	c->out = fo;
	c->in = fi;
	*mo = *mi = c;
	return c;
}

/* A single port must be connected; of an array any element may stay open. */
static bool check_ports(const struct block *b, struct err *e)
{
	for (const struct field *f = b->cls->fields; f->kind != FIELD_END; f++) {
		if ((f->kind != FIELD_IN && f->kind != FIELD_OUT) || f->count)
			continue;
		if (*(struct chan *const *)(const void *)((const char *)b + f->offset) == NULL)
			return err_set(e, NULL, 0, "port %s.%s (%s) is not connected", b->name,
				       f->name, f->unit);
	}
	return true;
}

static void apply_stalls(struct chan *c, uint64_t seed)
{
	c->stall_msg = (enum stall)(c->consumer->stall_in ? c->consumer->stall_in
							  : c->producer->stall_out);
	c->stall_credit = (enum stall)(c->producer->stall_out ? c->producer->stall_out
							      : c->consumer->stall_in);
	if (c->stall_msg || c->stall_credit)
		c->is_plain = c->is_quiet = false;
	rng_seed(&c->rng, c->name, seed);
	rng_seed(&c->rng_credit, c->name, seed + 1);
}

bool netlist_finish(struct sim *s, struct err *e)
{
	for (uint32_t i = 0; i < s->n_blocks; i++)
		if (!check_ports(s->blocks[i], e))
			return false;
	for (uint32_t i = 0; i < s->n_chans; i++)
		apply_stalls(s->chans[i], s->seed);
	for (uint32_t i = 0; i < s->n_blocks; i++) {
		struct block *b = s->blocks[i];

		if (b->cls->build)
			b->cls->build(b);
		if (b->cls->reset)
			b->cls->reset(b);
		block_wake(b, 0);
	}
	return true;
}

struct block *netlist_find(const struct sim *s, const char *path)
{
	for (uint32_t i = 0; i < s->n_blocks; i++)
		if (strcmp(s->blocks[i]->name, path) == 0)
			return s->blocks[i];
	return NULL;
}
