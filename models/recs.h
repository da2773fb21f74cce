/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recs.h - records of the trace between the feed that reads them and the workloads that run them
 *
 * A record is held from its reading to its last post. What outlives it, until its completions are
 * polled, is a ticket: who waits for it, and which `expect`s speak of it. So memory follows the
 * window and the requests in flight. A record dropped at one edge makes room from the next time
 * stamp on, and a dependency met at one edge counts from the next time stamp on, so the order of
 * steps within an edge cannot matter.
 */
#ifndef MODELS_RECS_H
#define MODELS_RECS_H

#include "models/verbs/verbs.h"

#define REC_NONE 0u        /* no record */
#define REC_INLINE_SEGS 2u /* segments and dependencies that need no block of their own */
#define REC_INLINE_DEPS 2u

/* A segment, and the MR in which its address advances and wraps. */
struct rec_seg {
	struct sge s;
	uint32_t mr; /* index in the trace, or TRACE_NONE */
};

/* A record's place among those that wait for a ticket. */
struct rec_dep {
	uint32_t ticket; /* TICKET_NONE when met */
	uint32_t next;   /* node, see dep_node() */
};

/* A record, compact: a verb with what it acts on resolved to indices of its host. */
struct rec {
	/* order among those that can run */
	uint64_t start_ps;       /* earliest start, once is_ready */
	uint64_t seq;            /* place in the file */
	uint32_t child, sibling; /* heap of ready records */
	uint32_t next;           /* in its queue */
	uint32_t inbox;          /* in the list of those whose last dependency was met */
	/* when */
	uint64_t at_ps, delay_ps;
	uint64_t wait_ps;       /* when the last dependency was met, or the record was read */
	uint16_t n_wait, n_dep; /* dependencies not met; all */
	bool is_used;
	bool is_here;    /* the workload has it */
	bool is_inboxed; /* it is in its host's inbox */
	bool is_ready;   /* start_ps is known */
	bool is_parked;  /* a receive that waits for room */
	bool is_stamped; /* the message's last byte becomes the post's number */
	bool is_told;    /* RESET, DESTROY: the NIC was */
	bool has_polled; /* the byte at poll_va has the value for the next post */
	/* what */
	uint8_t kind;   /* enum rec_kind (trace.h) */
	uint8_t opcode; /* enum wr_opcode */
	uint8_t n_seg;
	uint8_t state;     /* MODIFY_QP: enum qp_state */
	bool is_solicited; /* ARM: for solicited completions only */
	uint8_t mem_byte;  /* MEM without bytes: what is stored */
	uint32_t flags;    /* WR_* */
	uint32_t line;
	uint32_t host;
	uint32_t qpi;                       /* RECV: receive queue (verbs.h) */
	uint32_t dest_host, dest_qpn, qkey; /* UD */
	uint32_t mr, rmr; /* indices in the trace; rmr TRACE_NONE: raddr does not wrap */
	uint32_t cqi;     /* ARM */
	uint32_t limit;   /* MODIFY_SRQ */
	uint32_t psn;     /* MODIFY_QP: the first one, or VERBS_PSN */
	uint32_t mw;      /* index in the trace; BIND_MW, whose region is mr */
	uint8_t bind_access;
	uint8_t flush_level; /* enum flush_level (trace.h) */
	uint32_t ticket;
	uint32_t imm, inv_key, rkey;
	uint64_t id, wr_id;
	uint64_t raddr, compare_add, swap;
	uint64_t repeat, done; /* posts wanted, made */
	uint64_t window, stride, rstride;
	uint32_t signal, batch; /* every so many-th is signaled, rings the doorbell */
	uint64_t poll_va;       /* 0 = posts wait for no byte */
	uint32_t lag;           /* the byte's value is the post's number less this */
	uint64_t mem_va, mem_len;
	uint8_t *mem_bytes; /* owned; NULL = mem_byte all over */
	struct rec_seg *seg;
	struct rec_dep *dep;
	struct rec_seg seg0[REC_INLINE_SEGS];
	struct rec_dep dep0[REC_INLINE_DEPS];
	void *ext; /* room for more of both, kept with the slot */
	size_t ext_size;
	uint64_t usable_ps; /* of a free slot */
};

