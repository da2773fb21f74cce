/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pktizer.c - packets against a reference that cuts a message laid out in one piece, byte by
 * byte
 */
#include <stdlib.h>
#include <string.h>

#include "models/packet/packet.h"
#include "models/pktizer.h"
#include "models/verbs/wqe.h"
#include "testbench/tb_dma.h"

extern const struct block_class pktizer_class;

#define MTU 256u
#define BASE 0x7f0000001000ull
#define MEM_BYTES 65536u
#define QPN 0x12345u
#define DEST_QPN 0xabcdefu
#define MAX_JOBS 1024u
#define NO_LIMIT UINT32_MAX

enum { QPI_RC, QPI_V6, QPI_UC, QPI_UD, QPI_XRC, N_QP };

struct bench {
	struct nic nic;
	struct qp_attr qp[N_QP];
	struct tb t;
	struct tb_port *req_job, *rsp_job, *req_done, *pkt;
	struct tb_dma dma;
	struct pool *wqes;
	uint8_t mem[MEM_BYTES];
	struct tx_job job[MAX_JOBS]; /* by tag */
	uint32_t n_jobs;
	/* packets taken: copies, in order */
	uint8_t *bytes;
	uint32_t *at; /* offsets in 'bytes' of struct packet */
	uint32_t n_pkt, used;
	uint32_t n_rsp_done; /* response jobs that ended */
};

static void on_pkt(struct tb *t, struct tb_port *p, const void *msg)
{
	struct bench *e = p->arg;
	const struct pkt *m = msg;
	const struct packet *from;
	uint32_t n;

	e->n_rsp_done += m->ends_job;
	if (m->buf == BUF_NONE)
		return;
	from = buf_data(&t->sim, m->buf);
	n = (uint32_t)sizeof(*from) + from->len;
	e->bytes = x_realloc(e->bytes, e->used + n + 8u);
	e->at = x_realloc(e->at, (e->n_pkt + 1) * sizeof(*e->at));
	memcpy(e->bytes + e->used, from, n);
	e->at[e->n_pkt++] = e->used;
	e->used += (uint32_t)align_up(n, 8);
	buf_unref(&p->b, m->buf);
}

static const struct packet *got(const struct bench *e, uint32_t i)
{
	return (const struct packet *)(const void *)(e->bytes + e->at[i]);
}

static void set_qps(struct bench *e)
{
	static const uint8_t types[N_QP] = { QP_RC, QP_RC, QP_UC, QP_UD, QP_XRC };
	struct port_addr to = { .mac = { 2, 0, 0, 0, 0, 9 },
				.ip = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 2 } };
	struct packet_path path = { .hop_limit = 64 };

	e->nic.addr = (struct port_addr){ .mac = { 2, 0, 0, 0, 0, 1 },
					  .ip = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 } };
	for (uint32_t i = 0; i < N_QP; i++) {
		struct port_addr from = e->nic.addr, peer = to;

		from.is_v6 = peer.is_v6 = i == QPI_V6;
		e->qp[i] = (struct qp_attr){ .qpn = QPN + i,
					     .dest_qpn = DEST_QPN + i,
					     .mtu = MTU,
					     .pd = 3,
					     .pkey = 0xffff,
					     .qkey = 0x11111111,
					     .type = types[i] };
		packet_template(&e->qp[i], &from, &peer, &path);
	}
}

static void bench_start(struct bench *e, const char *const *sets, uint32_t max_delay)
{
	memset(e, 0, sizeof(*e));
	set_qps(e);
	e->nic.qp = e->qp;
	e->nic.n_qp = N_QP;
	e->nic.oplog = oplog_create();
	rng_seed(&e->dma.rng, "pktizer", max_delay);
	for (uint32_t i = 0; i < MEM_BYTES; i++)
		e->mem[i] = (uint8_t)rng_next(&e->dma.rng);
	tb_init(&e->t, &pktizer_class, &e->nic, sets);
	e->req_job = tb_source(&e->t, "req_job");
	e->rsp_job = tb_source(&e->t, "rsp_job");
	e->req_done = tb_sink(&e->t, "req_done");
	e->dma.rsp = tb_source(&e->t, "dma_rsp");
	e->dma.mem = e->mem;
	e->dma.base = BASE;
	e->dma.size = MEM_BYTES;
	e->dma.max_delay = max_delay;
	tb_sink_react(&e->t, "dma_req", tb_dma_react, &e->dma);
	e->pkt = tb_sink_react(&e->t, "pkt", on_pkt, e);
	e->wqes = pool_create(&e->req_job->b, MAX_JOBS, 1024);
	tb_start(&e->t);
	e->req_job->b.now_ps = 1; /* buffers are taken before the run */
}

