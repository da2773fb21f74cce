/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_replay.c - the whole NIC against Linux soft-RoCE: same verbs calls, packets and memory
 *
 * The recordings are read from ../shared/rxe where that folder is; traces/ and vectors/ hold the
 * smaller ones. The rules of the comparison are in tb_replay.h; README.md lists what is left out.
 */
#include <CUnit/CUnit.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/packet/aeth.h"
#include "models/packet/icrc.h"
#include "models/packet/psn.h"
#include "testbench/tb_file.h"
#include "testbench/tb_oracle.h"
#include "testbench/tb_recording.h"
#include "testbench/tb_replay.h"

#define TEXT 256u
#define PATH 256u

static const char softroce[] = "[nic]\nprofile = softroce\n";

/* Every scenario that nothing disturbed. */
static const char *const scenarios[] = {
	"v_rc_write_m256",
	"v_rc_write_m512",
	"v_rc_write_m1024",
	"v_rc_write_m4096",
	"v_rc_write_imm_m1024",
	"v_rc_write_ecn",
	"v_rc_read_m256",
	"v_rc_read_m1024",
	"v_rc_read_m2048",
	"v_rc_read_m4096",
	"v_rc_reads_d1",
	"v_rc_reads_d2",
	"v_rc_reads_d16",
	"v_rc_send_m256",
	"v_rc_send_m512",
	"v_rc_send_m1024",
	"v_rc_send_m4096",
	"v_rc_send_imm_m1024",
	"v_rc_send_tos",
	"v_rc_v6_send",
	"v_rc_atomic",
	"v_rc_sge3",
	"v_rc_inline",
	"v_rc_zero",
	"v_rc_burst",
	"v_rc_mix_clean",
	"v_rc_psnwrap",
	"v_rc_psnwrap_m256",
	"v_rc_psnwrap_burst",
	"v_rc_solicited",
	"v_rc_misaligned_ex",
	"v_rc_mw_inv",
	"v_rc_err",
	"v_rc_rnr",
	"v_rc_retry_exceeded",
	"v_uc_burst",
	"v_uc_drops",
	"v_uc_mix_clean",
	"v_uc_psnwrap",
	"v_uc_send_imm_m1024",
	"v_uc_send_m1024",
	"v_uc_send_m256",
	"v_uc_sge3",
	"v_uc_write_imm_m1024",
	"v_uc_write_m1024",
	"v_uc_write_m256",
	"v_ud",
};

/* perftest and pingpong programs, by traces written from their command lines. */
static const char *const programs[] = {
	"pf_send_uc_s1",     "pf_send_uc_s64",  "pf_send_uc_s1500",
	"pf_send_uc_s4096",  "pf_write_uc_s1",  "pf_write_uc_s64",
	"pf_write_uc_s4096", "pf_send_ud_s1",   "pf_send_ud_s8",
	"pf_send_ud_s64",    "pf_send_ud_s256", "pf_send_ud_s4096",
	"pf_send_lat_ud",    "pf_send_srq",     "pp_uc",
	"pp_uc_m512",        "pp_srq",
};

/* ---- one scenario ---- */

static bool is_ack(const struct replay_list *l, uint32_t k)
{
	return l->at[k].kind == REPLAY_ACK;
}

static bool is_same(const struct replay_packet *p, const struct replay_packet *q)
{
	return !q->is_bad && q->kind == p->kind && q->from == p->from &&
	       q->v.bth.destqp == p->v.bth.destqp && q->v.bth.psn == p->v.bth.psn;
}

/* Not the first transmission of a packet, or not the last answer to it. */
static bool is_repeated(const struct replay_list *l, uint32_t k)
{
	bool is_answer = l->at[k].kind == REPLAY_ACK;

	for (uint32_t i = is_answer ? k + 1 : 0; i < (is_answer ? l->n : k); i++)
		if (is_same(&l->at[k], &l->at[i]))
			return true;
	return false;
}

