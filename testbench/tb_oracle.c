/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_oracle.c - tshark and rdmacrc.py
 */
#include "testbench/tb_oracle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "testbench/tb_file.h"

bool tb_has_capture_tools(void)
{
	if (system("command -v tshark editcap python3 >/dev/null 2>&1 && "
		   "test -r ../shared/tshark_oracle.sh && test -r ../shared/rdmacrc.py") == 0)
		return true;
	printf("skipped: no tshark, editcap, python3 or ../shared ");
	return false;
}

bool tb_capture_is_good(const char *pcapng, uint32_t packets)
{
	const char *pcap = tb_path("oracle.pcap");
	char command[2048];

	/* rdmacrc.py reads the older format only */
	snprintf(command, sizeof(command),
		 "editcap -F nsecpcap %s %s && "
		 "sh ../shared/tshark_oracle.sh %s %" PRIu32 " >/dev/null && "
		 "python3 ../shared/rdmacrc.py %s | grep -qx 'TOTAL %" PRIu32 " bad 0'",
		 pcapng, pcap, pcapng, packets, pcap, packets);
	return system(command) == 0;
}
