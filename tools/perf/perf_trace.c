/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_trace.c - a benchmark as a verbs trace: h0 is perftest's client, h1 its server
 *
 * WRITE latency is a ping-pong: each side spins on the last byte of its buffer, which the other's
 * WRITE changes (stamp=, poll=). In SEND latency each side's post waits for its receive. READ and
 * ATOMIC latency is one request after the other. A bandwidth test keeps tx_depth requests of each
 * QP in flight, every cq_mod-th signaled, all QPs of a thread on one CQ. As in perftest every QP has
 * a part of its own, in whole pages, of one region; unlike there (in bandwidth tests of up to
 * 2 KiB) messages do not walk through their page.
 */
#include <inttypes.h>

#include "models/nic.h"
#include "tools/perf/perf.h"
#include "models/trace/trace.h"

#define GRH_LEN 40u /* UD: what a receive gets in front of the payload */
#define PAGE 4096u
#define HUGE_PAGE (2u * MIB)
#define MAX_CQ (1u << 22)
#define SPARE_CQE 1u /* mlx4, mlx5: a CQ made for n has the power of two that is n + 1 or more */
#define QKEY 0x11111111u /* perftest's DEF_QKEY */

struct writer {
	const struct perf_spec *s;
	FILE *f;
	uint64_t slot;  /* bytes of a QP's part, one for what it sends, one for what it gets */
	uint64_t id[2]; /* last of each host */
};

static bool has_peer_recv(const struct perf_spec *s)
{
	return s->verb == PERF_SEND;
}

/* Where in its region QP 'i' sends from, and where its peer's messages go. */
static uint64_t source(const struct writer *w, uint64_t i)
{
	const struct perf_spec *s = w->s;

	return s->region ? i * (s->region / s->qps) / s->stride * s->stride : i * w->slot;
}

static uint64_t target(const struct writer *w, uint64_t i)
{
	return w->s->region ? source(w, i) : (w->s->qps + i) * w->slot;
}

static void write_sge(const struct writer *w, uint64_t off, uint64_t len)
{
	uint64_t at = 0;

	for (uint64_t i = 0; i < w->s->sges; i++) {
		uint64_t n = len * (i + 1) / w->s->sges - at;

		fprintf(w->f, "%sbuf:%" PRIu64 ":%" PRIu64, i ? "," : " sge=", off + at, n);
		at += n;
	}
}

static void write_hosts(const struct writer *w)
{
	const struct perf_spec *s = w->s;
	uint64_t page = s->has_huge ? HUGE_PAGE : PAGE;
	uint64_t qps = ceil_div(s->qps, s->threads);
	uint64_t len = s->region ? s->region : 2 * s->qps * w->slot;

	fprintf(w->f, "rnicsim-trace 1\nhost h0\nhost h1\n");
	for (unsigned h = 0; h < 2; h++) {
		fprintf(w->f,
			"mr h%u buf va=0x%u00000000000 len=%" PRIu64
			" access=lw,rw,rr,ra fill=zero page=%s\n",
			h, h + 1, align_up(len, page), s->has_huge ? "2MiB" : "4KiB");
		for (uint64_t i = 0; i < s->threads; i++)
			fprintf(w->f,
				"cq h%u scq%" PRIu64 " depth=%" PRIu64 "\ncq h%u rcq%" PRIu64
				" depth=%" PRIu64 "\n",
				h, i, min_u64(MAX_CQ, s->tx_depth * qps + SPARE_CQE), h, i,
				min_u64(MAX_CQ, s->rx_depth * qps + SPARE_CQE));
	}
}

static void write_qps(const struct writer *w)
{
	static const char *const types[] = { "RC", "UC", "UD" };
	const struct perf_spec *s = w->s;

	for (unsigned h = 0; h < 2; h++) {
		for (uint64_t i = 0; i < s->qps; i++) {
			fprintf(w->f,
				"qp h%u q%" PRIu64 " type=%s mtu=%" PRIu64 " sq=%" PRIu64
				" rq=%" PRIu64 " max_sge=%" PRIu64 " inline=%" PRIu64
				" scq=scq%" PRIu64 " rcq=rcq%" PRIu64,
				h, i, types[s->type], s->mtu, s->tx_depth,
				has_peer_recv(s) ? s->rx_depth : 1, s->sges, s->inline_b,
				i % s->threads, i % s->threads);
			if (s->type == QP_UD)
				fprintf(w->f, " qkey=0x%x", QKEY);
			else
				fprintf(w->f, " peer=h%u.q%" PRIu64, 1 - h, i);
			if (s->type == QP_RC)
				fprintf(w->f,
					" timeout=%" PRIu64 " rd_atomic=%" PRIu64
					" dest_rd_atomic=%" PRIu64,
					s->timeout, s->outs, s->outs);
			fprintf(w->f, "\n");
		}
	}
}

