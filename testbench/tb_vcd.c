/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_vcd.c - a reader of value change dumps (IEEE 1364-2005, clause 18), written without a look at the writer
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/err.h"
#include "testbench/tb_vcd.h"

/* Identifier codes of the declared signals, by signal number. */
struct reader {
	FILE *f;
	struct tb_changes *out;
	char (*ids)[16];
	char scope[64];
	char word[256];
	bool is_bad;
};

static const char *next_word(struct reader *r)
{
	return fscanf(r->f, "%255s", r->word) == 1 ? r->word : NULL;
}

static void skip_to_end(struct reader *r)
{
	const char *w;

	while ((w = next_word(r)) != NULL && strcmp(w, "$end") != 0)
		;
	r->is_bad |= w == NULL;
}

static void read_scope(struct reader *r)
{
	char name[64];
	size_t n = strlen(r->scope);

	if (fscanf(r->f, " %*s %63s", name) != 1 || n + strlen(name) + 2 > sizeof(r->scope)) {
		r->is_bad = true;
	} else {
		if (n)
			r->scope[n++] = '.';
		memcpy(r->scope + n, name, strlen(name) + 1);
	}
	skip_to_end(r);
}

static void leave_scope(struct reader *r)
{
	char *dot = strrchr(r->scope, '.');

	r->is_bad |= r->scope[0] == '\0';
	*(dot ? dot : r->scope) = '\0';
	skip_to_end(r);
}

/* $var wire 4 ! count [3:0] $end */
static void read_var(struct reader *r)
{
	struct tb_changes *c = r->out;
	char id[16], name[40], range[24] = "";
	unsigned bits;

	if (fscanf(r->f, " %*s %u %15s %39s %23s", &bits, id, name, range) != 4) {
		r->is_bad = true;
		return;
	}
	if (range[0] == '[')
		skip_to_end(r);
	else
		range[0] = '\0';
	c->signals = x_realloc(c->signals, (c->n_signals + 1) * sizeof(*c->signals));
	r->ids = x_realloc(r->ids, (c->n_signals + 1) * sizeof(*r->ids));
	snprintf(c->signals[c->n_signals], sizeof(*c->signals), "%.30s.%.30s%.10s", r->scope, name,
		 range);
	strcpy(r->ids[c->n_signals++], id);
	r->is_bad |= bits < 1 || bits > 64 || (bits > 1 && range[0] == '\0');
}

static void read_change(struct reader *r, const char *id, uint64_t value)
{
	for (size_t i = 0; i < r->out->n_signals; i++)
		if (strcmp(r->ids[i], id) == 0) {
			tb_changes_add(r->out, r->out->end_ps, r->out->signals[i], value);
			return;
		}
	r->is_bad = true;
}

static void read_value(struct reader *r)
{
	uint64_t value = 0;
	const char *w = r->word;
	char *end;

	if (*w == '#') {
		uint64_t t = strtoull(w + 1, &end, 10);

		r->is_bad |= t < r->out->end_ps || *end != '\0' || end == w + 1;
		r->out->end_ps = t;
	} else if (*w == 'b') {
		for (w++; *w == '0' || *w == '1'; w++)
			value = 2 * value + (uint64_t)(*w - '0');
		r->is_bad |= *w != '\0' || !next_word(r);
		read_change(r, r->word, value);
	} else if (*w == '0' || *w == '1') {
		read_change(r, w + 1, (uint64_t)(*w - '0'));
	} else {
		r->is_bad |= strcmp(w, "$dumpvars") != 0 && strcmp(w, "$end") != 0;
	}
}

static void read_header(struct reader *r)
{
	const char *w;

	while ((w = next_word(r)) != NULL && strcmp(w, "$enddefinitions") != 0) {
		if (strcmp(w, "$scope") == 0)
			read_scope(r);
		else if (strcmp(w, "$upscope") == 0)
			leave_scope(r);
		else if (strcmp(w, "$var") == 0)
			read_var(r);
		else
			skip_to_end(r);
	}
	r->is_bad |= w == NULL || r->scope[0] != '\0';
	skip_to_end(r);
}

bool tb_vcd_read(const char *path, struct tb_changes *c)
{
	struct reader r = { .f = fopen(path, "r"), .out = c };

	memset(c, 0, sizeof(*c));
	if (!r.f)
		return false;
	read_header(&r);
	while (!r.is_bad && next_word(&r))
		read_value(&r);
	fclose(r.f);
	free(r.ids);
	tb_changes_sort(c);
	return !r.is_bad;
}

void tb_changes_add(struct tb_changes *c, uint64_t ps, const char *name, uint64_t value)
{
	if ((c->n & (c->n - 1)) == 0)
		c->v = x_realloc(c->v, (c->n ? 2 * c->n : 1) * sizeof(*c->v));
	c->v[c->n] = (struct tb_change){ .ps = ps, .value = value };
	snprintf(c->v[c->n++].name, sizeof(c->v->name), "%s", name);
}

static int by_time_and_name(const void *a, const void *b)
{
	const struct tb_change *x = a, *y = b;

	return x->ps != y->ps ? (x->ps < y->ps ? -1 : 1) : strcmp(x->name, y->name);
}

void tb_changes_sort(struct tb_changes *c)
{
	if (c->n)
		qsort(c->v, c->n, sizeof(*c->v), by_time_and_name);
}

void tb_changes_free(struct tb_changes *c)
{
	free(c->v);
	free(c->signals);
	memset(c, 0, sizeof(*c));
}

bool tb_changes_equal(const struct tb_changes *a, const struct tb_changes *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (a->v[i].value != b->v[i].value || by_time_and_name(&a->v[i], &b->v[i]) != 0)
			return false;
	return true;
}
