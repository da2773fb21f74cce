/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_main.c - the program as its user meets it: messages, exit statuses, files
 *
 * Runs the rnicsim, and the one with sanitizers, that stand beside the test program.
 */
#include <CUnit/CUnit.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/err.h"
#include "sim/units.h"
#include "testbench/tb_file.h"
#include "testbench/tb_program.h"

static const char setup[] = "rnicsim-trace 1\n"
			    "host h0\n"
			    "host h1\n"
			    "mr h0 src va=0x10000000 len=64KiB access=lw fill=inc\n"
			    "mr h1 dst va=0x20000000 len=64KiB access=lw,rw fill=zero\n"
			    "qp h0 q0 type=RC peer=h1.q0 mtu=1024\n"
			    "qp h1 q0 type=RC peer=h0.q0 mtu=1024\n"
			    "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:3000 remote=dst:0\n"
			    "expect h0.q0 id=1 status=SUCCESS\n";

/* ---- files ---- */

static void write_text(const char *name, const char *text)
{
	tb_write(name, text, strlen(text));
}

static void write_inputs(void)
{
	char text[1024];

	write_text("ok.trace", setup);
	snprintf(text, sizeof(text), "%sexpect mem h1 dst:0:3000 == h0 src:1:3000\n", setup);
	write_text("false.trace", text);
	snprintf(text, sizeof(text), "%spsot h0.q0 id=2 op=RDMA_WRITE sge=src:0:8 remote=dst:0\n",
		 setup);
	write_text("bad.trace", text);
	write_text("ok.ini", "[scenario]\ntrace = ok.trace\n");
	write_text("false.ini", "[scenario]\ntrace = false.trace\n");
	write_text("bad.ini", "[scenario]\ntrace = bad.trace\n");
	write_text("gone.ini", "[scenario]\ntrace = gone.trace\n");
	write_text("none.ini", "[mtt]\nways = 2\n");
	write_text("line.ini", "[scenario]\ntrace = ok.trace\n\nthis is not a setting\n");
	write_text("range.ini", "[scenario]\ntrace = ok.trace\n[mtt]\nways = 2000000\n");
	write_text("key.ini", "[scenario]\ntrace = ok.trace\n[mtt]\nwayz = 4\n");
	write_text("section.ini", "[scenario]\ntrace = ok.trace\n[mtd]\nways = 4\n");
	write_text("self.ini", "[scenario]\ntrace = ok.trace\n[link0]\na = nic0\nb = nic0\n");
	write_text("end.ini", "[scenario]\ntrace = ok.trace\n[link0]\na = nic0\n");
	write_text("unlike.ini", "[scenario]\ntrace = ok.trace\n[nic0]\nencap = ib\n"
				 "[link0]\na = nic0\nb = nic1\n");
	write_text("three.ini", "[scenario]\ntrace = three.trace\n[link0]\na = nic0\nb = nic1\n");
	write_text("three.trace", "rnicsim-trace 1\nhost h0\nhost h1\nhost h2\n");
	write_text("binary.ini", "[scenario]\ntrace = ok.trace\n\001\002\003\n");
	write_text("stdout", "");
	write_text("stderr", "");
}

