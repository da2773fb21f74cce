/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.c - a full-duplex link: propagation, and what may go wrong on it
 *
 * Hardware: a cable, and for impairments whatever stands in a path and loses, damages, repeats or
 * reorders packets. A delay line of its own for each direction, as long as the cable needs:
 * channels at its ends carry frames only at the moment they enter and leave, so a long cable does
 * not throttle.
 *
 * The bytes of each frame are copied as it enters: the sender gets its buffer back at its last bit,
 * and the wire's buffers live until the receiver is done with them. They come in three sizes,
 * enough for the line and for `buffer` bytes in the receivers; should they run out, frames are lost
 * as in a receiver without room. (Were they to wait here, two receivers that answer before they take
 * more could wait for each other for ever.)
 * Impairments are of two kinds: probabilities, drawn from a seeded stream for each direction, and
 * rules for the n-th frame (wire.h). A damaged frame has one bit flipped between BTH and ICRC, as
 * in the memory of a faulty switch that then computes a fresh FCS: the MAC takes it, the ICRC
 * tells. On InfiniBand the bit is anywhere from LRH to VCRC, and the VCRC tells. A repeated frame
 * follows its original. One that is held back (reorder) is overtaken by others, one that is late
 * (jitter) is not: those behind it wait, as in a queue of a switch. No line time is charged for
 * either, so frames that leave an impaired wire may overlap. Not modelled: bit errors as such, skew, the
 * line code.
 */
#include <string.h>

#include "models/msg.h"
#include "models/packet/packet.h"
#include "models/wire.h"
#include "sim/pool.h"

#define MIN_ETH_BYTES 84u /* of a minimum frame with preamble and gap */
#define MIN_IB_BYTES 28u  /* of LRH, BTH, CRCs and delimiters */
#define MAX_MTU 4096u
#define MAX_FLIGHTS (1u << 22)
#define N_SIZES 3u

/* A frame on its way, with the times of the far end. */
struct flight {
	uint64_t first_ps, last_ps;
	uint64_t due_cyc; /* of the push that is seen at the far end at the last bit */
	uint32_t buf;
};

/* One direction. */
struct lane {
	struct flight *line; /* ring, sorted by last_ps */
	uint32_t size, head, count;
	uint32_t ahead;       /* the first so many were handed over ahead (chan.h) */
	uint64_t last_cyc;    /* cycle of the last of these */
	uint64_t frames;      /* entered so far */
	uint64_t floor_ps;    /* a late frame's last bit: none behind it comes before */
	uint32_t *next;       /* per rule: first element of nth[] still ahead */
	struct flight repeat; /* buf: reference to the frame to be repeated, or BUF_NONE */
	struct rng rng;
};

struct wire {
	struct block b;
	/* parameters */
	uint64_t length, delay, rate, loss, corrupt, duplicate, reorder, reorder_delay;
	uint64_t jitter, jitter_delay, buffer;
	/* ports */
	struct chan *a_in, *b_in, *a_out, *b_out;
	/* state */
	struct lane lane[2]; /* 0: a to b, 1: b to a */
	struct pool *pool[N_SIZES];
	bool keeps_order; /* no frame is delayed or repeated */
	uint32_t in_flight_ab, in_flight_ba;
	/* statistics */
	uint64_t frames_ab, frames_ba, bytes_ab, bytes_ba, lost, overrun, corrupted, duplicated,
		delayed, late;
};

