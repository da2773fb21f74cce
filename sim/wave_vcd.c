/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wave_vcd.c - value change dump (IEEE 1364-2005, clause 18)
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim/wave.h"

struct vcd {
	FILE *f;
	uint64_t last_ps;
	bool has_time;
};

static void *vcd_open(const char *path)
{
	FILE *f = fopen(path, "w");
	struct vcd *v;

	if (!f)
		return NULL;
	v = x_calloc(1, sizeof(*v));
	v->f = f;
	fprintf(f, "$version rnicsim $end\n$timescale 1ps $end\n");
	return v;
}

static void vcd_scope(void *ctx, const char *name)
{
	fprintf(((struct vcd *)ctx)->f, "$scope module %s $end\n", name);
}

static void vcd_upscope(void *ctx)
{
	fprintf(((struct vcd *)ctx)->f, "$upscope $end\n");
}

/* Identifier of a signal: base 94 in the printable characters. */
static const char *vcd_id(uint32_t id, char buf[8])
{
	char *p = buf + 7;

	*p = 0;
	do {
		*--p = (char)('!' + id % 94);
		id /= 94;
	} while (id);
	return p;
}

static void vcd_signal(void *ctx, uint32_t id, const char *name, unsigned bits)
{
	FILE *f = ((struct vcd *)ctx)->f;
	char buf[8];

	fprintf(f, "$var wire %u %s %s", bits, vcd_id(id, buf), name);
	if (bits > 1)
		fprintf(f, " [%u:0]", bits - 1);
	fprintf(f, " $end\n");
}

static void vcd_header_done(void *ctx)
{
	fprintf(((struct vcd *)ctx)->f, "$enddefinitions $end\n");
}

static void vcd_time(void *ctx, uint64_t ps)
{
	struct vcd *v = ctx;

	if (v->has_time && v->last_ps == ps)
		return;
	fprintf(v->f, "#%llu\n", (unsigned long long)ps);
	v->last_ps = ps;
	v->has_time = true;
}

static void vcd_change(void *ctx, uint32_t id, unsigned bits, uint64_t value)
{
	FILE *f = ((struct vcd *)ctx)->f;
	char buf[8], digits[66], *p = digits + 65;

	*p = 0;
	do {
		*--p = (char)('0' + (value & 1));
		value >>= 1;
	} while (value);
	if (bits == 1)
		fprintf(f, "%s%s\n", p, vcd_id(id, buf));
	else
		fprintf(f, "b%s %s\n", p, vcd_id(id, buf));
}

static bool vcd_close(void *ctx)
{
	struct vcd *v = ctx;
	bool failed = ferror(v->f) != 0;

	failed |= fclose(v->f) != 0;
	free(v);
	return !failed;
}

const struct wave_sink wave_vcd_sink = { .suffix = ".vcd",
					 .open = vcd_open,
					 .scope = vcd_scope,
					 .upscope = vcd_upscope,
					 .signal = vcd_signal,
					 .header_done = vcd_header_done,
					 .time = vcd_time,
					 .change = vcd_change,
					 .close = vcd_close };
