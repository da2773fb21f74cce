/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate_run.c - a published number's benchmark, run and judged
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/perf/calibrate.h"
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

#define MAX_STATS 3u

/* The statistics that a value is made of; none: of posts, completions and frames alone. */
static const struct perf_stat value_stats[CALIBRATE_VALUES][MAX_STATS] = {
	[VALUE_LINE] = { { "nic0.mac", "tx_line_bytes", 0 } },
	[VALUE_FRAME] = { { "nic0.mac", "tx_line_bytes", 0 } },
	[VALUE_PAUSE] = { { "nic0.mac", "rx_pause_ps", 0 } },
	[VALUE_PCIE] = { { "nic0.pcie_link", "down_doorbell_b", 0 },
			 { "nic0.pcie_link", "down_wqe_b", 0 },
			 { "nic0.pcie_link", "down_payload_read_b", 0 } },
	[VALUE_MISS] = { { "nic0.qpc_tx", "miss_ps", 0 }, { "nic0.qpc_tx", "misses", 0 } },
};

static double us_between(uint64_t from_ps, uint64_t to_ps)
{
	return from_ps && to_ps ? ((double)to_ps - (double)from_ps) / (double)PS_PER_US : NAN;
}

/* What is told of a whole run: 'stat' of value_stats, 'n' messages in 'ps'. */
static double value_of_run(enum calibrate_value value, const struct perf_repair *x,
			   const struct perf_stat *stat, double n, double ps)
{
	double first = (double)stat[0].value;

	switch (value) {
	case VALUE_PAUSE:
		return 100 * first / ps;
	case VALUE_LINE:
		return first * 8 * 1000 / ps;
	case VALUE_FRAME:
		return first / n;
	case VALUE_PCIE:
		return (first + (double)stat[1].value + (double)stat[2].value) / n;
	case VALUE_MISS:
		return first / (double)stat[1].value / (double)PS_PER_NS;
	case VALUE_NAK:
		return us_between(x->gap_ps, x->nak_ps);
	case VALUE_REACT:
		return us_between(x->told_ps, x->resent_ps);
	default:
		return us_between(x->lost_ps, x->resent_ps);
	}
}

static double value_of(enum calibrate_value value, const struct perf_spec *s,
		       const struct perf_result *r, const struct perf_stat *stat)
{
	const struct perf_times *t = &r->times[0];
	struct perf_lat l;
	struct perf_bw b;

	if (value == VALUE_US) {
		perf_latency(s, r, &l);
		return l.typical;
	}
	if (value != VALUE_GBPS && value != VALUE_MOPS && value != VALUE_SHARE)
		return value_of_run(value, &r->repair, stat, (double)t->n,
				    (double)(t->poll_ps[t->n - 1] - t->post_ps[0]));
	perf_bandwidth(s, r, &b);
	return value == VALUE_GBPS ? b.average * 8 / 1e9 : b.rate / 1e6;
}

static int run_one(const struct calibrate_row *row, const char *perf, double *v, struct err *e)
{
	struct perf_stat stats[MAX_STATS];
	char *args = x_strdup(perf), *argv[MAX_ARGS];
	struct perf_result r = { 0 };
	struct perf_spec s;
	int status = EXIT_BAD_INPUT;
	uint32_t n = 0;

	memcpy(stats, value_stats[row->value], sizeof(stats));
	while (n < MAX_STATS && stats[n].name)
		n++;
	if (perf_options_parse(split(args, row->profile, argv), argv, &s, e)) {
		perf_spec_fit(&s);
		status = perf_measure_stats(&s, &r, stats, n, e);
	}
	*v = status == EXIT_OK ? value_of(row->value, &s, &r, stats) : NAN;
	perf_result_release(&r);
	free(args);
	return status;
}

void calibrate_judge(const struct calibrate_row *row, double simulated, struct calibrate_result *r)
{
	double to = row->published, off;

	if (row->band == BAND_RANGE && simulated >= to) /* in it: to itself */
		to = fmin(simulated, row->upto);
	off = 100 * (simulated - to) / to;
	*r = (struct calibrate_result){ .simulated = simulated, .error_percent = off };
	if (row->band == BAND_AT_LEAST)
		r->is_met = simulated >= row->published;
	else if (row->band == BAND_AT_MOST || row->band == BAND_UNDER)
		r->is_met = simulated <= row->published;
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
