/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evlog.c - ring of the last events and the Chrome trace writer
 *
 * Format: Trace Event Format (Google, "Chrome trace"), JSON object form: "M" names processes and
 * threads, "i" is an instant, "X" a complete slice. Times are microseconds; six decimals keep
 * picoseconds.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/evlog.h"
#include "sim/json.h"
#include "sim/outfile.h"

#define RING 64u           /* events kept for the report of a failed check */
#define LANES 64u          /* lanes a track */
#define TRACK_TID 1000000u /* first thread number of span tracks; below are blocks */

struct track {
	uint32_t pid, n_lanes;
	char *name;
	uint64_t end_ps[LANES];
};

/* One JSON line of the time stamp being collected. */
struct line {
	uint32_t tid;
	long off, len;
};

struct evlog {
	struct sim *sim;
	struct event_rec ring[RING];
	uint64_t n_events;
	/* file; 'out.f' is NULL when there is none */
	struct outfile out;
	bool has_line;
	char **groups; /* process names; pid = index + 1 */
	uint32_t n_groups;
	uint32_t *block_pid; /* by block index */
	struct track *tracks;
	uint32_t n_tracks;
	/* lines of one time stamp */
	uint64_t batch_ps;
	FILE *text;
	char *text_ptr;
	size_t text_size;
	struct line *lines;
	uint32_t n_lines, cap_lines;
};

bool block_events_on;
static struct evlog *active;

static void report_last(FILE *f)
{
	if (active)
		evlog_print_last(active, f);
}

static void put_us(FILE *f, uint64_t ps)
{
	fprintf(f, "%" PRIu64 ".%06u", (uint64_t)(ps / PS_PER_US), (unsigned)(ps % PS_PER_US));
}

/* Process number of group 'name' (n bytes), made on first use. */
static uint32_t group_pid(struct evlog *l, const char *name, size_t n)
{
	char *copy;

	for (uint32_t i = 0; i < l->n_groups; i++)
		if (strlen(l->groups[i]) == n && memcmp(l->groups[i], name, n) == 0)
			return i + 1;
	copy = x_calloc(n + 1, 1);
	memcpy(copy, name, n);
	l->groups = x_realloc(l->groups, (l->n_groups + 1) * sizeof(*l->groups));
	l->groups[l->n_groups++] = copy;
	return l->n_groups;
}

/* Write the lines collected, ordered by track and, within one, as they came. */
static void batch_flush(struct evlog *l)
{
	fflush(l->text);
	/* insertion sort: a time stamp has few lines, nearly sorted */
	for (uint32_t i = 1; i < l->n_lines; i++) {
		struct line x = l->lines[i];
		uint32_t k = i;

		for (; k > 0 && l->lines[k - 1].tid > x.tid; k--)
			l->lines[k] = l->lines[k - 1];
		l->lines[k] = x;
	}
	for (uint32_t i = 0; i < l->n_lines; i++) {
		fputs(l->has_line ? ",\n" : "\n", l->out.f);
		l->has_line = true;
		fwrite(l->text_ptr + l->lines[i].off, 1, (size_t)l->lines[i].len, l->out.f);
	}
	l->n_lines = 0;
	rewind(l->text);
}

static void line_begin(struct evlog *l, uint64_t ps, uint32_t tid)
{
	if (ps != l->batch_ps) {
		batch_flush(l);
		l->batch_ps = ps;
	}
	if (l->n_lines == l->cap_lines) {
		l->cap_lines = l->cap_lines ? 2 * l->cap_lines : 64;
		l->lines = x_realloc(l->lines, l->cap_lines * sizeof(*l->lines));
	}
	l->lines[l->n_lines].tid = tid;
	l->lines[l->n_lines].off = ftell(l->text);
}

static void line_end(struct evlog *l)
{
	l->lines[l->n_lines].len = ftell(l->text) - l->lines[l->n_lines].off;
	l->n_lines++;
}

