/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_gen.c - `rnicsim trace gen`: a synthetic workload of two hosts
 *
 * h0 posts to h1 over RC QPs in turn; addresses are random in large MRs. A window of W keeps W
 * requests of each QP in flight: each post waits for the completion of the one W before it.
 * Receives for SENDs and immediate data are kept posted ahead of the sends that take them, so that
 * nothing is refused: the load is loss-free. The same options and seed give the same bytes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/trace/trace.h"
#include "tools/trace/trace_out.h"
#include "sim/config.h"
#include "sim/record.h"
#include "sim/rng.h"

#define RECV_AHEAD 64u /* receives kept posted on each QP */
#define ALIGN 64u      /* addresses are multiples of this */
#define MAX_SIZES 16u

struct gen {
	/* options */
	uint64_t count, qps, window, signal, seed, mtu, inline_max, gap_ps, mr_len;
	uint64_t sizes[MAX_SIZES];
	uint32_t n_sizes;
	uint32_t weight[WR_OPCODES], total_weight;
	const char *path;
	/* state */
	FILE *f;
	struct rng rng;
	uint64_t id, recv_id; /* last ids of h0, h1 */
	struct gen_qp {
		uint64_t *ids;   /* of the last 'window' posts, by number % window */
		uint64_t n;      /* posts */
		uint64_t waited; /* id last waited for */
		uint64_t recv_ids[RECV_AHEAD];
		uint64_t n_recv;
	} * qp;
};

/* What `--ops` may name, and the keys that the records of it have. */
static const struct gen_op {
	const char *name;
	enum wr_opcode op;
	bool is_atomic, takes_recv, has_remote;
	const char *more;
} gen_ops[] = {
	{ "write", WR_RDMA_WRITE, false, false, true, "" },
	{ "write_imm", WR_RDMA_WRITE_WITH_IMM, false, true, true, " imm=0x1234" },
	{ "send", WR_SEND, false, true, false, "" },
	{ "send_imm", WR_SEND_WITH_IMM, false, true, false, " imm=0x1234" },
	{ "read", WR_RDMA_READ, false, false, true, "" },
	{ "cas", WR_ATOMIC_CMP_AND_SWP, true, false, true, " compare=0 swap=1" },
	{ "faa", WR_ATOMIC_FETCH_AND_ADD, true, false, true, " add=1" },
};

/* ---- options ---- */

static bool parse_ops(struct gen *g, const char *text, struct err *e)
{
	const char *names[ARRAY_LEN(gen_ops)], *p = text;

	memset(g->weight, 0, sizeof(g->weight));
	g->total_weight = 0;
	for (size_t i = 0; i < ARRAY_LEN(gen_ops); i++)
		names[i] = gen_ops[i].name;
	do {
		size_t n = strcspn(p, "=,"), i = 0;
		uint64_t w = 1;

		while (i < ARRAY_LEN(gen_ops) &&
		       !(strncmp(names[i], p, n) == 0 && names[i][n] == '\0'))
			i++;
		p += n;
		if (i == ARRAY_LEN(gen_ops) ||
		    (record_char(&p, '=') && (!record_number(&p, &w) || w > 1000000)))
			return err_set(e, NULL, 0,
				       "--ops %s: must be a list like write=70,read=30 of write, "
				       "write_imm, send, "
				       "send_imm, read, cas, faa",
				       text);
		g->weight[gen_ops[i].op] += (uint32_t)w;
		g->total_weight += (uint32_t)w;
	} while (record_char(&p, ','));
	if (*p || g->total_weight == 0)
		return err_set(e, NULL, 0,
			       "--ops %s: the weights must be numbers that are not all 0", text);
	return true;
}

static bool parse_sizes(struct gen *g, const char *text, struct err *e)
{
	const char *p = text;

	g->n_sizes = 0;
	do {
		uint64_t *s = &g->sizes[g->n_sizes];

		if (g->n_sizes++ == MAX_SIZES || !record_size(&p, s) || *s > 1ull << 30)
			return err_set(e, NULL, 0,
				       "--size %s: must be a list of up to %u sizes of at most "
				       "1GiB, like 64,4KiB",
				       text, MAX_SIZES);
	} while (record_char(&p, ','));
	return *p == '\0' ? true : err_set(e, NULL, 0, "--size %s: unexpected '%s'", text, p);
}

/* Options that are one number. */
static const struct gen_number {
	const char *name;
	uint32_t offset;
	bool (*parse)(const char *text, uint64_t *v);
	uint64_t def, min, max;
} gen_numbers[] = {
	{ "--count", offsetof(struct gen, count), parse_count, 1000, 1, UINT32_MAX },
	{ "--qps", offsetof(struct gen, qps), parse_count, 1, 1, 65536 },
	{ "--window", offsetof(struct gen, window), parse_count, 16, 1, 4096 },
	{ "--signal", offsetof(struct gen, signal), parse_count, 1, 1, 4096 },
	{ "--seed", offsetof(struct gen, seed), parse_count, 1, 0, UINT64_MAX },
	{ "--mtu", offsetof(struct gen, mtu), parse_bytes, 1024, 256, 4096 },
	{ "--inline", offsetof(struct gen, inline_max), parse_bytes, 0, 0, 512 },
	{ "--gap", offsetof(struct gen, gap_ps), parse_time_ps, 0, 0, PS_PER_S },
	{ "--mr", offsetof(struct gen, mr_len), parse_bytes, 16 * MIB, 4096, 1ull << 40 },
};

