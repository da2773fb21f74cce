/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_convert.c - any bytes as a recording of verbs calls
 *
 * What the converter wrote is read back: a recording of nonsense may become a trace that is refused, but
 * with a message, as any trace is.
 */
#include <stdio.h>
#include <stdlib.h>

#include "models/trace/trace.h"
#include "tools/trace/trace_convert.h"
#include "testbench/fuzz/fuzz.h"

#define MAX_BYTES (64u << 10)

static void read_back(const char *text, size_t len)
{
	struct err e = { 0 };
	struct trace *t = trace_open(fuzz_file(1, text, len), &e);
	struct trace_record r;

	while (t && trace_next(t, &r, &e) == 1)
		trace_record_release(&r);
	trace_close(t);
}

int fuzz_convert(const uint8_t *data, size_t n)
{
	struct err e = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *f;
	int ok;

	if (n > MAX_BYTES)
		return 0;
	f = open_memstream(&text, &len);
	ok = trace_convert(fuzz_file(0, data, n), f, &e);
	fclose(f);
	if (ok)
		read_back(text, len);
	free(text);
	return ok;
}
