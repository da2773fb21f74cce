/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcap_in.h - reads classic pcap files (plain or gzip) for the tests
 */
#ifndef TESTBENCH_PCAP_IN_H
#define TESTBENCH_PCAP_IN_H

#include <stdbool.h>
#include <stdint.h>

#define PCAP_ETHERNET 1u
#define PCAP_ERF 197u

/* One packet; bytes are valid during the call. */
typedef void pcap_fn(void *arg, uint32_t linktype, const uint8_t *bytes, uint32_t len);

/*
 * Call 'fn' for each packet of 'path'. Returns how many, or -1 when there is no such file or it is
 * not a pcap.
 */
int pcap_each(const char *path, pcap_fn *fn, void *arg);

/*
 * All files that match the shell pattern; returns packets seen, and the number of files in
 * *n_files.
 */
int pcap_glob(const char *pattern, pcap_fn *fn, void *arg, unsigned *n_files);

/*
 * The InfiniBand packet (LRH on) in an ERF record of type 21; NULL for other records. *len is in and
 * out: without the VCRC, two bytes that stand behind it.
 */
const uint8_t *erf_infiniband(const uint8_t *record, uint32_t *len);

#endif
