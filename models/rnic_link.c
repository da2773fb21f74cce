/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rnic_link.c - the links between the NICs of a scenario
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "models/mac.h"
#include "models/rnic.h"
#include "models/wire.h"
#include "sim/command.h"

#define FRAME_DEPTH 4u

struct link_group {
	const char *a, *b;
	uint64_t rate;
};

#define T struct link_group
static const struct field link_fields[] = {
	PARAM_STR(T, a, "NIC at one end"), PARAM_STR(T, b, "NIC at the other end"),
	PARAM_RATE(T, rate, 0, 0, MAC_RATE_MAX,
		   "line rate of both ends, 1 Mb/s or more; 0 leaves it to their MACs", "declared"),
	FIELDS_END
};
#undef T

const struct block_class link_section = {
	.name = "link",
	.impl = "section",
	.fields = link_fields,
	.doc = "sections [link0], [link1], ... of a scenario: which NICs are joined; the rows of wire stand there too",
};

/* Number of the NIC that a link's key names. */
static bool link_end(const struct rnic *r, struct config *cfg, const char *link, const char *key,
		     uint32_t *nic, struct err *e)
{
	const struct setting *s = config_lookup(cfg, link, "link", key), *other;
	char extra;

	other = config_lookup(cfg, link, "link", key[0] == 'a' ? "b" : "a");
	if (!s)
		return err_set(e, other ? other->file : NULL, other ? other->line : 0,
			       "[%s] has no end '%s'; allowed: a = nic0 and b = nic1, for example",
			       link, key);
	if (sscanf(s->value, "nic%" SCNu32 "%c", nic, &extra) != 1 || *nic >= r->n_nics)
		return err_set(e, s->file, s->line,
			       "%s = %s is no NIC; allowed: nic0 to nic%" PRIu32, key, s->value,
			       r->n_nics - 1);
	return true;
}

static void set_rate(struct block *b, uint64_t bps)
{
	for (const struct field *f = b->cls->fields; f->kind != FIELD_END; f++)
		if (f->kind == FIELD_PARAM && strcmp(f->name, "rate") == 0)
			field_set(b, f, bps);
}

static uint64_t get_rate(const struct block *b)
{
	for (const struct field *f = b->cls->fields; f->kind != FIELD_END; f++)
		if (f->kind == FIELD_PARAM && strcmp(f->name, "rate") == 0)
			return field_get(b, f);
	return 0;
}

/* The trace's impairments of packets from host 'from' to host 'to'. */
static uint32_t wire_rules(struct rnic *r, const struct trace *t, uint32_t from, uint32_t to,
			   const struct wire_rule **rules)
{
	struct wire_rule *list = sim_alloc(&r->sim, t->n_wires + 1, sizeof(*list));
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_wires; i++) {
		const struct trace_wire *w = &t->wires[i];

		if (w->a == from && w->b == to)
			list[n++] = (struct wire_rule){ .kind = (enum wire_fault)w->kind,
							.delay_ps = w->delay_ps,
							.nth = w->nth,
							.n_nth = w->n_nth };
	}
	*rules = list;
	return n;
}

/* What the port of NIC 'i' speaks. */
static uint8_t net_of(const struct rnic *r, uint32_t i)
{
	return rnic_nic(r, i)->addr.net;
}

static bool build_link(struct rnic *r, struct config *cfg, const struct trace *t, const char *name,
		       struct link_ends *l, struct err *e)
{
	struct wire_env *env = sim_alloc(&r->sim, 1, sizeof(*env));
	struct link_group g = { 0 };
	struct block *mac[2];
	const struct setting *at;
	const char *file;
	unsigned line;
	char path[64];