static void bench_end(struct bench *e)
{
	CU_ASSERT_EQUAL(e->wqes->in_use, 0);
	CU_ASSERT_EQUAL(e->dma.n_outside, 0);
	free(e->bytes);
	free(e->at);
	tb_end(&e->t);
	oplog_destroy(e->nic.oplog);
}

static void put_be(uint8_t *p, unsigned n, uint64_t v)
{
	while (n--) {
		p[n] = (uint8_t)v;
		v >>= 8;
	}
}

static bool is_response(const struct tx_job *j)
{
	return j->kind >= JOB_READ_RSP;
}

static void send_job(struct bench *e, const struct tx_job *job)
{
	struct tx_job j = *job;

	j.tag = e->n_jobs;
	e->job[e->n_jobs++] = j;
	tb_send(is_response(&j) ? e->rsp_job : e->req_job, &j);
}

/*
 * A WQE whose 'n_sge' data segments lie back to front in memory, 'len' bytes together, cut at
 * random.
 */
static void put_segments(struct bench *e, struct tx_job *j, uint32_t len, uint32_t n_sge)
{
	uint8_t *wqe;
	uint32_t end = MEM_BYTES - (uint32_t)rng_below(&e->dma.rng, 4096), left = len;

	j->buf = pool_alloc(e->wqes);
	j->seg_off = 48;
	j->n_sge = (uint8_t)n_sge;
	wqe = buf_data(&e->t.sim, j->buf);
	for (uint32_t i = 0; i < n_sge; i++) {
		uint32_t n = i + 1 == n_sge ? left : (uint32_t)rng_below(&e->dma.rng, left + 1);

		end -= n;
		put_be(wqe + j->seg_off + 16 * i, 4, n);
		put_be(wqe + j->seg_off + 16 * i + 4, 4, 0x1000 + i);
		put_be(wqe + j->seg_off + 16 * i + 8, 8, BASE + end);
		left -= n;
	}
}

/* ---- the reference ---- */

/* Byte i of the message that the job is part of. */
static uint8_t message_byte(const struct bench *e, const struct tx_job *j, uint32_t i)
{
	const uint8_t *wqe;

	if (j->kind == JOB_READ_RSP)
		return e->mem[j->raddr - BASE + i - j->msg_off];
	wqe = buf_data(&e->t.sim, j->buf);
	if (j->is_inline)
		return wqe[j->seg_off + i];
	for (uint32_t k = 0;; k++) {
		struct wqe_seg s = wqe_seg_at(wqe + j->seg_off + 16 * k);

		if (i < s.len)
			return e->mem[s.addr - BASE + i];
		i -= s.len;
	}
}

/* Opcode without transport, written down from the table of protocol.md section 2.1. */
static uint8_t reference_opcode(const struct tx_job *j, bool first, bool last)
{
	bool only = first && last, imm = j->has_imm;

	switch (j->kind) {
	case JOB_SEND:
		if (only)
			return imm ? 0x05 : 0x04;
		return last ? (imm ? 0x03 : 0x02) : first ? 0x00 : 0x01;
	case JOB_SEND_INV:
		return only ? 0x17 : last ? 0x16 : first ? 0x00 : 0x01;
	case JOB_WRITE:
		if (only)
			return imm ? 0x0b : 0x0a;
		return last ? (imm ? 0x09 : 0x08) : first ? 0x06 : 0x07;
	case JOB_READ_REQ:
		return 0x0c;
	case JOB_CMP_SWAP:
		return 0x13;
	case JOB_FETCH_ADD:
		return 0x14;
	case JOB_READ_RSP:
		return only ? 0x10 : last ? 0x0f : first ? 0x0d : 0x0e;
	default:
		return 0x12;
	}
}

