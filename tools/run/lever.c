/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lever.c - the parameters of a net-list of which there may be too little, and what more of them is
 */
#include "tools/run/lever.h"

#include <stdio.h>
#include <string.h>

#include "sim/chan.h"
#include "tools/run/commands.h"
#include "tools/run/explain_parts.h"

#define TIMES 4u
#define CACHE_TIMES 64u /* less does not help one that thrashes */

/* No levers: formats, what peers or drivers agree on, timers, policies, odds. */
static const char *const fixed[] = {
	"ack_count",
	"ack_req_every",
	"ahead_time",
	"bdp_cap",
	"burst",
	"compress_max",
	"compress_time",
	"efficiency",
	"entry",
	"fc_interval",
	"hdr_cpl",
	"hdr_req",
	"jitter_delay",
	"levels",
	"mpt_entry",
	"rate_burst",
	"rcb",
	"react_delay",
	"refresh_interval",
	"reorder_delay",
	"rnr_25",
	"rq_low",
	"rto_few",
	"rto_max",
	"rto_min",
	"rx_xoff",
	"rx_xon",
	"seg_size",
	"timeout_factor",
	"wc_bytes",
};

/* Lists of powers of two; of the other lists a choice is a policy. */
static const char *const doubling[] = { "gen",      "lanes",    "line", "iotlb_sets",
					"llc_sets", "mpt_sets", "sets", "wqe_sets" };

static bool is_in(const char *const *names, size_t n, const char *name)
{
	while (n && strcmp(names[n - 1], name) != 0)
		n--;
	return n > 0;
}

/* Of caches. */
static const char *const lines[] = { "iotlb_sets", "iotlb_ways", "llc_sets", "mpt_sets",
				     "mpt_ways",   "sets",       "ways",     "walk_entries",
				     "wqe_cache",  "wqe_sets" };

static unsigned times_of(const struct field *f)
{
	return is_in(lines, ARRAY_LEN(lines), f->name) ? CACHE_TIMES : TIMES;
}

static unsigned log2_of(uint64_t times)
{
	return (unsigned)__builtin_ctzll(times);
}

static bool is_less_better(const struct field *f)
{
	return f->form == FORM_TIME || f->form == FORM_LENGTH || strcmp(f->unit, "cyc") == 0;
}

/* 'v' when there is no more to have. */
static uint64_t improved(const struct field *f, uint64_t v)
{
	uint64_t times = times_of(f);

	if (v == 0 && f->form != FORM_ENUM)
		return v;
	if (is_less_better(f))
		return min_u64(v, max_u64(v / TIMES, f->min));
	switch (f->form) {
	case FORM_COUNT:
	case FORM_BYTES:
	case FORM_RATE:
	case FORM_FREQ:
		return max_u64(v, v > f->max / times ? f->max : v * times);
	case FORM_ENUM:
		if (!is_in(doubling, ARRAY_LEN(doubling), f->name))
			return v;
		return min_u64(v + log2_of(times), f->max);
	default:
		return v;
	}
}

/* What a link has from the MACs at its ends, one of which has less: it is theirs. */
static bool is_borrowed(const struct block *b, const struct field *f)
{
	const struct sim *s = b->sim;

	if (strcmp(b->cls->name, "wire") != 0 || strcmp(f->name, "rate") != 0)
		return false;
	for (uint32_t i = 0; i < s->n_blocks; i++) {
		const struct block *mac = s->blocks[i];

		if (strcmp(mac->cls->name, "mac") == 0 &&
		    field_get(mac, field_find(mac->cls->fields, FIELD_PARAM, "rate")) !=
			    field_get(b, f))
			return true;
	}
	return false;
}

static const char *part_of(const struct block *b)
{
	const char *dot = strrchr(b->name, '.');

	return dot ? dot + 1 : b->cls->name;
}

