/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rnic.c - builds the net-list of a scenario: the blocks of a NIC and of a host, and how they are wired
 */
#include "models/rnic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/recovery.h"
#include "sim/command.h"

#define DEFAULT_PROFILE "generic-100g"
#define PATH_LEN 512

/* ---- what a NIC and a host consist of ---- */

static const struct {
	const char *inst, *cls;
} nic_blocks[] = {
	{ "pcie_link", "pcie_link" }, { "doorbell", "doorbell" },   { "qp_sched", "qp_sched" },
	{ "qpc_tx", "qpc_cache" },    { "qpc_rx", "qpc_cache" },    { "wqe_fetch", "wqe_fetch" },
	{ "requester", "requester" }, { "responder", "responder" }, { "atomic", "atomic" },
	{ "mtt", "mtt" },	      { "dma_engine", "dma_engine" }, { "pktizer", "pktizer" },
	{ "tx_port", "tx_port" },     { "mac", "mac" },		    { "rx_parser", "rx_parser" },
	{ "cqc", "cqc_cache" },       { "rsc", "rsc_cache" },
	{ "cqe_writer", "cqe_writer" }, { "mpt_unit", "mpt_unit" },
}, host_blocks[] = {
	{ "workload", "workload" }, { "host_mem", "host_mem" },
};

#define MAX_GROUP_BLOCKS 24

struct joint {
	const char *from, *out, *to, *in;
	uint32_t depth; /* messages; latency is one cycle everywhere: a register at each border */
};

