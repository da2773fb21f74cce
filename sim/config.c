/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - settings from INI files and the command line, applied by table
 *
 * libinih splits the lines, but Debian's build passes no line number to its handler and cuts long
 * lines and section names silently. So the reader below hands it one checked line at a time:
 * without comment, without indentation (which libinih would take for a continuation), and counted.
 */
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "sim/config.h"

#define LINE_MAX_B 4000u /* longest line of a scenario file */
#define NAME_MAX_B 48u   /* longest section or key; libinih cuts sections at 49 */

/* State of one file being read. */
struct reader {
	struct config *c;
	FILE *f;
	const char *file, *scope;
	enum config_rank rank;
	unsigned line;
	bool is_failed;
	struct section *section;
	struct err *e;
};

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

/* Room for one more element of 'size' bytes in an array of 'n'. */
static void *grow(void *p, uint32_t n, uint32_t *cap, size_t size)
{
	if (n < *cap)
		return p;
	*cap = *cap ? 2 * *cap : 16;
	return x_realloc(p, *cap * size);
}

/* Where settings of a section are chained: by its name and first word of its scope ("": none). */
static uint32_t *bucket_of(struct config *c, const char *scope, const char *section)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (; *scope && *scope != '.'; scope++)
		h = (h ^ (unsigned char)*scope) * 16777619u;
	for (; *section; section++)
		h = (h ^ (unsigned char)*section) * 16777619u;
	return &c->bucket[h % ARRAY_LEN(c->bucket)];
}

static void add_setting(struct config *c, const struct setting *like, const char *section,
			const char *key, const char *value)
{
	struct setting *s;
	uint32_t *b = bucket_of(c, like->scope ? like->scope : "", section);

	c->settings = grow(c->settings, c->n, &c->cap, sizeof(*c->settings));
	s = &c->settings[c->n++];
	*s = *like;
	s->section = x_strdup(section);
	s->key = x_strdup(key);
	s->value = x_strdup(value);
	s->scope = like->scope ? x_strdup(like->scope) : NULL;
	s->next = *b;
	*b = c->n;
}

