/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg_sv.c - prints msg_pkg, the SystemVerilog package of the messages between blocks, from models/msg.def
 *
 *	msg_sv > msg_pkg.sv
 *
 * A message x becomes the packed struct x_t, its first field in the highest bits; a byte array is a vector
 * with byte 0 in the highest bits. Field buf is a keyword of Verilog and becomes buf_h.
 */
#include <stdio.h>
#include <string.h>

#include "models/msg.h"
#include "models/nic.h"

static void print_field(unsigned bits, const char *name, const char *doc)
{
	char range[16] = "";

	if (bits > 1)
		snprintf(range, sizeof(range), " [%u:0]", bits - 1);
	printf("    logic%s %s;  // %s\n", range, strcmp(name, "buf") == 0 ? "buf_h" : name, doc);
}

static void print_messages(void)
{
#define F(ctype, bits, name, doc) print_field(bits, #name, doc);
#define FA(ctype, n, name, doc) print_field(8 * (n), #name, doc);
#define MSG(name, doc, fields) \
	printf("\n  // %s\n  typedef struct packed {\n", doc); \
	fields \
	printf("  } " #name "_t;\n");
#include "models/msg.def"
#undef MSG
#undef F
#undef FA
}

static void print_constants(void)
{
#define CONSTANT(bits, name) { #name, bits, name }
	static const struct {
		const char *name;
		unsigned bits;
		uint32_t value;
	} c[] = {
		CONSTANT(32, KEY_PHYS),
		CONSTANT(8, XLATE_OK),
		CONSTANT(8, XLATE_BAD_KEY),
		CONSTANT(8, XLATE_BAD_PD),
		CONSTANT(8, XLATE_NO_ACCESS),
		CONSTANT(8, XLATE_OUT_OF_RANGE),
		CONSTANT(8, DMA_MPT),
		CONSTANT(8, DMA_MTT),
		CONSTANT(32, MPT_FLAGS),
		CONSTANT(32, MPT_ACCESS),
		CONSTANT(32, MPT_PD),
		CONSTANT(32, MPT_KEY8),
		CONSTANT(32, MPT_LOG_PAGE),
		CONSTANT(32, MPT_START),
		CONSTANT(32, MPT_LEN),
		CONSTANT(32, MPT_MTT),
		CONSTANT(32, MPT_SIZE),
		CONSTANT(32, MTT_ENTRY),
		CONSTANT(2, MTT_PRESENT),
	};

	for (size_t i = 0; i < ARRAY_LEN(c); i++)
		printf("  localparam logic [%u:0] %s = %u'd%u;\n", c[i].bits - 1, c[i].name, c[i].bits, c[i].value);
}

int main(void)
{
	printf("// SPDX-License-Identifier: Apache-2.0\n// Made from models/msg.def by tools/msg_sv.c.\n");
	printf("package msg_pkg;\n");
	print_constants();
	print_messages();
	printf("endpackage\n");
	return 0;
}
