/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mtt_rtl.cpp - rtl/mtt.sv as a block: its pins, and the pool buffer that its reads fill
 */
#include "models/mtt.h"

#include <cstring>

#include "Vmtt.h"
#include "rtl/host/rtl_block.hpp"

namespace
{

class mtt_rtl : public rtl::block_of<Vmtt>
{
public:
	explicit mtt_rtl(struct block *owner)
	    : block_of(owner), m(reinterpret_cast<struct mtt *>(owner))
	{
		m->pool = pool_create(owner, 1, MPT_SIZE);
		PIN(clk_i), PIN(rst_ni), PIN(idle_o);
		PIN(mpt_sets_i), PIN(mpt_ways_i), PIN(sets_i), PIN(ways_i), PIN(hit_cyc_i);
		PINS_IN(req0), PINS_IN(req1), PINS_IN(inv), PINS_IN(fill_rsp);
		PINS_OUT(rsp0), PINS_OUT(rsp1), PINS_OUT(fill), PIN(rsp0_wait_o), PIN(rsp1_wait_o);
		PIN(requests_o), PIN(errors_o), PIN(invalidations_o);
		PIN(mpt_hits_o), PIN(mpt_misses_o), PIN(mtt_hits_o), PIN(mtt_misses_o);
		PIN(state_o), PIN(client_o), PIN(va_page_o), PIN(status_o);
		PIN(is_mpt_hit_o), PIN(is_mtt_hit_o);
	}

private:
	struct mtt *m;

	void before_eval() override
	{
		const auto *nic = static_cast<const struct nic *>(b->env);

		top->mpt_pa_i = nic->mpt_pa;
		top->mpt_entries_i = nic->mpt_entries;
		if (chan_peek(m->fill_rsp))
			memcpy(&top->fill_bytes_i, buf_data(b->sim, m->fill_buf), MPT_SIZE);
	}
	void on_push(const rtl::port &p, void *msg) override
	{
		if (p.chan != m->fill)
			return;
		static_cast<struct dma_req *>(msg)->buf = m->fill_buf = pool_alloc(m->pool);
		m->fill_ps = b->now_ps;
	}
	void on_pop(const rtl::port &p) override
	{
		if (p.chan != m->fill_rsp)
			return;
		buf_unref(b, m->fill_buf);
		m->miss_ps += b->now_ps - m->fill_ps;
	}
};

using entry = rtl::entry<struct mtt, mtt_rtl>;

/* The Verilog is the open RNIC: one request at a time, true LRU, lines of one entry. */
const char *check(const struct block *b, const char **param)
{
	const auto *m = reinterpret_cast<const struct mtt *>(b);
	const struct {
		const char *param;
		uint64_t value, allowed;
		const char *why;
	} fixed[] = {
		{ "window", m->window, 1, "allowed with impl = rtl: 1" },
		{ "issue_cyc", m->issue_cyc, 1, "allowed with impl = rtl: 1" },
		{ "line", m->line, 0, "allowed with impl = rtl: 8" },
		{ "levels", m->levels, 1, "allowed with impl = rtl: 1" },
		{ "mpt_entry", m->mpt_entry, MPT_SIZE, "allowed with impl = rtl: 64" },
		{ "policy", m->policy, ASSOC_LRU, "allowed with impl = rtl: lru" },
		{ "mpt_policy", m->mpt_policy, ASSOC_LRU, "allowed with impl = rtl: lru" },
	};
	const struct {
		const char *param;
		uint64_t value, max;
		const char *why;
	} bounded[] = {
		{ "ways", m->ways, MTT_RTL_WAYS, "allowed with impl = rtl: up to 4" },
		{ "mpt_ways", m->mpt_ways, MTT_RTL_WAYS, "allowed with impl = rtl: up to 4" },
		{ "sets", m->sets, MTT_RTL_SETS_LOG, "allowed with impl = rtl: up to 16384" },
		{ "mpt_sets", m->mpt_sets, MTT_RTL_MPT_SETS_LOG,
		  "allowed with impl = rtl: up to 4096" },
	};

	for (const auto &f : fixed)
		if (f.value != f.allowed) {
			*param = f.param;
			return f.why;
		}
	for (const auto &f : bounded)
		if (f.value > f.max) {
			*param = f.param;
			return f.why;
		}
	return nullptr;
}

} // namespace

extern "C" const struct block_class mtt_rtl_class = {
	"mtt",
	"rtl",
	sizeof(struct mtt),
	mtt_fields,
	"address translation: key check, page look-up, their caches",
	entry::build,
	entry::reset,
	entry::step,
	entry::destroy,
	check,
};
