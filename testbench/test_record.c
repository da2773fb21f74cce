/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record.c - lines of all kinds of files, words by table, and their mistakes
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "sim/record.h"
#include "sim/rng.h"
#include "sim/units.h"
#include "testbench/tb_file.h"

/* A record with a row of each form. */
struct thing {
	char name[RECORD_MAX_NAME + 1];
	uint8_t small;
	uint16_t medium;
	uint32_t number, kind, flags;
	uint64_t big, size, time_ps, rate;
	bool is_on;
	char called[32];
};

static const char *const kind_names[] = { "red", "green", "blue", NULL };
static const char *const flag_names[] = { "a", "b", "c", NULL };

static bool call(const struct record_field *f, const char *text, void *obj, void *ctx, char *why)
{
	struct thing *t = obj;

	CU_ASSERT_PTR_EQUAL(ctx, flag_names);
	CU_ASSERT_STRING_EQUAL(f->key, "call");
	if (strcmp(text, "why") == 0)
		snprintf(why, RECORD_WHY, "is refused");
	if (strlen(text) >= sizeof(t->called) || text[0] == 'w')
		return false;
	memcpy(t->called, text, strlen(text) + 1);
	return true;
}

#define T struct thing
static const struct record_field thing_fields[] = {
	RECORD_ROW_NAME(T, name, "NAME", RECORD_PLACE | RECORD_REQUIRED),
	RECORD_ROW_NUMBER(T, medium, "SECOND", 7, 1, 1000, RECORD_PLACE),
	RECORD_ROW_NUMBER(T, small, "small", 3, 0, 9, 0),
	RECORD_ROW_NUMBER(T, number, "number", 42, 0, UINT32_MAX, RECORD_REQUIRED),
	RECORD_ROW_NUMBER(T, big, "big", 1, 1, UINT64_MAX, 0),
	RECORD_ROW_SIZE(T, size, "size", 4096, 0, UINT64_MAX, 0),
	RECORD_ROW_TIME(T, time_ps, "time", 5, 0),
	RECORD_ROW_RATE(T, rate, "rate", 6, 0),
	RECORD_ROW_BOOL(T, is_on, "on", 1, 0),
	RECORD_ROW_ENUM(T, kind, "kind", kind_names, 2, 0),
	RECORD_ROW_FLAGS(T, flags, "flags", flag_names, 5, 0),
	RECORD_ROW_CALL("call", call, "must not begin with w", 0),
};
#undef T
static const struct record_kind thing_kind = { "thing", thing_fields, ARRAY_LEN(thing_fields) };

/* Parse the first record of 'text' as a thing. */
static bool parse(const char *text, size_t len, struct thing *t, uint64_t *given, struct err *e)
{
	struct record_reader r;
	bool ok;

	memset(t, 0, sizeof(*t));
	memset(e, 0, sizeof(*e));
	CU_ASSERT_FATAL(record_open(&r, tb_write("thing.txt", text, len), e));
	record_defaults(&thing_kind, t);
	ok = record_next(&r, e) == 1 &&
	     record_parse(&r, &thing_kind, 1, t, (void *)(uintptr_t)flag_names, given, e);
	record_close(&r);
	return ok;
}

static void record_defaults_are_of_the_rows(void)
{
	struct thing t;
	struct err e;
	uint64_t given;

	CU_ASSERT(parse("thing x number=0", 16, &t, &given, &e));
	CU_ASSERT_EQUAL(given, 1 | 1 << 3);
	CU_ASSERT(t.medium == 7 && t.small == 3 && t.number == 0 && t.big == 1);
	CU_ASSERT(t.size == 4096 && t.time_ps == 5 && t.rate == 6);
	CU_ASSERT(t.is_on && t.kind == 2 && t.flags == 5);
}

