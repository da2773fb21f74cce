/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - settings of files and of the command line: stored, found by how special they are, applied by table
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sim/config_parts.h"

void config_init(struct config *c)
{
	memset(c, 0, sizeof(*c));
}

void config_destroy(struct config *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		free(c->settings[i].section);
		free(c->settings[i].key);
		free(c->settings[i].value);
		free(c->settings[i].scope);
	}
	for (uint32_t i = 0; i < c->n_files; i++)
		free(c->files[i]);
	for (uint32_t i = 0; i < c->n_sections; i++)
		free(c->sections[i].name);
	for (uint32_t i = 0; i < c->n_offers; i++)
		free(c->offers[i].path);
	free(c->settings);
	free(c->files);
	free(c->sections);
	free(c->offers);
	config_init(c);
}

void *config_grow(void *p, uint32_t n, uint32_t *cap, size_t size)
{
	if (n < *cap)
		return p;
	*cap = *cap ? 2 * *cap : 16;
	return x_realloc(p, *cap * size);
}

uint32_t *config_bucket(struct config *c, const char *scope, const char *section)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (; *scope && *scope != '.'; scope++)
		h = (h ^ (unsigned char)*scope) * 16777619u;
	for (; *section; section++)
		h = (h ^ (unsigned char)*section) * 16777619u;
	return &c->bucket[h % ARRAY_LEN(c->bucket)];
}

void config_add(struct config *c, const struct setting *like, const char *section, const char *key,
		const char *value)
{
	struct setting *s;
	uint32_t *b = config_bucket(c, like->scope ? like->scope : "", section);

	c->settings = config_grow(c->settings, c->n, &c->cap, sizeof(*c->settings));
	s = &c->settings[c->n++];
	*s = *like;
	s->section = x_strdup(section);
	s->key = x_strdup(key);
	s->value = x_strdup(value);
	s->scope = like->scope ? x_strdup(like->scope) : NULL;
	s->next = *b;
	*b = c->n;
}

const char *config_shown(const char *text, char buf[64])
{
	size_t n = 0;

	for (; *text && n < 56; text++)
		buf[n++] = (unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text;
	strcpy(buf + n, *text ? "..." : "");
	return buf;
}

bool config_is_name(const char *s)
{
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.");

	return n > 0 && n <= CONFIG_NAME_MAX && s[n] == '\0';
}

char *config_trim(char *s)
{
	size_t n;

	while (isspace((unsigned char)*s))
		s++;
	n = strlen(s);
	while (n > 0 && isspace((unsigned char)s[n - 1]))
		n--;
	s[n] = '\0';
	return s;
}

bool config_set_as(struct config *c, const char *option, const char *arg, struct err *e)
{
	struct setting like = { .rank = CONFIG_COMMAND, .file = option };
	char text[64], *copy = x_strdup(arg), *eq = strchr(copy, '='), *dot = NULL;
	char *section, *key, *value;
	bool is_ok = false;

	if (eq) {
		*eq = '\0';
		dot = strrchr(copy, '.');
	}
	if (dot) {
		*dot = '\0';
		section = config_trim(copy);
		key = config_trim(dot + 1);
		value = config_trim(eq + 1);
		is_ok = config_is_name(section) && config_is_name(key) && *value;
	}
	if (is_ok)
		config_add(c, &like, section, key, value);
	else
		err_set(e, option, 0, "'%s' is not section.key=value, for example mtt.ways=4",
			config_shown(arg, text));
	free(copy);
	return is_ok;
}

bool config_set(struct config *c, const char *arg, struct err *e)
{
	return config_set_as(c, "--set", arg, e);
}

/* The instance's own name in its group: "qpc_tx" of "nic0.qpc_tx"; NULL when it has no group. */
static const char *leaf_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : NULL;
}

static bool is_in_scope(const char *scope, const char *path)
{
	size_t n;

	if (!scope)
		return true;
	n = strlen(scope);
	return strncmp(path, scope, n) == 0 && (path[n] == '\0' || path[n] == '.');
}

bool config_is_group(const char *section, const char *path)
{
	size_t n = strlen(section);

	return strncmp(section, path, n) == 0 && path[n] &&
	       path[n + strspn(path + n, "0123456789")] == '\0';
}

/* How special 'section' is for an instance: 0 = does not speak of it. */
static unsigned fits(const char *section, const char *scope, const char *path, const char *cls)
{
	const char *leaf = leaf_of(path);

	if (!is_in_scope(scope, path))
		return 0;
	if (!scope && strcmp(section, path) == 0)
		return 3;
	if (leaf && strcmp(section, leaf) == 0)
		return 2;
	return (cls && strcmp(section, cls) == 0) || config_is_group(section, path);
}

