/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_cmd.c - `rnicsim perf`: perftest's output, line by line as its client prints it
 *
 * The format strings are perftest 4.5's, so that the two outputs can be laid beside each other. Of
 * what there is no counterpart of here (devices, GID indices, how the two ends exchanged their
 * addresses) the line says what stands for it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "models/nic.h"
#include "tools/perf/perf.h"
#include "models/trace/trace.h"
#include "sim/units.h"

#define LINE \
	"---------------------------------------------------------------------------------------\n"
#define HEAD_LAT \
	" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    " \
	"t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
#define HEAD_BW " #bytes     #iterations    BW peak[%s/sec]    BW average[%s/sec]   MsgRate[Mpps]\n"
#define ROW_LAT \
	" %-7" PRIu64 " %" PRIu64 "          %-7.2f        %-7.2f      %-7.2f  \t       " \
	"%-7.2f     \t%-7.2f\t\t%-7.2f \t\t%-7.2f\n"
#define ROW_BW " %-7" PRIu64 "    %-10" PRIu64 "       %-7.2f            %-7.2f\t\t   %-7.6f\n"

static const char *on(bool is_on)
{
	return is_on ? "ON" : "OFF";
}

static void print_title(const struct perf_spec *s)
{
	static const char *const names[] = { "RDMA_Write", "RDMA_Read", "Send" };

	if (s->verb == PERF_ATOMIC)
		printf("                    Atomic %s %s Test\n",
		       s->is_cas ? "CMP_AND_SWAP" : "FETCH_AND_ADD", s->is_lat ? "Latency" : "BW");
	else
		printf("                    %s %s%s Test\n", names[s->verb],
		       s->is_bidir ? "Bidirectional " : "", s->is_lat ? "Latency" : "BW");
}

static void print_header(const struct perf_spec *s, const struct perf_result *r)
{
	static const char *const types[] = { "RC", "UC", "UD" };

	printf(LINE);
	print_title(s);
	printf(" Dual-port       : OFF\t\tDevice         : %s\n", s->nic);
	printf(" Number of qps   : %" PRIu64 "\t\tTransport type : IB\n", s->qps);
	printf(" Connection type : %s\t\tUsing SRQ      : OFF\n", types[s->type]);
	printf(" PCIe relax order: %s\n", on(false));
	printf(" ibv_wr* API     : %s\n", on(false));
	printf(" TX depth        : %" PRIu64 "\n", s->tx_depth);
	if (s->post_list > 1)
		printf(" Post List       : %" PRIu64 "\n", s->post_list);
	if (s->is_bidir && s->verb == PERF_SEND)
		printf(" RX depth        : %" PRIu64 "\n", s->rx_depth);
	if (!s->is_lat)
		printf(" CQ Moderation   : %" PRIu64 "\n", s->cq_mod);
	printf(" Mtu             : %" PRIu64 "[B]\n", s->mtu);
	printf(" Link type       : %s\n", r->is_ethernet ? "Ethernet" : "IB");
	if (r->is_ethernet)
		printf(" GID index       : 0\n");
	if (s->verb == PERF_READ || s->verb == PERF_ATOMIC)
		printf(" Outstand reads  : %" PRIu64 "\n", s->outs);
	else
		printf(" Max inline data : %" PRIu64 "[B]\n", s->inline_b);
	printf(" rdma_cm QPs\t : OFF\n");
	printf(" Data ex. method : %s\n", r->is_ethernet ? "Ethernet" : "IB");
	printf(LINE);
}

static void print_end(const struct perf_spec *s, const struct perf_result *r, const char *where,
		      const struct perf_end *x)
{
	printf(" %s address: LID %#04x QPN %#06x PSN %#06x", where, x->lid, x->qpn, x->psn);
	if (s->verb == PERF_READ || s->verb == PERF_ATOMIC)
		printf(" OUT %#04x", (unsigned)s->outs);
	if (s->verb == PERF_WRITE || s->verb == PERF_READ)
		printf(" RKey %#08x VAddr %#016" PRIx64, x->rkey, x->va);
	printf("\n");
	if (!r->is_ethernet)
		return;
	printf(" GID: ");
	for (unsigned i = 0; i < sizeof(x->gid); i++)
		printf("%s%02u", i ? ":" : "", x->gid[i]);
	printf("\n");
}

