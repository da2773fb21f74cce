/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace_errors.c - every mistake that a trace can hold, with its line and what is allowed
 */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/trace/trace.h"
#include "sim/rng.h"
#include "sim/units.h"
#include "testbench/tb_file.h"

#define SETUP \
	"rnicsim-trace 1\nhost h0\nhost h1 mtu=2048\npd h1 P1\nmr h0 src va=0x1000 len=64KiB\n" \
	"mr h1 dst va=0x20000 len=1000 access=lw,rw,rr,ra lkey=7\nmw h1 win\ncq h0 c0\nsrq h1 " \
	"s0\n" \
	"qp h0 q0 type=RC peer=h1.q0\nqp h1 q0 type=RC peer=h0.q0 qpn=9\nqp h0 u type=UD\nqp h0 " \
	"f type=RC peer=h1:99 state=INIT\n" \
	"qp h0 i type=RC state=INIT\n"
#define L "e.trace:15: " /* before what stands anywhere in the message: the line must be this */

struct mistake {
	const char *text, *says;
};

/* The message of the first mistake of a trace, or "" when there is none. */
static const char *message(const char *text, size_t len)
{
	static struct err e;
	struct trace *t;
	struct trace_record r;

	memset(&e, 0, sizeof(e));
	t = trace_open(tb_write("e.trace", text, len), &e);
	while (t && trace_next(t, &r, &e) == 1)
		trace_record_release(&r);
	trace_close(t);
	return e.text;
}

static void check(const char *before, const struct mistake *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *says = cases[i].says, *said;
		char text[4096];
		bool is_right;

		snprintf(text, sizeof(text), "%s%s", before, cases[i].text);
		said = message(text, strlen(text));
		is_right = strncmp(says, L, strlen(L)) != 0 || strstr(said, L);
		says += strncmp(says, L, strlen(L)) == 0 ? strlen(L) : 0;
		is_right = is_right && strstr(said, says);
		CU_ASSERT(is_right);
		if (!is_right)
			printf("\n  %s\n  gave: %s\n", cases[i].text, said);
	}
}

static void trace_setup_alone_is_good(void)
{
	CU_ASSERT_STRING_EQUAL(message(SETUP, strlen(SETUP)), "");
	CU_ASSERT_STRING_EQUAL(message("rnicsim-trace 1", 15), "");
	/* with a byte order mark, as some editors write it; it is none further on */
	CU_ASSERT_STRING_EQUAL(message("\xef\xbb\xbfrnicsim-trace 1", 18), "");
	CU_ASSERT(strstr(message("\n\xef\xbb\xbfrnicsim-trace 1", 19), "this is no trace") != NULL);
}

static void trace_header_mistakes_are_named(void)
{
	static const struct mistake cases[] = {
		{ "", "e.trace:1: an empty file; a trace begins with 'rnicsim-trace 1'" },
		{ "# nothing\n\n", "an empty file" },
		{ "host h0\n",
		  "e.trace:1: this is no trace: the first record must be 'rnicsim-trace 1'" },
		{ "\nrnicsim-trace 2\n", "e.trace:2: version '2' of the trace format; known: 1" },
		{ "rnicsim-trace\n", "version ''" },
		{ "rnicsim-trace 1 1\n", "version '1'" },
	};

	check("", cases, ARRAY_LEN(cases));
}

