/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_nic.c - two whole NICs and between them a wire that does what the input says
 *
 * Three bytes choose encapsulation, recovery and times; from then on each packet that reaches a NIC takes
 * an edit from the input: none, or one of the changes below. Lengths and CRCs are then put right, so
 * that transport and not checks must cope with it. Whatever is sent: no check of the simulator fails,
 * every request completes or errs within the time that its timers allow, and when all is quiet every
 * packet's buffer is back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/packet/encap.h"
#include "tools/run/expect.h"
#include "models/msg.h"
#include "models/rnic.h"
#include "models/trace/trace.h"
#include "models/packet/vcrc.h"
#include "sim/pool.h"
#include "testbench/fuzz/fuzz.h"

#define LIMIT_STEPS 400000u
#define LIMIT_PS (60 * PS_PER_S) /* an RNR NAK may ask for 655 ms, again and again */
#define SLICE_PS (20 * PS_PER_US)

static const char trace_text[] =
	"rnicsim-trace 1\nhost h0\nhost h1\n"
	"mr h0 a va=0x10000 len=16KiB access=lw,rw,rr,ra,mw,fl fill=inc\n"
	"mr h1 a va=0x10000 len=16KiB access=lw,rw,rr,ra,mw,fl fill=inc\n"
	"srq h1 s depth=16\n"
	"qp h0 r type=RC peer=h1.r mtu=256 sq=32 rq=16 timeout=1 retry=2 rnr_retry=2 min_rnr=1 psn=0xfffff0\n"
	"qp h1 r type=RC peer=h0.r mtu=256 sq=32 rq=16 timeout=1 retry=2 rnr_retry=2 min_rnr=1\n"
	"qp h0 q type=RC peer=h1.q mtu=1024 sq=32 rq=16 timeout=2 retry=1 rnr_retry=1 min_rnr=1\n"
	"qp h1 q type=RC peer=h0.q mtu=1024 sq=32 rq=16 timeout=2 retry=1 rnr_retry=1 min_rnr=1 srq=s\n"
	"qp h0 u type=UC peer=h1.u mtu=256 sq=32 rq=16\n"
	"qp h1 u type=UC peer=h0.u mtu=256 sq=32 rq=16\n"
	"qp h0 d type=UD qkey=7 mtu=1024 sq=32 rq=16\n"
	"qp h1 d type=UD qkey=7 mtu=1024 sq=32 rq=16\n"
	"recv h1.r id=1 sge=a:0:1024\nrecv h1.r id=2 sge=a:1024:100,a:2048:900\n"
	"recv h1.r id=3\nrecv h1.s id=4 sge=a:3072:1024\nrecv h1.s id=5 sge=a:3072:1024\n"
	"recv h1.u id=6 sge=a:4096:1024\nrecv h1.u id=7 sge=a:5120:1024\n"
	"recv h1.d id=8 sge=a:6144:1064\nrecv h1.d id=9 sge=a:8192:1064\n"
	"post h0.r id=1 op=RDMA_WRITE sge=a:0:1000 remote=a:8192\n"
	"post h0.r id=2 op=SEND sge=a:0:600 flags=solicited\n"
	"post h0.r id=3 op=RDMA_READ sge=a:4096:1300 remote=a:1\n"
	"post h0.r id=4 op=ATOMIC_FETCH_AND_ADD sge=a:16000:8 remote=a:16000 add=3\n"
	"post h0.r id=5 op=SEND_WITH_IMM sge=a:0:300 imm=5\n"
	"post h0.r id=6 op=RDMA_WRITE_WITH_IMM sge=a:0:10 remote=a:9000 imm=6\n"
	"post h0.r id=7 op=ATOMIC_CMP_AND_SWP sge=a:16008:8 remote=a:16008 compare=1 swap=2 flags=fence\n"
	"post h0.q id=8 op=SEND sge=a:0:1000\n"
	"post h0.q id=9 op=RDMA_READ sge=a:8192:2100 remote=a:0\n"
	"post h0.q id=10 op=RDMA_READ sge=a:12288:10 remote=a:0\n"
	"post h0.q id=11 op=FLUSH remote=a:0\n"
	"post h0.q id=12 op=ATOMIC_WRITE sge=a:0:8 remote=a:16016\n"
	"post h0.q id=13 op=SEND sge=a:0:64\n"
	"post h0.u id=14 op=RDMA_WRITE sge=a:0:700 remote=a:12288\n"
	"post h0.u id=15 op=SEND sge=a:0:600\n"
	"post h0.u id=16 op=SEND_WITH_IMM sge=a:0:6 imm=1\n"
	"post h0.d id=17 op=SEND sge=a:0:1000 dest=h1.d qkey=7\n"
	"post h0.d id=18 op=SEND_WITH_IMM sge=a:0:33 imm=2 dest=h1.d qkey=7\n"
	"post h1.r id=10 op=RDMA_WRITE sge=a:0:520 remote=a:10000\n"
	"post h1.r id=11 op=RDMA_READ sge=a:11000:520 remote=a:10000\n"
	"expect h0.r id=1 status=SUCCESS\n"
	"expect h0.r id=2 status=SUCCESS\n"
	"expect h0.r id=3 status=SUCCESS\n"
	"expect h0.r id=4 status=SUCCESS\n"
	"expect h0.r id=5 status=SUCCESS\n"
	"expect h0.r id=6 status=SUCCESS\n"
	"expect h0.r id=7 status=SUCCESS\n"
	"expect h0.q id=8 status=SUCCESS\n"
	"expect h0.q id=9 status=SUCCESS\n"
	"expect h0.q id=10 status=SUCCESS\n"
	"expect h0.q id=11 status=SUCCESS\n"
	"expect h0.q id=12 status=SUCCESS\n"
	"expect h0.q id=13 status=SUCCESS\n"
	"expect h0.u id=14 status=SUCCESS\n"
	"expect h0.u id=15 status=SUCCESS\n"
	"expect h0.u id=16 status=SUCCESS\n"
	"expect h0.d id=17 status=SUCCESS\n"
	"expect h0.d id=18 status=SUCCESS\n"
	"expect h1.r id=10 status=SUCCESS\n"
	"expect h1.r id=11 status=SUCCESS\n";

