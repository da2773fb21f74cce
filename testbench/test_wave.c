/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_wave.c - waveforms against a plain sampler, against each other, and for every order of steps
 *
 * Three sources and sinks in two clocks, in scopes whose names begin alike. The sampler looks at everything at
 * each time stamp; the waveform must hold exactly the changes that it saw.
 */
#include <CUnit/CUnit.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/netlist.h"
#include "sim/wave.h"
#include "testbench/tb_file.h"
#include "testbench/tb_vcd.h"

#define N_PAIRS 3u
#define N_MESSAGES 300u
#define LIMIT_PS (200 * PS_PER_US) /* long after the last message */

struct beat {
	uint64_t v;
};
CHAN_OF(beat)

/* Sends N_MESSAGES values with random pauses. */
struct src {
	struct block b;
	struct chan *out;
	uint64_t sent, next_cyc;
	uint8_t low;
	bool is_done;
};

/* Takes them, busy for some cycles after each. */
struct snk {
	struct block b;
	struct chan *in;
	uint64_t sum, busy_until;
	uint32_t taken;
	uint16_t last;
};

#define T struct src
static const struct field src_fields[] = { PORT_OUT(T, out, beat, "values"),
					   SIGNAL(T, low, 3,
						  "low bits of the number of values sent"),
					   SIGNAL(T, is_done, 1, "all were sent"), FIELDS_END };
#undef T

#define T struct snk
static const struct field snk_fields[] = { PORT_IN(T, in, beat, "values"),
					   SIGNAL(T, sum, 64, "sum of the values"),
					   SIGNAL(T, taken, 32, "values taken"),
					   SIGNAL(T, last, 9, "last value, cut to nine bits"),
					   FIELDS_END };
#undef T

static uint64_t src_step(struct block *b)
{
	struct src *s = (struct src *)b;

	if (s->is_done)
		return CYCLE_NEVER;
	if (b->cycle < s->next_cyc)
		return s->next_cyc;
	if (!chan_can_push(s->out))
		return chan_stall(s->out);
	beat_push(s->out, &(struct beat){ rng_next(&b->rng) });
	s->low = (uint8_t)++s->sent;
	s->is_done = s->sent == N_MESSAGES;
	s->next_cyc = b->cycle + 1 + rng_below(&b->rng, 20);
	return s->next_cyc;
}

static uint64_t snk_step(struct block *b)
{
	struct snk *s = (struct snk *)b;
	const struct beat *m = beat_peek(s->in);

	if (!m)
		return CYCLE_NEVER;
	if (b->cycle < s->busy_until)
		return s->busy_until;
	s->sum += m->v;
	s->last = (uint16_t)m->v;
	s->taken++;
	s->busy_until = b->cycle + 1 + m->v % 16;
	chan_pop(s->in);
	return s->busy_until;
}

static void nothing(struct block *b)
{
	(void)b;
}

static const struct block_class src_class = { .name = "src",
					      .impl = "c",
					      .size = sizeof(struct src),
					      .fields = src_fields,
					      .reset = nothing,
					      .step = src_step };
static const struct block_class snk_class = { .name = "snk",
					      .impl = "c",
					      .size = sizeof(struct snk),
					      .fields = snk_fields,
					      .reset = nothing,
					      .step = snk_step };

/* ---- the sampler ---- */

struct watched {
	char name[80];
	const struct block *block;
	const struct field *row; /* NULL: occupancy of the sink's channel */
	uint64_t last;
};

struct sampler {
	struct sim_observer observer, *wave;
	struct watched v[N_PAIRS * 6];
	size_t n;
	bool is_started;
	struct tb_changes seen;
};

static uint64_t watched_value(const struct watched *w)
{
	if (!w->row)
		return ((const struct snk *)w->block)->in->count;
	return field_get(w->block, w->row) & (UINT64_MAX >> (64 - w->row->bits));
}

static void sampler_stepped(struct sim_observer *o, struct block *b)
{
	struct sampler *s = (struct sampler *)o;

	if (s->wave)
		s->wave->stepped(s->wave, b);
}

static void sampler_time_done(struct sim_observer *o, uint64_t now_ps)
{
	struct sampler *s = (struct sampler *)o;

	for (size_t i = 0; i < s->n; i++) {
		uint64_t v = watched_value(&s->v[i]);

		if (!s->is_started || v != s->v[i].last)
			tb_changes_add(&s->seen, now_ps, s->v[i].name, v);
		s->v[i].last = v;
	}
	s->is_started = true;
	if (s->wave)
		s->wave->time_done(s->wave, now_ps);
}

