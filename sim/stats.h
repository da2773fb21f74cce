/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - every statistic of every instance, found by table: JSON, CSV and look-up by name
 *
 * A statistic is named "instance.row" ("nic0.mtt.hits"), one of a histogram "instance.row.part" (n, mean,
 * min, max, p50, p99, p999), one of a channel "producer.port>consumer.port.part" (pushes, stall_ps, wait_cyc;
 * only channels that carried something), one of a pool "owner.poolN.part" (buffers, size, allocs). Order is
 * that of the net-list.
 */
#ifndef SIM_STATS_H
#define SIM_STATS_H

#include "json.h"
#include "sim.h"

#ifdef __cplusplus
extern "C" {
#endif

enum stat_kind { STAT_BLOCK, STAT_CHANNEL, STAT_POOL };

/* One statistic. Pointers are valid during the call only. */
struct stat_item {
	enum stat_kind kind;
	const char *group; /* instance, channel or pool */
	const char *name;  /* row or part */
	const char *part;  /* of a histogram; else NULL */
	const char *unit;
	uint64_t value;
};

/* Call 'row' for every statistic. It returns false to stop. */
void stats_each(const struct sim *s, bool (*row)(void *arg, const struct stat_item *it), void *arg);

/*
 * Write into the open object of 'j': "blocks", "channels" and "pools", each an object of objects.
 * A histogram is an object of its parts.
 */
void stats_write(struct json *j, const struct sim *s);

/*
 * Write "config" into the open object of 'j': every parameter of every instance as run, in base units (ps, B,
 * bps, Hz, ppb; enums by name, TIME_NEVER as null). Left out is what may not change a result: impl, stall_in,
 * stall_out.
 */
void stats_write_config(struct json *j, const struct sim *s);

/* The same for one table: an object 'key' with the parameters of 'obj'. */
void stats_write_params(struct json *j, const char *key, const struct field *fields,
			const void *obj);

/* The flat form: path,value,unit. */
void stats_write_csv(const struct sim *s, FILE *f);

/* The statistic named 'path'. False when there is none. */
bool stats_find(const struct sim *s, const char *path, uint64_t *value);

/* False with 'e' set: 'path' is no statistic, and which is nearest. */
bool stats_unknown(const struct sim *s, const char *path, const char *file, unsigned line,
		   struct err *e);

#ifdef __cplusplus
}
#endif
#endif
