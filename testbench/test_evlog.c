/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_evlog.c - events and spans as a timeline
 */
#include <CUnit/CUnit.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "sim/evlog.h"
#include "testbench/tb_file.h"
#include "testbench/tb_pair.h"

static const char *const sets[] = { "giver.n=2", "g1.giver.is_loud=off", NULL };

/* A run with a log; returns the file. */
static char *run(enum step_order order)
{
	const char *path = tb_path("t.json");
	struct err e = { 0 };
	struct evlog *l;
	struct sim s;
	uint32_t track, lane;

	tb_pair_build(&s, sets);
	s.order = order;
	l = evlog_open(&s, path, &e);
	CU_ASSERT_PTR_NOT_NULL_FATAL(l);
	track = evlog_track(l, "h0", "q\"0");
	sim_run(&s);
	lane = evlog_lane(l, track, 1500000, 4000000);
	evlog_span(l, lane, "post", 1500000, 2500000, "\"id\":7");
	CU_ASSERT(evlog_close(l, &e));
	sim_destroy(&s);
	return tb_read(path);
}

static void timeline_has_this_text(void)
{
	static const char want[] =
		"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
		"{\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":1,\"ts\":0.000000,\"name\":\"give\",\"args\":{\"value\":0,\"left\":1}},\n"
		"{\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":1,\"ts\":0.004000,\"name\":\"give\",\"args\":{\"value\":10,\"left\":0}},\n"
		"{\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":1,\"ts\":0.004000,\"name\":\"done\",\"args\":{}},\n"
		"{\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":2,\"ts\":0.004000,\"name\":\"take\",\"args\":{\"value\":0}},\n"
		"{\"ph\":\"i\",\"s\":\"t\",\"pid\":2,\"tid\":3,\"ts\":0.004000,\"name\":\"done\",\"args\":{}},\n"
		"{\"ph\":\"i\",\"s\":\"t\",\"pid\":2,\"tid\":4,\"ts\":0.004000,\"name\":\"take\",\"args\":{\"value\":0}},\n"
		"{\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":2,\"ts\":0.008000,\"name\":\"take\",\"args\":{\"value\":10}},\n"
		"{\"ph\":\"i\",\"s\":\"t\",\"pid\":2,\"tid\":4,\"ts\":0.008000,\"name\":\"take\",\"args\":{\"value\":10}},\n"
		"{\"ph\":\"X\",\"pid\":3,\"tid\":1000000,\"ts\":1.500000,\"dur\":2.500000,\"name\":\"post\",\"args\":{\"id\":7}},\n"
		"{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"g0\"}},\n";
	char *text = run(ORDER_FORWARD);
	json_t *v;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT(strncmp(text, want, sizeof(want) - 1) == 0);
	v = json_loads(text, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL(v);
	/* 8 events, a span, 3 processes, and name and order of 4 blocks and one lane */
	CU_ASSERT_EQUAL(json_array_size(json_object_get(v, "traceEvents")), 8 + 1 + 3 + 2 * 5);
	json_decref(v);
	free(text);
}

static void timeline_does_not_depend_on_step_order(void)
{
	char *first = run(ORDER_FORWARD);

	CU_ASSERT_PTR_NOT_NULL_FATAL(first);
	for (unsigned order = ORDER_REVERSED; order <= ORDER_SHUFFLED; order++) {
		char *text = run((enum step_order)order);

		CU_ASSERT_PTR_NOT_NULL_FATAL(text);
		CU_ASSERT_STRING_EQUAL(text, first);
		free(text);
	}
	free(first);
}

static void timeline_aborted_leaves_no_file(void)
{
	struct err e = { 0 };
	struct evlog *l;
	struct sim s;

	tb_pair_build(&s, NULL);
	l = evlog_open(&s, tb_path("gone.json"), &e);
	CU_ASSERT_PTR_NOT_NULL_FATAL(l);
	sim_run(&s);
	evlog_abort(l);
	evlog_abort(NULL);
	CU_ASSERT_EQUAL(tb_count_files("gone"), 0);
	CU_ASSERT_PTR_NULL(evlog_open(&s, "no/such/dir/t.json", &e));
	CU_ASSERT_STRING_EQUAL(e.text,
			       "no/such/dir/t.json: cannot write: No such file or directory");
	CU_ASSERT_FALSE(block_events_on);
	sim_destroy(&s);
}

static void log_without_file_keeps_the_last_events(void)
{
	struct event_rec r[100];
	struct err e = { 0 };
	struct evlog *l;
	struct sim s;

	tb_pair_build(&s, (const char *const[]){ "giver.n=100", "g1.giver.n=0", NULL });
	l = evlog_open(&s, NULL, &e);
	sim_run(&s);
	CU_ASSERT_EQUAL(evlog_last(l, r, 100), 64);
	CU_ASSERT_EQUAL(evlog_last(l, r, 2), 2);
	CU_ASSERT_EQUAL(r[1].block, 1); /* the taker takes the last note */
	CU_ASSERT_EQUAL(r[1].event, 0);
	CU_ASSERT_EQUAL(r[1].a0, 990);
	CU_ASSERT_EQUAL(r[1].ps, 400000);
	CU_ASSERT_EQUAL(r[0].ps, 396000);
	CU_ASSERT(evlog_close(l, &e));
	sim_destroy(&s);
}

static void fail_with_log(void)
{
	struct err e = { 0 };
	struct sim s;

	tb_pair_build(&s, sets);
	evlog_open(&s, NULL, &e);
	sim_run(&s);
	SIM_CHECK(s.seed == 0, s.blocks[1]);
}

static void failed_check_prints_the_last_events(void)
{
	char text[4000];

	CU_ASSERT(tb_aborts(fail_with_log, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "last 8 events:\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "4000 ps  g0.giver give \"value\":10,\"left\":0\n"));
}

struct span {
	uint64_t from, to;
	uint32_t lane;
};

/* True when no two spans of a lane overlap and there are no more lanes than spans at one time. */
static bool are_fewest_lanes(const struct span *s, unsigned n)
{
	uint32_t lanes = 0, deepest = 0;

	for (unsigned i = 0; i < n; i++) {
		uint32_t depth = 0;

		for (unsigned k = 0; k < n; k++) {
			if (k != i && s[k].lane == s[i].lane && s[k].from < s[i].to &&
			    s[i].from < s[k].to)
				return false;
			depth += s[k].from <= s[i].from && s[i].from < s[k].to;
		}
		deepest = (uint32_t)max_u64(deepest, depth);
		lanes = (uint32_t)max_u64(lanes, s[i].lane + 1);
	}
	return lanes == deepest;
}

static void lanes_never_overlap_and_are_fewest(void)
{
	enum { N = 400 };
	static struct span span[N];
	struct err e = { 0 };
	struct evlog *l;
	struct sim s;
	struct rng r;
	uint32_t track;

	rng_seed(&r, "lanes", 1);
	tb_pair_build(&s, NULL);
	l = evlog_open(&s, NULL, &e);
	track = evlog_track(l, "h0", "q0");
	for (unsigned i = 0; i < N; i++) { /* in the order of their ends */
		span[i].to = 10000 + i * 10;
		span[i].from = span[i].to - 1 - rng_below(&r, 200);
		span[i].lane = evlog_lane(l, track, span[i].from, span[i].to);
	}
	CU_ASSERT(are_fewest_lanes(span, N));
	/* seeded fault: one span in the wrong lane */
	span[N / 2].lane++;
	CU_ASSERT_FALSE(are_fewest_lanes(span, N));
	evlog_abort(l);
	sim_destroy(&s);
}

CU_TestInfo test_evlog_tests[] = {
	{ "timeline has this text", timeline_has_this_text },
	{ "timeline does not depend on step order", timeline_does_not_depend_on_step_order },
	{ "timeline aborted leaves no file", timeline_aborted_leaves_no_file },
	{ "log without file keeps the last events", log_without_file_keeps_the_last_events },
	{ "failed check prints the last events", failed_check_prints_the_last_events },
	{ "lanes never overlap and are fewest", lanes_never_overlap_and_are_fewest },
	CU_TEST_INFO_NULL
};
