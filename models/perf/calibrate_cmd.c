/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate_cmd.c - `rnicsim calibrate`: published numbers beside simulated ones
 */
#include <math.h>
#include <string.h>

#include "models/perf/calibrate.h"
#include "models/perf/calibrate_pcie.h"
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

static const char *band_text(const struct calibrate_row *row, char *buf, size_t len)
{
	static const char *const signs[] = { "+-", "-", "+" };

	snprintf(buf, len, "%s%g %%", signs[row->band], row->percent);
	return buf;
}

static void print_text(const struct calibrate *c, const struct calibrate_row *row,
		       const struct calibrate_result *r)
{
	char band[32];

	if (c->n == 0)
		printf("%-10s %-58s %10s %10s %9s %9s\n", "profile", "what", "published",
		       "simulated", "error", "allowed");
	printf("%-10s %-58s %10.4g %10.4g %+7.1f %% %9s  %s %s\n", row->profile, row->what,
	       row->published, r->simulated, r->error_percent, band_text(row, band, sizeof(band)),
	       r->is_met ? "ok  " : "MISS", row->unit);
	fflush(stdout);
}

static void print_csv(const struct calibrate *c, const struct calibrate_row *row,
		      const struct calibrate_result *r)
{
	char band[32];

	if (c->n == 0)
		printf("profile,what,unit,published,simulated,error_percent,allowed,is_met,source,perf\n");
	printf("%s,\"%s\",%s,%g,%g,%.2f,%s,%d,\"%s\",\"%s --nic %s\"\n", row->profile, row->what,
	       row->unit, row->published, r->simulated, r->error_percent,
	       band_text(row, band, sizeof(band)), r->is_met, row->source, row->perf, row->profile);
}

static void print_json(struct calibrate *c, const struct calibrate_row *row,
		       const struct calibrate_result *r)
{
	struct json *j = &c->j;
	char band[32];

	json_open(j, NULL);
	json_str(j, "profile", row->profile);
	json_str(j, "what", row->what);
	json_str(j, "unit", row->unit);
	json_double(j, "published", row->published);
	json_double(j, "simulated", r->simulated);
	json_double(j, "error_percent", r->error_percent);
	json_str(j, "allowed", band_text(row, band, sizeof(band)));
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
		if (strcmp(argv[i], "--csv") == 0)
			c->output = OUTPUT_CSV;
		else if (strcmp(argv[i], "--json") == 0)
			c->output = OUTPUT_JSON;
		else if (argv[i][0] == '-')
			return err_set(e, NULL, 0,
				       "calibrate: unknown option '%s'; allowed: --csv, --json",
				       argv[i]);
		else if (c->profile)
			return err_set(e, NULL, 0, "calibrate: one profile at a time, or all");
		else
			c->profile = argv[i];
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
