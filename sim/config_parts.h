/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_parts.h - what the files of config.h share: the store of settings, and words of its messages
 */
#ifndef SIM_CONFIG_PARTS_H
#define SIM_CONFIG_PARTS_H

#include "sim/config.h"

#define CONFIG_NAME_MAX 48u /* longest section or key; libinih cuts sections at 49 */

/* Room for one more element of 'size' bytes in an array of 'n'. */
void *config_grow(void *p, uint32_t n, uint32_t *cap, size_t size);

/* Where settings of a section are chained: by its name and first word of its scope ("": none). */
uint32_t *config_bucket(struct config *c, const char *scope, const char *section);

/* Store a setting; rank, scope, file and line as in 'like'. Strings are copied, but for the file's name. */
void config_add(struct config *c, const struct setting *like, const char *section, const char *key,
		const char *value);

/* Copy 'text' for a message: control characters replaced, cut when long. */
const char *config_shown(const char *text, char buf[64]);

/* What a section or key may be called. */
bool config_is_name(const char *s);

/* 's' without the blanks around it, cut off in place. */
char *config_trim(char *s);

#endif
