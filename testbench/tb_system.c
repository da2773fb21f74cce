/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_system.c - hosts set up from the text of a trace, for tests
 */
#include "testbench/tb_system.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

#include "testbench/tb_file.h"

static bool open_text(struct tb_system *t, const char *text, struct err *e)
{
	const char *path = tb_write("system.trace", text, strlen(text));

	memset(t, 0, sizeof(*t));
	t->trace = trace_open(path, e);
	if (t->trace)
		t->s = system_create(t->trace, e);
	if (t->s && system_prime(t->s, e)) {
		t->h = &t->s->hosts[0];
		return true;
	}
	system_destroy(t->s);
	t->s = NULL;
	return false;
}

void tb_system_open(struct tb_system *t, const char *text)
{
	struct err e = { 0 };

	if (!open_text(t, text, &e)) {
		puts(e.text);
		CU_FAIL_FATAL("the trace does not make a system");
	}
}

void tb_system_close(struct tb_system *t)
{
	system_destroy(t->s);
	trace_close(t->trace);
}

const char *tb_system_error(const char *text)
{
	static struct err e;
	struct tb_system t;

	e = (struct err){ 0 };
	if (open_text(&t, text, &e))
		snprintf(e.text, sizeof(e.text), "(no error)");
	tb_system_close(&t);
	return e.text;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

uint32_t tb_hex(const char *text, uint8_t *to, uint32_t max)
{
	uint32_t n = 0;

	for (; *text; text++) {
		if (*text == ' ')
			continue;
		if (n == max || digit(text[0]) < 0 || digit(text[1]) < 0)
			CU_FAIL_FATAL("bad hex in a test");
		to[n++] = (uint8_t)(digit(text[0]) << 4 | digit(text[1]));
		text++;
	}
	return n;
}
