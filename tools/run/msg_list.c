/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg_list.c - for `rnicsim describe`: msg.def expanded to descriptions, and the further packages
 */
#include "tools/run/hdr_sv.h"
#include "models/msg.h"
#include "sim/describe.h"

#define F(ctype, width, nm, text) { .name = #nm, .doc = text, .bits = (width) },
#define FA(ctype, n, nm, text) \
	{ .name = #nm, .doc = text, .bits = 8 * sizeof(ctype), .count = (n) },
#define MSG(nm, text, list) \
	static const struct msg_field nm##_msg_fields[] = { list{ .name = NULL } };
#include "models/msg.def"
#undef MSG
#undef F
#undef FA

const struct msg_desc message_list[] = {
#define MSG(nm, text, list) { #nm, text, nm##_msg_fields },
#include "models/msg.def"
#undef MSG
	{ .name = NULL }
};

sv_package_fn *const sv_packages[] = { hdr_sv, opcode_sv, NULL };
