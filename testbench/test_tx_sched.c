/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tx_sched.c - the transmit arbiter alone, sending onto a line of 100 Gb/s without a NIC around
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "models/tx_sched.h"
#include "sim/rng.h"
#include "sim/sim.h"
#include "sim/units.h"

#define MAX_QP 16384u
#define LINE (100 * GBPS)

static struct sim sim;
static struct tx_sched s;

/* What a QP sends: packets of so many bytes. */
static uint32_t size[MAX_QP];
static uint64_t sent[MAX_QP];
static uint64_t now_ps, visits;

static void begin(uint32_t n_qp, uint32_t quantum, uint32_t burst)
{
	struct block b;

	memset(&b, 0, sizeof(b));
	sim_init(&sim, 1);
	b.sim = &sim;
	b.name = "bench";
	tx_sched_build(&s, &b, n_qp);
	tx_sched_reset(&s, quantum, burst);
	memset(sent, 0, sizeof(sent));
	now_ps = visits = 0;
}

static void end(void)
{
	sim_destroy(&sim);
}

/* The QP whose turn it is sends a packet, in the time of the line; or the line idles. */
static uint32_t send_one(void)
{
	uint32_t qpi;

	while (tx_sched_release(&s, now_ps) != TX_SCHED_NONE)
		;
	for (; tx_sched_head(&s) != TX_SCHED_NONE && tx_sched_is_in_debt(&s); visits++)
		tx_sched_pay(&s);
	qpi = tx_sched_head(&s);
	if (qpi == TX_SCHED_NONE) {
		now_ps = tx_sched_next_ps(&s);
		return qpi;
	}
	now_ps += ps_of_bytes(size[qpi], LINE);
	sent[qpi] += size[qpi];
	visits++;
	tx_sched_sent(&s, size[qpi], true, now_ps);
	return qpi;
}

static void send_for(uint64_t ps)
{
	for (uint64_t until = now_ps + ps; now_ps < until;)
		send_one();
}

static void all_begin(uint32_t n_qp)
{
	for (uint32_t i = 0; i < n_qp; i++)
		tx_sched_add(&s, i, now_ps);
}

/* QPs that got more or less than their share by more than 'slack' bytes. */
static unsigned unfair(uint32_t n_qp, uint64_t slack)
{
	uint64_t sum = 0;
	unsigned n = 0;

	for (uint32_t i = 0; i < n_qp; i++)
		sum += sent[i];
	for (uint32_t i = 0; i < n_qp; i++)
		n += sent[i] + slack < sum / n_qp || sent[i] > sum / n_qp + slack;
	return n;
}

/* Any sizes, any quantum: nobody is further from a fair share than a turn and a packet. */
static void tx_sched_any_sizes_get_equal_bytes(void)
{
	static const uint32_t quanta[] = { 256, 1024, 4096, 65536 };
	struct rng r;

	rng_seed(&r, "tx_sched", 1);
	for (size_t k = 0; k < ARRAY_LEN(quanta); k++)
		for (uint32_t n = 2; n <= 100; n += 14) {
			begin(n, quanta[k], 65536);
			for (uint32_t i = 0; i < n; i++)
				size[i] = 84 + (uint32_t)rng_below(&r, 4100);
			all_begin(n);
			send_for(2 * PS_PER_MS);
			CU_ASSERT_EQUAL(unfair(n, quanta[k] + 2 * 4200), 0);
			end();
		}
}

/* The oracle itself: a cap, and packets that are not charged in full, are noticed. */
static void tx_sched_unfairness_is_caught(void)
{
	begin(3, 1024, 65536);
	size[0] = size[1] = size[2] = 1000;
	tx_sched_set_rate(&s, 1, 30 * GBPS);
	all_begin(3);
	send_for(PS_PER_MS);
	CU_ASSERT_EQUAL(unfair(3, 8192), 3);
	end();
}

