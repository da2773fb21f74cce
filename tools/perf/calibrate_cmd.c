/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate_cmd.c - `rnicsim calibrate`: published numbers beside simulated ones
 */
#include <math.h>
#include <string.h>

#include "tools/perf/calibrate.h"
#include "tools/perf/calibrate_pcie.h"
#include "sim/json.h"
#include "sim/units.h"

#define PCIE_PROFILE "pcie-bench"

enum output { OUTPUT_TEXT, OUTPUT_CSV, OUTPUT_JSON };

struct calibrate {
	enum output output;
	const char *profile; /* NULL = all */
	struct json j;
	uint32_t n, n_missed;
};

/* ---- rows, in each form ---- */

/* What the source says: a value, a range, a bound; or only that something happens, not how much. */
static const char *published_text(const struct calibrate_row *row, char *buf, size_t len)
{
	switch (row->band) {
	case BAND_RANGE:
		snprintf(buf, len, "%.4g to %.4g", row->published, row->upto);
		return buf;
	case BAND_UNDER:
		snprintf(buf, len, "under %.4g", row->published);
		return buf;
	case BAND_AT_LEAST:
	case BAND_AT_MOST:
		return "no number";
	default:
		snprintf(buf, len, "%.4g", row->published);
		return buf;
	}
}

static const char *band_text(const struct calibrate_row *row, char *buf, size_t len)
{
	switch (row->band) {
	case BAND_UNDER:
		return "published";
	case BAND_AT_LEAST:
		snprintf(buf, len, "%g or more", row->published);
		return buf;
	case BAND_AT_MOST:
		snprintf(buf, len, "%g or less", row->published);
		return buf;
	default:
		if (row->band == BAND_RANGE && row->percent == 0)
			return "published";
		snprintf(buf, len, "+-%g %%", row->percent);
		return buf;
	}
}

/* Where the band is from. */
static const char *band_source(const struct calibrate_row *row)
{
	switch (row->band) {
	case BAND_RANGE:
		return row->percent == 0 ? "the published range"
					 : "the published range, percent beyond it ours";
	case BAND_UNDER:
		return "the published bound";
	case BAND_WITHIN:
		return "around the published value, percent ours";
	default:
		return "a threshold, ours";
	}
}

/* How far off; nothing of what is compared with a threshold. */
static const char *error_text(const struct calibrate_row *row, const struct calibrate_result *r,
			      char *buf, size_t len)
{
	if (row->band == BAND_AT_LEAST || row->band == BAND_AT_MOST)
		return "-";
	snprintf(buf, len, "%+.1f %%", r->error_percent);
	return buf;
}

#define TEXT_LEN 32u

static void print_text(const struct calibrate *c, const struct calibrate_row *row,
		       const struct calibrate_result *r)
{
	char published[TEXT_LEN], band[TEXT_LEN], error[TEXT_LEN];

	if (c->n == 0)
		printf("%-10s %-58s %14s %10s %9s %12s\n", "profile", "what", "published",
		       "simulated", "error", "allowed");
	printf("%-10s %-58s %14s %10.4g %9s %12s  %s %s\n", row->profile, row->what,
	       published_text(row, published, TEXT_LEN), r->simulated,
	       error_text(row, r, error, TEXT_LEN), band_text(row, band, TEXT_LEN),
	       r->is_met ? "ok  " : "MISS", row->unit);
	fflush(stdout);
}

static void print_csv(const struct calibrate *c, const struct calibrate_row *row,
		      const struct calibrate_result *r)
{
	char published[TEXT_LEN], band[TEXT_LEN];

	if (c->n == 0)
		printf("profile,what,unit,published,simulated,error_percent,allowed,band,is_met,source,perf\n");
	printf("%s,\"%s\",%s,%s,%g,%.2f,%s,\"%s\",%d,\"%s\",\"%s --nic %s\"\n", row->profile,
	       row->what, row->unit, published_text(row, published, TEXT_LEN), r->simulated,
	       r->error_percent, band_text(row, band, TEXT_LEN), band_source(row), r->is_met,
	       row->source, row->perf, row->profile);
}

static void print_json(struct calibrate *c, const struct calibrate_row *row,
		       const struct calibrate_result *r)
{
	struct json *j = &c->j;
	char published[TEXT_LEN], band[TEXT_LEN];

	json_open(j, NULL);
	json_str(j, "profile", row->profile);
	json_str(j, "what", row->what);
	json_str(j, "unit", row->unit);
	json_str(j, "published", published_text(row, published, TEXT_LEN));
	json_double(j, "simulated", r->simulated);
	json_double(j, "error_percent", r->error_percent);
	json_str(j, "allowed", band_text(row, band, TEXT_LEN));
	json_str(j, "band", band_source(row));
	json_bool(j, "is_met", r->is_met);
	json_str(j, "source", row->source);
	json_str(j, "perf", row->perf);
	if (row->versus)
		json_str(j, "versus", row->versus);
	json_close(j);
}