/* Files in the folder 'name' of the scratch directory; -1 when there is none. Removed as well when asked for. */
static int files_in(const char *name, bool is_removed)
{
	char *path = x_strdup(tb_path(name));
	DIR *l = opendir(path);
	struct dirent *d;
	int n = l ? 0 : -1;

	while (l && (d = readdir(l)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		n++;
		if (is_removed)
			unlinkat(dirfd(l), d->d_name, 0);
	}
	if (l)
		closedir(l);
	if (is_removed)
		rmdir(path);
	free(path);
	return n;
}

/* ---- mistakes ---- */

static const struct mistake {
	const char *args, *text; /* text: in what stderr says */
} mistakes[] = {
	{ "", "usage: rnicsim COMMAND" },
	{ "runn", "unknown command 'runn', did you mean 'run'?" },
	{ "--frob", "unknown command '--frob'" },
	/* scenario files */
	{ "run", "which scenario?" },
	{ "run @gone.txt", "/gone.txt: cannot open: No such file or directory" },
	{ "run @", "cannot read: Is a directory" },
	{ "run @ok.ini @ok.ini", "one scenario at a time" },
	{ "run @none.ini", "/none.ini: [scenario] names no trace" },
	{ "run @line.ini", "/line.ini:4: 'this is not a setting' is neither" },
	{ "run @range.ini", "/range.ini:4: mtt.ways = 2000000 is out of range" },
	{ "run @key.ini", "/key.ini:4: unknown key 'wayz' in [mtt]; nearest is 'ways'" },
	{ "run @section.ini", "/section.ini:4: unknown section [mtd]; nearest is [mtt]" },
	{ "run @binary.ini", "/binary.ini:3: byte 0x01 is not text" },
	/* traces */
	{ "run @gone.ini", "/gone.trace: cannot open: No such file or directory" },
	{ "run @bad.ini", "/bad.trace:10: unknown record 'psot', did you mean 'post'?" },
	{ "run @ok.ini --trace @gone.trace", "/gone.trace: cannot open" },
	{ "trace", "usage: rnicsim trace" },
	{ "trace check @gone.trace", "/gone.trace: cannot open" },
	{ "trace check @bad.trace", "/bad.trace:10: unknown record 'psot'" },
	{ "trace gen --ops sing -o @x.trace", "--ops sing: must be" },
	{ "trace gen --cuont 4 -o @x.trace", "unknown option '--cuont', did you mean '--count'?" },
	{ "trace gen --count 0 -o @x.trace", "--count 0: must be 1 to" },
	{ "trace gen -o @no/x.trace", "/no/x.trace: cannot write: No such file or directory" },
	{ "trace gen -o", "trace gen: -o wants a value" },
	{ "trace gen --size", "trace gen: --size wants a value" },
	{ "trace gen --window 4 --signal 9", "must be 1 to 4" },
	{ "trace look @ok.trace", "trace: unknown 'look'; allowed: info, check, gen, convert" },
	{ "trace convert @gone.jsonl -o @x.trace", "/gone.jsonl: cannot open" },
	{ "trace convert @stdout -o @x.trace", "/stdout: no queue pair is created in it" },
	{ "trace convert @stdout --gaps 5", "--gaps 5: must be a time of 1ns or more" },
	{ "trace convert @stdout --final x", "--final x: must be ENDPOINT=IMAGE" },
	{ "trace convert @stdout --frob x", "unknown option '--frob'; allowed: -o, --gaps" },
	{ "trace convert @stdout @ok.trace", "one recording at a time" },
	{ "trace convert @stdout -o", "-o wants a value" },
	/* options */
	{ "run @ok.ini --wavee x", "unknown option '--wavee', did you mean '--wave'?" },
	{ "run @ok.ini --wave", "--wave wants a value" },
	{ "run @ok.ini --set", "--set wants a value" },
	{ "run @ok.ini --order sideways", "allowed: forward, reversed, shuffled" },
	{ "run @ok.ini --until 5", "must be a time such as 2us" },
	{ "run @ok.ini --seed x", "must be a whole number" },
	{ "run @ok.ini -o  --quiet", "-o wants a value" },
	{ "perf write_lat --out ", "--out wants a value" },
	{ "run @ok.ini --pcap @ok.ini", "/ok.ini' is an input as well; allowed: another file" },
	{ "run @ok.ini --timeline @./ok.trace", "/./ok.trace' is an input as well" },
	{ "run @ok.ini --trace @ok.trace --pcap @ok.trace", "/ok.trace' is an input as well" },
	{ "run @ok.ini --pcap @x --timeline @x", "two outputs are named" },
	{ "run @ok.ini --pcap @x --timeline @./x", "two outputs are named" },
	{ "run @ok.ini -o @x --pcap @x/ops.csv", "/x/ops.csv' is a file that -o " },
	{ "run @ok.ini -o @. --timeline @summary.json", "/summary.json' is a file that -o " },
	{ "run @end.ini", "/end.ini:4: [link0] has no end 'b'; allowed: a = nic0 and b = nic1" },
	{ "run @self.ini", "/self.ini:5: [link0] joins nic0 with itself" },
	{ "run @ok.ini --set link.rate=1kbps",
	  "rate = 1000bps is no rate of a line; allowed: 1Mbps to 3200Gbps" },
	{ "run @unlike.ini", "/unlike.ini:7: [link0] joins nic0, whose encap is ib, with nic1" },
	{ "run @three.ini", "/three.trace:4: host h2 (nic2) has no link" },
	{ "run @ok.ini --set nonsense", "'nonsense' is not section.key=value" },
	{ "run @ok.ini --set =", "'=' is not section.key=value" },
	{ "run @ok.ini --set mtt.ways=", "'mtt.ways=' is not section.key=value" },
	{ "run @ok.ini --set mtt.ways=2000000",
	  "mtt.ways = 2000000 is out of range; must be a whole number from 1 to" },
	{ "run @ok.ini --set mtt.ways=four", "mtt.ways = four must be a whole number" },
	{ "run @ok.ini --set mtt.wayz=4",
	  "unknown key 'wayz' in [mtt]; nearest is 'ways'; allowed: " },
	{ "run @ok.ini --set mtd.ways=4", "unknown section [mtd]; nearest is [mtt]" },
	{ "run @ok.ini --set nic7.mtt.ways=4", "unknown section [nic7.mtt]" },
	{ "run @ok.ini --set mtt.impl=verilog", "mtt.impl = verilog must be c or rtl" },
	{ "run @ok.ini --set nic.profile=abacus", "there is no profile 'abacus'" },
	{ "run @ok.ini --set nic.profile=./gone.ini",
	  "profile './gone.ini': cannot open: No such file or directory; allowed: " },
	{ "calibrate --csv --json", "calibrate: --csv and --json; allowed: one of them" },
	{ "pcie-bench bw_rd -s 4096 -w 64", "pcie-bench: a window of 64 B is too small" },
	{ "pcie-bench bw_rd --histogram",
	  "pcie-bench: --histogram: allowed with lat_rd, lat_wrrd" },
	{ "describe mtt --sv --json", "--sv and --json; allowed: one of them" },
	{ "run @ok.ini --set link.los=1e-3", "unknown key 'los' in [link]; nearest is 'loss'" },
	{ "describe abacus", "describe: unknown block 'abacus'; allowed: " },
	/* outputs */
	{ "run @ok.ini -o @ok.ini/x", "cannot make the folder: Not a directory" },
	{ "run @ok.ini --wave @x.wav", "/x.wav: unknown kind of waveform" },
	{ "run @ok.ini --wave @no/x.vcd",
	  "/no/x.vcd: cannot be written: No such file or directory" },
	{ "run @ok.ini --pcap @no/x.pcapng",
	  "/no/x.pcapng: cannot write: No such file or directory" },
	{ "run @ok.ini --timeline @no/x.json",
	  "/no/x.json: cannot write: No such file or directory" },
	{ "run @ok.ini --pcap /dev/full", "/dev/full: cannot write: No space left on device" },
	{ "run @ok.ini --timeline /dev/full", "/dev/full: cannot write: No space left on device" },
	{ "run @bad.ini --wave @x.vcd --pcap @x.pcapng --timeline @x.json", "/bad.trace:10: " },
};

static void check_mistakes(char *program)
{
	unsigned files;

	write_inputs();
	files = tb_count_files("");
	for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
		const struct mistake *m = &mistakes[i];
		struct tb_ended r = tb_program_run(program, m->args);

		CU_ASSERT_EQUAL(r.status, 2);
		CU_ASSERT_PTR_NOT_NULL(strstr(r.err, m->text));
		CU_ASSERT_STRING_EQUAL(r.out, "");
		CU_ASSERT_EQUAL(tb_count_files(""), files);
		if (r.status != 2 || !strstr(r.err, m->text) || tb_count_files("") != files)
			fprintf(stderr, "\n%s %s: status %d: %s\n", program, m->args, r.status,
				r.err);
		tb_ended_release(&r);
	}
}

