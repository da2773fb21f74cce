/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_check.c - settings that nothing asked for, and what was probably meant
 */
#include <stdlib.h>
#include <string.h>

#include "sim/config.h"

/* A growing list of names, each once. */
struct names {
	const char **name;
	size_t n, cap;
};

static void names_add(struct names *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->name[i], name) == 0)
			return;
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 32;
		l->name = x_realloc(l->name, l->cap * sizeof(*l->name));
	}
	l->name[l->n++] = name;
}

/* "a, b, c" into buf, as many as fit. */
static char *names_list(const struct names *l, char *buf, size_t len)
{
	size_t at = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < l->n; i++) {
		size_t need = strlen(l->name[i]) + 2;

		if (at + need + 5 > len) {
			strcpy(buf + at, ", ...");
			break;
		}
		at += (size_t)snprintf(buf + at, len - at, "%s%s", i ? ", " : "", l->name[i]);
	}
	return buf;
}

static bool speaks_of(const struct offer *o, const char *section)
{
	const char *dot = strrchr(o->path, '.');

	return strcmp(section, o->path) == 0 || (dot && strcmp(section, dot + 1) == 0) ||
	       (o->cls && strcmp(section, o->cls) == 0) || config_is_group(section, o->path);
}

/* Keys that are known in 'section'. None: the section is not known. */
static void known_keys(const struct config *c, const char *section, struct names *l)
{
	const struct field *f;

	for (uint32_t i = 0; i < c->n_offers; i++) {
		const struct offer *o = &c->offers[i];

		if (!speaks_of(o, section))
			continue;
		if (o->key)
			names_add(l, o->key);
		if (!o->fields)
			continue;
		FIELDS_EACH(f, o->fields)
			if (f->kind == FIELD_PARAM)
				names_add(l, f->name);
	}
}

static bool section_error(const struct config *c, const char *section, const char *file,
			  unsigned line, struct err *e)
{
	struct names all = { 0 }, kinds = { 0 };
	char list[600];
	const char *near;

	for (uint32_t i = 0; i < c->n_offers; i++) {
		const struct offer *o = &c->offers[i];
		const char *dot = strrchr(o->path, '.');

		names_add(&kinds, o->cls ? o->cls : o->path);
		names_add(&all, o->cls ? o->cls : o->path);
		names_add(&all, o->path);
		if (dot)
			names_add(&all, dot + 1);
	}
	near = err_nearest(section, all.name, all.n);
	if (near)
		err_set(e, file, line, "unknown section [%s]; nearest is [%s]; allowed: %s",
			section, near, names_list(&kinds, list, sizeof(list)));
	else
		err_set(e, file, line, "unknown section [%s]; allowed: %s", section,
			names_list(&kinds, list, sizeof(list)));
	free(all.name);
	free(kinds.name);
	return false;
}

static bool key_error(const struct config *c, const struct setting *s, struct err *e)
{
	struct names keys = { 0 };
	char list[600];
	const char *near;

	known_keys(c, s->section, &keys);
	if (keys.n == 0)
		return section_error(c, s->section, s->file, s->line, e);
	near = err_nearest(s->key, keys.name, keys.n);
	names_list(&keys, list, sizeof(list));
	if (near && strcmp(near, s->key) != 0)
		err_set(e, s->file, s->line,
			"unknown key '%s' in [%s]; nearest is '%s'; allowed: %s", s->key,
			s->section, near, list);
	else if (near)
		err_set(e, s->file, s->line, "key '%s' in [%s]: no block of this system takes it",
			s->key, s->section);
	else
		err_set(e, s->file, s->line, "unknown key '%s' in [%s]; allowed: %s", s->key,
			s->section, list);
	free(keys.name);
	return false;
}

/* A profile is read for several groups (a NIC, its host): a setting of it is for one of them. */
static bool is_used_elsewhere(const struct config *c, const struct setting *s)
{
	for (uint32_t i = 0; s->scope && i < c->n; i++) {
		const struct setting *t = &c->settings[i];

		if (t->is_used && t->line == s->line && t->scope && strcmp(t->file, s->file) == 0)
			return true;
	}
	return false;
}

bool config_check_used(const struct config *c, struct err *e)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (!c->settings[i].is_used && !is_used_elsewhere(c, &c->settings[i]))
			return key_error(c, &c->settings[i], e);
	for (uint32_t i = 0; i < c->n_sections; i++) {
		const struct section *s = &c->sections[i];
		struct names keys = { 0 };

		if (s->has_setting)
			continue;
		known_keys(c, s->name, &keys);
		free(keys.name);
		if (keys.n == 0)
			return section_error(c, s->name, s->file, s->line, e);
	}
	return true;
}