static void trace_setup_mistakes_are_named(void)
{
	static const struct mistake cases[] = {
		{ "hots h2\n", L "unknown record 'hots', did you mean 'host'?; known: post, recv" },
		{ "host h0\n", L "a second host 'h0'" },
		{ "host h2 mac=02:00:00:00:00\n",
		  L "mac='02:00:00:00:00': must be six pairs of hex digits" },
		{ "host h2 mac=02:00:00:00:00:0g\n", L "mac=" },
		{ "host h2 mac=02:00:00:00:00:01:\n", L "mac=" },
		{ "host h2 mac=\n", L "mac=" },
		{ "host h2 ip=10.0.0.1\n", L "host h2 has the ip of host h0 (line 2)" },
		{ "host h2 mac=02:00:00:00:00:02\n", L "host h2 has the mac of host h1 (line 3)" },
		{ "host h2 lid=1\n", L "host h2 has the lid of host h0 (line 2)" },
		{ "host h2 gid=::ffff:10.0.0.2 ip=10.0.0.7\n", L "host h2 has the gid of host h1" },
		{ "host h2 ip=10.0.0\n", L "ip='10.0.0': must be an IPv4 or IPv6 address" },
		{ "host h2 gid=12345\n",
		  L "gid='12345': must be an IPv6 address or 32 hex digits" },
		{ "host h2 mtu=1500\n", L "mtu='1500': must be one of 256, 512, 1024, 2048, 4096" },
		{ "pd h2 x\n", L "HOST 'h2': no host 'h2' (did you mean" },
		{ "pd h1 P1\n", L "a second PD 'P1' on host h1" },
		{ "mr h0 m len=1\n", L "'mr' lacks va=" },
		{ "mr h0 m va=0\n", L "'mr' lacks len=" },
		{ "mr h0 m va=0 len=0\n", L "len='0': must be a size" },
		{ "mr h0 src va=0 len=1\n", L "a second MR or window 'src' on host h0" },
		{ "mr h1 win va=0 len=1\n", L "a second MR or window 'win' on host h1" },
		{ "mr h0 va va=0 len=1\n", L "an MR cannot be called 'va'" },
		{ "mr h0 m va=0xffffffffffffffff len=2\n",
		  L "va=0xffffffffffffffff and len=2 reach over the end" },
		{ "mr h0 m va=0xffffffffffffe000 len=8KiB\nmr h0 n va=0xffffffffffffff00 len=256 "
		  "fill=keep\n",
		  "" },
		{ "mr h0 m va=0 len=1 page=8KiB\n", L "page=8192: must be 4KiB, 2MiB or 1GiB" },
		{ "mr h0 m va=0 len=1 access=lw,xx\n",
		  L "access='lw,xx': must be a list of lw, rw, rr, ra, mw, fl" },
		{ "mr h0 m va=0 len=1 pd=P1\n", L "pd='P1': no PD 'P1' on host h0" },
		{ "mr h0 m va=0 len=1 fill=ink\n",
		  L "fill='ink': must be zero, inc, lin:A,B,C,D, rand:SEED, hex:BYTES or keep" },
		{ "mr h0 m va=0 len=1 fill=lin:1,2,3\n", L "fill=" },
		{ "mr h0 m va=0 len=1 fill=incx\n", L "fill=" },
		{ "mr h0 m va=0 len=1 fill=hex:0\n", L "must be hex: and two hex digits a byte" },
		{ "mr h0 m va=0 len=1 fill=hex:0102\n",
		  L "fill=hex: holds 2 bytes, the MR only 1" },
		{ "mr h0 m va=0x1000 len=65KiB fill=keep\n",
		  L "fill=keep: other MRs of host h0 do not cover this one" },
		{ "mr h1 m va=0 len=1 lkey=7\n",
		  "e.trace:15: lkey=0x7 is given twice on host h1 (line 6)" },
		{ "mw h1 win\n", L "a second window 'win' on host h1" },
		{ "mw h1 dst\n", L "a second MR 'dst' on host h1" },
		{ "mw h1 w type=3\n", L "type='3'" },
		{ "cq h0 c0\n", L "a second CQ 'c0' on host h0" },
		{ "cq h0 c depth=0\n", L "depth='0'" },
		{ "cq h0 c moderate=16\n", L "moderate='16': must be COUNT:TIME" },
		{ "cq h0 c moderate=0:1us\n", L "moderate=" },
		{ "cq h0 c mode=interrupt\n", L "must be one of poll, event" },
		{ "srq h1 q0\n", L "a second QP 'q0' on host h1" },
		{ "srq h1 s limit=a\n", L "limit='a'" },
	};

	check(SETUP, cases, ARRAY_LEN(cases));
}

