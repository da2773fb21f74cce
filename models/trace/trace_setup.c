/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_setup.c - set-up records of a trace: hosts, PDs, windows, CQs, SRQs, QPs (MRs: trace_mr.c)
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "models/mac.h"
#include "models/msg.h"
#include "models/nic.h"
#include "models/trace/trace_reader.h"

#define FIRST_IP 0x0a000001u /* 10.0.0.1, then upwards */

static const char *const mtu_names[] = { "256", "512", "1024", "2048", "4096", NULL };
static const char *const qp_type_names[] = { "RC", "UC", "UD", NULL };
static const char *const qp_state_names[] = { "RESET", "INIT", "RTR", "RTS", NULL };
static const char *const cq_mode_names[] = { "poll", "event", NULL };
const char *const trace_access_names[] = { "lw", "rw", "rr", "ra", "mw", "fl", NULL };

_Static_assert(RECORD_MAX_NAME == NAME_MAX_LEN, "names of the reader fit");

uint8_t trace_access(uint32_t flags)
{
	return (uint8_t)((flags & 0x1f) | (flags & 0x20 ? 0x80 : 0));
}

/* Room for one more element: arrays grow by doubling, when their count is a power of two. */
static void *grow(void *array, uint32_t n, size_t size)
{
	return (n & (n - 1)) == 0 ? x_realloc(array, (n ? 2 * (size_t)n : 1) * size) : array;
}

#define APPEND(t, array, n, value) \
	do { \
		(t)->array = grow((t)->array, (t)->n, sizeof(*(t)->array)); \
		(t)->array[(t)->n++] = (value); \
	} while (0)

/* A name must be new among its kind on its host. */
static bool check_new(struct trace *t, enum trace_thing thing, uint32_t host, const char *name,
		      struct err *e)
{
	uint32_t len = (uint32_t)strlen(name);

	if (trace_lookup(t, thing, host, name, len) != TRACE_NONE)
		return record_err(&t->reader->rec, e, "a second %s '%s'%s%s",
				  trace_thing_names[thing], name,
				  thing == THING_HOST ? "" : " on host ",
				  thing == THING_HOST ? "" : t->hosts[host].name);
	return true;
}

static bool on_host(const struct record_field *f, const char *text, void *obj, void *ctx, char *why)
{
	const char *p = text;

	return trace_take_host(ctx, &p, (uint32_t *)(void *)((char *)obj + f->offset), why) &&
	       *p == '\0';
}

#define ROW_HOST(T) \
	{ \
		.key = "HOST", .form = RECORD_CALL, .flags = RECORD_PLACE | RECORD_REQUIRED, \
		.offset = offsetof(T, host), .call = on_host, \
		.expects = "must be the name of a host" \
	}
#define ROW_NAME(T) RECORD_ROW_NAME(T, name, "NAME", RECORD_PLACE | RECORD_REQUIRED)

/* A reference to thing 'min' of the same host; the host is the member at 'max'. */
static bool reference(const struct record_field *f, const char *text, void *obj, void *ctx,
		      char *why)
{
	uint32_t host = *(uint32_t *)(void *)((char *)obj + f->max);
	const char *p = text;

	return trace_take(ctx, &p, (enum trace_thing)f->min, host,
			  (uint32_t *)(void *)((char *)obj + f->offset), why) &&
	       *p == '\0';
}

