/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wave.c - which signals there are, when they are sampled, and the order in which they are written
 */
#include "sim/wave.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/outfile.h"
#include "sim/tempfile.h"

static const struct wave_sink *const sinks[] = {
	&wave_vcd_sink,
#ifdef HAVE_FST
	&wave_fst_sink,
#endif
};

#define COUNT_BITS 24u /* width of an occupancy signal */

/* One signal: a SIGNAL row of a block, or the occupancy of a channel (row NULL). */
struct wave_signal {
	const struct block *block;
	const struct field *row;
	const struct chan *chan;
	const char *name; /* owned */
	unsigned bits;
	uint64_t last;
	bool is_dirty;
};

struct occupancy_tap {
	struct chan_tap tap;
	struct wave *wave;
	uint32_t signal;
};

struct wave {
	struct sim_observer observer; /* first: the observer is the wave */
	struct sim *sim;
	const struct wave_sink *sink;
	void *ctx;
	char *path, *tmp;
	struct wave_signal *signals;
	uint32_t n_signals;
	uint32_t *first; /* by block index: its first signal */
	uint32_t *dirty, n_dirty;
	struct occupancy_tap *taps; /* by channel index */
	const struct block **order; /* blocks by path */
	bool is_started;            /* the initial values are written */
	uint64_t last_ps;           /* of the last change */
};

/* ---- sampling ---- */

static uint64_t signal_value(const struct wave_signal *g)
{
	uint64_t v = g->row ? field_get(g->block, g->row) : g->chan->count;

	return g->bits < 64 ? v & ((1ull << g->bits) - 1) : v;
}

static void mark(struct wave *w, uint32_t id)
{
	if (w->signals[id].is_dirty)
		return;
	w->signals[id].is_dirty = true;
	w->dirty[w->n_dirty++] = id;
}

static void wave_stepped(struct sim_observer *o, struct block *b)
{
	struct wave *w = (struct wave *)o;

	for (uint32_t i = w->first[b->index]; i < w->n_signals && w->signals[i].block == b; i++)
		if (w->signals[i].row && signal_value(&w->signals[i]) != w->signals[i].last)
			mark(w, i);
}

