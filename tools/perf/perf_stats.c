/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_stats.c - perftest's numbers from the times of posts and completions
 *
 * As perftest 4.5 computes them (print_report_lat, print_report_bw): a latency is the time between
 * two posts, halved for a ping-pong; the two longest are left out (LAT_MEASURE_TAIL), and t_max and
 * the percentiles look one place further than the share of the samples says. Bandwidth is all bytes
 * from the first post to the last completion; the peak is the best of all spans that begin with a
 * post and end with a signaled completion.
 */
#include <math.h>
#include <stdlib.h>

#include "tools/perf/perf.h"
#include "sim/units.h"

#define LAT_TAIL 2u              /* LAT_MEASURE_TAIL */
#define PEAK_MAX_REQUESTS 20000u /* perftest looks for no peak beyond */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double median(const uint64_t *v, uint64_t n)
{
	uint64_t half = n / 2;

	if (n % 2)
		return (double)v[half];
	return ((double)v[half] + (double)v[half - 1]) / 2;
}

uint64_t perf_samples(const struct perf_result *r, bool is_sorted, uint64_t **delta)
{
	const struct perf_times *t = &r->times[0];
	uint64_t n = t->n ? t->n - 1 : 0;

	*delta = x_calloc(n + 1, sizeof(**delta));
	for (uint64_t i = 0; i < n; i++)
		(*delta)[i] = t->post_ps[i + 1] - t->post_ps[i];
	if (is_sorted)
		qsort(*delta, n, sizeof(**delta), by_value);
	return n;
}

double perf_halves(const struct perf_spec *s)
{
	return s->verb == PERF_WRITE || s->verb == PERF_SEND ? 2 : 1;
}

void perf_latency(const struct perf_spec *s, const struct perf_result *r, struct perf_lat *l)
{
	const struct perf_times *t = &r->times[0];
	double us = (double)PS_PER_US * perf_halves(s), sum = 0, square = 0;
	uint64_t n, *delta;

	*l = (struct perf_lat){ 0 };
	if (t->n < LAT_TAIL + 2)
		return;
	n = perf_samples(r, true, &delta) - LAT_TAIL;
	for (uint64_t i = 0; i < n; i++)
		sum += (double)delta[i] / us;
	l->average = sum / (double)n;
	for (uint64_t i = 0; i < n; i++)
		square += pow((double)delta[i] / us - l->average, 2);
	l->stdev = sqrt(square / (double)n);
	l->typical = median(delta, n) / us;
	l->min = (double)delta[0] / us;
	l->max = (double)delta[n] / us;
	l->p99 = (double)delta[ceil_div(n * 99, 100)] / us;
	l->p999 = (double)delta[ceil_div(n * 999, 1000)] / us;
	free(delta);
}

/* The shortest time a request, over all spans of requests. */
static double best_ps(const struct perf_spec *s, const struct perf_times *t)
{
	double best = INFINITY;

	for (uint64_t i = 0; i < t->n; i += s->post_list) {
		for (uint64_t j = align_up(i + 1, s->cq_mod) - 1; j < t->n; j += s->cq_mod) {
			double ps = (double)(t->poll_ps[j] - t->post_ps[i]) / (double)(j - i + 1);

			if (t->poll_ps[j] > t->post_ps[i] && ps < best)
				best = ps;
		}
	}
	return best;
}

void perf_bandwidth(const struct perf_spec *s, const struct perf_result *r, struct perf_bw *b)
{
	*b = (struct perf_bw){ 0 };
	for (unsigned h = 0; h < (s->is_bidir ? 2u : 1u); h++) {
		const struct perf_times *t = &r->times[h];
		double ps;

		if (t->n == 0)
			continue;
		ps = (double)(t->poll_ps[t->n - 1] - t->post_ps[0]);
		b->rate += (double)t->n * (double)PS_PER_S / ps;
		if (t->n <= PEAK_MAX_REQUESTS)
			b->peak += (double)s->size * (double)PS_PER_S / best_ps(s, t);
	}
	b->average = b->rate * (double)s->size;
}
