/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_property_rules.c - faults of packets; and each text of the judge of random traces is that of some fault
 */
#include <CUnit/CUnit.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "models/packet/aeth.h"
#include "models/packet/icrc.h"
#include "testbench/tb_fault.h"
#include "testbench/tb_file.h"

#define COPIES 64u

enum what {
	A_RETH,
	A_SEND,
	AN_IMMEDIATE,
	AN_IETH,
	A_FETCH_ADD,
	A_SWAP,
	AN_ATOMIC_ACK,
	AN_ACK,
	A_SACK,
	A_RESPONSE
};

#define AT_SYNDROME 12u /* from the BTH on */
#define AT_MSN 15u
#define AT_PSN 10u

static bool is_one(const struct wire_packet *p, enum what what)
{
	if ((p->bth.opcode & IB_TRANSPORT_MASK) != IB_RC)
		return false;
	switch (what) {
	case A_RETH:
		return p->bth.opcode == IB_WRITE_ONLY && p->len;
	case A_SEND:
		return p->bth.opcode == IB_SEND_ONLY && p->len > 4;
	case AN_IETH:
		return opcode_has(p->info, X_IETH);
	case A_FETCH_ADD:
		return p->bth.opcode == IB_FETCH_ADD;
	case A_SWAP:
		return p->bth.opcode == IB_CMP_SWAP;
	case AN_IMMEDIATE:
		return opcode_has(p->info, X_IMMDT);
	case AN_ACK:
		return p->bth.opcode == IB_ACKNOWLEDGE &&
		       (p->aeth.syndrome & AETH_KIND_MASK) == AETH_ACK;
	case AN_ATOMIC_ACK:
		return opcode_has(p->info, X_ATOMICACK);
	case A_SACK:
		return p->bth.opcode == IB_ACKNOWLEDGE && p->len;
	default:
		return p->bth.opcode == IB_READ_RSP_ONLY && p->len > 4;
	}
}

/* The first packet of a kind that was sent; NULL: none. */
static struct tb_run_packet *find(struct tb_case *c, enum what what, struct wire_packet *p)
{
	for (uint32_t i = 0; i < c->run.n_packets; i++)
		if (c->run.packets[i].is_tx && wire_decode(p, &c->run.packets[i], false) &&
		    is_one(p, what))
			return &c->run.packets[i];
	return NULL;
}

/* Change a byte from the BTH on, and set the ICRC right. RoCEv2. */
static void change_at(struct tb_run_packet *p, uint32_t at, uint8_t bits)
{
	bool is_v6 = p->bytes[12] == 0x86;
	uint32_t l4 = 14 + (is_v6 ? 40 : 20) + 8, end = p->len - 4;

	p->bytes[l4 + at] ^= bits;
	icrc_store(p->bytes + end, icrc_of(is_v6 ? ICRC_IPV6 : ICRC_IPV4, p->bytes + 14, end - 14));
}

static bool change(struct tb_case *c, enum what what, enum xeth header, uint32_t at, uint8_t bits)
{
	struct wire_packet w;
	struct tb_run_packet *p = find(c, what, &w);

	if (p)
		change_at(p, w.info->off[header] + at, bits);
	return p != NULL;
}

/* Packet 'p' was sent n times more, right behind. Returns the first of these. */
static struct tb_run_packet *repeat(struct tb_case *c, struct tb_run_packet *p, uint32_t n)
{
	uint32_t i = (uint32_t)(p - c->run.packets);
	struct tb_run_packet *to;

	c->run.packets = x_realloc(c->run.packets, (c->run.n_packets + n) * sizeof(*p));
	p = &c->run.packets[i];
	memmove(p + 1 + n, p + 1, (c->run.n_packets - i - 1) * sizeof(*p));
	c->run.n_packets += n;
	for (to = p + 1; to <= p + n; to++) {
		*to = *p;
		to->bytes = x_calloc(1, p->len);
		memcpy(to->bytes, p->bytes, p->len);
	}
	return p + 1;
}

