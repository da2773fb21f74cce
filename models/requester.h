/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester.h - the send side of every QP, shared by the files of the requester block
 *
 * Positions in a QP's ring of WQEs are running 32-bit numbers,
 * head <= acked <= send <= issued <= tail:
 *	head	oldest WQE held
 *	acked	oldest one that the peer has not fully acknowledged or answered
 *	send	the one whose packets go out next (behind issued while packets are sent again)
 *	issued	oldest one that no packet was sent of; those before have PSNs
 *	tail	where the next WQE from wqe_fetch goes
 */
#ifndef MODELS_REQUESTER_H
#define MODELS_REQUESTER_H

#include "models/assoc.h"
#include "models/engine.h"
#include "models/msg.h"
#include "models/nic.h"
#include "models/packet/psn.h"
#include "models/qp_list.h"
#include "models/recovery.h"
#include "models/tx_sched.h"
#include "sim/pool.h"

#define REQ_TIMER_LISTS 64u /* 1..31: ACK times, enum req_rto; 32..63: RNR timer codes */
#define REQ_RNR_LIST 32u
#define REQ_NO_TIMER 0xffu

/* A READ asks for at most 2^22 packets at a time, so that PSNs in flight stay comparable. */
#define REQ_READ_PART (1u << 22)

/* How long the ACK timer runs. */
enum req_rto { RTO_FIXED, RTO_LOW_HIGH, RTO_DOUBLING, RTO_ESTIMATED };
#define REQ_RTO_STEPS 4u /* RTO_DOUBLING: 1, 2, 4, 8 times rto_min */

/* What a QP that holds WQEs waits for; the sums are statistics. */
#define REQ_WAITS(X) \
	X(turn, "their turn, a unit or the packetizer") \
	X(peer, "the peer: all that they hold is sent") \
	X(window, "the window: so many packets are in flight") \
	X(credit, "end-to-end credits: the peer has no receive WQE") \
	X(rd_atomic, "max_rd_atomic: so many READs and ATOMICs are outstanding") \
	X(order, "what is before them: fence, local operation, part of a READ") \
	X(rate, "their rate limit") \
	X(wqe, "WQEs that the WQE cache displaced") \
	X(rnr, "the RNR timer: the peer had no receive WQE") \
	X(loss, "what was lost: timeouts, NAKs, and packets sent again")
enum req_wait {
	WAIT_idle, /* holds none */
#define X(c, d) WAIT_##c,
	REQ_WAITS(X)
#undef X
		REQ_WAIT_COUNT
};

struct req_wqe {
	struct wqe w;
	uint32_t first_psn, n_psn; /* valid once issued */
	uint32_t n_dma;            /* writes of response data that were not answered */
	bool is_refetching;        /* it is being read again */
	bool is_kept;              /* it was, and stays until it is used */
	uint8_t syndrome;          /* CQE_SYNDROME_* it will end with; 0 = none */
};

/* Selective repeat: PSNs from 'psn' to before 'end', and how far they were looked at. */
struct req_mark {
	uint32_t psn, end;
	uint32_t pos; /* WQE of 'psn', or one before it */
};

