/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_requester_sr.c - selective repeat of READ and ATOMIC responses at the requester: what came
 * is kept and written to its place, what is missing is asked for, once, and nothing else
 */
#include <string.h>

#include "testbench/tb_requester.h"

#define ACK_31 (AETH_ACK | AETH_NO_CREDITS)
#define PSN0 100u /* of each QP */
#define MAP SACK_WINDOW

static struct tb_requester e;

static const char *const sr[] = { "requester.recovery=sr", NULL };
static const char *const gbn[] = { NULL };

/* A request for PSNs psn .. psn + n - 1 that goes out again. */
struct again {
	uint32_t psn, n;
};

static void start(const char *const *sets)
{
	tbr_init(&e);
	tbr_start(&e, sets);
}

/* READ responses 'from' to 'to' of a READ of 'n' packets whose first PSN is 'first'; whole packets. */
static void respond(uint32_t first, uint32_t n, uint32_t from, uint32_t to)
{
	for (uint32_t psn = from; psn <= to; psn++) {
		bool is_first = psn == first, is_last = psn + 1 == first + n;
		uint8_t operation = is_first && is_last ? IB_READ_RSP_ONLY
				    : is_first          ? IB_READ_RSP_FIRST
				    : is_last           ? IB_READ_RSP_LAST
							: IB_READ_RSP_MIDDLE;

		tbr_read_rsp(&e, 0, 0, operation, psn, TBR_MTU, ACK_31);
	}
	tbr_settle(&e);
}

/* What goes out from the i-th job on is this, and no more; all of one READ at memory offset 'off'. */
static bool are_asked_for(uint32_t i, const struct again *a, uint32_t n, uint32_t first,
			  uint32_t off)
{
	bool is_right = e.job->n_received == i + n;

	for (uint32_t k = 0; is_right && k < n; k++) {
		const struct tx_job *j = tbr_job(&e, i + k);

		is_right = j->kind == JOB_READ_REQ && j->psn == a[k].psn && j->is_retry &&
			   j->raddr == TBR_RADDR + off + (a[k].psn - first) * TBR_MTU &&
			   j->dma_len == a[k].n * TBR_MTU;
	}
	return is_right;
}

/* The bytes of 'n' packets of a READ are where they belong. */
static bool is_in_place(uint32_t off, uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n * TBR_MTU; i++)
		if (e.mem[off + i] != (uint8_t)(first + i / TBR_MTU + i % TBR_MTU))
			return false;
	return true;
}

/* Packets 102, 103 and 105 of a READ of eight are lost, which spans three segments. */
static bool repairs_only_the_holes(const char *const *sets)
{
	static const struct again holes[] = { { 102, 2 }, { 105, 1 } };
	bool is_right;

	start(sets);
	tbr_post_sges(&e, 0, MLX5_OPCODE_RDMA_READ, 8 * TBR_MTU, 0, 3, 0);
	tbr_settle(&e);
	respond(PSN0, 8, 100, 101);
	respond(PSN0, 8, 104, 104);
	respond(PSN0, 8, 106, 107);
	is_right = are_asked_for(1, holes, ARRAY_LEN(holes), PSN0, 0);
	is_right &= tb_stat(&e.t, "responses") == 5 && tb_stat(&e.t, "placed") == 3;
	is_right &= is_in_place(6 * TBR_MTU, 106, 2) && e.cqe->n_received == 0;
	respond(102, 2, 102, 103);
	respond(105, 1, 105, 105);
	is_right &= e.cqe->n_received == 1 && is_in_place(0, PSN0, 8);
	is_right &= tb_stat(&e.t, "responses") == 8 && tb_stat(&e.t, "timeouts") == 0;
	respond(104, 4, 104, 107); /* all that go-back-N gets again, and selective repeat not */
	tbr_end(&e);
	return is_right;
}

static void lost_responses_are_asked_for_and_no_others(void)
{
	CU_ASSERT(repairs_only_the_holes(sr));
	CU_ASSERT_FALSE(repairs_only_the_holes(gbn)); /* it keeps nothing */
}

static void expect_cqes(uint32_t n)
{
	CU_ASSERT_EQUAL_FATAL(e.cqe->n_received, n);
	for (uint32_t i = 0; i < n; i++) {
		CU_ASSERT_EQUAL(tbr_cqe(&e, i)->wqe_counter, i);
		CU_ASSERT_EQUAL(tbr_cqe(&e, i)->syndrome, 0);
	}
}

