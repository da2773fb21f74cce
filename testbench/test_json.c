/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_json.c - the JSON writer, read back by another library
 */
#include <CUnit/CUnit.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/err.h"
#include "sim/json.h"
#include "sim/rng.h"
#include "testbench/tb_file.h"

static void json_nested_document_has_this_text(void)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	struct json j;

	json_begin(&j, f);
	json_open(&j, NULL);
	json_u64(&j, "big", UINT64_MAX);
	json_i64(&j, "low", INT64_MIN);
	json_open(&j, "empty");
	json_close(&j);
	json_open_array(&j, "list");
	json_str(&j, NULL, "a\"b\\c\n\x01");
	json_str(&j, NULL, NULL);
	json_bool(&j, NULL, true);
	json_double(&j, NULL, 0.1);
	json_double(&j, NULL, 1.0 / 3);
	json_double(&j, NULL, (double)NAN);
	json_close(&j);
	json_close(&j);
	fclose(f);
	CU_ASSERT_STRING_EQUAL(
		text,
		"{\n\t\"big\": 18446744073709551615,\n\t\"low\": -9223372036854775808,\n"
		"\t\"empty\": {},\n\t\"list\": [\n\t\t\"a\\\"b\\\\c\\u000a\\u0001\",\n\t\tnull,\n\t\ttrue,\n"
		"\t\t0.1,\n\t\t0.3333333333333333,\n\t\tnull\n\t]\n}\n");
	free(text);
}

/* Text of any bytes must come out as valid JSON; what is valid UTF-8 must come back unchanged. */
static void json_string_of_any_bytes_reads_back(void)
{
	static const char *const utf8[] = { "plain", "h\xc3\xb6lzern", "\xe2\x82\xac",
					    "\xf0\x9f\x98\x80", "\x7f\t" };
	struct rng r;

	rng_seed(&r, "json", 1);
	for (unsigned i = 0; i < 3000; i++) {
		char s[40], *text = NULL;
		size_t n = 0, len = 1 + rng_below(&r, sizeof(s) - 1);
		FILE *f = open_memstream(&text, &n);
		json_t *v;

		for (size_t k = 0; k < len; k++)
			s[k] = (char)(1 + rng_below(&r, 255));
		s[len - 1] = '\0';
		if (i < 5)
			snprintf(s, sizeof(s), "%s", utf8[i]);
		json_put_string(f, s);
		fclose(f);
		v = json_loads(text, JSON_DECODE_ANY, NULL);
		CU_ASSERT_PTR_NOT_NULL(v);
		if (v && i < 5)
			CU_ASSERT_STRING_EQUAL(json_string_value(v), s);
		json_decref(v);
		free(text);
	}
}

static void name_within_array(void)
{
	struct json j;

	json_begin(&j, stderr);
	json_open_array(&j, NULL);
	json_u64(&j, "name", 1);
}

static void json_misuse_stops_at_a_check(void)
{
	char text[1000];

	CU_ASSERT(tb_aborts(name_within_array, text, sizeof(text)));
}

CU_TestInfo test_json_tests[] = {
	{ "nested document has this text", json_nested_document_has_this_text },
	{ "string of any bytes reads back", json_string_of_any_bytes_reads_back },
	{ "misuse stops at a check", json_misuse_stops_at_a_check },
	CU_TEST_INFO_NULL
};
