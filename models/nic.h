/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nic.h - what is fixed at set-up and may be read by every block of a NIC: its 'env'
 *
 * The verbs calls fill these before the run; state that changes during a run belongs to one block and is
 * not here (requester: send side of a QP; responder: receive side; cqe_writer: completion queues).
 */
#ifndef MODELS_NIC_H
#define MODELS_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "models/mem.h"
#include "models/oplog.h"
#include "sim/units.h"

#define QPI_NONE UINT32_MAX
#define CQI_NONE UINT32_MAX
#define SRQ_NONE UINT32_MAX
#define CTX_SLOT 512u    /* bytes of host memory for a context */
#define MTT_LEVELS 4u    /* of the translation tables, at most */
#define HDR_TEMPLATE 64u /* Ethernet 14 + IPv6 40 + UDP 8 = 62 */

enum qp_type { QP_RC, QP_UC, QP_UD, QP_XRC };

/* What a port speaks. */
enum port_net { NET_ROCE2, NET_ROCE1, NET_IB, NET_IB_GRH };

/* What a packet looks like: those from ENCAP_IB on have an LRH. */
enum encap { ENCAP_IPV4, ENCAP_IPV6, ENCAP_ROCE1, ENCAP_IB, ENCAP_IB_GRH, ENCAPS };

static inline bool encap_is_ib(uint8_t e)
{
	return e >= ENCAP_IB;
}

/* A network endpoint. */
struct port_addr {
	uint8_t net; /* enum port_net */
	uint8_t mac[6];
	uint8_t ip[16]; /* IPv6, or IPv4 as ::ffff:a.b.c.d */
	bool is_v6;
	bool has_fixed_path; /* sends hop limit 64 and flow label 0, whatever a QP asks for */
	uint8_t lid[2];      /* as on the wire */
	uint8_t gid[16];
};

static inline bool port_is_ib(const struct port_addr *a)
{
	return a->net >= NET_IB;
}

/* A QP's attributes. */
struct qp_attr {
	uint32_t qpn, dest_qpn;  /* 24 bits; dest_qpn of RC, UC */
	uint32_t sq_psn, rq_psn; /* first PSN sent, first expected */
	uint32_t mtu;            /* path MTU, 256..4096 B */
	uint32_t scq, rcq;       /* CQ indices */
	uint32_t srq;            /* SRQ index or SRQ_NONE */
	uint32_t host, trace_qp; /* names in the trace */
	uint16_t pd, pkey;
	uint32_t qkey;
	uint8_t type;                      /* enum qp_type */
	uint8_t access;                    /* ACCESS_REMOTE_* allowed on the QP */
	uint8_t rd_atomic, dest_rd_atomic; /* outstanding READs and ATOMICs sent, accepted */
	uint8_t timeout; /* local ACK timeout = 4.096 us x 2^timeout; 0 = infinite */
	uint8_t retry, rnr_retry, min_rnr;
	bool is_closed; /* takes no requests at the start: not yet in RTR */
	bool is_idle;   /* sends none: not yet in RTS */
	uint8_t sl, prio;
	uint8_t weight;    /* quanta of its turn, 0 = 1 */
	uint64_t rate_bps; /* cap, 0 = none */
	/* rings in host memory */
	uint64_t sq_pa, rq_pa; /* physically contiguous */
	uint64_t
		dbr_pa; /* doorbell record: dword 0 receive, dword 1 send counter (protocol.md 13) */
	uint32_t sq_bb;  /* send ring in WQE basic blocks of 64 B, a power of two, at most 32768 */
	uint32_t rq_wqe; /* receive ring in WQEs, a power of two */
	uint16_t rq_known;  /* of these posted at the start: it was told when the QP came to RTR */
	uint32_t rq_stride; /* bytes of a receive WQE: 16 x a power of two */
	uint32_t max_sge;
	uint64_t qpc_pa; /* the context's backing store: CTX_SLOT for sender, receiver, resources */
	/* packets */
	uint8_t hdr[HDR_TEMPLATE]; /* all before the BTH, but for lengths and checksum */
	uint8_t hdr_len;
	uint8_t encap; /* enum encap */
	/* observation: oplog handle of the request in each slot, written at the post */
	uint32_t *sq_op; /* by basic block index & (sq_bb - 1) */
	uint32_t *rq_op; /* by WQE index & (rq_wqe - 1) */
};

