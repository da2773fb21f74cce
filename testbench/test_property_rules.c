/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_property_rules.c - each rule of the judge of random traces has a fault that it must notice, by its own words
 *
 * A row of a table: what the judge must say, and a run that is spoilt in one thing, before it (then the hardware is
 * wrong, the watchers are not) or after it (then what is judged is). Seeds are tried until a trace has what the fault
 * needs. Rules whose faults need more than this: test_property_faults.c, test_property_wire.c.
 */
#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#include "models/cqe_writer.h"
#include "models/packet/aeth.h"
#include "models/packet/icrc.h"
#include "models/recovery.h"
#include "models/requester.h"
#include "models/responder.h"
#include "models/wqe_fetch.h"
#include "testbench/tb_judge.h"
#include "testbench/tb_wire.h"

#define SEEDS 400u
#define COPIES 64u

struct fault {
	const char *says;
	void (*before)(struct tb_case *c);
	bool (*after)(struct tb_case *c); /* false: there is nothing to spoil */
	const struct gen_want *want;
	const char *word; /* that the trace has */
};

static const struct gen_want clean = { .is_clean = true, .is_plain_nic = true };
static const struct gen_want rarely_lossy = { .is_rarely_lossy = true, .is_plain_nic = true };
static const struct gen_want any = { .is_plain_nic = true };

static bool has_word(uint64_t seed, const struct fault *f)
{
	struct gen_case g;
	bool has;

	if (!f->word)
		return true;
	gen_make(&g, seed, f->want);
	has = strstr(g.trace, f->word) != NULL;
	gen_free(&g);
	return has;
}

/* An event that never came may leave the run stuck as well: both are looked at. */
static bool is_said(struct tb_case *c, const char *says)
{
	const char *events = tb_events_verdict(c->events), *what;

	if (events && strstr(events, says))
		return true;
	what = tb_judge(c);
	return what && strstr(what, says);
}

static bool is_noticed(const struct fault *f, uint64_t seed, const char *const *sets)
{
	static struct tb_case c;
	bool noticed = false;

	CU_ASSERT_FATAL(
		tb_case_run_spoilt(&c, seed, f->want, sets, ORDER_FORWARD, false, f->before));
	CU_ASSERT_PTR_NULL(tb_case_refer(&c));
	if (f->before) {
		noticed = is_said(&c, f->says);
	} else {
		CU_ASSERT_PTR_NULL(tb_judge(&c));
		noticed = f->after(&c) && is_said(&c, f->says);
	}
	tb_case_close(&c);
	return noticed;
}

static void all_are_noticed(const struct fault *faults, size_t n, const char *const *sets)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t seed = 1;

		while (seed < SEEDS &&
		       (!has_word(seed, &faults[i]) || !is_noticed(&faults[i], seed, sets)))
			seed++;
		CU_ASSERT(seed < SEEDS);
		if (seed == SEEDS)
			printf("\nno fault is noticed as \"%s\"\n", faults[i].says);
	}
}

/* ---- packets ---- */

enum what { A_RETH, A_SEND, AN_IETH, A_FETCH_ADD, AN_ATOMIC_ACK, A_SACK, A_RESPONSE };

static bool is_one(const struct wire_packet *p, enum what what)
{
	if ((p->bth.opcode & IB_TRANSPORT_MASK) != IB_RC)
		return false;
	switch (what) {
	case A_RETH:
		return p->bth.opcode == IB_WRITE_ONLY && p->len;
	case A_SEND:
		return p->bth.opcode == IB_SEND_ONLY && p->len > 4;
	case AN_IETH:
		return opcode_has(p->info, X_IETH);
	case A_FETCH_ADD:
		return p->bth.opcode == IB_FETCH_ADD;
	case AN_ATOMIC_ACK:
		return opcode_has(p->info, X_ATOMICACK);
	case A_SACK:
		return p->bth.opcode == IB_ACKNOWLEDGE && p->len;
	default:
		return p->bth.opcode == IB_READ_RSP_ONLY && p->len > 4;
	}
}

