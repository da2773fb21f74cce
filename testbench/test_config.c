/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_config.c - what wins, and what is said about every way to get a scenario file wrong
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/config.h"
#include "testbench/tb_file.h"

static const char *const modes[] = { "poll", "event", "none", NULL };

struct dev {
	uint32_t ways, page;
	uint64_t lat, rate, until, clk;
	uint64_t loss;
	bool on;
	uint8_t mode;
	const char *trace;
};

#define T struct dev
static const struct field dev_fields[] = {
	PARAM(T, ways, 4, 1, 16, "line", "ways", "declared"),
	PARAM_BYTES(T, page, 4 * KIB, 4 * KIB, 2 * MIB, "page", "declared"),
	PARAM_TIME(T, lat, 500 * PS_PER_NS, 0, PS_PER_MS, "latency", "declared"),
	PARAM_RATE(T, rate, 100 * GBPS, GBPS, 400 * GBPS, "rate", "declared"),
	PARAM_TIME(T, until, TIME_NEVER, 1, TIME_NEVER, "end", "declared"),
	PARAM_FREQ(T, clk, 250 * MHZ, MHZ, GHZ, "clock", "declared"),
	PARAM_PROB(T, loss, 0, "loss", "declared"),
	PARAM_BOOL(T, on, 1, "switch", "declared"),
	PARAM_ENUM(T, mode, 0, modes, "mode", "declared"),
	PARAM_STR(T, trace, "trace file"),
	FIELDS_END
};
#undef T

/* Read 'text' as a scenario, apply it to instances nic0.mtt and nic1.mtt of class mtt, check that all was used. */
static bool load(const char *text, size_t len, struct config *c, struct dev *d, struct err *e)
{
	const char *path = tb_write("s.ini", text, len);

	config_init(c);
	return config_read_file(c, path, e) &&
	       config_apply(c, "nic0.mtt", "mtt", dev_fields, &d[0], e) &&
	       config_apply(c, "nic1.mtt", "mtt", dev_fields, &d[1], e) && config_check_used(c, e);
}

/* What is said about 'text', without the directory of the file. */
static const char *mistake(const char *text)
{
	static struct err e;
	struct dev d[2] = { 0 };
	struct config c;
	const char *name;

	e = (struct err){ 0 };
	if (load(text, strlen(text), &c, d, &e))
		snprintf(e.text, sizeof(e.text), "no mistake");
	config_destroy(&c);
	name = strstr(e.text, "s.ini:");
	return name ? name : e.text;
}