	if (!config_apply(cfg, name, "link", link_fields, &g, e))
		return false;
	at = config_lookup(cfg, name, "link", "rate");
	if (g.rate && g.rate < MAC_RATE_MIN)
		return err_set(e, at ? at->file : NULL, at ? at->line : 0,
			       "[%s] rate = %" PRIu64 "bps is no rate of a line; allowed: 1Mbps to "
			       "3200Gbps, or 0 to leave it to the MACs",
			       name, g.rate);
	at = config_lookup(cfg, name, "link", "b");
	file = at ? at->file : NULL;
	line = at ? at->line : 0;
	if (l->a == l->b)
		return err_set(e, file, line,
			       "[%s] joins nic%" PRIu32 " with itself; allowed: two different NICs",
			       name, l->a);
	for (uint32_t k = 0; k < 2; k++) {
		snprintf(path, sizeof(path), "nic%" PRIu32 ".mac", k ? l->b : l->a);
		mac[k] = netlist_find(&r->sim, path);
		if (netlist_chan(mac[k], "tx_frame"))
			return err_set(e, file, line,
				       "[%s]: nic%" PRIu32
				       " has a link already; allowed: one link a NIC",
				       name, k ? l->b : l->a);
		if (g.rate)
			set_rate(mac[k], g.rate);
	}
	if (net_of(r, l->a) != net_of(r, l->b))
		return err_set(e, file, line,
			       "[%s] joins nic%" PRIu32 ", whose encap is %s, with nic%" PRIu32
			       ", whose encap is %s; allowed: the same at both ends",
			       name, l->a, rnic_encap_names[net_of(r, l->a)], l->b,
			       rnic_encap_names[net_of(r, l->b)]);
	env->is_ib = port_is_ib(&rnic_nic(r, l->a)->addr);
	env->n_rules[0] =
		wire_rules(r, t, r->host_of_nic[l->a], r->host_of_nic[l->b], &env->rules[0]);
	env->n_rules[1] =
		wire_rules(r, t, r->host_of_nic[l->b], r->host_of_nic[l->a], &env->rules[1]);
	l->wire = netlist_add(&r->sim, block_classes, "wire", name, cfg, mac[0]->clock_hz, env, e);
	if (!l->wire)
		return false;
	set_rate(l->wire, max_u64(get_rate(mac[0]), get_rate(mac[1])));
	netlist_connect(&r->sim, mac[0], "tx_frame", l->wire, "a_in", FRAME_DEPTH, 1);
	netlist_connect(&r->sim, mac[1], "tx_frame", l->wire, "b_in", FRAME_DEPTH, 1);
	netlist_connect(&r->sim, l->wire, "b_out", mac[1], "rx_frame", FRAME_DEPTH, 1);
	netlist_connect(&r->sim, l->wire, "a_out", mac[0], "rx_frame", FRAME_DEPTH, 1);
	return true;
}

/* Every NIC must have a link: a host that none leads to is the user's mistake. */
static bool check_linked(const struct rnic *r, const struct trace *t, struct err *e)
{
	char path[64];

	for (uint32_t i = 0; i < r->n_nics; i++) {
		snprintf(path, sizeof(path), "nic%" PRIu32 ".mac", i);
		if (!netlist_chan(netlist_find(&r->sim, path), "tx_frame"))
			return err_set(e, t->path, t->hosts[r->host_of_nic[i]].line,
				       "host %s (nic%" PRIu32
				       ") has no link; allowed: [link0], [link1], ... "
				       "that join every NIC with another",
				       t->hosts[r->host_of_nic[i]].name, i);
	}
	return true;
}

bool rnic_build_links(struct rnic *r, struct config *cfg, const struct trace *t, struct err *e)
{
	char name[32] = "link0";

	for (r->n_links = 0; config_has_section(cfg, name);) {
		struct link_ends *l = &r->links[r->n_links];

		if (r->n_links == r->n_nics)
			return err_set(e, t->path, 0,
				       "[%s] is a link too many; allowed: one link a NIC", name);
		if (r->n_nics == 2 && !config_lookup(cfg, name, "link", "a") &&
		    !config_lookup(cfg, name, "link", "b"))
			*l = (struct link_ends){ .a = 0, .b = 1 };
		else if (!link_end(r, cfg, name, "a", &l->a, e) ||
			 !link_end(r, cfg, name, "b", &l->b, e))
			return false;
		if (!build_link(r, cfg, t, name, l, e))
			return false;
		snprintf(name, sizeof(name), "link%" PRIu32, ++r->n_links);
	}
	if (r->n_links == 0 && r->n_nics == 2) {
		r->links[0] = (struct link_ends){ .a = 0, .b = 1 };
		r->n_links = 1;
		return build_link(r, cfg, t, "link0", &r->links[0], e);
	}
	if (r->n_links == 0)
		return err_set(e, t->path, 0,
			       "the trace has %" PRIu32
			       " host(s) and the scenario no link; allowed: two hosts, "
			       "or [link0], [link1], ... that join them in pairs",
			       r->n_nics);
	return check_linked(r, t, e);
}