#define T struct wire
static const struct field wire_fields[] = {
	PARAM_LENGTH(T, length, 2000, 0, 20000000000, "cable, at 5 ns a metre", "declared"),
	PARAM_TIME(T, delay, 0, 0, 100 * PS_PER_MS, "of what else stands in the path", "declared"),
	PARAM_RATE(T, rate, 100 * GBPS, 0, 3200 * GBPS,
		   "line rate of the ends: sizes the delay line; 0: that of the faster MAC",
		   "declared"),
	PARAM_PROB(T, loss, 0, "probability that a frame is lost", "declared"),
	PARAM_PROB(T, corrupt, 0, "probability that a frame is damaged", "declared"),
	PARAM_PROB(T, duplicate, 0, "probability that a frame arrives twice", "declared"),
	PARAM_PROB(T, reorder, 0, "probability that a frame is held back", "declared"),
	PARAM_TIME(T, reorder_delay, 5 * PS_PER_US, 1, 10 * PS_PER_MS,
		   "longest time a frame is held back", "declared"),
	PARAM_PROB(T, jitter, 0, "probability that a frame is late, and all behind it", "declared"),
	PARAM_TIME(T, jitter_delay, 5 * PS_PER_US, 1, 10 * PS_PER_MS, "longest time it is late",
		   "declared"),
	PARAM_BYTES(T, buffer, 2 * MIB, 64 * KIB, 256 * MIB,
		    "of each packet size, for what receivers still hold; frames beyond are lost",
		    "declared: receive buffers of both ends and more"),
	PORT_IN(T, a_in, frame, "frames from end a"),
	PORT_IN(T, b_in, frame, "frames from end b"),
	PORT_OUT(T, a_out, frame, "frames to end a"),
	PORT_OUT(T, b_out, frame, "frames to end b"),
	STAT(T, frames_ab, "pkt", "frames that entered at end a"),
	STAT(T, frames_ba, "pkt", "frames that entered at end b"),
	STAT(T, bytes_ab, "B", "bytes of these, without FCS and padding"),
	STAT(T, bytes_ba, "B", "bytes of these, without FCS and padding"),
	STAT(T, lost, "pkt", "frames lost"),
	STAT(T, overrun, "pkt", "frames lost because the receivers hold too many: see buffer"),
	STAT(T, corrupted, "pkt", "frames damaged"),
	STAT(T, duplicated, "pkt", "frames that arrived twice"),
	STAT(T, delayed, "pkt", "frames held back"),
	STAT(T, late, "pkt", "frames that were late themselves"),
	SIGNAL(T, in_flight_ab, 20, "frames on the way from a to b"),
	SIGNAL(T, in_flight_ba, 20, "frames on the way from b to a"),
	FIELDS_END
};
#undef T

/*
 * Largest packet of each size of buffer; small ones are acknowledgements, READ requests and inline
 * data.
 */
static const uint32_t size_limit[N_SIZES] = { 240, 1024 + PACKET_HDR_MAX,
					      MAX_MTU + PACKET_HDR_MAX };

/* From one end to the other. */
static uint64_t latency_ps(const struct wire *w)
{
	return wire_delay_ps(w->length) + w->delay;
}

/* Longest time that a frame spends on the way unless a rule delays it. */
static uint64_t span_ps(const struct wire *w)
{
	return latency_ps(w) + (w->reorder ? w->reorder_delay : 0) +
	       (w->jitter ? w->jitter_delay : 0);
}

static uint32_t min_line_bytes(const struct wire *w)
{
	const struct wire_env *env = w->b.env;

	return env && env->is_ib ? MIN_IB_BYTES : MIN_ETH_BYTES;
}

static void lane_build(struct wire *w, unsigned i)
{
	const struct wire_env *env = w->b.env;
	struct lane *l = &w->lane[i];
	uint64_t span = span_ps(w), n;

	/*
	 * every frame on the line at the highest frame rate, twice when repeated, and what rules
	 * hold back
	 */
	n = span / ps_of_bytes(min_line_bytes(w), w->rate) * (w->duplicate ? 2 : 1) + 64;
	for (uint32_t r = 0; env && r < env->n_rules[i]; r++)
		n += env->rules[i][r].n_nth;
	l->size = (uint32_t)min_u64(n, MAX_FLIGHTS);
	l->line = block_alloc(&w->b, l->size, sizeof(*l->line));
	if (env)
		l->next = block_alloc(&w->b, env->n_rules[i] + 1, sizeof(*l->next));
}

