/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - what the host-side blocks of one host share: their 'env'
 *
 * Filled at set-up. The driver's state (rings as the CPU knows them) belongs to the workload block once the
 * run has begun; host_mem reads nic, mem and oplog only.
 */
#ifndef MODELS_HOST_H
#define MODELS_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "models/mem.h"
#include "models/nic.h"
#include "models/oplog.h"
#include "models/packet/packet.h"
#include "models/trace/trace.h"

struct block;
struct system;

#define TICKET_NONE UINT32_MAX

/*
 * How the driver tells of new WQEs: by the 8-byte doorbell; a single WQE with inline data, or any single
 * WQE that fits, by a copy of it in a BlueFlame buffer (rdma-core: MLX5_SHUT_UP_BF, MLX5_POST_SEND_PREFER_BF).
 */
enum post_mode { POST_DOORBELL, POST_BF_INLINE, POST_BLUEFLAME };

/* A work request between its post and its completion, as the driver remembers it. */
struct wr_entry {
	uint64_t wr_id;
	uint32_t op;     /* oplog row */
	uint32_t ticket; /* the caller's: who waits for it */
	uint16_t index;  /* WQE counter: its first basic block (send), its WQE (receive) */
	bool is_signaled;
};

/* One of a QP's two queues, in work requests. */
struct wr_ring {
	struct wr_entry *entry; /* a power of two of them */
	uint32_t mask;
	uint32_t depth;      /* work requests it takes, at most mask + 1 */
	uint32_t head, tail; /* posted, retired; running */
};

/* The driver's side of an SRQ; index as in nic->srq. WQEs complete in any order. */
struct drv_srq {
	struct wr_entry *entry;   /* by WQE index */
	uint16_t *next;           /* by WQE index: the list of the free ones */
	uint16_t head, tail;      /* of that list; the last one stays free */
	uint16_t counter;         /* WQEs posted, running */
	uint32_t depth, n_posted; /* work requests it takes, holds */
	uint32_t rcq;             /* of the last QP that takes of it; CQI_NONE: there is none */
};

/* The driver's side of a QP; index as in nic->qp. */
struct drv_qp {
	struct packet_path path; /* UD: of what it sends */
	struct wr_ring sq, rq;
	uint16_t sq_bb;   /* next basic block of the send queue */
	uint16_t sq_rung; /* producer at the last doorbell */
	uint8_t last_ctrl
		[8]; /* first control qword of the last WQE posted: what the doorbell carries */
	uint32_t max_inline;
	uint32_t core;       /* that posts here */
	uint32_t core_asked; /* by the trace, modulo the cores, + 1; 0 = in turn */
	uint8_t state;       /* enum qp_state (trace.h), as the program set or saw it */
	bool is_destroyed;
	/* completions of its send, receive CQ before this one are of a life before its reset */
	uint32_t life[2];
	uint8_t n_closing; /* halves of it that the NIC still holds, after a reset */
	bool sig_all;
};

/* The driver's side of a CQ; index as in nic->cq. */
struct drv_cq {
	uint32_t ci;    /* CQEs consumed, running */
	uint32_t stale; /* those before this one may be of no use to anyone: they are polled away */
	uint32_t ci_written; /* as last stored to the doorbell record */
	/* work requests posted whose completion would come here; and each QP of an SRQ */
	uint32_t outstanding;
	uint32_t shared; /* receives of SRQs whose completions may come here */
	uint8_t log_depth;
	uint8_t arm_sn;             /* sequence number of req_notify, 2 bits */
	bool is_polling;            /* a poll is on its way or waits at the memory */
	bool is_armed, is_draining; /* event mode: an event is to come; it came, emptied now */
	uint64_t n_events;          /* completion events seen */
	uint32_t core;              /* that polls it */
	uint32_t core_asked;        /* the same; 0 = that of its first QP */
	uint32_t next_poll;         /* list of CQs to be polled: index + 1 */
};

/* A compressed block that a CQ's completions are taken from. */
struct drv_unzip {
	uint8_t title[64], array[64];
	uint32_t n, done; /* completions in it, taken */
	uint32_t first;   /* consumer index of its title */
	bool wants_array; /* the answer to the CQ's poll is one */
	uint64_t cqe_ps;  /* observation: when it was in memory; 0 = not known yet */
};

/* The driver's side of the event queue. */
struct drv_eq {
	uint32_t ci;     /* EQEs consumed, running */
	bool is_polling; /* the handler waits */
};

struct host {
	struct nic *nic;
	struct mem *mem;
	struct space *space;
	struct oplog *oplog; /* of the whole system */
	struct trace *trace;
	struct system *system;
	const char *name; /* in the trace */
	char *nic_name;   /* what nic->name is at first */
	uint32_t index;   /* in the trace */
	uint32_t far;     /* host at the other end of its link; TRACE_NONE until that is known */
	/* driver */
	struct drv_qp *qp;
	struct drv_cq *cq;
	struct drv_unzip *unzip; /* as cq; the workload's */
	struct drv_srq *srq;
	struct drv_eq eq;
	bool wants_events;            /* the trace expects some: wait from the start */
	uint64_t n_events[EQE_TYPES]; /* seen, by type */
	uint32_t cap_qp, cap_cq, cap_srq;
	uint32_t next_key, next_qpn; /* candidates for numbers to be assigned */
	uint8_t post;                /* enum post_mode */
	uint32_t wc_bytes;           /* BlueFlame: bytes of one register write */
	uint8_t uar_half[UAR_PAGES]; /* BlueFlame buffer whose turn it is, by core */
	/* records of the trace (recs.h) */
	struct block *cpu;                 /* the workload; NULL until it is built */
	uint32_t primed_head, primed_tail; /* records read before time 0 */
	uint32_t inbox;                    /* first of the records whose last dependency was met */
};

#endif