/* The extended headers of the packet as bytes; returns how many. */
static uint32_t reference_xeth(const struct tx_job *j, uint8_t op, uint8_t *x)
{
	uint8_t *p = x;

	if (op == 0x06 || op == 0x0a || op == 0x0b || op == 0x0c) {
		put_be(p, 8, j->raddr);
		put_be(p + 8, 4, j->rkey);
		put_be(p + 12, 4, j->dma_len);
		p += 16;
	}
	if (op == 0x0d || op == 0x0f || op == 0x10 || op == 0x12) {
		put_be(p, 4, (uint32_t)j->syndrome << 24 | j->msn);
		p += 4;
	}
	if (op == 0x13 || op == 0x14) {
		put_be(p, 8, j->raddr);
		put_be(p + 8, 4, j->rkey);
		put_be(p + 12, 8, j->swap_add);
		put_be(p + 20, 8, j->compare);
		p += 28;
	}
	if (op == 0x12) {
		put_be(p, 8, j->swap_add);
		p += 8;
	}
	if (op == 0x03 || op == 0x05 || op == 0x09 || op == 0x0b || op == 0x16 || op == 0x17) {
		put_be(p, 4, j->imm);
		p += 4;
	}
	return (uint32_t)(p - x);
}

/*
 * Whether packet i is the one with payload bytes off .. off + n - 1 of the job (RC and UC QPs;
 * AckReq aside).
 */
static bool is_right(const struct bench *e, uint32_t i, const struct tx_job *j, uint32_t off,
		     uint32_t n, uint32_t index, bool first, bool last)
{
	const struct packet *p = got(e, i);
	struct packet_view v;
	uint8_t op = reference_opcode(j, first, last), x[64];
	uint32_t n_x = reference_xeth(j, op, x);
	bool se = j->solicited && last && (op <= 0x05 || op >= 0x16 || op == 0x09 || op == 0x0b);

	if (packet_parse(p, &v) != DROP_NONE || !packet_icrc_ok(p, &v))
		return false;
	if (v.bth.opcode != (op | (j->qpi == QPI_UC ? 0x20 : 0)) ||
	    v.bth.psn != ((j->psn + index) & 0xffffff) || v.bth.destqp != DEST_QPN + j->qpi ||
	    v.bth.pkey != 0xffff || v.bth.se != se || v.bth.migreq != 1 ||
	    v.bth.pad != (4 - n % 4) % 4 || v.payload - v.xeth != (int)n_x || v.payload_len != n ||
	    v.encap != (j->qpi == QPI_V6 ? ENCAP_IPV6 : ENCAP_IPV4))
		return false;
	if (memcmp(p->data + v.xeth, x, n_x) != 0 || p->is_msg_last != last ||
	    p->is_msg_first != (index == 0 && first))
		return false;
	for (uint32_t k = 0; k < n; k++)
		if (p->data[v.payload + k] != message_byte(e, j, j->msg_off + off + k))
			return false;
	for (uint32_t k = n; k % 4; k++)
		if (p->data[v.payload + k] != 0)
			return false;
	return true;
}

static bool is_answer(const struct packet *p)
{
	return opcode_info[p->data[p->l4]].is_response;
}

/*
 * Compare all packets of one engine, which stand in the order of its jobs, with the jobs cut at
 * 'mtu'. Returns the number of differences.
 */
static unsigned differences(const struct bench *e, bool responses, uint32_t mtu)
{
	uint32_t i = 0;
	unsigned n_bad = 0;

	for (uint32_t tag = 0; tag < e->n_jobs; tag++) {
		const struct tx_job *j = &e->job[tag];
		uint32_t off = 0, index = 0;

		if (is_response(j) != responses)
			continue;
		do {
			uint32_t n = j->len - off < mtu ? j->len - off : mtu;
			bool last = j->is_last && off + n == j->len;

			while (i < e->n_pkt && is_answer(got(e, i)) != responses)
				i++;
			if (i == e->n_pkt)
				return n_bad + 1;
			n_bad += !is_right(e, i++, j, off, n, index, index == 0 && j->is_first,
					   last);
			off += n;
			index++;
		} while (off < j->len);
	}
	return n_bad;
}

/* ---- tests ---- */