/* A record's completions, until the last has been polled. */
struct ticket {
	uint64_t id;
	uint64_t left; /* completions still to come */
	uint32_t host;
	uint32_t waiters; /* first node, 0 = none */
	uint32_t live;    /* place in the host's list */
	uint32_t expect;  /* first `expect` about it in recs.expects, or TICKET_NONE */
	uint32_t late;    /* first of those read after it: index in trace->expects + 1 */
	uint32_t link;    /* next free + 1 */
};

/*
 * Tickets of a host that are open, by rising id; closed ones stay as gaps until the list is packed.
 */
struct live {
	uint64_t id;
	uint32_t ticket;
};
struct live_list {
	struct live *v;
	uint32_t n, cap, n_gaps;
};

struct recs {
	struct rec **chunk;
	uint32_t n_slots, cap_chunks;
	uint32_t free_head, free_tail; /* oldest first */
	uint32_t in_use;
	uint32_t window; /* records at most */
	uint64_t next_seq;
	struct ticket *tickets;
	uint32_t n_tickets, cap_tickets, free_ticket;
	struct live_list *live; /* a host */
	uint32_t n_hosts;
	uint32_t *expects; /* indices in trace->expects of those about an id, by host and id */
	uint32_t n_expects;
	uint32_t *expect_at; /* a host: the first of them whose id has not been read yet */
	uint32_t *late;      /* pipes: next `expect` of the same record + 1, by index in trace */
	uint32_t n_known;    /* of trace->expects, looked at */
	struct block *feed;  /* to be woken when a record goes; NULL until it is built */
	bool is_starved;     /* the feed waits for room */
};

/* What became of one work request of a ticket. */
enum outcome {
	OUTCOME_COMPLETED, /* a completion of its own */
	OUTCOME_COVERED,   /* unsignaled: a later completion tells that it is done */
	OUTCOME_LOST,      /* its completion was lost in a full CQ, as a later one shows */
	OUTCOME_REFUSED    /* the post returned an error */
};

void recs_init(struct recs *r, uint32_t n_hosts);
void recs_destroy(struct recs *r);

static inline struct rec *rec_at(const struct recs *r, uint32_t handle)
{
	return &r->chunk[(handle - 1) >> 10][(handle - 1) & 1023];
}

/* True when another record may be held at 'now_ps'. Pure. */
bool recs_can_alloc(const struct recs *r, uint64_t now_ps);

/*
 * Take a slot with room for so many segments and dependencies; the caller has checked
 * recs_can_alloc().
 */
uint32_t rec_alloc(struct recs *r, uint32_t n_seg, uint32_t n_dep, uint64_t now_ps);

/* Drop a record; 'by' is the block that does, NULL before time 0. */
void rec_free(struct recs *r, uint32_t handle, const struct block *by);

/* A ticket for 'n' completions of record 'id' of a host; ids of a host rise from call to call. */
uint32_t ticket_open(struct recs *r, uint32_t host, uint64_t id, uint64_t n);

/* The open ticket of an earlier record, or TICKET_NONE: it is done. */
uint32_t ticket_find(const struct recs *r, uint32_t host, uint64_t id);

/* Record 'handle' waits for a ticket with its dependency number k. */
void ticket_wait(struct recs *r, uint32_t ticket, uint32_t handle, uint32_t k);

/*
 * One completion fewer to come. When it was the last the ticket is gone, and the node of the first
 * that waited is returned (0 = none); go on with ticket_next_waiter().
 */
uint32_t ticket_done(struct recs *r, uint32_t ticket);

/* The record of a node, whose dependency is now met; *node moves on. */
uint32_t ticket_next_waiter(struct recs *r, uint32_t *node);

/* ---- records that can run, earliest start first, then file order: a pairing heap ---- */

void ready_push(struct recs *r, uint32_t *root, uint32_t handle);
uint32_t ready_pop(struct recs *r, uint32_t *root);

#endif
