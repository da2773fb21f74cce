/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_convert_final.c - recorded final memory to `expect mem` records
 *
 * What differs from the fill is written in hex, the rest must still be the fill. The 40 bytes that
 * a UD receive begins with are left out: they hold IP identification and checksum.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tools/trace/trace_convert.h"

#define GRH 40u
#define MERGE 64u   /* equal bytes between two differences that are written along */
#define PIECE 4096u /* bytes of one record in hex */

struct image {
	const struct conv_mr *m;
	uint8_t *now, *was;
	uint8_t *skip; /* 1 = not compared */
};

static bool read_image(struct conv *c, const char *path, struct image *g)
{
	gzFile f = gzopen(path, "rb");
	int n = 0;

	if (!f)
		return err_set(c->e, path, 0, "cannot open");
	if (g->m->len <= INT32_MAX)
		n = gzread(f, g->now, (unsigned)g->m->len);
	gzclose(f);
	if (n < 0 || (uint64_t)n != g->m->len)
		return err_set(c->e, path, 0, "must hold the %" PRIu64 " bytes of the region",
			       g->m->len);
	return true;
}

static void fill_image(const struct conv *c, struct image *g)
{
	struct trace_mr like = { .fill = FILL_ZERO };
	unsigned v[4];

	if (sscanf(g->m->fill, "lin:%u,%u,%u,%u", &v[0], &v[1], &v[2], &v[3]) == 4) {
		like.fill = FILL_LIN;
		for (int i = 0; i < 4; i++)
			like.fill_arg[i] = v[i];
	}
	trace_fill(&like, 0, g->was, g->m->len);
	for (uint32_t i = 0; i < c->n_mask; i++)
		for (uint64_t k = 0; k < GRH; k++) {
			uint64_t at = c->mask[i].va + k - g->m->va;

			if (c->mask[i].ep == g->m->ep && at < g->m->len)
				g->skip[at] = 1;
		}
}

static void put_range(struct conv *c, const struct image *g, uint64_t from, uint64_t to,
		      bool is_fill)
{
	for (uint64_t n; from < to; from += n) {
		n = is_fill ? to - from : min_u64(to - from, PIECE);
		fprintf(c->f, "expect mem h%s m%" PRIu32 ":%" PRIu64 ":%" PRIu64 " == %s",
			c->ep[g->m->ep].name, g->m->number, from, n, is_fill ? "fill" : "hex:");
		for (uint64_t i = 0; i < n && !is_fill; i++)
			fprintf(c->f, "%02x", g->now[from + i]);
		fputc('\n', c->f);
	}
}

/*
 * The end of the run of bytes that begins at 'from' and is skipped, equal or different like its
 * first byte.
 */
static uint64_t run_end(const struct image *g, uint64_t from)
{
	uint64_t i = from, len = g->m->len;

	if (g->skip[from])
		while (i < len && g->skip[i])
			i++;
	else if (g->now[from] == g->was[from])
		while (i < len && !g->skip[i] && g->now[i] == g->was[i])
			i++;
	else
		for (uint64_t k = from; k < len && k < i + MERGE && !g->skip[k]; k++)
			if (g->now[k] != g->was[k])
				i = k + 1;
	return i;
}

static void put_image(struct conv *c, uint32_t ep, const char *path)
{
	struct image g = { .m = NULL };

	for (uint32_t i = 0; i < c->n_mr && !g.m; i++)
		if (c->mr[i].ep == ep)
			g.m = &c->mr[i];
	if (!g.m) {
		err_set(c->e, path, 0, "endpoint %s has no region", c->ep[ep].name);
		return;
	}
	g.now = x_calloc(3, g.m->len);
	g.was = g.now + g.m->len;
	g.skip = g.was + g.m->len;
	if (read_image(c, path, &g)) {
		fill_image(c, &g);
		for (uint64_t at = 0, end; at < g.m->len; at = end) {
			end = run_end(&g, at);
			if (!g.skip[at])
				put_range(c, &g, at, end, g.now[at] == g.was[at]);
		}
	}
	free(g.now);
}

void conv_put_final(struct conv *c)
{
	for (uint32_t i = 0; i < c->n_final; i++) {
		const char *path = strchr(c->final[i], '=') + 1;
		size_t n = (size_t)(path - 1 - c->final[i]);
		uint32_t ep = 0;

		while (ep < c->n_ep &&
		       !(strncmp(c->ep[ep].name, c->final[i], n) == 0 && c->ep[ep].name[n] == '\0'))
			ep++;
		if (ep == c->n_ep)
			err_set(c->e, NULL, 0, "--final %s: no endpoint of that name", c->final[i]);
		else
			put_image(c, ep, path);
	}
}
