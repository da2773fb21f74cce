/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.h - from a trace to hosts, their memory and their NICs' set-up
 */
#ifndef MODELS_SETUP_H
#define MODELS_SETUP_H

#include "models/recs.h"

#define MAX_HOSTS 4096u

/* A QP of the trace on its NIC. */
struct qp_place {
	uint32_t host, qpi;
};

/* Work requests whose post returned an error. */
struct refusals {
	uint64_t posts, recvs, modifies; /* the last: changes of a QP's state */
	uint64_t ops[WR_OPCODES];        /* of the posts */
	unsigned line;                   /* of the first of them in the trace, and its errno */
	int err;
};

/* All hosts of a trace: env of the feed, and whom the hosts share it with. */
struct system {
	struct trace *trace;
	struct host *hosts;
	uint32_t n_hosts;
	struct oplog *oplog;
	struct recs recs;
	struct verbs_mr *mrs; /* by index in the trace */
	struct verbs_mw *mws;
	struct qp_place *qps;
	uint32_t *cqs, *srqs;       /* CQ, SRQ index on its NIC */
	struct trace_record record; /* the one being read */
	struct refusals refused;
	bool is_eof;    /* the trace has been read to its end */
	struct err err; /* a mistake of the user that was met during the run and stopped it */
};

/*
 * Build memory, keys, queues and struct nic of every host of 't' (kept by the caller, which
 * outlives the system) and fill the MRs. NULL with 'e' set on a mistake. The NICs' names are "nic0",
 * ... in the order of hosts; others may be set.
 */
struct system *system_create(struct trace *t, struct err *e);

/* Read the first records and post the receives that are in force before time 0. False with 'e' set on a mistake. */
bool system_prime(struct system *s, struct err *e);

/*
 * Before: a trace of a size that can be run: hosts, and memory that machines have. And of a record, what
 * can be told only when the keys are known. False with 'e' set on a mistake.
 */
bool system_check_sizes(const struct trace *t, struct err *e);
bool system_check_record(const struct system *s, const struct trace_record *r, struct err *e);

void system_destroy(struct system *s);

/*
 * For system_create: map, register and fill the MRs and allocate the windows of the trace. False with 'e' set on a
 * mistake.
 */
bool setup_mrs(struct system *s, struct err *e);

/* PDs are numbered per system: from 1 the default PDs of the hosts, then those of the trace. */
uint16_t setup_pd_number(const struct trace *t, uint32_t host, uint32_t pd);

/*
 * Bring the QPs to their states anew: their packets depend on what the NICs' ports speak, which is
 * known later than the trace. Before the run only. False with 'e' set on a mistake.
 */
bool system_connect(struct system *s, struct err *e);

/*
 * Once it is known whom each host's link leads to (struct host, far): every QP's peer, and every datagram's
 * destination, is there and has an address of the same family. False with 'e' set on a mistake.
 */
bool reach_check(const struct system *s, struct err *e);
bool reach_check_rec(const struct system *s, const struct rec *c, struct err *e);

/*
 * Read the next record of the trace into a slot (recs_can_alloc() holds): 1 = *handle is it, 0 =
 * end of file, -1 = s->err is set.
 */
int system_read(struct system *s, uint64_t now_ps, uint32_t *handle);

/*
 * After a run that has nothing left to do: false, with 'e' naming the first record that still waits
 * and for what, when records are left.
 */
bool feed_blocked(const struct system *s, struct err *e);

/* The trace says that a CQ of the host is meant to overflow. */
bool system_means_overflow(const struct system *s, uint32_t host);

/*
 * Requests posted and not done: not completed, or, unsignaled, not finished by the NIC. Those whose completion was
 * lost count unless that is meant. *host and *qp (index in the trace) are those of the first of them.
 */
uint64_t system_unfinished(const struct system *s, uint32_t *host, uint32_t *qp);

/* Sort the `expect`s that speak of an id, so that a record finds its own when it is read. */
void system_index_expects(struct system *s);

/* Whether a record waits for its time, which lies after 'now_ps'. */
bool system_has_future(const struct system *s, uint64_t now_ps);

/* ---- for the workload ---- */

/* The work request of a record for its next post; segments go to 'sge' (MAX_SGE of them). */
void rec_send_wr(const struct system *s, const struct rec *c, struct sge *sge, struct send_wr *wr);
void rec_recv_wr(const struct rec *c, struct sge *sge, struct recv_wr *wr);

/* An oplog row for the next post of a record. */
uint32_t rec_open_row(struct system *s, const struct host *h, const struct rec *c, uint32_t bytes,
		      uint64_t now_ps);

/*
 * What became of a work request: tells its `expect`s and, with its ticket's last, the records that
 * wait: they are put into their hosts' inboxes, and CPUs of other hosts woken. 'by' is the block
 * that polled, NULL before time 0.
 */
void system_outcome(struct system *s, uint32_t ticket, enum outcome o, uint8_t status,
		    const struct block *by);

/*
 * What record 'c' asked for returned 'err': counts it and, of a post or a receive, is its outcome.
 */
void system_refused(struct system *s, const struct rec *c, int err, const struct block *by);

#endif
