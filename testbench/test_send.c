/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_send.c - ways to hand a WQE to the NIC, in whole runs: what each costs on the PCIe link, and
 * what it gains in time
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbench/tb_run.h"

#define N 20u
#define LINK "[link0]\na = nic0\nb = nic1\nlength = 2m\n"
#define MWR 24u /* bytes of a TLP on the link besides its data, hardware.md */
#define MRD 24u
#define CPLD 20u

static const char hosts[] = "rnicsim-trace 1\n"
			    "host h0\n"
			    "host h1\n"
			    "mr h0 src va=0x10000000 len=1MiB access=lw fill=inc\n"
			    "mr h1 dst va=0x20000000 len=1MiB access=lw,rw fill=zero\n";

struct numbers {
	uint64_t time_ps, db_b, wqe_up_b, wqe_down_b, mmio_b;
	uint64_t rings, bf_rings, bf_full, bf_dropped, bf_late, bf_wqes, sq_reads;
	uint64_t refetches, evictions;
};

/* Run the trace 'text' with settings, expects held; its numbers. */
static struct numbers run(const char *text, const char *const *sets)
{
	char name[] = "/tmp/rnicsim-send-XXXXXX";
	int fd = mkstemp(name);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	struct tb_run t;
	struct numbers n;

	if (!f)
		abort();
	fprintf(f, "%s%s", hosts, text);
	fclose(f);
	tb_run_ok(&t, &(struct tb_run_how){ .trace = name, .ini = LINK, .sets = sets });
	n = (struct numbers){
		.time_ps = t.r.sim.now_ps,
		.db_b = tb_run_stat(&t, "nic0.pcie_link.down_doorbell_b"),
		.wqe_up_b = tb_run_stat(&t, "nic0.pcie_link.up_wqe_b"),
		.wqe_down_b = tb_run_stat(&t, "nic0.pcie_link.down_wqe_b"),
		.mmio_b = tb_run_stat(&t, "host0.host_mem.mmio_b"),
		.rings = tb_run_stat(&t, "nic0.doorbell.rings"),
		.bf_rings = tb_run_stat(&t, "nic0.doorbell.bf_rings"),
		.bf_full = tb_run_stat(&t, "nic0.doorbell.bf_full"),
		.bf_dropped = tb_run_stat(&t, "nic0.doorbell.bf_dropped"),
		.bf_late = tb_run_stat(&t, "nic0.qp_sched.bf_late"),
		.bf_wqes = tb_run_stat(&t, "nic0.wqe_fetch.bf_wqes"),
		.refetches = tb_run_stat(&t, "nic0.requester.wqe_refetches"),
		.evictions = tb_run_stat(&t, "nic0.requester.wqe_evictions"),
		.sq_reads = tb_run_stat(&t, "nic0.wqe_fetch.sq_reads"),
	};
	tb_run_close(&t);
	remove(name);
	return n;
}

/* N WRITEs of 'bytes', one at a time or all at once. */
static struct numbers run_writes(uint32_t bytes, bool is_inline, uint32_t window, const char *post,
				 const char *more)
{
	char text[1024], set[64];

	snprintf(set, sizeof(set), "workload.post=%s", post);
	snprintf(text, sizeof(text),
		 "qp h0 q0 type=RC peer=h1.q0 inline=220\n"
		 "qp h1 q0 type=RC peer=h0.q0\n"
		 "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:%u remote=dst:0 repeat=%u window=%u "
		 "stride=256 rstride=256 flags=%s\n"
		 "expect h0.q0 id=1 status=SUCCESS\n"
		 "expect mem h1 dst:0:%u == h0 src:0:%u\n"
		 "expect mem h1 dst:%u:%u == h0 src:%u:%u\n",
		 bytes, N, window, is_inline ? "signaled,inline" : "signaled", bytes, bytes,
		 (N - 1) * 256, bytes, (N - 1) * 256, bytes);
	return run(text, (const char *[]){ set, more, NULL });
}

