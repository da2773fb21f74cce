/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_outfile.c - a result file appears whole or not at all
 */
#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#include "sim/outfile.h"
#include "testbench/tb_file.h"

static void outfile_committed_has_its_name_and_bytes(void)
{
	const char *path = tb_path("whole.txt");
	struct outfile o;
	struct err e = { 0 };
	char *text;

	CU_ASSERT_FATAL(outfile_open(&o, path, &e));
	fputs("all of it", o.f);
	CU_ASSERT_PTR_NULL(tb_read(path)); /* not there before */
	CU_ASSERT(outfile_commit(&o, &e));
	text = tb_read(path);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_STRING_EQUAL(text, "all of it");
	free(text);
	CU_ASSERT_EQUAL(tb_count_files("whole"), 1);
}

static void outfile_aborted_leaves_the_old_file(void)
{
	const char *path = tb_write("old.txt", "old", 3);
	struct outfile o;
	struct err e = { 0 };
	char *text;

	CU_ASSERT_FATAL(outfile_open(&o, path, &e));
	fputs("new", o.f);
	outfile_abort(&o);
	outfile_abort(&o);
	text = tb_read(path);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_STRING_EQUAL(text, "old");
	free(text);
	CU_ASSERT_EQUAL(tb_count_files("old"), 1);
}

static void outfile_impossible_place_is_a_mistake(void)
{
	struct outfile o;
	struct err e = { 0 }, f = { 0 };

	CU_ASSERT_FALSE(outfile_open(&o, "no/such/dir/x.json", &e));
	CU_ASSERT_STRING_EQUAL(e.text,
			       "no/such/dir/x.json: cannot write: No such file or directory");
	CU_ASSERT_FALSE(outfile_open(&o, "/tmp", &f));
	CU_ASSERT_STRING_EQUAL(f.text, "/tmp: cannot write: is a directory");
}

static void outfile_full_device_is_a_mistake(void)
{
	struct outfile o;
	struct err e = { 0 };

	CU_ASSERT_FATAL(outfile_open(&o, "/dev/full", &e));
	fputs("no room", o.f);
	CU_ASSERT_FALSE(outfile_commit(&o, &e));
	CU_ASSERT_STRING_EQUAL(e.text, "/dev/full: cannot write: No space left on device");
}

CU_TestInfo test_outfile_tests[] = {
	{ "committed has its name and bytes", outfile_committed_has_its_name_and_bytes },
	{ "aborted leaves the old file", outfile_aborted_leaves_the_old_file },
	{ "impossible place is a mistake", outfile_impossible_place_is_a_mistake },
	{ "full device is a mistake", outfile_full_device_is_a_mistake },
	CU_TEST_INFO_NULL
};