/* A request behind one that the peer refuses: it may have left before the NAK came, or not. */
static bool is_behind_refused(const struct replay_list *l, uint32_t k)
{
	const struct replay_packet *p = &l->at[k], *q;

	/* the numbers of a pair of QPs are the same at both ends */
	for (q = l->at; p->kind == REPLAY_REQUEST && q < l->at + l->n; q++)
		if (!q->is_bad && q->kind == REPLAY_ACK && q->from != p->from &&
		    q->v.bth.destqp == p->v.bth.destqp && q->p->data[q->v.xeth] > NAK_SEQUENCE &&
		    psn_diff(p->v.bth.psn, q->v.bth.psn) > 0)
			return true;
	return false;
}

typedef bool packet_test(const struct replay_list *l, uint32_t k);

static void drop_if(struct replay_list *l, packet_test *test)
{
	bool *drops = x_calloc(l->n + 1, sizeof(*drops));
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++)
		drops[i] = !l->at[i].is_bad && test(l, i);
	for (uint32_t i = 0; i < l->n; i++) {
		if (drops[i])
			free(l->at[i].p);
		else
			l->at[n++] = l->at[i];
	}
	l->n = n;
	free(drops);
}

/* What is left out of a comparison; README.md says why. */
static const struct {
	const char *scenario;
	packet_test *test;
} left_out[] = {
	{ "v_rc_rnr", is_repeated },
	{ "v_rc_err", is_behind_refused },
};

/* Differences between a recording and what NIC 'nic' saw. */
static uint32_t compare_packets(const struct tb_run *t, uint32_t nic, const char *pcap,
				packet_test *leave_out)
{
	struct replay_list rec, our;
	char text[TEXT];
	uint32_t n;

	CU_ASSERT_FATAL(replay_record(&rec, pcap));
	replay_of_run(&our, t, nic);
	if (leave_out) {
		drop_if(&rec, leave_out);
		drop_if(&our, leave_out);
	}
	CU_ASSERT(rec.n > 0);
	n = replay_compare(&rec, &our, text, sizeof(text));
	if (n)
		printf("%s: %" PRIu32 " of %" PRIu32 " packets differ: %s\n", pcap, n, rec.n, text);
	replay_free(&rec);
	replay_free(&our);
	return n;
}

static uint32_t compare_port(const struct tb_run *t, uint32_t nic, const char *pcap)
{
	return compare_packets(t, nic, pcap, NULL);
}

static void replay_recording(const char *name)
{
	static const char *const ends[][3] = {
		{ "hA", "veth0.pcap.gz", "mem.A.end.bin.gz" },
		{ "hB", "veth1.pcap.gz", "mem.B.end.bin.gz" },
	};
	/* ibv_post_send() refuses there; this scenario posts by ibv_wr_*(), which do not look */
	static const char *const accept[] = { "nic.refuse_misaligned=off", NULL };
	const char *trace = recording_trace(name);
	const char *datagrams[2] = { NULL, strcmp(name, "v_ud") == 0 ? trace : NULL };
	packet_test *leave_out = NULL;
	struct tb_run t;

	for (size_t k = 0; k < ARRAY_LEN(left_out); k++)
		if (strcmp(left_out[k].scenario, name) == 0)
			leave_out = left_out[k].test;
	tb_run_ok(&t, &(struct tb_run_how){
			      .trace = trace,
			      .ini = softroce,
			      .keep_packets = true,
			      .sets = strcmp(name, "v_rc_misaligned_ex") == 0 ? accept : NULL });
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t n = recording_memory(&t, ends[i][0], recording_file(name, ends[i][2]),
					      datagrams[i]);

		CU_ASSERT_EQUAL(n, 0);
		if (n)
			printf("%s: %" PRIu32 " bytes of %s differ\n", name, n, ends[i][2]);
		CU_ASSERT_EQUAL(compare_packets(&t, i, recording_file(name, ends[i][1]), leave_out),
				0);
	}
	tb_run_close(&t);
}

static void recordings_replayed_send_the_same_packets(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < ARRAY_LEN(scenarios); i++) {
		if (access(recording_file(scenarios[i], "veth0.pcap.gz"), R_OK) != 0)
			continue;
		replay_recording(scenarios[i]);
		n++;
	}
	printf("%u of %zu recordings compared%s ", n, ARRAY_LEN(scenarios),
	       n ? "" : ": there is no " RXE);
	CU_ASSERT(n == 0 || n == ARRAY_LEN(scenarios));
}

