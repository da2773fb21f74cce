/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_convert.c - recorded verbs calls become traces that say the same, in the same order
 */
#include <CUnit/CUnit.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/trace/trace.h"
#include "sim/record.h"
#include "sim/units.h"
#include "tools/run/commands.h"
#include "testbench/tb_file.h"

#define VECTORS "testbench/vectors/"
#define MAX_IDS 512u

static const char *const recordings[] = { "rxe_rc_atomic",   "rxe_rc_inline", "rxe_rc_mw_inv",
					  "rxe_rc_burst",    "rxe_rc_err",    "rxe_ud",
					  "rxe_rc_reads_d2", "rxe_rc_rnr" };

static int convert(const char *in, const char *out, const char *option, const char *value,
		   struct err *e)
{
	const char *argv[] = { "trace", "convert", in, "-o", out, option, value };
	char *copy[ARRAY_LEN(argv)];

	memset(e, 0, sizeof(*e));
	for (size_t i = 0; i < ARRAY_LEN(argv); i++)
		copy[i] = (char *)(uintptr_t)argv[i];
	return cmd_trace(option ? 7 : 5, copy, e);
}

static const char *vector(const char *name, const char *end)
{
	static char path[128];

	snprintf(path, sizeof(path), VECTORS "%s%s", name, end);
	return path;
}

/* ---- a recording and its trace, side by side ---- */

/* A request: both files number them alike, each host from 1. */
struct request {
	bool is_there, is_recv;
	uint64_t wr_id, addr, bytes, imm, remote;
	uint32_t n_sge, opcode, after_host[MAX_AFTER], n_after, qp;
	uint64_t after[MAX_AFTER];
	bool past[2][MAX_IDS]; /* completions that are certain to be polled when this is posted */
};

struct recording {
	struct request r[2][MAX_IDS]; /* by host, id */
	uint64_t n[2];
	uint64_t posts, recvs;
};

/*
 * All requests of a trace, with what each certainly follows: what its `after`s and its queue's
 * records before it do.
 */
static void read_trace(const char *path, struct recording *g)
{
	struct err e = { 0 };
	struct trace *t = trace_open(path, &e);
	struct trace_record r;
	struct request *last[128] = { NULL };

	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	while (trace_next(t, &r, &e) == 1) {
		struct request *q = &g->r[r.host][r.id];

		trace_record_release(&r);
		if (r.kind != REC_POST && r.kind != REC_RECV)
			continue;
		CU_ASSERT_FATAL(r.id < MAX_IDS && r.qp < ARRAY_LEN(last));
		*q = (struct request){ .is_there = true,
				       .is_recv = r.kind == REC_RECV,
				       .wr_id = r.wr_id,
				       .n_sge = r.n_sge,
				       .opcode = r.opcode,
				       .imm = r.imm,
				       .remote = r.raddr,
				       .qp = r.qp };
		g->posts += r.kind == REC_POST;
		g->recvs += r.kind == REC_RECV;
		for (uint32_t i = 0; i < r.n_sge; i++)
			q->bytes += r.sge[i].len;
		q->addr = r.n_sge ? r.sge[0].addr : 0;
		if (last[r.qp])
			memcpy(q->past, last[r.qp]->past, sizeof(q->past));
		for (uint32_t i = 0; i < r.n_after; i++) {
			const struct request *a = &g->r[r.after[i].host][r.after[i].id];

			q->past[r.after[i].host][r.after[i].id] = true;
			for (uint32_t k = 0; k < 2 * MAX_IDS; k++)
				q->past[k / MAX_IDS][k % MAX_IDS] |=
					a->past[k / MAX_IDS][k % MAX_IDS];
		}
		last[r.qp] = q;
	}
	CU_ASSERT_FALSE(e.is_set);
	trace_close(t);
}

/* Polled in order of a queue: when one is, so are those before it in the queue that complete. */
static bool is_implied(const struct recording *g, const struct request *q, uint32_t host,
		       uint64_t id)
{
	for (uint64_t later = id; later < MAX_IDS; later++)
		if (q->past[host][later] && g->r[host][later].qp == g->r[host][id].qp &&
		    g->r[host][later].is_recv == g->r[host][id].is_recv)
			return true;
	return false;
}

