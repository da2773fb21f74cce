/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate_run.c - a published number's benchmark, run and judged
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/perf/calibrate.h"
#include "sim/units.h"

#define MAX_ARGS 96

/* Words of 'args' into argv of `perf`, with the profile. Returns how many. */
static int split(char *args, const char *profile, char *argv[MAX_ARGS])
{
	static char perf[] = "perf", nic[] = "--nic";
	char *save = NULL;
	int n = 0;

	argv[n++] = perf;
	for (char *w = strtok_r(args, " ", &save); w && n < MAX_ARGS - 2;
	     w = strtok_r(NULL, " ", &save))
		argv[n++] = w;
	argv[n++] = nic;
	argv[n++] = (char *)(uintptr_t)profile;
	return n;
}

/* The statistic that a value is made of; NULL: of posts and completions alone. */
static const char *const value_stats[CALIBRATE_VALUES] = {
	[VALUE_LINE] = "tx_line_bytes",
	[VALUE_PAUSE] = "rx_pause_ps",
};

static double value_of(enum calibrate_value value, const struct perf_spec *s,
		       const struct perf_result *r, uint64_t stat)
{
	const struct perf_times *t = &r->times[0];
	struct perf_lat l;
	struct perf_bw b;
	double ps;

	if (value == VALUE_US) {
		perf_latency(s, r, &l);
		return l.typical;
	}
	ps = (double)(t->poll_ps[t->n - 1] - t->post_ps[0]);
	if (value == VALUE_PAUSE)
		return 100 * (double)stat / ps;
	if (value == VALUE_LINE)
		return (double)stat * 8 * 1000 / ps;
	perf_bandwidth(s, r, &b);
	return value == VALUE_GBPS ? b.average * 8 / 1e9 : b.rate / 1e6;
}

static int run_one(const struct calibrate_row *row, const char *perf, double *v, struct err *e)
{
	struct perf_stat stat = { "nic0.mac", value_stats[row->value], 0 };
	char *args = x_strdup(perf), *argv[MAX_ARGS];
	struct perf_result r = { 0 };
	struct perf_spec s;
	int status = EXIT_BAD_INPUT;

	if (perf_options_parse(split(args, row->profile, argv), argv, &s, e)) {
		perf_spec_fit(&s);
		status = perf_measure_stats(&s, &r, &stat, stat.name != NULL, e);
	}
	*v = status == EXIT_OK ? value_of(row->value, &s, &r, stat.value) : NAN;
	perf_result_release(&r);
	free(args);
	return status;
}

void calibrate_judge(const struct calibrate_row *row, double simulated, struct calibrate_result *r)
{
	double off = 100 * (simulated - row->published) / row->published;

	*r = (struct calibrate_result){ .simulated = simulated, .error_percent = off };
	if (row->band == BAND_AT_LEAST)
		r->is_met = off >= -row->percent;
	else if (row->band == BAND_AT_MOST)
		r->is_met = off <= row->percent;
	else
		r->is_met = fabs(off) <= row->percent;
}

int calibrate_run(const struct calibrate_row *row, struct calibrate_result *r, struct err *e)
{
	double v, versus = 1;
	int status = run_one(row, row->perf, &v, e);

	if (status == EXIT_OK && row->value == VALUE_SHARE)
		status = run_one(row, row->versus, &versus, e);
	if (status == EXIT_BAD_INPUT)
		return status;
	calibrate_judge(row, v / versus, r);
	return EXIT_OK;
}