struct req_qp {
	struct req_wqe *ring;
	uint32_t mask;
	uint32_t head, acked, send, issued, tail;
	uint32_t fail; /* has_failed: the WQE that ends with an error; nothing from there on is sent
			*/
	uint32_t una;  /* oldest PSN not acknowledged */
	uint32_t send_psn; /* next to send; send_psn == una whenever nothing is in flight */
	uint32_t top_psn;  /* behind the highest PSN ever sent */
	uint32_t done_psn; /* behind the highest PSN that the packetizer reported as sent since the
			      last restart */
	/* behind the highest PSN, so reported, that asks for an answer: until it has one the ACK timer runs */
	uint32_t asked_psn;
	uint32_t restart_psn; /* where the current pass started */
	uint32_t n_rd_atomic; /* READs and ATOMICs issued and not answered */
	uint64_t place_cyc;   /* where the next packet of the READ response goes is known */
	uint32_t n_writing;   /* READs and ATOMICs with response data on the way to memory */
	uint32_t n_jobs;      /* handed over and not reported done */
	uint32_t ssn, lsn;    /* sequence number of the message issued last; the limit (end-to-end
			      credits) */
	uint64_t unsent;      /* bytes of the messages that were not begun */
	bool is_fed, is_told_fed; /* it needs no more WQEs; qp_sched knows */
	bool is_sharing;          /* counted in requester.n_sharing */
	bool is_pausing;          /* in requester.pausing */
	uint8_t retry_left, rnr_left;
	uint8_t pass; /* counts restarts: part of the job tag */
	/* answers to what was sent before the restart, if any come, are behind the one and before the other */
	uint32_t told_psn, past_psn;
	uint8_t timer;      /* list it is on, or REQ_NO_TIMER */
	bool is_unlimited;  /* the peer does not do end-to-end credits */
	bool is_draining;   /* no message is begun (SQD) */
	bool is_silent;     /* no completions: the QP was reset */
	bool is_rtr;        /* reset, and its other half takes requests again */
	bool is_local_busy; /* the mpt_unit works for the WQE at 'send' */
	bool is_rnr_wait, is_retrying, has_failed, is_error;
	bool has_met_rnr;                /* an RNR NAK came, and nothing was acknowledged since */
	bool is_unacked;                 /* unreliable: a message is done when it was sent */
	uint32_t timer_prev, timer_next; /* QPs on the same list, QPI_NONE at the ends */
	uint64_t deadline_ps;
	uint8_t backoff; /* timeouts since something was acknowledged, as far as they count */
	/* RTO_ESTIMATED (RFC 6298, without its clock granularity) */
	bool is_rtt_timed;
	uint32_t rtt_psn; /* the sample ends when all before it is acknowledged */
	uint64_t rtt_from_ps, srtt_ps, rttvar_ps;
	/* a NAK that is not acted on yet */
	uint32_t react_psn, react_told_psn;
	uint64_t react_ps;
	/* selective repeat: new packets never go back, send_psn == top_psn until something fails */
	uint8_t *came;   /* bit map by PSN from una on; before cum: its response is here; behind:
			       the peer has it */
	uint32_t *after; /* by PSN, of what was sent again: first new packet that was sent later */
	uint32_t cum;    /* the peer has all before it (una, or past unanswered READs) */
	uint32_t high;   /* behind the highest PSN that it has */
	struct req_mark re;   /* to be sent again: what the peer is not known to have of these */
	struct req_mark ask;  /* to be asked for again: what responses are missing of these */
	struct req_mark anew; /* of these, what is to be asked for a third time */
	bool is_head_lost;    /* the packet at una is to be sent again */
	/* what it waits for, and since when; until the peer has all before lost_psn, in vain for 'lost_for' */
	uint8_t wait, lost_for; /* enum req_wait */
	bool is_repeating;
	uint32_t lost_psn;
	uint64_t wait_ps, progress_ps; /* progress: something was acknowledged */
};

/* PSNs of one message that go out in one job. */
struct req_run {
	uint32_t pos, psn, n;
};

/* A write of response data under way. */
struct req_write {
	uint32_t qpi, pos;
	uint32_t next_free;
};

/* The response whose data are being handed to the DMA engine. */
struct req_scatter {
	bool is_busy;
	uint32_t qpi, pos;
	uint32_t buf, off, left;
	uint32_t sge, sge_off; /* where the next byte goes */
};

/*
 * Packets of the peer that wait for their turn, in order: a ring. Of the first 'asked' the WQE is there or being
 * read.
 */
struct req_waiting {
	struct rx_pkt *at;
	uint32_t head, n, asked;
};

/* A WQE that is being read again. */
struct req_refetch {
	uint32_t qpi, pos;
	uint32_t buf;
	uint32_t asked, reads; /* basic blocks asked for; reads outstanding */
	uint64_t from_ps;
	uint16_t index; /* of the WQE */
	uint8_t n_bb;
	bool is_response; /* it is needed for a response */
	uint32_t next_free;
};

