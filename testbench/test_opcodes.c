/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_opcodes.c - traces/opcodes.trace makes the NIC send every packet that it can send, and other
 * people's tools find nothing wrong with one, in each encapsulation
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/packet/aeth.h"
#include "testbench/tb_file.h"
#include "testbench/tb_oracle.h"
#include "testbench/tb_wire.h"

#define TRACE "traces/opcodes.trace"

/* An encapsulation: what the scenario says of the NICs, and what the hosts' addresses are. */
static const struct wrapping {
	const char *set, *ip;
} wrappings[] = {
	{ "nic.encap=roce2", "" }, { "nic.encap=roce2", " ip=fd00::" }, { "nic.encap=roce1", "" },
	{ "nic.encap=ib", "" },    { "nic.encap=ib_grh", "" },
};

/* The trace with addresses of its hosts, without the lines that have one of these words. Free it. */
static char *trace_text(const char *ip, const char *const *without)
{
	char *all = tb_read(TRACE), *text = NULL, *rest = all, *line;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(all);
	while ((line = strsep(&rest, "\n")) != NULL) {
		bool is_kept = true;

		for (uint32_t i = 0; without && without[i]; i++)
			is_kept &= strstr(line, without[i]) == NULL;
		if (!is_kept)
			continue;
		if (strncmp(line, "host h", 6) == 0 && *ip)
			fprintf(f, "%s%s%d\n", line, ip, line[6] - '0' + 1);
		else
			fprintf(f, "%s\n", line);
	}
	fclose(f);
	free(all);
	return text;
}

/* What was sent. */
struct sent {
	uint32_t n_opcode[256], n_syndrome[256];
	uint32_t n, n_received;
};

static void count(const struct tb_run *t, struct sent *s)
{
	memset(s, 0, sizeof(*s));
	for (uint32_t i = 0; i < t->n_packets; i++) {
		const struct tb_run_packet *p = &t->packets[i];
		struct wire_packet w;

		CU_ASSERT(wire_decode(&w, p, port_is_ib(&rnic_nic(&t->r, p->nic)->addr)));
		CU_ASSERT(w.is_whole);
		if (!p->is_tx) {
			s->n_received++;
			continue;
		}
		s->n++;
		s->n_opcode[w.bth.opcode]++;
		if (w.bth.opcode == (IB_RC | IB_ACKNOWLEDGE))
			s->n_syndrome[w.aeth.syndrome]++;
	}
}

/* Run it in one encapsulation; every `expect` holds. The packets are in file 'pcap' besides. */
static void run(const struct wrapping *w, const char *const *without, const char *pcap,
		struct sent *s)
{
	const char *sets[] = { w->set, NULL };
	char *text = trace_text(w->ip, without);
	struct tb_run t;

	tb_run_ok(&t, &(struct tb_run_how){ .trace = tb_write("opcodes.trace", text, strlen(text)),
					    .sets = sets,
					    .pcap = pcap,
					    .keep_packets = true });
	count(&t, s);
	tb_run_close(&t);
	free(text);
}

/* All opcodes of RC, UC and UD, and acknowledgements of all kinds. */
static bool is_complete(const struct sent *s)
{
	static const uint8_t kinds[] = { NAK_SEQUENCE, NAK_INVALID_REQUEST, NAK_REMOTE_ACCESS,
					 NAK_REMOTE_OP, AETH_RNR_NAK | 1 };
	bool is_all = true;

	for (unsigned op = 0; op < 256; op++) {
		unsigned transport = op & IB_TRANSPORT_MASK;
		bool is_due = opcode_info[op].name &&
			      (transport == IB_RC || transport == IB_UC || transport == IB_UD);

		CU_ASSERT(is_due || !s->n_opcode[op]);
		is_all &= !is_due || s->n_opcode[op];
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		is_all &= s->n_syndrome[kinds[i]] != 0;
	return is_all;
}

static void nic_sends_every_opcode_in_every_encapsulation(void)
{
	bool has_tools = tb_has_capture_tools(), has_scapy = tb_has_scapy();
	const char *pcap = tb_path("opcodes.pcapng");
	struct sent s;

	for (size_t i = 0; i < ARRAY_LEN(wrappings); i++) {
		run(&wrappings[i], NULL, pcap, &s);
		CU_ASSERT(is_complete(&s));
		CU_ASSERT(!has_tools || tb_crcs_are_good(pcap, s.n + s.n_received));
		if (i == 0 && has_tools && has_scapy)
			CU_ASSERT(tb_scapy_agrees(pcap, s.n + s.n_received));
	}
}

/* tshark 4.0 calls FLUSH and ATOMIC WRITE unknown: without them. */
static void tshark_finds_nothing_wrong_with_what_it_knows(void)
{
	static const char *const news[] = { "op=FLUSH", "op=ATOMIC_WRITE", "dst:8008:8", NULL };
	const char *pcap = tb_path("known.pcapng");
	struct sent s;

	if (!tb_has_capture_tools())
		return;
	for (size_t i = 0; i < ARRAY_LEN(wrappings); i++) {
		run(&wrappings[i], news, pcap, &s);
		CU_ASSERT(s.n_opcode[IB_FLUSH] + s.n_opcode[IB_ATOMIC_WRITE] == 0);
		CU_ASSERT(tb_capture_is_good(pcap, s.n + s.n_received));
		CU_ASSERT_FALSE(i == 0 && tb_capture_is_good(pcap, s.n + s.n_received - 1));
	}
}

/* Leave out one kind of request or what brings one NAK: it is missed. */
static void opcode_that_is_not_sent_is_missed(void)
{
	static const char *const faults[] = { "op=ATOMIC_CMP_AND_SWP", "op=FLUSH",
					      "post h0.u0 id=20",      "post h0.d0 id=25",
					      "post h0.operation",     "drop nth" };

	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		const char *const without[] = { faults[i], "expect", NULL };
		struct sent s;

		run(&wrappings[0], without, NULL, &s);
		CU_ASSERT_FALSE(is_complete(&s));
	}
}

CU_TestInfo test_opcodes_tests[] = { { "nic_sends_every_opcode_in_every_encapsulation",
				       nic_sends_every_opcode_in_every_encapsulation },
				     { "tshark_finds_nothing_wrong_with_what_it_knows",
				       tshark_finds_nothing_wrong_with_what_it_knows },
				     { "opcode_that_is_not_sent_is_missed",
				       opcode_that_is_not_sent_is_missed },
				     CU_TEST_INFO_NULL };