/* The first packet of a kind that was sent; NULL: none. */
static struct tb_run_packet *find(struct tb_case *c, enum what what, struct wire_packet *p)
{
	for (uint32_t i = 0; i < c->run.n_packets; i++)
		if (c->run.packets[i].is_tx && wire_decode(p, &c->run.packets[i], false) &&
		    is_one(p, what))
			return &c->run.packets[i];
	return NULL;
}

/* Change a byte from the BTH on, and set the ICRC right. RoCEv2. */
static void change_at(struct tb_run_packet *p, uint32_t at, uint8_t bits)
{
	bool is_v6 = p->bytes[12] == 0x86;
	uint32_t l4 = 14 + (is_v6 ? 40 : 20) + 8, end = p->len - 4;

	p->bytes[l4 + at] ^= bits;
	icrc_store(p->bytes + end, icrc_of(is_v6 ? ICRC_IPV6 : ICRC_IPV4, p->bytes + 14, end - 14));
}

static bool change(struct tb_case *c, enum what what, enum xeth header, uint32_t at, uint8_t bits)
{
	struct wire_packet w;
	struct tb_run_packet *p = find(c, what, &w);

	if (p)
		change_at(p, w.info->off[header] + at, bits);
	return p != NULL;
}

/* Packet 'p' was sent n times more, right behind. Returns the first of these. */
static struct tb_run_packet *repeat(struct tb_case *c, struct tb_run_packet *p, uint32_t n)
{
	uint32_t i = (uint32_t)(p - c->run.packets);
	struct tb_run_packet *to;

	c->run.packets = x_realloc(c->run.packets, (c->run.n_packets + n) * sizeof(*p));
	p = &c->run.packets[i];
	memmove(p + 1 + n, p + 1, (c->run.n_packets - i - 1) * sizeof(*p));
	c->run.n_packets += n;
	for (to = p + 1; to <= p + n; to++) {
		*to = *p;
		to->bytes = x_calloc(1, p->len);
		memcpy(to->bytes, p->bytes, p->len);
	}
	return p + 1;
}

static bool address(struct tb_case *c)
{
	return change(c, A_RETH, X_RETH, 6, 1);
}
static bool key(struct tb_case *c)
{
	return change(c, A_RETH, X_RETH, 8 + 3, 1);
}
static bool dma_length(struct tb_case *c)
{
	return change(c, A_RETH, X_RETH, 12 + 1, 1);
}
static bool invalidated_key(struct tb_case *c)
{
	return change(c, AN_IETH, X_IETH, 3, 1);
}
static bool addend(struct tb_case *c)
{
	return change(c, A_FETCH_ADD, X_ATOMICETH, 8 + 4 + 7, 1);
}
static bool destination(struct tb_case *c)
{
	struct wire_packet w;
	struct tb_run_packet *p = find(c, A_SEND, &w);

	if (p)
		change_at(p, 6, 0x70);
	return p != NULL;
}
static bool damage(struct tb_case *c)
{
	struct wire_packet w;
	struct tb_run_packet *p = find(c, A_SEND, &w);

	if (p)
		p->bytes[p->len - 5] ^= 1;
	return p != NULL;
}
static bool response_length(struct tb_case *c)
{
	struct wire_packet w;
	struct tb_run_packet *p = find(c, A_RESPONSE, &w);

	if (p) /* of four bytes more than none of which the pad tells */
		change_at(p, 1, 0x10);
	return p != NULL;
}

/* The saved result of an ATOMIC is sent again, and is another. */
static bool another_value(struct tb_case *c)
{
	struct wire_packet w;
	struct tb_run_packet *p = find(c, AN_ATOMIC_ACK, &w);

	if (p)
		change_at(repeat(c, p, 1), w.info->off[X_ATOMICACK] + 7, 1);
	return p != NULL;
}

static bool send_too_often(struct tb_case *c)
{
	struct wire_packet w;
	struct tb_run_packet *p = find(c, A_SEND, &w);

	if (p)
		repeat(c, p, COPIES);
	return p != NULL;
}

