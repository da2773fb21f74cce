/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_block.c - members by their table rows
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "sim/block.h"
#include "testbench/tb_file.h"

struct thing {
	struct block b;
	bool flag;
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
	struct hist lat;
};

#define T struct thing
static const struct field thing_fields[] = { PARAM_BOOL(T, flag, 1, "a flag", "declared"),
					     PARAM(T, u8, 1, 0, 255, "", "eight bits", "declared"),
					     STAT(T, u64, "x", "counts"),
					     EVENT(first, "a b", "an event"),
					     SIGNAL(T, u16, 16, "a signal"),
					     HIST(T, lat, "ps", "a histogram"),
					     EVENT(second, "c", "another"),
					     SIGNAL(T, u32, 32, "a signal"),
					     FIELDS_END };
#undef T

static void field_values_survive_set_and_get(void)
{
	static const struct {
		const char *name;
		enum field_kind kind;
		uint64_t max;
	} rows[] = { { "flag", FIELD_PARAM, 1 },
		     { "u8", FIELD_PARAM, UINT8_MAX },
		     { "u16", FIELD_SIGNAL, UINT16_MAX },
		     { "u32", FIELD_SIGNAL, UINT32_MAX },
		     { "u64", FIELD_STAT, UINT64_MAX } };
	struct thing t;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct field *f = field_find(thing_fields, rows[i].kind, rows[i].name);

		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		memset(&t, 0, sizeof(t));
		field_set(&t, f, rows[i].max);
		CU_ASSERT_EQUAL(field_get(&t, f), rows[i].max);
		/* the neighbours are untouched */
		for (size_t k = 0; k < ARRAY_LEN(rows); k++)
			if (k != i)
				CU_ASSERT_EQUAL(field_get(&t, field_find(thing_fields, rows[k].kind,
									 rows[k].name)),
						0);
	}
}

static void field_rows_are_found_and_counted(void)
{
	struct thing t = { .lat = { .n = 5 } };

	CU_ASSERT_EQUAL(field_count(thing_fields, FIELD_EVENT), 2);
	CU_ASSERT_EQUAL(field_count(thing_fields, FIELD_IN), 0);
	CU_ASSERT_STRING_EQUAL(field_nth(thing_fields, FIELD_EVENT, 1)->name, "second");
	CU_ASSERT_PTR_NULL(field_nth(thing_fields, FIELD_EVENT, 2));
	CU_ASSERT_PTR_NULL(field_find(thing_fields, FIELD_STAT, "u8"));
	CU_ASSERT_EQUAL(field_hist(&t, field_find(thing_fields, FIELD_HIST, "lat"))->n, 5);
}

static void set_too_wide(void)
{
	struct thing t;

	field_set(&t, field_find(thing_fields, FIELD_PARAM, "u8"), 256);
}

static void get_no_integer(void)
{
	struct thing t = { .flag = false };

	field_get(&t, field_find(thing_fields, FIELD_HIST, "lat"));
}

static void field_misuse_stops_at_a_check(void)
{
	char text[2000];

	CU_ASSERT(tb_aborts(set_too_wide, text, sizeof(text)));
	CU_ASSERT(tb_aborts(get_no_integer, text, sizeof(text)));
}

static void common_rows_match_the_struct(void)
{
	struct block b = {
		.clock_hz = 7, .impl = 1, .stall_in = STALL_RANDOM, .stall_out = STALL_LONG
	};
	const struct field *in = field_find(block_common_fields, FIELD_PARAM, "stall_in");

	CU_ASSERT_EQUAL(field_get(&b, field_find(block_common_fields, FIELD_PARAM, "clock")), 7);
	CU_ASSERT_EQUAL(field_get(&b, field_find(block_common_fields, FIELD_PARAM, "impl")), 1);
	CU_ASSERT_STRING_EQUAL(in->names[field_get(&b, in)], "random");
	CU_ASSERT_STRING_EQUAL(in->names[STALL_ALTERNATE], "alternate");
	CU_ASSERT_EQUAL(field_get(&b, field_find(block_common_fields, FIELD_PARAM, "stall_out")),
			STALL_LONG);
	CU_ASSERT_EQUAL(field_count(block_common_fields, FIELD_PARAM), 4);
}

CU_TestInfo test_block_tests[] = {
	{ "values survive set and get", field_values_survive_set_and_get },
	{ "rows are found and counted", field_rows_are_found_and_counted },
	{ "misuse stops at a check", field_misuse_stops_at_a_check },
	{ "common rows match the struct", common_rows_match_the_struct },
	CU_TEST_INFO_NULL
};
