/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_table.c - parsing the words of a record by its table of rows
 *
 * Keys are looked for from where the last one was found: people and programs write them in the
 * table's order.
 */
#include <stdio.h>
#include <string.h>

#include "sim/config.h"
#include "sim/record.h"

static void store(const struct record_field *f, void *obj, uint64_t v)
{
	char *at = (char *)obj + f->offset;

	switch (f->size) {
	case 1:
		*(uint8_t *)at = (uint8_t)v;
		break;
	case 2:
		*(uint16_t *)(void *)at = (uint16_t)v;
		break;
	case 4:
		*(uint32_t *)(void *)at = (uint32_t)v;
		break;
	default:
		*(uint64_t *)(void *)at = v;
	}
}

void record_defaults(const struct record_kind *k, void *obj)
{
	for (uint32_t i = 0; i < k->n_fields; i++) {
		const struct record_field *f = &k->fields[i];

		if (f->form == RECORD_NAME)
			*((char *)obj + f->offset) = '\0';
		else if (f->size)
			store(f, obj, f->def);
	}
}

/* "a, b, c" of names that stop with NULL; cut off with "..." when it does not fit. */
static const char *join(const char *const *names, char *to, size_t len)
{
	size_t n = 0;

	to[0] = '\0';
	for (; *names; names++) {
		int k = snprintf(to + n, len - n, "%s%s", n ? ", " : "", *names);

		if ((size_t)k >= len - n) {
			memcpy(to + len - 4, "...", 4);
			break;
		}
		n += (size_t)k;
	}
	return to;
}

static int index_of(const char *const *names, const char *text, size_t len)
{
	for (int i = 0; names[i]; i++)
		if (strncmp(names[i], text, len) == 0 && names[i][len] == '\0')
			return i;
	return -1;
}

static bool name_why(const struct record_field *f, const char *text, size_t len, char *why)
{
	char list[RECORD_WHY - 60], word[40];
	const char *near;
	size_t n = 0;

	while (f->names[n])
		n++;
	snprintf(word, sizeof(word), "%.*s", (int)len, text);
	near = err_nearest(word, f->names, n);
	snprintf(why, RECORD_WHY, "must be %s %s%s%s%s",
		 f->form == RECORD_FLAGS ? "a list of" : "one of",
		 join(f->names, list, sizeof(list)), near ? " (did you mean " : "",
		 near ? near : "", near ? "?)" : "");
	return false;
}

static bool parse_flags(const struct record_field *f, const char *s, uint64_t *v, char *why)
{
	*v = 0;
	while (*s) {
		size_t n = strcspn(s, ",");
		int i = index_of(f->names, s, n);

		if (i < 0)
			return name_why(f, s, n, why);
		*v |= 1ull << i;
		s += n + (s[n] == ',');
	}
	return true;
}

static bool parse_bool(const char *s, uint64_t *v)
{
	static const char *const words[] = { "no",   "yes", "off", "on", "false",
					     "true", "0",   "1",   NULL };
	int i = index_of(words, s, strlen(s));

	*v = (uint64_t)(i & 1);
	return i >= 0;
}

static bool parse_name(const struct record_field *f, const char *s, void *obj, char *why)
{
	const char *name, *p = s;
	uint32_t len;

	if (!record_name(&p, &name, &len) || *p) {
		snprintf(why, RECORD_WHY,
			 "must be a name: a letter or _, then letters, digits, _ and -");
		return false;
	}
	if (len > RECORD_MAX_NAME) {
		snprintf(why, RECORD_WHY, "has more than %u letters", RECORD_MAX_NAME);
		return false;
	}
	memcpy((char *)obj + f->offset, s, len + 1);
	return true;
}

static bool range_why(const struct record_field *f, const char *what, char *why)
{
	if (f->max == UINT64_MAX)
		snprintf(why, RECORD_WHY, "must be %s%s%llu", what,
			 f->min ? " of at least " : "; at least ", (unsigned long long)f->min);
	else
		snprintf(why, RECORD_WHY, "must be %s, %llu to %llu", what,
			 (unsigned long long)f->min, (unsigned long long)f->max);
	return false;
}

static bool parse_value(const struct record_field *f, const char *s, void *obj, void *ctx,
			char *why)
{
	static const char *const what[RECORD_CALL + 1] = {
		[RECORD_NUMBER] = "a number (decimal or 0x hex)",
		[RECORD_SIZE] = "a size (bytes, or with KiB MiB GiB KB MB GB)",
		[RECORD_TIME] = "a time with its unit (ps ns us ms s)",
		[RECORD_RATE] = "a rate (25Gbps)",
		[RECORD_BOOL] = "yes or no",
	};
	const char *p = s;
	uint64_t v = 0;
	int i;

	switch (f->form) {
	case RECORD_CALL:
		return f->call(f, s, obj, ctx, why);
	case RECORD_NAME:
		return parse_name(f, s, obj, why);
	case RECORD_ENUM:
		i = index_of(f->names, s, strlen(s));
		if (i < 0)
			return name_why(f, s, strlen(s), why);
		v = (uint64_t)i;
		break;
	case RECORD_FLAGS:
		if (!parse_flags(f, s, &v, why))
			return false;
		break;
	case RECORD_BOOL:
		if (!parse_bool(s, &v)) {
			snprintf(why, RECORD_WHY, "must be yes or no");
			return false;
		}
		break;
	case RECORD_NUMBER:
		if (!record_number(&p, &v) || *p)
			return range_why(f, what[f->form], why);
		break;
	case RECORD_RATE:
		if (!parse_rate_bps(s, &v))
			return range_why(f, what[f->form], why);
		break;
	default:
		if (!(f->form == RECORD_SIZE ? record_size(&p, &v) : record_time(&p, &v)) || *p)
			return range_why(f, what[f->form], why);
	}
	if (v < f->min || v > f->max)
		return range_why(f, what[f->form], why);
	store(f, obj, v);
	return true;
}

