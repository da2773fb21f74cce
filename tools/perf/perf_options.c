/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_options.c - the command line of `rnicsim perf`: perftest's letters, names and defaults
 */
#include <stdlib.h>
#include <string.h>

#include "models/nic.h"
#include "tools/perf/perf.h"
#include "sim/config.h"

/* In which tests an option has a meaning. */
enum {
	IN_LAT = 1,
	IN_BW = 2,
	IN_WRITE = 1 << (2 + PERF_WRITE),
	IN_READ = 1 << (2 + PERF_READ),
	IN_SEND = 1 << (2 + PERF_SEND),
	IN_ATOMIC = 1 << (2 + PERF_ATOMIC),
	IN_TESTS = IN_LAT | IN_BW,
	IN_VERBS = IN_WRITE | IN_READ | IN_SEND | IN_ATOMIC
};

enum form {
	FORM_NUMBER_OF,
	FORM_FLAG,
	FORM_WORD,
	FORM_TYPE,
	FORM_ATOMIC,
	FORM_SET,
	FORM_IGNORED,
	FORM_IGNORED_WORD
};

struct option {
	const char *letter, *name;
	enum form form;
	size_t member; /* uint64_t, bool or const char * of struct perf_spec */
	uint64_t min, max;
	unsigned where;
	const char *why; /* why not elsewhere; NULL: "has no meaning" */
};

#define AT(m) offsetof(struct perf_spec, m)
static const struct option options[] = {
	{ "-s", "--size", FORM_NUMBER_OF, AT(size), 1, 1u << 31, IN_TESTS | (IN_VERBS & ~IN_ATOMIC),
	  "an atomic is of 8 bytes" },
	{ "-a", "--all", FORM_FLAG, AT(is_all), 0, 1, IN_TESTS | (IN_VERBS & ~IN_ATOMIC),
	  "an atomic is of 8 bytes" },
	{ "-n", "--iters", FORM_NUMBER_OF, AT(iters), 5, 100000000, IN_TESTS | IN_VERBS, NULL },
	{ "-q", "--qp", FORM_NUMBER_OF, AT(qps), 1, 16384, IN_BW | IN_VERBS, NULL },
	{ "-t", "--tx-depth", FORM_NUMBER_OF, AT(tx_depth), 1, 32768, IN_BW | IN_VERBS, NULL },
	/* with all but SEND it is taken, as perftest does, and moves nothing: no receive is posted */
	{ "-r", "--rx-depth", FORM_NUMBER_OF, AT(rx_depth), 1, 32768, IN_TESTS | IN_VERBS, NULL },
	{ "-I", "--inline_size", FORM_NUMBER_OF, AT(inline_b), 0, 912,
	  IN_TESTS | IN_WRITE | IN_SEND, "READs and atomics have no inline data" },
	{ "-m", "--mtu", FORM_NUMBER_OF, AT(mtu), 256, 4096, IN_TESTS | IN_VERBS, NULL },
	{ "-Q", "--cq-mod", FORM_NUMBER_OF, AT(cq_mod), 1, 32768, IN_BW | IN_VERBS, NULL },
	{ "-l", "--post_list", FORM_NUMBER_OF, AT(post_list), 1, 32768, IN_BW | IN_VERBS, NULL },
	{ "-o", "--outs", FORM_NUMBER_OF, AT(outs), 1, 255, IN_TESTS | IN_READ | IN_ATOMIC, NULL },
	{ "-u", "--qp-timeout", FORM_NUMBER_OF, AT(timeout), 0, 31, IN_TESTS | IN_VERBS, NULL },
	{ "-b", "--bidirectional", FORM_FLAG, AT(is_bidir), 0, 1, IN_BW | IN_VERBS, NULL },
	{ "-H", "--report-histogram", FORM_FLAG, AT(is_histogram), 0, 1, IN_LAT | IN_VERBS, NULL },
	{ "-U", "--report-unsorted", FORM_FLAG, AT(is_unsorted), 0, 1, IN_LAT | IN_VERBS, NULL },
	{ "-c", "--connection", FORM_TYPE, 0, 0, 0, IN_TESTS | IN_VERBS, NULL },
	{ "-A", "--atomic_type", FORM_ATOMIC, 0, 0, 0, IN_TESTS | IN_ATOMIC, NULL },
	{ "-D", "--duration", FORM_IGNORED, 0, 0, 0, 0, "a run has a number of iterations (-n)" },
	{ "-F", "--CPU-freq", FORM_IGNORED, 0, 0, 0, IN_TESTS | IN_VERBS, NULL },
	/* where the benchmark runs: here always on the two simulated hosts */
	{ "-d", "--ib-dev", FORM_IGNORED_WORD, 0, 0, 0, IN_TESTS | IN_VERBS, NULL },
	{ "-i", "--ib-port", FORM_IGNORED_WORD, 0, 0, 0, IN_TESTS | IN_VERBS, NULL },
	{ "-p", "--port", FORM_IGNORED_WORD, 0, 0, 0, IN_TESTS | IN_VERBS, NULL },
	{ "-x", "--gid-index", FORM_IGNORED_WORD, 0, 0, 0, IN_TESTS | IN_VERBS, NULL },
	{ "", "--report_gbits", FORM_FLAG, AT(is_gbits), 0, 1, IN_BW | IN_VERBS, NULL },
	{ "", "--use_hugepages", FORM_FLAG, AT(has_huge), 0, 1, IN_TESTS | IN_VERBS, NULL },
	{ "", "--threads", FORM_NUMBER_OF, AT(threads), 1, 256, IN_BW | IN_VERBS, NULL },
	{ "", "--sges", FORM_NUMBER_OF, AT(sges), 1, 16, IN_TESTS | (IN_VERBS & ~IN_ATOMIC), NULL },
	{ "", "--region", FORM_NUMBER_OF, AT(region), 4096, 1ull << 36, IN_BW | IN_VERBS, NULL },
	{ "", "--stride", FORM_NUMBER_OF, AT(stride), 1, 1ull << 32, IN_BW | IN_VERBS, NULL },
	{ "", "--drop", FORM_NUMBER_OF, AT(drop), 1, 1ull << 32, IN_TESTS | IN_VERBS, NULL },
	{ "", "--nic", FORM_WORD, AT(nic), 0, 0, IN_TESTS | IN_VERBS, NULL },
	{ "", "--set", FORM_SET, 0, 0, 0, IN_TESTS | IN_VERBS, NULL },
	{ "", "--seed", FORM_NUMBER_OF, AT(seed), 0, UINT64_MAX, IN_TESTS | IN_VERBS, NULL },
	{ "", "--out", FORM_WORD, AT(dir), 0, 0, IN_TESTS | IN_VERBS, NULL },
};

