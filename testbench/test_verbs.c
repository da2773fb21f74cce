/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_verbs.c - the bytes of WQEs, doorbells, keys and CQEs against vectors made by hand from
 * protocol.md 13
 */
#include <CUnit/CUnit.h>
#include <string.h>

#include "testbench/tb_system.h"

#define OP 77u /* any oplog handle */

static struct tb_system t;
static struct host *h;
static struct cpu_list list;

static void set_up(const char *text)
{
	tb_system_open(&t, text);
	h = t.h;
	list.n = 0;
}

/* ---- WQEs ---- */

#define SRC(off, n) \
	{ \
		.addr = 0x10000000 + (off), .len = (n), .lkey = 0x1234 \
	}
#define SIG WR_SIGNALED

/* The WQE of each operation as block 0 of QP 0x11. */
static const struct {
	const char *name;
	struct send_wr wr;
	struct sge sge[4];
	const char *hex;
} wqes[] = {
	{ "write",
	  { .opcode = WR_RDMA_WRITE,
	    .flags = SIG,
	    .n_sge = 1,
	    .raddr = 0x20000040,
	    .rkey = 0x5678 },
	  { SRC(0x100, 4096) },
	  "00000008 00001103 00000008 00000000 0000000020000040 00005678 00000000"
	  "00001000 00001234 0000000010000100" },
	{ "write of two segments, one empty between",
	  { .opcode = WR_RDMA_WRITE,
	    .flags = SIG,
	    .n_sge = 3,
	    .raddr = 0x20000040,
	    .rkey = 0x5678 },
	  { SRC(0, 16), SRC(64, 0), SRC(128, 1) },
	  "00000008 00001104 00000008 00000000 0000000020000040 00005678 00000000"
	  "00000010 00001234 0000000010000000 00000001 00001234 0000000010000080" },
	{ "write of 2^31 bytes",
	  { .opcode = WR_RDMA_WRITE,
	    .flags = SIG,
	    .n_sge = 1,
	    .raddr = 0x20000040,
	    .rkey = 0x5678 },
	  { SRC(0x100, 0x80000000) },
	  "00000008 00001103 00000008 00000000 0000000020000040 00005678 00000000"
	  "00000000 00001234 0000000010000100" },
	{ "write with immediate, solicited",
	  { .opcode = WR_RDMA_WRITE_WITH_IMM,
	    .flags = SIG | WR_SOLICITED,
	    .n_sge = 1,
	    .imm = 0xa1b2c3d4,
	    .raddr = 0x20000040,
	    .rkey = 0x5678 },
	  { SRC(0, 8) },
	  "00000009 00001103 0000000a a1b2c3d4 0000000020000040 00005678 00000000"
	  "00000008 00001234 0000000010000000" },
	{ "write of nothing",
	  { .opcode = WR_RDMA_WRITE, .flags = SIG, .raddr = 0x20000040, .rkey = 0x5678 },
	  { { 0 } },
	  "00000008 00001102 00000008 00000000 0000000020000040 00005678 00000000" },
	{ "send, unsignaled, fenced",
	  { .opcode = WR_SEND, .flags = WR_FENCE, .n_sge = 1 },
	  { SRC(1, 3) },
	  "0000000a 00001102 00000080 00000000 00000003 00001234 0000000010000001" },
	{ "send with immediate",
	  { .opcode = WR_SEND_WITH_IMM, .flags = SIG, .n_sge = 1, .imm = 1 },
	  { SRC(0, 3) },
	  "0000000b 00001102 00000008 00000001 00000003 00001234 0000000010000000" },
	{ "send with invalidate",
	  { .opcode = WR_SEND_WITH_INV, .flags = SIG, .n_sge = 1, .inv_key = 0x5678 },
	  { SRC(0, 3) },
	  "00000001 00001102 00000008 00005678 00000003 00001234 0000000010000000" },
	{ "read",
	  { .opcode = WR_RDMA_READ, .flags = SIG, .n_sge = 1, .raddr = 0x20000000, .rkey = 0x5678 },
	  { SRC(0, 0x1000) },
	  "00000010 00001103 00000008 00000000 0000000020000000 00005678 00000000"
	  "00001000 00001234 0000000010000000" },
	{ "compare and swap",
	  { .opcode = WR_ATOMIC_CMP_AND_SWP,
	    .flags = SIG,
	    .n_sge = 1,
	    .raddr = 0x20000008,
	    .rkey = 0x5678,
	    .compare_add = 0x1112131415161718,
	    .swap = 0x2122232425262728 },
	  { SRC(8, 8) },
	  "00000011 00001104 00000008 00000000 0000000020000008 00005678 00000000"
	  "2122232425262728 1112131415161718 00000008 00001234 0000000010000008" },
	{ "fetch and add",
	  { .opcode = WR_ATOMIC_FETCH_AND_ADD,
	    .flags = SIG,
	    .n_sge = 1,
	    .raddr = 0x20000008,
	    .rkey = 0x5678,
	    .compare_add = 5,
	    .swap = 9 },
	  { SRC(8, 8) },
	  "00000012 00001104 00000008 00000000 0000000020000008 00005678 00000000"
	  "0000000000000005 0000000000000000 00000008 00001234 0000000010000008" },
	{ "five segments' room, two blocks",
	  { .opcode = WR_RDMA_WRITE,
	    .flags = SIG,
	    .n_sge = 4,
	    .raddr = 0x20000040,
	    .rkey = 0x5678 },
	  { SRC(0, 1), SRC(0x10, 2), SRC(0x20, 3), SRC(0x30, 4) },
	  "00000008 00001106 00000008 00000000 0000000020000040 00005678 00000000"
	  "00000001 00001234 0000000010000000 00000002 00001234 0000000010000010"
	  "00000003 00001234 0000000010000020 00000004 00001234 0000000010000030" },
};

