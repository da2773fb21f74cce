/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcie_link.c - a PCI Express link, both directions
 *
 * Modelled: lane rate and encoding of generations 1 to 6, the share that flow-control and ACK DLLPs
 * leave, the header and framing bytes of every TLP (all by the generation, unless set), cuts of
 * writes at the maximum payload size and of completions at the read completion boundary, exact
 * serialisation (fractions of a picosecond are carried on), and propagation; header and data credits
 * of posted requests, non-posted requests and completions, given back by UpdateFCs when the block
 * behind the receiver has taken the TLPs; the ordering rules between the classes (pcie_tx.h). A train
 * of TLPs is one message: it arrives with its last byte; one for which there are too few credits
 * arrives in parts. Not modelled: borders of flits, orthogonal header content, replays, power states,
 * ECRC, non-posted data credits and a root's completion credits (no TLP here needs one).
 *
 * Waiting is measured from when a train is behind the register in front of the transmitter to its
 * first byte on the link, and charged, for every class of traffic, to what keeps the first train
 * of its queue: posted trains that must go first (ordering), credits, or the lane (link).
 *
 * Sources: PCI Express Base Specification (revision 6.0 for flits); pcie-bench (SIGCOMM 2018) for
 * header bytes and the DLLP share. Completions, and registers written by the CPU, leave by ports of
 * their own, each in order.
 */
#include "models/pcie_tx.h"

#define EFFICIENCY_ONE 10000u

/*
 * What follows from the generation. Framed (1 to 5): a header of 16 B (64-bit address) or 12 B, and 8 B
 * around it: with 8b/10b a symbol at each end, 2 B of sequence number and 4 of LCRC; with 128b/130b
 * a token of 4 B that holds the number, and the LCRC. Flits (6): 256 B, of them 236 of TLPs, 6 of DLLPs,
 * 8 of CRC and 6 of FEC, so that neither frames nor DLLPs take from the 236.
 */
#define HDR_REQ_FRAMED 24
#define HDR_CPL_FRAMED 20
#define HDR_REQ_FLIT 16
#define HDR_CPL_FLIT 12
#define EFFICIENCY_FRAMED 9185
#define STR_(x) #x
#define STR(x) STR_(x)
#define BY_GEN(framed, flit) "; 0 = by generation: " STR(framed) " up to 5, " STR(flit) " for 6"

static const struct generation {
	uint32_t num, den; /* picoseconds for a byte on one lane: raw rate and encoding */
	uint32_t efficiency, hdr_req, hdr_cpl;
} generations[] = {
	{ 4000, 1, EFFICIENCY_FRAMED, HDR_REQ_FRAMED, HDR_CPL_FRAMED },  /* 2.5 GT/s, 8b/10b */
	{ 2000, 1, EFFICIENCY_FRAMED, HDR_REQ_FRAMED, HDR_CPL_FRAMED },  /* 5 GT/s */
	{ 8125, 8, EFFICIENCY_FRAMED, HDR_REQ_FRAMED, HDR_CPL_FRAMED },  /* 8 GT/s, 128b/130b */
	{ 8125, 16, EFFICIENCY_FRAMED, HDR_REQ_FRAMED, HDR_CPL_FRAMED }, /* 16 GT/s */
	{ 8125, 32, EFFICIENCY_FRAMED, HDR_REQ_FRAMED, HDR_CPL_FRAMED }, /* 32 GT/s */
	/* 64 GT/s, 236 of 256 flit bytes are TLP bytes */
	{ 8000, 59, EFFICIENCY_ONE, HDR_REQ_FLIT, HDR_CPL_FLIT },
};

static const char *const gen_names[] = { "1", "2", "3", "4", "5", "6", NULL };
static const char *const lane_names[] = { "1", "2", "4", "8", "16", NULL };
static const char *const fc_scale_names[] = { "1", "4", "16", NULL };
#define FC_SCALE_SHIFT 2u /* from one to the next */

/* The causes of waiting, in the order of enum tx_cause. */
#define WAITS(dir, c) \
	uint64_t dir##_wait_##c##_ordering_ps, dir##_wait_##c##_credit_ps, dir##_wait_##c##_link_ps;

