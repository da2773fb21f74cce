/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_wire.c - the packets of a run, taken apart
 */
#include "testbench/tb_wire.h"

#include <string.h>

#include "models/packet/icrc.h"
#include "models/nic.h"

/* Where the network header and the BTH begin, and the ICRC ends; false: it is not RDMA. */
static bool find_parts(const struct tb_run_packet *p, bool is_ib, uint32_t *net, uint32_t *l4,
		       uint32_t *end, enum icrc_net *kind)
{
	const uint8_t *d = p->bytes;

	if (p->len < 14 + 20 + 8 + 12 + 4 && !is_ib)
		return false;
	if (is_ib) {
		bool has_grh = (d[1] & 3) == 3;

		*end = ((uint32_t)(d[4] & 7) << 8 | d[5]) * 4;
		*net = has_grh ? 8 : 0;
		*l4 = has_grh ? 48 : 8;
		*kind = has_grh ? ICRC_GRH : ICRC_LRH;
	} else if (d[12] == 0x08 && d[13] == 0x00) {
		*net = 14;
		*l4 = 14 + 20 + 8;
		*end = 14 + ((uint32_t)d[16] << 8 | d[17]);
		*kind = ICRC_IPV4;
	} else if (d[12] == 0x86 && d[13] == 0xdd) {
		*net = 14;
		*l4 = 14 + 40 + 8;
		*end = 14 + 40 + ((uint32_t)d[18] << 8 | d[19]);
		*kind = ICRC_IPV6;
	} else if (d[12] == 0x89 && d[13] == 0x15) {
		*net = 14;
		*l4 = 14 + 40;
		*end = 14 + 40 + ((uint32_t)d[18] << 8 | d[19]);
		*kind = ICRC_GRH;
	} else {
		return false;
	}
	return *end <= p->len && *l4 + BTH_BYTES + 4 <= *end;
}

bool wire_decode(struct wire_packet *w, const struct tb_run_packet *p, bool is_ib)
{
	uint32_t net, l4, end, heads;
	enum icrc_net kind;
	const uint8_t *b;

	memset(w, 0, sizeof(*w));
	if (!find_parts(p, is_ib, &net, &l4, &end, &kind))
		return false;
	b = p->bytes + l4;
	hdr_bth_decode(&w->bth, b);
	w->info = &opcode_info[w->bth.opcode];
	heads = l4 + BTH_BYTES + w->info->xeth_bytes;
	if (!w->info->name || heads + w->bth.pad + 4 > end)
		return false;
#define TAKE(x, bit, to) \
	if (opcode_has(w->info, bit)) \
		hdr_##x##_decode(&w->to, b + w->info->off[bit]);
	TAKE(deth, X_DETH, deth)
	TAKE(reth, X_RETH, reth)
	TAKE(aeth, X_AETH, aeth)
	TAKE(atomiceth, X_ATOMICETH, atomic)
	TAKE(atomicack, X_ATOMICACK, original)
	TAKE(immdt, X_IMMDT, imm)
	TAKE(ieth, X_IETH, ieth)
	TAKE(feth, X_FETH, feth)
#undef TAKE
	w->payload = p->bytes + heads;
	w->len = end - 4 - w->bth.pad - heads;
	w->is_whole = icrc_load(p->bytes + end - 4) == icrc_of(kind, p->bytes + net, end - 4 - net);
	return true;
}

uint8_t wire_opcode(uint32_t qp_type, enum wr_opcode op, uint32_t at, uint32_t n)
{
	/* by transport: RC, UC, UD */
	static const uint8_t transport[] = {
		[QP_RC] = 0x00, [QP_UC] = 0x20, [QP_UD] = 0x60, [QP_XRC] = 0xa0
	};
	/* first, middle, last, only */
	static const uint8_t codes[WR_OPCODES][4] = {
		[WR_SEND] = { 0x00, 0x01, 0x02, 0x04 },
		[WR_SEND_WITH_IMM] = { 0x00, 0x01, 0x03, 0x05 },
		[WR_SEND_WITH_INV] = { 0x00, 0x01, 0x16, 0x17 },
		[WR_RDMA_WRITE] = { 0x06, 0x07, 0x08, 0x0a },
		[WR_RDMA_WRITE_WITH_IMM] = { 0x06, 0x07, 0x09, 0x0b },
		[WR_RDMA_READ] = { 0x0c, 0x0c, 0x0c, 0x0c },
		[WR_ATOMIC_CMP_AND_SWP] = { 0x13, 0x13, 0x13, 0x13 },
		[WR_ATOMIC_FETCH_AND_ADD] = { 0x14, 0x14, 0x14, 0x14 },
		[WR_FLUSH] = { 0x1c, 0x1c, 0x1c, 0x1c },
		[WR_ATOMIC_WRITE] = { 0x1d, 0x1d, 0x1d, 0x1d },
	};
	bool is_first = at == 0, is_last = at + 1 == n;

	if (op == WR_LOCAL_INV || op == WR_BIND_MW)
		return 0xff;
	return transport[qp_type] | codes[op][is_first && is_last ? 3
					      : is_first          ? 0
					      : is_last           ? 2
								  : 1];
}