/* v_rc_solicited: the program saw events at completions 2, 4, 5 and 6. */
static void arm_of_the_recording_gives_its_events(void)
{
	struct tb_run t;

	if (access(recording_file("v_rc_solicited", "veth0.pcap.gz"), R_OK) != 0)
		return;
	tb_run_ok(&t, &(struct tb_run_how){ .trace = recording_trace("v_rc_solicited"),
					    .ini = softroce });
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic1.cqe_writer.arms"), 6);
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic1.cqe_writer.events"), 4);
	CU_ASSERT_EQUAL(tb_run_stat(&t, "host1.workload.events"), 4);
	tb_run_close(&t);
}

/* What a program sent; its recording is in the shared folder or, for some, beside the tests. */
static void programs_replayed_send_the_same_packets(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		const char *pcap = recording_file(programs[i], "veth0.pcap.gz");
		char trace[PATH], beside[PATH];
		struct tb_run t;

		snprintf(trace, sizeof(trace), "traces/%s.trace", programs[i]);
		snprintf(beside, sizeof(beside), "testbench/vectors/%s.pcap.gz", programs[i]);
		if (access(pcap, R_OK) != 0)
			pcap = beside;
		if (access(pcap, R_OK) != 0)
			continue;
		tb_run_ok(&t, &(struct tb_run_how){
				      .trace = trace, .ini = softroce, .keep_packets = true });
		/* this one ended before its last messages were acknowledged */
		CU_ASSERT_EQUAL(
			compare_packets(&t, 0, pcap, strcmp(programs[i], "pp_srq") ? NULL : is_ack),
			0);
		tb_run_close(&t);
		n++;
	}
	CU_ASSERT(n >= 6);
}

/* ---- what is committed ---- */

/* Converted traces, with the final memory; and the packets at A's port where has_packets. */
static const struct committed {
	const char *name;
	bool has_packets;
} committed[] = {
	{ "rc_atomic", true },       { "rc_zero", true },
	{ "rc_inline", true },       { "rc_sge3", true },
	{ "rc_burst", true },        { "rc_psnwrap_burst", true },
	{ "rc_v6_send", true },      { "rc_write_m256", true },
	{ "rc_mix_clean", false },   { "rc_read_m1024", false },
	{ "rc_send_m1024", false },  { "rc_send_imm_m1024", false },
	{ "rc_write_m1024", false }, { "rc_write_imm_m1024", false },
};

static const char *committed_path(const char *format, const char *name)
{
	static char path[2][PATH];
	static unsigned turn;

	turn ^= 1;
	snprintf(path[turn], PATH, format, name);
	return path[turn];
}

#define TRACE(name) committed_path("traces/rxe_%s.trace.gz", name)
#define PACKETS(name) committed_path("testbench/vectors/rxe_%s.pcap.gz", name)

static void committed_traces_replayed_hold_and_send_the_same_packets(void)
{
	for (size_t i = 0; i < ARRAY_LEN(committed); i++) {
		struct tb_run t;

		tb_run_ok(&t, &(struct tb_run_how){ .trace = TRACE(committed[i].name),
						    .ini = softroce,
						    .keep_packets = committed[i].has_packets });
		CU_ASSERT(t.expects.n_expects > 0);
		if (committed[i].has_packets)
			CU_ASSERT_EQUAL(compare_port(&t, 0, PACKETS(committed[i].name)), 0);
		tb_run_close(&t);
	}
}

/* ---- the comparison sees ---- */

/* The packets of a run with settings over those of softroce, against the recorded ones. */
static uint32_t differences(const char *name, const char *set, char *text)
{
	struct replay_list rec, our;
	struct tb_run t;
	uint32_t n;

	tb_run_ok(&t, &(struct tb_run_how){ .trace = TRACE(name),
					    .ini = softroce,
					    .keep_packets = true,
					    .sets = (const char *const[]){ set, NULL } });
	replay_of_run(&our, &t, 0);
	CU_ASSERT_FATAL(replay_record(&rec, PACKETS(name)));
	n = replay_compare(&rec, &our, text, TEXT);
	replay_free(&rec);
	replay_free(&our);
	tb_run_close(&t);
	return n;
}

