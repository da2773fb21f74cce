/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_setup.c - what registrations, queues and connections leave in memory and in the NIC
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "testbench/tb_system.h"

static struct tb_system t;

static const uint8_t *entry_of(uint32_t key)
{
	return mem_at(t.h->mem, t.h->nic->mpt_pa + (uint64_t)(key >> 8) * MPT_SIZE);
}

static void reg_mr_writes_both_tables(void)
{
	uint8_t want[MPT_SIZE] = { 0 }, mtt[8];
	uint64_t table = 0;
	const uint8_t *e;

	tb_system_open(&t, "rnicsim-trace 1\nhost h0\npd h0 P\n"
			   "mr h0 m va=0x12345800 len=6000 access=lw,rr lkey=2377 pd=P\n");
	CU_ASSERT_EQUAL(t.s->mrs[0].rkey, 2377);
	e = entry_of(2377);
	CU_ASSERT_EQUAL(2377 >> 8, 9);
	tb_hex("01 05 0002 49 0c 0000 0000000012345800 0000000000001770", want, sizeof(want));
	CU_ASSERT_EQUAL(memcmp(e, want, MPT_MTT), 0);
	for (unsigned i = 0; i < 8; i++)
		table = table << 8 | e[MPT_MTT + i];
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t pa = 0;

		CU_ASSERT_TRUE_FATAL(mem_read(t.h->mem, table + 8 * i, mtt, 8));
		for (unsigned k = 0; k < 8; k++)
			pa = pa << 8 | mtt[k];
		CU_ASSERT_EQUAL(pa, space_pa(t.h->space, 0x12345000 + i * 4096, NULL) + 3);
	}
	tb_system_close(&t);
}

static void reg_mr_with_two_keys_splits_rights(void)
{
	struct cpu_list list = { 0 };

	tb_system_open(&t, "rnicsim-trace 1\nhost h0\n"
			   "mr h0 m va=0x10000 len=4096 access=lw,rw,ra lkey=0x777701 rkey=0x102\n"
			   "mr h0 n va=0x20000 len=4096\n");
	CU_ASSERT_EQUAL(entry_of(0x777701)[MPT_ACCESS], ACCESS_LOCAL_WRITE);
	CU_ASSERT_EQUAL(entry_of(0x102)[MPT_ACCESS], ACCESS_REMOTE_WRITE | ACCESS_REMOTE_ATOMIC);
	CU_ASSERT_EQUAL(t.h->nic->mpt_entries, 0x7778);
	CU_ASSERT_EQUAL(t.s->mrs[1].lkey >> 8, 16);
	CU_ASSERT_EQUAL(t.s->mrs[1].lkey, t.s->mrs[1].rkey);
	CU_ASSERT_EQUAL(entry_of(t.s->mrs[1].lkey)[MPT_FLAGS], 1);
	verbs_dereg_mr(t.h, &t.s->mrs[0], &list);
	CU_ASSERT_EQUAL(list.n, 2);
	verbs_apply(t.h, &list);
	CU_ASSERT_EQUAL(entry_of(0x777701)[MPT_FLAGS], 0);
	CU_ASSERT_EQUAL(entry_of(0x102)[MPT_FLAGS], 0);
	tb_system_close(&t);
}

static void reg_mr_index_taken_is_an_error(void)
{
	static const char clash[] =
		"rnicsim-trace 1\nhost h0\nmr h0 m va=0x10000 len=4096 lkey=0x1234\n"
		"mr h0 n va=0x20000 len=4096 rkey=0x1235\n";

	CU_ASSERT_PTR_NOT_NULL(
		strstr(tb_system_error(clash), "system.trace:4: MR n: a key with the index"));
}

static void create_qp_fills_the_nic(void)
{
	const struct qp_attr *a, *b;
	const struct cq_attr *cq;

	tb_system_open(&t, TB_TWO_HOSTS "qp h0 q1 type=RC peer=h1.q0\n");
	a = &t.h->nic->qp[nic_qpi(t.h->nic, 0x11)];
	b = &t.s->hosts[1].nic->qp[nic_qpi(t.s->hosts[1].nic, 0x12)];
	CU_ASSERT_EQUAL(a->dest_qpn, 0x12);
	CU_ASSERT_EQUAL(a->sq_psn, 0xfffffe);
	CU_ASSERT_EQUAL(b->rq_psn, 0xfffffe);
	CU_ASSERT_EQUAL(a->rq_psn, 7);
	CU_ASSERT_EQUAL(a->rq_stride, 64);
	CU_ASSERT_EQUAL(a->hdr_len, 42);
	CU_ASSERT_EQUAL(memcmp(a->hdr, t.s->hosts[1].nic->addr.mac, 6), 0);
	CU_ASSERT_EQUAL(t.h->nic->n_qp, 2);
	CU_ASSERT_EQUAL(t.h->nic->qp[1].qpn, 0x12); /* the first number that is free */
	CU_ASSERT_EQUAL(nic_qpi(t.h->nic, 0x13), QPI_NONE);
	cq = &t.h->nic->cq[a->scq];
	for (uint32_t i = 0; i < cq->depth; i++)
		CU_ASSERT_EQUAL(mem_at(t.h->mem, cq->pa + i * 64)[63], 0xf1);
	CU_ASSERT_EQUAL(t.h->mem->frame_cq[cq->pa / 4096], a->scq + 1);
	tb_system_close(&t);
}

CU_TestInfo test_setup_tests[] = {
	{ "reg_mr_writes_both_tables", reg_mr_writes_both_tables },
	{ "reg_mr_with_two_keys_splits_rights", reg_mr_with_two_keys_splits_rights },
	{ "reg_mr_index_taken_is_an_error", reg_mr_index_taken_is_an_error },
	{ "create_qp_fills_the_nic", create_qp_fills_the_nic },
	CU_TEST_INFO_NULL,
};
