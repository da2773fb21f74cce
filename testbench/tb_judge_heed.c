/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_judge_heed.c - what one end of a reliable connection tells the other is heeded, and said once
 *
 * - End-to-end credits (IBTA vol. 1, 9.7.7.2): a request that takes a receive goes out first when its number is at
 *   most one beyond the limit: the MSN and credits of the acknowledgements that came, one more for each request that
 *   takes none. The one beyond is the probe. Without credits (code 31, requester.credits off) there is no limit.
 * - A gap has one NAK by go-back-N (9.7.5.1.2): the responder does not ask for a PSN again until a packet with that
 *   PSN came. By selective repeat each packet behind a gap may be answered by one (recovery.h).
 */
#include <inttypes.h>

#include "models/packet/aeth.h"
#include "models/requester.h"
#include "testbench/tb_judge_way.h"

void heed_open(struct wire_judge *j)
{
	const struct requester *r =
		(const struct requester *)(void *)netlist_find(&j->c->run.r.sim, "nic0.requester");

	for (uint32_t i = 0; i < j->c->run.trace->n_qps; i++)
		j->way[i].heed.is_unlimited = !r->credits;
}

const char *heed_request_starts(const struct wire_judge *j, struct way *w, uint32_t k)
{
	struct heed *h = &w->heed;
	const struct ref_wr *r = way_request(j, w, k);

	h->ssn++;
	if (!r->takes_recv)
		h->lsn++;
	if (!r->takes_recv || h->is_unlimited || h->ssn <= h->lsn + 1)
		return NULL;
	return judge_wrong("h%" PRIu32 ".%s: %" PRIu64 " is message %" PRIu32
			   ", beyond the credits for %" PRIu32,
			   w->t->host, w->t->name, r->r.id, h->ssn, h->lsn);
}

void heed_answer_came(struct way *w, const struct wire_packet *p)
{
	uint32_t code = p->aeth.syndrome & AETH_VALUE_MASK;

	if (!opcode_has(p->info, X_AETH) || (p->aeth.syndrome & AETH_KIND_MASK) != AETH_ACK)
		return;
	if (code == AETH_NO_CREDITS)
		w->heed.is_unlimited = true;
	else if (w->heed.lsn < p->aeth.msn + aeth_credits(code))
		w->heed.lsn = p->aeth.msn + aeth_credits(code);
}

void heed_request_came(struct way *w, uint32_t psn)
{
	w->heed.has_nak &= psn != w->heed.nak;
}

const char *heed_nak_sent(const struct wire_judge *j, struct way *w, const struct wire_packet *p,
			  uint32_t psn)
{
	struct heed *h = &w->heed;
	bool is_again = h->has_nak && h->nak == psn;

	if (j->is_selective || p->aeth.syndrome != (AETH_NAK | NAK_SEQUENCE))
		return NULL;
	h->has_nak = true;
	h->nak = psn;
	if (!is_again)
		return NULL;
	return judge_wrong("h%" PRIu32 ".%s: two NAKs for the gap at PSN %u", w->t->host,
			   w->t->name, p->bth.psn);
}
