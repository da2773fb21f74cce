/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_scenario.c - random small traces: NICs of odd sizes and wires that lose packets
 */
#include <inttypes.h>
#include <string.h>

#include "testbench/gen_parts.h"

#define MAX_VALUES 6u

struct knob {
	const char *name;
	const char *usual; /* instead of a default that takes long to set up; NULL = the default */
	const char *values[MAX_VALUES];
};
#define KNOB(name, usual, ...) \
	{ \
		name, usual, \
		{ \
			__VA_ARGS__ \
		} \
	}

static const struct knob knobs[] = {
	KNOB("requester.window", NULL, "1", "2", "5", "16", "64"),
	KNOB("requester.burst", NULL, "1", "2", "3", "7", "64"),
	KNOB("requester.quantum", NULL, "256B", "1KiB", "64KiB"),
	KNOB("requester.ahead", NULL, "4KiB"),
	KNOB("requester.ahead_time", NULL, "1ns"),
	KNOB("requester.rate_burst", NULL, "4KiB"),
	KNOB("requester.writes", NULL, "2", "3", "8"),
	KNOB("responder.contexts", NULL, "1", "2", "3", "8"),
	KNOB("responder.writes", NULL, "2", "3", "8", "16"),
	KNOB("responder.burst", NULL, "1", "2", "5"),
	KNOB("responder.quantum", NULL, "256B", "1KiB", "64KiB"),
	KNOB("responder.strict", NULL, "on"),
	KNOB("responder.rate_burst", NULL, "4KiB"),
	KNOB("responder.ack_buffers", NULL, "1", "2", "4"),
	KNOB("responder.ack_count", NULL, "2", "4", "16"),
	KNOB("responder.ack_delay", NULL, "100ns", "1us", "3us"),
	KNOB("responder.dup_needs_ack_req", NULL, "on"),
	KNOB("responder.credits", NULL, "off"),
	KNOB("responder.keep_short_recv", NULL, "on"),
	KNOB("requester.credits", NULL, "off"),
	KNOB("pktizer.width", NULL, "8B", "16B", "1KiB"),
	KNOB("pktizer.inflight", NULL, "1", "2", "3", "5"),
	KNOB("pktizer.req_packets", "64", "2", "3", "8"),
	KNOB("pktizer.rsp_packets", "64", "2", "3", "8"),
	KNOB("pktizer.ack_req_every", NULL, "0", "1", "3", "7"),
	KNOB("wqe_fetch.prefetch", NULL, "1", "2", "3", "64"),
	KNOB("wqe_fetch.prefetch_time", NULL, "1ns", "100us"),
	KNOB("wqe_fetch.exact", NULL, "on"),
	KNOB("wqe_fetch.reads", NULL, "1", "2"),
	KNOB("wqe_fetch.width", NULL, "16B", "1KiB"),
	KNOB("wqe_fetch.wqe_slots", "200", "16", "17", "40"),
	KNOB("wqe_fetch.rq_prefetch", NULL, "1", "2", "7"),
	KNOB("wqe_fetch.rq_low", NULL, "0", "1", "64"),
	KNOB("qp_sched.wqe_per_qp", NULL, "1", "2", "3"),
	KNOB("qp_sched.held_up", NULL, "16", "17"),
	KNOB("mtt.mpt_sets", "64", "1", "2"),
	KNOB("mtt.mpt_ways", NULL, "1"),
	KNOB("mtt.sets", "64", "1", "2"),
	KNOB("mtt.ways", NULL, "1"),
	KNOB("mtt.hit_cyc", NULL, "3", "9"),
	KNOB("qpc_cache.sets", "64", "1", "2"),
	KNOB("qpc_cache.ways", NULL, "1"),
	KNOB("qpc_cache.queue", NULL, "1", "2", "3"),
	KNOB("qpc_cache.max_misses", NULL, "1", "2"),
	KNOB("dma_engine.width", NULL, "1B", "8B", "16B"),
	KNOB("dma_engine.tags", NULL, "1", "2", "3"),
	KNOB("dma_engine.mrrs", NULL, "128B", "256B", "4KiB"),
	KNOB("dma_engine.per_client", NULL, "1", "2", "3"),
	KNOB("dma_engine.ahead", NULL, "1", "2", "3"),
	KNOB("dma_engine.pipeline", NULL, "0", "1", "17"),
	KNOB("host_mem.read_latency", NULL, "0ps", "1us", "3us"),
	KNOB("host_mem.write_latency", NULL, "0ps", "1us"),
	KNOB("host_mem.mmio_latency", NULL, "0ps", "1us"),
	KNOB("host_mem.queue", "64", "1", "2", "5"),
	KNOB("host_mem.mmio_buffers", NULL, "1", "2"),
	KNOB("host_mem.llc", NULL, "cold", "modelled"),
	KNOB("host_mem.llc_sets", "16", "1", "4"),
	KNOB("host_mem.ddio_ways", NULL, "0", "1", "20"),
	KNOB("host_mem.numa", NULL, "remote"),
	KNOB("host_mem.iommu", NULL, "on"),
	KNOB("host_mem.iotlb_ways", NULL, "1", "2", "8"),
	KNOB("host_mem.walkers", NULL, "2", "8"),
	KNOB("host_mem.read_spread", NULL, "5ns", "200ns"),
	KNOB("host_mem.refresh_time", NULL, "260ns", "4us"),
	KNOB("pcie_link.gen", NULL, "1", "6"),
	KNOB("pcie_link.lanes", NULL, "1", "2", "4"),
	KNOB("pcie_link.mps", NULL, "128B", "512B"),
	KNOB("pcie_link.latency", NULL, "1ps", "1us"),
	KNOB("pcie_link.depth", "64", "2", "3", "5"),
	KNOB("doorbell.slots", NULL, "1", "2"),
	KNOB("cqe_writer.buffers", NULL, "2", "3"),
	KNOB("cqe_writer.compress", NULL, "on", "on", "off"),
	KNOB("cqe_writer.compress_max", NULL, "2", "3", "9", "17"),
	KNOB("cqe_writer.compress_time", NULL, "0ps", "1us", "20us"),
	KNOB("cqe_writer.compress_sessions", NULL, "1", "2"),
	KNOB("cqe_writer.mini_format", NULL, "csum", "csum_stridx"),
	KNOB("atomic.parallel", NULL, "1", "2"),
	KNOB("atomic.interval", NULL, "5", "50"),
	KNOB("rx_parser.width", NULL, "8", "1024"),
	KNOB("rx_parser.depth", NULL, "1", "2", "3"),
	KNOB("rx_parser.latency", NULL, "1", "20"),
	KNOB("rx_parser.icrc_always", NULL, "on"),
	KNOB("mac.rate", NULL, "10Gbps", "1Gbps", "400Gbps"),
	KNOB("workload.post_cost", NULL, "0ps", "1us"),
	KNOB("workload.poll_cost", NULL, "0ps", "2us"),
	KNOB("workload.ci_every", NULL, "1", "3"),
	KNOB("workload.post", NULL, "bf_inline", "blueflame"),
	KNOB("workload.wc_bytes", NULL, "16B", "32B"),
	KNOB("workload.cores", NULL, "2", "3", "7"),
	KNOB("doorbell.bf_buffers", NULL, "0", "1", "2"),
	KNOB("qp_sched.strict", NULL, "on"),
	KNOB("requester.strict", NULL, "on"),
	KNOB("requester.wqe_cache", NULL, "1", "2", "5", "64"),
	KNOB("requester.wqe_policy", NULL, "random"),
	KNOB("cqe_writer.records", NULL, "1", "2"),
	KNOB("requester.wqe_cache_sends", NULL, "off"),
	KNOB("requester.wqe_reads", NULL, "1", "3"),
	KNOB("requester.rsp_ahead", NULL, "1", "3"),
	KNOB("requester.units", NULL, "2", "5"),
	KNOB("requester.job_cyc", NULL, "3", "50"),
	KNOB("requester.rsp_cyc", NULL, "3", "50"),
	KNOB("pktizer.units", NULL, "2", "5"),
	KNOB("pktizer.hdr_cyc", NULL, "3", "50"),
	KNOB("responder.units", NULL, "2", "5"),
	KNOB("responder.checks", NULL, "0", "1", "3"),
	KNOB("responder.rsc_cache", NULL, "on"),
	KNOB("rsc_cache.sets", NULL, "1"),
	KNOB("rsc_cache.max_misses", NULL, "1", "2"),
	KNOB("responder.pkt_cyc", NULL, "3", "50"),
	KNOB("responder.read_cyc", NULL, "3", "50"),
	KNOB("responder.atomic_cyc", NULL, "3", "50"),
	KNOB("atomic.cas_alu", NULL, "9"),
	KNOB("atomic.lock_cyc", NULL, "4"),
	KNOB("atomic.locks", NULL, "1", "3"),
	KNOB("nic.clock", NULL, "100MHz", "333MHz", "1GHz"),
	KNOB("nic0.clock", NULL, "50MHz", "777MHz"),
	KNOB("host.clock", NULL, "250MHz", "100MHz", "3GHz"),
	KNOB("link0.length", NULL, "1m", "100m", "2km"),
	KNOB("feed.clock", NULL, "10MHz"),
};

