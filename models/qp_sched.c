/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qp_sched.c - which send queue has its WQEs fetched next
 *
 * Hardware: a table of send-queue counters and a linked list of ready QPs. A QP is ready while it
 * has posted basic blocks that were not fetched, credits (WQEs that the units behind may still hold
 * for it), no fetch under way, and the requester has not enough of its WQEs for now.
 *
 * Modelled: round robin, an order of WQEs each. Who sends how much is decided where messages become
 * packets (tx_sched.h); this block keeps the requester in WQEs, of every QP as many as it can use:
 * it says when that is enough (requester_feed.c). With 'strict', a QP has its turn only while none
 * of a higher priority is ready. QPs with a rate cap and those without take alternate turns,
 * however many there are of each. QPs that others go before, those with a cap or ('strict') of a
 * lower priority, can fill the units behind with WQEs that wait: so all of a level together hold
 * 'held_up' WQEs at most, half of that for each level further down. The highest level that has QPs
 * is not limited. A QP that is reset is not visited; its counters start anew, and the requester is
 * told so, once nothing of it is fetched or held behind. Not modelled: the memory that holds the
 * table (every QP has its entry).
 *
 * Rate: one doorbell, one fetch result, one credit and one visit a cycle. Latency 1 cycle.
 * Counters: 16 bits in basic blocks, protocol.md section 13 (mlx5 WQE counter).
 */
#include <string.h>

#include "models/msg.h"
#include "models/nic.h"
#include "models/qp_list.h"
#include "sim/pool.h"

#define PRIOS 8u
#define LEVELS (2 * PRIOS) /* of each priority, QPs with a cap and above them those without */
#define LEVEL_ROOM_MIN 16u
#define WANT_BB_MAX 64u

/* What a QP with WQEs that were not fetched waits for; the sums are statistics. */
#define SCHED_WAITS(X) \
	X(limit, "wqe_per_qp: so many of their WQEs are held behind") \
	X(fetch, "WQE fetch") \
	X(fed, "the requester: it has enough of their WQEs")
enum sched_wait {
	WAIT_idle, /* has none */
#define X(c, d) WAIT_##c,
	SCHED_WAITS(X)
#undef X
		SCHED_WAIT_COUNT
};

struct sched_qp {
	uint16_t producer; /* posted up to here */
	uint16_t index;    /* fetched up to here */
	bool is_fetching;
	bool is_fed;      /* the requester has enough WQEs of it for now */
	bool is_closing;  /* reset: waits for what is fetched or held behind */
	uint32_t credits; /* WQEs that may still be fetched */
	uint32_t bf;      /* BlueFlame: the WQE at 'index', or BUF_NONE */
	uint8_t bf_bb;    /* its basic blocks */
	uint8_t wait;     /* enum sched_wait, since wait_ps */
	uint8_t tail;     /* segments in the last basic block before 'producer'; 0 = all */
	uint8_t level;
	uint16_t ordered;    /* WQEs of the fetch under way at most */
	uint16_t ordered_bb; /* basic blocks posted when it was ordered */
	uint8_t want_bb;     /* with a cap: basic blocks likely to be of use */
	uint64_t wait_ps;
};

/* QPs that no arbiter tells apart. */
struct sched_level {
	struct qp_list ready;
	uint32_t room; /* WQEs that may still be fetched */
};

struct qp_sched {
	struct block b;
	/* parameters */
	uint32_t wqe_per_qp, held_up;
	bool strict;
	/* ports */
	struct chan *sq_db, *fetched, *credit, *fetch, *closed;
	/* state */
	struct sched_qp *qp;
	struct sched_level level[LEVELS]; /* without 'strict', all of the lowest priority */
	uint32_t *links;
	bool is_capped_turn[PRIOS]; /* of the QPs of a priority those with a cap are next */
	struct qp_list closing;
	uint32_t *closing_links;
	uint32_t n_ready, n_fetching;
	uint16_t turn; /* low bits of the QP last granted, for the wave */
	/* statistics */
	uint64_t doorbells, stale_doorbells, bf_late, fetches, wqes, max_ready;
	union {
		uint64_t qp_ps[SCHED_WAIT_COUNT];
		struct {
			uint64_t qp_idle_ps;
#define X(c, d) uint64_t qp_##c##_ps;
			SCHED_WAITS(X)
#undef X
		};
	};
};

