/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_profiles.c - the device presets: every line has its evidence, every preset runs the demo
 */
#include <CUnit/CUnit.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/run/commands.h"
#include "sim/err.h"
#include "sim/units.h"
#include "testbench/tb_file.h"
#include "testbench/tb_run.h"

extern CU_TestInfo test_profiles_tests[];

#define PROFILES "models/profiles"
#define MAX_PROFILES 64u

static char *names[MAX_PROFILES];
static unsigned n_names;

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The presets there are, without ".ini". */
static void find_profiles(void)
{
	DIR *d = opendir(PROFILES);
	struct dirent *f;

	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	for (n_names = 0; (f = readdir(d)) && n_names < MAX_PROFILES;) {
		char *dot = strstr(f->d_name, ".ini");

		if (!dot)
			continue;
		names[n_names] = x_strdup(f->d_name);
		names[n_names++][dot - f->d_name] = '\0';
	}
	closedir(d);
	qsort(names, n_names, sizeof(*names), by_name);
}

static void drop_profiles(void)
{
	while (n_names)
		free(names[--n_names]);
}

/* Lines with a setting that do not say where it is from. */
static unsigned lines_without_evidence(char *text)
{
	static const char *const tags[] = { "measured: ", "documented: ", "fitted: ", "declared" };
	unsigned n = 0;
	char *save = NULL;

	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		const char *why = strchr(l, ';');
		bool has = false;

		if (l[0] == ';' || l[0] == '[' || !strchr(l, '='))
			continue;
		for (size_t i = 0; why && i < ARRAY_LEN(tags); i++)
			has |= strncmp(why + 1 + strspn(why + 1, " \t"), tags[i],
				       strlen(tags[i])) == 0;
		n += !has;
	}
	return n;
}

static void every_line_of_a_profile_has_its_evidence(void)
{
	char fault[] = "[nic]\nclock = 1GHz ; because\nx = 1\ny = 2 ; declared\n", path[512];

	find_profiles();
	for (unsigned i = 0; i < n_names; i++) {
		char *text;

		snprintf(path, sizeof(path), PROFILES "/%s.ini", names[i]);
		text = tb_read(path);
		CU_ASSERT_PTR_NOT_NULL_FATAL(text);
		CU_ASSERT_EQUAL(text[0], ';'); /* what it is */
		CU_ASSERT_EQUAL(lines_without_evidence(text), 0);
		free(text);
	}
	CU_ASSERT_EQUAL(lines_without_evidence(fault), 2);
	drop_profiles();
}

static void every_profile_runs_the_demo(void)
{
	find_profiles();
	for (unsigned i = 0; i < n_names; i++) {
		char profile[300];
		const char *const sets[] = { profile, NULL };
		struct tb_run t = { 0 };

		if (strcmp(names[i], "pcie-bench") == 0)
			continue; /* of pcie_bench, whose device is no NIC */
		snprintf(profile, sizeof(profile), "nic.profile=%s", names[i]);
		CU_ASSERT_FATAL(tb_run_open(
			&t, &(struct tb_run_how){ .trace = "traces/demo.trace", .sets = sets }));
		CU_ASSERT_EQUAL(tb_run_go(&t), 0);
		tb_run_close(&t);
	}
	drop_profiles();
}

static void the_manual_lists_every_profile(void)
{
	char *text = tb_read("README.md"), word[300];

	find_profiles();
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	for (unsigned i = 0; i < n_names; i++) {
		snprintf(word, sizeof(word), "`%s`", names[i]);
		CU_ASSERT_PTR_NOT_NULL(strstr(text, word));
	}
	free(text);
	drop_profiles();
}

static int describe_words(int argc, char **argv, struct err *e)
{
	const char *kept_name = tb_path("describe");
	int kept, status;

	memset(e, 0, sizeof(*e));
	fflush(stdout);
	kept = dup(STDOUT_FILENO);
	CU_ASSERT_PTR_NOT_NULL_FATAL(freopen(kept_name, "w", stdout));
	status = cmd_describe(argc, argv, e);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	return status;
}

static void describe_lists_and_prints_profiles(void)
{
	char describe[] = "describe", profile[] = "profile", name[] = "connectx5", bad[] = "abacus";
	char *argv[] = { describe, profile, name, NULL }, *wrong[] = { describe, profile, bad };
	char *text, word[300];
	struct err e;

	CU_ASSERT_EQUAL(describe_words(2, argv, &e), 0);
	text = tb_read(tb_path("describe"));
	find_profiles();
	for (unsigned i = 0; i < n_names; i++) {
		snprintf(word, sizeof(word), "| `%s` | ", names[i]);
		CU_ASSERT_PTR_NOT_NULL(strstr(text, word));
	}
	drop_profiles();
	free(text);
	CU_ASSERT_EQUAL(describe_words(3, argv, &e), 0);
	text = tb_read(tb_path("describe"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "documented: ConnectX-5 EN product brief"));
	free(text);
	CU_ASSERT_EQUAL(describe_words(3, wrong, &e), 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "allowed: connectib, connectx3, connectx5"));
}

/* The program has them all, byte for byte, and shows a file only if it is a profile. */
static void profiles_are_in_the_program(void)
{
	static const char *const bad[] = { "/etc/passwd", "models/profiles", "no/such.ini",
					   "traces/demo.trace" };
	char describe[] = "describe", profile[] = "profile", path[600];
	char *argv[] = { describe, profile, NULL }, *text, *file;
	struct err e;

	find_profiles();
	for (unsigned i = 0; i < n_names; i++) {
		snprintf(path, sizeof(path), PROFILES "/%s.ini", names[i]);
		file = tb_read(path);
		for (unsigned by_path = 0; by_path < 2; by_path++) {
			argv[2] = by_path ? path : names[i];
			CU_ASSERT_EQUAL(describe_words(3, argv, &e), 0);
			text = tb_read(tb_path("describe"));
			CU_ASSERT_STRING_EQUAL(text, file);
			free(text);
		}
		free(file);
	}
	drop_profiles();
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		snprintf(path, sizeof(path), "%s", bad[i]);
		argv[2] = path;
		CU_ASSERT_EQUAL(describe_words(3, argv, &e), 2);
		CU_ASSERT(e.is_set);
		text = tb_read(tb_path("describe"));
		CU_ASSERT_STRING_EQUAL(text, "");
		free(text);
	}
}

static void device_that_is_no_nic_is_refused_as_one(void)
{
	static const char *const sets[] = { "nic.profile=pcie-bench", NULL };
	struct tb_run t = { 0 };

	CU_ASSERT_FALSE(tb_run_open(
		&t, &(struct tb_run_how){ .trace = "traces/demo.trace", .sets = sets }));
	CU_ASSERT_PTR_NOT_NULL(strstr(t.err.text, "is no NIC"));
	CU_ASSERT_PTR_NOT_NULL(strstr(t.err.text, "allowed: connectib"));
	tb_run_close(&t);
}

CU_TestInfo test_profiles_tests[] = {
	{ "describe_lists_and_prints_profiles", describe_lists_and_prints_profiles },
	{ "profiles_are_in_the_program", profiles_are_in_the_program },
	{ "device_that_is_no_nic_is_refused_as_one", device_that_is_no_nic_is_refused_as_one },
	{ "every_line_of_a_profile_has_its_evidence", every_line_of_a_profile_has_its_evidence },
	{ "every_profile_runs_the_demo", every_profile_runs_the_demo },
	{ "the_manual_lists_every_profile", the_manual_lists_every_profile },
	CU_TEST_INFO_NULL
};