static void print_ends(const struct perf_spec *s, const struct perf_result *r)
{
	for (uint64_t i = 0; i < s->qps; i++)
		print_end(s, r, "local", &r->ends[i]);
	for (uint64_t i = 0; i < s->qps; i++)
		print_end(s, r, "remote", &r->ends[s->qps + i]);
	printf(LINE);
	if (s->is_lat)
		fputs(HEAD_LAT, stdout);
	else
		printf(HEAD_BW, s->is_gbits ? "Gb" : "MB", s->is_gbits ? "Gb" : "MB");
}

/* The samples, numbered from 1, as perftest's -U and -H do. */
static void print_samples(const struct perf_spec *s, const struct perf_result *r, bool is_sorted)
{
	uint64_t *delta, n = perf_samples(r, is_sorted, &delta);

	printf("#, usec\n");
	for (uint64_t i = 0; i < n; i++)
		printf("%" PRIu64 ", %g\n", i + 1,
		       (double)delta[i] / (double)PS_PER_US / perf_halves(s));
	free(delta);
}

static void print_row(const struct perf_spec *s, const struct perf_result *r)
{
	double unit = s->is_gbits ? 1e9 / 8 : 1024.0 * 1024.0;
	struct perf_lat l;
	struct perf_bw b;

	if (s->is_lat) {
		if (s->is_unsorted)
			print_samples(s, r, false);
		if (s->is_histogram)
			print_samples(s, r, true);
		perf_latency(s, r, &l);
		printf(ROW_LAT, s->size, s->iters, l.min, l.max, l.typical, l.average, l.stdev,
		       l.p99, l.p999);
	} else {
		perf_bandwidth(s, r, &b);
		printf(ROW_BW, s->size, s->iters * s->qps, b.peak / unit, b.average / unit,
		       b.rate / 1e6);
	}
}

static void print_failure(const struct perf_spec *s, const struct perf_result *r, int status)
{
	if (status == EXIT_EXPECT)
		fprintf(stderr, "perf: %" PRIu64 " requests failed, the first with status %s\n",
			r->errors, wc_status_names[r->status]);
	else if (status == EXIT_STALLED)
		fprintf(stderr,
			"perf: the simulation is stuck: %" PRIu64 " of %" PRIu64
			" requests completed\n",
			r->times[0].n, s->iters * s->qps);
}

/* One size; is_first: what stands above the rows is printed. */
static int run_size(const struct perf_spec *spec, uint64_t size, bool is_first, struct err *e)
{
	struct perf_spec s = *spec;
	struct perf_result r;
	char dir[4096];
	int status;

	s.size = size;
	perf_spec_fit(&s);
	if (s.dir && s.is_all) {
		snprintf(dir, sizeof(dir), "%.3000s/%" PRIu64, spec->dir, size);
		s.dir = dir;
	}
	if (s.size < size)
		printf(" Max msg size in UD is MTU %" PRIu64 "\n Changing to this MTU\n", s.mtu);
	status = perf_measure(&s, &r, e);
	if (status != EXIT_BAD_INPUT && is_first) {
		print_header(&s, &r);
		print_ends(&s, &r);
	}
	if (status == EXIT_OK)
		print_row(&s, &r);
	print_failure(&s, &r, status);
	perf_result_release(&r);
	return status;
}

int cmd_perf(int argc, char **argv, struct err *e)
{
	struct perf_spec s;
	int status = EXIT_OK;
	unsigned last;

	if (!perf_options_parse(argc, argv, &s, e))
		return EXIT_BAD_INPUT;
	if (!s.is_all) {
		status = run_size(&s, s.size, true, e);
	} else {
		last = s.type == QP_UD ? (unsigned)__builtin_ctzll(s.mtu) : PERF_MAX_SIZE_LOG;
		for (unsigned i = 1; i <= last && status == EXIT_OK; i++)
			status = run_size(&s, 1ull << i, i == 1, e);
	}
	if (status == EXIT_OK)
		printf(LINE);
	return status;
}