/* The arguments of an event, named by the words of its row's 'unit' ("qpn psn"). */
static void put_args(FILE *f, const char *words, const uint64_t *a)
{
	for (unsigned i = 0; i < 2; i++) {
		size_t n = strcspn(words, " ");

		if (n == 0)
			break;
		fprintf(f, "%s\"%.*s\":%" PRIu64, i ? "," : "", (int)n, words, a[i]);
		words += n + (words[n] == ' ');
	}
}

void block_event_slow(struct block *b, unsigned event, uint64_t a0, uint64_t a1)
{
	struct evlog *l = active;
	struct event_rec *r;
	const struct field *f;

	if (!l || b->sim != l->sim)
		return;
	f = field_nth(b->cls->fields, FIELD_EVENT, event);
	SIM_CHECK(f, b);
	r = &l->ring[l->n_events++ % RING];
	*r = (struct event_rec){ b->now_ps, b->index, event, a0, a1 };
	if (!l->out.f)
		return;
	line_begin(l, b->now_ps, b->index + 1);
	fprintf(l->text,
		"{\"ph\":\"i\",\"s\":\"t\",\"pid\":%u,\"tid\":%u,\"ts\":", l->block_pid[b->index],
		b->index + 1);
	put_us(l->text, b->now_ps);
	fprintf(l->text, ",\"name\":\"%s\",\"args\":{", f->name);
	put_args(l->text, f->unit, (uint64_t[2]){ a0, a1 });
	fputs("}}", l->text);
	line_end(l);
}

static void put_thread(struct evlog *l, uint32_t pid, uint32_t tid, const char *name)
{
	fprintf(l->out.f,
		"%s\n{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":",
		l->has_line ? "," : "", pid, tid);
	l->has_line = true;
	json_put_string(l->out.f, name);
	fprintf(l->out.f,
		"}},\n{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"thread_sort_index\","
		"\"args\":{\"sort_index\":%u}}",
		pid, tid, tid);
}

/* Names are written last: viewers take them from anywhere in the file. */
static void put_names(struct evlog *l)
{
	for (uint32_t i = 0; i < l->n_groups; i++) {
		fprintf(l->out.f,
			"%s\n{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\",\"args\":{\"name\":",
			l->has_line ? "," : "", i + 1);
		l->has_line = true;
		json_put_string(l->out.f, l->groups[i]);
		fputs("}}", l->out.f);
	}
	for (uint32_t i = 0; i < l->sim->n_blocks; i++)
		put_thread(l, l->block_pid[i], i + 1, l->sim->blocks[i]->name);
	for (uint32_t i = 0; i < l->n_tracks; i++)
		for (uint32_t k = 0; k < l->tracks[i].n_lanes; k++)
			put_thread(l, l->tracks[i].pid, TRACK_TID + i * LANES + k,
				   l->tracks[i].name);
}

struct evlog *evlog_open(struct sim *s, const char *path, struct err *e)
{
	struct evlog *l = x_calloc(1, sizeof(*l));

	SIM_CHECK(!active, NULL);
	if (path && !outfile_open(&l->out, path, e)) {
		free(l);
		return NULL;
	}
	l->sim = s;
	l->block_pid = x_calloc(s->n_blocks, sizeof(*l->block_pid));
	for (uint32_t i = 0; i < s->n_blocks; i++) {
		const char *name = s->blocks[i]->name;

		l->block_pid[i] = group_pid(l, name, strcspn(name, "."));
	}
	if (l->out.f) {
		l->text = open_memstream(&l->text_ptr, &l->text_size);
		SIM_CHECK(l->text, NULL);
		fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", l->out.f);
	}
	active = l;
	block_events_on = true;
	sim_check_report = report_last;
	return l;
}

