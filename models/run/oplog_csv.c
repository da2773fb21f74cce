/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oplog_csv.c - ops.csv and recvs.csv, written as requests end
 */
#include "models/run/oplog_csv.h"

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

static unsigned digits_of(uint64_t v)
{
	static const uint64_t ten[] = {
		1u,
		10u,
		100u,
		1000u,
		10000u,
		100000u,
		1000000u,
		10000000u,
		100000000u,
		1000000000u,
		10000000000u,
		100000000000u,
		1000000000000u,
		10000000000000u,
		100000000000000u,
		1000000000000000u,
		10000000000000000u,
		100000000000000000u,
		1000000000000000000u,
		10000000000000000000u,
	};
	/* log10(2) = 1233 / 4096 and a little */
	unsigned n = (64u - (unsigned)__builtin_clzll(v | 1)) * 1233 >> 12;

	return n + ((v | 1) >= ten[n]);
}

/* Two digits at a time: lines are numbers for the most part. */
static char *put_u64(char *p, uint64_t v)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	char *end = p + digits_of(v), *at = end;

	for (; v >= 100; v /= 100)
		memcpy(at -= 2, pairs + v % 100 * 2, 2);
	if (v >= 10)
		memcpy(at - 2, pairs + v * 2, 2);
	else
		at[-1] = (char)('0' + v);
	*end = ',';
	return end + 1;
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
