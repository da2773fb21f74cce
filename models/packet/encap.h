/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encap.h - the encapsulations of the transport: what stands before the BTH and behind the ICRC
 *
 * One row each; packet.c builds and reads packets by it, and nothing above knows which it is.
 */
#ifndef MODELS_ENCAP_H
#define MODELS_ENCAP_H

#include "models/packet/icrc.h"
#include "models/packet/packet.h"

/* Where destination and source of a header stand in a packet, and our own in struct port_addr. */
struct addr_place {
	uint8_t dst, src, len, port;
};

struct encap_info {
	uint8_t net;  /* offset of the header with which the ICRC begins */
	uint8_t l4;   /* of the BTH: bytes of a template */
	uint8_t tail; /* bytes behind the ICRC */
	enum icrc_net icrc;
	struct addr_place link; /* MAC addresses or LIDs */
	struct addr_place host; /* end to end: IP addresses, GIDs, or LIDs where there is no GRH */
	/*
	 * Write to 'hdr' what all packets of a path have in common, with zeros for lengths and
	 * what depends on them.
	 */
	void (*fill)(uint8_t *hdr, const struct port_addr *from, const struct port_addr *to,
		     const struct packet_path *path);
	/* Fill these in for 'n' bytes from BTH to ICRC. */
	void (*finish)(uint8_t *data, uint32_t n);
	/* Check the headers, which are there in full; on success *end is the offset behind the ICRC. */
	enum packet_drop (*parse)(const uint8_t *data, uint32_t *end);
};
extern const struct encap_info encaps[ENCAPS];

/* The encapsulation of packets from one port to another, both on the same kind of net. */
enum encap encap_between(const struct port_addr *from, const struct port_addr *to);

/* Which one a received packet has: *encap, if DROP_NONE is returned. */
enum packet_drop encap_of(const struct packet *p, enum encap *encap);

#endif
