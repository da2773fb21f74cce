/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gz_in.h - reading a file that is plain or gzip (RFC 1952), told by its first two bytes: of one or
 * more members and nothing behind them, unlike gzread(), which passes over what is no member
 */
#ifndef SIM_GZ_IN_H
#define SIM_GZ_IN_H

#include <stddef.h>
#include <sys/types.h>

struct gz_in;

/* Open 'path', NULL = standard input. NULL with errno set when it cannot be opened. */
struct gz_in *gz_in_open(const char *path);

/* The next 1 to 'n' bytes of what is in it; 0 = its end, -1 = gz_in_error() says what is wrong. */
ssize_t gz_in_read(struct gz_in *g, void *to, size_t n);

/* What the last gz_in_read() found; good until gz_in_close(). */
const char *gz_in_error(const struct gz_in *g);

void gz_in_close(struct gz_in *g);

#endif
