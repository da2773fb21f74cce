/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_post.c - posts and receives of a trace
 */
#include <stdio.h>
#include <string.h>

#include "models/nic.h"
#include "models/trace/trace_stream.h"

const char *const wr_opcode_names[] = { "RDMA_WRITE",
					"RDMA_WRITE_WITH_IMM",
					"SEND",
					"SEND_WITH_IMM",
					"SEND_WITH_INV",
					"RDMA_READ",
					"ATOMIC_CMP_AND_SWP",
					"ATOMIC_FETCH_AND_ADD",
					"LOCAL_INV",
					"BIND_MW",
					"FLUSH",
					"ATOMIC_WRITE",
					NULL };
static const char *const level_names[] = { "range", "mr", NULL };
static const char *const flag_names[] = { "signaled", "unsignaled", "solicited", "fence",
					  "inline",   "more",       NULL };

_Static_assert(ARRAY_LEN(wr_opcode_names) == WR_OPCODES + 1, "a name for each opcode");

/* ---- elements ---- */

/* va:ADDR:lkey:KEY or va:ADDR:rkey:KEY */
static bool take_va(const char **p, const char *key_word, uint64_t *addr, uint32_t *key)
{
	uint64_t k;
	size_t n = strlen(key_word);

	*p += strlen("va:");
	if (!record_number(p, addr) || strncmp(*p, key_word, n) != 0)
		return false;
	*p += n;
	if (!record_number(p, &k) || k > UINT32_MAX)
		return false;
	*key = (uint32_t)k;
	return true;
}

static bool is_va(const char *p)
{
	return p[0] == 'v' && p[1] == 'a' && p[2] == ':';
}

static bool call_sge(const struct record_field *f, const char *text, void *obj, void *ctx,
		     char *why)
{
	struct trace_record *r = obj;
	const struct trace *t = ctx;
	const char *p = text;
	uint64_t off, len;

	(void)f;
	if (!*p)
		return true;
	do {
		struct rec_sge *s = &r->sge[r->n_sge];

		if (r->n_sge == MAX_SGE) {
			snprintf(why, RECORD_WHY, "more than %u elements", MAX_SGE);
			return false;
		}
		if (is_va(p)) {
			s->mr = TRACE_NONE;
			if (!take_va(&p, ":lkey:", &s->addr, &s->lkey) || !record_char(&p, ':') ||
			    !record_size(&p, &len))
				return false;
		} else {
			s->lkey = 0;
			if (!trace_take_mr_range(t, &p, r->host, &s->mr, &off, &len, why))
				return false;
			s->addr = t->mrs[s->mr].va + off;
		}
		if (len > UINT32_MAX) {
			snprintf(why, RECORD_WHY, "%llu bytes: an element has a length of 32 bits",
				 (unsigned long long)len);
			return false;
		}
		s->len = (uint32_t)len;
		r->n_sge++;
	} while (record_char(&p, ','));
	return *p == '\0';
}

static bool call_remote(const struct record_field *f, const char *text, void *obj, void *ctx,
			char *why)
{
	struct trace_record *r = obj;
	const struct trace *t = ctx;
	uint32_t host = t->qps[r->qp].peer_host;
	const char *p = text;
	uint64_t off;

	(void)f;
	if (is_va(p))
		return take_va(&p, ":rkey:", &r->raddr, &r->rkey) && *p == '\0';
	if (host == TRACE_NONE) {
		snprintf(why, RECORD_WHY, "QP %s has no peer; only va:ADDR:rkey:KEY can be said",
			 t->qps[r->qp].name);
		return false;
	}
	if (!trace_take_mr_at(t, &p, host, &r->rmr, &off, why) || *p)
		return false;
	r->raddr = t->mrs[r->rmr].va + off;
	return true;
}

/* inv= is read when op= is known, wherever that stands. */
static bool call_later(const struct record_field *f, const char *text, void *obj, void *ctx,
		       char *why)
{
	(void)f;
	(void)text;
	(void)obj;
	(void)ctx;
	(void)why;
	return true;
}

static const char *value_of(const struct record_reader *rec, const char *key)
{
	uint32_t i = 0;

	while (rec->words[i].eq != strlen(key) ||
	       strncmp(rec->words[i].text, key, strlen(key)) != 0)
		i++;
	return rec->words[i].text + strlen(key) + 1;
}