static void record_every_form_is_stored(void)
{
	static const char text[] = "\n  # a comment\n\t thing \t a_1-Z 0x3E8 call=x:y,z kind=green "
				   "on=no flags=b,c rate=25Gbps "
				   "time=1500ns size=64KiB big=0xffffffffffffffff "
				   "number=4294967295 small=9# right behind\r\n";
	struct thing t;
	struct err e;
	uint64_t given;

	CU_ASSERT(parse(text, sizeof(text) - 1, &t, &given, &e));
	CU_ASSERT_EQUAL(given, (1u << ARRAY_LEN(thing_fields)) - 1);
	CU_ASSERT_STRING_EQUAL(t.name, "a_1-Z");
	CU_ASSERT(t.medium == 1000 && t.small == 9 && t.number == UINT32_MAX &&
		  t.big == UINT64_MAX);
	CU_ASSERT(t.size == 65536 && t.time_ps == 1500000 && t.rate == 25 * GBPS);
	CU_ASSERT(!t.is_on && t.kind == 1 && t.flags == 6);
	CU_ASSERT_STRING_EQUAL(t.called, "x:y,z");
}

static void record_mistakes_say_where_and_what_is_allowed(void)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "thing", ":1: 'thing' lacks its NAME" },
		{ "thing x", ":1: 'thing' lacks number=" },
		{ "\n\nthing x nummer=1", ":3: unknown key 'nummer' of 'thing', did you mean "
					  "'number'?; known: small, number, big" },
		{ "thing x zzzzzz=1", ":1: unknown key 'zzzzzz' of 'thing'; known: small" },
		{ "thing x SECOND=1", "unknown key 'SECOND' of 'thing'" },
		{ "thing x number=1 small=1 number=2", "key 'number' is given twice" },
		{ "thing x 5 more number=1",
		  "unexpected word 'more'; 'thing' has these words: NAME, SECOND" },
		{ "thing 9x number=1", "NAME '9x': must be a name" },
		{ "thing x.y number=1", "NAME 'x.y': must be a name" },
		{ "thing x 0 number=1",
		  "SECOND '0': must be a number (decimal or 0x hex), 1 to 1000" },
		{ "thing x number=1 small=10",
		  "small='10': must be a number (decimal or 0x hex), 0 to 9" },
		{ "thing x number=", "number='': must be a number" },
		{ "thing x number=-1", "number='-1': must be a number" },
		{ "thing x number=1k", "number='1k': must be a number" },
		{ "thing x number=0x", "number='0x': must be a number" },
		{ "thing x number=4294967296", "0 to 4294967295" },
		{ "thing x number=1 big=18446744073709551616",
		  "must be a number (decimal or 0x hex) of at least 1" },
		{ "thing x number=1 big=0x10000000000000000",
		  "must be a number (decimal or 0x hex) of at least 1" },
		{ "thing x number=1 size=4kib", "size='4kib': must be a size" },
		{ "thing x number=1 size=", "size='': must be a size" },
		{ "thing x number=1 size=1:2", "size='1:2': must be a size" },
		{ "thing x number=1 time=5",
		  "time='5': must be a time with its unit (ps ns us ms s)" },
		{ "thing x number=1 time=us", "time='us': must be a time" },
		{ "thing x number=1 rate=fast", "rate='fast': must be a rate" },
		{ "thing x number=1 on=maybe", "on='maybe': must be yes or no" },
		{ "thing x number=1 kind=greem",
		  "must be one of red, green, blue (did you mean green?)" },
		{ "thing x number=1 kind=gree", "must be one of red, green, blue" },
		{ "thing x number=1 flags=a,d", "flags='a,d': must be a list of a, b, c" },
		{ "thing x number=1 flags=a,,b", "must be a list of a, b, c" },
		{ "thing x number=1 call=wrong", "call='wrong': must not begin with w" },
		{ "thing x number=1 call=why", "call='why': is refused" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct thing t;
		struct err e;
		uint64_t given;

		CU_ASSERT_FALSE(parse(cases[i].text, strlen(cases[i].text), &t, &given, &e));
		CU_ASSERT_PTR_NOT_NULL(strstr(e.text, cases[i].says));
		if (!strstr(e.text, cases[i].says))
			printf("\n  %s\n  gave: %s\n", cases[i].text, e.text);
	}
}