/* True when 'a' wins over 'b', which is older or younger. */
static bool wins(const struct setting *a, unsigned fit_a, const struct setting *b, unsigned fit_b)
{
	if (a->rank != b->rank)
		return a->rank > b->rank;
	if (fit_a != fit_b)
		return fit_a > fit_b;
	return a > b;
}

/* What find() looks for, and what it found. */
struct search {
	const char *path, *cls, *key;
	const struct field *f; /* check values by this row; may be NULL */
	const struct setting *best;
	unsigned best_fit;
};

/* One chain: settings of section 'section' for 'scope'. */
static void find_in(struct config *c, struct search *w, const char *scope, const char *section,
		    struct err *e)
{
	for (uint32_t i = *config_bucket(c, scope, section); i; i = c->settings[i - 1].next) {
		struct setting *s = &c->settings[i - 1];
		char why[512], text[64];
		unsigned fit;
		uint64_t v;

		if (strcmp(s->section, section) != 0 || strcmp(s->key, w->key) != 0)
			continue;
		fit = fits(s->section, s->scope, w->path, w->cls);
		if (!fit)
			continue;
		s->is_used = true;
		if (w->f && w->f->form != FORM_STR &&
		    !value_parse(w->f, s->value, &v, why, sizeof(why)))
			err_set(e, s->file, s->line, "%s.%s = %s %s", s->section, w->key,
				config_shown(s->value, text), why);
		if (!w->best || wins(s, fit, w->best, w->best_fit)) {
			w->best = s;
			w->best_fit = fit;
		}
	}
}

/*
 * The winning setting of 'key', or NULL. All that speak of it are marked used and, with a row 'f',
 * checked: a bad value is a mistake even where another one wins.
 */
static const struct setting *find(struct config *c, const char *path, const char *cls,
				  const char *key, const struct field *f, struct err *e)
{
	struct search w = { .path = path, .cls = cls, .key = key, .f = f };
	const char *leaf = leaf_of(path);
	char group[CONFIG_NAME_MAX + 1];

	if (c->n == 0)
		return NULL;
	find_in(c, &w, "", path, e);
	if (leaf) {
		find_in(c, &w, "", leaf, e);
		find_in(c, &w, path, leaf, e);
	} else {
		snprintf(group, sizeof(group), "%.*s", (int)strcspn(path, "0123456789"), path);
		if (strcmp(group, path) != 0 && (!cls || strcmp(group, cls) != 0))
			find_in(c, &w, "", group, e);
	}
	if (cls && (!leaf || strcmp(cls, leaf) != 0)) {
		if (strcmp(cls, path) != 0)
			find_in(c, &w, "", cls, e);
		find_in(c, &w, path, cls, e);
	}
	return w.best;
}

static void offer(struct config *c, const char *path, const char *cls, const struct field *fields,
		  const char *key)
{
	c->offers = config_grow(c->offers, c->n_offers, &c->cap_offers, sizeof(*c->offers));
	c->offers[c->n_offers++] = (struct offer){ x_strdup(path), cls, fields, key };
}

const struct setting *config_lookup(struct config *c, const char *path, const char *cls,
				    const char *key)
{
	offer(c, path, cls, NULL, key);
	return find(c, path, cls, key, NULL, NULL);
}

bool config_apply(struct config *c, const char *path, const char *cls, const struct field *fields,
		  void *obj, struct err *e)
{
	const struct field *f;

	offer(c, path, cls, fields, NULL);
	FIELDS_EACH(f, fields) {
		const struct setting *s;
		uint64_t v = f->def;
		char why[512];

		if (f->kind != FIELD_PARAM)
			continue;
		s = find(c, path, cls, f->name, f, e);
		if (e->is_set)
			return false;
		if (f->form == FORM_STR) {
			if (s)
				*(const char **)(void *)((char *)obj + f->offset) = s->value;
			continue;
		}
		if (s)
			SIM_CHECK(value_parse(f, s->value, &v, why, sizeof(why)), NULL);
		field_set(obj, f, v);
	}
	return true;
}

bool config_has_section(const struct config *c, const char *section)
{
	size_t n = strlen(section);

	for (uint32_t i = 0; i < c->n; i++)
		if (strncmp(c->settings[i].section, section, n) == 0 &&
		    (c->settings[i].section[n] == '\0' || c->settings[i].section[n] == '.'))
			return true;
	for (uint32_t i = 0; i < c->n_sections; i++)
		if (strncmp(c->sections[i].name, section, n) == 0 &&
		    (c->sections[i].name[n] == '\0' || c->sections[i].name[n] == '.'))
			return true;
	return false;
}