static const char *const verb_names[] = { "write", "read", "send", "atomic" };
#define BENCHMARKS \
	"write_lat, write_bw, read_lat, read_bw, send_lat, send_bw, atomic_lat, atomic_bw"

/* ---- defaults ---- */

void perf_spec_init(struct perf_spec *s, enum perf_verb verb, bool is_lat)
{
	*s = (struct perf_spec){
		.verb = verb,
		.is_lat = is_lat,
		.type = QP_RC,
		.size = verb == PERF_ATOMIC ? 8
			: is_lat            ? 2
					    : 65536,
		.iters = verb == PERF_WRITE && !is_lat ? 5000 : 1000,
		.qps = 1,
		.tx_depth = is_lat ? 1 : 128,
		.rx_depth = 512,
		.mtu = 4096,
		.cq_mod = is_lat ? 1 : 100,
		.post_list = 1,
		.outs = PERF_OUTS,
		.timeout = 14,
		.threads = 1,
		.sges = 1,
		.nic = "generic-100g",
		.seed = 1,
	};
}

/* perftest's inline sizes of ConnectX-5 and later hold in the latency tests only. */
static uint64_t default_inline(const struct perf_spec *s)
{
	if (!s->is_lat || s->verb == PERF_READ || s->verb == PERF_ATOMIC)
		return 0;
	if (s->verb == PERF_WRITE)
		return 220;
	return s->type == QP_UD ? 188 : 236;
}