/*
 * Behind a READ whose response is lost all others are answered: none of them is asked for, written
 * or completed a second time, and none is completed before it.
 */
static void answers_behind_a_lost_one_are_kept(void)
{
	static const struct again lost = { 100, 1 };

	start(sr);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, TBR_MTU, 0);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 8, 2 * TBR_MTU);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, 3 * TBR_MTU, 4 * TBR_MTU);
	tbr_post(&e, 0, MLX5_OPCODE_ATOMIC_FA, 8, 8 * TBR_MTU);
	tbr_settle(&e);
	respond(102, 3, 102, 104);
	tbr_atomic_rsp(&e, 0, 0, 105, 7);
	tbr_settle(&e);
	CU_ASSERT(are_asked_for(4, &lost, 1, 100, 0));
	CU_ASSERT_EQUAL(e.cqe->n_received, 0);
	CU_ASSERT(is_in_place(4 * TBR_MTU, 102, 3));
	CU_ASSERT_EQUAL(e.mem[8 * TBR_MTU], 7);
	/* a second answer, of another value, is not taken; nor is a packet of the READ */
	tbr_atomic_rsp(&e, 0, 0, 105, 9);
	respond(102, 3, 103, 103);
	CU_ASSERT_EQUAL(e.mem[8 * TBR_MTU], 7);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "responses"), 4);
	respond(100, 1, 100, 100);
	expect_cqes(4);
	CU_ASSERT_EQUAL(e.job->n_received, 5);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "placed"), 4);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "timeouts"), 0);
	tbr_end(&e);
}

/* What says that a response was lost may be an ACK of what is behind: the last packets too. */
static void ack_behind_a_read_shows_its_end_to_be_lost(void)
{
	static const struct again lost[] = { { 101, 1 }, { 103, 1 } };

	start(sr);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, 4 * TBR_MTU, 0);
	tbr_post(&e, 0, MLX5_OPCODE_SEND, 8, 8 * TBR_MTU);
	tbr_settle(&e);
	respond(PSN0, 4, 100, 100);
	respond(PSN0, 4, 102, 102);
	tbr_ack(&e, 0, 0, 104, ACK_31, 2);
	tbr_settle(&e);
	CU_ASSERT(are_asked_for(2, lost, ARRAY_LEN(lost), PSN0, 0));
	respond(101, 1, 101, 101);
	respond(103, 1, 103, 103);
	expect_cqes(2);
	tbr_end(&e);
}

/*
 * The map has room for MAP responses from the missing one on. Those behind are thrown away, and asked
 * for in runs of half a map or more, not one by one.
 */
static void responses_beyond_the_map_are_asked_for_in_runs(void)
{
	static const struct again first[] = { { PSN0, 1 }, { PSN0, 1 } }; /* one for the full map */
	const uint32_t n = 3 * MAP;
	uint32_t next = 1 + MAP;

	start(sr);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, n * TBR_MTU, 0);
	tbr_settle(&e);
	respond(PSN0, n, PSN0 + 1, PSN0 + n - 1);
	CU_ASSERT(are_asked_for(1, first, 2, PSN0, 0));
	CU_ASSERT_EQUAL(tb_stat(&e.t, "placed"), MAP - 1);
	respond(PSN0, 1, PSN0, PSN0);
	for (uint32_t i = 3; i < e.job->n_received; i++) {
		const struct tx_job *j = tbr_job(&e, i);

		next = j->psn - PSN0 + j->dma_len / TBR_MTU;
		CU_ASSERT(j->dma_len >= MAP / 2 * TBR_MTU || next == n);
		respond(j->psn, j->dma_len / TBR_MTU, j->psn, j->psn + j->dma_len / TBR_MTU - 1);
	}
	CU_ASSERT_EQUAL(next, n);
	expect_cqes(1);
	CU_ASSERT(is_in_place(0, PSN0, n));
	CU_ASSERT_EQUAL(tb_stat(&e.t, "responses"), n);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "timeouts"), 0);
	tbr_end(&e);
}

/*
 * Two READs to the same memory: what the later one brings does not come first, so that it stays; or
 * (sr_ordered off) it does, and is overwritten.
 */