#define T struct qp_sched
static const struct field qp_sched_fields[] = {
	PARAM(T, wqe_per_qp, 128, 1, 32768, "WQE",
	      "WQEs of one QP held in the units behind at most",
	      "declared: as many as rxe keeps packets unacknowledged"),
	PARAM(T, held_up, 2048, LEVEL_ROOM_MIN, 200000, "WQE",
	      "WQEs held in the units behind of QPs with a cap, or (strict) with one of a higher "
	      "priority above them, at most; half for each level further down",
	      "declared: half of wqe_fetch.wqe_slots"),
	PARAM_BOOL(T, strict, 0, "WQEs of QPs of a higher priority (prio) are always fetched first",
		   "declared: off, one class of service"),
	PORT_IN(T, sq_db, sq_db, "rung doorbells, in order per QP"),
	PORT_IN(T, fetched, sq_fetched, "what fetches brought"),
	PORT_IN(T, credit, sq_credit, "WQEs that the requester released, or has enough of"),
	PORT_OUT(T, fetch, sq_fetch, "fetch orders, at most one per QP under way"),
	PORT_OUT(T, closed, qp_closed, "QPs that are reset, whose WQEs are all released"),
	STAT(T, doorbells, "db", "doorbells taken"),
	STAT(T, stale_doorbells, "db", "doorbells that announced nothing new"),
	STAT(T, bf_late, "WQE",
	     "BlueFlame WQEs behind others not fetched: read from memory instead"),
	STAT(T, fetches, "req", "fetches ordered"),
	STAT(T, wqes, "WQE", "WQEs fetched"),
#define X(c, d) STAT(T, qp_##c##_ps, "ps", "QPs with WQEs not fetched waited for " d),
	SCHED_WAITS(X)
#undef X
		STAT(T, max_ready, "QP", "largest number of ready QPs"),
	SIGNAL(T, n_ready, 20, "QPs on the ready list"),
	SIGNAL(T, n_fetching, 20, "fetches under way"),
	SIGNAL(T, turn, 16, "QP last granted, low 16 bits of its index"),
	FIELDS_END
};
#undef T

static const struct qp_attr *attr_of(const struct qp_sched *s, uint32_t qpi)
{
	return &((const struct nic *)s->b.env)->qp[qpi];
}

static void qp_sched_build(struct block *b)
{
	struct qp_sched *s = (struct qp_sched *)b;
	const struct nic *nic = b->env;
	size_t n = nic->n_qp ? nic->n_qp : 1;

	s->qp = block_alloc(b, n, sizeof(*s->qp));
	s->links = block_alloc(b, n, sizeof(*s->links));
	s->closing_links = block_alloc(b, n, sizeof(*s->closing_links));
}

static uint8_t level_of(const struct qp_sched *s, uint32_t qpi)
{
	const struct qp_attr *a = attr_of(s, qpi);

	return (uint8_t)(2 * (s->strict ? a->prio % PRIOS : 0) + !a->rate_bps);
}

/* What each level may hold. */
static void share_room(struct qp_sched *s)
{
	const struct nic *nic = s->b.env;
	uint32_t room = UINT32_MAX, used = 0;

	for (uint32_t i = 0; i < nic->n_qp; i++)
		used |= 1u << s->qp[i].level;
	for (uint32_t i = LEVELS; i-- > 0;) {
		s->level[i].room = room;
		if (used >> i & 1)
			room = room == UINT32_MAX ? s->held_up
						  : (uint32_t)max_u64(room / 2, LEVEL_ROOM_MIN);
	}
}

static void qp_sched_reset(struct block *b)
{
	struct qp_sched *s = (struct qp_sched *)b;
	const struct nic *nic = b->env;

	for (uint32_t i = 0; i < nic->n_qp; i++)
		s->qp[i] = (struct sched_qp){ .credits = s->wqe_per_qp,
					      .level = level_of(s, i),
					      .want_bb = WANT_BB_MAX };
	share_room(s);
	/* a QP is on one at most: they share their links */
	for (uint32_t i = 0; i < LEVELS; i++)
		qp_list_init(&s->level[i].ready, s->links, nic->n_qp);
	qp_list_init(&s->closing, s->closing_links, nic->n_qp);
	s->n_ready = s->n_fetching = 0;
	s->turn = 0;
	memset(s->is_capped_turn, 0, sizeof(s->is_capped_turn));
}

static void make_ready(struct qp_sched *s, uint32_t qpi)
{
	struct qp_list *l = &s->level[s->qp[qpi].level].ready;

	s->n_ready += !qp_list_has(l, qpi);
	qp_list_add(l, qpi);
}

