/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_run.h - a whole scenario in process: hosts, NICs and links from a trace, run to the end
 *
 *	struct tb_run t;
 *	tb_run_ok(&t, &(struct tb_run_how){ .trace = "traces/demo.trace", .sets = sets });
 *	tb_run_read(&t, "h1", "dst", 0, bytes, sizeof(bytes));
 *	tb_run_close(&t);
 *
 * A checker is attached to every channel; tb_run_close() asserts that all rules held.
 */
#ifndef TESTBENCH_TB_RUN_H
#define TESTBENCH_TB_RUN_H

#include "tools/run/capture.h"
#include "tools/run/expect.h"
#include "tools/run/report.h"
#include "models/rnic.h"
#include "tools/run/scenario.h"
#include "sim/checker.h"
#include "sim/command.h"

/* What to run, and how. All but the trace may be left out. */
struct tb_run_how {
	const char *trace;       /* path */
	const char *ini;         /* text of a scenario file, without [scenario] trace */
	const char *const *sets; /* --set arguments, NULL at the end */
	const char *pcap;        /* path of a packet capture to write */
	enum step_order order;
	bool every_cycle;
	bool keep_packets;
	bool no_checkers; /* faster */
};

/* A frame at a NIC's port. */
struct tb_run_packet {
	uint64_t ps; /* first bit out, or last bit in */
	uint32_t nic;
	bool is_tx;
	uint32_t len; /* Ethernet header to ICRC */
	uint8_t *bytes;
};

struct tb_run {
	struct config cfg;
	struct scenario sc;
	struct trace *trace;
	struct rnic r;
	struct report report;
	struct expect_result expects;
	struct capture *pcap;
	struct checker **checkers;
	struct tb_run_packet *packets; /* in the order of the events */
	uint32_t n_packets;
	struct err err;
	bool is_built;
};

/* Build it. False with t->err set on a mistake in 'how'; tb_run_close is due then too. */
bool tb_run_open(struct tb_run *t, const struct tb_run_how *how);

/*
 * Run to the end: the exit status that `rnicsim run` has (EXIT_OK, EXIT_EXPECT, EXIT_BAD_INPUT with
 * t->err set, EXIT_STALLED). t->expects says what failed.
 */
int tb_run_go(struct tb_run *t);

/* Release it; t may be all zeros. */
void tb_run_close(struct tb_run *t);

/* Both, with the test failing unless everything held. */
void tb_run_ok(struct tb_run *t, const struct tb_run_how *how);

/* Bytes of memory: from byte 'off' of an MR, or by virtual address. A wrong one fails the test. */
void tb_run_read(const struct tb_run *t, const char *host, const char *mr, uint64_t off, void *to,
		 uint64_t len);
void tb_run_read_va(const struct tb_run *t, const char *host, uint64_t va, void *to, uint64_t len);

/* A statistic by its name ("nic0.responder.packets"). A wrong name fails the test. */
uint64_t tb_run_stat(const struct tb_run *t, const char *path);

/*
 * What summary.json says of the run, as text: two runs that must be equal have equal ones. Free it.
 */
char *tb_run_summary(const struct tb_run *t);

#endif