static void record_unknown_kind_names_the_nearest(void)
{
	static const struct record_kind other = { "other", NULL, 0 };
	static const struct record_kind *const kinds[] = { &thing_kind, &other };
	struct record_reader r;
	struct err e = { 0 };

	CU_ASSERT_FATAL(record_open(&r, tb_write("k.txt", "other\nthing\nthinx 1\n", 20), &e));
	CU_ASSERT_EQUAL(record_next(&r, &e), 1);
	CU_ASSERT_EQUAL(record_find(&r, kinds, 2, &e), 1);
	CU_ASSERT_EQUAL(record_next(&r, &e), 1);
	CU_ASSERT_EQUAL(record_find(&r, kinds, 2, &e), 0);
	CU_ASSERT_EQUAL(record_next(&r, &e), 1);
	CU_ASSERT_EQUAL(record_find(&r, kinds, 2, &e), -1);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		e.text,
		"k.txt:3: unknown record 'thinx', did you mean 'thing'?; known: thing, other"));
	record_close(&r);
}

static void record_long_name_is_a_mistake(void)
{
	char text[200];
	struct thing t;
	struct err e;
	uint64_t given;

	snprintf(text, sizeof(text), "thing %063d number=1", 0);
	memset(text + 6, 'n', 63);
	CU_ASSERT(parse(text, strlen(text), &t, &given, &e));
	CU_ASSERT_EQUAL(strlen(t.name), 63);
	snprintf(text, sizeof(text), "thing %064d number=1", 0);
	memset(text + 6, 'n', 64);
	CU_ASSERT_FALSE(parse(text, strlen(text), &t, &given, &e));
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "has more than 63 letters"));
}

/* ---- lines ---- */

/* Count the records of a file, or -1 with the message. */
static int count(const char *path, struct err *e)
{
	struct record_reader r;
	int n = 0, got;

	memset(e, 0, sizeof(*e));
	if (!record_open(&r, path, e))
		return -1;
	while ((got = record_next(&r, e)) == 1)
		n++;
	record_close(&r);
	return got == 0 ? n : -1;
}

static void record_line_ends_and_blank_lines_are_no_records(void)
{
	struct err e;

	CU_ASSERT_EQUAL(count(tb_write("a", "", 0), &e), 0);
	CU_ASSERT_EQUAL(count(tb_write("a", "\n\n# x\n \t\n", 9), &e), 0);
	CU_ASSERT_EQUAL(count(tb_write("a", "a\r\nb\nc", 6), &e), 3);
	CU_ASSERT_EQUAL(count(tb_write("a", "a\r\n\r\nb\r\n", 8), &e), 2);
	CU_ASSERT_EQUAL(
		count(tb_write("a", "# \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 utf-8\na", 19), &e), 1);
}

static void record_bytes_that_are_no_text_are_mistakes(void)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *says;
	} cases[] = {
		{ "a\nb\0c\n", 6, "bad:2: a NUL byte in column 2" },
		{ "\0", 1, "bad:1: a NUL byte in column 1" },
		{ "aaaaaaaaaaaaaaaaaaaaa\0", 22, "bad:1: a NUL byte in column 22" },
		{ "\xff\n", 2, "bad:1: byte 0xff in column 1 is not UTF-8" },
		{ "a \xc3\n", 4, "bad:1: byte 0xc3 in column 3 is not UTF-8" },
		{ "a \xc0\x80\n", 5, "byte 0xc0 in column 3" },
		{ "a \xed\xa0\x80\n", 6, "byte 0xed in column 3" },
		{ "a \xf4\x90\x80\x80\n", 7, "byte 0xf4 in column 3" },
		{ "a \xe0\x80\x80\n", 6, "byte 0xe0 in column 3" },
		{ "# \x80\n", 4, "byte 0x80 in column 3" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e;

		CU_ASSERT_EQUAL(count(tb_write("bad", cases[i].bytes, cases[i].len), &e), -1);
		CU_ASSERT_PTR_NOT_NULL(strstr(e.text, cases[i].says));
	}
}