/* The WQE at block 'block' of the send queue, after the stores of 'list', against hex digits. */
static bool wqe_is(const char *hex)
{
	uint8_t want[VERBS_MAX_WQE], got[VERBS_MAX_WQE];
	uint32_t n = tb_hex(hex, want, sizeof(want)), at = 0;

	for (uint32_t i = 0; i < list.n && list.req[i].kind == CPU_STORE && at < n; i++) {
		memcpy(got + at, list.req[i].data, list.req[i].len);
		at += list.req[i].len;
	}
	return at == n && memcmp(got, want, n) == 0;
}

static void post_send_each_opcode_gives_its_vector(void)
{
	for (size_t i = 0; i < ARRAY_LEN(wqes); i++) {
		struct send_wr wr = wqes[i].wr;

		set_up(TB_TWO_HOSTS);
		wr.sge = wqes[i].sge;
		CU_ASSERT_EQUAL_FATAL(verbs_post_send(h, 0, &wr, OP, &list), 0);
		if (!wqe_is(wqes[i].hex)) {
			printf("%s\n", wqes[i].name);
			CU_FAIL("another WQE than the vector");
		}
		/* the seeded fault: one bit */
		list.req[0].data[11] ^= 1;
		CU_ASSERT_FALSE(wqe_is(wqes[i].hex));
		tb_system_close(&t);
	}
}

static struct send_wr a_write(const struct sge *sge)
{
	return (struct send_wr){ .opcode = WR_RDMA_WRITE,
				 .flags = SIG,
				 .n_sge = 1,
				 .sge = sge,
				 .raddr = 0x20000040,
				 .rkey = 0x5678 };
}