static bool fence(struct tb_case *c)
{
	for (uint32_t i = 0; i < c->ref.n_wr; i++)
		c->ref.wr[i].r.flags |= WR_FENCE;
	return true;
}

/* ---- requests given up ---- */

/* The last request of a connection: it ends badly, and so says its CQE. */
static bool give_up(struct tb_case *c, uint32_t qp, uint8_t status)
{
	const struct ref_qp *q = &c->ref.qp[qp];
	struct ref_wr *w = q->n_sends ? &c->ref.wr[q->sends[q->n_sends - 1]] : NULL;
	struct tb_cqe *e = NULL;

	for (uint32_t i = 0; i < c->watch.n_cqes; i++)
		if (c->watch.cqes[i].qp == qp && !c->watch.cqes[i].is_recv)
			e = &c->watch.cqes[i];
	if (!w || !e || !w->is_signaled || w->is_error || w->r.opcode != WR_RDMA_WRITE)
		return false;
	w->status = e->status = status;
	w->is_error = e->is_error = true;
	c->gen.may_fail = true;
	return true;
}

static bool give_up_early(struct tb_case *c)
{
	for (uint32_t i = 0; i < c->run.trace->n_qps; i++)
		if (c->run.trace->qps[i].type == QP_RC && !c->ref.qp[i].is_loose &&
		    give_up(c, i, WC_RETRY_EXC_ERR))
			return true;
	return false;
}

/* Nothing that comes to QP 'qp' was received. */
static void hide_answers(struct tb_case *c, uint32_t qp)
{
	const struct trace_qp *t = &c->run.trace->qps[qp];
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->run.n_packets; i++) {
		struct tb_run_packet *p = &c->run.packets[i];
		struct wire_packet w;

		if (!p->is_tx && p->nic == t->host && wire_decode(&w, p, false) &&
		    w.bth.destqp == c->run.r.system->hosts[t->host]
					    .nic->qp[c->run.r.system->qps[qp].qpi]
					    .qpn)
			free(p->bytes);
		else
			c->run.packets[n++] = *p;
	}
	c->run.n_packets = n;
}

static bool give_up_without_rnr(struct tb_case *c)
{
	for (uint32_t i = 0; i < c->run.trace->n_qps; i++)
		if (c->run.trace->qps[i].type == QP_RC && !c->ref.qp[i].is_loose &&
		    c->ref.qp[i].n_sends == 1 && c->run.trace->qps[i].rnr_retry < 7 &&
		    give_up(c, i, WC_RNR_RETRY_EXC_ERR)) {
			hide_answers(c, i);
			return true;
		}
	return false;
}

/* ---- receives of UC, UD and SRQs ---- */

static void flip_byte(struct tb_case *c, uint32_t mr, uint64_t addr)
{
	const struct host *h = &c->run.r.system->hosts[c->run.trace->mrs[mr].host];
	uint8_t b;

	space_read(h->space, addr, &b, 1);
	b ^= 0x80;
	space_write(h->space, addr, &b, 1);
}

static const struct rec_sge *last_sge(const struct ref_wr *w)
{
	return &w->r.sge[w->r.n_sge - 1];
}

static bool fill_unused(struct tb_case *c)
{
	for (uint32_t i = 0; i < c->ref.n_wr; i++) {
		const struct ref_wr *w = &c->ref.wr[i];

		if (w->r.kind != REC_RECV || !w->is_loose || w->is_former || w->has_row || !w->len)
			continue;
		/* the last byte: what is left of a message that was given up lies in front */
		flip_byte(c, last_sge(w)->mr, last_sge(w)->addr + last_sge(w)->len - 1);
		return true;
	}
	return false;
}

static bool write_behind(struct tb_case *c)
{
	for (uint32_t i = 0; i < c->watch.n_rows; i++) {
		const struct op_row *row = &c->watch.rows[i];

		for (uint32_t k = 0; k < c->ref.n_wr; k++) {
			const struct ref_wr *w = &c->ref.wr[k];

			if (w->r.host != row->host || w->r.id != row->id || !w->is_loose ||
			    w->r.kind != REC_RECV || row->opcode != OP_RECV || w->len <= row->bytes)
				continue;
			flip_byte(c, last_sge(w)->mr, last_sge(w)->addr + last_sge(w)->len - 1);
			return true;
		}
	}
	return false;
}

