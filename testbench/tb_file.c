/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_file.c - a scratch directory and children that are expected to abort
 */
#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <CUnit/CUnit.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/err.h"
#include "testbench/tb_file.h"

static char dir[256];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_dir(void)
{
	if (dir[0])
		nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void tb_own_dir(void)
{
	dir[0] = '\0';
}

const char *tb_path(const char *name)
{
	static char path[8][512];
	static unsigned turn;
	const char *tmp = getenv("TMPDIR");

	if (!dir[0]) {
		snprintf(dir, sizeof(dir), "%s/rnicsim-test-XXXXXX", tmp ? tmp : "/tmp");
		if (!mkdtemp(dir)) {
			perror(dir);
			abort();
		}
		atexit(remove_dir);
	}
	turn = (turn + 1) % 8;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

const char *tb_write(const char *name, const void *data, size_t len)
{
	const char *path = tb_path(name);
	FILE *f = fopen(path, "w");

	if (!f || fwrite(data, 1, len, f) != len || fclose(f) != 0) {
		perror(path);
		abort();
	}
	return path;
}

char *tb_read(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t n = 0, got;
	char *s = NULL;

	if (!f)
		return NULL;
	do {
		s = x_realloc(s, n + 65536);
		got = fread(s + n, 1, 65535, f);
		n += got;
	} while (got);
	fclose(f);
	s[n] = '\0';
	return s;
}

unsigned tb_count_files(const char *prefix)
{
	unsigned n = 0;
	struct dirent *d;
	DIR *l;

	tb_path("");
	l = opendir(dir);
	while (l && (d = readdir(l)) != NULL)
		n += d->d_name[0] != '.' && strncmp(d->d_name, prefix, strlen(prefix)) == 0;
	if (l)
		closedir(l);
	return n;
}

const char *tb_fifo(const char *name, const char *text)
{
	const char *path = tb_path(name);
	pid_t pid;

	fflush(NULL);
	if (mkfifo(path, 0600) != 0 || (pid = fork()) < 0) {
		perror("tb_fifo");
		abort();
	}
	if (pid == 0) {
		FILE *f = fopen(path, "w");

		_exit(!f || fputs(text, f) < 0 || fclose(f) != 0);
	}
	return path;
}

bool tb_aborts(void (*fn)(void), char *text, size_t len)
{
	int fd[2], status;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	fflush(NULL);
	if (pipe(fd) != 0 || (pid = fork()) < 0) {
		perror("tb_aborts");
		abort();
	}
	if (pid == 0) {
		signal(SIGABRT, SIG_DFL);
		dup2(fd[1], STDERR_FILENO);
		fn();
		_exit(0);
	}
	close(fd[1]);
	while (n + 1 < len && (got = read(fd[0], text + n, len - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	close(fd[0]);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

void tb_put(struct tb_text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at + t->n, TB_TEXT - t->n, fmt, ap);
	va_end(ap);
	CU_ASSERT_FATAL(n >= 0 && t->n + (size_t)n < TB_TEXT);
	t->n += (size_t)n;
}