/* The recording's own view, by the plainest reading of its lines. */
struct replay {
	struct recording *g;
	uint32_t qp_of[2][MAX_IDS];
	bool is_recv[2][MAX_IDS], is_done[2][MAX_IDS], is_known[2][MAX_IDS];
	uint64_t n[2], wr_ids[2][MAX_IDS];
	uint64_t posts, recvs, missing, wrong;
	json_t *wrs; /* of the last post_send */
	uint32_t qp_host[128];
};

/*
 * A request was posted: compare it with the trace's, and count the polled completions it need not
 * follow there.
 */
static void replay_request(struct replay *p, uint32_t qp, const json_t *w, bool is_recv)
{
	uint32_t host = p->qp_host[qp];
	uint64_t id = ++p->n[host], bytes = 0;
	const struct request *q = &p->g->r[host][id];
	const json_t *sge = json_object_get(w, "sge"), *s;
	size_t i;

	CU_ASSERT_FATAL(id < MAX_IDS);
	p->qp_of[host][id] = qp;
	p->is_recv[host][id] = is_recv;
	p->wr_ids[host][id] = (uint64_t)json_integer_value(json_object_get(w, "wr_id"));
	json_array_foreach(sge, i, s) bytes +=
		(uint64_t)json_integer_value(json_object_get(s, "length"));
	p->wrong += !q->is_there || q->is_recv != is_recv || q->wr_id != p->wr_ids[host][id] ||
		    q->bytes != bytes || q->n_sge != json_array_size(sge);
	if (json_object_get(w, "imm_be"))
		p->wrong += q->imm !=
			    strtoull(json_string_value(json_object_get(w, "imm_be")), NULL, 16);
	if (bytes)
		p->wrong += q->addr != (uint64_t)json_integer_value(
					       json_object_get(json_array_get(sge, 0), "addr"));
	if (!is_recv)
		p->wrong += strcmp(wr_opcode_names[q->opcode],
				   json_string_value(json_object_get(w, "opcode"))) != 0;
	for (uint32_t h = 0; h < 2; h++)
		for (uint64_t k = 1; k < MAX_IDS; k++)
			p->missing += p->is_known[h][k] && !is_implied(p->g, q, h, k);
	p->posts += !is_recv;
	p->recvs += is_recv;
}

static void replay_poll(struct replay *p, const json_t *o)
{
	const char *cq = json_string_value(json_object_get(o, "cq"));
	uint32_t qp = (uint32_t)atoi(cq), host = p->qp_host[qp];
	bool is_recv = strstr(cq, "recv") != NULL;
	uint64_t wr_id =
		(uint64_t)json_integer_value(json_object_get(json_object_get(o, "wc"), "wr_id"));

	for (uint64_t id = 1; id <= p->n[host]; id++)
		if (p->qp_of[host][id] == qp && p->is_recv[host][id] == is_recv &&
		    !p->is_done[host][id] && p->wr_ids[host][id] == wr_id) {
			p->is_done[host][id] = p->is_known[host][id] = true;
			return;
		}
	p->wrong++;
}

static void replay_line(struct replay *p, const json_t *o)
{
	const char *call = json_string_value(json_object_get(o, "call"));
	uint32_t qp = (uint32_t)json_integer_value(json_object_get(o, "qp"));
	json_t *w;
	size_t i;

	if (strcmp(call, "create_qp") == 0) {
		p->qp_host[qp] = strcmp(json_string_value(json_object_get(o, "ep")), "B") == 0;
	} else if (strcmp(call, "post_recv") == 0) {
		replay_request(p, qp, o, true);
	} else if (strcmp(call, "post_send") == 0) {
		json_array_foreach(json_object_get(o, "wrs"), i, w) replay_request(p, qp, w, false);
	} else if (strcmp(call, "poll_cq") == 0) {
		replay_poll(p, o);
	}
}