static bool change_nobodys(struct tb_case *c)
{
	uint32_t mr = ref_find_mr(&c->ref, 1, "ltg0");

	if (mr == TRACE_NONE)
		return false;
	flip_byte(c, mr, c->run.trace->mrs[mr].va + c->run.trace->mrs[mr].len - 1);
	return true;
}

/* The receivers of datagrams turn out to be of another partition. */
static bool change_partition(struct tb_case *c)
{
	for (uint32_t i = 0; i < c->run.trace->n_qps; i++)
		if (c->ref.trace->qps[i].type == QP_UD && c->ref.trace->qps[i].host == 1)
			c->ref.trace->qps[i].pkey = 0x8001;
	return true;
}

/* ---- hardware that is wrong ---- */

static struct block *block_of(struct tb_case *c, uint32_t host, const char *name)
{
	char path[32];

	snprintf(path, sizeof(path), "nic%u.%s", host, name);
	return netlist_find(&c->run.r.sim, path);
}

/* Attached to a channel of a block: the block forgets something at each message. */
struct spoiler {
	struct chan_tap tap; /* first member */
	struct block *b;
};

static void spoil_at(struct tb_case *c, const char *block, const char *port, struct chan_tap tap)
{
	static struct spoiler spoilers[2];

	for (uint32_t h = 0; h < 2; h++) {
		spoilers[h] = (struct spoiler){ .tap = tap, .b = block_of(c, h, block) };
		chan_attach(netlist_chan(spoilers[h].b, port), &spoilers[h].tap);
	}
}

static void *spoilt(struct chan_tap *t)
{
	return ((struct spoiler *)(void *)t)->b;
}

static void forget_nak(struct chan_tap *t, const struct chan *ch, const void *msg)
{
	struct responder *r = spoilt(t);

	(void)ch;
	r->qp[((const struct rx_pkt *)msg)->qpi].is_nak_sent = false;
}

static void nak_every_packet(struct tb_case *c)
{
	spoil_at(c, "responder", "rx", (struct chan_tap){ .pushed = forget_nak });
}

static void lift_limit(struct chan_tap *t, const struct chan *ch, const void *msg)
{
	struct requester *r = spoilt(t);
	struct req_qp *q = &r->qp[((const struct tx_job *)msg)->qpi];

	(void)ch;
	q->lsn = psn_max(q->lsn, q->ssn);
}

/* Behind each message one more is the probe. */
static void heed_no_credits(struct tb_case *c)
{
	spoil_at(c, "requester", "job", (struct chan_tap){ .pushed = lift_limit });
}

static void arm_for_any(struct chan_tap *t, const struct chan *ch, const void *msg)
{
	struct cqe_writer *w = spoilt(t);
	const struct cq_arm *m = msg;

	(void)ch;
	if (w->cq[m->cqi].armed)
		w->cq[m->cqi].armed = CQ_ARMED;
}

static void wake_for_all(struct tb_case *c)
{
	spoil_at(c, "cqe_writer", "arm", (struct chan_tap){ .popped = arm_for_any });
}

static void forget_drain(struct chan_tap *t, const struct chan *ch, const void *msg)
{
	struct requester *r = spoilt(t);

	(void)ch;
	r->qp[((const struct qp_cmd *)msg)->qpi].is_draining = false;
}

static void do_not_drain(struct tb_case *c)
{
	spoil_at(c, "requester", "cmd", (struct chan_tap){ .popped = forget_drain });
}

static void set_limits(struct tb_case *c, uint16_t limit)
{
	for (uint32_t h = 0; h < 2; h++) {
		struct wqe_fetch *w = (struct wqe_fetch *)(void *)block_of(c, h, "wqe_fetch");
		struct nic *nic = c->run.r.system->hosts[h].nic;

		for (uint32_t i = 0; i < nic->n_srq; i++)
			nic->srq[i].limit = w->rq[nic->n_qp + i].limit = limit;
	}
}

