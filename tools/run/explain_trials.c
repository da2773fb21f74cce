/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_trials.c - what limits a run, by experiment: the run again with four times of one thing
 */
#include "tools/run/explain_trials.h"

#include <stdlib.h>
#include <string.h>

#include "tools/run/explain_parts.h"
#include "tools/run/trial.h"

/* A trial is cut off where the run had made so many steps of blocks, if it made more. */
#define TRIAL_STEPS 400000u
#define TRIAL_PACKETS 2000u /* or so many were taken, if that was later */
/* So many of the packets until then are what counts: a trial may need fewer acknowledgements. */
#define TRIAL_PART_PPM 750000u
#define LEAST_GAIN_PPM 30000u /* less is chance */
#define MAX_PARTS 48u
#define TRIED_PARTS 3u /* of which each parameter is tried */
#define TRIED_NICS 4u  /* parameters that are tried in each NIC */
/*
 * A clock is in all that a block does, or all blocks of a NIC, a link's rate is that of its MACs: named when no other
 * comes near.
 */
#define SHARED_PPM 700000u
#define GROUP_PPM 500000u

/* One search. */
struct search {
	struct trials *t;
	int argc;
	char **argv;
	struct trial_result base;
};

static bool is_of(const struct lever *l, const struct trial *x)
{
	return strcmp(l->part, x->part) == 0 && (x->f ? l->f == x->f : !l->is_alone) &&
	       (!x->only || l == x->only);
}

struct setting_of {
	const struct trials *t;
	const struct trial *x;
};

static bool set_levers(struct config *cfg, void *arg, struct err *e)
{
	const struct setting_of *a = arg;

	for (unsigned i = 0; i < a->t->n_levers; i++)
		if (is_of(&a->t->levers[i], a->x) && !lever_set(&a->t->levers[i], cfg, e))
			return false;
	return true;
}

static uint64_t more_ppm(u128 now, u128 base)
{
	return base && now > base ? (uint64_t)((now - base) * PPM / base) : 0;
}

/* What does not go together within part 'x' is tried alone. */
static void part_company(const struct search *s, const struct trial *x)
{
	struct lever *l = s->t->levers, *end = l + s->t->n_levers;
	struct setting_of a = { s->t, x };

	for (struct lever *k = l; k < end; k++)
		k->is_alone |= strcmp(k->part, x->part) == 0;
	for (; l < end; l++) {
		struct err e = { 0 };

		if (strcmp(l->part, x->part) != 0)
			continue;
		l->is_alone = false;
		l->is_alone = !trial_run(s->argc, s->argv, set_levers, &a, NULL, NULL, &e);
	}
}

static const struct trial_end *end_of(const struct trials *t)
{
	return t->is_cut ? &t->end : NULL;
}

static void show_progress(const struct trials *t)
{
	if (t->is_terminal)
		fprintf(stderr, "\rwhat limits the run: trial %u ", t->runs);
}

/* False: the settings do not go together. */
static bool make_trial(struct search *s, struct trial *x)
{
	struct setting_of a = { s->t, x };
	struct trial_result o;
	struct err e = { 0 };
	const struct trial_result *b = &s->base;

	s->t->runs++;
	show_progress(s->t);
	if (!trial_run(s->argc, s->argv, set_levers, &a, end_of(s->t), &o, &e))
		return false;
	if (o.errors > b->errors || (s->t->is_cut ? !o.took_ps : !o.is_done))
		return true;
	if (s->t->is_cut) /* not by completions, which come in batches */
		x->rate_ppm = more_ppm(b->took_ps, o.took_ps);
	else
		x->rate_ppm = more_ppm((u128)o.n * b->span_ps, (u128)b->n * o.span_ps);
	x->latency_ppm = more_ppm(b->mean_ps, o.mean_ps);
	return true;
}

uint64_t trial_gain(const struct trials *t, const struct trial *x)
{
	return t->by_latency ? x->latency_ppm : x->rate_ppm;
}

