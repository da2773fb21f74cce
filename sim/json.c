/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.c - JSON writer
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/err.h"
#include "sim/json.h"

/* Bytes of the valid UTF-8 sequence at 's' (RFC 3629), or 0. */
static unsigned utf8_len(const unsigned char *s)
{
	unsigned n = s[0] < 0x80   ? 1
		     : s[0] < 0xc2 ? 0
		     : s[0] < 0xe0 ? 2
		     : s[0] < 0xf0 ? 3
		     : s[0] < 0xf5 ? 4
				   : 0;

	for (unsigned i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

/* Characters that stand for themselves, from 's' on. */
static size_t plain_len(const unsigned char *s)
{
	size_t n = 0;

	while (s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
		n++;
	return n;
}

void json_put_string(FILE *f, const char *str)
{
	const unsigned char *s = (const unsigned char *)str;

	putc('"', f);
	while (*s) {
		size_t n = plain_len(s);

		if (n) {
			fwrite(s, 1, n, f);
			s += n;
			continue;
		}
		n = utf8_len(s);
		if (n == 0) {
			fputs("\\ufffd", f);
			n = 1;
		} else if (*s == '"' || *s == '\\') {
			fprintf(f, "\\%c", *s);
		} else if (*s < 0x20 || *s == 0x7f) {
			fprintf(f, "\\u%04x", *s);
		} else {
			fwrite(s, 1, n, f);
		}
		s += n;
	}
	putc('"', f);
}

void json_begin(struct json *j, FILE *f)
{
	memset(j, 0, sizeof(*j));
	j->f = f;
}

static void json_newline(const struct json *j)
{
	if (j->is_compact)
		return;
	putc('\n', j->f);
	for (unsigned i = 0; i < j->depth; i++)
		putc('\t', j->f);
}

/* Comma, line break and key before a value. */
static void json_lead(struct json *j, const char *key)
{
	if (j->depth == 0)
		return;
	SIM_CHECK((key == NULL) == j->is_array[j->depth - 1], NULL);
	if (j->has_item[j->depth - 1])
		putc(',', j->f);
	j->has_item[j->depth - 1] = true;
	json_newline(j);
	if (key) {
		json_put_string(j->f, key);
		fputs(": ", j->f);
	}
}

static void json_enter(struct json *j, const char *key, bool is_array)
{
	json_lead(j, key);
	SIM_CHECK(j->depth < JSON_DEPTH, NULL);
	j->is_array[j->depth] = is_array;
	j->has_item[j->depth] = false;
	j->depth++;
	putc(is_array ? '[' : '{', j->f);
}

void json_open(struct json *j, const char *key)
{
	json_enter(j, key, false);
}

void json_open_array(struct json *j, const char *key)
{
	json_enter(j, key, true);
}

void json_close(struct json *j)
{
	SIM_CHECK(j->depth > 0, NULL);
	j->depth--;
	if (j->has_item[j->depth])
		json_newline(j);
	putc(j->is_array[j->depth] ? ']' : '}', j->f);
	if (j->depth == 0 && !j->is_compact)
		putc('\n', j->f);
}

void json_u64(struct json *j, const char *key, uint64_t v)
{
	json_lead(j, key);
	fprintf(j->f, "%" PRIu64, v);
}

void json_i64(struct json *j, const char *key, int64_t v)
{
	json_lead(j, key);
	fprintf(j->f, "%" PRId64, v);
}

void json_bool(struct json *j, const char *key, bool v)
{
	json_lead(j, key);
	fputs(v ? "true" : "false", j->f);
}

void json_str(struct json *j, const char *key, const char *v)
{
	json_lead(j, key);
	if (v)
		json_put_string(j->f, v);
	else
		fputs("null", j->f);
}

void json_double(struct json *j, const char *key, double v)
{
	char buf[32];

	json_lead(j, key);
	if (!isfinite(v)) {
		fputs("null", j->f);
		return;
	}
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(buf, sizeof(buf), "%.*g", digits, v);
		if (strtod(buf, NULL) == v)
			break;
	}
	fputs(buf, j->f);
}
