/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_calibrate.c - `rnicsim calibrate`: its rows are sound, and it tells what is met from what is not
 */
#include <CUnit/CUnit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/perf/calibrate.h"
#include "tools/perf/calibrate_pcie.h"
#include "sim/units.h"
#include "testbench/tb_file.h"

extern CU_TestInfo test_calibrate_tests[];

#define MAX_ARGS 64

/* Whether 'text' is a good command line of `perf`. */
static bool parses(const char *text)
{
	static char perf[] = "perf";
	char *copy = x_strdup(text), *argv[MAX_ARGS], *save = NULL;
	struct perf_spec s;
	struct err e = { 0 };
	int argc = 0;
	bool ok;

	argv[argc++] = perf;
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	ok = perf_options_parse(argc, argv, &s, &e);
	free(copy);
	return ok;
}

static void rows_have_all_that_a_reader_needs(void)
{
	for (uint32_t i = 0; i < calibrate_n_rows; i++) {
		const struct calibrate_row *r = &calibrate_rows[i];

		CU_ASSERT(r->profile && r->what && r->unit && strlen(r->source) > 5);
		CU_ASSERT(r->published > 0);
		CU_ASSERT((r->band == BAND_RANGE) == (r->upto > r->published));
		/* a threshold of ours stands only where no number was published */
		CU_ASSERT((r->band != BAND_AT_LEAST && r->band != BAND_AT_MOST) ||
			  strstr(r->source, "anomalies"));
		CU_ASSERT(parses(r->perf));
		CU_ASSERT_EQUAL(r->versus != NULL, r->value == VALUE_SHARE);
		CU_ASSERT(!r->versus || parses(r->versus));
		/* a name belongs to one row of a profile */
		for (uint32_t k = 0; k < i; k++)
			CU_ASSERT(strcmp(calibrate_rows[k].profile, r->profile) != 0 ||
				  strcmp(calibrate_rows[k].what, r->what) != 0);
	}
}

/* How far off a row may be, percent: what each kind of number is held to. A range is held to its ends. */
static double allowed_percent(const struct calibrate_row *r)
{
	if (r->band != BAND_WITHIN || r->value == VALUE_FRAME)
		return 0;
	if (r->value == VALUE_US || r->value == VALUE_PCIE)
		return 10;
	return r->value == VALUE_GBPS ? 5 : 20;
}

static double allowed_percent_of_host(const struct pcie_row *r)
{
	return r->how.has_iommu && r->value != PCIE_MEDIAN_NS ? 15 : 10;
}

static void bands_are_no_wider_than_agreed(void)
{
	for (uint32_t i = 0; i < calibrate_n_rows; i++)
		CU_ASSERT_EQUAL(calibrate_rows[i].percent, allowed_percent(&calibrate_rows[i]));
	for (uint32_t i = 0; i < pcie_n_rows; i++)
		CU_ASSERT_EQUAL(pcie_rows[i].band_percent, allowed_percent_of_host(&pcie_rows[i]));
}

/* The number behind option 'letter' of a row's benchmark. */
static unsigned long option_of(const struct calibrate_row *r, const char *letter)
{
	const char *at = strstr(r->perf, letter);

	return at ? strtoul(at + strlen(letter), NULL, 10) : 0;
}

static const char *next_word(const char *w)
{
	w += strcspn(w, " ");
	return w + strspn(w, " ");
}

static bool is_word(const char *a, const char *b)
{
	size_t la = strcspn(a, " "), lb = strcspn(b, " ");

	return la == lb && strncmp(a, b, la) == 0;
}

/* Words of command line 'a' that are others in 'b', or are not there. */
static unsigned words_that_differ(const char *a, const char *b)
{
	unsigned n = 0;

	while (*a && *b) {
		bool is_left_out = !is_word(a, b) && is_word(next_word(a), b);

		n += !is_word(a, b);
		a = next_word(a);
		b = is_left_out ? b : next_word(b);
	}
	return *a || *b ? UINT32_MAX : n;
}

/* A port pauses with the cause that was published, and not when one part of that alone is taken out. */
static void pause_is_gone_when_one_cause_alone_is(void)
{
	const struct calibrate_row *with = NULL;
	unsigned n = 0;

	for (uint32_t i = 0; i < calibrate_n_rows; i++) {
		const struct calibrate_row *r = &calibrate_rows[i];

		if (r->value != VALUE_PAUSE)
			continue;
		if (r->band == BAND_AT_LEAST) {
			with = r;
			continue;
		}
		CU_ASSERT_FATAL(with && strcmp(with->profile, r->profile) == 0);
		CU_ASSERT_EQUAL(words_that_differ(with->perf, r->perf), 1);
		n++;
	}
	CU_ASSERT_EQUAL(n, 6);
}

