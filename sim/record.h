/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - line records read by table: "name word word key=value key=value"
 *
 * A file is plain text or gzip (told by its first bytes), UTF-8, one record a line; '#' starts a
 * comment, blank lines count as lines only. A kind of record is a constant table of rows; a row is
 * a word in a fixed place or a key, with the member of the caller's struct that it fills, its form,
 * range and default. The reader knows no verb: rows with a form of their own (RECORD_CALL) are
 * parsed by the table's owner, with the cursors below. Nothing is allocated per record.
 */
#ifndef SIM_RECORD_H
#define SIM_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RECORD_MAX_WORDS 64u
#define RECORD_MAX_LINE (64u << 20) /* bytes of one line */
#define RECORD_MAX_NAME 63u         /* letters of a name */
#define RECORD_WHY 256u             /* bytes for a reason */

enum record_form {
	RECORD_NUMBER, /* 42 or 0x2a */
	RECORD_SIZE,   /* 4KiB: bytes */
	RECORD_TIME,   /* 2us: picoseconds */
	RECORD_RATE,   /* 25Gbps: bits a second */
	RECORD_BOOL,   /* yes, no, on, off, true, false, 1, 0 */
	RECORD_ENUM,   /* one of 'names'; stored as its index */
	RECORD_FLAGS,  /* a comma-separated list of 'names'; bit i for names[i] */
	RECORD_NAME,   /* [A-Za-z_][A-Za-z0-9_-]*, into a char array of RECORD_MAX_NAME + 1 */
	RECORD_CALL    /* parsed by 'call' */
};

/*
 * Parse 'text' (a word or the value of a key; to be left as it is) for row 'f' into 'obj'. 'ctx' is
 * what record_parse was given. False with a reason in 'why' (RECORD_WHY bytes).
 */
struct record_field;
typedef bool record_call(const struct record_field *f, const char *text, void *obj, void *ctx,
			 char *why);

enum {
	RECORD_PLACE = 1,
	RECORD_REQUIRED = 2
}; /* record_field.flags: a word without '='; must be there */

/* One row. Rows in fixed places come first, in their order. */
struct record_field {
	const char *key; /* of a row in a place: what it is, for messages */
	enum record_form form;
	uint8_t size; /* bytes of the member, 1, 2, 4 or 8; NAME, CALL: 0, or of a CALL's default */
	uint8_t flags;
	uint32_t offset;          /* of the member */
	uint64_t def, min, max;   /* default, inclusive range */
	const char *const *names; /* ENUM, FLAGS: NULL-terminated */
	record_call *call;        /* CALL */
	const char *expects;      /* CALL: what is allowed, for messages */
};

struct record_kind {
	const char *name; /* first word of the line */
	const struct record_field *fields;
	uint32_t n_fields; /* at most 64 */
};

#define RECORD_UINT(T, m) \
	(_Generic(((T *)0)->m, _Bool : 0, uint8_t : 0, uint16_t : 0, uint32_t : 0, uint64_t : 0) * \
	 sizeof(((T *)0)->m))
#define RECORD_ROW(T, m, k, fm, d, lo, hi, fl) \
	.key = (k), .form = (fm), .size = sizeof(((T *)0)->m) + RECORD_UINT(T, m), .flags = (fl), \
	.offset = offsetof(T, m), .def = (d), .min = (lo), .max = (hi)
#define RECORD_ROW_NUMBER(T, m, k, d, lo, hi, fl) \
	{ \
		RECORD_ROW(T, m, k, RECORD_NUMBER, d, lo, hi, fl) \
	}
#define RECORD_ROW_SIZE(T, m, k, d, lo, hi, fl) \
	{ \
		RECORD_ROW(T, m, k, RECORD_SIZE, d, lo, hi, fl) \
	}
#define RECORD_ROW_TIME(T, m, k, d, fl) \
	{ \
		RECORD_ROW(T, m, k, RECORD_TIME, d, 0, UINT64_MAX, fl) \
	}
#define RECORD_ROW_RATE(T, m, k, d, fl) \
	{ \
		RECORD_ROW(T, m, k, RECORD_RATE, d, 0, UINT64_MAX, fl) \
	}
#define RECORD_ROW_BOOL(T, m, k, d, fl) \
	{ \
		RECORD_ROW(T, m, k, RECORD_BOOL, d, 0, 1, fl) \
	}
