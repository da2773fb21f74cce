/* SPDX-License-Identifier: Apache-2.0 */
/*
 * what_if.h - `rnicsim run --what-if key=value,...`: the same run with each of some changes, and what it gains
 *
 * A list is separated by commas; each entry is a run of its own, with one change or several joined by '+':
 * "pcie_link.gen=5,mtt.ways=8+mtt.sets=8192" makes two runs. They write no files.
 */
#ifndef TOOLS_RUN_WHAT_IF_H
#define TOOLS_RUN_WHAT_IF_H

#include <stdio.h>

#include "tools/run/scenario.h"

/*
 * Build each changed run of 'o', which was parsed from argc, argv, and drop it again. False with 'e' set when
 * one cannot be: so a mistake is found before anything is run or written.
 */
bool what_if_check(const struct run_options *o, int argc, char **argv, struct err *e);

/* Make the runs, the unchanged one first, and print what each gains. False with 'e' set on a mistake. */
bool what_if_print(const struct run_options *o, int argc, char **argv, FILE *f, struct err *e);

#endif
