/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h - verbs traces, version 1: the records, and reading them one by one
 *
 * Set-up records (host, pd, mr, mw, cq, srq, qp, wire) are collected into tables when the trace is
 * opened; the rest is read as a stream. Names are resolved to indices while reading, so a record
 * holds numbers only.
 */
#ifndef MODELS_TRACE_TRACE_H
#define MODELS_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/err.h"
#include "sim/units.h"

/* ibv_wr_opcode, in the order of the trace format. */
enum wr_opcode {
	WR_RDMA_WRITE,
	WR_RDMA_WRITE_WITH_IMM,
	WR_SEND,
	WR_SEND_WITH_IMM,
	WR_SEND_WITH_INV,
	WR_RDMA_READ,
	WR_ATOMIC_CMP_AND_SWP,
	WR_ATOMIC_FETCH_AND_ADD,
	WR_LOCAL_INV,
	WR_BIND_MW,
	WR_FLUSH,
	WR_ATOMIC_WRITE,
	WR_OPCODES
};
extern const char *const wr_opcode_names[]; /* NULL-terminated */

/* ibv_wc_status, same values. */
enum wc_status {
	WC_SUCCESS,
	WC_LOC_LEN_ERR,
	WC_LOC_QP_OP_ERR,
	WC_LOC_EEC_OP_ERR,
	WC_LOC_PROT_ERR,
	WC_WR_FLUSH_ERR,
	WC_MW_BIND_ERR,
	WC_BAD_RESP_ERR,
	WC_LOC_ACCESS_ERR,
	WC_REM_INV_REQ_ERR,
	WC_REM_ACCESS_ERR,
	WC_REM_OP_ERR,
	WC_RETRY_EXC_ERR,
	WC_RNR_RETRY_EXC_ERR,
	WC_LOC_RDD_VIOL_ERR,
	WC_REM_INV_RD_REQ_ERR,
	WC_REM_ABORT_ERR,
	WC_INV_EECN_ERR,
	WC_INV_EEC_STATE_ERR,
	WC_FATAL_ERR,
	WC_RESP_TIMEOUT_ERR,
	WC_GENERAL_ERR,
	WC_STATUSES
};
extern const char *const wc_status_names[]; /* NULL-terminated */

/* What a FLUSH is for: SEL of the FETH. */
enum flush_level { FLUSH_RANGE, FLUSH_MR };

#define NAME_MAX_LEN 63
#define TRACE_NONE UINT32_MAX /* an index that is not there */
#define MAX_SGE 32
#define TRACE_WINDOW 65536u /* records read ahead at most */

enum fill_kind { FILL_ZERO, FILL_INC, FILL_LIN, FILL_RAND, FILL_HEX, FILL_KEEP };