static void replay(const char *path, struct replay *p, struct recording *g)
{
	struct record_reader r;
	struct err e = { 0 };
	char *line;
	size_t len;

	memset(p, 0, sizeof(*p));
	p->g = g;
	CU_ASSERT_FATAL(record_open(&r, path, &e));
	while (record_next_line(&r, &line, &len, &e) == 1) {
		/*
		 * one recorded address has 64 bits, more than the library reads; it plays no part
		 * here
		 */
		char *big = strstr(line, "18446744073709551605");
		json_t *o;

		if (big) {
			memset(big, ' ', 19);
			big[19] = '1';
		}
		o = json_loads(line, 0, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(o);
		replay_line(p, o);
		json_decref(o);
	}
	record_close(&r);
}

static void convert_keeps_requests_and_their_order(void)
{
	struct recording *g = calloc(1, sizeof(*g));
	struct replay *p = calloc(1, sizeof(*p));
	const char *out = tb_path("converted.trace");
	struct err e;

	CU_ASSERT_PTR_NOT_NULL_FATAL(g && p ? g : NULL);
	for (size_t i = 0; i < ARRAY_LEN(recordings); i++) {
		memset(g, 0, sizeof(*g));
		CU_ASSERT_EQUAL(convert(vector(recordings[i], ".jsonl.gz"), out, NULL, NULL, &e),
				0);
		read_trace(out, g);
		replay(vector(recordings[i], ".jsonl.gz"), p, g);
		CU_ASSERT_EQUAL(p->posts, g->posts);
		CU_ASSERT_EQUAL(p->recvs, g->recvs);
		CU_ASSERT(p->posts > 0);
		CU_ASSERT_EQUAL(p->wrong, 0);
		CU_ASSERT_EQUAL(p->missing, 0);
	}
	free(g);
	free(p);
}

/* The seeded fault: one dependency left out of the trace is found. */
static void convert_lost_dependency_would_be_found(void)
{
	struct recording *g = calloc(1, sizeof(*g));
	struct replay *p = calloc(1, sizeof(*p));
	const char *out = tb_path("converted.trace"), *cut;
	struct err e;
	char *text, *at;

	CU_ASSERT_PTR_NOT_NULL_FATAL(g && p ? g : NULL);
	CU_ASSERT_EQUAL(convert(vector("rxe_rc_atomic", ".jsonl.gz"), out, NULL, NULL, &e), 0);
	text = tb_read(out);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	at = strstr(text, " after=4");
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	memset(at, ' ', strlen(" after=4"));
	cut = tb_write("cut.trace", text, strlen(text));
	read_trace(cut, g);
	replay(vector("rxe_rc_atomic", ".jsonl.gz"), p, g);
	CU_ASSERT_EQUAL(p->wrong, 0);
	CU_ASSERT(p->missing > 0);
	free(text);
	free(g);
	free(p);
}

/* ---- the set-up, special calls, options ---- */

static char *converted(const char *name, const char *option, const char *value)
{
	struct err e;
	char *text;

	CU_ASSERT_EQUAL(convert(vector(name, ".jsonl.gz"), tb_path("c.trace"), option, value, &e),
			0);
	text = tb_read(tb_path("c.trace"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	return text;
}

static void expect_in(const char *text, const char *const *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		CU_ASSERT_PTR_NOT_NULL(strstr(text, parts[i]));
		if (!strstr(text, parts[i]))
			printf("\n  not there: %s\n", parts[i]);
	}
}

static void convert_writes_what_was_set_up(void)
{
	static const char *const parts[] = {
		"rnicsim-trace 1\nhost hA ip=10.0.0.1 mtu=4096\nhost hB ip=10.0.0.2 mtu=4096\n",
		"mr hB m0 va=0x200000000 len=1048576 access=lw,rw,rr,ra,mw lkey=0x2ab2 rkey=0x2ab2 "
		"fill=lin:11,101,17,31\n",
		"pd hB p3\n",
		"mr hB m3 va=0x200030000 len=4096 access=lw,rw,rr,ra lkey=0x2d8d rkey=0x2d8d pd=p3 "
		"fill=keep\n",
		"mr hB m5 va=0x200050000 len=4096 access=lw lkey=0x2f40 fill=keep\n",
		"qp hA q0 type=RC peer=hB.q1 qpn=0x43 psn=0x100 mtu=1024 sq=128 rq=128 max_sge=16 "
		"inline=256 rd_atomic=16 "
		"dest_rd_atomic=16 timeout=18 retry=7 rnr_retry=7 min_rnr=12 sl=0 tclass=0 "
		"flow_label=0x0 hop_limit=64 "
		"access=lw,rw,rr,ra\n",
		"dereg hB m4\n",
		"remote=va:0x200000000:rkey:0x2ab3",
		"remote=va:0xfffffffffffffff5:rkey:0x2ab2",
		"status=REM_ACCESS_ERR\n",
		"status=WR_FLUSH_ERR\n",
		"error=EINVAL\n",
	};
	char *text = converted("rxe_rc_err", NULL, NULL);

	expect_in(text, parts, ARRAY_LEN(parts));
	free(text);
}

static void convert_writes_windows_datagrams_and_stores(void)
{
	static const char *const mw[] = {
		"mw hB w0 rkey=0x8000121\n",
		"op=BIND_MW mw=w0 newkey=0x8000122 bind=m0:0:4096 access=rw,rr",
		"op=LOCAL_INV inv=0x8000251",
		"op=SEND_WITH_INV sge=m0:1552:21 inv=0x8000122",
		"destroy hA.q0 after=",
	};
	static const char *const ud[] = {
		"type=UD qpn=0x7b psn=0x100 mtu=4096",
		" qkey=0x11223344\n",
		"dest=hB.q1 qkey=0x11223344",
		"dest=hB:128 ",
		"imm=0xfeed0002",
		"status=LOC_QP_OP_ERR",
	};
	static const char *const stores[] = {
		"mem hB m0:0 "
		"hex:7766554433221100feffffffffffffff00000000000000000000000000000080\n",
		"add=0xffffffffffffffff",
		"compare=0x11223344556678 swap=0xdeadbeefcafef00d",
	};
	static const char *const burst[] = { "flags=unsignaled,more", "flags=more" };
	char *text = converted("rxe_rc_mw_inv", NULL, NULL);

	expect_in(text, mw, ARRAY_LEN(mw));
	free(text);
	text = converted("rxe_ud", NULL, NULL);
	expect_in(text, ud, ARRAY_LEN(ud));
	free(text);
	text = converted("rxe_rc_atomic", NULL, NULL);
	expect_in(text, stores, ARRAY_LEN(stores));
	free(text);
	text = converted("rxe_rc_burst", NULL, NULL);
	expect_in(text, burst, ARRAY_LEN(burst));
	free(text);
}

static void convert_keeps_pauses_when_asked(void)
{
	char *text = converted("rxe_rc_rnr", NULL, NULL);

	CU_ASSERT(!strstr(text, "delay=") && !strstr(text, "at="));
	free(text);
	text = converted("rxe_rc_rnr", "--gaps", "25ms");
	/* the first receive was posted a tenth of a second after the send that needs it */
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "recv hB.q1 id=1 sge=m0:0:100 at=100919470ns"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "delay="));
	free(text);
}

