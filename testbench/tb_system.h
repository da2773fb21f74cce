/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_system.h - hosts set up from the text of a trace, for tests
 */
#ifndef TESTBENCH_TB_SYSTEM_H
#define TESTBENCH_TB_SYSTEM_H

#include "models/verbs/setup.h"

/*
 * Two hosts h0 and h1 with MRs src (0x10000000, lkey 0x1234) and dst (0x20000000, rkey 0x5678), 64
 * KiB each, QPs q0.
 */
#define TB_TWO_HOSTS \
	"rnicsim-trace 1\n" \
	"host h0\n" \
	"host h1\n" \
	"mr h0 src va=0x10000000 len=64KiB access=lw lkey=0x1234 fill=inc\n" \
	"mr h1 dst va=0x20000000 len=64KiB access=lw,rw,rr,ra rkey=0x5678 fill=zero\n" \
	"qp h0 q0 type=RC peer=h1.q0 qpn=0x11 psn=0xfffffe sq=8 rq=4 max_sge=4 inline=64\n" \
	"qp h1 q0 type=RC peer=h0.q0 qpn=0x12 psn=7 sq=8 rq=4 max_sge=4\n"

struct tb_system {
	struct trace *trace;
	struct system *s;
	struct host *h; /* the first one */
};

/* Fails the test when the text does not make a system. */
void tb_system_open(struct tb_system *t, const char *text);
void tb_system_close(struct tb_system *t);

/* The message of the error that the text must cause; in a static buffer. */
const char *tb_system_error(const char *text);

/* Bytes of hex digits, blanks skipped; returns how many. */
uint32_t tb_hex(const char *text, uint8_t *to, uint32_t max);

#endif
