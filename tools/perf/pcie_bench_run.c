/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcie_bench_run.c - builds the net-list of a PCI Express measurement, runs it, sums it up
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/host_mem.h"
#include "models/pcie_bench.h"
#include "models/rnic.h"
#include "sim/command.h"

#define GROUP "nic0"
#define SKIP 8u /* BW: the first of so many parts of a run is not counted */

static const char *const parts[] = { "pcie_bench", "dma_engine", "pcie_link", "host_mem" };

static const struct {
	const char *from, *out, *to, *in;
	uint32_t depth;
} joints[] = {
	{ "pcie_bench", "req", "dma_engine", "req0", 8 },
	{ "dma_engine", "rsp0", "pcie_bench", "rsp", 8 },
	{ "dma_engine", "xlate_req", "pcie_bench", "xlate_req", 8 },
	{ "pcie_bench", "xlate_rsp", "dma_engine", "xlate_rsp", 8 },
	{ "dma_engine", "tlp", "pcie_link", "up_in", 16 },
	{ "pcie_link", "up_out", "host_mem", "up", 16 },
	{ "host_mem", "down", "pcie_link", "down_in", 16 },
	{ "pcie_link", "down_cpl", "dma_engine", "cpl", 16 },
	{ "pcie_link", "mmio", "pcie_bench", "mmio", 16 },
	{ "pcie_bench", "cpu_req", "host_mem", "cpu_req", 16 },
	{ "host_mem", "cpu_rsp", "pcie_bench", "cpu_rsp", 16 },
};

/* [nic] as far as it matters here. */
struct group {
	uint64_t clock;
};

#define T struct group
static const struct field group_fields[] = { PARAM_FREQ(T, clock, 250 * MHZ, 1 * MHZ, 10 * GHZ,
							"clock of the device", "declared"),
					     FIELDS_END };
#undef T

struct bench {
	struct config cfg;
	struct sim sim;
	struct pcie_bench_env env;
	struct block *part[ARRAY_LEN(parts)];
};

static bool set(struct bench *b, struct err *e, const char *key, const char *value)
{
	char text[128];

	snprintf(text, sizeof(text), "%s=%s", key, value);
	return config_set(&b->cfg, text, e);
}

static bool set_number(struct bench *b, struct err *e, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return set(b, e, key, text);
}

/* What 'how' asks for, as settings. */
static bool configure(struct bench *b, const struct pcie_bench_how *how, struct err *e)
{
	static const char *const pages[] = { "4KiB", "2MiB", "1GiB" };

	SIM_CHECK(how->kind < PCIE_BENCH_KINDS && how->page < ARRAY_LEN(pages), NULL);
	if (how->window < how->size)
		return err_set(e, NULL, 0,
			       "pcie-bench: a window of %" PRIu64
			       " B is too small for transfers of %" PRIu32
			       " B; allowed: a transfer or more",
			       how->window, how->size);
	if (!set(b, e, "pcie_bench.kind", pcie_bench_kind_names[how->kind]) ||
	    !set_number(b, e, "pcie_bench.size", how->size) ||
	    !set_number(b, e, "pcie_bench.window", how->window) ||
	    !set_number(b, e, "pcie_bench.n", how->n) ||
	    !set(b, e, "pcie_bench.order", how->is_sequential ? "sequential" : "random") ||
	    !set(b, e, "pcie_bench.direct", how->is_direct ? "on" : "off"))
		return false;
	if (how->is_remote && !set(b, e, "host_mem.numa", "remote"))
		return false;
	if (how->has_iommu && !(set(b, e, "host_mem.iommu", "on") &&
				set(b, e, "host_mem.iommu_page", pages[how->page])))
		return false;
	for (const char *const *s = how->sets; s && *s; s++)
		if (!config_set(&b->cfg, *s, e))
			return false;
	return rnic_read_profile(&b->cfg, GROUP, NULL,
				 how->profile ? how->profile : PCIE_BENCH_PROFILE, e);
}

/* A profile may speak of blocks that a NIC has and the bench has not. */
static void forgive_profile(struct config *cfg)
{
	for (uint32_t i = 0; i < cfg->n; i++)
		if (cfg->settings[i].rank == CONFIG_PROFILE)
			cfg->settings[i].is_used = true;
}

static uint32_t part_index(const char *name)
{
	for (uint32_t i = 0; i < ARRAY_LEN(parts); i++)
		if (strcmp(parts[i], name) == 0)
			return i;
	SIM_CHECK(!"pcie_bench: no such part", NULL);
	return 0;
}