static void wire_build(struct block *b)
{
	struct wire *w = (struct wire *)b;
	const struct wire_env *env = b->env;
	uint64_t span = span_ps(w), smallest = 0;

	w->keeps_order = !w->duplicate && !w->reorder && !w->jitter;
	for (unsigned i = 0; i < 2; i++) {
		lane_build(w, i);
		w->keeps_order &= !env || env->n_rules[i] == 0;
	}
	for (unsigned k = 0; k < N_SIZES; k++) {
		uint64_t line = smallest + min_line_bytes(w);
		uint64_t n = 2 * (span / ps_of_bytes(line, w->rate)) + w->buffer / size_limit[k];

		w->pool[k] = pool_create(b, (uint32_t)min_u64(n, (1u << POOL_INDEX_BITS) - 1),
					 (uint32_t)sizeof(struct packet) + size_limit[k]);
		smallest = size_limit[k];
	}
}

static void wire_reset(struct block *b)
{
	static const char *const name[2] = { "a>b", "b>a" };
	struct wire *w = (struct wire *)b;
	const struct wire_env *env = b->env;

	for (unsigned i = 0; i < 2; i++) {
		struct lane *l = &w->lane[i];

		l->head = l->count = l->ahead = 0;
		l->last_cyc = 0;
		l->frames = l->floor_ps = 0;
		l->repeat.buf = BUF_NONE;
		/*
		 * each direction its own stream: traffic one way must not change the other's fate
		 */
		rng_seed(&l->rng, name[i], rng_next(&b->rng));
		if (env)
			memset(l->next, 0, env->n_rules[i] * sizeof(*l->next));
	}
	w->in_flight_ab = w->in_flight_ba = 0;
}

/* What happens to one frame. */
struct fate {
	bool is_lost, is_corrupted, is_duplicated;
	uint64_t delay_ps, late_ps;
};

static struct fate draw_fate(const struct wire *w, struct lane *l)
{
	struct fate f = { .is_lost = w->loss && rng_chance(&l->rng, w->loss) };

	f.is_corrupted = w->corrupt && rng_chance(&l->rng, w->corrupt);
	f.is_duplicated = w->duplicate && rng_chance(&l->rng, w->duplicate);
	if (w->reorder && rng_chance(&l->rng, w->reorder))
		f.delay_ps = 1 + rng_below(&l->rng, w->reorder_delay);
	if (w->jitter && rng_chance(&l->rng, w->jitter))
		f.late_ps = 1 + rng_below(&l->rng, w->jitter_delay);
	return f;
}

static void apply_rules(const struct wire *w, struct lane *l, unsigned i, struct fate *f)
{
	const struct wire_env *env = w->b.env;

	for (uint32_t r = 0; env && r < env->n_rules[i]; r++) {
		const struct wire_rule *rule = &env->rules[i][r];

		if (l->next[r] == rule->n_nth || rule->nth[l->next[r]] != l->frames)
			continue;
		l->next[r]++;
		f->is_lost |= rule->kind == WIRE_DROP;
		f->is_duplicated |= rule->kind == WIRE_DUP;
		f->is_corrupted |= rule->kind == WIRE_CORRUPT;
		if (rule->kind == WIRE_DELAY)
			f->delay_ps += rule->delay_ps;
	}
}

bool wire_may_lose(const struct block *b)
{
	const struct wire *w = (const struct wire *)b;
	const struct wire_env *env = b->env;

	for (unsigned i = 0; i < 2; i++)
		for (uint32_t r = 0; env && r < env->n_rules[i]; r++)
			if (w->lane[i].next[r] < env->rules[i][r].n_nth &&
			    (env->rules[i][r].kind == WIRE_DROP ||
			     env->rules[i][r].kind == WIRE_CORRUPT))
				return true;
	return w->loss || w->corrupt;
}

