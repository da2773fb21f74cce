/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - runs the CUnit suites of suites.def; arguments choose suites by name
 */
#include <CUnit/Basic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUITE(x) extern CU_TestInfo test_##x##_tests[];
#include "testbench/suites.def"
#undef SUITE

static const struct {
	const char *name;
	CU_TestInfo *tests;
} suites[] = {
#define SUITE(x) { #x, test_##x##_tests },
#include "testbench/suites.def"
#undef SUITE
};

static int is_chosen(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return 1;
	return argc == 1;
}

int main(int argc, char **argv)
{
	unsigned failures, n = 0;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return EXIT_FAILURE;
	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
		CU_SuiteInfo info[] = { { .pName = suites[i].name, .pTests = suites[i].tests },
					CU_SUITE_INFO_NULL };

		if (!is_chosen(suites[i].name, argc, argv))
			continue;
		if (CU_register_suites(info) != CUE_SUCCESS)
			return EXIT_FAILURE;
		n++;
	}
	if (n == 0) {
		fprintf(stderr, "no suite of that name\n");
		return EXIT_FAILURE;
	}
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