/* Jobs of every length from 0 to three MTUs and one more byte, cut into 1 to 4 segments. */
static void send_all_lengths(struct bench *e, struct tx_job j, uint32_t step)
{
	for (uint32_t len = 0; len <= 3 * MTU + 1; len += step) {
		j.len = j.dma_len = len;
		j.psn = (0xfffff0 + len) & 0xffffff;
		put_segments(e, &j, len, 1 + len % 4);
		buf_ref(&e->t.sim, j.buf); /* the reference needs it */
		send_job(e, &j);
	}
}

static void release_wqes(struct bench *e)
{
	for (uint32_t i = 0; i < e->n_jobs; i++)
		if (e->job[i].buf != BUF_NONE)
			buf_unref(&e->req_job->b, e->job[i].buf);
}

static const struct tx_job write_job = {
	.raddr = 0x1122334455667788ull,
	.rkey = 0xcafe0001,
	.imm = 0x01020304,
	.qpi = QPI_RC,
	.kind = JOB_WRITE,
	.is_first = 1,
	.is_last = 1,
	.solicited = 1,
};

static void pktizer_every_length_equals_reference(void)
{
	static const struct {
		uint8_t kind, has_imm, qpi;
	} kinds[] = {
		{ JOB_WRITE, 0, QPI_RC }, { JOB_WRITE, 1, QPI_V6 },    { JOB_SEND, 0, QPI_UC },
		{ JOB_SEND, 1, QPI_RC },  { JOB_SEND_INV, 1, QPI_RC }, { JOB_WRITE, 1, QPI_UC },
	};

	for (unsigned k = 0; k < ARRAY_LEN(kinds); k++) {
		struct tx_job j = write_job;
		struct bench e;

		bench_start(&e, NULL, 20);
		j.kind = kinds[k].kind;
		j.has_imm = kinds[k].has_imm & 1;
		j.qpi = kinds[k].qpi;
		send_all_lengths(&e, j, 1);
		tb_run(&e.t);
		CU_ASSERT_EQUAL(differences(&e, false, MTU), 0);
		CU_ASSERT_EQUAL(e.req_done->n_received, e.n_jobs);
		CU_ASSERT_EQUAL(tb_stat(&e.t, "packets"), e.n_pkt);
		release_wqes(&e);
		bench_end(&e);
	}
}

/* The oracle itself: one wrong byte, one wrong place to cut. */
static void pktizer_wrong_byte_and_wrong_cut_are_caught(void)
{
	struct bench e;

	bench_start(&e, NULL, 0);
	send_all_lengths(&e, write_job, 97);
	tb_run(&e.t);
	CU_ASSERT_EQUAL(differences(&e, false, MTU), 0);
	CU_ASSERT(differences(&e, false, MTU - 4) > 0);
	for (uint32_t i = MEM_BYTES - 4200; i < MEM_BYTES; i++)
		e.mem[i] ^= 1;
	CU_ASSERT(differences(&e, false, MTU) > 0);
	release_wqes(&e);
	bench_end(&e);
}

static void pktizer_any_stalls_equal_reference(void)
{
	char in[64], out[64];

	for (unsigned k = 0; k < 32; k++) {
		const char *sets[] = { in,
				       out,
				       k < 16 ? "pktizer.inflight=1" : "pktizer.inflight=7",
				       "pktizer.req_packets=3",
				       "pktizer.rsp_packets=2",
				       NULL };
		struct tx_job j = write_job;
		struct bench e;

		tb_stall_sets(&pktizer_class, k / 4 % 4, k % 4, in, out);
		bench_start(&e, sets, 60);
		send_all_lengths(&e, write_job, 53);
		for (uint32_t len = 0; len <= 3 * MTU + 1; len += 67) {
			j = (struct tx_job){ .kind = JOB_READ_RSP,
					     .raddr = BASE + len,
					     .rkey = 5,
					     .len = len,
					     .psn = len,
					     .msn = 77,
					     .syndrome = 0x1f,
					     .is_first = 1,
					     .is_last = 1 };
			send_job(&e, &j);
		}
		tb_run(&e.t);
		CU_ASSERT_EQUAL(differences(&e, false, MTU), 0);
		CU_ASSERT_EQUAL(differences(&e, true, MTU), 0);
		CU_ASSERT_EQUAL(e.req_done->n_received + e.n_rsp_done, e.n_jobs);
		release_wqes(&e);
		bench_end(&e);
	}
}