/* Packets in a row of one QP: a quantum of them. */
static void tx_sched_quantum_is_the_length_of_a_turn(void)
{
	for (uint32_t quantum = 1000; quantum <= 64000; quantum *= 4) {
		uint32_t last = TX_SCHED_NONE, turns = 0, n = 6400;

		begin(2, quantum, 65536);
		size[0] = size[1] = 1000;
		all_begin(2);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t qpi = send_one();

			turns += qpi != last;
			last = qpi;
		}
		CU_ASSERT_EQUAL(n / turns, quantum / 1000);
		end();
	}
}

/* One that comes and goes gets its turn, and saves nothing up. */
static void tx_sched_qp_that_ran_dry_saves_nothing(void)
{
	begin(2, 10000, 65536);
	size[0] = size[1] = 1000;
	tx_sched_add(&s, 0, 0);
	for (unsigned i = 0; i < 100; i++) {
		tx_sched_add(&s, 1, now_ps);
		while (tx_sched_head(&s) != 1)
			send_one();
		tx_sched_sent(&s, 1000, false, now_ps); /* of the 10000 that it may */
	}
	CU_ASSERT(sent[0] >= 100 * 9000ull);
	tx_sched_add(&s, 1, now_ps);
	while (tx_sched_head(&s) != 1)
		send_one();
	CU_ASSERT(tx_sched_left(&s) == 10000);
	end();
}

static void tx_sched_highest_priority_goes_first(void)
{
	begin(4, 1024, 65536);
	for (uint32_t i = 0; i < 4; i++)
		size[i] = 1000;
	tx_sched_set_prio(&s, 2, 7);
	tx_sched_set_prio(&s, 3, 5);
	all_begin(4);
	send_for(PS_PER_US);
	CU_ASSERT(sent[2] > 0 && sent[0] + sent[1] + sent[3] == 0); /* the others starve */
	tx_sched_drop(&s);
	send_for(PS_PER_US);
	CU_ASSERT(sent[3] > 0 && sent[0] + sent[1] == 0);
	tx_sched_drop(&s);
	send_for(10 * PS_PER_US);
	CU_ASSERT(sent[0] > 0 && unfair(2, 4096) == 0);
	end();
}

/* Bytes of 'ms' at 'bps', within a thousandth and a packet. */
static bool is_at_rate(uint32_t qpi, uint64_t ms, uint64_t bps)
{
	uint64_t want = ms * (bps / 8000), slack = want / 1000 + 2ull * size[qpi];

	return sent[qpi] + slack > want && sent[qpi] < want + slack;
}

static void tx_sched_cap_holds_alone_and_beside_others(void)
{
	static const uint64_t rates[] = { 1 * MBPS, 100 * MBPS, GBPS, 10 * GBPS, 45 * GBPS };
	static const uint32_t sizes[] = { 84, 1100, 4200 };

	for (size_t k = 0; k < ARRAY_LEN(rates) * ARRAY_LEN(sizes); k++)
		for (uint32_t n = 1; n <= 2; n++) {
			uint64_t bps = rates[k % ARRAY_LEN(rates)];

			begin(n, 1024, 65536);
			size[0] = sizes[k / ARRAY_LEN(rates)];
			size[1] = 4200;
			tx_sched_set_rate(&s, 0, bps);
			all_begin(n);
			send_for(20 * PS_PER_MS);
			CU_ASSERT(is_at_rate(0, 20, bps));
			CU_ASSERT(!is_at_rate(0, 20, bps + bps / 50 + 10 * MBPS)); /* the oracle */
			if (n == 2)
				CU_ASSERT(is_at_rate(1, 20, LINE - bps));
			end();
		}
}

