/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_file.h - files and dying children, for tests
 */
#ifndef TESTBENCH_TB_FILE_H
#define TESTBENCH_TB_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* In a child process: files go to a directory of its own, removed at its exit(). */
void tb_own_dir(void);

/* A path 'name' in a directory of this process's own, removed at exit with all that is in it. Static buffers, in turn. */
const char *tb_path(const char *name);

/* Write 'len' bytes to tb_path(name); returns that path. */
const char *tb_write(const char *name, const void *data, size_t len);

/* A pipe at tb_path(name) that a child fills with 'text'; the reader opens it once and unlinks it. Returns that path. */
const char *tb_fifo(const char *name, const char *text);

#define TB_TEXT (1u << 18)

struct tb_text {
	char at[TB_TEXT];
	size_t n;
};

/* printf behind what the text has; too much of it fails the test. */
__attribute__((format(printf, 2, 3))) void tb_put(struct tb_text *t, const char *fmt, ...);

/* The whole file, NUL-terminated; NULL when there is none. Free it. */
char *tb_read(const char *path);

/* Files whose name starts with 'prefix' in that directory. */
unsigned tb_count_files(const char *prefix);

/* Run fn in a child: true when it aborted. What it wrote to stderr goes to 'text'. */
bool tb_aborts(void (*fn)(void), char *text, size_t len);

#endif