/* A WQE of an inline WRITE: control, address, and 4 bytes before the data. */
static uint32_t inline_wqe_b(uint32_t bytes)
{
	return (uint32_t)align_up(align_up(32 + 4 + bytes, 16), 64);
}

static void doorbell_mode_costs_a_register_write_and_a_wqe_read(void)
{
	static const uint32_t sizes[] = { 1, 28, 29, 92, 93, 220 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct numbers n = run_writes(sizes[i], true, 1, "doorbell", NULL);
		uint32_t wqe = inline_wqe_b(sizes[i]);

		CU_ASSERT_EQUAL(n.db_b, N * (8 + MWR));
		CU_ASSERT_EQUAL(n.mmio_b, N * 8);
		CU_ASSERT_EQUAL(n.wqe_up_b, N * MRD);
		CU_ASSERT_EQUAL(n.wqe_down_b, N * (wqe + CPLD));
		CU_ASSERT_EQUAL(n.bf_rings, 0);
		CU_ASSERT_EQUAL(n.sq_reads, N);
	}
}

static void blueflame_costs_register_writes_of_whole_blocks_and_no_read(void)
{
	static const uint32_t sizes[] = { 1, 28, 29, 92, 93, 220 };
	static const uint32_t units[] = { 64, 32, 16 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		for (size_t k = 0; k < ARRAY_LEN(units); k++) {
			uint32_t wqe = inline_wqe_b(sizes[i]);
			struct numbers n;
			char set[64];

			snprintf(set, sizeof(set), "workload.wc_bytes=%u", units[k]);
			n = run_writes(sizes[i], true, 1, "blueflame", set);
			CU_ASSERT_EQUAL(n.db_b, N * (wqe / units[k]) * (units[k] + MWR));
			CU_ASSERT_EQUAL(n.mmio_b, N * wqe);
			CU_ASSERT_EQUAL(n.wqe_up_b + n.wqe_down_b + n.sq_reads, 0);
			CU_ASSERT_EQUAL(n.bf_rings, N);
			CU_ASSERT_EQUAL(n.bf_wqes, N);
		}
}

static void blueflame_unit_that_is_no_power_of_two_is_refused(void)
{
	struct tb_run t;

	CU_ASSERT_FALSE(
		tb_run_open(&t, &(struct tb_run_how){ .trace = "traces/demo.trace",
						      .ini = LINK "[workload]\nwc_bytes = 48\n" }));
	CU_ASSERT_PTR_NOT_NULL(strstr(t.err.text, "wc_bytes"));
	CU_ASSERT_PTR_NOT_NULL(strstr(t.err.text, "16, 32 or 64"));
	tb_run_close(&t);
}

static void blueflame_of_inline_leaves_others_to_the_doorbell(void)
{
	struct numbers n = run_writes(64, false, 1, "bf_inline", NULL);

	CU_ASSERT_EQUAL(n.bf_rings, 0);
	CU_ASSERT_EQUAL(n.db_b, N * (8 + MWR));
	n = run_writes(64, false, 1, "blueflame", NULL);
	CU_ASSERT_EQUAL(n.bf_rings, N);
	CU_ASSERT_EQUAL(n.db_b, N * (64 + MWR));
}

static void blueflame_is_faster_than_inline_is_faster_than_neither(void)
{
	struct numbers bf = run_writes(32, true, 1, "blueflame", NULL);
	struct numbers in = run_writes(32, true, 1, "doorbell", NULL);
	struct numbers no = run_writes(32, false, 1, "doorbell", NULL);
	struct numbers bf_no = run_writes(32, false, 1, "blueflame", NULL);

	CU_ASSERT(bf.time_ps < in.time_ps);
	CU_ASSERT(in.time_ps < no.time_ps);
	CU_ASSERT(bf.time_ps < bf_no.time_ps);
	CU_ASSERT(bf_no.time_ps < no.time_ps);
}

static void blueflame_behind_unfetched_wqes_is_read_from_memory(void)
{
	struct numbers n = run_writes(32, true, N, "blueflame", "qp_sched.wqe_per_qp=1");

	CU_ASSERT_EQUAL(n.bf_rings + n.bf_dropped, N);
	CU_ASSERT(n.bf_late > 0);
	CU_ASSERT_EQUAL(n.bf_wqes, n.bf_rings - n.bf_late);
	CU_ASSERT(n.sq_reads > 0);
}

static void blueflame_without_buffers_is_a_doorbell(void)
{
	struct numbers n = run_writes(220, true, 1, "blueflame", "doorbell.bf_buffers=0");

	CU_ASSERT_EQUAL(n.bf_full, N);
	CU_ASSERT_EQUAL(n.rings, N);
	CU_ASSERT_EQUAL(n.bf_rings, 0);
	CU_ASSERT_EQUAL(n.sq_reads, N);
}

/* Four posts, one doorbell: the last is no single WQE and goes by the 8-byte doorbell. */
static void batch_rings_once_with_eight_bytes(void)
{
	static const char text[] =
		"qp h0 q0 type=RC peer=h1.q0 inline=64\n"
		"qp h1 q0 type=RC peer=h0.q0\n"
		"post h0.q0 id=1 op=RDMA_WRITE sge=src:0:8 remote=dst:0 flags=inline,more\n"
		"post h0.q0 id=2 op=RDMA_WRITE sge=src:8:8 remote=dst:8 flags=inline,more\n"
		"post h0.q0 id=3 op=RDMA_WRITE sge=src:16:8 remote=dst:16 flags=inline,more\n"
		"post h0.q0 id=4 op=RDMA_WRITE sge=src:24:8 remote=dst:24 flags=inline\n"
		"expect h0.q0 id=4 status=SUCCESS\n"
		"expect mem h1 dst:0:32 == h0 src:0:32\n";
	struct numbers n = run(text, (const char *[]){ "workload.post=blueflame", NULL });

	CU_ASSERT_EQUAL(n.rings, 1);
	CU_ASSERT_EQUAL(n.bf_rings, 0);
	CU_ASSERT_EQUAL(n.db_b, 8 + MWR);
	CU_ASSERT_EQUAL(n.wqe_up_b, MRD);
	CU_ASSERT_EQUAL(n.wqe_down_b, 4 * 64 + CPLD);
}

/* ---- cores ---- */

#define QPS 4u

/* QPS QPs of one CQ each, N inline WRITEs apart; every second one has a receive queue in use. */
static void cores_trace(char *text, size_t size, const char *const *of_qp, const char *cq)
{
	size_t n = (size_t)snprintf(text, size, "%s", cq ? cq : "");

	for (unsigned i = 0; i < QPS; i++)
		n += (size_t)snprintf(text + n, size - n,
				      "qp h0 q%u type=RC peer=h1.q%u inline=64%s%s\n"
				      "qp h1 q%u type=RC peer=h0.q%u\n",
				      i, i, of_qp ? of_qp[i] : "", cq ? " scq=c" : "", i, i);
	n += (size_t)snprintf(text + n, size - n,
			      "recv h0.q1 id=1 sge=src:65536:64\n"
			      "post h1.q1 id=1 op=SEND sge=dst:0:8\n");
	for (unsigned i = 0; i < QPS; i++)
		n += (size_t)snprintf(text + n, size - n,
				      "post h0.q%u id=%u op=RDMA_WRITE sge=src:%u:16 "
				      "remote=dst:%u repeat=%u window=64 flags=inline\n"
				      "expect h0.q%u id=%u status=SUCCESS\n"
				      "expect mem h1 dst:%u:16 == h0 src:%u:16\n",
				      i, i + 2, 4096 * i, 4096 * i, N, i, i + 2, 4096 * i,
				      4096 * i);
	CU_ASSERT_FATAL(n < size);
}

static struct numbers run_cores(const char *cores, const char *post_cost)
{
	char text[4096];

	cores_trace(text, sizeof(text), NULL, NULL);
	return run(text, (const char *[]){ cores, post_cost, "workload.post=blueflame", NULL });
}

static uint64_t run_on(const char *const *of_qp, const char *cq, const char *cost)
{
	char text[4096];

	cores_trace(text, sizeof(text), of_qp, cq);
	return run(text,
		   (const char *[]){ "workload.cores=4", cost, "workload.post=blueflame", NULL })
		.time_ps;
}

/* The trace says which core a QP and a CQ belong to; what it does not say goes in turn. */
static void qps_and_cqs_belong_to_the_cores_of_the_trace(void)
{
	static const char *const own[QPS] = { " core=0", " core=1", " core=2", " core=3" };
	static const char *const modulo[QPS] = { " core=4", " core=9", "", "" };
	static const char *const two[QPS] = { " core=1", " core=3", " core=3", " core=1" };
	static const char *const one[QPS] = { " core=2", " core=2", " core=2", " core=2" };
	const char *post = "workload.post_cost=1us", *poll = "workload.poll_cost=1us";
	uint64_t turn = run_on(NULL, NULL, post), post_ps = N * PS_PER_US;

	CU_ASSERT_EQUAL(run_on(own, NULL, post), turn);
	CU_ASSERT_EQUAL(run_on(modulo, NULL, post), turn);
	CU_ASSERT(run_on(two, NULL, post) > 2 * post_ps && run_on(two, NULL, post) < 3 * post_ps);
	CU_ASSERT(run_on(one, NULL, post) > 4 * post_ps && run_on(one, NULL, post) < 5 * post_ps);
	/* polls of 1 us: on the core that posts to the first QP, or on one that does nothing else */
	CU_ASSERT(run_on(one, "cq h0 c core=0\n", poll) <= run_on(one, "cq h0 c\n", poll));
	CU_ASSERT_NOT_EQUAL(run_on(one, "cq h0 c core=0\n", poll),
			    run_on(one, "cq h0 c core=2\n", poll));
	CU_ASSERT_EQUAL(run_on(one, "cq h0 c\n", poll), run_on(one, "cq h0 c core=2\n", poll));
}

/* With posts of 1 us and little else, the time is that of the core with the most posts. */
static void cores_post_at_the_same_time(void)
{
	struct numbers one = run_cores("workload.cores=1", "workload.post_cost=1us");
	struct numbers two = run_cores("workload.cores=2", "workload.post_cost=1us");
	struct numbers four = run_cores("workload.cores=4", "workload.post_cost=1us");
	struct numbers more = run_cores("workload.cores=7", "workload.post_cost=1us");
	uint64_t post_ps = N * PS_PER_US;

	CU_ASSERT(one.time_ps > 4 * post_ps && one.time_ps < 5 * post_ps);
	CU_ASSERT(two.time_ps > 2 * post_ps && two.time_ps < one.time_ps * 55 / 100);
	CU_ASSERT(four.time_ps > post_ps && four.time_ps < two.time_ps * 60 / 100);
	CU_ASSERT_EQUAL(more.time_ps, four.time_ps); /* no queue for them */
	CU_ASSERT_EQUAL(one.rings, QPS * N);
	CU_ASSERT_EQUAL(four.bf_rings + four.bf_dropped, QPS * N); /* each in its page */
}

static char *summary(const char *path, const char *const *sets, enum step_order order,
		     bool every_cycle)
{
	struct tb_run t;
	char *s;

	tb_run_ok(&t, &(struct tb_run_how){ .trace = path,
					    .ini = LINK,
					    .sets = sets,
					    .order = order,
					    .every_cycle = every_cycle });
	s = tb_run_summary(&t);
	tb_run_close(&t);
	return s;
}

static void same_in_every_order(const char *text, const char *const *sets)
{
	char path[] = "/tmp/rnicsim-send-XXXXXX", *want, *got;
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f)
		abort();
	fprintf(f, "%s%s", hosts, text);
	fclose(f);
	want = summary(path, sets, ORDER_FORWARD, false);
	for (int i = 0; i < 3; i++) {
		got = summary(path, sets, i == 0 ? ORDER_REVERSED : ORDER_SHUFFLED, i == 2);
		CU_ASSERT_STRING_EQUAL(got, want);
		free(got);
	}
	free(want);
	remove(path);
}