static bool address(struct tb_case *c)
{
	return change(c, A_RETH, X_RETH, 6, 1);
}
static bool key(struct tb_case *c)
{
	return change(c, A_RETH, X_RETH, 8 + 3, 1);
}
static bool dma_length(struct tb_case *c)
{
	return change(c, A_RETH, X_RETH, 12 + 1, 1);
}
static bool invalidated_key(struct tb_case *c)
{
	return change(c, AN_IETH, X_IETH, 3, 1);
}
static bool addend(struct tb_case *c)
{
	return change(c, A_FETCH_ADD, X_ATOMICETH, 8 + 4 + 7, 1);
}
static bool counters_address(struct tb_case *c)
{
	return change(c, A_FETCH_ADD, X_ATOMICETH, 6, 8);
}
static bool operand(struct tb_case *c)
{
	return change(c, A_SWAP, X_ATOMICETH, 8 + 4 + 7, 1);
}
static bool immediate(struct tb_case *c)
{
	return change(c, AN_IMMEDIATE, X_IMMDT, 3, 1);
}

/* The first packet of a kind has other bits in a byte from the BTH on. */
static bool turn(struct tb_case *c, enum what what, uint32_t at, uint8_t bits)
{
	struct wire_packet w;
	struct tb_run_packet *p = find(c, what, &w);

	if (p)
		change_at(p, at, bits);
	return p != NULL;
}

static bool opcode(struct tb_case *c)
{
	return turn(c, A_RETH, 0, IB_WRITE_ONLY ^ IB_WRITE_FIRST);
}
static bool length(struct tb_case *c)
{
	return turn(c, A_SEND, 1, 0x10); /* the pad */
}
static bool solicited(struct tb_case *c)
{
	return turn(c, A_SEND, 1, 0x80);
}
static bool sequence(struct tb_case *c)
{
	return turn(c, A_SEND, AT_PSN, 0x10);
}
static bool destination(struct tb_case *c)
{
	return turn(c, A_SEND, 6, 0x70);
}
static bool acknowledged(struct tb_case *c)
{
	return turn(c, AN_ACK, AT_PSN, 0x10);
}
static bool message_number(struct tb_case *c)
{
	return turn(c, AN_ACK, AT_MSN, 0x10);
}
static bool response_number(struct tb_case *c)
{
	return turn(c, A_RESPONSE, AT_MSN, 0x10);
}
static bool response_sequence(struct tb_case *c)
{
	return turn(c, A_RESPONSE, AT_PSN, 0x10);
}
static bool response_kind(struct tb_case *c)
{
	return turn(c, AN_ATOMIC_ACK, 0, IB_ATOMIC_ACK ^ IB_READ_RSP_ONLY);
}
static bool response_place(struct tb_case *c)
{
	return turn(c, A_RESPONSE, 0, IB_READ_RSP_ONLY ^ IB_READ_RSP_MIDDLE);
}
static bool response_length(struct tb_case *c)
{
	/* of four bytes more than none of which the pad tells */
	return turn(c, A_RESPONSE, 1, 0x10);
}

/* More receives than there are. */
static bool credits(struct tb_case *c)
{
	struct wire_packet w;
	struct tb_run_packet *p = find(c, AN_ACK, &w);

	if (p)
		change_at(p, AT_SYNDROME, (w.aeth.syndrome & AETH_VALUE_MASK) ^ 0x1e);
	return p != NULL;
}

/* A selective acknowledgement names what it did not name, and does not what it named. */
static bool names(struct tb_case *c)
{
	struct wire_packet w;
	struct tb_run_packet *p = find(c, A_SACK, &w);
	uint32_t at = AT_SYNDROME + 4;

	for (uint32_t i = 0; p && i < w.len; i++)
		change_at(p, at + i, 0xff);
	return p != NULL;
}

static bool damage(struct tb_case *c)
{
	struct wire_packet w;
	struct tb_run_packet *p = find(c, A_SEND, &w);

	if (p)
		p->bytes[p->len - 5] ^= 1;
	return p != NULL;
}
/* The saved result of an ATOMIC is sent again, and is another. */
static bool another_value(struct tb_case *c)
{
	struct wire_packet w;
	struct tb_run_packet *p = find(c, AN_ATOMIC_ACK, &w);

	if (p)
		change_at(repeat(c, p, 1), w.info->off[X_ATOMICACK] + 7, 1);
	return p != NULL;
}

static bool send_too_often(struct tb_case *c)
{
	struct wire_packet w;
	struct tb_run_packet *p = find(c, A_SEND, &w);

	if (p)
		repeat(c, p, COPIES);
	return p != NULL;
}

static bool fence(struct tb_case *c)
{
	for (uint32_t i = 0; i < c->ref.n_wr; i++)
		c->ref.wr[i].r.flags |= WR_FENCE;
	return true;
}

/* ---- requests given up ---- */