static void watch(struct sampler *s, const struct block *b)
{
	const struct field *f;
	struct watched *w;

	FIELDS_EACH(f, b->cls->fields) {
		if (f->kind != FIELD_SIGNAL && f->kind != FIELD_IN)
			continue;
		w = &s->v[s->n++];
		w->block = b;
		w->row = f->kind == FIELD_SIGNAL ? f : NULL;
		if (!w->row)
			snprintf(w->name, sizeof(w->name), "%s.in_count[23:0]", b->name);
		else if (f->bits > 1)
			snprintf(w->name, sizeof(w->name), "%s.%s[%d:0]", b->name, f->name,
				 f->bits - 1);
		else
			snprintf(w->name, sizeof(w->name), "%s.%s", b->name, f->name);
	}
}

/* ---- one run ---- */

static void build(struct sim *s, struct config *cfg, struct sampler *sampler)
{
	static const char *const paths[N_PAIRS][2] = { { "ab.src", "ab.snk" },
						       { "abc.src", "abc.in.snk" },
						       { "ab.c.d.src", "snk" } };
	static const struct block_class *const classes[] = { &src_class, &snk_class, NULL };
	struct err e = { 0 };

	config_init(cfg);
	sim_init(s, 3);
	for (unsigned i = 0; i < N_PAIRS; i++) {
		struct block *out =
			netlist_add(s, classes, "src", paths[i][0], cfg, 250 * MHZ, NULL, &e);
		struct block *in =
			netlist_add(s, classes, "snk", paths[i][1], cfg, 322265625, NULL, &e);

		CU_ASSERT_FATAL(out && in);
		netlist_connect(s, out, "out", in, "in", 2 + i, 1 + i);
		watch(sampler, out);
		watch(sampler, in);
	}
}

/* Run and write the waveform 'name'; what the sampler saw goes to 'seen' unless that is NULL. */
static void run(const char *name, enum step_order order, bool every_cycle, struct tb_changes *seen)
{
	struct sampler sampler = { .observer = { sampler_stepped, sampler_time_done } };
	struct config cfg;
	struct err e = { 0 };
	struct wave *w;
	struct sim s;

	build(&s, &cfg, &sampler);
	w = wave_open(&s, tb_path(name), &e);
	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	sampler.wave = s.observer;
	s.observer = &sampler.observer;
	CU_ASSERT_FATAL(netlist_finish(&s, &e));
	s.order = order;
	s.every_cycle = every_cycle;
	s.until_ps = LIMIT_PS;
	CU_ASSERT_EQUAL(sim_run(&s), SIM_END_IDLE);
	CU_ASSERT_EQUAL(((struct snk *)netlist_find(&s, "snk"))->taken, N_MESSAGES);
	CU_ASSERT_PTR_NULL(tb_read(tb_path(name))); /* not there before it is whole */
	CU_ASSERT(wave_close(w, &e));
	CU_ASSERT_FALSE(e.is_set);
	sim_destroy(&s);
	config_destroy(&cfg);
	tb_changes_sort(&sampler.seen);
	if (seen)
		*seen = sampler.seen;
	else
		tb_changes_free(&sampler.seen);
}

/* ---- tests ---- */

static void vcd_of_a_run_holds_what_a_sampler_saw(void)
{
	struct tb_changes seen, file;

	run("a.vcd", ORDER_FORWARD, false, &seen);
	CU_ASSERT_FATAL(tb_vcd_read(tb_path("a.vcd"), &file));
	CU_ASSERT_EQUAL(file.n_signals, N_PAIRS * 6);
	CU_ASSERT(seen.n > N_PAIRS * N_MESSAGES * 4);
	CU_ASSERT(tb_changes_equal(&seen, &file));
	CU_ASSERT(file.end_ps > seen.v[seen.n - 1].ps); /* the last change is visible */
	tb_changes_free(&seen);
	tb_changes_free(&file);
}

