/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wave_fst.c - GTKWave's compressed waveforms, through the fstapi.c that Debian's verilator ships
 */
#include <fstapi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/tempfile.h"
#include "sim/wave.h"

#define FST_PS (-12)                          /* time stamps are 10^-12 s */
#define FST_DATE "Thu Jan  1 00:00:00 1970\n" /* constant: the same run gives the same file */

struct fst {
	void *writer;
	char *path, *hier; /* owned */
	fstHandle *handle; /* by signal id */
	uint32_t n;
	uint64_t end_ps;
};

/*
 * fstapi maps its sparse files: on a full disk a store to one raises SIGBUS, from which there is no way back. So
 * that nothing half-written stays, the handler removes the files and ends the program as for any other output.
 */
static const char *mapped_path;

static void fst_disk_full(int sig)
{
	static const char text[] = ": the FST waveform could not be written whole (disk full)\n";
	size_t n;

	(void)sig;
	tempfile_remove_all(); /* unlink() only, which is async-signal-safe: NOLINT(bugprone-signal-handler) */
	n = (size_t)write(STDERR_FILENO, mapped_path, strlen(mapped_path));
	n += (size_t)write(STDERR_FILENO, text, sizeof(text) - 1);
	(void)n; /* nothing is left to do about a message that could not be written */
	_exit(2);
}

/* fstapi keeps the hierarchy in a file of its own. */
static char *hier_path(const char *path)
{
	char *hier = x_calloc(1, strlen(path) + sizeof(".hier"));

	sprintf(hier, "%s.hier", path);
	return hier;
}

static void *fst_open(const char *path)
{
	struct fst *w;
	FILE *probe = fopen(path, "w"); /* fstapi does not say why it failed */

	if (!probe)
		return NULL;
	fclose(probe);
	w = x_calloc(1, sizeof(*w));
	w->writer = fstWriterCreate(path, 1);
	if (!w->writer) {
		free(w);
		unlink(path);
		return NULL;
	}
	w->path = x_strdup(path);
	w->hier = hier_path(path);
	tempfile_add(w->hier);
	mapped_path = w->path;
	signal(SIGBUS, fst_disk_full);
	fstWriterSetTimescale(w->writer, FST_PS);
	fstWriterSetDate(w->writer, FST_DATE);
	fstWriterSetVersion(w->writer, "rnicsim");
	fstWriterSetPackType(w->writer, FST_WR_PT_LZ4);
	return w;
}

static void fst_scope(void *ctx, const char *name)
{
	fstWriterSetScope(((struct fst *)ctx)->writer, FST_ST_VCD_MODULE, name, NULL);
}

static void fst_upscope(void *ctx)
{
	fstWriterSetUpscope(((struct fst *)ctx)->writer);
}

static void fst_signal(void *ctx, uint32_t id, const char *name, unsigned bits)
{
	struct fst *w = ctx;
	char full[192];

	if (bits > 1)
		snprintf(full, sizeof(full), "%s [%u:0]", name, bits - 1);
	else
		snprintf(full, sizeof(full), "%s", name);
	w->handle = x_realloc(w->handle, (id + 1) * sizeof(*w->handle));
	w->handle[id] =
		fstWriterCreateVar(w->writer, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, bits, full, 0);
	w->n = id + 1;
}

static void fst_header_done(void *ctx)
{
	(void)ctx;
}

static void fst_time(void *ctx, uint64_t ps)
{
	struct fst *w = ctx;

	fstWriterEmitTimeChange(w->writer, ps);
	w->end_ps = ps;
}

static void fst_change(void *ctx, uint32_t id, unsigned bits, uint64_t value)
{
	struct fst *w = ctx;

	fstWriterEmitValueChange64(w->writer, w->handle[id], bits, value);
}

static uint64_t read_be64(FILE *f, uint64_t at)
{
	uint8_t b[8] = { 0 };
	uint64_t v = 0;

	if (fseeko(f, (off_t)at, SEEK_SET) == 0 && fread(b, 1, sizeof(b), f) == sizeof(b))
		for (unsigned i = 0; i < sizeof(b); i++)
			v = v << 8 | b[i];
	return v;
}

/*
 * fstapi does not say whether its writes went well, and its reader trusts the lengths in a file. So look
 * ourselves: blocks of a type byte and a length, the first the header, fill the file to its last byte.
 */
static bool is_whole(const struct fst *w)
{
	FILE *f = fopen(w->path, "rb");
	uint64_t at = 0, size, len = 1;
	bool ok;

	if (!f)
		return false;
	size = fseeko(f, 0, SEEK_END) == 0 ? (uint64_t)ftello(f) : 0;
	while (len && at < size) {
		len = read_be64(f, at + 1);
		if (len > size - at - 1)
			break;
		at += 1 + len;
	}
	ok = len && at == size && read_be64(f, 17) == w->end_ps && read_be64(f, 49) == w->n;
	fclose(f);
	return ok;
}

static bool fst_close(void *ctx)
{
	struct fst *w = ctx;
	bool ok;

	fstWriterClose(w->writer);
	signal(SIGBUS, SIG_DFL);
	ok = is_whole(w);
	tempfile_drop(w->hier);
	free(w->path);
	free(w->hier);
	free(w->handle);
	free(w);
	return ok;
}

const struct wave_sink wave_fst_sink = { .suffix = ".fst",
					 .open = fst_open,
					 .scope = fst_scope,
					 .upscope = fst_upscope,
					 .signal = fst_signal,
					 .header_done = fst_header_done,
					 .time = fst_time,
					 .change = fst_change,
					 .close = fst_close };