static const struct joint joints[] = {
	/* host, and its PCIe link */
	{ "workload", "cpu_req", "host_mem", "cpu_req", 16 },
	{ "host_mem", "cpu_rsp", "workload", "cpu_rsp", 16 },
	{ "workload", "mpt_cmd", "mpt_unit", "cmd", 4 },
	{ "workload", "srq_cmd", "wqe_fetch", "srq_cmd", 4 },
	{ "host_mem", "down", "pcie_link", "down_in", 2 },
	{ "pcie_link", "up_out", "host_mem", "up", 16 },
	{ "pcie_link", "mmio", "doorbell", "mmio", 16 },
	{ "pcie_link", "down_cpl", "dma_engine", "cpl", 16 },
	{ "dma_engine", "tlp", "pcie_link", "up_in", 16 },
	/* send side */
	{ "doorbell", "sq_db", "qp_sched", "sq_db", 16 },
	{ "doorbell", "cmd", "requester", "cmd", 4 },
	{ "qp_sched", "fetch", "wqe_fetch", "fetch", 8 },
	{ "wqe_fetch", "fetched", "qp_sched", "fetched", 8 },
	{ "wqe_fetch", "qpc_req", "qpc_tx", "req", 8 },
	{ "qpc_tx", "rsp", "wqe_fetch", "qpc_rsp", 8 },
	{ "wqe_fetch", "wqe", "requester", "wqe", 16 },
	{ "requester", "credit", "qp_sched", "credit", 16 },
	{ "qp_sched", "closed", "requester", "closed", 4 },
	{ "requester", "job", "pktizer", "req_job", 2 },
	{ "pktizer", "req_done", "requester", "job_done", 8 },
	{ "pktizer", "pkt", "tx_port", "data", 8 },
	{ "tx_port", "pkt", "mac", "tx_pkt", 8 },
	/* receive side */
	{ "mac", "rx_pkt", "rx_parser", "pkt", 16 },
	{ "rx_parser", "qpc_req", "qpc_rx", "req", 8 },
	{ "qpc_rx", "rsp", "rx_parser", "qpc_rsp", 8 },
	{ "rx_parser", "to_responder", "responder", "rx", 16 },
	{ "rx_parser", "to_requester", "requester", "rx", 16 },
	{ "responder", "rq_req", "wqe_fetch", "rq_req", 4 },
	{ "wqe_fetch", "rq_rsp", "responder", "rq_rsp", 4 },
	{ "responder", "xlate_req", "mtt", "req1", 4 },
	{ "mtt", "rsp1", "responder", "xlate_rsp", 4 },
	{ "responder", "atomic_req", "atomic", "req", 4 },
	{ "atomic", "rsp", "responder", "atomic_rsp", 4 },
	{ "responder", "job", "pktizer", "rsp_job", 2 },
	{ "tx_port", "rsp_done", "responder", "job_done", 8 },
	{ "responder", "ack", "tx_port", "ack", 8 },
	/* completions */
	{ "requester", "cqe", "cqe_writer", "req", 8 },
	{ "responder", "cqe", "cqe_writer", "rsp", 8 },
	{ "cqe_writer", "error", "requester", "cq_error", 4 },
	{ "cqe_writer", "closed", "workload", "closed", 4 },
	{ "requester", "error", "responder", "peer_error", 4 },
	{ "responder", "error", "requester", "peer_error", 4 },
	{ "responder", "rsc_req", "rsc", "req", 8 },
	{ "rsc", "rsp", "responder", "rsc_rsp", 8 },
	{ "rsc", "fill", "dma_engine", "req11", 4 },
	{ "dma_engine", "rsp11", "rsc", "fill_rsp", 4 },
	{ "cqe_writer", "cqc_req", "cqc", "req", 8 },
	{ "cqc", "rsp", "cqe_writer", "cqc_rsp", 8 },
	{ "cqc", "fill", "dma_engine", "req10", 4 },
	{ "dma_engine", "rsp10", "cqc", "fill_rsp", 4 },
	{ "doorbell", "arm", "cqe_writer", "arm", 8 },
	{ "wqe_fetch", "event", "cqe_writer", "async", 4 },
	/* memory windows */
	{ "requester", "mpt_op", "mpt_unit", "op0", 4 },
	{ "mpt_unit", "rsp0", "requester", "mpt_rsp", 4 },
	{ "responder", "mpt_op", "mpt_unit", "op1", 4 },
	{ "mpt_unit", "rsp1", "responder", "mpt_rsp", 4 },
	{ "mpt_unit", "inv", "mtt", "inv", 4 },
	{ "mpt_unit", "dma_req", "dma_engine", "req9", 4 },
	{ "dma_engine", "rsp9", "mpt_unit", "dma_rsp", 4 },
	/* translation, and the clients of the DMA engine */
	{ "dma_engine", "xlate_req", "mtt", "req0", 8 },
	{ "mtt", "rsp0", "dma_engine", "xlate_rsp", 8 },
	{ "wqe_fetch", "dma_req", "dma_engine", "req0", 8 },
	{ "dma_engine", "rsp0", "wqe_fetch", "dma_rsp", 8 },
	{ "qpc_tx", "fill", "dma_engine", "req1", 4 },
	{ "dma_engine", "rsp1", "qpc_tx", "fill_rsp", 4 },
	{ "qpc_rx", "fill", "dma_engine", "req2", 4 },
	{ "dma_engine", "rsp2", "qpc_rx", "fill_rsp", 4 },
	{ "mtt", "fill", "dma_engine", "req3", 4 },
	{ "dma_engine", "rsp3", "mtt", "fill_rsp", 4 },
	{ "pktizer", "dma_req", "dma_engine", "req4", 8 },
	{ "dma_engine", "rsp4", "pktizer", "dma_rsp", 8 },
	{ "responder", "dma_req", "dma_engine", "req5", 8 },
	{ "dma_engine", "rsp5", "responder", "dma_rsp", 8 },
	{ "requester", "dma_req", "dma_engine", "req6", 8 },
	{ "dma_engine", "rsp6", "requester", "dma_rsp", 8 },
	{ "atomic", "dma_req", "dma_engine", "req7", 4 },
	{ "dma_engine", "rsp7", "atomic", "dma_rsp", 4 },
	{ "cqe_writer", "dma_req", "dma_engine", "req8", 8 },
	{ "dma_engine", "rsp8", "cqe_writer", "dma_rsp", 8 },
};

#define REC_DEPTH 8u

/* ---- groups of the scenario file ---- */

const char *const rnic_encap_names[] = { "roce2", "roce1", "ib", "ib_grh", NULL };

struct group {
	uint64_t clock;
	bool fixed_path, plain_qkey, long_ud, refuse_misaligned;
	uint8_t encap;
	const char *profile, *host;
};

#define T struct group
static const struct field nic_fields[] = {
	PARAM_FREQ(T, clock, 250 * MHZ, 1 * MHZ, 10 * GHZ, "clock of the NIC's blocks", "declared"),
	PARAM_BOOL(T, fixed_path, 0, "send hop limit 64 and flow label 0, whatever a QP asks for",
		   "documented: IBTA vol. 1 8.3 takes both from the address vector; rxe does not"),
	PARAM_BOOL(T, plain_qkey, 0,
		   "send a work request's Q_Key with its high bit set as it is, not the QP's own",
		   "documented: IBTA vol. 1 10.2.5 takes the QP's; rxe does not"),
	PARAM_BOOL(
		T, long_ud, 0,
		"datagrams over the MTU are taken, use a PSN, succeed and are not sent; off: refused",
		"documented: IBTA vol. 1 11.4.1.1 refuses; rxe does not"),
	PARAM_BOOL(T, refuse_misaligned, 0,
		   "posts refuse atomics that are not 8-byte aligned; off: the responder refuses",
		   "documented: IBTA vol. 1 9.7.4.1.3 has the responder check; rxe's post does"),
	PARAM_ENUM(T, encap, NET_ROCE2, rnic_encap_names,
		   "what the port speaks; the same at both ends of a link", "declared"),
	PARAM_STR(T, profile, "device preset: a name in models/profiles, or a path"),
	PARAM_STR(T, host, "host of the trace in which the NIC sits"),
	FIELDS_END
};
static const struct field host_fields[] = { PARAM_FREQ(T, clock, 1 * GHZ, 1 * MHZ, 10 * GHZ,
						       "clock of the host's blocks", "declared"),
					    FIELDS_END };
