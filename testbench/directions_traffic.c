/* SPDX-License-Identifier: Apache-2.0 */
/*
 * directions_traffic.c - what is posted in the rows of test_directions.c
 */
#include "testbench/directions.h"

/* Traffic: what is posted. */
const char traffic_writes[] =
	HOSTS "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:4096 remote=dst:0 repeat=100 window=16\n";
const char traffic_reads[] =
	HOSTS "post h0.q0 id=1 op=RDMA_READ sge=src:0:4096 remote=dst:0 repeat=100 window=16\n";
const char traffic_small[] =
	HOSTS "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:64 remote=dst:0 repeat=300 window=64\n";

/* One long message: nothing else on the link that it could hold up. */
const char traffic_bulk[] = HOSTS "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:512KiB remote=dst:0\n";

/*
 * Pages that come round again; one READ at a time. Pages that were not used before, many READs. The
 * first again, with a table of its own for every page.
 */
#define FAR_MR(len) "mr h1 far va=0x40000000 len=" len " access=lw,rr fill=zero\n"
#define ROUNDS(stride) \
	"post h0.q0 id=1 op=RDMA_READ sge=src:0:64 remote=far:0 rstride=" stride \
	" repeat=200 window=1\n"
const char traffic_rounds[] = HOSTS FAR_MR("256KiB") ROUNDS("4KiB");
const char traffic_fresh[] =
	HOSTS FAR_MR("1MiB") "post h0.q0 id=1 op=RDMA_READ sge=src:0:64 remote=far:0 rstride=4KiB"
			     " repeat=128 window=16\n";
const char traffic_tables[] = HOSTS FAR_MR("64MiB") ROUNDS("2MiB");

/* Eight queues: WRITEs, READs, READs into four segments. */
#define QUEUE(n) \
	"qp h0 a" #n " type=RC peer=h1.a" #n " mtu=1024\n" \
	"qp h1 a" #n " type=RC peer=h0.a" #n " mtu=1024\n"
#define QUEUES HOSTS QUEUE(0) QUEUE(1) QUEUE(2) QUEUE(3) QUEUE(4) QUEUE(5) QUEUE(6) QUEUE(7)
#define POST(n, what) "post h0.a" #n " id=1" #n " " what " repeat=40 window=8\n"
#define POSTS(what) \
	POST(0, what) \
	POST(1, what) \
	POST(2, what) POST(3, what) POST(4, what) POST(5, what) POST(6, what) POST(7, what)
const char traffic_queues[] = QUEUES POSTS("op=RDMA_WRITE sge=src:0:64 remote=dst:0");
const char traffic_queues_read[] =
	QUEUES POSTS("op=RDMA_READ sge=src:0:1024 remote=dst:0 stride=1KiB rstride=1KiB");
const char traffic_scattered[] =
	QUEUES POSTS("op=RDMA_READ sge=src:0:64,src:64:64,src:128:64,src:192:64 remote=dst:0");
#define PAGE(n, at) POST(n, "op=RDMA_READ sge=src:0:64 remote=far:" #at " rstride=4KiB")
const char traffic_pages[] = QUEUES FAR_MR("256KiB") PAGE(0, 0) PAGE(1, 32768) PAGE(2, 65536)
	PAGE(3, 98304) PAGE(4, 131072) PAGE(5, 163840) PAGE(6, 196608) PAGE(7, 229376);

/* Eight queues with a CQ of two entries each: its doorbell record is read again and again. */
#define FEW(n) \
	"cq h0 f" #n " depth=2\n" \
	"qp h0 a" #n " type=RC peer=h1.a" #n " scq=f" #n " mtu=1024\n" \
	"qp h1 a" #n " type=RC peer=h0.a" #n "\n"
#define ONE_BY_ONE(n) \
	"post h0.a" #n " id=1" #n " op=RDMA_WRITE sge=src:0:64 remote=dst:0 repeat=40 window=1\n"
const char traffic_few_entries[] =
	HOSTS FEW(0) FEW(1) FEW(2) FEW(3) FEW(4) FEW(5) FEW(6) FEW(7) ONE_BY_ONE(0) ONE_BY_ONE(1)
		ONE_BY_ONE(2) ONE_BY_ONE(3) ONE_BY_ONE(4) ONE_BY_ONE(5) ONE_BY_ONE(6) ONE_BY_ONE(7);

/* Inline: one at a time, and as many as the core can post. */
#define INLINED "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:32 remote=dst:0 flags=inline repeat=50 "
const char traffic_inlined[] = HOSTS INLINED "window=1\n";

/* Many messages at a cap, beside a long one. */
const char traffic_capped[] =
	QUEUES "qp h0 c type=RC peer=h1.c mtu=1024 rate=10Gbps sq=512\nqp h1 c type=RC peer=h0.c\n"
	       "post h0.a0 id=1 op=RDMA_WRITE sge=src:0:256KiB remote=dst:0\n"
	       "post h0.c id=2 op=RDMA_WRITE sge=src:0:64 remote=dst:0 repeat=300 window=300\n";
const char traffic_posted[] = HOSTS INLINED "window=50\n";
/* ATOMICs of eight queues, each at a word of its own and all at one. */
#define ADD(n, at) \
	"post h0.a" #n " id=1" #n " op=ATOMIC_FETCH_AND_ADD sge=src:0:8 remote=adds:" #at \
	" add=1 repeat=20 window=4\n"
#define ADDS(a, b, c, d, e, f, g, h) \
	QUEUES "mr h1 adds va=0x40000000 len=4KiB access=lw,ra fill=zero\n" ADD(0, a) ADD(1, b) \
		ADD(2, c) ADD(3, d) ADD(4, e) ADD(5, f) ADD(6, g) ADD(7, h)
const char traffic_atomics[] = ADDS(0, 8, 16, 24, 32, 40, 48, 56);
const char traffic_one_word[] = ADDS(0, 0, 0, 0, 0, 0, 0, 0);

/* Small SENDs of many queues, more than a turn of each, into receives that were posted before. */
#define RECEIVE(n) "recv h1.a" #n " id=2" #n " sge=dst:0:64 repeat=120\n"
#define SEND(n) "post h0.a" #n " id=1" #n " op=SEND sge=src:0:64 repeat=120 window=64\n"
#define SENDS(n) RECEIVE(n) SEND(n)
const char traffic_sends[] =
	QUEUES SENDS(0) SENDS(1) SENDS(2) SENDS(3) SENDS(4) SENDS(5) SENDS(6) SENDS(7);