/* An MR, a window or a key, of the host that will invalidate it. */
static bool take_inv(struct trace *t, struct trace_record *r, struct err *e)
{
	const struct record_reader *rec = &t->reader->rec;
	const char *text = value_of(rec, "inv"), *p = text, *name;
	uint32_t host = r->opcode == WR_LOCAL_INV ? r->host : t->qps[r->qp].peer_host, len;
	uint64_t key;

	if (record_number(&p, &key) && *p == '\0' && key <= UINT32_MAX) {
		r->inv_key = (uint32_t)key;
		return true;
	}
	p = text;
	if (record_name(&p, &name, &len) && *p == '\0' && len <= NAME_MAX_LEN &&
	    host != TRACE_NONE) {
		r->inv_mr = trace_lookup(t, THING_MR, host, name, len);
		r->inv_mw = trace_lookup(t, THING_MW, host, name, len);
	}
	if (r->inv_mr == TRACE_NONE && r->inv_mw == TRACE_NONE)
		return record_err(
			rec, e,
			"inv='%.60s': must be a key, or the name of an MR or a window on host %s",
			text, host == TRACE_NONE ? "of the peer" : t->hosts[host].name);
	return true;
}

static bool call_dest(const struct record_field *f, const char *text, void *obj, void *ctx,
		      char *why)
{
	struct trace_record *r = obj;
	const struct trace *t = ctx;
	const char *p = text;
	uint64_t qpn;

	(void)f;
	if (!trace_take_host(t, &p, &r->dest_host, why))
		return false;
	if (record_char(&p, ':')) {
		if (!record_number(&p, &qpn) || qpn > 0xffffff || *p)
			return false;
		r->dest_qpn = (uint32_t)qpn;
		return true;
	}
	if (!record_char(&p, '.') || !trace_take(t, &p, THING_QP, r->dest_host, &r->dest_qp, why) ||
	    *p)
		return false;
	r->dest_qpn = t->qps[r->dest_qp].qpn;
	return true;
}

static bool call_mw(const struct record_field *f, const char *text, void *obj, void *ctx, char *why)
{
	struct trace_record *r = obj;
	const char *p = text;

	(void)f;
	return trace_take(ctx, &p, THING_MW, r->host, &r->mw, why) && *p == '\0';
}

static bool call_bind(const struct record_field *f, const char *text, void *obj, void *ctx,
		      char *why)
{
	struct trace_record *r = obj;
	const char *p = text;

	(void)f;
	return trace_take_mr_range(ctx, &p, r->host, &r->bind_mr, &r->bind_off, &r->bind_len,
				   why) &&
	       *p == '\0';
}

static bool call_poll(const struct record_field *f, const char *text, void *obj, void *ctx,
		      char *why)
{
	struct trace_record *r = obj;
	const struct trace *t = ctx;
	const char *p = text;

	(void)f;
	if (!trace_take_mr_at(t, &p, r->host, &r->poll_mr, &r->poll_off, why) || *p)
		return false;
	if (r->poll_off < t->mrs[r->poll_mr].len)
		return true;
	snprintf(why, RECORD_WHY, "there is no byte at the end of MR %s", t->mrs[r->poll_mr].name);
	return false;
}

/* ---- post ---- */

