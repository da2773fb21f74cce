/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_convert.c - `rnicsim trace convert`: verbs calls recorded as JSON lines to a trace
 *
 * The recording is one program that drives all endpoints, so the order of its lines is the
 * program's order. What the program did after it saw a completion must stay after it: every record
 * waits for the completions polled before it that neither its queue's earlier records nor the other
 * completions it waits for already imply. Times are not kept, but for pauses when asked. Work
 * request ids repeat in recordings: records are numbered anew and keep them as wrid=. What a
 * completion said becomes an `expect`.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/trace/trace_convert.h"
#include "tools/trace/trace_out.h"
#include "sim/config.h"

static const char usage[] =
	"usage: rnicsim trace convert IN.jsonl[.gz] -o OUT.trace[.gz] [--gaps TIME] "
	"[--final ENDPOINT=IMAGE]...";

/* ---- what a record waits for ---- */

static struct conv_queue *queue_at(struct conv *c, uint32_t i)
{
	return &c->qp[i / 2].queue[i % 2];
}

/* The queue whose completion was polled last among those not covered; 2 * n_qp = none. */
static uint32_t latest(struct conv *c, const uint32_t *covered)
{
	uint32_t best = 2 * c->n_qp;

	for (uint32_t i = 0; i < 2 * c->n_qp; i++)
		if (queue_at(c, i)->last.index > covered[i] &&
		    (best == 2 * c->n_qp ||
		     queue_at(c, i)->polled_at > queue_at(c, best)->polled_at))
			best = i;
	return best;
}

static void put_id(struct conv *c, uint32_t ep, uint32_t queue, const char *lead)
{
	uint32_t other = c->qp[queue / 2].ep;

	if (other == ep)
		fprintf(c->f, "%s%" PRIu64, lead, queue_at(c, queue)->last.id);
	else
		fprintf(c->f, "%sh%s:%" PRIu64, lead, c->ep[other].name,
			queue_at(c, queue)->last.id);
}

void conv_put_when(struct conv *c, uint32_t ep, struct conv_qp *q)
{
	uint32_t nq = 2 * c->n_qp, n = 0, i;
	uint32_t *covered = x_calloc(nq, sizeof(*covered)),
		 *nothing = x_calloc(nq, sizeof(*nothing));
	uint64_t pause_ns = c->slept_ns - c->slept_at_poll;

	if (q)
		memcpy(covered, q->known, nq * sizeof(*covered));
	for (; (i = latest(c, covered)) < nq; n++) {
		const struct conv_wr *w = &queue_at(c, i)->last;

		put_id(c, ep, i, n ? "," : " after=");
		for (uint32_t k = 0; k < nq; k++)
			covered[k] = w->past[k] > covered[k] ? w->past[k] : covered[k];
		covered[i] = w->index;
	}
	if (pause_ns && !c->has_polled)
		fprintf(c->f, " at=%" PRIu64 "ns", pause_ns);
	if (pause_ns && c->has_polled) {
		if (n == 0)
			put_id(c, ep, latest(c, nothing), " after=");
		fprintf(c->f, " delay=%" PRIu64 "ns", pause_ns);
	}
	if (n > MAX_AFTER)
		record_err(&c->rec, c->e,
			   "this call waits for %" PRIu32 " completions; a record can for %d", n,
			   MAX_AFTER);
	for (i = 0; q && i < nq; i++)
		q->known[i] = queue_at(c, i)->last.index;
	fputc('\n', c->f);
	free(covered);
	free(nothing);
}

void conv_put_wait(struct conv *c, struct conv_qp *q, int side, struct conv_wr w)
{
	struct conv_queue *k = &q->queue[side];

	if (k->first + k->n == k->cap) {
		if (k->n)
			memmove(k->wait, k->wait + k->first, k->n * sizeof(*k->wait));
		k->first = 0;
		if (k->n == k->cap) {
			k->cap = k->cap ? 2 * k->cap : 16;
			k->wait = x_realloc(k->wait, k->cap * sizeof(*k->wait));
		}
	}
	w.index = ++k->n_signaled;
	w.past = x_calloc(2 * c->n_qp, sizeof(*w.past));
	for (uint32_t i = 0; i < 2 * c->n_qp; i++)
		w.past[i] = queue_at(c, i)->last.index;
	k->wait[k->first + k->n++] = w;
}