static void file_mistake_says_what_is_wrong_and_what_is_allowed(void)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "[mtt]\nways = 17\n",
		  "s.ini:2: mtt.ways = 17 is out of range; must be a whole number from 1 to 16 (line)" },
		{ "[mtt]\nways = 0\n",
		  "s.ini:2: mtt.ways = 0 is out of range; must be a whole number from 1 to 16 (line)" },
		{ "[mtt]\nways = -1\n",
		  "s.ini:2: mtt.ways = -1 must be a whole number from 1 to 16 (line)" },
		{ "[mtt]\nways = 4x\n",
		  "s.ini:2: mtt.ways = 4x must be a whole number from 1 to 16 (line)" },
		{ "[mtt]\nways = 4 5\n",
		  "s.ini:2: mtt.ways = 4 5 must be a whole number from 1 to 16 (line)" },
		{ "[mtt]\nways = 1.5\n",
		  "s.ini:2: mtt.ways = 1.5 is no whole number; must be a whole number from 1 to 16 (line)" },
		{ "[mtt]\nways = 0x\n",
		  "s.ini:2: mtt.ways = 0x must be a whole number from 1 to 16 (line)" },
		{ "[mtt]\nways = 99999999999999999999\n",
		  "s.ini:2: mtt.ways = 99999999999999999999 is too large; must be a whole number from 1 to 16 (line)" },
		{ "[mtt]\nways = 4294967300\n", /* 4 modulo 2^32 */
		  "s.ini:2: mtt.ways = 4294967300 is out of range; must be a whole number from 1 to 16 (line)" },
		{ "[mtt]\nways = 1e400\n",
		  "s.ini:2: mtt.ways = 1e400 is too large; must be a whole number from 1 to 16 (line)" },
		{ "[mtt]\npage = 4K\n",
		  "s.ini:2: mtt.page = 4K must be a size such as 4KiB from 4KiB to 2MiB" },
		{ "[mtt]\npage = 1KiB\n",
		  "s.ini:2: mtt.page = 1KiB is out of range; must be a size such as 4KiB from 4KiB to 2MiB" },
		{ "[mtt]\nlat = 5\n",
		  "s.ini:2: mtt.lat = 5 must be a time such as 2us from 0ps to 1ms" },
		{ "[mtt]\nlat = 0.0001ns\n",
		  "s.ini:2: mtt.lat = 0.0001ns is no whole number of picoseconds; must be a time such as 2us from 0ps to 1ms" },
		{ "[mtt]\nlat = 3 weeks\n",
		  "s.ini:2: mtt.lat = 3 weeks must be a time such as 2us from 0ps to 1ms" },
		{ "[mtt]\nuntil = 0\n",
		  "s.ini:2: mtt.until = 0 is out of range; must be a time such as 2us, at least 1ps" },
		{ "[mtt]\nuntil = 30000000s\n",
		  "s.ini:2: mtt.until = 30000000s is too large; must be a time such as 2us, at least 1ps" },
		{ "[mtt]\nrate = 100GBps\n",
		  "s.ini:2: mtt.rate = 100GBps must be a rate such as 100Gbps from 1Gbps to 400Gbps" },
		{ "[mtt]\nclk = 250mhz\n",
		  "s.ini:2: mtt.clk = 250mhz must be a frequency such as 250MHz from 1MHz to 1GHz" },
		{ "[mtt]\nloss = 2\n",
		  "s.ini:2: mtt.loss = 2 is out of range; must be a probability such as 1e-5 (steps of 1e-9) from 0 to 1" },
		{ "[mtt]\nloss = 1e-10\n",
		  "s.ini:2: mtt.loss = 1e-10 is no whole multiple of 1e-9; must be a probability such as 1e-5 (steps of 1e-9)"
		  " from 0 to 1" },
		{ "[mtt]\non = maybe\n", "s.ini:2: mtt.on = maybe must be on or off" },
		{ "[mtt]\nmode = evnet\n",
		  "s.ini:2: mtt.mode = evnet must be poll, event or none; nearest is 'event'" },
		{ "[mtt]\nwyas = 4\n",
		  "s.ini:2: unknown key 'wyas' in [mtt]; nearest is 'ways'; allowed: ways, page, lat, rate, until, clk, loss, on,"
		  " mode, trace" },
		{ "[mtt]\nbandwidth = 4\n",
		  "s.ini:2: unknown key 'bandwidth' in [mtt]; allowed: ways, page, lat, rate, until, clk, loss, on, mode, trace" },
		{ "[mt]\nways = 4\n",
		  "s.ini:2: unknown section [mt]; nearest is [mtt]; allowed: mtt" },
		{ "[nic3.mtt]\nways = 4\n",
		  "s.ini:2: unknown section [nic3.mtt]; nearest is [nic0.mtt]; allowed: mtt" },
		{ "; nothing\n\n[dma-engine]\n",
		  "s.ini:3: unknown section [dma-engine]; allowed: mtt" },
		{ "[mtt]\nways = 4\npage = 4KiB\nways = 4\n",
		  "s.ini:4: key 'ways' of [mtt] is set again; it was set in line 2" },
		{ "[mtt]\nways = 4\n[nic0.mtt]\nways=2\n[mtt]\nways = 5",
		  "s.ini:6: key 'ways' of [mtt] is set again; it was set in line 2" },
		{ "[mtt]\nways =\n", "s.ini:2: key 'ways' has no value; must be ways = VALUE" },
		{ "[mtt]\nways = ; four\n",
		  "s.ini:2: key 'ways' has no value; must be ways = VALUE" },
		{ "[mtt]\ntrace =   \n",
		  "s.ini:2: key 'trace' has no value; must be trace = VALUE" },
		{ "[mtt]\n= 4\n",
		  "s.ini:2: '' is no key; allowed are 1 to 48 letters, digits, '_', '-' and '.'" },
		{ "[mtt]\nthe ways = 4\n",
		  "s.ini:2: 'the ways' is no key; allowed are 1 to 48 letters, digits, '_', '-' and '.'" },
		{ "[mtt]\nways: 4\n",
		  "s.ini:2: 'ways: 4' is neither [section] nor key = value nor a comment (; #)" },
		{ "[mtt]\nways\n",
		  "s.ini:2: 'ways' is neither [section] nor key = value nor a comment (; #)" },
		{ "ways = 4\n", "s.ini:1: key 'ways' stands before the first [section]" },
		{ "[mtt\nways = 4\n",
		  "s.ini:1: '[mtt' is no section header; must be [name] alone on its line" },
		{ "[mtt] ways = 4\n",
		  "s.ini:1: '[mtt] ways = 4' is no section header; must be [name] alone on its line" },
		{ "[]\n",
		  "s.ini:1: '' is no section name; allowed are 1 to 48 letters, digits, '_', '-' and '.'" },
		{ "[m/t]\n",
		  "s.ini:1: 'm/t' is no section name; allowed are 1 to 48 letters, digits, '_', '-' and '.'" },
		{ "[mtt]\r\nways\x01= 4\r\n",
		  "s.ini:2: byte 0x01 is not text; a scenario is a text file of [section] and key = value" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *says = mistake(cases[i].text);

		CU_ASSERT_STRING_EQUAL(says, cases[i].says);
		if (strcmp(says, cases[i].says) != 0)
			fprintf(stderr, "\nwant: %s\n got: %s\n", cases[i].says, says);
	}
}

