/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_convert_post.c - recorded verbs calls to a trace: sends and receives
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/trace/trace_convert.h"

static void put_sge(struct conv *c, uint32_t ep, const json_t *list)
{
	const json_t *s;
	size_t i;

	json_array_foreach(list, i, s)
	{
		uint64_t va = conv_u64(c, s, "addr"), len = conv_u64(c, s, "length"),
			 key = conv_u64(c, s, "lkey");
		const struct conv_mr *m = conv_find_mr(c, ep, false, key, va, len);

		fputs(i ? "," : " sge=", c->f);
		if (m)
			fprintf(c->f, "m%" PRIu32 ":%" PRIu64 ":%" PRIu64, m->number, va - m->va,
				len);
		else
			fprintf(c->f, "va:0x%" PRIx64 ":lkey:0x%" PRIx64 ":%" PRIu64, va, key, len);
	}
}

static uint64_t sge_bytes(struct conv *c, const json_t *list)
{
	uint64_t sum = 0;
	const json_t *s;
	size_t i;

	json_array_foreach(list, i, s) sum += conv_u64(c, s, "length");
	return sum;
}

static void put_remote(struct conv *c, const struct conv_qp *q, uint64_t va, uint64_t key,
		       uint64_t len)
{
	const struct conv_mr *m = conv_find_mr(c, q->peer_ep, true, key, va, len);

	if (m)
		fprintf(c->f, " remote=m%" PRIu32 ":%" PRIu64, m->number, va - m->va);
	else
		fprintf(c->f, " remote=va:0x%" PRIx64 ":rkey:0x%" PRIx64, va, key);
}

/* A window of this endpoint that has, or had before it was bound, this key. */
static void put_bind(struct conv *c, uint32_t ep, const json_t *w)
{
	uint64_t old = conv_u64(c, w, "mw_rkey_old"), va = conv_u64(c, w, "addr"),
		 len = conv_u64(c, w, "length");
	const struct conv_mr *m = conv_find_mr(c, ep, false, conv_u64(c, w, "mr_lkey"), va, len);
	uint32_t i = 0;

	while (i < c->n_mw && !(c->mw[i].ep == ep && c->mw[i].rkey == old))
		i++;
	if (!m || i == c->n_mw) {
		record_err(&c->rec, c->e, "a bind of a window or region that is not known");
		return;
	}
	fprintf(c->f,
		" mw=w%" PRIu32 " newkey=0x%" PRIx64 " bind=m%" PRIu32 ":%" PRIu64 ":%" PRIu64,
		c->mw[i].number, conv_u64(c, w, "mw_rkey_new"), m->number, va - m->va, len);
	conv_put_access(c, "access", conv_u64(c, w, "access"));
	c->mw[i].rkey = (uint32_t)conv_u64(c, w, "mw_rkey_new");
}

static void put_dest(struct conv *c, const struct conv_qp *q, const json_t *w)
{
	uint32_t peer = c->ep[q->ep].ud_peer;
	uint64_t qpn = conv_u64(c, w, "remote_qpn");
	uint32_t i = 0;

	while (i < c->n_qp && !(c->qp[i].ep == peer && c->qp[i].qpn == qpn))
		i++;
	if (i < c->n_qp)
		fprintf(c->f, " dest=h%s.q%" PRIu64, c->ep[peer].name, c->qp[i].number);
	else
		fprintf(c->f, " dest=h%s:%" PRIu64, c->ep[peer].name, qpn);
	fprintf(c->f, " qkey=0x%" PRIx64, conv_u64(c, w, "remote_qkey"));
}

/* flags=; returns whether the request is signaled. */
static bool put_flags(struct conv *c, const json_t *list, bool is_more)
{
	static const struct {
		const char *recorded, *flag;
	} names[] = { { "SOLICITED", "solicited" }, { "FENCE", "fence" }, { "INLINE", "inline" } };
	const char *lead = " flags=";
	bool is_signaled = false;
	const json_t *v;
	size_t i;

	json_array_foreach(list, i, v) is_signaled =
		is_signaled ||
		strcmp(json_string_value(v) ? json_string_value(v) : "", "SIGNALED") == 0;
	if (!is_signaled) {
		fprintf(c->f, "%sunsignaled", lead);
		lead = ",";
	}
	json_array_foreach(list, i,
			   v) for (size_t k = 0; k < ARRAY_LEN(names);
				   k++) if (strcmp(json_string_value(v) ? json_string_value(v) : "",
						   names[k].recorded) == 0)
	{
		fprintf(c->f, "%s%s", lead, names[k].flag);
		lead = ",";
	}
	if (is_more)
		fprintf(c->f, "%smore", lead);
	return is_signaled;
}