static void trace_qp_mistakes_are_named(void)
{
	static const struct mistake cases[] = {
		{ "qp h0 q type=RC peer=h1.q0 rate=1bps\n",
		  L "rate=1bps is no rate of a line; allowed: 1Mbps to 3200Gbps, or 0" },
		{ "qp h0 q type=RC peer=h1.q0 rate=3201Gbps\n",
		  L "rate=3201000000000bps is no rate of a line" },
		{ "qp h0 q type=RC peer=h1.q0 pkey=0\n", L "pkey=0x0 is no partition" },
		{ "qp h0 q type=RC peer=h1.q0 pkey=0x8000\n", L "pkey=0x8000 is no partition" },
		{ "qp h0 q type=RC peer=h1.q0 pkey=1\n", "" },
		{ "qp h0 q type=RD\n", L "type='RD': must be one of RC, UC, UD" },
		{ "qp h0 q peer=h1.q0\n", L "'qp' lacks type=" },
		{ "qp h0 q type=RC\n", L "a QP with type=RC and state=RTS lacks peer=" },
		{ "qp h0 q0 type=RC peer=h1.q0\n", L "a second QP 'q0' on host h0" },
		{ "qp h1 s0 type=RC peer=h0.q0\n", L "a second SRQ 's0' on host h1" },
		{ "qp h0 q type=UD peer=h1.q0\n", L "a UD QP has no peer=" },
		{ "qp h0 q type=UC peer=h1.q0\n",
		  L "type=UC, but the peer h1.q0 has type=RC (line 11)" },
		{ "qp h0 q type=RC peer=h1.q1\n",
		  L "peer='h1.q1': no QP 'q1' on host h1 (did you mean 'q0'?)" },
		{ "qp h0 q type=RC peer=h2.q1\n", L "peer='h2.q1': no host 'h2'" },
		{ "qp h0 q type=RC peer=h1\n", L "peer='h1': must be HOST.QP, or HOST:QPN" },
		{ "qp h0 q type=RC peer=h1:0x1000000\n", L "peer=" },
		{ "qp h0 q type=RC peer=h1:0\n", L "peer=" },
		{ "qp h0 q type=RC peer=h1.q0 psn=0x1000000\n",
		  L "psn='0x1000000': must be a number (decimal or 0x hex), 0 to 16777215" },
		{ "qp h1 q type=RC peer=h0.q0 qpn=9\n",
		  L "qpn=0x9 is given twice on host h1 (line 11)" },
		{ "qp h0 q type=RC peer=h1.q0 mtu=1000\n",
		  L "mtu='1000': must be one of 256, 512, 1024, 2048, 4096" },
		{ "qp h1 q type=RC peer=h0.q0 mtu=4096\n",
		  L "mtu=4096 is more than the port's mtu=2048 of host h1" },
		{ "qp h0 q type=RC peer=h1.q0 mtu=4096\n",
		  L "mtu=4096 is more than the port's mtu=2048 of host h1" },
		{ "qp h0 q type=RC peer=h1.q0 scq=c1\n",
		  L "scq='c1': no CQ 'c1' on host h0 (did you mean 'c0'?)" },
		{ "qp h0 q type=RC peer=h1.q0 srq=s0\n", L "srq='s0': no SRQ 's0' on host h0" },
		{ "qp h0 q type=RC peer=h1.q0 timeout=32\n", L "timeout='32'" },
		{ "qp h0 q type=RC peer=h1.q0 retry=8\n", L "retry='8'" },
		{ "qp h0 q type=RC peer=h1.q0 state=UP\n",
		  L "must be one of RESET, INIT, RTR, RTS" },
		{ "qp h0 q type=RC peer=h1.q0 max_sge=33\n", L "max_sge='33'" },
		{ "qp h0 q type=RC peer=h1.q0 flow_label=0x100000\n", L "flow_label=" },
		{ "qp h0 q type=RC peer=h1.q0 ptime=1\n", L "unknown key 'ptime' of 'qp'" },
	};

	check(SETUP, cases, ARRAY_LEN(cases));
}

