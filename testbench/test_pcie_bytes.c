/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pcie_bytes.c - what a message costs on the PCIe links of both NICs, for every size, against
 * the closed form
 *
 * WRITEs, READs and SENDs of 1 to 4097 bytes run one at a time through a pair of NICs; at every
 * completion the links' byte counts are compared with what they were at the one before. A TLP has 24 B
 * around it (MWr, MRd) or 20 (CplD) up to PCIe Gen5, in a flit of Gen6 16 or 12; a write is cut at 256 B, a read request at 512 B, its
 * completions at 256 B; an 8 B doorbell, a 64 B WQE and a 64 B CQE come with each message.
 */
#include <stdlib.h>
#include <string.h>

#include "models/msg.h"
#include "testbench/tb.h"
#include "testbench/tb_file.h"
#include "testbench/tb_run.h"

#define SIZES 4097u

/* Bytes on the link by direction and class that are looked at. */
static const char *const counts[] = {
	"nic0.pcie_link.down_doorbell_b",     "nic0.pcie_link.up_wqe_b",
	"nic0.pcie_link.down_wqe_b",          "nic0.pcie_link.up_cqe_b",
	"nic0.pcie_link.up_payload_read_b",   "nic0.pcie_link.down_payload_read_b",
	"nic0.pcie_link.up_payload_write_b",  "nic1.pcie_link.up_payload_write_b",
	"nic1.pcie_link.up_payload_read_b",   "nic1.pcie_link.down_payload_read_b",
	"nic1.pcie_link.down_payload_write_b"
};
enum { DB, WQE_UP, WQE_DOWN, CQE, A_RD_UP, A_RD_DOWN, A_WR, B_WR, B_RD_UP, B_RD_DOWN, B_NONE };
#define COUNTS ARRAY_LEN(counts)

/* The closed form of hardware.md: bytes around a request, around a completion. */
struct form {
	uint64_t req, cpl;
};

static struct form form_of(unsigned gen)
{
	return gen < 6 ? (struct form){ 24, 20 } : (struct form){ 16, 12 };
}

static uint64_t write_b(struct form f, uint64_t s)
{
	return s + (s + 255) / 256 * f.req;
}

static uint64_t read_up_b(struct form f, uint64_t s)
{
	return (s + 511) / 512 * f.req;
}

static uint64_t read_down_b(struct form f, uint64_t s)
{
	return s + (s + 255) / 256 * f.cpl;
}

static void expected(struct form f, const char *op, uint64_t s, uint64_t *want)
{
	memset(want, 0, COUNTS * sizeof(*want));
	want[DB] = 8 + f.req;
	want[WQE_UP] = f.req;
	want[WQE_DOWN] = 64 + f.cpl;
	want[CQE] = 64 + f.req;
	if (strcmp(op, "RDMA_READ") == 0) {
		want[A_WR] = write_b(f, s);
		want[B_RD_UP] = read_up_b(f, s);
		want[B_RD_DOWN] = read_down_b(f, s);
	} else {
		want[A_RD_UP] = read_up_b(f, s);
		want[A_RD_DOWN] = read_down_b(f, s);
		want[B_WR] = write_b(f, s);
	}
}

struct meter {
	struct chan_tap tap;
	struct tb_run *run;
	const struct field *row[COUNTS];
	const struct block *block[COUNTS];
	uint64_t before[COUNTS];
	const char *op;
	struct form form;
	uint64_t off_by; /* the fault: sizes that are this much larger are expected */
	uint32_t size, wrong;
};

/* A completion is on its way to the program: everything of its message has been on the link. */
static void completed(struct chan_tap *tap, const struct chan *c, const void *msg)
{
	struct meter *m = (struct meter *)(void *)tap;
	uint64_t want[COUNTS];

	(void)c;
	(void)msg;
	expected(m->form, m->op, ++m->size + m->off_by, want);
	for (size_t i = 0; i < COUNTS; i++) {
		uint64_t now = field_get(m->block[i], m->row[i]);

		m->wrong += now - m->before[i] != want[i];
		m->before[i] = now;
	}
}

