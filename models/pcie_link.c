/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcie_link.c - a PCI Express link, both directions
 *
 * Modelled: lane rate and encoding of generations 1 to 6, the share that flow-control and ACK DLLPs
 * leave, the header and framing bytes of every TLP, cuts of writes at the maximum payload size and
 * of completions at the read completion boundary, exact serialisation (fractions of a picosecond
 * are carried on), and propagation. A train of TLPs is one message: it arrives with its last byte.
 * Not modelled: replays, power states, ECRC, flow-control credits (may_enter() is the place where a
 * TLP would wait for them).
 *
 * Sources: PCI Express Base Specification; pcie-bench (SIGCOMM 2018) for header bytes and the DLLP
 * share. Order: completions, and registers written by the CPU, leave by ports of their own, each in
 * order.
 */
#include "models/msg.h"

#define EFFICIENCY_ONE 10000u

/* Picoseconds for a byte on one lane: raw rate, and 8b/10b, 128b/130b or 256 B flits. */
static const struct {
	uint32_t num, den;
} lane_ps_per_byte[] = {
	{ 4000, 1 },  /* 2.5 GT/s, 8b/10b */
	{ 2000, 1 },  /* 5 GT/s */
	{ 8125, 8 },  /* 8 GT/s, 128b/130b */
	{ 8125, 16 }, /* 16 GT/s */
	{ 8125, 32 }, /* 32 GT/s */
	{ 8000, 59 }, /* 64 GT/s, 236 of 256 flit bytes are TLP bytes */
};

static const char *const gen_names[] = { "1", "2", "3", "4", "5", "6", NULL };
static const char *const lane_names[] = { "1", "2", "4", "8", "16", NULL };

/* A delay line: trains on the way, in order of arrival. */
struct line {
	struct flight {
		struct tlp tlp;
		uint64_t arrive_cyc;
	} * at;
	uint32_t head, n;
	uint64_t due_cyc; /* arrival of the first, CYCLE_NEVER when there is none */
};

/*
 * The transmitter of one direction: busy until busy_ps + busy_frac / byte_den, which lies before the end
 * of free_cyc.
 */
struct lane {
	uint64_t busy_ps, busy_frac;
	uint64_t free_cyc;
};

#define CLASSES(X) \
	X(doorbell) \
	X(wqe) \
	X(rq_wqe) \
	X(dbr) X(qpc) X(mpt) X(mtt) X(payload_read) X(payload_write) X(atomic) X(cqe) X(event)

struct pcie_link {
	struct block b;
	/* parameters */
	uint32_t gen, lanes, efficiency, mps, rcb, hdr_req, hdr_cpl, depth;
	uint64_t latency;
	/* ports */
	struct chan *up_in, *down_in, *up_out, *down_cpl, *mmio;
	/* state */
	struct line up, cpl, reg;
	struct lane up_lane, down_lane;
	uint64_t byte_num, byte_den; /* ps for a byte on the whole link, as a fraction */
	uint32_t up_flying, down_flying;
	/* statistics: bytes on the link, headers included */
	uint64_t up_mwr, up_mrd, down_mwr, down_cpld; /* TLPs */
	uint64_t up_busy_ps, down_busy_ps;
	union {
		uint64_t up_cls[DMA_CLS_COUNT];
		struct {
#define X(c) uint64_t up_##c##_b;
			CLASSES(X)
#undef X
		};
	};
	union {
		uint64_t down_cls[DMA_CLS_COUNT];
		struct {
#define X(c) uint64_t down_##c##_b;
			CLASSES(X)
#undef X
		};
	};
};

