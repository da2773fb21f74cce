/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_oracle.c - tshark, scapy and rdmacrc.py
 */
#include "testbench/tb_oracle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbench/tb_file.h"

bool tb_has_capture_tools(void)
{
	if (system("command -v tshark editcap python3 >/dev/null 2>&1 && "
		   "test -r ../shared/tshark_oracle.sh && test -r ../shared/rdmacrc.py") == 0)
		return true;
	printf("skipped: no tshark, editcap, python3 or ../shared ");
	return false;
}

bool tb_has_scapy(void)
{
	if (system("/usr/bin/python3 -c 'import scapy.contrib.roce' >/dev/null 2>&1") == 0)
		return true;
	printf("skipped: no scapy ");
	return false;
}

/* The name of the same packets in the format that all tools read. */
static const char *as_pcap(const char *pcapng)
{
	const char *pcap = tb_path("oracle.pcap");
	char command[1200];

	snprintf(command, sizeof(command), "editcap -F nsecpcap %s %s", pcapng, pcap);
	return system(command) == 0 ? pcap : "/dev/null";
}

bool tb_crcs_are_good(const char *pcapng, uint32_t packets)
{
	char command[1200];

	snprintf(command, sizeof(command),
		 "python3 ../shared/rdmacrc.py %s | grep -qx 'TOTAL %" PRIu32 " bad 0'",
		 as_pcap(pcapng), packets);
	return system(command) == 0;
}

bool tb_capture_is_good(const char *pcapng, uint32_t packets)
{
	char command[1200];

	snprintf(command, sizeof(command),
		 "sh ../shared/tshark_oracle.sh %s %" PRIu32 " >/dev/null", pcapng, packets);
	return system(command) == 0 && tb_crcs_are_good(pcapng, packets);
}

bool tb_scapy_agrees(const char *pcapng, uint32_t packets)
{
	char command[1200];

	snprintf(command, sizeof(command),
		 "/usr/bin/python3 testbench/scapy_icrc.py %s 2>/dev/null | "
		 "grep -qx 'TOTAL %" PRIu32 " bad 0'",
		 as_pcap(pcapng), packets);
	return system(command) == 0;
}

/* Whether the 'fields' (-e NAME ...) of all packets are what is expected, a line each. */
static bool tshark_prints(const char *pcapng, const char *fields, const char *expected)
{
	const char *out = tb_path("tshark.out");
	char command[2048], *text;
	bool is_same;

	/* dissectors that guess from the payload are left out, as in tshark_oracle.sh */
	snprintf(
		command, sizeof(command),
		"tshark -n --disable-heuristic eth_over_ib --disable-heuristic mellanox_eoib "
		"$(for p in tftp rpcordma smb_direct smc nvme-rdma lnet iser infiniband_sdp fcoib; "
		"do echo --disable-protocol $p; done) -r %s -T fields -E separator=, -E occurrence=f "
		"%s >%s 2>/dev/null",
		pcapng, fields, out);
	if (system(command) != 0 || !(text = tb_read(out)))
		return false;
	is_same = strcmp(text, expected) == 0;
	free(text);
	return is_same;
}

bool tb_tshark_reads(const char *pcapng, const char *expected)
{
	static const char fields[] =
		"-e infiniband.bth.opcode -e infiniband.bth.destqp -e infiniband.bth.psn "
		"-e infiniband.bth.padcnt -e infiniband.aeth.syndrome -e infiniband.reth.dmalen "
		"-e infiniband.immdt";

	return tshark_prints(pcapng, fields, expected);
}

bool tb_tshark_times(const char *pcapng, const char *expected)
{
	return tshark_prints(pcapng, "-e frame.time_epoch", expected);
}
