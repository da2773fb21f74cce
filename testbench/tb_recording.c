/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_recording.c - the files of a recording
 */
#include "testbench/tb_recording.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "tools/run/commands.h"
#include "testbench/tb_file.h"

#define PATH 256u
#define REGION (1u << 20)

const char *recording_file(const char *scenario, const char *file)
{
	static char path[4][PATH];
	static unsigned turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], PATH, RXE "%s/%s", scenario, file);
	return path[turn];
}

const char *recording_trace(const char *scenario)
{
	const char *in = recording_file(scenario, "verbs.jsonl"), *out = tb_path("replay.trace");
	/* what was sent before a receive was posted must be gone by then */
	bool has_gaps = strcmp(scenario, "v_uc_drops") == 0 || strcmp(scenario, "v_rc_rnr") == 0;
	char *argv[] = { "trace",  "convert", NULL, "-o", (char *)(uintptr_t)out,
			 "--gaps", "25ms",    NULL };
	struct err e = { 0 };
	int status;

	if (access(in, R_OK) != 0)
		in = recording_file(scenario, "verbs.jsonl.gz");
	argv[2] = (char *)(uintptr_t)in;
	status = cmd_trace(has_gaps ? 7 : 5, argv, &e);
	if (status != 0)
		printf("%s: %s\n", scenario, e.text);
	CU_ASSERT_EQUAL_FATAL(status, 0);
	return out;
}

/*
 * What an image holds in front of a datagram is taken over: IP identification and checksum of every
 * receive. The one that was too short for its datagram got that header from soft-RoCE, and nothing
 * from us.
 */
static void take_headers(const char *trace, uint8_t *want, uint8_t *got)
{
	static const uint8_t volatile_bytes[] = { 24, 25, 30, 31 };
	char *text = tb_read(trace), *at = text;
	unsigned off, len;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	while ((at = strstr(at, "\nrecv hB.q1"))) {
		at++;
		if (sscanf(at, "recv hB.q1 id=%*u sge=m0:%u:%u", &off, &len) != 2)
			continue;
		for (size_t i = 0; i < sizeof(volatile_bytes); i++)
			got[off + volatile_bytes[i]] = want[off + volatile_bytes[i]];
		if (len == 50)
			memcpy(got + off, want + off, 40);
	}
	free(text);
}

uint32_t recording_memory(const struct tb_run *t, const char *host, const char *image,
			  const char *datagrams)
{
	uint8_t *want = x_calloc(1, REGION), *got = x_calloc(1, REGION);
	gzFile f = gzopen(image, "rb");
	uint32_t n = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(gzread(f, want, REGION), (int)REGION);
	gzclose(f);
	tb_run_read(t, host, "m0", 0, got, REGION);
	if (datagrams)
		take_headers(datagrams, want, got);
	for (uint32_t i = 0; i < REGION; i++)
		n += want[i] != got[i];
	free(want);
	free(got);
	return n;
}
