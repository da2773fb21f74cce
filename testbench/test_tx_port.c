/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tx_port.c - by turns when both are busy: fair, nothing lost, order of each input kept
 */
#include "models/msg.h"
#include "testbench/tb.h"

extern CU_TestInfo test_tx_port_tests[];
extern const struct block_class tx_port_class;

#define N_PKTS 200u
#define ACK 0x10000u /* added to the numbers of the second input */

struct bench {
	struct tb t;
	struct tb_port *data, *ack, *pkt, *done;
};

static void bench_start(struct bench *b, const char *const *sets)
{
	tb_init(&b->t, &tx_port_class, NULL, sets);
	b->data = tb_source(&b->t, "data");
	b->ack = tb_source(&b->t, "ack");
	b->pkt = tb_sink(&b->t, "pkt");
	b->done = tb_sink(&b->t, "rsp_done");
	tb_start(&b->t);
}

static void send(struct tb_port *p, uint64_t at, uint32_t n)
{
	tb_send_at(p, at, &(struct pkt){ .buf = n });
}

static uint32_t got(const struct bench *b, uint32_t i)
{
	const struct pkt *p = tb_got(b->pkt, i);

	return p ? p->buf : 0;
}

/*
 * Breaks of order within an input, and messages that are not there; 'fault' expects another order.
 */
static unsigned order_faults(const struct bench *b, bool fault)
{
	uint32_t next[2] = { 1, ACK + 1 };
	unsigned bad = b->pkt->n_received != 2 * N_PKTS;

	for (uint32_t i = 0; i < b->pkt->n_received; i++) {
		unsigned from = got(b, i) >= ACK;

		bad += got(b, i) != next[from];
		next[from] += fault ? 2 : 1;
	}
	return bad;
}

static void grants_any_stalls_lose_and_reorder_nothing(void)
{
	for (unsigned in = 0; in < 4; in++)
		for (unsigned out = 0; out < 4; out++) {
			char set_in[64], set_out[64];
			const char *const sets[] = { set_in, set_out, NULL };
			struct bench b;

			tb_stall_sets(&tx_port_class, in, out, set_in, set_out);
			bench_start(&b, sets);
			for (uint32_t i = 1; i <= N_PKTS; i++) {
				send(b.data, 0, i);
				send(b.ack, 0, ACK + i);
			}
			tb_run(&b.t);
			CU_ASSERT_EQUAL(order_faults(&b, false), 0);
			CU_ASSERT(order_faults(&b, true) > 0);
			CU_ASSERT_EQUAL(tb_stat(&b.t, "data_pkts"), N_PKTS);
			CU_ASSERT_EQUAL(tb_stat(&b.t, "ack_pkts"), N_PKTS);
			tb_end(&b.t);
		}
}

static void grants_both_busy_alternate_one_a_cycle(void)
{
	struct bench b;

	bench_start(&b, NULL);
	for (uint32_t i = 1; i <= N_PKTS; i++) {
		send(b.data, 0, i);
		send(b.ack, 0, ACK + i);
	}
	tb_run(&b.t);
	for (uint32_t i = 1; i < 2 * N_PKTS; i++) {
		CU_ASSERT_NOT_EQUAL(got(&b, i) >= ACK, got(&b, i - 1) >= ACK);
		CU_ASSERT_EQUAL(b.pkt->cycle[i], b.pkt->cycle[i - 1] + 1);
	}
	tb_end(&b.t);
}

static void grant_after_idle_goes_to_the_one_not_served_last(void)
{
	struct bench b;

	bench_start(&b, NULL);
	send(b.data, 10, 1);
	/* both at once, long after */
	send(b.data, 100, 2);
	send(b.ack, 100, ACK + 1);
	/* again: the last grant was data's */
	send(b.data, 200, 3);
	send(b.ack, 200, ACK + 2);
	tb_run(&b.t);
	CU_ASSERT_EQUAL(got(&b, 0), 1);
	CU_ASSERT_EQUAL(got(&b, 1), ACK + 1);
	CU_ASSERT_EQUAL(got(&b, 2), 2);
	CU_ASSERT_EQUAL(got(&b, 3), ACK + 2);
	CU_ASSERT_EQUAL(got(&b, 4), 3);
	/* one cycle in, one cycle out */
	CU_ASSERT_EQUAL(b.pkt->cycle[0], 12);
	tb_end(&b.t);
}