static void evlog_free(struct evlog *l)
{
	active = NULL;
	block_events_on = false;
	sim_check_report = NULL;
	if (l->text)
		fclose(l->text);
	free(l->text_ptr);
	for (uint32_t i = 0; i < l->n_groups; i++)
		free(l->groups[i]);
	for (uint32_t i = 0; i < l->n_tracks; i++)
		free(l->tracks[i].name);
	free(l->groups);
	free(l->block_pid);
	free(l->tracks);
	free(l->lines);
	free(l);
}

bool evlog_close(struct evlog *l, struct err *e)
{
	bool is_ok = true;

	if (l->out.f) {
		batch_flush(l);
		put_names(l);
		fputs("\n]}\n", l->out.f);
		is_ok = outfile_commit(&l->out, e);
	}
	evlog_free(l);
	return is_ok;
}

void evlog_abort(struct evlog *l)
{
	if (!l)
		return;
	outfile_abort(&l->out);
	evlog_free(l);
}

uint32_t evlog_track(struct evlog *l, const char *group, const char *name)
{
	struct track *t;

	l->tracks = x_realloc(l->tracks, (l->n_tracks + 1) * sizeof(*l->tracks));
	t = &l->tracks[l->n_tracks];
	memset(t, 0, sizeof(*t));
	t->pid = group_pid(l, group, strlen(group));
	t->name = x_strdup(name);
	return l->n_tracks++;
}

/* Best fit: of the lanes that are free at 'start_ps', the one that became so last. */
uint32_t evlog_lane(struct evlog *l, uint32_t track, uint64_t start_ps, uint64_t end_ps)
{
	struct track *t = &l->tracks[track];
	uint32_t best = UINT32_MAX;

	SIM_CHECK(track < l->n_tracks && start_ps <= end_ps, NULL);
	for (uint32_t k = 0; k < t->n_lanes; k++)
		if (t->end_ps[k] <= start_ps &&
		    (best == UINT32_MAX || t->end_ps[k] > t->end_ps[best]))
			best = k;
	if (best == UINT32_MAX)
		best = t->n_lanes < LANES ? t->n_lanes++ : LANES - 1;
	t->end_ps[best] = max_u64(t->end_ps[best], end_ps);
	return track * LANES + best;
}

void evlog_span(struct evlog *l, uint32_t lane, const char *name, uint64_t start_ps,
		uint64_t dur_ps, const char *args)
{
	SIM_CHECK(lane / LANES < l->n_tracks, NULL);
	if (!l->out.f)
		return;
	line_begin(l, l->sim->now_ps, TRACK_TID + lane);
	fprintf(l->text, "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":", l->tracks[lane / LANES].pid,
		TRACK_TID + lane);
	put_us(l->text, start_ps);
	fputs(",\"dur\":", l->text);
	put_us(l->text, dur_ps);
	fputs(",\"name\":", l->text);
	json_put_string(l->text, name);
	fprintf(l->text, ",\"args\":{%s}}", args ? args : "");
	line_end(l);
}

uint32_t evlog_last(const struct evlog *l, struct event_rec *out, uint32_t max)
{
	uint64_t n = min_u64(min_u64(l->n_events, RING), max);

	for (uint64_t i = 0; i < n; i++)
		out[i] = l->ring[(l->n_events - n + i) % RING];
	return (uint32_t)n;
}

void evlog_print_last(const struct evlog *l, FILE *f)
{
	struct event_rec r[RING];
	uint32_t n = evlog_last(l, r, RING);

	if (n)
		fprintf(f, "last %u events:\n", n);
	for (uint32_t i = 0; i < n; i++) {
		const struct block *b = l->sim->blocks[r[i].block];
		const struct field *row = field_nth(b->cls->fields, FIELD_EVENT, r[i].event);

		fprintf(f, "  %12" PRIu64 " ps  %s %s ", r[i].ps, b->name, row->name);
		put_args(f, row->unit, (uint64_t[2]){ r[i].a0, r[i].a1 });
		putc('\n', f);
	}
}
