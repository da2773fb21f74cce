/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.h - a block class, or all, printed from its table: text, JSON, SystemVerilog
 */
#ifndef SIM_DESCRIBE_H
#define SIM_DESCRIBE_H

#include "command.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A field of a message. */
struct msg_field {
	const char *name; /* NULL ends a list */
	const char *doc;
	uint32_t bits;  /* of the field, or of one element */
	uint32_t count; /* elements; 0 = no array */
};

/* A message between blocks. */
struct msg_desc {
	const char *name; /* NULL ends a list */
	const char *doc;
	const struct msg_field *fields;
};

enum describe_form {
	DESCRIBE_TEXT, /* markdown tables */
	DESCRIBE_JSON,
	DESCRIBE_SV /* a package with the messages; for one block also the ports of its twin, as a comment */
};

/*
 * Print class 'name' of 'classes', or all when it is NULL, with the messages its ports speak. Classes of one
 * name are implementations of one block. False with 'e' set when there is no such block.
 */
bool describe(FILE *f, const struct block_class *const *classes, const struct msg_desc *msgs,
	      const char *name, enum describe_form form, struct err *e);

/* Every message of the program; the models define it. */
extern const struct msg_desc message_list[];

/* What else `describe --sv` prints when no block is asked for: packages, NULL at the end. */
typedef void sv_package_fn(FILE *f);
extern sv_package_fn *const sv_packages[];

/* `rnicsim describe [BLOCK] [--json | --sv]`, of block_classes and message_list. */
extern const struct command describe_command;

#ifdef __cplusplus
}
#endif
#endif