static void comparison_altered_value_is_caught(void)
{
	struct tb_changes seen, file;
	char *text, *bit;

	run("b.vcd", ORDER_FORWARD, false, &seen);
	text = tb_read(tb_path("b.vcd"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	bit = strstr(text + strlen(text) / 2, "\nb1") + 3;
	*bit = *bit == '0' ? '1' : '0';
	tb_write("b.vcd", text, strlen(text));
	CU_ASSERT_FATAL(tb_vcd_read(tb_path("b.vcd"), &file));
	CU_ASSERT_EQUAL(seen.n, file.n);
	CU_ASSERT_FALSE(tb_changes_equal(&seen, &file));
	free(text);
	tb_changes_free(&seen);
	tb_changes_free(&file);
}

static void same_for_all(const char *suffix)
{
	static const struct {
		enum step_order order;
		bool every_cycle;
	} runs[] = { { ORDER_FORWARD, false },
		     { ORDER_REVERSED, false },
		     { ORDER_SHUFFLED, false },
		     { ORDER_FORWARD, true },
		     { ORDER_SHUFFLED, true } };
	char *first = NULL, name[32];
	long len = 0;

	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		char *text;
		FILE *f;

		snprintf(name, sizeof(name), "order%zu%s", i, suffix);
		run(name, runs[i].order, runs[i].every_cycle, NULL);
		f = fopen(tb_path(name), "r");
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		fseek(f, 0, SEEK_END);
		if (i)
			CU_ASSERT_EQUAL(ftell(f), len);
		len = ftell(f);
		fclose(f);
		text = tb_read(tb_path(name));
		if (first) {
			CU_ASSERT_EQUAL(memcmp(first, text, (size_t)len), 0);
			free(text);
		} else {
			first = text;
		}
	}
	free(first);
}

static void vcd_any_order_of_steps_is_the_same_file(void)
{
	same_for_all(".vcd");
}

static void save_file_names_every_signal_once(void)
{
	struct tb_changes file;
	char *text, *line, *save;
	size_t n = 0;

	run("g.vcd", ORDER_FORWARD, false, NULL);
	CU_ASSERT_FATAL(tb_vcd_read(tb_path("g.vcd"), &file));
	text = tb_read(tb_path("g.gtkw"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "[dumpfile] \"g.vcd\"\n"));
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		size_t i;

		if (strchr("[@-", line[0])) /* settings, how to show it, groups */
			continue;
		for (i = 0; i < file.n_signals && strcmp(file.signals[i], line) != 0; i++)
			;
		CU_ASSERT_FATAL(i < file.n_signals);
		file.signals[i][0] = '\0';
		n++;
	}
	CU_ASSERT_EQUAL(n, file.n_signals);
	free(text);
	tb_changes_free(&file);
}

static void refused(const char *path, const char *text)
{
	struct sampler sampler = { .n = 0 };
	struct err e = { 0 };
	struct config cfg;
	struct sim s;

	build(&s, &cfg, &sampler);
	CU_ASSERT_PTR_NULL(wave_open(&s, path, &e));
	CU_ASSERT_STRING_EQUAL(e.text, text);
	CU_ASSERT_PTR_NULL(s.observer);
	sim_destroy(&s);
	config_destroy(&cfg);
}

static void wave_unknown_suffix_is_refused(void)
{
	refused("x.vcdx",
		"--wave x.vcdx: unknown kind of waveform; allowed: a .fst or a .vcd file");
	refused("x", "--wave x: unknown kind of waveform; allowed: a .fst or a .vcd file");
	refused("", "--wave : unknown kind of waveform; allowed: a .fst or a .vcd file");
#ifndef HAVE_FST
	refused("x.fst",
		"--wave x.fst: this build has no FST (Debian package verilator); allowed: a .vcd file");
#endif
	CU_ASSERT_NOT_EQUAL(access("x.vcdx", F_OK), 0);
}

static void wave_unwritable_path_is_refused(void)
{
	char path[512], text[600];

	refused("no/such/dir/x.vcd",
		"--wave no/such/dir/x.vcd: cannot be written: No such file or directory");
#ifdef HAVE_FST
	refused("no/such/dir/x.fst",
		"--wave no/such/dir/x.fst: cannot be written: No such file or directory");
#endif
	snprintf(path, sizeof(path), "%s", tb_path("dir.vcd"));
	snprintf(text, sizeof(text), "--wave %.500s: cannot be written: Is a directory", path);
	CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
	refused(path, text);
	CU_ASSERT_EQUAL(tb_count_files("dir.vcd"), 1);
	rmdir(path);
}