/* A message in several runs, and a run that goes back into its middle. */
static void pktizer_runs_of_one_message_continue_it(void)
{
	struct tx_job j = write_job;
	uint32_t len = 5 * MTU + 17;
	struct bench e;

	bench_start(&e, NULL, 10);
	put_segments(&e, &j, len, 3);
	j.dma_len = len;
	j.psn = 100;
	static const struct {
		uint8_t from, n, retry;
	} runs[] = { { 0, 2, 0 }, { 2, 3, 0 }, { 5, 1, 0 }, { 3, 3, 1 } };
	for (unsigned i = 0; i < ARRAY_LEN(runs); i++) {
		struct tx_job r = j;

		r.msg_off = runs[i].from * MTU;
		r.psn = 100u + runs[i].from;
		r.len = runs[i].from + runs[i].n == 6 ? len - r.msg_off : runs[i].n * MTU;
		r.is_first = runs[i].from == 0;
		r.is_last = runs[i].from + runs[i].n == 6;
		r.is_retry = runs[i].retry & 1;
		buf_ref(&e.t.sim, r.buf);
		send_job(&e, &r);
	}
	buf_unref(&e.req_job->b, j.buf);
	buf_ref(&e.t.sim, j.buf);
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.n_pkt, 9);
	CU_ASSERT(got(&e, 6)->is_msg_first); /* a pass begins */
	((struct packet *)(void *)(e.bytes + e.at[6]))->is_msg_first = false;
	CU_ASSERT_EQUAL(differences(&e, false, MTU), 0);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "retry_packets"), 3);
	buf_unref(&e.req_job->b, j.buf);
	bench_end(&e);
}

static void pktizer_inline_bytes_come_from_wqe(void)
{
	struct tx_job j = write_job;
	struct bench e;

	bench_start(&e, NULL, 0);
	j.is_inline = 1;
	j.seg_off = 36;
	for (uint32_t len = 0; len <= 700; len += 25) {
		j.buf = pool_alloc(e.wqes);
		for (uint32_t i = 0; i < 1024; i++)
			((uint8_t *)buf_data(&e.t.sim, j.buf))[i] = (uint8_t)(i * 7 + len);
		buf_ref(&e.t.sim, j.buf);
		j.len = j.dma_len = len;
		send_job(&e, &j);
	}
	tb_run(&e.t);
	CU_ASSERT_EQUAL(differences(&e, false, MTU), 0);
	CU_ASSERT_EQUAL(e.dma.n_reads, 0);
	release_wqes(&e);
	bench_end(&e);
}

static void pktizer_requests_without_payload_equal_reference(void)
{
	static const uint8_t kinds[] = { JOB_READ_REQ, JOB_CMP_SWAP, JOB_FETCH_ADD,
					 JOB_ATOMIC_ACK };
	struct bench e;

	bench_start(&e, NULL, 0);
	for (unsigned i = 0; i < ARRAY_LEN(kinds); i++) {
		struct tx_job j = { .kind = kinds[i],
				    .raddr = 0x0102030405060708ull,
				    .rkey = 0x99,
				    .psn = 0xffffff,
				    .swap_add = 0xf0e0d0c0b0a09080ull,
				    .compare = 0x1111222233334444ull,
				    .dma_len = kinds[i] == JOB_READ_REQ ? 1u << 31 : 0,
				    .msn = 0x123456,
				    .syndrome = 0x05,
				    .is_first = 1,
				    .is_last = 1 };

		send_job(&e, &j);
	}
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.n_pkt, 4);
	CU_ASSERT_EQUAL(differences(&e, false, MTU), 0);
	CU_ASSERT_EQUAL(differences(&e, true, MTU), 0);
	CU_ASSERT_EQUAL(e.dma.n_reads, 0);
	bench_end(&e);
}

/* BTH.AckReq of packet i. */
static bool ack_req(const struct bench *e, uint32_t i)
{
	struct packet_view v;

	return packet_parse(got(e, i), &v) == DROP_NONE && v.bth.ackreq;
}

static void send_long(struct bench *e, uint32_t qpi, uint32_t packets)
{
	struct tx_job j = write_job;

	j.qpi = qpi;
	j.len = packets * MTU;
	put_segments(e, &j, j.len, 1);
	send_job(e, &j);
}