struct requester {
	struct block b;
	/* parameters */
	uint32_t window, burst, quantum, rate_burst, ahead, writes, timeout_factor, units, job_cyc,
		rsp_cyc, rsp_chain_cyc;
	uint32_t wqe_cache, wqe_reads, rsp_ahead;
	uint8_t wqe_sets, wqe_policy; /* sets: logarithm; enum assoc_policy */
	uint32_t recovery, sr_window, bdp_cap, rto, rto_few;
	uint64_t rnr_25, react_delay, rto_min, rto_max, ahead_time;
	bool credits, strict, wqe_cache_sends, sr_ordered;
	/* ports */
	struct chan *wqe, *rx, *job_done, *dma_rsp, *peer_error, *mpt_rsp, *cmd, *cq_error, *closed;
	struct chan *job, *credit, *cqe, *dma_req, *error, *mpt_op;
	/* state */
	struct req_qp *qp;
	struct tx_sched tx;        /* QPs that can send */
	struct qp_list feed;       /* QPs of which qp_sched is to be told whether they are fed */
	struct pace_wheel pausing; /* QPs with nothing to send that need no WQE yet: their caps */
	struct pace_member *pausing_qp;
	struct qp_list retire; /* QPs whose oldest WQE is finished */
	struct qp_list react;  /* QPs with a NAK that is not acted on yet */
	uint32_t *feed_links, *retire_links, *react_links;
	uint32_t flight;  /* packets of a QP in flight: the smallest of the limits */
	uint32_t sr_mask; /* bits of a map of packets, less 1 */
	struct req_scatter scatter;
	struct req_write *write;
	uint32_t free_write; /* first free one, 'writes' when none */
	struct assoc cached; /* WQE cache, lines of a basic block; none unless 'wqe_cache' */
	struct req_refetch *refetch; /* wqe_reads */
	uint32_t free_refetch;       /* first free one, wqe_reads when none */
	struct qp_list refetches;    /* with reads to issue */
	uint32_t *refetch_links;
	struct pool *refetch_pool;
	struct req_waiting waiting; /* of rsp_ahead */
	uint64_t dma_cyc;           /* behind the cycle in which response data were written */
	struct pool *atomic_pool;
	struct {
		uint32_t head, tail;
	} timer[REQ_TIMER_LISTS];
	uint64_t timers_used;                    /* bit per list that is not empty */
	struct engine_rate tx_engine, rx_engine; /* jobs sent, responses taken */
	uint64_t told_cyc; /* behind the cycle in which the responder was told something */
	uint32_t n_ready, n_held;
	uint32_t n_sharing; /* QPs without a cap that have messages not begun */
	/* statistics */
	uint64_t wqes, jobs, packets, resent_packets, resent_b, acks, responses, ghosts;
	uint64_t wqe_refetches, wqe_refetched_bb, wqe_evictions, wqe_miss_ps;
	uint64_t placed, sacks, tx_busy_ps, rx_busy_ps;
	uint64_t nak_sequence, nak_rnr, nak_fatal, implied_naks, timeouts, bad_responses, errors,
		flushed;
	union {
		uint64_t qp_ps[REQ_WAIT_COUNT];
		struct {
			uint64_t qp_idle_ps;
#define X(c, d) uint64_t qp_##c##_ps;
			REQ_WAITS(X)
#undef X
		};
	};
};

static inline struct req_wqe *req_wqe(const struct req_qp *q, uint32_t pos)
{
	return &q->ring[pos & q->mask];
}
static inline const struct qp_attr *req_attr(const struct requester *r, uint32_t qpi)
{
	return &((const struct nic *)r->b.env)->qp[qpi];
}
static inline struct oplog *req_oplog(const struct requester *r)
{
	return ((const struct nic *)r->b.env)->oplog;
}
static inline bool pos_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* What a send WQE opcode needs. */
struct req_op {
	uint8_t types; /* bit 1 << enum qp_type for each that has it; others refuse it */
	uint8_t kind;  /* enum job_kind */
	bool has_imm;
	bool takes_rq;    /* consumes a receive WQE of the peer */
	bool is_answered; /* READ, ATOMIC, FLUSH: ends by its response, not by an ACK */
	bool is_local;    /* no packet: the mpt_unit does it */
};
const struct req_op *req_op_of(const struct req_wqe *w);

/* READ, ATOMIC: its response brings bytes for its segments. */
bool req_returns_data(const struct req_wqe *w);

/* ---- requester_wait.c: what QPs wait for ---- */

/* WAIT_turn: the QP can send. */
enum req_wait req_waits_for(const struct requester *r, uint32_t qpi);

/* From now on the QP waits for 'w'. */
void req_wait_note(struct requester *r, uint32_t qpi, enum req_wait w);

/* Something from una on, before PSN 'end', was sent for nothing. */
void req_wait_lost(struct requester *r, uint32_t qpi, uint32_t end);

/* ---- requester_tx.c: what goes out ---- */

/* QPs whose time has come can send again. Returns the cycle of the next. */
uint64_t req_pace_step(struct requester *r);

/* 'qpi' takes its turns if it can send. After every change that may let it. */
void req_kick(struct requester *r, uint32_t qpi);

/* The WQE for which 'qpi' lost its turn is there: it goes before those that are ready. */
void req_resume(struct requester *r, uint32_t qpi);

