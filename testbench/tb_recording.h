/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_recording.h - the files of a recording of Linux soft-RoCE (../shared/rxe)
 */
#ifndef TESTBENCH_TB_RECORDING_H
#define TESTBENCH_TB_RECORDING_H

#include "testbench/tb_run.h"

#define RXE "../shared/rxe/"

/* "<folder>/<scenario>/<file>" in one of a few static buffers. */
const char *recording_file(const char *scenario, const char *file);

/* The verbs calls of a scenario, converted to a trace in a file of this name. */
const char *recording_trace(const char *scenario);

/*
 * Bytes that differ between a host's region and the recorded image of it; 'datagrams': the trace
 * with the receives, or NULL.
 */
uint32_t recording_memory(const struct tb_run *t, const char *host, const char *image,
			  const char *datagrams);

#endif
