/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_replay.c - recorded packets against simulated ones
 */
#include "testbench/tb_replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/packet/icrc.h"
#include "testbench/pcap_in.h"

#define MAX_FROM 256u

/* ---- lists ---- */

static void add(struct replay_list *l, const uint8_t *bytes, uint32_t len)
{
	struct replay_packet *r;
	enum packet_drop why;

	if ((l->n & (l->n - 1)) == 0)
		l->at = x_realloc(l->at, (l->n ? 2 * (size_t)l->n : 1) * sizeof(*r));
	r = &l->at[l->n];
	*r = (struct replay_packet){ .p = x_calloc(1, sizeof(struct packet) + len) };
	r->p->len = (uint16_t)len;
	memcpy(r->p->data, bytes, len);
	why = packet_parse(r->p, &r->v);
	if (why == DROP_ETHERTYPE || why == DROP_PORT || (why == DROP_SHORT && len < 58) ||
	    (why == DROP_IP && bytes[14] >> 4 == 6)) {
		free(r->p); /* ARP, neighbour discovery and the like */
		return;
	}
	l->n++;
	r->is_bad = why != DROP_NONE || !packet_icrc_ok(r->p, &r->v);
	if (r->is_bad)
		return;
	r->from = bytes[r->v.net + (r->v.encap == ENCAP_IPV6 ? 8 + 15 : 12 + 3)];
	r->kind = r->v.info->is_response ? REPLAY_RESPONSE : REPLAY_REQUEST;
	if (r->kind == REPLAY_RESPONSE && (r->v.bth.opcode & IB_OPERATION_MASK) == IB_ACKNOWLEDGE)
		r->kind = REPLAY_ACK;
}

static void add_recorded(void *arg, uint32_t linktype, const uint8_t *bytes, uint32_t len)
{
	if (linktype == PCAP_ETHERNET)
		add(arg, bytes, len);
}

bool replay_record(struct replay_list *l, const char *path)
{
	*l = (struct replay_list){ 0 };
	return pcap_each(path, add_recorded, l) >= 0;
}

void replay_of_run(struct replay_list *l, const struct tb_run *t, uint32_t nic)
{
	*l = (struct replay_list){ 0 };
	for (uint32_t i = 0; i < t->n_packets; i++)
		if (t->packets[i].nic == nic)
			add(l, t->packets[i].bytes, t->packets[i].len);
}

void replay_free(struct replay_list *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		free(l->at[i].p);
	free(l->at);
	*l = (struct replay_list){ 0 };
}

/* ---- what differs, in words ---- */

static const char *const kind_names[] = { "request", "response", "ACK" };

/* A place in a packet, by byte and bit from the Ethernet header on, and its name. */
struct place {
	uint32_t byte, bit; /* bit 0 is the byte's highest */
	char name[64];
};

/* Whether the place is in header 'name', which begins at byte 'from'. */
static bool name_field(struct place *at, const char *name, uint32_t from)
{
	const struct hdr_row *h = hdr_rows;
	uint32_t bit = 8 * (at->byte - from) + at->bit;

	while (strcmp(h->name, name) != 0)
		h++;
	if (at->byte < from || at->byte >= from + h->bytes)
		return false;
	for (const struct hdr_field *f = h->fields; f < h->fields + h->n_fields; f++) {
		if (bit < f->bits) {
			snprintf(at->name, sizeof(at->name), "%s.%s", name, f->name);
			return true;
		}
		bit -= f->bits;
	}
	return false;
}

static void name_place(const struct replay_packet *r, struct place *at)
{
	static const char *const xeths[X_COUNT] = {
		[X_XRCETH] = "xrceth",       [X_RDETH] = "rdeth",
		[X_DETH] = "deth",           [X_FETH] = "feth",
		[X_RETH] = "reth",           [X_AETH] = "aeth",
		[X_ATOMICETH] = "atomiceth", [X_ATOMICACK] = "atomicack",
		[X_IMMDT] = "immdt",         [X_IETH] = "ieth"
	};
	const struct packet_view *v = &r->v;

	if (name_field(at, v->encap == ENCAP_IPV6 ? "ipv6" : "ipv4", v->net) ||
	    name_field(at, "udp", v->l4 - UDP_BYTES) || name_field(at, "bth", v->l4))
		return;
	for (unsigned x = 0; x < X_COUNT; x++)
		if (opcode_has(v->info, x) && name_field(at, xeths[x], v->l4 + v->info->off[x]))
			return;
	if (at->byte < v->icrc)
		snprintf(at->name, sizeof(at->name), "payload byte %" PRIu32,
			 at->byte - v->payload);
	else
		snprintf(at->name, sizeof(at->name), "ICRC");
}

/* Counts, and tells of the first one. */
struct verdict {
	uint32_t n;
	char *text;
	size_t len;
};

static void tell(struct verdict *d, const struct replay_packet *r, uint32_t index, const char *what)
{
	if (d->n++)
		return;
	if (r->is_bad)
		snprintf(d->text, d->len, "packet %" PRIu32 ": %s", index, what);
	else
		snprintf(d->text, d->len, "%s %" PRIu32 " from %u (%s, PSN 0x%06x, to QP 0x%x): %s",
			 kind_names[r->kind], index, r->from, r->v.info->name,
			 (unsigned)r->v.bth.psn, (unsigned)r->v.bth.destqp, what);
}

/* ---- two packets ---- */