/*
 * A shared receive queue's attributes. Its WQEs begin with a next segment (16 B), whose index at
 * byte 2 links them: posted ones first, in order, then free ones.
 */
struct srq_attr {
	uint32_t srqn;
	uint32_t n_wqe;  /* a power of two, at most 65536; one at least is not posted */
	uint32_t stride; /* bytes of a WQE: 16 x a power of two */
	uint32_t max_sge;
	uint16_t pd;
	uint64_t pa;        /* physically contiguous */
	uint64_t dbr_pa;    /* doorbell record: dword 0 counts the WQEs posted, 16 bits */
	uint32_t trace_srq; /* name in the trace */
	uint32_t limit;     /* an event says when fewer are posted, once; 0 = none */
	uint32_t *op;       /* observation: oplog handle, by WQE index */
};

/* A completion queue's attributes. */
struct cq_attr {
	uint32_t cqn;
	uint32_t depth;  /* CQEs, a power of two */
	uint64_t pa;     /* ring, page aligned, in frames of its own */
	uint64_t dbr_pa; /* dword 0 set_ci, dword 1 arm */
	uint64_t cqc_pa; /* backing store of the context, CTX_SLOT */
	uint32_t moderate_count;
	uint64_t moderate_ps;
	bool is_event;
};

struct nic {
	const char *name; /* "nic0" */
	struct port_addr addr;
	bool has_plain_qkey; /* sends a Q_Key with its high bit set as it is */
	bool takes_long_ud;  /* a datagram over the MTU uses a PSN, "succeeds" and is not sent */
	bool refuses_misaligned; /* posts of atomics whose remote address is not a multiple of 8 */
	struct qp_attr *qp;
	uint32_t n_qp;
	struct cq_attr *cq;
	uint32_t n_cq;
	struct srq_attr *srq;
	uint32_t n_srq;
	uint32_t *qp_dir[4096]; /* qpi + 1 by QPN: [qpn >> 12][qpn & 4095]; NULL = none */
	uint8_t mini_format;    /* enum mini_format (cqe_compress.h): of compressed receives */
	uint64_t eq_pa;         /* the event queue's ring; 0 = none */
	uint32_t eq_depth;      /* EQEs, a power of two */
	uint64_t mpt_pa;        /* memory protection table: entries of 64 B by key >> 8 (mtt.h) */
	uint32_t mpt_entries;
	uint64_t walk_pa
		[MTT_LEVELS]; /* tables above the MTT, by level from 1 (mtt_table.c); 0 = none */
	struct oplog *oplog;
	struct mem *mem; /* the host's memory; for host_mem and set-up only */
};

/* Index of a QPN on this NIC, or QPI_NONE. */
static inline uint32_t nic_qpi(const struct nic *n, uint32_t qpn)
{
	const uint32_t *d = n->qp_dir[qpn >> 12 & 4095];

	return d && d[qpn & 4095] ? d[qpn & 4095] - 1 : QPI_NONE;
}

/* ---- the mlx5 shape (protocol.md section 13; rdma-core mlx5dv.h) ---- */

#define WQE_BB 64u /* send WQE basic block */
#define WQE_MAX_BB 16u
#define WQE_SEG 16u
#define WQE_INLINE 0x80000000u  /* byte count flag of an inline segment */
#define WQE_SEG_MAX 0x80000000u /* bytes of a data segment whose byte count is 0 */
#define WQE_INVALID_LKEY 0x100u /* ends a receive WQE's list early */

enum {
	MLX5_OPCODE_NOP = 0x00,
	MLX5_OPCODE_SEND_INVAL = 0x01,
	MLX5_OPCODE_RDMA_WRITE = 0x08,
	MLX5_OPCODE_RDMA_WRITE_IMM = 0x09,
	MLX5_OPCODE_SEND = 0x0a,
	MLX5_OPCODE_SEND_IMM = 0x0b,
	MLX5_OPCODE_RDMA_READ = 0x10,
	MLX5_OPCODE_ATOMIC_CS = 0x11,
	MLX5_OPCODE_ATOMIC_FA = 0x12,
	/* declared here; the numbers of the first two are mlx4's, of the others those of the BTH */
	MLX5_OPCODE_BIND_MW = 0x18,
	MLX5_OPCODE_LOCAL_INVAL = 0x1b,
	MLX5_OPCODE_FLUSH = 0x1c,
	MLX5_OPCODE_ATOMIC_WRITE = 0x1d,
	MLX5_OPCODE_UMR = 0x25
};