static void post_send_rings_record_then_register(void)
{
	struct sge sge = SRC(0, 64);
	struct send_wr wr = a_write(&sge);
	static const uint8_t producer[4] = { 0, 0, 0, 2 }, qword[8] = { 0, 0, 1, 8, 0, 0, 0x11, 3 };
	const struct qp_attr *q;

	set_up(TB_TWO_HOSTS);
	q = &h->nic->qp[0];
	wr.flags |= WR_MORE;
	CU_ASSERT_EQUAL(verbs_post_send(h, 0, &wr, OP, &list), 0);
	CU_ASSERT_EQUAL(list.n, 1); /* the block only */
	CU_ASSERT_EQUAL(list.req[0].addr, q->sq_pa);
	CU_ASSERT_EQUAL(list.req[0].op, OP);
	wr.flags = SIG;
	CU_ASSERT_EQUAL(verbs_post_send(h, 0, &wr, OP + 1, &list), 0);
	CU_ASSERT_EQUAL_FATAL(list.n, 4);
	CU_ASSERT_EQUAL(list.req[1].addr, q->sq_pa + 64);
	CU_ASSERT_EQUAL(list.req[2].kind, CPU_STORE);
	CU_ASSERT_EQUAL(list.req[2].addr, q->dbr_pa + 4);
	CU_ASSERT_EQUAL(list.req[2].len, 4);
	CU_ASSERT_EQUAL(memcmp(list.req[2].data, producer, 4), 0);
	CU_ASSERT_EQUAL(list.req[3].kind, CPU_MMIO);
	CU_ASSERT_EQUAL(list.req[3].addr, UAR_BLUEFLAME);
	CU_ASSERT_EQUAL(list.req[3].len, 8);
	CU_ASSERT_EQUAL(memcmp(list.req[3].data, qword, 8), 0);
	CU_ASSERT_EQUAL(q->sq_op[0], OP);
	CU_ASSERT_EQUAL(q->sq_op[1], OP + 1);
	list.n = 0;
	verbs_ring(h, 0, &list);
	CU_ASSERT_EQUAL(list.n, 0);
	tb_system_close(&t);
}

/* BlueFlame: the ring, the record, then the blocks copied from the ring; the buffers take turns. */
static void post_send_blueflame_copies_whole_blocks(void)
{
	struct sge sge = SRC(0, 40); /* 32 + 4 + 40 bytes: two blocks */
	struct send_wr wr = a_write(&sge);

	set_up(TB_TWO_HOSTS);
	h->post = POST_BF_INLINE;
	h->wc_bytes = 64;
	for (uint32_t k = 0; k < 2; k++) {
		uint64_t ring = h->nic->qp[0].sq_pa + 128 * k;

		list.n = 0;
		wr.flags = SIG | WR_INLINE;
		CU_ASSERT_EQUAL(verbs_post_send(h, 0, &wr, OP, &list), 0);
		CU_ASSERT_EQUAL_FATAL(list.n, 2 + 2 + 1 + 2);
		CU_ASSERT_EQUAL(list.req[4].addr, h->nic->qp[0].dbr_pa + 4);
		for (uint32_t i = 0; i < 2; i++) {
			const struct cpu_req *r = &list.req[5 + i];

			CU_ASSERT_EQUAL(r->kind, CPU_MMIO_COPY);
			CU_ASSERT_EQUAL(r->addr, UAR_BLUEFLAME + 0x100 * k + 64 * i);
			CU_ASSERT_EQUAL(r->len, 64);
			CU_ASSERT_EQUAL(r->data[0] | (uint32_t)r->data[1] << 8 |
						(uint32_t)r->data[2] << 16,
					(ring + 64 * i) & 0xffffff);
		}
	}
	list.n = 0; /* not inline; and the last of two */
	wr.flags = SIG | WR_MORE;
	CU_ASSERT_EQUAL(verbs_post_send(h, 0, &wr, OP, &list), 0);
	wr.flags = SIG | WR_INLINE;
	CU_ASSERT_EQUAL(verbs_post_send(h, 0, &wr, OP, &list), 0);
	CU_ASSERT_EQUAL(list.req[list.n - 1].kind, CPU_MMIO);
	CU_ASSERT_EQUAL(list.req[list.n - 1].len, 8);
	tb_system_close(&t);
}

