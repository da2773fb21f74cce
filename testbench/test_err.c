/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_err.c - mistakes, nearest names, failed checks
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "sim/block.h"
#include "testbench/tb_file.h"

static void err_first_mistake_wins(void)
{
	struct err e = { 0 };

	CU_ASSERT_FALSE(err_set(&e, "a.ini", 3, "x is %d, allowed 1 to 2", 9));
	CU_ASSERT_FALSE(err_set(&e, "b.ini", 4, "another"));
	CU_ASSERT(e.is_set);
	CU_ASSERT_STRING_EQUAL(e.text, "a.ini:3: x is 9, allowed 1 to 2");
}

static void err_file_and_line_may_be_missing(void)
{
	struct err e = { 0 }, f = { 0 };

	err_set(&e, "a.ini", 0, "cannot open");
	CU_ASSERT_STRING_EQUAL(e.text, "a.ini: cannot open");
	err_set(&f, NULL, 7, "usage");
	CU_ASSERT_STRING_EQUAL(f.text, "usage");
}

static void err_endless_file_name_leaves_room_for_the_message(void)
{
	struct err e = { 0 };
	char name[3000];

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	err_set(&e, name, 1, "what is wrong");
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "...: what is wrong"));
	CU_ASSERT(strlen(e.text) < sizeof(e.text));
}

static void err_nearest_finds_typing_mistakes_only(void)
{
	static const char *const names[] = { "ways", "sets", "page_size", "mtt", "mpt" };
	static const struct {
		const char *word, *near;
	} cases[] = { { "wyas", "ways" },    { "way", "ways" }, { "pagesize", "page_size" },
		      { "MTT", "mtt" },      { "mtts", "mtt" }, { "ways", "ways" },
		      { "bandwidth", NULL }, { "", NULL },      { "q", NULL } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *near = err_nearest(cases[i].word, names, ARRAY_LEN(names));

		CU_ASSERT((near == NULL) == (cases[i].near == NULL));
		if (near && cases[i].near)
			CU_ASSERT_STRING_EQUAL(near, cases[i].near);
	}
}

static void err_nearest_endless_word_has_none(void)
{
	const char *names[1];
	char word[500];

	memset(word, 'a', sizeof(word));
	word[sizeof(word) - 1] = '\0';
	names[0] = word;
	CU_ASSERT_PTR_NULL(err_nearest(word, names, 1));
	CU_ASSERT_PTR_NULL(err_nearest("aaa", names, 1));
}

static void fail_a_check(void)
{
	struct block b = { .name = "nic0.mtt", .cycle = 12, .now_ps = 48000 };
	int one = 1;

	SIM_CHECK(one == 2, &b);
}

static void fail_without_block(void)
{
	int one = 1;

	SIM_CHECK(one == 3, NULL);
}

static void check_failed_names_instance_cycle_and_condition(void)
{
	char text[2000];

	CU_ASSERT(tb_aborts(fail_a_check, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "nic0.mtt: cycle 12 (48000 ps): "));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "test_err.c:"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "one == 2"));
	CU_ASSERT(tb_aborts(fail_without_block, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "one == 3"));
}

CU_TestInfo test_err_tests[] = {
	{ "first mistake wins", err_first_mistake_wins },
	{ "file and line may be missing", err_file_and_line_may_be_missing },
	{ "endless file name leaves room for the message",
	  err_endless_file_name_leaves_room_for_the_message },
	{ "nearest finds typing mistakes only", err_nearest_finds_typing_mistakes_only },
	{ "nearest of an endless word", err_nearest_endless_word_has_none },
	{ "failed check names instance, cycle and condition",
	  check_failed_names_instance_cycle_and_condition },
	CU_TEST_INFO_NULL
};
