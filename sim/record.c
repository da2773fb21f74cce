/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.c - reading lines, cutting them into words, and cursors over the parts of a word
 *
 * Lines are cut up in the read buffer, ASCII is checked eight bytes at a time, and plain numbers do
 * not go through the unit tables of config.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/config.h"
#include "sim/gz_in.h"
#include "sim/record.h"

#define FIRST_BUFFER (256u << 10)
#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define ONES 0x0101010101010101ull
#define HIGHS 0x8080808080808080ull

/* ---- lines ---- */

bool record_open(struct record_reader *r, const char *path, struct err *e)
{
	bool is_stdin = strcmp(path, "-") == 0;
	struct stat st;

	memset(r, 0, sizeof(*r));
	errno = 0;
	r->gz = gz_in_open(is_stdin ? NULL : path);
	if (!r->gz)
		return err_set(e, path, 0, "cannot open: %s",
			       errno ? strerror(errno) : "out of memory");
	r->is_regular = !is_stdin && stat(path, &st) == 0 && S_ISREG(st.st_mode);
	r->path = x_strdup(is_stdin ? "(standard input)" : path);
	r->cap = FIRST_BUFFER;
	r->buf = x_calloc(1, r->cap + 1);
	return true;
}

void record_open_text(struct record_reader *r, const char *path, const char *text, size_t len)
{
	memset(r, 0, sizeof(*r));
	r->path = x_strdup(path);
	r->cap = r->end = len;
	r->buf = x_calloc(1, len + 1);
	memcpy(r->buf, text, len);
	r->is_end = true;
}

void record_close(struct record_reader *r)
{
	if (r->gz)
		gz_in_close(r->gz);
	free(r->buf);
	free(r->path);
	memset(r, 0, sizeof(*r));
}

/* Read more behind what is not used yet. False with 'e' set when reading failed. */
static bool fill(struct record_reader *r, struct err *e)
{
	ssize_t n;

	if (r->pos) {
		memmove(r->buf, r->buf + r->pos, r->end - r->pos);
		r->end -= r->pos;
		r->pos = 0;
	}
	if (r->end == r->cap) {
		if (r->cap >= RECORD_MAX_LINE)
			return err_set(e, r->path, r->line + 1, "a line of more than %u MiB",
				       RECORD_MAX_LINE >> 20);
		r->cap *= 2;
		r->buf = x_realloc(r->buf, r->cap + 1);
	}
	n = gz_in_read(r->gz, r->buf + r->end, r->cap - r->end);
	if (n < 0) {
		r->is_end = true;
		return err_set(e, r->path, r->line + 1, "%s", gz_in_error(r->gz));
	}
	r->end += (size_t)n;
	r->is_end = n == 0;
	return true;
}

