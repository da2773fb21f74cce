/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf.h - perftest's benchmarks (ib_write_lat, ib_write_bw, ...) on two simulated hosts
 *
 * A benchmark is a spec. It becomes a verbs trace (perf_trace.c), which is replayed like any other
 * (perf_run.c); the times of its posts and completions become perftest's columns (perf_stats.c).
 */
#ifndef TOOLS_PERF_PERF_H
#define TOOLS_PERF_PERF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/run/commands.h"
#include "sim/err.h"

#define PERF_MAX_SETS 64u
#define PERF_MAX_SIZE_LOG 23u /* -a: sizes from 2 to 2^23 bytes */
#define PERF_OUTS 16u         /* outstanding READs and ATOMICs of a ConnectX (hardware.md) */

enum perf_verb { PERF_WRITE, PERF_READ, PERF_SEND, PERF_ATOMIC, PERF_VERBS };

/* One benchmark. Numbers are perftest's; what perf_spec_init() sets are its defaults. */
struct perf_spec {
	enum perf_verb verb;
	bool is_lat;                 /* else a bandwidth test */
	uint8_t type;                /* enum qp_type (nic.h) */
	uint64_t size, iters;        /* bytes; a QP */
	uint64_t qps, tx_depth;      /* tx_depth is of bandwidth tests */
	uint64_t rx_depth, inline_b; /* receives kept posted; messages up to this size go inline */
	uint64_t mtu, cq_mod;        /* every cq_mod-th request is signaled */
	uint64_t post_list, outs;    /* requests a doorbell; READs, ATOMICs in flight a QP */
	uint64_t timeout;            /* as in 4.096 us x 2^timeout */
	bool is_all, is_bidir, is_cas, is_gbits, has_huge;
	bool is_histogram, is_unsorted; /* latencies one by one: sorted, as they came */
	/* not perftest's: */
	uint64_t threads; /* cores of each host, among which the QPs are dealt out, a CQ each */
	uint64_t sges;    /* segments of a message */
	uint64_t drop;    /* this frame of the client is lost, from 1 on; 0 = none */
	uint64_t region, stride; /* bytes of memory a side that messages walk through; 0 = stay */
	/* how it is run */
	const char *nic;                 /* profile */
	const char *sets[PERF_MAX_SETS]; /* --set arguments */
	uint32_t n_sets;
	uint64_t seed;
	const char *dir; /* where files go; NULL = nowhere */
};

/* Microseconds; of half a round trip for WRITE and SEND. */
struct perf_lat {
	double min, max, typical, average, stdev, p99, p999;
};

struct perf_bw {
	double peak, average; /* bytes a second; peak 0 = not looked for (over 20,000 requests) */
	double rate;          /* messages a second */
};

/* When a host's requests were posted and completed, in order; owned. */
struct perf_times {
	uint64_t *post_ps, *poll_ps;
	uint64_t n, cap;
};

/* What a run says of itself besides: a port of the NIC that perftest prints as an address. */
struct perf_end {
	uint32_t qpn, psn, rkey;
	uint64_t va;
	uint8_t gid[16];
	uint16_t lid;
};

/*
 * How the NICs repaired the loss of one frame, as an observer on the line sees it; 0 = did not happen.
 */
struct perf_repair {
	uint64_t lost_ps;   /* first bit of the lost frame */
	uint64_t gap_ps;    /* last bit of the next frame at the server */
	uint64_t nak_ps;    /* first bit of the NAK from there */
	uint64_t told_ps;   /* last bit of the NAK at the client */
	uint64_t resent_ps; /* first bit of the lost packet, sent again */
};

struct perf_result {
	struct perf_repair repair;  /* of the frame that perf_spec.drop names */
	struct perf_times times[2]; /* by host */
	uint64_t errors;            /* requests that ended with another status than success */
	uint8_t status;             /* of the first of them */
	struct perf_end *ends;      /* qps of each host; owned */
	bool is_ethernet;
	double wall_s;
};

/* ---- perf_options.c ---- */

/* The defaults of a benchmark. */
void perf_spec_init(struct perf_spec *s, enum perf_verb verb, bool is_lat);

/* argv[1] is the benchmark ("write_lat"). False with 'e' set on a mistake. */
bool perf_options_parse(int argc, char **argv, struct perf_spec *s, struct err *e);

/* What perftest adjusts before it runs a size: depths by iterations, sizes by the MTU. */
void perf_spec_fit(struct perf_spec *s);

/* ---- perf_trace.c ---- */

void perf_trace_write(const struct perf_spec *s, FILE *f);

/* ---- perf_run.c ---- */

/*
 * Run one size: EXIT_OK, EXIT_EXPECT when requests failed, EXIT_STALLED when they did not end,
 * EXIT_BAD_INPUT with 'e' set. 'r' is to be released in any case.
 */
int perf_measure(const struct perf_spec *s, struct perf_result *r, struct err *e);
void perf_result_release(struct perf_result *r);

/* A statistic of the run that perf_measure() made, looked up while it was there. */
struct perf_stat {
	const char *block, *name; /* of NIC 0 or 1: "nic0.mtt", "hits" */
	uint64_t value;
};
int perf_measure_stats(const struct perf_spec *s, struct perf_result *r, struct perf_stat *stats,
		       uint32_t n_stats, struct err *e);

/* ---- perf_repair.c ---- */

struct rnic;
struct perf_watch;

/* Watch the frames of a run that was built and not started, for 'drop'; 'to' is filled on the way. Free it after the run. */
struct perf_watch *perf_watch_open(struct rnic *r, uint64_t drop, struct perf_repair *to);
void perf_watch_close(struct perf_watch *w);

/* ---- perf_stats.c ---- */

/* How many times a sample counts a message: 2 for a ping-pong. */
double perf_halves(const struct perf_spec *s);

/* Times between two posts, ps, into *delta, which the caller frees; returns how many. */
uint64_t perf_samples(const struct perf_result *r, bool is_sorted, uint64_t **delta);

void perf_latency(const struct perf_spec *s, const struct perf_result *r, struct perf_lat *l);
void perf_bandwidth(const struct perf_spec *s, const struct perf_result *r, struct perf_bw *b);

#endif