#define ROW_REF(T, m, thing, what) \
	{ \
		RECORD_ROW(T, m, #m, RECORD_CALL, TRACE_NONE, thing, offsetof(T, host), 0), \
			.call = reference, \
			.expects = "must be the name of " what " of the same host" \
	}

/* ---- host ---- */

static bool parse_mac(const struct record_field *f, const char *text, void *obj, void *ctx,
		      char *why)
{
	struct trace_host *h = obj;
	const char *p = text;

	(void)f;
	(void)ctx;
	(void)why;
	for (int i = 0; i < 6; i++) {
		const char pair[3] = { p[0], p[0] ? p[1] : '\0', '\0' }, *q = pair;

		if (record_hex(&q, &h->mac[i]) != 1)
			return false;
		p += 2;
		if (*p != (i < 5 ? ':' : '\0'))
			return false;
		p++;
	}
	return true;
}

static bool parse_address(const char *text, uint8_t *to, bool *is_v6)
{
	*is_v6 = inet_pton(AF_INET6, text, to) == 1;
	if (*is_v6)
		return true;
	memset(to, 0, 10);
	memset(to + 10, 0xff, 2);
	return inet_pton(AF_INET, text, to + 12) == 1;
}

static bool parse_ip(const struct record_field *f, const char *text, void *obj, void *ctx,
		     char *why)
{
	struct trace_host *h = obj;

	(void)f;
	(void)ctx;
	(void)why;
	return parse_address(text, h->ip, &h->is_v6);
}

/* A GID: as an IPv6 address, or 32 hex digits. */
static bool parse_gid(const struct record_field *f, const char *text, void *obj, void *ctx,
		      char *why)
{
	struct trace_host *h = obj;
	const char *p = text, *q = text;
	bool is_v6;

	(void)f;
	(void)ctx;
	(void)why;
	if (record_hex(&p, NULL) == 16 && *p == '\0')
		return record_hex(&q, h->gid) == 16;
	return parse_address(text, h->gid, &is_v6);
}

enum { H_NAME, H_MAC, H_IP, H_LID, H_GID, H_MTU };
#define T struct trace_host
static const struct record_field host_fields[] = {
	[H_NAME] = ROW_NAME(T),
	[H_MAC] = RECORD_ROW_CALL("mac", parse_mac,
				  "must be six pairs of hex digits with ':' between", 0),
	[H_IP] = RECORD_ROW_CALL("ip", parse_ip, "must be an IPv4 or IPv6 address", 0),
	[H_LID] = RECORD_ROW_NUMBER(T, lid, "lid", 0, 1, 0xbfff, 0),
	[H_GID] = RECORD_ROW_CALL("gid", parse_gid, "must be an IPv6 address or 32 hex digits", 0),
	[H_MTU] = RECORD_ROW_ENUM(T, mtu, "mtu", mtu_names, 4, 0),
};
#undef T
const struct record_kind trace_host_kind = { "host", host_fields, ARRAY_LEN(host_fields) };

/* Addresses are those of one host. */
static bool check_address(const struct trace *t, const struct trace_host *h, struct err *e)
{
	for (uint32_t i = 0; i < t->n_hosts; i++) {
		const struct trace_host *o = &t->hosts[i];
		const char *key = memcmp(o->mac, h->mac, sizeof(h->mac)) == 0   ? "mac"
				  : memcmp(o->ip, h->ip, sizeof(h->ip)) == 0    ? "ip"
				  : o->lid == h->lid                            ? "lid"
				  : memcmp(o->gid, h->gid, sizeof(h->gid)) == 0 ? "gid"
										: NULL;

		if (key)
			return record_err(
				&t->reader->rec, e,
				"host %s has the %s of host %s (line %u); allowed: its own",
				h->name, key, o->name, o->line);
	}
	return true;
}

bool trace_read_host(struct trace *t, struct err *e)
{
	struct trace_host h = { 0 };
	static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };
	uint32_t n = t->n_hosts, ip = htonl(FIRST_IP + n);
	uint64_t given;

	record_defaults(&trace_host_kind, &h);
	if (!record_parse(&t->reader->rec, &trace_host_kind, 1, &h, t, &given, e) ||
	    !check_new(t, THING_HOST, 0, h.name, e))
		return false;
	h.line = t->reader->rec.line;
	h.mtu = 256u << h.mtu;
	if (!(given >> H_MAC & 1))
		memcpy(h.mac,
		       (const uint8_t[]){ 2, 0, (uint8_t)((n + 1) >> 24), (uint8_t)((n + 1) >> 16),
					  (uint8_t)((n + 1) >> 8), (uint8_t)(n + 1) },
		       6);
	if (!(given >> H_IP & 1) && given >> H_GID & 1) {
		memcpy(h.ip, h.gid, 16);
		h.is_v6 = memcmp(h.gid, v4_mapped, 12) != 0;
	} else if (!(given >> H_IP & 1)) {
		memcpy(h.ip, v4_mapped, 12);
		memcpy(h.ip + 12, &ip, 4);
	}
	if (!(given >> H_GID & 1))
		memcpy(h.gid, h.ip, 16);
	if (!(given >> H_LID & 1))
		h.lid = (uint16_t)(n % 0xbfff + 1);
	if (!check_address(t, &h, e))
		return false;
	APPEND(t, hosts, n_hosts, h);
	trace_enter(t, THING_HOST, 0, n);
	return true;
}