static void add_levers(const struct block *b, const struct field *fields, struct lever *l,
		       unsigned *n)
{
	const struct field *f;

	FIELDS_EACH(f, fields) {
		struct lever x = { .b = b, .f = f, .part = part_of(b) };

		snprintf(x.path, sizeof(x.path), "%s", b->name);
		if (f->kind != FIELD_PARAM || f->form == FORM_STR ||
		    is_in(fixed, ARRAY_LEN(fixed), f->name) || is_borrowed(b, f))
			continue;
		x.now = field_get(b, f);
		x.then = improved(f, x.now);
		x.is_latency = is_less_better(f);
		if (x.then != x.now)
			l[(*n)++] = x;
	}
}

static bool has_moved(const struct sim *s, const struct block *b)
{
	for (uint32_t i = 0; i < s->n_chans; i++) {
		const struct chan *c = s->chans[i];

		if (c->pushes && (c->producer == b || c->consumer == b))
			return true;
	}
	return false;
}

static bool has_path(const struct lever *l, unsigned n, const char *path)
{
	while (n && strcmp(l[n - 1].path, path) != 0)
		n--;
	return n > 0;
}

static bool is_in_group(const struct block *b, const char *group)
{
	size_t n = strlen(group);

	return strncmp(b->name, group, n) == 0 && b->name[n] == '.';
}

/* The clock of a group is what most of its blocks have; the others have their own. */
static const struct block *with_clock_of(const struct sim *s, const char *group)
{
	const struct block *best = NULL;
	uint32_t most = 0;

	for (uint32_t i = 0; i < s->n_blocks; i++) {
		uint32_t n = 0;

		for (uint32_t k = 0; is_in_group(s->blocks[i], group) && k < s->n_blocks; k++)
			n += is_in_group(s->blocks[k], group) &&
			     s->blocks[k]->clock_hz == s->blocks[i]->clock_hz;
		if (n > most) {
			most = n;
			best = s->blocks[i];
		}
	}
	return best;
}

/* The clock of the NIC or host that 'b' is in, if that has one and it is not among the 'n' of 'l' yet. */
static bool group_lever(const struct block *b, const struct lever *l, unsigned n, struct lever *x)
{
	*x = (struct lever){ .is_group = true };
	snprintf(x->path, sizeof(x->path), "%.*s", (int)strcspn(b->name, "."), b->name);
	if (!is_in_group(b, x->path) || has_path(l, n, x->path))
		return false;
	for (size_t k = 0; section_classes[k] && !x->f; k++) {
		x->part = section_classes[k]->name;
		if (config_is_group(x->part, x->path))
			x->f = field_find(section_classes[k]->fields, FIELD_PARAM, "clock");
	}
	if (!x->f)
		return false;
	x->b = with_clock_of(b->sim, x->path);
	x->now = x->b->clock_hz;
	x->then = improved(x->f, x->now);
	return x->then != x->now;
}

struct lever *levers_of(const struct sim *s, unsigned *n)
{
	size_t cap = 1;
	struct lever *l;
	unsigned n_blocks;

	for (uint32_t i = 0; i < s->n_blocks; i++)
		cap += field_count(s->blocks[i]->cls->fields, FIELD_PARAM) +
		       field_count(block_common_fields, FIELD_PARAM) + 1; /* its group's clock */
	l = x_calloc(cap, sizeof(*l));
	*n = 0;
	for (uint32_t i = 0; i < s->n_blocks; i++)
		if (has_moved(s, s->blocks[i])) {
			add_levers(s->blocks[i], s->blocks[i]->cls->fields, l, n);
			add_levers(s->blocks[i], block_common_fields, l, n);
		}
	n_blocks = *n;
	for (unsigned i = 0; i < n_blocks; i++)
		*n += group_lever(l[i].b, l + n_blocks, *n - n_blocks, &l[*n]);
	return l;
}

bool lever_set(const struct lever *l, struct config *cfg, struct err *e)
{
	char text[256], value[64];

	snprintf(text, sizeof(text), "%s.%s=%s", l->path, l->f->name,
		 value_format(l->f, l->then, value, sizeof(value)));
	return config_set_as(cfg, "--explain", text, e);
}
