/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checker.h - attachable rules of a channel: nothing lost, added, changed or reordered, no message early,
 * credits conserved
 */
#ifndef SIM_CHECKER_H
#define SIM_CHECKER_H

#include "sim/chan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a checker found; the first violation stays. NULL text = none. */
struct checker {
	struct chan_tap tap;
	const struct chan *chan;
	unsigned char *copies; /* messages in the channel, by push number modulo depth */
	uint64_t *pushed_ps;
	uint64_t pushes, pops;
	const char *violation;
};

/* Attach a checker to 'c'; it lives as long as the net-list. Before the run only. */
struct checker *checker_attach(struct sim *s, struct chan *c);

/* Attach one to every channel of the net-list; returns an array of s->n_chans. */
struct checker **checker_attach_all(struct sim *s);

/* End of run: NULL when every rule held, else what did not; pushes - pops must be what is in the channel. */
const char *checker_verdict(const struct checker *k);

#ifdef __cplusplus
}
#endif
#endif
