/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcie_tx.h - one direction of a PCI Express link: transmitter, credits, the way to the other end
 *
 * A train of TLPs (struct tlp) waits until the lane is free, the receiver has given credits for its first TLP, and
 * no older posted train must go first. The oldest train that may go, goes; as many of its TLPs as
 * there are credits for go at once, a rest stays. Trains wait in the channel in front as long as the
 * lane is all they wait for: then none passes another. Once one lacks credits, it goes to the queue of its class -
 * posted, non-posted, completion - and so do those behind it, until the queues are empty again.
 * PCI Express Base Specification, 2.4.1 (ordering) and 2.6.1 (flow control).
 */
#ifndef MODELS_PCIE_TX_H
#define MODELS_PCIE_TX_H

#include "models/msg.h"

#define FC_UNIT 16u     /* bytes that a data credit stands for */
#define FC_MAX_HDR 127u /* credits outstanding at most */
#define FC_MAX_DATA 2047u
#define FC_INFINITE UINT32_MAX

enum fc_class { FC_P, FC_NP, FC_CPL, FC_CLASSES };

/* What keeps the head of a queue from the lane. */
enum tx_cause { TX_ORDER, TX_CREDIT, TX_LINK, TX_CAUSES };

/* An UpdateFC on its way: credits that the transmitter has from arrive_cyc on. */
struct fc_update {
	uint64_t arrive_cyc;
	uint32_t hdr, data;
};

/* Flow control of a class: credits left at the transmitter, and those on the way back to it. */
struct fc {
	uint32_t max_hdr, max_data; /* given at initialisation; 0 = infinite */
	uint32_t hdr, data;         /* left; of infinite ones always FC_INFINITE */
	struct fc_update *update;   /* ring, oldest first; NULL when both are infinite */
	uint32_t head, n, size;
	uint64_t sent_cyc; /* when the newest UpdateFC leaves the receiver */
};

/* What a train consists of, and the data credits that it needs. */
struct tx_cut {
	uint32_t n, first,
		last; /* TLPs, bytes in the first and the last; those between carry mps */
	uint32_t data, first_data; /* 16 B units: of all, of the first */
};

/* A train that waits, and what its queue had waited for when it came. */
struct tx_train {
	struct tlp tlp;
	struct tx_cut cut;
	uint64_t order;
	uint64_t waited[TX_CAUSES];
};

/* The queue of a class. */
struct tx_queue {
	struct tx_train *at; /* ring */
	uint32_t head, n;
	/* time that this queue has waited, up to since_ps; from then on it is for 'cause' */
	uint64_t waited[TX_CAUSES];
	uint64_t since_ps;
	uint8_t cause; /* enum tx_cause */
};

/* TLPs between transmitter and the block behind the receiver, in order of arrival. */
struct tx_line {
	struct tx_flight {
		struct tlp tlp;
		uint64_t arrive_cyc; /* or the cycle behind the one before it, if that is later */
		uint32_t hdr, data;  /* credits to give back */
	} * at;
	struct chan *out;
	uint32_t head, n, size;
	uint32_t ahead;    /* the first so many were pushed ahead (chan.h) */
	uint64_t due_cyc;  /* arrival of the first, CYCLE_NEVER when there is none */
	uint64_t last_cyc; /* arrival of the last */
};

/* A direction. */
struct pcie_tx {
	/* set by the owner before the reset */
	struct block *b;
	uint32_t mps, rcb, hdr_req, hdr_cpl, queue_size;
	uint64_t latency_ps, fc_latency_cyc, fc_interval_cyc;
	uint64_t byte_num, byte_den; /* ps for a byte, as a fraction */
	bool is_relaxed;             /* completions may pass posted trains */
	/* state */
	struct tx_queue q[FC_CLASSES];
	struct fc fc[FC_CLASSES];
	struct tx_line *line[FC_CLASSES]; /* where trains of a class go; classes may share one */
	uint32_t waiting;                 /* trains in queues */
	uint64_t order;                   /* of the next train */
	uint64_t busy_ps, busy_frac; /* the lane is busy until busy_ps + busy_frac / byte_den */
	uint64_t free_cyc;           /* the cycle within which that is */
	/* statistics, in the owner: TLPs by fc_class; bytes and waiting by dma_cls */
	uint64_t *total_busy_ps, *parts, *tlps[FC_CLASSES], *bytes;
	uint64_t (*wait_ps)[TX_CAUSES];
};

/*
 * Allocate queues of 'queue_size' trains and the rings of UpdateFCs for the credits in fc[]. From
 * the build() of the block that owns 'x'.
 */
void pcie_tx_build(struct pcie_tx *x);
void pcie_tx_reset(struct pcie_tx *x);

/* A line to 'out' for 'size' trains; from build(). */
void tx_line_build(struct block *b, struct tx_line *l, struct chan *out, uint32_t size);
void tx_line_reset(struct tx_line *l);

/* The slow halves of the two functions below. */
uint64_t pcie_tx_send(struct pcie_tx *x, struct chan *in);
void pcie_tx_hand_over(struct pcie_tx *x, struct tx_line *l);

/*
 * Look at the head of 'in' and at the queues, and send what may be sent. Returns the next cycle at
 * which the direction must be looked at, if nothing else wakes the block.
 */
static inline uint64_t pcie_tx_step(struct pcie_tx *x, struct chan *in)
{
	return in->count || x->waiting ? pcie_tx_send(x, in) : CYCLE_NEVER;
}

/* Hand the first train of 'l' over when it has arrived; its credits go back to 'x'. */
static inline void pcie_tx_arrive(struct pcie_tx *x, struct tx_line *l)
{
	if (l->due_cyc <= x->b->cycle)
		pcie_tx_hand_over(x, l);
}

/*
 * When 'l' has something to hand over next; a train that was refused waits for that credit. One that was pushed
 * ahead arrives without a step, unless others wait for its credits or its room.
 */
static inline uint64_t tx_line_next(const struct tx_line *l, const struct pcie_tx *x)
{
	if (l->ahead == l->n && !x->waiting && l->n < l->size)
		return CYCLE_NEVER;
	if (l->due_cyc <= x->b->cycle && l->out->is_stalled)
		return CYCLE_NEVER;
	return max_u64(l->due_cyc, x->b->cycle + 1);
}

static inline bool tx_line_has_room(const struct tx_line *l)
{
	return l->n < l->size;
}

/* Class of a train. */
static inline enum fc_class tlp_class(const struct tlp *t)
{
	return t->kind == TLP_MWR ? FC_P : t->kind == TLP_MRD ? FC_NP : FC_CPL;
}

#endif
