/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate_rows.c - published numbers of RDMA NICs, and the benchmarks that they are numbers of
 *
 * A published curve that holds (writes) or falls (reads) has a row for each of its points: it has to come out of
 * the NIC's caches. How many requests a thread kept outstanding was not published. Here each of the 32 threads keeps
 * as many at every point of a curve (8 on ConnectX-3, 64 on ConnectX-6: declared), spread over its QPs, one at least a QP.
 */
#include "models/perf/calibrate.h"
#include "sim/units.h"

#define SCALING "scaling study of 2 machines with 32 threads each"
#define THREADS(n) " --threads " #n
#define THREADS_32 THREADS(32)
#define COLLIE "Collie (NSDI 2022), anomalies of RDMA subsystems"
#define WITHIN(percent) BAND_WITHIN, percent
#define AT_LEAST(percent) BAND_AT_LEAST, percent
#define AT_MOST(percent) BAND_AT_MOST, percent

const struct calibrate_row calibrate_rows[] = {
/* ---- ConnectX-3 ---- */
#define CX3_READ(qps, mops, depth, n) \
	{ \
		"connectx3", "READ of 32 B, " #qps " QPs", "Mops", mops, WITHIN(20), VALUE_MOPS, \
			"read_bw -s 32 -q " #qps " -t " #depth " -n " #n " -u 18" THREADS_32, \
			NULL, "ConnectX-3, READ against active QPs" \
	}
	CX3_READ(48, 11.0, 5, 400),
	CX3_READ(88, 7.67, 2, 400),
	CX3_READ(144, 3.24, 1, 200),
	CX3_READ(240, 2.08, 1, 80),
	CX3_READ(352, 1.52, 1, 50),
	CX3_READ(720, 1.33, 1, 25),
	CX3_READ(792, 1.17, 1, 25),
	{ "connectx3", "READ of 232 B, 16 QPs", "Mops", 10.0, WITHIN(20), VALUE_MOPS,
	  "read_bw -s 232 -q 16 -t 16 -n 1000" THREADS(16), NULL,
	  "ConnectX-3, READ against size: step at 256 B" },
	{ "connectx3", "READ of 264 B, 16 QPs", "Mops", 7.1, WITHIN(20), VALUE_MOPS,
	  "read_bw -s 264 -q 16 -t 16 -n 1000" THREADS(16), NULL,
	  "ConnectX-3, READ against size: step at 256 B" },
	{ "connectx3", "FETCH_AND_ADD, 16 QPs", "Mops", 2.7, WITHIN(20), VALUE_MOPS,
	  "atomic_bw -q 16 -t 16 -n 400" THREADS(16), NULL, "ConnectX-3, atomics" },
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
/* on the line: 96.6 Gb/s of 512 B payloads are more than 100 Gb/s Ethernet carries (83.9) */
#define CX5_MTT(ratio, gbps, stride) \
	{ \
		"connectx5", "line rate, WRITE of 512 B, " ratio " MTT misses", "Gb/s", gbps, \
			WITHIN(20), VALUE_LINE, \
			"write_bw -s 512 -q 96 -t 32 -n 400 --region 1000MiB --stride " stride \
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
	CX6("write_bw", "WRITE", 32, 123, 64, 1600),
	CX6("write_bw", "WRITE", 64, 121, 32, 800),
	CX6("write_bw", "WRITE", 512, 122, 4, 100),
	CX6("write_bw", "WRITE", 4096, 111, 1, 24),
	CX6("write_bw", "WRITE", 16384, 105, 1, 8),
	CX6("read_bw", "READ", 32, 83, 64, 1600),
	CX6("read_bw", "READ", 64, 55, 32, 800),
	CX6("read_bw", "READ", 512, 42, 4, 100),
	CX6("read_bw", "READ", 4096, 21, 1, 16),
	{ "connectx6", "WRITE of 2 B, inline, lists of 32, 32 QPs", "Mops", 215, WITHIN(20),
	  VALUE_MOPS, "write_bw -s 2 -I 64 -l 32 -q 32 -t 64 -n 1600" THREADS_32, NULL,
	  "ConnectX-6, product brief: 215 M messages a second" },
	{ "connectx6", "WRITE latency, inline", "us", 0.8, BAND_AT_MOST, 10, VALUE_US,
	  "write_lat -n 200", NULL, "ConnectX-6, product brief: under 0.8 us" },
/*
	 * ---- anomalies: each appears with its cause, and is gone without ----
	 *
	 * That a port pauses, or a rate falls, was published, not by how much: the numbers here are
	 * where we say that it does. What a row's benchmark sets is the cause.
	 */
#define ANOMALY(what, unit, published, band, value, perf, versus) \
	{ \
		"generic-100g", what, unit, published, band, value, \
			perf " --set mac.pause=on -u 18", versus, COLLIE \
	}
/* 24 cycles for a response packet: less than the line brings at MTU 1024 */
#define RESPONSES "read_bw -q 4 -t 16 -n 300 --set requester.rsp_cyc=24 "
	ANOMALY("pause of READ, MTU 1024, 16 KiB", "% of time", 1, AT_LEAST(0), VALUE_PAUSE,
		RESPONSES "-m 1024 -s 16384", NULL),
	ANOMALY("pause of READ, MTU 4096, 16 KiB", "% of time", 0.1, AT_MOST(0), VALUE_PAUSE,
		RESPONSES "-m 4096 -s 16384", NULL),
	ANOMALY("pause of READ, MTU 1024, 1 KiB", "% of time", 0.1, AT_MOST(0), VALUE_PAUSE,
		RESPONSES "-m 1024 -s 1024", NULL),
/* a response needs its request's segments: read again when the WQE cache lost them */
#define SCATTER "read_bw -b -s 4096 -n 96 --threads 16 --set requester.wqe_cache=4096 "
	ANOMALY("pause of bidirectional READ, batch 32, 4 SGEs, 160 QPs", "% of time", 10,
		AT_LEAST(0), VALUE_PAUSE, SCATTER "-q 160 -t 32 -l 32 --sges 4", NULL),
	ANOMALY("pause of bidirectional READ, batch 32, 4 SGEs, 40 QPs", "% of time", 3, AT_MOST(0),
		VALUE_PAUSE, SCATTER "-q 40 -t 32 -l 32 --sges 4", NULL),
	ANOMALY("pause of bidirectional READ, batch 32, 1 SGE, 160 QPs", "% of time", 3, AT_MOST(0),
		VALUE_PAUSE, SCATTER "-q 160 -t 32 -l 32 --sges 1", NULL),
	ANOMALY("pause of bidirectional READ, batch 8, 4 SGEs, 160 QPs", "% of time", 3, AT_MOST(0),
		VALUE_PAUSE, SCATTER "-q 160 -t 8 -l 8 --sges 4", NULL),
#define CONTEXTS(qps, n) "write_bw -s 64 -t 16 --threads 16 -q " #qps " -n " #n
	ANOMALY("WRITE of 64 B, WQ 16, 640 QPs: share of the rate of 64", "", 0.8, AT_MOST(0),
		VALUE_SHARE, CONTEXTS(640, 200), CONTEXTS(64, 1000)),
	ANOMALY("the same with room for all contexts", "", 0.9, AT_LEAST(5), VALUE_SHARE,
		CONTEXTS(640, 200) " --set qpc_tx.sets=1024 --set qpc_rx.sets=1024",
		CONTEXTS(64, 1000)),
};
const uint32_t calibrate_n_rows = ARRAY_LEN(calibrate_rows);