/* ---- pd, mw, cq, srq ---- */

static const struct record_field pd_fields[] = { ROW_HOST(struct trace_pd),
						 ROW_NAME(struct trace_pd) };
const struct record_kind trace_pd_kind = { "pd", pd_fields, ARRAY_LEN(pd_fields) };

bool trace_read_pd(struct trace *t, struct err *e)
{
	struct trace_pd pd = { .host = 0 };
	uint64_t given;

	if (!record_parse(&t->reader->rec, &trace_pd_kind, 1, &pd, t, &given, e) ||
	    !check_new(t, THING_PD, pd.host, pd.name, e))
		return false;
	APPEND(t, pds, n_pds, pd);
	trace_enter(t, THING_PD, pd.host, t->n_pds - 1);
	return true;
}

#define T struct trace_mw
static const struct record_field mw_fields[] = {
	ROW_HOST(T),
	ROW_NAME(T),
	RECORD_ROW_NUMBER(T, type, "type", 2, 1, 2, 0),
	RECORD_ROW_NUMBER(T, rkey, "rkey", 0, 0, UINT32_MAX, 0),
	ROW_REF(T, pd, THING_PD, "a PD"),
};
#undef T
const struct record_kind trace_mw_kind = { "mw", mw_fields, ARRAY_LEN(mw_fields) };

bool trace_read_mw(struct trace *t, struct err *e)
{
	struct trace_mw mw = { .host = 0 };
	uint64_t given;

	record_defaults(&trace_mw_kind, &mw);
	if (!record_parse(&t->reader->rec, &trace_mw_kind, 1, &mw, t, &given, e) ||
	    !check_new(t, THING_MW, mw.host, mw.name, e) ||
	    !check_new(t, THING_MR, mw.host, mw.name, e))
		return false;
	mw.line = t->reader->rec.line;
	APPEND(t, mws, n_mws, mw);
	trace_enter(t, THING_MW, mw.host, t->n_mws - 1);
	return true;
}

static bool parse_moderate(const struct record_field *f, const char *text, void *obj, void *ctx,
			   char *why)
{
	struct trace_cq *c = obj;
	const char *p = text;
	uint64_t n;

	(void)f;
	(void)ctx;
	(void)why;
	if (!record_number(&p, &n) || n == 0 || n > 0xffff || !record_char(&p, ':') ||
	    !record_time(&p, &c->moderate_ps))
		return false;
	c->moderate_count = (uint32_t)n;
	return *p == '\0';
}

#define T struct trace_cq
static const struct record_field cq_fields[] = {
	ROW_HOST(T),
	ROW_NAME(T),
	RECORD_ROW_NUMBER(T, depth, "depth", 1024, 1, 1u << 22, 0),
	RECORD_ROW_NUMBER(T, core, "core", TRACE_NONE, 0, UAR_PAGES - 1, 0),
	RECORD_ROW_CALL("moderate", parse_moderate,
			"must be COUNT:TIME, 1 to 65535 completions and a time with its unit", 0),
	RECORD_ROW_ENUM(T, is_event, "mode", cq_mode_names, 0, 0),
};
#undef T
const struct record_kind trace_cq_kind = { "cq", cq_fields, ARRAY_LEN(cq_fields) };

bool trace_read_cq(struct trace *t, struct err *e)
{
	struct trace_cq cq = { .host = 0 };
	uint64_t given;

	record_defaults(&trace_cq_kind, &cq);
	if (!record_parse(&t->reader->rec, &trace_cq_kind, 1, &cq, t, &given, e) ||
	    !check_new(t, THING_CQ, cq.host, cq.name, e))
		return false;
	cq.line = t->reader->rec.line;
	APPEND(t, cqs, n_cqs, cq);
	trace_enter(t, THING_CQ, cq.host, t->n_cqs - 1);
	return true;
}

