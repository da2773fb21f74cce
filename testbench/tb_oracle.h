/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_oracle.h - other people's readers of packet captures, where they are installed
 */
#ifndef TESTBENCH_TB_ORACLE_H
#define TESTBENCH_TB_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether tshark, editcap, python3 and the scripts of ../shared are there; says so if not. */
bool tb_has_capture_tools(void);

/*
 * True when tshark reads exactly 'packets' packets of a pcapng file and finds none malformed, and
 * rdmacrc.py every ICRC (and VCRC) right.
 */
bool tb_capture_is_good(const char *pcapng, uint32_t packets);

#endif