static void pktizer_ack_req_follows_parameter(void)
{
	static const struct {
		const char *set;
		uint32_t first;
	} cases[] = {
		{ "pktizer.ack_req_every=65", 65 },
		{ "pktizer.ack_req_every=0", NO_LIMIT },
		{ "pktizer.ack_req_every=3", 3 },
	};

	for (unsigned k = 0; k < ARRAY_LEN(cases); k++) {
		uint32_t since = 0;
		struct bench e;

		bench_start(&e, (const char *[]){ cases[k].set, "pktizer.mig_req=off", NULL }, 0);
		send_long(&e, QPI_RC, 150);
		send_long(&e, QPI_UC, 3);
		tb_run(&e.t);
		CU_ASSERT_EQUAL(e.n_pkt, 153);
		for (uint32_t i = 0; i < 150; i++) {
			bool want = i == 149 || since == cases[k].first;

			CU_ASSERT_EQUAL(ack_req(&e, i), want);
			CU_ASSERT_EQUAL(got(&e, i)->data[got(&e, i)->l4 + 1] & 0x40, 0);
			since = want ? 0 : since + 1;
		}
		CU_ASSERT(!ack_req(&e, 150) && !ack_req(&e, 152)); /* UC */
		bench_end(&e);
	}
}

/* Runs of a message in which every fourth packet asks, a READ, and a run in which none does. */
static void pktizer_tells_which_packets_asked(void)
{
	static const struct {
		bool is_asked;
		uint16_t n_unasked;
	} due[] = { { true, 2 }, { false, 0 }, { true, 0 }, { true, 0 } };
	static const uint32_t packets[] = { 6, 1, 1 };
	struct tx_job read = {
		.kind = JOB_READ_REQ, .qpi = QPI_RC, .dma_len = 9 * MTU, .is_first = 1, .is_last = 1
	};
	struct bench e;

	bench_start(&e,
		    (const char *[]){ "pktizer.ack_req_every=3", "pktizer.read_ack_req=off", NULL },
		    0);
	for (uint32_t i = 0; i < ARRAY_LEN(packets); i++) {
		struct tx_job j = write_job;

		j.qpi = QPI_RC;
		j.len = packets[i] * MTU;
		j.is_last = 0;
		put_segments(&e, &j, j.len, 1);
		send_job(&e, &j);
	}
	read.buf = pool_alloc(e.wqes);
	send_job(&e, &read);
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.req_done->n_received, ARRAY_LEN(due));
	for (uint32_t i = 0; i < ARRAY_LEN(due); i++) {
		const struct job_done *m = tb_got(e.req_done, i);

		CU_ASSERT_EQUAL(m->is_asked, due[i].is_asked);
		CU_ASSERT_EQUAL(m->n_unasked, due[i].n_unasked);
	}
	bench_end(&e);
}

static void pktizer_payload_error_drops_rest_of_job_only(void)
{
	struct tx_job j = write_job;
	struct bench e;
	unsigned n_bad = 0;

	bench_start(&e, (const char *[]){ "pktizer.inflight=5", NULL }, 40);
	for (unsigned i = 0; i < 8; i++) {
		j.len = 10 * MTU;
		j.buf = pool_alloc(e.wqes);
		j.seg_off = 32;
		j.n_sge = 1;
		put_be((uint8_t *)buf_data(&e.t.sim, j.buf) + 32, 4, j.len);
		put_be((uint8_t *)buf_data(&e.t.sim, j.buf) + 36, 4, 0x77);
		put_be((uint8_t *)buf_data(&e.t.sim, j.buf) + 40, 8, BASE + i * 4096);
		send_job(&e, &j);
	}
	e.dma.fail_at = BASE + 3 * 4096 + 4 * MTU + 9; /* packet 4 of job 3 */
	tb_run(&e.t);
	CU_ASSERT_EQUAL(e.req_done->n_received, 8);
	for (uint32_t i = 0; i < e.req_done->n_received; i++) {
		const struct job_done *m = tb_got(e.req_done, i);

		CU_ASSERT_EQUAL(m->tag, i);
		CU_ASSERT_EQUAL(m->status, i == 3 ? XLATE_BAD_KEY : XLATE_OK);
		n_bad += m->status != XLATE_OK;
	}
	CU_ASSERT_EQUAL(n_bad, 1);
	CU_ASSERT_EQUAL(e.n_pkt, 7 * 10 + 4);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "failed_jobs"), 1);
	bench_end(&e);
}

