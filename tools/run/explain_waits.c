/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_waits.c - who waited for whom, and what queue pairs waited for
 */
#include <stdlib.h>
#include <string.h>

#include "tools/run/explain_parts.h"
#include "sim/chan.h"

#define WAITED_FOR "waited for " /* in the text of rows of the requester */

uint64_t share_ppm(uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((u128)part * PPM / whole) : 0;
}

bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcmp(s + n - k, end) == 0;
}

bool starts_with(const char *s, const char *start)
{
	return strncmp(s, start, strlen(start)) == 0;
}

static int by_share(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	if (x->ppm != y->ppm)
		return x->ppm > y->ppm ? -1 : 1;
	return strcmp(x->who, y->who) ? strcmp(x->who, y->who) : strcmp(x->what, y->what);
}

static void add(struct wait *w, unsigned *n, struct wait x)
{
	w[*n] = x;
	*n += x.ppm >= MIN_WAIT_PPM;
}

struct wait *find_waits(const struct sim *s, uint64_t span_ps, unsigned *n)
{
	struct wait *w;
	size_t cap = s->n_chans;

	for (uint32_t i = 0; i < s->n_blocks; i++)
		cap += field_count(s->blocks[i]->cls->fields, FIELD_STAT);
	w = x_calloc(cap + 1, sizeof(*w));
	*n = 0;
	for (uint32_t i = 0; i < s->n_chans; i++) {
		const struct chan *c = s->chans[i];

		add(w, n,
		    (struct wait){ c->producer->name, c->consumer->name, c->in->name,
				   share_ppm(c->stall_ps, span_ps) });
	}
	for (uint32_t i = 0; i < s->n_blocks; i++) {
		const struct block *b = s->blocks[i];
		const struct field *f;

		FIELDS_EACH(f, b->cls->fields) {
			bool is_wait = f->kind == FIELD_STAT && ends_with(f->name, "_ps") &&
				       (strstr(f->name, "wait") || ends_with(f->name, "miss_ps"));

			if (is_wait)
				add(w, n,
				    (struct wait){ b->name, NULL, f->name,
						   share_ppm(field_get(b, f), span_ps) });
		}
	}
	qsort(w, *n, sizeof(*w), by_share);
	return w;
}

/* A row of what QPs with WQEs wait for. */
static bool is_qp_time(const struct field *f)
{
	return f->kind == FIELD_STAT && starts_with(f->name, "qp_") && ends_with(f->name, "_ps");
}

/* What for, of the text of such a row. */
static const char *what_for(const struct field *f)
{
	const char *at = strstr(f->doc, WAITED_FOR);

	return at ? at + strlen(WAITED_FOR) : f->doc;
}

struct wait *find_qp_waits(const struct sim *s, unsigned *n)
{
	struct wait *w;
	size_t cap = 1;

	for (uint32_t i = 0; i < s->n_blocks; i++)
		cap += field_count(s->blocks[i]->cls->fields, FIELD_STAT);
	w = x_calloc(cap, sizeof(*w));
	*n = 0;
	for (uint32_t i = 0; i < s->n_blocks; i++) {
		const struct block *b = s->blocks[i];
		const struct field *f;
		uint64_t sum = 0;

		FIELDS_EACH(f, b->cls->fields)
			sum += is_qp_time(f) ? field_get(b, f) : 0;
		FIELDS_EACH(f, b->cls->fields) {
			if (is_qp_time(f))
				add(w, n,
				    (struct wait){ b->name, what_for(f), f->name,
						   share_ppm(field_get(b, f), sum) });
		}
	}
	qsort(w, *n, sizeof(*w), by_share);
	return w;
}
