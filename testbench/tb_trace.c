/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_trace.c - texts of traces that several tests run
 */
#include "testbench/tb_trace.h"

#include <stdio.h>

#define HOSTS "rnicsim-trace 1\nhost h0\nhost h1\n"
#define PAIR(src, dst, qp) \
	HOSTS "mr h0 src va=0x10000000 len=64KiB access=lw " src "\n" \
	      "mr h1 dst va=0x20000000 len=64KiB access=lw," dst "\n" \
	      "qp h0 q0 type=RC peer=h1.q0" qp "\n" \
	      "qp h1 q0 type=RC peer=h0.q0" qp "\n"
#define HUGE_PAGES PAIR("fill=inc page=2MiB", "rw fill=zero page=2MiB", " mtu=4096")
#define WRITES(len, how) "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:" len " remote=dst:0 " how "\n"

const char tb_trace_stream[] = HUGE_PAGES WRITES("64KiB", "repeat=48");
const char tb_trace_pages[] = HUGE_PAGES WRITES("4KiB", "repeat=300 window=64");
const char tb_trace_small[] =
	PAIR("fill=inc", "rw fill=zero", "") WRITES("64", "repeat=300 window=64");
const char tb_trace_single[] =
	PAIR("fill=zero", "rr fill=inc",
	     "") "post h0.q0 id=1 op=RDMA_READ sge=src:0:8 remote=dst:0 repeat=20 window=1\n";

int tb_trace_queues(char *text, const char *mrs, unsigned n, const char *qp)
{
	int len = sprintf(text, HOSTS "%s", mrs);

	for (unsigned i = 0; i < n; i++)
		len += sprintf(
			text + len,
			"qp h0 q%u type=RC peer=h1.q%u %s\nqp h1 q%u type=RC peer=h0.q%u %s\n", i,
			i, qp, i, i, qp);
	return len;
}

int tb_trace_posts(char *text, unsigned n, const char *op, const char *request)
{
	int len = 0;

	for (unsigned i = 0; i < n; i++)
		len += sprintf(text + len, "post h0.q%u id=%u op=%s sge=src:0:%s\n", i, i + 1, op,
			       request);
	return len;
}