/* Changed while it waits, and while it sends: from the next packet on. */
static void tx_sched_cap_can_change_at_any_time(void)
{
	begin(1, 1024, 65536);
	size[0] = 1000;
	tx_sched_set_rate(&s, 0, 10 * GBPS);
	all_begin(1);
	send_for(PS_PER_MS);
	CU_ASSERT(is_at_rate(0, 1, 10 * GBPS));
	tx_sched_set_rate(&s, 0, 2 * GBPS);
	sent[0] = 0;
	send_for(PS_PER_MS);
	CU_ASSERT(is_at_rate(0, 1, 2 * GBPS));
	tx_sched_set_rate(&s, 0, 0);
	sent[0] = 0;
	send_for(10 * PS_PER_MS);
	CU_ASSERT(is_at_rate(0, 10, LINE));
	end();
}

/* Held up by a higher priority it makes up for 'burst' bytes; having had nothing to send, for none. */
static void tx_sched_cap_makes_up_for_a_burst_at_most(void)
{
	begin(2, 1024, 20000);
	size[0] = size[1] = 1000;
	tx_sched_set_prio(&s, 1, 1);
	tx_sched_set_rate(&s, 0, 10 * GBPS);
	all_begin(2);
	send_for(PS_PER_MS);
	CU_ASSERT_EQUAL(sent[0], 0);
	tx_sched_drop(&s);
	send_for(16 * PS_PER_US); /* 20000 B at 10 Gb/s */
	CU_ASSERT(sent[0] > 39000 && sent[0] <= 42000);
	while (tx_sched_release(&s, now_ps) == TX_SCHED_NONE)
		now_ps = tx_sched_next_ps(&s);
	tx_sched_sent(&s, 1000, false, now_ps);
	now_ps += PS_PER_MS;
	sent[0] = 0;
	tx_sched_add(&s, 0, now_ps);
	send_for(16 * PS_PER_US);
	CU_ASSERT(sent[0] >= 20000 && sent[0] <= 22000);
	end();
}

/* Ten thousand with a cap, and one without that is not held up; no search among them. */
static void tx_sched_ten_thousand_caps_hold(void)
{
	uint32_t n = 10001, wrong = 0;

	begin(n, 4200, 65536);
	for (uint32_t i = 0; i < n; i++)
		size[i] = 1000;
	for (uint32_t i = 1; i < n; i++)
		tx_sched_set_rate(&s, i, 5 * MBPS);
	all_begin(n);
	send_for(20 * PS_PER_MS);
	for (uint32_t i = 1; i < n; i++)
		wrong += !is_at_rate(i, 20, 5 * MBPS);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(sent[0] > 20 * (48 * GBPS / 8000)); /* all begin at once */
	end();
}

/* Its turn was interrupted: it goes before all others, of a higher priority too. */
static void tx_sched_resumed_goes_first(void)
{
	begin(3, 1024, 65536);
	size[0] = size[1] = size[2] = 1000;
	tx_sched_set_prio(&s, 2, 3);
	all_begin(2);
	tx_sched_drop(&s);
	tx_sched_add(&s, 2, 0);
	tx_sched_resume(&s, 0, 0);
	CU_ASSERT_EQUAL(send_one(), 0);
	CU_ASSERT_EQUAL(send_one(), 2);
	end();
}

CU_TestInfo test_tx_sched_tests[] = {
	{ "any sizes get equal bytes", tx_sched_any_sizes_get_equal_bytes },
	{ "unfairness is caught", tx_sched_unfairness_is_caught },
	{ "quantum is the length of a turn", tx_sched_quantum_is_the_length_of_a_turn },
	{ "QP that ran dry saves nothing", tx_sched_qp_that_ran_dry_saves_nothing },
	{ "highest priority goes first", tx_sched_highest_priority_goes_first },
	{ "cap holds alone and beside others", tx_sched_cap_holds_alone_and_beside_others },
	{ "cap can change at any time", tx_sched_cap_can_change_at_any_time },
	{ "cap makes up for a burst at most", tx_sched_cap_makes_up_for_a_burst_at_most },
	{ "ten thousand caps hold", tx_sched_ten_thousand_caps_hold },
	{ "resumed goes first", tx_sched_resumed_goes_first },
	CU_TEST_INFO_NULL
};
