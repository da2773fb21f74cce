/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcie_model.c - a direction of a PCIe link, TLP by TLP
 */
#include "testbench/pcie_model.h"

#define GEN3_X8_NUM 8125u /* ps for a byte on the link: 8125 / 64 */
#define GEN3_X8_DEN 64u
#define LATENCY_PS 100000u

static uint64_t model_busy_ps(const struct model *m)
{
	return (uint64_t)(m->busy / GEN3_X8_DEN);
}

static unsigned model_units(const struct model *m, unsigned len)
{
	return m->r.rounds_down ? len / 16 : (len + 15) / 16;
}

static bool model_has_credit(const struct model *m, const struct model_train *t)
{
	long need = t->kind == TLP_MRD ? 0 : (long)model_units(m, t->len[t->sent]);

	return (!m->r.hdr[t->cls] || m->hdr[t->cls] >= 1) &&
	       (!m->r.data[t->cls] || m->data[t->cls] >= need);
}

/* 'a' may not go before 'b', which is older. */
static bool model_must_follow(const struct model *m, unsigned a, unsigned b)
{
	return a == b || (b == P && !(a == CPL && m->r.is_relaxed));
}

static struct model_train *model_choose(struct model *m)
{
	for (unsigned i = m->first_train; i < m->n_taken; i++) {
		struct model_train *t = &m->train[i];
		bool is_held = t->sent == t->n || !model_has_credit(m, t);

		for (unsigned k = m->first_train; k < i && !is_held; k++)
			is_held = m->train[k].sent < m->train[k].n &&
				  model_must_follow(m, t->cls, m->train[k].cls);
		if (!is_held)
			return t;
	}
	return NULL;
}

/* One TLP after the other of 't', until there is no credit. */
static void model_send(struct model *m, struct model_train *t, uint64_t now_ps)
{
	struct model_part *p = &m->part[m->n_parts++];

	if (model_busy_ps(m) < now_ps)
		m->busy = (__uint128_t)now_ps * GEN3_X8_DEN;
	m->wait_ps += model_busy_ps(m) - t->part_ready_ps;
	*p = (struct model_part){ .cls = t->cls, .tag = t->tag, .addr = t->addr };
	while (t->sent < t->n && model_has_credit(m, t)) {
		unsigned len = t->len[t->sent++], data = t->kind == TLP_MRD ? 0 : len;

		m->hdr[t->cls] -= 1;
		m->data[t->cls] -= model_units(m, data);
		m->busy += (__uint128_t)(data + (t->cls == CPL ? 20 : 24)) * GEN3_X8_NUM;
		p->hdr += 1;
		p->data += model_units(m, data);
		p->len += len;
		t->addr += len;
	}
	t->part_ready_ps = model_busy_ps(m);
	p->arrive_cyc = (model_busy_ps(m) + LATENCY_PS + CYC_PS - 1) / CYC_PS;
}

/* Deliver what has arrived, one a cycle and port ('is_up': all classes share one). */
static void model_deliver(struct model *m, uint64_t cyc, bool is_up)
{
	bool is_busy[CLASSES] = { false };

	for (unsigned i = m->first_part; i < m->n_parts; i++) {
		struct model_part *p = &m->part[i];
		unsigned port = is_up ? 0 : p->cls;

		if (p->deliver_cyc)
			continue;
		if (!is_busy[port] && p->arrive_cyc <= cyc) {
			p->deliver_cyc = cyc;
			m->owed_hdr[p->cls] += p->hdr;
			m->owed_data[p->cls] += p->data;
		}
		is_busy[port] = true; /* this one went, or holds up those behind */
	}
	while (m->first_part < m->n_parts && m->part[m->first_part].deliver_cyc)
		m->first_part++;
	for (unsigned c = 0; c < CLASSES; c++) {
		if (!m->owed_hdr[c] || cyc < m->fc_sent[c] + m->r.fc_interval)
			continue;
		m->update[m->n_updates].at = cyc + m->r.fc_latency;
		m->update[m->n_updates].cls = c;
		m->update[m->n_updates].hdr = m->owed_hdr[c];
		m->update[m->n_updates++].data = m->owed_data[c];
		m->owed_hdr[c] = m->owed_data[c] = 0;
		m->fc_sent[c] = cyc;
	}
}

static bool model_has_waiting(struct model *m)
{
	while (m->first_train < m->n_taken &&
	       m->train[m->first_train].sent == m->train[m->first_train].n)
		m->first_train++;
	return m->first_train < m->n_taken;
}

void model_run(struct model *m, bool is_up)
{
	for (unsigned c = 0; c < CLASSES; c++) {
		m->hdr[c] = m->r.hdr[c];
		m->data[c] = m->r.data[c];
	}
	for (uint64_t cyc = 1; cyc < 2000000; cyc++) {
		bool is_free = model_busy_ps(m) < (cyc + 1) * CYC_PS;
		struct model_train *t;

		model_deliver(m, cyc, is_up);
		for (; m->first_update < m->n_updates && m->update[m->first_update].at <= cyc;
		     m->first_update++) {
			m->hdr[m->update[m->first_update].cls] += m->update[m->first_update].hdr;
			m->data[m->update[m->first_update].cls] += m->update[m->first_update].data;
		}
		if (m->n_taken < m->n_trains && m->train[m->n_taken].ready_cyc <= cyc &&
		    (is_free || model_has_waiting(m)))
			m->n_taken++;
		t = is_free ? model_choose(m) : NULL;
		if (t)
			model_send(m, t, cyc * CYC_PS);
		if (m->n_taken == m->n_trains && !model_has_waiting(m) && m->n_parts &&
		    m->part[m->n_parts - 1].deliver_cyc)
			return;
	}
}

void model_add(struct model *m, uint64_t at, const struct tlp *t, unsigned mps, unsigned rcb)
{
	struct model_train *to = &m->train[m->n_trains++];
	uint64_t addr = t->addr;
	unsigned left = t->len;

	*to = (struct model_train){ .ready_cyc = at + 1,
				    .part_ready_ps = (at + 1) * CYC_PS,
				    .cls = t->kind == TLP_MWR   ? P
					   : t->kind == TLP_MRD ? NP
								: CPL,
				    .kind = t->kind,
				    .tag = t->tag,
				    .addr = t->addr };
	while (left) {
		unsigned most = t->kind == TLP_CPLD ? mps - (unsigned)(addr % rcb) : mps;
		unsigned n = t->kind == TLP_MRD || left < most ? left : most;

		to->len[to->n++] = n;
		addr += n;
		left -= n;
	}
}
