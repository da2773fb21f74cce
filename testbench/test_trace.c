/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace.c - every record of the trace format (mistakes: test_trace_errors.c)
 */
#include <CUnit/CUnit.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "models/msg.h"
#include "models/nic.h"
#include "models/trace/trace_reader.h"
#include "sim/rng.h"
#include "testbench/tb_file.h"

#define SETUP \
	"rnicsim-trace 1\n" \
	"host h0\n" \
	"host h1 mac=0a:1b:2c:3d:4e:5f ip=fd00::2 lid=7 mtu=1024\n" \
	"pd h1 P1\n" \
	"mr h0 src va=0x10000000 len=1MiB access=lw fill=inc\n" \
	"mr h1 dst va=0x20000000 len=1MiB access=lw,rw,rr,ra rkey=0x1234 fill=zero pd=P1\n" \
	"mw h1 win rkey=0x500\n" \
	"cq h0 c0 depth=256 moderate=16:4us\n" \
	"srq h1 s0 depth=64 pd=P1 limit=8\n" \
	"qp h0 q0 type=RC peer=h1.q0 qpn=0x11 psn=0xfffffe mtu=1024 scq=c0\n" \
	"qp h1 q0 type=RC peer=h0.q0 qpn=0x12 psn=0 mtu=1024 srq=s0 pd=P1\n" \
	"qp h0 u type=UD qkey=5\nqp h1 u type=UD qpn=0x77 qkey=6\n"

static struct trace *open_text(const char *text, struct err *e)
{
	memset(e, 0, sizeof(*e));
	return trace_open(tb_write("t.trace", text, strlen(text)), e);
}

/* Open SETUP with a stream behind it; it must be good. */
static struct trace *open_good(const char *stream)
{
	char text[4096];
	struct err e;
	struct trace *t;

	snprintf(text, sizeof(text), "%s%s", SETUP, stream);
	t = open_text(text, &e);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	return t;
}

static struct trace_record next_of(struct trace *t)
{
	struct trace_record r;
	struct err e = { 0 };
	int got = trace_next(t, &r, &e);

	CU_ASSERT_EQUAL_FATAL(got, 1);
	return r;
}

static void expect_end(struct trace *t)
{
	struct trace_record r;
	struct err e = { 0 };

	CU_ASSERT_EQUAL(trace_next(t, &r, &e), 0);
	CU_ASSERT_EQUAL(trace_next(t, &r, &e), 0);
	trace_close(t);
}

/* ---- set-up ---- */

static void trace_hosts_are_read_and_numbered(void)
{
	struct trace *t = open_good("");
	static const uint8_t ip0[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 },
			     mac0[6] = { 2, 0, 0, 0, 0, 1 };
	static const uint8_t ip1[16] = { 0xfd, [15] = 2 },
			     mac1[6] = { 0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f };

	CU_ASSERT_EQUAL(t->n_hosts, 2);
	CU_ASSERT(memcmp(t->hosts[0].ip, ip0, 16) == 0 && memcmp(t->hosts[0].gid, ip0, 16) == 0 &&
		  !t->hosts[0].is_v6);
	CU_ASSERT(memcmp(t->hosts[0].mac, mac0, 6) == 0 && t->hosts[0].lid == 1 &&
		  t->hosts[0].mtu == 4096);
	CU_ASSERT(memcmp(t->hosts[1].ip, ip1, 16) == 0 && memcmp(t->hosts[1].gid, ip1, 16) == 0 &&
		  t->hosts[1].is_v6);
	CU_ASSERT(memcmp(t->hosts[1].mac, mac1, 6) == 0 && t->hosts[1].lid == 7 &&
		  t->hosts[1].mtu == 1024);
	CU_ASSERT_EQUAL(t->hosts[1].line, 3);
	CU_ASSERT_EQUAL(trace_find_host(t, "h1"), 1);
	CU_ASSERT_EQUAL(trace_find_host(t, "h"), TRACE_NONE);
	expect_end(t);
}