static void trace_post_mistakes_are_named(void)
{
	static const struct mistake cases[] = {
		{ "post h0.q0 op=SEND\n", L "'post' lacks id=" },
		{ "post h0.q0 id=1\n", L "'post' lacks op=" },
		{ "post id=1 op=SEND\n", L "'post' lacks its HOST.QP" },
		{ "post h0.q0 id=0 op=SEND\n", L "id='0': must be a number" },
		{ "post h0.q1 id=1 op=SEND\n",
		  L "HOST.QP 'h0.q1': no QP 'q1' on host h0 (did you mean 'q0'?)" },
		{ "post h0 id=1 op=SEND\n", L "HOST.QP 'h0': must be HOST.QP" },
		{ "post h1.s0 id=1 op=SEND\n", L "no QP 's0' on host h1" },
		{ "post h0.q0 id=1 op=SENT\n",
		  L "op='SENT': must be one of RDMA_WRITE, RDMA_WRITE_WITH_IMM, SEND" },
		{ "post h0.q0 id=1 op=SEND sge=src:0\n",
		  L "sge='src:0': after MR:OFFSET comes ':' and a length" },
		{ "post h0.q0 id=1 op=SEND sge=src\n", L "after the MR comes ':' and an offset" },
		{ "post h0.q0 id=1 op=SEND sge=dst:0:1\n", L "no MR 'dst' on host h0" },
		{ "post h0.q0 id=1 op=SEND sge=src:65537:0\n",
		  L "offset 65537 lies outside of MR src (65536 bytes)" },
		{ "post h0.q0 id=1 op=SEND sge=src:65000:537\n",
		  L "537 bytes from offset 65000 reach outside of MR src (65536 bytes)" },
		{ "post h0.q0 id=1 op=SEND sge=src:0:18446744073709551615\n",
		  L "reach outside of MR src" },
		{ "post h0.q0 id=1 op=SEND sge=src:0:1,\n", L "a name is missing: which MR?" },
		{ "post h0.q0 id=1 op=SEND sge=va:1:lkey:2\n",
		  L "sge='va:1:lkey:2': must be a list of MR:OFFSET:LEN or va:ADDR:lkey:KEY:LEN" },
		{ "post h0.q0 id=1 op=SEND sge=va:1:rkey:2:3\n", L "sge=" },
		{ "post h0.q0 id=1 op=SEND sge=va:1:lkey:2:4GiB\n",
		  L "an element has a length of 32 bits" },
		{ "post h0.q0 id=1 op=RDMA_WRITE\n", L "op=RDMA_WRITE lacks remote=" },
		{ "post h0.q0 id=1 op=RDMA_WRITE remote=dst\n",
		  L "after the MR comes ':' and an offset" },
		{ "post h0.q0 id=1 op=RDMA_WRITE remote=src:0\n", L "no MR 'src' on host h1" },
		{ "post h0.q0 id=1 op=RDMA_WRITE sge=src:0:100 remote=dst:901\n",
		  L "remote=: 100 bytes from offset 901 reach outside of MR dst (1000 bytes)" },
		{ "post h0.q0 id=1 op=ATOMIC_FETCH_AND_ADD add=1 remote=dst:993\n",
		  L "remote=: 8 bytes from offset 993" },
		{ "post h0.q0 id=1 op=RDMA_READ remote=va:1:lkey:2\n",
		  L "remote='va:1:lkey:2': must be MR:OFFSET or va:ADDR:rkey:KEY" },
		{ "post h0.q0 id=1 op=RDMA_READ remote=va:1:rkey:0x100000000\n", L "remote=" },
		{ "post h0.i id=1 op=RDMA_READ remote=dst:0\n", L "QP i has no peer" },
		{ "post h0.q0 id=1 op=SEND remote=dst:0\n",
		  L "key 'remote' has no meaning with op=SEND" },
		{ "post h0.q0 id=1 op=SEND_WITH_IMM\n", L "op=SEND_WITH_IMM lacks imm=" },
		{ "post h0.q0 id=1 op=SEND_WITH_IMM imm=0x100000000\n", L "imm=" },
		{ "post h0.q0 id=1 op=SEND imm=1\n", L "key 'imm' has no meaning with op=SEND" },
		{ "post h0.q0 id=1 op=RDMA_READ remote=dst:0 level=mr\n",
		  L "key 'level' has no meaning with op=RDMA_READ" },
		{ "post h0.q0 id=1 op=ATOMIC_CMP_AND_SWP remote=dst:0 compare=1\n",
		  L "lacks swap=" },
		{ "post h0.q0 id=1 op=ATOMIC_FETCH_AND_ADD remote=dst:0 swap=1 add=1\n",
		  L "key 'swap' has no meaning" },
		{ "post h0.q0 id=1 op=LOCAL_INV\n", L "lacks inv=" },
		{ "post h0.q0 id=1 op=LOCAL_INV inv=win\n",
		  L "inv='win': must be a key, or the name of an MR or a window on host h0" },
		{ "post h0.q0 id=1 op=BIND_MW mw=win bind=src:0:1\n",
		  L "no window 'win' on host h0" },
		{ "post h1.q0 id=1 op=BIND_MW mw=win bind=dst:0:1001\n",
		  L "reach outside of MR dst" },
		{ "post h0.u id=1 op=SEND\n", L "a post to a UD QP lacks dest=" },
		{ "post h0.u id=1 op=SEND dest=h1.q9\n", L "dest='h1.q9': no QP 'q9' on host h1" },
		{ "post h0.u id=1 op=SEND dest=h1:0x1000000\n", L "dest=" },
		{ "post h0.q0 id=1 op=SEND dest=h1.q0\n", L "dest= and qkey= are for UD QPs" },
		{ "post h0.q0 id=1 op=SEND flags=fast\n",
		  L "flags='fast': must be a list of signaled, unsignaled, solicited, fence, "
		    "inline, more" },
		{ "post h0.q0 id=1 op=SEND flags=signaled,unsignaled\n",
		  L "signaled and unsignaled exclude each other" },
		{ "post h0.q0 id=1 op=SEND repeat=0\n", L "repeat='0'" },
		{ "post h0.q0 id=1 op=SEND window=2\n",
		  L "window=, signal=, batch= have a meaning with repeat= only" },
		{ "post h0.q0 id=1 op=SEND repeat=8 window=4 signal=5\n",
		  L "signal=5, batch=1: nothing would make room in a window of 4" },
		{ "post h0.q0 id=1 op=SEND repeat=8 window=4 batch=8\n",
		  L "signal=1, batch=8: nothing would make room in a window of 4" },
		{ "post h0.q0 id=1 op=SEND repeat=200 window=200 signal=129\n",
		  L "signal=129: nothing would make room in a send queue of 128" },
		{ "post h0.q0 id=1 op=SEND lag=1\n", L "lag= has a meaning with poll= only" },
		{ "post h0.q0 id=1 op=SEND stamp=yes\n", L "stamp=yes wants a last segment" },
		{ "post h0.q0 id=1 op=SEND poll=src\n", L "poll='src'" },
		{ "post h0.q0 id=1 op=SEND at=5\n", L "at='5': must be a time with its unit" },
		{ "post h0.q0 id=1 op=SEND at=18446744073709551615ps delay=1ps\n",
		  L "beyond the end of time" },
		{ "post h0.q0 id=1 op=SEND id=2\n", L "key 'id' is given twice" },
	};

	check(SETUP, cases, ARRAY_LEN(cases));
}

