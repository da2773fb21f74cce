/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_property_hardware.c - the judge of random traces notices hardware that is wrong: runs that are spoilt before
 */
#include <CUnit/CUnit.h>
#include <stdio.h>

#include "models/cqe_writer.h"
#include "models/requester.h"
#include "models/responder.h"
#include "models/wqe_fetch.h"
#include "testbench/tb_fault.h"

static struct block *block_of(struct tb_case *c, uint32_t host, const char *name)
{
	char path[32];

	snprintf(path, sizeof(path), "nic%u.%s", host, name);
	return netlist_find(&c->run.r.sim, path);
}

/* Attached to a channel of a block: the block forgets something at each message. */
struct spoiler {
	struct chan_tap tap; /* first member */
	struct block *b;
	struct nic *nic;
};

static void spoil_at(struct tb_case *c, const char *block, const char *port, struct chan_tap tap)
{
	static struct spoiler spoilers[2];

	for (uint32_t h = 0; h < 2; h++) {
		spoilers[h] = (struct spoiler){ .tap = tap,
						.b = block_of(c, h, block),
						.nic = c->run.r.system->hosts[h].nic };
		chan_attach(netlist_chan(spoilers[h].b, port), &spoilers[h].tap);
	}
}

static void *spoilt(struct chan_tap *t)
{
	return ((struct spoiler *)(void *)t)->b;
}

static struct nic *nic_of(struct chan_tap *t)
{
	return ((struct spoiler *)(void *)t)->nic;
}

static void forget_nak(struct chan_tap *t, const struct chan *ch, const void *msg)
{
	struct responder *r = spoilt(t);

	(void)ch;
	r->qp[((const struct rx_pkt *)msg)->qpi].is_nak_sent = false;
}

static void nak_every_packet(struct tb_case *c)
{
	spoil_at(c, "responder", "rx", (struct chan_tap){ .pushed = forget_nak });
}

static void lift_limit(struct chan_tap *t, const struct chan *ch, const void *msg)
{
	struct requester *r = spoilt(t);
	struct req_qp *q = &r->qp[((const struct tx_job *)msg)->qpi];

	(void)ch;
	q->lsn = psn_max(q->lsn, q->ssn);
}

/* Behind each message one more is the probe. */
static void heed_no_credits(struct tb_case *c)
{
	spoil_at(c, "requester", "job", (struct chan_tap){ .pushed = lift_limit });
}

static void arm_for_any(struct chan_tap *t, const struct chan *ch, const void *msg)
{
	struct cqe_writer *w = spoilt(t);
	const struct cq_arm *m = msg;

	(void)ch;
	if (w->cq[m->cqi].armed)
		w->cq[m->cqi].armed = CQ_ARMED;
}

static void wake_for_all(struct tb_case *c)
{
	spoil_at(c, "cqe_writer", "arm", (struct chan_tap){ .popped = arm_for_any });
}

static void forget_drain(struct chan_tap *t, const struct chan *ch, const void *msg)
{
	struct requester *r = spoilt(t);

	(void)ch;
	r->qp[((const struct qp_cmd *)msg)->qpi].is_draining = false;
}

static void do_not_drain(struct tb_case *c)
{
	spoil_at(c, "requester", "cmd", (struct chan_tap){ .popped = forget_drain });
}

static void set_limits(struct tb_case *c, uint16_t limit)
{
	for (uint32_t h = 0; h < 2; h++) {
		struct wqe_fetch *w = (struct wqe_fetch *)(void *)block_of(c, h, "wqe_fetch");
		struct nic *nic = c->run.r.system->hosts[h].nic;

		for (uint32_t i = 0; i < nic->n_srq; i++)
			nic->srq[i].limit = w->rq[nic->n_qp + i].limit = limit;
	}
}

static void want_no_event(struct tb_case *c)
{
	set_limits(c, 0);
}

static void want_early_event(struct tb_case *c)
{
	set_limits(c, 1000);
}

static void for_all_qps(struct tb_case *c, void (*set)(struct qp_attr *a))
{
	for (uint32_t h = 0; h < 2; h++)
		for (uint32_t i = 0; i < c->run.r.system->hosts[h].nic->n_qp; i++)
			set(&c->run.r.system->hosts[h].nic->qp[i]);
}

static void change_timer(struct qp_attr *a)
{
	a->min_rnr ^= 1;
}

static void wait_otherwise(struct tb_case *c)
{
	for_all_qps(c, change_timer);
}

static void open_all(struct qp_attr *a)
{
	a->rd_atomic = 16;
}

static void read_at_will(struct tb_case *c)
{
	for_all_qps(c, open_all);
}

static void arm_all(struct chan_tap *t, const struct chan *ch, const void *msg)
{
	struct cqe_writer *w = spoilt(t);

	(void)ch;
	(void)msg;
	for (uint32_t i = 0; i < nic_of(t)->n_cq; i++)
		w->cq[i].armed = CQ_ARMED;
}

static void wake_unasked(struct tb_case *c)
{
	spoil_at(c, "cqe_writer", "dma_req", (struct chan_tap){ .pushed = arm_all });
}

static void disarm_all(struct chan_tap *t, const struct chan *ch, const void *msg)
{
	struct cqe_writer *w = spoilt(t);

	(void)ch;
	(void)msg;
	for (uint32_t i = 0; i < nic_of(t)->n_cq; i++)
		w->cq[i].armed = CQ_UNARMED;
}

static void wake_nobody(struct tb_case *c)
{
	spoil_at(c, "cqe_writer", "dma_req", (struct chan_tap){ .pushed = disarm_all });
}