/* What soft-RoCE does differently: with a switch as the specification or silicon has it, it shows. */
static void softroce_switch_as_specified_shows_in_its_field(void)
{
	static const struct {
		const char *trace, *set, *field;
	} rules[] = {
		/* a path that does not migrate is "migrated" (IBTA vol. 1 17.2.8), so silicon */
		{ "rc_write_m256", "pktizer.mig_req=on", "bth.migreq" },
		{ "rc_write_m256", "responder.mig_req=on", "bth.migreq" },
		/* an ACK says how many receives are posted (9.7.7.2) */
		{ "rc_write_m256", "responder.credits=on", "aeth.syndrome" },
		/* hop limit and flow label are those of the address vector (8.3) */
		{ "rc_v6_send", "nic.fixed_path=off", "ipv6.flow" },
		/* when to ask for an ACK is the requester's choice (9.7.5.1.2) */
		{ "rc_write_m256", "pktizer.ack_req_every=63", "bth.ackreq" },
		{ "rc_zero", "pktizer.read_ack_req=off", "bth.ackreq" },
	};
	char text[TEXT];

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		uint32_t n = differences(rules[i].trace, rules[i].set, text);

		bool is_seen = n > 0 && strstr(text, rules[i].field);

		CU_ASSERT(is_seen);
		if (!is_seen)
			printf("%s, %s: %" PRIu32 " differences: %s\n", rules[i].trace,
			       rules[i].set, n, text);
	}
}

/* Index of the n-th packet of a kind. */
static uint32_t nth(const struct replay_list *l, enum replay_kind kind, uint32_t n)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->at[i].kind == kind && n-- == 0)
			return i;
	CU_FAIL_FATAL("too few packets");
	return 0;
}

/* Write a bit into a packet and, where 'repair', a right ICRC behind it. */
static void flip(struct replay_packet *r, uint32_t at, uint8_t bits, bool repair)
{
	enum icrc_net kind = r->v.encap == ENCAP_IPV6 ? ICRC_IPV6 : ICRC_IPV4;
	size_t n = (size_t)(r->v.icrc - r->v.net);

	r->p->data[at] ^= bits;
	if (repair)
		icrc_store(r->p->data + r->v.icrc, icrc_of(kind, r->p->data + r->v.net, n));
	r->is_bad = packet_parse(r->p, &r->v) != DROP_NONE || !packet_icrc_ok(r->p, &r->v);
}

static void drop(struct replay_list *l, uint32_t i)
{
	free(l->at[i].p);
	memmove(&l->at[i], &l->at[i + 1], (l->n - i - 1) * sizeof(*l->at));
	l->n--;
}

static void swap(struct replay_list *l, uint32_t i, uint32_t k)
{
	struct replay_packet r = l->at[i];

	l->at[i] = l->at[k];
	l->at[k] = r;
}

/* One fault in a copy of the recording: fault number 'f'. */
static void spoil(struct replay_list *l, unsigned f)
{
	struct replay_packet *request = &l->at[nth(l, REPLAY_REQUEST, 3)];
	struct replay_packet *response = &l->at[nth(l, REPLAY_RESPONSE, 1)];
	uint32_t last, n_acks = 0;

	for (uint32_t i = 0; i < l->n; i++)
		n_acks += l->at[i].kind == REPLAY_ACK;
	last = nth(l, REPLAY_ACK, n_acks - 1);
	switch (f) {
	case 0: /* a PSN */
		flip(request, request->v.l4 + 11u, 0x01, true);
		break;
	case 1: /* a byte of payload */
		flip(request, request->v.payload, 0x10, true);
		break;
	case 2: /* the same, and the ICRC not put right */
		flip(request, request->v.payload, 0x10, false);
		break;
	case 3: /* destination QP */
		flip(request, request->v.l4 + 7u, 0x02, true);
		break;
	case 4: /* UDP source port */
		flip(request, request->v.l4 - 7u, 0x04, true);
		break;
	case 5: /* MSN of a response */
		flip(response, response->v.xeth + 3u, 0x01, true);
		break;
	case 6: /* MSN of the last ACK */
		flip(&l->at[last], l->at[last].v.xeth + 3u, 0x01, true);
		break;
	case 7: /* the last ACK is missing */
		drop(l, last);
		break;
	case 8: /* a request is missing */
		drop(l, nth(l, REPLAY_REQUEST, 3));
		break;
	case 9: /* two requests changed places */
		swap(l, nth(l, REPLAY_REQUEST, 3), nth(l, REPLAY_REQUEST, 4));
		break;
	default:
		CU_FAIL("no such fault");
	}
}