#define T struct trace_srq
static const struct record_field srq_fields[] = {
	ROW_HOST(T),
	ROW_NAME(T),
	RECORD_ROW_NUMBER(T, depth, "depth", 512, 1, 32768, 0),
	RECORD_ROW_NUMBER(T, max_sge, "max_sge", 16, 1, MAX_SGE, 0),
	RECORD_ROW_NUMBER(T, limit, "limit", 0, 0, 32768, 0),
	ROW_REF(T, pd, THING_PD, "a PD"),
};
#undef T
const struct record_kind trace_srq_kind = { "srq", srq_fields, ARRAY_LEN(srq_fields) };

bool trace_read_srq(struct trace *t, struct err *e)
{
	struct trace_srq srq = { .host = 0 };
	uint64_t given;

	record_defaults(&trace_srq_kind, &srq);
	if (!record_parse(&t->reader->rec, &trace_srq_kind, 1, &srq, t, &given, e) ||
	    !check_new(t, THING_SRQ, srq.host, srq.name, e) ||
	    !check_new(t, THING_QP, srq.host, srq.name, e))
		return false;
	srq.line = t->reader->rec.line;
	APPEND(t, srqs, n_srqs, srq);
	trace_enter(t, THING_SRQ, srq.host, t->n_srqs - 1);
	return true;
}

/* ---- qp ---- */

static bool parse_peer(const struct record_field *f, const char *text, void *obj, void *ctx,
		       char *why)
{
	struct trace_qp *q = obj;
	const char *p = text, *name;
	uint64_t qpn;
	uint32_t len;

	(void)f;
	if (!trace_take_host(ctx, &p, &q->peer_host, why))
		return false;
	if (record_char(&p, ':')) {
		q->peer_qpn = record_number(&p, &qpn) && qpn <= 0xffffff ? (uint32_t)qpn : 0;
		return *p == '\0' && q->peer_qpn;
	}
	if (!record_char(&p, '.') || !record_name(&p, &name, &len) || *p || len > NAME_MAX_LEN)
		return false;
	memcpy(q->peer_name, name, len + 1); /* looked up when all QPs are known */
	return true;
}

/* rw, rr, ra and fl, as bits of trace_access_names. */
#define QP_ACCESS (ACCESS_REMOTE_WRITE | ACCESS_REMOTE_READ | ACCESS_REMOTE_ATOMIC | 1u << 5)

enum { Q_HOST, Q_NAME, Q_TYPE, Q_PEER };
#define T struct trace_qp
static const struct record_field qp_fields[] = {
	[Q_HOST] = ROW_HOST(T),
	[Q_NAME] = ROW_NAME(T),
	[Q_TYPE] = RECORD_ROW_ENUM(T, type, "type", qp_type_names, 0, RECORD_REQUIRED),
	[Q_PEER] = RECORD_ROW_CALL("peer", parse_peer,
				   "must be HOST.QP, or HOST:QPN with a number of 24 bits", 0),
	RECORD_ROW_NUMBER(T, qpn, "qpn", 0, 1, 0xffffff, 0),
	RECORD_ROW_NUMBER(T, psn, "psn", 0, 0, 0xffffff, 0),
	RECORD_ROW_ENUM(T, mtu, "mtu", mtu_names, 2, 0),
	RECORD_ROW_ENUM(T, state, "state", qp_state_names, QPS_RTS, 0),
	RECORD_ROW_NUMBER(T, sq, "sq", 128, 1, 32768, 0),
	RECORD_ROW_NUMBER(T, rq, "rq", 128, 1, 32768, 0),
	RECORD_ROW_NUMBER(T, max_sge, "max_sge", 16, 1, MAX_SGE, 0),
	RECORD_ROW_SIZE(T, max_inline, "inline", 64, 0, 960, 0),
	ROW_REF(T, scq, THING_CQ, "a CQ"),
	ROW_REF(T, rcq, THING_CQ, "a CQ"),
	ROW_REF(T, srq, THING_SRQ, "an SRQ"),
	ROW_REF(T, pd, THING_PD, "a PD"),
	RECORD_ROW_NUMBER(T, rd_atomic, "rd_atomic", 16, 0, 255, 0),
	RECORD_ROW_NUMBER(T, dest_rd_atomic, "dest_rd_atomic", 16, 0, 255, 0),
	RECORD_ROW_NUMBER(T, timeout, "timeout", 14, 0, 31, 0),
	RECORD_ROW_NUMBER(T, retry, "retry", 7, 0, 7, 0),
	RECORD_ROW_NUMBER(T, rnr_retry, "rnr_retry", 7, 0, 7, 0),
	RECORD_ROW_NUMBER(T, min_rnr, "min_rnr", 12, 0, 31, 0),
	RECORD_ROW_NUMBER(T, prio, "prio", 3, 0, 7, 0),
	RECORD_ROW_NUMBER(T, weight, "weight", 1, 1, 255, 0),
	RECORD_ROW_NUMBER(T, core, "core", TRACE_NONE, 0, UAR_PAGES - 1, 0),
	RECORD_ROW_NUMBER(T, sl, "sl", 0, 0, 15, 0),
	RECORD_ROW_NUMBER(T, tclass, "tclass", 0, 0, 255, 0),
	RECORD_ROW_NUMBER(T, flow_label, "flow_label", 0, 0, 0xfffff, 0),
	RECORD_ROW_NUMBER(T, hop_limit, "hop_limit", 64, 0, 255, 0),
	RECORD_ROW_NUMBER(T, sport, "sport", 0, 1, 0xffff, 0),
	RECORD_ROW_NUMBER(T, pkey, "pkey", 0xffff, 0, 0xffff, 0),
	RECORD_ROW_NUMBER(T, qkey, "qkey", 0, 0, UINT32_MAX, 0),
	RECORD_ROW_FLAGS(T, access, "access", trace_access_names, QP_ACCESS, 0),
	RECORD_ROW_RATE(T, rate_bps, "rate", 0, 0),
	RECORD_ROW_BOOL(T, sig_all, "sig_all", 0, 0),
};
#undef T
const struct record_kind trace_qp_kind = { "qp", qp_fields, ARRAY_LEN(qp_fields) };

