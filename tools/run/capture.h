/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.h - packet capture: taps on the line side of MACs, into one pcapng file
 *
 * A port is an interface of the file and sees what it sends and receives. A sent packet is stamped
 * with its first bit leaving, a received one with its last bit arriving (as a NIC that stamps at
 * its MAC reports them). Ethernet: bytes run from the Ethernet header to the ICRC, without FCS.
 * InfiniBand: from LRH to VCRC, in ERF records, which is how readers know it. Frames that the wire
 * lost show only at the sender.
 */
#ifndef TOOLS_RUN_CAPTURE_H
#define TOOLS_RUN_CAPTURE_H

#include "sim/chan.h"
#include "sim/err.h"

struct capture;

/* Start capturing into 'path'. NULL with 'e' set when it cannot be written. */
struct capture *capture_open(const char *path, struct err *e);

/*
 * Add port 'name' ("nic0"): 'tx' is the channel out of its MAC, 'rx' the one into it, both of frame
 * messages; 'is_ib' says that they carry InfiniBand. Before the run only.
 */
void capture_port(struct capture *c, const char *name, bool is_ib, struct chan *tx,
		  struct chan *rx);

/* Packets seen so far. */
uint64_t capture_count(const struct capture *c);

/*
 * Finish the file, or remove it; frees 'c'. The channels must not run afterwards. False with 'e'
 * set when writing failed. capture_abort ignores NULL.
 */
bool capture_close(struct capture *c, struct err *e);
void capture_abort(struct capture *c);

#endif
