/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_convert_setup.c - recorded verbs calls to a trace: endpoints, regions, windows, QPs
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/msg.h"
#include "tools/trace/trace_convert.h"

static const char *const state_names[] = {
	"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR", NULL
};

static void *grow(void *array, uint32_t n, size_t size)
{
	if ((n & (n - 1)) == 0)
		array = x_realloc(array, (n ? 2 * (size_t)n : 1) * size);
	memset((char *)array + n * size, 0, size);
	return array;
}

static void parse_gid(struct conv *c, const json_t *o, const char *key, uint8_t *gid)
{
	const char *p = conv_str(c, o, key), *q = p;

	if (record_hex(&p, NULL) == 16 && *p == '\0')
		record_hex(&q, gid);
	else
		record_err(&c->rec, c->e, "'%s' must be a string of 32 hex digits", key);
}

static uint32_t ep_of_gid(struct conv *c, const json_t *o)
{
	uint8_t gid[16] = { 0 };
	uint32_t i = 0;

	parse_gid(c, o, "dgid", gid);
	while (i < c->n_ep && memcmp(c->ep[i].gid, gid, 16) != 0)
		i++;
	if (i == c->n_ep)
		record_err(&c->rec, c->e, "'dgid' is of no endpoint");
	return i < c->n_ep ? i : 0;
}

void conv_set_endpoint(struct conv *c)
{
	struct conv_ep *ep = &c->ep[c->n_ep];
	const char *name = conv_str(c, c->call, "ep");

	if (c->n_ep == CONV_MAX_EP || strlen(name) >= sizeof(ep->name)) {
		record_err(&c->rec, c->e,
			   "more than %u endpoints, or a name of more than %zu letters",
			   CONV_MAX_EP, sizeof(ep->name) - 1);
		return;
	}
	memcpy(ep->name, name, strlen(name) + 1);
	parse_gid(c, c->call, "gid", ep->gid);
	ep->mtu = (uint32_t)conv_u64(c, c->call, "active_mtu");
	ep->ud_peer = c->n_ep ? 0 : 1;
	ep->hop_limit = 64;
	c->n_ep++;
}

/*
 * "b[i]=(7*i+3+13*(i>>8)+29*(i>>16))&255"; without a pattern the region lies over memory filled
 * before.
 */
static void parse_pattern(struct conv *c, struct conv_mr *m)
{
	const char *text = json_string_value(json_object_get(c->call, "pattern"));
	unsigned v[4] = { 0 };
	int end = 0;

	if (!text) {
		snprintf(m->fill, sizeof(m->fill), "keep");
		return;
	}
	if (sscanf(text, "b[i]=(%u*i+%u+%u*(i>>8)+%u*(i>>16))&255%n", &v[0], &v[1], &v[2], &v[3],
		   &end) != 4 ||
	    text[end])
		record_err(&c->rec, c->e,
			   "pattern '%.60s': must be like b[i]=(7*i+3+13*(i>>8)+29*(i>>16))&255",
			   text);
	snprintf(m->fill, sizeof(m->fill), "lin:%u,%u,%u,%u", v[0], v[1], v[2], v[3]);
}

void conv_set_mr(struct conv *c)
{
	uint32_t ep = conv_ep(c, c->call);
	struct conv_mr *m;

	c->mr = grow(c->mr, c->n_mr, sizeof(*c->mr));
	m = &c->mr[c->n_mr++];
	m->ep = ep;
	m->number = c->ep[ep].n_mr++;
	m->va = conv_u64(c, c->call, "addr");
	m->len = conv_u64(c, c->call, "length");
	m->access = conv_u64(c, c->call, "access");
	m->lkey = (uint32_t)conv_u64(c, c->call, "lkey");
	m->rkey = (uint32_t)conv_u64(c, c->call, "rkey");
	m->is_other_pd =
		strcmp(json_object_get(c->call, "what") ? conv_str(c, c->call, "what") : "",
		       "other pd") == 0;
	parse_pattern(c, m);
}

void conv_set_mw(struct conv *c)
{
	uint32_t ep = conv_ep(c, c->call);
	struct conv_mw *w;

	c->mw = grow(c->mw, c->n_mw, sizeof(*c->mw));
	w = &c->mw[c->n_mw++];
	w->ep = ep;
	w->number = c->ep[ep].n_mw++;
	w->rkey = (uint32_t)conv_u64(c, c->call, "rkey");
}