static void record_many_words_are_a_mistake(void)
{
	char text[300];
	struct err e;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 2 ? ' ' : 'w';
	CU_ASSERT_EQUAL(count(tb_write("w", text, 2 * RECORD_MAX_WORDS), &e), 1);
	CU_ASSERT_EQUAL(count(tb_write("w", text, 2 * RECORD_MAX_WORDS + 1), &e), -1);
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "w:1: more than 64 words"));
}

static void record_long_lines_are_whole(void)
{
	size_t len = 3u << 20;
	char *text = malloc(len);
	struct record_reader r;
	struct err e = { 0 };

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	memset(text, 'x', len);
	text[10] = ' ';
	text[len - 2] = '\n';
	text[len - 1] = 'y';
	CU_ASSERT_FATAL(record_open(&r, tb_write("long", text, len), &e));
	CU_ASSERT_EQUAL(record_next(&r, &e), 1);
	CU_ASSERT_EQUAL(r.n_words, 2);
	CU_ASSERT_EQUAL(r.words[1].len, len - 13);
	CU_ASSERT_EQUAL(record_next(&r, &e), 1);
	CU_ASSERT_STRING_EQUAL(r.words[0].text, "y");
	CU_ASSERT_EQUAL(r.line, 2);
	CU_ASSERT_EQUAL(record_next(&r, &e), 0);
	record_close(&r);
	free(text);
}

static void record_endless_line_is_a_mistake(void)
{
	const char *path = tb_path("endless.gz");
	gzFile f = gzopen(path, "wb1");
	char *piece = calloc(1, 1u << 20);
	struct err e;

	CU_ASSERT_PTR_NOT_NULL_FATAL(piece);
	memset(piece, 'x', 1u << 20);
	for (unsigned i = 0; i <= RECORD_MAX_LINE >> 20; i++)
		gzwrite(f, piece, 1u << 20);
	gzclose(f);
	free(piece);
	CU_ASSERT_EQUAL(count(path, &e), -1);
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "endless.gz:1: a line of more than 64 MiB"));
}

static void record_missing_file_and_directory_are_mistakes(void)
{
	struct err e;

	CU_ASSERT_EQUAL(count("no/such/file", &e), -1);
	CU_ASSERT_STRING_EQUAL(e.text, "no/such/file: cannot open: No such file or directory");
	CU_ASSERT_EQUAL(count("/tmp", &e), -1);
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "/tmp:1: cannot read: Is a directory"));
}

/* Lines of different lengths, more than the read buffer holds. */
static size_t make_text(char *text, size_t cap, unsigned *lines)
{
	struct rng g;
	size_t n = 0;

	rng_seed(&g, "lines", 1);
	for (*lines = 0; n + 200 < cap; ++*lines)
		n += (size_t)sprintf(text + n, "line %u %.*s\n", *lines, (int)rng_below(&g, 100),
				     "0123456789012345678901234567890123456789012345678901234567890"
				     "123456789012345678901234567890123456789");
	return n;
}

static void record_gzip_reads_the_same_whatever_its_name(void)
{
	size_t cap = 1u << 20, len;
	char *text = malloc(cap);
	const char *path = tb_path("packed.txt");
	struct record_reader r;
	struct err e = { 0 };
	unsigned lines, n = 0;
	gzFile f = gzopen(path, "wb");

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	len = make_text(text, cap, &lines);
	gzwrite(f, text, (unsigned)len);
	gzclose(f);
	CU_ASSERT_FATAL(record_open(&r, path, &e));
	while (record_next(&r, &e) == 1) {
		char number[12];

		snprintf(number, sizeof(number), "%u", n++);
		CU_ASSERT_STRING_EQUAL_FATAL(r.words[1].text, number);
		CU_ASSERT_EQUAL(r.line, n);
	}
	CU_ASSERT_EQUAL(n, lines);
	record_close(&r);
	CU_ASSERT_EQUAL(count(tb_write("plain.gz", text, len), &e), (int)lines);
	free(text);
}