/* The part of a post that is the same in all tests. */
static void write_post(struct writer *w, unsigned h, uint64_t i)
{
	static const char *const ops[] = { "RDMA_WRITE", "RDMA_READ", "SEND",
					   "ATOMIC_FETCH_AND_ADD" };
	const struct perf_spec *s = w->s;

	fprintf(w->f, "post h%u.q%" PRIu64 " id=%" PRIu64 " op=%s", h, i, ++w->id[h],
		s->is_cas ? "ATOMIC_CMP_AND_SWP" : ops[s->verb]);
	write_sge(w, source(w, i), s->size);
	if (s->verb != PERF_SEND)
		fprintf(w->f, " remote=buf:%" PRIu64, target(w, i));
	if (s->verb == PERF_ATOMIC)
		fprintf(w->f, s->is_cas ? " compare=0 swap=0" : " add=1");
	if (s->type == QP_UD)
		fprintf(w->f, " dest=h%u.q%" PRIu64, 1 - h, i);
	if (s->size <= s->inline_b && (s->verb == PERF_WRITE || s->verb == PERF_SEND))
		fprintf(w->f, " flags=inline");
	if (s->region)
		fprintf(w->f, " stride=%" PRIu64, s->stride);
	if (s->region && s->verb != PERF_SEND)
		fprintf(w->f, " rstride=%" PRIu64, s->stride);
}

static void write_recv(struct writer *w, unsigned h, uint64_t i, uint64_t repeat)
{
	const struct perf_spec *s = w->s;

	fprintf(w->f, "recv h%u.q%" PRIu64 " id=%" PRIu64, h, i, ++w->id[h]);
	write_sge(w, target(w, i), s->size + (s->type == QP_UD ? GRH_LEN : 0));
	fprintf(w->f, " repeat=%" PRIu64 "\n", repeat);
}

static void write_ping_pong(struct writer *w)
{
	const struct perf_spec *s = w->s;

	for (unsigned h = 0; h < 2; h++) {
		write_post(w, h, 0);
		fprintf(w->f, " repeat=%" PRIu64 " stamp=yes poll=buf:%" PRIu64 " lag=%u\n",
			s->iters, target(w, 0) + s->size - 1, 1 - h);
	}
}

/* Each iteration with ids of its own: its receive, and the post that waits for one. */
static void write_send_ping_pong(struct writer *w)
{
	for (uint64_t k = 0; k < w->s->iters; k++) {
		write_recv(w, 0, 0, 1);
		write_recv(w, 1, 0, 1);
		write_post(w, 0, 0);
		if (k)
			fprintf(w->f, " after=%" PRIu64, w->id[0] - 3);
		fprintf(w->f, "\n");
		write_post(w, 1, 0);
		fprintf(w->f, " after=%" PRIu64 "\n", w->id[1] - 1);
	}
}

static void write_requests(struct writer *w)
{
	const struct perf_spec *s = w->s;
	unsigned senders = s->is_bidir ? 2 : 1;

	for (unsigned h = 0; h < senders && has_peer_recv(s); h++)
		for (uint64_t i = 0; i < s->qps; i++)
			write_recv(w, 1 - h, i, s->iters);
	for (unsigned h = 0; h < senders; h++) {
		for (uint64_t i = 0; i < s->qps; i++) {
			write_post(w, h, i);
			fprintf(w->f,
				" repeat=%" PRIu64 " window=%" PRIu64 " signal=%" PRIu64
				" batch=%" PRIu64 "\n",
				s->iters, s->tx_depth, s->cq_mod, s->post_list);
		}
	}
}

void perf_trace_write(const struct perf_spec *s, FILE *f)
{
	struct writer w = {
		.s = s,
		.f = f,
		.slot = align_up(s->size + (s->type == QP_UD ? GRH_LEN : 0), PAGE),
	};

	write_hosts(&w);
	write_qps(&w);
	if (s->drop)
		fprintf(f, "wire h0 h1 drop nth=%" PRIu64 "\n", s->drop);
	if (s->is_lat && s->verb == PERF_WRITE)
		write_ping_pong(&w);
	else if (s->is_lat && s->verb == PERF_SEND)
		write_send_ping_pong(&w);
	else
		write_requests(&w);
}
