/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pcapng.c - the file read back block by block: structure, stamps, order, no trace of how it
 * was made
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/pcapng.h"
#include "sim/units.h"
#include "testbench/pcapng_in.h"
#include "testbench/tb_file.h"
#include "testbench/tb_oracle.h"

extern CU_TestInfo test_pcapng_tests[];

static struct pcapng *start(const char *name)
{
	struct err e = { 0 };
	struct pcapng *w = pcapng_open(name, "test", &e);

	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	CU_ASSERT_EQUAL(pcapng_interface(w, "nic0", PCAPNG_ETHERNET), 0);
	CU_ASSERT_EQUAL(pcapng_interface(w, "nic11", PCAPNG_ETHERNET), 1);
	return w;
}

static void finish(struct pcapng *w)
{
	struct err e = { 0 };

	CU_ASSERT(pcapng_close(w, &e));
}

static void file_holds_what_was_added(void)
{
	const char *path = tb_path("a.pcapng");
	static const unsigned char bytes[100] = { 0x5a };
	struct pcapng *w;
	struct pcapng_found r;

	w = start(path);
	for (unsigned i = 0; i < 20; i++)
		pcapng_packet(w, i * 1000, i % 2, i % 2 ? PCAPNG_TX : PCAPNG_RX,
			      1250999998850 + 10 * i, bytes, 60 + i, 64 + i);
	CU_ASSERT_EQUAL(pcapng_count(w), 20);
	CU_ASSERT(access(path, F_OK) != 0);
	finish(w);
	pcapng_read(&r, path);
	CU_ASSERT_EQUAL(r.bad, 0);
	CU_ASSERT_EQUAL(r.sections, 1);
	CU_ASSERT_EQUAL(r.interfaces, 2);
	CU_ASSERT_EQUAL_FATAL(r.packets, 20);
	for (unsigned i = 0; i < 20; i++) {
		CU_ASSERT_EQUAL(r.stamp[i], i < 5    ? 1250999998800
					    : i < 15 ? 1250999998900
						     : 1250999999000);
		CU_ASSERT_EQUAL(r.interface[i], i % 2);
		CU_ASSERT_EQUAL(r.flags[i], i % 2 ? 2 : 1);
		CU_ASSERT_EQUAL(r.len[i], 60 + i);
		CU_ASSERT_EQUAL(r.wire_len[i], 64 + i);
		CU_ASSERT_EQUAL(r.first[i], 0x5a);
	}
}

static void reader_sees_a_damaged_length(void)
{
	const char *path = tb_path("a.pcapng");
	static const unsigned char bytes[64] = { 1 };
	struct pcapng *w;
	struct pcapng_found r;
	FILE *f;

	w = start(path);
	pcapng_packet(w, 0, 0, PCAPNG_TX, 5, bytes, 61, 61);
	finish(w);
	f = fopen(path, "r+b");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fseek(f, 4, SEEK_SET);
	fputc(0x40, f);
	fclose(f);
	pcapng_read(&r, path);
	CU_ASSERT(r.bad > 0);
}

static void packets_are_sorted_by_stamp_interface_and_direction(void)
{
	const char *path = tb_path("a.pcapng");
	static const unsigned char bytes[60];
	/* as they come: stamp, interface, direction */
	static const unsigned in[][3] = { { 300, 1, 0 }, { 100, 1, 1 }, { 100, 0, 1 },
					  { 100, 0, 0 }, { 200, 1, 1 }, { 50, 1, 1 } };
	static const unsigned want[][3] = { { 0, 1, 2 },   { 100, 0, 1 }, { 100, 0, 2 },
					    { 100, 1, 2 }, { 200, 1, 2 }, { 300, 1, 1 } };
	struct pcapng *w;
	struct pcapng_found r;

	w = start(path);
	for (unsigned i = 0; i < ARRAY_LEN(in); i++)
		pcapng_packet(w, 1, in[i][1], in[i][2] ? PCAPNG_TX : PCAPNG_RX, in[i][0], bytes, 60,
			      60);
	finish(w);
	pcapng_read(&r, path);
	CU_ASSERT_EQUAL_FATAL(r.packets, ARRAY_LEN(in));
	for (unsigned i = 0; i < ARRAY_LEN(want); i++) {
		CU_ASSERT_EQUAL(r.stamp[i], want[i][0]);
		CU_ASSERT_EQUAL(r.interface[i], want[i][1]);
		CU_ASSERT_EQUAL(r.flags[i], want[i][2]);
	}
}