enum {
	MLX5_FENCE = 0x80, /* fm_ce_se bits */
	MLX5_FENCE_SMALL = 0x20,
	MLX5_CQE_UPDATE = 0x08,
	MLX5_SOLICITED = 0x02
};

enum {
	CQE_REQ = 0,
	CQE_RESP_WR_IMM = 1,
	CQE_RESP_SEND = 2,
	CQE_RESP_SEND_IMM = 3,
	CQE_RESP_SEND_INV = 4,
	CQE_REQ_ERR = 13,
	CQE_RESP_ERR = 14,
	CQE_INVALID = 15
};

enum {
	CQE_SYNDROME_LOCAL_LENGTH = 0x01,
	CQE_SYNDROME_LOCAL_QP_OP = 0x02,
	CQE_SYNDROME_LOCAL_PROT = 0x04,
	CQE_SYNDROME_WR_FLUSH = 0x05,
	CQE_SYNDROME_MW_BIND = 0x06,
	CQE_SYNDROME_BAD_RESP = 0x10,
	CQE_SYNDROME_LOCAL_ACCESS = 0x11,
	CQE_SYNDROME_REMOTE_INVAL_REQ = 0x12,
	CQE_SYNDROME_REMOTE_ACCESS = 0x13,
	CQE_SYNDROME_REMOTE_OP = 0x14,
	CQE_SYNDROME_RETRY_EXC = 0x15,
	CQE_SYNDROME_RNR_RETRY_EXC = 0x16,
	CQE_SYNDROME_REMOTE_ABORTED = 0x22
};

#define CQE_HAS_GRH (1u << 28) /* flags_rqpn of a CQE: beside the sender's QPN */

/* Types of an EQE (mlx5_ifc): a CQ has a completion; is in error; an SRQ fell below its limit. */
enum { EQE_COMP = 0x00, EQE_CQ_ERROR = 0x04, EQE_SRQ_LIMIT = 0x14, EQE_TYPES = 0x20 };
#define EQE_BYTES 64u
#define MSIX_ADDR 0xfffffffffee00000ull /* no memory: a write there interrupts the CPU */

/*
 * The BAR: one UAR page a core. In a page: the CQ doorbell, the command register, and two BlueFlame
 * buffers used in turn.
 */
#define UAR_PAGE 0x1000u
#define UAR_PAGES 256u
#define UAR_CQ_DOORBELL 0x20u
#define UAR_COMMAND 0x40u /* declared, in place of mlx5's command queue: qpn24 state8, psn32 */
#define UAR_BLUEFLAME 0x800u
#define UAR_BLUEFLAME_BYTES 0x100u /* of one */

/* Memory protection table entry, 64 B, big-endian (a subset of mlx5's mkey context, declared layout). */
enum {
	MPT_FLAGS = 0,    /* 1 B: MPT_VALID, MPT_WINDOW, MPT_TYPE_1 */
	MPT_ACCESS = 1,   /* 1 B: ACCESS_* */
	MPT_PD = 2,       /* 2 B */
	MPT_KEY8 = 4,     /* 1 B: low byte of the key */
	MPT_LOG_PAGE = 5, /* 1 B: log2 of the page size */
	MPT_START = 8,    /* 8 B: first virtual address */
	MPT_LEN = 16,     /* 8 B */
	MPT_MTT = 24,     /* 8 B: bus address of the first MTT entry (8 B each: page address | 3) */
	MPT_LKEY = 32,    /* 4 B: a bound window: key of its region */
	MPT_SIZE = 64
};
#define MPT_VALID 1u  /* what its key allows can be done */
#define MPT_WINDOW 2u /* a memory window; not valid: not bound */
#define MPT_TYPE_1 4u /* of type 1 */

#define MTT_ENTRY 8u
#define MTT_PRESENT 3ull /* rd_en, wr_en */

#endif