static void put_checksum(uint8_t *ip)
{
	uint32_t sum = 0;

	ip[10] = ip[11] = 0;
	for (unsigned i = 0; i < IPV4_BYTES; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

/* Our packet takes the identification of the recorded one. */
static void take_id(struct replay_packet *our, const struct replay_packet *rec)
{
	uint8_t *ip = our->p->data + our->v.net;
	size_t n = (size_t)(our->v.icrc - our->v.net);

	if (our->v.encap != ENCAP_IPV4 || rec->v.encap != ENCAP_IPV4)
		return;
	memcpy(ip + 4, rec->p->data + rec->v.net + 4, 2);
	put_checksum(ip);
	icrc_store(our->p->data + our->v.icrc, icrc_of(ICRC_IPV4, ip, n));
}

/* The IPv4 checksum says only that something else differs. */
static bool is_checksum(const struct packet_view *v, uint32_t i)
{
	return v->encap == ENCAP_IPV4 && i - v->net >= 10 && i - v->net < 12;
}

/* Compares from the IP header to the ICRC; both are good packets. */
static void compare_packet(struct verdict *d, const struct replay_packet *rec,
			   struct replay_packet *our, uint32_t index)
{
	const uint8_t *a = rec->p->data, *b = our->p->data;
	uint32_t end = (uint32_t)min_u64(rec->v.icrc, our->v.icrc) + ICRC_BYTES;
	char what[128];

	if (rec->v.encap != our->v.encap) {
		tell(d, rec, index, "not the same IP version");
		return;
	}
	take_id(our, rec);
	for (uint32_t i = rec->v.net; i < end; i++) {
		struct place at = { .byte = i };

		if (a[i] == b[i] || is_checksum(&rec->v, i))
			continue;
		at.bit = (uint32_t)__builtin_clz((uint32_t)(a[i] ^ b[i]) << 24);
		name_place(rec, &at);
		snprintf(what, sizeof(what), "%s: byte 0x%02x recorded, 0x%02x ours", at.name, a[i],
			 b[i]);
		tell(d, rec, index, what);
		return;
	}
	if (rec->v.icrc != our->v.icrc)
		tell(d, rec, index, "not the same length");
}

/* ---- streams ---- */

/* The next good packet of a kind and direction from 'i' on; l->n = none. */
static uint32_t next(const struct replay_list *l, uint32_t i, enum replay_kind kind, unsigned from)
{
	while (i < l->n && (l->at[i].is_bad || l->at[i].kind != kind || l->at[i].from != from))
		i++;
	return i;
}

static void compare_stream(struct verdict *d, const struct replay_list *rec,
			   struct replay_list *our, enum replay_kind kind, unsigned from)
{
	uint32_t i = next(rec, 0, kind, from), k = next(our, 0, kind, from), index = 0;

	while (i < rec->n && k < our->n) {
		compare_packet(d, &rec->at[i], &our->at[k], index++);
		i = next(rec, i + 1, kind, from);
		k = next(our, k + 1, kind, from);
	}
	if (i < rec->n)
		tell(d, &rec->at[i], index, "was not sent");
	if (k < our->n)
		tell(d, &our->at[k], index, "was not recorded");
}

/* The last ACK in the direction and of the QP of 'like', and with its PSN too; NULL = none. */
static struct replay_packet *last_ack(const struct replay_list *l, const struct replay_packet *like,
				      bool with_psn)
{
	for (uint32_t i = l->n; i-- > 0;) {
		struct replay_packet *r = &l->at[i];

		if (!r->is_bad && r->kind == REPLAY_ACK && r->from == like->from &&
		    r->v.bth.destqp == like->v.bth.destqp &&
		    (!with_psn || r->v.bth.psn == like->v.bth.psn))
			return r;
	}
	return NULL;
}

static void compare_acks(struct verdict *d, const struct replay_list *rec, struct replay_list *our)
{
	const struct replay_packet *r, *a;

	for (uint32_t i = 0; i < our->n; i++) {
		if (our->at[i].is_bad || our->at[i].kind != REPLAY_ACK)
			continue;
		r = last_ack(rec, &our->at[i], true);
		if (r)
			compare_packet(d, r, &our->at[i], i);
		if (!last_ack(rec, &our->at[i], false))
			tell(d, &our->at[i], i, "none was recorded");
	}
	for (uint32_t i = 0; i < rec->n; i++) {
		r = &rec->at[i];
		if (r->is_bad || r->kind != REPLAY_ACK || r != last_ack(rec, r, false))
			continue;
		a = last_ack(our, r, false);
		if (!a || a->v.bth.psn != r->v.bth.psn)
			tell(d, r, i, a ? "ours ends at another PSN" : "was not sent");
	}
}

uint32_t replay_compare(const struct replay_list *recorded, struct replay_list *ours, char *text,
			size_t len)
{
	struct verdict d = { .text = text, .len = len };

	text[0] = '\0';
	for (uint32_t i = 0; i < recorded->n; i++)
		if (recorded->at[i].is_bad)
			tell(&d, &recorded->at[i], i, "recorded malformed, or with a wrong ICRC");
	for (uint32_t i = 0; i < ours->n; i++)
		if (ours->at[i].is_bad)
			tell(&d, &ours->at[i], i, "ours is malformed, or has a wrong ICRC");
	for (unsigned from = 0; from < MAX_FROM; from++) {
		compare_stream(&d, recorded, ours, REPLAY_REQUEST, from);
		compare_stream(&d, recorded, ours, REPLAY_RESPONSE, from);
	}
	compare_acks(&d, recorded, ours);
	return d.n;
}
