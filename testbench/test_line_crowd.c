/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_line_crowd.c - one QP beside many with deep queues that a cap or a lower priority holds up:
 * what it gets of the line, measured on the frames at the port
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/mac.h"
#include "testbench/tb_file.h"
#include "testbench/tb_run.h"

#define LINK "[mac]\nrate = 25Gbps\n[link0]\na = nic0\nb = nic1\n[workload]\ncores = 64\n"
#define LINE_MBPS 25000u
#define CAPS_MBPS 10000u
#define FIRST_QPN 0x100u
#define WRITE_BYTES 98u /* of the line, beside payload: headers 70, ICRC, FCS, preamble, gap */

/* The one and the others; times in ns. */
struct crowd {
	uint32_t n; /* others */
	const char *one_keys;
	const char *keys; /* of the others' QPs */
	uint32_t size, repeat,
		spread; /* their messages, and the time between the posts of two QPs */
	uint32_t one_at;
	uint32_t from, until; /* what is measured */
};

struct count {
	struct chan_tap tap; /* first member */
	const struct rnic *r;
	uint64_t from_ps;
	uint64_t one, others; /* bytes of the line */
};

static const char *trace_of(const struct crowd *c)
{
	uint32_t window = c->repeat < 64 ? c->repeat : 64;
	size_t n = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &n);
	const char *path;

	fprintf(f, "rnicsim-trace 1\nhost h0\nhost h1\n"
		   "mr h0 src va=0x10000000 len=1MiB access=lw fill=inc\n"
		   "mr h1 dst va=0x20000000 len=1MiB access=lw,rw fill=zero\n");
	for (uint32_t i = 0; i <= c->n; i++)
		fprintf(f,
			"qp h0 q%u type=RC peer=h1.q%u mtu=4096 sq=64 %s\n"
			"qp h1 q%u type=RC peer=h0.q%u mtu=4096 qpn=%u rq=16\n",
			i, i, i ? c->keys : c->one_keys, i, i, FIRST_QPN + i);
	for (uint32_t i = 1; i <= c->n; i++)
		fprintf(f,
			"post h0.q%u id=%u op=RDMA_WRITE sge=src:0:%u remote=dst:0 repeat=%u "
			"window=%u batch=%u at=%uns\n",
			i, i, c->size, c->repeat, window, window < 8 ? window : 8, i * c->spread);
	fprintf(f,
		"post h0.q0 id=%u op=RDMA_WRITE sge=src:0:64KiB remote=dst:0 repeat=1000 window=8 "
		"at=%uns\n",
		c->n + 1, c->one_at);
	fclose(f);
	path = tb_write("crowd.trace", text, n);
	free(text);
	return path;
}

static void count_frame(struct chan_tap *tap, const struct chan *chan, const void *msg)
{
	struct count *c = (struct count *)(void *)tap;
	const struct frame *f = msg;
	const struct packet *p = buf_data(chan->producer->sim, f->buf);
	const uint8_t *qpn = p->data + 42 + 5; /* Ethernet, IPv4, UDP; BTH: destination QP */
	uint32_t bytes = mac_line_bytes(&rnic_nic(c->r, 0)->addr, p->len);

	if (f->first_ps < c->from_ps)
		return;
	if (((uint32_t)qpn[0] << 16 | (uint32_t)qpn[1] << 8 | qpn[2]) == FIRST_QPN)
		c->one += bytes;
	else
		c->others += bytes;
}

/* What the one and the others sent, Mb/s. */
static void measure(const struct crowd *c, const char *const *sets, uint64_t *one, uint64_t *others)
{
	struct tb_run_how how = {
		.trace = trace_of(c), .ini = LINK, .sets = sets, .no_checkers = true
	};
	uint64_t us = (c->until - c->from) / 1000;
	struct count n = { .tap = { .pushed = count_frame } };
	struct tb_run t;

	CU_ASSERT_FATAL(tb_run_open(&t, &how));
	t.r.sim.until_ps = c->until * PS_PER_NS;
	n.r = &t.r;
	n.from_ps = c->from * PS_PER_NS;
	chan_attach(netlist_chan(netlist_find(&t.r.sim, "nic0.mac"), "tx_frame"), &n.tap);
	CU_ASSERT_EQUAL(tb_run_go(&t), EXIT_OK);
	tb_run_close(&t);
	*one = n.one * 8 / us;
	*others = n.others * 8 / us;
}