static void cores_step_order_and_sleeping_change_nothing(void)
{
	static const char *const sets[] = { "workload.cores=3", "workload.post=bf_inline", NULL };
	char text[4096];

	cores_trace(text, sizeof(text), NULL, NULL);
	same_in_every_order(text, sets);
}

/* ---- engines ---- */

#define CYC 500u
#define PERIOD_PS (4 * PS_PER_NS) /* 250 MHz, the default clock */

/* N requests at once with 'cyc' cycles of engine 'unit' for each; the time it takes. */
static uint64_t run_engine(const char *op, const char *cyc_key, const char *units_key,
			   uint32_t units)
{
	char text[1024], cyc[64], n_units[64];

	snprintf(cyc, sizeof(cyc), "%s=%u", cyc_key, CYC);
	snprintf(n_units, sizeof(n_units), "%s=%u", units_key, units);
	snprintf(text, sizeof(text),
		 "mr h1 any va=0x30000000 len=64KiB access=lw,rw,rr,ra fill=inc\n"
		 "qp h0 q0 type=RC peer=h1.q0\n"
		 "qp h1 q0 type=RC peer=h0.q0\n"
		 "post h0.q0 id=1 op=%s sge=src:0:8 remote=any:0 repeat=%u window=%u stride=64 "
		 "rstride=64\n"
		 "expect h0.q0 id=1 status=SUCCESS\n",
		 op, N, N);
	return run(text, (const char *[]){ cyc, n_units, NULL }).time_ps;
}