/* As many requests outstanding a thread at every point of a curve: no point is fitted by its depth. */
static void curve_has_one_number_of_outstanding_requests(void)
{
	static const struct {
		const char *profile, *what;
		unsigned long outstanding;
	} curves[] = { { "connectx3", "READ of 32 B, ", 8 * 32 },
		       { "connectx6", "READ of 8 B, ", 64 * 32 },
		       { "connectx6", "WRITE of 8 B, ", 64 * 32 } };
	unsigned n = 0;

	for (uint32_t i = 0; i < calibrate_n_rows; i++)
		for (size_t k = 0; k < ARRAY_LEN(curves); k++) {
			const struct calibrate_row *r = &calibrate_rows[i];
			unsigned long qps = option_of(r, "-q ");

			if (strcmp(r->profile, curves[k].profile) != 0 ||
			    strncmp(r->what, curves[k].what, strlen(curves[k].what)) != 0)
				continue;
			CU_ASSERT_EQUAL(option_of(r, "-t "),
					max_u64(1, curves[k].outstanding / qps));
			CU_ASSERT_EQUAL(option_of(r, "--threads "), 32);
			n++;
		}
	CU_ASSERT_EQUAL(n, 16);
}

static void judge_knows_each_band(void)
{
	static const struct {
		enum calibrate_band band;
		double simulated, error;
		bool is_met;
	} cases[] = {
		{ BAND_WITHIN, 90, -10, true },      { BAND_WITHIN, 110, 10, true },
		{ BAND_WITHIN, 89.9, -10.1, false }, { BAND_WITHIN, 110.1, 10.1, false },
		{ BAND_RANGE, 100, 0, true },        { BAND_RANGE, 150, 0, true },
		{ BAND_RANGE, 200, 0, true },        { BAND_RANGE, 220, 10, true },
		{ BAND_RANGE, 221, 10.5, false },    { BAND_RANGE, 90, -10, true },
		{ BAND_RANGE, 89.9, -10.1, false },  { BAND_UNDER, 100, 0, true },
		{ BAND_UNDER, 1, -99, true },        { BAND_UNDER, 100.1, 0.1, false },
		{ BAND_AT_LEAST, 100, 0, true },     { BAND_AT_LEAST, 99.9, -0.1, false },
		{ BAND_AT_LEAST, 500, 400, true },   { BAND_AT_MOST, 100, 0, true },
		{ BAND_AT_MOST, 100.1, 0.1, false }, { BAND_AT_MOST, 1, -99, true },
	};
	struct calibrate_row row = { .published = 100, .upto = 200, .percent = 10 };
	struct calibrate_result r;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		row.band = cases[i].band;
		calibrate_judge(&row, cases[i].simulated, &r);
		CU_ASSERT_EQUAL(r.is_met, cases[i].is_met);
		CU_ASSERT_DOUBLE_EQUAL(r.error_percent, cases[i].error, 1e-9);
	}
	row.band = BAND_WITHIN;
	calibrate_judge(&row, NAN, &r); /* a benchmark that did not end */
	CU_ASSERT_FALSE(r.is_met);
}

/* The seeded fault: a line of 90 Gb/s. */
static void row_is_met_by_its_profile_and_missed_with_a_fault(void)
{
	struct calibrate_row row = {
		.profile = "generic-100g",
		.published = 100.0 * 4096 / 4178,
		.band = BAND_WITHIN,
		.percent = 2,
		.value = VALUE_GBPS,
		.perf = "write_bw -s 262144 -n 200",
	};
	struct calibrate_result r;
	struct err e = { 0 };

	CU_ASSERT_EQUAL(calibrate_run(&row, &r, &e), EXIT_OK);
	CU_ASSERT(r.is_met);
	row.perf = "write_bw -s 262144 -n 200 --set mac.rate=90Gbps";
	CU_ASSERT_EQUAL(calibrate_run(&row, &r, &e), EXIT_OK);
	CU_ASSERT_FALSE(r.is_met);
	row.value = VALUE_SHARE;
	row.versus = "write_bw -s 262144 -n 200";
	row.published = 0.9;
	CU_ASSERT_EQUAL(calibrate_run(&row, &r, &e), EXIT_OK);
	CU_ASSERT(r.is_met);
	row.profile = "none-such";
	CU_ASSERT_EQUAL(calibrate_run(&row, &r, &e), EXIT_BAD_INPUT);
	CU_ASSERT(e.is_set);
}

/* A row that takes some milliseconds: of few messages, or a point of a curve where a rate is low. */
static bool is_quick(const struct calibrate_row *r)
{
	unsigned long n = option_of(r, "-n "), qps = max_u64(1, option_of(r, "-q "));

	return !r->versus && n * qps <= 10000 && option_of(r, "-s ") <= 4096;
}