static void abort_of(const char *name, const char *stem)
{
	struct sampler sampler = { .n = 0 };
	struct err e = { 0 };
	struct config cfg;
	struct wave *w;
	struct sim s;

	build(&s, &cfg, &sampler);
	w = wave_open(&s, tb_path(name), &e);
	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	CU_ASSERT_FATAL(netlist_finish(&s, &e));
	s.until_ps = PS_PER_US;
	sim_run(&s);
	wave_abort(w);
	CU_ASSERT_PTR_NULL(s.observer);
	CU_ASSERT_EQUAL(tb_count_files(stem), 0);
	sim_destroy(&s);
	config_destroy(&cfg);
}

static void wave_aborted_leaves_no_file(void)
{
	abort_of("gone.vcd", "gone");
#ifdef HAVE_FST
	abort_of("gone.fst", "gone");
#endif
	wave_abort(NULL);
}

/* The disk is full after 'bytes': the waveform is refused at the end and nothing is left of it. */
static void full_disk_of(const char *name, const char *stem, rlim_t bytes)
{
	struct sampler sampler = { .n = 0 };
	struct rlimit old, small;
	struct err e = { 0 };
	struct config cfg;
	struct wave *w;
	struct sim s;

	build(&s, &cfg, &sampler);
	w = wave_open(&s, tb_path(name), &e);
	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	CU_ASSERT_FATAL(netlist_finish(&s, &e));
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = bytes;
	setrlimit(RLIMIT_FSIZE, &small);
	sim_run(&s);
	CU_ASSERT_FALSE(wave_close(w, &e));
	setrlimit(RLIMIT_FSIZE, &old);
	signal(SIGXFSZ, SIG_DFL);
	CU_ASSERT(e.is_set);
	CU_ASSERT_EQUAL(tb_count_files(stem), 0);
	sim_destroy(&s);
	config_destroy(&cfg);
}

static void wave_full_disk_is_a_mistake(void)
{
	full_disk_of("full.vcd", "full", 4096);
#ifdef HAVE_FST
	full_disk_of("full.fst", "full", 8192);
#endif
}

#ifdef HAVE_FST
/* GTKWave's own reader turns the FST back into a VCD. */
static void fst_read_by_gtkwave_holds_what_the_vcd_holds(void)
{
	struct tb_changes vcd, fst;
	char command[1200];

	if (system("command -v fst2vcd >/dev/null") != 0) {
		printf(" (not checked: fst2vcd of Debian's gtkwave is missing) ");
		return;
	}
	run("c.vcd", ORDER_FORWARD, false, NULL);
	run("c.fst", ORDER_FORWARD, false, NULL);
	snprintf(command, sizeof(command), "fst2vcd -f %s -o %s", tb_path("c.fst"),
		 tb_path("c2.vcd"));
	CU_ASSERT_EQUAL_FATAL(system(command), 0);
	CU_ASSERT_FATAL(tb_vcd_read(tb_path("c.vcd"), &vcd));
	CU_ASSERT_FATAL(tb_vcd_read(tb_path("c2.vcd"), &fst));
	CU_ASSERT_EQUAL(vcd.n_signals, fst.n_signals);
	for (size_t i = 0; i < vcd.n_signals; i++)
		CU_ASSERT_STRING_EQUAL(vcd.signals[i], fst.signals[i]);
	CU_ASSERT(tb_changes_equal(&vcd, &fst));
	CU_ASSERT_EQUAL(vcd.end_ps, fst.end_ps);
	tb_changes_free(&vcd);
	tb_changes_free(&fst);
}

static void fst_any_order_of_steps_is_the_same_file(void)
{
	same_for_all(".fst");
}
#endif

CU_TestInfo test_wave_tests[] = {
	{ "VCD of a run holds what a sampler saw", vcd_of_a_run_holds_what_a_sampler_saw },
	{ "altered value in a VCD is caught", comparison_altered_value_is_caught },
	{ "VCD is the same for any order of steps", vcd_any_order_of_steps_is_the_same_file },
	{ "save file names every signal once", save_file_names_every_signal_once },
	{ "unknown suffix is refused", wave_unknown_suffix_is_refused },
	{ "unwritable path is refused", wave_unwritable_path_is_refused },
	{ "aborted waveform leaves no file", wave_aborted_leaves_no_file },
	{ "full disk is a mistake", wave_full_disk_is_a_mistake },
#ifdef HAVE_FST
	{ "FST read by gtkwave holds what the VCD holds",
	  fst_read_by_gtkwave_holds_what_the_vcd_holds },
	{ "FST is the same for any order of steps", fst_any_order_of_steps_is_the_same_file },
#endif
	CU_TEST_INFO_NULL
};