static void print_row(struct calibrate *c, const struct calibrate_row *row,
		      const struct calibrate_result *r)
{
	if (c->output == OUTPUT_CSV)
		print_csv(c, row, r);
	else if (c->output == OUTPUT_JSON)
		print_json(c, row, r);
	else
		print_text(c, row, r);
	c->n++;
	c->n_missed += !r->is_met;
}

static bool is_wanted(const struct calibrate *c, const char *profile)
{
	return !c->profile || strcmp(profile, c->profile) == 0;
}

/* The rows of `rnicsim perf`. */
static bool run_nics(struct calibrate *c, struct err *e)
{
	struct calibrate_result r;

	for (uint32_t i = 0; i < calibrate_n_rows; i++) {
		const struct calibrate_row *row = &calibrate_rows[i];

		if (!is_wanted(c, row->profile))
			continue;
		if (calibrate_run(row, &r, e) == EXIT_BAD_INPUT)
			return false;
		print_row(c, row, &r);
	}
	return true;
}

/* Those of `rnicsim pcie-bench`. */
static bool run_hosts(struct calibrate *c, struct err *e)
{
	struct calibrate_result r;
	double v;

	for (uint32_t i = 0; i < pcie_n_rows && is_wanted(c, PCIE_PROFILE); i++) {
		const struct pcie_row *p = &pcie_rows[i];
		const struct calibrate_row row = {
			.profile = PCIE_PROFILE,
			.what = p->name,
			.unit = p->unit,
			.published = p->published,
			.percent = p->band_percent,
			.source = "pcie-bench, SIGCOMM 2018",
			.perf = "pcie-bench",
		};

		if (!pcie_row_run(p, &v, e))
			return false;
		calibrate_judge(&row, v, &r);
		print_row(c, &row, &r);
	}
	return true;
}

/* ---- the command ---- */

static bool has_rows(const char *profile)
{
	for (uint32_t i = 0; i < calibrate_n_rows; i++)
		if (strcmp(calibrate_rows[i].profile, profile) == 0)
			return true;
	return strcmp(profile, PCIE_PROFILE) == 0;
}

/* The first row of its profile. */
static bool is_first_of_profile(uint32_t row)
{
	for (uint32_t i = 0; i < row; i++)
		if (strcmp(calibrate_rows[i].profile, calibrate_rows[row].profile) == 0)
			return false;
	return true;
}

/* Profiles that have rows, each once. */
static const char *profile_names(char *buf, size_t len)
{
	size_t n = (size_t)snprintf(buf, len, PCIE_PROFILE);

	for (uint32_t i = 0; i < calibrate_n_rows; i++)
		if (is_first_of_profile(i))
			n += (size_t)snprintf(buf + n, n < len ? len - n : 0, ", %s",
					      calibrate_rows[i].profile);
	return buf;
}

static bool parse(int argc, char **argv, struct calibrate *c, struct err *e)
{
	char names[256];

	for (int i = 1; i < argc; i++) {
		bool is_csv = strcmp(argv[i], "--csv") == 0;

		if (is_csv || strcmp(argv[i], "--json") == 0) {
			if (c->output != OUTPUT_TEXT)
				return err_set(
					e, NULL, 0,
					"calibrate: --csv and --json; allowed: one of them, once");
			c->output = is_csv ? OUTPUT_CSV : OUTPUT_JSON;
		} else if (argv[i][0] == '-') {
			return err_set(e, NULL, 0,
				       "calibrate: unknown option '%s'; allowed: --csv, --json",
				       argv[i]);
		} else if (c->profile) {
			return err_set(e, NULL, 0, "calibrate: one profile at a time, or all");
		} else {
			c->profile = argv[i];
		}
	}
	if (c->profile && !has_rows(c->profile))
		return err_set(e, NULL, 0,
			       "calibrate: nothing was published of profile '%s'; allowed: %s",
			       c->profile, profile_names(names, sizeof(names)));
	return true;
}

int cmd_calibrate(int argc, char **argv, struct err *e)
{
	struct calibrate c = { 0 };

	if (!parse(argc, argv, &c, e))
		return EXIT_BAD_INPUT;
	if (c.output == OUTPUT_JSON) {
		json_begin(&c.j, stdout);
		json_open_array(&c.j, NULL);
	}
	if (!run_hosts(&c, e) || !run_nics(&c, e))
		return EXIT_BAD_INPUT;
	if (c.output == OUTPUT_JSON) {
		json_close(&c.j);
		printf("\n");
	} else if (c.output == OUTPUT_TEXT) {
		printf("%u rows, %u outside of what is allowed\n", c.n, c.n_missed);
	}
	return c.n_missed ? EXIT_EXPECT : EXIT_OK;
}
