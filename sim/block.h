/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h - what a hardware block is, and the one table that it declares
 *
 * A block is a struct whose first member is 'struct block', a constant table of fields and a constant
 * struct block_class. Parameters, ports, statistics, histograms, waveform signals and events are rows
 * of the table; configuration, `describe`, statistics output, waves, net-list checks and RTL port
 * names are loops over the rows.
 */
#ifndef SIM_BLOCK_H
#define SIM_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "hist.h"
#include "rng.h"
#include "units.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sim;
struct chan;
struct domain;

enum field_kind {
	FIELD_END,
	FIELD_PARAM,
	FIELD_STAT,
	FIELD_HIST,
	FIELD_SIGNAL,
	FIELD_EVENT,
	FIELD_IN,
	FIELD_OUT
};

enum field_type { TYPE_NONE, TYPE_BOOL, TYPE_U8, TYPE_U16, TYPE_U32, TYPE_U64, TYPE_STR };

/* How a PARAM is written by people; what is stored is always an integer in the base unit. */
enum field_form {
	FORM_COUNT,  /* 42 or 0x2a */
	FORM_BYTES,  /* 4KiB: bytes */
	FORM_TIME,   /* 2us: picoseconds */
	FORM_RATE,   /* 100Gbps: bits a second */
	FORM_FREQ,   /* 250MHz: hertz */
	FORM_PROB,   /* 1e-5: parts in a billion */
	FORM_LENGTH, /* 2m: millimetres */
	FORM_BOOL,   /* on, off, yes, no, true, false, 1, 0 */
	FORM_ENUM,   /* one of 'names'; stored as its index */
	FORM_STR     /* text; only in scenario tables, never in a block */
};

/* One row of a table. */
struct field {
	enum field_kind kind;
	enum field_type type;   /* C type of the member at 'offset' */
	enum field_form form;   /* PARAM */
	uint16_t bits;          /* SIGNAL: width on the waveform, 1..64 */
	uint32_t offset;        /* of the member in the block's struct */
	uint32_t elem_size;     /* IN, OUT: bytes of one message */
	uint32_t count;         /* IN, OUT: 0 = one port; n = array of n, named name0, name1, ... */
	uint64_t def, min, max; /* PARAM: default and inclusive range, in base units */
	const char *const *names; /* FORM_ENUM: NULL-terminated list of choices */
	const char *name; /* config key, statistic, wave name, RTL port stem: the member's name */
	const char *
		unit; /* "cyc", "ps", "B", "pkt", ...; ports: message type; events: argument names */
	const char *doc; /* one sentence, no full stop */
	const char *
		evidence; /* PARAM: where the default comes from: "declared", "documented: ...", ... */
};

/* What the kernel knows of one instance. Always the first member of the block's own struct. */
struct block {
	/* hot, one cache line: all that a neighbour's push or pop touches */
	struct block *next, *prev; /* in its slot of the wheel */
	uint64_t wake_cyc;         /* cycle of the pending wake-up, CYCLE_NEVER when none */
	struct domain *dom;        /* its clock */
	uint64_t in_pending;       /* bit i: input channel i holds a message */
	uint64_t rearm_cyc;        /* earliest cycle asked for by channels and pools in this step */
	uint64_t cycle;            /* being executed, in the block's own clock */
	uint64_t (*step)(struct block *b); /* = cls->step */
	/* used at every step too */
	uint64_t now_ps;      /* time of that clock edge */
	struct chan **inputs; /* its input channels, n_inputs of them, at most 64 */
	/* cold */
	uint32_t n_inputs;
	const struct block_class *cls;
	struct sim *sim;
	const char *name; /* instance path, e.g. "nic0.mtt" */
	void *env;        /* set-up shared by a group of blocks (a NIC, a host); read only */
	uint32_t index;   /* in the net-list, from 0 */
	struct rng rng;   /* own stream, seeded from path and global seed */
	/* built-in parameters of every block */
	uint64_t clock_hz;            /* its clock frequency */
	uint64_t impl;                /* index of the implementation chosen, see block_impl_names */
	uint64_t stall_in, stall_out; /* enum stall: pattern put on its input and output channels */
};

