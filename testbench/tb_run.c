/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_run.c - a whole scenario in process
 */
#include "testbench/tb_run.h"

#include <CUnit/CUnit.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/msg.h"
#include "models/packet/packet.h"
#include "sim/stats.h"
#include "testbench/tb_file.h"

struct frame_tap {
	struct chan_tap tap; /* first member */
	struct tb_run *run;
	uint32_t nic;
	bool is_tx;
};

static void keep_frame(struct chan_tap *tap, const struct chan *c, const void *msg)
{
	const struct frame_tap *ft = (const struct frame_tap *)(const void *)tap;
	const struct frame *f = msg;
	const struct packet *p = buf_data(c->producer->sim, f->buf);
	struct tb_run *t = ft->run;
	struct tb_run_packet *k;

	if ((t->n_packets & (t->n_packets - 1)) == 0)
		t->packets = x_realloc(t->packets,
				       (t->n_packets ? 2 * (size_t)t->n_packets : 1) * sizeof(*k));
	k = &t->packets[t->n_packets++];
	*k = (struct tb_run_packet){ .ps = ft->is_tx ? f->first_ps : f->last_ps,
				     .nic = ft->nic,
				     .is_tx = ft->is_tx,
				     .len = p->len,
				     .bytes = x_calloc(1, p->len) };
	memcpy(k->bytes, p->data, p->len);
}

static void tap_frames(struct tb_run *t, uint32_t nic, struct chan *c, bool is_tx)
{
	struct frame_tap *tap = sim_alloc(&t->r.sim, 1, sizeof(*tap));

	*tap = (struct frame_tap){
		.tap = { .pushed = keep_frame }, .run = t, .nic = nic, .is_tx = is_tx
	};
	chan_attach(c, &tap->tap);
}

static bool attach(struct tb_run *t, const struct tb_run_how *how)
{
	t->r.sim.until_ps = t->sc.until;
	t->r.stall_ps = t->sc.stall;
	t->r.sim.order = how->order;
	t->r.sim.every_cycle = how->every_cycle;
	if (how->pcap && !(t->pcap = capture_open(how->pcap, &t->err)))
		return false;
	for (uint32_t i = 0; i < t->r.n_nics; i++) {
		char name[32];
		const struct block *mac;

		snprintf(name, sizeof(name), "nic%" PRIu32 ".mac", i);
		mac = netlist_find(&t->r.sim, name);
		*strchr(name, '.') = '\0';
		if (how->keep_packets) {
			tap_frames(t, i, netlist_chan(mac, "tx_frame"), true);
			tap_frames(t, i, netlist_chan(mac, "rx_frame"), false);
		}
		if (t->pcap)
			capture_port(t->pcap, name, port_is_ib(&rnic_nic(&t->r, i)->addr),
				     netlist_chan(mac, "tx_frame"), netlist_chan(mac, "rx_frame"));
	}
	report_init(&t->report);
	oplog_attach(t->r.system->oplog, &t->report.sink);
	if (!how->no_checkers)
		t->checkers = checker_attach_all(&t->r.sim);
	return netlist_finish(&t->r.sim, &t->err);
}

bool tb_run_open(struct tb_run *t, const struct tb_run_how *how)
{
	const char *ini = how->ini ? how->ini : "";

	memset(t, 0, sizeof(*t));
	config_init(&t->cfg);
	for (const char *const *s = how->sets; s && *s; s++)
		if (!config_set(&t->cfg, *s, &t->err))
			return false;
	if (!config_read_file(&t->cfg, tb_write("run.ini", ini, strlen(ini)), &t->err) ||
	    !config_apply(&t->cfg, "scenario", NULL, scenario_fields, &t->sc, &t->err))
		return false;
	t->trace = trace_open(how->trace, &t->err);
	if (!t->trace)
		return false;
	t->is_built = true;
	return rnic_build(&t->r, &t->cfg, t->trace, t->sc.seed, &t->err) && attach(t, how);
}

