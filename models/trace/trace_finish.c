/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_finish.c - what can be checked only when all set-up records of a trace are known
 */
#include <stdlib.h>

#include "models/trace/trace_reader.h"

struct number { /* a number given to something, to find the same one given twice */
	uint32_t host, number;
	unsigned line;
};

static int by_number(const void *a, const void *b)
{
	const struct number *x = a, *y = b;

	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* Two of the numbers given (not 0) are the same on one host. */
static bool check_numbers(const struct trace *t, struct number *v, uint32_t n, const char *what,
			  struct err *e)
{
	qsort(v, n, sizeof(*v), by_number);
	for (uint32_t i = 1; i < n; i++)
		if (v[i].number && v[i].host == v[i - 1].host && v[i].number == v[i - 1].number)
			return err_set(e, t->path, v[i].line,
				       "%s=0x%x is given twice on host %s (line %u)", what,
				       v[i].number, t->hosts[v[i].host].name, v[i - 1].line);
	return true;
}

static bool check_all_numbers(struct trace *t, struct err *e)
{
	struct number *v = x_calloc(t->n_qps + t->n_mrs, sizeof(*v));
	bool ok;

	for (uint32_t i = 0; i < t->n_qps; i++)
		v[i] = (struct number){ t->qps[i].host, t->qps[i].qpn, t->qps[i].line };
	ok = check_numbers(t, v, t->n_qps, "qpn", e);
	for (uint32_t i = 0; i < t->n_mrs; i++)
		v[i] = (struct number){ t->mrs[i].host, t->mrs[i].lkey, t->mrs[i].line };
	ok = ok && check_numbers(t, v, t->n_mrs, "lkey", e);
	for (uint32_t i = 0; i < t->n_mrs; i++)
		v[i] = (struct number){ t->mrs[i].host, t->mrs[i].rkey, t->mrs[i].line };
	ok = ok && check_numbers(t, v, t->n_mrs, "rkey", e);
	free(v);
	return ok;
}

static const char *const types[] = { "RC", "UC", "UD" }; /* enum qp_type */

static bool resolve_peer(struct trace *t, struct trace_qp *q, struct err *e)
{
	const char *p = q->peer_name;
	char why[RECORD_WHY];
	const struct trace_qp *peer;

	if (q->peer_host != TRACE_NONE && q->mtu > t->hosts[q->peer_host].mtu)
		return err_set(e, t->path, q->line,
			       "mtu=%u is more than the port's mtu=%u of host %s", q->mtu,
			       t->hosts[q->peer_host].mtu, t->hosts[q->peer_host].name);
	if (!*p)
		return true;
	if (!trace_take(t, &p, THING_QP, q->peer_host, &q->peer_qp, why))
		return err_set(e, t->path, q->line, "peer='%s.%s': %s", t->hosts[q->peer_host].name,
			       q->peer_name, why);
	peer = &t->qps[q->peer_qp];
	if (peer->type != q->type)
		return err_set(e, t->path, q->line,
			       "type=%s, but the peer %s.%s has type=%s (line %u)", types[q->type],
			       t->hosts[peer->host].name, peer->name, types[peer->type],
			       peer->line);
	q->peer_qpn = peer->qpn;
	return true;
}

bool trace_finish_setup(struct trace *t, struct err *e)
{
	if (!check_all_numbers(t, e))
		return false;
	for (uint32_t i = 0; i < t->n_qps; i++)
		if (!resolve_peer(t, &t->qps[i], e))
			return false;
	t->reader->ids = x_calloc(t->n_hosts, sizeof(*t->reader->ids));
	return true;
}
