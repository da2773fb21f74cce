/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - INI scenario files, profiles and --set, applied to tables of fields
 *
 * A setting is (section, key, value, where it was written). Sections name a block class ("mtt": all of
 * them), one instance ("nic0.mtt"), a group ("nic0", "link0", "scenario"), or all groups of a kind ("nic", "link"). What wins: the command
 * line over scenario files over profiles; within each, the more special section ("nic0.mtt" over "qpc_tx", an
 * instance's own name in all groups, over its class); then the later one. One key may stand only once in a
 * section of a file.
 * A setting that nothing asked for is the user's mistake (config_check_used).
 */
#ifndef SIM_CONFIG_H
#define SIM_CONFIG_H

#include "block.h"

#ifdef __cplusplus
extern "C" {
#endif

enum config_rank { CONFIG_PROFILE, CONFIG_FILE, CONFIG_COMMAND };

struct setting {
	enum config_rank rank;
	char *section, *key, *value;
	char *scope;      /* profiles: the group they are for ("nic0"); else NULL */
	const char *file; /* "--set" for the command line */
	unsigned line;    /* 0 for the command line */
	bool is_used;
	uint32_t next; /* older setting of a section with this hash, index + 1 */
};

/* A section header, which may have no settings. */
struct section {
	char *name;
	const char *file;
	unsigned line;
	bool has_setting;
};

/* What was asked for: a table, or one key. For "nearest known". */
struct offer {
	char *path;
	const char *cls;            /* may be NULL */
	const struct field *fields; /* NULL: 'key' */
	const char *key;
};

struct config {
	struct setting *settings;
	uint32_t n, cap;
	uint32_t bucket[1024]; /* newest setting by hash of its section, index + 1 */
	char **files;          /* names, owned */
	uint32_t n_files;
	struct section *sections;
	uint32_t n_sections, cap_sections;
	struct offer *offers;
	uint32_t n_offers, cap_offers;
};

void config_init(struct config *c);
void config_destroy(struct config *c);

/* Read an INI file through libinih. Errors carry file and line. */
bool config_read_file(struct config *c, const char *path, struct err *e);

/*
 * Read profile 'path' for group 'scope' ("nic0"): its sections are class names or "nic", and hold for that
 * group's blocks only, below everything written in scenario files. The other: its text, which errors call 'name'.
 */
bool config_read_profile(struct config *c, const char *path, const char *scope, struct err *e);
bool config_read_profile_text(struct config *c, const char *name, const char *text,
			      const char *scope, struct err *e);

/* One --set argument, "section.key=value" (the last dot before '=' splits; "nic0.mtt.ways=4"). */
bool config_set(struct config *c, const char *arg, struct err *e);

/* The same for an option of its own, which errors then name. 'option' outlives 'c'. */
bool config_set_as(struct config *c, const char *option, const char *arg, struct err *e);

/*
 * Set every PARAM row of 'fields' (up to FIELDS_END) in the struct at 'obj': first its default (FORM_STR rows
 * are left alone), then the winning setting. 'path' is the instance ("nic0.mtt", "scenario", "link0"),
 * 'cls' the name under which all of its kind are set ("mtt", "link"; NULL = none). False with 'e' set on a
 * bad value.
 */
bool config_apply(struct config *c, const char *path, const char *cls, const struct field *fields,
		  void *obj, struct err *e);

/* The winning setting of one key, or NULL; marks it used. */
const struct setting *config_lookup(struct config *c, const char *path, const char *cls,
				    const char *key);

/* True when 'section' is the name of the group 'path' without its number: "link" of "link0". */
bool config_is_group(const char *section, const char *path);

/* True when any setting has a section 'section' or one that starts with 'section' and a dot. */
bool config_has_section(const struct config *c, const char *section);

/* After everything was applied: false with 'e' naming the first setting that nothing used, and the nearest known. */
bool config_check_used(const struct config *c, struct err *e);

/*
 * Parse 'text' by the form, range and unit of 'f' into base units. False with 'why' (at least 256 bytes)
 * saying what is allowed.
 */
bool value_parse(const struct field *f, const char *text, uint64_t *v, char *why, size_t why_len);

/* Print a base-unit value the way people write it ("4KiB", "100Gbps", "2us", "on"). Returns buf. */
char *value_format(const struct field *f, uint64_t v, char *buf, size_t len);

/* Sizes, times as traces write them. Return false when malformed or too large for 64 bits. */
bool parse_count(const char *text, uint64_t *v);
bool parse_bytes(const char *text, uint64_t *v);
bool parse_time_ps(const char *text, uint64_t *v);
bool parse_rate_bps(const char *text, uint64_t *v);

#ifdef __cplusplus
}
#endif
#endif
