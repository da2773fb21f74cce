/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate_rows.c - published numbers of RDMA NICs, and the benchmarks that they are numbers of
 *
 * A published curve that holds (writes) or falls (reads) has a row for each of its points: it has to come out of
 * the NIC's caches. How many requests a thread kept outstanding was not published. Here each of the 32 threads keeps
 * as many at every point of a curve (8 on ConnectX-3, 64 on ConnectX-6: declared), spread over its QPs, one at least a QP;
 * of READs at most 16 a QP are on the way, as a ConnectX allows.
 */
#include "tools/perf/calibrate.h"
#include "sim/units.h"

#define SCALING "scaling study of 2 machines with 32 threads each"
#define THREADS(n) " --threads " #n
#define THREADS_32 THREADS(32)
#define COLLIE "Collie (NSDI 2022), anomalies of RDMA subsystems"
#define WITHIN(percent) BAND_WITHIN, percent, 0
#define RANGE_TO(upto, percent) BAND_RANGE, percent, upto
#define UNDER BAND_UNDER, 0, 0
#define AT_LEAST BAND_AT_LEAST, 0, 0
#define AT_MOST BAND_AT_MOST, 0, 0

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
	/*
	 * twice and more of the CPU's cache, in steps that are on another page as often as random
	 * words of 40 MiB miss the 32 MiB whose translations the NIC holds
	 */
	{ "connectx3", "FETCH_AND_ADD in 40 MiB, 16 QPs", "Mops", 1.8, WITHIN(20), VALUE_MOPS,
	  "atomic_bw -q 16 -t 16 -n 400 --region 40MiB --stride 832 --set host_mem.llc=modelled" THREADS(
		  16),
	  NULL, "ConnectX-3, atomics when memory exceeds the CPU's cache" },
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
	{ "connectx5", "messages of the NIC, four threads", "Mpps", 16.7, WITHIN(20), VALUE_MOPS,
	  "write_bw -s 64 -n 2000 -q 4" THREADS(4), NULL, "ConnectX-5 100G, bound by its host" },
	{ "connectx5", "WRITE of 8 B, 32 QPs", "Mops", 90, WITHIN(20), VALUE_MOPS,
	  "write_bw -s 8 -q 32 -t 32 -n 1000" THREADS_32, NULL,
	  "ConnectX-5, SEND and WRITE: over 90" },
	{ "connectx5", "SEND of 8 B, 32 QPs", "Mops", 90, WITHIN(20), VALUE_MOPS,
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
	{ "connectx6", "WRITE latency, inline", "us", 0.8, UNDER, VALUE_US, "write_lat -n 200",
	  NULL, "ConnectX-6, product brief: under 0.8 us" },
	/* ---- bytes of a message, a context miss, the repair of a loss ---- */
	{ "connectx5", "WRITE of 29 B: on the line", "B", 130, WITHIN(0), VALUE_FRAME,
	  "write_bw -s 29 -n 200 -t 1", NULL, "Husky (NSDI 2023), with 3 pad bytes" },
	{ "connectx5", "WRITE of 29 B: doorbell, WQE, payload on PCIe", "B", 189, WITHIN(10),
	  VALUE_PCIE, "write_bw -s 29 -n 200 -t 1 --set doorbell.bf_buffers=0", NULL,
	  "Husky (NSDI 2023)" },
	{ "connectx5", "context miss, unloaded", "ns", 300, RANGE_TO(400, 0), VALUE_MISS,
	  "write_lat -n 5", NULL, "ConnectX-4/5: 300 to 400 ns" },
#define LUMINA "Lumina (SIGCOMM 2023), "
#define LOSS(what, unit, published, band, value, perf, source) \
	{ "connectx5", what, unit, published, band, value, perf, NULL, source }, \
	{ \
		"connectx6", what, unit, published, band, value, perf, NULL, source \
	}
	LOSS("gap to NAK", "us", 2, WITHIN(20), VALUE_NAK, "write_bw -s 4096 -n 200 --drop 20",
	     LUMINA "ConnectX-5 and 6 Dx: about 2 us"),
	LOSS("NAK to the lost packet", "us", 2, RANGE_TO(6, 0), VALUE_REACT,
	     "write_bw -s 4096 -n 200 --drop 20", LUMINA "ConnectX-5 and 6 Dx: 2 to 6 us"),
	LOSS("last packet lost to the same again, timeout 10", "us", 4194.3, WITHIN(20),
	     VALUE_RESEND, "write_bw -s 4096 -n 20 -t 20 -u 10 --drop 20",
	     LUMINA "ConnectX-5 and 6 Dx: 4.096 us x 2^timeout"),
	{ "connectib", "WRITE latency, inline", "us", 0.5, RANGE_TO(1.0, 0), VALUE_US,
	  "write_lat -n 200", NULL, "InfiniBand end to end: 0.5 to 1 us" },
/*
	 * ---- anomalies: each appears with its cause, and is gone without ----
	 *
	 * That a port pauses, or a rate falls, was published, not by how much: the numbers here are
	 * where we say that it does. What a row's benchmark sets is the cause; what makes the NIC
	 * suffer from it is its profile.
	 */
#define ANOMALY(profile, what, unit, published, band, value, perf, versus) \
	{ \
		profile, what, unit, published, band, value, perf " -u 18", versus, COLLIE \
	}
/*
 * packets of a response wait for where the one before ended: a response of many is longer than the line
 * needs at MTU 1024
 */
#define RESPONSES "read_bw -q 16 -t 16 -n 300" THREADS(16)
	ANOMALY("connectx6", "pause of READ, MTU 1024, 16 KiB", "% of time", 1, AT_LEAST,
		VALUE_PAUSE, RESPONSES " -m 1024 -s 16384", NULL),
	ANOMALY("connectx6", "pause of READ, MTU 4096, 16 KiB", "% of time", 0.1, AT_MOST,
		VALUE_PAUSE, RESPONSES " -m 4096 -s 16384", NULL),
	ANOMALY("connectx6", "pause of READ, MTU 1024, 8 KiB", "% of time", 0.1, AT_MOST,
		VALUE_PAUSE, RESPONSES " -m 1024 -s 8192", NULL),
/*
 * A response needs its request's segments: read again when the WQE cache lost them. Four cores have all
 * QPs filled before the NIC has emptied the first only when a doorbell is for many.
 */
#define SCATTER "read_bw -s 512 -n 256 -t 64" THREADS(4)
#define SCATTERED(ways, option, list, sges, qps, percent, band) \
	ANOMALY("connectx5", \
		"pause of " ways " READ, batch " #list ", " #sges " SGEs, " #qps " QPs", \
		"% of time", percent, AT_##band, VALUE_PAUSE, \
		SCATTER option " -q " #qps " -l " #list " --sges " #sges, NULL)
	SCATTERED("bidirectional", " -b", 32, 4, 160, 10, LEAST),
	SCATTERED("one-way", "", 32, 4, 160, 4, MOST),
	SCATTERED("bidirectional", " -b", 32, 4, 80, 4, MOST),
	SCATTERED("bidirectional", " -b", 32, 2, 160, 4, MOST),
	SCATTERED("bidirectional", " -b", 8, 4, 160, 4, MOST),
/* one look at a context serves what its queue brings at a time: of 16 x 1 KiB less time than one to read it */
#define CONTEXTS(bytes, qps, depth, n) \
	"write_bw -s " #bytes " -q " #qps " -t " #depth " -n " #n THREADS(16) " -u 18"
#define SHARE(bytes, size, depth, qps, n, base_n, published, band, sets, suffix) \
	{ \
		"open-rtl", \
			"rate of WRITE, share of that of 64 QPs: " size ", WQ " #depth ", " #qps \
			" QPs" suffix, \
			"", published, band, VALUE_SHARE, CONTEXTS(bytes, qps, depth, n) sets, \
			CONTEXTS(bytes, 64, depth, base_n), COLLIE \
	}
	SHARE(1024, "1 KiB", 16, 1000, 64, 960, 0.8, AT_MOST, "", ""),
	SHARE(64, "64 B", 8, 640, 96, 960, 0.8, AT_MOST, "", ""),
	SHARE(1024, "1 KiB", 16, 400, 320, 960, 0.9, AT_LEAST, "", ""),
	SHARE(1024, "1 KiB", 128, 1000, 256, 1280, 0.9, AT_LEAST, "", ""),
	SHARE(2048, "2 KiB", 16, 1000, 192, 640, 0.9, AT_LEAST, "", ""),
	SHARE(1024, "1 KiB", 16, 1000, 256, 960, 0.9, AT_LEAST, " --set qpc_cache.sets=1024",
	      ", room for all contexts"),
};
const uint32_t calibrate_n_rows = ARRAY_LEN(calibrate_rows);