struct trace_host {
	char name[NAME_MAX_LEN + 1];
	uint8_t mac[6], ip[16]; /* ip: IPv6, or ::ffff:a.b.c.d */
	bool is_v6;
	uint16_t lid;
	uint8_t gid[16];
	uint32_t mtu; /* port's active MTU */
	unsigned line;
};
struct trace_pd {
	char name[NAME_MAX_LEN + 1];
	uint32_t host;
};
struct trace_mr {
	char name[NAME_MAX_LEN + 1];
	uint32_t host, pd; /* pd: index in pds, or TRACE_NONE = the host's default PD */
	uint64_t va, len, page;
	uint8_t access;      /* ACCESS_* of msg.h; bit 7 = flush */
	uint32_t lkey, rkey; /* 0 = to be assigned */
	enum fill_kind fill;
	uint64_t fill_arg[4]; /* lin: A B C D; rand: seed */
	uint8_t *fill_bytes;  /* hex, owned */
	uint64_t fill_len;
	unsigned line;
};
struct trace_mw {
	char name[NAME_MAX_LEN + 1];
	uint32_t host, pd, type, rkey;
	unsigned line;
};
struct trace_cq {
	char name[NAME_MAX_LEN + 1];
	uint32_t host, depth, moderate_count, core; /* TRACE_NONE: that of its first QP */
	uint64_t moderate_ps;
	bool is_event;
	unsigned line;
};
struct trace_srq {
	char name[NAME_MAX_LEN + 1];
	uint32_t host, pd, depth, max_sge, limit;
	unsigned line;
};
struct trace_qp {
	char name[NAME_MAX_LEN + 1];
	uint32_t host, pd, type; /* enum qp_type (nic.h) */
	uint32_t peer_host;      /* index, or TRACE_NONE (UD) */
	uint32_t peer_qp;        /* index in qps, or TRACE_NONE: then peer_qpn */
	uint32_t peer_qpn;
	char peer_name[2 * NAME_MAX_LEN + 4]; /* as written, resolved once all QPs are read */
	uint32_t qpn;                         /* 0 = to be assigned */
	uint32_t psn, mtu, sq, rq, max_sge, max_inline;
	uint32_t state;         /* enum qp_state */
	uint32_t scq, rcq, srq; /* TRACE_NONE = its own / none */
	uint32_t core;          /* TRACE_NONE = in turn */
	uint32_t rd_atomic, dest_rd_atomic, timeout, retry, rnr_retry, min_rnr, prio, weight, sl,
		tclass;
	uint32_t flow_label, hop_limit, sport, pkey, qkey; /* sport 0 = by rule */
	uint8_t access;                                    /* ACCESS_* */
	uint64_t rate_bps;
	bool sig_all;
	unsigned line;
};
struct trace_wire {          /* impairment of the n-th packets from host a to host b */
	uint32_t a, b, kind; /* enum wire_fault */
	uint64_t delay_ps;
	uint64_t *nth; /* owned, ascending, from 1 */
	uint32_t n_nth;
	unsigned line;
};
enum wire_fault { WIRE_DROP, WIRE_DUP, WIRE_CORRUPT, WIRE_DELAY };
enum qp_state { QPS_RESET, QPS_INIT, QPS_RTR, QPS_RTS, QPS_SQD, QPS_SQE, QPS_ERR, QPS_STATES };

enum rec_kind {
	REC_POST,
	REC_RECV,
	REC_MEM,
	REC_MODIFY_QP,
	REC_MODIFY_SRQ,
	REC_DESTROY,
	REC_DEREG,
	REC_ARM,
	REC_KINDS
};

enum { WR_SIGNALED = 1, WR_SOLICITED = 2, WR_FENCE = 4, WR_INLINE = 8, WR_MORE = 16 };

struct rec_sge {
	uint64_t addr; /* virtual address */
	uint32_t lkey; /* key as written; 0 with mr set: the MR's own */
	uint32_t mr;   /* index, or TRACE_NONE when given as va: */
	uint32_t len;
};

/* A dependency: record 'id' of host 'host' must have been completed (polled). */
struct rec_after {
	uint32_t host;
	uint64_t id;
};
#define MAX_AFTER 16

/*
 * One record of the stream. Indices are into the set-up tables. Only the first n_after and n_sge
 * elements of the arrays at the end are set.
 */
struct trace_record {
	enum rec_kind kind;
	unsigned line;
	uint32_t host;
	uint32_t qp, srq, cq, mr; /* what it acts on; TRACE_NONE when not given */
	uint64_t id, wr_id;
	uint64_t at_ps, delay_ps;
	uint32_t n_after, n_sge;
	/* POST, RECV */
	enum wr_opcode opcode;
	uint32_t flags; /* WR_* */
	uint64_t raddr;
	uint32_t rkey; /* as written, or 0 with rmr set: that MR's */
	uint32_t rmr;  /* index of the remote MR, or TRACE_NONE */
	uint32_t imm;
	uint32_t inv_key, inv_mr, inv_mw; /* key as written, or an index */
	uint64_t compare_add, swap;
	uint32_t dest_host, dest_qp, dest_qpn, qkey; /* UD */
	uint32_t bind_mr, bind_access, mw, newkey;   /* BIND_MW */
	uint64_t bind_off, bind_len;                 /* offset in bind_mr */
	uint32_t flush_level;                        /* enum flush_level */
	uint64_t repeat;                             /* 1 = once */
	uint32_t window;                             /* in flight at most, of 'repeat' */
	uint64_t stride, rstride;
	uint32_t signal, batch; /* of 'repeat': every so many-th is signaled, rings the doorbell */
	bool is_stamped;        /* the message's last byte becomes the post's number */
	uint32_t poll_mr, lag;  /* spin on a byte until it is the post's number less lag */
	uint64_t poll_off;      /* offset in poll_mr */
	/* MEM */
	uint64_t mem_off, mem_len; /* offset in 'mr' */
	uint8_t mem_byte;          /* set:BYTE:LEN */
	uint8_t *mem_bytes;        /* hex:, owned (trace_record_release); NULL = set: */
	/* MODIFY, ARM */
	uint32_t state; /* enum qp_state */
	uint32_t psn; /* RTR: first one expected; RTS: first one sent; TRACE_NONE when not given */
	uint32_t limit;
	bool solicited_only;
	/* last, so that only what is used of them need be kept */
	struct rec_after after[MAX_AFTER];
	struct rec_sge sge[MAX_SGE];
};