/* The output carries 'width' bytes a cycle, and both engines get their turn. */
static void pktizer_output_is_shared_packet_by_packet(void)
{
	struct bench e;
	unsigned n_rsp = 0;
	uint64_t cycles;

	bench_start(&e, (const char *[]){ "pktizer.width=16", NULL }, 0);
	send_long(&e, QPI_RC, 40);
	send_job(&e, &(struct tx_job){ .kind = JOB_READ_RSP,
				       .raddr = BASE,
				       .len = 40 * MTU,
				       .is_first = 1,
				       .is_last = 1,
				       .syndrome = 0x1f });
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.n_pkt, 80);
	for (uint32_t i = 0; i < 40; i++)
		n_rsp += is_answer(got(&e, i));
	CU_ASSERT(n_rsp >= 18 && n_rsp <= 22);
	cycles = e.pkt->cycle[79] - e.pkt->cycle[0];
	CU_ASSERT(cycles >= 79 * (MTU + 58) / 16 && cycles <= 80 * (MTU + 58 + 32) / 16);
	bench_end(&e);
}

/*
 * Datagrams: path and destination from the address vector; extended RC: SRQ number from its
 * segment.
 */
static void pktizer_datagram_and_xrc_headers_come_from_wqe(void)
{
	struct tx_job j = { .qpi = QPI_UD,
			    .kind = JOB_SEND,
			    .is_first = 1,
			    .is_last = 1,
			    .has_imm = 1,
			    .imm = 0xabc,
			    .seg_off = 64,
			    .is_inline = 1,
			    .len = 5 };
	struct packet_view v;
	struct bench e;
	uint8_t *av;

	bench_start(&e, NULL, 0);
	j.buf = pool_alloc(e.wqes);
	av = (uint8_t *)buf_data(&e.t.sim, j.buf) + WQE_AV_OFF;
	memset(av - WQE_AV_OFF, 0, 1024);
	put_be(av, 4, 0x11223344);
	put_be(av + 8, 4, 0x80000042);
	put_be(av + 14, 2, 0xd123);
	put_be(av + 20, 6, 0x020000000077ull);
	av[26] = 0x22;
	av[27] = 33;
	put_be(av + 42, 6, 0xffff0a000005ull);
	send_job(&e, &j);
	j = (struct tx_job){ .qpi = QPI_XRC,
			     .kind = JOB_WRITE,
			     .is_first = 1,
			     .is_last = 1,
			     .raddr = 8,
			     .dma_len = 0 };
	j.buf = pool_alloc(e.wqes);
	put_be((uint8_t *)buf_data(&e.t.sim, j.buf) + 16, 4, 0x345);
	send_job(&e, &j);
	tb_run(&e.t);
	CU_ASSERT_EQUAL_FATAL(e.n_pkt, 2);
	CU_ASSERT_EQUAL(packet_parse(got(&e, 0), &v), DROP_NONE);
	CU_ASSERT(packet_icrc_ok(got(&e, 0), &v));
	CU_ASSERT_EQUAL(v.bth.opcode, 0x65);
	CU_ASSERT_EQUAL(v.bth.destqp, 0x42);
	CU_ASSERT_EQUAL(got(&e, 0)->data[5], 0x77);    /* destination MAC */
	CU_ASSERT_EQUAL(got(&e, 0)->data[14 + 19], 5); /* destination IPv4 10.0.0.5 */
	CU_ASSERT_EQUAL(got(&e, 0)->data[14 + 8], 33);
	CU_ASSERT_EQUAL(load_be32(got(&e, 0)->data + v.l4 - UDP_BYTES) >> 16, 0xd123);
	CU_ASSERT_EQUAL(load_be32(got(&e, 0)->data + v.xeth), 0x11223344);
	CU_ASSERT_EQUAL(load_be32(got(&e, 0)->data + v.xeth + 4), QPN + QPI_UD);
	CU_ASSERT_EQUAL(load_be32(got(&e, 0)->data + v.xeth + 8), 0xabc);
	CU_ASSERT_EQUAL(packet_parse(got(&e, 1), &v), DROP_NONE);
	CU_ASSERT_EQUAL(v.bth.opcode, 0xaa);
	CU_ASSERT_EQUAL(load_be32(got(&e, 1)->data + v.xeth), 0x345);
	bench_end(&e);
}

