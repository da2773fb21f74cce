/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oplog_csv.c - ops.csv and recvs.csv, written as requests end
 */
#include "tools/run/oplog_csv.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 1024u

const char *const milestone_names[] = { "post",      "doorbell",  "sched",   "context", "fetch",
					"issue",     "translate", "request", "payload", "retry",
					"first_bit", "last_bit",  "arrive",  "parse",   "remote",
					"ack",       "cqe",       "poll",    NULL };
_Static_assert(ARRAY_LEN(milestone_names) == OP_MILESTONES + 1, "a name for each milestone");

/* ---- one line ---- */

static char *put_str(char *p, const char *s)
{
	size_t n = strlen(s);

	memcpy(p, s, n);
	p[n] = ',';
	return p + n + 1;
}

#define TEN_8 100000000u

/* The eight digits of v < 10^8, first digit in the lowest byte: all halved, quartered, ... at once. */
static uint64_t digits_of(uint64_t v)
{
	uint64_t x = v / 10000 | v % 10000 << 32;
	uint64_t q = (x * 10486 >> 20) & 0x0000007f0000007f; /* / 100 */

	x = q | (x - q * 100) << 16;
	q = (x * 103 >> 10) & 0x000f000f000f000f; /* / 10 */
	return q | (x - q * 10) << 8;
}

/* The digits behind the first 'skip' of them, as text; writes eight bytes. */
static char *put_digits(char *p, uint64_t digits, uint64_t skip)
{
	digits = htole64((digits + 0x3030303030303030) >> 8 * skip);
	memcpy(p, &digits, sizeof(digits));
	return p + sizeof(digits) - skip;
}

static char *put_number(char *p, uint64_t v)
{
	uint64_t digits;

	if (v >= TEN_8) {
		p = put_number(p, v / TEN_8);
		return put_digits(p, digits_of(v % TEN_8), 0);
	}
	digits = digits_of(v);
	return put_digits(p, digits, (uint64_t)__builtin_ctzll(digits | 1ull << 56) / 8);
}

static char *put_u64(char *p, uint64_t v)
{
	p = put_number(p, v);
	*p = ',';
	return p + 1;
}

/* Ends the line in place of the last comma. */
static void put_line(FILE *f, char *line, char *end)
{
	end[-1] = '\n';
	fwrite(line, 1, (size_t)(end - line), f);
}

static char *put_names(char *p, const struct oplog_csv *c, const struct op_row *r)
{
	p = put_str(p, c->trace->hosts[r->host].name);
	p = put_str(p, c->trace->qps[r->qp].name);
	return put_u64(p, r->id);
}

/* A completion that was lost has no status. */
static const char *status_of(const struct op_row *r)
{
	return r->fate == OP_LOST ? "LOST" : wc_status_names[r->status];
}

static void write_op(const struct oplog_csv *c, const struct op_row *r)
{
	char line[LINE_BYTES], *p = put_names(line, c, r);

	p = put_u64(p, r->rep);
	p = put_str(p, wr_opcode_names[r->opcode]);
	p = put_u64(p, r->bytes);
	p = put_str(p, status_of(r));
	for (unsigned m = 0; m < OP_MILESTONES; m++)
		p = put_u64(p, r->t_ps[m]);
	p = put_u64(p, r->t_ps[OP_POLL] - r->t_ps[OP_POST]);
	for (unsigned m = 1; m < OP_MILESTONES; m++)
		p = put_u64(p, r->t_ps[m] - r->t_ps[m - 1]);
	put_line(c->ops.f, line, p);
}

static void write_recv(const struct oplog_csv *c, const struct op_row *r)
{
	char line[LINE_BYTES], *p = put_names(line, c, r);

	p = put_str(p, r->opcode == OP_RECV_WITH_IMM ? "RECV_RDMA_WITH_IMM" : "RECV");
	p = put_u64(p, r->bytes);
	p = put_str(p, status_of(r));
	p = put_u64(p, r->t_ps[OP_POST]);
	p = put_u64(p, r->t_ps[OP_CQE]);
	p = put_u64(p, r->t_ps[OP_POLL]);
	put_line(c->recvs.f, line, p);
}

static void take(struct oplog_sink *s, const struct op_row *r)
{
	const struct oplog_csv *c = (const struct oplog_csv *)s;

	if (r->is_recv)
		write_recv(c, r);
	else
		write_op(c, r);
}

/* ---- the files ---- */

static bool open_in(struct outfile *o, const char *dir, const char *name, struct err *e)
{
	size_t len = strlen(dir) + strlen(name) + 2;
	char *path = x_calloc(1, len);
	bool ok;

	snprintf(path, len, "%s/%s", dir, name);
	ok = outfile_open(o, path, e);
	free(path);
	return ok;
}

static void write_heads(const struct oplog_csv *c)
{
	fputs("host,qp,id,rep,opcode,bytes,status", c->ops.f);
	for (unsigned m = 0; m < OP_MILESTONES; m++)
		fprintf(c->ops.f, ",t_%s_ps", milestone_names[m]);
	fputs(",latency_ps", c->ops.f);
	for (unsigned m = 1; m < OP_MILESTONES; m++)
		fprintf(c->ops.f, ",stage_%s_ps", milestone_names[m]);
	fputs("\n", c->ops.f);
	fputs("host,qp,id,opcode,bytes,status,t_post_ps,t_cqe_ps,t_poll_ps\n", c->recvs.f);
}

bool oplog_csv_open(struct oplog_csv *c, const char *dir, const struct trace *t, struct err *e)
{
	*c = (struct oplog_csv){ .sink = { .take = take }, .trace = t };
	if (open_in(&c->ops, dir, "ops.csv", e) && open_in(&c->recvs, dir, "recvs.csv", e)) {
		write_heads(c);
		return true;
	}
	oplog_csv_abort(c);
	return false;
}

bool oplog_csv_commit(struct oplog_csv *c, struct err *e)
{
	if (outfile_commit(&c->ops, e) && outfile_commit(&c->recvs, e))
		return true;
	oplog_csv_abort(c);
	return false;
}

void oplog_csv_abort(struct oplog_csv *c)
{
	outfile_abort(&c->ops);
	outfile_abort(&c->recvs);
}