static void attach(struct meter *m, struct tb_run *t)
{
	m->run = t;
	m->tap.pushed = completed;
	for (size_t i = 0; i < COUNTS; i++) {
		char path[16 + sizeof("pcie_link")];

		snprintf(path, sizeof(path), "%.4s.pcie_link", counts[i]);
		m->block[i] = netlist_find(&t->r.sim, path);
		m->row[i] = field_find(m->block[i]->cls->fields, FIELD_STAT,
				       counts[i] + strlen(path) + 1);
		CU_ASSERT_PTR_NOT_NULL_FATAL(m->row[i]);
	}
	chan_attach(netlist_chan(netlist_find(&t->r.sim, "host0.host_mem"), "cpu_rsp"), &m->tap);
}

/* A trace with one message of every size, each behind the completion of the one before. */
static const char *write_trace(const char *op)
{
	size_t cap = 200u * (SIZES + 10), n = 0;
	char *text = x_calloc(1, cap);
	const char *path;

	n += (size_t)snprintf(text + n, cap - n,
			      "rnicsim-trace 1\nhost h0\nhost h1\n"
			      "mr h0 src va=0x10000000 len=64KiB access=lw fill=inc\n"
			      "mr h1 dst va=0x20000000 len=64KiB access=lw,rw,rr fill=zero\n"
			      "qp h0 q0 type=RC peer=h1.q0 mtu=1024\n"
			      "qp h1 q0 type=RC peer=h0.q0 mtu=1024\n");
	for (unsigned s = 1; s <= SIZES && strcmp(op, "SEND") == 0; s++)
		n += (size_t)snprintf(text + n, cap - n, "recv h1.q0 id=%u sge=dst:0:8192\n", s);
	for (unsigned s = 1; s <= SIZES; s++) {
		n += (size_t)snprintf(text + n, cap - n, "post h0.q0 id=%u op=%s sge=src:0:%u%s", s,
				      op, s, strcmp(op, "SEND") ? " remote=dst:0" : "");
		if (s > 1)
			n += (size_t)snprintf(text + n, cap - n, " after=%u", s - 1);
		n += (size_t)snprintf(text + n, cap - n, "\n");
	}
	path = tb_write("pcie_bytes.trace", text, n);
	free(text);
	return path;
}

/* Counts that were wrong in a run of all sizes over links of generation 'gen', by the closed form 'f'. */
static uint32_t run_sizes(const char *op, unsigned gen, struct form f, uint64_t off_by)
{
	static struct tb_run t;
	static struct meter m;
	char set[32];

	memset(&m, 0, sizeof(m));
	m.op = op;
	m.form = f;
	m.off_by = off_by;
	snprintf(set, sizeof(set), "pcie_link.gen=%u", gen);
	CU_ASSERT_FATAL(tb_run_open(&t, &(struct tb_run_how){ .trace = write_trace(op),
							      .sets = (const char *[]){ set, NULL },
							      .no_checkers = true }));
	attach(&m, &t);
	CU_ASSERT_EQUAL(tb_run_go(&t), EXIT_OK);
	CU_ASSERT_EQUAL(m.size, SIZES);
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic0.pcie_link.up_parts"), 0);
	tb_run_close(&t);
	return m.wrong;
}

static void run_generations(const char *op)
{
	for (unsigned gen = 1; gen <= 6; gen++)
		CU_ASSERT_EQUAL(run_sizes(op, gen, form_of(gen), 0), 0);
}

static void every_size_of_a_write_costs_its_closed_form(void)
{
	run_generations("RDMA_WRITE");
}

static void every_size_of_a_read_costs_its_closed_form(void)
{
	run_generations("RDMA_READ");
}

static void every_size_of_a_send_costs_its_closed_form(void)
{
	run_generations("SEND");
}

static void closed_form_of_a_byte_more_is_caught(void)
{
	CU_ASSERT(run_sizes("RDMA_WRITE", 3, form_of(3), 1) >= 2 * SIZES);
}

