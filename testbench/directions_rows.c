/* SPDX-License-Identifier: Apache-2.0 */
/*
 * directions_rows.c - parameters, the traffic that shows them, and the direction in which they move it
 */
#include "testbench/directions.h"

#include "sim/units.h"

/* Traffic: what is posted. */
static const char writes[] =
	HOSTS "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:4096 remote=dst:0 repeat=100 window=16\n";
static const char reads[] =
	HOSTS "post h0.q0 id=1 op=RDMA_READ sge=src:0:4096 remote=dst:0 repeat=100 window=16\n";
static const char small[] =
	HOSTS "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:64 remote=dst:0 repeat=300 window=64\n";

/* One long message: nothing else on the link that it could hold up. */
static const char bulk[] = HOSTS "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:512KiB remote=dst:0\n";

/*
 * Pages that come round again; one READ at a time. Pages that were not used before, many READs. The
 * first again, with a table of its own for every page.
 */
#define FAR_MR(len) "mr h1 far va=0x40000000 len=" len " access=lw,rr fill=zero\n"
#define ROUNDS(stride) \
	"post h0.q0 id=1 op=RDMA_READ sge=src:0:64 remote=far:0 rstride=" stride \
	" repeat=200 window=1\n"
static const char rounds[] = HOSTS FAR_MR("256KiB") ROUNDS("4KiB");
static const char fresh[] =
	HOSTS FAR_MR("1MiB") "post h0.q0 id=1 op=RDMA_READ sge=src:0:64 remote=far:0 rstride=4KiB"
			     " repeat=128 window=16\n";
static const char tables[] = HOSTS FAR_MR("64MiB") ROUNDS("2MiB");

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
static const char queues[] = QUEUES POSTS("op=RDMA_WRITE sge=src:0:64 remote=dst:0");
static const char queues_read[] =
	QUEUES POSTS("op=RDMA_READ sge=src:0:1024 remote=dst:0 stride=1KiB rstride=1KiB");
static const char scattered[] =
	QUEUES POSTS("op=RDMA_READ sge=src:0:64,src:64:64,src:128:64,src:192:64 remote=dst:0");
#define PAGE(n, at) POST(n, "op=RDMA_READ sge=src:0:64 remote=far:" #at " rstride=4KiB")
static const char pages[] = QUEUES FAR_MR("256KiB") PAGE(0, 0) PAGE(1, 32768) PAGE(2, 65536)
	PAGE(3, 98304) PAGE(4, 131072) PAGE(5, 163840) PAGE(6, 196608) PAGE(7, 229376);

/* Eight queues with a CQ of two entries each: its doorbell record is read again and again. */
#define FEW(n) \
	"cq h0 f" #n " depth=2\n" \
	"qp h0 a" #n " type=RC peer=h1.a" #n " scq=f" #n " mtu=1024\n" \
	"qp h1 a" #n " type=RC peer=h0.a" #n "\n"
#define ONE_BY_ONE(n) \
	"post h0.a" #n " id=1" #n " op=RDMA_WRITE sge=src:0:64 remote=dst:0 repeat=40 window=1\n"
static const char few_entries[] =
	HOSTS FEW(0) FEW(1) FEW(2) FEW(3) FEW(4) FEW(5) FEW(6) FEW(7) ONE_BY_ONE(0) ONE_BY_ONE(1)
		ONE_BY_ONE(2) ONE_BY_ONE(3) ONE_BY_ONE(4) ONE_BY_ONE(5) ONE_BY_ONE(6) ONE_BY_ONE(7);

/* Inline: one at a time, and as many as the core can post. */
#define INLINED "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:32 remote=dst:0 flags=inline repeat=50 "
static const char inlined[] = HOSTS INLINED "window=1\n";

/* Many messages at a cap, beside a long one. */
static const char capped[] =
	QUEUES "qp h0 c type=RC peer=h1.c mtu=1024 rate=10Gbps sq=512\nqp h1 c type=RC peer=h0.c\n"
	       "post h0.a0 id=1 op=RDMA_WRITE sge=src:0:256KiB remote=dst:0\n"
	       "post h0.c id=2 op=RDMA_WRITE sge=src:0:64 remote=dst:0 repeat=300 window=300\n";
