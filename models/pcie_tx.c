/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcie_tx.c - one direction of a PCI Express link: queues, credits, ordering, serialisation
 */
#include "models/pcie_tx.h"

#include "sim/pool.h"

/* ---- what a train consists of ---- */

/* Data credits of 'bytes' bytes. */
static uint32_t units(uint32_t bytes)
{
	return (bytes + FC_UNIT - 1) / FC_UNIT;
}

/* Writes are cut at mps; of completions the first ends at a boundary, those behind are full. */
static inline struct tx_cut cut_of(const struct pcie_tx *x, const struct tlp *t)
{
	uint32_t skip = t->kind == TLP_CPLD ? (uint32_t)t->addr % x->rcb : 0, n, first, last;

	if (t->kind == TLP_MRD)
		/* the device asks for no more than its maximum read request at once */
		return (struct tx_cut){ .n = 1 };
	if (skip + t->len <= x->mps)
		return (struct tx_cut){ 1, t->len, t->len, units(t->len), units(t->len) };
	n = (uint32_t)ceil_div(skip + t->len, x->mps);
	first = x->mps - skip;
	last = skip + t->len - (n - 1) * x->mps;
	return (struct tx_cut){ n, first, last,
				units(first) + (n - 2) * units(x->mps) + units(last),
				units(first) };
}

/* ---- credits ---- */

/* UpdateFCs that have arrived by now. */
static inline void take_updates(const struct pcie_tx *x, struct fc *f)
{
	while (f->n && f->update[f->head].arrive_cyc <= x->b->cycle) {
		f->hdr += f->update[f->head].hdr;
		f->data += f->update[f->head].data;
		f->head = f->head + 1 == f->size ? 0 : f->head + 1;
		f->n--;
		SIM_CHECK((!f->max_hdr || f->hdr <= f->max_hdr) &&
				  (!f->max_data || f->data <= f->max_data),
			  x->b);
	}
}

static inline bool fits_whole(const struct fc *f, const struct tx_cut *c)
{
	return c->n <= f->hdr && c->data <= f->data;
}

/* TLPs of a train for which there are credits: of the first one on, as many as may follow at once. */
static uint32_t allowed(const struct pcie_tx *x, const struct fc *f, const struct tx_cut *c)
{
	uint32_t n = 1;

	if (fits_whole(f, c))
		return c->n;
	if (f->hdr == 0 || f->data < c->first_data)
		return 0;
	n += (f->data - c->first_data) / units(x->mps);
	return (uint32_t)min_u64(min_u64(n, c->n - 1), f->hdr);
}

static inline void consume(const struct pcie_tx *x, struct fc *f, uint32_t hdr, uint32_t data)
{
	SIM_CHECK(f->hdr >= hdr && f->data >= data, x->b);
	f->hdr -= f->max_hdr ? hdr : 0;
	f->data -= f->max_data ? data : 0;
}

/*
 * The receiver's buffers of these credits are empty at cycle 'cyc': an UpdateFC leaves, but not sooner
 * than fc_interval after the one before it; until then what is freed goes with it.
 */
static inline void give_back(const struct pcie_tx *x, struct fc *f, uint32_t hdr, uint32_t data,
			     uint64_t cyc)
{
	uint32_t end;

	if (!f->update)
		return;
	hdr = f->max_hdr ? hdr : 0;
	data = f->max_data ? data : 0;
	if (f->n && f->sent_cyc >= cyc) {
		end = f->head + f->n - 1;
		end = end < f->size ? end : end - f->size;
		f->update[end].hdr += hdr;
		f->update[end].data += data;
		return;
	}
	SIM_CHECK(f->n < f->size, x->b);
	f->sent_cyc = max_u64(cyc, f->sent_cyc + x->fc_interval_cyc);
	end = f->head + f->n++;
	f->update[end < f->size ? end : end - f->size] =
		(struct fc_update){ f->sent_cyc + x->fc_latency_cyc, hdr, data };
}

/* ---- waiting ---- */

static struct tx_train *head_of(struct tx_queue *q)
{
	return &q->at[q->head];
}