#undef T

const struct block_class nic_section = {
	.name = "nic",
	.impl = "section",
	.fields = nic_fields,
	.doc = "section [nic] of a scenario or profile: every NIC; [nic0], [nic1], ...: one",
};
const struct block_class host_section = {
	.name = "host",
	.impl = "section",
	.fields = host_fields,
	.doc = "section [host] of a scenario: every host; [host0], ...: one",
};
/* ---- building ---- */

struct part {
	const char *inst;
	struct block *b;
};

static struct block *find_part(const struct part *p, uint32_t n, const char *inst)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(p[i].inst, inst) == 0)
			return p[i].b;
	SIM_CHECK(!"rnic: no such block", NULL);
	return NULL;
}

static bool add_part(struct rnic *r, struct config *cfg, const char *group, const char *inst,
		     const char *cls, uint64_t hz, void *env, struct part *p, struct err *e)
{
	char path[64];

	snprintf(path, sizeof(path), "%s.%s", group, inst);
	p->inst = inst;
	p->b = netlist_add(&r->sim, block_classes, cls, path, cfg, hz, env, e);
	return p->b != NULL;
}

/* Host 'h' of the trace and NIC number 'i' in it. */
static bool build_node(struct rnic *r, struct config *cfg, uint32_t i, uint32_t h, struct err *e)
{
	struct host *host = &r->system->hosts[h];
	struct part parts[MAX_GROUP_BLOCKS];
	struct group nic = { 0 }, cpu = { 0 };
	char name[32], port[32];
	uint32_t n = 0;

	snprintf(name, sizeof(name), "host%" PRIu32, h);
	snprintf(port, sizeof(port), "nic%" PRIu32, i);
	if (!rnic_read_profile(cfg, port, name, DEFAULT_PROFILE, e) ||
	    !config_apply(cfg, name, "host", host_fields, &cpu, e))
		return false;
	for (size_t k = 0; k < ARRAY_LEN(host_blocks); k++, n++)
		if (!add_part(r, cfg, name, host_blocks[k].inst, host_blocks[k].cls, cpu.clock,
			      host, &parts[n], e))
			return false;
	snprintf(name, sizeof(name), "nic%" PRIu32, i);
	if (!config_apply(cfg, name, "nic", nic_fields, &nic, e))
		return false;
	host->nic->has_plain_qkey = nic.plain_qkey;
	host->nic->takes_long_ud = nic.long_ud;
	host->nic->refuses_misaligned = nic.refuse_misaligned;
	host->nic->addr.has_fixed_path = nic.fixed_path;
	host->nic->addr.net = nic.encap;
	for (size_t k = 0; k < ARRAY_LEN(nic_blocks); k++, n++)
		if (!add_part(r, cfg, name, nic_blocks[k].inst, nic_blocks[k].cls, nic.clock,
			      host->nic, &parts[n], e))
			return false;
	for (size_t k = 0; k < ARRAY_LEN(joints); k++)
		netlist_connect(&r->sim, find_part(parts, n, joints[k].from), joints[k].out,
				find_part(parts, n, joints[k].to), joints[k].in, joints[k].depth,
				1);
	snprintf(port, sizeof(port), "rec%" PRIu32, h);
	netlist_connect(&r->sim, r->feed, port, find_part(parts, n, "workload"), "rec", REC_DEPTH,
			1);
	return true;
}

