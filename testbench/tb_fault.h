/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_fault.h - faults that the judge of random traces must notice, by its own words
 *
 * A row of a table: what the judge must say, and a run that is spoilt in one thing, before it (then the hardware is
 * wrong, the watchers are not) or after it (then what is judged is). Seeds are tried until a trace has what the fault
 * needs.
 */
#ifndef TESTBENCH_TB_FAULT_H
#define TESTBENCH_TB_FAULT_H

#include "testbench/tb_judge.h"
#include "testbench/tb_wire.h"

struct fault {
	const char *
		says; /* part of the text; '*' is anything that the judge puts in. NULL ends a table */
	void (*before)(struct tb_case *c);
	bool (*after)(struct tb_case *c); /* false: there is nothing to spoil */
	const struct gen_want *want;
	const char *word;                /* that the trace has; NULL: any */
	const char *const *sets;         /* NULL at the end; NULL: none */
	void (*rows)(struct tb_case *c); /* spoils the rows, before the reference sees them */
	void (*mend)(struct tb_case *c); /* undoes 'after', where the end of the run looks too */
};

/* Kinds of traces. */
extern const struct gen_want fault_clean, fault_rarely_lossy, fault_any;

/* Settings: selective repeat; timers of a second, with each recovery. */
extern const char *const fault_sr[], *const fault_patient_sr[], *const fault_patient_gbn[];

/* Each fault of a table is noticed in the run of some seed; a run that is not spoilt yet is as it must be. */
void faults_are_noticed_as_said(const struct fault *faults);

/* The tables: test_property_rules.c, test_property_ends.c (two), test_property_memory.c, test_property_hardware.c. */
extern const struct fault packet_faults[], run_faults[], loose_faults[], memory_faults[],
	hardware_faults[];

/* A bit of a byte in an MR turns over, in the memory of the run. */
void fault_flip(struct tb_case *c, uint32_t mr, uint64_t addr);

#endif
