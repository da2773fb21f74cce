/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.c - one walk over all statistics; JSON, CSV and look-up are its users
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/chan.h"
#include "sim/pool.h"
#include "sim/stats.h"

typedef bool stat_row(void *arg, const struct stat_item *it);

/* The parts of one histogram. False when 'row' wants no more. */
static bool each_of_hist(const struct hist *h, struct stat_item it, stat_row *row, void *arg)
{
	const struct {
		const char *part, *unit;
		uint64_t value;
	} parts[] = {
		{ "n", "", h->n },
		{ "mean", it.unit, hist_mean(h) },
		{ "min", it.unit, h->min },
		{ "max", it.unit, h->max },
		{ "p50", it.unit, hist_quantile(h, 500000) },
		{ "p99", it.unit, hist_quantile(h, 990000) },
		{ "p999", it.unit, hist_quantile(h, 999000) },
	};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		it.part = parts[i].part;
		it.unit = parts[i].unit;
		it.value = parts[i].value;
		if (!row(arg, &it))
			return false;
	}
	return true;
}

static bool each_of_block(const struct block *b, stat_row *row, void *arg)
{
	const struct field *f;

	FIELDS_EACH(f, b->cls->fields) {
		struct stat_item it = { STAT_BLOCK, b->name, f->name, NULL, f->unit, 0 };

		if (f->kind == FIELD_STAT) {
			it.value = field_get(b, f);
			if (!row(arg, &it))
				return false;
		} else if (f->kind == FIELD_HIST) {
			if (!each_of_hist(field_hist(b, f), it, row, arg))
				return false;
		}
	}
	return true;
}

static bool each_of_chan(const struct chan *c, stat_row *row, void *arg)
{
	const struct stat_item parts[] = {
		{ STAT_CHANNEL, c->name, "pushes", NULL, c->type, c->pushes },
		{ STAT_CHANNEL, c->name, "stall_ps", NULL, "ps", c->stall_ps },
		{ STAT_CHANNEL, c->name, "wait_cyc", NULL, "cyc", c->wait_cyc },
	};

	for (size_t i = 0; c->pushes > 0 && i < ARRAY_LEN(parts); i++)
		if (!row(arg, &parts[i]))
			return false;
	return true;
}

static bool each_of_pool(const struct sim *s, uint32_t index, stat_row *row, void *arg)
{
	const struct pool *p = s->pools[index];
	char name[256];
	uint32_t nth = 0;

	for (uint32_t i = 0; i < index; i++)
		nth += s->pools[i]->owner == p->owner;
	snprintf(name, sizeof(name), "%s.pool%" PRIu32, p->owner->name, nth);

	const struct stat_item parts[] = {
		{ STAT_POOL, name, "buffers", NULL, "", p->n },
		{ STAT_POOL, name, "size", NULL, "B", p->size },
		{ STAT_POOL, name, "allocs", NULL, "", p->allocs },
	};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (!row(arg, &parts[i]))
			return false;
	return true;
}

void stats_each(const struct sim *s, stat_row *row, void *arg)
{
	for (uint32_t i = 0; i < s->n_blocks; i++)
		if (!each_of_block(s->blocks[i], row, arg))
			return;
	for (uint32_t i = 0; i < s->n_chans; i++)
		if (!each_of_chan(s->chans[i], row, arg))
			return;
	for (uint32_t i = 0; i < s->n_pools; i++)
		if (!each_of_pool(s, i, row, arg))
			return;
}

/* ---- JSON ---- */

struct json_state {
	struct json *j;
	enum stat_kind kind;
	char group[256], name[128]; /* of the objects that are open; empty: not open */
};

static void close_group(struct json_state *w)
{
	if (w->name[0])
		json_close(w->j);
	if (w->group[0])
		json_close(w->j);
	w->name[0] = w->group[0] = '\0';
}

static bool json_row(void *arg, const struct stat_item *it)
{
	static const char *const kinds[] = { "blocks", "channels", "pools" };
	struct json_state *w = arg;

	while (w->kind != it->kind) {
		close_group(w);
		json_close(w->j);
		json_open(w->j, kinds[++w->kind]);
	}
	if (strcmp(w->group, it->group) != 0) {
		close_group(w);
		snprintf(w->group, sizeof(w->group), "%s", it->group);
		json_open(w->j, it->group);
	}
	if (w->name[0] && (!it->part || strcmp(w->name, it->name) != 0)) {
		json_close(w->j);
		w->name[0] = '\0';
	}
	if (it->part && !w->name[0]) {
		snprintf(w->name, sizeof(w->name), "%s", it->name);
		json_open(w->j, it->name);
	}
	json_u64(w->j, it->part ? it->part : it->name, it->value);
	return true;
}