/*
 * A block's implementation. The C model and the Verilated RTL of one block are two classes with one
 * name and one field table.
 */
struct block_class {
	const char *name;           /* "mtt" */
	const char *impl;           /* "c" or "rtl" */
	size_t size;                /* bytes of one instance */
	const struct field *fields; /* ends with FIELDS_END */
	const char *doc;            /* one sentence for `describe` */

	/* Allocate (block_alloc) what parameters size; called once, parameters and env set. May be NULL. */
	void (*build)(struct block *b);

	/* Return to the power-on state; statistics are zeroed by the kernel. */
	void (*reset)(struct block *b);

	/*
	 * Execute one clock cycle. Returns the next cycle at which the block must run even if no channel
	 * wakes it, or CYCLE_NEVER: the earliest of all its own reasons, every time. A step that is
	 * called early (`--every-cycle`) must change nothing.
	 */
	uint64_t (*step)(struct block *b);

	/* Release what build took beyond block_alloc. May be NULL. */
	void (*destroy)(struct block *b);

	/*
	 * Parameters, each within its range, that do not go together: NULL, or what is wrong and what
	 * is allowed, with *param the one to blame. Called before build. May be NULL.
	 */
	const char *(*check)(const struct block *b, const char **param);
};

/* Zeroed memory that lives as long as the net-list; only from build. */
void *block_alloc(struct block *b, size_t n, size_t size);

/* Read or write the integer member that 'f' describes, in the struct at 'obj'. */
uint64_t field_get(const void *obj, const struct field *f);
void field_set(void *obj, const struct field *f, uint64_t v);

/* Loop over the rows of a table. */
#define FIELDS_EACH(f, fields) for ((f) = (fields); (f)->kind != FIELD_END; (f)++)

/* The histogram that HIST row 'f' describes, in the struct at 'obj'. */
const struct hist *field_hist(const void *obj, const struct field *f);

/* The row of this kind and name, the n-th row of this kind (from 0), or NULL; how many rows of a kind. */
const struct field *field_find(const struct field *fields, enum field_kind kind, const char *name);
const struct field *field_nth(const struct field *fields, enum field_kind kind, unsigned n);
unsigned field_count(const struct field *fields, enum field_kind kind);

/* The rows that every block has besides its own: clock, impl, stall_in, stall_out. */
extern const struct field block_common_fields[];
extern const char *const block_impl_names[]; /* "c", "rtl", NULL */

/* Patterns of artificial stalls, for tests: they may change times, never results. */
enum stall { STALL_NONE, STALL_ALTERNATE, STALL_RANDOM, STALL_LONG };

/* Record EVENT row number 'event' (index among the EVENT rows of its table) with two arguments. */
void block_event_slow(struct block *b, unsigned event, uint64_t a0, uint64_t a1);
extern bool block_events_on;

static inline void block_event(struct block *b, unsigned event, uint64_t a0, uint64_t a1)
{
	if (__builtin_expect(block_events_on, 0))
		block_event_slow(b, event, a0, a1);
}

#ifdef __cplusplus
}
#endif

/* ---- row constructors (C only) ---- */
#ifndef __cplusplus
#define TYPE_OF(T, f) \
	_Generic(((T *)0)->f, _Bool: TYPE_BOOL, uint8_t: TYPE_U8, uint16_t: TYPE_U16, \
		 uint32_t: TYPE_U32, uint64_t: TYPE_U64, const char *: TYPE_STR)
#define IS_CHAN_PTR(T, f) (0 * sizeof(_Generic(((T *)0)->f, struct chan * : 1)))
#define IS_CHAN_ARRAY(T, f) (0 * sizeof(_Generic(((T *)0)->f[0], struct chan * : 1)))
#define IS_HIST(T, f) (0 * sizeof(_Generic(((T *)0)->f, struct hist : 1)))

#define PARAM_FORM(T, f, fm, dflt, lo, hi, u, d, e) \
	{ \
		.kind = FIELD_PARAM, .type = TYPE_OF(T, f), .form = (fm), \
		.offset = offsetof(T, f), .def = (dflt), .min = (lo), .max = (hi), .name = #f, \
		.unit = (u), .doc = (d), .evidence = (e) \
	}