static void engine_of_two_units_starts_twice_as_often(void)
{
	static const char *const engines[][3] = {
		{ "RDMA_WRITE", "requester.job_cyc", "requester.units" },
		{ "RDMA_READ", "requester.rsp_cyc", "requester.units" },
		{ "RDMA_WRITE", "pktizer.hdr_cyc", "pktizer.units" },
		{ "RDMA_WRITE", "responder.pkt_cyc", "responder.units" },
		{ "RDMA_READ", "responder.read_cyc", "responder.units" },
		{ "ATOMIC_FETCH_AND_ADD add=1", "responder.atomic_cyc", "responder.units" },
	};

	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		const char *const *e = engines[i];
		uint64_t one = run_engine(e[0], e[1], e[2], 1);
		uint64_t two = run_engine(e[0], e[1], e[2], 2);
		uint64_t five = run_engine(e[0], e[1], e[2], 5);
		uint64_t work = N * CYC * PERIOD_PS, gain = one - two;

		CU_ASSERT(one > work - work / N && one < work + work / 10);
		CU_ASSERT(gain > work / 2 - work / 30 && gain < work / 2 + work / 30);
		CU_ASSERT(five < two - work / 8);
	}
}

/* ---- the whole NIC ---- */

#define PORT_QPS 32u
#define PORT_POSTS 400u