/* The final image: bytes compared with the recorded file through the trace reader. */
static void convert_final_image_is_expected(void)
{
	char *text = converted("rxe_rc_inline", "--final", "B=" VECTORS "rxe_rc_inline.B.bin.gz");
	struct err e = { 0 };
	struct trace *t = trace_open(tb_path("c.trace"), &e);
	uint64_t covered = 0, n_hex = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	for (uint32_t i = 0; i < t->n_expects; i++) {
		const struct trace_expect *x = &t->expects[i];

		if (x->kind != EXPECT_MEM_FILL && x->kind != EXPECT_MEM_HEX)
			continue;
		CU_ASSERT_EQUAL(x->off, covered);
		covered += x->len;
		n_hex += x->kind == EXPECT_MEM_HEX ? x->len : 0;
	}
	CU_ASSERT_EQUAL(covered, MIB);
	CU_ASSERT(n_hex > 1000 && n_hex < 4000);
	trace_close(t);
	free(text);
}

static void convert_mistakes_are_named(void)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "{", "x.jsonl:1: not a JSON value" },
		{ "{}\n", "x.jsonl:1: 'call' is missing" },
		{ "{\"call\":\"end\"}\n{\"call\":\"dance\"}\n",
		  "x.jsonl:2: call 'dance' is not converted" },
		{ "{\"call\":\"reg_mr\",\"ep\":\"A\"}", "no endpoint 'A' was opened before" },
		{ "{\"call\":\"endpoint\",\"ep\":\"A\",\"gid\":\"00\"}",
		  "'gid' must be a string of 32 hex digits" },
		{ "{\"call\":\"create_qp\",\"type\":\"RC\",\"srq\":true}",
		  "with an SRQ is not converted" },
		{ "{\"call\":\"poll_cq\",\"cq\":\"17.send\",\"wc\":{\"wr_id\":1,\"status_code\":0}}",
		  "no queue pair is created in it" },
		{ "{\"call\":\"modify_qp\",\"qp\":5,\"state\":\"INIT\"}",
		  "no QP 5 was created before" },
	};
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *in = tb_write("x.jsonl", cases[i].text, strlen(cases[i].text));

		CU_ASSERT_EQUAL(convert(in, tb_path("no.trace"), NULL, NULL, &e), 2);
		CU_ASSERT_PTR_NOT_NULL(strstr(e.text, cases[i].says));
		CU_ASSERT_EQUAL(tb_count_files("no.trace"), 0);
	}
	CU_ASSERT_EQUAL(convert("no/such", tb_path("no.trace"), NULL, NULL, &e), 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "no/such: cannot open"));
	CU_ASSERT_EQUAL(
		convert(vector("rxe_ud", ".jsonl.gz"), tb_path("no.trace"), "--gap", "1ms", &e), 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "unknown option '--gap'; allowed: "));
	CU_ASSERT_EQUAL(
		convert(vector("rxe_ud", ".jsonl.gz"), tb_path("no.trace"), "--final", "C=x", &e),
		2);
	CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "no endpoint of that name"));
}

