/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb.h - a bench for one block: sources on its inputs, sinks on its outputs, rules on every channel
 *
 *	struct tb t;
 *	tb_init(&t, &mtt_class, &nic, (const char *[]){ "mtt.ways=2", NULL });
 *	struct tb_port *req = tb_source(&t, "req0"), *rsp = tb_sink(&t, "rsp0");
 *	tb_start(&t);
 *	tb_send(req, &(struct xlate_req){ ... });
 *	tb_run(&t);
 *	CU_ASSERT_EQUAL(rsp->n_received, 1);
 *	tb_end(&t);
 */
#ifndef TESTBENCH_TB_H
#define TESTBENCH_TB_H

#include <CUnit/CUnit.h>

#include "sim/checker.h"
#include "sim/netlist.h"

struct tb;
struct tb_port;

/* Called by a sink for each message it took. May tb_send() on other ports: sent from the next cycle on. */
typedef void tb_react(struct tb *t, struct tb_port *p, const void *msg);

/* A source or a sink: a block of its own on the clock of the block under test. */
struct tb_port {
	struct block b;
	struct chan *chan;
	struct tb *tb;
	uint32_t elem_size;
	bool is_source;
	/* source: what is still to be sent */
	unsigned char *queue;
	uint64_t *not_before; /* cycle */
	uint32_t n_queued, n_sent, cap_queue;
	/* sink: all that came, in order */
	unsigned char *log;
	uint64_t *cycle;
	uint32_t n_received, cap_log;
	tb_react *react;
	void *arg;
};

struct tb {
	struct sim sim;
	struct config cfg;
	struct block *dut;
	struct tb_port *ports[64];
	uint32_t n_ports;
	struct checker **checkers;
};

/*
 * A bench for one block of class 'cls', named "nic0.<class>", 250 MHz unless set. 'sets' is a NULL-terminated
 * list of --set arguments, or NULL; `<class>.stall_in=random` and the like put stall patterns on it.
 */
void tb_init(struct tb *t, const struct block_class *cls, void *env, const char *const *sets);

/* Drive input 'port' or drain output 'port'. Channels have depth 4 (tb_source_depth: as given) and latency 1. */
struct tb_port *tb_source(struct tb *t, const char *port);
struct tb_port *tb_sink(struct tb *t, const char *port);
struct tb_port *tb_sink_react(struct tb *t, const char *port, tb_react *react, void *arg);

/* All ports are there: attach the checkers, build and reset. */
void tb_start(struct tb *t);

/* Queue a message on a source (copied): sent in order, at most one a cycle, not before cycle 'at'. */
void tb_send(struct tb_port *p, const void *msg);
void tb_send_at(struct tb_port *p, uint64_t at, const void *msg);

/* Run until nothing moves, or for at most 'cycles' more cycles of the block. */
void tb_run(struct tb *t);
void tb_run_for(struct tb *t, uint64_t cycles);

/* Message i that a sink took; NULL when there were fewer. */
const void *tb_got(const struct tb_port *p, uint32_t i);

/* A statistic of the block under test, by name. */
uint64_t tb_stat(const struct tb *t, const char *name);

/* Assert that every channel rule held and release everything. */
void tb_end(struct tb *t);

/*
 * Behave in manner 0 (forward, asleep when idle) .. TB_MANNERS - 1: nothing that is seen may change.
 */
#define TB_MANNERS 3u
void tb_behave(struct tb *t, unsigned manner);

/* The four stall patterns by name, for loops over the matrix. */
extern const char *const tb_stalls[4];

/* "<class>.stall_in=<in>" and "<class>.stall_out=<out>" in bufs of 64 bytes. */
void tb_stall_sets(const struct block_class *cls, unsigned in, unsigned out, char *set_in,
		   char *set_out);

#endif
