/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.c - documentation derived from tables: text and JSON (describe_sv.c: SystemVerilog)
 */
#include <stdlib.h>
#include <string.h>

#include "sim/config.h"
#include "sim/describe.h"
#include "sim/describe_sv.h"
#include "sim/json.h"

static const char *const kind_keys[] = {
	[FIELD_PARAM] = "parameters", [FIELD_STAT] = "statistics", [FIELD_HIST] = "histograms",
	[FIELD_SIGNAL] = "signals",   [FIELD_EVENT] = "events",    [FIELD_IN] = "inputs",
	[FIELD_OUT] = "outputs",
};
static const enum field_kind kinds[] = { FIELD_PARAM, FIELD_IN,     FIELD_OUT,  FIELD_STAT,
					 FIELD_HIST,  FIELD_SIGNAL, FIELD_EVENT };

/* "min to max" or "a, b, c". */
static void put_range(FILE *f, const struct field *r)
{
	char lo[40], hi[40];

	if (r->form == FORM_ENUM) {
		for (unsigned i = 0; r->names[i]; i++)
			fprintf(f, "%s%s", i ? ", " : "", r->names[i]);
	} else if (r->form == FORM_BOOL) {
		fputs("on, off", f);
	} else if (r->form == FORM_STR) {
		fputs("text", f);
	} else if (r->max == UINT64_MAX) {
		fprintf(f, "%s or more", value_format(r, r->min, lo, sizeof(lo)));
	} else {
		fprintf(f, "%s to %s", value_format(r, r->min, lo, sizeof(lo)),
			value_format(r, r->max, hi, sizeof(hi)));
	}
}

/* A cell of a markdown table, after the first. */
static void put_cell(FILE *f, const char *text)
{
	putc(' ', f);
	for (; text && *text; text++) {
		if (*text == '|')
			putc('\\', f);
		putc(*text == '\n' ? ' ' : *text, f);
	}
	fputs(" |", f);
}

/* Column heads after the name, by kind. */
static const char *heads(enum field_kind k)
{
	switch (k) {
	case FIELD_PARAM:
		return "default | range | unit | meaning | evidence |\n|---|---|---|---|---|---|\n";
	case FIELD_IN:
	case FIELD_OUT:
		return "message | meaning |\n|---|---|---|\n";
	case FIELD_SIGNAL:
		return "bits | meaning |\n|---|---|---|\n";
	case FIELD_EVENT:
		return "arguments | meaning |\n|---|---|---|\n";
	default:
		return "unit | meaning |\n|---|---|---|\n";
	}
}

static void put_text_row(FILE *f, const struct field *r)
{
	char buf[40];

	fprintf(f, "| `%s", r->name);
	if (r->count)
		fprintf(f, "[%u]", r->count);
	fputs("` |", f);
	if (r->kind == FIELD_PARAM) {
		put_cell(f, r->form == FORM_STR ? "" : value_format(r, r->def, buf, sizeof(buf)));
		putc(' ', f);
		put_range(f, r);
		fputs(" |", f);
		put_cell(f, r->unit);
	} else if (r->kind == FIELD_SIGNAL) {
		fprintf(f, " %u |", r->bits);
	} else {
		put_cell(f, r->unit);
	}
	put_cell(f, r->doc);
	if (r->kind == FIELD_PARAM)
		put_cell(f, r->evidence);
	putc('\n', f);
}

static void put_text_table(FILE *f, const struct field *fields, enum field_kind k,
			   const char *title)
{
	const struct field *r;

	if (field_count(fields, k) == 0)
		return;
	fprintf(f, "\n### %s\n\n| name | %s", title, heads(k));
	FIELDS_EACH(r, fields)
		if (r->kind == k)
			put_text_row(f, r);
}

/* "c, rtl": implementations of the class 'name'. */
static void put_impls(FILE *f, const struct block_class *const *classes, const char *name)
{
	unsigned n = 0;

	for (; *classes; classes++)
		if (strcmp((*classes)->name, name) == 0)
			fprintf(f, "%s%s", n++ ? ", " : "", (*classes)->impl);
}

