/* SPDX-License-Identifier: Apache-2.0 */
/*
 * models.c - the block classes (listed in blocks.def) and the commands of the program
 */
#include "models/commands.h"
#include "sim/describe.h"

#define BLOCK(name) extern const struct block_class name##_class;
#include "models/blocks.def"
#undef BLOCK
#ifdef HAVE_RTL
extern const struct block_class mtt_rtl_class;
#endif

const struct block_class *const block_classes[] = {
#define BLOCK(name) &name##_class,
#include "models/blocks.def"
#undef BLOCK
#ifdef HAVE_RTL
	&mtt_rtl_class,
#endif
	NULL
};

extern const struct block_class scenario_section, nic_section, host_section, link_section;
const struct block_class *const section_classes[] = { &scenario_section, &nic_section,
						      &host_section, &link_section, NULL };

static const struct command run_command = {
	.name = "run",
	.usage =
		"SCENARIO.ini [-o DIR] [--trace FILE] [--set block.key=value]... [--wave FILE.fst|FILE.vcd] "
		"[--pcap FILE.pcapng] [--timeline FILE.json] [--until TIME] [--seed N] [--quiet]",
	.doc = "replay a verbs trace through simulated NICs",
	.run = cmd_run,
};

static const struct command trace_command = {
	.name = "trace",
	.usage = "{info,check,gen,convert} ...",
	.doc = "look at, check, make or convert verbs traces",
	.run = cmd_trace,
};

static const struct command perf_command = {
	.name = "perf",
	.usage =
		"{write,read,send,atomic}_{lat,bw} [-s SIZE | -a] [-n ITERS] [-q QPS] [-t DEPTH] [-I INLINE] "
		"[-m MTU] [-Q CQ-MOD] [-l LIST] [-o OUTS] [-b] [-c RC|UC|UD] [-u TIMEOUT] [-A ATOMIC] "
		"[--report_gbits] [--use_hugepages] [--nic PROFILE] [--set block.key=value]... [--seed N] "
		"[--out DIR]",
	.doc = "perftest's benchmarks (ib_write_lat, ib_write_bw, ...) on two simulated hosts",
	.run = cmd_perf,
};

static const struct command pcie_bench_command = {
	.name = "pcie-bench",
	.usage =
		"{lat_rd,lat_wrrd,bw_rd,bw_wr,bw_rdwr} [-s SIZE | -a] [-w WINDOW] [-n TRANSFERS] "
		"[--sequential] [--cold] [--remote] [--iommu 4KiB|2MiB|1GiB] [--direct] [--histogram] "
		"[--nic PROFILE] [--set block.key=value]... [--seed N]",
	.doc = "latency and bandwidth of a host's PCI Express path, with a device that does nothing but DMA",
	.run = cmd_pcie_bench,
};

const struct command *const command_list[] = { &run_command,      &trace_command,
					       &perf_command,     &pcie_bench_command,
					       &describe_command, NULL };