static void wave_moved(struct chan_tap *t, const struct chan *c, const void *msg)
{
	struct occupancy_tap *o = (struct occupancy_tap *)t;

	(void)c;
	(void)msg;
	mark(o->wave, o->signal);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void write_all(struct wave *w)
{
	w->sink->time(w->ctx, 0);
	for (uint32_t i = 0; i < w->n_signals; i++) {
		struct wave_signal *g = &w->signals[i];

		g->last = signal_value(g);
		w->sink->change(w->ctx, i, g->bits, g->last);
	}
	w->is_started = true;
}

static void wave_time_done(struct sim_observer *o, uint64_t now_ps)
{
	struct wave *w = (struct wave *)o;
	bool is_timed = false;

	if (!w->is_started)
		write_all(w);
	if (w->n_dirty == 0)
		return;
	qsort(w->dirty, w->n_dirty, sizeof(*w->dirty), by_number);
	for (uint32_t i = 0; i < w->n_dirty; i++) {
		struct wave_signal *g = &w->signals[w->dirty[i]];
		uint64_t v = signal_value(g);

		g->is_dirty = false;
		if (v == g->last)
			continue;
		if (!is_timed)
			w->sink->time(w->ctx, now_ps);
		is_timed = true;
		w->last_ps = now_ps;
		g->last = v;
		w->sink->change(w->ctx, w->dirty[i], g->bits, v);
	}
	w->n_dirty = 0;
}

/* ---- the list of signals ---- */

static int by_path(const void *a, const void *b)
{
	return strcmp((*(const struct block *const *)a)->name,
		      (*(const struct block *const *)b)->name);
}

static void add_signal(struct wave *w, const struct block *b, const struct field *row,
		       const struct chan *c, const char *name, unsigned bits)
{
	w->signals = x_realloc(w->signals, (w->n_signals + 1) * sizeof(*w->signals));
	w->signals[w->n_signals++] = (struct wave_signal){
		.block = b, .row = row, .chan = c, .name = x_strdup(name), .bits = bits
	};
}

static void list_signals(struct wave *w)
{
	struct sim *s = w->sim;
	char name[160];

	for (uint32_t k = 0; k < s->n_blocks; k++) {
		const struct block *b = w->order[k];

		w->first[b->index] = w->n_signals;
		for (const struct field *f = b->cls->fields; f->kind != FIELD_END; f++)
			if (f->kind == FIELD_SIGNAL)
				add_signal(w, b, f, NULL, f->name, f->bits);
		for (uint32_t i = 0; i < b->n_inputs; i++) {
			const struct chan *c = b->inputs[i];
			const char *port = strrchr(c->name, '.');

			snprintf(name, sizeof(name), "%s_count", port ? port + 1 : "in");
			w->taps[c->index] = (struct occupancy_tap){ .tap = { .pushed = wave_moved,
									     .popped = wave_moved },
								    .wave = w,
								    .signal = w->n_signals };
			add_signal(w, b, NULL, c, name, COUNT_BITS);
		}
	}
}

/* Leave the scopes of 'from' that 'to' is not in and enter those of 'to'; paths are "nic0.mtt". */
static void change_scope(const struct wave *w, const char *from, const char *to)
{
	size_t i, common = 0;
	char part[128];

	for (i = 0; from[i] && from[i] == to[i]; i++)
		if (from[i] == '.')
			common = i + 1;
	if ((!from[i] || from[i] == '.') && (!to[i] || to[i] == '.'))
		common = i;
	from += common + (from[common] == '.');
	to += common + (to[common] == '.');
	for (const char *p = from; *p;) {
		p += strcspn(p, ".");
		p += *p == '.';
		w->sink->upscope(w->ctx);
	}
	for (const char *p = to; *p;) {
		size_t n = strcspn(p, ".");

		snprintf(part, sizeof(part), "%.*s", (int)n, p);
		w->sink->scope(w->ctx, part);
		p += n + (p[n] == '.');
	}
}

static void declare(struct wave *w)
{
	const char *at = "";

	for (uint32_t i = 0; i < w->n_signals; i++) {
		const char *path = w->signals[i].block->name;

		if (strcmp(at, path) != 0)
			change_scope(w, at, path);
		at = path;
		w->sink->signal(w->ctx, i, w->signals[i].name, w->signals[i].bits);
	}
	change_scope(w, at, "");
	w->sink->header_done(w->ctx);
}

/* ---- open and close ---- */

static const struct wave_sink *sink_of(const char *path, struct err *e)
{
	const char *suffix = strrchr(path, '.');

	for (size_t i = 0; suffix && i < ARRAY_LEN(sinks); i++)
		if (strcmp(suffix, sinks[i]->suffix) == 0)
			return sinks[i];
	if (suffix && strcmp(suffix, ".fst") == 0)
		err_set(e, NULL, 0,
			"--wave %s: this build has no FST (Debian package verilator); allowed: a .vcd file",
			path);
	else
		err_set(e, NULL, 0,
			"--wave %s: unknown kind of waveform; allowed: a .fst or a .vcd file",
			path);
	return NULL;
}

static void wave_free(struct wave *w)
{
	w->sim->observer = NULL;
	for (uint32_t i = 0; i < w->n_signals; i++)
		free((char *)(uintptr_t)w->signals[i].name);
	free(w->signals);
	free(w->first);
	free(w->dirty);
	free(w->taps);
	free(w->order);
	tempfile_drop(w->tmp);
	free(w->path);
	free(w->tmp);
	free(w);
}

struct wave *wave_open(struct sim *s, const char *path, struct err *e)
{
	const struct wave_sink *sink = sink_of(path, e);
	struct wave *w;
	struct stat st;
	void *ctx;
	char *tmp;

	if (!sink)
		return NULL;
	tmp = x_calloc(1, strlen(path) + 8);
	sprintf(tmp, "%s.part", path);
	errno = EISDIR;
	ctx = stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? NULL : sink->open(tmp);
	if (!ctx) {
		err_set(e, NULL, 0, "--wave %s: cannot be written: %s", path, strerror(errno));
		free(tmp);
		return NULL;
	}
	tempfile_add(tmp);
	w = x_calloc(1, sizeof(*w));
	*w = (struct wave){ .observer = { wave_stepped, wave_time_done },
			    .sim = s,
			    .sink = sink,
			    .ctx = ctx,
			    .path = x_strdup(path),
			    .tmp = tmp };
	w->first = x_calloc(s->n_blocks, sizeof(*w->first));
	w->taps = x_calloc(s->n_chans + 1, sizeof(*w->taps));
	w->order = x_calloc(s->n_blocks, sizeof(*w->order));
	for (uint32_t i = 0; i < s->n_blocks; i++)
		w->order[i] = s->blocks[i];
	qsort(w->order, s->n_blocks, sizeof(*w->order), by_path);
	list_signals(w);
	w->dirty = x_calloc(w->n_signals + 1, sizeof(*w->dirty));
	declare(w);
	for (uint32_t i = 0; i < s->n_chans; i++)
		chan_attach(s->chans[i], &w->taps[i].tap);
	s->observer = &w->observer;
	return w;
}

/* GTKWave's own reference to a signal: "nic0.mtt.state[3:0]". */
static void save_signals(const struct wave *w, FILE *f)
{
	const struct block *at = NULL;

	for (uint32_t i = 0; i < w->n_signals; i++) {
		const struct wave_signal *g = &w->signals[i];

		if (!at || g->block != at) {
			if (at)
				fprintf(f, "@1401200\n-%s\n", at->name);
			fprintf(f, "@c00200\n-%s\n", g->block->name);
			at = g->block;
		}
		if (g->bits == 1)
			fprintf(f, "@28\n%s.%s\n", g->block->name, g->name);
		else
			fprintf(f, "@24\n%s.%s[%u:0]\n", g->block->name, g->name, g->bits - 1);
	}
	if (at)
		fprintf(f, "@1401200\n-%s\n", at->name);
}

static bool write_save_file(const struct wave *w, struct err *e)
{
	const char *base = strrchr(w->path, '/');
	size_t stem = strlen(w->path) - strlen(w->sink->suffix);
	char *path = x_calloc(1, stem + 6);
	struct outfile o;
	bool ok;

	sprintf(path, "%.*s.gtkw", (int)stem, w->path);
	ok = outfile_open(&o, path, e);
	free(path);
	if (!ok)
		return false;
	fprintf(o.f, "[*] signals grouped by block; open with: gtkwave %s %.*s.gtkw\n",
		base ? base + 1 : w->path,
		(int)(strlen(base ? base + 1 : w->path) - strlen(w->sink->suffix)),
		base ? base + 1 : w->path);
	fprintf(o.f, "[dumpfile] \"%s\"\n[timestart] 0\n", base ? base + 1 : w->path);
	save_signals(w, o.f);
	return outfile_commit(&o, e);
}

bool wave_close(struct wave *w, struct err *e)
{
	bool ok;

	if (!w->is_started)
		write_all(w);
	/* a little more, to see the last change; not to the end of the run, which depends on what sleeps */
	w->sink->time(w->ctx, w->last_ps + PS_PER_NS);
	ok = w->sink->close(w->ctx);
	if (!ok)
		err_set(e, NULL, 0, "--wave %s: could not be written whole", w->path);
	else if (rename(w->tmp, w->path) != 0)
		ok = err_set(e, NULL, 0, "--wave %s: cannot be written: %s", w->path,
			     strerror(errno));
	ok = ok && write_save_file(w, e);
	if (!ok)
		unlink(w->tmp);
	wave_free(w);
	return ok;
}

void wave_abort(struct wave *w)
{
	if (!w)
		return;
	w->sink->close(w->ctx);
	unlink(w->tmp);
	wave_free(w);
}
