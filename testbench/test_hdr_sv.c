/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hdr_sv.c - headers and opcodes in C and in SystemVerilog: Verilator, while it elaborates, takes
 * random headers apart and puts them together; every field and byte is what the C codecs say
 */
#include <CUnit/CUnit.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/packet/hdr.h"
#include "tools/run/hdr_sv.h"
#include "models/packet/opcode.h"
#include "sim/describe_sv.h"
#include "sim/err.h"
#include "sim/rng.h"
#include "testbench/tb_file.h"

extern CU_TestInfo test_hdr_sv_tests[];

#define TRIES 8
#define HEADER_MAX 64u

static void put_hex(FILE *f, const uint8_t *p, unsigned n)
{
	fprintf(f, "%u'h", 8 * n);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "%02x", p[i]);
}

/* Of a field: constant H<k> has in it what the C decoder found. */
#define F(ctype, n_bits, name, doc) \
	fprintf(f, "  if (H%u.", k); \
	describe_sv_name(f, #name); \
	fprintf(f, " != %u'h%llx) $error(\"%s\");\n", (unsigned)(n_bits), \
		(unsigned long long)h.name, pkg);
#define FA(n, name, doc) \
	fprintf(f, "  if (H%u.", k); \
	describe_sv_name(f, #name); \
	fputs(" != ", f); \
	put_hex(f, h.name, n); \
	fprintf(f, ") $error(\"%s\");\n", pkg);
#define HDR(x, NAME, bytes, doc, fields) \
	static void x##_taken_apart(FILE *f, const char *pkg, unsigned k, const uint8_t *p) \
	{ \
		struct hdr_##x h; \
\
		hdr_##x##_decode(&h, p); \
		fields \
	}
#include "models/packet/hdr.def"
#undef F
#undef FA
#undef HDR

/* The other way: fields that C decoded, put together, are what C encodes. */
#define F(ctype, n_bits, name, doc) \
	fputs(sep, f); \
	describe_sv_name(f, #name); \
	fprintf(f, ": %u'h%llx", (unsigned)(n_bits), (unsigned long long)h.name); \
	sep = ", ";
#define FA(n, name, doc) \
	fputs(sep, f); \
	describe_sv_name(f, #name); \
	fputs(": ", f); \
	put_hex(f, h.name, n); \
	sep = ", ";
#define HDR(x, NAME, bytes, doc, fields) \
	static void x##_put_together(FILE *f, const char *pkg, unsigned k, const uint8_t *p) \
	{ \
		uint8_t again[bytes]; \
		const char *sep = ""; \
		struct hdr_##x h; \
\
		hdr_##x##_decode(&h, p); \
		hdr_##x##_encode(again, &h); \
		fprintf(f, "  localparam %s::" #x "_hdr_t G%u = '{", pkg, k); \
		fields(void) sep; \
		fprintf(f, "};\n  if (G%u != ", k); \
		put_hex(f, again, bytes); \
		fprintf(f, ") $error(\"%s\");\n", pkg); \
	}
#include "models/packet/hdr.def"
#undef F
#undef FA
#undef HDR

static const struct {
	const char *name;
	unsigned bytes;
	void (*taken_apart)(FILE *f, const char *pkg, unsigned k, const uint8_t *p);
	void (*put_together)(FILE *f, const char *pkg, unsigned k, const uint8_t *p);
} codecs[] = {
#define HDR(x, NAME, n, doc, fields) { #x, n, x##_taken_apart, x##_put_together },
#include "models/packet/hdr.def"
#undef HDR
};
#define N_CODECS (sizeof(codecs) / sizeof(codecs[0]))

/* A module with an error for each thing that package 'pkg' has wrong of random headers. */
static void put_module(FILE *f, const char *pkg)
{
	unsigned n = 0;
	struct rng r;

	rng_seed(&r, "hdr_sv", 1);
	fprintf(f, "module check_%s;\n", pkg);
	for (unsigned c = 0; c < N_CODECS; c++)
		for (unsigned i = 0; i < TRIES; i++, n++) {
			uint8_t p[HEADER_MAX];

			for (unsigned k = 0; k < codecs[c].bytes; k++)
				p[k] = (uint8_t)rng_next(&r);
			fprintf(f, "  localparam %s::%s_hdr_t H%u = ", pkg, codecs[c].name, n);
			put_hex(f, p, codecs[c].bytes);
			fprintf(f, ";\n  if ($bits(H%u) != %u) $error(\"%s\");\n", n,
				8 * codecs[c].bytes, pkg);
			codecs[c].taken_apart(f, pkg, n, p);
			codecs[c].put_together(f, pkg, n, p);
		}
	fputs("endmodule\n", f);
}

/* The opcodes, some by name. */
static void put_opcodes(FILE *f)
{
	static const struct {
		const char *name;
		unsigned value;
	} known[] = {
		{ "RC_ACKNOWLEDGE", 0x11 },
		{ "RC_SEND_LAST_WITH_IMMEDIATE", 3 },
		{ "UC_WRITE_ONLY", 0x2a },
		{ "UD_SEND_ONLY", 0x64 },
		{ "RC_SEND_ONLY_WITH_INVALIDATE", 0x17 },
		{ "CNP", 0x81 },
		{ "RC_ATOMIC_WRITE", 0x1d },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		fprintf(f, "  if (rnic_opcode_pkg::OP_%s != 8'h%02x) $error(\"opcode\");\n",
			known[i].name, known[i].value);
	for (unsigned i = 0; i < 256; i++)
		fprintf(f,
			"  if (rnic_opcode_pkg::xeth_bytes(8'h%02x) != 8'd%u) $error(\"opcode\");\n",
			i, opcode_info[i].name ? opcode_info[i].xeth_bytes : 255u);
}

/* The package once more under another name, with one width changed: the seeded fault. */
static void put_flawed(FILE *f, const char *from, const char *to)
{
	char *text = NULL, *at;
	size_t n;
	FILE *mem = open_memstream(&text, &n);

	hdr_sv(mem);
	fclose(mem);
	at = strstr(text, "rnic_hdr_pkg;");
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	memcpy(at, "rnic_bad_pkg;", 13);
	at = strstr(text, from);
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	fprintf(f, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	free(text);
}

static const char *write_bench(const char *from, const char *to)
{
	char *text = NULL;
	const char *path;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	hdr_sv(f);
	opcode_sv(f);
	put_flawed(f, from, to);
	put_module(f, "rnic_hdr_pkg");
	put_module(f, "rnic_bad_pkg");
	fputs("module hdr_bench;\n  check_rnic_hdr_pkg good ();\n  check_rnic_bad_pkg bad ();\n",
	      f);
	put_opcodes(f);
	fputs("endmodule\n", f);
	fclose(f);
	path = tb_write("hdr_bench.sv", text, n);
	free(text);
	return path;
}

/* How often Verilator says this error. */
static unsigned count_of(const char *text, const char *error)
{
	unsigned n = 0;
	char what[64];

	snprintf(what, sizeof(what), ": %s\n", error);
	for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
		n++;
	return n;
}

static void verilator_agrees_with_the_codecs(void)
{
	const char *path, *out = tb_path("hdr_bench.out");
	char command[1024], *text;

	if (system("command -v verilator >/dev/null 2>&1") != 0) {
		printf("skipped: no verilator ");
		return;
	}
	path = write_bench("logic [23:0] psn;", "logic [22:0] psn;");
	snprintf(
		command, sizeof(command),
		"verilator --lint-only -Wno-fatal -Wno-lint --error-limit 100000 --top-module hdr_bench %s >%s 2>&1",
		path, out);
	CU_ASSERT_EQUAL(system(command), 0);
	text = tb_read(out);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_EQUAL(count_of(text, "rnic_hdr_pkg"), 0);
	CU_ASSERT_EQUAL(count_of(text, "opcode"), 0);
	/* of each try with the flawed header its size, and more */
	CU_ASSERT(count_of(text, "rnic_bad_pkg") > TRIES);
	CU_ASSERT_PTR_NULL(strstr(text, "%Error"));
	free(text);
}

/* Reserved words are no field names; every header and opcode is there. */
static void packages_have_every_row(void)
{
	char *text = NULL, want[64];
	size_t n;
	FILE *f = open_memstream(&text, &n);
	unsigned opcodes = 0;

	hdr_sv(f);
	opcode_sv(f);
	fclose(f);
	for (unsigned c = 0; c < N_CODECS; c++) {
		snprintf(want, sizeof(want), "} %s_hdr_t;", codecs[c].name);
		CU_ASSERT_PTR_NOT_NULL(strstr(text, want));
	}
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "    logic [15:0] type_;  // EtherType\n  } eth_hdr_t;"));
	for (const char *at = text; (at = strstr(at, "localparam logic [7:0] OP_")) != NULL; at++)
		opcodes++;
	for (unsigned i = 0; i < 256; i++)
		opcodes -= opcode_info[i].name != NULL;
	CU_ASSERT_EQUAL(opcodes, 0);
	free(text);
}

CU_TestInfo test_hdr_sv_tests[] = {
	{ "verilator_agrees_with_the_codecs", verilator_agrees_with_the_codecs },
	{ "packages_have_every_row", packages_have_every_row },
	CU_TEST_INFO_NULL,
};