static void later_read_overwrites_the_earlier(void)
{
	static const struct again both[] = { { 100, 1 }, { 101, 2 } };

	start(sr);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, TBR_MTU, 0);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, 2 * TBR_MTU, 0);
	tbr_settle(&e);
	respond(101, 2, 101, 102);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "responses"), 0);
	CU_ASSERT_EQUAL_FATAL(e.job->n_received, 4);
	for (uint32_t k = 0; k < 2; k++) {
		CU_ASSERT_EQUAL(tbr_job(&e, 2 + k)->psn, both[k].psn);
		CU_ASSERT_EQUAL(tbr_job(&e, 2 + k)->dma_len, both[k].n * TBR_MTU);
	}
	respond(100, 1, 100, 100);
	respond(101, 2, 101, 102);
	expect_cqes(2);
	CU_ASSERT(is_in_place(0, 101, 2));
	tbr_end(&e);
	start((const char *const[]){ sr[0], "requester.sr_ordered=off", NULL });
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, TBR_MTU, 0);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, 2 * TBR_MTU, 0);
	tbr_settle(&e);
	respond(101, 2, 101, 102);
	CU_ASSERT(are_asked_for(2, both, 1, 100, 0));
	respond(100, 1, 100, 100);
	expect_cqes(2);
	CU_ASSERT(is_in_place(0, 100, 1) && is_in_place(TBR_MTU, 102, 1));
	tbr_end(&e);
}

/* A response that cannot be the READ's ends it, though others came first; what is before is not hurt. */
static void wrong_response_ahead_ends_its_own_request(void)
{
	start(sr);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, TBR_MTU, 0);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, 2 * TBR_MTU, TBR_MTU);
	tbr_settle(&e);
	tbr_read_rsp(&e, 0, 0, IB_READ_RSP_FIRST, 101, TBR_MTU - 4, ACK_31);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.cqe->n_received, 0);
	respond(100, 1, 100, 100);
	CU_ASSERT_EQUAL_FATAL(e.cqe->n_received, 2);
	CU_ASSERT_EQUAL(tbr_cqe(&e, 0)->syndrome, 0);
	CU_ASSERT_EQUAL(tbr_cqe(&e, 1)->syndrome, CQE_SYNDROME_BAD_RESP);
	tbr_end(&e);
}

/* What is asked for again and lost again waits for the timer, which asks for what is missing only. */
static void timer_asks_for_what_is_missing(void)
{
	static const struct again lost[] = { { 101, 1 }, { 101, 1 } };

	tbr_init(&e);
	e.qp[0].timeout = 3;
	tbr_start(&e, sr);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, 3 * TBR_MTU, 0);
	tbr_settle(&e);
	respond(PSN0, 3, 100, 100);
	respond(PSN0, 3, 102, 102);
	tb_run_for(&e.t, 25000); /* 65.536 us and a little */
	CU_ASSERT_EQUAL(tb_stat(&e.t, "timeouts"), 1);
	CU_ASSERT(are_asked_for(1, lost, ARRAY_LEN(lost), PSN0, 0));
	respond(101, 1, 101, 101);
	expect_cqes(1);
	tbr_end(&e);
}

/* The peer said that it has a READ request, which waits for a packet before it: that is no response. */
static void request_that_the_peer_has_is_not_answered(void)
{
	static const struct again lost = { 101, 1 };
	static const uint8_t map[4] = { 2 };

	tbr_init(&e);
	e.qp[0].timeout = 3;
	tbr_start(&e, sr);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 8, 8 * TBR_MTU);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, TBR_MTU, 0);
	tbr_settle(&e);
	tbr_sack(&e, 0, 0, 100, 0, map, sizeof(map));
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.job->n_received, 3); /* the WRITE again */
	tbr_ack(&e, 0, 0, 100, ACK_31, 1);
	tbr_settle(&e);
	CU_ASSERT_EQUAL(e.cqe->n_received, 1);
	tb_run_for(&e.t, 25000); /* 65.536 us and a little */
	CU_ASSERT(are_asked_for(3, &lost, 1, 101, 0));
	respond(101, 1, 101, 101);
	expect_cqes(2);
	tbr_end(&e);
}

/*
 * Of READs of 64, 63 and 2 packets the last does not fit into a window of 128 until the first is
 * answered; nor does what is behind it go first. One longer than the window goes alone.
 */