/* ---- completions ---- */

static void add_mask(struct conv *c, uint32_t ep, uint64_t va)
{
	if ((c->n_mask & (c->n_mask - 1)) == 0)
		c->mask = x_realloc(c->mask,
				    (c->n_mask ? 2 * (size_t)c->n_mask : 1) * sizeof(*c->mask));
	c->mask[c->n_mask++] = (struct conv_mask){ ep, va };
}

static void on_poll(struct conv *c)
{
	const json_t *wc = json_object_get(c->call, "wc");
	const char *cq = conv_str(c, c->call, "cq");
	char *end;
	uint64_t number = strtoull(cq, &end, 10), wr_id = conv_u64(c, wc, "wr_id"),
		 status = conv_u64(c, wc, "status_code");
	struct conv_queue *k;
	struct conv_qp *q;
	uint32_t i, qp = 0;

	while (qp < c->n_qp && c->qp[qp].number != number)
		qp++;
	if (qp == c->n_qp || status >= WC_STATUSES) {
		record_err(&c->rec, c->e, "no CQ '%.20s', or a status that is not known", cq);
		return;
	}
	q = &c->qp[qp];
	k = &q->queue[strcmp(end, ".recv") == 0];
	for (i = k->first; i < k->first + k->n && k->wait[i].wr_id != wr_id; i++)
		;
	if (i == k->first + k->n) {
		fprintf(c->f, "# a completion of wr_id %" PRIu64 ", which is not signaled\n",
			wr_id);
		return;
	}
	free(k->last.past);
	k->last = k->wait[i];
	memmove(&k->wait[k->first + 1], &k->wait[k->first], (i - k->first) * sizeof(*k->wait));
	k->first++;
	k->n--;
	k->polled_at = c->rec.line;
	c->slept_at_poll = c->slept_ns;
	c->has_polled = true;
	if (k->last.grh_va && status != WC_WR_FLUSH_ERR)
		add_mask(c, q->ep, k->last.grh_va);
	fprintf(c->f, "expect h%s.q%" PRIu64 " id=%" PRIu64 " status=%s\n", c->ep[q->ep].name,
		q->number, k->last.id, wc_status_names[status]);
}

/* ---- other calls ---- */

/* A number in hex, as the bytes of a little-endian word. */
static void put_le(struct conv *c, const char *text)
{
	uint64_t n = strtoull(text ? text : "", NULL, 16);

	for (uint32_t i = 0; i < 8; i++)
		fprintf(c->f, "%02x", (unsigned)(n >> 8 * i & 255));
}

static void on_mem(struct conv *c)
{
	const json_t *list = json_object_get(c->call, "u64_host_le"), *v;
	uint32_t ep = conv_ep(c, c->call);
	size_t i;

	fprintf(c->f, "mem h%s m0:%" PRIu64, c->ep[ep].name, conv_u64(c, c->call, "offset"));
	if (list) {
		fputs(" hex:", c->f);
		json_array_foreach(list, i, v) put_le(c, json_string_value(v));
	} else {
		fprintf(c->f, " set:0x%" PRIx64 ":%" PRIu64, conv_u64(c, c->call, "value"),
			conv_u64(c, c->call, "length"));
	}
	conv_put_when(c, ep, NULL);
}

static void on_modify(struct conv *c)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };
	struct conv_qp *q = conv_qp(c, c->call);
	const char *name = conv_str(c, c->call, "state");

	for (uint32_t i = 0; q && i < ARRAY_LEN(names); i++) {
		if (strcmp(names[i], name) != 0 || conv_u64(c, c->call, "ret"))
			continue;
		if (!conv_is_setup_step(q, i)) {
			fprintf(c->f, "modify h%s.q%" PRIu64 " state=%s", c->ep[q->ep].name,
				q->number, name);
			conv_put_when(c, q->ep, q);
		}
		q->state = i;
	}
}

static void on_destroy(struct conv *c)
{
	struct conv_qp *q = conv_qp(c, c->call);

	if (!q || conv_u64(c, c->call, "ret"))
		return;
	fprintf(c->f, "destroy h%s.q%" PRIu64, c->ep[q->ep].name, q->number);
	conv_put_when(c, q->ep, q);
}