void perf_spec_fit(struct perf_spec *s)
{
	if (s->type == QP_UD)
		s->size = min_u64(s->size, s->mtu);
	s->tx_depth = min_u64(s->tx_depth, s->iters);
	if (s->verb == PERF_READ || s->verb == PERF_ATOMIC)
		s->inline_b = 0;
	if (s->post_list > 1)
		s->cq_mod = s->post_list;
	s->cq_mod = min_u64(s->cq_mod, s->tx_depth);
	s->rx_depth = min_u64(s->rx_depth, s->iters);
}

/* ---- words ---- */

static bool take_type(const char *text, struct perf_spec *s, struct err *e)
{
	static const char *const names[] = { "RC", "UC", "UD" };
	static const unsigned n_of[PERF_VERBS] = { 2, 1, 3, 1 };
	unsigned n = n_of[s->verb];

	for (unsigned i = 0; i < n && i < ARRAY_LEN(names); i++) {
		if (strcmp(text, names[i]) == 0) {
			s->type = (uint8_t)i;
			return true;
		}
	}
	return err_set(e, NULL, 0, "perf: -c %s: allowed with %s: RC%s%s", text,
		       verb_names[s->verb], n > 1 ? ", UC" : "", n > 2 ? ", UD" : "");
}

static bool take_atomic(const char *text, struct perf_spec *s, struct err *e)
{
	s->is_cas = strcmp(text, "CMP_AND_SWAP") == 0;
	if (s->is_cas || strcmp(text, "FETCH_AND_ADD") == 0)
		return true;
	return err_set(e, NULL, 0, "perf: -A %s: allowed: CMP_AND_SWAP, FETCH_AND_ADD", text);
}

static bool take_set(const char *text, struct perf_spec *s, struct err *e)
{
	if (s->n_sets == PERF_MAX_SETS)
		return err_set(e, NULL, 0, "perf: allowed: at most %u --set", PERF_MAX_SETS);
	s->sets[s->n_sets++] = text;
	return true;
}

static bool take_number(const struct option *o, const char *text, struct perf_spec *s,
			struct err *e)
{
	uint64_t v;

	if (!parse_bytes(text, &v) || v < o->min || v > o->max)
		return err_set(e, NULL, 0, "perf: %s %s: allowed: a number from %llu to %llu",
			       o->letter[0] ? o->letter : o->name, text, (unsigned long long)o->min,
			       (unsigned long long)o->max);
	*(uint64_t *)(void *)((char *)s + o->member) = v;
	return true;
}

static bool take_value(const struct option *o, const char *text, struct perf_spec *s, struct err *e)
{
	switch (o->form) {
	case FORM_NUMBER_OF:
		return take_number(o, text, s, e);
	case FORM_TYPE:
		return take_type(text, s, e);
	case FORM_ATOMIC:
		return take_atomic(text, s, e);
	case FORM_SET:
		return take_set(text, s, e);
	case FORM_IGNORED_WORD:
		return true;
	default:
		*(const char **)(void *)((char *)s + o->member) = text;
		return true;
	}
}

/* ---- the command line ---- */

static bool is_meant(const struct option *o, const struct perf_spec *s)
{
	return o->where & (s->is_lat ? IN_LAT : IN_BW) && o->where & 1u << (2 + s->verb);
}

/* Whether 'word' is 'name', or 'name' and its value: --size=64. */
static bool is_named(const char *word, const char *name)
{
	size_t n = strlen(name);

	return strncmp(word, name, n) == 0 && (!word[n] || word[n] == '=');
}

static bool has_value(const struct option *o)
{
	return o->form != FORM_FLAG && o->form != FORM_IGNORED;
}

static const struct option *find(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		const struct option *o = &options[i];

		if (o->letter[0] && strcmp(word, o->letter) == 0)
			return o;
		if (has_value(o) ? is_named(word, o->name) : strcmp(word, o->name) == 0)
			return o;
	}
	return NULL;
}