static void trace_gid_alone_gives_the_ip(void)
{
	static const uint8_t v6[16] = { 0xfd, [15] = 9 },
			     v4[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 8 };
	struct err e;
	struct trace *t = open_text("rnicsim-trace 1\nhost a gid=fd000000000000000000000000000009\n"
				    "host b gid=::ffff:10.0.0.8\nhost c ip=10.0.0.9 gid=fd00::a\n",
				    &e);

	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	CU_ASSERT(memcmp(t->hosts[0].ip, v6, 16) == 0 && t->hosts[0].is_v6);
	CU_ASSERT(memcmp(t->hosts[1].ip, v4, 16) == 0 && !t->hosts[1].is_v6);
	CU_ASSERT(memcmp(t->hosts[2].ip, v4, 15) == 0 && t->hosts[2].ip[15] == 9 &&
		  !t->hosts[2].is_v6);
	CU_ASSERT(memcmp(t->hosts[2].gid, v6, 15) == 0 && t->hosts[2].gid[15] == 10);
	expect_end(t);
}

static void trace_tables_hold_what_was_written(void)
{
	struct trace *t = open_good("");
	const struct trace_qp *q = t->qps;

	CU_ASSERT(t->n_pds == 1 && t->pds[0].host == 1);
	CU_ASSERT(t->n_mrs == 2 && t->mrs[0].host == 0 && t->mrs[0].pd == TRACE_NONE &&
		  t->mrs[1].pd == 0);
	CU_ASSERT(t->mrs[0].va == 0x10000000 && t->mrs[0].len == MIB && t->mrs[0].page == 4096);
	CU_ASSERT(t->mrs[0].access == ACCESS_LOCAL_WRITE && t->mrs[1].access == 15);
	CU_ASSERT(t->mrs[0].rkey == 0 && t->mrs[0].lkey == 0 && t->mrs[1].rkey == 0x1234);
	CU_ASSERT(t->mrs[0].fill == FILL_INC && t->mrs[1].fill == FILL_ZERO && t->mrs[1].line == 6);
	CU_ASSERT(t->n_mws == 1 && t->mws[0].host == 1 && t->mws[0].type == 2 &&
		  t->mws[0].rkey == 0x500);
	CU_ASSERT(t->n_cqs == 1 && t->cqs[0].depth == 256 && t->cqs[0].moderate_count == 16);
	CU_ASSERT(t->cqs[0].moderate_ps == 4 * PS_PER_US && !t->cqs[0].is_event);
	CU_ASSERT(t->n_srqs == 1 && t->srqs[0].depth == 64 && t->srqs[0].limit == 8 &&
		  t->srqs[0].max_sge == 16);
	CU_ASSERT(t->n_qps == 4 && q[0].type == QP_RC && q[0].peer_host == 1 && q[0].peer_qp == 1 &&
		  q[0].peer_qpn == 0x12);
	CU_ASSERT(q[0].qpn == 0x11 && q[0].psn == 0xfffffe && q[0].mtu == 1024 && q[0].scq == 0 &&
		  q[0].rcq == TRACE_NONE);
	CU_ASSERT(q[1].peer_qp == 0 && q[1].srq == 0 && q[1].pd == 0 && q[0].srq == TRACE_NONE &&
		  q[0].pd == TRACE_NONE);
	CU_ASSERT(q[2].type == QP_UD && q[2].peer_host == TRACE_NONE &&
		  q[2].peer_qp == TRACE_NONE && q[2].qkey == 5);
	expect_end(t);
}