static bool check_qp(struct trace *t, const struct trace_qp *q, struct err *e)
{
	const struct record_reader *rec = &t->reader->rec;

	if (q->type == QP_UD && q->peer_host != TRACE_NONE)
		return record_err(rec, e, "a UD QP has no peer=; each post says dest=");
	if (q->type != QP_UD && q->peer_host == TRACE_NONE && q->state != QPS_RESET &&
	    q->state != QPS_INIT)
		return record_err(rec, e, "a QP with type=%s and state=%s lacks peer=",
				  qp_type_names[q->type], qp_state_names[q->state]);
	if (!(q->pkey & 0x7fff))
		return record_err(rec, e,
				  "pkey=0x%x is no partition: its low 15 bits are 0 (IBTA vol. 1, "
				  "10.9.1); allowed: 0x1 to 0x7fff and 0x8001 to 0xffff",
				  (unsigned)q->pkey);
	if (q->rate_bps && (q->rate_bps < MAC_RATE_MIN || q->rate_bps > MAC_RATE_MAX))
		return record_err(
			rec, e,
			"rate=%llubps is no rate of a line; allowed: 1Mbps to 3200Gbps, or 0 "
			"for no cap",
			(unsigned long long)q->rate_bps);
	if (q->mtu > t->hosts[q->host].mtu)
		return record_err(rec, e, "mtu=%u is more than the port's mtu=%u of host %s",
				  q->mtu, t->hosts[q->host].mtu, t->hosts[q->host].name);
	return true;
}

bool trace_read_qp(struct trace *t, struct err *e)
{
	struct trace_qp q = { .host = 0 };
	uint64_t given;

	record_defaults(&trace_qp_kind, &q);
	q.peer_host = q.peer_qp = TRACE_NONE;
	if (!record_parse(&t->reader->rec, &trace_qp_kind, 1, &q, t, &given, e) ||
	    !check_new(t, THING_QP, q.host, q.name, e) ||
	    !check_new(t, THING_SRQ, q.host, q.name, e))
		return false;
	q.mtu = 256u << q.mtu;
	q.access = trace_access(q.access);
	q.line = t->reader->rec.line;
	if (!check_qp(t, &q, e))
		return false;
	if (q.type == QP_UD) /* its datagrams take no path of which it knows */
		q.mtu = t->hosts[q.host].mtu;
	APPEND(t, qps, n_qps, q);
	trace_enter(t, THING_QP, q.host, t->n_qps - 1);
	return true;
}
