/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_judge_way.h - the packets of a run, one direction of a connection after the other: what the rules
 * of tb_judge_wire.c and tb_judge_gap.c share
 */
#ifndef TESTBENCH_TB_JUDGE_WAY_H
#define TESTBENCH_TB_JUDGE_WAY_H

#include "testbench/tb_judge_parts.h"
#include "testbench/tb_wire.h"

/* What is known to be missing, and since when (tb_judge_gap.c). */
struct gap {
	bool is_judged;
	uint32_t expected; /* go-back-N: PSN that the responder waits for */
	bool is_told;      /* it has said so, by a NAK or RNR NAK */
	uint32_t told;     /* with this PSN */
	uint64_t since_ps; /* a packet behind it came, and nothing was said yet; 0 = none */
	uint64_t *
		missed; /* by PSN sent once: the requester was told that it, or its response, is lost */
	uint32_t n_over; /* PSNs of which that does not matter any more */
};

/* What one end was told by the other (tb_judge_heed.c). */
struct heed {
	uint32_t ssn, lsn; /* message that began last; the limit that credits allow */
	bool is_unlimited;
	bool has_nak; /* the responder asked for PSN 'nak', and none with it came since */
	uint32_t nak;
};

/* One direction of a connection: the requests of a QP. PSNs count from its first one. */
struct way {
	const struct trace_qp *t;
	const struct ref_qp *q;
	uint32_t *first;        /* by request; [n_sends]: behind the last */
	uint64_t *answered;     /* by request: when all of its answer was there; 0 = not */
	uint64_t *original;     /* by request: an ATOMIC's value ... */
	bool *has_original;     /* ... if it was sent */
	uint32_t *most_rnr;     /* by request: RNR NAKs in a row that came for it */
	uint32_t *n_sent;       /* by PSN: how often */
	bool *came, *came_back; /* by PSN: the request was received; its response was */
	bool *is_named;         /* by PSN: a selective acknowledgement named it */
	bool *is_end;           /* by PSN: what a READ request asked for ends there */
	uint32_t n_new;         /* PSNs that were sent or asked for */
	uint32_t acked;         /* PSNs that an ACK, or a response behind them, acknowledged */
	uint32_t una, n_tries;  /* the oldest without an answer, and how often it was sent since */
	uint32_t n_rnr;         /* RNR NAKs that came since */
	uint32_t n_came;        /* without a gap */
	struct gap gap;
	struct heed heed;
};

struct wire_judge {
	const struct tb_case *c;
	struct way *way; /* by QP of the trace */
	bool is_selective; /* selective repeat: what is behind a gap is kept, and retries reload by it */
	uint64_t patience_ps; /* within which a gap is seen to; 0 = not judged */
};

/* tb_judge_way.c: the way of a QP, and its end. */
void way_open(struct wire_judge *j, uint32_t qp);
void way_close(struct way *w);

/* Request k; PSNs of all; the request that has PSN number 'at'. */
const struct ref_wr *way_request(const struct wire_judge *j, const struct way *w, uint32_t k);
uint32_t way_total(const struct way *w);
uint32_t way_request_at(const struct way *w, uint32_t at);

/* Requests that are over when the PSNs up to, but not including, number 'at' are. */
uint32_t way_requests_before(const struct way *w, uint32_t at);

/* A request of this kind has responses of its own. */
bool way_is_answered(enum wr_opcode op);

/*
 * tb_judge_gap.c: packets in the order of the run, with their first PSN and the number of them (requests); those that
 * came are noted before in the way, those that are sent too. NULL, or what was not seen to in time.
 */
void gap_open(struct wire_judge *j);
const char *gap_request_came(const struct wire_judge *j, struct way *w, uint32_t psn, uint32_t n,
			     uint64_t ps);
const char *gap_answer_sent(const struct wire_judge *j, struct way *w, const struct wire_packet *p,
			    uint32_t psn, uint64_t ps);
const char *gap_answer_came(const struct wire_judge *j, struct way *w, const struct wire_packet *p,
			    uint32_t psn, uint64_t ps);
const char *gap_request_sent(const struct wire_judge *j, struct way *w, uint32_t psn, uint32_t n,
			     uint64_t ps);
const char *gap_end(const struct wire_judge *j, struct way *w, uint64_t ps);

/*
 * tb_judge_heed.c: in the order of the run; request k of a reliable connection begins, a packet with PSN 'psn' comes, an
 * answer comes, one that may be a NAK is sent.
 */
void heed_open(struct wire_judge *j);
const char *heed_request_starts(const struct wire_judge *j, struct way *w, uint32_t k);
void heed_request_came(struct way *w, uint32_t psn);
void heed_answer_came(struct way *w, const struct wire_packet *p);
const char *heed_nak_sent(const struct wire_judge *j, struct way *w, const struct wire_packet *p,
			  uint32_t psn);

#endif