#define T struct pcie_link
static const struct field pcie_link_fields[] = {
	PARAM_ENUM(T, gen, 2, gen_names, "PCI Express generation",
		   "documented: hosts of pcie-bench are Gen3"),
	PARAM_ENUM(T, lanes, 3, lane_names, "lanes", "documented: hosts of pcie-bench are x8"),
	PARAM(T, efficiency, 9185, 1, EFFICIENCY_ONE, "1/10000",
	      "share of the link that DLLPs leave for TLPs",
	      "measured: pcie-bench, 57.88 of 63.0 Gb/s at Gen3 x8"),
	PARAM_BYTES(T, mps, 256, 128, 4096, "maximum payload of a TLP",
		    "measured: pcie-bench hosts"),
	PARAM_BYTES(T, rcb, 64, 64, 128, "completions end at multiples of this",
		    "measured: pcie-bench hosts"),
	PARAM_BYTES(T, hdr_req, 24, 0, 64,
		    "framing, sequence, 64-bit header and LCRC of an MWr or MRd",
		    "documented: PCI Express Base; 28 with ECRC"),
	PARAM_BYTES(T, hdr_cpl, 20, 0, 64, "the same of a CplD",
		    "documented: PCI Express Base; 24 with ECRC"),
	PARAM_TIME(T, latency, 100 * PS_PER_NS, 1, PS_PER_MS,
		   "last byte sent to last byte in the other end's queue",
		   "fitted: pcie-bench, 8 B DMA read of 453 ns with 200 ns in the host"),
	PARAM(T, depth, 512, 2, 65536, "TLP", "trains on the way in a direction", "declared"),
	PORT_IN(T, up_in, tlp, "from the device"),
	PORT_IN(T, down_in, tlp, "from the host"),
	PORT_OUT(T, up_out, tlp, "to the host"),
	PORT_OUT(T, down_cpl, tlp, "completions to the device"),
	PORT_OUT(T, mmio, tlp, "register writes to the device"),
	STAT(T, up_mwr, "TLP", "memory writes of the device"),
	STAT(T, up_mrd, "TLP", "read requests of the device"),
	STAT(T, down_mwr, "TLP", "register writes of the host"),
	STAT(T, down_cpld, "TLP", "completions with data"),
	STAT(T, up_busy_ps, "ps", "time the device's transmitter was busy"),
	STAT(T, down_busy_ps, "ps", "time the host's transmitter was busy"),
#define X(c) STAT(T, up_##c##_b, "B", "on the link to the host, class " #c),
	CLASSES(X)
#undef X
#define X(c) STAT(T, down_##c##_b, "B", "on the link to the device, class " #c),
		CLASSES(X)
#undef X
			SIGNAL(T, up_flying, 16, "trains on the way to the host"),
	SIGNAL(T, down_flying, 16, "trains on the way to the device"),
	FIELDS_END
};
#undef T

/* TLPs in a train. Completions: the first ends at a boundary, those behind are full. */
static uint64_t tlps_of(const struct pcie_link *l, const struct tlp *t)
{
	switch (t->kind) {
	case TLP_MWR:
		return ceil_div(t->len, l->mps);
	case TLP_MRD:
		/* the device asks for no more than its maximum read request at once */
		return 1;
	default:
		return ceil_div(t->addr % l->rcb + t->len, l->mps);
	}
}

static uint64_t bytes_of(const struct pcie_link *l, const struct tlp *t, uint64_t tlps)
{
	switch (t->kind) {
	case TLP_MWR:
		return t->len + tlps * l->hdr_req;
	case TLP_MRD:
		return tlps * l->hdr_req;
	default:
		return t->len + tlps * l->hdr_cpl;
	}
}

/*
 * A train may start in this cycle: the one before it ends before the next edge and the line has
 * room. (Credits of the receiver would be asked for here.)
 */
static bool may_enter(const struct pcie_link *l, const struct lane *tx, const struct line *to)
{
	return to->n < l->depth && tx->free_cyc <= l->b.cycle;
}

/* Send the head of 'from': occupy the transmitter, put the train on the line. Returns its bytes. */
static uint64_t enter(struct pcie_link *l, struct chan *from, struct lane *tx, struct line *to,
		      uint64_t *tlps)
{
	const struct tlp *t = tlp_peek(from);
	uint64_t n = tlps_of(l, t), bytes = bytes_of(l, t, n), frac;
	uint32_t end = to->head + to->n;
	struct flight *f = &to->at[end < l->depth ? end : end - l->depth];

	if (tx->busy_ps < l->b.now_ps) {
		tx->busy_ps = l->b.now_ps;
		tx->busy_frac = 0;
	}
	frac = tx->busy_frac + bytes * l->byte_num;
	tx->busy_ps += frac / l->byte_den;
	tx->busy_frac = frac % l->byte_den;
	tx->free_cyc = domain_cycle_at(l->b.dom, tx->busy_ps + 1) - 1;
	f->tlp = *t;
	f->arrive_cyc = domain_cycle_at(l->b.dom, tx->busy_ps + l->latency);
	if (to->n++ == 0)
		to->due_cyc = f->arrive_cyc;
	*tlps += n;
	chan_pop(from);
	return bytes;
}

/*
 * When the head of 'from' may be sent, if the transmitter is what it waits for (a full line empties
 * in a step).
 */
static uint64_t send_at(const struct pcie_link *l, const struct lane *tx, const struct line *to)
{
	if (to->n == l->depth)
		return CYCLE_NEVER;
	return max_u64(l->b.cycle + 1, tx->free_cyc);
}

