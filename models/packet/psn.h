/* SPDX-License-Identifier: Apache-2.0 */
/*
 * psn.h - arithmetic of 24-bit sequence numbers: PSN, MSN, SSN (IBTA vol. 1, 9.7.1)
 */
#ifndef MODELS_PSN_H
#define MODELS_PSN_H

#include <stdint.h>

#include "models/packet/hdr.h"

/* a - b, -2^23 .. 2^23 - 1: negative when a lies before b. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & PSN_MASK;
}

static inline uint32_t psn_max(uint32_t a, uint32_t b)
{
	return psn_diff(a, b) < 0 ? b : a;
}

static inline uint32_t psn_min(uint32_t a, uint32_t b)
{
	return psn_diff(a, b) < 0 ? a : b;
}

/* Packets that 'bytes' take: at least one. */
static inline uint32_t psn_count(uint32_t bytes, uint32_t mtu)
{
	return bytes ? (bytes - 1) / mtu + 1 : 1;
}

#endif
