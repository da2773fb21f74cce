/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.c - reading and writing members by their table rows, and the rows that every block has
 */
#include <string.h>

#include "sim/block.h"
#include "sim/err.h"

const char *const block_impl_names[] = { "c", "rtl", NULL };
static const char *const stall_names[] = { "none", "alternate", "random", "long", NULL };

#define COMMON(f, nm, fm, dflt, lo, hi, list, u, d) \
	{ \
		.kind = FIELD_PARAM, .type = TYPE_OF(struct block, f), .form = (fm), \
		.offset = offsetof(struct block, f), .def = (dflt), .min = (lo), .max = (hi), \
		.names = (list), .name = (nm), .unit = (u), .doc = (d), .evidence = "declared" \
	}

const struct field block_common_fields[] = {
	COMMON(clock_hz, "clock", FORM_FREQ, 250 * MHZ, 1, 1000 * GHZ, NULL, "Hz",
	       "clock of the block; the default is that of its group"),
	COMMON(impl, "impl", FORM_ENUM, 0, 0, ARRAY_LEN(block_impl_names) - 2, block_impl_names, "",
	       "implementation: C model or Verilog"),
	COMMON(stall_in, "stall_in", FORM_ENUM, STALL_NONE, 0, STALL_LONG, stall_names, "",
	       "artificial stalls of the messages on its inputs, for tests"),
	COMMON(stall_out, "stall_out", FORM_ENUM, STALL_NONE, 0, STALL_LONG, stall_names, "",
	       "artificial stalls of the credits on its outputs, for tests"),
	FIELDS_END
};

static uint64_t type_max(enum field_type t)
{
	switch (t) {
	case TYPE_BOOL:
		return 1;
	case TYPE_U8:
		return UINT8_MAX;
	case TYPE_U16:
		return UINT16_MAX;
	case TYPE_U32:
		return UINT32_MAX;
	case TYPE_U64:
		return UINT64_MAX;
	default:
		return 0;
	}
}

uint64_t field_get(const void *obj, const struct field *f)
{
	const void *p = (const char *)obj + f->offset;

	SIM_CHECK(type_max(f->type) > 0, NULL); /* the row describes an integer */
	switch (f->type) {
	case TYPE_BOOL:
		return *(const bool *)p;
	case TYPE_U8:
		return *(const uint8_t *)p;
	case TYPE_U16:
		return *(const uint16_t *)p;
	case TYPE_U32:
		return *(const uint32_t *)p;
	case TYPE_U64:
		return *(const uint64_t *)p;
	default:
		return 0;
	}
}

void field_set(void *obj, const struct field *f, uint64_t v)
{
	void *p = (char *)obj + f->offset;

	SIM_CHECK(type_max(f->type) > 0 && v <= type_max(f->type), NULL);
	switch (f->type) {
	case TYPE_BOOL:
		*(bool *)p = v != 0;
		return;
	case TYPE_U8:
		*(uint8_t *)p = (uint8_t)v;
		return;
	case TYPE_U16:
		*(uint16_t *)p = (uint16_t)v;
		return;
	case TYPE_U32:
		*(uint32_t *)p = (uint32_t)v;
		return;
	case TYPE_U64:
		*(uint64_t *)p = v;
		return;
	default:
		return;
	}
}

const struct hist *field_hist(const void *obj, const struct field *f)
{
	SIM_CHECK(f->kind == FIELD_HIST, NULL);
	return (const struct hist *)(const void *)((const char *)obj + f->offset);
}

const struct field *field_find(const struct field *fields, enum field_kind kind, const char *name)
{
	const struct field *f;

	FIELDS_EACH(f, fields)
		if (f->kind == kind && strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

const struct field *field_nth(const struct field *fields, enum field_kind kind, unsigned n)
{
	const struct field *f;

	FIELDS_EACH(f, fields)
		if (f->kind == kind && n-- == 0)
			return f;
	return NULL;
}

unsigned field_count(const struct field *fields, enum field_kind kind)
{
	const struct field *f;
	unsigned n = 0;

	FIELDS_EACH(f, fields)
		n += f->kind == kind;
	return n;
}