/* Inline data are copied by memory, cut at blocks and at the pages that they come from. */
static void post_send_inline_copies_pieces(void)
{
	const struct sge sge[2] = { SRC(0xff0, 32), SRC(0x2000, 20) };
	struct send_wr wr = a_write(sge);
	static const uint32_t lens[] = { 16, 12, 4, 20 }, offs[] = { 36, 52, 64, 68 };
	static const uint64_t from[] = { 0x10000ff0, 0x10001000, 0x1000100c, 0x10002000 };
	uint64_t sq_pa;

	set_up(TB_TWO_HOSTS);
	sq_pa = h->nic->qp[0].sq_pa;
	wr.n_sge = 2;
	wr.flags |= WR_INLINE | WR_MORE;
	CU_ASSERT_EQUAL_FATAL(verbs_post_send(h, 0, &wr, OP, &list), 0);
	CU_ASSERT_EQUAL_FATAL(list.n, 6);
	CU_ASSERT_EQUAL(list.req[0].data[7], 6); /* control, address, 4 + 52 bytes in 16s */
	CU_ASSERT_EQUAL(memcmp(list.req[0].data + 32, "\x80\0\0\x34", 4), 0);
	CU_ASSERT_EQUAL(list.req[1].len, 32);
	for (unsigned i = 0; i < 4; i++) {
		const struct cpu_req *r = &list.req[2 + i];
		uint64_t pa = 0;

		for (unsigned k = 0; k < 8; k++)
			pa |= (uint64_t)r->data[k] << 8 * k;
		CU_ASSERT_EQUAL(r->kind, CPU_COPY);
		CU_ASSERT_EQUAL(r->addr, sq_pa + offs[i]);
		CU_ASSERT_EQUAL(r->len, lens[i]);
		CU_ASSERT_EQUAL(pa, space_pa(h->space, from[i], NULL));
	}
	tb_system_close(&t);
}

static void post_send_at_ring_end_wraps(void)
{
	const struct sge sge[4] = { SRC(0, 1), SRC(0, 1), SRC(0, 1), SRC(0, 1) };
	struct send_wr wr = a_write(sge);
	struct wr_entry e;
	uint64_t sq_pa;

	set_up(TB_TWO_HOSTS);
	sq_pa = h->nic->qp[0].sq_pa;
	CU_ASSERT_EQUAL_FATAL(h->nic->qp[0].sq_bb, 16);
	wr.n_sge = 1;
	verbs_post_send(h, 0, &wr, OP, &list); /* one block, then two each */
	wr.n_sge = 4;
	for (unsigned i = 0; i < 7; i++) {
		list.n = 0;
		CU_ASSERT_EQUAL(verbs_post_send(h, 0, &wr, OP, &list), 0);
	}
	CU_ASSERT_EQUAL(verbs_check_send(h, 0, &wr), ENOMEM); /* 8 requests */
	CU_ASSERT_TRUE(verbs_retire(h, &(struct wc){ .index = 0 }, &e));
	list.n = 0;
	CU_ASSERT_EQUAL(verbs_check_send(h, 0, &wr), 0);
	CU_ASSERT_EQUAL(verbs_post_send(h, 0, &wr, OP, &list), 0);
	CU_ASSERT_EQUAL(list.req[0].addr, sq_pa + 15 * 64);
	CU_ASSERT_EQUAL(list.req[1].addr, sq_pa);
	tb_system_close(&t);
}