/* All rows are `calibrate`'s; these are the quick ones of each kind. */
static void quick_rows_are_met_by_the_profiles(void)
{
	unsigned n[CALIBRATE_VALUES] = { 0 };
	struct calibrate_result r;
	struct err e = { 0 };

	for (uint32_t i = 0; i < calibrate_n_rows; i++) {
		const struct calibrate_row *row = &calibrate_rows[i];

		if (!is_quick(row))
			continue;
		CU_ASSERT_EQUAL(calibrate_run(row, &r, &e), EXIT_OK);
		if (!r.is_met)
			printf("%s, %s: simulated %g\n", row->profile, row->what, r.simulated);
		CU_ASSERT(r.is_met);
		n[row->value]++;
	}
	CU_ASSERT(n[VALUE_US] >= 5 && n[VALUE_MOPS] >= 6 && n[VALUE_MISS] && n[VALUE_PCIE]);
	CU_ASSERT(n[VALUE_FRAME] && n[VALUE_NAK] && n[VALUE_REACT] && n[VALUE_RESEND]);
}

/*
 * The lost frame's repair, on the line: a NAK and a reaction that take as long as they are set to, and
 * the MACs; the faults are 3 us more. Few messages are on the way, so that none goes out before the lost one.
 */
static void repair_of_a_loss_takes_what_the_nics_take(void)
{
	static const struct {
		enum calibrate_value value;
		const char *slow;
		double us;
	} cases[] = { { VALUE_NAK, " --set responder.nak_delay=4700ns", 1.7 },
		      { VALUE_REACT, " --set requester.react_delay=4us", 1 } };
	struct calibrate_row row = { .profile = "connectx5", .band = BAND_AT_LEAST };
	struct calibrate_result r, slow;
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char perf[128];

		row.value = cases[i].value;
		row.published = cases[i].us;
		row.perf = "write_bw -s 4096 -n 100 -t 6 --drop 20";
		CU_ASSERT_EQUAL(calibrate_run(&row, &r, &e), EXIT_OK);
		CU_ASSERT(r.is_met && r.simulated < cases[i].us + 1);
		snprintf(perf, sizeof(perf), "%s%s", row.perf, cases[i].slow);
		row.perf = perf;
		CU_ASSERT_EQUAL(calibrate_run(&row, &slow, &e), EXIT_OK);
		CU_ASSERT_DOUBLE_EQUAL(slow.simulated - r.simulated, 3, 0.1);
	}
	/* no frame is lost: there is nothing to see */
	row.perf = "write_bw -s 4096 -n 10 -t 10 --drop 20";
	CU_ASSERT_EQUAL(calibrate_run(&row, &r, &e), EXIT_OK);
	CU_ASSERT_FALSE(r.is_met);
}

static void wrong_arguments_are_refused(void)
{
	char calibrate[] = "calibrate", option[] = "--xml", profile[] = "connectx9", other[] = "x";
	char *one[] = { calibrate, option }, *two[] = { calibrate, profile },
	     *three[] = { calibrate, profile, other };
	struct err e = { 0 };

	CU_ASSERT_EQUAL(cmd_calibrate(2, one, &e), EXIT_BAD_INPUT);
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "--csv, --json"));
	e = (struct err){ 0 };
	CU_ASSERT_EQUAL(cmd_calibrate(2, two, &e), EXIT_BAD_INPUT);
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "connectx5"));
	e = (struct err){ 0 };
	CU_ASSERT_EQUAL(cmd_calibrate(3, three, &e), EXIT_BAD_INPUT);
}

CU_TestInfo test_calibrate_tests[] = {
	{ "rows_have_all_that_a_reader_needs", rows_have_all_that_a_reader_needs },
	{ "bands_are_no_wider_than_agreed", bands_are_no_wider_than_agreed },
	{ "quick_rows_are_met_by_the_profiles", quick_rows_are_met_by_the_profiles },
	{ "pause_is_gone_when_one_cause_alone_is", pause_is_gone_when_one_cause_alone_is },
	{ "judge_knows_each_band", judge_knows_each_band },
	{ "row_is_met_by_its_profile_and_missed_with_a_fault",
	  row_is_met_by_its_profile_and_missed_with_a_fault },
	{ "wrong_arguments_are_refused", wrong_arguments_are_refused },
	{ "repair_of_a_loss_takes_what_the_nics_take", repair_of_a_loss_takes_what_the_nics_take },
	{ "curve_has_one_number_of_outstanding_requests",
	  curve_has_one_number_of_outstanding_requests },
	CU_TEST_INFO_NULL
};
