/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_replay_damage.c - a recording on whose way packets were damaged, replayed with the same ones
 * damaged
 *
 * One direction, UC: what is damaged is lost, as its ICRC, IP checksum or MAC address is wrong. So the
 * same receives complete, the same messages are given up, and memory ends the same. Which bit was
 * flipped is the recorded path's business: damaged packets themselves are not compared.
 *
 * Of reliable connections what the way does must not show: statuses and both memories are those of the
 * recording, whatever is lost where.
 */
#include <CUnit/CUnit.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbench/tb_file.h"
#include "testbench/tb_recording.h"
#include "testbench/tb_replay.h"

#define TEXT 256u

static const char softroce[] = "[nic]\nprofile = softroce\n";

#define DAMAGED "v_uc_mix_corrupt"
#define MAX_DAMAGED 64u

/* Packets that the two recorded ports saw differently, by number among all of them, from 0. */
static uint32_t find_damaged(uint32_t *nth)
{
	struct replay_list sent, came;
	uint32_t n = 0;

	CU_ASSERT_FATAL(replay_record(&sent, recording_file(DAMAGED, "veth0.pcap.gz")));
	CU_ASSERT_FATAL(replay_record(&came, recording_file(DAMAGED, "veth1.pcap.gz")));
	CU_ASSERT_EQUAL_FATAL(sent.n, came.n);
	for (uint32_t i = 0; i < sent.n && n < MAX_DAMAGED; i++)
		if (memcmp(sent.at[i].p->data, came.at[i].p->data, sent.at[i].p->len) != 0)
			nth[n++] = i;
	replay_free(&sent);
	replay_free(&came);
	return n;
}

/* The converted trace, with a rule for the wire in front of its regions. */
static const char *damaging_trace(const uint32_t *nth, uint32_t n)
{
	char *text = tb_read(recording_trace(DAMAGED)), *rest = strstr(text, "\nmr ") + 1,
	     *all = NULL;
	size_t len;
	FILE *f = open_memstream(&all, &len);
	const char *path;

	fprintf(f, "%.*swire hA hB corrupt nth=", (int)(rest - text), text);
	for (uint32_t i = 0; i < n; i++)
		fprintf(f, "%s%" PRIu32, i ? "," : "", nth[i] + 1);
	fprintf(f, "\n%s", rest);
	fclose(f);
	path = tb_write("damaged.trace", all, len);
	free(all);
	free(text);
	return path;
}

/* Take these out of a list. */
static void drop_nth(struct replay_list *l, const uint32_t *nth, uint32_t n)
{
	for (uint32_t i = n; i-- > 0;) {
		CU_ASSERT_FATAL(nth[i] < l->n);
		free(l->at[nth[i]].p);
		memmove(&l->at[nth[i]], &l->at[nth[i] + 1], (--l->n - nth[i]) * sizeof(*l->at));
	}
}

/* Differences at port 'nic', which saw n damaged packets: of those that are whole. */
static uint32_t compare(const struct tb_run *t, uint32_t nic, const char *pcap, const uint32_t *nth,
			uint32_t n)
{
	struct replay_list rec, our;
	char text[TEXT];
	uint32_t differing, n_bad = 0;

	CU_ASSERT_FATAL(replay_record(&rec, recording_file(DAMAGED, pcap)));
	replay_of_run(&our, t, nic);
	CU_ASSERT_EQUAL_FATAL(our.n, rec.n);
	for (uint32_t i = 0; i < our.n; i++)
		n_bad += our.at[i].is_bad;
	CU_ASSERT_EQUAL(n_bad, n);
	drop_nth(&rec, nth, n);
	drop_nth(&our, nth, n);
	differing = replay_compare(&rec, &our, text, sizeof(text));
	if (differing)
		printf(DAMAGED ": %" PRIu32 " packets differ: %s\n", differing, text);
	replay_free(&rec);
	replay_free(&our);
	return differing;
}

