/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_describe.c - documentation from tables
 */
#include <CUnit/CUnit.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "sim/describe.h"
#include "testbench/tb_pair.h"

static const struct msg_field note_fields[] = { { "v", "the value", 64, 0 },
						{ "is_last", "no more", 1, 0 },
						{ "buf", "a reserved word", 32, 0 },
						{ "data", "bytes", 8, 16 },
						{ .name = NULL } };
static const struct msg_desc msgs[] = { { "note", "a note", note_fields }, { .name = NULL } };

static char *described(const char *name, enum describe_form form)
{
	struct err e = { 0 };
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	CU_ASSERT(describe(f, tb_pair_classes, msgs, name, form, &e));
	fclose(f);
	return text;
}

static void describe_text_has_every_row(void)
{
	static const char *const want[] = {
		"## giver\n\nsends notes. Implementations: c.\n",
		"\n### Parameters\n\n| name | default | range | unit | meaning | evidence |\n|---|---|---|---|---|---|\n"
		"| `n` | 4 | 0 to 1000 | note | notes to send | declared |\n",
		"\n| `step` | 10 | 0 to 1000 |  | between two values | documented: a \\| b |\n",
		"\n| `pause` | never | 0ps or more | ps | nothing | declared |\n",
		"\n| `is_loud` | on | on, off |  | reports each note | declared |\n",
		"\n| `mood` | busy | calm, busy |  | nothing | declared |\n",
		"\n### Outputs\n\n| name | message | meaning |\n|---|---|---|\n| `out` | note | the notes |\n",
		"\n### Statistics\n\n| name | unit | meaning |\n|---|---|---|\n| `sent` | note | notes sent |\n",
		"\n### Events\n\n| name | arguments | meaning |\n|---|---|---|\n| `give` | value left | a note was sent |\n",
		"\n### Every block also has\n",
		"\n| `clock` | 250MHz | 1Hz to 1000GHz | Hz |"
	};
	char *text = described("giver", DESCRIBE_TEXT);

	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(text, want[i]));
	CU_ASSERT_PTR_NULL(strstr(text, "taker"));
	free(text);
	text = described(NULL, DESCRIBE_TEXT);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "## giver\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "## taker\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n| `last` | 64 | the last value |\n"));
	free(text);
}

static void describe_json_reads_back(void)
{
	char *text = described(NULL, DESCRIBE_JSON);
	json_t *v = json_loads(text, 0, NULL), *giver;

	CU_ASSERT_PTR_NOT_NULL_FATAL(v);
	giver = json_array_get(json_object_get(v, "blocks"), 0);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(v, "blocks")), 2);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(giver, "parameters")), 5);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(giver, "events")), 2);
	CU_ASSERT_STRING_EQUAL(
		json_string_value(json_object_get(
			json_array_get(json_object_get(giver, "outputs"), 0), "message")),
		"note");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(v, "messages")), 1);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(v, "parameters")), 4);
	json_decref(v);
	free(text);
}

static void describe_sv_has_this_text(void)
{
	static const char package[] =
		"package rnic_msg_pkg;\n\n  // a note\n  typedef struct packed {\n    logic [15:0][7:0] data;  // bytes\n"
		"    logic [31:0] buf_;  // a reserved word\n    logic is_last;  // no more\n    logic [63:0] v;  // the value\n"
		"  } note_t;\n\nendpackage\n";
	char *text = described("taker", DESCRIBE_SV);

	CU_ASSERT_PTR_NOT_NULL(strstr(text, package));
	CU_ASSERT_PTR_NOT_NULL(strstr(
		text, "//   input  logic in_valid_i,  // the notes\n//   output logic in_ready_o,\n"
		      "//   input  note_t in_data_i,\n//   output logic [63:0] taken_o,"));
	free(text);
	text = described("giver", DESCRIBE_SV);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "//   parameter longint unsigned IsLoud = 64'd1,"));
	CU_ASSERT_PTR_NOT_NULL(strstr(
		text,
		"//   output logic out_valid_o,  // the notes\n//   input  logic out_ready_i,\n"));
	free(text);
}

static void describe_unknown_block_gets_the_nearest(void)
{
	struct err e = { 0 }, f = { 0 };

	CU_ASSERT_FALSE(describe(stderr, tb_pair_classes, msgs, "givver", DESCRIBE_TEXT, &e));
	CU_ASSERT_STRING_EQUAL(
		e.text,
		"describe: unknown block 'givver'; nearest is 'giver'; allowed: giver, taker");
	CU_ASSERT_FALSE(describe(stderr, tb_pair_classes, msgs, "switch", DESCRIBE_SV, &f));
	CU_ASSERT_STRING_EQUAL(f.text, "describe: unknown block 'switch'; allowed: giver, taker");
}

CU_TestInfo test_describe_tests[] = { { "text has every row", describe_text_has_every_row },
				      { "JSON reads back", describe_json_reads_back },
				      { "SystemVerilog has this text", describe_sv_has_this_text },
				      { "unknown block gets the nearest",
					describe_unknown_block_gets_the_nearest },
				      CU_TEST_INFO_NULL };
