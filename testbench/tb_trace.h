/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_trace.h - texts of traces that several tests run
 */
#ifndef TESTBENCH_TB_TRACE_H
#define TESTBENCH_TB_TRACE_H

/*
 * One QP: 48 WRITEs of 64 KiB, all in flight; many WRITEs of 4 KiB, and of 64 B; one small READ after
 * the other.
 */
extern const char tb_trace_stream[], tb_trace_pages[], tb_trace_small[], tb_trace_single[];

/*
 * Hosts h0 and h1 with 'mrs', lines as they are, and 'n' connected pairs of RC QPs q0, q1, ..., each with
 * the attributes 'qp'. Writes it to 'text', for which there must be room, and returns its length.
 */
int tb_trace_queues(char *text, const char *mrs, unsigned n, const char *qp);

/*
 * A request of each of n QPs of h0, from MR src; 'request' is what stands behind its address. Returns the
 * length.
 */
int tb_trace_posts(char *text, unsigned n, const char *op, const char *request);

#endif
