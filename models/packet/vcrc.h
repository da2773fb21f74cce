/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vcrc.h - the variant CRC of InfiniBand packets: over all bytes before it, made anew at every port
 */
#ifndef MODELS_VCRC_H
#define MODELS_VCRC_H

#include <stddef.h>
#include <stdint.h>

/* The VCRC over 'n' bytes from the LRH through the ICRC. Pure. */
uint16_t vcrc_of(const uint8_t *p, size_t n);

/* It goes out least significant byte first, as the ICRC. */
static inline void vcrc_store(uint8_t *p, uint16_t vcrc)
{
	p[0] = (uint8_t)vcrc;
	p[1] = (uint8_t)(vcrc >> 8);
}
static inline uint16_t vcrc_load(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

#endif