#define T struct trace_record
enum {
	P_QP,
	P_ID,
	P_OP,
	P_SGE,
	P_REMOTE,
	P_IMM,
	P_INV,
	P_ADD,
	P_COMPARE,
	P_SWAP,
	P_DEST,
	P_QKEY,
	P_MW,
	P_NEWKEY,
	P_BIND,
	P_ACCESS,
	P_FLAGS,
	P_AT,
	P_AFTER,
	P_DELAY,
	P_WRID,
	P_REPEAT,
	P_WINDOW,
	P_STRIDE,
	P_RSTRIDE,
	P_SIGNAL,
	P_BATCH,
	P_STAMP,
	P_POLL,
	P_LAG,
	P_LEVEL
};
#define BIT(x) (1u << (x))
static const struct record_field post_fields[] = {
	[P_QP] = RECORD_ROW_CALL("HOST.QP", trace_call_qp, "must be HOST.QP",
				 RECORD_PLACE | RECORD_REQUIRED),
	[P_ID] = RECORD_ROW_NUMBER(T, id, "id", 0, 1, UINT64_MAX, RECORD_REQUIRED),
	[P_OP] = RECORD_ROW_ENUM(T, opcode, "op", wr_opcode_names, 0, RECORD_REQUIRED),
	[P_SGE] = RECORD_ROW_CALL("sge", call_sge,
				  "must be a list of MR:OFFSET:LEN or va:ADDR:lkey:KEY:LEN", 0),
	[P_REMOTE] =
		RECORD_ROW_CALL("remote", call_remote, "must be MR:OFFSET or va:ADDR:rkey:KEY", 0),
	[P_IMM] = RECORD_ROW_NUMBER(T, imm, "imm", 0, 0, UINT32_MAX, 0),
	[P_INV] = RECORD_ROW_CALL("inv", call_later, "", 0),
	[P_ADD] = RECORD_ROW_NUMBER(T, compare_add, "add", 0, 0, UINT64_MAX, 0),
	[P_COMPARE] = RECORD_ROW_NUMBER(T, compare_add, "compare", 0, 0, UINT64_MAX, 0),
	[P_SWAP] = RECORD_ROW_NUMBER(T, swap, "swap", 0, 0, UINT64_MAX, 0),
	[P_DEST] = RECORD_ROW_CALL("dest", call_dest,
				   "must be HOST.QP, or HOST:QPN with a number of 24 bits", 0),
	[P_QKEY] = RECORD_ROW_NUMBER(T, qkey, "qkey", 0, 0, UINT32_MAX, 0),
	[P_MW] = RECORD_ROW_CALL("mw", call_mw, "must be the name of a window", 0),
	[P_NEWKEY] = RECORD_ROW_NUMBER(T, newkey, "newkey", 0, 0, UINT32_MAX, 0),
	[P_BIND] = RECORD_ROW_CALL("bind", call_bind, "must be MR:OFFSET:LEN", 0),
	[P_ACCESS] = RECORD_ROW_FLAGS(T, bind_access, "access", trace_access_names, 0, 0),
	[P_FLAGS] = RECORD_ROW_FLAGS(T, flags, "flags", flag_names, 0, 0),
	[P_AT] = TRACE_ROWS_WHEN,
	[P_WRID] = RECORD_ROW_NUMBER(T, wr_id, "wrid", 0, 0, UINT64_MAX, 0),
	[P_REPEAT] = RECORD_ROW_NUMBER(T, repeat, "repeat", 1, 1, UINT32_MAX, 0),
	[P_WINDOW] = RECORD_ROW_NUMBER(T, window, "window", 1, 1, UINT32_MAX, 0),
	[P_STRIDE] = RECORD_ROW_SIZE(T, stride, "stride", 0, 0, UINT64_MAX, 0),
	[P_RSTRIDE] = RECORD_ROW_SIZE(T, rstride, "rstride", 0, 0, UINT64_MAX, 0),
	[P_SIGNAL] = RECORD_ROW_NUMBER(T, signal, "signal", 1, 1, UINT32_MAX, 0),
	[P_BATCH] = RECORD_ROW_NUMBER(T, batch, "batch", 1, 1, UINT32_MAX, 0),
	[P_STAMP] = RECORD_ROW_BOOL(T, is_stamped, "stamp", 0, 0),
	[P_POLL] = RECORD_ROW_CALL("poll", call_poll, "must be MR:OFFSET", 0),
	[P_LAG] = RECORD_ROW_NUMBER(T, lag, "lag", 0, 0, UINT8_MAX, 0),
	[P_LEVEL] = RECORD_ROW_ENUM(T, flush_level, "level", level_names, FLUSH_RANGE, 0),
};
const struct record_kind trace_post_kind = { "post", post_fields, ARRAY_LEN(post_fields) };

#define ALWAYS \
	(BIT(P_QP) | BIT(P_ID) | BIT(P_OP) | BIT(P_FLAGS) | BIT(P_AT) | BIT(P_AFTER) | \
	 BIT(P_DELAY) | BIT(P_WRID) | BIT(P_REPEAT) | BIT(P_WINDOW) | BIT(P_SIGNAL) | \
	 BIT(P_BATCH) | BIT(P_STAMP) | BIT(P_POLL) | BIT(P_LAG))
#define LOCAL (BIT(P_SGE) | BIT(P_STRIDE))
#define UD_KEYS (BIT(P_DEST) | BIT(P_QKEY))