static bool is_shared(const struct trial *x)
{
	return x->f && (strcmp(x->f->name, "clock") == 0 ||
			(strcmp(x->part, "wire") == 0 && strcmp(x->f->name, "rate") == 0));
}

static bool is_of_group(const struct trials *t, const struct trial *x)
{
	const struct lever *l = trial_lever(t, x);

	return l && l->is_group;
}

uint64_t trial_weight(const struct trials *t, const struct trial *x)
{
	uint64_t ppm = trial_gain(t, x);

	if (is_of_group(t, x))
		return (uint64_t)((u128)ppm * GROUP_PPM / PPM);
	return is_shared(x) ? (uint64_t)((u128)ppm * SHARED_PPM / PPM) : ppm;
}

/* Put 'x' into 'list' of 'max' at most, behind those that gain as much. */
static void rank(const struct trials *t, struct trial *list, unsigned *n, unsigned max,
		 struct trial x)
{
	unsigned i = *n;

	while (i > 0 && trial_weight(t, &list[i - 1]) < trial_weight(t, &x)) {
		if (i < max)
			list[i] = list[i - 1];
		i--;
	}
	if (i < max) {
		list[i] = x;
		*n += *n < max;
	}
}

static bool is_listed(const struct trial *list, unsigned n, const char *part)
{
	while (n && strcmp(list[n - 1].part, part) != 0)
		n--;
	return n > 0;
}

/* A group has but its clock: found, and no part of which parameters are to be tried. */
static void keep(struct trials *t, struct trial *parts, unsigned *n, struct trial x)
{
	if (!is_of_group(t, &x))
		rank(t, parts, n, MAX_PARTS, x);
	else if (trial_gain(t, &x) >= LEAST_GAIN_PPM)
		rank(t, t->found, &t->n, TRIALS_SHOWN, x);
}

/* Each part as a whole, in 'parts', which gain most first; returns how many. */
static unsigned try_parts(struct search *s, struct trial *parts)
{
	struct trial all[MAX_PARTS];
	unsigned n = 0, ranked = 0;
	uint64_t best = 0;

	for (unsigned i = 0; i < s->t->n_levers && n < MAX_PARTS; i++) {
		const struct lever *l = &s->t->levers[i];
		struct trial x = { .part = l->part, .f = l->is_group ? l->f : NULL };

		if (is_listed(all, n, x.part))
			continue;
		if (!make_trial(s, &x)) {
			part_company(s, &x);
			make_trial(s, &x);
		}
		best = max_u64(best, x.rate_ppm);
		all[n++] = x;
	}
	s->t->by_latency = best < LEAST_GAIN_PPM;
	for (unsigned i = 0; i < n; i++)
		keep(s->t, parts, &ranked, all[i]);
	return ranked;
}

/* In each NIC alone, if there are several; the best of them stands for all if it gains nearly as much. */
static void try_nics(struct search *s, struct trial *x)
{
	struct trial best = { 0 };
	unsigned n = 0;

	for (unsigned i = 0; i < s->t->n_levers; i++)
		n += is_of(&s->t->levers[i], x);
	if (n == 1)
		x->only = trial_lever(s->t, x);
	for (unsigned i = 0; n > 1 && i < s->t->n_levers; i++) {
		struct trial one = *x;

		if (!is_of(&s->t->levers[i], x))
			continue;
		one.only = &s->t->levers[i];
		one.rate_ppm = one.latency_ppm = 0;
		make_trial(s, &one);
		if (trial_gain(s->t, &one) > trial_gain(s->t, &best))
			best = one;
	}
	if (best.only && trial_gain(s->t, &best) >= trial_gain(s->t, x) / 4 * 3)
		*x = best;
}

/* Lever 'i' is the first of its parameter in its part. */
static bool is_first(const struct trials *t, unsigned i)
{
	const struct trial x = { .part = t->levers[i].part, .f = t->levers[i].f };
	unsigned k = 0;

	while (!is_of(&t->levers[k], &x))
		k++;
	return k == i;
}