static void main_mistakes_are_named_and_leave_no_file(void)
{
	tb_programs_each(check_mistakes);
}

static void check_full_output(char *program)
{
	static const char *const args[] = { "run @ok.ini",          "describe",
					    "describe mtt",         "trace gen --count 5",
					    "trace info @ok.trace", "help" };

	write_inputs();
	for (size_t i = 0; i < ARRAY_LEN(args); i++) {
		struct tb_ended r = tb_program_run_to(program, args[i], "/dev/full");

		CU_ASSERT_EQUAL(r.status, 2);
		CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "standard output"));
		tb_ended_release(&r);
	}
}

static void main_full_standard_output_is_a_mistake(void)
{
	tb_programs_each(check_full_output);
}

/* A file above the shell's limit (ulimit -f) is one that cannot be written. */
static void check_limit(char *program)
{
	struct rlimit was, low;
	struct tb_ended r;

	write_inputs();
	fflush(NULL); /* until the limit is lifted this process writes to no file itself */
	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &was), 0);
	low = (struct rlimit){ 4096, was.rlim_max };
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &low), 0);
	r = tb_program_run(program, "run @ok.ini -o @out");
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &was), 0);
	CU_ASSERT_EQUAL(r.status, 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "/out/summary.json: cannot write: File too large"));
	CU_ASSERT_EQUAL(files_in("out", true), 0);
	tb_ended_release(&r);
}

static void main_file_above_the_limit_is_a_mistake(void)
{
	tb_programs_each(check_limit);
}