/* Flip a bit that the ICRC covers: BTH byte 4 may change on the way; or any that the VCRC does. */
static void damage(struct packet *p, struct rng *r)
{
	uint32_t covered = (uint32_t)(p->len - p->l4), at;

	if (encap_is_ib(p->encap)) {
		at = (uint32_t)rng_below(r, p->len);
	} else {
		at = (uint32_t)rng_below(r, covered - 1);
		at = p->l4 + (at < 4 ? at : at + 1);
	}
	p->data[at] = (uint8_t)(p->data[at] ^ 1u << rng_below(r, 8));
	p->is_altered = true;
}

/* Sorted by arrival; a frame that arrives with another goes behind it. The ring has room. */
static void insert(const struct wire *w, struct lane *l, struct flight *f)
{
	uint64_t cyc = domain_cycle_at(w->b.dom, f->last_ps);
	uint32_t i = l->count++;

	f->due_cyc = cyc ? cyc - 1 : 0;
	while (i > 0) {
		const struct flight *before = &l->line[(l->head + i - 1) % l->size];

		if (before->last_ps <= f->last_ps)
			break;
		l->line[(l->head + i) % l->size] = *before;
		i--;
	}
	l->line[(l->head + i) % l->size] = *f;
}

static struct pool *pool_for(const struct wire *w, const struct packet *p)
{
	unsigned k = 0;

	while (k < N_SIZES - 1 && p->len > size_limit[k])
		k++;
	return w->pool[k];
}

/* A copy of packet 'p' in a buffer of the wire. */
static uint32_t copy_packet(const struct wire *w, const struct packet *p)
{
	uint32_t buf = pool_alloc(pool_for(w, p));

	memcpy(buf_data(w->b.sim, buf), p, sizeof(*p) + p->len);
	return buf;
}

/* Put a copy of the frame on the line. */
static void launch(struct wire *w, struct lane *l, const struct frame *in, const struct packet *p,
		   const struct fate *fate)
{
	uint64_t last_ps = in->last_ps + latency_ps(w) + fate->late_ps, on_line;
	struct flight f = { .buf = copy_packet(w, p) };

	if (fate->late_ps)
		l->floor_ps = max_u64(l->floor_ps, last_ps);
	on_line = max_u64(last_ps, l->floor_ps) - in->last_ps + fate->delay_ps;
	f.first_ps = in->first_ps + on_line;
	f.last_ps = in->last_ps + on_line;

	if (fate->is_corrupted)
		damage(buf_data(w->b.sim, f.buf), &l->rng);
	insert(w, l, &f);
	if (fate->is_duplicated) {
		uint64_t len_ps = in->last_ps - in->first_ps;

		buf_ref(w->b.sim, f.buf);
		f.first_ps += len_ps;
		f.last_ps += len_ps;
		l->repeat = f;
	}
	w->corrupted += fate->is_corrupted;
	w->duplicated += fate->is_duplicated;
	w->delayed += fate->delay_ps != 0;
	w->late += fate->late_ps != 0;
}

/* The second of two: it belongs to no request, or it would be marked as passing twice. */
static uint64_t enter_repeat(struct wire *w, struct lane *l)
{
	const struct packet *p = buf_data(w->b.sim, l->repeat.buf);
	struct pool *pool = pool_for(w, p);
	struct flight f = l->repeat;
	struct packet *copy;

	if (pool_can_alloc(pool)) {
		f.buf = copy_packet(w, p);
		copy = buf_data(w->b.sim, f.buf);
		copy->op = copy->rsp_op = OP_NONE;
		insert(w, l, &f);
	} else {
		w->overrun++;
	}
	buf_unref(&w->b, l->repeat.buf);
	l->repeat.buf = BUF_NONE;
	return w->b.cycle + 1;
}

