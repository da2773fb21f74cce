/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_opcode.c - the opcode table against the specification's table written out a second way
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

#include "models/packet/hdr.h"
#include "models/packet/opcode.h"

extern CU_TestInfo test_opcode_tests[];

/*
 * One line an operation: transports that have it (RC UC RD UD XRC), headers of RC in order,
 * payload.
 */
static const struct {
	unsigned op;
	const char *transports, *headers, *payload;
	unsigned place;
	bool is_response;
} spec[] = {
	{ 0x00, "CUDX", "", "=", 1, false },
	{ 0x01, "CUDX", "", "=", 0, false },
	{ 0x02, "CUDX", "", "1", 2, false },
	{ 0x03, "CUDX", "imm", "1", 2, false },
	{ 0x04, "CUDGX", "", "0", 3, false },
	{ 0x05, "CUDGX", "imm", "0", 3, false },
	{ 0x06, "CUDX", "reth", "=", 1, false },
	{ 0x07, "CUDX", "", "=", 0, false },
	{ 0x08, "CUDX", "", "1", 2, false },
	{ 0x09, "CUDX", "imm", "1", 2, false },
	{ 0x0a, "CUDX", "reth", "0", 3, false },
	{ 0x0b, "CUDX", "reth imm", "0", 3, false },
	{ 0x0c, "CDX", "reth", "-", 3, false },
	{ 0x0d, "CDX", "aeth", "=", 1, true },
	{ 0x0e, "CDX", "", "=", 0, true },
	{ 0x0f, "CDX", "aeth", "1", 2, true },
	{ 0x10, "CDX", "aeth", "0", 3, true },
	{ 0x11, "CDX", "aeth", "-", 3, true },
	{ 0x12, "CDX", "aeth atomicack", "-", 3, true },
	{ 0x13, "CDX", "atomiceth", "-", 3, false },
	{ 0x14, "CDX", "atomiceth", "-", 3, false },
	{ 0x15, "D", "", "-", 3, false },
	{ 0x16, "CX", "ieth", "1", 2, false },
	{ 0x17, "CX", "ieth", "0", 3, false },
	{ 0x1c, "CDX", "feth reth", "-", 3, false },
	{ 0x1d, "C", "reth", "8", 3, false },
};

static const struct {
	char letter;
	unsigned base;
	const char *name, *request, *response; /* headers before the operation's own */
} transports[] = {
	{ 'C', 0x00, "RC", "", "" },
	{ 'U', 0x20, "UC", "", "" },
	{ 'D', 0x40, "RD", "rdeth deth ", "rdeth " },
	{ 'G', 0x60, "UD", "deth ", "" },
	{ 'X', 0xa0, "XRC", "xrceth ", "" },
};

static const struct {
	const char *name;
	unsigned bytes;
} xeths[X_COUNT] = {
	{ "xrceth", 4 }, { "rdeth", 4 },      { "deth", 8 },      { "feth", 4 }, { "reth", 16 },
	{ "aeth", 4 },   { "atomiceth", 28 }, { "atomicack", 8 }, { "imm", 4 },  { "ieth", 4 },
};

/*
 * The offset of header 'x' when 'list' follows the BTH, 0 when it is not there; the sum in *total.
 */
static unsigned offset_in(const char *list, unsigned x, unsigned *total)
{
	char copy[64], *save;
	unsigned at = 12, found = 0;

	snprintf(copy, sizeof(copy), "%s", list);
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		if (strcmp(w, xeths[x].name) == 0)
			found = at;
		for (unsigned i = 0; i < X_COUNT; i++)
			if (strcmp(w, xeths[i].name) == 0)
				at += xeths[i].bytes;
	}
	*total = at - 12;
	return found;
}

/* Mismatches of one opcode with the list of headers. */
static unsigned compare(unsigned opcode, const char *list)
{
	const struct opcode_info *o = &opcode_info[opcode];
	unsigned bad = 0, total = 0;

	for (unsigned x = 0; x < X_COUNT; x++) {
		unsigned at = offset_in(list, x, &total);

		bad += o->off[x] != at;
		bad += opcode_has(o, x) != (at != 0);
	}
	return bad + (o->xeth_bytes != total);
}

