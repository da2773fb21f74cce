/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hdr_sv.h - packet headers and opcodes as SystemVerilog packages
 */
#ifndef TOOLS_RUN_HDR_SV_H
#define TOOLS_RUN_HDR_SV_H

#include <stdio.h>

/*
 * Package rnic_hdr_pkg from hdr.def: a packed struct <header>_hdr_t each, in wire order with the first bit
 * on the wire highest, so that a header's bytes read as one number are the struct.
 */
void hdr_sv(FILE *f);

/* Package rnic_opcode_pkg from opcode.c: the value of each opcode, and the bytes of headers behind its BTH. */
void opcode_sv(FILE *f);

#endif