static bool unknown_option(const char *name, struct err *e)
{
	const char *names[ARRAY_LEN(options)], *near;

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		names[i] = options[i].name;
	near = err_nearest(name, names, ARRAY_LEN(names));
	return err_set(
		e, NULL, 0,
		"perf: unknown option '%s'%s%s%s; allowed: -s -a -n -q -t -r -I -m -Q -l -o -u "
		"-b -c -A -H -U -F -d -i -p -x, their long names, --report_gbits, --use_hugepages, --threads N, "
		"--sges N, --region SIZE, --stride SIZE, --drop N, --nic PROFILE, "
		"--set block.key=value, --seed N, --out DIR",
		name, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static bool take_option(int argc, char **argv, int *i, struct perf_spec *s, struct err *e)
{
	const struct option *o = find(argv[*i]);
	const char *value;

	if (!o)
		return unknown_option(argv[*i], e);
	if (!is_meant(o, s))
		return err_set(e, NULL, 0, "perf: %s: %s in %s_%s", argv[*i],
			       o->why ? o->why : "has no meaning", verb_names[s->verb],
			       s->is_lat ? "lat" : "bw");
	if (o->form == FORM_IGNORED)
		return true;
	if (o->form == FORM_FLAG) {
		*(bool *)((char *)s + o->member) = true;
		return true;
	}
	value = argv[*i][1] == '-' ? strchr(argv[*i], '=') : NULL;
	if (value && value[1])
		return take_value(o, value + 1, s, e);
	if (value || *i + 1 >= argc || argv[*i + 1][0] == '\0')
		return err_set(e, NULL, 0, "perf: %s wants a value", argv[*i]);
	return take_value(o, argv[++*i], s, e);
}

static bool take_benchmark(const char *name, struct perf_spec *s, struct err *e)
{
	for (unsigned v = 0; v < PERF_VERBS; v++) {
		size_t n = strlen(verb_names[v]);

		if (strncmp(name, verb_names[v], n) != 0)
			continue;
		if (strcmp(name + n, "_lat") != 0 && strcmp(name + n, "_bw") != 0)
			break;
		perf_spec_init(s, (enum perf_verb)v, name[n + 1] == 'l');
		return true;
	}
	return err_set(e, NULL, 0, "perf: unknown benchmark '%s'; allowed: " BENCHMARKS, name);
}

static bool check(const struct perf_spec *s, struct err *e)
{
	if (s->mtu & (s->mtu - 1))
		return err_set(e, NULL, 0, "perf: -m %llu: allowed: 256, 512, 1024, 2048, 4096",
			       (unsigned long long)s->mtu);
	if (s->iters % s->post_list)
		return err_set(e, NULL, 0,
			       "perf: -n %llu: allowed: a multiple of the post list, %llu",
			       (unsigned long long)s->iters, (unsigned long long)s->post_list);
	if (!s->stride != !s->region || (s->region && s->region / s->qps < s->size + s->stride))
		return err_set(e, NULL, 0,
			       "perf: --region and --stride: allowed: both, with room for a "
			       "message and a step of each QP");
	if (s->threads > s->qps)
		return err_set(e, NULL, 0, "perf: --threads %llu: allowed: a QP each at least",
			       (unsigned long long)s->threads);
	if (s->size < s->sges)
		return err_set(e, NULL, 0, "perf: --sges %llu: allowed: a byte each at least",
			       (unsigned long long)s->sges);
	if (s->post_list > s->tx_depth)
		return err_set(e, NULL, 0, "perf: -l %llu: allowed: up to the TX depth, %llu",
			       (unsigned long long)s->post_list, (unsigned long long)s->tx_depth);
	return true;
}

bool perf_options_parse(int argc, char **argv, struct perf_spec *s, struct err *e)
{
	if (argc < 2)
		return err_set(e, NULL, 0, "perf: which benchmark? allowed: " BENCHMARKS);
	if (!take_benchmark(argv[1], s, e))
		return false;
	s->inline_b = UINT64_MAX;
	for (int i = 2; i < argc; i++)
		if (!take_option(argc, argv, &i, s, e))
			return false;
	if (s->inline_b == UINT64_MAX)
		s->inline_b = default_inline(s);
	return check(s, e);
}
