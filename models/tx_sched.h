/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tx_sched.h - which QP puts bytes on the line next: strict priorities, deficit round robin in
 * bytes, and a cap on the rate of each QP
 *
 * Hardware: the transmit arbiter. Its owner adds a QP that has something to send, looks at the
 * head, sends for it and says how many bytes of the line that took.
 *
 * Turns (Shreedhar and Varghese, SIGCOMM 1995): a turn is worth 'quantum' bytes, times the weight of
 * the QP. It keeps it as long as any are left and it can send; what it sent beyond is taken off
 * its next turn. What a QP did not use when it ran dry is lost. A QP alone on its list has no one
 * to be fair to: its turn does not end. A visit to a QP whose debt a turn does not pay costs a
 * cycle and gives it that turn.
 *
 * Caps: a QP that sent n bytes is not on its list before they have passed at its rate (from the
 * last one's time on, not from when they were sent); it waits in a timing wheel. What it could not
 * send while it had something to send and others were at their turn is made up for, up to 'burst'
 * bytes; what it had nothing to send for is not.
 *
 * Every operation is O(1) in the number of QPs. Times in ps, rates in bits per second.
 */
#ifndef MODELS_TX_SCHED_H
#define MODELS_TX_SCHED_H

#include "models/nic.h"
#include "models/pace_wheel.h"
#include "models/qp_list.h"
#include "sim/block.h"

#define TX_SCHED_PRIOS 8u
#define TX_SCHED_NONE UINT32_MAX

enum tx_place { TX_OFF, TX_READY, TX_FIRST, TX_PACED };

struct tx_sched_qp {
	int64_t left;      /* bytes of its turn; below 0: what it owes the others */
	uint64_t rate_bps; /* cap; 0 = none */
	uint64_t lag_ps;   /* time of 'burst' bytes at it */
	uint64_t due_ps;   /* nothing goes out before */
	uint8_t prio, weight;
	uint8_t place; /* enum tx_place */
};

struct tx_sched {
	uint32_t quantum, burst; /* bytes */
	struct tx_sched_qp *qp;
	uint32_t *links; /* a QP is on one list at most: they share their links */
	struct qp_list ready[TX_SCHED_PRIOS];
	uint32_t used;        /* bit p: ready[p] is not empty */
	struct qp_list first; /* go before all: their turn was interrupted */
	struct pace_wheel paced;
	struct pace_member *paced_qp;
	uint32_t n_qp, n_ready; /* n_ready: on a list */
};

/* Memory for 'n_qp' QPs, of block 'b'. */
void tx_sched_build(struct tx_sched *s, struct block *b, uint32_t n_qp);

/* No QP has anything to send; all are of priority 0 and weight 1, and without a cap. */
void tx_sched_reset(struct tx_sched *s, uint32_t quantum, uint32_t burst);

/* Priority ('has_prios'; else all are of one), weight and cap of every QP of 'n', after a reset. */
void tx_sched_set_qps(struct tx_sched *s, const struct nic *n, bool has_prios);

/* Priority 0 to TX_SCHED_PRIOS - 1, the highest goes first; the QP has nothing to send. */
void tx_sched_set_prio(struct tx_sched *s, uint32_t qpi, uint8_t prio);

/* Its turns are worth so many quanta, at least 1: its share of the line beside others of its priority. */
void tx_sched_set_weight(struct tx_sched *s, uint32_t qpi, uint8_t weight);

/* A cap from the next packet on; 0 = none. At any time: congestion control's hook. */
void tx_sched_set_rate(struct tx_sched *s, uint32_t qpi, uint64_t rate_bps);

static inline bool tx_sched_is_capped(const struct tx_sched *s, uint32_t qpi)
{
	return s->qp[qpi].rate_bps != 0;
}

/* It has something to send, but its cap does not let it yet. */
static inline bool tx_sched_is_paced(const struct tx_sched *s, uint32_t qpi)
{
	return s->qp[qpi].place == TX_PACED;
}

/* 'qpi' has something to send; nothing changes if that is known. */
void tx_sched_add(struct tx_sched *s, uint32_t qpi, uint64_t now_ps);

/* The same of one that was dropped in the middle of its turn: it goes before all others. */
void tx_sched_resume(struct tx_sched *s, uint32_t qpi, uint64_t now_ps);

/* Whose turn it is, or TX_SCHED_NONE. */
uint32_t tx_sched_head(const struct tx_sched *s);

/* The head owes more than a turn, and others wait: tx_sched_pay() ends the visit. */
bool tx_sched_is_in_debt(const struct tx_sched *s);
void tx_sched_pay(struct tx_sched *s);

/* Bytes the head may send before its turn ends, at least 1; the last packet may go beyond. */
uint64_t tx_sched_left(const struct tx_sched *s);

/* Packets of 'mtu' bytes for the head's next job: of its turn, 'most' at most; one at a time with a cap. */
uint32_t tx_sched_packets(const struct tx_sched *s, uint32_t mtu, uint32_t most);

/* The head has nothing to send any more, or cannot send. */
void tx_sched_drop(struct tx_sched *s);

/* The head sent 'bytes' (below 2 MiB with a cap); 'more': it has more to send. */
void tx_sched_sent(struct tx_sched *s, uint64_t bytes, bool more, uint64_t now_ps);

/* The next QP whose time has come is ready: returns it, or TX_SCHED_NONE when there is none. */
uint32_t tx_sched_release(struct tx_sched *s, uint64_t now_ps);

/* When to look for one again, ps, or UINT64_MAX. */
static inline uint64_t tx_sched_next_ps(const struct tx_sched *s)
{
	return pace_wheel_next_ps(&s->paced);
}

#endif
