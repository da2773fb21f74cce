/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_trials.c - what limits a run, by experiment: the run again with four times of one thing
 */
#include "tools/run/explain_trials.h"

#include <stdlib.h>
#include <string.h>

#include "tools/run/explain_parts.h"
#include "tools/run/trial.h"

__extension__ typedef unsigned __int128 u128;

/* A trial is cut off where the run had made so many steps of blocks, if it made more. */
#define TRIAL_STEPS 400000u
#define TRIAL_PACKETS 2000u   /* or so many were taken, if that was later */
#define LEAST_GAIN_PPM 30000u /* less is chance */
#define MAX_PARTS 32u
#define TRIED_PARTS 3u /* of which each parameter is tried */
#define TRIED_NICS 4u  /* parameters that are tried in each NIC */
/* A clock is in all that a block does, a link's rate is that of its MACs: named when no other comes near. */
#define SHARED_PPM 700000u

/* One search. */
struct search {
	struct trials *t;
	int argc;
	char **argv;
	struct trial_result base;
};

static bool is_of(const struct lever *l, const struct trial *x)
{
	return strcmp(lever_part(l->b), x->part) == 0 && (x->f ? l->f == x->f : !l->is_alone) &&
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
		k->is_alone |= strcmp(lever_part(k->b), x->part) == 0;
	for (; l < end; l++) {
		struct err e = { 0 };

		if (strcmp(lever_part(l->b), x->part) != 0)
			continue;
		l->is_alone = false;
		l->is_alone = !trial_run(s->argc, s->argv, set_levers, &a, TIME_NEVER, NULL, &e);
	}
}

/* False: the settings do not go together. */
static bool make_trial(struct search *s, struct trial *x)
{
	struct setting_of a = { s->t, x };
	struct trial_result o;
	struct err e = { 0 };
	const struct trial_result *b = &s->base;

	s->t->runs++;
	if (!trial_run(s->argc, s->argv, set_levers, &a, s->t->until_ps, &o, &e))
		return false;
	if (o.errors > b->errors || (b->is_done && !o.is_done))
		return true;
	if (b->is_done)
		x->rate_ppm = more_ppm((u128)o.n * b->span_ps, (u128)b->n * o.span_ps);
	else /* not by completions, which come in batches */
		x->rate_ppm = more_ppm(o.packets, b->packets);
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

uint64_t trial_weight(const struct trials *t, const struct trial *x)
{
	uint64_t ppm = trial_gain(t, x);

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

/* Each part as a whole, in 'parts', which gain most first; returns how many. */
static unsigned try_parts(struct search *s, struct trial *parts)
{
	struct trial all[MAX_PARTS];
	unsigned n = 0, ranked = 0;
	uint64_t best = 0;

	for (unsigned i = 0; i < s->t->n_levers && n < MAX_PARTS; i++) {
		struct trial x = { .part = lever_part(s->t->levers[i].b) };

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
		rank(s->t, parts, &ranked, MAX_PARTS, all[i]);
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
	if (best.only && trial_gain(s->t, &best) >= trial_gain(s->t, x) / 2)
		*x = best;
}

/* Lever 'i' is the first of its parameter in its part. */
static bool is_first(const struct trials *t, unsigned i)
{
	const struct trial x = { .part = lever_part(t->levers[i].b), .f = t->levers[i].f };
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
	unsigned n = try_parts(s, parts), k = 0;

	for (unsigned i = 0; i < n && i < TRIED_PARTS; i++)
		if (trial_gain(s->t, &parts[i]) >= LEAST_GAIN_PPM)
			try_params(s, &parts[i]);
	for (unsigned i = 0; i < s->t->n && i < TRIED_NICS; i++)
		try_nics(s, &s->t->found[i]);
	for (unsigned i = 0; i < s->t->n; i++)
		rank(s->t, found, &k, TRIALS_SHOWN, s->t->found[i]);
	/* several parameters of a part may be short at once */
	for (unsigned i = 0; k == 0 && i < n; i++)
		if (trial_gain(s->t, &parts[i]) >= LEAST_GAIN_PPM)
			rank(s->t, found, &k, TRIALS_SHOWN, parts[i]);
	memcpy(s->t->found, found, sizeof(found));
	s->t->n = k;
}

/* The run as it was, as far as trials go. */
static bool make_base(struct search *s)
{
	uint64_t *until_ps = &s->t->until_ps;
	struct err e = { 0 };

	for (;; *until_ps *= 2) {
		if (!trial_run(s->argc, s->argv, NULL, NULL, *until_ps, &s->base, &e))
			return false;
		if (s->base.is_done)
			*until_ps = TIME_NEVER;
		if (s->base.packets >= TRIAL_PACKETS || *until_ps > TIME_NEVER / 2)
			return s->base.packets > 0;
	}
}

void trials_make(struct trials *t, const struct sim *s, int argc, char **argv,
		 const struct totals *sum)
{
	struct search x = { .t = t, .argc = argc, .argv = argv };
	uint64_t span_ps = sum->last_ps - sum->first_ps;

	*t = (struct trials){ .until_ps = TIME_NEVER };
	t->levers = levers_of(s, &t->n_levers);
	if (s->steps > TRIAL_STEPS)
		t->until_ps = sum->first_ps + (uint64_t)((u128)span_ps * TRIAL_STEPS / s->steps);
	if (make_base(&x))
		search(&x);
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
	snprintf(buf, len, "%s%s%s", x->only ? x->only->b->name : x->part, x->f ? "." : "",
		 x->f ? x->f->name : "");
	return buf;
}
