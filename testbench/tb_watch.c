/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_watch.c - rows and completions of a run
 */
#include "testbench/tb_watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/cqe_compress.h"
#include "models/msg.h"
#include "models/verbs/verbs.h"

/* A compressed block whose arrays are still to come. */
struct block_seen {
	uint8_t title[64];
	uint32_t left, done;
};

/* On the channel that brings a host's completions. */
struct cqe_tap {
	struct chan_tap tap; /* first member */
	struct tb_watch *w;
	struct block_seen *block; /* by CQ */
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

/* The status that an error's syndrome stands for (rdma-core providers/mlx5/cq.c, mlx5_handle_error_cqe). */
static uint8_t status_of(uint8_t syndrome)
{
	static const uint8_t status[256] = {
		[0x01] = WC_LOC_LEN_ERR,    [0x02] = WC_LOC_QP_OP_ERR,
		[0x04] = WC_LOC_PROT_ERR,   [0x05] = WC_WR_FLUSH_ERR,
		[0x06] = WC_MW_BIND_ERR,    [0x10] = WC_BAD_RESP_ERR,
		[0x11] = WC_LOC_ACCESS_ERR, [0x12] = WC_REM_INV_REQ_ERR,
		[0x13] = WC_REM_ACCESS_ERR, [0x14] = WC_REM_OP_ERR,
		[0x15] = WC_RETRY_EXC_ERR,  [0x16] = WC_RNR_RETRY_EXC_ERR,
		[0x22] = WC_REM_ABORT_ERR,
	};

	return status[syndrome] ? status[syndrome] : WC_GENERAL_ERR;
}

/* A CQE, or (mini: not NULL) one of the completions under title 'd'. */
static void add_cqe(const struct cqe_tap *t, const uint8_t *d, const uint8_t *mini, uint32_t done)
{
	const struct nic *nic = t->w->run->r.system->hosts[t->host].nic;
	struct tb_watch *w = t->w;
	uint32_t qpi = nic_qpi(nic, be32(d + 56) & 0xffffff);
	uint8_t opcode = d[63] >> 4;
	bool is_recv = opcode != CQE_REQ && opcode != CQE_REQ_ERR;
	uint32_t counter = be32(d + 60) >> 16;

	if (mini && !is_recv)
		counter = be32(mini) >> 16;
	else if (mini)
		counter =
			nic->mini_format == MINI_CSUM_STRIDX ? be32(mini) & 0xffff : counter + done;
	w->cqes = grown(w->cqes, w->n_cqes, sizeof(*w->cqes));
	w->cqes[w->n_cqes++] = (struct tb_cqe){
		.host = t->host,
		.qp = qpi == QPI_NONE ? TRACE_NONE : nic->qp[qpi].trace_qp,
		.byte_cnt = be32(mini ? mini + 4 : d + 44),
		.imm = be32(d + 36),
		.src_qp = qp_elsewhere(t->w, t->host, be32(d + 24) & 0xffffff),
		.has_grh = be32(d + 24) & CQE_HAS_GRH,
		.counter = (uint16_t)counter,
		.opcode = opcode,
		.is_recv = is_recv,
		.is_error = opcode == CQE_REQ_ERR || opcode == CQE_RESP_ERR,
		.is_solicited = d[63] >> 1 & 1,
		.status = opcode == CQE_REQ_ERR || opcode == CQE_RESP_ERR ? status_of(d[55])
									  : WC_SUCCESS,
	};
	if (w->completed)
		w->completed(w->arg, &w->cqes[w->n_cqes - 1]);
}

static void take_cqe(struct chan_tap *tap, const struct chan *c, const void *msg)
{
	const struct cqe_tap *t = (const struct cqe_tap *)(const void *)tap;
	const struct cpu_rsp *rsp = msg;
	const struct host *host = &t->w->run->r.system->hosts[t->host];
	struct block_seen *k;

	(void)c;
	if (rsp->tag >= verbs_eq_tag(host))
		return; /* an event, a byte in memory */
	k = &t->block[rsp->tag];
	if (k->left) {
		for (uint32_t i = 0; i < 8 && k->left; i++, k->left--, k->done++)
			add_cqe(t, k->title, rsp->data + (size_t)i * 8, k->done);
	} else if (!verbs_peeked(host, rsp->tag, rsp->data)) {
		return; /* an empty CQ */
	} else if ((rsp->data[63] >> 2 & 3) == 3) {
		memcpy(k->title, rsp->data, sizeof(k->title));
		k->left = be32(rsp->data + 44);
		k->done = 0;
	} else {
		add_cqe(t, rsp->data, NULL, 0);
	}
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
		tap->block = sim_alloc(s, t->r.system->hosts[h].nic->n_cq + 1, sizeof(*tap->block));
		chan_attach(netlist_chan(netlist_find(s, name), "cpu_rsp"), &tap->tap);
	}
}

void tb_watch_release(struct tb_watch *w)
{
	free(w->rows);
	free(w->cqes);
	memset(w, 0, sizeof(*w));
}