/* Which host sits behind which NIC: [nicN] host = NAME, the others in order. */
static bool place_nics(struct rnic *r, struct config *cfg, const struct trace *t, struct err *e)
{
	char name[32];

	for (uint32_t i = 0; i < r->n_nics; i++)
		r->nic_of_host[i] = r->host_of_nic[i] = TRACE_NONE;
	for (uint32_t i = 0; i < r->n_nics; i++) {
		const struct setting *s;
		uint32_t h;

		snprintf(name, sizeof(name), "nic%" PRIu32, i);
		s = config_lookup(cfg, name, NULL, "host");
		if (!s)
			continue;
		h = trace_find_host(t, s->value);
		if (h == TRACE_NONE || r->nic_of_host[h] != TRACE_NONE)
			return err_set(e, s->file, s->line,
				       "host = %s: %s; allowed: a host of the trace, each once",
				       s->value,
				       h == TRACE_NONE ? "the trace has no such host"
						       : "this host has a NIC already");
		r->nic_of_host[h] = i;
		r->host_of_nic[i] = h;
	}
	for (uint32_t i = 0, h = 0; i < r->n_nics; i++) {
		if (r->host_of_nic[i] != TRACE_NONE)
			continue;
		while (r->nic_of_host[h] != TRACE_NONE)
			h++;
		r->nic_of_host[h] = i;
		r->host_of_nic[i] = h;
	}
	return true;
}

static bool check_reach(const struct rnic *r, struct err *e)
{
	for (uint32_t i = 0; i < r->n_links; i++) {
		uint32_t a = r->host_of_nic[r->links[i].a], b = r->host_of_nic[r->links[i].b];

		r->system->hosts[a].far = b;
		r->system->hosts[b].far = a;
	}
	return reach_check(r->system, e);
}

static uint64_t get_param(struct rnic *r, uint32_t nic, const char *inst, const char *name)
{
	const struct block *b;
	char path[64];

	snprintf(path, sizeof(path), "nic%" PRIu32 ".%s", nic, inst);
	b = netlist_find(&r->sim, path);
	return field_get(b, field_find(b->cls->fields, FIELD_PARAM, name));
}

/* Senders and receivers of all NICs repair losses in one way, within the receivers' windows. */
static bool check_recovery(struct rnic *r, struct err *e)
{
	static const char *const names[] = RECOVERY_NAMES;
	uint64_t recovery = get_param(r, 0, "requester", "recovery"), tx = 0, rx = UINT64_MAX;

	for (uint32_t i = 0; i < r->n_nics; i++) {
		if (get_param(r, i, "requester", "recovery") != recovery ||
		    get_param(r, i, "responder", "recovery") != recovery)
			return err_set(
				e, NULL, 0,
				"nic%" PRIu32
				": requester.recovery = %s and responder.recovery = %s; allowed: "
				"%s, as requester.recovery of nic0",
				i, names[get_param(r, i, "requester", "recovery")],
				names[get_param(r, i, "responder", "recovery")], names[recovery]);
		tx = max_u64(tx, get_param(r, i, "requester", "sr_window"));
		rx = min_u64(rx, get_param(r, i, "responder", "sr_window"));
	}
	if (tx > rx)
		return err_set(e, NULL, 0,
			       "requester.sr_window = %" PRIu64 " is more than a "
			       "responder has; allowed: up to %" PRIu64,
			       tx, rx);
	return true;
}

bool rnic_build(struct rnic *r, struct config *cfg, struct trace *t, uint64_t seed, struct err *e)
{
	*r = (struct rnic){ .n_nics = t->n_hosts, .stall_ps = TIME_NEVER };
	sim_init(&r->sim, seed);
	if (!system_check_sizes(t, e))
		return false;
	r->nic_of_host = x_calloc(t->n_hosts + 1, sizeof(*r->nic_of_host));
	r->host_of_nic = x_calloc(t->n_hosts + 1, sizeof(*r->host_of_nic));
	r->links = x_calloc(t->n_hosts + 1, sizeof(*r->links));
	r->system = system_create(t, e);
	if (!r->system || !system_prime(r->system, e) || !place_nics(r, cfg, t, e))
		return false;
	r->feed = netlist_add(&r->sim, block_classes, "feed", "feed", cfg, 1 * GHZ, r->system, e);
	if (!r->feed)
		return false;
	for (uint32_t i = 0; i < r->n_nics; i++)
		if (!build_node(r, cfg, i, r->host_of_nic[i], e))
			return false;
	if (!check_recovery(r, e) || !system_connect(r->system, e))
		return false;
	for (uint32_t i = 0; i < r->n_nics; i++)
		verbs_build_walk(&r->system->hosts[r->host_of_nic[i]],
				 (uint32_t)get_param(r, i, "mtt", "levels"));
	return rnic_build_links(r, cfg, t, e) && check_reach(r, e) && config_check_used(cfg, e);
}

void rnic_destroy(struct rnic *r)
{
	sim_destroy(&r->sim);
	if (r->system)
		system_destroy(r->system);
	free(r->nic_of_host);
	free(r->host_of_nic);
	free(r->links);
}
