/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_printed.c - `rnicsim run` in a process of its own, and what it printed
 */
#include "testbench/tb_printed.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/units.h"
#include "testbench/tb_file.h"
#include "tools/run/commands.h"

#define MAX_ARGS 24u

static const char ini[] = "[scenario]\ntrace = t.trace\n";

static void child(char *args, const char *out, const char *err)
{
	char name[] = "run", scenario[512], *argv[MAX_ARGS] = { name, scenario }, *save = NULL;
	struct err e = { 0 };
	int argc = 2, status;

	snprintf(scenario, sizeof(scenario), "%s", tb_path("t.ini"));
	for (char *a = strtok_r(args, " ", &save); a; a = strtok_r(NULL, " ", &save))
		argv[argc++] = a;
	if (!freopen(out, "w", stdout) || !freopen(err, "w", stderr))
		_exit(99);
	status = cmd_run(argc, argv, &e);
	if (e.is_set)
		fprintf(stderr, "%s\n", e.text);
	fflush(NULL);
	_exit(status);
}

struct tb_printed tb_printed_run(const char *trace, const char *args)
{
	char *copy = x_strdup(args), *out = x_strdup(tb_path("out")),
	     *err = x_strdup(tb_path("err"));
	struct tb_printed p;
	int status;
	pid_t pid;

	tb_write("t.trace", trace, strlen(trace));
	tb_write("t.ini", ini, sizeof(ini) - 1);
	fflush(NULL);
	pid = fork();
	CU_ASSERT_FATAL(pid >= 0);
	if (pid == 0)
		child(copy, out, err);
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
	p = (struct tb_printed){ WIFEXITED(status) ? WEXITSTATUS(status) : -1, tb_read(out),
				 tb_read(err) };
	CU_ASSERT_FATAL(p.out && p.err);
	free(copy);
	free(out);
	free(err);
	return p;
}

void tb_printed_free(struct tb_printed *p)
{
	free(p->out);
	free(p->err);
}

bool tb_printed_says(const char *trace, const char *args, const char *text)
{
	struct tb_printed p = tb_printed_run(trace, args);
	bool is_there = p.status == 0 && strstr(p.out, text);

	if (!is_there)
		fprintf(stderr, "'%s' not in:\n%s%s\n", text, p.out, p.err);
	tb_printed_free(&p);
	return is_there;
}

unsigned long long tb_printed_number(const char *json, const char *key)
{
	const char *at = strstr(json, key);

	CU_ASSERT_FATAL(at != NULL);
	return strtoull(at + strlen(key) + 2, NULL, 10);
}

char *tb_printed_summary(const char *trace, const char *option)
{
	char args[600], path[512], *text;
	struct tb_printed p;

	snprintf(path, sizeof(path), "%s", tb_path("summary"));
	snprintf(args, sizeof(args), "-o %s %s", path, option);
	p = tb_printed_run(trace, args);
	CU_ASSERT_EQUAL(p.status, 0);
	tb_printed_free(&p);
	strcat(path, "/summary.json");
	text = tb_read(path);
	CU_ASSERT_FATAL(text != NULL);
	return text;
}

static int by_number(const void *a, const void *b)
{
	unsigned long long x = *(const unsigned long long *)a, y = *(const unsigned long long *)b;

	return (x > y) - (x < y);
}

size_t tb_printed_column(const char *dir, const char *name, unsigned long long *ps, size_t max)
{
	char path[600], *text, *line, *save = NULL;
	size_t n = 0, column = 0;

	snprintf(path, sizeof(path), "%s/ops.csv", dir);
	text = tb_read(path);
	CU_ASSERT_FATAL(text != NULL);
	line = strtok_r(text, "\n", &save);
	for (const char *c = line; c < strstr(line, name); c++)
		column += *c == ',';
	while (n < max && (line = strtok_r(NULL, "\n", &save))) {
		for (size_t i = 0; i < column; i++)
			line = strchr(line, ',') + 1;
		ps[n++] = strtoull(line, NULL, 10);
	}
	free(text);
	qsort(ps, n, sizeof(*ps), by_number);
	return n;
}
