/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - what a run did, by operation
 */
#include "tools/run/report.h"

#include <inttypes.h>
#include <string.h>

#include "tools/run/oplog_csv.h"

#define P50_PPM 500000u
#define P99_PPM 990000u
#define TEXT 24u
#define MAX_COLUMNS 6u /* operations beside each other in the table of stages */

static void take(struct oplog_sink *s, const struct op_row *row)
{
	struct report *r = (struct report *)s;
	struct report_op *o;

	if (row->is_recv) {
		r->recvs++;
		r->recv_errors += row->status != WC_SUCCESS;
		r->recv_b += row->bytes;
		return;
	}
	o = &r->ops[row->opcode];
	if (row->status != WC_SUCCESS) {
		o->errors++;
		return;
	}
	if (o->n++ == 0 || row->t_ps[OP_POST] < o->first_ps)
		o->first_ps = row->t_ps[OP_POST];
	o->last_ps = max_u64(o->last_ps, row->t_ps[OP_POLL]);
	o->bytes += row->bytes;
	for (unsigned m = 0; m < REPORT_STAGES; m++)
		o->stage_ps[m] += row->t_ps[m + 1] - row->t_ps[m];
	hist_add(&o->latency, row->t_ps[OP_POLL] - row->t_ps[OP_POST]);
}

void report_init(struct report *r)
{
	memset(r, 0, sizeof(*r));
	r->sink.take = take;
}

void report_refused(struct report *r, const struct refusals *f, const char *trace)
{
	r->refused = f->posts + f->recvs + f->modifies ? f : NULL;
	r->trace = trace;
}

void report_stage_means(const struct report_op *o, uint64_t mean_ps[REPORT_STAGES])
{
	uint64_t sum = 0, before = 0;

	for (unsigned m = 0; m < REPORT_STAGES; m++) {
		uint64_t upto;

		sum += o->stage_ps[m];
		upto = o->n ? sum / o->n : 0;
		mean_ps[m] = upto - before;
		before = upto;
	}
}

static uint64_t per_second(uint64_t v, uint64_t ps)
{
	return ps ? (uint64_t)((u128)v * PS_PER_S / ps) : 0;
}

uint64_t report_goodput_bps(const struct report_op *o)
{
	return per_second(o->bytes * 8, o->last_ps - o->first_ps);
}

uint64_t report_rate_hz(const struct report_op *o)
{
	return per_second(o->n, o->last_ps - o->first_ps);
}

/* ---- the tables ---- */

/* Four digits and the unit that suits: "1.234 us". */
static const char *human(uint64_t v, const char *const *units, uint64_t step, char *buf)
{
	uint64_t scale = 1;
	unsigned u = 0;

	while (units[u + 1] && v / scale >= step) {
		scale *= step;
		u++;
	}
	if (scale == 1)
		snprintf(buf, TEXT, "%" PRIu64 " %s", v, units[0]);
	else
		snprintf(buf, TEXT, "%.*f %s", 3 - (v / scale >= 10) - (v / scale >= 100),
			 (double)v / (double)scale, units[u]);
	return buf;
}

static const char *human_time(uint64_t ps, char *buf)
{
	static const char *const units[] = { "ps", "ns", "us", "ms", "s", NULL };

	return human(ps, units, 1000, buf);
}

static const char *human_bytes(uint64_t b, char *buf)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", NULL };

	return human(b, units, 1024, buf);
}

static const char *human_bps(uint64_t v, char *buf)
{
	static const char *const units[] = { "b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", NULL };

	return human(v, units, 1000, buf);
}

static const char *human_rate(uint64_t v, char *buf)
{
	static const char *const units[] = { "/s", "k/s", "M/s", "G/s", NULL };

	return human(v, units, 1000, buf);
}

static void print_op(const struct report_op *o, const char *name, FILE *f)
{
	char b[7][TEXT];

	fprintf(f, "%-24s %9" PRIu64 " %7" PRIu64, name, o->n, o->errors);
	if (o->n == 0) {
		fprintf(f, " %11s %10s %10s %10s %10s %11s %11s\n", "-", "-", "-", "-", "-", "-",
			"-");
		return;
	}
	fprintf(f, " %11s %10s %10s %10s %10s %11s %11s\n", human_bytes(o->bytes, b[0]),
		human_time(hist_mean(&o->latency), b[1]),
		human_time(hist_quantile(&o->latency, P50_PPM), b[2]),
		human_time(hist_quantile(&o->latency, P99_PPM), b[3]),
		human_time(o->latency.max, b[4]), human_bps(report_goodput_bps(o), b[5]),
		human_rate(report_rate_hz(o), b[6]));
}