struct pcie_link {
	struct block b;
	/* parameters */
	uint32_t gen, lanes, efficiency, mps, rcb, hdr_req, hdr_cpl, depth, tx_queue;
	uint32_t fc_scale, root_ph, root_pd, root_nph, dev_ph, dev_pd, dev_cplh, dev_cpld;
	uint64_t latency, fc_latency, fc_interval;
	bool relaxed_ordering;
	/* ports */
	struct chan *up_in, *down_in, *up_out, *down_cpl, *mmio;
	/* state */
	struct pcie_tx up, down;
	struct tx_line to_host, cpl, reg;
	uint32_t up_flying, down_flying;
	/* statistics: bytes on the link, headers included */
	uint64_t up_mwr, up_mrd, down_mwr, down_cpld; /* TLPs */
	uint64_t up_busy_ps, down_busy_ps, up_parts, down_parts;
	union {
		uint64_t up_cls[DMA_CLS_COUNT];
		struct {
#define X(c) uint64_t up_##c##_b;
			DMA_CLASSES(X)
#undef X
		};
	};
	union {
		uint64_t down_cls[DMA_CLS_COUNT];
		struct {
#define X(c) uint64_t down_##c##_b;
			DMA_CLASSES(X)
#undef X
		};
	};
	union {
		uint64_t up_wait[DMA_CLS_COUNT][TX_CAUSES];
		struct {
#define X(c) WAITS(up, c)
			DMA_CLASSES(X)
#undef X
		};
	};
	union {
		uint64_t down_wait[DMA_CLS_COUNT][TX_CAUSES];
		struct {
#define X(c) WAITS(down, c)
			DMA_CLASSES(X)
#undef X
		};
	};
};