static const char posted[] = HOSTS INLINED "window=50\n";
/* ATOMICs of eight queues, each at a word of its own and all at one. */
#define ADD(n, at) \
	"post h0.a" #n " id=1" #n " op=ATOMIC_FETCH_AND_ADD sge=src:0:8 remote=adds:" #at \
	" add=1 repeat=20 window=4\n"
#define ADDS(a, b, c, d, e, f, g, h) \
	QUEUES "mr h1 adds va=0x40000000 len=4KiB access=lw,ra fill=zero\n" ADD(0, a) ADD(1, b) \
		ADD(2, c) ADD(3, d) ADD(4, e) ADD(5, f) ADD(6, g) ADD(7, h)
static const char atomics[] = ADDS(0, 8, 16, 24, 32, 40, 48, 56);
static const char one_word[] = ADDS(0, 0, 0, 0, 0, 0, 0, 0);

const struct row direction_rows[] = {
	/* the DMA engine */
	{ bulk, "dma_engine.tags", { "1", "2", "4", "16", "256" }, "time", NEVER_RISES, NULL },
	{ reads, "dma_engine.tags", { "1", "2", "4", "16", "256" }, "time", NEVER_RISES, NULL },
	/*
	 * More bytes outstanding than the way to memory holds (8 KiB) queue at the link, where a WQE's
	 * bytes wait behind them: what they do not exceed, tags never slow down.
	 */
	{ writes,
	  "dma_engine.tags",
	  { "1", "2", "4", "8", "16", "64", "256" },
	  "time",
	  NEVER_RISES,
	  "dma_engine.cpl_buffer=8KiB" },
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
	  "pcie_link.gen",
	  { "1", "2", "3", "4", "5", "6" },
	  "nic0.pcie_link.down_payload_read_b",
	  NEVER_RISES,
	  NULL },
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
	/* the host */
	{ rounds, "host_mem.read_latency", { "10ns", "100ns", "1us" }, "time", NEVER_FALLS, NULL },
	{ rounds, "host_mem.write_latency", { "10ns", "100ns", "1us" }, "time", NEVER_FALLS, NULL },
	{ rounds, "host_mem.mmio_latency", { "10ns", "100ns", "1us" }, "time", NEVER_FALLS, NULL },
	{ rounds, "host_mem.store_latency", { "0", "1ns", "100ns" }, "time", NEVER_FALLS, NULL },
	{ rounds, "host_mem.llc", { "warm", "cold" }, "time", NEVER_FALLS, NULL },
	{ rounds,
	  "host_mem.miss_latency",
	  { "0", "54ns", "1us" },
	  "time",
	  NEVER_FALLS,
	  "host_mem.llc=cold" },
	{ rounds, "host_mem.numa", { "local", "remote" }, "time", NEVER_FALLS, NULL },
	{ rounds,
	  "host_mem.remote_hit",
	  { "0", "93ns", "1us" },
	  "time",
	  NEVER_FALLS,
	  "host_mem.numa=remote" },
	{ rounds, "host_mem.iommu", { "off", "on" }, "time", NEVER_FALLS, NULL },
	{ rounds,
	  "host_mem.iotlb_ways",
	  { "1", "4", "16", "64", "128", "256" },
	  "host1.host_mem.iotlb_misses",
	  NEVER_RISES,
	  "host_mem.iommu=on" },
	{ rounds,
	  "host_mem.iotlb_miss",
	  { "0", "228ns", "2us" },
	  "time",
	  NEVER_FALLS,
	  "host_mem.iommu=on host_mem.iotlb_ways=8" },
	{ rounds,
	  "host_mem.cached_levels",
	  { "0", "1", "2", "3" },
	  "time",
	  NEVER_RISES,
	  "host_mem.iommu=on host_mem.iotlb_ways=8" },
	{ pages,
	  "host_mem.walkers",
	  { "1", "2", "4", "16" },
	  "time",
	  NEVER_RISES,
	  "host_mem.iommu=on host_mem.iotlb_ways=8 host_mem.walk_access=1us mtt.window=64 mtt.max_misses=16" },
	{ rounds,
	  "host_mem.iommu_page",
	  { "4KiB", "2MiB", "1GiB" },
	  "host1.host_mem.iotlb_misses",
	  NEVER_RISES,
	  "host_mem.iommu=on host_mem.iotlb_ways=8" },
	{ small, "workload.post_cost", { "0", "40ns", "200ns", "1us" }, "time", NEVER_FALLS, NULL },
	{ small,
	  "workload.doorbell_cost",
	  { "0", "20ns", "200ns", "1us" },
	  "time",
	  NEVER_FALLS,
	  NULL },
	{ small, "workload.poll_cost", { "0", "20ns", "200ns", "1us" }, "time", NEVER_FALLS, NULL },
	{ queues,
	  "workload.cores",
	  { "1", "2", "4", "8" },
	  "time",
	  NEVER_RISES,
	  "workload.post_cost=200ns" },
	{ inlined,
	  "workload.wc_bytes",
	  { "16", "32", "64" },
	  "nic0.pcie_link.down_doorbell_b",
	  NEVER_RISES,
	  "workload.post=blueflame" },
	{ inlined, "workload.post", { "doorbell", "blueflame" }, "time", NEVER_RISES, NULL },
	{ inlined,
	  "workload.wc_cost",
	  { "0", "10ns", "100ns" },
	  "time",
	  NEVER_FALLS,
	  "workload.post=blueflame workload.wc_bytes=16" },
	{ posted,
	  "workload.flush_cost",
	  { "0", "100ns", "1us" },
	  "time",
	  NEVER_FALLS,
	  "workload.post=blueflame" },
	/* caches; one request after the other, so that their order is the same at every size */
	{ NULL,
	  "qpc_cache.ways",
	  { "1", "2", "4", "8", "12", "16", "32" },
	  "nic0.qpc_tx.misses",
	  NEVER_RISES,
	  "qpc_cache.sets=1" },
	{ NULL,
	  "qpc_cache.ways",
	  { "1", "2", "4", "8", "12", "16", "32" },
	  "nic1.qpc_rx.misses",
	  NEVER_RISES,
	  "qpc_cache.sets=1" },
	{ NULL,
	  "cqc_cache.ways",
	  { "1", "2", "4", "8", "12", "16", "32" },
	  "nic0.cqc.misses",
	  NEVER_RISES,
	  "cqc_cache.sets=1" },
	{ NULL,
	  "qpc_cache.entry",
	  { "64B", "128B", "256B", "512B" },
	  "nic1.pcie_link.down_qpc_b",
	  NEVER_FALLS,
	  "qpc_cache.sets=1" },
	{ NULL,
	  "qpc_cache.write_back",
	  { "off", "on" },
	  "nic1.pcie_link.up_qpc_b",
	  NEVER_FALLS,
	  "qpc_cache.sets=1" },
	{ NULL, "qpc_cache.hit_cyc", { "1", "2", "16", "64" }, "time", NEVER_FALLS, NULL },
	/* no more reads than lines: what comes would displace what was just brought */
	{ queues,
	  "qpc_cache.max_misses",
	  { "1", "2", "4", "8" },
	  "time",
	  NEVER_RISES,
	  "qpc_cache.sets=1 qpc_cache.ways=8" },
	{ rounds,
	  "mtt.ways",
	  { "1", "2", "8", "32", "64", "128" },
	  "nic1.mtt.mtt_misses",
	  NEVER_RISES,
	  "mtt.sets=1" },
	{ rounds,
	  "mtt.line",
	  { "8", "16", "32", "64" },
	  "nic1.mtt.mtt_misses",
	  NEVER_RISES,
	  "mtt.sets=1 mtt.ways=8" },
	{ rounds,
	  "mtt.levels",
	  { "1", "2", "3", "4" },
	  "time",
	  NEVER_FALLS,
	  "mtt.sets=1 mtt.ways=8 mtt.walk_entries=1" },
	{ tables,
	  "mtt.walk_entries",
	  { "1", "4", "16", "64" },
	  "nic1.mtt.walk_reads",
	  NEVER_RISES,
	  "mtt.sets=1 mtt.ways=8 mtt.levels=4" },
	{ rounds, "mtt.hit_cyc", { "2", "8", "64" }, "time", NEVER_FALLS, NULL },
	{ pages,
	  "mtt.window",
	  { "1", "2", "4", "16" },
	  "time",
	  NEVER_RISES,
	  "mtt.sets=1 mtt.ways=8 mtt.max_misses=16" },
	{ pages,
	  "mtt.max_misses",
	  { "1", "2", "4", "16" },
	  "time",
	  NEVER_RISES,
	  "mtt.sets=1 mtt.ways=8 mtt.window=16" },
	{ fresh,
	  "responder.checks",
	  { "0", "1", "4", "16" },
	  "time",
	  NEVER_RISES,
	  "mtt.window=16 mtt.max_misses=16" },
	{ scattered,
	  "requester.wqe_cache",
	  { "1", "8", "32", "128" },
	  "nic0.requester.wqe_refetches",
	  NEVER_RISES,
	  NULL },
	{ scattered,
	  "requester.wqe_cache",
	  { "4", "16", "64", "256" },
	  "nic0.requester.wqe_refetches",
	  NEVER_RISES,
	  "requester.wqe_sets=4 requester.wqe_policy=plru" },
	{ scattered,
	  "requester.wqe_reads",
	  { "1", "2", "4", "16" },
	  "time",
	  NEVER_RISES,
	  "requester.wqe_cache=8 requester.wqe_cache_sends=off" },
	{ scattered,
	  "requester.rsp_ahead",
	  { "1", "2", "4", "16" },
	  "time",
	  NEVER_RISES,
	  "requester.wqe_cache=8 requester.wqe_cache_sends=off" },
	{ writes,
	  "pcie_link.fc_scale",
	  { "1", "4", "16" },
	  "time",
	  NEVER_RISES,
	  "pcie_link.root_ph=1" },
	{ pages, "mtt.sets", { "1", "4", "16", "64" }, "nic1.mtt.mtt_misses", NEVER_RISES, NULL },
	{ NULL, "mtt.issue_cyc", { "1", "16", "64" }, "time", NEVER_FALLS, "mtt.window=16" },
	{ queues_read,
	  "rsc_cache.ways",
	  { "1", "2", "4", "8" },
	  "nic1.rsc.misses",
	  NEVER_RISES,
	  "responder.rsc_cache=on rsc_cache.sets=1" },
	/* memory and the other socket */
	{ writes,
	  "host_mem.mem_rate",
	  { "10Gbps", "40Gbps", "100Gbps", "0bps" },
	  "time",
	  NEVER_RISES,
	  "host_mem.llc=cold" },
	{ writes,
	  "host_mem.socket_rate",
	  { "10Gbps", "40Gbps", "100Gbps", "0bps" },
	  "time",
	  NEVER_RISES,
	  "host_mem.numa=remote" },
	{ queues,
	  "host_mem.llc_ways",
	  { "2", "4", "8", "20" },
	  "host0.host_mem.llc_misses",
	  NEVER_RISES,
	  "host_mem.llc=modelled host_mem.llc_slices=1 host_mem.llc_sets=1" },
	{ inlined,
	  "host_mem.poll_interval",
	  { "10ns", "100ns", "1us" },
	  "time",
	  NEVER_FALLS,
	  NULL },
	{ inlined, "host_mem.llc_latency", { "5ns", "20ns", "100ns" }, "time", NEVER_FALLS, NULL },
	/* completions */
	{ few_entries, "cqe_writer.records", { "1", "2", "4", "8" }, "time", NEVER_RISES, NULL },
	{ small,
	  "cqe_writer.compress",
	  { "off", "on" },
	  "nic0.cqe_writer.cqe_b",
	  NEVER_RISES,
	  NULL },
	/* packets in hand */
	{ writes,
	  "pktizer.inflight",
	  { "1", "2", "4", "16" },
	  "time",
	  NEVER_RISES,
	  "dma_engine.cpl_buffer=8KiB" },
	{ writes, "requester.window", { "1", "2", "4", "16" }, "time", NEVER_RISES, NULL },
	/* a WQE of a QP with a cap comes just in time, or too late; short turns of others, more waiting */
	{ capped,
	  "requester.ahead_time",
	  { "1ns", "200ns", "2us", "20us" },
	  "time",
	  NEVER_RISES,
	  "requester.quantum=1KiB" },
	{ writes, "rx_parser.width", { "8", "16", "32", "64" }, "time", NEVER_RISES, NULL },
	{ queues_read, "requester.writes", { "2", "4", "16", "64" }, "time", NEVER_RISES, NULL },
	{ one_word, "atomic.lock_cyc", { "1", "10", "50" }, "time", NEVER_FALLS, NULL },
	/* engines */
	{ queues, "requester.job_cyc", { "1", "10", "100" }, "time", NEVER_FALLS, NULL },
	{ queues,
	  "requester.units",
	  { "1", "2", "4", "16" },
	  "time",
	  NEVER_RISES,
	  "requester.job_cyc=100" },
	{ queues_read, "requester.rsp_cyc", { "1", "10", "100" }, "time", NEVER_FALLS, NULL },
	{ queues_read,
	  "requester.units",
	  { "1", "2", "4", "16" },
	  "time",
	  NEVER_RISES,
	  "requester.rsp_cyc=100" },
	{ queues, "responder.pkt_cyc", { "1", "10", "100" }, "time", NEVER_FALLS, NULL },
	{ queues,
	  "responder.units",
	  { "1", "2", "4", "16" },
	  "time",
	  NEVER_RISES,
	  "responder.pkt_cyc=100" },
	{ queues_read, "responder.read_cyc", { "1", "30", "100" }, "time", NEVER_FALLS, NULL },
	{ queues_read,
	  "responder.units",
	  { "1", "2", "4", "16" },
	  "time",
	  NEVER_RISES,
	  "responder.read_cyc=100" },
	{ atomics, "responder.atomic_cyc", { "1", "10", "100" }, "time", NEVER_FALLS, NULL },
	{ atomics, "atomic.parallel", { "1", "2", "4", "16" }, "time", NEVER_RISES, NULL },
	{ atomics, "atomic.interval", { "1", "100", "1000" }, "time", NEVER_FALLS, NULL },
	{ atomics, "atomic.locks", { "1", "2", "8" }, "nic1.atomic.lock_waits", NEVER_RISES, NULL },
	{ one_word, "atomic.alu", { "1", "10", "100" }, "time", NEVER_FALLS, NULL },
	{ queues, "pktizer.hdr_cyc", { "1", "10", "100" }, "time", NEVER_FALLS, NULL },
	{ queues,
	  "pktizer.units",
	  { "1", "2", "4", "16" },
	  "time",
	  NEVER_RISES,
	  "pktizer.hdr_cyc=100" },
	{ bulk, "pktizer.width", { "8", "16", "32", "64" }, "time", NEVER_RISES, NULL },
	{ small,
	  "wqe_fetch.prefetch",
	  { "1", "2", "4", "8" },
	  "nic0.pcie_link.up_wqe_b",
	  NEVER_RISES,
	  NULL },
	{ queues, "wqe_fetch.reads", { "1", "2", "4", "16" }, "time", NEVER_RISES, NULL },
	{ queues, "nic.clock", { "50MHz", "100MHz", "250MHz", "1GHz" }, "time", NEVER_RISES, NULL },
	{ bulk,
	  "mac.rate",
	  { "10Gbps", "25Gbps", "50Gbps", "100Gbps" },
	  "time",
	  NEVER_RISES,
	  NULL },
};
const size_t n_direction_rows = ARRAY_LEN(direction_rows);