static bool build(struct bench *b, const struct pcie_bench_how *how, struct err *e)
{
	struct group g;
	void *envs[] = { &b->env, &b->env.nic, NULL, &b->env.host };

	if (!configure(b, how, e) || !config_apply(&b->cfg, GROUP, "nic", group_fields, &g, e))
		return false;
	for (uint32_t i = 0; i < ARRAY_LEN(parts); i++) {
		char path[32];

		snprintf(path, sizeof(path), GROUP ".%s", parts[i]);
		b->part[i] =
			netlist_add(&b->sim, block_classes, parts[i], path, &b->cfg,
				    i == part_index("host_mem") ? 1 * GHZ : g.clock, envs[i], e);
		if (!b->part[i])
			return false;
	}
	forgive_profile(&b->cfg);
	if (!config_check_used(&b->cfg, e))
		return false;
	for (uint32_t i = 0; i < ARRAY_LEN(joints); i++)
		netlist_connect(&b->sim, b->part[part_index(joints[i].from)], joints[i].out,
				b->part[part_index(joints[i].to)], joints[i].in, joints[i].depth,
				1);
	return true;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void sum_latency(struct pcie_bench_result *r, const uint64_t *sample, uint32_t n)
{
	r->n = n;
	r->latency_ps = x_calloc(n, sizeof(*r->latency_ps));
	memcpy(r->latency_ps, sample, n * sizeof(*sample));
	qsort(r->latency_ps, n, sizeof(*r->latency_ps), by_value);
	r->min_ps = r->latency_ps[0];
	r->median_ps = r->latency_ps[n / 2];
	r->p999_ps = r->latency_ps[n - 1 - n / 1000];
	r->max_ps = r->latency_ps[n - 1];
}

static void sum_bandwidth(struct pcie_bench_result *r, const struct pcie_bench_how *how,
			  const uint64_t *sample, uint32_t n)
{
	uint32_t skip = n / SKIP;
	uint64_t ways = how->kind == PCIE_BW_RDWR ? 2 : 1;

	r->n = n - 1 - skip;
	r->time_ps = sample[n - 1] - sample[skip];
	if (r->time_ps == 0)
		return;
	/* in units in which 10^8 transfers of 4 KiB fit 64 bits */
	r->mbps = r->n * how->size * 8 * PS_PER_US / r->time_ps / ways;
	r->kops = r->n * (PS_PER_S / 1000) / r->time_ps / ways;
}

static uint64_t stat(const struct block *b, const char *name)
{
	return field_get(b, field_find(b->cls->fields, FIELD_STAT, name));
}

static void sum_up(const struct bench *b, const struct pcie_bench_how *how,
		   struct pcie_bench_result *r)
{
	const struct block *host = b->part[part_index("host_mem")];
	uint32_t n;
	const uint64_t *sample = pcie_bench_samples(b->part[0], &n);

	SIM_CHECK(n == how->n, b->part[0]);
	if (how->kind <= PCIE_LAT_WRRD)
		sum_latency(r, sample, n);
	else
		sum_bandwidth(r, how, sample, n);
	r->iotlb_misses = stat(host, "iotlb_misses");
	r->llc_misses = stat(host, "llc_misses");
}

static void start(struct bench *b, const struct pcie_bench_how *how)
{
	config_init(&b->cfg);
	sim_init(&b->sim, how->seed);
	mem_init(&b->env.mem);
	b->env.nic.oplog = oplog_create();
	b->env.host =
		(struct host){ .nic = &b->env.nic, .mem = &b->env.mem, .oplog = b->env.nic.oplog };
	b->env.base = mem_alloc(&b->env.mem, how->window + PCIE_BENCH_MAX_B, 2 * MIB);
}

static void end(struct bench *b)
{
	sim_destroy(&b->sim);
	oplog_destroy(b->env.nic.oplog);
	mem_destroy(&b->env.mem);
	config_destroy(&b->cfg);
}

bool pcie_bench_run(const struct pcie_bench_how *how, struct pcie_bench_result *r, struct err *e)
{
	struct bench b = { 0 };
	bool ok;

	*r = (struct pcie_bench_result){ 0 };
	start(&b, how);
	ok = build(&b, how, e) && netlist_finish(&b.sim, e);
	if (ok) {
		if (!how->is_cold)
			host_mem_touch(b.part[part_index("host_mem")], b.env.base, how->window);
		sim_run(&b.sim);
		sum_up(&b, how, r);
	}
	end(&b);
	return ok;
}

void pcie_bench_release(struct pcie_bench_result *r)
{
	free(r->latency_ps);
	r->latency_ps = NULL;
}