static void moderate_too_long(struct tb_case *c)
{
	for (uint32_t h = 0; h < 2; h++) {
		struct nic *nic = c->run.r.system->hosts[h].nic;

		for (uint32_t i = 0; i < nic->n_cq; i++) {
			nic->cq[i].moderate_count = 1000;
			nic->cq[i].moderate_ps = PS_PER_MS;
		}
	}
}

/* An event is written as if it were a completion, and is where no completion may be. */
static void take_for_completion(struct chan_tap *t, const struct chan *ch, const void *msg)
{
	struct dma_req *m = (struct dma_req *)(uintptr_t)msg;

	(void)t;
	(void)ch;
	if (m->cls == DMA_EVENT)
		m->cls = DMA_CQE;
}

static void write_elsewhere(struct tb_case *c)
{
	spoil_at(c, "cqe_writer", "dma_req", (struct chan_tap){ .pushed = take_for_completion });
}

static void rename_srqs(struct chan_tap *t, const struct chan *ch, const void *msg)
{
	struct nic *nic = nic_of(t);

	(void)ch;
	(void)msg;
	for (uint32_t i = 0; i < nic->n_srq; i++)
		nic->srq[i].srqn ^= 0x800;
}

static void tell_of_nobody(struct tb_case *c)
{
	spoil_at(c, "wqe_fetch", "event", (struct chan_tap){ .pushed = rename_srqs });
}

static void keep_limit(struct chan_tap *t, const struct chan *ch, const void *msg)
{
	struct wqe_fetch *w = spoilt(t);
	const struct nic *nic = nic_of(t);

	(void)ch;
	(void)msg;
	for (uint32_t i = 0; i < nic->n_srq; i++)
		w->rq[nic->n_qp + i].limit = 1000;
}

static void tell_again(struct tb_case *c)
{
	spoil_at(c, "wqe_fetch", "event", (struct chan_tap){ .popped = keep_limit });
}

static void for_all_blocks(struct tb_case *c, const char *name, void (*spoil)(struct block *b))
{
	for (uint32_t h = 0; h < 2; h++)
		spoil(block_of(c, h, name));
}

static void delay_naks(struct block *b)
{
	((struct responder *)(void *)b)->nak_delay = PS_PER_S / 2;
}

static void nak_late(struct tb_case *c)
{
	for_all_blocks(c, "responder", delay_naks);
}

static void delay_reaction(struct block *b)
{
	((struct requester *)(void *)b)->react_delay = PS_PER_S / 2;
}

static void react_late(struct tb_case *c)
{
	for_all_blocks(c, "requester", delay_reaction);
}

/* A receive completes when nothing of it is there yet: in front of the run. */
static void complete_before_the_bytes(struct tb_case *c)
{
	for (uint32_t i = 0; i < c->run.trace->n_qps; i++) {
		const struct ref_qp *q = &c->ref.qp[i];

		/* the last one: nothing comes to its bytes behind it */
		if (!q->is_loose && q->n_recvs == 1 && c->ref.wr[q->recvs[0]].len > 8)
			c->watch.completed(c->watch.arg,
					   &(struct tb_cqe){ .qp = i, .is_recv = true });
	}
}

const struct fault hardware_faults[] = {
	{ "READs and ATOMICs open", .before = read_at_will, .want = &fault_clean,
	  .word = "rd_atomic=1 " },
	{ ": RNR timer ", .before = wait_otherwise, .want = &fault_any },
	{ "two NAKs for the gap", .before = nak_every_packet, .want = &fault_rarely_lossy },
	{ "beyond the credits", .before = heed_no_credits, .want = &fault_any },
	{ "without a NAK", .before = nak_late, .want = &fault_rarely_lossy,
	  .sets = fault_patient_gbn },
	{ "without a NAK", .before = nak_late, .want = &fault_rarely_lossy,
	  .sets = fault_patient_sr },
	{ "is known to be lost", .before = react_late, .want = &fault_rarely_lossy,
	  .sets = fault_patient_gbn },
	{ "is known to be lost", .before = react_late, .want = &fault_rarely_lossy,
	  .sets = fault_patient_sr },
	{ "begins a message though", .before = do_not_drain, .want = &fault_any,
	  .word = "state=SQD" },
	{ " completed before its byte", .before = complete_before_the_bytes, .want = &fault_clean },
	{ ": a CQE to no CQ", .before = write_elsewhere, .want = &fault_clean,
	  .word = "mode=event" },
	{ ", which is not armed", .before = wake_unasked, .want = &fault_clean,
	  .word = "mode=event" },
	{ ", before it is due", .before = wake_for_all, .want = &fault_clean,
	  .word = "solicited=yes" },
	{ " comes late, at ", .before = moderate_too_long, .want = &fault_clean,
	  .word = "mode=event" },
	{ ": its event is late", .before = moderate_too_long, .want = &fault_clean,
	  .word = "mode=event" },
	{ ": CQ *: its event never came", .before = wake_nobody, .want = &fault_clean,
	  .word = "mode=event" },
	{ ": an event of type ", .before = tell_of_nobody, .want = &fault_clean, .word = "srq h" },
	{ ", which has no limit", .before = tell_again, .want = &fault_clean, .word = "srq h" },
	{ " receives, not fewer than ", .before = want_early_event, .want = &fault_clean,
	  .word = "srq h" },
	{ ": SRQ *: its event never came", .before = want_no_event, .want = &fault_clean,
	  .word = "srq h" },
	{ .says = NULL },
};

static void faults_of_hardware_are_noticed_as_said(void)
{
	faults_are_noticed_as_said(hardware_faults);
}

CU_TestInfo test_property_hardware_tests[] = { { "faults_of_hardware_are_noticed_as_said",
						 faults_of_hardware_are_noticed_as_said },
					       CU_TEST_INFO_NULL };
