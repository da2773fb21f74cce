/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcapng.h - packets into a pcapng file: bytes, interface, stamp
 *
 * Blocks step in any order within a time stamp and packets are stamped with times around the
 * current one, so packets are held back for PCAPNG_LAG_PS and written in order of (stamp,
 * interface, direction): the file does not depend on step order. It holds nothing of the day it was
 * written.
 */
#ifndef SIM_PCAPNG_H
#define SIM_PCAPNG_H

#include "err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PCAPNG_LAG_PS 10000000ull /* 10 us */
#define PCAPNG_ETHERNET 1u        /* LINKTYPE_ETHERNET: without FCS */
#define PCAPNG_ERF 197u           /* LINKTYPE_ERF: native InfiniBand */

enum pcapng_dir { PCAPNG_RX, PCAPNG_TX };

struct pcapng;

/*
 * Start the file 'path', which appears when pcapng_close() succeeds. 'application' names the
 * program in the file's header. NULL with 'e' set when it cannot be written.
 */
struct pcapng *pcapng_open(const char *path, const char *application, struct err *e);

/* Declare an interface; all of them before the first packet. Returns its number, from 0. */
uint32_t pcapng_interface(struct pcapng *w, const char *name, uint16_t linktype);

/*
 * Add a packet (copied) of 'len' captured bytes, 'wire_len' on the wire, stamped 'stamp_ps':
 * the file keeps whole units of 100 ps, as Wireshark reads finer ones wrong. 'now_ps' is the current
 * time, which never goes back; a stamp older than now_ps - PCAPNG_LAG_PS may be written out of
 * order.
 */
void pcapng_packet(struct pcapng *w, uint64_t now_ps, uint32_t interface, enum pcapng_dir dir,
		   uint64_t stamp_ps, const void *bytes, uint32_t len, uint32_t wire_len);

/* Packets added so far. */
uint64_t pcapng_count(const struct pcapng *w);

/*
 * Write what is held back, finish the file and free 'w'. False with 'e' set, and no file, when that
 * failed.
 */
bool pcapng_close(struct pcapng *w, struct err *e);

/* Free 'w' and leave no file. NULL is ignored. */
void pcapng_abort(struct pcapng *w);

#ifdef __cplusplus
}
#endif
#endif
