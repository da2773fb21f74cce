/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_replay.h - recorded packets against simulated ones
 *
 * Both are what one port of the recorded pair saw. The rules: per direction and in order, requests,
 * and READ and ATOMIC responses, are equal from the IP header to the ICRC. ACKs and NAKs may be
 * coalesced differently: per direction and QP the last one is equal, and so is each whose PSN the
 * recording acknowledges too. Left out are the MAC addresses. The IPv4 identification is a counter of
 * the sender's: ours takes the recorded one, with the checksum and the ICRC that follow from it.
 */
#ifndef TESTBENCH_TB_REPLAY_H
#define TESTBENCH_TB_REPLAY_H

#include "models/packet/packet.h"
#include "testbench/tb_run.h"

enum replay_kind { REPLAY_REQUEST, REPLAY_RESPONSE, REPLAY_ACK };

struct replay_packet {
	struct packet *p;
	struct packet_view v;
	enum replay_kind kind;
	uint8_t from; /* last byte of the source address: 1 = endpoint A, 2 = B */
	bool is_bad;  /* cannot be taken apart, or has a wrong ICRC */
};

struct replay_list {
	struct replay_packet *at;
	uint32_t n;
};

/* The RoCEv2 packets of a classic pcap; false when there is no such file. */
bool replay_record(struct replay_list *l, const char *path);

/* What the port of NIC 'nic' sent and received in a run that kept its packets. */
void replay_of_run(struct replay_list *l, const struct tb_run *t, uint32_t nic);

void replay_free(struct replay_list *l);

/*
 * Differences by the rules above; 'text' (of 'len' bytes) says where the first one is, by header
 * and field. 'ours' is changed: it takes the recorded identifications.
 */
uint32_t replay_compare(const struct replay_list *recorded, struct replay_list *ours, char *text,
			size_t len);

#endif
