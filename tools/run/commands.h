/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.h - the commands of the program: struct command's run functions
 */
#ifndef TOOLS_RUN_COMMANDS_H
#define TOOLS_RUN_COMMANDS_H

#include "sim/command.h"

int cmd_run(int argc, char **argv, struct err *e);
int cmd_trace(int argc, char **argv, struct err *e);
int cmd_perf(int argc, char **argv, struct err *e);
int cmd_pcie_bench(int argc, char **argv, struct err *e);
int cmd_calibrate(int argc, char **argv, struct err *e);
int cmd_describe(int argc, char **argv, struct err *e); /* blocks, and profiles */

#endif
