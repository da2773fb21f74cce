/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - what libFuzzer throws bytes at: one function for each reader of other people's bytes
 *
 * Each takes an input as it comes and returns whether it was accepted (1) or refused (0). What must
 * not happen (a crash, a leak, memory or time out of proportion, a rule broken) aborts. The same
 * functions are called by fuzz_main.c, which libFuzzer drives, and by the suite `fuzz`, which
 * replays the committed inputs of seeds/.
 */
#ifndef TESTBENCH_FUZZ_FUZZ_H
#define TESTBENCH_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The kind of link, then a packet: taken apart, and its headers put together again. */
int fuzz_packet(const uint8_t *data, size_t n);

/* What a wire does to the packets between two NICs (fuzz_nic.c); 1 when every request succeeded. */
int fuzz_nic(const uint8_t *data, size_t n);

/* A trace, plain or gzip: read, and if it is small, played for a short time. */
int fuzz_trace(const uint8_t *data, size_t n);

/* A scenario file: read, built with two hosts, and played for a short time. */
int fuzz_scenario(const uint8_t *data, size_t n);

/* A recording of verbs calls as JSON lines, plain or gzip: converted, and the trace read. */
int fuzz_convert(const uint8_t *data, size_t n);

/* ---- for the targets ---- */

/*
 * The path of a file in memory with these bytes, until the next call for the same 'slot' (0 or 1). The
 * file may be written to as well.
 */
const char *fuzz_file(unsigned slot, const void *data, size_t n);

/* Bytes of the input, one after the other; zeros when it is used up. */
struct fuzz_bytes {
	const uint8_t *at, *end;
};
uint8_t fuzz_u8(struct fuzz_bytes *b);

/*
 * Play a trace for so long that something happens, but never for more than a bounded number of
 * steps. The scenario is what 'cfg' holds. 1 when it could be built.
 */
struct config;
struct trace;
struct err;
int fuzz_play(struct config *cfg, struct trace *t, struct err *e);

#endif