static void write_setting(struct gen *g, const char *name, const char *value)
{
	const char *dot = strchr(name, '.');

	fprintf(g->f, "[%.*s]\n%s = %s\n", (int)(dot - name), name, dot + 1, value);
}

enum { LOSS, DUPLICATE, REORDER, CORRUPT, JITTER, IMPAIRMENTS };

static void write_loss(struct gen *g)
{
	static const char *const kinds[IMPAIRMENTS] = { [LOSS] = "loss",
							[DUPLICATE] = "duplicate",
							[REORDER] = "reorder",
							[CORRUPT] = "corrupt",
							[JITTER] = "jitter" };

	if (g->want->is_rarely_lossy) {
		write_setting(g, "link0.loss", "0.01");
		return;
	}
	fprintf(g->f, "[link0]\n");
	for (unsigned i = 0; i < IMPAIRMENTS; i++) {
		if (one_in(g, 2))
			continue;
		fprintf(g->f, "%s = 0.%02u\n", kinds[i],
			one_in(g, 3) ? 1 + below(g, 20) : 1 + below(g, 5));
		g->out->may_double |= i == DUPLICATE;
		/* a repeated packet comes a packet's time later: behind short ones */
		g->out->may_pass |= i == REORDER || i == DUPLICATE;
	}
	fprintf(g->f, "reorder_delay = %uns\njitter_delay = %uns\n", 1 + below(g, 20000),
		1 + below(g, 20000));
}

void gen_write_scenario(struct gen *g, uint64_t seed)
{
	uint32_t rate = PICK(g, 3, 8, 30);

	fprintf(g->f,
		"[scenario]\ntrace = rnicsim-case-%" PRIu64 ".trace\nseed = %" PRIu64
		"\nuntil = 100s\nstall = 5s\n",
		seed, seed);
	for (uint32_t i = 0; !g->want->is_plain_nic && i < sizeof(knobs) / sizeof(knobs[0]); i++) {
		uint32_t n = 0;

		while (n < MAX_VALUES && knobs[i].values[n])
			n++;
		if (one_in(g, rate))
			write_setting(g, knobs[i].name, knobs[i].values[below(g, n)]);
		else if (knobs[i].usual)
			write_setting(g, knobs[i].name, knobs[i].usual);
	}
	/* enough for all that the receivers can hold, or (what is more is lost) not */
	write_setting(g, "wire.buffer",
		      !g->is_lossy || !one_in(g, 6) ? "512KiB"
		      : one_in(g, 2)                ? "64KiB"
						    : "100KB");
	if (g->is_lossy)
		write_loss(g);
}