static void record_broken_gzip_is_a_mistake(void)
{
	size_t cap = 1u << 16, len, packed_len;
	char *text = malloc(cap);
	const char *path = tb_path("whole.gz");
	char *packed;
	struct err e;
	unsigned lines;
	gzFile f = gzopen(path, "wb");
	FILE *raw;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	len = make_text(text, cap, &lines);
	gzwrite(f, text, (unsigned)len);
	gzclose(f);
	packed = malloc(cap);
	CU_ASSERT_PTR_NOT_NULL_FATAL(packed);
	raw = fopen(path, "rb");
	packed_len = fread(packed, 1, cap, raw);
	fclose(raw);
	CU_ASSERT_EQUAL(count(tb_write("cut.gz", packed, packed_len), &e), (int)lines);
	for (size_t n = 20; n < packed_len; n += packed_len / 7) {
		CU_ASSERT_EQUAL(count(tb_write("cut.gz", packed, n), &e), -1);
		CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "the gzip data end too early"));
	}
	packed[packed_len / 2] = (char)(packed[packed_len / 2] ^ 0x55);
	CU_ASSERT_EQUAL(count(tb_write("cut.gz", packed, packed_len), &e), -1);
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "cut.gz:"));
	free(packed);
	free(text);
}

/* Members of gzip data one behind the other, and what is none at their end. */
static void record_gzip_members_are_joined_and_nothing_else_may_follow(void)
{
	static const char *const tails[] = { "X", "XXXX", "\x1f", "\x1f\x8cxxxxxxxxxxxxxxxxxxx" };
	const char *path = tb_path("members.gz");
	char packed[1024];
	struct err e;
	size_t len;
	FILE *raw;

	unlink(path);
	for (int i = 0; i < 3; i++) {
		gzFile f = gzopen(path, "ab");

		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		gzputs(f, "first word\nsecond wo");
		gzclose(f);
	}
	raw = fopen(path, "rb");
	CU_ASSERT_PTR_NOT_NULL_FATAL(raw);
	len = fread(packed, 1, sizeof(packed) - 64, raw);
	fclose(raw);
	CU_ASSERT_EQUAL(count(tb_write("joined.gz", packed, len), &e), 4);
	for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
		size_t n = strlen(tails[i]);

		memcpy(packed + len, tails[i], n);
		CU_ASSERT_EQUAL(count(tb_write("tail.gz", packed, len + n), &e), -1);
		CU_ASSERT_PTR_NOT_NULL(
			strstr(e.text, "tail.gz:4: behind the end of the gzip data"));
	}
}

static void record_next_of_passes_over_other_lines(void)
{
	static const char text[] =
		"one 1\n  two 2\n#two 3\n\xff not looked at\ntwofold 4\n\ttwo#5\none 6\ntwo";
	static const char *const names[] = { "two", NULL };
	static const unsigned lines[] = { 2, 6, 8 };
	struct record_reader r;
	struct err e = { 0 };

	CU_ASSERT_FATAL(record_open(&r, tb_write("of.txt", text, sizeof(text) - 1), &e));
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		CU_ASSERT_EQUAL_FATAL(record_next_of(&r, names, &e), 1);
		CU_ASSERT_EQUAL(r.line, lines[i]);
		CU_ASSERT_STRING_EQUAL(r.words[0].text, "two");
	}
	CU_ASSERT_EQUAL(record_next_of(&r, names, &e), 0);
	record_close(&r);
}

/* ---- cursors ---- */

