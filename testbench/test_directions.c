/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_directions.c - a parameter moves what it should, and only in the direction in which it should
 *
 * A row sets one key to one value after the other, runs its traffic for each, and names a metric that
 * never rises (or never falls) from one value to the next and is different at the two ends. A metric is
 * "time" (the last completion) or a statistic by its name.
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

#include "testbench/tb_file.h"
#include "testbench/tb_run.h"

#define HOSTS \
	"rnicsim-trace 1\nhost h0\nhost h1\n" \
	"mr h0 src va=0x10000000 len=1MiB access=lw,rw,rr fill=inc\n" \
	"mr h1 dst va=0x20000000 len=1MiB access=lw,rw,rr fill=inc\n" \
	"qp h0 q0 type=RC peer=h1.q0 mtu=4096\n" \
	"qp h1 q0 type=RC peer=h0.q0 mtu=4096\n"

/* Traffic: what is posted. */
static const char writes[] =
	HOSTS "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:4096 remote=dst:0 repeat=100 window=16\n";
static const char reads[] =
	HOSTS "post h0.q0 id=1 op=RDMA_READ sge=src:0:4096 remote=dst:0 repeat=100 window=16\n";
static const char small[] =
	HOSTS "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:64 remote=dst:0 repeat=300 window=64\n";

/* One long message: nothing else on the link that it could hold up. */
static const char bulk[] = HOSTS "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:512KiB remote=dst:0\n";

enum direction { NEVER_RISES, NEVER_FALLS };

struct row {
	const char *traffic, *key;
	const char *values[8]; /* NULL at the end */
	const char *metric;
	enum direction direction;
	const char *also; /* one more setting, or NULL */
};

static const struct row rows[] = {
	/* the DMA engine */
	{ bulk, "dma_engine.tags", { "1", "2", "4", "16", "256" }, "time", NEVER_RISES, NULL },
	{ reads, "dma_engine.tags", { "1", "2", "4", "16", "256" }, "time", NEVER_RISES, NULL },
	{ bulk,
	  "dma_engine.cpl_buffer",
	  { "4KiB", "8KiB", "16KiB", "128KiB" },
	  "time",
	  NEVER_RISES,
	  "pcie_link.latency=500ns" },
	{ writes,
	  "dma_engine.mrrs",
	  { "128B", "256B", "512B", "1KiB", "4KiB" },
	  "nic0.pcie_link.up_payload_read_b",
	  NEVER_RISES,
	  NULL },
	{ writes, "dma_engine.width", { "4B", "8B", "16B", "64B" }, "time", NEVER_RISES, NULL },
	/* credits */
	{ writes,
	  "pcie_link.root_nph",
	  { "1", "2", "4", "16", "0" },
	  "time",
	  NEVER_RISES,
	  "pcie_link.fc_latency=1us" },
	{ writes, "pcie_link.root_ph", { "1", "2", "4", "16", "0" }, "time", NEVER_RISES, NULL },
	{ writes,
	  "pcie_link.root_pd",
	  { "16", "32", "64", "256", "0" },
	  "time",
	  NEVER_RISES,
	  NULL },
	{ writes, "pcie_link.dev_cplh", { "1", "2", "4", "16", "0" }, "time", NEVER_RISES, NULL },
	{ writes, "pcie_link.dev_cpld", { "16", "32", "64", "0" }, "time", NEVER_RISES, NULL },
	{ small,
	  "pcie_link.dev_ph",
	  { "1", "2", "0" },
	  "time",
	  NEVER_RISES,
	  "pcie_link.fc_latency=2us" },
	{ writes,
	  "pcie_link.fc_latency",
	  { "1ns", "100ns", "500ns", "2us" },
	  "time",
	  NEVER_FALLS,
	  "pcie_link.root_nph=2" },
	{ writes,
	  "pcie_link.fc_interval",
	  { "0", "1us", "4us", "30us" },
	  "time",
	  NEVER_FALLS,
	  "pcie_link.root_nph=2" },
	/* the link */
	{ writes, "pcie_link.gen", { "1", "2", "3", "4", "5", "6" }, "time", NEVER_RISES, NULL },
	{ writes, "pcie_link.lanes", { "1", "2", "4", "8", "16" }, "time", NEVER_RISES, NULL },
	{ writes,
	  "pcie_link.efficiency",
	  { "5000", "7000", "9185", "10000" },
	  "time",
	  NEVER_RISES,
	  "pcie_link.lanes=4" },
	{ small, "pcie_link.latency", { "10ns", "100ns", "1us" }, "time", NEVER_FALLS, NULL },
	{ writes,
	  "pcie_link.mps",
	  { "128B", "256B", "512B", "1KiB" },
	  "nic1.pcie_link.up_payload_write_b",
	  NEVER_RISES,
	  NULL },
	{ writes,
	  "pcie_link.mps",
	  { "128B", "256B", "512B" },
	  "nic0.pcie_link.down_payload_read_b",
	  NEVER_RISES,
	  NULL },
	{ writes,
	  "pcie_link.hdr_req",
	  { "20", "24", "28" },
	  "nic1.pcie_link.up_payload_write_b",
	  NEVER_FALLS,
	  NULL },
	{ small,
	  "pcie_link.relaxed_ordering",
	  { "off", "on" },
	  "time",
	  NEVER_RISES,
	  "pcie_link.dev_ph=1" },
};

static uint64_t metric_of(const struct tb_run *t, const char *metric)
{
	uint64_t last = 0;

	if (strcmp(metric, "time") != 0)
		return tb_run_stat(t, metric);
	for (unsigned i = 0; i < WR_OPCODES; i++)
		last = last > t->report.ops[i].last_ps ? last : t->report.ops[i].last_ps;
	return last;
}

static uint64_t measure(const struct row *r, const char *value)
{
	static struct tb_run t;
	char set[96];
	const char *sets[] = { set, r->also, NULL };
	uint64_t v;

	snprintf(set, sizeof(set), "%s=%s", r->key, value);
	tb_run_ok(&t, &(struct tb_run_how){
			      .trace = tb_write("directions.trace", r->traffic, strlen(r->traffic)),
			      .sets = sets,
			      .no_checkers = true });
	v = metric_of(&t, r->metric);
	tb_run_close(&t);
	return v;
}

/* Steps of a row that went the other way; one more when the two ends are equal. */
static unsigned count_wrong(const struct row *r, enum direction direction)
{
	uint64_t first = measure(r, r->values[0]), before = first, now = first;
	unsigned wrong = 0;

	for (unsigned i = 1; r->values[i]; i++, before = now) {
		now = measure(r, r->values[i]);
		if (direction == NEVER_RISES ? now > before : now < before) {
			printf("%s=%s: %s is %llu after %llu\n", r->key, r->values[i], r->metric,
			       (unsigned long long)now, (unsigned long long)before);
			wrong++;
		}
	}
	return wrong + (now == first);
}

static void directions_of_parameters_are_right(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CU_ASSERT_EQUAL(count_wrong(&rows[i], rows[i].direction), 0);
}

static void directions_wrong_way_round_are_caught(void)
{
	CU_ASSERT(count_wrong(&rows[0], NEVER_FALLS) > 0);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_directions_tests[] = { TEST(directions_of_parameters_are_right),
					TEST(directions_wrong_way_round_are_caught),
					CU_TEST_INFO_NULL };