static void want_no_event(struct tb_case *c)
{
	set_limits(c, 0);
}

static void want_early_event(struct tb_case *c)
{
	set_limits(c, 1000);
}

static void for_all_qps(struct tb_case *c, void (*set)(struct qp_attr *a))
{
	for (uint32_t h = 0; h < 2; h++)
		for (uint32_t i = 0; i < c->run.r.system->hosts[h].nic->n_qp; i++)
			set(&c->run.r.system->hosts[h].nic->qp[i]);
}

static void change_timer(struct qp_attr *a)
{
	a->min_rnr ^= 1;
}

static void wait_otherwise(struct tb_case *c)
{
	for_all_qps(c, change_timer);
}

static void open_all(struct qp_attr *a)
{
	a->rd_atomic = 16;
}

static void read_at_will(struct tb_case *c)
{
	for_all_qps(c, open_all);
}

/* ---- the tables ---- */

static void each_rule_of_packets_notices_its_fault(void)
{
	static const struct fault faults[] = {
		{ ": address ", NULL, address, &clean, NULL },
		{ ": R_Key ", NULL, key, &clean, NULL },
		{ ": DMA length ", NULL, dma_length, &clean, NULL },
		{ ": key ", NULL, invalidated_key, &clean, "op=SEND_WITH_INV" },
		{ ": addend ", NULL, addend, &clean, NULL },
		{ "a packet to QP", NULL, destination, &clean, NULL },
		{ "sent no packet", NULL, damage, &clean, NULL },
		{ ": bytes ", NULL, response_length, &clean, NULL },
		{ ": value ", NULL, another_value, &clean, NULL },
		{ ": attempts ", NULL, send_too_often, &clean, NULL },
		{ "in front of a fence", NULL, fence, &clean, NULL },
		{ "READs and ATOMICs open", read_at_will, NULL, &clean, "rd_atomic=1 " },
		{ ": RNR timer ", wait_otherwise, NULL, &any, NULL },
		{ "two NAKs for the gap", nak_every_packet, NULL, &rarely_lossy, NULL },
		{ "beyond the credits", heed_no_credits, NULL, &any, NULL },
	};

	all_are_noticed(faults, ARRAY_LEN(faults), NULL);
}

static void each_rule_of_ends_notices_its_fault(void)
{
	static const struct fault faults[] = {
		{ "was given up after 1 attempts", NULL, give_up_early, &clean, NULL },
		{ "was given up after 0 RNR NAKs", NULL, give_up_without_rnr, &any, NULL },
		{ "holds bytes of no message", NULL, fill_unused, &any, NULL },
		{ "was written behind its message", NULL, write_behind, &clean, NULL },
		{ "is nobody's and has changed", NULL, change_nobodys, &clean, NULL },
		{ "holds no message that is due", NULL, change_partition, &clean, NULL },
	};

	all_are_noticed(faults, ARRAY_LEN(faults), NULL);
}

static void each_rule_of_events_notices_its_fault(void)
{
	static const struct fault faults[] = {
		{ "before it is due", wake_for_all, NULL, &clean, "solicited=yes" },
		{ "begins a message though", do_not_drain, NULL, &any, "state=SQD" },
		{ ": its event never came", want_no_event, NULL, &clean, "srq h" },
		{ "an event of SRQ", want_early_event, NULL, &clean, "srq h" },
	};

	all_are_noticed(faults, ARRAY_LEN(faults), NULL);
}

CU_TestInfo test_property_rules_tests[] = {
	{ "each_rule_of_packets_notices_its_fault", each_rule_of_packets_notices_its_fault },
	{ "each_rule_of_ends_notices_its_fault", each_rule_of_ends_notices_its_fault },
	{ "each_rule_of_events_notices_its_fault", each_rule_of_events_notices_its_fault },
	CU_TEST_INFO_NULL
};