static void describe_text(FILE *f, const struct block_class *const *classes,
			  const struct block_class *c)
{
	static const char *const titles[] = {
		[FIELD_PARAM] = "Parameters", [FIELD_STAT] = "Statistics",
		[FIELD_HIST] = "Histograms",  [FIELD_SIGNAL] = "Signals",
		[FIELD_EVENT] = "Events",     [FIELD_IN] = "Inputs",
		[FIELD_OUT] = "Outputs",
	};

	fprintf(f, "## %s\n\n%s.", c->name, c->doc ? c->doc : "");
	if (c->step) {
		fputs(" Implementations: ", f);
		put_impls(f, classes, c->name);
		putc('.', f);
	}
	putc('\n', f);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		put_text_table(f, c->fields, kinds[i], titles[kinds[i]]);
	putc('\n', f);
}

/* UINT64_MAX is "no limit" and "never", and more than many JSON readers take: null. */
static void json_limit(struct json *j, const char *key, uint64_t v)
{
	if (v == UINT64_MAX)
		json_str(j, key, NULL);
	else
		json_u64(j, key, v);
}

static void json_param(struct json *j, const struct field *r)
{
	static const char *const forms[] = {
		[FORM_COUNT] = "count",      [FORM_BYTES] = "bytes",    [FORM_TIME] = "time",
		[FORM_RATE] = "rate",        [FORM_FREQ] = "frequency", [FORM_LENGTH] = "length",
		[FORM_PROB] = "probability", [FORM_BOOL] = "bool",      [FORM_ENUM] = "enum",
		[FORM_STR] = "text",
	};
	char buf[40];

	json_str(j, "form", forms[r->form]);
	if (r->form != FORM_STR)
		json_str(j, "default", value_format(r, r->def, buf, sizeof(buf)));
	if (r->form == FORM_ENUM) {
		json_open_array(j, "choices");
		for (unsigned i = 0; r->names[i]; i++)
			json_str(j, NULL, r->names[i]);
		json_close(j);
	} else if (r->form != FORM_BOOL && r->form != FORM_STR) {
		json_limit(j, "default_value", r->def);
		json_limit(j, "min", r->min);
		json_limit(j, "max", r->max);
	}
	json_str(j, "evidence", r->evidence);
}

static void json_row(struct json *j, const struct field *r)
{
	json_open(j, NULL);
	json_str(j, "name", r->name);
	if (r->kind == FIELD_PARAM)
		json_param(j, r);
	if (r->count)
		json_u64(j, "count", r->count);
	if (r->kind == FIELD_SIGNAL)
		json_u64(j, "bits", r->bits);
	else
		json_str(j,
			 r->kind == FIELD_IN || r->kind == FIELD_OUT ? "message"
			 : r->kind == FIELD_EVENT                    ? "arguments"
								     : "unit",
			 r->unit);
	json_str(j, "doc", r->doc);
	json_close(j);
}

static void json_rows(struct json *j, const struct field *fields, enum field_kind k)
{
	const struct field *r;

	json_open_array(j, kind_keys[k]);
	FIELDS_EACH(r, fields)
		if (r->kind == k)
			json_row(j, r);
	json_close(j);
}

static void json_class(struct json *j, const struct block_class *const *classes,
		       const struct block_class *c)
{
	json_open(j, NULL);
	json_str(j, "name", c->name);
	json_str(j, "doc", c->doc);
	json_open_array(j, "implementations");
	for (; *classes; classes++)
		if (strcmp((*classes)->name, c->name) == 0)
			json_str(j, NULL, (*classes)->impl);
	json_close(j);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		json_rows(j, c->fields, kinds[i]);
	json_close(j);
}

static void json_messages(struct json *j, const struct msg_desc *m)
{
	json_open_array(j, "messages");
	for (; m && m->name; m++) {
		json_open(j, NULL);
		json_str(j, "name", m->name);
		json_str(j, "doc", m->doc);
		json_open_array(j, "fields");
		for (const struct msg_field *r = m->fields; r->name; r++) {
			json_open(j, NULL);
			json_str(j, "name", r->name);
			json_u64(j, "bits", r->bits);
			if (r->count)
				json_u64(j, "count", r->count);
			json_str(j, "doc", r->doc);
			json_close(j);
		}
		json_close(j);
		json_close(j);
	}
	json_close(j);
}

/* True for the first class of its name: the others are implementations of the same block. */
static bool is_first(const struct block_class *const *classes, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(classes[k]->name, classes[i]->name) == 0)
			return false;
	return true;
}

