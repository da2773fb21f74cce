/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg.h - msg.def expanded to C structs and typed <msg>_push / <msg>_peek, and the codes they carry
 */
#ifndef MODELS_MSG_H
#define MODELS_MSG_H

#include "sim/chan.h"

#define F(ctype, bits, name, doc) ctype name;
#define FA(ctype, n, name, doc) ctype name[n];
#define MSG(name, doc, fields) \
	struct name { \
		fields \
	};
#include "models/msg.def"
#undef MSG
#define MSG(name, doc, fields) CHAN_OF(name)
#include "models/msg.def"
#undef MSG
#undef F
#undef FA

#define OP_NONE 0u /* no oplog row */
#define KEY_PHYS \
	0xffffffffu /* dma_req: a bus address, no translation; not with payload or atomics */

/*
 * CPU_PEEK is a poll that does not wait: it is answered with what is there.
 * CPU_COPY is a store whose 'len' bytes come from memory: from the physical address in data[0..7] (little-endian;
 * the range lies within one 4 KiB frame). Inline data are copied so, in program order, by the one place that
 * touches memory. CPU_MMIO_COPY is a register write of such bytes: a WQE copied from its ring to BlueFlame.
 * CPU_WATCH is a poll that waits until one byte of memory has a value.
 */
enum cpu_kind { CPU_STORE, CPU_MMIO, CPU_POLL, CPU_COPY, CPU_PEEK, CPU_WATCH, CPU_MMIO_COPY };
enum tlp_kind { TLP_MWR, TLP_MRD, TLP_CPLD };

/* What a transfer on the PCIe link is for; statistics are kept for each. */
enum dma_cls {
	DMA_DOORBELL,
	DMA_WQE,
	DMA_RQ_WQE,
	DMA_DBR,
	DMA_QPC,
	DMA_CQC,
	DMA_MPT,
	DMA_MTT,
	DMA_PAYLOAD_READ,
	DMA_PAYLOAD_WRITE,
	DMA_ATOMIC,
	DMA_CQE,
	DMA_EVENT,
	DMA_CLS_COUNT
};

/* Their names, in that order, for statistics of each. */
#define DMA_CLASSES(X) \
	X(doorbell) \
	X(wqe) \
	X(rq_wqe) \
	X(dbr) \
	X(qpc) X(cqc) X(mpt) X(mtt) X(payload_read) X(payload_write) X(atomic) X(cqe) X(event)

/* Access rights of a key (ibv_access_flags), and what a transfer needs. */
enum {
	ACCESS_LOCAL_WRITE = 1,
	ACCESS_REMOTE_WRITE = 2,
	ACCESS_REMOTE_READ = 4,
	ACCESS_REMOTE_ATOMIC = 8,
	ACCESS_MW_BIND = 16,
	ACCESS_FLUSH = 128
};

enum xlate_status {
	XLATE_OK,
	XLATE_BAD_KEY,   /* no such key, or not valid */
	XLATE_BAD_PD,    /* key of another protection domain */
	XLATE_NO_ACCESS, /* right not granted */
	XLATE_OUT_OF_RANGE
};

/*
 * What the atomic unit does: read, modify and write; store 8 bytes (ATOMIC WRITE); read, so that all
 * that was posted before is in memory (FLUSH); the same by a bus address (FLUSH of a whole region).
 */
enum atomic_kind { ATOMIC_RMW, ATOMIC_STORE, ATOMIC_TOUCH, ATOMIC_PUSH };

/* What one half of a QP tells the other: failed, takes requests, is gone without completions. */
enum qp_change { QP_FAILED, QP_OPENED, QP_CLOSED };

/* Which opcodes a job's packets get; First, Middle, Last, Only follow from is_first and is_last. */
enum job_kind {
	JOB_SEND,
	JOB_SEND_INV,
	JOB_WRITE,
	JOB_READ_REQ,
	JOB_CMP_SWAP,
	JOB_FETCH_ADD,
	JOB_FLUSH,
	JOB_ATOMIC_WRITE,
	JOB_READ_RSP,
	JOB_ATOMIC_ACK
};

#endif
