/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate_rows.c - published numbers of RDMA NICs, and the benchmarks that they are numbers of
 *
 * What is settled here besides the benchmark is the host where a measurement tells it: 32 threads
 * post as often as one whose post costs a 32nd. A published curve that holds (writes) or falls
 * (reads) has a row for each of its points: it has to come out of the NIC's caches.
 */
#include "models/calibrate.h"
#include "sim/units.h"

#define SCALING "scaling study of 2 machines with 32 threads each"
#define THREADS_32 \
	" --set host.clock=4GHz --set workload.post_cost=6.25ns --set workload.doorbell_cost=1.25ns" \
	" --set workload.poll_cost=1.25ns"
#define WITHIN(percent) BAND_WITHIN, percent

const struct calibrate_row calibrate_rows[] = {
/* ---- ConnectX-3 ---- */
#define CX3_READ(qps, mops, depth, n) \
	{ \
		"connectx3", "READ of 32 B, " #qps " QPs", "Mops", mops, WITHIN(20), VALUE_MOPS, \
			"read_bw -s 32 -q " #qps " -t " #depth " -n " #n " -u 18" THREADS_32, \
			NULL, "ConnectX-3, READ against active QPs" \
	}
	CX3_READ(48, 11.0, 16, 400),
	CX3_READ(88, 7.67, 8, 200),
	CX3_READ(144, 3.24, 4, 120),
	CX3_READ(240, 2.08, 4, 80),
	CX3_READ(352, 1.52, 2, 50),
	CX3_READ(720, 1.33, 2, 25),
	CX3_READ(792, 1.17, 2, 25),
	{ "connectx3", "READ of 232 B, 16 QPs", "Mops", 10.0, WITHIN(20), VALUE_MOPS,
	  "read_bw -s 232 -q 16 -t 16 -n 1000" THREADS_32, NULL,
	  "ConnectX-3, READ against size: step at 256 B" },
	{ "connectx3", "READ of 264 B, 16 QPs", "Mops", 7.1, WITHIN(20), VALUE_MOPS,
	  "read_bw -s 264 -q 16 -t 16 -n 1000" THREADS_32, NULL,
	  "ConnectX-3, READ against size: step at 256 B" },
	{ "connectx3", "FETCH_AND_ADD, 16 QPs", "Mops", 2.7, WITHIN(20), VALUE_MOPS,
	  "atomic_bw -q 16 -t 16 -n 400" THREADS_32, NULL, "ConnectX-3, atomics" },
	/* ---- ConnectX-5 ---- */
	{ "connectx5", "WRITE latency, inline", "us", 0.93, WITHIN(10), VALUE_US,
	  "write_lat -n 200", NULL, "100G ConnectX class, one hop" },
	{ "connectx5", "WRITE latency, not inline", "us", 1.32, WITHIN(10), VALUE_US,
	  "write_lat -n 200 -I 0", NULL, "100G ConnectX class, one hop" },
	{ "connectx5", "READ latency", "us", 1.91, WITHIN(10), VALUE_US, "read_lat -n 200", NULL,
	  "100G ConnectX class, one hop" },
	{ "connectx5", "goodput of WRITE, 1 MiB, MTU 4096", "Gb/s", 97.1, WITHIN(5), VALUE_GBPS,
	  "write_bw -s 1048576 -n 60 -t 16", NULL, "ConnectX-5 100G" },
	{ "connectx5", "messages of one QP, one thread", "Mpps", 3.87, WITHIN(20), VALUE_MOPS,
	  "write_bw -s 64 -n 4000", NULL, "ConnectX-5 100G" },
	{ "connectx5", "WRITE of 8 B, 32 QPs", "Mops", 90, BAND_AT_LEAST, 20, VALUE_MOPS,
	  "write_bw -s 8 -q 32 -t 32 -n 1000" THREADS_32, NULL,
	  "ConnectX-5, SEND and WRITE: over 90" },
	{ "connectx5", "SEND of 8 B, 32 QPs", "Mops", 90, BAND_AT_LEAST, 20, VALUE_MOPS,
	  "send_bw -s 8 -q 32 -t 32 -n 1000" THREADS_32, NULL,
	  "ConnectX-5, SEND and WRITE: over 90" },
	{ "connectx5", "READ of 8 B, 32 QPs", "Mops", 60, WITHIN(20), VALUE_MOPS,
	  "read_bw -s 8 -q 32 -t 32 -n 1000" THREADS_32, NULL, "ConnectX-5, READ: about 60" },
	{ "connectx5", "FETCH_AND_ADD, 32 QPs", "Mops", 5.2, WITHIN(20), VALUE_MOPS,
	  "atomic_bw -q 32 -t 32 -n 300" THREADS_32, NULL, "ConnectX-5, atomics" },
	{ "connectx5", "CMP_AND_SWAP, 32 QPs", "Mops", 4.8, WITHIN(20), VALUE_MOPS,
	  "atomic_bw -A CMP_AND_SWAP -q 32 -t 32 -n 300" THREADS_32, NULL, "ConnectX-5, atomics" },
#define CX5_MTT(ratio, gbps, stride) \
	{ \
		"connectx5", "WRITE of 512 B, 96 QPs, " ratio " MTT misses", "Gb/s", gbps, \
			WITHIN(20), VALUE_GBPS, \
			"write_bw -s 512 -q 96 -t 32 -n 400 --region 1GiB --stride " stride \
				THREADS_32, \
			NULL, "ConnectX-5, MTT misses" \
	}
	CX5_MTT("17.2 %", 96.6, "704"),
	CX5_MTT("49.1 %", 48.0, "2011"),
/* ---- ConnectX-6 ---- */
#define CX6(verb, name, qps, mops, depth, n) \
	{ \
		"connectx6", name " of 8 B, " #qps " QPs", "Mops", mops, WITHIN(20), VALUE_MOPS, \
			verb " -s 8 -q " #qps " -t " #depth " -n " #n " -u 18" THREADS_32, NULL, \
			"ConnectX-6, " SCALING \
	}
	CX6("write_bw", "WRITE", 32, 123, 32, 1600),
	CX6("write_bw", "WRITE", 64, 121, 16, 800),
	CX6("write_bw", "WRITE", 512, 122, 4, 100),
	CX6("write_bw", "WRITE", 4096, 111, 1, 12),
	CX6("write_bw", "WRITE", 16384, 105, 1, 5),
	CX6("read_bw", "READ", 32, 83, 32, 1600),
	CX6("read_bw", "READ", 64, 55, 16, 800),
	CX6("read_bw", "READ", 512, 42, 4, 100),
	CX6("read_bw", "READ", 4096, 21, 1, 12),
	{ "connectx6", "WRITE of 2 B, inline, lists of 32, 32 QPs", "Mops", 215, WITHIN(20),
	  VALUE_MOPS, "write_bw -s 2 -I 64 -l 32 -q 32 -t 64 -n 1600" THREADS_32, NULL,
	  "ConnectX-6, product brief: 215 M messages a second" },
	{ "connectx6", "WRITE latency, inline", "us", 0.8, BAND_AT_MOST, 10, VALUE_US,
	  "write_lat -n 200", NULL, "ConnectX-6, product brief: under 0.8 us" },
};
const uint32_t calibrate_n_rows = ARRAY_LEN(calibrate_rows);
