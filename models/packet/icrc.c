/* SPDX-License-Identifier: Apache-2.0 */
/*
 * icrc.c - the invariant CRC (IBTA vol. 1, 7.8.1; annexes A16.5.1 and A17.3.3 for RoCE)
 *
 * CRC-32 of Ethernet over the packet with a masked LRH (or 8 bytes of ones) before it and with
 * every field that may change on the way set to ones. In hardware it is computed as the packet
 * streams by; here it is one library call over the headers, copied and masked, and one over the
 * rest.
 */
#include <libdeflate.h>
#include <string.h>

#include "models/packet/hdr.h"
#include "models/packet/icrc.h"

#define LRH_ONES_CRC 0x2144df1cu /* CRC-32 of 8 bytes 0xff */
#define IPV4_MAX_BYTES 60u

/* Set the variant fields of the network header to ones; returns the offset of the BTH. */
static size_t mask_net(enum icrc_net kind, uint8_t *h)
{
	size_t l4;

	switch (kind) {
	case ICRC_IPV4:
		h[1] = 0xff;          /* DSCP, ECN */
		h[8] = 0xff;          /* TTL */
		h[10] = h[11] = 0xff; /* header checksum */
		l4 = (size_t)(h[0] & 15) * 4;
		h[l4 + 6] = h[l4 + 7] = 0xff; /* UDP checksum */
		return l4 + UDP_BYTES;
	case ICRC_LRH:
		h[0] |= 0xf0; /* virtual lane */
		return LRH_BYTES;
	default:
		h[0] |= 0x0f; /* traffic class, flow label */
		h[1] = h[2] = h[3] = 0xff;
		h[7] = 0xff; /* hop limit */
		if (kind == ICRC_GRH)
			return GRH_BYTES;
		h[IPV6_BYTES + 6] = h[IPV6_BYTES + 7] = 0xff;
		return IPV6_BYTES + UDP_BYTES;
	}
}

uint32_t icrc_of(enum icrc_net kind, const uint8_t *net, size_t n)
{
	uint8_t h[IPV4_MAX_BYTES + UDP_BYTES + BTH_BYTES];
	size_t head = n < sizeof(h) ? n : sizeof(h), l4;
	uint32_t crc = kind == ICRC_LRH ? 0 : LRH_ONES_CRC;

	memcpy(h, net, head);
	l4 = mask_net(kind, h);
	h[l4 + 4] = 0xff; /* FECN, BECN, reserved */
	crc = libdeflate_crc32(crc, h, head);
	return n > head ? libdeflate_crc32(crc, net + head, n - head) : crc;
}