/* The last request of a connection: it ends badly, and so says its CQE. */
static bool give_up(struct tb_case *c, uint32_t qp, uint8_t status)
{
	const struct ref_qp *q = &c->ref.qp[qp];
	struct ref_wr *w = q->n_sends ? &c->ref.wr[q->sends[q->n_sends - 1]] : NULL;
	struct tb_cqe *e = NULL;

	for (uint32_t i = 0; i < c->watch.n_cqes; i++)
		if (c->watch.cqes[i].qp == qp && !c->watch.cqes[i].is_recv)
			e = &c->watch.cqes[i];
	if (!w || !e || !w->is_signaled || w->is_error || w->r.opcode != WR_RDMA_WRITE)
		return false;
	w->status = e->status = status;
	w->is_error = e->is_error = true;
	c->gen.may_fail = true;
	return true;
}

static bool give_up_early(struct tb_case *c)
{
	for (uint32_t i = 0; i < c->run.trace->n_qps; i++)
		if (c->run.trace->qps[i].type == QP_RC && !c->ref.qp[i].is_loose &&
		    give_up(c, i, WC_RETRY_EXC_ERR))
			return true;
	return false;
}

/* Nothing that comes to QP 'qp' was received. */
static void hide_answers(struct tb_case *c, uint32_t qp)
{
	const struct trace_qp *t = &c->run.trace->qps[qp];
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->run.n_packets; i++) {
		struct tb_run_packet *p = &c->run.packets[i];
		struct wire_packet w;

		if (!p->is_tx && p->nic == t->host && wire_decode(&w, p, false) &&
		    w.bth.destqp == c->run.r.system->hosts[t->host]
					    .nic->qp[c->run.r.system->qps[qp].qpi]
					    .qpn)
			free(p->bytes);
		else
			c->run.packets[n++] = *p;
	}
	c->run.n_packets = n;
}

static bool give_up_without_rnr(struct tb_case *c)
{
	for (uint32_t i = 0; i < c->run.trace->n_qps; i++)
		if (c->run.trace->qps[i].type == QP_RC && !c->ref.qp[i].is_loose &&
		    c->ref.qp[i].n_sends == 1 && c->run.trace->qps[i].rnr_retry < 7 &&
		    give_up(c, i, WC_RNR_RETRY_EXC_ERR)) {
			hide_answers(c, i);
			return true;
		}
	return false;
}

/* ---- the table ---- */

const struct fault packet_faults[] = {
	{ ": opcode ", .after = opcode, .want = &fault_clean },
	{ ": bytes ", .after = length, .want = &fault_clean },
	{ ": SE ", .after = solicited, .want = &fault_clean },
	{ ": PSN ", .after = sequence, .want = &fault_clean },
	{ " with PSN *: ", .after = sequence, .want = &fault_clean },
	{ ": address ", .after = address, .want = &fault_clean },
	{ ": R_Key ", .after = key, .want = &fault_clean },
	{ ": DMA length ", .after = dma_length, .want = &fault_clean },
	{ ": immediate ", .after = immediate, .want = &fault_clean },
	{ ": key ", .after = invalidated_key, .want = &fault_clean, .word = "op=SEND_WITH_INV" },
	{ ": counter's address ", .after = counters_address, .want = &fault_clean },
	{ ": addend ", .after = addend, .want = &fault_clean },
	{ ": operand ", .after = operand, .want = &fault_clean },
	{ "a packet to QP", .after = destination, .want = &fault_clean },
	{ "sent no packet", .after = damage, .want = &fault_clean },
	{ ": packets acknowledged ", .after = acknowledged, .want = &fault_clean },
	{ ": MSN ", .after = message_number, .want = &fault_clean },
	{ ": credits ", .after = credits, .want = &fault_clean },
	{ ": a packet named that did not come ", .after = names, .want = &fault_rarely_lossy,
	  .sets = fault_sr },
	{ ": packets answered ", .after = response_sequence, .want = &fault_clean },
	{ ": kind of response ", .after = response_kind, .want = &fault_clean },
	{ ": place in the READ ", .after = response_place, .want = &fault_clean },
	{ ": response bytes ", .after = response_length, .want = &fault_clean },
	{ ": response MSN ", .after = response_number, .want = &fault_clean },
	{ ": value ", .after = another_value, .want = &fault_clean },
	{ ": attempts ", .after = send_too_often, .want = &fault_clean },
	{ "in front of a fence", .after = fence, .want = &fault_clean },
	{ "was given up after * attempts", .after = give_up_early, .want = &fault_clean },
	{ "was given up after * RNR NAKs", .after = give_up_without_rnr, .want = &fault_any },
	{ .says = NULL },
};