/*
 * 32 cores post inline WRITEs of 8 B in lists of 16 on a QP each; NIC at 1 GHz, 200 Gb/s, Gen4
 * x16. No block takes more than 8.3 ns a message: 123 M/s is what a ConnectX-6 does.
 */
static void nic_at_1_ghz_does_120_million_messages(void)
{
	static const char *const sets[] = { "nic.clock=1GHz",    "mac.rate=200Gbps",
					    "pcie_link.gen=4",   "pcie_link.lanes=16",
					    "host.clock=4GHz",   "host_mem.store_latency=0ns",
					    "workload.cores=32", NULL };
	static char text[16384];
	uint64_t n_msg = PORT_QPS * PORT_POSTS, per_s;
	size_t n = 0;

	for (unsigned i = 0; i < PORT_QPS; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "qp h0 q%u type=RC peer=h1.q%u inline=64\n"
				      "qp h1 q%u type=RC peer=h0.q%u\n",
				      i, i, i, i);
	for (unsigned i = 0; i < PORT_QPS; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "post h0.q%u id=%u op=RDMA_WRITE sge=src:%u:8 remote=dst:%u "
				      "repeat=%u window=128 batch=16 signal=16 flags=inline\n"
				      "expect h0.q%u id=%u status=SUCCESS\n"
				      "expect mem h1 dst:%u:8 == h0 src:%u:8\n",
				      i, i + 1, 4096 * i, 4096 * i, PORT_POSTS, i, i + 1, 4096 * i,
				      4096 * i);
	CU_ASSERT_FATAL(n < sizeof(text));
	per_s = n_msg * PS_PER_US / (run(text, sets).time_ps / PS_PER_US);
	CU_ASSERT(per_s > 120 * PS_PER_US);
}

