/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reach.c - can one host of the trace speak to another: a link joins them, and their addresses are of one kind
 */
#include "models/verbs/setup.h"

static const char *family(const struct host *h)
{
	return h->nic->addr.is_v6 ? "IPv6" : "IPv4";
}

/* 'what' (a QP's name, or "this request") of host 'a' sends to host 'b'. */
static bool check_pair(const struct system *s, uint32_t a, uint32_t b, const char *what,
		       unsigned line, struct err *e)
{
	const struct host *from = &s->hosts[a], *to = &s->hosts[b];

	if (from->far != b)
		return err_set(e, s->trace->path, line,
			       "%s sends to host %s, but the link of host %s leads to %s; "
			       "allowed: the host at the other end of the link",
			       what, to->name, from->name, s->hosts[from->far].name);
	if (from->nic->addr.net == NET_ROCE2 && from->nic->addr.is_v6 != to->nic->addr.is_v6)
		return err_set(e, s->trace->path, line,
			       "%s: host %s has an %s address, host %s an %s one; "
			       "allowed: peers of one family, or an encap that has no IP",
			       what, from->name, family(from), to->name, family(to));
	return true;
}

bool reach_check_rec(const struct system *s, const struct rec *c, struct err *e)
{
	if (c->kind != REC_POST || c->dest_host == TRACE_NONE ||
	    s->hosts[c->host].far == TRACE_NONE)
		return true;
	return check_pair(s, c->host, c->dest_host, "this request", c->line, e);
}

bool reach_check(const struct system *s, struct err *e)
{
	const struct trace *t = s->trace;

	for (uint32_t i = 0; i < t->n_qps; i++)
		if (t->qps[i].peer_host != TRACE_NONE &&
		    !check_pair(s, t->qps[i].host, t->qps[i].peer_host, t->qps[i].name,
				t->qps[i].line, e))
			return false;
	for (uint32_t h = 1; h <= s->recs.n_slots; h++)
		if (rec_at(&s->recs, h)->is_used && !reach_check_rec(s, rec_at(&s->recs, h), e))
			return false;
	return true;
}
