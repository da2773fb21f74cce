/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.c - the commands of the program, and the sections of a scenario that are no blocks
 */
#include "tools/run/commands.h"

extern const struct block_class scenario_section, nic_section, host_section, link_section;
const struct block_class *const section_classes[] = { &scenario_section, &nic_section,
						      &host_section, &link_section, NULL };

static const struct command run_command = {
	.name = "run",
	.usage =
		"SCENARIO.ini [-o DIR] [--trace FILE] [--set block.key=value]... [--wave FILE.fst|FILE.vcd] "
		"[--pcap FILE.pcapng] [--timeline FILE.json] [--until TIME] [--seed N] [--quiet] "
		"[--explain[=counts]] [--what-if key=value,...] [--mrc]",
	.doc = "replay a verbs trace through simulated NICs",
	.more = "\n"
		"  --set mtt.ways=4 sets what `rnicsim describe` lists, over the scenario and its profile.\n"
		"  TIME is a number with s, ms, us, ns or ps. Results go to DIR: summary.json, run.json,\n"
		"  ops.csv, recvs.csv; --mrc adds mrc.csv: miss ratios of the caches at every size.\n"
		"  --explain names what limits the run (a unit, losses, what is used up or allowed) and tells\n"
		"  what waits for what; --what-if runs it again for each setting (key=value+key=value is one\n"
		"  with both) and compares.\n"
		"  --every-cycle and --order forward|reversed|shuffled change no result.\n"
		"  Exit status: 0 every `expect` held, 1 one failed or completions were lost, 2 bad input,\n"
		"  3 the simulation got stuck.\n",
	.run = cmd_run,
};

static const struct command trace_command = {
	.name = "trace",
	.usage = "{info,check,gen,convert} ...",
	.doc = "look at, check, make or convert verbs traces",
	.more = "\n"
		"  rnicsim trace info FILE       what is in a trace\n"
		"  rnicsim trace check FILE      its first mistake, if there is one\n"
		"  rnicsim trace gen [-o FILE[.gz]] [--count N] [--qps N] [--ops write=70,read=30]\n"
		"      [--size BYTES,...] [--window N] [--signal N] [--inline BYTES] [--mtu BYTES] [--mr BYTES]\n"
		"      [--gap TIME] [--seed N]   a synthetic load of two hosts, to stdout without -o\n"
		"  rnicsim trace convert IN.jsonl[.gz] -o OUT.trace[.gz] [--gaps TIME] [--final EP=FILE]\n"
		"                                verbs calls recorded as JSON lines\n"
		"  traces/README.md explains each.\n",
	.run = cmd_trace,
};

static const struct command perf_command = {
	.name = "perf",
	.usage =
		"{write,read,send,atomic}_{lat,bw} [-s SIZE | -a] [-n ITERS] [-q QPS] [-t DEPTH] [-r DEPTH] [-I INLINE] "
		"[-m MTU] [-Q CQ-MOD] [-l LIST] [-o OUTS] [-b] [-c RC|UC|UD] [-u TIMEOUT] [-A ATOMIC] "
		"[-H] [-U] [--report_gbits] [--use_hugepages] [--threads N] [--sges N] [--region SIZE --stride SIZE] "
		"[--drop N] [--nic PROFILE] [--set block.key=value]... [--seed N] [--out DIR]",
	.doc = "perftest's benchmarks (ib_write_lat, ib_write_bw, ...) on two simulated hosts",
	.more = "\n"
		"  perftest's, of all tests where nothing else is said:\n"
		"  -s --size             bytes of a message (not atomic)\n"
		"  -a --all              sizes 2 to 2^23 one after the other (not atomic)\n"
		"  -n --iters            messages of a QP\n"
		"  -q --qp               QPs (bw)\n"
		"  -t --tx-depth         requests of a QP in flight (bw)\n"
		"  -r --rx-depth         receives kept posted (moves SEND only)\n"
		"  -I --inline_size      messages up to this size are inline (write, send)\n"
		"  -m --mtu              256 to 4096\n"
		"  -Q --cq-mod           one completion for so many requests (bw)\n"
		"  -l --post_list        requests of a doorbell (bw)\n"
		"  -o --outs             READs and atomics outstanding (read, atomic)\n"
		"  -u --qp-timeout       ACK timeout, 4.096 us x 2^N (moves RC only)\n"
		"  -b --bidirectional    both ways at once (bw)\n"
		"  -c --connection       RC; UC too (write, send); UD too (send)\n"
		"  -A --atomic_type      FETCH_AND_ADD, CMP_AND_SWAP (atomic)\n"
		"  -H --report-histogram, -U --report-unsorted   all latencies, sorted, as they came (lat)\n"
		"  --report_gbits        Gb/s instead of MB/s (bw)\n"
		"  --use_hugepages       pages of 2 MiB\n"
		"  -F -d -i -p -x        and their long names: taken, and move nothing\n"
		"  The simulator's own:\n"
		"  --threads N           cores of each host, among which the QPs are dealt out (bw)\n"
		"  --sges N              segments of a message (not atomic)\n"
		"  --region SIZE --stride SIZE   messages walk through so much memory (bw)\n"
		"  --drop N              the client's N-th frame is lost\n"
		"  --nic PROFILE, --set block.key=value, --seed N   the NICs, and what else `rnicsim describe` lists\n"
		"  --out DIR             keeps trace, scenario (`rnicsim run DIR/perf.ini` repeats it), results\n",
	.run = cmd_perf,
};