static void post_send_bad_argument_is_refused(void)
{
	struct sge sge[5] = { SRC(0, 8), SRC(0, 8), SRC(0, 8), SRC(0, 8), SRC(0, 8) };
	struct send_wr wr = a_write(sge);

	set_up(TB_TWO_HOSTS);
	wr.n_sge = 5;
	CU_ASSERT_EQUAL(verbs_post_send(h, 0, &wr, OP, &list), EINVAL);
	wr.n_sge = 1;
	sge[0].len = 65;
	wr.flags = WR_INLINE;
	CU_ASSERT_EQUAL(verbs_post_send(h, 0, &wr, OP, &list), EINVAL);
	sge[0].len = 64;
	sge[0].addr = 0x900000000;
	CU_ASSERT_EQUAL(verbs_post_send(h, 0, &wr, OP, &list), EFAULT);
	sge[0].addr = 0x10000000;
	wr.opcode = WR_RDMA_READ;
	CU_ASSERT_EQUAL(verbs_post_send(h, 0, &wr, OP, &list), EINVAL);
	wr.flags = 0;
	wr.opcode = WR_ATOMIC_FETCH_AND_ADD;
	CU_ASSERT_EQUAL(verbs_post_send(h, 0, &wr, OP, &list), EINVAL);
	sge[0].len = 8;
	wr.raddr = 0x20000004;
	h->nic->refuses_misaligned = true;
	CU_ASSERT_EQUAL(verbs_post_send(h, 0, &wr, OP, &list), EINVAL);
	CU_ASSERT_EQUAL(list.n, 0);
	h->nic->refuses_misaligned = false;
	CU_ASSERT_EQUAL(verbs_post_send(h, 0, &wr, OP, &list), 0);
	tb_system_close(&t);
}

/* ---- receives and completions ---- */

static void post_recv_gives_its_vector(void)
{
	const struct sge sge[4] = { SRC(0, 4096), SRC(0x2000, 5), SRC(0, 1), SRC(0, 1) };
	struct recv_wr wr = { .sge = sge, .n_sge = 2 };
	uint64_t rq_pa, dbr_pa;

	set_up(TB_TWO_HOSTS);
	rq_pa = h->nic->qp[0].rq_pa;
	dbr_pa = h->nic->qp[0].dbr_pa;
	CU_ASSERT_EQUAL_FATAL(verbs_post_recv(h, 0, &wr, OP, &list), 0);
	CU_ASSERT_TRUE(
		wqe_is("00001000 00001234 0000000010000000 00000005 00001234 0000000010002000"
		       "00000000 00000100 0000000000000000"));
	CU_ASSERT_EQUAL(list.req[0].addr, rq_pa);
	CU_ASSERT_EQUAL(list.req[1].addr, dbr_pa);
	CU_ASSERT_EQUAL(memcmp(list.req[1].data, "\0\0\0\1", 4), 0);
	list.n = 0;
	wr.n_sge = 4; /* a full WQE has no end mark */
	CU_ASSERT_EQUAL(verbs_post_recv(h, 0, &wr, OP, &list), 0);
	CU_ASSERT_EQUAL(list.req[0].addr, rq_pa + 64);
	CU_ASSERT_EQUAL(list.req[0].len, 64);
	CU_ASSERT_EQUAL(list.req[1].len, 4);
	verbs_post_recv(h, 0, &wr, OP, &list);
	verbs_post_recv(h, 0, &wr, OP, &list);
	CU_ASSERT_EQUAL(verbs_post_recv(h, 0, &wr, OP, &list), ENOMEM);
	tb_system_close(&t);
}

/* A CQE of QP 0x11: opcode and owner, counter, byte count, syndrome. */
static void make_cqe(uint8_t *cqe, uint8_t opcode, uint8_t owner, uint16_t counter,
		     uint8_t syndrome)
{
	memset(cqe, 0, 64);
	cqe[55] = syndrome;
	memcpy(cqe + 44, "\0\0\1\2", 4);
	cqe[59] = 0x11;
	cqe[60] = (uint8_t)(counter >> 8);
	cqe[61] = (uint8_t)counter;
	cqe[63] = (uint8_t)(opcode << 4 | owner);
}

