/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err.c - user mistakes, failed checks, and allocation that cannot fail
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/block.h"
#include "sim/err.h"
#include "sim/units.h"

#define WORD_MAX 64u /* longer words are never typing mistakes of a known name */

void (*sim_check_report)(FILE *f);

bool err_set(struct err *e, const char *file, unsigned line, const char *fmt, ...)
{
	size_t n = 0;
	va_list ap;

	if (e->is_set)
		return false;
	e->is_set = true;
	e->text[0] = '\0';
	if (file && line)
		n = (size_t)snprintf(e->text, sizeof(e->text), "%s:%u: ", file, line);
	else if (file)
		n = (size_t)snprintf(e->text, sizeof(e->text), "%s: ", file);
	if (n >= sizeof(e->text) / 2) {
		/* an absurdly long file name must not push the message out */
		memcpy(e->text + sizeof(e->text) / 2 - 6, "...: ", 6);
		n = sizeof(e->text) / 2 - 1;
	}
	va_start(ap, fmt);
	vsnprintf(e->text + n, sizeof(e->text) - n, fmt, ap);
	va_end(ap);
	return false;
}

/* Edit distance (insert, delete, replace, swap of neighbours), letter case ignored. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[3][WORD_MAX + 1], na = strlen(a), nb = strlen(b);

	for (size_t j = 0; j <= nb; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *cur = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];

		cur[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			int ca = tolower((unsigned char)a[i - 1]),
			    cb = tolower((unsigned char)b[j - 1]);
			size_t d = up[j - 1] + (ca != cb);

			d = d < up[j] + 1 ? d : up[j] + 1;
			d = d < cur[j - 1] + 1 ? d : cur[j - 1] + 1;
			if (i > 1 && j > 1 && ca != cb && ca == tolower((unsigned char)b[j - 2]) &&
			    cb == tolower((unsigned char)a[i - 2]) && up2[j - 2] + 1 < d)
				d = up2[j - 2] + 1;
			cur[j] = d;
		}
	}
	return row[na % 3][nb];
}

const char *err_nearest(const char *word, const char *const *names, size_t n)
{
	const char *best = NULL;
	size_t len = strlen(word), best_d = 1 + len / 3;

	if (len == 0 || len > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t d;

		if (strlen(names[i]) > WORD_MAX)
			continue;
		d = edit_distance(word, names[i]);
		if (d < best_d + (best == NULL) && d < len) {
			best_d = d;
			best = names[i];
		}
	}
	return best;
}

void sim_check_failed(const char *cond, const char *file, int line, const struct block *b)
{
	static bool is_failing; /* a check that fails while reporting must not recurse */

	fflush(stdout);
	if (b)
		fprintf(stderr,
			"rnicsim: internal check failed: %s: cycle %" PRIu64 " (%" PRIu64
			" ps): %s:%d: %s\n",
			b->name ? b->name : "?", b->cycle, b->now_ps, file, line, cond);
	else
		fprintf(stderr, "rnicsim: internal check failed: %s:%d: %s\n", file, line, cond);
	if (!is_failing && sim_check_report) {
		is_failing = true;
		sim_check_report(stderr);
	}
	fflush(stderr);
	abort();
}

static void *or_abort(void *p)
{
	if (!p) {
		fputs("rnicsim: out of memory\n", stderr);
		abort();
	}
	return p;
}

void *x_calloc(size_t n, size_t size)
{
	return or_abort(calloc(n ? n : 1, size ? size : 1));
}

void *x_realloc(void *p, size_t size)
{
	return or_abort(realloc(p, size ? size : 1));
}

char *x_strdup(const char *s)
{
	return or_abort(strdup(s));
}