static void on_dereg(struct conv *c)
{
	uint64_t rkey = conv_u64(c, c->call, "rkey");

	for (uint32_t i = 0; i < c->n_mr; i++)
		if (rkey && c->mr[i].rkey == rkey) {
			fprintf(c->f, "dereg h%s m%" PRIu32, c->ep[c->mr[i].ep].name,
				c->mr[i].number);
			conv_put_when(c, c->mr[i].ep, NULL);
			return;
		}
	record_err(&c->rec, c->e, "dereg_mr of a region that is not known");
}

static void on_notify(struct conv *c)
{
	const char *cq = conv_str(c, c->call, "cq");
	char *end;
	uint64_t number = strtoull(cq, &end, 10);

	for (uint32_t i = 0; i < c->n_qp; i++)
		if (c->qp[i].number == number) {
			fprintf(c->f, "arm h%s.c%" PRIu64 "%s solicited=%s",
				c->ep[c->qp[i].ep].name, number,
				strcmp(end, ".recv") == 0 ? "r" : "s",
				conv_u64(c, c->call, "solicited_only") ? "yes" : "no");
			conv_put_when(c, c->qp[i].ep, NULL);
		}
}

static void on_note(struct conv *c)
{
	const char *text = conv_str(c, c->call, "text");

	fputs("# ", c->f);
	for (; *text; text++)
		fputc(*text == '\n' || *text == '\r' ? ' ' : *text, c->f);
	fputc('\n', c->f);
}

/* ---- the two passes ---- */

static void on_nothing(struct conv *c)
{
	(void)c;
}

static const struct {
	const char *call;
	conv_fn *setup, *stream;
} calls[] = {
	{ "post_send", on_nothing, conv_on_post_send },
	{ "post_send_ret", on_nothing, conv_on_post_send_ret },
	{ "wr_post", on_nothing, conv_on_wr_post },
	{ "post_recv", on_nothing, conv_on_post_recv },
	{ "poll_cq", on_nothing, on_poll },
	{ "endpoint", conv_set_endpoint, on_nothing },
	{ "reg_mr", conv_set_mr, on_nothing },
	{ "create_qp", conv_set_qp, on_nothing },
	{ "modify_qp", conv_set_modify, on_modify },
	{ "create_ah", conv_set_ah, on_nothing },
	{ "alloc_mw", conv_set_mw, on_nothing },
	{ "req_notify_cq", conv_set_notify, on_notify },
	{ "destroy_qp", on_nothing, on_destroy },
	{ "dereg_mr", on_nothing, on_dereg },
	{ "mem_write", on_nothing, on_mem },
	{ "mem_set", on_nothing, on_mem },
	{ "note", on_nothing, on_note },
	{ "scenario", on_nothing, on_nothing },
	{ "check", on_nothing, on_nothing },
	{ "end", on_nothing, on_nothing },
	{ "query_qp", on_nothing, on_nothing },
	{ "atomic_result", on_nothing, on_nothing },
	{ "grh", on_nothing, on_nothing },
	{ "poll_cq_timeout", on_nothing, on_nothing },
	{ "comp_event", on_nothing, on_nothing },
	{ "async_event", on_nothing, on_nothing },
};

/*
 * A pause of the program, once it has begun to post, before a call that does not itself wait for
 * something.
 */
static void keep_pause(struct conv *c, const char *call)
{
	uint64_t now = conv_u64(c, c->call, "t_ns"), gap = now > c->last_ns ? now - c->last_ns : 0;

	if (c->gaps_ns && c->has_begun && gap >= c->gaps_ns && strncmp(call, "poll_cq", 7) != 0 &&
	    strcmp(call, "comp_event") != 0)
		c->slept_ns += gap;
	c->has_begun =
		c->has_begun || strncmp(call, "post_", 5) == 0 || strcmp(call, "wr_post") == 0;
	c->last_ns = now;
}

static bool do_line(struct conv *c, const char *line, bool is_stream)
{
	const char *call;
	size_t i = 0;

	c->call = conv_load(c, line);
	if (!c->call)
		return false;
	call = conv_str(c, c->call, "call");
	while (i < ARRAY_LEN(calls) && strcmp(calls[i].call, call) != 0)
		i++;
	if (i == ARRAY_LEN(calls)) {
		record_err(&c->rec, c->e, "call '%.40s' is not converted", call);
	} else if (is_stream) {
		keep_pause(c, call);
		calls[i].stream(c);
	} else {
		calls[i].setup(c);
	}
	json_decref(c->call);
	return !c->e->is_set;
}