/* Two orders of the packets of one time stamp, spread over several lags. */
static void order_within_a_time_stamp_does_not_show(void)
{
	const char *path = tb_path("a.pcapng"), *path2 = tb_path("b.pcapng");
	static const unsigned char bytes[60];
	struct pcapng *a, *b;
	unsigned char *fa, *fb;
	size_t na, nb;

	a = start(path);
	b = start(path2);
	for (unsigned i = 0; i < 20; i++) {
		uint64_t now = i * PCAPNG_LAG_PS / 4;

		pcapng_packet(a, now, 0, PCAPNG_TX, now + 7, bytes, 60, 60);
		pcapng_packet(a, now, 1, PCAPNG_RX, now > 900 ? now - 900 : now, bytes, 60, 60);
		pcapng_packet(b, now, 1, PCAPNG_RX, now > 900 ? now - 900 : now, bytes, 60, 60);
		pcapng_packet(b, now, 0, PCAPNG_TX, now + 7, bytes, 60, 60);
	}
	finish(a);
	finish(b);
	fa = pcapng_slurp(path, &na);
	fb = pcapng_slurp(path2, &nb);
	CU_ASSERT_EQUAL(na, nb);
	CU_ASSERT(na > 40 * 60);
	CU_ASSERT_EQUAL(memcmp(fa, fb, na), 0);
	free(fa);
	free(fb);
}

/* Stamps of two interfaces in one second and the next, some finer than the file keeps. */
static void stamps_late_in_a_second_are_read_right_by_tshark(void)
{
	static const uint64_t stamps[] = { 18399999999,   18400000000,   18500000000,
					   19000000000,   184500000000,  500000000000,
					   999999000000,  999999999999,  1500000000000,
					   1999999999999, 4000123456789, 86400999999999 };
	static const char expected[] = "0.018399999\n0.018400000\n0.018500000\n0.019000000\n"
				       "0.184500000\n0.500000000\n0.999999000\n0.999999999\n"
				       "1.500000000\n1.999999999\n4.000123456\n86.400999999\n";
	const char *path = tb_path("late.pcapng");
	static const unsigned char bytes[60];
	struct pcapng *w = start(path);
	struct pcapng_found r;

	for (unsigned i = 0; i < ARRAY_LEN(stamps); i++)
		pcapng_packet(w, stamps[i], i % 2, PCAPNG_TX, stamps[i], bytes, 60, 60);
	finish(w);
	pcapng_read(&r, path);
	CU_ASSERT_EQUAL(r.bad, 0);
	CU_ASSERT_EQUAL_FATAL(r.packets, ARRAY_LEN(stamps));
	for (unsigned i = 0; i < ARRAY_LEN(stamps); i++)
		CU_ASSERT_EQUAL(r.stamp[i], stamps[i] / 100 * 100);
	/* what Wireshark computes with the units of a second must fit 64 bits */
	CU_ASSERT_FATAL(r.tick_ps > 0);
	CU_ASSERT(PS_PER_S / r.tick_ps <= UINT64_MAX / 1000000000);
	if (tb_has_capture_tools())
		CU_ASSERT(tb_tshark_times(path, expected));
}

static void aborted_file_leaves_nothing(void)
{
	const char *path = tb_path("aborted.pcapng");
	static const unsigned char bytes[60];
	struct pcapng *w;

	w = start(path);
	pcapng_packet(w, 0, 0, PCAPNG_TX, 5, bytes, 60, 60);
	pcapng_abort(w);
	pcapng_abort(NULL);
	CU_ASSERT(access(path, F_OK) != 0);
}

static void unwritable_path_is_an_error(void)
{
	struct err e = { 0 };

	CU_ASSERT_PTR_NULL(pcapng_open("/nonexistent/x.pcapng", "test", &e));
	CU_ASSERT(e.is_set);
}

CU_TestInfo test_pcapng_tests[] = {
	{ "file_holds_what_was_added", file_holds_what_was_added },
	{ "reader_sees_a_damaged_length", reader_sees_a_damaged_length },
	{ "packets_are_sorted_by_stamp_interface_and_direction",
	  packets_are_sorted_by_stamp_interface_and_direction },
	{ "order_within_a_time_stamp_does_not_show", order_within_a_time_stamp_does_not_show },
	{ "stamps_late_in_a_second_are_read_right_by_tshark",
	  stamps_late_in_a_second_are_read_right_by_tshark },
	{ "aborted_file_leaves_nothing", aborted_file_leaves_nothing },
	{ "unwritable_path_is_an_error", unwritable_path_is_an_error },
	CU_TEST_INFO_NULL
};
