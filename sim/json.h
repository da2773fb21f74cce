/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - a small JSON writer: nesting, commas and escapes
 *
 * Integers are written in full (up to 64 bits). Doubles are for derived output only and are written with the
 * fewest digits that read back as the same number, so output is the same everywhere.
 */
#ifndef SIM_JSON_H
#define SIM_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define JSON_DEPTH 16u

struct json {
	FILE *f;
	unsigned depth;
	bool is_array[JSON_DEPTH], has_item[JSON_DEPTH];
	bool is_compact; /* everything on one line */
};

/* Write a quoted, escaped string. Bytes that are not UTF-8 become U+FFFD. */
void json_put_string(FILE *f, const char *s);

/* The document is one object or array: open it with json_open or json_open_array and key NULL. */
void json_begin(struct json *j, FILE *f);

/* 'key' names the value within an object and is NULL within an array. */
void json_open(struct json *j, const char *key);
void json_open_array(struct json *j, const char *key);
void json_close(struct json *j);
void json_u64(struct json *j, const char *key, uint64_t v);
void json_i64(struct json *j, const char *key, int64_t v);
void json_bool(struct json *j, const char *key, bool v);
void json_str(struct json *j, const char *key, const char *v); /* v NULL: null */
void json_double(struct json *j, const char *key, double v);   /* not finite: null */

#ifdef __cplusplus
}
#endif
#endif