static bool is_about(uint64_t got, uint64_t want)
{
	return got * 20 > want * 19 && got * 20 < want * 21;
}

/* One without a cap beside 'n' with one, all of them together of CAPS_MBPS. */
static void beside_capped(uint32_t n, const char *const *sets, uint64_t *one, uint64_t *others)
{
	uint32_t size = n == 1 ? 4096 : 256; /* of one QP no more than 64 wait */
	uint32_t mbps = CAPS_MBPS / n, period = (size + WRITE_BYTES) * 8 * 1000 / mbps;
	uint32_t time = period < 500000 ? 500000 : period;
	char keys[32];
	struct crowd c = { .n = n,
			   .one_keys = "",
			   .keys = keys,
			   .size = size,
			   .repeat = 2 * time / period + 2,
			   .spread = period / n,
			   .from = time,
			   .until = 2 * time };

	snprintf(keys, sizeof(keys), "rate=%uMbps", mbps);
	measure(&c, sets, one, others);
}

static void crowd_of_capped_leaves_the_rest_of_the_line(void)
{
	static const char *const off[] = { "requester.ahead_time=1s", "wqe_fetch.prefetch_time=1s",
					   "qp_sched.held_up=200000", NULL };
	uint64_t one, others;

	for (uint32_t n = 1; n <= 10000; n *= 100) {
		beside_capped(n, NULL, &one, &others);
		CU_ASSERT(is_about(one, LINE_MBPS - CAPS_MBPS));
		CU_ASSERT(is_about(others, CAPS_MBPS));
	}
	/* the oracle itself: their WQEs fill the NIC */
	beside_capped(10000, off, &one, &others);
	CU_ASSERT(one * 4 < LINE_MBPS - CAPS_MBPS);
}

/* Long messages at a low cap hold their WQEs for long. */
static void crowd_of_long_messages_leaves_the_rest_of_the_line(void)
{
	const struct crowd c = { .n = 10000,
				 .one_keys = "",
				 .keys = "rate=1Mbps",
				 .size = 65536,
				 .repeat = 2,
				 .from = 3500000,
				 .until = 4000000 };
	uint64_t one, others;

	measure(&c, NULL, &one, &others);
	CU_ASSERT(one * 20 > (uint64_t)LINE_MBPS * 19);
	measure(&c, (const char *[]){ "qp_sched.held_up=200000", NULL }, &one, &others);
	CU_ASSERT(one * 4 < LINE_MBPS); /* the oracle itself */
}

static void crowd_of_low_priority_gets_nothing(void)
{
	const char *sets[] = { "requester.strict=on", "qp_sched.strict=on", NULL, NULL };
	struct crowd c = { .one_keys = "prio=6",
			   .keys = "prio=1",
			   .size = 4096,
			   .repeat = 8,
			   .one_at = 300000,
			   .from = 400000,
			   .until = 700000 };
	uint64_t one, others;

	for (c.n = 1; c.n <= 10000; c.n *= 100) {
		measure(&c, sets, &one, &others);
		CU_ASSERT(one * 20 > (uint64_t)LINE_MBPS * 19);
	}
	c.n = 10000; /* the oracle itself */
	sets[2] = "qp_sched.held_up=200000";
	measure(&c, sets, &one, &others);
	CU_ASSERT(one * 4 < (uint64_t)LINE_MBPS * 3);
}

CU_TestInfo test_line_crowd_tests[] = {
	{ "capped QPs leave the rest of the line", crowd_of_capped_leaves_the_rest_of_the_line },
	{ "capped QPs with long messages leave the rest of the line",
	  crowd_of_long_messages_leaves_the_rest_of_the_line },
	{ "low priority gets nothing", crowd_of_low_priority_gets_nothing },
	CU_TEST_INFO_NULL
};
