/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario.c - the command line of `rnicsim run` and the [scenario] section
 */
#include "tools/run/scenario.h"
#include "sim/outfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SEED 1u

static const char *const payload_names[] = { "full", NULL };
static const char *const detail_names[] = { "full", NULL };
static const char *const order_names[] = { "forward", "reversed", "shuffled", NULL };

#define T struct scenario
const struct field scenario_fields[] = {
	PARAM_STR(T, trace, "trace to replay, relative to the scenario file"),
	PARAM(T, seed, DEFAULT_SEED, 0, UINT64_MAX, "", "of every random stream", "declared"),
	PARAM_TIME(T, until, TIME_NEVER, 0, TIME_NEVER, "end of the simulated time", "declared"),
	PARAM_TIME(
		T, stall, 100 * PS_PER_S, PS_PER_US, TIME_NEVER,
		"a run in which nothing gets done for so long is stuck (exit status 3); time without any activity does not count",
		"declared: longer than seven retries at a timeout of 20"),
	PARAM_ENUM(T, payload, 0, payload_names, "whether packets carry real bytes", "declared"),
	PARAM_ENUM(T, detail, 0, detail_names, "how much of the hosts is simulated", "declared"),
	FIELDS_END
};
#undef T

const struct block_class scenario_section = {
	.name = "scenario",
	.impl = "section",
	.fields = scenario_fields,
	.doc = "section [scenario] of a scenario: what is run",
};

/* The options that take a value, and the member or setting that takes it. */
static const struct option {
	const char *name;
	size_t member;       /* const char * of struct run_options, or ... */
	const char *setting; /* ... "scenario.x", or "" for --set */
} options[] = {
	{ "-o", offsetof(struct run_options, dir), NULL },
	{ "--trace", offsetof(struct run_options, trace), NULL },
	{ "--wave", offsetof(struct run_options, wave), NULL },
	{ "--pcap", offsetof(struct run_options, pcap), NULL },
	{ "--timeline", offsetof(struct run_options, timeline), NULL },
	{ "--seed", 0, "scenario.seed" },
	{ "--until", 0, "scenario.until" },
	{ "--set", 0, "" },
	{ "--what-if", offsetof(struct run_options, what_if), NULL },
};

static const char *const all_names[] = { "-o",
					 "--trace",
					 "--wave",
					 "--pcap",
					 "--timeline",
					 "--seed",
					 "--until",
					 "--set",
					 "--quiet",
					 "--every-cycle",
					 "--order",
					 "--explain",
					 "--explain=counts",
					 "--what-if",
					 "--mrc" };

static bool take_value(const struct option *opt, const char *value, struct run_options *o,
		       struct config *cfg, struct err *e)
{
	char set[512];

	if (opt->member == offsetof(struct run_options, what_if)) {
		o->what_if = x_realloc(o->what_if, (o->n_what_if + 1) * sizeof(*o->what_if));
		o->what_if[o->n_what_if++] = value;
		return true;
	}
	if (!opt->setting) {
		*(const char **)(void *)((char *)o + opt->member) = value;
		return true;
	}
	if (!opt->setting[0])
		return config_set(cfg, value, e);
	if (strlen(value) > sizeof(set) / 2)
		return err_set(e, NULL, 0, "%s: the value is too long", opt->name);
	snprintf(set, sizeof(set), "%s=%s", opt->setting, value);
	return config_set_as(cfg, opt->name, set, e);
}

static bool take_order(const char *value, struct run_options *o, struct err *e)
{
	for (unsigned i = 0; order_names[i]; i++) {
		if (strcmp(value, order_names[i]) == 0) {
			o->order = (enum step_order)i;
			return true;
		}
	}
	return err_set(e, NULL, 0, "--order %s: allowed: forward, reversed, shuffled", value);
}

