/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_wire.h - the packets of a run, taken apart without the packet code of the simulator
 *
 * Only tables are shared with it: the bits of headers (hdr.def) and the headers of an opcode.
 */
#ifndef TESTBENCH_TB_WIRE_H
#define TESTBENCH_TB_WIRE_H

#include "models/packet/hdr.h"
#include "models/packet/opcode.h"
#include "testbench/tb_run.h"

/* A packet from its BTH on. Headers that it has not are zeros. */
struct wire_packet {
	const struct opcode_info *info;
	struct hdr_bth bth;
	struct hdr_deth deth;
	struct hdr_reth reth;
	struct hdr_aeth aeth;
	struct hdr_atomiceth atomic;
	struct hdr_atomicack original;
	struct hdr_immdt imm;
	struct hdr_ieth ieth;
	struct hdr_feth feth;
	const uint8_t *payload;
	uint32_t len;  /* payload bytes, pad not included */
	bool is_whole; /* its ICRC is right */
};

/* False: no such packet; lengths disagree, or the opcode is none. */
bool wire_decode(struct wire_packet *w, const struct tb_run_packet *p, bool is_ib);

/*
 * The opcode of packet number 'at' of n of a request, by IBTA vol. 1 table 38, spelled out; 0xff:
 * the request has no packets.
 */
uint8_t wire_opcode(uint32_t qp_type, enum wr_opcode op, uint32_t at, uint32_t n);

#endif