static uint64_t send_up(struct pcie_link *l)
{
	const struct tlp *t = tlp_peek(l->up_in);
	uint64_t before = l->up_lane.busy_ps;

	if (t && may_enter(l, &l->up_lane, &l->up)) {
		uint64_t *bytes = &l->up_cls[t->cls];
		uint64_t *tlps = t->kind == TLP_MWR ? &l->up_mwr : &l->up_mrd;

		*bytes += enter(l, l->up_in, &l->up_lane, &l->up, tlps);
		l->up_busy_ps += l->up_lane.busy_ps - max_u64(before, l->b.now_ps);
	}
	return tlp_peek(l->up_in) ? send_at(l, &l->up_lane, &l->up) : CYCLE_NEVER;
}

static struct line *down_line(struct pcie_link *l, const struct tlp *t)
{
	return t->kind == TLP_MWR ? &l->reg : &l->cpl;
}

static uint64_t send_down(struct pcie_link *l)
{
	const struct tlp *t = tlp_peek(l->down_in);
	uint64_t before = l->down_lane.busy_ps;

	if (t && may_enter(l, &l->down_lane, down_line(l, t))) {
		uint64_t *bytes = &l->down_cls[t->cls];
		uint64_t *tlps = t->kind == TLP_MWR ? &l->down_mwr : &l->down_cpld;

		*bytes += enter(l, l->down_in, &l->down_lane, down_line(l, t), tlps);
		l->down_busy_ps += l->down_lane.busy_ps - max_u64(before, l->b.now_ps);
	}
	t = tlp_peek(l->down_in);
	return t ? send_at(l, &l->down_lane, down_line(l, t)) : CYCLE_NEVER;
}

/* Hand over the first train of a line when it has arrived. */
static void arrive(struct pcie_link *l, struct line *line, struct chan *out)
{
	if (line->due_cyc > l->b.cycle)
		return;
	if (!chan_can_push(out)) {
		chan_stall(out);
		return;
	}
	tlp_push(out, &line->at[line->head].tlp);
	line->head = line->head + 1 == l->depth ? 0 : line->head + 1;
	line->due_cyc = --line->n ? line->at[line->head].arrive_cyc : CYCLE_NEVER;
}

/* When the line has something to hand over next; a train that was refused waits for the credit. */
static uint64_t arrive_at(const struct pcie_link *l, const struct line *line,
			  const struct chan *out)
{
	if (line->due_cyc <= l->b.cycle && out->is_stalled)
		return CYCLE_NEVER;
	return max_u64(line->due_cyc, l->b.cycle + 1);
}

static uint64_t pcie_link_step(struct block *b)
{
	struct pcie_link *l = (struct pcie_link *)b;
	uint64_t next;

	arrive(l, &l->up, l->up_out);
	arrive(l, &l->cpl, l->down_cpl);
	arrive(l, &l->reg, l->mmio);
	next = min_u64(send_up(l), send_down(l));
	next = min_u64(next, arrive_at(l, &l->up, l->up_out));
	next = min_u64(next, arrive_at(l, &l->cpl, l->down_cpl));
	next = min_u64(next, arrive_at(l, &l->reg, l->mmio));
	l->up_flying = l->up.n;
	l->down_flying = l->cpl.n + l->reg.n;
	return next;
}

static void pcie_link_build(struct block *b)
{
	struct pcie_link *l = (struct pcie_link *)b;

	l->up.at = block_alloc(b, l->depth, sizeof(struct flight));
	l->cpl.at = block_alloc(b, l->depth, sizeof(struct flight));
	l->reg.at = block_alloc(b, l->depth, sizeof(struct flight));
	l->byte_num = (uint64_t)lane_ps_per_byte[l->gen].num * EFFICIENCY_ONE;
	l->byte_den = ((uint64_t)lane_ps_per_byte[l->gen].den << l->lanes) * l->efficiency;
}

static void pcie_link_reset(struct block *b)
{
	struct pcie_link *l = (struct pcie_link *)b;

	l->up.head = l->up.n = l->cpl.head = l->cpl.n = l->reg.head = l->reg.n = 0;
	l->up.due_cyc = l->cpl.due_cyc = l->reg.due_cyc = CYCLE_NEVER;
	l->up_lane = l->down_lane = (struct lane){ 0 };
	l->up_flying = l->down_flying = 0;
}

const struct block_class pcie_link_class = {
	.name = "pcie_link",
	.impl = "c",
	.size = sizeof(struct pcie_link),
	.fields = pcie_link_fields,
	.doc = "PCI Express link: serialisation, TLP headers, propagation",
	.build = pcie_link_build,
	.reset = pcie_link_reset,
	.step = pcie_link_step,
};
