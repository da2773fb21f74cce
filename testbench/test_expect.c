/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_expect.c - each kind of `expect`, held and broken
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

#include "tools/run/expect.h"
#include "testbench/tb_pair.h"
#include "testbench/tb_system.h"

static struct tb_system t;
static struct sim sim;
static struct expect_result res;

static void set_up(const char *records)
{
	char text[2048];

	snprintf(text, sizeof(text), "%s%s", TB_TWO_HOSTS, records);
	tb_system_open(&t, text);
	tb_pair_build(&sim, NULL);
}

static void tear_down(void)
{
	expect_release(&res);
	tb_system_close(&t);
	sim_destroy(&sim);
}

static uint32_t failures(void)
{
	struct err e = { 0 };

	expect_release(&res);
	if (!expect_evaluate(t.s, &sim, &res, &e))
		CU_FAIL_FATAL(e.text);
	return res.n_failures;
}

/* The post of record 'id' of host h0, and one outcome of it. */
static void outcome(uint64_t id, enum outcome o, uint8_t status)
{
	system_outcome(t.s, ticket_find(&t.s->recs, 0, id), o, status, NULL);
}

static void expect_mem_compares_bytes(void)
{
	static const uint8_t one = 99;

	set_up("post h0.q0 id=1 op=SEND\n"
	       "expect mem h0 src:0:65536 == fill\n"
	       "expect mem h0 src:251:10000 == h0 src:0:10000\n"
	       "expect mem h1 dst:100:3 == hex:000000\n");
	CU_ASSERT_EQUAL(failures(), 0);
	space_write(t.s->hosts[0].space, 0x10000000 + 5000, &one, 1);
	space_write(t.s->hosts[1].space, 0x20000000 + 102, &one, 1);
	CU_ASSERT_EQUAL(failures(), 3);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(res.failures[0].text,
		       "system.trace:9: memory of host h0, src:0:65536: 1 bytes differ, first at "
		       "src:5000: 0x63, expected 0xe7"));
	CU_ASSERT_PTR_NOT_NULL(strstr(res.failures[2].text, "dst:102"));
	tear_down();
}

static void expect_status_wants_every_completion(void)
{
	set_up("post h0.q0 id=1 op=SEND repeat=3\nexpect h0.q0 id=1 status=SUCCESS\n");
	CU_ASSERT_EQUAL(failures(), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(res.failures[0].text, "got no completion"));
	outcome(1, OUTCOME_COMPLETED, WC_SUCCESS);
	outcome(1, OUTCOME_COMPLETED, WC_SUCCESS);
	CU_ASSERT_EQUAL(failures(), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(res.failures[0].text, "(2 were)"));
	outcome(1, OUTCOME_COMPLETED, WC_SUCCESS);
	CU_ASSERT_EQUAL(failures(), 0);
	tear_down();
}

static void expect_status_other_is_named(void)
{
	set_up("post h0.q0 id=1 op=SEND repeat=3\nexpect h0.q0 id=1 status=SUCCESS\n");
	outcome(1, OUTCOME_COMPLETED, WC_SUCCESS);
	outcome(1, OUTCOME_COMPLETED, WC_WR_FLUSH_ERR);
	outcome(1, OUTCOME_COMPLETED, WC_SUCCESS);
	CU_ASSERT_EQUAL(failures(), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(res.failures[0].text, "got WR_FLUSH_ERR"));
	tear_down();
}

/* The first failure tells why; what follows it is flushed. */
static void expect_status_of_a_repeat_names_its_first_failure(void)
{
	set_up("post h0.q0 id=1 op=SEND repeat=4\nexpect h0.q0 id=1 status=SUCCESS\n");
	outcome(1, OUTCOME_COMPLETED, WC_SUCCESS);
	outcome(1, OUTCOME_COMPLETED, WC_RETRY_EXC_ERR);
	outcome(1, OUTCOME_COMPLETED, WC_WR_FLUSH_ERR);
	outcome(1, OUTCOME_COMPLETED, WC_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(failures(), 1);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(res.failures[0].text, "got RETRY_EXC_ERR by request 2 of its repeat"));
	tear_down();
}

static void expect_error_and_none_tell_outcomes_apart(void)
{
	static const struct {
		enum outcome o;
		uint32_t n_error, n_none;
	} cases[] = { { OUTCOME_COMPLETED, 1, 1 },
		      { OUTCOME_COVERED, 1, 0 },
		      { OUTCOME_REFUSED, 0, 0 } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		set_up("post h0.q0 id=1 op=SEND\nexpect h0.q0 id=1 error=EINVAL\n");
		CU_ASSERT_EQUAL(failures(), 1);
		outcome(1, cases[i].o, WC_SUCCESS);
		CU_ASSERT_EQUAL(failures(), cases[i].n_error);
		tear_down();
		set_up("post h0.q0 id=1 op=SEND\nexpect h0.q0 id=1 none\n");
		CU_ASSERT_EQUAL(failures(), 0);
		outcome(1, cases[i].o, WC_SUCCESS);
		CU_ASSERT_EQUAL(failures(), cases[i].n_none);
		tear_down();
	}
}

static void expect_stat_compares_by_operator(void)
{
	struct err e = { 0 };

	set_up("post h0.q0 id=1 op=SEND\n"
	       "expect stat g0.giver.sent == 0\nexpect stat g0.giver.sent >= 0\n"
	       "expect stat g0.giver.sent <= 0\n"
	       "expect stat g0.giver.sent < 1\nexpect stat g0.giver.sent != 1\n"
	       "expect stat g0.giver.sent > 0\nexpect stat g0.giver.sent == 1\n");
	CU_ASSERT_EQUAL(failures(), 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(res.failures[0].text, "expected g0.giver.sent > 0, got 0"));
	tear_down();
	set_up("post h0.q0 id=1 op=SEND\nexpect stat g0.giver.lent == 0\n");
	CU_ASSERT_FALSE(expect_evaluate(t.s, &sim, &res, &e));
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "system.trace:9: "));
	tear_down();
}

CU_TestInfo test_expect_tests[] = {
	{ "expect_mem_compares_bytes", expect_mem_compares_bytes },
	{ "expect_status_wants_every_completion", expect_status_wants_every_completion },
	{ "expect_status_other_is_named", expect_status_other_is_named },
	{ "expect_status_of_a_repeat_names_its_first_failure",
	  expect_status_of_a_repeat_names_its_first_failure },
	{ "expect_error_and_none_tell_outcomes_apart", expect_error_and_none_tell_outcomes_apart },
	{ "expect_stat_compares_by_operator", expect_stat_compares_by_operator },
	CU_TEST_INFO_NULL,
};