static void file_of_every_form_is_taken(void)
{
	static const char text[] = "\xef\xbb\xbf; a comment\n# another ; with = [signs]\n\n"
				   "  [ mtt ]\t; indented\r\n"
				   "\tways=0x8;not a comment is out of range\n";
	static const char good[] =
		"\xef\xbb\xbf; a comment\n# another ; with = [signs]\n\n"
		"  [ mtt ]\t; indented\r\n"
		"\tways = 0x8 # eight\n"
		"    page = 64 KiB ; indented as a continuation would be\n"
		"lat=1.5us\nrate = 14.0625Gbps\nuntil = 10ms\nclk = 322.265625MHz\nloss = 1e-5\non = OFF\nmode = event\n"
		"trace = a;b#c d.trace ; name with signs\n"
		"[nic1.mtt]\nways = 2";
	struct dev d[2] = { 0 };
	struct err e = { 0 };
	struct config c;

	CU_ASSERT_STRING_EQUAL(
		mistake(text),
		"s.ini:5: mtt.ways = 0x8;not a comment is out of range must be a whole "
		"number from 1 to 16 (line)");
	CU_ASSERT_FATAL(load(good, sizeof(good) - 1, &c, d, &e));
	CU_ASSERT_EQUAL(d[0].ways, 8);
	CU_ASSERT_EQUAL(d[1].ways, 2);
	CU_ASSERT_EQUAL(d[0].page, 65536);
	CU_ASSERT_EQUAL(d[0].lat, 1500000);
	CU_ASSERT_EQUAL(d[0].rate, 14062500000);
	CU_ASSERT_EQUAL(d[0].until, 10 * PS_PER_MS);
	CU_ASSERT_EQUAL(d[0].clk, 322265625);
	CU_ASSERT_EQUAL(d[0].loss, 10000);
	CU_ASSERT_FALSE(d[0].on);
	CU_ASSERT_EQUAL(d[0].mode, 1);
	CU_ASSERT_STRING_EQUAL(d[0].trace, "a;b#c d.trace");
	CU_ASSERT(config_has_section(&c, "nic1"));
	CU_ASSERT(config_has_section(&c, "mtt"));
	CU_ASSERT_FALSE(config_has_section(&c, "nic"));
	config_destroy(&c);
}

