/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_netlist.c - instances from configuration, and the checks on their ports
 */
#include "testbench/tb.h"

struct word {
	uint32_t v;
};

struct node {
	struct block b;
	uint32_t size;
	struct chan *in, *out, *more[3];
};

#define T struct node
static const struct field node_fields[] = {
	PARAM(T, size, 8, 1, 16, "", "a number", "declared"), PORT_IN(T, in, word, "in"),
	PORT_OUT(T, out, word, "out"), PORT_OUT_N(T, more, 3, word, "any of three"), FIELDS_END
};
#undef T

static uint64_t node_step(struct block *b)
{
	(void)b;
	return CYCLE_NEVER;
}

static const struct block_class node_class = { .name = "node",
					       .impl = "c",
					       .size = sizeof(struct node),
					       .fields = node_fields,
					       .step = node_step };
static const struct block_class *const classes[] = { &node_class, NULL };

static void add_reads_parameters_from_configuration(void)
{
	struct config cfg;
	struct err e = { 0 };
	struct sim s;
	struct node *a, *b;

	config_init(&cfg);
	sim_init(&s, 1);
	CU_ASSERT_TRUE(config_set(&cfg, "node.size=4", &e));
	CU_ASSERT_TRUE(config_set(&cfg, "x.b.size=5", &e));
	CU_ASSERT_TRUE(config_set(&cfg, "x.b.clock=100MHz", &e));
	a = (struct node *)netlist_add(&s, classes, "node", "x.a", &cfg, 250000000, NULL, &e);
	b = (struct node *)netlist_add(&s, classes, "node", "x.b", &cfg, 250000000, NULL, &e);
	CU_ASSERT_EQUAL(a->size, 4);
	CU_ASSERT_EQUAL(b->size, 5);
	CU_ASSERT_EQUAL(a->b.clock_hz, 250000000);
	CU_ASSERT_EQUAL(b->b.clock_hz, 100000000);
	CU_ASSERT_PTR_EQUAL(netlist_find(&s, "x.b"), &b->b);
	CU_ASSERT_PTR_NULL(netlist_find(&s, "x.c"));
	sim_destroy(&s);
	config_destroy(&cfg);
}

static void add_refuses_what_is_out_of_range_or_not_built_in(void)
{
	static const char *const set[] = { "node.size=17", "node.impl=rtl", "node.impl=vhdl" };
	static const char *const said[] = { "1 to 16", "no implementation 'rtl'",
					    "must be c or rtl" };

	for (size_t i = 0; i < ARRAY_LEN(set); i++) {
		struct config cfg;
		struct err e = { 0 };
		struct sim s;

		config_init(&cfg);
		sim_init(&s, 1);
		config_set(&cfg, set[i], &e);
		CU_ASSERT_PTR_NULL(
			netlist_add(&s, classes, "node", "a", &cfg, 250000000, NULL, &e));
		CU_ASSERT_PTR_NOT_NULL(strstr(e.text, said[i]));
		sim_destroy(&s);
		config_destroy(&cfg);
	}
}

static void finish_names_the_port_that_is_open(void)
{
	struct config cfg;
	struct err e = { 0 };
	struct sim s;
	struct block *a, *b;

	config_init(&cfg);
	sim_init(&s, 1);
	a = netlist_add(&s, classes, "node", "a", &cfg, 250000000, NULL, &e);
	b = netlist_add(&s, classes, "node", "b", &cfg, 250000000, NULL, &e);
	netlist_connect(&s, a, "out", b, "in", 1, 1);
	CU_ASSERT_FALSE(netlist_finish(&s, &e));
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "a.in (word) is not connected"));
	e.is_set = false;
	netlist_connect(&s, b, "more2", a, "in", 1, 1);
	CU_ASSERT_FALSE(netlist_finish(&s, &e));
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "b.out (word) is not connected"));
	CU_ASSERT_PTR_NOT_NULL(netlist_chan(b, "more2"));
	CU_ASSERT_PTR_NULL(netlist_chan(b, "more1"));
	CU_ASSERT_PTR_NULL(netlist_chan(b, "more3"));
	sim_destroy(&s);
	config_destroy(&cfg);
}

CU_TestInfo test_netlist_tests[] = {
	{ "add_reads_parameters_from_configuration", add_reads_parameters_from_configuration },
	{ "add_refuses_what_is_out_of_range_or_not_built_in",
	  add_refuses_what_is_out_of_range_or_not_built_in },
	{ "finish_names_the_port_that_is_open", finish_names_the_port_that_is_open },
	CU_TEST_INFO_NULL,
};
