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

/* The CRCs alone: what rdmacrc.py says. */
bool tb_crcs_are_good(const char *pcapng, uint32_t packets);

/*
 * True when tshark reads this from the packets: a line each of opcode, destination QP, PSN, pad count, AETH
 * syndrome, RETH length, immediate.
 */
bool tb_tshark_reads(const char *pcapng, const char *expected);

/* True when tshark reads these stamps from the packets: a line each, seconds with nine decimals. */
bool tb_tshark_times(const char *pcapng, const char *expected);

/* True when scapy computes the same ICRC for exactly 'packets' packets of RoCEv2 over IPv4. */
bool tb_scapy_agrees(const char *pcapng, uint32_t packets);

/* Whether scapy is there; says so if not. */
bool tb_has_scapy(void);

#endif