static void try_params(struct search *s, const struct trial *part)
{
	struct trials *t = s->t;

	for (unsigned i = 0; i < t->n_levers; i++) {
		struct trial x = { .part = part->part, .f = t->levers[i].f };

		if (!is_of(&t->levers[i], &x) || !is_first(t, i))
			continue;
		make_trial(s, &x);
		if (trial_gain(t, &x) >= LEAST_GAIN_PPM)
			rank(t, t->found, &t->n, TRIALS_SHOWN, x);
	}
}

static void search(struct search *s)
{
	struct trial parts[MAX_PARTS], found[TRIALS_SHOWN] = { 0 };
	unsigned n = try_parts(s, parts), n_groups = s->t->n, k = 0;
	bool has_params;

	for (unsigned i = 0; i < n && i < TRIED_PARTS; i++)
		if (trial_gain(s->t, &parts[i]) >= LEAST_GAIN_PPM)
			try_params(s, &parts[i]);
	has_params = s->t->n > n_groups;
	for (unsigned i = 0; i < s->t->n && i < TRIED_NICS; i++)
		try_nics(s, &s->t->found[i]);
	for (unsigned i = 0; i < s->t->n; i++)
		rank(s->t, found, &k, TRIALS_SHOWN, s->t->found[i]);
	/* several parameters of a part may be short at once */
	for (unsigned i = 0; !has_params && i < n; i++)
		if (trial_gain(s->t, &parts[i]) >= LEAST_GAIN_PPM)
			rank(s->t, found, &k, TRIALS_SHOWN, parts[i]);
	memcpy(s->t->found, found, sizeof(found));
	s->t->n = k;
}

/*
 * The run as it was, up to where trials end, which is found: 'last_ps' is that of its last completion. A run that
 * does not come to its end is cut off there at the latest.
 */
static bool make_base(struct search *s, uint64_t last_ps)
{
	struct trials *t = s->t;
	struct err e = { 0 };

	for (;;) {
		if (!trial_run(s->argc, s->argv, NULL, NULL, end_of(t), &s->base, &e))
			return false;
		if (s->base.is_done) {
			t->is_cut = false;
			return s->base.packets > 0;
		}
		if (t->is_cut && (s->base.packets >= TRIAL_PACKETS || t->end.until_ps == last_ps))
			break;
		t->end.until_ps = t->is_cut ? min_u64(2 * t->end.until_ps - t->end.from_ps, last_ps)
					    : last_ps;
		t->is_cut = true;
	}
	t->end.packets = (uint64_t)((u128)s->base.packets * TRIAL_PART_PPM / PPM);
	return t->end.packets && trial_run(s->argc, s->argv, NULL, NULL, &t->end, &s->base, &e) &&
	       s->base.took_ps;
}

void trials_make(struct trials *t, const struct sim *s, int argc, char **argv,
		 const struct totals *sum)
{
	struct search x = { .t = t, .argc = argc, .argv = argv };
	uint64_t span_ps = sum->last_ps - sum->first_ps;

	*t = (struct trials){
		.end = { .from_ps = sum->first_ps,
			 .until_ps = sum->last_ps,
			 .packets = UINT64_MAX },
		.is_cut = s->steps > TRIAL_STEPS,
		.is_terminal = s->progress != NULL,
	};
	t->levers = levers_of(s, &t->n_levers);
	if (t->is_cut)
		t->end.until_ps =
			sum->first_ps + (uint64_t)((u128)span_ps * TRIAL_STEPS / s->steps);
	if (make_base(&x, sum->last_ps))
		search(&x);
	if (t->is_terminal)
		fprintf(stderr, "\r%40s\r", "");
}

void trials_free(struct trials *t)
{
	free(t->levers);
}

const struct lever *trial_lever(const struct trials *t, const struct trial *x)
{
	for (unsigned i = 0; x->f && i < t->n_levers; i++)
		if (is_of(&t->levers[i], x))
			return &t->levers[i];
	return NULL;
}

char *trial_name(const struct trial *x, char *buf, size_t len)
{
	snprintf(buf, len, "%s%s%s", x->only ? x->only->path : x->part, x->f ? "." : "",
		 x->f ? x->f->name : "");
	return buf;
}