/* ---- files of a run ---- */

static void check_good_run(char *program)
{
	static const char *const files[] = { "ops.csv", "recvs.csv", "summary.json", "run.json",
					     "w.vcd",   "w.gtkw",    "p.pcapng",     "t.json" };
	struct tb_ended r;
	char name[32];

	write_inputs();
	r = tb_program_run(
		program,
		"run @ok.ini -o @out --wave @out/w.vcd --pcap @out/p.pcapng --timeline @out/t.json");
	CU_ASSERT_EQUAL(r.status, 0);
	CU_ASSERT_STRING_EQUAL(r.err, "");
	CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "RDMA_WRITE"));
	tb_ended_release(&r);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct stat st;

		snprintf(name, sizeof(name), "out/%s", files[i]);
		CU_ASSERT_EQUAL(stat(tb_path(name), &st), 0);
		CU_ASSERT(st.st_size > 0);
	}
	CU_ASSERT_EQUAL(files_in("out", true), ARRAY_LEN(files));
}

static void main_good_run_makes_its_files_and_no_other(void)
{
	tb_programs_each(check_good_run);
}

static void check_false_expect(char *program)
{
	struct tb_ended r;

	write_inputs();
	r = tb_program_run(program, "run @false.ini -o @out");
	CU_ASSERT_EQUAL(r.status, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "/false.trace:10: "));
	tb_ended_release(&r);
	CU_ASSERT_EQUAL(files_in("out", true), 4);
}

static void main_false_expect_is_status_1(void)
{
	tb_programs_each(check_false_expect);
}

/* A folder where summary.json should go: that is found out last, and takes all the others with it. */
static void check_late_refusal(char *program)
{
	struct tb_ended r;

	write_inputs();
	CU_ASSERT_EQUAL(mkdir(tb_path("out"), 0700), 0);
	CU_ASSERT_EQUAL(mkdir(tb_path("out/summary.json"), 0700), 0);
	r = tb_program_run(
		program,
		"run @ok.ini -o @out --wave @out/w.vcd --pcap @out/p.pcapng --timeline @out/t.json");
	CU_ASSERT_EQUAL(r.status, 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "/out/summary.json: cannot write: is a directory"));
	tb_ended_release(&r);
	CU_ASSERT_EQUAL(rmdir(tb_path("out/summary.json")), 0);
	CU_ASSERT_EQUAL(files_in("out", true), 0);
}

static void main_result_in_the_way_leaves_no_file(void)
{
	tb_programs_each(check_late_refusal);
}

static void check_help(char *program)
{
	static const struct {
		const char *args, *text;
	} cases[] = {
		{ "help", "rnicsim run SCENARIO.ini" },
		{ "--help", "rnicsim run SCENARIO.ini" },
		{ "-h", "rnicsim run SCENARIO.ini" },
		{ "run --help", "usage: rnicsim run SCENARIO.ini" },
		{ "run --help", "[--explain[=counts]] [--what-if key=value,...] [--mrc]" },
		{ "run @gone.ini --help", "usage: rnicsim run SCENARIO.ini" },
		{ "trace --help", "rnicsim trace convert IN.jsonl" },
		{ "trace gen --help", "rnicsim trace gen [-o FILE[.gz]]" },
		{ "trace check -h", "rnicsim trace check FILE" },
		{ "describe --help", "usage: rnicsim describe [BLOCK]" },
		{ "describe --help", "profile [NAME]" },
		{ "pcie-bench --help", "--histogram           every latency that came" },
		{ "calibrate --help", "with the source of each number" },
		{ "--version", "rnicsim 1\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct tb_ended r = tb_program_run(program, cases[i].args);

		CU_ASSERT_EQUAL(r.status, 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(r.out, cases[i].text));
		CU_ASSERT_STRING_EQUAL(r.err, "");
		tb_ended_release(&r);
	}
}

static void main_help_is_no_mistake(void)
{
	tb_programs_each(check_help);
}

CU_TestInfo test_main_tests[] = {
	{ "mistakes are named and leave no file", main_mistakes_are_named_and_leave_no_file },
	{ "full standard output is a mistake", main_full_standard_output_is_a_mistake },
	{ "file above the limit is a mistake", main_file_above_the_limit_is_a_mistake },
	{ "good run makes its files and no other", main_good_run_makes_its_files_and_no_other },
	{ "false expect is status 1", main_false_expect_is_status_1 },
	{ "result in the way leaves no file", main_result_in_the_way_leaves_no_file },
	{ "help is no mistake", main_help_is_no_mistake },
	CU_TEST_INFO_NULL
};