static void trace_order_mistakes_are_named(void)
{
	static const struct mistake cases[] = {
		{ "post h0.q0 id=5 op=SEND\npost h0.q0 id=5 op=SEND\n",
		  "e.trace:16: id=5: ids rise within a host, and host h0 already had 5" },
		{ "post h0.q0 id=5 op=SEND\nrecv h0.q0 id=4\n",
		  "e.trace:16: id=4: ids rise within a host, and host h0 already had 5" },
		{ "post h0.q0 id=5 op=SEND after=5\n",
		  L "after='5': record 5 of host h0 does not stand before this one" },
		{ "recv h0.q0 id=5\npost h1.q0 id=5 op=SEND after=5\n",
		  "e.trace:16: after='5': record 5 of host h1 does not stand before" },
		{ "recv h0.q0 id=5\npost h1.q0 id=5 op=SEND after=h0:5,h0:6\n",
		  "e.trace:16: after='h0:5,h0:6': record 6 of host h0" },
		{ "post h0.q0 id=5 op=SEND flags=unsignaled\npost h0.q0 id=6 op=SEND after=5\n",
		  "e.trace:16: after='5': record 5 of host h0 is unsignaled: its completion is "
		  "never polled" },
		{ "recv h0.q0 id=5\npost h0.q0 id=6 op=SEND after=5 at=1us\n",
		  "e.trace:16: at= and after= exclude each other" },
		{ "recv h0.q0 id=5\nrecv h0.q0 id=6 after=5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5\n",
		  "more than 16 records to wait for" },
		{ "recv h0.q0 id=5 after=\n", L "after='': a name is missing: which host?" },
		{ "recv h0.q0 id=5 after=h1\n", L "after='h1': must be a list of ID or HOST:ID" },
		{ "recv h0.q0 id=5\nhost h2\n",
		  "e.trace:16: 'host' stands behind the first record of the stream" },
		{ "mem h0 src:0 set:1:1\nqp h0 q9 type=UD\n", "e.trace:16: 'qp' stands behind" },
		{ "expect h0.q0 id=1 status=SUCCESS\n", L "nothing was posted yet" },
		{ "recv h0.q0 id=1\nexpect h0.q0 id=2 status=SUCCESS\nrecv h0.q0 id=2\n",
		  "e.trace:16: record 2 of host h0 does not stand before this one" },
		{ "recv h0.q0 id=1\nrnicsim-trace 1\n", "unknown record 'rnicsim-trace'" },
	};

	check(SETUP, cases, ARRAY_LEN(cases));
}