static bool unknown_block(const struct block_class *const *classes, const char *name, struct err *e)
{
	const char **names, *near;
	char list[700] = "";
	size_t n = 0;

	while (classes[n])
		n++;
	names = x_calloc(n, sizeof(*names));
	for (size_t i = 0; i < n; i++) {
		size_t at = strlen(list);

		names[i] = classes[i]->name;
		if (is_first(classes, i))
			snprintf(list + at, sizeof(list) - at, "%s%s", at ? ", " : "", names[i]);
	}
	near = err_nearest(name, names, n);
	err_set(e, NULL, 0, "describe: unknown block '%.64s'%s%s%s; allowed: %s", name,
		near ? "; nearest is '" : "", near ? near : "", near ? "'" : "", list);
	free(names);
	return false;
}

bool describe(FILE *f, const struct block_class *const *classes, const struct msg_desc *msgs,
	      const char *name, enum describe_form form, struct err *e)
{
	const struct block_class *only = NULL;
	struct json j;
	bool is_block;

	for (size_t i = 0; name && !only && classes[i]; i++)
		if (strcmp(classes[i]->name, name) == 0)
			only = classes[i];
	if (name && !only)
		return unknown_block(classes, name, e);
	is_block = !only || only->step; /* not a section of a scenario */
	if (form == DESCRIBE_SV) {
		describe_sv(f, msgs, only);
		return true;
	}
	json_begin(&j, f);
	if (form == DESCRIBE_JSON) {
		json_open(&j, NULL);
		json_open_array(&j, "blocks");
	}
	for (size_t i = 0; classes[i]; i++) {
		if ((only && classes[i] != only) || !is_first(classes, i))
			continue;
		if (form == DESCRIBE_JSON)
			json_class(&j, classes, classes[i]);
		else
			describe_text(f, classes, classes[i]);
	}
	if (form == DESCRIBE_TEXT) {
		if (is_block)
			put_text_table(f, block_common_fields, FIELD_PARAM, "Every block also has");
		return true;
	}
	json_close(&j);
	if (is_block)
		json_rows(&j, block_common_fields, FIELD_PARAM);
	json_messages(&j, msgs);
	json_close(&j);
	return true;
}

/* Sections of a scenario, then blocks. */
static const struct block_class **described(void)
{
	const struct block_class **all;
	size_t n = 0, k = 0;

	for (size_t i = 0; section_classes[i]; i++)
		n++;
	for (size_t i = 0; block_classes[i]; i++)
		n++;
	all = x_calloc(n + 1, sizeof(const struct block_class *));
	for (size_t i = 0; section_classes[i]; i++)
		all[k++] = section_classes[i];
	for (size_t i = 0; block_classes[i]; i++)
		all[k++] = block_classes[i];
	return all;
}

static int describe_run(int argc, char **argv, struct err *e)
{
	enum describe_form form = DESCRIBE_TEXT;
	const struct block_class **all;
	const char *name = NULL, *form_name = NULL;
	bool ok;

	for (int i = 1; i < argc; i++) {
		bool is_sv = strcmp(argv[i], "--sv") == 0;

		if (is_sv || strcmp(argv[i], "--json") == 0) {
			if (form_name && strcmp(form_name, argv[i]) != 0) {
				err_set(e, NULL, 0, "describe: %s and %s; allowed: one of them",
					form_name, argv[i]);
				return EXIT_BAD_INPUT;
			}
			form_name = argv[i];
			form = is_sv ? DESCRIBE_SV : DESCRIBE_JSON;
		} else if (argv[i][0] == '-' || name) {
			err_set(e, NULL, 0,
				"describe: unknown argument '%.64s'; allowed: [BLOCK] [--json | --sv]",
				argv[i]);
			return EXIT_BAD_INPUT;
		} else {
			name = argv[i];
		}
	}
	all = described();
	ok = describe(stdout, all, message_list, name, form, e);
	for (sv_package_fn *const *p = sv_packages; ok && form == DESCRIBE_SV && !name && *p; p++) {
		putc('\n', stdout);
		(*p)(stdout);
	}
	free(all);
	return ok ? EXIT_OK : EXIT_BAD_INPUT;
}

const struct command describe_command = {
	.name = "describe",
	.usage = "[BLOCK] [--json | --sv]",
	.doc = "what a block is: parameters with default, range, unit, meaning and evidence; ports; statistics",
	.run = describe_run,
};