static void trace_qp_defaults_are_those_of_the_format(void)
{
	struct trace *t = open_good("");
	const struct trace_qp *q = &t->qps[2];

	CU_ASSERT(t->qps[0].mtu == 1024 && q->mtu == 4096); /* UD: the port's */
	CU_ASSERT(q->state == QPS_RTS && q->sq == 128 && q->rq == 128 && q->max_sge == 16);
	CU_ASSERT(q->max_inline == 64 && q->rd_atomic == 16 && q->dest_rd_atomic == 16 &&
		  q->timeout == 14);
	CU_ASSERT(q->retry == 7 && q->rnr_retry == 7 && q->min_rnr == 12 && q->prio == 3 &&
		  q->sl == 0);
	CU_ASSERT(q->tclass == 0 && q->flow_label == 0 && q->hop_limit == 64 && q->sport == 0 &&
		  q->pkey == 0xffff);
	CU_ASSERT(q->access == (ACCESS_REMOTE_WRITE | ACCESS_REMOTE_READ | ACCESS_REMOTE_ATOMIC |
				ACCESS_FLUSH) &&
		  q->rate_bps == 0);
	CU_ASSERT(!q->sig_all && q->qpn == 0 && q->psn == 0);
	expect_end(t);
}

static void trace_qp_keys_reach_their_members(void)
{
	struct err e;
	struct trace *t =
		open_text("rnicsim-trace 1\nhost a\nhost b\ncq a c\ncq a d\nqp a q "
			  "type=UC peer=b:0xabcdef qpn=3 psn=4 "
			  "mtu=4096 state=INIT sq=5 rq=6 max_sge=7 inline=8 scq=c rcq=d "
			  "rd_atomic=9 dest_rd_atomic=10 "
			  "timeout=11 retry=1 rnr_retry=2 min_rnr=13 prio=4 weight=5 sl=14 "
			  "tclass=15 flow_label=16 hop_limit=17 "
			  "sport=18 pkey=19 qkey=20 access=rr rate=25Gbps sig_all=yes\n",
			  &e);
	const struct trace_qp *q;

	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	q = t->qps;
	CU_ASSERT(q->type == QP_UC && q->peer_host == 1 && q->peer_qp == TRACE_NONE &&
		  q->peer_qpn == 0xabcdef);
	CU_ASSERT(q->qpn == 3 && q->psn == 4 && q->mtu == 4096 && q->state == QPS_INIT &&
		  q->sq == 5 && q->rq == 6);
	CU_ASSERT(q->max_sge == 7 && q->max_inline == 8 && q->scq == 0 && q->rcq == 1 &&
		  q->rd_atomic == 9);
	CU_ASSERT(q->dest_rd_atomic == 10 && q->timeout == 11 && q->retry == 1 &&
		  q->rnr_retry == 2 && q->min_rnr == 13);
	CU_ASSERT(q->prio == 4 && q->weight == 5 && q->sl == 14 && q->tclass == 15 &&
		  q->flow_label == 16 && q->hop_limit == 17);
	CU_ASSERT(q->sport == 18 && q->pkey == 19 && q->qkey == 20 &&
		  q->access == ACCESS_REMOTE_READ);
	CU_ASSERT(q->rate_bps == 25 * GBPS && q->sig_all);
	expect_end(t);
}