static void completion_covers_unsignaled_before_it(void)
{
	struct sge sge = SRC(0, 8);
	struct send_wr wr = a_write(&sge);
	struct wr_entry e;
	struct wc wc;
	uint8_t cqe[64];

	set_up(TB_TWO_HOSTS);
	for (uint32_t i = 0; i < 4; i++) {
		wr.flags = i == 2 ? SIG : 0;
		wr.ticket = i;
		verbs_post_send(h, 0, &wr, OP + i, &list);
	}
	CU_ASSERT_EQUAL(h->cq[0].outstanding, 4);
	make_cqe(cqe, CQE_REQ, 0, 2, 0);
	verbs_consume(h, 0, cqe, &wc);
	CU_ASSERT_EQUAL(wc.status, WC_SUCCESS);
	CU_ASSERT_EQUAL(wc.qpi, 0);
	CU_ASSERT_EQUAL(wc.byte_len, 0x102);
	CU_ASSERT_FALSE(wc.is_recv);
	CU_ASSERT_FALSE(verbs_retire(h, &wc, &e));
	CU_ASSERT_EQUAL(e.ticket, 0);
	CU_ASSERT_FALSE(verbs_retire(h, &wc, &e));
	CU_ASSERT_TRUE(verbs_retire(h, &wc, &e));
	CU_ASSERT_EQUAL(e.op, OP + 2);
	CU_ASSERT_EQUAL(h->cq[0].outstanding, 1);
	CU_ASSERT_EQUAL(h->cq[0].ci, 1);
	tb_system_close(&t);
}

static void completion_with_error_gives_its_status(void)
{
	static const uint8_t pairs[][2] = {
		{ 0x01, WC_LOC_LEN_ERR },    { 0x02, WC_LOC_QP_OP_ERR },
		{ 0x04, WC_LOC_PROT_ERR },   { 0x05, WC_WR_FLUSH_ERR },
		{ 0x06, WC_MW_BIND_ERR },    { 0x10, WC_BAD_RESP_ERR },
		{ 0x11, WC_LOC_ACCESS_ERR }, { 0x12, WC_REM_INV_REQ_ERR },
		{ 0x13, WC_REM_ACCESS_ERR }, { 0x14, WC_REM_OP_ERR },
		{ 0x15, WC_RETRY_EXC_ERR },  { 0x16, WC_RNR_RETRY_EXC_ERR },
		{ 0x22, WC_REM_ABORT_ERR },  { 0x7f, WC_GENERAL_ERR },
	};
	struct wc wc;
	uint8_t cqe[64];

	set_up(TB_TWO_HOSTS);
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		uint8_t owner = h->cq[0].ci >> h->cq[0].log_depth & 1;

		make_cqe(cqe, i % 2 ? CQE_REQ_ERR : CQE_RESP_ERR, owner, 0, pairs[i][0]);
		verbs_consume(h, 0, cqe, &wc);
		CU_ASSERT_EQUAL(wc.status, pairs[i][1]);
		CU_ASSERT_EQUAL(wc.is_recv, i % 2 == 0);
		CU_ASSERT_EQUAL(wc.byte_len, 0);
	}
	tb_system_close(&t);
}

static void poll_and_update_use_the_consumer_index(void)
{
	const struct cq_attr *cq;

	set_up(TB_TWO_HOSTS);
	cq = &h->nic->cq[0];
	CU_ASSERT_EQUAL_FATAL(cq->depth, 16); /* 8 sends and 4 receives */
	h->cq[0].ci = 0x1000013;              /* 24 bits are stored */
	verbs_poll_cq(h, 0, &list);
	CU_ASSERT_EQUAL(list.req[0].kind, CPU_POLL);
	CU_ASSERT_EQUAL(list.req[0].addr, cq->pa + 3 * 64);
	CU_ASSERT_EQUAL(list.req[0].owner, 1);
	verbs_update_ci(h, 0, &list);
	CU_ASSERT_EQUAL(list.req[1].addr, cq->dbr_pa);
	CU_ASSERT_EQUAL(memcmp(list.req[1].data, "\0\0\0\x13", 4), 0);
	verbs_req_notify(h, 0, true, &list);
	verbs_req_notify(h, 0, false, &list);
	CU_ASSERT_EQUAL(memcmp(list.req[2].data, "\1\0\0\x13", 4), 0);
	CU_ASSERT_EQUAL(list.req[2].addr, cq->dbr_pa + 4);
	CU_ASSERT_EQUAL(list.req[5].addr, UAR_CQ_DOORBELL);
	CU_ASSERT_EQUAL(memcmp(list.req[5].data, "\x10\0\0\x13\0\0\4\0", 8), 0);
	tb_system_close(&t);
}

