/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_list.h - appending the CPU's accesses to a list: what the verbs calls of the data path are
 * made of
 */
#ifndef MODELS_CPU_LIST_H
#define MODELS_CPU_LIST_H

#include <string.h>

#include "models/verbs/verbs.h"

static inline struct cpu_req *append(struct cpu_list *l, uint8_t kind, uint64_t addr, uint32_t len,
				     uint32_t op)
{
	struct cpu_req *r = &l->req[l->n++];

	SIM_CHECK(l->n <= CPU_LIST_MAX, NULL);
	r->addr = addr;
	r->tag = 0;
	r->op = op;
	r->kind = kind;
	r->len = (uint8_t)len;
	r->owner = 0;
	return r;
}

static inline void append_store(struct cpu_list *l, uint64_t addr, const uint8_t *bytes,
				uint32_t len, uint32_t op)
{
	struct cpu_req *r = append(l, CPU_STORE, addr, len, op);

	memcpy(r->data, bytes, len);
	memset(r->data + len, 0, sizeof(r->data) - len);
}

static inline void append_store32(struct cpu_list *l, uint64_t addr, uint32_t v, uint32_t op)
{
	uint8_t b[4];

	store_be32(b, v);
	append_store(l, addr, b, sizeof(b), op);
}

#endif
