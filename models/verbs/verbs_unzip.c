/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs_unzip.c - the driver's side of compressed completions (cqe_compress.h)
 *
 * As Linux' mlx5e_decompress_cqes_*(): each mini CQE, put into a copy of the title, is a CQE as it would have been
 * written alone. The CPU reads the arrays one after the other, and at the end sets the owner byte of all entries of
 * the block to the one of this round, so that none of them looks new in the next.
 */
#include "models/cpu_list.h"
#include "models/cqe_compress.h"
#include "models/verbs/wqe.h"

#define CQE_BYTES 64u
#define CQE_OP_OWN 63u

static uint64_t entry_pa(const struct host *h, uint32_t cqi, uint32_t at)
{
	const struct cq_attr *cq = &h->nic->cq[cqi];

	return cq->pa + (uint64_t)(at & (cq->depth - 1)) * CQE_BYTES;
}

static uint8_t owner_of(const struct host *h, uint32_t cqi, uint32_t at)
{
	return at >> h->cq[cqi].log_depth & 1;
}

bool verbs_is_title(const uint8_t *cqe)
{
	return (cqe[CQE_OP_OWN] & CQE_FORMAT_MASK) == CQE_COMPRESSED &&
	       cqe[CQE_OP_OWN] >> 4 != CQE_INVALID;
}

void verbs_unzip(struct host *h, uint32_t cqi, const uint8_t *title)
{
	struct drv_unzip *u = &h->unzip[cqi];

	u->n = load_be32(title + 44);
	u->done = 0;
	u->first = h->cq[cqi].ci;
	u->wants_array = false;
	memcpy(u->title, title, CQE_BYTES);
	SIM_CHECK(u->n >= 2 && u->n <= MINI_MAX && u->n <= h->nic->cq[cqi].depth, h->cpu);
}

void verbs_unzip_read(struct host *h, uint32_t cqi, struct cpu_list *out)
{
	struct drv_unzip *u = &h->unzip[cqi];
	struct cpu_req *r = append(out, CPU_PEEK,
				   entry_pa(h, cqi, u->first + mini_array_at(u->done / MINI_ARRAY)),
				   CQE_BYTES, OP_NONE);

	memset(r->data, 0, sizeof(r->data));
	r->tag = cqi;
	u->wants_array = true;
}

void verbs_unzip_array(struct host *h, uint32_t cqi, const uint8_t *array)
{
	struct drv_unzip *u = &h->unzip[cqi];

	memcpy(u->array, array, CQE_BYTES);
	u->wants_array = false;
}

enum unzip_next verbs_unzip_next(struct host *h, uint32_t cqi, uint8_t *cqe)
{
	struct drv_unzip *u = &h->unzip[cqi];
	const uint8_t *mini = u->array + u->done % MINI_ARRAY * MINI_BYTES;
	uint8_t op_own = u->title[CQE_OP_OWN];
	uint32_t counter = load_be16(u->title + 60) + u->done;

	if (op_own >> 4 == CQE_REQ)
		counter = load_be16(mini + MINI_COUNTER);
	else if (h->nic->mini_format == MINI_CSUM_STRIDX)
		counter = load_be16(mini + MINI_STRIDX);
	memcpy(cqe, u->title, CQE_BYTES);
	memcpy(cqe + 44, mini + MINI_BYTE_CNT, 4);
	if (op_own >> 4 == CQE_REQ)
		cqe[56] = mini[MINI_OPCODE];
	store_be16(cqe + 60, (uint16_t)counter);
	cqe[CQE_OP_OWN] = (uint8_t)((op_own & ~(CQE_FORMAT_MASK | 1u)) |
				    owner_of(h, cqi, u->first + u->done));
	u->done++;
	if (u->done == u->n)
		return UNZIP_OVER;
	return u->done % MINI_ARRAY ? UNZIP_MORE : UNZIP_READ;
}

void verbs_unzip_end(struct host *h, uint32_t cqi, struct cpu_list *out)
{
	const struct drv_unzip *u = &h->unzip[cqi];

	for (uint32_t i = 0; i < u->n; i++) {
		uint8_t owner = owner_of(h, cqi, u->first + i);

		append_store(out, entry_pa(h, cqi, u->first + i) + CQE_OP_OWN, &owner, 1, OP_NONE);
	}
}