/* ---- rate caps ---- */

/*
 * 64 packets of 1 KiB at 1 Gb/s are 524 us and what their headers, preambles and gaps take, however they
 * are cut into messages.
 */
static void rate_cap_spaces_the_packets_of_a_message(void)
{
	static const uint32_t posts[] = { 1, 4, 64 };
	uint64_t header =
		8 + 14 + 20 + 8 + 12 + 4 + 4 + 12; /* preamble, MAC, IP, UDP, BTH, CRCs, gap */

	for (size_t i = 0; i < ARRAY_LEN(posts); i++) {
		uint64_t want = (64 * (1024 + header) + 16 * posts[i]) * 8 * PS_PER_NS; /* RETH */
		char text[1024];
		struct numbers n;

		snprintf(
			text, sizeof(text),
			"qp h0 q0 type=RC peer=h1.q0 mtu=1024 rate=1Gbps\n"
			"qp h1 q0 type=RC peer=h0.q0 mtu=1024\n"
			"post h0.q0 id=1 op=RDMA_WRITE sge=src:0:%u remote=dst:0 repeat=%u window=64 "
			"stride=%u rstride=%u\n"
			"expect h0.q0 id=1 status=SUCCESS\n"
			"expect mem h1 dst:0:65536 == h0 src:0:65536\n",
			65536 / posts[i], posts[i], 65536 / posts[i], 65536 / posts[i]);
		n = run(text, NULL);
		CU_ASSERT(n.time_ps > want - want / 50 && n.time_ps < want + want / 100);
	}
}

/* ---- WQE cache ---- */

#define READERS 8u

/* READs of four segments on READERS QPs at once, their data checked. */
static void readers_trace(char *text, size_t size)
{
	size_t n = 0;

	n += (size_t)snprintf(text + n, size - n,
			      "mr h0 to va=0x30000000 len=64KiB access=lw fill=zero\n"
			      "mr h1 from va=0x40000000 len=64KiB access=rr fill=inc\n");
	for (unsigned i = 0; i < READERS; i++)
		n += (size_t)snprintf(text + n, size - n,
				      "qp h0 q%u type=RC peer=h1.q%u\n"
				      "qp h1 q%u type=RC peer=h0.q%u\n",
				      i, i, i, i);
	for (unsigned i = 0; i < READERS; i++) {
		unsigned off = 4096 * i;

		n += (size_t)snprintf(
			text + n, size - n,
			"post h0.q%u id=%u op=RDMA_READ sge=to:%u:16,to:%u:16,to:%u:16,"
			"to:%u:16 remote=from:%u repeat=16 window=16 stride=64 "
			"rstride=64\n"
			"expect h0.q%u id=%u status=SUCCESS\n"
			"expect mem h0 to:%u:1024 == h1 from:%u:1024\n",
			i, i + 1, off, off + 16, off + 32, off + 48, off, i, i + 1, off, off);
	}
	CU_ASSERT_FATAL(n < size);
}