/* Charge the time up to 'ps' to what the queue waited for. */
static void charge(struct tx_queue *q, uint64_t ps)
{
	q->waited[q->cause] += ps - q->since_ps;
	q->since_ps = ps;
}

/* What keeps the head of queue 'c': credits of its own, posted trains that must go first, the lane. */
static enum tx_cause cause_of(struct pcie_tx *x, uint32_t c)
{
	const struct tx_train *t = head_of(&x->q[c]), *p = head_of(&x->q[FC_P]);

	take_updates(x, &x->fc[c]);
	if (allowed(x, &x->fc[c], &t->cut) == 0)
		return TX_CREDIT;
	if (c == FC_P || x->q[FC_P].n == 0 || p->order > t->order || (c == FC_CPL && x->is_relaxed))
		return TX_LINK;
	return cause_of(x, FC_P) == TX_CREDIT ? TX_ORDER : TX_LINK;
}

/* The first edge at which 't' could have been sent: that one counts its waiting from. */
static inline uint64_t ready_ps(const struct pcie_tx *x, const struct tlp *t)
{
	const struct domain *d = x->b->dom;

	if (x->b->now_ps - t->ready_ps < d->period_q)
		return x->b->now_ps;
	return domain_edge(d, domain_cycle_at(d, t->ready_ps));
}

/* A train goes to the end of its queue. In front of the queues it waited for the lane. */
static void put(struct pcie_tx *x, const struct tlp *t)
{
	uint32_t c = tlp_class(t), end = x->q[c].head + x->q[c].n;
	struct tx_queue *q = &x->q[c];
	struct tx_train *to = &q->at[end < x->queue_size ? end : end - x->queue_size];
	uint64_t now = x->b->now_ps;

	to->tlp = *t;
	to->cut = cut_of(x, t);
	to->order = x->order++;
	x->waiting++;
	x->wait_ps[t->cls][TX_LINK] += now - ready_ps(x, t);
	if (q->n++ == 0) {
		q->since_ps = now;
		q->cause = (uint8_t)cause_of(x, c);
	} else {
		charge(q, now);
	}
	memcpy(to->waited, q->waited, sizeof(to->waited));
}

/* ---- sending ---- */

/*
 * Send the first 'n' TLPs of train 't' from 'start_ps' on, with 'len' bytes of data for 'data'
 * credits: occupy the lane, put them on the line.
 */
static void depart(struct pcie_tx *x, const struct tlp *t, uint64_t start_ps, uint32_t n,
		   uint32_t len, uint32_t data)
{
	enum fc_class c = tlp_class(t);
	struct tx_line *l = x->line[c];
	uint32_t end = l->head + l->n;
	struct tx_flight *f = &l->at[end < l->size ? end : end - l->size];
	uint64_t bytes =
		(uint64_t)n * (c == FC_CPL ? x->hdr_cpl : x->hdr_req) + (c == FC_NP ? 0 : len);
	uint64_t frac = (start_ps == x->busy_ps ? x->busy_frac : 0) + bytes * x->byte_num;

	consume(x, &x->fc[c], n, data);
	x->busy_ps = start_ps + frac / x->byte_den;
	x->busy_frac = frac % x->byte_den;
	x->free_cyc = domain_cycle_at(x->b->dom, x->busy_ps + 1) - 1;
	f->tlp = *t;
	f->tlp.len = len;
	f->arrive_cyc = max_u64(domain_cycle_at(x->b->dom, x->busy_ps + x->latency_ps),
				max_u64(l->last_cyc, x->b->cycle) + 1);
	f->hdr = n;
	f->data = data;
	l->last_cyc = f->arrive_cyc;
	if (l->ahead == l->n && tlp_push_ahead(l->out, &f->tlp, f->arrive_cyc))
		l->ahead++;
	if (l->n++ == 0)
		l->due_cyc = f->arrive_cyc;
	*x->total_busy_ps += x->busy_ps - start_ps;
	*x->tlps[c] += n;
	x->bytes[t->cls] += bytes;
}

/*
 * Send 'n' TLPs, not all, of the head of queue 'c'. What is left is a train of its own, ready when
 * the lane has sent them; until then its queue is charged with credits.
 */
