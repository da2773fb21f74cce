/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_file.c - settings from INI files
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

#include "sim/config_parts.h"

#define LINE_MAX_B 4000u /* longest line of a scenario file */

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
			       config_shown(s, text));
	*end = '\0';
	s = config_trim(s + 1);
	if (!config_is_name(s))
		return err_set(
			r->e, r->file, r->line,
			"'%s' is no section name; allowed are 1 to %u letters, digits, '_', '-' and '.'",
			config_shown(s, text), CONFIG_NAME_MAX);
	c->sections =
		config_grow(c->sections, c->n_sections, &c->cap_sections, sizeof(*c->sections));
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
			       config_shown(s, text));
	*eq = '\0';
	key = config_trim(s);
	value = config_trim(eq + 1);
	if (!config_is_name(key))
		return err_set(
			r->e, r->file, r->line,
			"'%s' is no key; allowed are 1 to %u letters, digits, '_', '-' and '.'",
			config_shown(key, text), CONFIG_NAME_MAX);
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
	s = config_trim(s);
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
	for (uint32_t i = *config_bucket(r->c, r->scope ? r->scope : "", section); i;
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
	config_add(r->c, &like, section, key, value);
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
