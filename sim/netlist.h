/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netlist.h - instances and the channels between them, checked: every port connected, types equal
 */
#ifndef SIM_NETLIST_H
#define SIM_NETLIST_H

#include "chan.h"
#include "config.h"
#include "pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The class 'name' of implementation 'impl' ("c", "rtl"), or NULL. */
const struct block_class *class_find(const struct block_class *const *classes, const char *name,
				     const char *impl);

/*
 * Add instance 'path' ("nic0.mtt") of class 'name'. Parameters come from their defaults, then 'cfg'
 * (config_apply); `impl` selects the implementation; the clock default is 'clock_hz'. 'env' is given to the
 * block as it is. Returns NULL with 'e' set on a user's mistake (bad value, implementation not built in).
 */
struct block *netlist_add(struct sim *s, const struct block_class *const *classes, const char *name,
			  const char *path, struct config *cfg, uint64_t clock_hz, void *env,
			  struct err *e);

/*
 * Join output 'out' of 'from' with input 'in' of 'to' (port names as in the tables, an element of an array
 * as "name3"). depth >= 1 messages, latency >= 1 cycles. A wrong name or type is a bug of the caller.
 */
struct chan *netlist_connect(struct sim *s, struct block *from, const char *out, struct block *to,
			     const char *in, uint32_t depth, uint32_t latency);

/*
 * The same without port rows, for test benches: a channel of messages of 'elem_size' bytes that the caller
 * stores in the blocks' members itself.
 */
struct chan *netlist_connect_raw(struct sim *s, struct block *from, struct block *to,
				 uint32_t elem_size, uint32_t depth, uint32_t latency);

/*
 * Finish: check that every port is connected, apply stall patterns, build and reset every block and
 * schedule each for its cycle 0. Call once.
 */
bool netlist_finish(struct sim *s, struct err *e);

/* The instance named 'path', or NULL. */
struct block *netlist_find(const struct sim *s, const char *path);

/* The channel at port 'port' of 'b', or NULL. */
struct chan *netlist_chan(const struct block *b, const char *port);

#ifdef __cplusplus
}
#endif
#endif
