/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pkt_util.h - two ports, a QP of each type between them, and packets of them, for tests
 */
#ifndef TESTBENCH_PKT_UTIL_H
#define TESTBENCH_PKT_UTIL_H

#include "models/msg.h"
#include "models/nic.h"
#include "models/packet/packet.h"
#include "sim/pool.h"

/*
 * The NIC under test ('nic', port 'addr' 10.0.0.2 or fd00::2, the same as GID, LID 2) with QPs of
 * types RC, UC, UD: 0x100 + index.
 */
struct pkt_bench {
	struct nic nic;
	struct qp_attr qp[3];
	struct qp_attr peer[3]; /* the other ends: packets to the NIC are built from these */
	uint32_t dir[4096];
};

void pkt_bench_init(struct pkt_bench *p, enum encap encap);

/* Room for a packet of up to 4 KiB of payload. Free it. */
struct packet *pkt_room(void);

/* The kind of net that a port of an encapsulation is on. */
enum port_net pkt_net(enum encap encap);

/*
 * A packet to the NIC's QP 'i' in 'at' (room for packet_buf_size(4096)): opcode, PSN, 'len' payload
 * bytes that count up, extended headers filled with a pattern (Q_Key right), VCRC as a port adds
 * it.
 */
void pkt_build(struct packet *at, const struct pkt_bench *p, unsigned i, uint8_t opcode,
	       uint32_t psn, uint32_t len);

/* The same in a buffer of 'pool'; returns the handle. */
uint32_t pkt_in_pool(struct pool *pool, const struct pkt_bench *p, unsigned i, uint8_t opcode,
		     uint32_t psn, uint32_t len);

/* A frame of 'len' bytes without structure. */
uint32_t frame_in_pool(struct pool *pool, uint32_t len);

#endif
