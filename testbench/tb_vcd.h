/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_vcd.h - the changes that a VCD file holds, as a list in the order of time, then of name
 */
#ifndef TESTBENCH_TB_VCD_H
#define TESTBENCH_TB_VCD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tb_change {
	uint64_t ps, value;
	char name[80]; /* "ab.src.count[3:0]" */
};

struct tb_changes {
	struct tb_change *v;
	size_t n;
	char (*signals)[80]; /* declared, in the order of the file */
	size_t n_signals;
	uint64_t end_ps; /* last time stamp */
};

/* Read 'path' to the end; false when something in it is not as the standard says. */
bool tb_vcd_read(const char *path, struct tb_changes *c);

/* Append one change; sort by time and name; release. */
void tb_changes_add(struct tb_changes *c, uint64_t ps, const char *name, uint64_t value);
void tb_changes_sort(struct tb_changes *c);
void tb_changes_free(struct tb_changes *c);

/* True when both hold the same changes. */
bool tb_changes_equal(const struct tb_changes *a, const struct tb_changes *b);

#endif