/* Send one job of the QP whose turn it is. Returns when to run again. */
uint64_t req_send(struct requester *r);

/* PSNs that message 'w' takes. */
uint32_t req_psns(const struct requester *r, const struct req_wqe *w);

/* PSNs that one request for the rest of READ or ATOMIC 'w' takes, from its packet 'at' on. */
uint32_t req_read_part(const struct req_wqe *w, uint32_t at);

/*
 * Send again from the oldest unacknowledged PSN on; with selective repeat, only this packet. Answers to
 * what was sent before may still come of PSNs behind 'told_psn'; top_psn: none will.
 */
void req_go_back(struct requester *r, uint32_t qpi, uint32_t told_psn);

/* The WQE at 'pos' ends with 'syndrome' once all before it are finished; nothing from it on is sent
 * or expected. */
void req_fail(struct requester *r, uint32_t qpi, uint32_t pos, uint8_t syndrome);

/* Put 'qpi' on the retire list if its oldest WQE is finished. */
void req_try_retire(struct requester *r, uint32_t qpi);

void req_take_job_done(struct requester *r);

/* ---- requester_feed.c: how many WQEs are fetched ahead ---- */

/* A message of 'len' bytes came that is not begun; one was begun, or will never be. */
void req_feed_add(struct requester *r, uint32_t qpi, uint32_t len);
void req_feed_remove(struct requester *r, uint32_t qpi, uint32_t len);

/* A QP may have become fed, or not: also when one with a cap sent, or failed. */
void req_feed_update(struct requester *r, uint32_t qpi);

/* QPs whose caps let them have WQEs again. Returns when to run again. */
uint64_t req_feed_wake(struct requester *r);

/* Give back the credit of a WQE of 'qpi'; the port has room. */
void req_feed_release(struct requester *r, uint32_t qpi);

/* Tell the scheduler of one QP, unless its port was used. Returns when to run again. */
uint64_t req_feed_step(struct requester *r, bool is_port_used);

/* ---- requester_unacked.c: UC, UD ---- */

/* A datagram longer than the MTU that counts as sent but is not (nic->takes_long_ud). */
bool req_is_unsent(const struct requester *r, const struct req_wqe *w);

/* All packets before PSN 'to' were handed to the port: their messages are done. */
void req_sent(struct requester *r, uint32_t qpi, uint32_t to);

/* ---- requester_rx.c: what comes back ---- */

/* All PSNs before 'to' were received; READs and ATOMICs among them must be answered first. False if
 * one is not. */
bool req_acknowledge(struct requester *r, uint32_t qpi, uint32_t to);

/*
 * Take one acknowledgement or response, unless the data of the one before are still going out.
 * Returns when to run again.
 */
uint64_t req_take_rx(struct requester *r);

/* Hand one piece of response data to the DMA engine. Returns when to run again. */
uint64_t req_scatter(struct requester *r);

void req_take_dma_rsp(struct requester *r);

/* Spend a retry, or fail when none is left: false. */
bool req_spend_retry(struct requester *r, uint32_t qpi);

/* ---- requester_sr.c: selective repeat ---- */

/* The peer has everything before PSN 'to'. */
void req_sr_received(struct requester *r, uint32_t qpi, uint32_t to);

/*
 * A response with PSN 'psn', to the WQE at 'pos', can be taken ahead of its turn: there is room for
 * it, it is new, and where it goes nothing is missing.
 */
bool req_sr_may_take(const struct requester *r, struct req_qp *q, uint32_t psn, uint32_t pos);

/*
 * All responses to 'w', which was not begun, find room in the window: it need not wait for those before
 * it. One longer than the window never does, and goes alone.
 */
bool req_sr_has_room(const struct requester *r, const struct req_qp *q, const struct req_wqe *w);

/* It was taken. */
void req_sr_answered(struct requester *r, uint32_t qpi, uint32_t psn);

/* Forget the responses from the oldest PSN on that are here, up to 'to'; the first that is not. */
uint32_t req_sr_pass(const struct requester *r, struct req_qp *q, uint32_t to);

/* Note what a selective acknowledgement names; its PSN is in flight. */
void req_sr_take_sack(struct requester *r, const struct rx_pkt *m);

/*
 * Send again what is missing below the highest PSN that arrived, and ask again for responses that
 * others overtook, each once. True if the oldest of these is to be asked for, or is about to be.
 */
bool req_sr_recover(struct requester *r, uint32_t qpi);