static void empty_file_gives_defaults(void)
{
	struct dev d[2] = { { .trace = "kept" }, { 0 } };
	struct err e = { 0 };
	struct config c;

	CU_ASSERT(load("", 0, &c, d, &e));
	CU_ASSERT_EQUAL(d[0].ways, 4);
	CU_ASSERT_EQUAL(d[0].until, TIME_NEVER);
	CU_ASSERT_EQUAL(d[0].rate, 100 * GBPS);
	CU_ASSERT(d[0].on);
	CU_ASSERT_STRING_EQUAL(d[0].trace, "kept");
	config_destroy(&c);
}

static void missing_file_and_directory_are_mistakes(void)
{
	struct err e = { 0 }, f = { 0 };
	struct config c;

	config_init(&c);
	CU_ASSERT_FALSE(config_read_file(&c, "no/such/file.ini", &e));
	CU_ASSERT_STRING_EQUAL(e.text, "no/such/file.ini: cannot open: No such file or directory");
	CU_ASSERT_FALSE(config_read_file(&c, "/", &f));
	CU_ASSERT_STRING_EQUAL(f.text, "/: cannot read: Is a directory");
	config_destroy(&c);
}

static void long_line_is_a_mistake_and_its_limit_is_taken(void)
{
	static char text[10000];
	struct dev d[2] = { 0 };
	struct err e = { 0 };
	struct config c;

	memset(text, 'x', sizeof(text));
	memcpy(text, "[mtt]\ntrace=", 12);
	text[6 + 4000] = '\n'; /* the line has 4000 characters */
	CU_ASSERT(load(text, 6 + 4001, &c, d, &e));
	CU_ASSERT_EQUAL(strlen(d[0].trace), 4000 - 6);
	config_destroy(&c);
	text[6 + 4000] = 'x';
	CU_ASSERT_FALSE(load(text, sizeof(text), &c, d, &e));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(e.text, "s.ini:2: line is longer than the 4000 characters allowed"));
	config_destroy(&c);
}

/* Any bytes give settings or a mistake with a place, never anything else (the sanitizers watch). */
static void random_bytes_never_crash(void)
{
	static const char alphabet[] = "[]=;# \t\n\n\nmtwaysnic0.-x19eKiB\r\"";
	struct rng r;

	rng_seed(&r, "bytes", 1);
	for (unsigned i = 0; i < 1500; i++) {
		char text[400];
		size_t n = rng_below(&r, sizeof(text));
		struct dev d[2] = { 0 };
		struct err e = { 0 };
		struct config c;

		for (size_t k = 0; k < n; k++)
			text[k] = rng_chance(&r, PPB_ONE / 200 * (i % 3))
					  ? (char)rng_next(&r)
					  : alphabet[rng_below(&r, sizeof(alphabet) - 1)];
		CU_ASSERT(load(text, n, &c, d, &e) != e.is_set);
		CU_ASSERT(!e.is_set || strstr(e.text, "s.ini:"));
		config_destroy(&c);
	}
}

/* ways of nic0.mtt with these settings in force; an empty string leaves one out. */
static uint32_t ways_with(const char *profile, const char *file, const char *set1, const char *set2)
{
	struct err e = { 0 };
	struct dev d = { 0 };
	struct config c;

	config_init(&c);
	if (*set1)
		CU_ASSERT(config_set(&c, set1, &e));
	if (*profile)
		CU_ASSERT(config_read_profile(&c, tb_write("p.ini", profile, strlen(profile)),
					      "nic0", &e));
	if (*file)
		CU_ASSERT(config_read_file(&c, tb_write("s.ini", file, strlen(file)), &e));
	if (*set2)
		CU_ASSERT(config_set(&c, set2, &e));
	CU_ASSERT(config_apply(&c, "nic0.mtt", "mtt", dev_fields, &d, &e));
	CU_ASSERT(config_check_used(&c, &e));
	config_destroy(&c);
	return d.ways;
}