int tb_run_go(struct tb_run *t)
{
	struct system *s = t->r.system;
	enum sim_end end = rnic_run(&t->r);
	uint32_t host, qp;

	if (t->pcap && !capture_close(t->pcap, &t->err))
		return EXIT_BAD_INPUT;
	t->pcap = NULL;
	if (s->err.is_set) {
		t->err = s->err;
		return EXIT_BAD_INPUT;
	}
	if (end == SIM_END_STOPPED || (end == SIM_END_IDLE && system_unfinished(s, &host, &qp)))
		return EXIT_STALLED;
	if (end == SIM_END_IDLE && !feed_blocked(s, &t->err))
		return EXIT_BAD_INPUT;
	oplog_flush(s->oplog);
	if (!expect_evaluate(s, &t->r.sim, &t->expects, &t->err))
		return EXIT_BAD_INPUT;
	return t->expects.n_failures ? EXIT_EXPECT : EXIT_OK;
}

void tb_run_close(struct tb_run *t)
{
	for (uint32_t i = 0; t->checkers && i < t->r.sim.n_chans; i++)
		CU_ASSERT_PTR_NULL(checker_verdict(t->checkers[i]));
	for (uint32_t i = 0; i < t->n_packets; i++)
		free(t->packets[i].bytes);
	free(t->packets);
	expect_release(&t->expects);
	capture_abort(t->pcap);
	if (t->is_built)
		rnic_destroy(&t->r);
	if (t->trace)
		trace_close(t->trace);
	config_destroy(&t->cfg);
	memset(t, 0, sizeof(*t));
}

void tb_run_ok(struct tb_run *t, const struct tb_run_how *how)
{
	int status = tb_run_open(t, how) ? tb_run_go(t) : EXIT_BAD_INPUT;

	CU_ASSERT_EQUAL(status, EXIT_OK);
	if (status == EXIT_BAD_INPUT)
		printf("%s: %s\n", how->trace, t->err.text);
	if (status == EXIT_STALLED)
		printf("%s: the simulation is stuck\n", how->trace);
	for (uint32_t i = 0; i < t->expects.n_failures; i++)
		puts(t->expects.failures[i].text);
	if (status == EXIT_BAD_INPUT)
		CU_FAIL_FATAL("the scenario does not run");
}

static uint32_t host_index(const struct tb_run *t, const char *host)
{
	uint32_t h = trace_find_host(t->trace, host);

	if (h == TRACE_NONE)
		CU_FAIL_FATAL("no such host");
	return h;
}

void tb_run_read_va(const struct tb_run *t, const char *host, uint64_t va, void *to, uint64_t len)
{
	if (!space_read(t->r.system->hosts[host_index(t, host)].space, va, to, len))
		CU_FAIL_FATAL("no memory there");
}

void tb_run_read(const struct tb_run *t, const char *host, const char *mr, uint64_t off, void *to,
		 uint64_t len)
{
	uint32_t h = host_index(t, host);

	for (uint32_t i = 0; i < t->trace->n_mrs; i++) {
		const struct trace_mr *m = &t->trace->mrs[i];

		if (m->host != h || strcmp(m->name, mr) != 0)
			continue;
		tb_run_read_va(t, host, m->va + off, to, len);
		return;
	}
	CU_FAIL_FATAL("no such MR");
}

uint64_t tb_run_stat(const struct tb_run *t, const char *path)
{
	uint64_t v = 0;

	if (!stats_find(&t->r.sim, path, &v))
		CU_FAIL_FATAL("no such statistic");
	return v;
}

char *tb_run_summary(const struct tb_run *t)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	struct json j;

	json_begin(&j, f);
	json_open(&j, NULL);
	json_u64(&j, "seed", t->sc.seed);
	json_u64(&j, "expects", t->expects.n_expects);
	json_u64(&j, "failed", t->expects.n_failures);
	report_write(&t->report, &j);
	stats_write(&j, &t->r.sim);
	stats_write_config(&j, &t->r.sim);
	json_close(&j);
	fclose(f);
	return text;
}