/* 16 entries: completions read and not told, and those outstanding, leave room for one more or not. */
static void post_tells_of_completions_read_when_room_is_short(void)
{
	static const struct sge sge = { 0x10000000, 64, 0x1234 };

	for (uint32_t outstanding = 10; outstanding <= 11; outstanding++) {
		bool is_told = outstanding == 11;
		struct send_wr wr = a_write(&sge);

		set_up(TB_TWO_HOSTS);
		h->cq[0].ci = 5;
		h->cq[0].outstanding = outstanding;
		CU_ASSERT_EQUAL(verbs_post_send(h, 0, &wr, OP, &list), 0);
		CU_ASSERT_EQUAL(list.req[0].addr == h->nic->cq[0].dbr_pa, is_told);
		CU_ASSERT_EQUAL(h->cq[0].ci_written, is_told ? 5 : 0);
		CU_ASSERT_EQUAL(h->cq[0].outstanding, outstanding + 1);
		tb_system_close(&t);
	}
}

/*
 * A CQ of 16 that takes receives of an SRQ of 10, of two QPs of 2 sends each: what was read and not told
 * may be 2 (each QP counts, too), or the device is told.
 */
static void receives_of_an_srq_have_room_wherever_they_complete(void)
{
	set_up("rnicsim-trace 1\nhost h0\nhost h1\nsrq h0 s depth=10\ncq h0 c depth=16\n"
	       "qp h0 q0 type=RC peer=h1.q0 sq=2 scq=c rcq=c srq=s\n"
	       "qp h0 q1 type=RC peer=h1.q1 sq=2 scq=c rcq=c srq=s\n"
	       "qp h1 q0 type=RC peer=h0.q0\nqp h1 q1 type=RC peer=h0.q1\n");
	CU_ASSERT_EQUAL_FATAL(h->nic->cq[0].depth, 16);
	CU_ASSERT_EQUAL(h->cq[0].shared, 10);
	h->cq[0].outstanding += 2;
	for (uint32_t n = 0; n <= 2; n++) {
		h->cq[0].ci = n;
		verbs_make_room(h, 0, &list);
		CU_ASSERT_EQUAL(list.n, 0);
	}
	h->cq[0].ci = 3;
	verbs_make_room(h, 0, &list);
	CU_ASSERT_EQUAL_FATAL(list.n, 1);
	CU_ASSERT_EQUAL(list.req[0].addr, h->nic->cq[0].dbr_pa);
	CU_ASSERT_EQUAL(h->cq[0].ci_written, 3);
	tb_system_close(&t);
}

CU_TestInfo test_verbs_tests[] = {
	{ "post_send_each_opcode_gives_its_vector", post_send_each_opcode_gives_its_vector },
	{ "post_send_rings_record_then_register", post_send_rings_record_then_register },
	{ "post_send_blueflame_copies_whole_blocks", post_send_blueflame_copies_whole_blocks },
	{ "post_send_inline_copies_pieces", post_send_inline_copies_pieces },
	{ "post_send_at_ring_end_wraps", post_send_at_ring_end_wraps },
	{ "post_send_bad_argument_is_refused", post_send_bad_argument_is_refused },
	{ "post_recv_gives_its_vector", post_recv_gives_its_vector },
	{ "completion_covers_unsignaled_before_it", completion_covers_unsignaled_before_it },
	{ "completion_with_error_gives_its_status", completion_with_error_gives_its_status },
	{ "poll_and_update_use_the_consumer_index", poll_and_update_use_the_consumer_index },
	{ "receives_of_an_srq_have_room_wherever_they_complete",
	  receives_of_an_srq_have_room_wherever_they_complete },
	{ "post_tells_of_completions_read_when_room_is_short",
	  post_tells_of_completions_read_when_room_is_short },
	CU_TEST_INFO_NULL,
};
