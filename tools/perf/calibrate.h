/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate.h - published numbers of RDMA NICs, and the benchmarks that simulate them
 *
 * A row is a number that somebody published, the benchmark whose result it should be (as `rnicsim
 * perf` takes it, so that anybody can run it alone), and how far off it may be. Nothing of a row
 * sets what decides its number: that is the profile's business.
 */
#ifndef TOOLS_PERF_CALIBRATE_H
#define TOOLS_PERF_CALIBRATE_H

#include "tools/run/commands.h"
#include "tools/perf/perf.h"

/* What of a benchmark is compared. */
enum calibrate_value {
	VALUE_US,    /* typical latency */
	VALUE_GBPS,  /* goodput */
	VALUE_LINE,  /* what the line carries, headers and gaps included, in Gb/s */
	VALUE_MOPS,  /* messages a second */
	VALUE_SHARE, /* message rate as a share of that of 'versus' */
	VALUE_PAUSE, /* percent of the time for which NIC 0 has its peer pause */
	VALUE_FRAME, /* bytes on the line a message, of NIC 0 */
	VALUE_PCIE, /* bytes on PCIe a message to NIC 0: doorbell, WQE, payload, headers included */
	VALUE_MISS, /* ns from a context's read to its arrival */
	/* us, on the line, around the frame that --drop names */
	VALUE_NAK,    /* next frame's arrival to NAK */
	VALUE_REACT,  /* NAK's arrival to the lost packet */
	VALUE_RESEND, /* lost frame to the same again */
	CALIBRATE_VALUES
};

/* What was published, and what is allowed. How wide a band is, is our own say. */
enum calibrate_band {
	BAND_WITHIN, /* a value: so many percent of it, either way */
	BAND_RANGE,  /* a range, 'published' to 'upto': in it, or so many percent beyond its ends */
	BAND_UNDER,  /* an upper bound: that or less */
	/* not how much: that it appears, or is gone. The threshold is ours. */
	BAND_AT_LEAST,
	BAND_AT_MOST
};

struct calibrate_row {
	const char *profile;
	const char *what, *unit;
	double published; /* value, lower end, bound or threshold */
	enum calibrate_band band;
	double percent, upto;
	enum calibrate_value value;
	const char *perf;   /* arguments of `rnicsim perf`, without --nic */
	const char *versus; /* VALUE_SHARE: the same of what it is compared with */
	const char *source;
};

extern const struct calibrate_row calibrate_rows[];
extern const uint32_t calibrate_n_rows;

/* A row, simulated. */
struct calibrate_result {
	double simulated;
	double error_percent; /* of the published number; of the nearer end of a range, 0 in it */
	bool is_met;
};

/*
 * Simulate a row: EXIT_OK, whether it is met or not; else the benchmark failed, with 'e' set where
 * it was a mistake.
 */
int calibrate_run(const struct calibrate_row *row, struct calibrate_result *r, struct err *e);

/* Whether 'simulated' lies in the row's band. */
void calibrate_judge(const struct calibrate_row *row, double simulated, struct calibrate_result *r);

#endif