/* The committed traces are good, and the demo has something of each kind. */
static void convert_committed_traces_are_good(void)
{
	static const char *const names[] = {
		"demo.trace",
		"rxe_rc_write_m1024.trace.gz",
		"rxe_rc_read_m1024.trace.gz",
		"rxe_rc_atomic.trace.gz",
		"rxe_rc_send_m1024.trace.gz",
		"rxe_rc_mix_clean.trace.gz",
		"rxe_rc_sge3.trace.gz",
		"rxe_rc_inline.trace.gz",
	};
	uint64_t wrs = 0;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct err e = { 0 };
		struct trace_record r;
		struct trace *t;
		char path[64];
		int got = -1;

		snprintf(path, sizeof(path), "traces/%s", names[i]);
		t = trace_open(path, &e);
		CU_ASSERT_PTR_NOT_NULL_FATAL(t);
		while ((got = trace_next(t, &r, &e)) == 1) {
			wrs += r.repeat;
			trace_record_release(&r);
		}
		CU_ASSERT_EQUAL(got, 0);
		CU_ASSERT(t->n_expects > 10);
		trace_close(t);
	}
	CU_ASSERT(wrs > 400);
}

CU_TestInfo test_convert_tests[] = {
	{ "convert_keeps_requests_and_their_order", convert_keeps_requests_and_their_order },
	{ "convert_lost_dependency_would_be_found", convert_lost_dependency_would_be_found },
	{ "convert_writes_what_was_set_up", convert_writes_what_was_set_up },
	{ "convert_writes_windows_datagrams_and_stores",
	  convert_writes_windows_datagrams_and_stores },
	{ "convert_keeps_pauses_when_asked", convert_keeps_pauses_when_asked },
	{ "convert_final_image_is_expected", convert_final_image_is_expected },
	{ "convert_mistakes_are_named", convert_mistakes_are_named },
	{ "convert_committed_traces_are_good", convert_committed_traces_are_good },
	CU_TEST_INFO_NULL
};
