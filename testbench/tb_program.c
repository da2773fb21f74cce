/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_program.c - the built programs, as their user starts them
 */
#include "testbench/tb_program.h"

#include <CUnit/CUnit.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/err.h"
#include "sim/units.h"
#include "testbench/tb_file.h"

#define MAX_ARGS 24

static const char *const programs[] = { "rnicsim", "rnicsim-san" };

/* Path of a program beside this one; false when it was not built. */
static bool find_program(const char *name, char *path, size_t len)
{
	ssize_t n = readlink("/proc/self/exe", path, len - 1);

	CU_ASSERT_FATAL(n > 0);
	path[n] = '\0';
	snprintf(strrchr(path, '/') + 1, len - (size_t)(strrchr(path, '/') + 1 - path), "%s", name);
	return access(path, X_OK) == 0;
}

/* "run @a.ini --quiet" to arguments, '@' being the scratch directory. */
static void split(const char *args, char *program, char *argv[MAX_ARGS])
{
	size_t n = 0;

	argv[n++] = program;
	while (*args && n < MAX_ARGS - 1) {
		size_t len = strcspn(args, " ");
		const char *at = memchr(args, '@', len);
		char *to = argv[n++] = x_calloc(1, len + 512);

		if (at)
			snprintf(to, len + 512, "%.*s%s%.*s", (int)(at - args), args, tb_path(""),
				 (int)(args + len - at - 1), at + 1);
		else
			memcpy(to, args, len);
		args += len + (args[len] == ' ');
	}
	argv[n] = NULL;
}

struct tb_ended tb_program_run_to(char *program, const char *args, const char *out)
{
	char *argv[MAX_ARGS], *err = x_strdup(tb_path("stderr"));
	struct tb_ended r;
	int status;
	pid_t pid;

	split(args, program, argv);
	fflush(NULL);
	pid = fork();
	CU_ASSERT_FATAL(pid >= 0);
	if (pid == 0) {
		int o = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		int e = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		if (dup2(o, STDOUT_FILENO) >= 0 && dup2(e, STDERR_FILENO) >= 0)
			execv(program, argv);
		_exit(127);
	}
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
	r = (struct tb_ended){ .status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
			       .err = tb_read(err) };
	if (strcmp(out, "/dev/full") != 0)
		r.out = tb_read(out);
	for (char **a = argv + 1; *a; a++)
		free(*a);
	free(err);
	return r;
}

struct tb_ended tb_program_run(char *program, const char *args)
{
	char *out = x_strdup(tb_path("stdout"));
	struct tb_ended r = tb_program_run_to(program, args, out);

	free(out);
	return r;
}

void tb_ended_release(struct tb_ended *r)
{
	free(r->out);
	free(r->err);
}

void tb_programs_each(void (*check)(char *program))
{
	char path[512];

	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		if (find_program(programs[i], path, sizeof(path)))
			check(path);
		else if (i == 0)
			CU_FAIL("the program is not beside its test");
	}
}
