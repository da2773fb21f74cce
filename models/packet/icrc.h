/* SPDX-License-Identifier: Apache-2.0 */
/*
 * icrc.h - the invariant CRC of RoCE and InfiniBand packets
 */
#ifndef MODELS_ICRC_H
#define MODELS_ICRC_H

#include <stddef.h>
#include <stdint.h>

/* What stands before the BTH: which fields a switch may change, and so are taken as ones. */
enum icrc_net {
	ICRC_IPV4, /* RoCEv2: IPv4 header (options allowed), UDP */
	ICRC_IPV6, /* RoCEv2: IPv6 header, UDP */
	ICRC_GRH,  /* RoCEv1, InfiniBand with a GRH (its LRH is all ones): GRH */
	ICRC_LRH   /* InfiniBand without a GRH: LRH */
};

/*
 * The ICRC over 'n' bytes from the network header at 'net' through payload and pad. The headers up
 * to the BTH must be there in full. Pure.
 */
uint32_t icrc_of(enum icrc_net kind, const uint8_t *net, size_t n);

/* It goes out least significant byte first, unlike every other field. */
static inline void icrc_store(uint8_t *p, uint32_t icrc)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(icrc >> 8 * i);
}
static inline uint32_t icrc_load(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

#endif
