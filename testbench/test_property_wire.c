/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_property_wire.c - the judge of random traces notices packets out of their order, events that are not
 * moderated, losses left to the timer and requests given up too early
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "models/packet/aeth.h"
#include "models/requester.h"
#include "models/responder.h"
#include "testbench/tb_judge.h"
#include "testbench/tb_wire.h"

#define SEEDS 60u
#define LOSSY_SEEDS 12u

/* The first seed whose trace has all of these words. */
static uint64_t seed_with(const char *a, const char *b)
{
	for (uint64_t seed = 1; seed < SEEDS; seed++) {
		struct gen_case g;
		bool has;

		gen_make(&g, seed, &(struct gen_want){ .is_clean = true, .is_plain_nic = true });
		has = strstr(g.trace, a) && strstr(g.trace, b);
		gen_free(&g);
		if (has)
			return seed;
	}
	CU_FAIL_FATAL("no trace has that");
	return 0;
}

/* A run that is as it must be is not any more when spoilt, before or after. */
static bool is_noticed(uint64_t seed, void (*before)(struct tb_case *c),
		       void (*after)(struct tb_case *c))
{
	static const struct gen_want want = { .is_clean = true, .is_plain_nic = true };
	static struct tb_case c;
	bool noticed;

	CU_ASSERT_FATAL(tb_case_run_spoilt(&c, seed, &want, NULL, ORDER_FORWARD, false, before));
	CU_ASSERT_PTR_NULL(tb_case_refer(&c));
	if (after) {
		CU_ASSERT_PTR_NULL(tb_judge(&c));
		after(&c);
	}
	noticed = tb_judge(&c) != NULL;
	tb_case_close(&c);
	return noticed;
}

/* ---- packets ---- */

enum what { A_REQUEST, AN_ACK, A_RESPONSE };

static bool is_one(const struct wire_packet *p, enum what what)
{
	if ((p->bth.opcode & IB_TRANSPORT_MASK) != IB_RC)
		return false;
	switch (what) {
	case A_REQUEST:
		return !p->info->is_response;
	case AN_ACK:
		return p->bth.opcode == IB_ACKNOWLEDGE &&
		       (p->aeth.syndrome & AETH_KIND_MASK) == AETH_ACK;
	default:
		return p->bth.opcode == IB_READ_RSP_ONLY && p->len > 4;
	}
}

/* The number of the first packet of a kind that was sent. */
static uint32_t find(const struct tb_case *c, enum what what, struct wire_packet *p)
{
	for (uint32_t i = 0; i < c->run.n_packets; i++)
		if (c->run.packets[i].is_tx && wire_decode(p, &c->run.packets[i], false) &&
		    is_one(p, what))
			return i;
	CU_FAIL_FATAL("no such packet");
	return 0;
}

static void move_to_front(struct tb_case *c, enum what what)
{
	struct wire_packet w;
	uint32_t i = find(c, what, &w);
	struct tb_run_packet p = c->run.packets[i];

	memmove(&c->run.packets[1], &c->run.packets[0], i * sizeof(p));
	c->run.packets[0] = p;
}

/* Nobody sent it: turned into one that was received. */
static void hide(struct tb_case *c, enum what what)
{
	struct wire_packet w;
	struct tb_run_packet *p = &c->run.packets[find(c, what, &w)];

	p->is_tx = false;
	p->nic = 1 - p->nic;
}

static void lose_request(struct tb_case *c)
{
	hide(c, A_REQUEST);
}
static void acknowledge_early(struct tb_case *c)
{
	move_to_front(c, AN_ACK);
}
static void respond_early(struct tb_case *c)
{
	move_to_front(c, A_RESPONSE);
}

static void faults_of_packets_are_noticed(void)
{
	static void (*const faults[])(struct tb_case *) = { lose_request, acknowledge_early,
							    respond_early };
	uint64_t seed = seed_with("host h0\n", "op=SEND_WITH_IMM");

	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		CU_ASSERT(is_noticed(seed, NULL, faults[i]));
}

/* ---- completions ---- */

static void change_solicited(struct tb_case *c)
{
	uint32_t i = 0;

	while (!c->watch.cqes[i].is_recv)
		i++;
	c->watch.cqes[i].is_solicited ^= true;
}

static void faults_of_completions_are_noticed(void)
{
	CU_ASSERT(is_noticed(seed_with("recv", "op=SEND_WITH_IMM"), NULL, change_solicited));
}

/* ---- events: the NIC is told something else than the watcher knows ---- */

static void do_not_moderate(struct tb_case *c)
{
	for (uint32_t h = 0; h < 2; h++) {
		struct nic *nic = c->run.r.system->hosts[h].nic;

		for (uint32_t i = 0; i < nic->n_cq; i++) {
			nic->cq[i].moderate_count = 1;
			nic->cq[i].moderate_ps = 0;
		}
	}
}