static void setting_of_higher_rank_then_more_special_then_later_wins(void)
{
	static const char profile[] = "[mtt]\nways = 2\n", file[] = "[mtt]\nways = 3\n";
	static const char special[] = "[nic0.mtt]\nways = 5\n[mtt]\nways = 3\n";

	CU_ASSERT_EQUAL(ways_with("", "", "", ""), 4);
	CU_ASSERT_EQUAL(ways_with(profile, "", "", ""), 2);
	CU_ASSERT_EQUAL(ways_with(profile, file, "", ""), 3);
	CU_ASSERT_EQUAL(ways_with(profile, special, "", ""), 5);
	CU_ASSERT_EQUAL(ways_with(profile, special, "mtt.ways=6", ""), 6);
	CU_ASSERT_EQUAL(ways_with(profile, special, "mtt.ways=6", "mtt.ways=7"), 7);
	CU_ASSERT_EQUAL(ways_with(profile, special, "nic0.mtt.ways=6", "mtt.ways=7"), 6);
}

static void profile_holds_for_its_group_only(void)
{
	static const char p0[] = "[mtt]\nways = 2 ; documented: here\n[nic]\npage=8KiB",
			  p1[] = "[mtt]\nways = 3\n";
	struct dev a, b, nic;
	struct err e = { 0 };
	struct config c;

	config_init(&c);
	CU_ASSERT(config_read_profile(&c, tb_write("p0.ini", p0, strlen(p0)), "nic0", &e));
	CU_ASSERT(config_read_profile(&c, tb_write("p1.ini", p1, strlen(p1)), "nic01", &e));
	CU_ASSERT(config_apply(&c, "nic0.mtt", "mtt", dev_fields, &a, &e));
	CU_ASSERT(config_apply(&c, "nic01.mtt", "mtt", dev_fields, &b, &e));
	CU_ASSERT_FALSE(config_check_used(&c, &e));
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "p0.ini:4: unknown section [nic]"));
	e.is_set = false;
	CU_ASSERT(config_apply(&c, "nic0", "nic", dev_fields, &nic, &e));
	CU_ASSERT(config_check_used(&c, &e));
	CU_ASSERT_EQUAL(a.ways, 2);
	CU_ASSERT_EQUAL(a.page, 4096);
	CU_ASSERT_EQUAL(nic.page, 8192);
	CU_ASSERT_EQUAL(nic.ways, 4);
	CU_ASSERT_EQUAL(b.ways, 3);
	config_destroy(&c);
}

/* Two instances of one class: each may be set by its own name in all groups. */
static void instance_name_is_more_special_than_its_class(void)
{
	struct dev tx, rx;
	struct err e = { 0 };
	struct config c;

	config_init(&c);
	CU_ASSERT(config_set(&c, "qpc_tx.ways=2", &e));
	CU_ASSERT(config_set(&c, "qpc_cache.ways=3", &e));
	CU_ASSERT(config_apply(&c, "nic0.qpc_tx", "qpc_cache", dev_fields, &tx, &e));
	CU_ASSERT(config_apply(&c, "nic0.qpc_rx", "qpc_cache", dev_fields, &rx, &e));
	CU_ASSERT_EQUAL(tx.ways, 2);
	CU_ASSERT_EQUAL(rx.ways, 3);
	CU_ASSERT(config_check_used(&c, &e));
	config_destroy(&c);
}