/* The stages of up to MAX_COLUMNS operations beside each other. */
static void print_stages(const struct report *r, const unsigned *ops, unsigned n, FILE *f)
{
	uint64_t mean[MAX_COLUMNS][REPORT_STAGES];
	char b[TEXT];

	fprintf(f, "\n%-14s", "mean of stage");
	for (unsigned i = 0; i < n; i++) {
		fprintf(f, " %*s", (int)max_u64(12, strlen(wr_opcode_names[ops[i]])),
			wr_opcode_names[ops[i]]);
		report_stage_means(&r->ops[ops[i]], mean[i]);
	}
	for (unsigned m = 0; m <= REPORT_STAGES; m++) {
		fprintf(f, "\n%-14s", m < REPORT_STAGES ? milestone_names[m + 1] : "latency");
		for (unsigned i = 0; i < n; i++) {
			uint64_t ps =
				m < REPORT_STAGES ? mean[i][m] : hist_mean(&r->ops[ops[i]].latency);

			fprintf(f, " %*s", (int)max_u64(12, strlen(wr_opcode_names[ops[i]])),
				ps ? human_time(ps, b) : "-");
		}
	}
	fprintf(f, "\n");
}

/* How many posts returned an error, by operation, and the first of them. */
static void print_refused(const struct report *r, FILE *f)
{
	const struct refusals *x = r->refused;
	const char *between = ": ";

	fprintf(f, "%-24s %9" PRIu64, "refused", x->posts + x->recvs + x->modifies);
	for (unsigned i = 0; i < WR_OPCODES; i++) {
		if (!x->ops[i])
			continue;
		fprintf(f, "%s%" PRIu64 " %s", between, x->ops[i], wr_opcode_names[i]);
		between = ", ";
	}
	if (x->recvs) {
		fprintf(f, "%s%" PRIu64 " receives", between, x->recvs);
		between = ", ";
	}
	if (x->modifies)
		fprintf(f, "%s%" PRIu64 " changes of state", between, x->modifies);
	fprintf(f, "; the first by %s:%u (%s)\n", r->trace, x->line,
		x->err == ENOMEM ? "ENOMEM" : "EINVAL");
}

void report_print(const struct report *r, FILE *f)
{
	unsigned ops[WR_OPCODES], n = 0;
	char b[TEXT];

	fprintf(f, "%-24s %9s %7s %11s %10s %10s %10s %10s %11s %11s\n", "operation", "requests",
		"errors", "bytes", "mean", "p50", "p99", "max", "goodput", "rate");
	for (unsigned i = 0; i < WR_OPCODES; i++) {
		if (r->ops[i].n + r->ops[i].errors == 0)
			continue;
		print_op(&r->ops[i], wr_opcode_names[i], f);
		if (r->ops[i].n)
			ops[n++] = i;
	}
	if (r->recvs)
		fprintf(f, "%-24s %9" PRIu64 " %7" PRIu64 " %11s\n", "receives",
			r->recvs - r->recv_errors, r->recv_errors, human_bytes(r->recv_b, b));
	if (r->refused)
		print_refused(r, f);
	for (unsigned i = 0; i < n; i += MAX_COLUMNS)
		print_stages(r, ops + i, (unsigned)min_u64(MAX_COLUMNS, n - i), f);
}

/* ---- summary.json ---- */

static void write_op(const struct report_op *o, const char *name, struct json *j)
{
	uint64_t mean[REPORT_STAGES];
	char key[32];

	report_stage_means(o, mean);
	json_open(j, name);
	json_u64(j, "count", o->n);
	json_u64(j, "errors", o->errors);
	json_u64(j, "bytes", o->bytes);
	json_u64(j, "goodput_bps", report_goodput_bps(o));
	json_u64(j, "rate_hz", report_rate_hz(o));
	json_u64(j, "latency_mean_ps", hist_mean(&o->latency));
	json_u64(j, "latency_min_ps", o->latency.min);
	json_u64(j, "latency_p50_ps", hist_quantile(&o->latency, P50_PPM));
	json_u64(j, "latency_p99_ps", hist_quantile(&o->latency, P99_PPM));
	json_u64(j, "latency_max_ps", o->latency.max);
	json_u64(j, "latency_sum_ps", o->latency.sum);
	for (unsigned m = 0; m < REPORT_STAGES; m++) {
		snprintf(key, sizeof(key), "stage_%s_mean_ps", milestone_names[m + 1]);
		json_u64(j, key, mean[m]);
	}
	for (unsigned m = 0; m < REPORT_STAGES; m++) {
		snprintf(key, sizeof(key), "stage_%s_sum_ps", milestone_names[m + 1]);
		json_u64(j, key, o->stage_ps[m]);
	}
	json_close(j);
}

void report_write(const struct report *r, struct json *j)
{
	json_open(j, "ops");
	for (unsigned i = 0; i < WR_OPCODES; i++)
		if (r->ops[i].n + r->ops[i].errors)
			write_op(&r->ops[i], wr_opcode_names[i], j);
	json_close(j);
	json_open(j, "recvs");
	json_u64(j, "count", r->recvs - r->recv_errors);
	json_u64(j, "errors", r->recv_errors);
	json_u64(j, "bytes", r->recv_b);
	json_close(j);
	json_open(j, "refused");
	for (unsigned i = 0; r->refused && i < WR_OPCODES; i++)
		if (r->refused->ops[i])
			json_u64(j, wr_opcode_names[i], r->refused->ops[i]);
	json_u64(j, "posts", r->refused ? r->refused->posts : 0);
	json_u64(j, "receives", r->refused ? r->refused->recvs : 0);
	json_u64(j, "modifies", r->refused ? r->refused->modifies : 0);
	json_close(j);
}