static void trace_other_mistakes_are_named(void)
{
	static const struct mistake cases[] = {
		{ "recv h1.x id=1\n", L "HOST.QP or HOST.SRQ 'h1.x': no QP 'x' on host h1" },
		{ "modify h0.q0 state=RTR sq_psn=1\n", L "rq_psn= goes with state=RTR" },
		{ "modify h0.q0 state=RTS sq_psn=0x1000000\n", L "sq_psn='0x1000000': must be" },
		{ "recv h1.q0 id=1 op=SEND\n", L "unknown key 'op' of 'recv'" },
		{ "mem h0 src:0\n", L "'mem' lacks its hex:BYTES or set:BYTE:LEN" },
		{ "mem h0 src:65535 hex:0102\n",
		  L "2 bytes from offset 65535 reach outside of MR src" },
		{ "mem h0 src:0 set:256:1\n", L "must be hex:BYTES or set:BYTE:LEN" },
		{ "mem h0 src:0 set:1:65537\n", L "65537 bytes from offset 0 reach outside" },
		{ "mem h0 src:0 hex:\n", L "at least one byte" },
		{ "mem h0 src:0 dec:1\n", L "must be hex:BYTES or set:BYTE:LEN" },
		{ "modify h0.q0 limit=1\n", L "'modify' of a QP takes state=" },
		{ "modify h1.s0 state=ERR\n", L "'modify' of an SRQ takes limit=" },
		{ "modify h0.q0\n", L "'modify' of a QP takes state=" },
		{ "destroy h1.s0\n", L "no QP 's0' on host h1" },
		{ "dereg h0 dst\n", L "MR 'dst': no MR 'dst' on host h0" },
		{ "arm h0.q0\n", L "no CQ 'q0' on host h0" },
		{ "arm h0.c0 solicited=perhaps\n", L "must be yes or no" },
		{ "wire h0 h1 drop\n", L "'wire' lacks nth=" },
		{ "wire h0 h1 nth=1\n", L "'wire' needs one of drop, dup, corrupt and delay=TIME" },
		{ "wire h0 h1 drop delay=1us nth=1\n", L "'wire' needs one of" },
		{ "wire h0 h0 drop nth=1\n", L "'wire' needs two hosts" },
		{ "wire h0 h1 drop nth=0\n", L "nth='0': must be a list of rising numbers from 1" },
		{ "wire h0 h1 drop nth=2,2\n", L "nth='2,2': must be a list of rising numbers" },
		{ "wire h0 h1 lose nth=1\n", L "must be one of drop, dup, corrupt" },
		{ "recv h0.q0 id=1\nwire h0 h3 drop nth=1\n",
		  "e.trace:16: HOST 'h3': no host 'h3'" },
	};

	check(SETUP, cases, ARRAY_LEN(cases));
}

