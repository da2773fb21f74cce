/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_cmd.c - `rnicsim trace info` and `rnicsim trace check`
 */
#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "models/nic.h"
#include "models/trace/trace.h"
#include "tools/trace/trace_out.h"
#include "models/verbs/setup.h"

static const char usage[] = "usage: rnicsim trace info FILE | check FILE | gen [options] | convert "
			    "IN.jsonl[.gz] -o OUT.trace";

/* What is counted in one reading of a trace. Work requests of `repeat=N` count N times. */
struct counts {
	uint64_t records[REC_KINDS];
	uint64_t wrs[WR_OPCODES], bytes[WR_OPCODES];
	uint64_t recv_bytes, n_after, n_at, first_ps, last_ps, n_inline, n_unsignaled;
};

static void count(struct counts *c, const struct trace_record *r)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < r->n_sge; i++)
		bytes += r->sge[i].len;
	c->records[r->kind]++;
	if (r->kind == REC_POST) {
		c->wrs[r->opcode] += r->repeat;
		c->bytes[r->opcode] += r->repeat * bytes;
		c->n_inline += r->flags & WR_INLINE ? r->repeat : 0;
		c->n_unsignaled += r->flags & WR_SIGNALED ? 0 : r->repeat;
	} else if (r->kind == REC_RECV) {
		c->recv_bytes += bytes;
	}
	c->n_after += r->n_after > 0;
	if (r->n_after == 0) {
		uint64_t at = r->at_ps + r->delay_ps;

		c->first_ps = c->n_at ? min_u64(c->first_ps, at) : at;
		c->last_ps = max_u64(c->last_ps, at);
		c->n_at++;
	}
}

/* Read the stream of a trace, for a system 's' made of it or NULL. False with 'e' set on its first mistake. */
static bool read_all(struct trace *t, const struct system *s, struct counts *c, struct err *e)
{
	struct trace_record r;
	int got;

	memset(c, 0, sizeof(*c));
	while ((got = trace_next(t, &r, e)) == 1) {
		count(c, &r);
		if (s && !system_check_record(s, &r, e))
			got = -1;
		trace_record_release(&r);
		if (got < 0)
			break;
	}
	return got == 0;
}

/* Hosts, memory, keys and queues of a trace as a run makes them, but for the bytes of its regions. */
static struct system *set_up(struct trace *t, struct err *e)
{
	enum fill_kind *fills;
	struct system *s;

	if (!system_check_sizes(t, e))
		return NULL;
	fills = x_calloc(t->n_mrs + 1, sizeof(*fills));
	for (uint32_t i = 0; i < t->n_mrs; i++) {
		fills[i] = t->mrs[i].fill;
		t->mrs[i].fill = FILL_KEEP;
	}
	s = system_create(t, e);
	for (uint32_t i = 0; i < t->n_mrs; i++)
		t->mrs[i].fill = fills[i];
	free(fills);
	if (!s || system_connect(s, e))
		return s;
	system_destroy(s);
	return NULL;
}

static uint64_t sum(const uint64_t *v, size_t n)
{
	uint64_t s = 0;

	for (size_t i = 0; i < n; i++)
		s += v[i];
	return s;
}

static void print_setup(const struct trace *t)
{
	static const char *const types[] = { "RC", "UC", "UD" };
	uint32_t by_type[4] = { 0 };
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < t->n_qps; i++)
		by_type[t->qps[i].type]++;
	for (uint32_t i = 0; i < t->n_mrs; i++)
		bytes += t->mrs[i].len;
	printf("hosts      %" PRIu32, t->n_hosts);
	for (uint32_t i = 0; i < t->n_hosts && i < 8; i++)
		printf("%s%s", i ? ", " : ": ", t->hosts[i].name);
	printf("%s\nqps        %" PRIu32, t->n_hosts > 8 ? ", ..." : "", t->n_qps);
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (by_type[i])
			printf("  %s %" PRIu32, types[i], by_type[i]);
	printf("\nmrs        %" PRIu32 "  %" PRIu64 " bytes\n", t->n_mrs, bytes);
	printf("others     %" PRIu32 " PDs, %" PRIu32 " windows, %" PRIu32 " CQs, %" PRIu32
	       " SRQs, %" PRIu32 " wire faults\n",
	       t->n_pds, t->n_mws, t->n_cqs, t->n_srqs, t->n_wires);
}

