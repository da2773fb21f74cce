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
		if (p.chan == m->fill)
			static_cast<struct dma_req *>(msg)->buf = m->fill_buf = pool_alloc(m->pool);
	}
	void on_pop(const rtl::port &p) override
	{
		if (p.chan == m->fill_rsp)
			buf_unref(b, m->fill_buf);
	}
};

using entry = rtl::entry<struct mtt, mtt_rtl>;

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
};
