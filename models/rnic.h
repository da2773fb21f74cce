/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rnic.h - the net-list of a scenario: hosts, their NICs, and the links between them
 */
#ifndef MODELS_RNIC_H
#define MODELS_RNIC_H

#include "models/verbs/setup.h"
#include "models/trace/trace.h"
#include "sim/config.h"
#include "sim/netlist.h"

/* What a link joins. */
struct link_ends {
	uint32_t a, b; /* NIC numbers */
	struct block *wire;
};

/* A scenario, built. */
struct rnic {
	struct sim sim;
	struct system *system;
	uint32_t n_nics;
	uint32_t *nic_of_host, *host_of_nic;
	struct link_ends *links;
	uint32_t n_links;
	struct block *feed;
	uint64_t
		stall_ps; /* a run in which nothing gets done for so long is stuck; TIME_NEVER = wait for ever */
};

/*
 * Read the profiles that [nic] and [nicN] of 'cfg' name, set up hosts and NICs from 't' and build the
 * net-list, connected but not finished (netlist_finish), so that waves and captures can be attached. 't' and
 * 'cfg' stay the caller's and outlive 'r'. False with 'e' set on a user's mistake; rnic_destroy is due then too.
 */
bool rnic_build(struct rnic *r, struct config *cfg, struct trace *t, uint64_t seed, struct err *e);
void rnic_destroy(struct rnic *r);

/*
 * Read into 'cfg' the profile that `profile` of [nic] or of [group] ("nic0") names, or the one called
 * 'otherwise', for that group, and for 'host' ("host0"; NULL = none). False with 'e' set when there is none, or on a mistake in it.
 */
bool rnic_read_profile(struct config *cfg, const char *group, const char *host,
		       const char *otherwise, struct err *e);

/*
 * For rnic_build: the links that the scenario names, built and connected; two NICs and no link are joined back to
 * back. False with 'e' set on a mistake, or when a NIC has none.
 */
bool rnic_build_links(struct rnic *r, struct config *cfg, const struct trace *t, struct err *e);

/* What a port may speak, by enum port_net. */
extern const char *const rnic_encap_names[];

/* The set-up of NIC number 'i'. */
static inline const struct nic *rnic_nic(const struct rnic *r, uint32_t i)
{
	return r->system->hosts[r->host_of_nic[i]].nic;
}

/*
 * Run to the end: nothing pending, the time limit, sim_stop(), or (SIM_END_STOPPED too) nothing that gets done for
 * stall_ps, blocks being awake, and no record that starts later.
 */
enum sim_end rnic_run(struct rnic *r);

#endif