static struct numbers run_readers_with(const char *const *sets)
{
	char text[8192];

	readers_trace(text, sizeof(text));
	return run(text, sets);
}

static struct numbers run_readers(const char *cache)
{
	return run_readers_with((const char *[]){ cache, NULL });
}

/* A WQE of four segments has two basic blocks; 128 of them are in flight. */
static void wqe_displaced_is_read_again(void)
{
	struct numbers all = run_readers("requester.wqe_cache=0");
	struct numbers fits = run_readers("requester.wqe_cache=256");
	struct numbers half = run_readers("requester.wqe_cache=64");
	struct numbers one = run_readers("requester.wqe_cache=1");

	CU_ASSERT_EQUAL(all.refetches, 0);
	CU_ASSERT_EQUAL(fits.refetches, 0);
	CU_ASSERT_EQUAL(fits.time_ps, all.time_ps);
	CU_ASSERT(half.refetches > 0 && half.refetches <= one.refetches);
	CU_ASSERT(half.time_ps >= all.time_ps && one.time_ps > half.time_ps);
	CU_ASSERT(one.refetches <= one.evictions);
	/* each is one read of two blocks, or two of one where the ring wraps, beside the first reads of all */
	CU_ASSERT(one.wqe_up_b >= (one.sq_reads + one.refetches) * MRD);
	CU_ASSERT(one.wqe_up_b <= (one.sq_reads + 2 * one.refetches) * MRD);
	CU_ASSERT(one.wqe_down_b >= one.refetches * (128 + CPLD) + 16 * READERS * 128);
}

static struct numbers run_readers_in_sets(const char *cache, const char *n_sets, const char *policy)
{
	char text[8192];

	readers_trace(text, sizeof(text));
	return run(text, (const char *[]){ cache, n_sets, policy, NULL });
}

/* Some sets are full before others; any policy loses something of what does not fit. */
static void wqe_cache_with_sets_reads_again_what_a_set_displaced(void)
{
	static const char *const policies[] = { "requester.wqe_policy=lru",
						"requester.wqe_policy=random",
						"requester.wqe_policy=plru" };
	struct numbers one = run_readers("requester.wqe_cache=1");

	for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
		struct numbers half = run_readers_in_sets("requester.wqe_cache=64",
							  "requester.wqe_sets=16", policies[i]);
		struct numbers direct = run_readers_in_sets("requester.wqe_cache=128",
							    "requester.wqe_sets=128", policies[i]);
		struct numbers wide = run_readers_in_sets("requester.wqe_cache=1024",
							  "requester.wqe_sets=64", policies[i]);

		CU_ASSERT(half.refetches > 0 && half.refetches <= one.refetches);
		CU_ASSERT(direct.refetches > 0 && direct.refetches < half.refetches);
		CU_ASSERT_EQUAL(wide.refetches, 0);
	}
}

static void wqe_cache_of_unequal_sets_is_refused(void)
{
	struct tb_run t;

	CU_ASSERT_FALSE(tb_run_open(
		&t,
		&(struct tb_run_how){ .trace = "traces/demo.trace",
				      .ini = LINK "[requester]\nwqe_cache = 10\nwqe_sets = 4\n" }));
	CU_ASSERT_PTR_NOT_NULL(strstr(t.err.text, "wqe_cache"));
	CU_ASSERT_PTR_NOT_NULL(strstr(t.err.text, "a multiple of wqe_sets"));
	tb_run_close(&t);
}

static void wqe_cache_step_order_and_sleeping_change_nothing(void)
{
	static const char *const sets[] = { "requester.wqe_cache=5", "workload.cores=2", NULL };
	static const char *const in_sets[] = { "requester.wqe_cache=16", "requester.wqe_sets=4",
					       "requester.wqe_policy=random", "workload.cores=2",
					       NULL };
	char text[8192];

	readers_trace(text, sizeof(text));
	same_in_every_order(text, sets);
	same_in_every_order(text, in_sets);
}