void conv_set_qp(struct conv *c)
{
	const json_t *cap = json_object_get(c->call, "cap");
	const char *type = conv_str(c, c->call, "type");
	struct conv_qp *q;

	if (json_is_true(json_object_get(c->call, "srq")) || strlen(type) >= sizeof(q->type)) {
		record_err(&c->rec, c->e, "a QP of type '%.20s'%s is not converted", type,
			   json_is_true(json_object_get(c->call, "srq")) ? " with an SRQ" : "");
		return;
	}
	c->qp = grow(c->qp, c->n_qp, sizeof(*c->qp));
	q = &c->qp[c->n_qp++];
	memcpy(q->type, type, strlen(type) + 1);
	q->ep = conv_ep(c, c->call);
	q->peer_ep = CONV_MAX_EP;
	q->number = conv_u64(c, c->call, "qp");
	q->qpn = conv_u64(c, c->call, "qpn");
	q->sq = conv_u64(c, cap, "max_send_wr");
	q->rq = conv_u64(c, cap, "max_recv_wr");
	q->max_sge = max_u64(conv_u64(c, cap, "max_send_sge"), conv_u64(c, cap, "max_recv_sge"));
	q->max_inline = conv_u64(c, cap, "max_inline_data");
	q->mtu = c->ep[q->ep].mtu; /* UD; the others say path_mtu */
	q->rd_atomic = q->dest_rd_atomic = 16;
	q->timeout = 14;
	q->retry = q->rnr_retry = 7;
	q->min_rnr = 12;
	q->hop_limit = 64;
}

bool conv_is_setup_step(const struct conv_qp *q, uint32_t state)
{
	return state <= QPS_RTS && state == q->state + 1;
}

void conv_set_modify(struct conv *c)
{
	const json_t *o = c->call;
	struct conv_qp *q = conv_qp(c, o);
	const char *name = conv_str(c, o, "state");
	uint32_t state = 0;

	while (state_names[state] && strcmp(state_names[state], name) != 0)
		state++;
	if (!q || !conv_is_setup_step(q, state) || conv_u64(c, o, "ret"))
		return;
	q->state = state;
	q->access = conv_u64_or(o, "access", q->access);
	q->qkey = conv_u64_or(o, "qkey", q->qkey);
	q->psn = conv_u64_or(o, "sq_psn", q->psn);
	q->mtu = conv_u64_or(o, "path_mtu", q->mtu);
	q->sl = conv_u64_or(o, "sl", q->sl);
	q->tclass = conv_u64_or(o, "traffic_class", q->tclass);
	q->flow_label = conv_u64_or(o, "flow_label", q->flow_label);
	q->hop_limit = conv_u64_or(o, "hop_limit", q->hop_limit);
	q->rd_atomic = conv_u64_or(o, "max_rd_atomic", q->rd_atomic);
	q->dest_rd_atomic = conv_u64_or(o, "max_dest_rd_atomic", q->dest_rd_atomic);
	q->timeout = conv_u64_or(o, "timeout", q->timeout);
	q->retry = conv_u64_or(o, "retry_cnt", q->retry);
	q->rnr_retry = conv_u64_or(o, "rnr_retry", q->rnr_retry);
	q->min_rnr = conv_u64_or(o, "min_rnr_timer", q->min_rnr);
	if (json_object_get(o, "dest_qpn")) {
		q->peer_qpn = conv_u64(c, o, "dest_qpn");
		q->peer_ep = ep_of_gid(c, o);
	}
}

/* The format has no address handles: UD QPs of an endpoint take what its last handle said. */
void conv_set_ah(struct conv *c)
{
	struct conv_ep *ep = &c->ep[conv_ep(c, c->call)];

	ep->ud_peer = ep_of_gid(c, c->call);
	ep->hop_limit = conv_u64(c, c->call, "hop_limit");
	ep->tclass = conv_u64(c, c->call, "traffic_class");
	ep->flow_label = conv_u64(c, c->call, "flow_label");
}

void conv_set_notify(struct conv *c)
{
	const char *cq = conv_str(c, c->call, "cq");
	char *end;
	uint64_t number = strtoull(cq, &end, 10);

	for (uint32_t i = 0; i < c->n_qp; i++)
		if (c->qp[i].number == number)
			c->qp[i].queue[strcmp(end, ".recv") == 0].is_armed = true;
}

/* ---- output ---- */

static void put_hosts(struct conv *c)
{
	static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };
	char text[INET6_ADDRSTRLEN];

	for (uint32_t i = 0; i < c->n_ep; i++) {
		bool is_v4 = memcmp(c->ep[i].gid, v4_mapped, 12) == 0;

		inet_ntop(is_v4 ? AF_INET : AF_INET6, c->ep[i].gid + (is_v4 ? 12 : 0), text,
			  sizeof(text));
		fprintf(c->f, "host h%s ip=%s mtu=%" PRIu32 "\n", c->ep[i].name, text,
			c->ep[i].mtu);
	}
}