/* The end of a run of responses is told when its last packet is granted, however slow the MAC. */
static void response_run_is_done_when_its_last_packet_is_granted(void)
{
	for (unsigned in = 0; in < 4; in++)
		for (unsigned out = 0; out < 4; out++) {
			char set_in[64], set_out[64];
			const char *const sets[] = { set_in, set_out, NULL };
			uint32_t n_pkt = 0;
			struct bench b;

			tb_stall_sets(&tx_port_class, in, out, set_in, set_out);
			bench_start(&b, sets);
			for (uint32_t i = 1; i <= N_PKTS; i++) {
				tb_send_at(b.data, i,
					   &(struct pkt){
						   .buf = i, .tag = i, .qpi = 3, .ends_job = 1 });
				send(b.ack, i, ACK + i);
			}
			tb_run(&b.t);
			CU_ASSERT_EQUAL_FATAL(b.done->n_received, N_PKTS);
			for (uint32_t i = 0; i < b.pkt->n_received; i++) {
				const struct job_done *d;

				if (got(&b, i) >= ACK)
					continue;
				d = tb_got(b.done, n_pkt);
				CU_ASSERT_EQUAL(d->tag, got(&b, i));
				CU_ASSERT_EQUAL(d->qpi, 3);
				/* both are taken in order; with no stall on them, in one cycle */
				CU_ASSERT(out || b.done->cycle[n_pkt] == b.pkt->cycle[i]);
				n_pkt++;
			}
			CU_ASSERT_EQUAL(n_pkt, N_PKTS);
			tb_end(&b.t);
		}
}

/* A run that failed: no packet, but its end is told, behind the packets before it. */
static void response_run_that_failed_is_told_and_sends_nothing(void)
{
	const struct job_done *d;
	struct bench b;

	bench_start(&b, NULL);
	send(b.data, 10, 1);
	tb_send_at(b.data, 10,
		   &(struct pkt){ .buf = BUF_NONE,
				  .tag = 7,
				  .qpi = 2,
				  .status = XLATE_BAD_KEY,
				  .ends_job = 1 });
	send(b.ack, 30, ACK + 1);
	tb_run(&b.t);
	CU_ASSERT_EQUAL(b.pkt->n_received, 2);
	CU_ASSERT_EQUAL(tb_stat(&b.t, "data_pkts"), 1);
	CU_ASSERT_EQUAL_FATAL(b.done->n_received, 1);
	d = tb_got(b.done, 0);
	CU_ASSERT(d->tag == 7 && d->qpi == 2 && d->status == XLATE_BAD_KEY);
	CU_ASSERT(b.done->cycle[0] > b.pkt->cycle[0]);
	tb_end(&b.t);
}

CU_TestInfo test_tx_port_tests[] = { { "grants_any_stalls_lose_and_reorder_nothing",
				       grants_any_stalls_lose_and_reorder_nothing },
				     { "grants_both_busy_alternate_one_a_cycle",
				       grants_both_busy_alternate_one_a_cycle },
				     { "grant_after_idle_goes_to_the_one_not_served_last",
				       grant_after_idle_goes_to_the_one_not_served_last },
				     { "response_run_is_done_when_its_last_packet_is_granted",
				       response_run_is_done_when_its_last_packet_is_granted },
				     { "response_run_that_failed_is_told_and_sends_nothing",
				       response_run_that_failed_is_told_and_sends_nothing },
				     CU_TEST_INFO_NULL };
