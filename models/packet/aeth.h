/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aeth.h - the AETH syndrome: what it says, and its codes (IBTA vol. 1, 9.7.5.2, tables 45 to 47)
 */
#ifndef MODELS_AETH_H
#define MODELS_AETH_H

#include <stdint.h>

/* Bits 6:5 of the syndrome; bits 4:0 are the credit code, the RNR timer code or the NAK code. */
enum { AETH_ACK = 0x00, AETH_RNR_NAK = 0x20, AETH_NAK = 0x60 };
#define AETH_KIND_MASK 0xe0u
#define AETH_VALUE_MASK 0x1fu
#define AETH_NO_CREDITS 0x1fu /* credit code: no end-to-end flow control */

enum {
	NAK_SEQUENCE = AETH_NAK | 0,
	NAK_INVALID_REQUEST = AETH_NAK | 1,
	NAK_REMOTE_ACCESS = AETH_NAK | 2,
	NAK_REMOTE_OP = AETH_NAK | 3
};

/* Receive WQEs that a credit code (0 .. 0x1e) stands for: 0 1 2 3 4 6 8 12 16 24 ... 32768. */
static inline uint32_t aeth_credits(uint32_t code)
{
	return code < 2 ? code : (2u | (code & 1)) << (code / 2 - 1);
}

/* The largest code that stands for at most 'n' receive WQEs. */
static inline uint32_t aeth_credit_code(uint32_t n)
{
	uint32_t code = 0;

	while (code + 1 < AETH_NO_CREDITS && aeth_credits(code + 1) <= n)
		code++;
	return code;
}

#endif
