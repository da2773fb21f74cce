/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_value.c - numbers with units are exact, or refused
 */
#include <CUnit/CUnit.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/config.h"

#define BAD UINT64_MAX /* in the tables below: refused */

struct value_case {
	const char *text;
	uint64_t v;
};

static void check(bool (*parse)(const char *text, uint64_t *v), const struct value_case *c,
		  size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = 0;
		bool is_ok = parse(c[i].text, &v),
		     is_right = is_ok == (c[i].v != BAD) && (!is_ok || v == c[i].v);

		CU_ASSERT(is_right);
		if (!is_right)
			fprintf(stderr, "\n'%s': %s %" PRIu64 "\n", c[i].text,
				is_ok ? "taken as" : "refused", v);
	}
}

static void count_texts_are_exact_or_refused(void)
{
	static const struct value_case c[] = { { "0", 0 },
					       { "42", 42 },
					       { "0x2a", 42 },
					       { "0X2A", 42 },
					       { "1e6", 1000000 },
					       { "1.5e1", 15 },
					       { "007", 7 },
					       { "18446744073709551614", UINT64_MAX - 1 },
					       { "18446744073709551616", BAD },
					       { "0xfffffffffffffffe", UINT64_MAX - 1 },
					       { "0x10000000000000000", BAD },
					       { "1.0000000000000000000000000000000", 1 },
					       { "0.00000000000000000000000000000001e32", 1 },
					       { "100000000000000000000000000000e-29", 1 },
					       { "1.00000000000000000000000000000001", BAD },
					       { "1e-400", BAD },
					       { "1e400", BAD },
					       { "0e999999999999", 0 },
					       { "1e999999999999999999999", BAD },
					       { "", BAD },
					       { " 1", BAD },
					       { "+1", BAD },
					       { "-1", BAD },
					       { ".", BAD },
					       { ".5", BAD },
					       { "1..0", BAD },
					       { "1e", BAD },
					       { "0x", BAD },
					       { "0x1g", BAD },
					       { "inf", BAD },
					       { "nan", BAD },
					       { "1_000", BAD },
					       { "1 000", BAD } };

	check(parse_count, c, ARRAY_LEN(c));
}

static void size_texts_are_exact_or_refused(void)
{
	static const struct value_case c[] = { { "64", 64 },
					       { "64B", 64 },
					       { "4KiB", 4096 },
					       { "4 KiB", 4096 },
					       { "1.5KiB", 1536 },
					       { "2MiB", 2097152 },
					       { "1GiB", 1073741824 },
					       { "1KB", 1000 },
					       { "1.001KB", 1001 },
					       { "3MB", 3000000 },
					       { "1GB", 1000000000 },
					       { "0x1000", 4096 },
					       { "0", 0 },
					       { "1.0001KB", BAD },
					       { "1kib", BAD },
					       { "1K", BAD },
					       { "1Kb", BAD },
					       { "KiB", BAD },
					       { "16777215TiB", 16777215ull << 40 },
					       { "16777216TiB", BAD } };

	check(parse_bytes, c, ARRAY_LEN(c));
}

static void time_texts_are_exact_or_refused(void)
{
	static const struct value_case c[] = {
		{ "1ps", 1 },         { "2ns", 2000 },
		{ "1.5us", 1500000 }, { "4.096us", 4096000 },
		{ "0.000001us", 1 },  { "10ms", 10000000000 },
		{ "1s", PS_PER_S },   { "18446744s", 18446744 * PS_PER_S },
		{ "18446745s", BAD }, { "0", 0 },
		{ "0.0", 0 },         { "5", BAD },
		{ "0.5ps", BAD },     { "1.0000001us", BAD },
		{ "1US", BAD },       { "1 s", PS_PER_S },
		{ "1e-12s", 1 },      { "1e-13s", BAD },
		{ "0x10ns", BAD },    { "1m", BAD },
		{ "1usx", BAD }
	};

	check(parse_time_ps, c, ARRAY_LEN(c));
}

static void rate_texts_are_exact_or_refused(void)
{
	static const struct value_case c[] = { { "14.0625Gbps", 14062500000 },
					       { "100Gbps", 100000000000 },
					       { "1bps", 1 },
					       { "56kbps", 56000 },
					       { "56Kbps", 56000 },
					       { "10Mbps", 10000000 },
					       { "1.6Tbps", 1600000000000 },
					       { "25.78125Gbps", 25781250000 },
					       { "100", BAD },
					       { "0", 0 },
					       { "0.1bps", BAD },
					       { "100Gb", BAD },
					       { "100GBps", BAD } };

	check(parse_rate_bps, c, ARRAY_LEN(c));
}