/* Names of the rows, for messages; returns how many. */
static size_t keys_of(const struct record_kind *k, const char **names, bool is_place)
{
	size_t n = 0;

	for (uint32_t i = 0; i < k->n_fields; i++)
		if (((k->fields[i].flags & RECORD_PLACE) != 0) == is_place)
			names[n++] = k->fields[i].key;
	names[n] = NULL;
	return n;
}

static bool unknown_key(const struct record_reader *r, const struct record_kind *k,
			const struct record_word *w, struct err *e)
{
	const char *names[65], *near;
	char list[512], key[40];

	snprintf(key, sizeof(key), "%.*s", (int)w->eq, w->text);
	near = err_nearest(key, names, keys_of(k, names, false));
	return record_err(r, e, "unknown key '%s' of '%s'%s%s%s; known: %s", key, k->name,
			  near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "",
			  names[0] ? join(names, list, sizeof(list)) : "none");
}

static bool extra_word(const struct record_reader *r, const struct record_kind *k,
		       const struct record_word *w, struct err *e)
{
	const char *names[65];
	char list[256];

	keys_of(k, names, true);
	return record_err(r, e, "unexpected word '%.40s'; '%s' has %s%s, then keys (key=value)",
			  w->text, k->name, names[0] ? "these words: " : "no words",
			  join(names, list, sizeof(list)));
}

static bool check_required(const struct record_reader *r, const struct record_kind *k, uint32_t n,
			   uint64_t given, struct err *e)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct record_field *f = &k->fields[i];

		if (f->flags & RECORD_REQUIRED && !(given >> i & 1))
			return f->flags & RECORD_PLACE
				       ? record_err(r, e, "'%s' lacks its %s", k->name, f->key)
				       : record_err(r, e, "'%s' lacks %s=", k->name, f->key);
	}
	return true;
}

static bool is_key(const char *key, const char *text, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (key[i] != text[i])
			return false; /* also where the key ends first */
	return key[len] == '\0';
}

/* The row of the key of word 'w', looked for from row 'from' on; n_fields when there is none. */
static uint32_t find_key(const struct record_kind *k, const struct record_word *w, uint32_t from)
{
	for (uint32_t tried = 0, i = from; tried < k->n_fields;
	     tried++, i = i + 1 < k->n_fields ? i + 1 : 0) {
		const struct record_field *f = &k->fields[i];

		if (is_key(f->key, w->text, w->eq) && !(f->flags & RECORD_PLACE))
			return i;
	}
	return k->n_fields;
}

static bool bad_value(const struct record_reader *r, const struct record_field *f,
		      const char *value, const char *why, struct err *e)
{
	return record_err(r, e, "%s%s'%.60s%s': %s", f->key, f->flags & RECORD_PLACE ? " " : "=",
			  value, strlen(value) > 60 ? "..." : "", why[0] ? why : f->expects);
}

/* The words in fixed places. They come first, so that keys can refer to them. */
static bool parse_places(struct record_reader *r, const struct record_kind *k, uint32_t skip,
			 void *obj, void *ctx, uint64_t *given, struct err *e)
{
	uint32_t place = 0;
	char why[RECORD_WHY];

	for (const struct record_word *w = r->words + skip; w < r->words + r->n_words; w++) {
		const struct record_field *f = &k->fields[place];

		if (w->eq)
			continue;
		if (place == k->n_fields || !(f->flags & RECORD_PLACE))
			return extra_word(r, k, w, e);
		*given |= 1ull << place++;
		why[0] = '\0';
		if (!parse_value(f, w->text, obj, ctx, why))
			return bad_value(r, f, w->text, why, e);
	}
	while (place < k->n_fields && k->fields[place].flags & RECORD_PLACE)
		place++;
	return check_required(r, k, place, *given, e);
}

bool record_parse(struct record_reader *r, const struct record_kind *k, uint32_t skip, void *obj,
		  void *ctx, uint64_t *given, struct err *e)
{
	uint32_t from = 0;
	char why[RECORD_WHY];

	*given = 0;
	if (!parse_places(r, k, skip, obj, ctx, given, e))
		return false;
	for (const struct record_word *w = r->words + skip; w < r->words + r->n_words; w++) {
		const char *value = w->text + w->eq + 1;
		uint32_t i;

		if (w->eq == 0)
			continue;
		i = find_key(k, w, from);
		if (i == k->n_fields)
			return unknown_key(r, k, w, e);
		if (*given >> i & 1)
			return record_err(r, e, "key '%s' is given twice", k->fields[i].key);
		*given |= 1ull << i;
		from = i + 1 < k->n_fields ? i + 1 : 0;
		why[0] = '\0';
		if (!parse_value(&k->fields[i], value, obj, ctx, why))
			return bad_value(r, &k->fields[i], value, why, e);
	}
	return check_required(r, k, k->n_fields, *given, e);
}

int record_find(const struct record_reader *r, const struct record_kind *const *kinds, size_t n,
		struct err *e)
{
	const char *names[65], *near, *word = r->words[0].text;
	char list[400];

	for (size_t i = 0; i < n; i++)
		if (strcmp(kinds[i]->name, word) == 0)
			return (int)i;
	for (size_t i = 0; i < n; i++)
		names[i] = kinds[i]->name;
	names[n] = NULL;
	near = err_nearest(word, names, n);
	record_err(r, e, "unknown record '%.40s'%s%s%s; known: %s", word,
		   near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "",
		   join(names, list, sizeof(list)));
	return -1;
}