static void trace_mr_fills_give_their_bytes(void)
{
	static const char text[] = "rnicsim-trace 1\nhost h\nmr h z va=0 len=64KiB\nmr h i "
				   "va=0x100000 len=1KiB fill=inc access=lw,fl,mw\n"
				   "mr h l va=0x200000 len=1MiB fill=lin:7,3,13,29 page=2MiB\nmr h "
				   "r va=0x300000 len=1KiB fill=rand:9\n"
				   "mr h x va=0x400000 len=16 fill=hex:0102ff\nmr h k va=0x100010 "
				   "len=64 fill=keep access=\n";
	struct err e;
	struct trace *t = open_text(text, &e);
	uint8_t a[600], b[600];
	struct rng g;

	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	CU_ASSERT(t->mrs[1].access == (1 | 16 | 128) && t->mrs[5].access == 0 &&
		  t->mrs[2].page == 2 * MIB);
	memset(a, 1, sizeof(a));
	trace_fill(&t->mrs[0], 5, a, 10);
	CU_ASSERT(a[0] == 0 && a[9] == 0 && a[10] == 1);
	trace_fill(&t->mrs[1], 249, a, 4);
	CU_ASSERT(a[0] == 249 && a[1] == 250 && a[2] == 0 && a[3] == 1);
	trace_fill(&t->mrs[2], 0x1fffe, a, 600);
	for (uint32_t i = 0; i < 600; i++) {
		uint32_t k = 0x1fffe + i;

		CU_ASSERT_EQUAL(a[i], (7 * k + 3 + 13 * (k >> 8) + 29 * (k >> 16)) & 255);
	}
	rng_seed(&g, "fill", 9);
	trace_fill(&t->mrs[3], 0, a, 600);
	for (uint32_t i = 0; i < 600; i += 8)
		for (uint64_t w = rng_next(&g), k = 0; k < 8; k++)
			CU_ASSERT_EQUAL(a[i + k], (uint8_t)(w >> 8 * k));
	trace_fill(&t->mrs[3], 13, b, 500);
	CU_ASSERT(memcmp(a + 13, b, 500) == 0);
	/* far from the beginning it is as near, and parts are those of the whole */
	trace_fill(&t->mrs[3], (1ull << 46) - 300, a, 600);
	trace_fill(&t->mrs[3], (1ull << 46) - 9, b, 309);
	CU_ASSERT(memcmp(a + 291, b, 309) == 0);
	CU_ASSERT(memcmp(a, a + 300, 300) != 0);
	trace_fill(&t->mrs[4], 1, a, 15);
	CU_ASSERT(a[0] == 2 && a[1] == 0xff && a[2] == 0 && a[14] == 0);
	expect_end(t);
}

/* ---- the stream ---- */

static void trace_example_of_the_format_is_read(void)
{
	struct trace *t = open_good(
		"recv h1.s0 id=1 sge=dst:65536:4096\n"
		"post h0.q0 id=1 op=RDMA_WRITE sge=src:0:4096 remote=dst:0 at=1us\n"
		"post h0.q0 id=2 op=RDMA_READ  sge=src:8192:64 remote=dst:64 after=1\n"
		"post h0.q0 id=3 op=ATOMIC_FETCH_AND_ADD sge=src:16384:8 remote=dst:8192 add=5 "
		"after=2 delay=200ns\n"
		"expect h0.q0 id=1 status=SUCCESS\n"
		"expect mem h1 dst:0:4096 == h0 src:0:4096\n"
		"expect mem h1 dst:8192:8 == hex:0500000000000000\n");
	struct trace_record r = next_of(t);

	CU_ASSERT(r.kind == REC_RECV && r.host == 1 && r.srq == 0 && r.qp == TRACE_NONE &&
		  r.id == 1 && r.wr_id == 1);
	CU_ASSERT(r.n_sge == 1 && r.sge[0].addr == 0x20010000 && r.sge[0].len == 4096 &&
		  r.sge[0].mr == 1 && r.line == 14);
	CU_ASSERT(r.flags == WR_SIGNALED && r.n_after == 0 && r.at_ps == 0 && r.delay_ps == 0);
	r = next_of(t);
	CU_ASSERT(r.kind == REC_POST && r.host == 0 && r.qp == 0 && r.opcode == WR_RDMA_WRITE &&
		  r.at_ps == PS_PER_US);
	CU_ASSERT(r.raddr == 0x20000000 && r.rmr == 1 && r.rkey == 0 && r.repeat == 1 &&
		  r.window == 1);
	CU_ASSERT(r.sge[0].addr == 0x10000000 && r.sge[0].mr == 0 && r.sge[0].lkey == 0);
	r = next_of(t);
	CU_ASSERT(r.opcode == WR_RDMA_READ && r.n_after == 1 && r.after[0].host == 0 &&
		  r.after[0].id == 1);
	r = next_of(t);
	CU_ASSERT(r.opcode == WR_ATOMIC_FETCH_AND_ADD && r.compare_add == 5 &&
		  r.delay_ps == 200 * PS_PER_NS);
	CU_ASSERT(t->n_expects == 3 && t->expects[0].status == WC_SUCCESS && t->expects[0].id == 1);
	expect_end(t);
}