static void opcode_table_agrees_with_specification(void)
{
	bool is_known[256] = { false };

	is_known[IB_OPCODE_CNP] = true;
	for (unsigned i = 0; i < sizeof(spec) / sizeof(spec[0]); i++)
		for (unsigned t = 0; t < sizeof(transports) / sizeof(transports[0]); t++) {
			unsigned code = transports[t].base | spec[i].op;
			const struct opcode_info *o = &opcode_info[code];
			char list[64];

			if (!strchr(spec[i].transports, transports[t].letter))
				continue;
			is_known[code] = true;
			CU_ASSERT_PTR_NOT_NULL_FATAL(o->name);
			CU_ASSERT_EQUAL(
				strncmp(o->name, transports[t].name, strlen(transports[t].name)),
				0);
			snprintf(list, sizeof(list), "%s%s",
				 spec[i].is_response ? transports[t].response
						     : transports[t].request,
				 spec[i].headers);
			/* a FLUSH of RD has no DETH */
			if (code == 0x5c)
				snprintf(list, sizeof(list), "rdeth %s", spec[i].headers);
			CU_ASSERT_EQUAL(compare(code, list), 0);
			CU_ASSERT_EQUAL(o->place, spec[i].place);
			CU_ASSERT_EQUAL(o->is_response, spec[i].is_response);
		}
	for (unsigned code = 0; code < 256; code++)
		CU_ASSERT_EQUAL(opcode_info[code].name != NULL, is_known[code]);
}

static void opcode_wrong_header_list_is_caught(void)
{
	CU_ASSERT_EQUAL(compare(0x0b, "reth imm"), 0);
	CU_ASSERT_NOT_EQUAL(compare(0x0b, "imm reth"), 0);
	CU_ASSERT_NOT_EQUAL(compare(0x0b, "reth"), 0);
	CU_ASSERT_NOT_EQUAL(compare(0x0e, "aeth"), 0);
}

static void opcode_payload_limits_follow_rules(void)
{
	static const uint32_t lens[] = { 0, 1, 7, 8, 9, 16, 255, 256, 257, 1024 };

	for (unsigned i = 0; i < sizeof(spec) / sizeof(spec[0]); i++)
		for (unsigned k = 0; k < sizeof(lens) / sizeof(lens[0]); k++) {
			uint32_t n = lens[k];
			bool want = spec[i].payload[0] == '='   ? n == 256
				    : spec[i].payload[0] == '1' ? n >= 1 && n <= 256
				    : spec[i].payload[0] == '0' ? n <= 256
				    : spec[i].payload[0] == '8' ? n == 8
								: n == 0;
			unsigned base = spec[i].transports[0] == 'D' ? 0x40 : 0;

			CU_ASSERT_EQUAL(opcode_len_ok(&opcode_info[base | spec[i].op], n, 256),
					want);
		}
	CU_ASSERT(opcode_len_ok(&opcode_info[IB_OPCODE_CNP], 16, 256));
	CU_ASSERT(!opcode_len_ok(&opcode_info[IB_OPCODE_CNP], 0, 256));
}

static void opcode_receive_wqes_are_taken_by_sends_and_immediates(void)
{
	static const uint8_t takers[] = { 0x00, 0x04, 0x05, 0x09, 0x0b, 0x17, 0x20,
					  0x24, 0x25, 0x29, 0x2b, 0x64, 0x65 };
	unsigned n = 0;

	for (unsigned code = 0; code < 0x40; code++)
		n += opcode_info[code].takes_rq;
	for (unsigned i = 0; i < sizeof(takers); i++)
		CU_ASSERT(opcode_info[takers[i]].takes_rq);
	CU_ASSERT_EQUAL(n, sizeof(takers) - 2);
}

CU_TestInfo test_opcode_tests[] = {
	{ "opcode_table_agrees_with_specification", opcode_table_agrees_with_specification },
	{ "opcode_wrong_header_list_is_caught", opcode_wrong_header_list_is_caught },
	{ "opcode_payload_limits_follow_rules", opcode_payload_limits_follow_rules },
	{ "opcode_receive_wqes_are_taken_by_sends_and_immediates",
	  opcode_receive_wqes_are_taken_by_sends_and_immediates },
	CU_TEST_INFO_NULL
};
