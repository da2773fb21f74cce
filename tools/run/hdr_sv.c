/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hdr_sv.c - hdr.def and the opcode table printed as SystemVerilog
 */
#include "tools/run/hdr_sv.h"

#include <ctype.h>
#include <inttypes.h>

#include "models/packet/hdr.h"
#include "models/packet/opcode.h"
#include "sim/describe_sv.h"

static void put_header(FILE *f, const struct hdr_row *h)
{
	fprintf(f, "  // %s: %" PRIu32 " bytes\n  typedef struct packed {\n", h->doc, h->bytes);
	for (const struct hdr_field *r = h->fields; r < h->fields + h->n_fields; r++) {
		fputs("    logic ", f);
		if (r->bits > 1)
			fprintf(f, "[%" PRIu32 ":0] ", r->bits - 1);
		describe_sv_name(f, r->name);
		fprintf(f, ";  // %s\n", r->doc);
	}
	fprintf(f, "  } %s_hdr_t;\n\n", h->name);
}

void hdr_sv(FILE *f)
{
	fputs("// The packet headers, from the table of headers. The first bit on the wire is the highest.\n"
	      "package rnic_hdr_pkg;\n\n",
	      f);
	for (uint32_t i = 0; i < n_hdr_rows; i++)
		put_header(f, &hdr_rows[i]);
	fputs("endpackage\n", f);
}

/* "RC SEND Last with Immediate" as "RC_SEND_LAST_WITH_IMMEDIATE". */
static void put_opcode_name(FILE *f, const char *name)
{
	for (; *name; name++)
		putc(isalnum((unsigned char)*name) ? toupper((unsigned char)*name) : '_', f);
}

void opcode_sv(FILE *f)
{
	fputs("// The opcodes of the BTH, from the table of opcodes.\npackage rnic_opcode_pkg;\n\n",
	      f);
	for (unsigned i = 0; i < 256; i++) {
		if (!opcode_info[i].name)
			continue;
		fputs("  localparam logic [7:0] OP_", f);
		put_opcode_name(f, opcode_info[i].name);
		fprintf(f, " = 8'h%02x;\n", i);
	}
	fputs("\n  // Bytes of the extended headers behind the BTH; 8'hff = no opcode.\n"
	      "  function automatic logic [7:0] xeth_bytes(input logic [7:0] opcode);\n"
	      "    case (opcode)\n",
	      f);
	for (unsigned i = 0; i < 256; i++)
		if (opcode_info[i].name)
			fprintf(f, "      8'h%02x: xeth_bytes = 8'd%u;\n", i,
				opcode_info[i].xeth_bytes);
	fputs("      default: xeth_bytes = 8'hff;\n    endcase\n  endfunction\nendpackage\n", f);
}