#define WAIT_STATS(dir, c, d) \
	STAT(T, dir##_wait_##c##_ordering_ps, "ps", \
	     "waiting for posted requests that go first, " d), \
		STAT(T, dir##_wait_##c##_credit_ps, "ps", "waiting for credits, " d), \
		STAT(T, dir##_wait_##c##_link_ps, "ps", "waiting for the lane, " d),

#define CREDITS \
	"documented: a few tens of headers a class in hosts (pcie-bench), 16 B data units; the number declared"
#define ENDPOINT_CPL "documented: infinite for an endpoint (PCI Express Base, 2.6.1)"

#define T struct pcie_link
static const struct field pcie_link_fields[] = {
	PARAM_ENUM(T, gen, 2, gen_names, "PCI Express generation",
		   "documented: hosts of pcie-bench are Gen3"),
	PARAM_ENUM(T, lanes, 3, lane_names, "lanes", "documented: hosts of pcie-bench are x8"),
	PARAM(T, efficiency, 0, 0, EFFICIENCY_ONE, "1/10000",
	      "share of the link that DLLPs leave for TLPs" BY_GEN(EFFICIENCY_FRAMED, 10000),
	      "measured: pcie-bench, 57.88 of 63.0 Gb/s at Gen3 x8; Gen1, 2, 4 and 5 declared the same; Gen6 documented: DLLPs have bytes of their own in a flit"),
	PARAM_BYTES(T, mps, 256, 128, 4096, "maximum payload of a TLP",
		    "measured: pcie-bench hosts"),
	PARAM_BYTES(T, rcb, 64, 64, 128, "completions end at multiples of this",
		    "measured: pcie-bench hosts"),
	PARAM_BYTES(T, hdr_req, 0, 0, 64,
		    "framing, sequence, 64-bit header and LCRC of an MWr or MRd" BY_GEN(
			    HDR_REQ_FRAMED, HDR_REQ_FLIT),
		    "documented: PCI Express Base; 4 more with ECRC; in a flit the header alone"),
	PARAM_BYTES(T, hdr_cpl, 0, 0, 64, "the same of a CplD" BY_GEN(HDR_CPL_FRAMED, HDR_CPL_FLIT),
		    "documented: PCI Express Base; 4 more with ECRC; in a flit the header alone"),
	PARAM_TIME(T, latency, 100 * PS_PER_NS, 1, PS_PER_MS,
		   "last byte sent to last byte in the other end's queue",
		   "fitted: pcie-bench, 8 B DMA read of 453 ns with 200 ns in the host"),
	PARAM_TIME(T, fc_latency, 100 * PS_PER_NS, 1, PS_PER_MS,
		   "buffer of the receiver empty to its credits at the transmitter",
		   "fitted: the way of a TLP, see latency"),
	PARAM_TIME(T, fc_interval, 0, 0, 30 * PS_PER_US,
		   "between two UpdateFCs of a class at least; 0 = one for every train taken",
		   "documented: at most 30 us (PCI Express Base, 2.6.1.2); 0 declared"),
	PARAM_ENUM(T, fc_scale, 0, fc_scale_names,
		   "each of the numbers below stands for so many credits",
		   "documented: scaled flow control (PCI Express Base 4.0, 3.4.2); 1: without it"),
	PARAM(T, root_ph, 64, 0, FC_MAX_HDR, "credit",
	      "posted headers that the root complex takes; 0 = infinite", CREDITS),
	PARAM(T, root_pd, 1024, 0, FC_MAX_DATA, "16 B",
	      "posted data that the root complex takes, but no less than mps; 0 = infinite",
	      CREDITS),
	PARAM(T, root_nph, 64, 0, FC_MAX_HDR, "credit",
	      "non-posted headers that the root complex takes; 0 = infinite", CREDITS),
	PARAM(T, dev_ph, 32, 0, FC_MAX_HDR, "credit",
	      "posted headers that the device takes; 0 = infinite", CREDITS),
	PARAM(T, dev_pd, 128, 0, FC_MAX_DATA, "16 B",
	      "posted data that the device takes, but no less than mps; 0 = infinite", CREDITS),
	PARAM(T, dev_cplh, 0, 0, FC_MAX_HDR, "credit",
	      "completion headers that the device takes; 0 = infinite", ENDPOINT_CPL),
	PARAM(T, dev_cpld, 0, 0, FC_MAX_DATA, "16 B",
	      "completion data that the device takes, but no less than mps; 0 = infinite",
	      ENDPOINT_CPL),
	PARAM_BOOL(T, relaxed_ordering, 0, "completions may pass posted requests",
		   "documented: PCI Express Base, 2.4.1; off unless a device sets the bit"),
	PARAM(T, tx_queue, 16, 1, 1024, "TLP", "trains of a class that wait at a transmitter",
	      "declared"),
	PARAM(T, depth, 512, 2, 65536, "TLP", "trains on the way to a port", "declared"),
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
	STAT(T, up_parts, "TLP",
	     "trains of the device of which a part was sent for want of credits"),
	STAT(T, down_parts, "TLP",
	     "trains of the host of which a part was sent for want of credits"),
#define X(c) STAT(T, up_##c##_b, "B", "on the link to the host, class " #c),
	DMA_CLASSES(X)
#undef X
#define X(c) STAT(T, down_##c##_b, "B", "on the link to the device, class " #c),
		DMA_CLASSES(X)
#undef X
#define X(c) WAIT_STATS(up, c, "to the host, class " #c)
			DMA_CLASSES(X)
#undef X
#define X(c) WAIT_STATS(down, c, "to the device, class " #c)
				DMA_CLASSES(X)
#undef X
					SIGNAL(T, up_flying, 16, "trains on the way to the host"),
	SIGNAL(T, down_flying, 16, "trains on the way to the device"),
	FIELDS_END
};
#undef T

static uint64_t pcie_link_step(struct block *b)
{
	struct pcie_link *l = (struct pcie_link *)b;
	uint64_t next;

	/* what arrives gives credits and room back */
	pcie_tx_arrive(&l->up, &l->to_host);
	pcie_tx_arrive(&l->down, &l->cpl);
	pcie_tx_arrive(&l->down, &l->reg);
	next = min_u64(pcie_tx_step(&l->up, l->up_in), pcie_tx_step(&l->down, l->down_in));
	next = min_u64(next, tx_line_next(&l->to_host, &l->up));
	next = min_u64(next, tx_line_next(&l->cpl, &l->down));
	next = min_u64(next, tx_line_next(&l->reg, &l->down));
	l->up_flying = l->to_host.n;
	l->down_flying = l->cpl.n + l->reg.n;
	return next;
}

/* Credits of a class; of data no less than a TLP of the largest payload needs (2.6.1). */
static void give_credits(const struct pcie_link *l, struct fc *f, uint32_t hdr, uint32_t data)
{
	data <<= FC_SCALE_SHIFT * l->fc_scale;
	f->max_hdr = hdr << FC_SCALE_SHIFT * l->fc_scale;
	f->max_data = data ? (uint32_t)max_u64(data, ceil_div(l->mps, FC_UNIT)) : 0;
}

/* What both directions have in common. */
static void build_tx(struct pcie_link *l, struct pcie_tx *x)
{
	x->b = &l->b;
	x->mps = l->mps;
	x->rcb = l->rcb;
	x->hdr_req = l->hdr_req;
	x->hdr_cpl = l->hdr_cpl;
	x->queue_size = l->tx_queue;
	x->latency_ps = l->latency;
	x->fc_latency_cyc = max_u64(1, block_cycles_of_ps(&l->b, l->fc_latency));
	x->fc_interval_cyc = block_cycles_of_ps(&l->b, l->fc_interval);
	x->byte_num = (uint64_t)generations[l->gen].num * EFFICIENCY_ONE;
	x->byte_den = ((uint64_t)generations[l->gen].den << l->lanes) * l->efficiency;
	x->is_relaxed = l->relaxed_ordering;
	pcie_tx_build(x);
}

/* What was not set by hand comes from the generation; results show it as if it had been. */
static void follow_generation(struct pcie_link *l)
{
	const struct generation *g = &generations[l->gen];

	l->efficiency = l->efficiency ? l->efficiency : g->efficiency;
	l->hdr_req = l->hdr_req ? l->hdr_req : g->hdr_req;
	l->hdr_cpl = l->hdr_cpl ? l->hdr_cpl : g->hdr_cpl;
}

static void pcie_link_build(struct block *b)
{
	struct pcie_link *l = (struct pcie_link *)b;

	follow_generation(l);
	give_credits(l, &l->up.fc[FC_P], l->root_ph, l->root_pd);
	give_credits(l, &l->up.fc[FC_NP], l->root_nph, 0);
	give_credits(l, &l->down.fc[FC_P], l->dev_ph, l->dev_pd);
	give_credits(l, &l->down.fc[FC_CPL], l->dev_cplh, l->dev_cpld);
	build_tx(l, &l->up);
	build_tx(l, &l->down);
	tx_line_build(b, &l->to_host, l->up_out, l->depth);
	tx_line_build(b, &l->cpl, l->down_cpl, l->depth);
	tx_line_build(b, &l->reg, l->mmio, l->depth);
	for (uint32_t c = 0; c < FC_CLASSES; c++) {
		l->up.line[c] = &l->to_host;
		l->down.line[c] = c == FC_CPL ? &l->cpl : &l->reg;
	}
	l->up.tlps[FC_P] = &l->up_mwr;
	l->up.tlps[FC_NP] = l->up.tlps[FC_CPL] = &l->up_mrd;
	l->down.tlps[FC_P] = l->down.tlps[FC_NP] = &l->down_mwr;
	l->down.tlps[FC_CPL] = &l->down_cpld;
	l->up.total_busy_ps = &l->up_busy_ps;
	l->down.total_busy_ps = &l->down_busy_ps;
	l->up.parts = &l->up_parts;
	l->down.parts = &l->down_parts;
	l->up.bytes = l->up_cls;
	l->down.bytes = l->down_cls;
	l->up.wait_ps = l->up_wait;
	l->down.wait_ps = l->down_wait;
}

/* PCI Express Base, 7.5.3.4 and 7.5.3.7: the sizes that the control registers can say. */
static const char *pcie_link_check(const struct block *b, const char **param)
{
	const struct pcie_link *l = (const struct pcie_link *)b;

	*param = "mps";
	if (l->mps & (l->mps - 1))
		return "no maximum payload size; allowed: 128, 256, 512, 1024, 2048, 4096";
	*param = "rcb";
	return l->rcb == 64 || l->rcb == 128 ? NULL
					     : "no read completion boundary; allowed: 64, 128";
}

static void pcie_link_reset(struct block *b)
{
	struct pcie_link *l = (struct pcie_link *)b;

	pcie_tx_reset(&l->up);
	pcie_tx_reset(&l->down);
	tx_line_reset(&l->to_host);
	tx_line_reset(&l->cpl);
	tx_line_reset(&l->reg);
	l->up_flying = l->down_flying = 0;
}

const struct block_class pcie_link_class = {
	.name = "pcie_link",
	.impl = "c",
	.size = sizeof(struct pcie_link),
	.fields = pcie_link_fields,
	.doc = "PCI Express link: serialisation, TLP headers, credits, ordering, propagation",
	.build = pcie_link_build,
	.check = pcie_link_check,
	.reset = pcie_link_reset,
	.step = pcie_link_step,
};