static struct fuzz_bytes input;

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_nic: %s\n", what);
	abort();
}

/* ---- the wire ---- */

enum edit {
	EDIT_OPCODE,
	EDIT_PSN,
	EDIT_BITS,
	EDIT_LONGER,
	EDIT_SHORTER,
	EDIT_PAD,
	EDIT_AETH,
	EDIT_XETH,
	EDIT_BYTES,
	EDIT_QP,
	EDIT_KINDS
};

/* From BTH to ICRC, 'n' bytes: lengths and CRCs that fit. */
static void put_right(struct packet *p, uint32_t n)
{
	const struct encap_info *e = &encaps[p->encap];

	e->finish(p->data, n);
	p->len = (uint16_t)(e->l4 + n + e->tail);
	icrc_store(p->data + e->l4 + n - ICRC_BYTES,
		   icrc_of(e->icrc, p->data + e->net, (size_t)(e->l4 - e->net) + n - ICRC_BYTES));
	if (e->tail)
		vcrc_store(p->data + p->len - VCRC_BYTES,
			   vcrc_of(p->data, (size_t)p->len - VCRC_BYTES));
}

/* One change of the BTH or behind it; returns the new number of bytes from BTH to ICRC. */
static uint32_t change(struct packet *p, uint32_t n, uint32_t room)
{
	uint8_t *bth = p->data + p->l4, a = fuzz_u8(&input), b = fuzz_u8(&input);

	switch ((enum edit)(a % EDIT_KINDS)) {
	case EDIT_OPCODE:
		bth[0] = b;
		break;
	case EDIT_PSN:
		bth[11] = (uint8_t)(bth[11] + b);
		break;
	case EDIT_BITS:
		bth[b % n] = (uint8_t)(bth[b % n] ^ fuzz_u8(&input));
		break;
	case EDIT_LONGER:
		room = (room < 4u * b ? room : 4u * b) & ~3u;
		memset(bth + n, a, room);
		return n + room;
	case EDIT_SHORTER:
		return n - 4u * b > n || n - 4u * b < 16 ? n : n - 4u * b;
	case EDIT_PAD:
		bth[1] = (uint8_t)(bth[1] ^ (b & 3) << 4);
		break;
	case EDIT_AETH:
		bth[12] = b;
		break;
	case EDIT_XETH:
		bth[12 + b % 28u % (n - 12)] = fuzz_u8(&input);
		break;
	case EDIT_BYTES:
		memset(bth + b % n, 0xff, n - b % n < 4 ? n - b % n : 4);
		break;
	default:
		bth[7] = (uint8_t)(bth[7] ^ (b & 15));
		break;
	}
	return n;
}

static void on_frame(struct chan_tap *tap, const struct chan *c, const void *msg)
{
	const struct sim *s = c->producer->sim;
	const struct frame *f = msg;
	struct packet *p = buf_data(s, f->buf);
	uint8_t how = fuzz_u8(&input);
	uint32_t room = buf_size(s, f->buf) - (uint32_t)sizeof(*p) - p->len;

	(void)tap;
	if (!(how & 0x80))
		return;
	p->is_altered = true;
	for (unsigned i = 0; i <= (how & 3u); i++) {
		uint32_t n = (uint32_t)(p->len - p->l4) - encaps[p->encap].tail;

		put_right(p, change(p, n, room));
		room = buf_size(s, f->buf) - (uint32_t)sizeof(*p) - p->len;
	}
	if (how & 0x40) /* anywhere, the CRCs do not fit */
		p->data[fuzz_u8(&input) % p->len] ^= how;
}