/* IBTA vol. 1, 10.2.5; soft-RoCE sends what the request says. */
static void pktizer_qkey_with_its_high_bit_is_the_qps_own(void)
{
	const struct qp_attr qp = { .type = QP_UD, .qpn = 5, .qkey = 0x77, .mtu = 256 };
	const struct tx_job j = { .kind = JOB_SEND, .is_first = 1, .is_last = 1 };
	const struct pkt_place at = { .is_first = true, .is_last = true };
	static const uint32_t keys[][3] = {
		/* in the WQE, sent, sent by soft-RoCE */
		{ 0x80010000, 0x77, 0x80010000 },
		{ 0x7fffffff, 0x7fffffff, 0x7fffffff },
	};
	uint8_t wqe[64] = { 0 }, space[512] __attribute__((aligned(8)));
	struct packet *p = (struct packet *)(void *)space;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		for (unsigned is_plain = 0; is_plain < 2; is_plain++) {
			const struct nic nic = { .has_plain_qkey = is_plain };

			put_be(wqe + WQE_AV_OFF, 4, keys[i][0]);
			pktizer_headers(p, &nic, &qp, &j, &at, wqe, false, false);
			CU_ASSERT_EQUAL(load_be32(p->data + p->l4 + BTH_BYTES),
					keys[i][1 + is_plain]);
		}
}

/* Sleeping and the order of steps change nothing: same packets at the same cycles. */
static void pktizer_step_order_changes_nothing(void)
{
	const char *sets[] = { "pktizer.stall_out=random", "pktizer.stall_in=alternate",
			       "pktizer.req_packets=4", "pktizer.width=32", NULL };
	uint64_t hash[4];

	for (unsigned k = 0; k < 4; k++) {
		struct bench e;

		bench_start(&e, sets, 50);
		e.t.sim.every_cycle = k == 1;
		e.t.sim.order = k == 2 ? ORDER_REVERSED : k == 3 ? ORDER_SHUFFLED : ORDER_FORWARD;
		send_all_lengths(&e, write_job, 31);
		send_job(&e, &(struct tx_job){ .kind = JOB_READ_RSP,
					       .raddr = BASE,
					       .len = 40 * MTU,
					       .is_first = 1,
					       .is_last = 1 });
		tb_run_for(&e.t, 30000);
		CU_ASSERT_EQUAL(differences(&e, false, MTU), 0);
		CU_ASSERT_EQUAL(differences(&e, true, MTU), 0);
		hash[k] = e.pkt->chan->stall_ps;
		for (uint32_t i = 0; i < e.n_pkt; i++)
			hash[k] = (hash[k] ^ e.pkt->cycle[i] ^ got(&e, i)->len) * 0x100000001b3ull;
		CU_ASSERT_EQUAL(hash[k], hash[0]);
		release_wqes(&e);
		bench_end(&e);
	}
}

CU_TestInfo test_pktizer_tests[] = {
	{ "every length equals the reference", pktizer_every_length_equals_reference },
	{ "wrong byte and wrong cut are caught", pktizer_wrong_byte_and_wrong_cut_are_caught },
	{ "any stalls equal the reference", pktizer_any_stalls_equal_reference },
	{ "runs of one message continue it", pktizer_runs_of_one_message_continue_it },
	{ "inline bytes come from the WQE", pktizer_inline_bytes_come_from_wqe },
	{ "requests without payload equal the reference",
	  pktizer_requests_without_payload_equal_reference },
	{ "AckReq follows its parameter", pktizer_ack_req_follows_parameter },
	{ "it tells which packets asked", pktizer_tells_which_packets_asked },
	{ "payload error drops the rest of its job only",
	  pktizer_payload_error_drops_rest_of_job_only },
	{ "output is shared packet by packet", pktizer_output_is_shared_packet_by_packet },
	{ "datagram and XRC headers come from the WQE",
	  pktizer_datagram_and_xrc_headers_come_from_wqe },
	{ "Q_Key with its high bit is the QP's own",
	  pktizer_qkey_with_its_high_bit_is_the_qps_own },
	{ "step order and sleeping change nothing", pktizer_step_order_changes_nothing },
	CU_TEST_INFO_NULL
};
