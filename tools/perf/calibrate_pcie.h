/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate_pcie.h - published numbers of PCI Express paths and how they are simulated
 */
#ifndef TOOLS_PERF_CALIBRATE_PCIE_H
#define TOOLS_PERF_CALIBRATE_PCIE_H

#include "models/pcie_bench.h"

/*
 * What of a measurement is compared. The tail is the 99.9th percentile less the median; the knee, the
 * window in pages of 4 KiB up to which the rate is that of a small one.
 */
enum pcie_value { PCIE_GBPS, PCIE_MOPS, PCIE_MEDIAN_NS, PCIE_TAIL_NS, PCIE_KNEE_PAGES };

struct pcie_row {
	const char *name;      /* what is measured */
	const char *unit;      /* of both values */
	double published;      /* hardware's */
	uint32_t band_percent; /* within so much of it the simulation agrees */
	enum pcie_value value;
	struct pcie_bench_how how;
};

extern const struct pcie_row pcie_rows[];
extern const uint32_t pcie_n_rows;

/* Simulate a row. False with 'e' set when its profile cannot be read. */
bool pcie_row_run(const struct pcie_row *row, double *simulated, struct err *e);

/* Whether 'simulated' lies within the row's band. */
bool pcie_row_agrees(const struct pcie_row *row, double simulated);

#endif
