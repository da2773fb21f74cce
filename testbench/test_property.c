/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_property.c - random small traces on imperfect wires and cramped NICs end as the dumb
 * reference says
 *
 * RNICSIM_PROPERTY_RUNS=N runs so many traces [2000], in as many processes as there are CPUs,
 * RNICSIM_PROPERTY_SEED=N starts with that seed [1]. A case that fails is kept as a scenario for
 * `rnicsim run`.
 */
#include <CUnit/CUnit.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/stats.h"
#include "testbench/tb_file.h"
#include "testbench/tb_judge.h"

#define RUNS 2000u
#define MAX_REPORTS 10u
#define MAX_JOBS 64u

static uint64_t number(const char *name, uint64_t def)
{
	const char *v = getenv(name);

	return v ? strtoull(v, NULL, 0) : def;
}

static void keep_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

/* Save what failed where it can be played again. */
static void keep(const struct gen_case *g, uint64_t seed, const char *what)
{
	const char *tmp = getenv("TMPDIR");
	char name[300];

	snprintf(name, sizeof(name), "%.200s/rnicsim-case-%" PRIu64 ".trace", tmp ? tmp : "/tmp",
		 seed);
	keep_file(name, g->trace);
	snprintf(name, sizeof(name), "%.200s/rnicsim-case-%" PRIu64 ".ini", tmp ? tmp : "/tmp",
		 seed);
	keep_file(name, g->ini);
	printf("seed %" PRIu64 ": %s\n  kept for `rnicsim run %s`\n", seed, what, name);
}

/* What must have happened now and then, or the traces prove nothing. */
static const char *const events[] = {
	"link0.lost",
	"link0.duplicated",
	"link0.delayed",
	"link0.late",
	"link0.corrupted",
	"nic0.requester.timeouts",
	"nic0.requester.implied_naks",
	"nic0.requester.nak_sequence",
	"nic0.requester.flushed",
	"nic0.wqe_fetch.rq_none",
	"nic1.responder.gaps",
	"nic1.responder.duplicates",
	"nic1.responder.replays",
	"nic1.responder.rnr_naks",
	"nic1.responder.dropped",
	"nic1.responder.invalidations",
	"nic1.responder.errors_found",
	"nic1.atomic.lock_waits",
	"nic1.atomic.swaps_failed",
};
#define EVENTS ARRAY_LEN(events)
#define ENOUGH_RUNS 500u /* in which all of them happen */

static void count_events(const struct tb_run *t, uint64_t *n)
{
	for (size_t i = 0; i < EVENTS; i++) {
		uint64_t v = 0;

		stats_find(&t->r.sim, events[i], &v);
		n[i] += v;
	}
}

static bool all_happened(const uint64_t *n)
{
	bool ok = true;

	for (size_t i = 0; i < EVENTS; i++) {
		if (n[i] == 0)
			printf("%s: never in all these traces\n", events[i]);
		ok &= n[i] != 0;
	}
	return ok;
}

/* Traces of one kind. */
struct lot {
	const char *const *sets;
	struct gen_want want;
};

static uint64_t *playing; /* by job: the seed that it is at; all jobs see it */

/* Traces with seeds first, first + step, ..., n of them. Returns how many are not as they must be. */
static unsigned run_seeds(uint64_t job, uint64_t first, uint64_t step, uint64_t n,
			  const struct lot *lot)
{
	static struct tb_case c;
	uint64_t seen[EVENTS] = { 0 };
	bool is_enough = n >= ENOUGH_RUNS && !lot->want.is_rarely_lossy;
	unsigned failures = 0;

	for (uint64_t seed = first; n-- && failures < MAX_REPORTS; seed += step) {
		const char *what = "it cannot be run";

		playing[job] = seed;
		if (tb_case_run(&c, seed, &lot->want, lot->sets, ORDER_FORWARD, false)) {
			what = tb_case_refer(&c);
			what = what ? what : tb_judge(&c);
		} else {
			printf("%s\n", c.run.err.text);
		}
		if (what) {
			keep(&c.gen, seed, what);
			failures++;
		}
		if (c.run.is_built)
			count_events(&c.run, seen);
		tb_case_close(&c);
	}
	return failures + (is_enough && !failures && !all_happened(seen));
}

/* In a process of its own, which ends with status 0 when all was well. */
static pid_t start_seeds(uint64_t job, uint64_t first, uint64_t step, uint64_t n,
			 const struct lot *lot)
{
	unsigned before = CU_get_number_of_failures();
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	tb_own_dir();
	exit(run_seeds(job, first, step, n, lot) || CU_get_number_of_failures() != before);
}