enum expect_kind {
	EXPECT_STATUS,
	EXPECT_ERROR,
	EXPECT_NO_COMPLETION,
	EXPECT_MEM,
	EXPECT_MEM_FILL,
	EXPECT_MEM_HEX,
	EXPECT_EVENT,
	EXPECT_STAT
};

struct trace_expect {
	enum expect_kind kind;
	unsigned line;
	uint32_t host, mr, mr2, host2; /* host2, mr2: right side of EXPECT_MEM */
	uint32_t qp, srq;              /* about an id: one of them, the other TRACE_NONE */
	uint64_t id;
	enum wc_status status;
	uint64_t off, off2, len;
	uint8_t *bytes; /* owned by the trace */
	char *text;     /* EXPECT_EVENT: name; EXPECT_STAT: path; owned */
	char op[3];     /* EXPECT_STAT: == != < <= > >= */
	uint64_t value; /* EXPECT_STAT; EXPECT_ERROR: the errno */
	/* filled while the run goes on */
	bool was_seen, has_failed;
	uint32_t told;    /* requests that ended (repeat) */
	uint32_t seen;    /* of these with a completion */
	uint32_t refused; /* posts that returned an error */
	uint32_t covered; /* requests that ended without a completion of their own */
	enum wc_status got;
	uint32_t got_nth; /* which of the requests ended with 'got' against expectation, from 1 */
};

struct trace {
	char *path;
	struct trace_host *hosts;
	uint32_t n_hosts;
	struct trace_pd *pds;
	uint32_t n_pds;
	struct trace_mr *mrs;
	uint32_t n_mrs;
	struct trace_mw *mws;
	uint32_t n_mws;
	struct trace_cq *cqs;
	uint32_t n_cqs;
	struct trace_srq *srqs;
	uint32_t n_srqs;
	struct trace_qp *qps;
	uint32_t n_qps;
	struct trace_wire *wires;
	uint32_t n_wires;
	struct trace_expect *expects; /* all of them from the start, or growing */
	uint32_t n_expects;
	struct trace_reader *reader;
};

/*
 * Open 'path' (plain or gzip) and read its set-up records; stops before the first record of the
 * stream. A regular file is looked through once more for its `expect` and `wire` records, wherever
 * they stand, so that they are known before the run. NULL with 'e' set on a mistake. Close with
 * trace_close.
 */
struct trace *trace_open(const char *path, struct err *e);
void trace_close(struct trace *t);

/* The same from text in memory, which is copied; 'path' is what messages call it. */
struct trace *trace_open_text(const char *path, const char *text, size_t len, struct err *e);

/*
 * The next record of the stream into *r: 1 = there is one (release it with trace_record_release),
 * 0 = end of file, -1 = 'e' is set. `expect` records are checked on the way (and collected into
 * t->expects when the file could not be read twice); late set-up records are an error.
 *
 * Checked: ids rise strictly within a host; `after` names earlier records of the file that are
 * signaled. So a dependency that is not among the records still waiting or in flight has been
 * completed.
 */
int trace_next(struct trace *t, struct trace_record *r, struct err *e);
void trace_record_release(struct trace_record *r);

/* Set the fixed part of a record to what a record has when nothing is given. */
void trace_record_init(struct trace_record *r);

/* Look up by name; TRACE_NONE when there is none. */
uint32_t trace_find_host(const struct trace *t, const char *name);

/*
 * The bytes that an MR's fill puts at offset 'off' and behind. FILL_RAND: byte i of the stream of
 * rng_seed("fill", seed), 8 bytes a draw, little-endian (what lies before 'off' is drawn too).
 * FILL_KEEP: zeros.
 */
void trace_fill(const struct trace_mr *m, uint64_t off, uint8_t *to, uint64_t len);

#endif