/* Which keys an operation must have, and which it may have besides. */
static const struct {
	uint32_t must, may;
} op_keys[WR_OPCODES] = {
	[WR_RDMA_WRITE] = { BIT(P_REMOTE), LOCAL | BIT(P_RSTRIDE) },
	[WR_RDMA_WRITE_WITH_IMM] = { BIT(P_REMOTE) | BIT(P_IMM), LOCAL | BIT(P_RSTRIDE) },
	[WR_SEND] = { 0, LOCAL | UD_KEYS },
	[WR_SEND_WITH_IMM] = { BIT(P_IMM), LOCAL | UD_KEYS },
	[WR_SEND_WITH_INV] = { BIT(P_INV), LOCAL },
	[WR_RDMA_READ] = { BIT(P_REMOTE), LOCAL | BIT(P_RSTRIDE) },
	[WR_ATOMIC_CMP_AND_SWP] = { BIT(P_REMOTE) | BIT(P_COMPARE) | BIT(P_SWAP),
				    LOCAL | BIT(P_RSTRIDE) },
	[WR_ATOMIC_FETCH_AND_ADD] = { BIT(P_REMOTE) | BIT(P_ADD), LOCAL | BIT(P_RSTRIDE) },
	[WR_LOCAL_INV] = { BIT(P_INV), 0 },
	[WR_BIND_MW] = { BIT(P_MW) | BIT(P_BIND), BIT(P_NEWKEY) | BIT(P_ACCESS) },
	[WR_FLUSH] = { BIT(P_REMOTE), LOCAL | BIT(P_RSTRIDE) | BIT(P_LEVEL) },
	[WR_ATOMIC_WRITE] = { BIT(P_REMOTE), LOCAL | BIT(P_RSTRIDE) },
};

static bool check_keys(struct trace *t, const struct trace_record *r, uint32_t given, struct err *e)
{
	const struct record_reader *rec = &t->reader->rec;
	bool is_ud = t->qps[r->qp].type == QP_UD;
	uint32_t lacks = op_keys[r->opcode].must & ~given;
	uint32_t extra = given & ~(op_keys[r->opcode].must | op_keys[r->opcode].may | ALWAYS);

	if (lacks)
		return record_err(rec, e, "op=%s lacks %s=", wr_opcode_names[r->opcode],
				  post_fields[__builtin_ctz(lacks)].key);
	if (extra)
		return record_err(rec, e, "key '%s' has no meaning with op=%s",
				  post_fields[__builtin_ctz(extra)].key,
				  wr_opcode_names[r->opcode]);
	if (is_ud && !(given & BIT(P_DEST)) && (op_keys[r->opcode].may & BIT(P_DEST)))
		return record_err(rec, e, "a post to a UD QP lacks dest=");
	if (!is_ud && given & UD_KEYS)
		return record_err(rec, e, "dest= and qkey= are for UD QPs");
	return true;
}

/* What the remote side of MR:OFFSET must hold. */
static bool check_remote(struct trace *t, const struct trace_record *r, struct err *e)
{
	const struct trace_mr *m = &t->mrs[r->rmr];
	uint64_t len = 0, off = r->raddr - m->va;

	if (r->opcode == WR_ATOMIC_CMP_AND_SWP || r->opcode == WR_ATOMIC_FETCH_AND_ADD)
		len = 8;
	else
		for (uint32_t i = 0; i < r->n_sge; i++)
			len += r->sge[i].len;
	if (len > m->len - off)
		return record_err(
			&t->reader->rec, e,
			"remote=: %llu bytes from offset %llu reach outside of MR %s (%llu bytes)",
			(unsigned long long)len, (unsigned long long)off, m->name,
			(unsigned long long)m->len);
	return true;
}

/* Take the id: it is higher than those before it on this host. */
static bool take_id(struct trace *t, const struct trace_record *r, struct err *e)
{
	struct host_ids *ids = &t->reader->ids[r->host];

	if (r->id <= ids->last)
		return record_err(&t->reader->rec, e,
				  "id=%llu: ids rise within a host, and host %s already had %llu",
				  (unsigned long long)r->id, t->hosts[r->host].name,
				  (unsigned long long)ids->last);
	ids->last = r->id;
	id_set_add(&ids->all, r->id);
	if (r->flags & WR_SIGNALED)
		id_set_add(&ids->signaled, r->id);
	return true;
}

