/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fuzz.c - the fuzz targets on their committed inputs: seeds, and what libFuzzer once found
 *
 * An input that made a target abort stays in seeds/ under a name that says what was wrong.
 */
#include <CUnit/CUnit.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "models/packet/hdr.h"
#include "sim/err.h"
#include "sim/units.h"
#include "testbench/fuzz/fuzz.h"
#include "testbench/tb_file.h"
#include "testbench/tb_run.h"

#define MAX_SEED 65536u

extern CU_TestInfo test_fuzz_tests[];

typedef int fuzz_fn(const uint8_t *data, size_t n);

static uint8_t *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = x_calloc(1, MAX_SEED);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	*n = fread(data, 1, MAX_SEED, f);
	fclose(f);
	return data;
}

/* Each file in a buffer of its exact size, so that a read beyond is seen. */
static int play(fuzz_fn *fn, const uint8_t *data, size_t n)
{
	uint8_t *exact = x_calloc(1, n ? n : 1);
	int got;

	memcpy(exact, data, n);
	got = fn(exact, n);
	free(exact);
	return got;
}

/* All inputs of a target: how many it accepted and refused. */
static void play_all(fuzz_fn *fn, const char *name, unsigned count[2])
{
	char pattern[64];
	glob_t g;

	snprintf(pattern, sizeof(pattern), "testbench/fuzz/seeds/%s/*", name);
	CU_ASSERT_EQUAL_FATAL(glob(pattern, 0, NULL, &g), 0);
	count[0] = count[1] = 0;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		size_t n;
		uint8_t *data = slurp(g.gl_pathv[i], &n);

		count[play(fn, data, n) == 0]++;
		free(data);
	}
	globfree(&g);
}

static void seeds_are_played_without_a_finding(void)
{
	static const struct {
		const char *name;
		fuzz_fn *fn;
		unsigned accepted, refused; /* at least */
	} targets[] = {
		{ "packet", fuzz_packet, 28, 0 },  { "nic", fuzz_nic, 3, 5 },
		{ "trace", fuzz_trace, 4, 4 },     { "scenario", fuzz_scenario, 2, 2 },
		{ "convert", fuzz_convert, 3, 2 },
	};

	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		unsigned count[2];

		play_all(targets[i].fn, targets[i].name, count);
		CU_ASSERT(count[0] >= targets[i].accepted);
		CU_ASSERT(count[1] >= targets[i].refused);
		if (count[0] < targets[i].accepted || count[1] < targets[i].refused)
			printf("%s: %u accepted, %u refused; ", targets[i].name, count[0],
			       count[1]);
	}
}

/* The targets look at what they are given: one wrong byte, and the same input is refused. */
static void accepted_seed_with_one_wrong_byte_is_refused(void)
{
	static const struct {
		const char *path;
		fuzz_fn *fn;
		unsigned at;
	} cases[] = {
		{ "packet/ipv4_0b", fuzz_packet, 1 + ETH_BYTES + IPV4_BYTES + UDP_BYTES + 8 },
		{ "trace/uc.trace", fuzz_trace, 17 },
		{ "scenario/small.ini", fuzz_scenario, 30 },
		{ "convert/rc.jsonl", fuzz_convert, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char path[64];
		uint8_t *data;
		size_t n;

		snprintf(path, sizeof(path), "testbench/fuzz/seeds/%s", cases[i].path);
		data = slurp(path, &n);
		CU_ASSERT_EQUAL(play(cases[i].fn, data, n), 1);
		data[cases[i].at] ^= 0xff;
		CU_ASSERT_EQUAL(play(cases[i].fn, data, n), 0);
		free(data);
	}
}

/* Memory that no machine has is not asked for. */
static void trace_that_wants_too_much_is_refused_at_its_line(void)
{
	static const char head[] = "rnicsim-trace 1\nhost a\nhost b\n";
	static const struct {
		const char *begin, *end; /* of a line; between them a number */
		unsigned times;
		const char *says;
	} cases[] = {
		{ "mr a m", " va=0x10000 len=281474976710656\n", 1,
		  ":4: 281474976710656 bytes of regions, with 0 asked for before; allowed: 68719476736 " },
		{ "mr a m", " va=0x10000 len=40GiB page=1GiB\n", 2,
		  ":5: 42949672960 bytes of regions, " },
		{ "cq a c", " depth=4194304\n", 9, ":12: 4194304 entries of queues, " },
		{ "srq b s", " depth=32768\n", 1025, ":1028: 32768 entries of queues, " },
		{ "qp b q", " type=UD qkey=1 sq=32768 rq=32768\n", 257, ":260: 131072 entries " },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct tb_run t;
		char *text = NULL;
		size_t n;
		FILE *f = open_memstream(&text, &n);

		fputs(head, f);
		for (unsigned k = 0; k < cases[i].times; k++)
			fprintf(f, "%s%u%s", cases[i].begin, k, cases[i].end);
		fclose(f);
		CU_ASSERT_FALSE(tb_run_open(
			&t, &(struct tb_run_how){ .trace = tb_write("large.trace", text, n) }));
		CU_ASSERT_PTR_NOT_NULL(strstr(t.err.text, cases[i].says));
		tb_run_close(&t);
		free(text);
	}
}

CU_TestInfo test_fuzz_tests[] = {
	{ "seeds_are_played_without_a_finding", seeds_are_played_without_a_finding },
	{ "accepted_seed_with_one_wrong_byte_is_refused",
	  accepted_seed_with_one_wrong_byte_is_refused },
	{ "trace_that_wants_too_much_is_refused_at_its_line",
	  trace_that_wants_too_much_is_refused_at_its_line },
	CU_TEST_INFO_NULL,
};