#define PARAM(T, f, dflt, lo, hi, u, d, e) PARAM_FORM(T, f, FORM_COUNT, dflt, lo, hi, u, d, e)
#define PARAM_BYTES(T, f, dflt, lo, hi, d, e) PARAM_FORM(T, f, FORM_BYTES, dflt, lo, hi, "B", d, e)
#define PARAM_TIME(T, f, dflt, lo, hi, d, e) PARAM_FORM(T, f, FORM_TIME, dflt, lo, hi, "ps", d, e)
#define PARAM_RATE(T, f, dflt, lo, hi, d, e) PARAM_FORM(T, f, FORM_RATE, dflt, lo, hi, "bps", d, e)
#define PARAM_FREQ(T, f, dflt, lo, hi, d, e) PARAM_FORM(T, f, FORM_FREQ, dflt, lo, hi, "Hz", d, e)
#define PARAM_PROB(T, f, dflt, d, e) PARAM_FORM(T, f, FORM_PROB, dflt, 0, PPB_ONE, "ppb", d, e)
#define PARAM_LENGTH(T, f, dflt, lo, hi, d, e) \
	PARAM_FORM(T, f, FORM_LENGTH, dflt, lo, hi, "mm", d, e)
#define PARAM_BOOL(T, f, dflt, d, e) PARAM_FORM(T, f, FORM_BOOL, dflt, 0, 1, "", d, e)
#define PARAM_ENUM(T, f, dflt, list, d, e) \
	{ \
		.kind = FIELD_PARAM, .type = TYPE_OF(T, f), .form = FORM_ENUM, \
		.offset = offsetof(T, f), .def = (dflt), .max = ARRAY_LEN(list) - 2, \
		.names = (list), .name = #f, .unit = "", .doc = (d), .evidence = (e) \
	}
/* Text (scenario tables only); no default: the member keeps what the struct was set to. */
#define PARAM_STR(T, f, d) \
	{ \
		.kind = FIELD_PARAM, .type = TYPE_OF(T, f), .form = FORM_STR, \
		.offset = offsetof(T, f), .name = #f, .unit = "", .doc = (d), .evidence = "" \
	}
#define STAT(T, f, u, d) \
	{ \
		.kind = FIELD_STAT, .type = TYPE_OF(T, f), .offset = offsetof(T, f), .name = #f, \
		.unit = (u), .doc = (d) \
	}
#define HIST(T, f, u, d) \
	{ \
		.kind = FIELD_HIST, .offset = offsetof(T, f) + IS_HIST(T, f), .name = #f, \
		.unit = (u), .doc = (d) \
	}
#define SIGNAL(T, f, w, d) \
	{ \
		.kind = FIELD_SIGNAL, .type = TYPE_OF(T, f), .offset = offsetof(T, f), \
		.bits = (w), .name = #f, .unit = "", .doc = (d) \
	}
#define EVENT(nm, args, d) \
	{ \
		.kind = FIELD_EVENT, .name = #nm, .unit = (args), .doc = (d) \
	}
#define PORT_ROW(T, f, k, msg, n, d) \
	{ \
		.kind = (k), .offset = offsetof(T, f), .elem_size = sizeof(struct msg), \
		.count = (n), .name = #f, .unit = #msg, .doc = (d) \
	}
#define PORT_IN(T, f, msg, d) PORT_ROW(T, f, FIELD_IN, msg, IS_CHAN_PTR(T, f), d)
#define PORT_OUT(T, f, msg, d) PORT_ROW(T, f, FIELD_OUT, msg, IS_CHAN_PTR(T, f), d)
/* Arrays of ports: member 'struct chan *f[n]'. Trailing ones may stay unconnected (NULL). */
#define PORT_IN_N(T, f, n, msg, d) PORT_ROW(T, f, FIELD_IN, msg, (n) + IS_CHAN_ARRAY(T, f), d)
#define PORT_OUT_N(T, f, n, msg, d) PORT_ROW(T, f, FIELD_OUT, msg, (n) + IS_CHAN_ARRAY(T, f), d)
#define FIELDS_END \
	{ \
		.kind = FIELD_END, .name = "", .unit = "", .doc = "" \
	}
#endif
#endif