static bool reads_wait_for_the_window(const char *const *sets)
{
	static const uint32_t n[] = { 64, 63, 2, 129 };
	bool is_right;

	start(sets);
	for (uint32_t i = 0; i < ARRAY_LEN(n); i++)
		tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, n[i] * TBR_MTU, 0);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 8, 0);
	tbr_settle(&e);
	is_right = e.job->n_received == 2;
	respond(100, 64, 100, 100); /* one place is enough */
	is_right &= e.job->n_received == 3;
	respond(100, 64, 101, 163);
	respond(164, 63, 164, 226);
	respond(227, 2, 227, 227);
	is_right &= e.job->n_received == 3;
	respond(227, 2, 228, 228);
	is_right &= e.job->n_received == 4; /* 129 packets are not less than the window */
	respond(229, 129, 229, 230);
	is_right &= e.job->n_received == 5 && tbr_job(&e, 4)->kind == JOB_WRITE;
	respond(229, 129, 231, 357);
	is_right &= tb_stat(&e.t, "responses") == 258 && e.cqe->n_received == 4;
	tbr_end(&e);
	return is_right;
}

static void read_waits_until_the_window_has_room_for_its_responses(void)
{
	CU_ASSERT(reads_wait_for_the_window(sr));
	CU_ASSERT_FALSE(reads_wait_for_the_window(gbn));
	CU_ASSERT_FALSE(reads_wait_for_the_window(
		(const char *const[]){ sr[0], "requester.sr_window=256", NULL }));
}

/*
 * The first of eight packets is lost, and so is it when it is sent again. What was sent before that and came
 * does not tell; the first of what was sent behind it does, once.
 */
static void packet_lost_twice_is_sent_when_a_later_one_came(void)
{
	static const uint8_t maps[][4] = { { 2 }, { 0xfe }, { 0xfe, 1 }, { 0xfe, 3 } };
	static const uint32_t jobs[] = { 1, 0, 1, 0 };
	uint32_t n;

	start(sr);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 8 * TBR_MTU, 0);
	tbr_settle(&e);
	n = e.job->n_received;
	for (uint32_t i = 0; i < ARRAY_LEN(maps); i++) {
		tbr_sack(&e, 0, 0, PSN0, 0, maps[i], sizeof(maps[i]));
		tbr_settle(&e);
		CU_ASSERT_EQUAL_FATAL(e.job->n_received, n + jobs[i]);
		if (jobs[i])
			CU_ASSERT(tbr_job(&e, n)->psn == PSN0 && tbr_job(&e, n)->len == TBR_MTU);
		if (i == 0)
			tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 4 * TBR_MTU, 0);
		tbr_settle(&e);
		n = e.job->n_received;
	}
	tbr_ack(&e, 0, 0, PSN0 + 11, ACK_31, 2);
	tbr_settle(&e);
	expect_cqes(2);
	tbr_end(&e);
}

/* Of four responses asked for again the second and the fourth come: so the others were lost again. */
static void response_lost_twice_is_asked_for_when_a_later_one_came(void)
{
	static const struct again due[] = { { 101, 1 }, { 103, 1 }, { 105, 1 },
					    { 107, 1 }, { 101, 1 }, { 105, 1 } };

	start(sr);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_READ, 9 * TBR_MTU, 0);
	tbr_settle(&e);
	for (uint32_t psn = 100; psn <= 108; psn += 2) /* these do not tell */
		respond(PSN0, 9, psn, psn);
	CU_ASSERT(are_asked_for(1, due, 4, PSN0, 0));
	respond(103, 1, 103, 103);
	respond(103, 1, 103, 103);
	CU_ASSERT(are_asked_for(1, due, 5, PSN0, 0));
	respond(107, 1, 107, 107); /* though the oldest is still missing */
	CU_ASSERT(are_asked_for(1, due, 6, PSN0, 0));
	respond(101, 1, 101, 101);
	respond(105, 1, 105, 105);
	expect_cqes(1);
	tbr_end(&e);
}

static void start_impatient(void)
{
	tbr_init(&e);
	e.qp[0].timeout = 3;
	e.qp[0].retry = 2;
	tbr_start(&e, sr);
}

/* News of a message of four packets: what of it came, by number; none = silence. */
struct news {
	uint8_t opcode;
	uint32_t n;
	uint8_t came[3]; /* READ: the packet answered; else a selective acknowledgement's map */
};

static void tell(const struct news *w, uint32_t i)
{
	const uint8_t map[4] = { w->came[i] };

	if (w->opcode == MLX5_OPCODE_RDMA_READ)
		respond(PSN0, 4, PSN0 + w->came[i], PSN0 + w->came[i]);
	else
		tbr_sack(&e, 0, 0, PSN0, 0, map, sizeof(map));
	tbr_settle(&e);
}