static void send_part(struct pcie_tx *x, uint32_t c, uint64_t start_ps, uint32_t n)
{
	struct tx_queue *q = &x->q[c];
	struct tx_train *t = head_of(q);
	uint32_t len = t->cut.first + (n - 1) * x->mps;

	depart(x, &t->tlp, start_ps, n, len, t->cut.first_data + (n - 1) * units(x->mps));
	if (t->tlp.kind == TLP_MWR)
		buf_ref(x->b->sim, t->tlp.buf); /* each part has a reference of its own */
	t->tlp.addr += len;
	t->tlp.off += len;
	t->tlp.len -= len;
	t->cut = cut_of(x, &t->tlp);
	memcpy(t->waited, q->waited, sizeof(t->waited));
	t->waited[TX_CREDIT] += x->busy_ps - q->since_ps;
	q->cause = TX_CREDIT;
	++*x->parts;
}

/* Send what there are credits for of the head of queue 'c'. */
static void send(struct pcie_tx *x, uint32_t c, uint64_t start_ps)
{
	struct tx_queue *q = &x->q[c];
	const struct tx_train *t = head_of(q);
	uint32_t n = allowed(x, &x->fc[c], &t->cut);

	for (uint32_t k = 0; k < TX_CAUSES; k++)
		x->wait_ps[t->tlp.cls][k] += q->waited[k] - t->waited[k];
	if (n < t->cut.n) {
		send_part(x, c, start_ps, n);
		return;
	}
	depart(x, &t->tlp, start_ps, n, t->tlp.len, t->cut.data);
	q->head = q->head + 1 == x->queue_size ? 0 : q->head + 1;
	q->n--;
	x->waiting--;
}

/* The lane is free: the oldest train of the queues that may go, goes. False when there is none. */
static bool choose(struct pcie_tx *x)
{
	uint64_t start_ps = max_u64(x->b->now_ps, x->busy_ps);
	uint32_t best = FC_CLASSES;

	for (uint32_t c = 0; c < FC_CLASSES; c++) {
		struct tx_queue *q = &x->q[c];

		if (q->n == 0)
			continue;
		charge(q, start_ps);
		q->cause = (uint8_t)cause_of(x, c);
		if (q->cause == TX_LINK && tx_line_has_room(x->line[c]) &&
		    (best == FC_CLASSES || head_of(q)->order < head_of(&x->q[best])->order))
			best = c;
	}
	if (best == FC_CLASSES)
		return false;
	send(x, best, start_ps);
	return true;
}

/*
 * When a train of the queues may be sent next; a full line empties in a step. What the head behind one that
 * was sent waits for is told when the lane is free again.
 */
static uint64_t next_send(const struct pcie_tx *x, bool is_told)
{
	uint64_t at = CYCLE_NEVER;

	for (uint32_t c = 0; c < FC_CLASSES; c++) {
		const struct fc *f = &x->fc[c];

		if (x->q[c].n == 0)
			continue;
		if (x->q[c].cause == TX_LINK && (!is_told || tx_line_has_room(x->line[c])))
			at = 0;
		else if (x->q[c].cause == TX_CREDIT && f->n)
			at = min_u64(at, f->update[f->head].arrive_cyc);
	}
	return at == CYCLE_NEVER ? at : max_u64(max_u64(at, x->free_cyc), x->b->cycle + 1);
}

static inline bool can_queue(const struct pcie_tx *x, const struct tlp *t)
{
	return t && x->q[tlp_class(t)].n < x->queue_size;
}

/* The step when trains wait in the queues. */
static uint64_t step_queues(struct pcie_tx *x, struct chan *in)
{
	const struct tlp *t = tlp_peek(in);
	bool is_told;

	if (can_queue(x, t)) {
		put(x, t);
		chan_pop_only(in);
	}
	is_told = x->free_cyc <= x->b->cycle && !choose(x);
	if (can_queue(x, tlp_peek(in)))
		return x->b->cycle + 1;
	return next_send(x, is_told);
}