/* 128 READs in flight, 96 blocks of the cache: those that wait to be sent displace none, and none of them is read twice. */
static void wqe_cache_of_answered_requests_leaves_sends_alone(void)
{
	struct numbers both = run_readers("requester.wqe_cache=96");
	struct numbers answered = run_readers_with((const char *[]){
		"requester.wqe_cache=96", "requester.wqe_cache_sends=off", NULL });
	struct numbers all = run_readers_with((const char *[]){
		"requester.wqe_cache=256", "requester.wqe_cache_sends=off", NULL });

	CU_ASSERT_EQUAL(all.refetches, 0);
	CU_ASSERT(answered.refetches > 0 && answered.refetches <= both.refetches);
}

/* The WQEs of responses in the line are read at the same time: more reads, and a longer line, are faster. */
static void displaced_wqes_of_responses_are_read_at_the_same_time(void)
{
	const char *const cache = "requester.wqe_cache=8", *const off =
								   "requester.wqe_cache_sends=off";
	struct numbers ahead =
		run_readers_with((const char *[]){ cache, off, "requester.rsp_ahead=64", NULL });
	struct numbers one = run_readers_with((const char *[]){
		cache, off, "requester.rsp_ahead=64", "requester.wqe_reads=1", NULL });
	struct numbers short_line =
		run_readers_with((const char *[]){ cache, off, "requester.rsp_ahead=1", NULL });

	CU_ASSERT(ahead.refetches > 16);
	CU_ASSERT(one.time_ps > 2 * ahead.time_ps);
	CU_ASSERT(short_line.time_ps > 2 * ahead.time_ps);
	/* with one read, and a cache in which not even one WQE has room, all is done */
	one = run_readers_with((const char *[]){ "requester.wqe_cache=1", "requester.wqe_reads=1",
						 "requester.rsp_ahead=1", NULL });
	CU_ASSERT(one.refetches > ahead.refetches);
}

static void wqe_line_step_order_and_sleeping_change_nothing(void)
{
	static const char *const sets[] = { "requester.wqe_cache=9",
					    "requester.wqe_cache_sends=off",
					    "requester.rsp_ahead=3", "requester.wqe_reads=2",
					    NULL };
	char text[8192];

	readers_trace(text, sizeof(text));
	same_in_every_order(text, sets);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_send_tests[] = { TEST(doorbell_mode_costs_a_register_write_and_a_wqe_read),
				  TEST(blueflame_costs_register_writes_of_whole_blocks_and_no_read),
				  TEST(blueflame_unit_that_is_no_power_of_two_is_refused),
				  TEST(blueflame_of_inline_leaves_others_to_the_doorbell),
				  TEST(blueflame_is_faster_than_inline_is_faster_than_neither),
				  TEST(blueflame_behind_unfetched_wqes_is_read_from_memory),
				  TEST(blueflame_without_buffers_is_a_doorbell),
				  TEST(batch_rings_once_with_eight_bytes),
				  TEST(cores_post_at_the_same_time),
				  TEST(qps_and_cqs_belong_to_the_cores_of_the_trace),
				  TEST(cores_step_order_and_sleeping_change_nothing),
				  TEST(engine_of_two_units_starts_twice_as_often),
				  TEST(nic_at_1_ghz_does_120_million_messages),
				  TEST(rate_cap_spaces_the_packets_of_a_message),
				  TEST(wqe_displaced_is_read_again),
				  TEST(wqe_cache_with_sets_reads_again_what_a_set_displaced),
				  TEST(wqe_cache_of_unequal_sets_is_refused),
				  TEST(wqe_cache_step_order_and_sleeping_change_nothing),
				  TEST(wqe_cache_of_answered_requests_leaves_sends_alone),
				  TEST(displaced_wqes_of_responses_are_read_at_the_same_time),
				  TEST(wqe_line_step_order_and_sleeping_change_nothing),
				  CU_TEST_INFO_NULL };
