/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_verdict.c - requests that can never end, completions that were lost
 */
#include "tools/run/run_verdict.h"

#include <inttypes.h>
#include <string.h>

#include "models/cqe_writer.h"
#include "models/requester.h"

/* ---- completions that were lost ---- */

/* The block of this class of NIC 'n'. */
static const struct block *block_of(const struct rnic *r, const struct nic *n, const char *cls)
{
	uint32_t i = 0;

	while (r->sim.blocks[i]->env != n || strcmp(r->sim.blocks[i]->cls->name, cls) != 0)
		i++;
	return r->sim.blocks[i];
}

/* Completions that CQ 'cqi' of NIC 'n' lost. */
static uint64_t lost_of_cq(const struct rnic *r, const struct nic *n, uint32_t cqi)
{
	return ((const struct cqe_writer *)block_of(r, n, "cqe_writer"))->cq[cqi].lost;
}

static bool lost_of_qp(const struct rnic *r, const struct host *h, uint32_t qp)
{
	const struct qp_attr *q = &h->nic->qp[r->system->qps[qp].qpi];

	return lost_of_cq(r, h->nic, q->scq) || lost_of_cq(r, h->nic, q->rcq);
}

/* "h0.c", or "of h0.q0" where the QP has a CQ of its own. */
static void cq_name(const struct system *s, const struct host *h, uint32_t cqi, char *text,
		    size_t len)
{
	const struct trace *t = s->trace;

	for (uint32_t i = 0; i < t->n_cqs; i++)
		if (t->cqs[i].host == h->index && s->cqs[i] == cqi) {
			snprintf(text, len, "%s.%s", h->name, t->cqs[i].name);
			return;
		}
	for (uint32_t k = 0; k < h->nic->n_qp; k++)
		if (h->nic->qp[k].scq == cqi || h->nic->qp[k].rcq == cqi)
			snprintf(text, len, "of %s.%s", h->name,
				 t->qps[h->nic->qp[k].trace_qp].name);
}

bool run_has_lost(const struct rnic *r, FILE *f)
{
	const struct system *s = r->system;
	char name[2 * NAME_MAX_LEN + 8] = "";
	bool has_lost = false;

	for (uint32_t i = 0; i < s->n_hosts; i++) {
		const struct host *h = &s->hosts[i];

		if (system_means_overflow(s, i))
			continue;
		for (uint32_t c = 0; c < h->nic->n_cq; c++) {
			uint64_t n = lost_of_cq(r, h->nic, c);

			if (!n)
				continue;
			has_lost = true;
			cq_name(s, h, c, name, sizeof(name));
			fprintf(f,
				"%" PRIu64 " completion(s) were lost: CQ %s (depth %" PRIu32
				") was full; give it a depth of all that can be outstanding, or "
				"`expect event %s CQ_ERR`\n",
				n, name, h->nic->cq[c].depth, h->name);
		}
	}
	return has_lost;
}

/* ---- requests that can never end ---- */

/* Why the first request of a QP that is not done may never be. */
static const char *why_open(const struct rnic *r, uint32_t host, uint32_t qp)
{
	const struct host *h = &r->system->hosts[host];
	const uint32_t qpi = r->system->qps[qp].qpi;
	const struct drv_qp *d = &h->qp[qpi];

	if (d->sq_bb != d->sq_rung)
		return "its doorbell was never rung (flags=more, and no post without it behind)";
	if (d->state == QPS_SQD)
		return "the QP is in SQD, where no request is begun: `modify ... state=RTS` goes on";
	if (lost_of_qp(r, h, qp))
		return "completions were lost in a full CQ";
	if (((const struct requester *)block_of(r, h->nic, "requester"))->qp[qpi].has_met_rnr)
		return "its receiver answered that no receive was posted (RNR NAK)";
	if (h->nic->qp[qpi].type == QP_RC && !h->nic->qp[qpi].timeout)
		return "no acknowledgement or completion came, and its ACK timer is off (timeout=0)";
	return "no acknowledgement or completion came";
}

/* Who waits for whom: every channel that holds messages or refuses them. */
static void print_stall(const struct rnic *r, uint64_t n, uint32_t host, uint32_t qp)
{
	const struct trace *t = r->system->trace;
	const struct sim *s = &r->sim;

	fprintf(stderr,
		"the simulation is stuck at %.3f us: %" PRIu64
		" request(s) posted and not completed, the first on %s.%s: %s\n",
		(double)s->now_ps / 1e6, n, t->hosts[host].name, t->qps[qp].name,
		why_open(r, host, qp));
	for (uint32_t i = 0; i < s->n_chans; i++) {
		const struct chan *c = s->chans[i];

		if (c->count)
			fprintf(stderr, "  %s waits for %s: %" PRIu32 " of %" PRIu32 " %s in %s\n",
				c->producer->name, c->consumer->name, c->count, c->depth, c->type,
				c->name);
	}
}

bool run_is_stuck(const struct rnic *r, enum sim_end end, FILE *f, struct err *e)
{
	const struct system *sys = r->system;
	uint32_t host = 0, qp = 0;
	uint64_t open = system_unfinished(sys, &host, &qp);
	struct err why = { 0 };

	if (end == SIM_END_UNTIL) {
		if (open && f)
			fprintf(f, "stopped at %.3f us with %" PRIu64 " request(s) open\n",
				(double)r->sim.now_ps / 1e6, open);
		return false;
	}
	if (open)
		print_stall(r, open, host, qp);
	if (feed_blocked(sys, &why))
		return open != 0;
	if (!sys->is_eof)
		*e = why;
	else
		fprintf(stderr, "%s\n", why.text);
	return true;
}
