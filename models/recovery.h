/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recovery.h - what both ends of a reliable connection must agree on: how losses are repaired, and
 * the selective acknowledgement
 *
 * gbn: go-back-N, as IBTA vol. 1, 9.7 has it. sr: selective repeat after IRN (Mittal et al.,
 * SIGCOMM 2018): the receiver keeps packets behind a gap and names them, the sender sends again
 * what is missing below the highest one named.
 *
 * The selective acknowledgement is our own (IRN's NAK names one PSN, so a lost one is lost): an
 * Acknowledge packet with NAK code 0 whose PSN is, as ever, the oldest that is missing, followed by
 * a bit map of 1 .. SACK_MAX_BYTES bytes in steps of four; bit k % 8 of byte k / 8 stands for PSN +
 * k. To all else it is a NAK for a sequence error with a payload.
 */
#ifndef MODELS_RECOVERY_H
#define MODELS_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

enum recovery { RECOVERY_GBN, RECOVERY_SR };
#define RECOVERY_NAMES \
	{ \
		"gbn", "sr", NULL \
	}

#define SACK_WINDOW 128u /* packets, by default: IRN's bit maps at 40 Gb/s and 24 us */
#define SACK_MAX_WINDOW 512u
#define SACK_MAX_BYTES (SACK_MAX_WINDOW / 8)

static inline bool sack_has(const uint8_t *map, uint32_t k)
{
	return map[k / 8] >> k % 8 & 1;
}

static inline void sack_set(uint8_t *map, uint32_t k)
{
	map[k / 8] |= (uint8_t)(1u << k % 8);
}

static inline void sack_clear(uint8_t *map, uint32_t k)
{
	map[k / 8] &= (uint8_t) ~(1u << k % 8);
}

/* The smallest power of two that is not below 'window': rings by PSN have this size. */
static inline uint32_t sack_ring(uint32_t window)
{
	uint32_t n = 8;

	while (n < window)
		n *= 2;
	return n;
}

#endif
