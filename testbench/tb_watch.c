/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_watch.c - rows and completions of a run
 */
#include "testbench/tb_watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/msg.h"
#include "models/verbs.h"

/* On the channel that brings a host's completions. */
struct cqe_tap {
	struct chan_tap tap; /* first member */
	struct tb_watch *w;
	uint32_t host;
};

/* Room for one more of n elements: the array doubles when n is a power of two. */
static void *grown(void *v, uint32_t n, size_t size)
{
	return (n & (n - 1)) == 0 ? x_realloc(v, (n ? 2 * (size_t)n : 1) * size) : v;
}

static void take_row(struct oplog_sink *sink, const struct op_row *row)
{
	struct tb_watch *w = (struct tb_watch *)sink;

	w->rows = grown(w->rows, w->n_rows, sizeof(*w->rows));
	w->rows[w->n_rows++] = *row;
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The QP of another host with this number, as an index in the trace. */
static uint32_t qp_elsewhere(const struct tb_watch *w, uint32_t host, uint32_t qpn)
{
	const struct system *s = w->run->r.system;

	for (uint32_t h = 0; h < s->n_hosts; h++) {
		uint32_t qpi = h == host ? QPI_NONE : nic_qpi(s->hosts[h].nic, qpn);

		if (qpi != QPI_NONE)
			return s->hosts[h].nic->qp[qpi].trace_qp;
	}
	return TRACE_NONE;
}

static void take_cqe(struct chan_tap *tap, const struct chan *c, const void *msg)
{
	const struct cqe_tap *t = (const struct cqe_tap *)(const void *)tap;
	const struct cpu_rsp *rsp = msg;
	const uint8_t *d = rsp->data;
	const struct nic *nic = t->w->run->r.system->hosts[t->host].nic;
	struct tb_watch *w = t->w;
	const struct host *host = &t->w->run->r.system->hosts[t->host];
	uint32_t qpi;
	uint8_t opcode = d[63] >> 4;

	(void)c;
	if (rsp->tag >= verbs_eq_tag(host) || !verbs_peeked(host, rsp->tag, d))
		return; /* an event, a byte in memory, an empty CQ */
	qpi = nic_qpi(nic, be32(d + 56) & 0xffffff);
	w->cqes = grown(w->cqes, w->n_cqes, sizeof(*w->cqes));
	w->cqes[w->n_cqes++] = (struct tb_cqe){
		.host = t->host,
		.qp = qpi == QPI_NONE ? TRACE_NONE : nic->qp[qpi].trace_qp,
		.byte_cnt = be32(d + 44),
		.imm = be32(d + 36),
		.src_qp = qp_elsewhere(t->w, t->host, be32(d + 24) & 0xffffff),
		.has_grh = be32(d + 24) & CQE_HAS_GRH,
		.counter = (uint16_t)(d[60] << 8 | d[61]),
		.opcode = opcode,
		.is_recv = opcode != CQE_REQ && opcode != CQE_REQ_ERR,
		.is_error = opcode == CQE_REQ_ERR || opcode == CQE_RESP_ERR,
	};
}

void tb_watch(struct tb_watch *w, struct tb_run *t)
{
	struct sim *s = &t->r.sim;

	*w = (struct tb_watch){ .sink.take = take_row, .run = t };
	oplog_attach(t->r.system->oplog, &w->sink);
	for (uint32_t h = 0; h < t->trace->n_hosts; h++) {
		struct cqe_tap *tap = sim_alloc(s, 1, sizeof(*tap));
		char name[32];

		snprintf(name, sizeof(name), "host%" PRIu32 ".workload", h);
		*tap = (struct cqe_tap){ .tap.popped = take_cqe, .w = w, .host = h };
		chan_attach(netlist_chan(netlist_find(s, name), "cpu_rsp"), &tap->tap);
	}
}

void tb_watch_release(struct tb_watch *w)
{
	free(w->rows);
	free(w->cqes);
	memset(w, 0, sizeof(*w));
}