static void trace_post_keys_reach_their_members(void)
{
	struct trace *t = open_good(
		"post h0.q0 id=5 wrid=99 op=RDMA_WRITE_WITH_IMM "
		"sge=src:1:2,va:0x7:lkey:0x8:9,src:1MiB:0 remote=va:0xa:rkey:0xb "
		"imm=0xcafe0001 flags=solicited,fence,inline,more,unsignaled repeat=10 window=4 "
		"stride=16 rstride=4KiB\n"
		"post h0.q0 id=6 op=ATOMIC_CMP_AND_SWP sge=src:0:8 remote=dst:1048568 "
		"compare=0xffffffffffffffff swap=2\n"
		"post h0.q0 inv=win id=7 op=SEND_WITH_INV\npost h1.q0 id=1 op=LOCAL_INV inv=dst\n"
		"post h0.q0 id=8 op=SEND_WITH_INV inv=0x500\n"
		"post h1.q0 id=2 op=BIND_MW mw=win newkey=0x501 bind=dst:4096:8192 access=rw,rr\n"
		"post h0.u id=9 op=SEND sge=src:0:10 dest=h1.u\npost h0.u id=10 op=SEND "
		"dest=h1:0x123 qkey=0x80000000\n"
		"post h0.q0 id=11 op=SEND after=h1:1,10,6 delay=1ns\n");
	struct trace_record r = next_of(t);

	CU_ASSERT(r.id == 5 && r.wr_id == 99 && r.n_sge == 3 && r.imm == 0xcafe0001 &&
		  r.raddr == 10 && r.rkey == 11);
	CU_ASSERT(r.rmr == TRACE_NONE && r.sge[1].addr == 7 && r.sge[1].lkey == 8 &&
		  r.sge[1].len == 9);
	CU_ASSERT(r.sge[1].mr == TRACE_NONE && r.sge[2].addr == 0x10100000 && r.sge[2].len == 0);
	CU_ASSERT(r.flags == (WR_SOLICITED | WR_FENCE | WR_INLINE | WR_MORE));
	CU_ASSERT(r.repeat == 10 && r.window == 4 && r.stride == 16 && r.rstride == 4096);
	r = next_of(t);
	CU_ASSERT(r.compare_add == UINT64_MAX && r.swap == 2 && r.flags == WR_SIGNALED);
	r = next_of(t);
	CU_ASSERT(r.inv_mw == 0 && r.inv_mr == TRACE_NONE);
	r = next_of(t);
	CU_ASSERT(r.host == 1 && r.inv_mr == 1 && r.inv_mw == TRACE_NONE);
	r = next_of(t);
	CU_ASSERT(r.inv_key == 0x500 && r.inv_mr == TRACE_NONE && r.inv_mw == TRACE_NONE);
	r = next_of(t);
	CU_ASSERT(r.mw == 0 && r.newkey == 0x501 && r.bind_mr == 1 && r.bind_off == 4096 &&
		  r.bind_len == 8192);
	CU_ASSERT_EQUAL(r.bind_access, ACCESS_REMOTE_WRITE | ACCESS_REMOTE_READ);
	r = next_of(t);
	CU_ASSERT(r.dest_host == 1 && r.dest_qp == 3 && r.dest_qpn == 0x77 && r.qkey == 6);
	r = next_of(t);
	CU_ASSERT(r.dest_host == 1 && r.dest_qp == TRACE_NONE && r.dest_qpn == 0x123 &&
		  r.qkey == 0x80000000);
	r = next_of(t);
	CU_ASSERT(r.n_after == 3 && r.after[0].host == 1 && r.after[0].id == 1 &&
		  r.after[1].host == 0 && r.after[1].id == 10);
	expect_end(t);
}

