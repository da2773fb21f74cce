/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hdr.c - the rows of hdr.def as data, and the check that the widths of each header add up
 */
#include "models/packet/hdr.h"

#define F(ctype, n_bits, name, doc) +(n_bits)
#define FA(n, name, doc) +8 * (n)
#define HDR(name, NAME, n, doc, rows) \
	_Static_assert((rows) == 8 * (n), #name ": widths do not add up to its bytes");
#include "models/packet/hdr.def"
#undef F
#undef FA
#undef HDR

#define F(ctype, n_bits, f, d) { .name = #f, .doc = (d), .bits = (n_bits) },
#define FA(n, f, d) { .name = #f, .doc = (d), .bits = 8 * (n) },
#define HDR(x, NAME, n, d, rows) static const struct hdr_field x##_fields[] = { rows };
#include "models/packet/hdr.def"
#undef F
#undef FA
#undef HDR

#define HDR(x, NAME, n, d, rows) \
	{ .name = #x, \
	  .doc = (d), \
	  .fields = x##_fields, \
	  .n_fields = sizeof(x##_fields) / sizeof(x##_fields[0]), \
	  .bytes = (n) },
const struct hdr_row hdr_rows[] = {
#include "models/packet/hdr.def"
};
#undef HDR

const uint32_t n_hdr_rows = sizeof(hdr_rows) / sizeof(hdr_rows[0]);
