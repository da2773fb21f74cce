/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtl_block.hpp - a Verilated module behind struct block_class, once for all blocks
 *
 * A module has, for each row of the block's table: <port>_valid_i/_ready_o/_data_i or
 * _valid_o/_ready_i/_data_o, <parameter>_i, <statistic>_o and <signal>_o; besides clk_i, rst_ni
 * and idle_o. A parameter without a pin is one that the module has no choice in (the class's check()
 * refuses other values), a statistic without one stays what the wrapper makes it. An output port may have <port>_wait_o: "I hold something back until this port is
 * ready". The wrapper lists the pins (add) and says what is special (before_eval, on_push,
 * on_pop); widths come from models/msg.def.
 *
 * One step is one clock cycle: drive, settle, push and pop where valid and ready meet, clock,
 * read back. The pins hold their values little-endian, as Verilator stores them on the machines
 * it runs on.
 */
#ifndef RTL_HOST_RTL_BLOCK_HPP
#define RTL_HOST_RTL_BLOCK_HPP

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "models/msg.h"
#include "verilated.h"

namespace rtl
{

/* One field of a message: where it is in the C struct, and its bits on the pins. */
struct msg_row {
	size_t offset, size;
	unsigned bits;
};
struct msg_layout {
	const char *name;
	std::vector<msg_row> rows; /* the first field is in the lowest bits, as is byte 0 */
};

namespace layout
{
#define F(ctype, bits, name, doc) { offsetof(T, name), sizeof(ctype), bits },
#define FA(ctype, n, name, doc) { offsetof(T, name), n, 8 * (n) },
#define MSG(name, doc, fields) \
	inline msg_layout of_##name() \
	{ \
		using T = struct ::name; \
		return { #name, { fields } }; \
	}
#include "models/msg.def"
#undef MSG
#undef F
#undef FA
} // namespace layout

inline msg_layout layout_of(const std::string &type)
{
#define MSG(name, doc, fields) \
	if (type == #name) \
		return layout::of_##name();
#include "models/msg.def"
#undef MSG
	SIM_CHECK(!"message type of a port", nullptr);
}

/* A pin: its name and Verilator's storage, 1, 2, 4, 8 or 4n bytes. */
struct pin {
	std::string name;
	unsigned char *data;
	size_t size;
};

inline uint64_t pin_get(const pin *p)
{
	uint64_t v = 0;

	memcpy(&v, p->data, p->size < sizeof(v) ? p->size : sizeof(v));
	return v;
}

inline void pin_set(const pin *p, uint64_t v)
{
	memcpy(p->data, &v, p->size < sizeof(v) ? p->size : sizeof(v));
}

/* Bits [pos, pos + n) of a vector, n at most 8 and not across more than two bytes. */
inline void put_bits(unsigned char *v, unsigned pos, unsigned n, unsigned bits)
{
	for (unsigned i = 0; i < n; i++, pos++)
		if (bits >> i & 1)
			v[pos / 8] = static_cast<unsigned char>(v[pos / 8] | 1u << pos % 8);
}

inline unsigned char get_bits(const unsigned char *v, unsigned pos, unsigned n)
{
	unsigned bits = 0;

	for (unsigned i = 0; i < n; i++, pos++)
		bits |= (v[pos / 8] >> pos % 8 & 1u) << i;
	return static_cast<unsigned char>(bits);
}

/* One port: an element of a row, its channel and its pins. */
struct port {
	const struct field *row;
	struct chan *chan;
	const pin *valid, *ready, *data, *wait;
	msg_layout msg;
	std::string name;

	/* Every byte of the message with the place of its bits in the vector. */
	template <class Visit> void visit(Visit f) const
	{
		unsigned pos = 0;

		for (const msg_row &r : msg.rows)
			for (unsigned done = 0; done < r.bits; done += 8) {
				unsigned n = r.bits - done < 8 ? r.bits - done : 8;

				f(r.offset + done / 8, pos, n);
				pos += n;
			}
	}
	unsigned bits() const
	{
		unsigned n = 0;

		for (const msg_row &r : msg.rows)
			n += r.bits;
		return n;
	}
	void pack(const unsigned char *m) const
	{
		memset(data->data, 0, data->size);
		visit([&](size_t at, unsigned pos, unsigned n) {
			put_bits(data->data, pos, n, m[at]);
		});
	}
	void unpack(unsigned char *m) const
	{
		memset(m, 0, chan->elem_size);
		visit([&](size_t at, unsigned pos, unsigned n) {
			m[at] = get_bits(data->data, pos, n);
		});
	}
};

/* Bytes in which Verilator keeps a vector. */
inline size_t storage(unsigned bits)
{
	size_t bytes = 1;

	if (bits > 64)
		return (bits + 31) / 32 * 4;
	while (8 * bytes < bits)
		bytes *= 2;
	return bytes;
}

/* What does not depend on the module's C++ type. */
class block_base
{
public:
	explicit block_base(struct block *owner) : b(owner) {}
	virtual ~block_base() = default;
	block_base(const block_base &) = delete;
	block_base &operator=(const block_base &) = delete;

	/* All pins were added: find them for the rows of the table, set the parameters, reset. */
	void start()
	{
		clk = need("clk_i");
		rst_n = need("rst_ni");
		idle = need("idle_o");
		for (const struct field *f = b->cls->fields; f->kind != FIELD_END; f++)
			bind(f);
		for (unsigned edge = 0; edge < 4; edge++) {
			pin_set(rst_n, edge >= 2);
			pin_set(clk, edge & 1);
			eval();
		}
	}

	uint64_t step()
	{
		bool is_any_visible = false;

		for (const port &p : ins) {
			const void *m = chan_peek(p.chan);

			pin_set(p.valid, m != nullptr);
			if (m)
				p.pack(static_cast<const unsigned char *>(m));
			is_any_visible |= m != nullptr;
		}
		for (const port &p : outs)
			pin_set(p.ready, chan_can_push(p.chan));
		before_eval();
		pin_set(clk, 0);
		eval();
		for (const port &p : outs)
			serve_output(p);
		for (const port &p : ins)
			if (pin_get(p.valid) && pin_get(p.ready)) {
				on_pop(p);
				chan_pop(p.chan);
			}
		pin_set(clk, 1);
		eval();
		for (const auto &[f, p] : values)
			field_set(b, f, pin_get(p));
		return pin_get(idle) && !is_any_visible ? CYCLE_NEVER : b->cycle + 1;
	}

protected:
	struct block *b;

	virtual void eval() = 0;
	/* Drive pins that belong to no row. */
	virtual void before_eval() {}
	/* Complete a message that the module sends. */
	virtual void on_push(const port &, void *) {}
	/* The module takes the head. */
	virtual void on_pop(const port &) {}

	template <class Pin> void add(const char *name, Pin &p)
	{
		pins.push_back({ name, reinterpret_cast<unsigned char *>(&p), sizeof(p) });
	}
	const pin *find(const std::string &name) const
	{
		for (const pin &p : pins)
			if (p.name == name)
				return &p;
		return nullptr;
	}
	const pin *need(const std::string &name) const
	{
		const pin *p = find(name);

		SIM_CHECK(p != nullptr, b);
		return p;
	}

private:
	std::vector<pin> pins;
	std::vector<port> ins, outs;
	std::vector<std::pair<const struct field *, const pin *>> values;
	std::vector<unsigned char> scratch;
	const pin *clk = nullptr, *rst_n = nullptr, *idle = nullptr;

	void bind_port(const struct field *f, const std::string &name, struct chan *c)
	{
		bool is_in = f->kind == FIELD_IN;
		port p = { f,
			   c,
			   need(name + (is_in ? "_valid_i" : "_valid_o")),
			   need(name + (is_in ? "_ready_o" : "_ready_i")),
			   need(name + (is_in ? "_data_i" : "_data_o")),
			   find(name + "_wait_o"),
			   layout_of(f->unit),
			   name };

		SIM_CHECK(p.data->size == storage(p.bits()), b);
		if (c)
			(is_in ? ins : outs).push_back(p);
		if (f->elem_size > scratch.size())
			scratch.resize(f->elem_size);
	}
	void bind(const struct field *f)
	{
		auto *member = reinterpret_cast<unsigned char *>(b) + f->offset;
		auto *chans = reinterpret_cast<struct chan **>(member);

		switch (f->kind) {
		case FIELD_PARAM:
			if (const pin *p = find(std::string(f->name) + "_i"))
				pin_set(p, field_get(b, f));
			break;
		case FIELD_STAT:
		case FIELD_SIGNAL:
			if (const pin *p = find(std::string(f->name) + "_o"))
				values.push_back({ f, p });
			break;
		case FIELD_IN:
		case FIELD_OUT:
			for (uint32_t i = 0; i < f->count; i++)
				bind_port(f, f->name + std::to_string(i), chans[i]);
			if (f->count == 0)
				bind_port(f, f->name, *chans);
			break;
		default:
			break;
		}
	}
	void serve_output(const port &p)
	{
		if (!pin_get(p.ready)) {
			if (pin_get(p.valid) || (p.wait && pin_get(p.wait)))
				chan_stall(p.chan);
			return;
		}
		if (!pin_get(p.valid))
			return;
		p.unpack(scratch.data());
		on_push(p, scratch.data());
		chan_push(p.chan, scratch.data(), p.chan->elem_size);
	}
};

/* A block whose module is Verilated class V. */
template <class V> class block_of : public block_base
{
protected:
	explicit block_of(struct block *owner) : block_base(owner), context(new VerilatedContext)
	{
		top.reset(new V(context.get(), owner->name));
	}
	void eval() override { top->eval(); }

private:
	std::unique_ptr<VerilatedContext> context;

protected:
	std::unique_ptr<V> top;
};

/* The functions of the class of block struct S (with a member void *rtl), wrapper W. */
template <class S, class W> struct entry {
	static W *of(struct block *b) { return static_cast<W *>(reinterpret_cast<S *>(b)->rtl); }
	static void build(struct block *b) { reinterpret_cast<S *>(b)->rtl = new W(b); }
	static void reset(struct block *b) { of(b)->start(); }
	static uint64_t step(struct block *b) { return of(b)->step(); }
	static void destroy(struct block *b) { delete of(b); }
};

} // namespace rtl

/* Inside a wrapper's constructor: one pin of 'top', under its own name. */
#define PIN(name) add(#name, top->name)
#define PINS_IN(port) PIN(port##_valid_i), PIN(port##_ready_o), PIN(port##_data_i)
#define PINS_OUT(port) PIN(port##_valid_o), PIN(port##_ready_i), PIN(port##_data_o)

#endif