/* The oldest unacknowledged packet is to be sent again; if a response, all that are missing. */
void req_sr_lose_head(struct requester *r, uint32_t qpi);

/* All packets in flight that are not known to have arrived are to be sent again. */
void req_sr_lose_all(struct requester *r, uint32_t qpi);

/* Whether something is to be sent again; if so, req_sr_hole() takes the first run of it. */
bool req_sr_has_hole(const struct requester *r, struct req_qp *q);
struct req_run req_sr_hole(const struct requester *r, struct req_qp *q);

/* ---- requester_wqe.c: which WQEs are in the NIC ---- */

/* What is wrong with its parameters, with *param the one to blame, or NULL. */
const char *req_cache_check(const struct requester *r, const char **param);
void req_cache_build(struct requester *r);
void req_cache_reset(struct requester *r);

/* A WQE came from wqe_fetch; a packet of it went out; it is released. */
void req_cache_add(struct requester *r, uint32_t qpi, uint32_t pos);
void req_cache_sent(struct requester *r, uint32_t qpi, uint32_t pos);
void req_cache_drop(struct requester *r, uint32_t qpi, uint32_t pos);

/* The message of 'psn' among those that are not answered; false when there is none. */
bool req_find_message(const struct req_qp *q, uint32_t psn, uint32_t *pos);

/* The WQE at 'pos' is to be sent: false when it is to be read first. */
bool req_cache_has(struct requester *r, uint32_t qpi, uint32_t pos);

/* Both, for the WQE of the message of 'psn', and a response. */
bool req_cache_use_for(struct requester *r, uint32_t qpi, uint32_t psn);

/*
 * With a WQE cache, what comes from the peer waits in a line in which WQEs are asked for ahead. One
 * packet a cycle enters it, and one has its WQE asked for.
 */
void req_rx_enter(struct requester *r);

/* The packet whose turn it is, or NULL; it was taken. */
const struct rx_pkt *req_rx_head(const struct requester *r);
void req_rx_pop(struct requester *r);

/* When req_rx_enter() has something to do again. */
uint64_t req_rx_next(const struct requester *r);

/* Issue one read. Returns when to run again. */
uint64_t req_cache_step(struct requester *r);

/* A read of refetch 'i' ended. */
void req_cache_filled(struct requester *r, uint32_t i);

/* ---- requester_state.c: states that the program asks for ---- */

/* Tell the responder; its port has room. */
void req_tell(struct requester *r, uint32_t qpi, enum qp_change kind, uint32_t psn);

/* Start a life of the QP, with 'psn' as the first one; nothing of another is left. */
void req_begin_life(struct requester *r, uint32_t qpi, uint32_t psn);

/* The responder put the QP into Error. */
void req_take_peer_error(struct requester *r);

/* The end of a reset; 'is_cqe_free': the port was not used in this cycle. Returns when to run again. */
uint64_t req_take_closed(struct requester *r, bool is_cqe_free);

/* Carry out one command, of the program or for a CQ that overflowed. Returns when to run again. */
uint64_t req_take_cmd(struct requester *r);

/*
 * The QP is in Error: nothing is sent, expected or timed any more, and what it holds is flushed.
 */
void req_enter_error(struct requester *r, uint32_t qpi);

/* ---- requester_local.c: binds and invalidations of this side ---- */

/*
 * Hand the local operation of QP 'qpi' to the mpt_unit. False when the port refused.
 */
bool req_send_local(struct requester *r, uint32_t qpi);

void req_take_mpt_rsp(struct requester *r);

/* ---- requester_timer.c ---- */

void req_timer_reset(struct requester *r);
void req_timer_stop(struct requester *r, uint32_t qpi);

/* (Re)start the ACK timer of 'qpi'; with timeout 0 it never runs. */
void req_timer_ack(struct requester *r, uint32_t qpi);

/* All before q->una is acknowledged: the round-trip sample that waits for it ends. */
void req_timer_sample(struct requester *r, uint32_t qpi);

/* Start the RNR timer of 'qpi' with the AETH's code. */
void req_timer_rnr(struct requester *r, uint32_t qpi, uint32_t code);

/* Handle those that ran out. Returns when the next one will, ps, or TIME_NEVER. */
uint64_t req_timer_expire(struct requester *r);

/* A gap was reported: send again after the time that this takes. 'told_psn' as of req_go_back(). */
void req_react(struct requester *r, uint32_t qpi, uint32_t told_psn);

/* Act on NAKs whose time has come. Returns the cycle of the next. */
uint64_t req_react_step(struct requester *r);

#endif