static void print_stream(const struct trace *t, const struct counts *c)
{
	static const char *const others[] = { "posts",      "receives", "mem",   "modify QP",
					      "modify SRQ", "destroy",  "dereg", "arm" };

	printf("posts      %" PRIu64 " work requests in %" PRIu64 " records, %" PRIu64 " bytes\n",
	       sum(c->wrs, WR_OPCODES), c->records[REC_POST], sum(c->bytes, WR_OPCODES));
	for (int i = 0; i < WR_OPCODES; i++)
		if (c->wrs[i])
			printf("  %-22s %12" PRIu64 " %16" PRIu64 " bytes\n", wr_opcode_names[i],
			       c->wrs[i], c->bytes[i]);
	if (c->n_inline || c->n_unsignaled)
		printf("  inline %" PRIu64 ", unsignaled %" PRIu64 "\n", c->n_inline,
		       c->n_unsignaled);
	printf("receives   %" PRIu64 "  %" PRIu64 " bytes\n", c->records[REC_RECV], c->recv_bytes);
	for (int i = REC_MEM; i < REC_KINDS; i++)
		if (c->records[i])
			printf("%-10s %" PRIu64 "\n", others[i], c->records[i]);
	printf("expects    %" PRIu32 "\n", t->n_expects);
	if (c->n_at)
		printf("times      %" PRIu64 " records at %" PRIu64 " ps to %" PRIu64
		       " ps, %" PRIu64 " after completions\n",
		       c->n_at, c->first_ps, c->last_ps, c->n_after);
}

static int cmd_info(const char *path, struct err *e)
{
	struct counts c;
	struct trace *t = trace_open(path, e);
	bool is_read = t && read_all(t, NULL, &c, e);

	if (is_read) {
		printf("trace      %s\n", path);
		print_setup(t);
		print_stream(t, &c);
	}
	trace_close(t);
	return is_read ? 0 : 2;
}

static int cmd_check(const char *path, struct err *e)
{
	struct counts c;
	struct trace *t = trace_open(path, e);
	struct system *s = t ? set_up(t, e) : NULL;
	bool is_read = s && read_all(t, s, &c, e);

	if (is_read)
		printf("%s: OK: %" PRIu32 " hosts, %" PRIu32 " QPs, %" PRIu32 " MRs, %" PRIu64
		       " posts (%" PRIu64 " work requests), %" PRIu64 " receives, %" PRIu64
		       " other records, %" PRIu32 " expects\n",
		       path, t->n_hosts, t->n_qps, t->n_mrs, c.records[REC_POST],
		       sum(c.wrs, WR_OPCODES), c.records[REC_RECV],
		       sum(c.records + REC_MEM, REC_KINDS - REC_MEM), t->n_expects);
	system_destroy(s);
	trace_close(t);
	return is_read ? 0 : 2;
}

int cmd_trace(int argc, char **argv, struct err *e)
{
	const char *sub = argc > 1 ? argv[1] : "";

	if (strcmp(sub, "gen") == 0)
		return cmd_trace_gen(argc - 1, argv + 1, e);
	if (strcmp(sub, "convert") == 0)
		return cmd_trace_convert(argc - 1, argv + 1, e);
	if (argc == 3 && strcmp(sub, "info") == 0)
		return cmd_info(argv[2], e);
	if (argc == 3 && strcmp(sub, "check") == 0)
		return cmd_check(argv[2], e);
	if (argc > 1 && strcmp(sub, "info") != 0 && strcmp(sub, "check") != 0)
		err_set(e, NULL, 0, "trace: unknown '%s'; allowed: info, check, gen, convert", sub);
	else
		err_set(e, NULL, 0, "%s", usage);
	return 2;
}
