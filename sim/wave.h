/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wave.h - waveforms of every SIGNAL row and of every channel's occupancy, as VCD or FST
 *
 * Attached from outside: signals are sampled after executed steps, occupancies at push and pop, and what
 * changed is written once a time stamp in order of signal number. So no order of steps, and neither sleeping
 * nor its absence, changes the file. A GTKWave save file with the signals grouped by block goes beside it.
 */
#ifndef SIM_WAVE_H
#define SIM_WAVE_H

#include "sim/chan.h"

struct wave;

/* A file format. 'ctx' is what open returned. */
struct wave_sink {
	const char *suffix;              /* ".vcd" */
	void *(*open)(const char *path); /* NULL with errno set when the file cannot be made */
	void (*scope)(void *ctx, const char *name);
	void (*upscope)(void *ctx);
	/* Declare signal 'id' (0, 1, ...), 1..64 bits wide. */
	void (*signal)(void *ctx, uint32_t id, const char *name, unsigned bits);
	void (*header_done)(void *ctx);
	void (*time)(void *ctx, uint64_t ps);
	void (*change)(void *ctx, uint32_t id, unsigned bits, uint64_t value);
	/* Close the file. False when it could not be written whole. */
	bool (*close)(void *ctx);
};

extern const struct wave_sink wave_vcd_sink;
#ifdef HAVE_FST
extern const struct wave_sink wave_fst_sink;
#endif

/*
 * Start a waveform of 's', whose net-list is connected but not yet finished; the suffix of 'path' chooses the format. NULL with
 * 'e' set when the suffix is unknown (or FST not built in) or the file cannot be written. One a run.
 */
struct wave *wave_open(struct sim *s, const char *path, struct err *e);

/* Finish the waveform and its save file ("x.fst" gets "x.gtkw"). False with 'e' set when that failed. */
bool wave_close(struct wave *w, struct err *e);

/* Drop it; no file is left. NULL is ignored. */
void wave_abort(struct wave *w);

#endif
