/* SPDX-License-Identifier: Apache-2.0 */
/*
 * what_if.c - the same run with each of some changes, side by side
 */
#include "tools/run/what_if.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/run/trial.h"

#define MAX_ENTRY 512u

/* Copy the entry at *at up to 'end' (a character, or the end of the text); moves *at behind it. */
static bool next_part(const char **at, char end, char part[MAX_ENTRY], struct err *e)
{
	size_t n = strcspn(*at, (char[]){ end, '\0' });

	if (n == 0 || n >= MAX_ENTRY || ((*at)[n] == end && (*at)[n + 1] == '\0'))
		return err_set(
			e, NULL, 0,
			"--what-if %s: allowed: key=value, several separated by commas, changes of one "
			"run joined by '+'",
			*at);
	memcpy(part, *at, n);
	part[n] = '\0';
	*at += n + ((*at)[n] == end);
	return true;
}

/* Is "key=..." of 'one' in the parts of 'entry' before 'end' too? */
static bool has_key(const char *entry, const char *end, const char *one)
{
	size_t n = strcspn(one, "=") + 1;

	for (; entry < end; entry += strcspn(entry, "+") + 1)
		if (strncmp(entry, one, n) == 0)
			return true;
	return false;
}

static bool set_all(struct config *cfg, void *changes, struct err *e)
{
	const char *entry = changes, *at;
	char one[MAX_ENTRY] = "";

	while (*(at = entry)) {
		if (!next_part(&entry, '+', one, e) || !config_set_as(cfg, "--what-if", one, e))
			return false;
		if (has_key(changes, at, one))
			return err_set(e, NULL, 0,
				       "--what-if %s: sets %.*s twice; allowed: each key once in a "
				       "change, several changes separated by commas",
				       (const char *)changes, (int)strcspn(one, "="), one);
	}
	return true;
}

/* What is done with each entry. */
typedef bool entry_fn(char *entry, void *arg, struct err *e);

static bool each_entry(const struct run_options *o, entry_fn *fn, void *arg, struct err *e)
{
	char entry[MAX_ENTRY] = "";

	for (uint32_t i = 0; i < o->n_what_if; i++) {
		const char *at = o->what_if[i];

		do
			if (!next_part(&at, ',', entry, e) || !fn(entry, arg, e))
				return false;
		while (*at);
	}
	return true;
}

struct call {
	int argc;
	char **argv;
	FILE *f;
	struct trial_result base;
};

static bool check_entry(char *entry, void *arg, struct err *e)
{
	const struct call *c = arg;

	return trial_run(c->argc, c->argv, set_all, entry, NULL, NULL, e);
}

bool what_if_check(const struct run_options *o, int argc, char **argv, struct err *e)
{
	struct call c = { argc, argv, NULL, { 0 } };

	return each_entry(o, check_entry, &c, e);
}

/* ---- the table ---- */

#define FACTOR 10.0 /* a gain from here on is no percentage */

/* Change of 'now' against 'base' in percent; more is better when 'is_rate'. */
static void print_gain(FILE *f, double now, double base)
{
	char times[32] = "-";

	if (base > 0 && now > 0 && now < base * FACTOR) {
		fprintf(f, " %+7.1f %%", (now / base - 1) * 100);
		return;
	}
	if (base > 0 && now > 0)
		snprintf(times, sizeof(times), now < base * 1e7 ? "x %.0f" : "x %.0e", now / base);
	fprintf(f, " %9s", times);
}

static double gbps(const struct trial_result *o)
{
	return o->span_ps ? (double)o->bytes * 8e3 / (double)o->span_ps : 0;
}

static double mops(const struct trial_result *o)
{
	return o->span_ps ? (double)o->n * 1e6 / (double)o->span_ps : 0;
}

static void print_outcome(FILE *f, const char *name, const struct trial_result *o,
			  const struct trial_result *base)
{
	fprintf(f, "%-40s %8" PRIu64 " %7" PRIu64 " %11.3f", name, o->n, o->errors,
		(double)o->mean_ps / 1e6);
	print_gain(f, (double)o->mean_ps, (double)base->mean_ps);
	fprintf(f, " %11.3f", (double)o->p99_ps / 1e6);
	print_gain(f, (double)o->p99_ps, (double)base->p99_ps);
	fprintf(f, " %11.3f %9.3f", gbps(o), mops(o));
	print_gain(f, mops(o), mops(base));
	fprintf(f, "%s\n", o->is_done ? "" : "  (did not come to its end)");
}

static bool run_entry(char *entry, void *arg, struct err *e)
{
	const struct call *c = arg;
	struct trial_result o;

	if (!trial_run(c->argc, c->argv, set_all, entry, NULL, &o, e))
		return false;
	print_outcome(c->f, entry, &o, &c->base);
	return true;
}

bool what_if_print(const struct run_options *o, int argc, char **argv, FILE *f, struct err *e)
{
	struct call c = { argc, argv, f, { 0 } };

	if (!trial_run(argc, argv, NULL, NULL, NULL, &c.base, e))
		return false;
	fprintf(f, "\n%-40s %8s %7s %11s %9s %11s %9s %11s %9s %9s\n", "what if", "requests",
		"errors", "mean [us]", "change", "p99 [us]", "change", "Gb/s", "M/s", "change");
	print_outcome(f, "as it is", &c.base, &c.base);
	return each_entry(o, run_entry, &c, e);
}