/* A share (in 1/100) of the traces, of 'lot', by as many processes as CPUs. */
static void run_lot(uint64_t share, const struct lot *lot)
{
	uint64_t first = number("RNICSIM_PROPERTY_SEED", 1);
	uint64_t n = (number("RNICSIM_PROPERTY_RUNS", RUNS) * share + 99) / 100;
	uint64_t jobs = min_u64(max_u64((uint64_t)sysconf(_SC_NPROCESSORS_ONLN), 1), MAX_JOBS);
	pid_t pid[MAX_JOBS];
	int status;

	playing = mmap(NULL, MAX_JOBS * sizeof(*playing), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(playing != MAP_FAILED);
	fflush(stdout);
	for (uint64_t i = 0; i < jobs; i++)
		pid[i] = start_seeds(i, first + i, jobs, (n + jobs - 1 - i) / jobs, lot);
	for (uint64_t i = 0; i < jobs; i++) {
		CU_ASSERT_FATAL(pid[i] > 0 && waitpid(pid[i], &status, 0) == pid[i]);
		CU_ASSERT_EQUAL(status, 0);
		if (WIFSIGNALED(status))
			printf("seed %" PRIu64 ": the simulator stopped\n", playing[i]);
	}
	munmap(playing, MAX_JOBS * sizeof(*playing));
}

static void run_random(uint64_t share, const char *const *sets)
{
	run_lot(share, &(struct lot){ sets, { .may_block = true } });
}

static void random_traces_end_as_the_reference(void)
{
	/* timers so long that a gap is not left to them unnoticed: tb_judge_gap.c */
	static const char *const patient[] = { "requester.rto=low_high", "requester.rto_min=1s",
					       "requester.rto_max=1s", NULL };

	run_random(58, NULL);
	run_lot(4, &(struct lot){ patient, { .is_rarely_lossy = true } });
}

static void random_traces_with_selective_repeat_end_as_the_reference(void)
{
	static const char *const sr[] = { "requester.recovery=sr", "responder.recovery=sr",
					  "responder.sr_hold=24", NULL };
	static const char *const low_high[] = {
		"requester.recovery=sr",     "responder.recovery=sr",   "requester.rto=low_high",
		"requester.rto_min=1ms",     "requester.rto_max=2ms",   "requester.bdp_cap=20",
		"requester.react_delay=1us", "responder.nak_delay=2us", NULL
	};
	/* timers so long that a timeout is never early: judge_timeouts() */
	static const char *const patient[] = { "requester.recovery=sr",  "responder.recovery=sr",
					       "requester.rto=low_high", "requester.rto_min=1s",
					       "requester.rto_max=1s",   NULL };
	static const char *const estimated[] = { "requester.rto=estimated", "requester.rto_max=8ms",
						 "requester.react_delay=2us",
						 "responder.nak_delay=2us", NULL };
	static const char *const doubling[] = { "requester.rto=doubling", "requester.rto_min=2ms",
						NULL };

	run_random(6, sr);
	run_random(4, low_high);
	run_lot(8, &(struct lot){ patient, { .is_rarely_lossy = true } });
	run_random(4, estimated);
	run_random(4, doubling);
}

static void random_traces_in_every_encapsulation_end_as_the_reference(void)
{
	static const char *const roce1[] = { "nic.encap=roce1", NULL };
	static const char *const ib[] = { "nic.encap=ib", "mac.vcrc_always=on", NULL };
	static const char *const ib_grh[] = { "nic.encap=ib_grh", "rx_parser.icrc_always=on",
					      NULL };

	run_random(4, roce1);
	run_random(4, ib);
	run_random(4, ib_grh);
}

static void same_seed_makes_the_same_case(void)
{
	struct gen_case a, b, c;

	gen_make(&a, 5, &(struct gen_want){ 0 });
	gen_make(&b, 5, &(struct gen_want){ 0 });
	gen_make(&c, 6, &(struct gen_want){ 0 });
	CU_ASSERT_STRING_EQUAL(a.trace, b.trace);
	CU_ASSERT_STRING_EQUAL(a.ini, b.ini);
	CU_ASSERT_STRING_NOT_EQUAL(a.trace, c.trace);
	gen_free(&a);
	gen_free(&b);
	gen_free(&c);
}

CU_TestInfo test_property_tests[] = {
	{ "same_seed_makes_the_same_case", same_seed_makes_the_same_case },
	{ "random_traces_end_as_the_reference", random_traces_end_as_the_reference },
	{ "random_traces_with_selective_repeat_end_as_the_reference",
	  random_traces_with_selective_repeat_end_as_the_reference },
	{ "random_traces_in_every_encapsulation_end_as_the_reference",
	  random_traces_in_every_encapsulation_end_as_the_reference },
	CU_TEST_INFO_NULL
};
