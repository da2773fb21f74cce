/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_main.c - joins libFuzzer with the target that FUZZ_TARGET names
 */
#include "testbench/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	FUZZ_TARGET(data, n);
	return 0;
}