static void closed_form_of_another_generation_is_caught(void)
{
	CU_ASSERT(run_sizes("RDMA_READ", 6, form_of(5), 0) >= 2 * SIZES);
}

/*
 * Husky's arithmetic for a WRITE of 29 B: 127 B on the wire without its 3 pad bytes; on PCIe 64 B of
 * doorbell, 36 of WQE and 29 of payload come down with 20 B each. Its WQE is shorter than a 64 B basic
 * block, so the sum is that of the link alone.
 */
extern const struct block_class pcie_link_class;

static void write_of_29_bytes_costs_189_on_the_link(void)
{
	struct tb t;
	struct tb_port *in;

	tb_init(&t, &pcie_link_class, NULL, (const char *[]){ "pcie_link.hdr_req=20", NULL });
	tb_source(&t, "up_in");
	in = tb_source(&t, "down_in");
	tb_sink(&t, "up_out");
	tb_sink(&t, "down_cpl");
	tb_sink(&t, "mmio");
	tb_start(&t);
	tb_send(in, &(struct tlp){ .len = 64, .kind = TLP_MWR, .cls = DMA_DOORBELL });
	tb_send(in, &(struct tlp){ .len = 36, .kind = TLP_CPLD, .cls = DMA_WQE });
	tb_send(in, &(struct tlp){ .len = 29, .kind = TLP_CPLD, .cls = DMA_PAYLOAD_READ });
	tb_run(&t);
	CU_ASSERT_EQUAL(tb_stat(&t, "down_doorbell_b") + tb_stat(&t, "down_wqe_b") +
				tb_stat(&t, "down_payload_read_b"),
			189);
	tb_end(&t);
}

/* The same through a pair of NICs: 64 B of doorbell by write combining, and the WQE, of 'wqe_b'. */
static void write_29_through_the_nic(const char *exact, uint64_t wqe_b)
{
	static const char text[] = "rnicsim-trace 1\nhost h0\nhost h1\n"
				   "mr h0 src va=0x10000000 len=4KiB access=lw fill=inc\n"
				   "mr h1 dst va=0x20000000 len=4KiB access=lw,rw fill=zero\n"
				   "qp h0 q0 type=RC peer=h1.q0 mtu=1024\n"
				   "qp h1 q0 type=RC peer=h0.q0 mtu=1024\n"
				   "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:29 remote=dst:0\n";
	const char *const sets[] = { "pcie_link.hdr_req=20", "workload.post=blueflame",
				     "doorbell.bf_buffers=0", exact, NULL };
	static struct tb_run t;

	tb_run_ok(&t, &(struct tb_run_how){
			      .trace = tb_write("pcie_bytes.trace", text, sizeof(text) - 1),
			      .sets = sets });
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic0.mac.tx_line_bytes"), 127 + 3);
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic0.pcie_link.down_doorbell_b"), 64 + 20);
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic0.pcie_link.down_wqe_b"), wqe_b + 20);
	CU_ASSERT_EQUAL(tb_run_stat(&t, "nic0.pcie_link.down_payload_read_b"), 29 + 20);
	tb_run_close(&t);
}

/* A WQE of one segment has 48 B (Husky's 36), of a basic block of 64. */
static void write_of_29_bytes_through_the_nic(void)
{
	write_29_through_the_nic("wqe_fetch.exact=off", 64);
	write_29_through_the_nic("wqe_fetch.exact=on", 48);
}

#define TEST(f) \
	{ \
#f, f \
	}
CU_TestInfo test_pcie_bytes_tests[] = { TEST(every_size_of_a_write_costs_its_closed_form),
					TEST(every_size_of_a_read_costs_its_closed_form),
					TEST(every_size_of_a_send_costs_its_closed_form),
					TEST(closed_form_of_a_byte_more_is_caught),
					TEST(closed_form_of_another_generation_is_caught),
					TEST(write_of_29_bytes_costs_189_on_the_link),
					TEST(write_of_29_bytes_through_the_nic),
					CU_TEST_INFO_NULL };
