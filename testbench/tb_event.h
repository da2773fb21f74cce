/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_event.h - are a NIC's events those that are due, and drained send queues still
 *
 * Watched is what passes between blocks: what the completion writer writes to memory, the CQs and SRQs
 * that are armed, the receives taken from SRQs, the program's commands. The rules (IBTA vol. 1, 11.4.2.2, 10.2.9.2; moderation:
 * cqe_event.c):
 * - an armed CQ gives one event, for a completion behind the armed index that is there or comes;
 *   armed for solicited ones, for one that is solicited or an error;
 * - moderated, not before 'count' such or the time since the first;
 * - it is given before more than a few other writes, and none is left in the end;
 * - an SRQ gives one event for each limit that is set, when fewer receives than that are left in it,
 *   and not while as many were left all the time;
 * - a send queue that is drained (SQD) begins no message (10.3.1).
 */
#ifndef TESTBENCH_TB_EVENT_H
#define TESTBENCH_TB_EVENT_H

#include "testbench/tb_run.h"

struct tb_events;

/* Watch all NICs of a run that is open and has not begun. Release it when the run is closed. */
struct tb_events *tb_events_watch(struct tb_run *t);
void tb_events_release(struct tb_events *w);

/* After the run: NULL, or what was wrong, in a static buffer. */
const char *tb_events_verdict(struct tb_events *w);

#endif
