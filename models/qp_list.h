/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qp_list.h - a FIFO of small numbers (QPs, slots), each on it at most once
 *
 * The links are an array beside the members, one entry each, so any number of QPs can wait without
 * memory of its own per list. A member that is not on the list has the link QP_LIST_OFF.
 */
#ifndef MODELS_QP_LIST_H
#define MODELS_QP_LIST_H

#include <stdbool.h>
#include <stdint.h>

#define QP_LIST_END UINT32_MAX
#define QP_LIST_OFF (UINT32_MAX - 1)

struct qp_list {
	uint32_t *next;         /* by member */
	uint32_t head, tail, n; /* head, tail: QP_LIST_END when empty */
};

/* Make 'l' empty; 'next' has room for members 0 .. n_members - 1 and is kept. */
static inline void qp_list_init(struct qp_list *l, uint32_t *next, uint32_t n_members)
{
	l->next = next;
	l->head = l->tail = QP_LIST_END;
	l->n = 0;
	for (uint32_t i = 0; i < n_members; i++)
		next[i] = QP_LIST_OFF;
}

static inline bool qp_list_has(const struct qp_list *l, uint32_t i)
{
	return l->next[i] != QP_LIST_OFF;
}

/* Append 'i', unless it is on the list. */
static inline void qp_list_add(struct qp_list *l, uint32_t i)
{
	if (qp_list_has(l, i))
		return;
	l->next[i] = QP_LIST_END;
	if (l->n++ == 0)
		l->head = i;
	else
		l->next[l->tail] = i;
	l->tail = i;
}

/* Put 'i' before all others, unless it is on the list. */
static inline void qp_list_add_first(struct qp_list *l, uint32_t i)
{
	if (qp_list_has(l, i))
		return;
	l->next[i] = l->head;
	if (l->n++ == 0)
		l->tail = i;
	l->head = i;
}

/* Take the oldest member; the list is not empty. */
static inline uint32_t qp_list_take(struct qp_list *l)
{
	uint32_t i = l->head;

	l->head = l->next[i];
	l->next[i] = QP_LIST_OFF;
	if (--l->n == 0)
		l->tail = QP_LIST_END;
	return i;
}

#endif
