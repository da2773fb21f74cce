/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_pools.c - what is used up though it is no unit that is busy: tags, credits, misses outstanding
 *
 * Such waits are sums over all that wait at once. Of what is held until a read's completions are back
 * (tags, completion buffer), the PCIe lane is the cause where these wait for it longer.
 */
#include <string.h>

#include "tools/run/explain_parts.h"

#define CRITICAL_POOL_PPM 200000u /* of the latencies of requests */

static const struct pool_kind {
	const char *ending, *name; /* of the statistics; what it is */
	const char *behind;        /* the block of the same NIC that serves it, or NULL */
	bool is_service; /* it goes on while others do; that it never ends alone says nothing */
	bool holds_completions; /* until the completions are back */
} pools[] = {
	{ "_tag_ps", "tags", NULL, false, true },
	{ "_credit_ps", "flow-control credits", NULL, false, false },
	{ "_ordering_ps", "posted requests that go first", NULL, false, false },
	{ "_cpl_buffer_ps", "completion buffer", NULL, false, true },
	{ "slot_wait_ps", "misses outstanding", NULL, false, false },
	{ "miss_ps", "cache misses", NULL, true, false },
	{ "_lock_ps", "the lock of a word", NULL, false, false },
	{ "walker_wait_ps", "page walkers", NULL, false, false },
	{ "_xlate_ps", "address translation", "mtt", true, false },
};

static const struct pool_kind *kind_of(const struct wait *w)
{
	for (unsigned k = 0; !w->whom && k < ARRAY_LEN(pools); k++)
		if (ends_with(w->what, pools[k].ending))
			return &pools[k];
	return NULL;
}

static bool is_same_nic(const char *a, const char *b)
{
	size_t n = strcspn(a, ".");

	return strncmp(a, b, n + 1) == 0;
}

/* Completions of the class that 'w' is of ("wait_CLASS_...") wait for the lane for longer than 'w'. */
static bool is_lane_behind(const struct evidence *e, const struct wait *w)
{
	const char *class = w->what + strlen("wait_");

	for (unsigned i = 0; i < e->n_waits && e->waits[i].ppm >= w->ppm; i++) {
		const struct wait *lane = &e->waits[i];
		const char *of = lane->what + strlen("down_wait_");

		if (!lane->whom && starts_with(lane->what, "down_wait_") &&
		    ends_with(lane->what, "_link_ps") && is_same_nic(w->who, lane->who) &&
		    strncmp(class, of, strlen(of) - strlen("link_ps")) == 0)
			return true;
	}
	return false;
}

/* So long did they wait, summed up. */
static uint64_t sum_ps(const struct evidence *e, const struct wait *w)
{
	return (uint64_t)((u128)w->ppm * (e->t->last_ps - e->t->first_ps) / PPM);
}

bool is_pool_short(const struct evidence *e, const struct wait *w)
{
	const struct pool_kind *k = kind_of(w);
	bool is_long = w->ppm >= CRITICAL_WAIT_PPM && k && !k->is_service;

	if (!k || (!is_long && share_ppm(sum_ps(e, w), e->t->latency_ps) < CRITICAL_POOL_PPM))
		return false;
	return !k->holds_completions || !is_lane_behind(e, w);
}

/*
 * 'w' is the cause: others crowd before the block that waits for it; or it is short, and where QPs are at a limit of their
 * own, is what requests on the way wait for most.
 */
static bool is_cause(const struct evidence *e, const struct wait *w)
{
	const char *end = end_of_chain(e);

	if (kind_of(w) && w->ppm >= CRITICAL_WAIT_PPM && end && strcmp(end, w->who) == 0)
		return true;
	return is_pool_short(e, w) &&
	       (!e->limit || share_ppm(sum_ps(e, w), e->t->served_ps) >= CRITICAL_WAIT_PPM);
}

/* The block 'behind' of the NIC of 'who' waits for misses most of the time: that wait, or NULL. */
static const struct wait *misses_behind(const struct evidence *e, const char *who,
					const char *behind)
{
	for (unsigned i = 0; behind && i < e->n_waits; i++) {
		const struct wait *w = &e->waits[i];

		if (!w->whom && w->ppm >= CRITICAL_WAIT_PPM && ends_with(w->what, "miss_ps") &&
		    is_same_nic(who, w->who) && strcmp(strchr(w->who, '.') + 1, behind) == 0)
			return w;
	}
	return NULL;
}

/* The longest of these waits that holds requests up, or NULL; *miss: the misses behind it. */
static const struct wait *pool_wait(const struct evidence *e, const struct wait **miss)
{
	for (unsigned i = 0; i < e->n_waits; i++) {
		const struct wait *w = &e->waits[i];

		if (!is_cause(e, w))
			continue;
		*miss = misses_behind(e, w->who, kind_of(w)->behind);
		/* what is served in a pipeline waits for nobody, unless it misses */
		if (!kind_of(w)->behind || *miss)
			return w;
	}
	return NULL;
}

const char *pool_name(const struct wait *w)
{
	return kind_of(w)->name;
}

bool name_pool(const struct evidence *e, FILE *f)
{
	const struct wait *miss = NULL, *w = pool_wait(e, &miss);

	if (!w)
		return false;
	fprintf(f, "%s%s of %s (%s), waited for ", e->intro, miss ? "cache misses" : pool_name(w),
		miss ? miss->who : w->who, miss ? miss->what : w->what);
	print_percent(f, 0, w->ppm);
	fprintf(f, " of the time\n");
	return true;
}