/* ---- the run ---- */

/* Small blocks: they are built sooner, and run full. */
static const char ini_text[] =
	"[nic]\nprofile = generic-100g\n[mtt]\nmpt_sets = 4\nsets = 16\n[qpc_tx]\nsets = 1\n[qpc_rx]\nsets = 1\n"
	"[wqe_fetch]\nwqe_slots = 64\n[pktizer]\nreq_packets = 16\nrsp_packets = 16\n"
	"[responder]\nsr_hold = 16\nack_buffers = 16\n[link0]\nbuffer = 64KiB\n";

static bool configure(struct config *cfg, struct err *e)
{
	static const char *const encap[] = { "nic.encap=roce2", "nic.encap=roce1", "nic.encap=ib",
					     "nic.encap=ib_grh" };
	uint8_t a = fuzz_u8(&input), b = fuzz_u8(&input);

	return config_read_file(cfg, fuzz_file(0, ini_text, sizeof(ini_text) - 1), e) &&
	       config_set(cfg, encap[a & 3], e) &&
	       config_set(cfg, a & 4 ? "requester.recovery=sr" : "requester.recovery=gbn", e) &&
	       config_set(cfg, a & 4 ? "responder.recovery=sr" : "responder.recovery=gbn", e) &&
	       config_set(cfg, a & 8 ? "responder.credits=off" : "responder.credits=on", e) &&
	       config_set(cfg, a & 16 ? "responder.ack_count=4" : "responder.ack_count=1", e) &&
	       config_set(cfg, b & 1 ? "link0.duplicate=0.1" : "link0.duplicate=0", e) &&
	       config_set(cfg, b & 2 ? "link0.reorder=0.1" : "link0.reorder=0", e);
}

static void attach(struct rnic *r)
{
	for (unsigned i = 0; i < 2; i++) {
		struct chan_tap *tap = sim_alloc(&r->sim, 1, sizeof(*tap));

		*tap = (struct chan_tap){ .pushed = on_frame };
		chan_attach(netlist_chan(netlist_find(&r->sim, i ? "nic1.mac" : "nic0.mac"),
					 "rx_frame"),
			    tap);
	}
}

/*
 * Packets are all home: nothing is on its way, and no request is open. What selective repeat holds back
 * may wait for ever for a packet that only an edited one promised.
 */
static void check_pools(const struct sim *s)
{
	static const char *const owners[] = { "pktizer", "wire", "responder", "requester" };
	char what[128];

	for (uint32_t i = 0; i < s->n_pools; i++) {
		const struct pool *p = s->pools[i];
		const char *owner = p->owner->cls->name;

		if (p->in_use == 0 || (strcmp(owner, "responder") == 0 && p->size > 4096))
			continue;
		snprintf(what, sizeof(what), "%.20s keeps %u of %u buffers of %u B", owner,
			 (unsigned)p->in_use, (unsigned)p->n, (unsigned)p->size);
		for (size_t k = 0; k < ARRAY_LEN(owners); k++)
			require(strcmp(owner, owners[k]) != 0, what);
	}
}

/* Whether every request succeeded. */
static bool is_all_well(const struct rnic *r)
{
	struct expect_result expects = { 0 };
	struct err e = { 0 };
	bool ok = expect_evaluate(r->system, &r->sim, &expects, &e);

	require(ok, e.text);
	ok = expects.n_failures == 0;
	expect_release(&expects);
	return ok;
}

static void run(struct rnic *r)
{
	struct sim *s = &r->sim;
	enum sim_end end = SIM_END_UNTIL;
	uint32_t host, qp;

	s->until_ps = 0;
	while (end == SIM_END_UNTIL && s->until_ps < LIMIT_PS && s->steps < LIMIT_STEPS) {
		s->until_ps += s->until_ps / 4 + SLICE_PS;
		end = sim_run(s);
	}
	require(end == SIM_END_IDLE, "is not over when all timers have run out");
	require(system_unfinished(r->system, &host, &qp) == 0,
		"a request neither completed nor erred");
	check_pools(s);
}

int fuzz_nic(const uint8_t *data, size_t n)
{
	struct err e = { 0 };
	struct config cfg;
	struct trace *t = trace_open(fuzz_file(1, trace_text, sizeof(trace_text) - 1), &e);
	struct rnic r;
	int is_well;

	input = (struct fuzz_bytes){ data, data + n };
	config_init(&cfg);
	require(t && configure(&cfg, &e) && rnic_build(&r, &cfg, t, 1, &e), e.text);
	attach(&r);
	require(netlist_finish(&r.sim, &e), e.text);
	run(&r);
	is_well = is_all_well(&r);
	rnic_destroy(&r);
	config_destroy(&cfg);
	trace_close(t);
	return is_well;
}