/* Send the head of 'in', the queues being empty and the lane free. False: it lacks credits. */
static bool send_directly(struct pcie_tx *x, const struct tlp *t)
{
	struct fc *f = &x->fc[tlp_class(t)];
	struct tx_cut cut = cut_of(x, t);
	uint64_t start_ps = max_u64(x->b->now_ps, x->busy_ps);

	if (!fits_whole(f, &cut)) {
		take_updates(x, f);
		if (!fits_whole(f, &cut))
			return false;
	}
	x->wait_ps[t->cls][TX_LINK] += start_ps - ready_ps(x, t);
	depart(x, t, start_ps, cut.n, t->len, cut.data);
	return true;
}

uint64_t pcie_tx_send(struct pcie_tx *x, struct chan *in)
{
	const struct tlp *t = tlp_peek(in);

	if (x->waiting)
		return step_queues(x, in);
	if (!t)
		return CYCLE_NEVER;
	if (x->free_cyc <= x->b->cycle && tx_line_has_room(x->line[tlp_class(t)])) {
		if (!send_directly(x, t))
			return step_queues(x, in);
		chan_pop_only(in);
		t = tlp_peek(in);
		if (!t)
			return CYCLE_NEVER;
	}
	if (!tx_line_has_room(x->line[tlp_class(t)]))
		return CYCLE_NEVER; /* until one arrives, which is a step */
	return max_u64(x->b->cycle + 1, x->free_cyc);
}

/* ---- arriving ---- */

/* The first train has left the line at cycle 'cyc'. */
static void leave_line(struct pcie_tx *x, struct tx_line *l, uint64_t cyc)
{
	const struct tx_flight *f = &l->at[l->head];

	give_back(x, &x->fc[tlp_class(&f->tlp)], f->hdr, f->data, cyc);
	l->head = l->head + 1 == l->size ? 0 : l->head + 1;
	l->due_cyc = --l->n ? l->at[l->head].arrive_cyc : CYCLE_NEVER;
}

void pcie_tx_hand_over(struct pcie_tx *x, struct tx_line *l)
{
	while (l->ahead && l->due_cyc <= x->b->cycle) {
		l->ahead--;
		leave_line(x, l, l->due_cyc);
	}
	if (l->ahead || l->due_cyc > x->b->cycle)
		return;
	if (!chan_can_push(l->out)) {
		chan_stall(l->out);
		return;
	}
	tlp_push(l->out, &l->at[l->head].tlp);
	leave_line(x, l, x->b->cycle);
}

void tx_line_build(struct block *b, struct tx_line *l, struct chan *out, uint32_t size)
{
	l->at = block_alloc(b, size, sizeof(*l->at));
	l->out = out;
	l->size = size;
}

void tx_line_reset(struct tx_line *l)
{
	l->head = l->n = l->ahead = 0;
	l->due_cyc = CYCLE_NEVER;
	l->last_cyc = 0;
}

/* ---- build, reset ---- */

void pcie_tx_build(struct pcie_tx *x)
{
	for (uint32_t c = 0; c < FC_CLASSES; c++) {
		struct fc *f = &x->fc[c];

		x->q[c].at = block_alloc(x->b, x->queue_size, sizeof(*x->q[c].at));
		/* each UpdateFC gives back the credits of a part of a train at least */
		f->size = f->max_hdr ? f->max_hdr : f->max_data;
		if (f->size)
			f->update = block_alloc(x->b, f->size, sizeof(*f->update));
	}
}

void pcie_tx_reset(struct pcie_tx *x)
{
	for (uint32_t c = 0; c < FC_CLASSES; c++) {
		struct tx_queue *q = &x->q[c];
		struct fc *f = &x->fc[c];

		q->head = q->n = 0;
		q->since_ps = 0;
		memset(q->waited, 0, sizeof(q->waited));
		f->hdr = f->max_hdr ? f->max_hdr : FC_INFINITE;
		f->data = f->max_data ? f->max_data : FC_INFINITE;
		f->head = f->n = 0;
		f->sent_cyc = 0;
	}
	x->waiting = 0;
	x->order = x->busy_ps = x->busy_frac = x->free_cyc = 0;
}