/* The next line, unchecked. */
static int fetch_line(struct record_reader *r, char **line, size_t *len, struct err *e)
{
	size_t seen = 0;
	char *nl;

	while (!(nl = memchr(r->buf + r->pos + seen, '\n', r->end - r->pos - seen))) {
		if (r->is_end) {
			if (r->pos == r->end)
				return 0;
			nl = r->buf + r->end; /* the last line has no end */
			break;
		}
		seen = r->end - r->pos;
		if (!fill(r, e))
			return -1;
	}
	*line = r->buf + r->pos;
	*len = (size_t)(nl - *line);
	r->pos = (size_t)(nl - r->buf) + (nl < r->buf + r->end);
	r->line++;
	*nl = '\0';
	if (*len && nl[-1] == '\r')
		(*line)[--*len] = '\0';
	if (r->line == 1 && strncmp(*line, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0) {
		*line += strlen(BYTE_ORDER_MARK);
		*len -= strlen(BYTE_ORDER_MARK);
	}
	return 1;
}

/* Length of the UTF-8 sequence at s (n bytes left), 0 = not UTF-8 (RFC 3629). */
static size_t utf8_len(const unsigned char *s, size_t n)
{
	size_t want = s[0] < 0x80   ? 1
		      : s[0] < 0xc2 ? 0
		      : s[0] < 0xe0 ? 2
		      : s[0] < 0xf0 ? 3
		      : s[0] < 0xf5 ? 4
				    : 0;

	if (want == 0 || want > n)
		return 0;
	for (size_t i = 1; i < want; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return want;
}

/* Refuse NUL bytes and what is not UTF-8; plain ASCII passes eight bytes at a time. */
static bool check_line(const struct record_reader *r, const char *line, size_t len, struct err *e)
{
	size_t i = 0, n;

	while (i < len) {
		uint64_t w;

		if (i + 8 <= len) {
			memcpy(&w, line + i, 8);
			if (!((w | (w - ONES)) & HIGHS)) {
				i += 8;
				continue;
			}
		}
		if (line[i] == '\0')
			return record_err(r, e, "a NUL byte in column %zu; a trace is plain text",
					  i + 1);
		n = utf8_len((const unsigned char *)line + i, len - i);
		if (n == 0)
			return record_err(r, e, "byte 0x%02x in column %zu is not UTF-8",
					  (unsigned char)line[i], i + 1);
		i += n;
	}
	return true;
}

int record_next_line(struct record_reader *r, char **line, size_t *len, struct err *e)
{
	int got = fetch_line(r, line, len, e);

	return got == 1 && !check_line(r, *line, *len, e) ? -1 : got;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* What a character may be, so that words are cut up with one look at each. */
enum { CHAR_START = 1, CHAR_NAME = 2, CHAR_STOP = 4 };
#define LETTER(c) [c] = CHAR_START | CHAR_NAME
static const unsigned char char_class[256] = {
	LETTER('a'),        LETTER('b'),       LETTER('c'),        LETTER('d'),
	LETTER('e'),        LETTER('f'),       LETTER('g'),        LETTER('h'),
	LETTER('i'),        LETTER('j'),       LETTER('k'),        LETTER('l'),
	LETTER('m'),        LETTER('n'),       LETTER('o'),        LETTER('p'),
	LETTER('q'),        LETTER('r'),       LETTER('s'),        LETTER('t'),
	LETTER('u'),        LETTER('v'),       LETTER('w'),        LETTER('x'),
	LETTER('y'),        LETTER('z'),       LETTER('A'),        LETTER('B'),
	LETTER('C'),        LETTER('D'),       LETTER('E'),        LETTER('F'),
	LETTER('G'),        LETTER('H'),       LETTER('I'),        LETTER('J'),
	LETTER('K'),        LETTER('L'),       LETTER('M'),        LETTER('N'),
	LETTER('O'),        LETTER('P'),       LETTER('Q'),        LETTER('R'),
	LETTER('S'),        LETTER('T'),       LETTER('U'),        LETTER('V'),
	LETTER('W'),        LETTER('X'),       LETTER('Y'),        LETTER('Z'),
	LETTER('_'),        ['0'] = CHAR_NAME, ['1'] = CHAR_NAME,  ['2'] = CHAR_NAME,
	['3'] = CHAR_NAME,  ['4'] = CHAR_NAME, ['5'] = CHAR_NAME,  ['6'] = CHAR_NAME,
	['7'] = CHAR_NAME,  ['8'] = CHAR_NAME, ['9'] = CHAR_NAME,  ['-'] = CHAR_NAME,
	['\0'] = CHAR_STOP, [' '] = CHAR_STOP, ['\t'] = CHAR_STOP, ['#'] = CHAR_STOP,
	['='] = CHAR_STOP,
};

static inline unsigned class_of(char c)
{
	return char_class[(unsigned char)c];
}

/* Cut the line into words, up to a comment. */
static bool cut(struct record_reader *r, char *s, struct err *e)
{
	r->n_words = 0;
	for (;;) {
		struct record_word *w = &r->words[r->n_words];

		while (is_blank(*s))
			s++;
		if (*s == '\0' || *s == '#')
			return true;
		if (r->n_words == RECORD_MAX_WORDS)
			return record_err(r, e, "more than %u words in one record",
					  RECORD_MAX_WORDS);
		r->n_words++;
		w->text = s;
		w->eq = 0;
		for (;; s++) {
			while (!(class_of(*s) & CHAR_STOP))
				s++;
			if (*s != '=')
				break;
			if (w->eq == 0 && class_of(*w->text) & CHAR_START)
				w->eq = (uint32_t)(s - w->text);
		}
		w->len = (uint32_t)(s - w->text);
		if (*s == '#')
			s[1] = '\0'; /* a comment that touches the word */
		if (*s)
			*s++ = '\0';
	}
}

int record_next(struct record_reader *r, struct err *e)
{
	char *line;
	size_t len;
	int got;

	do {
		got = record_next_line(r, &line, &len, e);
		if (got == 1 && !cut(r, line, e))
			return -1;
	} while (got == 1 && r->n_words == 0);
	return got;
}

int record_next_of(struct record_reader *r, const char *const *names, struct err *e)
{
	char *line;
	size_t len;
	int got;

	while ((got = fetch_line(r, &line, &len, e)) == 1) {
		const char *s = line;

		while (is_blank(*s))
			s++;
		for (const char *const *n = names; *n; n++) {
			size_t k = strlen(*n);

			if (strncmp(s, *n, k) == 0 &&
			    (s[k] == '\0' || s[k] == '#' || is_blank(s[k])))
				return check_line(r, line, len, e) && cut(r, line, e) ? 1 : -1;
		}
	}
	return got;
}

/* ---- cursors ---- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

bool record_number(const char **p, uint64_t *v)
{
	const char *s = *p;
	uint64_t n = 0;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		const char *first = s += 2;

		for (int d; (d = hex_digit(*s)) >= 0; s++) {
			if (n >> 60)
				return false;
			n = n << 4 | (uint64_t)d;
		}
		if (s == first)
			return false;
	} else {
		const char *first = s;

		for (; *s >= '0' && *s <= '9'; s++)
			if (__builtin_mul_overflow(n, 10ull, &n) ||
			    __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
				return false;
		if (s == first)
			return false;
	}
	*p = s;
	*v = n;
	return true;
}

/* The number at *p if it ends a part, else the part through 'parse', which knows units. */
static bool part_with_unit(const char **p, uint64_t *v, bool (*parse)(const char *, uint64_t *),
			   bool is_plain_ok)
{
	const char *s = *p;
	char part[40];
	size_t n;

	if (record_number(&s, v) && (*s == '\0' || *s == ':' || *s == ',')) {
		if (!is_plain_ok && *v)
			return false;
		*p = s;
		return true;
	}
	n = strcspn(*p, ":,");
	if (n == 0 || n >= sizeof(part))
		return false;
	memcpy(part, *p, n);
	part[n] = '\0';
	if (!parse(part, v))
		return false;
	*p += n;
	return true;
}

bool record_size(const char **p, uint64_t *v)
{
	return part_with_unit(p, v, parse_bytes, true);
}

bool record_time(const char **p, uint64_t *v)
{
	return part_with_unit(p, v, parse_time_ps, false);
}

bool record_name(const char **p, const char **name, uint32_t *len)
{
	const char *s = *p;

	if (!(class_of(*s) & CHAR_START))
		return false;
	while (class_of(*s) & CHAR_NAME)
		s++;
	*name = *p;
	*len = (uint32_t)(s - *p);
	*p = s;
	return true;
}

size_t record_hex(const char **p, uint8_t *to)
{
	const char *s = *p;
	size_t n = 0;
	int hi, lo;

	for (; (hi = hex_digit(*s)) >= 0; s += 2, n++) {
		lo = hex_digit(s[1]);
		if (lo < 0)
			return SIZE_MAX;
		if (to)
			to[n] = (uint8_t)(hi << 4 | lo);
	}
	*p = s;
	return n;
}