static void record_cursors_stop_behind_what_they_took(void)
{
	const char *text = "12:0x1F:64KiB,1.5us:a_b-c.d", *p = text, *name;
	uint64_t v;
	uint32_t len;

	CU_ASSERT(record_number(&p, &v) && v == 12 && record_char(&p, ':'));
	CU_ASSERT(record_size(&p, &v) && v == 31 && record_char(&p, ':'));
	CU_ASSERT(record_size(&p, &v) && v == 65536 && record_char(&p, ','));
	CU_ASSERT(record_time(&p, &v) && v == 1500000 && record_char(&p, ':'));
	CU_ASSERT(record_name(&p, &name, &len) && len == 5 && name == p - 5);
	CU_ASSERT_STRING_EQUAL(p, ".d");
	CU_ASSERT_FALSE(record_name(&p, &name, &len) || record_number(&p, &v) ||
			record_size(&p, &v) || record_char(&p, 'd'));
	CU_ASSERT_STRING_EQUAL(p, ".d");
}

static void record_hex_counts_and_fills(void)
{
	const char *p = "00fFa9:", *odd = "00f", *none = "xy";
	uint8_t b[3] = { 1, 1, 1 };

	CU_ASSERT_EQUAL(record_hex(&p, NULL), 3);
	CU_ASSERT_STRING_EQUAL(p, ":");
	p = "00fFa9";
	CU_ASSERT_EQUAL(record_hex(&p, b), 3);
	CU_ASSERT(b[0] == 0 && b[1] == 0xff && b[2] == 0xa9);
	CU_ASSERT_EQUAL(record_hex(&odd, NULL), SIZE_MAX);
	CU_ASSERT_EQUAL(record_hex(&none, NULL), 0);
}

/* Random bytes, and good text with bytes changed: a message or records, never a crash. */
static void record_garbage_is_survived(void)
{
	static const char good[] =
		"thing x 5 number=1 size=4KiB flags=a,b time=5us kind=red call=x # c\n";
	struct rng g;

	rng_seed(&g, "garbage", 1);
	for (int i = 0; i < 2000; i++) {
		char text[sizeof(good) - 1];
		struct thing t;
		struct err e;
		uint64_t given;

		memcpy(text, good, sizeof(text));
		for (uint64_t k = rng_below(&g, 4) + 1; k; k--)
			text[rng_below(&g, sizeof(text))] = (char)rng_below(&g, 256);
		CU_ASSERT_EQUAL(parse(text, sizeof(text), &t, &given, &e) || e.is_set ||
					text[0] == '#',
				true);
	}
}

CU_TestInfo test_record_tests[] = {
	{ "record_defaults_are_of_the_rows", record_defaults_are_of_the_rows },
	{ "record_every_form_is_stored", record_every_form_is_stored },
	{ "record_mistakes_say_where_and_what_is_allowed",
	  record_mistakes_say_where_and_what_is_allowed },
	{ "record_unknown_kind_names_the_nearest", record_unknown_kind_names_the_nearest },
	{ "record_long_name_is_a_mistake", record_long_name_is_a_mistake },
	{ "record_line_ends_and_blank_lines_are_no_records",
	  record_line_ends_and_blank_lines_are_no_records },
	{ "record_bytes_that_are_no_text_are_mistakes",
	  record_bytes_that_are_no_text_are_mistakes },
	{ "record_many_words_are_a_mistake", record_many_words_are_a_mistake },
	{ "record_long_lines_are_whole", record_long_lines_are_whole },
	{ "record_endless_line_is_a_mistake", record_endless_line_is_a_mistake },
	{ "record_missing_file_and_directory_are_mistakes",
	  record_missing_file_and_directory_are_mistakes },
	{ "record_gzip_reads_the_same_whatever_its_name",
	  record_gzip_reads_the_same_whatever_its_name },
	{ "record_gzip_members_are_joined_and_nothing_else_may_follow",
	  record_gzip_members_are_joined_and_nothing_else_may_follow },
	{ "record_broken_gzip_is_a_mistake", record_broken_gzip_is_a_mistake },
	{ "record_next_of_passes_over_other_lines", record_next_of_passes_over_other_lines },
	{ "record_cursors_stop_behind_what_they_took", record_cursors_stop_behind_what_they_took },
	{ "record_hex_counts_and_fills", record_hex_counts_and_fills },
	{ "record_garbage_is_survived", record_garbage_is_survived },
	CU_TEST_INFO_NULL
};