#define RECORD_ROW_ENUM(T, m, k, list, d, fl) \
	{ \
		RECORD_ROW(T, m, k, RECORD_ENUM, d, 0, UINT64_MAX, fl), .names = (list) \
	}
#define RECORD_ROW_FLAGS(T, m, k, list, d, fl) \
	{ \
		RECORD_ROW(T, m, k, RECORD_FLAGS, d, 0, UINT64_MAX, fl), .names = (list) \
	}
#define RECORD_ROW_NAME(T, m, k, fl) \
	{ \
		.key = (k), .form = RECORD_NAME, .flags = (fl), \
		.offset = offsetof(T, m) + \
			  0 * sizeof(char[sizeof(((T *)0)->m) == RECORD_MAX_NAME + 1 ? 1 : -1]) \
	}
#define RECORD_ROW_CALL(k, fn, what, fl) \
	{ \
		.key = (k), .form = RECORD_CALL, .flags = (fl), .call = (fn), .expects = (what) \
	}

/* A word of the current line. */
struct record_word {
	char *text; /* NUL-terminated */
	uint32_t len;
	uint32_t eq; /* length of the key before '=', 0 = a word without a key */
};

struct record_reader {
	char *path;
	struct gz_in *gz;
	char *buf; /* read ahead; the current line is cut up in place */
	size_t cap, pos, end;
	bool is_end, is_regular;
	unsigned line; /* number of the current line, from 1 */
	uint32_t n_words;
	struct record_word words[RECORD_MAX_WORDS];
};

/* Open 'path' ("-" = standard input). False with 'e' set when it cannot be opened. */
bool record_open(struct record_reader *r, const char *path, struct err *e);
/* Read 'len' bytes of text, copied, as a file would be; 'path' is what messages call it. */
void record_open_text(struct record_reader *r, const char *path, const char *text, size_t len);
void record_close(struct record_reader *r);

/*
 * The next line as it stands, without its end: 1 = there is one, NUL-terminated and good until the
 * next call, 0 = end of file, -1 = 'e' is set (cannot read, broken gzip, NUL byte, not UTF-8, too
 * long).
 */
int record_next_line(struct record_reader *r, char **line, size_t *len, struct err *e);

/* The next line that is not blank, cut into r->words: 1, 0 or -1 as above. */
int record_next(struct record_reader *r, struct err *e);

/*
 * The same, but of the lines whose first word is in 'names' (NULL-terminated) only; others are
 * passed over without a look at their words.
 */
int record_next_of(struct record_reader *r, const char *const *names, struct err *e);

/*
 * Index of the kind that the current line names, or -1 with 'e' set ("unknown record ..., known:
 * ...").
 */
int record_find(const struct record_reader *r, const struct record_kind *const *kinds, size_t n,
		struct err *e);

/*
 * Set all members that kind 'k' has rows for to their defaults (names to ""; RECORD_CALL rows with
 * a size too).
 */
void record_defaults(const struct record_kind *k, void *obj);

/*
 * Parse the words of the current line after the first 'skip' into 'obj', whose defaults are set.
 * Bit i of *given tells that row i was given. False with 'e' set.
 */
bool record_parse(struct record_reader *r, const struct record_kind *k, uint32_t skip, void *obj,
		  void *ctx, uint64_t *given, struct err *e);

/* err_set at the current line. */
#define record_err(r, e, ...) err_set(e, (r)->path, (r)->line, __VA_ARGS__)

/* ---- cursors: parse what stands at *p, move *p behind it; false leaves *p where it was ---- */

/* A number, decimal or 0x hex; the next character is not looked at. */
bool record_number(const char **p, uint64_t *v);
/* A size (64KiB) or time (2us) up to the next ':' or ',' or the end. */
bool record_size(const char **p, uint64_t *v);
bool record_time(const char **p, uint64_t *v);
/* A name; *name and *len tell where it is. */
bool record_name(const char **p, const char **name, uint32_t *len);
/* The character c. */
static inline bool record_char(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}
/*
 * Hex digits in pairs up to the next other character; 'to' may be NULL to count. Returns bytes, or
 * SIZE_MAX when odd.
 */
size_t record_hex(const char **p, uint8_t *to);

#ifdef __cplusplus
}
#endif
#endif
