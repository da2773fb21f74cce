/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value.c - numbers with units, to base units and back, without floating point
 *
 * A number is digits, a fraction, an exponent and a unit. It is held as an integer times a power of
 * ten, so "14.0625Gbps" is exactly 14,062,500,000 bits a second, and what is no whole number of base
 * units is refused instead of rounded.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "sim/config.h"

#define MANT_DIGITS 25 /* 10^25 x the largest multiplier still fits 128 bits */
#define EXP_MAX 1000

struct unit {
	const char *name;
	uint64_t mul;
};

static const struct unit no_units[] = { { "", 1 }, { NULL, 0 } };
static const struct unit byte_units[] = { { "", 1 },
					  { "B", 1 },
					  { "KiB", KIB },
					  { "MiB", MIB },
					  { "GiB", GIB },
					  { "TiB", KIB *GIB },
					  { "KB", 1000 },
					  { "MB", 1000000 },
					  { "GB", 1000000000 },
					  { "TB", 1000000000000 },
					  { NULL, 0 } };
static const struct unit time_units[] = { { "ps", 1 },         { "ns", PS_PER_NS },
					  { "us", PS_PER_US }, { "ms", PS_PER_MS },
					  { "s", PS_PER_S },   { NULL, 0 } };
static const struct unit rate_units[] = { { "bps", 1 },     { "Kbps", KBPS },
					  { "kbps", KBPS }, { "Mbps", MBPS },
					  { "Gbps", GBPS }, { "Tbps", 1000 * GBPS },
					  { NULL, 0 } };
static const struct unit freq_units[] = { { "Hz", 1 },    { "kHz", 1000 }, { "KHz", 1000 },
					  { "MHz", MHZ }, { "GHz", GHZ },  { NULL, 0 } };
static const struct unit length_units[] = {
	{ "mm", 1 }, { "cm", 10 }, { "m", 1000 }, { "km", 1000000 }, { NULL, 0 }
};
static const struct unit prob_units[] = { { "", PPB_ONE }, { "%", PPB_ONE / 100 }, { NULL, 0 } };

enum number { NUMBER_OK, NUMBER_BAD, NUMBER_HUGE, NUMBER_INEXACT };

/* m x 10^exp10. */
struct decimal {
	u128 m;
	int exp10;
	bool is_cut; /* digits other than 0 did not fit */
};

/* Digits and fraction at 's'; returns what follows, or NULL when there is no digit. */
static const char *read_digits(const char *s, struct decimal *d)
{
	int n = 0, n_digits = 0;
	bool in_fraction = false;

	for (;; s++) {
		if (*s == '.' && !in_fraction) {
			in_fraction = true;
			continue;
		}
		if (!isdigit((unsigned char)*s))
			break;
		n_digits++;
		if (n == MANT_DIGITS) {
			d->is_cut |= *s != '0';
			d->exp10 += !in_fraction;
			continue;
		}
		d->m = d->m * 10 + (unsigned)(*s - '0');
		d->exp10 -= in_fraction;
		n += d->m != 0;
	}
	return n_digits ? s : NULL;
}

/* An exponent at 's', if there is one. Returns what follows. */
static const char *read_exponent(const char *s, struct decimal *d)
{
	const char *p = s + 1;
	bool is_negative = false;
	int v = 0;

	if (*s != 'e' && *s != 'E')
		return s;
	if (*p == '+' || *p == '-')
		is_negative = *p++ == '-';
	if (!isdigit((unsigned char)*p))
		return s;
	for (; isdigit((unsigned char)*p); p++)
		if (v < EXP_MAX)
			v = v * 10 + (*p - '0');
	d->exp10 += is_negative ? -v : v;
	return p;
}

static enum number scale(struct decimal d, uint64_t mul, uint64_t *v)
{
	u128 x = d.m * mul;

	if (x == 0 && !d.is_cut) {
		*v = 0;
		return NUMBER_OK;
	}
	for (; d.exp10 > 0 && x <= UINT64_MAX; d.exp10--)
		x *= 10;
	for (; d.exp10 < 0 && x % 10 == 0; d.exp10++)
		x /= 10;
	if (d.exp10 < 0 || (d.is_cut && x <= UINT64_MAX))
		return NUMBER_INEXACT;
	if (x > UINT64_MAX)
		return NUMBER_HUGE;
	*v = (uint64_t)x;
	return NUMBER_OK;
}

static enum number read_hex(const char *s, uint64_t *v)
{
	uint64_t x = 0;

