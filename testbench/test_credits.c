/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_credits.c - end-to-end credits at the start of a connection, in whole runs
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "models/packet/aeth.h"
#include "testbench/tb_file.h"
#include "testbench/tb_run.h"
#include "testbench/tb_wire.h"

#define SENDS 5u

/*
 * Play a WRITE and SENDs behind it, 'n' receives being there before time 0. Returns how many SENDs left before the
 * first ACK came, and the credit code of that.
 */
static unsigned play(unsigned n, uint32_t *code)
{
	static struct tb_text text;
	struct wire_packet p;
	struct tb_run t;
	unsigned n_sent = 0;
	bool has_ack = false;

	text.n = 0;
	tb_put(&text, "rnicsim-trace 1\nhost h0\nhost h1\n"
		      "mr h0 a va=0x10000 len=64KiB access=lw\n"
		      "mr h1 a va=0x10000 len=64KiB access=lw,rw\n"
		      "qp h0 q type=RC peer=h1.q\nqp h1 q type=RC peer=h0.q\n");
	for (unsigned i = 1; i <= n; i++)
		tb_put(&text, "recv h1.q id=%u sge=a:0:64\n", i);
	for (unsigned i = n + 1; i <= SENDS; i++)
		tb_put(&text, "recv h1.q id=%u sge=a:0:64 at=20us\n", i);
	tb_put(&text, "post h0.q id=1 op=RDMA_WRITE sge=a:0:8 remote=a:0\n");
	for (unsigned i = 1; i <= SENDS; i++)
		tb_put(&text, "post h0.q id=%u op=SEND sge=a:0:8 after=1\n", i + 1);
	tb_run_ok(&t, &(struct tb_run_how){ .trace = tb_write("credits.trace", text.at, text.n),
					    .ini = "",
					    .keep_packets = true });
	for (uint32_t i = 0; i < t.n_packets; i++) {
		if (!wire_decode(&p, &t.packets[i], false))
			continue;
		if (t.packets[i].is_tx && p.bth.opcode == IB_ACKNOWLEDGE && !has_ack) {
			has_ack = true;
			*code = p.aeth.syndrome & AETH_VALUE_MASK;
		}
		if (!t.packets[i].is_tx && p.bth.opcode == IB_ACKNOWLEDGE && n_sent)
			break;
		n_sent += t.packets[i].is_tx && p.bth.opcode == IB_SEND_ONLY;
	}
	tb_run_close(&t);
	return n_sent;
}

/* Hardware captures have codes 5 and 6 in the first ACK; the SENDs behind it need not probe. */
static void receives_of_the_start_are_credits_of_the_first_ack(void)
{
	uint32_t code = 99;

	CU_ASSERT_EQUAL(play(SENDS, &code), SENDS);
	CU_ASSERT_EQUAL(code, aeth_credit_code(SENDS));
	CU_ASSERT_EQUAL(play(2, &code), 3); /* and the probe */
	CU_ASSERT_EQUAL(code, aeth_credit_code(2));
	CU_ASSERT_EQUAL(play(0, &code), 1);
	CU_ASSERT_EQUAL(code, aeth_credit_code(0));
}

CU_TestInfo test_credits_tests[] = { { "receives_of_the_start_are_credits_of_the_first_ack",
				       receives_of_the_start_are_credits_of_the_first_ack },
				     CU_TEST_INFO_NULL };