/* The members that an operation has. */
static void put_operands(struct conv *c, const struct conv_qp *q, const json_t *w, const char *op,
			 uint64_t bytes)
{
	bool is_cas = strcmp(op, "ATOMIC_CMP_AND_SWP") == 0,
	     is_faa = strcmp(op, "ATOMIC_FETCH_AND_ADD") == 0;

	if (json_object_get(w, "remote_addr"))
		put_remote(c, q, conv_u64(c, w, "remote_addr"), conv_u64(c, w, "rkey"),
			   is_cas || is_faa ? 8 : bytes);
	if (json_object_get(w, "imm_be"))
		fprintf(c->f, " imm=0x%" PRIx64, conv_hex(c, w, "imm_be"));
	if (json_object_get(w, "invalidate_rkey"))
		fprintf(c->f, " inv=0x%" PRIx64, conv_u64(c, w, "invalidate_rkey"));
	if (is_faa)
		fprintf(c->f, " add=0x%" PRIx64, conv_hex(c, w, "compare_add"));
	if (is_cas)
		fprintf(c->f, " compare=0x%" PRIx64 " swap=0x%" PRIx64,
			conv_hex(c, w, "compare_add"), conv_hex(c, w, "swap"));
	if (json_object_get(w, "mw_rkey_old"))
		put_bind(c, q->ep, w);
	if (json_object_get(w, "remote_qpn"))
		put_dest(c, q, w);
}

static void put_post(struct conv *c, struct conv_qp *q, const json_t *w, bool is_more,
		     bool is_refused)
{
	const char *op = conv_str(c, w, "opcode");
	const json_t *sge = json_object_get(w, "sge"), *flags = json_object_get(w, "flags");
	struct conv_wr wr = { .id = ++c->last_id[q->ep], .wr_id = conv_u64(c, w, "wr_id") };
	bool is_signaled;

	fprintf(c->f, "post h%s.q%" PRIu64 " id=%" PRIu64 " op=%s", c->ep[q->ep].name, q->number,
		wr.id, op);
	put_sge(c, q->ep, sge);
	put_operands(c, q, w, op, sge_bytes(c, sge));
	is_signaled = put_flags(c, flags, is_more);
	if (wr.wr_id != wr.id)
		fprintf(c->f, " wrid=%" PRIu64, wr.wr_id);
	if (is_signaled && !is_refused)
		conv_put_wait(c, q, 0, wr);
	conv_put_when(c, q->ep, q);
	if (is_refused)
		fprintf(c->f, "expect h%s.q%" PRIu64 " id=%" PRIu64 " error=EINVAL\n",
			c->ep[q->ep].name, q->number, wr.id);
}

void conv_on_post_send(struct conv *c)
{
	if (c->pending)
		record_err(&c->rec, c->e, "post_send without the return value of the one before");
	json_decref(c->pending);
	c->pending = json_incref(c->call);
}

/* A list of requests was accepted, or up to the one that was bad. */
void conv_on_post_send_ret(struct conv *c)
{
	const json_t *list = json_object_get(c->pending, "wrs"), *w;
	struct conv_qp *q = c->pending ? conv_qp(c, c->pending) : NULL;
	bool is_bad = conv_u64(c, c->call, "ret") != 0;
	uint64_t bad_id = is_bad ? conv_u64(c, c->call, "bad_wr_id") : 0;
	size_t i, n_good = json_array_size(list);

	if (!q) {
		record_err(&c->rec, c->e, "post_send_ret without a post_send");
		return;
	}
	if (is_bad)
		json_array_foreach(list, i, w) if (conv_u64(c, w, "wr_id") == bad_id) n_good =
			i < n_good ? i : n_good;
	json_array_foreach(list, i, w) if (i < n_good || (is_bad && i == n_good))
		put_post(c, q, w, i + 1 < n_good, i == n_good);
	json_decref(c->pending);
	c->pending = NULL;
}

/* The extended interface: one atomic. */
void conv_on_wr_post(struct conv *c)
{
	struct conv_qp *q = conv_qp(c, c->call);
	json_t *w = json_deep_copy(c->call);

	json_object_set_new(w, "flags", json_pack("[s]", "SIGNALED"));
	json_object_set_new(w, "sge",
			    json_pack("[{s:I,s:I,s:I}]", "addr", (json_int_t)conv_u64(c, w, "addr"),
				      "length", (json_int_t)8, "lkey",
				      (json_int_t)conv_u64(c, w, "lkey")));
	if (q)
		put_post(c, q, w, false, false);
	json_decref(w);
}

void conv_on_post_recv(struct conv *c)
{
	struct conv_qp *q = conv_qp(c, c->call);
	const json_t *sge = json_object_get(c->call, "sge");
	struct conv_wr wr = { .wr_id = conv_u64(c, c->call, "wr_id") };
	bool is_refused = conv_u64(c, c->call, "ret") != 0;

	if (!q)
		return;
	wr.id = ++c->last_id[q->ep];
	if (strcmp(q->type, "UD") == 0 && json_array_size(sge))
		wr.grh_va = conv_u64(c, json_array_get(sge, 0), "addr");
	fprintf(c->f, "recv h%s.q%" PRIu64 " id=%" PRIu64, c->ep[q->ep].name, q->number, wr.id);
	put_sge(c, q->ep, sge);
	if (wr.wr_id != wr.id)
		fprintf(c->f, " wrid=%" PRIu64, wr.wr_id);
	if (!is_refused)
		conv_put_wait(c, q, 1, wr);
	conv_put_when(c, q->ep, q);
	if (is_refused)
		fprintf(c->f, "expect h%s.q%" PRIu64 " id=%" PRIu64 " error=EINVAL\n",
			c->ep[q->ep].name, q->number, wr.id);
}