static void bad_value_is_a_mistake_even_where_another_wins(void)
{
	CU_ASSERT_STRING_EQUAL(
		mistake("[mtt]\nways = 99\n[nic0.mtt]\nways = 2\n"),
		"s.ini:2: mtt.ways = 99 is out of range; must be a whole number from 1 to 16 (line)");
}

static void command_line_setting_must_have_three_parts(void)
{
	static const char *const bad[] = { "",         "=",          "ways=4",
					   "mtt.ways", "mtt.ways=",  ".ways=4",
					   "mtt.=4",   "m t.ways=4", "mtt=a.b" };
	struct config c;
	char want[200];

	config_init(&c);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err e = { 0 };

		CU_ASSERT_FALSE(config_set(&c, bad[i], &e));
		snprintf(want, sizeof(want),
			 "--set: '%s' is not section.key=value, for example mtt.ways=4", bad[i]);
		CU_ASSERT_STRING_EQUAL(e.text, want);
	}
	config_destroy(&c);
}

static void command_line_mistake_names_the_option(void)
{
	struct err e = { 0 }, f = { 0 };
	struct config c;
	struct dev d;

	config_init(&c);
	CU_ASSERT(config_set(&c, " nic0.mtt.ways = 20", &e));
	CU_ASSERT_FALSE(config_apply(&c, "nic0.mtt", "mtt", dev_fields, &d, &e));
	CU_ASSERT_STRING_EQUAL(
		e.text,
		"--set: nic0.mtt.ways = 20 is out of range; must be a whole number from 1 to 16 (line)");
	config_destroy(&c);
	CU_ASSERT(config_set(&c, "mtt.pgae=4KiB", &f));
	CU_ASSERT(config_apply(&c, "nic0.mtt", "mtt", dev_fields, &d, &f));
	CU_ASSERT_FALSE(config_check_used(&c, &f));
	CU_ASSERT_PTR_NOT_NULL(strstr(
		f.text,
		"--set: unknown key 'pgae' in [mtt]; nearest is 'page'; allowed: ways, page"));
	config_destroy(&c);
}

static void lookup_marks_used_and_offers_the_key(void)
{
	struct err e = { 0 };
	struct config c;
	const struct setting *s;

	config_init(&c);
	CU_ASSERT(config_set(&c, "nic1.host=h0", &e));
	CU_ASSERT_PTR_NULL(config_lookup(&c, "nic0", "nic", "host"));
	CU_ASSERT_FALSE(config_check_used(&c, &e));
	CU_ASSERT_STRING_EQUAL(e.text,
			       "--set: unknown section [nic1]; nearest is [nic]; allowed: nic");
	e.is_set = false;
	s = config_lookup(&c, "nic1", "nic", "host");
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_STRING_EQUAL(s->value, "h0");
	CU_ASSERT(config_check_used(&c, &e));
	config_destroy(&c);
}

CU_TestInfo test_config_tests[] = {
	{ "file mistake says what is wrong and what is allowed",
	  file_mistake_says_what_is_wrong_and_what_is_allowed },
	{ "file of every form is taken", file_of_every_form_is_taken },
	{ "empty file gives defaults", empty_file_gives_defaults },
	{ "missing file and directory", missing_file_and_directory_are_mistakes },
	{ "long line", long_line_is_a_mistake_and_its_limit_is_taken },
	{ "random bytes never crash", random_bytes_never_crash },
	{ "rank, then special, then later wins",
	  setting_of_higher_rank_then_more_special_then_later_wins },
	{ "profile holds for its group only", profile_holds_for_its_group_only },
	{ "instance name is more special than its class",
	  instance_name_is_more_special_than_its_class },
	{ "bad value is a mistake even where another wins",
	  bad_value_is_a_mistake_even_where_another_wins },
	{ "command line setting must have three parts",
	  command_line_setting_must_have_three_parts },
	{ "command line mistake names the option", command_line_mistake_names_the_option },
	{ "lookup marks used and offers the key", lookup_marks_used_and_offers_the_key },
	CU_TEST_INFO_NULL
};