/* A timeout after each of these the first packet is still missing: how many until the end. */
static uint64_t timeouts_of(const struct news *w)
{
	uint64_t timeouts;

	start_impatient();
	tbr_post(&e, 0, w->opcode, 4 * TBR_MTU, 0);
	tbr_settle(&e);
	for (uint32_t i = 0; i < 10; i++) {
		if (i < w->n)
			tell(w, i);
		tb_run_for(&e.t, 20000); /* a timeout: 65.536 us, or 16384 cycles */
	}
	timeouts = tb_stat(&e.t, "timeouts");
	CU_ASSERT_EQUAL_FATAL(e.cqe->n_received, 1);
	CU_ASSERT_EQUAL(tbr_cqe(&e, 0)->syndrome, CQE_SYNDROME_RETRY_EXC);
	tbr_end(&e);
	return timeouts;
}

/*
 * The first packet is lost each time. With two retries it is given up at the third timeout in which
 * nothing came that is new; what came before does not count as such.
 */
static void packet_is_given_up_when_nothing_new_comes(void)
{
	static const struct {
		struct news news;
		uint64_t timeouts;
	} cases[] = {
		{ { MLX5_OPCODE_RDMA_READ, 3, { 3, 2, 1 } }, 5 },
		{ { MLX5_OPCODE_RDMA_READ, 3, { 3, 3, 3 } }, 2 }, /* asking for it was a retry */
		{ { MLX5_OPCODE_RDMA_READ, 0, { 0 } }, 3 },
		{ { MLX5_OPCODE_RDMA_WRITE, 3, { 8, 12, 14 } }, 5 },
		{ { MLX5_OPCODE_RDMA_WRITE, 3, { 8, 8, 8 } }, 3 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CU_ASSERT_EQUAL(timeouts_of(&cases[i].news), cases[i].timeouts);
}

/* What leaves after a timeout, and what is sent again later still: the timer runs from then. */
static void timer_runs_from_what_was_sent_again(void)
{
	start_impatient();
	e.is_silent = true;
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 8, 0);
	tbr_post(&e, 0, MLX5_OPCODE_RDMA_WRITE, 8, 8);
	tbr_settle(&e);
	tb_send(e.job_done, &(struct job_done){ .tag = tbr_job(&e, 0)->tag, .is_asked = 1 });
	tb_run_for(&e.t, 20000);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "timeouts"), 1);
	CU_ASSERT_EQUAL_FATAL(e.job->n_received, 4);
	tb_send(e.job_done, &(struct job_done){ .tag = tbr_job(&e, 1)->tag, .is_asked = 1 });
	tb_run_for(&e.t, 50000);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "timeouts"), 1);
	CU_ASSERT(tbr_job(&e, 2)->ack_req);
	tb_send(e.job_done, &(struct job_done){ .tag = tbr_job(&e, 2)->tag, .is_asked = 1 });
	tb_run_for(&e.t, 20000);
	CU_ASSERT_EQUAL(tb_stat(&e.t, "timeouts"), 2);
	tbr_ack(&e, 0, 0, 101, ACK_31, 2);
	tbr_settle(&e);
	expect_cqes(2);
	tbr_end(&e);
}

CU_TestInfo test_requester_sr_tests[] = {
	{ "lost responses are asked for, and no others",
	  lost_responses_are_asked_for_and_no_others },
	{ "answers behind a lost one are kept", answers_behind_a_lost_one_are_kept },
	{ "ACK behind a READ shows its end to be lost",
	  ack_behind_a_read_shows_its_end_to_be_lost },
	{ "responses beyond the map are asked for in runs",
	  responses_beyond_the_map_are_asked_for_in_runs },
	{ "later READ overwrites the earlier", later_read_overwrites_the_earlier },
	{ "wrong response ahead ends its own request", wrong_response_ahead_ends_its_own_request },
	{ "request that the peer has is not answered", request_that_the_peer_has_is_not_answered },
	{ "timer asks for what is missing", timer_asks_for_what_is_missing },
	{ "READ waits until the window has room for its responses",
	  read_waits_until_the_window_has_room_for_its_responses },
	{ "packet lost twice is sent when a later one came",
	  packet_lost_twice_is_sent_when_a_later_one_came },
	{ "response lost twice is asked for when a later one came",
	  response_lost_twice_is_asked_for_when_a_later_one_came },
	{ "packet is given up when nothing new comes", packet_is_given_up_when_nothing_new_comes },
	{ "timer runs from what was sent again", timer_runs_from_what_was_sent_again },
	CU_TEST_INFO_NULL
};
