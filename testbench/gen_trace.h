/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_trace.h - random small traces whose outcome is known, and scenarios to play them in
 *
 * Two hosts and 1 to 6 connections between them, requests both ways. Each connection has, at both
 * ends, an MR to send from (src), one for what comes back (loc), one that the peer may reach (tgt)
 * and one for receives (rcv), so no two connections touch the same byte; where requests of one
 * connection do, fences stand where the specification leaves the order open. Exempt is one counter
 * a host (cnt), which all raise by 1 (or swap c for c + 1) with results in slots of their own (tkt).
 *
 * Half of them have loose connections besides (gen_loose.c): UC, UD, and receives from an SRQ.
 *
 * Played in the file's order, one request after the other, every record finds what it waits for: an
 * executor that does so (ref_exec.h) ends with the memory that the NICs must end with.
 */
#ifndef TESTBENCH_GEN_TRACE_H
#define TESTBENCH_GEN_TRACE_H

#include <stdbool.h>
#include <stdint.h>

/* A request that must be refused has wrid = GEN_WRONG + the status of its completion (enum wc_status). */
#define GEN_WRONG 0xbad00u

struct gen_case {
	char *trace, *ini; /* text; free with gen_free */
	bool may_fail; /* packets are lost or timers are short: requests may end in RETRY_EXC_ERR */
	bool is_sure;  /* every message of the loose connections (gen_loose.c) arrives */
	bool may_double, may_pass; /* the wire repeats packets; one may overtake another */
	bool is_wrong;             /* some request has a wrong key or wants the impossible */
	bool is_checked;           /* rules are to be attached to the channels */
};

/* What kind of case; zeros: any. */
struct gen_want {
	bool is_clean;        /* no impairments, no short timers, nothing wrong */
	bool is_rarely_lossy; /* one connection; one packet in a hundred is lost, and no more is amiss */
	bool is_plain_nic; /* default sizes of everything */
	bool may_block; /* receives of unreliable QPs may wait for ever for room in their queue */
};

/* The case of a seed; the same seed, the same text. */
void gen_make(struct gen_case *g, uint64_t seed, const struct gen_want *want);
void gen_free(struct gen_case *g);

#endif
