/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_names.c - names of a trace to indices, parts of words that name something, and sets of ids
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/trace/trace_reader.h"

#define SUGGEST_FROM 1000u /* names looked at for "did you mean" */

const char *const trace_thing_names[THINGS] = { "host", "PD", "MR", "window", "CQ", "SRQ", "QP" };

/* ---- the table of names ---- */

const char *trace_name(const struct trace *t, enum trace_thing thing, uint32_t index)
{
	switch (thing) {
	case THING_HOST:
		return t->hosts[index].name;
	case THING_PD:
		return t->pds[index].name;
	case THING_MR:
		return t->mrs[index].name;
	case THING_MW:
		return t->mws[index].name;
	case THING_CQ:
		return t->cqs[index].name;
	case THING_SRQ:
		return t->srqs[index].name;
	default:
		return t->qps[index].name;
	}
}

static uint32_t hash_of(enum trace_thing thing, uint32_t host, const char *name, uint32_t len)
{
	uint32_t h = 2166136261u ^ (host * 16u + (uint32_t)thing);

	for (uint32_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619u;
	return h ^ h >> 15;
}

uint32_t trace_lookup(const struct trace *t, enum trace_thing thing, uint32_t host,
		      const char *name, uint32_t len)
{
	const struct trace_reader *tr = t->reader;
	uint32_t hash = hash_of(thing, host, name, len), mask = tr->cap_names - 1;

	if (tr->cap_names == 0)
		return TRACE_NONE;
	for (uint32_t i = hash & mask; tr->names[i].is_used; i = (i + 1) & mask) {
		const struct name_slot *s = &tr->names[i];

		if (s->hash == hash && s->thing == thing && s->host == host) {
			const char *known = trace_name(t, thing, s->index);

			if (memcmp(known, name, len) == 0 && known[len] == '\0')
				return s->index;
		}
	}
	return TRACE_NONE;
}

static void insert(struct name_slot *names, uint32_t cap, struct name_slot s)
{
	uint32_t i = s.hash & (cap - 1);

	while (names[i].is_used)
		i = (i + 1) & (cap - 1);
	names[i] = s;
}

void trace_enter(struct trace *t, enum trace_thing thing, uint32_t host, uint32_t index)
{
	struct trace_reader *tr = t->reader;
	const char *name = trace_name(t, thing, index);
	struct name_slot s = { .hash = hash_of(thing, host, name, (uint32_t)strlen(name)),
			       .host = host,
			       .index = index,
			       .thing = (uint8_t)thing,
			       .is_used = true };

	if (2 * (tr->n_names + 1) > tr->cap_names) {
		uint32_t cap = tr->cap_names ? 2 * tr->cap_names : 64;
		struct name_slot *names = x_calloc(cap, sizeof(*names));

		for (uint32_t i = 0; i < tr->cap_names; i++)
			if (tr->names[i].is_used)
				insert(names, cap, tr->names[i]);
		free(tr->names);
		tr->names = names;
		tr->cap_names = cap;
	}
	insert(tr->names, tr->cap_names, s);
	tr->n_names++;
}

uint32_t trace_find_host(const struct trace *t, const char *name)
{
	size_t len = strlen(name);

	return len > NAME_MAX_LEN ? TRACE_NONE
				  : trace_lookup(t, THING_HOST, 0, name, (uint32_t)len);
}

/* ---- cursors ---- */

/* "no MR 'sr' on host h0 (did you mean 'src'?)" */
static bool unknown_why(const struct trace *t, enum trace_thing thing, uint32_t host,
			const char *name, uint32_t len, char *why)
{
	const char *known[SUGGEST_FROM], *near;
	char word[NAME_MAX_LEN + 1];
	size_t n = 0;

	for (uint32_t i = 0; i < t->reader->cap_names && n < SUGGEST_FROM; i++) {
		const struct name_slot *s = &t->reader->names[i];

		if (s->is_used && s->thing == thing && s->host == host)
			known[n++] = trace_name(t, thing, s->index);
	}
	snprintf(word, sizeof(word), "%.*s", (int)len, name);
	near = err_nearest(word, known, n);
	snprintf(why, RECORD_WHY, "no %s '%s'%s%s%s%s%s", trace_thing_names[thing], word,
		 thing == THING_HOST ? "" : " on host ",
		 thing == THING_HOST ? "" : t->hosts[host].name, near ? " (did you mean '" : "",
		 near ? near : "", near ? "'?)" : "");
	return false;
}

bool trace_take(const struct trace *t, const char **p, enum trace_thing thing, uint32_t host,
		uint32_t *index, char *why)
{
	const char *name, *s = *p;
	uint32_t len;

	if (!record_name(&s, &name, &len) || len > NAME_MAX_LEN) {
		snprintf(why, RECORD_WHY, "a name is missing: which %s?", trace_thing_names[thing]);
		return false;
	}
	*index = trace_lookup(t, thing, host, name, len);
	if (*index == TRACE_NONE)
		return unknown_why(t, thing, host, name, len, why);
	*p = s;
	return true;
}

bool trace_take_host(const struct trace *t, const char **p, uint32_t *host, char *why)
{
	return trace_take(t, p, THING_HOST, 0, host, why);
}

bool trace_take_mr_at(const struct trace *t, const char **p, uint32_t host, uint32_t *mr,
		      uint64_t *off, char *why)
{
	if (!trace_take(t, p, THING_MR, host, mr, why))
		return false;
	if (!record_char(p, ':') || !record_size(p, off)) {
		snprintf(why, RECORD_WHY, "after the MR comes ':' and an offset in bytes");
		return false;
	}
	if (*off > t->mrs[*mr].len) {
		snprintf(why, RECORD_WHY, "offset %llu lies outside of MR %s (%llu bytes)",
			 (unsigned long long)*off, t->mrs[*mr].name,
			 (unsigned long long)t->mrs[*mr].len);
		return false;
	}
	return true;
}

bool trace_take_mr_range(const struct trace *t, const char **p, uint32_t host, uint32_t *mr,
			 uint64_t *off, uint64_t *len, char *why)
{
	if (!trace_take_mr_at(t, p, host, mr, off, why))
		return false;
	if (!record_char(p, ':') || !record_size(p, len)) {
		snprintf(why, RECORD_WHY, "after MR:OFFSET comes ':' and a length in bytes");
		return false;
	}
	if (*len > t->mrs[*mr].len - *off) {
		snprintf(why, RECORD_WHY,
			 "%llu bytes from offset %llu reach outside of MR %s (%llu bytes)",
			 (unsigned long long)*len, (unsigned long long)*off, t->mrs[*mr].name,
			 (unsigned long long)t->mrs[*mr].len);
		return false;
	}
	return true;
}

bool trace_parse_hex(const char *text, uint8_t **bytes, uint64_t *len, char *why)
{
	const char *s = text + 4, *p = s;
	size_t n = strncmp(text, "hex:", 4) == 0 ? record_hex(&p, NULL) : 0;

	if (n == 0 || n == SIZE_MAX || *p) {
		snprintf(why, RECORD_WHY,
			 "must be hex: and two hex digits a byte, at least one byte");
		return false;
	}
	*bytes = x_calloc(n, 1);
	*len = record_hex(&s, *bytes);
	return true;
}

/* ---- sets of rising ids ---- */

void id_set_add(struct id_set *s, uint64_t id)
{
	struct id_run *r = s->n ? &s->runs[s->n - 1] : NULL;

	if (r && r->count == 1 && id - r->first <= UINT32_MAX) {
		r->stride = (uint32_t)(id - r->first);
		r->count = 2;
		return;
	}
	if (r && r->count > 1 && r->count < UINT32_MAX &&
	    id - r->first == (uint64_t)r->stride * r->count) {
		r->count++;
		return;
	}
	if (!s->runs || s->n == s->cap) {
		s->cap = s->cap ? s->cap + s->cap / 2 : 8;
		s->runs = x_realloc(s->runs, s->cap * sizeof(*s->runs));
	}
	s->runs[s->n++] = (struct id_run){ .first = id, .stride = 1, .count = 1 };
}

bool id_set_has(const struct id_set *s, uint64_t id)
{
	uint32_t lo = 0, hi = s->n;

	/* usually one of the last few ids is asked for */
	if (hi > 1 && s->runs[hi - 1].first <= id)
		lo = hi - 1;
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->runs[mid].first <= id)
			lo = mid;
		else
			hi = mid;
	}
	if (lo == hi || s->runs[lo].first > id)
		return false;
	id -= s->runs[lo].first;
	return id % s->runs[lo].stride == 0 && id / s->runs[lo].stride < s->runs[lo].count;
}