	if (!*s)
		return NUMBER_BAD;
	for (; *s; s++) {
		int c = tolower((unsigned char)*s);

		if (!isxdigit(c))
			return NUMBER_BAD;
		if (x >> 60)
			return NUMBER_HUGE;
		x = x << 4 | (unsigned)(isdigit(c) ? c - '0' : c - 'a' + 10);
	}
	*v = x;
	return NUMBER_OK;
}

/* The whole of 'text' as a number with one of 'units'. When none is named "", only 0 may go without. */
static enum number read_number(const char *text, const struct unit *units, bool is_hex_allowed,
			       uint64_t *v)
{
	struct decimal d = { 0 };
	const char *s = text;

	if (is_hex_allowed && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		return read_hex(s + 2, v);
	s = read_digits(s, &d);
	if (!s)
		return NUMBER_BAD;
	s = read_exponent(s, &d);
	while (*s == ' ' || *s == '\t')
		s++;
	for (; units->name; units++)
		if (strcmp(s, units->name) == 0)
			return scale(d, units->mul, v);
	if (*s == '\0' && d.m == 0) {
		*v = 0;
		return NUMBER_OK;
	}
	return NUMBER_BAD;
}

bool parse_count(const char *text, uint64_t *v)
{
	return read_number(text, no_units, true, v) == NUMBER_OK;
}

bool parse_bytes(const char *text, uint64_t *v)
{
	return read_number(text, byte_units, true, v) == NUMBER_OK;
}

bool parse_time_ps(const char *text, uint64_t *v)
{
	return read_number(text, time_units, false, v) == NUMBER_OK;
}

bool parse_rate_bps(const char *text, uint64_t *v)
{
	return read_number(text, rate_units, false, v) == NUMBER_OK;
}

static bool read_bool(const char *text, uint64_t *v)
{
	static const char *const yes[] = { "on", "yes", "true", "1" };
	static const char *const no[] = { "off", "no", "false", "0" };

	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
			*v = strcasecmp(text, yes[i]) == 0;
			return true;
		}
	}
	return false;
}

static enum number read_form(const struct field *f, const char *text, uint64_t *v)
{
	SIM_CHECK(f->form != FORM_STR, NULL);
	switch (f->form) {
	case FORM_COUNT:
		return read_number(text, no_units, true, v);
	case FORM_BYTES:
		return read_number(text, byte_units, true, v);
	case FORM_RATE:
		return read_number(text, rate_units, false, v);
	case FORM_FREQ:
		return read_number(text, freq_units, false, v);
	case FORM_PROB:
		return read_number(text, prob_units, false, v);
	case FORM_LENGTH:
		return read_number(text, length_units, false, v);
	case FORM_BOOL:
		return read_bool(text, v) ? NUMBER_OK : NUMBER_BAD;
	case FORM_TIME:
		if (f->max == TIME_NEVER && strcmp(text, "never") == 0) {
			*v = TIME_NEVER;
			return NUMBER_OK;
		}
		return read_number(text, time_units, false, v);
	case FORM_ENUM:
		for (uint64_t i = 0; f->names[i]; i++) {
			if (strcmp(text, f->names[i]) == 0) {
				*v = i;
				return NUMBER_OK;
			}
		}
		return NUMBER_BAD;
	case FORM_STR:
		break;
	}
	return NUMBER_BAD;
}

/* Append to 'buf' as printf would, never beyond 'len'. */
__attribute__((format(printf, 3, 4))) static void add(char *buf, size_t len, const char *fmt, ...)
{
	size_t n = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf + n, len - n, fmt, ap);
	va_end(ap);
}

/* "must be ...": what a field takes. */
static void say_allowed(const struct field *f, const char *text, char *why, size_t len)
{
	static const char *const what[] = {
		[FORM_COUNT] = "a whole number",
		[FORM_BYTES] = "a size such as 4KiB",
		[FORM_TIME] = "a time such as 2us",
		[FORM_RATE] = "a rate such as 100Gbps",
		[FORM_FREQ] = "a frequency such as 250MHz",
		[FORM_PROB] = "a probability such as 1e-5 (steps of 1e-9)",
		[FORM_LENGTH] = "a length such as 2m",
	};
	char lo[32], hi[32];
	size_t n = 0;

	if (f->form == FORM_BOOL) {
		add(why, len, "must be on or off");
		return;
	}
	if (f->form == FORM_ENUM) {
		const char *near;

		for (; f->names[n]; n++)
			add(why, len, "%s%s",
			    n == 0            ? "must be "
			    : f->names[n + 1] ? ", "
					      : " or ",
			    f->names[n]);
		near = err_nearest(text, f->names, n);
		if (near)
			add(why, len, "; nearest is '%s'", near);
		return;
	}
	add(why, len, "must be %s", what[f->form]);
	value_format(f, f->min, lo, sizeof(lo));
	value_format(f, f->max, hi, sizeof(hi));
	if (f->max != UINT64_MAX)
		add(why, len, " from %s to %s", lo, hi);
	else if (f->min)
		add(why, len, ", at least %s", lo);
	if (f->form == FORM_COUNT && f->unit[0])
		add(why, len, " (%s)", f->unit);
}