static void trace_expect_mistakes_are_named(void)
{
	static const struct mistake cases[] = {
		{ "expect h0.q0 status=SUCCESS\n", "e.trace:16: 'expect' lacks id=" },
		{ "expect h0.q0 id=1\n",
		  "e.trace:16: expect one of status=NAME, error=NAME and none" },
		{ "expect h0.q0 id=1 none status=SUCCESS\n", "expect one of" },
		{ "expect h0.q0 id=1 status=SUCESS\n", "must be one of SUCCESS, LOC_LEN_ERR" },
		{ "expect h0.q0 id=1 error=EIO\n", "must be one of EINVAL, ENOMEM" },
		{ "expect h0.q9 id=1 none\n", "no QP 'q9' on host h0" },
		{ "expect memory\n", "HOST.QP 'memory': no host 'memory'" },
		{ "expect mem h0 src:0:4 == h1 dst:0:5\n", "5 bytes, but the left side has 4" },
		{ "expect mem h0 src:0:4 == h1\n",
		  "'expect mem' lacks MR:OFF:LEN on its right side" },
		{ "expect mem h0 src:0:4 == hex:01\n", "1 bytes, but the left side has 4" },
		{ "expect mem h0 src:0:4 == fill dst:0:4\n",
		  "MR:OFF:LEN 'dst:0:4': must be MR:OFFSET:LEN" },
		{ "expect mem h0 src:0:4 != fill\n", "must be one of ==" },
		{ "expect mem h0 src:0:4 ==\n",
		  "'expect mem' lacks its HOST MR:OFF:LEN, fill or hex:BYTES" },
		{ "expect mem h0 src:65535:2 == fill\n",
		  "2 bytes from offset 65535 reach outside of MR src" },
		{ "expect event h0\n", "'expect event' lacks its NAME" },
		{ "expect stat a..b == 1\n", "must be the path of a statistic" },
		{ "expect stat a.b =< 1\n", "OP '=<': must be one of ==, !=, <, <=, >, >=" },
		{ "expect stat a.b == x\n", "VALUE 'x': must be a number, a time" },
	};

	check(SETUP "recv h0.q0 id=1\n", cases, ARRAY_LEN(cases));
}

/*
 * A good trace with bytes changed, lines cut and doubled: a message or a good trace, never a crash.
 * 
 */
static void trace_garbage_is_survived(void)
{
	static const char good[] = SETUP
		"recv h1.s0 id=1 sge=dst:0:100\npost h0.q0 id=1 op=RDMA_WRITE "
		"sge=src:0:64,va:1:lkey:2:3 remote=dst:0 at=1us\n"
		"post h0.u id=2 op=SEND dest=h1.q0 qkey=1 flags=more,inline after=1 delay=2ns "
		"repeat=3 window=2\n"
		"mem h0 src:1 hex:00ff\nmodify h1.s0 limit=3\nexpect h0.q0 id=1 "
		"status=SUCCESS\nwire h0 h1 drop nth=1,2\n"
		"expect mem h1 dst:0:2 == hex:0102\nexpect stat a.b >= 1us\nexpect event h0 X\n";
	struct rng g;
	unsigned n_good = 0;

	CU_ASSERT_STRING_EQUAL(message(good, sizeof(good) - 1), "");
	rng_seed(&g, "garbage", 2);
	for (int i = 0; i < 3000; i++) {
		char text[sizeof(good) - 1];
		size_t len = sizeof(text), from = (size_t)rng_below(&g, len),
		       n = (size_t)rng_below(&g, 30);

		memcpy(text, good, len);
		for (uint64_t k = rng_below(&g, 3); k; k--)
			text[rng_below(&g, len)] =
				(char)(rng_below(&g, 4) ? good[rng_below(&g, len)]
							: (char)rng_below(&g, 256));
		if (rng_below(&g, 2) && from + n < len) {
			memmove(text + from, text + from + n, len - from - n);
			len -= n;
		}
		n_good += message(text, len)[0] == '\0';
	}
	CU_ASSERT(n_good > 0 && n_good < 1500);
}

CU_TestInfo test_trace_errors_tests[] = {
	{ "trace_setup_alone_is_good", trace_setup_alone_is_good },
	{ "trace_header_mistakes_are_named", trace_header_mistakes_are_named },
	{ "trace_setup_mistakes_are_named", trace_setup_mistakes_are_named },
	{ "trace_qp_mistakes_are_named", trace_qp_mistakes_are_named },
	{ "trace_post_mistakes_are_named", trace_post_mistakes_are_named },
	{ "trace_order_mistakes_are_named", trace_order_mistakes_are_named },
	{ "trace_other_mistakes_are_named", trace_other_mistakes_are_named },
	{ "trace_expect_mistakes_are_named", trace_expect_mistakes_are_named },
	{ "trace_garbage_is_survived", trace_garbage_is_survived },
	CU_TEST_INFO_NULL
};