static bool pass(struct conv *c, const char *path, bool is_stream)
{
	char *line;
	size_t len;
	int got = 0;

	if (!record_open(&c->rec, path, c->e))
		return false;
	while (!c->e->is_set && (got = record_next_line(&c->rec, &line, &len, c->e)) == 1)
		if (len)
			do_line(c, line, is_stream);
	return got == 0 && !c->e->is_set;
}

static bool convert(struct conv *c, const char *in)
{
	bool ok = pass(c, in, false);

	record_close(&c->rec);
	if (!ok)
		return false;
	if (c->n_qp == 0)
		return err_set(
			c->e, in, 0,
			"no queue pair is created in it; allowed: verbs calls recorded as JSON lines");
	fputs("rnicsim-trace 1\n", c->f);
	conv_put_setup(c);
	for (uint32_t i = 0; i < c->n_qp; i++) {
		c->qp[i].state = 0;
		c->qp[i].known = x_calloc(2 * c->n_qp, sizeof(uint32_t));
	}
	ok = pass(c, in, true);
	record_close(&c->rec);
	if (ok)
		conv_put_final(c);
	return !c->e->is_set;
}

static void conv_free(struct conv *c)
{
	for (uint32_t i = 0; i < 2 * c->n_qp; i++) {
		struct conv_queue *k = queue_at(c, i);

		for (uint32_t w = 0; w < k->n; w++)
			free(k->wait[k->first + w].past);
		free(k->wait);
		free(k->last.past);
	}
	for (uint32_t i = 0; i < c->n_qp; i++)
		free(c->qp[i].known);
	free(c->mr);
	free(c->mw);
	free(c->qp);
	free(c->mask);
	json_decref(c->pending);
}

static bool take_option(struct conv *c, const char *name, const char *text, const char **out,
			struct err *e)
{
	uint64_t ps;

	if (strcmp(name, "-o") == 0) {
		*out = text;
		return true;
	}
	if (strcmp(name, "--gaps") == 0) {
		if (!parse_time_ps(text, &ps) || ps < PS_PER_NS)
			return err_set(e, NULL, 0, "--gaps %s: must be a time of 1ns or more",
				       text);
		c->gaps_ns = ps / PS_PER_NS;
		return true;
	}
	if (strcmp(name, "--final") == 0) {
		if (!strchr(text, '=') || c->n_final == CONV_MAX_EP)
			return err_set(e, NULL, 0,
				       "--final %s: must be ENDPOINT=IMAGE, at most %u of them",
				       text, CONV_MAX_EP);
		c->final[c->n_final++] = text;
		return true;
	}
	return err_set(e, NULL, 0,
		       "trace convert: unknown option '%s'; allowed: -o, --gaps, --final", name);
}

static bool parse_options(struct conv *c, int argc, char **argv, const char **in, const char **out,
			  struct err *e)
{
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] != '-') {
			if (*in)
				return err_set(
					e, NULL, 0,
					"trace convert: one recording at a time; '%s' is one too many",
					argv[i]);
			*in = argv[i];
			continue;
		}
		if (i + 1 == argc || argv[i + 1][0] == '\0')
			return err_set(e, NULL, 0, "trace convert: %s wants a value", argv[i]);
		if (!take_option(c, argv[i], argv[i + 1], out, e))
			return false;
		i++;
	}
	return *in ? true : err_set(e, NULL, 0, "%s", usage);
}

bool trace_convert(const char *in, FILE *to, struct err *e)
{
	struct conv c = { .e = e, .f = to };
	bool ok = convert(&c, in);

	conv_free(&c);
	return ok;
}

int cmd_trace_convert(int argc, char **argv, struct err *e)
{
	struct conv c = { .e = e };
	const char *in = NULL, *to = NULL;
	struct trace_out out;
	bool ok;

	if (!parse_options(&c, argc, argv, &in, &to, e) || !trace_out_open(&out, to, e))
		return 2;
	c.f = out.f;
	ok = convert(&c, in);
	if (ok)
		ok = trace_out_commit(&out, e);
	else
		trace_out_abort(&out);
	conv_free(&c);
	return ok ? 0 : 2;
}
