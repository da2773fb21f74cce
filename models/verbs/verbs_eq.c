/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs_eq.c - the driver's side of the event queue (EQEs: protocol.md section 13)
 *
 * The handler waits for an entry like a poll for a completion; the interrupt wakes it. Not modelled:
 * the doorbell of the event queue.
 */
#include "models/cpu_list.h"
#include "models/verbs/wqe.h"

#define EQ_DEPTH_MIN 256u
#define EQE_EMPTY 0xf1u /* no entry's: as in a CQ that was not written yet */

void verbs_create_eq(struct host *h)
{
	struct nic *n = h->nic;

	/* an event a CQ and an SRQ that the program has not seen, one that is on its way, and an overflow */
	n->eq_depth = EQ_DEPTH_MIN;
	while (n->eq_depth < 4 * (n->n_cq + n->n_srq))
		n->eq_depth *= 2;
	n->eq_pa = mem_alloc(h->mem, (uint64_t)n->eq_depth * EQE_BYTES, PAGE_4K);
	for (uint32_t k = 0; k < n->eq_depth; k++)
		mem_at(h->mem, n->eq_pa + (uint64_t)k * EQE_BYTES)[EQE_BYTES - 1] = EQE_EMPTY;
}

void verbs_wait_event(struct host *h, struct cpu_list *out)
{
	const struct nic *n = h->nic;
	struct cpu_req *r;

	if (h->eq.is_polling)
		return;
	r = append(out, CPU_POLL, n->eq_pa + (uint64_t)(h->eq.ci & (n->eq_depth - 1)) * EQE_BYTES,
		   EQE_BYTES, OP_NONE);
	memset(r->data, 0, sizeof(r->data));
	r->tag = verbs_eq_tag(h);
	r->owner = (h->eq.ci & n->eq_depth) != 0;
	h->eq.is_polling = true;
}

uint8_t verbs_take_event(struct host *h, const uint8_t *eqe, uint32_t *cqi)
{
	h->eq.is_polling = false;
	h->eq.ci++;
	*cqi = load_be32(eqe + 56) - (h->nic->n_cq ? h->nic->cq[0].cqn : 0);
	return eqe[1];
}