/* The names of all options. */
#define N_OPTIONS (ARRAY_LEN(gen_numbers) + 3)
static void option_names(const char *name[N_OPTIONS])
{
	name[0] = "--ops";
	name[1] = "--size";
	name[2] = "-o";
	for (size_t i = 0; i < ARRAY_LEN(gen_numbers); i++)
		name[i + 3] = gen_numbers[i].name;
}

static bool is_option(const char *text)
{
	const char *known[N_OPTIONS];
	bool is_one = false;

	option_names(known);
	for (size_t i = 0; i < N_OPTIONS; i++)
		is_one |= strcmp(known[i], text) == 0;
	return is_one;
}

static bool parse_number_option(struct gen *g, const char *name, const char *text, struct err *e)
{
	const char *known[N_OPTIONS], *near;
	uint64_t v;

	for (size_t i = 0; i < ARRAY_LEN(gen_numbers); i++) {
		const struct gen_number *o = &gen_numbers[i];

		if (strcmp(o->name, name) != 0)
			continue;
		if (!o->parse(text, &v) || v < o->min || v > o->max)
			return err_set(e, NULL, 0, "%s %s: must be %" PRIu64 " to %" PRIu64 "%s",
				       name, text, o->min, o->max,
				       o->parse == parse_time_ps ? " ps, with a unit" : "");
		memcpy((char *)g + o->offset, &v, sizeof(v));
		return true;
	}
	option_names(known);
	near = err_nearest(name, known, N_OPTIONS);
	return err_set(
		e, NULL, 0,
		"trace gen: unknown option '%s'%s%s%s; allowed: --ops --size --count --qps --window "
		"--signal --seed "
		"--mtu --inline --gap --mr -o",
		name, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static bool take_option(struct gen *g, const char *name, const char *text, struct err *e)
{
	if (strcmp(name, "-o") == 0)
		g->path = text;
	else if (strcmp(name, "--ops") == 0)
		return parse_ops(g, text, e);
	else if (strcmp(name, "--size") == 0)
		return parse_sizes(g, text, e);
	else
		return parse_number_option(g, name, text, e);
	return true;
}

static bool check_options(struct gen *g, struct err *e)
{
	uint64_t largest = 8;

	for (uint32_t i = 0; i < g->n_sizes; i++)
		largest = max_u64(largest, g->sizes[i]);
	if (g->mtu & (g->mtu - 1))
		return err_set(e, NULL, 0, "--mtu: must be 256, 512, 1024, 2048 or 4096");
	if (g->signal > g->window)
		return err_set(e, NULL, 0,
			       "--signal %" PRIu64 ": a window of %" PRIu64
			       " would never see a completion; must be 1 to %" PRIu64,
			       g->signal, g->window, g->window);
	if (largest > g->mr_len)
		return err_set(e, NULL, 0, "--mr: must be at least the largest size, %" PRIu64,
			       largest);
	return true;
}

static bool parse_options(struct gen *g, int argc, char **argv, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(gen_numbers); i++)
		memcpy((char *)g + gen_numbers[i].offset, &gen_numbers[i].def, sizeof(uint64_t));
	if (!parse_ops(g, "write", e) || !parse_sizes(g, "64", e))
		return false;
	for (int i = 1; i < argc; i += 2) {
		const char *text = i + 1 < argc ? argv[i + 1] : "";

		if (text[0] == '\0' && is_option(argv[i]))
			return err_set(e, NULL, 0, "trace gen: %s wants a value", argv[i]);
		if (!take_option(g, argv[i], text, e))
			return false;
	}
	return check_options(g, e);
}

/* ---- output ---- */

static const struct gen_op *pick_op(struct gen *g)
{
	uint64_t x = rng_below(&g->rng, g->total_weight);

	for (size_t i = 0; i < ARRAY_LEN(gen_ops); i++) {
		if (x < g->weight[gen_ops[i].op])
			return &gen_ops[i];
		x -= g->weight[gen_ops[i].op];
	}
	sim_check_failed("a weight was picked", __FILE__, __LINE__, NULL);
}

static uint64_t pick_offset(struct gen *g, uint64_t len)
{
	return rng_below(&g->rng, (g->mr_len - len) / ALIGN + 1) * ALIGN;
}

static uint64_t largest_size(const struct gen *g)
{
	uint64_t largest = 0;

	for (uint32_t i = 0; i < g->n_sizes; i++)
		largest = max_u64(largest, g->sizes[i]);
	return largest;
}

static bool needs_receives(const struct gen *g)
{
	for (size_t i = 0; i < ARRAY_LEN(gen_ops); i++)
		if (gen_ops[i].takes_recv && g->weight[gen_ops[i].op])
			return true;
	return false;
}

/* One receive of QP q, in force once the one RECV_AHEAD before it was taken. */
static void put_recv(struct gen *g, uint64_t q)
{
	struct gen_qp *qp = &g->qp[q];
	uint64_t *slot = &qp->recv_ids[qp->n_recv++ % RECV_AHEAD], len = largest_size(g);

	fprintf(g->f, "recv h1.q%" PRIu64 " id=%" PRIu64, q, ++g->recv_id);
	if (len)
		fprintf(g->f, " sge=dst:%" PRIu64 ":%" PRIu64, pick_offset(g, len), len);
	if (*slot)
		fprintf(g->f, " after=%" PRIu64, *slot);
	fputc('\n', g->f);
	*slot = g->recv_id;
}

static void put_setup(struct gen *g)
{
	fprintf(g->f,
		"rnicsim-trace 1\n# rnicsim trace gen: %" PRIu64 " requests, %" PRIu64
		" QPs, window %" PRIu64 ", seed %" PRIu64 "\nhost h0\nhost h1\n",
		g->count, g->qps, g->window, g->seed);
	fprintf(g->f, "mr h0 src va=0x100000000000 len=%" PRIu64 " access=lw fill=inc\n",
		g->mr_len);
	fprintf(g->f, "mr h1 dst va=0x200000000000 len=%" PRIu64 " access=lw,rw,rr,ra fill=zero\n",
		g->mr_len);
	for (int h = 0; h < 2; h++)
		for (uint64_t q = 0; q < g->qps; q++)
			fprintf(g->f,
				"qp h%d q%" PRIu64 " type=RC peer=h%d.q%" PRIu64 " mtu=%" PRIu64
				" sq=%" PRIu64 " inline=%" PRIu64 "\n",
				h, q, 1 - h, q, g->mtu, max_u64(128, 2 * g->window),
				max_u64(64, g->inline_max));
	if (needs_receives(g))
		for (uint64_t q = 0; q < g->qps; q++)
			for (uint32_t i = 0; i < RECV_AHEAD; i++)
				put_recv(g, q);
}

/*
 * The id that post number n of a QP waits for: signaled, and at least as late as the one 'window'
 * before it.
 */
static uint64_t window_id(const struct gen *g, const struct gen_qp *qp)
{
	uint64_t k;

	if (g->gap_ps || qp->n < g->window)
		return 0;
	k = qp->n - g->window;
	k = (k / g->signal + 1) * g->signal - 1; /* the next that is signaled */
	return qp->ids[k % g->window];
}

static void put_post(struct gen *g, uint64_t i)
{
	uint64_t q = i % g->qps, after, size, id = ++g->id;
	struct gen_qp *qp = &g->qp[q];
	const struct gen_op *op = pick_op(g);
	bool is_last = i + g->qps >= g->count,
	     is_signaled = is_last || qp->n % g->signal == g->signal - 1;
	bool is_inline;

	size = op->is_atomic ? 8 : g->sizes[rng_below(&g->rng, g->n_sizes)];
	is_inline = size && size <= g->inline_max && !op->is_atomic && op->op != WR_RDMA_READ;
	if (op->takes_recv)
		put_recv(g, q);
	fprintf(g->f, "post h0.q%" PRIu64 " id=%" PRIu64 " op=%s", q, id, wr_opcode_names[op->op]);
	if (size)
		fprintf(g->f, " sge=src:%" PRIu64 ":%" PRIu64, pick_offset(g, size), size);
	if (op->has_remote)
		fprintf(g->f, " remote=dst:%" PRIu64, pick_offset(g, size));
	fputs(op->more, g->f);
	if (!is_signaled || is_inline)
		fprintf(g->f, " flags=%s%s%s", is_signaled ? "" : "unsignaled",
			!is_signaled && is_inline ? "," : "", is_inline ? "inline" : "");
	after = window_id(g, qp);
	if (after && after != qp->waited)
		fprintf(g->f, " after=%" PRIu64, qp->waited = after);
	if (g->gap_ps && i)
		fprintf(g->f, " at=%" PRIu64 "ps", i * g->gap_ps);
	fputc('\n', g->f);
	qp->ids[qp->n++ % g->window] = id;
	if (is_last)
		fprintf(g->f, "expect h0.q%" PRIu64 " id=%" PRIu64 " status=SUCCESS\n", q, id);
}

int cmd_trace_gen(int argc, char **argv, struct err *e)
{
	struct gen g = { .path = NULL };
	struct trace_out out;
	bool ok;

	if (!parse_options(&g, argc, argv, e) || !trace_out_open(&out, g.path, e))
		return 2;
	g.f = out.f;
	rng_seed(&g.rng, "trace gen", g.seed);
	g.qp = x_calloc(g.qps, sizeof(*g.qp));
	for (uint64_t q = 0; q < g.qps; q++)
		g.qp[q].ids = x_calloc(g.window, sizeof(uint64_t));
	put_setup(&g);
	for (uint64_t i = 0; i < g.count; i++)
		put_post(&g, i);
	ok = trace_out_commit(&out, e);
	for (uint64_t q = 0; q < g.qps; q++)
		free(g.qp[q].ids);
	free(g.qp);
	return ok ? 0 : 2;
}