/* Oracle: the decimal text is made from the integer with printf, so the right answer is known. */
static bool is_exact(bool (*parse)(const char *text, uint64_t *v))
{
	struct rng r;

	rng_seed(&r, "exact", 1);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t ps = rng_next(&r) >> (1 + rng_below(&r, 60)), got = 0;
		char text[64];

		snprintf(text, sizeof(text), "%" PRIu64 ".%06uus", (uint64_t)(ps / PS_PER_US),
			 (unsigned)(ps % PS_PER_US));
		if (!parse(text, &got) || got != ps)
			return false;
	}
	return true;
}

static bool faulty_parse(const char *text, uint64_t *v)
{
	*v = (uint64_t)(strtod(text, NULL) * 1e6);
	return true;
}

static void time_is_exact_and_floating_point_is_caught(void)
{
	CU_ASSERT(is_exact(parse_time_ps));
	CU_ASSERT_FALSE(is_exact(faulty_parse));
}

static void formatted_value_is_short_and_parses_back(void)
{
	static const enum field_form forms[] = { FORM_COUNT, FORM_BYTES, FORM_TIME,  FORM_RATE,
						 FORM_FREQ,  FORM_PROB,  FORM_LENGTH };
	static const struct {
		enum field_form form;
		uint64_t v;
		const char *text;
	} known[] = { { FORM_COUNT, 42, "42" },
		      { FORM_BYTES, 4096, "4KiB" },
		      { FORM_BYTES, 4097, "4097B" },
		      { FORM_BYTES, 0, "0" },
		      { FORM_BYTES, GIB, "1GiB" },
		      { FORM_TIME, 2000000, "2us" },
		      { FORM_TIME, 1500, "1.5ns" },
		      { FORM_TIME, 0, "0ps" },
		      { FORM_TIME, TIME_NEVER, "never" },
		      { FORM_RATE, 100 * GBPS, "100Gbps" },
		      { FORM_RATE, 14062500000, "14.0625Gbps" },
		      { FORM_FREQ, 250 * MHZ, "250MHz" },
		      { FORM_PROB, 10000, "1e-5" },
		      { FORM_PROB, 10000000, "0.01" },
		      { FORM_LENGTH, 2500, "2.5m" },
		      { FORM_LENGTH, 30, "3cm" },
		      { FORM_PROB, PPB_ONE, "1" },
		      { FORM_PROB, 15, "15e-9" },
		      { FORM_BOOL, 1, "on" },
		      { FORM_BOOL, 0, "off" } };
	char buf[64], why[256];
	struct rng r;

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		struct field f = { .kind = FIELD_PARAM, .form = known[i].form, .max = UINT64_MAX };

		CU_ASSERT_STRING_EQUAL(value_format(&f, known[i].v, buf, sizeof(buf)),
				       known[i].text);
	}
	rng_seed(&r, "format", 1);
	for (unsigned i = 0; i < 6000; i++) {
		struct field f = { .kind = FIELD_PARAM,
				   .form = forms[i % ARRAY_LEN(forms)],
				   .max = UINT64_MAX,
				   .unit = "" };
		uint64_t v = rng_next(&r) >> rng_below(&r, 64), got;

		if (i % 4 == 0)
			v = v / 1000 * 1000;
		CU_ASSERT(value_parse(&f, value_format(&f, v, buf, sizeof(buf)), &got, why,
				      sizeof(why)));
		CU_ASSERT_EQUAL(got, v);
	}
}

CU_TestInfo test_value_tests[] = {
	{ "counts are exact or refused", count_texts_are_exact_or_refused },
	{ "sizes are exact or refused", size_texts_are_exact_or_refused },
	{ "times are exact or refused", time_texts_are_exact_or_refused },
	{ "rates are exact or refused", rate_texts_are_exact_or_refused },
	{ "time is exact, floating point is caught", time_is_exact_and_floating_point_is_caught },
	{ "formatted value parses back", formatted_value_is_short_and_parses_back },
	CU_TEST_INFO_NULL
};
