/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcie_model.h - a direction of a PCIe link that looks at one cycle after the other and at every TLP
 * alone
 *
 * It knows nothing of queues a class, of parts computed at once or of UpdateFCs that are merged. Gen3
 * x8 at full efficiency, 4 ns a cycle, 100 ns on the way.
 */
#ifndef TESTBENCH_PCIE_MODEL_H
#define TESTBENCH_PCIE_MODEL_H

#include "models/msg.h"

#define CYC_PS 4000u /* the bench's clock */
#define TRAINS 300u  /* at most */

enum { P, NP, CPL, CLASSES };

/* What the model is told of a direction. */
struct rules {
	unsigned hdr[CLASSES], data[CLASSES]; /* credits; 0 = infinite */
	uint64_t fc_latency, fc_interval;     /* cycles */
	bool is_relaxed;
	bool rounds_down; /* the fault: data credits of a TLP are rounded down */
};

#define MAX_TLPS 40u
#define MAX_PARTS (TRAINS * 8)

struct model_train {
	uint64_t ready_cyc; /* visible at the link */
	unsigned cls, kind, tag;
	uint64_t addr;
	unsigned n, sent, len[MAX_TLPS];
	bool is_taken;
	uint64_t part_ready_ps; /* from when on the next TLP waits */
};

/* A part delivered. */
struct model_part {
	uint64_t arrive_cyc, deliver_cyc, addr;
	unsigned cls, tag, len, hdr, data;
};

struct model {
	struct rules r;
	struct model_train train[TRAINS];
	unsigned n_trains, n_taken;
	struct model_part part[MAX_PARTS];
	unsigned n_parts;
	unsigned first_part, first_train; /* those before are delivered, sent */
	long hdr[CLASSES], data[CLASSES]; /* credits left */
	unsigned owed_hdr[CLASSES], owed_data[CLASSES];
	uint64_t fc_sent[CLASSES];
	struct {
		uint64_t at;
		unsigned cls, hdr, data;
	} update[MAX_PARTS];
	unsigned n_updates, first_update;
	__uint128_t busy; /* end of the last TLP, ps x GEN3_X8_DEN */
	uint64_t wait_ps;
};

/* Run until all is delivered, or for so long that something is wrong. 'is_up': all classes share a port. */
void model_run(struct model *m, bool is_up);

/* The train that the link gets at cycle 'at', for the model: its TLPs by cutting at every boundary. */
void model_add(struct model *m, uint64_t at, const struct tlp *t, unsigned mps, unsigned rcb);

#endif