/* The level whose first QP is to be visited, or NULL. */
static struct sched_level *next_level(struct qp_sched *s)
{
	if (!s->n_ready)
		return NULL;
	for (uint32_t p = s->strict ? PRIOS : 1; p-- > 0;) {
		struct sched_level *l = &s->level[2 * p + !s->is_capped_turn[p]];

		if (l->ready.n && l->room)
			return l;
		l = &s->level[2 * p + s->is_capped_turn[p]];
		if (l->ready.n && l->room)
			return l;
	}
	return NULL;
}

static bool is_ready(const struct sched_qp *q)
{
	return !q->is_fetching && !q->is_fed && q->credits && q->producer != q->index &&
	       !q->is_closing;
}

static enum sched_wait waits_for(const struct sched_qp *q)
{
	if (q->is_closing || q->producer == q->index)
		return WAIT_idle;
	if (q->is_fetching)
		return WAIT_fetch;
	if (q->is_fed)
		return WAIT_fed;
	return q->credits ? WAIT_fetch : WAIT_limit;
}

static void note_wait(struct qp_sched *s, struct sched_qp *q)
{
	enum sched_wait w = waits_for(q);

	if (w == q->wait)
		return;
	s->qp_ps[q->wait] += s->b.now_ps - q->wait_ps;
	q->wait = (uint8_t)w;
	q->wait_ps = s->b.now_ps;
}

static bool is_capped(const struct sched_qp *q)
{
	return q->level % 2 == 0;
}

/* Put 'qpi' on the list it belongs to, if it is ready. */
static void consider(struct qp_sched *s, uint32_t qpi)
{
	note_wait(s, &s->qp[qpi]);
	if (is_ready(&s->qp[qpi]))
		make_ready(s, qpi);
}

/* The WQE that came with a doorbell is of use when it is the next one of its queue. */
static void take_blueflame(struct qp_sched *s, struct sched_qp *q, const struct sq_db *m)
{
	if (m->buf == BUF_NONE)
		return;
	if (q->producer == q->index && m->index == q->index) {
		q->bf = m->buf;
		q->bf_bb = m->n_bb;
		return;
	}
	buf_unref(&s->b, m->buf);
	s->bf_late++;
}

static void begin_close(struct qp_sched *s, uint32_t qpi)
{
	struct sched_qp *q = &s->qp[qpi];

	if (q->bf != BUF_NONE)
		buf_unref(&s->b, q->bf);
	q->bf = BUF_NONE;
	q->is_closing = true;
	note_wait(s, q);
	qp_list_add(&s->closing, qpi);
}

/* QPs that are reset start anew once all their credits are back. Returns when to run again. */
static uint64_t end_close(struct qp_sched *s)
{
	uint64_t next = CYCLE_NEVER;
	bool is_free = chan_can_push(s->closed);

	for (uint32_t n = s->closing.n; n > 0; n--) {
		uint32_t qpi = qp_list_take(&s->closing);
		struct sched_qp *q = &s->qp[qpi];

		if (q->is_fetching || q->credits != s->wqe_per_qp) {
			qp_list_add(&s->closing, qpi);
		} else if (next == CYCLE_NEVER && is_free) {
			q->is_closing = false;
			q->producer = q->index = 0;
			q->is_fed = false;
			qp_closed_push(s->closed, &(struct qp_closed){ .qpi = qpi });
			next = s->b.cycle + 1;
		} else {
			if (!is_free)
				chan_stall(s->closed);
			qp_list_add(&s->closing, qpi);
		}
	}
	return next;
}

static void take_doorbell(struct qp_sched *s)
{
	const struct sq_db *m = sq_db_peek(s->sq_db);
	struct sched_qp *q;
	uint16_t ahead;

	if (!m)
		return;
	q = &s->qp[m->qpi];
	if (m->is_reset) {
		begin_close(s, m->qpi);
		chan_pop(s->sq_db);
		return;
	}
	ahead = (uint16_t)(m->producer - q->producer);
	s->doorbells++;
	/*
	 * More than the ring holds: the counter would go back, as after two rings that overtook
	 * each other.
	 */
	if (ahead == 0 || ahead > attr_of(s, m->qpi)->sq_bb) {
		s->stale_doorbells++;
		if (m->buf != BUF_NONE)
			buf_unref(&s->b, m->buf);
	} else {
		take_blueflame(s, q, m);
		q->producer = m->producer;
		q->tail = m->tail;
		consider(s, m->qpi);
	}
	chan_pop(s->sq_db);
}

/*
 * Of a QP with a cap, what the next fetch is to read: as much as this one found use for, or more when
 * all that was read was of use.
 */