static void trace_other_records_reach_their_members(void)
{
	struct trace *t = open_good("mem h0 src:16 hex:0a0B\nmem h1 dst:0 set:0xee:64KiB at=3us\n"
				    "modify h0.q0 state=ERR delay=1us\nmodify h1.s0 "
				    "limit=9\ndestroy h0.q0\ndereg h1 dst at=5ns\n"
				    "arm h0.c0 solicited=yes\narm h0.c0\n");
	struct trace_record r = next_of(t);

	CU_ASSERT(r.kind == REC_MEM && r.host == 0 && r.mr == 0 && r.mem_off == 16 &&
		  r.mem_len == 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(r.mem_bytes);
	CU_ASSERT(r.mem_bytes[0] == 10 && r.mem_bytes[1] == 11);
	trace_record_release(&r);
	CU_ASSERT_PTR_NULL(r.mem_bytes);
	r = next_of(t);
	CU_ASSERT(r.kind == REC_MEM && r.host == 1 && r.mr == 1 && !r.mem_bytes &&
		  r.mem_byte == 0xee && r.mem_len == 65536);
	CU_ASSERT_EQUAL(r.at_ps, 3 * PS_PER_US);
	r = next_of(t);
	CU_ASSERT(r.kind == REC_MODIFY_QP && r.qp == 0 && r.state == QPS_ERR &&
		  r.delay_ps == PS_PER_US);
	r = next_of(t);
	CU_ASSERT(r.kind == REC_MODIFY_SRQ && r.host == 1 && r.srq == 0 && r.qp == TRACE_NONE &&
		  r.limit == 9);
	r = next_of(t);
	CU_ASSERT(r.kind == REC_DESTROY && r.qp == 0);
	r = next_of(t);
	CU_ASSERT(r.kind == REC_DEREG && r.host == 1 && r.mr == 1 && r.at_ps == 5000);
	r = next_of(t);
	CU_ASSERT(r.kind == REC_ARM && r.cq == 0 && r.solicited_only);
	r = next_of(t);
	CU_ASSERT(r.kind == REC_ARM && !r.solicited_only);
	expect_end(t);
}

static void trace_sig_all_makes_posts_signaled(void)
{
	struct err e;
	struct trace *t =
		open_text("rnicsim-trace 1\nhost a\nhost b\nqp a q type=RC peer=b:9 sig_all=yes\n"
			  "post a.q id=1 op=SEND flags=unsignaled\npost a.q id=2 op=SEND after=1\n",
			  &e);

	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	CU_ASSERT_EQUAL(next_of(t).flags, WR_SIGNALED);
	CU_ASSERT_EQUAL(next_of(t).n_after, 1);
	expect_end(t);
}

/* ---- expects and wire, known before the run ---- */

static void check_expects(const struct trace *t)
{
	const struct trace_expect *x = t->expects;

	CU_ASSERT_EQUAL_FATAL(t->n_expects, 9);
	CU_ASSERT(x[0].kind == EXPECT_MEM_FILL && x[0].host == 1 && x[0].mr == 1 && x[0].off == 8 &&
		  x[0].len == 16);
	CU_ASSERT(x[1].kind == EXPECT_STATUS && x[1].host == 0 && x[1].qp == 0 && x[1].id == 1);
	CU_ASSERT(x[1].status == WC_RETRY_EXC_ERR && x[1].line == 17);
	CU_ASSERT(x[2].kind == EXPECT_ERROR && x[2].value == EINVAL);
	CU_ASSERT(x[3].kind == EXPECT_NO_COMPLETION && x[3].id == 2);
	CU_ASSERT(x[4].kind == EXPECT_MEM && x[4].mr == 1 && x[4].host2 == 0 && x[4].mr2 == 0 &&
		  x[4].off2 == 4 && x[4].len == 4);
	CU_ASSERT(x[5].kind == EXPECT_MEM_HEX && x[5].len == 2 && x[5].bytes[0] == 1 &&
		  x[5].bytes[1] == 0xfe);
	CU_ASSERT(x[6].kind == EXPECT_EVENT && x[6].host == 1 &&
		  strcmp(x[6].text, "QP_FATAL") == 0);
	CU_ASSERT(x[7].kind == EXPECT_STAT && strcmp(x[7].text, "nic0.mac.tx_pkt") == 0 &&
		  strcmp(x[7].op, ">=") == 0);
	CU_ASSERT(x[7].value == 2000000 && strcmp(x[8].op, "!=") == 0 && x[8].value == 16);
}

static void check_wires(const struct trace *t)
{
	CU_ASSERT_EQUAL_FATAL(t->n_wires, 2);
	CU_ASSERT(t->wires[0].kind == WIRE_DROP && t->wires[0].a == 0 && t->wires[0].b == 1 &&
		  t->wires[0].n_nth == 3);
	CU_ASSERT(t->wires[0].nth[0] == 1 && t->wires[0].nth[2] == 70);
	CU_ASSERT(t->wires[1].kind == WIRE_DELAY && t->wires[1].a == 1 &&
		  t->wires[1].delay_ps == 5 * PS_PER_US);
}

static const char aside_stream[] =
	"wire h0 h1 drop nth=1,3,70\nexpect mem h1 dst:8:16 == fill\n"
	"post h0.q0 id=1 op=SEND\nexpect h0.q0 id=1 status=RETRY_EXC_ERR\npost h0.q0 id=2 op=SEND\n"
	"expect h0.q0 error=EINVAL id=2\nexpect h0.q0 id=2 none\nexpect mem h1 dst:0:4 == h0 "
	"src:4:4\n"
	"wire h1 h0 delay=5us nth=2\nexpect mem h1 dst:0:2 == hex:01fe\nexpect event h1 QP_FATAL\n"
	"expect stat nic0.mac.tx_pkt >= 2us\nexpect stat a.b != 0x10\n";

static void trace_expects_and_wires_are_known_at_once(void)
{
	struct trace *t = open_good(aside_stream);

	check_expects(t);
	check_wires(t);
	CU_ASSERT_EQUAL(next_of(t).id, 1);
	CU_ASSERT_EQUAL(next_of(t).id, 2);
	expect_end(t);
}

/* What cannot be read twice gives its expects as it is read. */
static void trace_pipe_gives_expects_on_the_way(void)
{
	char text[sizeof(SETUP) + sizeof(aside_stream)];
	const char *path;
	struct err e = { 0 };
	struct trace *t;

	snprintf(text, sizeof(text), "%s%s", SETUP, aside_stream);
	path = tb_fifo("fifo", text);
	t = trace_open(path, &e);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	CU_ASSERT_EQUAL(t->n_expects, 1);
	CU_ASSERT_EQUAL(next_of(t).id, 1);
	CU_ASSERT_EQUAL(next_of(t).id, 2);
	CU_ASSERT_EQUAL(trace_next(t, &(struct trace_record){ .kind = REC_POST }, &e), 0);
	check_expects(t);
	check_wires(t);
	expect_end(t);
	wait(NULL);
	unlink(path);
}

CU_TestInfo test_trace_tests[] = {
	{ "trace_hosts_are_read_and_numbered", trace_hosts_are_read_and_numbered },
	{ "trace_gid_alone_gives_the_ip", trace_gid_alone_gives_the_ip },
	{ "trace_tables_hold_what_was_written", trace_tables_hold_what_was_written },
	{ "trace_qp_defaults_are_those_of_the_format", trace_qp_defaults_are_those_of_the_format },
	{ "trace_qp_keys_reach_their_members", trace_qp_keys_reach_their_members },
	{ "trace_mr_fills_give_their_bytes", trace_mr_fills_give_their_bytes },
	{ "trace_example_of_the_format_is_read", trace_example_of_the_format_is_read },
	{ "trace_post_keys_reach_their_members", trace_post_keys_reach_their_members },
	{ "trace_other_records_reach_their_members", trace_other_records_reach_their_members },
	{ "trace_sig_all_makes_posts_signaled", trace_sig_all_makes_posts_signaled },
	{ "trace_expects_and_wires_are_known_at_once", trace_expects_and_wires_are_known_at_once },
	{ "trace_pipe_gives_expects_on_the_way", trace_pipe_gives_expects_on_the_way },
	CU_TEST_INFO_NULL
};