static void faults_of_events_are_noticed(void)
{
	CU_ASSERT(is_noticed(seed_with("mode=event moderate", "cq h0"), do_not_moderate, NULL));
}

/* ---- what is lost is not left to the timer: NAKs, or the reaction to them, come half a second late ---- */

static void for_all_nics(struct tb_case *c, const char *block, void (*spoil)(struct block *b))
{
	for (uint32_t h = 0; h < 2; h++) {
		char name[32];

		snprintf(name, sizeof(name), "nic%u.%s", h, block);
		spoil(netlist_find(&c->run.r.sim, name));
	}
}

static void delay_naks(struct block *b)
{
	((struct responder *)(void *)b)->nak_delay = PS_PER_S / 2;
}

static void delay_reaction(struct block *b)
{
	((struct requester *)(void *)b)->react_delay = PS_PER_S / 2;
}

static void nak_late(struct tb_case *c)
{
	for_all_nics(c, "responder", delay_naks);
}

static void react_late(struct tb_case *c)
{
	for_all_nics(c, "requester", delay_reaction);
}

/* How many of the seeds 1 .. n of a kind are judged wrong with one of these words. */
static uint32_t count_judged(uint64_t n_seeds, const struct gen_want *want, const char *const *sets,
			     void (*before)(struct tb_case *c), const char *a, const char *b)
{
	static struct tb_case c;
	uint32_t n = 0;

	for (uint64_t seed = 1; seed <= n_seeds; seed++) {
		const char *what;

		CU_ASSERT_FATAL(
			tb_case_run_spoilt(&c, seed, want, sets, ORDER_FORWARD, false, before));
		CU_ASSERT_PTR_NULL(tb_case_refer(&c));
		what = tb_judge(&c);
		n += what && (strstr(what, a) || strstr(what, b));
		tb_case_close(&c);
	}
	return n;
}

/* On wires that lose one packet in a hundred, with long timers. */
static uint32_t count_late(bool is_selective, void (*before)(struct tb_case *c))
{
	static const struct gen_want want = { .is_rarely_lossy = true, .is_plain_nic = true };
	const char *sets[] = { is_selective ? "requester.recovery=sr" : "requester.recovery=gbn",
			       is_selective ? "responder.recovery=sr" : "responder.recovery=gbn",
			       "requester.rto=low_high",
			       "requester.rto_min=1s",
			       "requester.rto_max=1s",
			       NULL };

	return count_judged(LOSSY_SEEDS, &want, sets, before, "without a NAK", "known to be lost");
}

static void losses_left_to_the_timer_are_noticed(void)
{
	static void (*const faults[])(struct tb_case *) = { nak_late, react_late };

	for (unsigned sr = 0; sr < 2; sr++) {
		CU_ASSERT_EQUAL(count_late(sr, NULL), 0);
		for (size_t i = 0; i < ARRAY_LEN(faults); i++)
			CU_ASSERT(count_late(sr, faults[i]) > 1);
	}
}

/* ---- a request is given up when its retries are spent, not before: the NIC's QPs have none ---- */

static void spend_no_retry(struct tb_case *c)
{
	for (uint32_t h = 0; h < 2; h++) {
		struct nic *nic = c->run.r.system->hosts[h].nic;

		for (uint32_t i = 0; i < nic->n_qp; i++)
			nic->qp[i].retry = 0;
	}
}

static void attempts_are_counted(void)
{
	static const struct gen_want want = { .is_plain_nic = true };
	static const char *const gbn[] = { NULL };
	static const char *const sr[] = { "requester.recovery=sr", "responder.recovery=sr", NULL };

	for (unsigned is_sr = 0; is_sr < 2; is_sr++) {
		const char *const *sets = is_sr ? sr : gbn;

		CU_ASSERT_EQUAL(
			count_judged(SEEDS, &want, sets, NULL, "was given up after", "attempts"),
			0);
		CU_ASSERT(count_judged(SEEDS, &want, sets, spend_no_retry, "was given up after",
				       "attempts") > 1);
	}
}

CU_TestInfo test_property_wire_tests[] = {
	{ "faults_of_packets_are_noticed", faults_of_packets_are_noticed },
	{ "faults_of_completions_are_noticed", faults_of_completions_are_noticed },
	{ "faults_of_events_are_noticed", faults_of_events_are_noticed },
	{ "losses_left_to_the_timer_are_noticed", losses_left_to_the_timer_are_noticed },
	{ "attempts_are_counted", attempts_are_counted },
	CU_TEST_INFO_NULL
};