/* ---- each text of the judge is in a table ---- */

/* Where a text begins in the sources of the judge; of bad() it is what stands behind the colon. */
static const char *const sayers[] = { "judge_wrong(", "complain(w,", "sizeof(text),", "bad(w, p," };

static const char *skip_space(const char *at)
{
	return at + strspn(at, " \t\n");
}

/*
 * The literals at 'at', one behind the other, as one text: '*' for each conversion, whose end may be a macro between
 * two of them. False: there is none.
 */
static bool read_text(const char *at, char *text, size_t len)
{
	size_t n = 0;
	bool is_in = false;

	at = skip_space(at);
	if (*at != '"')
		return false;
	for (; n + 2 < len; at++) {
		if (*at == '"') {
			is_in = !is_in;
			if (!is_in)
				at = skip_space(at + 1) - 1;
			if (!is_in && strncmp(at + 1, "PRI", 3) == 0)
				at = skip_space(at + 1 + strcspn(at + 1, " \t\n,)")) - 1;
			if (!is_in && at[1] != '"')
				break;
		} else if (*at == '%') {
			text[n++] = '*';
			at += strspn(at + 1, "0123456789");
			at += at[1] != '"';
		} else {
			text[n++] = *at;
		}
	}
	text[n] = 0;
	return true;
}

#define MAX_TEXTS 128u
#define TEXT_LEN 160u

struct texts {
	char at[MAX_TEXTS][TEXT_LEN];
	uint32_t n;
};

static void read_texts(struct texts *t, const char *path)
{
	char *source = tb_read(path), text[TEXT_LEN - 4];

	CU_ASSERT_PTR_NOT_NULL_FATAL(source);
	for (size_t i = 0; i < ARRAY_LEN(sayers); i++)
		for (const char *at = source; (at = strstr(at, sayers[i])) != NULL;) {
			bool is_bad = strncmp(sayers[i], "bad(", 4) == 0;

			at += strlen(sayers[i]);
			if (!read_text(at, text, sizeof(text)))
				continue;
			CU_ASSERT_FATAL(t->n < MAX_TEXTS);
			snprintf(t->at[t->n++], TEXT_LEN, is_bad ? ": %s " : "%s", text);
		}
	free(source);
}

/* The one text that a fault names; NULL: none, or it might be another. */
static const char *named(const struct texts *t, const char *says)
{
	const char *text = NULL;

	for (uint32_t i = 0; i < t->n; i++) {
		if (!strstr(t->at[i], says))
			continue;
		if (text)
			return NULL;
		text = t->at[i];
	}
	return text;
}

static void each_text_of_the_judge_has_a_fault(void)
{
	static const struct fault *const tables[] = { packet_faults, run_faults, loose_faults,
						      memory_faults, hardware_faults };
	static struct texts t;
	bool has_fault[MAX_TEXTS] = { false };
	glob_t g;

	CU_ASSERT_FATAL(glob("testbench/tb_judge*.c", 0, NULL, &g) == 0);
	for (size_t i = 0; i < g.gl_pathc; i++)
		read_texts(&t, g.gl_pathv[i]);
	globfree(&g);
	read_texts(&t, "testbench/tb_event.c");
	read_texts(&t, "testbench/ref_compare.c");
	CU_ASSERT(t.n > 60);
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		for (const struct fault *f = tables[i]; f->says; f++) {
			const char *text = named(&t, f->says);

			CU_ASSERT_PTR_NOT_NULL(text);
			if (text)
				has_fault[(text - t.at[0]) / TEXT_LEN] = true;
			else
				printf("\n\"%s\" is not one text of the judge\n", f->says);
		}
	for (uint32_t i = 0; i < t.n; i++) {
		CU_ASSERT(has_fault[i]);
		if (!has_fault[i])
			printf("\nno fault for \"%s\"\n", t.at[i]);
	}
}

static void faults_of_packets_are_noticed_as_said(void)
{
	faults_are_noticed_as_said(packet_faults);
}

CU_TestInfo test_property_rules_tests[] = {
	{ "faults_of_packets_are_noticed_as_said", faults_of_packets_are_noticed_as_said },
	{ "each_text_of_the_judge_has_a_fault", each_text_of_the_judge_has_a_fault },
	CU_TEST_INFO_NULL
};