static const struct command pcie_bench_command = {
	.name = "pcie-bench",
	.usage =
		"{lat_rd,lat_wrrd,bw_rd,bw_wr,bw_rdwr} [-s SIZE | -a] [-w WINDOW] [-n TRANSFERS] "
		"[--sequential] [--cold] [--remote] [--iommu 4KiB|2MiB|1GiB] [--direct] [--histogram] "
		"[--nic PROFILE] [--set block.key=value]... [--seed N]",
	.doc = "latency and bandwidth of a host's PCI Express path, with a device that does nothing but DMA",
	.more = "\n"
		"  lat_rd, lat_wrrd      latency of a read; of a write and the read behind it\n"
		"  bw_rd, bw_wr, bw_rdwr bandwidth of reads, of writes, of both in turn\n"
		"  -s SIZE, -a           bytes of a transfer [64]; several sizes from 8 to 4096\n"
		"  -w WINDOW             bytes of memory that transfers are spread over [8KiB]\n"
		"  -n TRANSFERS          [10000 for latency, 20000 for bandwidth]\n"
		"  --sequential          addresses one after the other [random]\n"
		"  --cold                nothing of the window is in the last-level cache\n"
		"  --remote              the window is in the memory of the other socket\n"
		"  --iommu PAGE          addresses go through an IOMMU with pages of 4KiB, 2MiB or 1GiB\n"
		"  --direct              without the queues of the device's DMA engine\n"
		"  --histogram           every latency that came, and how often (lat_*)\n"
		"  --nic PROFILE, --set block.key=value, --seed N   another device or host: see `rnicsim describe`\n",
	.run = cmd_pcie_bench,
};

static const struct command calibrate_command = {
	.name = "calibrate",
	.usage = "[PROFILE] [--csv | --json]",
	.doc = "published numbers beside simulated ones; exit status 1 when one is not met",
	.more = "\n"
		"  PROFILE               only the rows of this one: pcie-bench, connectx3, connectx5, ... [all]\n"
		"  --csv, --json         with the source of each number, where its band is from, and the\n"
		"                        `rnicsim perf` that repeats the row\n",
	.run = cmd_calibrate,
};

static const struct command describe_all_command = {
	.name = "describe",
	.usage = "[BLOCK] [--json | --sv] | profile [NAME]",
	.doc = "what a block is: parameters with default, range, unit, meaning and evidence; ports; statistics; "
	       "and what profiles there are, and set",
	.more = "\n"
		"  BLOCK                 only this one, or section: scenario, nic, host, link [all]\n"
		"  --json, --sv          as JSON; as a SystemVerilog package of messages and the ports\n"
		"  profile [NAME]        which device presets there are; one of them, or of a file's path\n",
	.run = cmd_describe,
};

const struct command *const command_list[] = {
	&run_command,       &trace_command,        &perf_command, &pcie_bench_command,
	&calibrate_command, &describe_all_command, NULL
};
