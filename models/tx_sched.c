/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tx_sched.c - the transmit arbiter: priorities, deficit round robin, caps
 */
#include "models/tx_sched.h"

#include "sim/units.h"

void tx_sched_build(struct tx_sched *s, struct block *b, uint32_t n_qp)
{
	size_t n = n_qp ? n_qp : 1;

	s->n_qp = n_qp;
	s->qp = block_alloc(b, n, sizeof(*s->qp));
	s->links = block_alloc(b, n, sizeof(*s->links));
	s->paced_qp = block_alloc(b, n, sizeof(*s->paced_qp));
}

void tx_sched_reset(struct tx_sched *s, uint32_t quantum, uint32_t burst)
{
	s->quantum = quantum;
	s->burst = burst;
	for (uint32_t i = 0; i < s->n_qp; i++)
		s->qp[i] = (struct tx_sched_qp){ .weight = 1 };
	for (uint32_t i = 0; i < TX_SCHED_PRIOS; i++)
		qp_list_init(&s->ready[i], s->links, s->n_qp);
	qp_list_init(&s->first, s->links, s->n_qp);
	pace_wheel_init(&s->paced, s->paced_qp);
	s->n_ready = s->used = 0;
}

void tx_sched_set_qps(struct tx_sched *s, const struct nic *n, bool has_prios)
{
	for (uint32_t i = 0; i < n->n_qp; i++) {
		const struct qp_attr *a = &n->qp[i];

		tx_sched_set_prio(s, i, has_prios ? a->prio % TX_SCHED_PRIOS : 0);
		tx_sched_set_weight(s, i, a->weight ? a->weight : 1);
		tx_sched_set_rate(s, i, a->rate_bps);
	}
}

void tx_sched_set_prio(struct tx_sched *s, uint32_t qpi, uint8_t prio)
{
	s->qp[qpi].prio = prio;
}

void tx_sched_set_weight(struct tx_sched *s, uint32_t qpi, uint8_t weight)
{
	s->qp[qpi].weight = weight;
}

void tx_sched_set_rate(struct tx_sched *s, uint32_t qpi, uint64_t rate_bps)
{
	s->qp[qpi].rate_bps = rate_bps;
	s->qp[qpi].lag_ps = rate_bps ? ps_of_bytes(s->burst, rate_bps) : 0;
}

/* The list whose head has the turn; some QP is ready. */
static const struct qp_list *head_list(const struct tx_sched *s)
{
	return s->first.n ? &s->first : &s->ready[31 - __builtin_clz(s->used)];
}

static int64_t turn_of(const struct tx_sched *s, const struct tx_sched_qp *q)
{
	return (int64_t)s->quantum * q->weight;
}

/* At the end of its list, with a new turn. */
static void enqueue(struct tx_sched *s, uint32_t qpi)
{
	struct tx_sched_qp *q = &s->qp[qpi];

	q->left = (q->left < 0 ? q->left : 0) + turn_of(s, q);
	q->place = TX_READY;
	qp_list_add(&s->ready[q->prio], qpi);
	s->used |= 1u << q->prio;
	s->n_ready++;
}

/* The QP's cap lets it send; if not, it waits. */
static bool is_due(struct tx_sched *s, uint32_t qpi, uint64_t now_ps)
{
	struct tx_sched_qp *q = &s->qp[qpi];

	if (q->rate_bps == 0 || q->due_ps <= now_ps)
		return true;
	q->place = TX_PACED;
	pace_wheel_add(&s->paced, qpi, q->due_ps, now_ps);
	return false;
}

void tx_sched_add(struct tx_sched *s, uint32_t qpi, uint64_t now_ps)
{
	if (s->qp[qpi].place != TX_OFF || !is_due(s, qpi, now_ps))
		return;
	s->qp[qpi].due_ps = now_ps;
	enqueue(s, qpi);
}

void tx_sched_resume(struct tx_sched *s, uint32_t qpi, uint64_t now_ps)
{
	if (s->qp[qpi].place != TX_OFF || !is_due(s, qpi, now_ps))
		return;
	s->qp[qpi].place = TX_FIRST;
	qp_list_add(&s->first, qpi);
	s->n_ready++;
}

uint32_t tx_sched_head(const struct tx_sched *s)
{
	return s->n_ready ? head_list(s)->head : TX_SCHED_NONE;
}

/* The head takes turns with others; whoever is on the list 'first' does not. */
static bool is_shared(const struct tx_sched *s)
{
	const struct qp_list *l = head_list(s);

	return l != &s->first && l->n > 1;
}

bool tx_sched_is_in_debt(const struct tx_sched *s)
{
	return is_shared(s) && s->qp[tx_sched_head(s)].left <= 0;
}

uint64_t tx_sched_left(const struct tx_sched *s)
{
	int64_t left = s->qp[tx_sched_head(s)].left;

	if (!is_shared(s))
		return UINT64_MAX;
	return left > 0 ? (uint64_t)left : 1;
}

uint32_t tx_sched_packets(const struct tx_sched *s, uint32_t mtu, uint32_t most)
{
	uint64_t left = tx_sched_left(s);

	if (tx_sched_is_capped(s, tx_sched_head(s)))
		return 1;
	return left >= (uint64_t)mtu * most ? most : (uint32_t)ceil_div(left, mtu);
}

void tx_sched_drop(struct tx_sched *s)
{
	uint32_t qpi = tx_sched_head(s);
	struct tx_sched_qp *q = &s->qp[qpi];

	qp_list_take(q->place == TX_FIRST ? &s->first : &s->ready[q->prio]);
	if (!s->ready[q->prio].n)
		s->used &= ~(1u << q->prio);
	q->place = TX_OFF;
	s->n_ready--;
}

void tx_sched_pay(struct tx_sched *s)
{
	uint32_t qpi = tx_sched_head(s);

	tx_sched_drop(s);
	enqueue(s, qpi);
}

void tx_sched_sent(struct tx_sched *s, uint64_t bytes, bool more, uint64_t now_ps)
{
	uint32_t qpi = tx_sched_head(s);
	struct tx_sched_qp *q = &s->qp[qpi];
	bool is_alone = q->place == TX_READY && !is_shared(s);

	q->left -= (int64_t)bytes;
	if (q->rate_bps)
		q->due_ps = max_u64(q->due_ps, now_ps > q->lag_ps ? now_ps - q->lag_ps : 0) +
			    ps_of_bytes(bytes, q->rate_bps);
	if (more && is_alone && q->left <= 0)
		q->left = turn_of(s, q);
	if (more && q->place == TX_READY && q->left > 0 && (!q->rate_bps || q->due_ps <= now_ps))
		return;
	tx_sched_drop(s);
	if (more && is_due(s, qpi, now_ps))
		enqueue(s, qpi);
}

uint32_t tx_sched_release(struct tx_sched *s, uint64_t now_ps)
{
	uint32_t qpi;

	if (!pace_wheel_take(&s->paced, now_ps, &qpi))
		return TX_SCHED_NONE;
	enqueue(s, qpi);
	return qpi;
}