static bool check_repeat(const struct record_reader *rec, const struct trace_record *r, uint32_t sq,
			 uint64_t given, struct err *e)
{
	if (given & (BIT(P_WINDOW) | BIT(P_SIGNAL) | BIT(P_BATCH)) && !(given & BIT(P_REPEAT)))
		return record_err(rec, e,
				  "window=, signal=, batch= have a meaning with repeat= only");
	if (r->signal > r->window || r->batch > r->window)
		return record_err(rec, e,
				  "signal=%u, batch=%u: nothing would make room in a window of %u; "
				  "allowed: up to window=",
				  r->signal, r->batch, r->window);
	if (r->signal > sq && r->repeat > sq)
		return record_err(rec, e,
				  "signal=%u: nothing would make room in a send queue of %u; "
				  "allowed: up to the QP's sq=",
				  r->signal, sq);
	if (given & BIT(P_LAG) && !(given & BIT(P_POLL)))
		return record_err(rec, e, "lag= has a meaning with poll= only");
	if (r->is_stamped && (r->n_sge == 0 || r->sge[r->n_sge - 1].mr == TRACE_NONE ||
			      r->sge[r->n_sge - 1].len == 0))
		return record_err(rec, e,
				  "stamp=yes wants a last segment in an MR that is not empty");
	return true;
}

bool trace_read_post(struct trace *t, struct trace_record *r, struct err *e)
{
	const struct record_reader *rec = &t->reader->rec;
	uint64_t given;
	uint32_t f;

	r->kind = REC_POST;
	if (!record_parse(&t->reader->rec, &trace_post_kind, 1, r, t, &given, e) ||
	    !check_keys(t, r, (uint32_t)given, e) ||
	    !trace_check_when(rec, r, given & BIT(P_AT), e) ||
	    (r->rmr != TRACE_NONE && !check_remote(t, r, e)) ||
	    (given & BIT(P_INV) && !take_inv(t, r, e)))
		return false;
	f = r->flags;
	if ((f & 3) == 3)
		return record_err(rec, e, "flags=: signaled and unsignaled exclude each other");
	if (!check_repeat(rec, r, t->qps[r->qp].sq, given, e))
		return false;
	/*
	 * names in the order of flag_names: bit 1 = unsignaled, then solicited, fence, inline, more
	 * as WR_*
	 */
	r->flags = (f >> 1 & (WR_SOLICITED | WR_FENCE | WR_INLINE | WR_MORE)) |
		   (f & 2 && !t->qps[r->qp].sig_all ? 0u : (uint32_t)WR_SIGNALED);
	r->bind_access = trace_access(r->bind_access);
	if (!(given & BIT(P_WRID)))
		r->wr_id = r->id;
	if (!(given & BIT(P_QKEY)))
		r->qkey = t->qps[r->dest_qp != TRACE_NONE ? r->dest_qp : r->qp].qkey;
	return take_id(t, r, e);
}

/* ---- recv ---- */

enum { R_QP, R_ID, R_SGE, R_AT, R_AFTER, R_DELAY, R_WRID, R_REPEAT };
static const struct record_field recv_fields[] = {
	[R_QP] = RECORD_ROW_CALL("HOST.QP or HOST.SRQ", trace_call_qp_or_srq,
				 "must be HOST.QP or HOST.SRQ", RECORD_PLACE | RECORD_REQUIRED),
	[R_ID] = RECORD_ROW_NUMBER(T, id, "id", 0, 1, UINT64_MAX, RECORD_REQUIRED),
	[R_SGE] = RECORD_ROW_CALL("sge", call_sge,
				  "must be a list of MR:OFFSET:LEN or va:ADDR:lkey:KEY:LEN", 0),
	[R_AT] = TRACE_ROWS_WHEN,
	[R_WRID] = RECORD_ROW_NUMBER(T, wr_id, "wrid", 0, 0, UINT64_MAX, 0),
	[R_REPEAT] = RECORD_ROW_NUMBER(T, repeat, "repeat", 1, 1, UINT32_MAX, 0),
};
const struct record_kind trace_recv_kind = { "recv", recv_fields, ARRAY_LEN(recv_fields) };

bool trace_read_recv(struct trace *t, struct trace_record *r, struct err *e)
{
	uint64_t given;

	r->kind = REC_RECV;
	r->flags = WR_SIGNALED;
	if (!record_parse(&t->reader->rec, &trace_recv_kind, 1, r, t, &given, e) ||
	    !trace_check_when(&t->reader->rec, r, given & BIT(R_AT), e))
		return false;
	if (!(given & BIT(R_WRID)))
		r->wr_id = r->id;
	return take_id(t, r, e);
}
