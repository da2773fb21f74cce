/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe_sv.h - messages as a SystemVerilog package, and the pins of a block's twin
 */
#ifndef SIM_DESCRIBE_SV_H
#define SIM_DESCRIBE_SV_H

#include "describe.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Print package rnic_msg_pkg: a packed struct <msg>_t for each message, first field in the lowest bits, arrays
 * with element 0 lowest. With 'c' the pins and parameters of its twin follow as a comment.
 */
void describe_sv(FILE *f, const struct msg_desc *msgs, const struct block_class *c);

/* A name in SystemVerilog: reserved words get a trailing underscore ("buf_"). */
void describe_sv_name(FILE *f, const char *name);

#ifdef __cplusplus
}
#endif
#endif
