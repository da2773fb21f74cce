/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_parts.h - what the files of the generator of random traces share
 */
#ifndef TESTBENCH_GEN_PARTS_H
#define TESTBENCH_GEN_PARTS_H

#include <stdio.h>

#include "models/nic.h"
#include "models/trace/trace.h"
#include "sim/rng.h"
#include "testbench/gen_trace.h"

#define MAX_CONN 6u
#define MAX_ITEMS 256u
#define MAX_WINDOWS 4u
#define MAX_PENDING 64u
#define MAX_PIECES 6u
#define COUNTER_SLOTS 512u

/* A range of bytes that an earlier request of a connection may still read or write. */
struct range {
	uint32_t from, len;
	uint32_t item;  /* of whom */
	bool is_remote; /* in the peer's tgt; else in the own loc */
	bool is_atomic;
};

/* A request that must be refused. What its completion is to say goes with it as wrid (gen_trace.h). */
enum wrong {
	WRONG_NOT,
	WRONG_KEY,     /* nobody's */
	WRONG_END,     /* ends behind the region */
	WRONG_RIGHTS,  /* a region that the peer keeps to itself */
	WRONG_ALIGN,   /* an ATOMIC between two words */
	WRONG_LOCAL,   /* a local key that is nobody's */
	WRONG_WINDOW,  /* a byte outside of a window */
	WRONG_ACCESS,  /* an ATOMIC through a window that allows none */
	WRONG_INVALID, /* a window that was taken back */
	WRONGS
};

/* One end of a connection. */
struct end {
	uint32_t psn, sq, rq, max_sge, max_inline,
		max_run;    /* max_run: unsignaled requests in a row */
	uint32_t rd_atomic; /* READs and ATOMICs outstanding */
	bool has_wrong;     /* its last request must be refused */
	uint32_t
		drain_at; /* before this post + 1 its send queue is drained for a while; 0 = never */
	uint32_t kill_at; /* before this post + 1 the program puts it into Error */
	uint32_t probe;   /* of a reborn connection: item + 1 with which its second life begins */
	uint64_t tgt_va;  /* of the own tgt */
	uint32_t ech_at;  /* next free place of the MR whose receives are sent on */
	struct range pending[MAX_PENDING]; /* of READs and ATOMICs since the last fence */
	uint32_t n_pending;
	/* while writing */
	uint32_t unsignaled; /* in a row */
	uint32_t n_sends, n_written;
	bool is_more; /* the last post did not ring */
	uint32_t late_ns;
};

struct conn {
	uint32_t mtu, region;
	bool is_reborn; /* both QPs are used, reset and brought up again before all that counts */
	struct end end[2];
};

struct piece {
	char mr; /* 's'rc, 'l'oc, 'r'cv, 'e'ch, 't'kt */
	uint32_t off, len;
};

/* A record to be. */
struct item {
	uint32_t conn, host;
	bool is_recv;
	enum wr_opcode op;
	struct piece piece[MAX_PIECES];
	uint32_t n_pieces, len;
	uint32_t roff;
	bool is_counter;   /* remote is the counter */
	uint32_t window;   /* number + 1 of the window that it binds, uses or invalidates */
	uint32_t wait_for; /* item + 1 whose completion it waits for */
	bool is_awaited;   /* some item waits for this one's completion */
	bool fence, is_inline;
	enum wrong wrong;
	bool is_null;     /* of no bytes, with a key that is nobody's: nobody looks at it */
	uint32_t echo_of; /* item + 1 whose payload this one sends on when it has come */
	uint32_t echo_at; /* its receive is to lie there in ech, if it has an echo */
	bool has_echo;
	uint32_t recv;   /* item + 1 of the receive that it consumes */
	uint32_t before; /* a receive: the item before which it stands */
	/* while writing */
	bool is_signaled, is_done;
	uint64_t id;
};

/* A memory window over part of a tgt. */
struct window {
	uint32_t host, key, newkey;
};

/* ---- connections of which only the run tells what arrives where (gen_loose.c) ---- */

#define MAX_LOOSE_CONN 6u
#define MAX_LOOSE_ITEMS 160u

struct loose_end {
	uint32_t psn, sq, rq, max_run, n_sends;
	uint32_t pkey;  /* 0 = as all have */
	bool is_shared; /* its receives come from the host's SRQ */
	/* while writing */
	uint32_t unsignaled, n_written, late_ns;
};

struct loose_conn {
	enum qp_type type;
	uint32_t mtu;
	bool is_reborn; /* as struct conn's */
	struct loose_end end[2];
};

/* A post; or a receive, of queue 'conn' of 'host'. */
struct loose_item {
	uint32_t conn, host;
	bool is_recv;
	enum wr_opcode op;
	uint32_t len, off; /* in lsr, or lrv */
	uint32_t to;       /* WRITE: in ltg of the peer; READ: in llo */
	uint32_t dest;     /* UD: the connection whose QP at the other host it goes to */
};