/* Differences in packets, statuses (expect) and memory, with these packets damaged. */
static uint32_t replay_damaged(const uint32_t *nth, uint32_t n, const char *const *sets,
			       bool has_packets)
{
	struct tb_run_how how = {
		.trace = damaging_trace(nth, n), .ini = softroce, .sets = sets, .keep_packets = true
	};
	uint32_t differing;
	struct tb_run t;

	CU_ASSERT_FATAL(tb_run_open(&t, &how));
	differing = tb_run_go(&t) != EXIT_OK;
	if (has_packets) {
		CU_ASSERT_EQUAL(compare(&t, 0, "veth0.pcap.gz", nth, 0), 0);
		CU_ASSERT_EQUAL(compare(&t, 1, "veth1.pcap.gz", nth, n), 0);
	}
	differing += recording_memory(&t, "hA", recording_file(DAMAGED, "mem.A.end.bin.gz"), NULL);
	differing += recording_memory(&t, "hB", recording_file(DAMAGED, "mem.B.end.bin.gz"), NULL);
	tb_run_close(&t);
	return differing;
}

static void recording_with_damage_ends_the_same_when_the_same_packets_are_damaged(void)
{
	static const char *const as_specified[] = { "responder.uc_resync=on", NULL };
	uint32_t nth[MAX_DAMAGED], n;

	if (access(recording_file(DAMAGED, "veth0.pcap.gz"), R_OK) != 0)
		return;
	n = find_damaged(nth);
	CU_ASSERT_EQUAL(n, 19);
	CU_ASSERT_EQUAL(replay_damaged(nth, n, NULL, true), 0);
	CU_ASSERT(replay_damaged(nth, n, as_specified, false) > 0);
	nth[0]++; /* something else is lost */
	CU_ASSERT(replay_damaged(nth, n, NULL, false) > 0);
}

static uint32_t replay_reliable(const char *scenario, const char *const *sets)
{
	struct tb_run_how how = { .trace = recording_trace(scenario),
				  .ini = softroce,
				  .sets = sets };
	uint32_t differing;
	struct tb_run t;

	CU_ASSERT_FATAL(tb_run_open(&t, &how));
	differing = tb_run_go(&t) != EXIT_OK || t.expects.n_expects == 0;
	differing += recording_memory(&t, "hA", recording_file(scenario, "mem.A.end.bin.gz"), NULL);
	differing += recording_memory(&t, "hB", recording_file(scenario, "mem.B.end.bin.gz"), NULL);
	tb_run_close(&t);
	return differing;
}

static void reliable_recordings_end_the_same_on_good_and_bad_ways(void)
{
	static const char *const scenarios[] = { "v_rc_mix_loss1", "v_rc_mix_loss5_s1",
						 "v_rc_mix_loss5_sends", "v_rc_mix_reorder",
						 "v_rc_mix_corrupt" };
	static const char *const bad[] = { "link0.loss=0.03", "link0.corrupt=0.02",
					   "link0.duplicate=0.02", "link0.reorder=0.05", NULL };
	static const char *const dead[] = { "link0.loss=1", NULL };

	if (access(recording_file(scenarios[0], "veth0.pcap.gz"), R_OK) != 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(scenarios); i++) {
		CU_ASSERT_EQUAL(replay_reliable(scenarios[i], NULL), 0);
		CU_ASSERT_EQUAL(replay_reliable(scenarios[i], bad), 0);
	}
	CU_ASSERT(replay_reliable(scenarios[0], dead) > 0);
}

CU_TestInfo test_replay_damage_tests[] = {
	{ "reliable_recordings_end_the_same_on_good_and_bad_ways",
	  reliable_recordings_end_the_same_on_good_and_bad_ways },
	{ "recording_with_damage_ends_the_same_when_the_same_packets_are_damaged",
	  recording_with_damage_ends_the_same_when_the_same_packets_are_damaged },
	CU_TEST_INFO_NULL
};