void conv_put_access(struct conv *c, const char *key, uint64_t access)
{
	static const char *const names[] = { "lw", "rw", "rr", "ra", "mw" };
	const char *comma = "";

	fprintf(c->f, " %s=", key);
	for (uint32_t i = 0; i < ARRAY_LEN(names); i++)
		if (access >> i & 1) {
			fprintf(c->f, "%s%s", comma, names[i]);
			comma = ",";
		}
}

static void put_regions(struct conv *c)
{
	for (uint32_t i = 0; i < c->n_mr; i++)
		if (c->mr[i].is_other_pd)
			fprintf(c->f, "pd h%s p%" PRIu32 "\n", c->ep[c->mr[i].ep].name,
				c->mr[i].number);
	for (uint32_t i = 0; i < c->n_mr; i++) {
		const struct conv_mr *m = &c->mr[i];

		fprintf(c->f, "mr h%s m%" PRIu32 " va=0x%" PRIx64 " len=%" PRIu64,
			c->ep[m->ep].name, m->number, m->va, m->len);
		conv_put_access(c, "access", m->access);
		fprintf(c->f, " lkey=0x%" PRIx32, m->lkey);
		if (m->rkey)
			fprintf(c->f, " rkey=0x%" PRIx32, m->rkey);
		if (m->is_other_pd)
			fprintf(c->f, " pd=p%" PRIu32, m->number);
		fprintf(c->f, " fill=%s\n", m->fill);
	}
	for (uint32_t i = 0; i < c->n_mw; i++)
		fprintf(c->f, "mw h%s w%" PRIu32 " rkey=0x%" PRIx32 "\n", c->ep[c->mw[i].ep].name,
			c->mw[i].number, c->mw[i].rkey);
}

/* By name where the recording has it, else by number. */
static void put_peer(struct conv *c, const struct conv_qp *q)
{
	for (uint32_t i = 0; i < c->n_qp; i++)
		if (c->qp[i].ep == q->peer_ep && c->qp[i].qpn == q->peer_qpn) {
			fprintf(c->f, " peer=h%s.q%" PRIu64, c->ep[q->peer_ep].name,
				c->qp[i].number);
			return;
		}
	fprintf(c->f, " peer=h%s:%" PRIu64, c->ep[q->peer_ep].name, q->peer_qpn);
}

static void put_qp(struct conv *c, struct conv_qp *q)
{
	bool is_ud = strcmp(q->type, "UD") == 0;

	fprintf(c->f, "qp h%s q%" PRIu64 " type=%s", c->ep[q->ep].name, q->number, q->type);
	if (q->peer_ep != CONV_MAX_EP)
		put_peer(c, q);
	if (is_ud) {
		q->hop_limit = c->ep[q->ep].hop_limit;
		q->tclass = c->ep[q->ep].tclass;
		q->flow_label = c->ep[q->ep].flow_label;
	}
	fprintf(c->f,
		" qpn=0x%" PRIx64 " psn=0x%" PRIx64 " mtu=%" PRIu64 " sq=%" PRIu64 " rq=%" PRIu64
		" max_sge=%" PRIu64 " inline=%" PRIu64,
		q->qpn, q->psn, q->mtu, q->sq, q->rq, q->max_sge, q->max_inline);
	if (q->state != QPS_RTS)
		fprintf(c->f, " state=%s", state_names[q->state]);
	fprintf(c->f,
		" rd_atomic=%" PRIu64 " dest_rd_atomic=%" PRIu64 " timeout=%" PRIu64
		" retry=%" PRIu64 " rnr_retry=%" PRIu64 " min_rnr=%" PRIu64,
		q->rd_atomic, q->dest_rd_atomic, q->timeout, q->retry, q->rnr_retry, q->min_rnr);
	fprintf(c->f,
		" sl=%" PRIu64 " tclass=%" PRIu64 " flow_label=0x%" PRIx64 " hop_limit=%" PRIu64,
		q->sl, q->tclass, q->flow_label, q->hop_limit);
	if (is_ud)
		fprintf(c->f, " qkey=0x%" PRIx64, q->qkey);
	else
		conv_put_access(c, "access", q->access);
	if (q->queue[0].is_armed)
		fprintf(c->f, " scq=c%" PRIu64 "s", q->number);
	if (q->queue[1].is_armed)
		fprintf(c->f, " rcq=c%" PRIu64 "r", q->number);
	fputc('\n', c->f);
}

void conv_put_setup(struct conv *c)
{
	put_hosts(c);
	put_regions(c);
	for (uint32_t i = 0; i < c->n_qp; i++)
		for (int side = 0; side < 2; side++)
			if (c->qp[i].queue[side].is_armed)
				fprintf(c->f, "cq h%s c%" PRIu64 "%s\n", c->ep[c->qp[i].ep].name,
					c->qp[i].number, side ? "r" : "s");
	for (uint32_t i = 0; i < c->n_qp; i++)
		put_qp(c, &c->qp[i]);
}