#define FAULTS 10u

static void comparison_of_a_recording_with_itself_finds_each_seeded_fault(void)
{
	struct replay_list rec, copy;
	char text[TEXT];

	CU_ASSERT_FATAL(replay_record(&rec, PACKETS("rc_burst")));
	CU_ASSERT_FATAL(replay_record(&copy, PACKETS("rc_burst")));
	CU_ASSERT_EQUAL(rec.n, 69);
	CU_ASSERT_EQUAL(replay_compare(&rec, &copy, text, sizeof(text)), 0);
	drop(&copy, nth(&copy, REPLAY_ACK, 0)); /* coalesced: allowed */
	CU_ASSERT_EQUAL(replay_compare(&rec, &copy, text, sizeof(text)), 0);
	for (unsigned f = 0; f < FAULTS; f++) {
		replay_free(&copy);
		CU_ASSERT_FATAL(replay_record(&copy, PACKETS("rc_burst")));
		spoil(&copy, f);
		CU_ASSERT(replay_compare(&rec, &copy, text, sizeof(text)) > 0);
		CU_ASSERT(text[0] != '\0');
	}
	replay_free(&rec);
	replay_free(&copy);
}

static void memory_compared_with_its_image_is_equal_and_with_another_differs(void)
{
	const char *image[] = { "testbench/vectors/rxe_rc_inline.A.bin.gz",
				"testbench/vectors/rxe_rc_inline.B.bin.gz" };
	struct tb_run t;

	tb_run_ok(&t, &(struct tb_run_how){ .trace = TRACE("rc_inline"), .ini = softroce });
	CU_ASSERT_EQUAL(recording_memory(&t, "hA", image[0], NULL), 0);
	CU_ASSERT_EQUAL(recording_memory(&t, "hB", image[1], NULL), 0);
	CU_ASSERT(recording_memory(&t, "hA", image[1], NULL) > 0);
	tb_run_close(&t);
}

/* ---- other people's tools ---- */

/* One byte of the last packet in a capture changed. */
static void spoil_file(const char *path)
{
	FILE *f = fopen(path, "r+b");
	int c;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fseek(f, -64, SEEK_END);
	c = fgetc(f);
	fseek(f, -1, SEEK_CUR);
	fputc(c ^ 0x20, f);
	fclose(f);
}

static void captures_read_by_tshark_and_rdmacrc_are_good(void)
{
	static const char *const names[] = { "rc_atomic", "rc_v6_send", "rc_mix_clean" };
	const char *pcap = tb_path("replay.pcapng");
	struct tb_run t;
	uint32_t n;

	if (!tb_has_capture_tools())
		return;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		tb_run_ok(&t, &(struct tb_run_how){ .trace = TRACE(names[i]),
						    .ini = softroce,
						    .pcap = pcap,
						    .keep_packets = true });
		n = t.n_packets;
		tb_run_close(&t);
		CU_ASSERT(tb_capture_is_good(pcap, n));
	}
	spoil_file(pcap);
	CU_ASSERT_FALSE(tb_capture_is_good(pcap, n));
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_replay_tests[] = {
	TEST(recordings_replayed_send_the_same_packets),
	TEST(arm_of_the_recording_gives_its_events),
	TEST(programs_replayed_send_the_same_packets),
	TEST(committed_traces_replayed_hold_and_send_the_same_packets),
	TEST(softroce_switch_as_specified_shows_in_its_field),
	TEST(comparison_of_a_recording_with_itself_finds_each_seeded_fault),
	TEST(memory_compared_with_its_image_is_equal_and_with_another_differs),
	TEST(captures_read_by_tshark_and_rdmacrc_are_good),
	CU_TEST_INFO_NULL,
};