bool value_parse(const struct field *f, const char *text, uint64_t *v, char *why, size_t why_len)
{
	static const char *const base[] = {
		[FORM_COUNT] = "number",
		[FORM_BYTES] = "number of bytes",
		[FORM_TIME] = "number of picoseconds",
		[FORM_RATE] = "number of bits a second",
		[FORM_FREQ] = "number of hertz",
		[FORM_PROB] = "multiple of 1e-9",
		[FORM_LENGTH] = "number of millimetres",
	};
	uint64_t x = 0;
	enum number r = read_form(f, text, &x);

	why[0] = '\0';
	if (r == NUMBER_OK &&
	    (f->form == FORM_BOOL || f->form == FORM_ENUM || (x >= f->min && x <= f->max))) {
		*v = x;
		return true;
	}
	if (text[0] == '\0')
		add(why, why_len, "is empty; ");
	else if (r == NUMBER_OK)
		add(why, why_len, "is out of range; ");
	else if (r == NUMBER_HUGE)
		add(why, why_len, "is too large; ");
	else if (r == NUMBER_INEXACT)
		add(why, why_len, "is no whole %s; ", base[f->form]);
	say_allowed(f, text, why, why_len);
	return false;
}

/* v / mul with as many decimals as it takes, then the unit. */
static void format_scaled(char *buf, size_t len, uint64_t v, const struct unit *u)
{
	uint64_t rest = v % u->mul;

	snprintf(buf, len, "%" PRIu64 "%s", v / u->mul, rest ? "." : "");
	for (; rest; rest %= u->mul) {
		rest *= 10;
		add(buf, len, "%" PRIu64, rest / u->mul);
	}
	add(buf, len, "%s", u->name);
}

static void format_prob(char *buf, size_t len, uint64_t v)
{
	unsigned exp10 = 9;
	struct unit one = { "", PPB_ONE };

	if (v == 0 || v >= PPB_ONE / 1000) {
		format_scaled(buf, len, v, &one);
		return;
	}
	for (; v % 10 == 0; v /= 10)
		exp10--;
	snprintf(buf, len, "%" PRIu64 "e-%u", v, exp10);
}

/* The largest unit that leaves a whole number (sizes) or a number from 1 up (the decimal units). */
static const struct unit *pick_unit(const struct unit *u, uint64_t v, bool is_whole)
{
	const struct unit *best = u;

	for (; u->name; u++)
		if (v >= u->mul && u->mul > best->mul &&
		    (!is_whole || (v % u->mul == 0 && u->mul % KIB == 0)))
			best = u;
	return best;
}

char *value_format(const struct field *f, uint64_t v, char *buf, size_t len)
{
	const struct unit *units = f->form == FORM_TIME   ? time_units
				   : f->form == FORM_RATE ? rate_units
				   : f->form == FORM_FREQ ? freq_units
							  : length_units;

	switch (f->form) {
	case FORM_BOOL:
		snprintf(buf, len, "%s", v ? "on" : "off");
		break;
	case FORM_ENUM:
		snprintf(buf, len, "%s", f->names[v]);
		break;
	case FORM_PROB:
		format_prob(buf, len, v);
		break;
	case FORM_BYTES:
		units = pick_unit(byte_units, v, true);
		snprintf(buf, len, "%" PRIu64 "%s", v / units->mul,
			 units->mul == 1 && v ? "B" : units->name);
		break;
	case FORM_TIME:
	case FORM_RATE:
	case FORM_FREQ:
	case FORM_LENGTH:
		if (f->form == FORM_TIME && v == TIME_NEVER)
			snprintf(buf, len, "never");
		else
			format_scaled(buf, len, v, pick_unit(units, v, false));
		break;
	default:
		snprintf(buf, len, "%" PRIu64, v);
		break;
	}
	return buf;
}
