/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_packet.c - any bytes as a packet: the parser of packets, the decoders of headers
 *
 * The first byte tells Ethernet (even) from InfiniBand (odd); its second bit asks for an ICRC that is
 * right, so that what lies behind the check is reached. The packet lies in a buffer of its exact
 * size. What the parser lets pass keeps its promises: offsets in order and in bounds, and every
 * header, decoded and encoded again, the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "models/packet/encap.h"
#include "sim/err.h"
#include "testbench/fuzz/fuzz.h"

#define MAX_BYTES 8192u

static void require(bool holds)
{
	if (!holds)
		abort();
}

#define HDR(x, NAME, bytes, doc, fields) \
	static bool x##_is_kept(const uint8_t *at) \
	{ \
		uint8_t again[bytes]; \
		struct hdr_##x h; \
\
		hdr_##x##_decode(&h, at); \
		hdr_##x##_encode(again, &h); \
		return memcmp(again, at, bytes) == 0; \
	}
#include "models/packet/hdr.def"
#undef HDR

typedef bool is_kept_fn(const uint8_t *at);

static void check_xeths(const struct packet *p, const struct packet_view *v)
{
	static is_kept_fn *const kept[X_COUNT] = {
		[X_XRCETH] = xrceth_is_kept,       [X_RDETH] = rdeth_is_kept,
		[X_DETH] = deth_is_kept,           [X_FETH] = feth_is_kept,
		[X_RETH] = reth_is_kept,           [X_AETH] = aeth_is_kept,
		[X_ATOMICETH] = atomiceth_is_kept, [X_ATOMICACK] = atomicack_is_kept,
		[X_IMMDT] = immdt_is_kept,         [X_IETH] = ieth_is_kept,
	};

	for (unsigned x = 0; x < X_COUNT; x++)
		if (opcode_has(v->info, x))
			require(kept[x](p->data + v->l4 + v->info->off[x]));
}

static void check_net(const struct packet *p, const struct packet_view *v)
{
	static const struct {
		uint8_t at[3]; /* offset + 1; 0 = no more */
		is_kept_fn *kept[3];
	} stacks[ENCAPS] = {
		[ENCAP_IPV4] = { { 1, 15, 35 }, { eth_is_kept, ipv4_is_kept, udp_is_kept } },
		[ENCAP_IPV6] = { { 1, 15, 55 }, { eth_is_kept, ipv6_is_kept, udp_is_kept } },
		[ENCAP_ROCE1] = { { 1, 15 }, { eth_is_kept, grh_is_kept } },
		[ENCAP_IB] = { { 1 }, { lrh_is_kept } },
		[ENCAP_IB_GRH] = { { 1, 9 }, { lrh_is_kept, grh_is_kept } },
	};

	for (unsigned i = 0; i < 3 && stacks[v->encap].at[i]; i++)
		require(stacks[v->encap].kept[i](p->data + stacks[v->encap].at[i] - 1));
}

static void check_view(const struct packet *p, const struct packet_view *v)
{
	require(v->net <= v->l4 && v->xeth == v->l4 + BTH_BYTES);
	require(v->payload == v->xeth + v->info->xeth_bytes);
	require(v->payload + v->payload_len + v->bth.pad == v->icrc);
	require(v->icrc + ICRC_BYTES <= p->len && v->payload_len <= 4096);
	require(bth_is_kept(p->data + v->l4));
	check_net(p, v);
	check_xeths(p, v);
}

int fuzz_packet(const uint8_t *data, size_t n)
{
	static const struct port_addr port = { .ip = { [10] = 0xff, 0xff, 10, 0, 0, 2 } };
	static const struct qp_attr qp = { .qpn = 1 };
	struct packet_view v;
	struct packet *p;
	bool is_taken;

	if (n < 1 || n > MAX_BYTES)
		return 0;
	p = x_calloc(1, sizeof(*p) + n - 1);
	p->encap = data[0] & 1 ? ENCAP_IB : ENCAP_IPV4;
	p->len = (uint16_t)(n - 1);
	memcpy(p->data, data + 1, n - 1);
	is_taken = packet_parse(p, &v) == DROP_NONE;
	if (is_taken) {
		check_view(p, &v);
		if (data[0] & 2)
			icrc_store(p->data + v.icrc, icrc_of(encaps[v.encap].icrc, p->data + v.net,
							     (size_t)(v.icrc - v.net)));
		is_taken = packet_icrc_ok(p, &v);
		packet_is_to(p, &v, &port);
		packet_is_from(p, &v, &qp);
	}
	free(p);
	return is_taken;
}
