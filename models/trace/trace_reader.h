/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_reader.h - what the files that read traces share: names, ids seen, and the kinds of record
 */
#ifndef MODELS_TRACE_TRACE_READER_H
#define MODELS_TRACE_TRACE_READER_H

#include "models/trace/trace.h"
#include "sim/record.h"

/*
 * Things that have names. Names are unique among one kind on one host; QP and SRQ, MR and MW count
 * as one kind.
 */
enum trace_thing {
	THING_HOST,
	THING_PD,
	THING_MR,
	THING_MW,
	THING_CQ,
	THING_SRQ,
	THING_QP,
	THINGS
};

struct name_slot {
	uint32_t hash, host, index;
	uint8_t thing;
	bool is_used;
};

/* Numbers that rise, as arithmetic progressions: regular traces need a handful. */
struct id_run {
	uint64_t first;
	uint32_t stride, count;
};
struct id_set {
	struct id_run *runs;
	uint32_t n, cap;
};

struct host_ids {
	uint64_t last; /* id of the last record, 0 = none yet */
	struct id_set all, signaled;
};

struct trace_reader {
	struct record_reader rec;
	struct name_slot *names; /* open addressing, a power of two of them */
	uint32_t n_names, cap_names;
	struct host_ids *ids; /* one a host */
	bool has_current;     /* rec holds a line that was not looked at yet */
	bool has_collected;   /* `expect` and `wire` records are all known */
};

/* A word that names something, for error messages: what kinds of things are called. */
extern const char *const trace_thing_names[THINGS];

/* ---- names ---- */

/*
 * Where the table of a thing starts, its element size and count. Every element starts with its
 * name.
 */
const char *trace_name(const struct trace *t, enum trace_thing thing, uint32_t index);

/* TRACE_NONE when there is none. 'host' is 0 for hosts. */
uint32_t trace_lookup(const struct trace *t, enum trace_thing thing, uint32_t host,
		      const char *name, uint32_t len);
void trace_enter(struct trace *t, enum trace_thing thing, uint32_t host, uint32_t index);

/*
 * Cursors over names: HOST, or NAME of a thing on 'host'. False with the reason in 'why'
 * (RECORD_WHY bytes): what is not known, and the nearest that is.
 */
bool trace_take_host(const struct trace *t, const char **p, uint32_t *host, char *why);
bool trace_take(const struct trace *t, const char **p, enum trace_thing thing, uint32_t host,
		uint32_t *index, char *why);

/* MR:OFFSET, or with is_range MR:OFFSET:LEN, within the MR. */
bool trace_take_mr_at(const struct trace *t, const char **p, uint32_t host, uint32_t *mr,
		      uint64_t *off, char *why);
bool trace_take_mr_range(const struct trace *t, const char **p, uint32_t host, uint32_t *mr,
			 uint64_t *off, uint64_t *len, char *why);

/* "hex:BYTES" in full: allocates *bytes. False with 'why'. */
bool trace_parse_hex(const char *text, uint8_t **bytes, uint64_t *len, char *why);

/* ---- ids ---- */

void id_set_add(struct id_set *s, uint64_t id);
bool id_set_has(const struct id_set *s, uint64_t id);

/* ---- records ---- */

/* The table of a kind of record, and what to do with a line of it. */
typedef bool trace_setup_fn(struct trace *t, struct err *e);
typedef bool trace_stream_fn(struct trace *t, struct trace_record *r, struct err *e);

extern const struct record_kind trace_host_kind, trace_pd_kind, trace_mr_kind, trace_mw_kind,
	trace_cq_kind, trace_srq_kind, trace_qp_kind, trace_wire_kind, trace_expect_kind,
	trace_post_kind, trace_recv_kind, trace_mem_kind, trace_modify_kind, trace_destroy_kind,
	trace_dereg_kind, trace_arm_kind;

trace_setup_fn trace_read_host, trace_read_pd, trace_read_mr, trace_read_mw, trace_read_cq,
	trace_read_srq, trace_read_qp, trace_read_wire, trace_read_expect;
trace_stream_fn trace_read_post, trace_read_recv, trace_read_mem, trace_read_modify,
	trace_read_destroy, trace_read_dereg, trace_read_arm;

/* After the last set-up record: peers by name, sizes and types that must agree. */
bool trace_finish_setup(struct trace *t, struct err *e);

/* The record that an `expect HOST.QP id=N` speaks of stands before it. */
bool trace_check_expect_id(struct trace *t, struct err *e);

extern const char *const trace_access_names[]; /* bit i as ACCESS_*, but "fl" is bit 5 */
/* ACCESS_* bits of such a list. */
uint8_t trace_access(uint32_t flags);

#endif