static uint8_t next_want(const struct sched_qp *q, uint32_t n_bb)
{
	if (n_bb == q->ordered_bb)
		return q->want_bb; /* all that was posted */
	return (uint8_t)min_u64(n_bb < q->want_bb ? n_bb : 2 * n_bb, WANT_BB_MAX);
}

static void take_fetched(struct qp_sched *s)
{
	const struct sq_fetched *m = sq_fetched_peek(s->fetched);
	struct sched_qp *q;

	if (!m)
		return;
	q = &s->qp[m->qpi];
	SIM_CHECK(q->is_fetching && m->n_bb > 0 && m->n_wqe <= q->credits, s);
	SIM_CHECK(m->n_bb <= (uint16_t)(q->producer - q->index), s);
	if (m->n_wqe == q->credits && q->wait == WAIT_fetch)
		q->wait = WAIT_limit; /* it would have brought more */
	q->is_fetching = false;
	s->n_fetching--;
	q->index = (uint16_t)(q->index + m->n_bb);
	q->credits -= m->n_wqe;
	s->level[q->level].room += (uint32_t)q->ordered - m->n_wqe;
	q->want_bb = next_want(q, m->n_bb);
	s->wqes += m->n_wqe;
	consider(s, m->qpi);
	chan_pop(s->fetched);
}

static void take_credit(struct qp_sched *s)
{
	const struct sq_credit *m = sq_credit_peek(s->credit);
	struct sched_qp *q;

	if (!m)
		return;
	q = &s->qp[m->qpi];
	/* A WQE can be finished before the order that brought it is reported. */
	q->credits += m->n_wqe;
	s->level[q->level].room += m->n_wqe;
	q->is_fed = m->is_fed;
	SIM_CHECK(q->is_fetching || q->credits <= s->wqe_per_qp, s);
	consider(s, m->qpi);
	chan_pop(s->credit);
}

static void order_fetch(struct qp_sched *s, uint32_t qpi)
{
	struct sched_qp *q = &s->qp[qpi];
	struct sched_level *l = &s->level[q->level];
	uint16_t n_bb = q->bf != BUF_NONE ? q->bf_bb : (uint16_t)(q->producer - q->index);

	q->ordered = (uint16_t)min_u64(min_u64(q->credits, n_bb), l->room);
	q->ordered_bb = n_bb;
	l->room -= q->ordered;
	sq_fetch_push(s->fetch, &(struct sq_fetch){ .qpi = qpi,
						    .buf = q->bf,
						    .index = q->index,
						    .n_bb = n_bb,
						    .max_wqe = q->ordered,
						    .want_bb = is_capped(q) ? q->want_bb : 0,
						    .tail = q->tail });
	s->is_capped_turn[q->level / 2] = !is_capped(q);
	q->bf = BUF_NONE;
	q->is_fetching = true;
	note_wait(s, q);
	s->n_fetching++;
	s->turn = (uint16_t)qpi;
	s->fetches++;
}

/* Order WQEs of the QP at the head of the list. False when the port refused. */
static bool visit(struct qp_sched *s)
{
	struct sched_level *l = next_level(s);
	uint32_t qpi;

	if (!l)
		return true;
	if (is_ready(&s->qp[l->ready.head]) && !chan_can_push(s->fetch)) {
		chan_stall(s->fetch);
		return false;
	}
	qpi = qp_list_take(&l->ready);
	s->n_ready--;
	if (is_ready(&s->qp[qpi])) /* it may have been reset since, or told to be fed */
		order_fetch(s, qpi);
	return true;
}

static uint64_t qp_sched_step(struct block *b)
{
	struct qp_sched *s = (struct qp_sched *)b;
	uint64_t next = CYCLE_NEVER;
	const struct sched_level *l;
	bool is_free;

	is_free = visit(s); /* first: what becomes ready now waits for the next cycle */
	take_fetched(s);
	take_credit(s);
	take_doorbell(s);
	s->max_ready = max_u64(s->max_ready, s->n_ready);
	/* a QP that stopped being ready while the port refused makes room for the next */
	l = next_level(s);
	if (l && (is_free || !is_ready(&s->qp[l->ready.head])))
		next = b->cycle + 1;
	return s->closing.n ? min_u64(next, end_close(s)) : next;
}

const struct block_class qp_sched_class = {
	.name = "qp_sched",
	.impl = "c",
	.size = sizeof(struct qp_sched),
	.fields = qp_sched_fields,
	.doc = "ready send queues, round robin over them, and credits per QP",
	.build = qp_sched_build,
	.reset = qp_sched_reset,
	.step = qp_sched_step,
};