void stats_write(struct json *j, const struct sim *s)
{
	struct json_state w = { .j = j, .kind = STAT_BLOCK };

	json_open(j, "blocks");
	stats_each(s, json_row, &w);
	close_group(&w);
	json_close(j);
	if (w.kind < STAT_CHANNEL) {
		json_open(j, "channels");
		json_close(j);
	}
	if (w.kind < STAT_POOL) {
		json_open(j, "pools");
		json_close(j);
	}
}

static void write_param(struct json *j, const struct field *f, const void *obj)
{
	uint64_t v;

	if (f->form == FORM_STR) {
		json_str(j, f->name,
			 *(const char *const *)(const void *)((const char *)obj + f->offset));
		return;
	}
	v = field_get(obj, f);
	if (f->form == FORM_BOOL)
		json_bool(j, f->name, v != 0);
	else if (f->form == FORM_ENUM)
		json_str(j, f->name, f->names[v]);
	else if (f->form == FORM_TIME && v == TIME_NEVER)
		json_str(j, f->name, NULL);
	else
		json_u64(j, f->name, v);
}

static void write_params(struct json *j, const struct field *fields, const void *obj)
{
	const struct field *f;

	FIELDS_EACH(f, fields)
		if (f->kind == FIELD_PARAM)
			write_param(j, f, obj);
}

void stats_write_params(struct json *j, const char *key, const struct field *fields,
			const void *obj)
{
	json_open(j, key);
	write_params(j, fields, obj);
	json_close(j);
}

void stats_write_config(struct json *j, const struct sim *s)
{
	json_open(j, "config");
	for (uint32_t i = 0; i < s->n_blocks; i++) {
		const struct block *b = s->blocks[i];

		json_open(j, b->name);
		write_param(j, field_find(block_common_fields, FIELD_PARAM, "clock"), b);
		write_params(j, b->cls->fields, b);
		json_close(j);
	}
	json_close(j);
}

/* ---- CSV ---- */

static bool csv_row(void *arg, const struct stat_item *it)
{
	bool is_quoted = strpbrk(it->unit, ",\"\n") != NULL;

	/* names of instances and rows have no comma, units may */
	fprintf(arg, "%s.%s%s%s,%" PRIu64 ",%s%s%s\n", it->group, it->name, it->part ? "." : "",
		it->part ? it->part : "", it->value, is_quoted ? "\"" : "", it->unit,
		is_quoted ? "\"" : "");
	return true;
}

void stats_write_csv(const struct sim *s, FILE *f)
{
	fputs("path,value,unit\n", f);
	stats_each(s, csv_row, f);
}

/* ---- look-up ---- */

struct find_state {
	const char *path;
	uint64_t value;
	bool is_found;
};

/* What follows 'head' and a dot in 'path', or NULL. 'path' ends there: an empty string. */
static const char *after(const char *path, const char *head)
{
	size_t n = strlen(head);

	if (strncmp(path, head, n) != 0 || (path[n] != '.' && path[n] != '\0'))
		return NULL;
	return path + n + (path[n] == '.');
}

static bool find_row(void *arg, const struct stat_item *it)
{
	struct find_state *w = arg;
	const char *p = after(w->path, it->group);

	if (p && *p)
		p = after(p, it->name);
	else
		return true;
	if (p && it->part && *p)
		p = after(p, it->part);
	else if (it->part)
		p = NULL;
	if (!p || *p)
		return true;
	w->value = it->value;
	w->is_found = true;
	return false;
}

bool stats_find(const struct sim *s, const char *path, uint64_t *value)
{
	struct find_state w = { .path = path };

	stats_each(s, find_row, &w);
	if (w.is_found)
		*value = w.value;
	return w.is_found;
}

/* All names, for the nearest. */
struct name_state {
	char **name;
	size_t n, cap;
};

static bool name_row(void *arg, const struct stat_item *it)
{
	struct name_state *w = arg;
	char text[512];

	if (it->kind != STAT_BLOCK)
		return false;
	snprintf(text, sizeof(text), "%s.%s%s%s", it->group, it->name, it->part ? "." : "",
		 it->part ? it->part : "");
	if (w->n == w->cap) {
		w->cap = w->cap ? 2 * w->cap : 256;
		w->name = x_realloc(w->name, w->cap * sizeof(*w->name));
	}
	w->name[w->n++] = x_strdup(text);
	return true;
}

bool stats_unknown(const struct sim *s, const char *path, const char *file, unsigned line,
		   struct err *e)
{
	struct name_state w = { 0 };
	const char *near;

	stats_each(s, name_row, &w);
	near = err_nearest(path, (const char *const *)w.name, w.n);
	if (near)
		err_set(e, file, line, "unknown statistic '%.100s'; nearest is '%s'", path, near);
	else
		err_set(e, file, line,
			"unknown statistic '%.100s'; must be INSTANCE.STATISTIC, for example '%s'",
			path, w.n ? w.name[0] : "nic0.mtt.hits");
	for (size_t i = 0; i < w.n; i++)
		free(w.name[i]);
	free(w.name);
	return false;
}