/* Copy 'text' for a message: control characters replaced, cut when long. */
static const char *shown(const char *text, char buf[64])
{
	size_t n = 0;

	for (; *text && n < 56; text++)
		buf[n++] = (unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text;
	strcpy(buf + n, *text ? "..." : "");
	return buf;
}

static bool is_name(const char *s)
{
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.");

	return n > 0 && n <= NAME_MAX_B && s[n] == '\0';
}

static char *trim(char *s)
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

/* End 's' where a comment starts: at ';' or '#' at the start or after a space. */
static void cut_comment(char *s)
{
	for (char *p = s; *p; p++) {
		if ((*p == ';' || *p == '#') && (p == s || isspace((unsigned char)p[-1]))) {
			*p = '\0';
			return;
		}
	}
}

/* Read one line into buf[LINE_MAX_B + 1]. False at the end of the file and on an error. */
static bool read_line(struct reader *r, char *buf)
{
	size_t n = 0;
	int ch;

	r->line++;
	while ((ch = getc(r->f)) != EOF && ch != '\n') {
		if ((ch < 0x20 && ch != '\t' && ch != '\r') || ch == 0x7f)
			return err_set(
				r->e, r->file, r->line,
				"byte 0x%02x is not text; a scenario is a text file of [section] and key = value",
				(unsigned)ch);
		if (n == LINE_MAX_B)
			return err_set(r->e, r->file, r->line,
				       "line is longer than the %u characters allowed", LINE_MAX_B);
		buf[n++] = (char)ch;
	}
	buf[n] = '\0';
	if (ch == EOF && ferror(r->f))
		return err_set(r->e, r->file, 0, "cannot read: %s", strerror(errno));
	return ch != EOF || n > 0;
}

static bool take_section(struct reader *r, char *s, char *out, size_t len)
{
	struct config *c = r->c;
	char text[64], *end = strchr(s, ']');

	if (!end || end[1])
		return err_set(r->e, r->file, r->line,
			       "'%s' is no section header; must be [name] alone on its line",
			       shown(s, text));
	*end = '\0';
	s = trim(s + 1);
	if (!is_name(s))
		return err_set(
			r->e, r->file, r->line,
			"'%s' is no section name; allowed are 1 to %u letters, digits, '_', '-' and '.'",
			shown(s, text), NAME_MAX_B);
	c->sections = grow(c->sections, c->n_sections, &c->cap_sections, sizeof(*c->sections));
	r->section = &c->sections[c->n_sections++];
	*r->section = (struct section){ x_strdup(s), r->file, r->line, false };
	snprintf(out, len, "[%s]\n", s);
	return true;
}

static bool take_setting(struct reader *r, char *s, char *out, size_t len)
{
	char text[64], *eq = strchr(s, '='), *key, *value;

	if (!eq)
		return err_set(r->e, r->file, r->line,
			       "'%s' is neither [section] nor key = value nor a comment (; #)",
			       shown(s, text));
	*eq = '\0';
	key = trim(s);
	value = trim(eq + 1);
	if (!is_name(key))
		return err_set(
			r->e, r->file, r->line,
			"'%s' is no key; allowed are 1 to %u letters, digits, '_', '-' and '.'",
			shown(key, text), NAME_MAX_B);
	if (!r->section)
		return err_set(r->e, r->file, r->line, "key '%s' stands before the first [section]",
			       key);
	if (!*value)
		return err_set(r->e, r->file, r->line, "key '%s' has no value; must be %s = VALUE",
			       key, key);
	snprintf(out, len, "%s=%s\n", key, value);
	return true;
}

/* libinih's reader: the next line, checked and normalised. */
static char *next_line(char *out, int len, void *stream)
{
	struct reader *r = stream;
	char buf[LINE_MAX_B + 1] = "", *s = buf;
	bool is_ok;

	if (r->is_failed || !read_line(r, buf)) {
		r->is_failed = r->e->is_set;
		return NULL;
	}
	if (r->line == 1 && strncmp(s, "\xef\xbb\xbf", 3) == 0)
		s += 3; /* byte order mark */
	cut_comment(s);
	s = trim(s);
	if (*s == '[')
		is_ok = take_section(r, s, out, (size_t)len);
	else if (*s)
		is_ok = take_setting(r, s, out, (size_t)len);
	else
		is_ok = snprintf(out, (size_t)len, "\n") > 0;
	r->is_failed = !is_ok;
	return is_ok ? out : NULL;
}

/* libinih's handler: one key = value. */
static int on_setting(void *user, const char *section, const char *key, const char *value)
{
	struct reader *r = user;
	struct setting like = { .rank = r->rank, .scope = NULL, .file = r->file, .line = r->line };

	if (r->is_failed)
		return 1;
	for (uint32_t i = *bucket_of(r->c, r->scope ? r->scope : "", section); i;
	     i = r->c->settings[i - 1].next) {
		const struct setting *s = &r->c->settings[i - 1];

		if (s->file != r->file)
			break; /* the chain has the newest first: no more of this file */
		if (strcmp(s->section, section) == 0 && strcmp(s->key, key) == 0) {
			r->is_failed =
				!err_set(r->e, r->file, r->line,
					 "key '%s' of [%s] is set again; it was set in line %u",
					 key, section, s->line);
			return 1;
		}
	}
	r->section->has_setting = true;
	like.scope = r->scope ? x_strdup(r->scope) : NULL;
	add_setting(r->c, &like, section, key, value);
	free(like.scope);
	return 1;
}

/* Read 'f', which errors call 'path', and close it. */
static bool read_ini(struct config *c, FILE *f, const char *path, const char *scope,
		     enum config_rank rank, struct err *e)
{
	struct reader r = { .c = c, .f = f, .scope = scope, .rank = rank, .e = e };
	int bad_line;

	c->files = x_realloc(c->files, (c->n_files + 1) * sizeof(*c->files));
	r.file = c->files[c->n_files++] = x_strdup(path);
	if (!r.f)
		return err_set(e, path, 0, "cannot open: %s", strerror(errno));
	ini_use_stack = false; /* the stack buffer has 200 bytes */
	ini_max_line = ini_initial_alloc = LINE_MAX_B + 8;
	bad_line = ini_parse_stream(next_line, &r, on_setting, &r);
	fclose(r.f);
	if (r.is_failed || e->is_set)
		return false;
	if (bad_line)
		return err_set(e, path, bad_line > 0 ? (unsigned)bad_line : 0,
			       "libinih cannot read this line");
	return true;
}

bool config_read_file(struct config *c, const char *path, struct err *e)
{
	return read_ini(c, fopen(path, "r"), path, NULL, CONFIG_FILE, e);
}

bool config_read_profile(struct config *c, const char *path, const char *scope, struct err *e)
{
	return read_ini(c, fopen(path, "r"), path, scope, CONFIG_PROFILE, e);
}

bool config_read_profile_text(struct config *c, const char *name, const char *text,
			      const char *scope, struct err *e)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	return read_ini(c, f, name, scope, CONFIG_PROFILE, e);
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
		section = trim(copy);
		key = trim(dot + 1);
		value = trim(eq + 1);
		is_ok = is_name(section) && is_name(key) && *value;
	}
	if (is_ok)
		add_setting(c, &like, section, key, value);
	else
		err_set(e, option, 0, "'%s' is not section.key=value, for example mtt.ways=4",
			shown(arg, text));
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
	for (uint32_t i = *bucket_of(c, scope, section); i; i = c->settings[i - 1].next) {
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
				shown(s->value, text), why);
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
	char group[NAME_MAX_B + 1];

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
	c->offers = grow(c->offers, c->n_offers, &c->cap_offers, sizeof(*c->offers));
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
