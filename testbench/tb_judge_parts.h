/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_judge_parts.h - what the files of the judge share; each function returns NULL, or what is
 * wrong in a static buffer
 */
#ifndef TESTBENCH_TB_JUDGE_PARTS_H
#define TESTBENCH_TB_JUDGE_PARTS_H

#include "testbench/tb_judge.h"

const char *judge_wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* tb_judge_atomic.c: the counter of host 'h', given the memory of all MRs. */
const char *judge_counter(const struct tb_case *c, uint32_t h, uint8_t *const *actual);

/* tb_judge_time.c: time for all that is not a timer; each request of QP 'qp' ended in time. */
uint64_t judge_service_ps(const struct tb_case *c);
const char *judge_time(const struct tb_case *c, uint32_t qp);

/*
 * The same, selective repeat: no more ACK timeouts than frames lost or late, where no timer is shorter than the
 * service of everything and all went well. So a loss does not cost each request behind it a timeout.
 */
const char *judge_timeouts(const struct tb_case *c);

/* tb_judge_loose.c: receives and memory of the loose QPs. */
const char *judge_loose(const struct tb_case *c, uint8_t *const *actual);

/* A receive of this UC or UD QP was too short for its message: it and the QP ended. */
bool judge_met_short_recv(const struct tb_case *c, uint32_t qp);

/* tb_judge_seen.c: completions do not come before what they tell of. */
struct seen *seen_watch(struct tb_case *c);
void seen_release(struct seen *s);
const char *judge_seen(const struct tb_case *c, uint8_t *const *actual);

/* tb_judge_wire.c: the packets that were sent. */
const char *judge_wire(const struct tb_case *c);

#endif