static bool unknown_option(const char *name, struct err *e)
{
	const char *near = err_nearest(name, all_names, ARRAY_LEN(all_names));

	return err_set(
		e, NULL, 0,
		"run: unknown option '%s'%s%s%s; allowed: -o DIR, --trace FILE, --set block.key=value, "
		"--wave FILE.fst|FILE.vcd, --pcap FILE.pcapng, --timeline FILE.json, --until TIME, --seed N, "
		"--quiet, --every-cycle, --order forward|reversed|shuffled, --explain[=counts], --mrc, --what-if key=value,...",
		name, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Option argv[*i], whose value (if it has one) is argv[*i + 1]. */
static bool take_option(int argc, char **argv, int *i, struct run_options *o, struct config *cfg,
			struct err *e)
{
	const char *name = argv[*i];

	if (strcmp(name, "--quiet") == 0) {
		o->is_quiet = true;
		return true;
	}
	if (strcmp(name, "--explain") == 0 || strcmp(name, "--explain=counts") == 0) {
		o->is_explained = true;
		o->has_no_trials = strchr(name, '=') != NULL;
		return true;
	}
	if (strcmp(name, "--mrc") == 0) {
		o->has_mrc = true;
		return true;
	}
	if (strcmp(name, "--every-cycle") == 0) {
		o->every_cycle = true;
		return true;
	}
	for (size_t k = 0; k <= ARRAY_LEN(options); k++) {
		bool is_order = k == ARRAY_LEN(options);

		if (strcmp(name, is_order ? "--order" : options[k].name) != 0)
			continue;
		if (*i + 1 >= argc || argv[*i + 1][0] == '\0')
			return err_set(e, NULL, 0, "%s wants a value", name);
		++*i;
		return is_order ? take_order(argv[*i], o, e)
				: take_value(&options[k], argv[*i], o, cfg, e);
	}
	return unknown_option(name, e);
}

/* Output 'path' is not one of the files that -o writes into its folder. */
static bool is_beside_results(const struct run_options *o, const char *path, struct err *e)
{
	static const char *const names[] = { "ops.csv", "recvs.csv", "summary.json", "run.json",
					     "mrc.csv" };
	bool is_one = false;

	for (size_t i = 0; o->dir && path && i < ARRAY_LEN(names); i++) {
		size_t len = strlen(o->dir) + strlen(names[i]) + 2;
		char *result = x_calloc(1, len);

		snprintf(result, len, "%s/%s", o->dir, names[i]);
		is_one |= outfile_is_same(path, result);
		free(result);
	}
	return !is_one ||
	       err_set(e, NULL, 0, "run: '%s' is a file that -o %s writes; allowed: another file",
		       path, o->dir);
}

bool run_outputs_differ(const struct run_options *o, const char *trace, struct err *e)
{
	const char *const name[] = { o->scenario, trace, o->wave, o->pcap, o->timeline };

	for (size_t i = 0; i < ARRAY_LEN(name); i++) {
		for (size_t k = i > 2 ? i + 1 : 2; k < ARRAY_LEN(name); k++) {
			if (i == k || !name[i] || !name[k] || !outfile_is_same(name[i], name[k]))
				continue;
			return err_set(
				e, NULL, 0,
				i < 2 ? "run: the output '%s' is an input as well; allowed: another file"
				      : "run: two outputs are named '%s'; allowed: a file for each",
				name[k]);
		}
		if (!is_beside_results(o, name[i], e))
			return false;
	}
	return true;
}

bool run_options_parse(int argc, char **argv, struct run_options *o, struct config *cfg,
		       struct err *e)
{
	*o = (struct run_options){ 0 };
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-') {
			if (!take_option(argc, argv, &i, o, cfg, e))
				return false;
		} else if (o->scenario) {
			return err_set(e, NULL, 0,
				       "run: one scenario at a time; '%s' is one too many",
				       argv[i]);
		} else {
			o->scenario = argv[i];
		}
	}
	if (!o->scenario)
		return err_set(e, NULL, 0,
			       "run: which scenario? allowed: rnicsim run SCENARIO.ini [options]");
	return config_read_file(cfg, o->scenario, e);
}

void run_options_free(struct run_options *o)
{
	free(o->what_if);
}

bool scenario_apply(struct config *cfg, const struct run_options *o, struct scenario *s,
		    char **trace_path, struct err *e)
{
	const char *slash = strrchr(o->scenario, '/');
	size_t dir = slash ? (size_t)(slash + 1 - o->scenario) : 0;
	size_t len;

	*s = (struct scenario){ 0 };
	if (!config_apply(cfg, "scenario", NULL, scenario_fields, s, e))
		return false;
	if (!o->trace && !s->trace)
		return err_set(e, o->scenario, 0,
			       "[scenario] names no trace; allowed: trace = FILE, or --trace FILE");
	if (o->trace || s->trace[0] == '/') {
		*trace_path = x_strdup(o->trace ? o->trace : s->trace);
		return true;
	}
	len = dir + strlen(s->trace) + 1;
	*trace_path = x_calloc(1, len);
	snprintf(*trace_path, len, "%.*s%s", (int)dir, o->scenario, s->trace);
	return true;
}
