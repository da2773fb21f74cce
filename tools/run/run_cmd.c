/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_cmd.c - `rnicsim run`: build the scenario, attach what looks at it, run, report
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/run/capture.h"
#include "tools/run/commands.h"
#include "tools/run/mrc.h"
#include "models/rnic.h"
#include "tools/run/run_report.h"
#include "tools/run/run_verdict.h"
#include "tools/run/scenario.h"
#include "tools/run/what_if.h"
#include "sim/evlog.h"
#include "sim/outfile.h"
#include "sim/wave.h"

/* One run, from its command line to its files. */
struct run {
	int argc;
	char **argv;
	struct run_options opt;
	struct config cfg;
	struct scenario sc;
	char *trace_path;
	struct trace *trace;
	struct rnic r;
	bool is_built;
	struct wave *wave;
	struct capture *pcap;
	struct evlog *evlog;
	struct mrc *mrc;
	struct run_report *report;
	struct timespec started;
	bool has_progress;
};

static double seconds_since(const struct timespec *t0)
{
	struct timespec t1;

	clock_gettime(CLOCK_MONOTONIC, &t1);
	return (double)(t1.tv_sec - t0->tv_sec) + (double)(t1.tv_nsec - t0->tv_nsec) / 1e9;
}

/* ---- set-up ---- */

static bool attach_capture(struct run *u, struct err *e)
{
	if (!u->opt.pcap)
		return true;
	u->pcap = capture_open(u->opt.pcap, e);
	if (!u->pcap)
		return false;
	for (uint32_t i = 0; i < u->r.n_nics; i++) {
		char name[32];
		const struct block *mac;

		snprintf(name, sizeof(name), "nic%" PRIu32 ".mac", i);
		mac = netlist_find(&u->r.sim, name);
		snprintf(name, sizeof(name), "nic%" PRIu32, i);
		capture_port(u->pcap, name, port_is_ib(&rnic_nic(&u->r, i)->addr),
			     netlist_chan(mac, "tx_frame"), netlist_chan(mac, "rx_frame"));
	}
	return true;
}

static bool attach(struct run *u, struct err *e)
{
	struct sim *s = &u->r.sim;

	s->until_ps = u->sc.until;
	u->r.stall_ps = u->sc.stall;
	s->order = u->opt.order;
	s->every_cycle = u->opt.every_cycle;
	if (u->opt.dir && !outfile_make_dir(u->opt.dir, "-o", e))
		return false;
	if (!attach_capture(u, e))
		return false;
	if (u->opt.wave && !(u->wave = wave_open(s, u->opt.wave, e)))
		return false;
	if (u->opt.timeline && !(u->evlog = evlog_open(s, u->opt.timeline, e)))
		return false;
	u->report = run_report_open(&u->r, u->opt.dir, u->evlog, e);
	if (!u->report || !netlist_finish(s, e))
		return false;
	if (u->opt.has_mrc)
		u->mrc = mrc_open(s);
	return true;
}

static bool build(struct run *u, int argc, char **argv, struct err *e)
{
	if (!run_options_parse(argc, argv, &u->opt, &u->cfg, e) ||
	    !scenario_apply(&u->cfg, &u->opt, &u->sc, &u->trace_path, e))
		return false;
	if (!run_outputs_differ(&u->opt, u->trace_path, e))
		return false;
	u->trace = trace_open(u->trace_path, e);
	if (!u->trace)
		return false;
	u->is_built = true;
	return rnic_build(&u->r, &u->cfg, u->trace, u->sc.seed, e) && attach(u, e);
}

/* ---- running ---- */

static void show_progress(struct sim *s, void *arg)
{
	struct run *u = arg;
	double t = seconds_since(&u->started);

	if (t < 1)
		return;
	u->has_progress = true;
	fprintf(stderr, "\r%.3f ms simulated, %" PRIu64 " requests done, %.1f M steps/s ",
		(double)s->now_ps / 1e9, run_report_count(u->report), (double)s->steps / t / 1e6);
}

static enum sim_end run(struct run *u)
{
	struct sim *s = &u->r.sim;
	enum sim_end end;

	clock_gettime(CLOCK_MONOTONIC, &u->started);
	if (!u->opt.is_quiet && isatty(STDERR_FILENO)) {
		s->progress = show_progress;
		s->progress_arg = u;
	}
	end = rnic_run(&u->r);
	if (u->has_progress)
		fprintf(stderr, "\r%70s\r", "");
	return end;
}

/* ---- the end ---- */

static bool close_files(struct run *u, struct err *e)
{
	bool ok = true;

	if (u->pcap)
		ok = capture_close(u->pcap, e) && ok;
	if (u->wave)
		ok = wave_close(u->wave, e) && ok;
	if (u->evlog)
		ok = evlog_close(u->evlog, e) && ok;
	u->pcap = NULL;
	u->wave = NULL;
	u->evlog = NULL;
	return ok;
}

/* Trials are wanted, and the trace is a file, which can be read again; a pipe cannot. */
static bool has_trials(const struct run *u)
{
	struct stat st;

	return !u->opt.has_no_trials && stat(u->trace_path, &st) == 0 && S_ISREG(st.st_mode);
}

static int finish(struct run *u, enum sim_end end, struct err *e)
{
	struct system *sys = u->r.system;
	bool held, stuck, lost;

	if (sys->err.is_set) {
		*e = sys->err;
		return EXIT_BAD_INPUT;
	}
	lost = run_has_lost(&u->r, stderr);
	stuck = run_is_stuck(&u->r, end, u->opt.is_quiet ? NULL : stderr, e);
	if (e->is_set || !run_report_finish(u->report, &u->sc, &held, e) ||
	    !run_report_how(u->report, &u->opt, u->trace_path, seconds_since(&u->started), e) ||
	    !close_files(u, e) || (u->mrc && u->opt.dir && !mrc_write(u->mrc, u->opt.dir, e)))
		return EXIT_BAD_INPUT;
	if (!u->opt.is_quiet)
		run_report_print(u->report, stdout);
	if (u->mrc && !u->opt.is_quiet)
		mrc_print(u->mrc, stdout);
	if (u->opt.is_explained)
		run_report_explain(u->report, has_trials(u) ? u->argc : 0, u->argv, stdout);
	run_report_failures(u->report, u->opt.is_quiet ? stderr : stdout);
	return stuck ? EXIT_STALLED : held && !lost ? EXIT_OK : EXIT_EXPECT;
}

static void destroy(struct run *u)
{
	capture_abort(u->pcap);
	wave_abort(u->wave);
	evlog_abort(u->evlog);
	mrc_close(u->mrc);
	run_report_close(u->report);
	if (u->is_built)
		rnic_destroy(&u->r);
	if (u->trace)
		trace_close(u->trace);
	free(u->trace_path);
	run_options_free(&u->opt);
	config_destroy(&u->cfg);
}

int cmd_run(int argc, char **argv, struct err *e)
{
	struct run u = { .argc = argc, .argv = argv };
	int status = EXIT_BAD_INPUT;

	config_init(&u.cfg);
	if (build(&u, argc, argv, e) && what_if_check(&u.opt, argc, argv, e)) {
		status = finish(&u, run(&u), e);
		if (!e->is_set && u.opt.n_what_if && !what_if_print(&u.opt, argc, argv, stdout, e))
			status = EXIT_BAD_INPUT;
	}
	destroy(&u);
	return status;
}
