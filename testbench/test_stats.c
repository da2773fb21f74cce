/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stats.c - statistics and parameters as JSON, CSV and by name
 */
#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#include "sim/stats.h"
#include "testbench/tb_pair.h"

static const char *const sets[] = { "g1.giver.n=0", "g0.giver.n=3", "g0.giver.is_loud=off", NULL };

static char *written(const struct sim *s, bool is_csv)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	struct json j;

	if (is_csv) {
		stats_write_csv(s, f);
	} else {
		json_begin(&j, f);
		json_open(&j, NULL);
		stats_write_config(&j, s);
		stats_write(&j, s);
		json_close(&j);
	}
	fclose(f);
	return text;
}

static void stats_json_has_this_text(void)
{
	static const char want[] =
		"{\n\t\"config\": {\n"
		"\t\t\"g0.giver\": {\n\t\t\t\"clock\": 250000000,\n\t\t\t\"n\": 3,\n\t\t\t\"step\": 10,\n\t\t\t\"pause\": null,\n"
		"\t\t\t\"is_loud\": false,\n\t\t\t\"mood\": \"busy\"\n\t\t},\n"
		"\t\t\"g0.taker\": {\n\t\t\t\"clock\": 250000000\n\t\t},\n"
		"\t\t\"g1.giver\": {\n\t\t\t\"clock\": 250000000,\n\t\t\t\"n\": 0,\n\t\t\t\"step\": 10,\n\t\t\t\"pause\": null,\n"
		"\t\t\t\"is_loud\": true,\n\t\t\t\"mood\": \"busy\"\n\t\t},\n"
		"\t\t\"g1.taker\": {\n\t\t\t\"clock\": 250000000\n\t\t}\n\t},\n"
		"\t\"blocks\": {\n"
		"\t\t\"g0.giver\": {\n\t\t\t\"sent\": 3\n\t\t},\n"
		"\t\t\"g0.taker\": {\n\t\t\t\"taken\": 3,\n\t\t\t\"value\": {\n\t\t\t\t\"n\": 3,\n\t\t\t\t\"mean\": 10,\n"
		"\t\t\t\t\"min\": 0,\n\t\t\t\t\"max\": 20,\n\t\t\t\t\"p50\": 10,\n\t\t\t\t\"p99\": 20,\n\t\t\t\t\"p999\": 20\n"
		"\t\t\t}\n\t\t},\n"
		"\t\t\"g1.giver\": {\n\t\t\t\"sent\": 0\n\t\t},\n"
		"\t\t\"g1.taker\": {\n\t\t\t\"taken\": 0,\n\t\t\t\"value\": {\n\t\t\t\t\"n\": 0,\n\t\t\t\t\"mean\": 0,\n"
		"\t\t\t\t\"min\": 0,\n\t\t\t\t\"max\": 0,\n\t\t\t\t\"p50\": 0,\n\t\t\t\t\"p99\": 0,\n\t\t\t\t\"p999\": 0\n"
		"\t\t\t}\n\t\t}\n\t},\n"
		"\t\"channels\": {\n\t\t\"g0.giver.out>g0.taker.in\": {\n\t\t\t\"pushes\": 3,\n\t\t\t\"stall_ps\": 0,\n"
		"\t\t\t\"wait_cyc\": 0\n\t\t}\n\t},\n"
		"\t\"pools\": {}\n}\n";
	struct sim s;
	char *text;

	tb_pair_build(&s, sets);
	CU_ASSERT_EQUAL(sim_run(&s), SIM_END_IDLE);
	text = written(&s, false);
	CU_ASSERT_STRING_EQUAL(text, want);
	free(text);
	sim_destroy(&s);
}

static void stats_csv_has_this_text(void)
{
	struct sim s;
	char *text;

	tb_pair_build(&s, sets);
	sim_run(&s);
	text = written(&s, true);
	CU_ASSERT(
		strncmp(text,
			"path,value,unit\ng0.giver.sent,3,note\ng0.taker.taken,3,note\ng0.taker.value.n,3,\n"
			"g0.taker.value.mean,10,x\n",
			98) == 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\ng0.giver.out>g0.taker.in.pushes,3,note\n"));
	CU_ASSERT_PTR_NULL(strstr(text, "g1.giver.out>")); /* a channel that carried nothing */
	free(text);
	sim_destroy(&s);
}

static void stats_do_not_depend_on_implementation_or_step_order(void)
{
	char *first = NULL;

	for (unsigned order = ORDER_FORWARD; order <= ORDER_SHUFFLED; order++) {
		struct sim s;
		char *text;

		tb_pair_build(&s, NULL);
		s.order = (enum step_order)order;
		sim_run(&s);
		text = written(&s, false);
		CU_ASSERT_PTR_NULL(strstr(text, "impl"));
		CU_ASSERT_PTR_NULL(strstr(text, "stall_in"));
		if (first) {
			CU_ASSERT_STRING_EQUAL(text, first);
			free(text);
		} else {
			first = text;
		}
		sim_destroy(&s);
	}
	free(first);
}

static void stats_are_found_by_name(void)
{
	static const struct {
		const char *path;
		int64_t v; /* -1: there is none */
	} cases[] = { { "g0.giver.sent", 3 },
		      { "g0.taker.value.mean", 10 },
		      { "g0.taker.value.p999", 20 },
		      { "g0.giver.out>g0.taker.in.pushes", 3 },
		      { "g1.giver.sent", 0 },
		      { "g0.taker.value", -1 },
		      { "g0.taker.value.p9", -1 },
		      { "g0.giver", -1 },
		      { "g0.giver.", -1 },
		      { "g0.giver.sent.n", -1 },
		      { "", -1 },
		      { "g0.giver.n", -1 },
		      { "sent", -1 },
		      { "g0.giver.sen", -1 },
		      { "g0.giver.sentt", -1 } };
	struct sim s;

	tb_pair_build(&s, sets);
	sim_run(&s);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint64_t v = 99;
		bool is_found = stats_find(&s, cases[i].path, &v);

		CU_ASSERT_EQUAL(is_found, cases[i].v >= 0);
		CU_ASSERT_EQUAL(v, cases[i].v >= 0 ? (uint64_t)cases[i].v : 99);
	}
	sim_destroy(&s);
}

static void stats_unknown_name_gets_the_nearest(void)
{
	struct err e = { 0 }, f = { 0 };
	struct sim s;

	tb_pair_build(&s, NULL);
	CU_ASSERT_FALSE(stats_unknown(&s, "g0.giver.snet", "a.trace", 7, &e));
	CU_ASSERT_STRING_EQUAL(
		e.text, "a.trace:7: unknown statistic 'g0.giver.snet'; nearest is 'g0.giver.sent'");
	CU_ASSERT_FALSE(stats_unknown(&s, "bandwidth", "a.trace", 8, &f));
	CU_ASSERT_STRING_EQUAL(
		f.text,
		"a.trace:8: unknown statistic 'bandwidth'; must be INSTANCE.STATISTIC, for example "
		"'g0.giver.sent'");
	sim_destroy(&s);
}

CU_TestInfo test_stats_tests[] = { { "JSON has this text", stats_json_has_this_text },
				   { "CSV has this text", stats_csv_has_this_text },
				   { "not of implementation or step order",
				     stats_do_not_depend_on_implementation_or_step_order },
				   { "found by name", stats_are_found_by_name },
				   { "unknown name gets the nearest",
				     stats_unknown_name_gets_the_nearest },
				   CU_TEST_INFO_NULL };
