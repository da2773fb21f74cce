/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg_sv.c - prints the SystemVerilog packages that the twins need
 *
 *	msg_sv > msg_pkg.sv; msg_sv hdr > hdr_pkg.sv
 *
 * rnic_msg_pkg: the messages of models/msg.def, as `rnicsim describe --sv` prints them. rnic_pkg:
 * constants of the models' headers. With `hdr`: rnic_hdr_pkg and rnic_opcode_pkg. A program of its own, as rnicsim may have the twins in it.
 */
#include <stdio.h>

#include "tools/run/hdr_sv.h"
#include "models/msg.h"
#include "models/nic.h"
#include "sim/describe_sv.h"

static void print_constants(void)
{
#define CONSTANT(bits, name) \
	{ \
#name, bits, name \
	}
	static const struct {
		const char *name;
		unsigned bits;
		uint32_t value;
	} c[] = {
		CONSTANT(32, KEY_PHYS),       CONSTANT(8, XLATE_OK),
		CONSTANT(8, XLATE_BAD_KEY),   CONSTANT(8, XLATE_BAD_PD),
		CONSTANT(8, XLATE_NO_ACCESS), CONSTANT(8, XLATE_OUT_OF_RANGE),
		CONSTANT(8, DMA_MPT),         CONSTANT(8, DMA_MTT),
		CONSTANT(32, MPT_FLAGS),      CONSTANT(32, MPT_ACCESS),
		CONSTANT(32, MPT_PD),         CONSTANT(32, MPT_KEY8),
		CONSTANT(32, MPT_LOG_PAGE),   CONSTANT(32, MPT_START),
		CONSTANT(32, MPT_LEN),        CONSTANT(32, MPT_MTT),
		CONSTANT(32, MPT_SIZE),       CONSTANT(32, MTT_ENTRY),
		CONSTANT(2, MTT_PRESENT),
	};

	for (size_t i = 0; i < ARRAY_LEN(c); i++)
		printf("  localparam logic [%u:0] %s = %u'd%u;\n", c[i].bits - 1, c[i].name,
		       c[i].bits, c[i].value);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		hdr_sv(stdout);
		printf("\n");
		opcode_sv(stdout);
		return 0;
	}
	describe_sv(stdout, message_list, NULL);
	printf("\npackage rnic_pkg;\n");
	print_constants();
	printf("endpackage\n");
	return 0;
}