/* Take a frame in at end i. */
static uint64_t enter(struct wire *w, unsigned i, struct chan *in)
{
	struct block *b = &w->b;
	struct lane *l = &w->lane[i];
	const struct frame *m = frame_peek(in);
	const struct packet *p;
	struct fate fate;

	/* a full line is entered again when its head has left */
	if (l->count == l->size)
		return CYCLE_NEVER;
	if (l->repeat.buf != BUF_NONE)
		return enter_repeat(w, l);
	if (!m)
		return CYCLE_NEVER;
	p = buf_data(b->sim, m->buf);
	SIM_CHECK(p->len <= size_limit[N_SIZES - 1], b);
	l->frames++;
	*(i ? &w->frames_ba : &w->frames_ab) += 1;
	*(i ? &w->bytes_ba : &w->bytes_ab) += p->len;
	fate = draw_fate(w, l);
	apply_rules(w, l, i, &fate);
	if (fate.is_lost)
		w->lost++;
	else if (!pool_can_alloc(pool_for(w, p)))
		w->overrun++;
	else
		launch(w, l, m, p, &fate);
	buf_unref(b, m->buf);
	chan_pop(in);
	return l->repeat.buf != BUF_NONE ? b->cycle + 1 : CYCLE_NEVER;
}

static uint64_t due(const struct lane *l)
{
	return l->count ? l->line[l->head].due_cyc : CYCLE_NEVER;
}

static void drop_head(struct lane *l)
{
	l->head = l->head + 1 == l->size ? 0 : l->head + 1;
	l->count--;
}

/* The frame that entered last, which none will pass: hand it over ahead if all before it were. */
static void leave_ahead(const struct wire *w, struct lane *l, struct chan *out)
{
	struct flight *f = &l->line[(l->head + l->count - 1) % l->size];

	f->due_cyc = max_u64(f->due_cyc, max_u64(l->last_cyc, w->b.cycle) + 1);
	if (l->ahead + 1 != l->count ||
	    !frame_push_ahead(out, &(struct frame){ f->first_ps, f->last_ps, f->buf }, f->due_cyc))
		return;
	l->last_cyc = f->due_cyc;
	l->ahead++;
}

/* Hand the head to the far end if it is due. True when the far end does not take it. */
static bool leave(struct wire *w, struct lane *l, struct chan *out)
{
	const struct flight *f;

	for (; l->ahead && due(l) <= w->b.cycle; l->ahead--)
		drop_head(l);
	if (due(l) > w->b.cycle)
		return false;
	f = &l->line[l->head];
	if (!chan_can_push(out)) {
		chan_stall(out);
		return true;
	}
	frame_push(out, &(struct frame){ f->first_ps, f->last_ps, f->buf });
	drop_head(l);
	return false;
}

static uint64_t lane_step(struct wire *w, unsigned i, struct chan *in, struct chan *out)
{
	struct lane *l = &w->lane[i];
	bool is_refused = leave(w, l, out);
	uint32_t before = l->count;
	uint64_t wake = enter(w, i, in);

	if (w->keeps_order && l->count > before)
		leave_ahead(w, l, out);
	if (l->ahead == l->count && l->count < l->size)
		return wake;
	return is_refused ? wake : min_u64(wake, max_u64(due(l), w->b.cycle + 1));
}

static uint64_t wire_step(struct block *b)
{
	struct wire *w = (struct wire *)b;
	uint64_t wake = lane_step(w, 0, w->a_in, w->b_out);

	wake = min_u64(wake, lane_step(w, 1, w->b_in, w->a_out));
	w->in_flight_ab = w->lane[0].count;
	w->in_flight_ba = w->lane[1].count;
	return wake;
}

const struct block_class wire_class = {
	.name = "wire",
	.impl = "c",
	.size = sizeof(struct wire),
	.fields = wire_fields,
	.doc = "full-duplex link: propagation, loss, corruption, repetition, reordering",
	.build = wire_build,
	.reset = wire_reset,
	.step = wire_step,
};