struct loose_queue {
	uint32_t n, room, late_ns; /* receives; bytes of the longest message */
	bool has_rc;
};

struct loose {
	struct loose_conn conn[MAX_LOOSE_CONN];
	uint32_t n_conn;
	struct loose_queue queue[MAX_LOOSE_CONN + 1][2]; /* [n_conn]: the SRQs */
	struct loose_item item[MAX_LOOSE_ITEMS];
	uint32_t n_items, n_written;
	uint32_t order[MAX_LOOSE_ITEMS];
	uint32_t target_at[2], local_at[2], recv_at[2]; /* next free bytes */
	bool is_sure; /* nothing is lost and receives are there in time: all arrives */
};

struct gen {
	struct rng rng;
	struct loose loose;
	struct gen_case *out;
	const struct gen_want *want;
	struct conn conn[MAX_CONN];
	uint32_t n_conn, n_tickets[2];
	struct item item[MAX_ITEMS];
	uint32_t n_items;
	struct window window[MAX_WINDOWS];
	uint32_t n_windows;
	uint32_t order[MAX_ITEMS]; /* items in file order */
	bool is_lossy;
	bool has_cq, is_event[2]; /* a CQ c0 that QPs share; whose program waits for events */
	bool may_end; /* a QP may end in Error: then nothing may wait for receives, which may never
			 end */
	FILE *f;
};

static inline uint32_t below(struct gen *g, uint32_t n)
{
	return (uint32_t)rng_below(&g->rng, n);
}

static inline bool one_in(struct gen *g, uint32_t n)
{
	return below(g, n) == 0;
}

#define PICK(g, ...) \
	((const uint32_t[]){ __VA_ARGS__ }[below(g, sizeof((const uint32_t[]){ __VA_ARGS__ }) / \
							    sizeof(uint32_t))])

static inline bool is_atomic(enum wr_opcode op)
{
	return op == WR_ATOMIC_CMP_AND_SWP || op == WR_ATOMIC_FETCH_AND_ADD;
}

static inline bool has_remote(enum wr_opcode op)
{
	return op <= WR_RDMA_WRITE_WITH_IMM || op == WR_RDMA_READ || is_atomic(op) ||
	       op == WR_FLUSH || op == WR_ATOMIC_WRITE;
}

/*
 * gen_trace.c: a new request, the last of its end; its local pieces; its place within 'len' bytes from
 * 'from' on; what it may still do when the next one is posted; 'it' waits for 'x' to complete.
 */
struct item *gen_new_item(struct gen *g, uint32_t conn, uint32_t host, enum wr_opcode op);
void gen_choose_local(struct gen *g, struct item *it, const struct conn *c, struct end *e);
void gen_choose_remote(struct gen *g, struct item *it, struct end *e, uint32_t from, uint32_t len);
void gen_keep_pending(struct gen *g, struct item *it, struct end *e);
void gen_await(struct gen *g, struct item *it, struct item *x);
uint32_t gen_message_length(struct gen *g, uint32_t mtu);

/* gen_window.c: 'host' opens a window to the peer. Nothing of the end must be refused yet. */
void gen_add_window(struct gen *g, uint32_t conn, uint32_t host);
bool gen_is_end_free(const struct gen *g, uint32_t conn, uint32_t host);

/* gen_write.c: the text of the trace, the items in the order of g->order. */
void gen_write_trace(struct gen *g);
uint64_t gen_write_mr(struct gen *g, uint32_t host, const char *name, uint32_t conn, uint32_t len,
		      const char *access, const char *fill);

/* gen_loose.c: other services and shared receive queues. */
void gen_make_loose(struct gen *g);
uint32_t gen_loose_depth(const struct gen *g); /* completions of a shared CQ */
void gen_write_loose_mrs(struct gen *g);
void gen_write_loose_qps(struct gen *g, bool has_cq);
bool gen_takes_recv(enum wr_opcode op);

/* Some more of their records, or all that are left; id[host] is the last one given. */
void gen_write_loose(struct gen *g, uint64_t *id, bool is_all);

/*
 * gen_states.c: some send queues are drained for a while, and a QP may be put into Error where one may
 * end so anyway; connections with a life before that counts for nothing.
 */
void gen_choose_states(struct gen *g);
void gen_choose_reborn(struct gen *g);
void gen_write_junk(struct gen *g);
#define FORMER_POSTS 3u /* at most, of an end */
void gen_write_former(struct gen *g, uint64_t *id);
uint32_t gen_former_psn(uint32_t psn);

/* Now and then: an SRQ's limit is set, a CQ is armed. */
void gen_write_events(struct gen *g);

/* gen_scenario.c: the text of the scenario. */
void gen_write_scenario(struct gen *g, uint64_t seed);

#endif
