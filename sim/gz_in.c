/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gz_in.c - reading plain and gzip files
 */
#include "sim/gz_in.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "sim/err.h"

#define BUFFER (128u << 10)
#define GZIP_WINDOW (15 + 16) /* inflateInit2: the largest window, gzip headers only */

struct gz_in {
	int fd;
	bool is_known, is_gzip; /* the first bytes were looked at */
	bool is_in_member;
	z_stream z; /* next_in, avail_in: what was read and not used yet */
	char why[120];
	unsigned char buf[BUFFER];
};

struct gz_in *gz_in_open(const char *path)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
	struct gz_in *g;

	if (fd < 0)
		return NULL;
	g = x_calloc(1, sizeof(*g));
	g->fd = fd;
	g->z.next_in = g->buf;
	return g;
}

void gz_in_close(struct gz_in *g)
{
	if (g->is_gzip)
		inflateEnd(&g->z);
	close(g->fd);
	free(g);
}

const char *gz_in_error(const struct gz_in *g)
{
	return g->why;
}

__attribute__((format(printf, 2, 3))) static bool fail(struct gz_in *g, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(g->why, sizeof(g->why), fmt, ap);
	va_end(ap);
	return false;
}

/* Have at least 'want' bytes of the file in the buffer, fewer at its end only. */
static bool fill(struct gz_in *g, size_t want)
{
	while (g->z.avail_in < want) {
		ssize_t n;

		memmove(g->buf, g->z.next_in, g->z.avail_in);
		g->z.next_in = g->buf;
		n = read(g->fd, g->buf + g->z.avail_in, BUFFER - g->z.avail_in);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(g, "cannot read: %s", strerror(errno));
		if (n == 0)
			break;
		g->z.avail_in += (unsigned)n;
	}
	return true;
}

static bool is_member(const struct gz_in *g)
{
	return g->z.avail_in >= 2 && g->z.next_in[0] == 0x1f && g->z.next_in[1] == 0x8b;
}

/* Plain or gzip? */
static bool look(struct gz_in *g)
{
	if (!fill(g, 2))
		return false;
	g->is_known = true;
	g->is_gzip = is_member(g);
	if (g->is_gzip && inflateInit2(&g->z, GZIP_WINDOW) != Z_OK) {
		g->is_gzip = false;
		return fail(g, "cannot read: out of memory");
	}
	return true;
}

static ssize_t read_plain(struct gz_in *g, void *to, size_t n)
{
	if (!fill(g, 1))
		return -1;
	if (n > g->z.avail_in)
		n = g->z.avail_in;
	memcpy(to, g->z.next_in, n);
	g->z.next_in += n;
	g->z.avail_in -= (unsigned)n;
	return (ssize_t)n;
}

/* Begin the next member; true without g->is_in_member when the file ends here. */
static bool begin_member(struct gz_in *g)
{
	if (!fill(g, 2))
		return false;
	if (g->z.avail_in == 0)
		return true;
	if (!is_member(g))
		return fail(g, "behind the end of the gzip data stands something else; allowed: "
			       "nothing, or further gzip data");
	inflateReset(&g->z);
	g->is_in_member = true;
	return true;
}

static ssize_t read_gzip(struct gz_in *g, void *to, size_t n)
{
	const unsigned room = n < BUFFER ? (unsigned)n : BUFFER;

	g->z.next_out = to;
	g->z.avail_out = room;
	while (g->z.avail_out == room) {
		int r;

		if (!g->is_in_member && !begin_member(g))
			return -1;
		if (!g->is_in_member)
			return 0;
		if (!fill(g, 1))
			return -1;
		if (g->z.avail_in == 0)
			return fail(g, "the gzip data end too early: the file is cut off") - 1;
		r = inflate(&g->z, Z_NO_FLUSH);
		if (r != Z_OK && r != Z_STREAM_END)
			return fail(g, "cannot read: %s",
				    g->z.msg ? g->z.msg : "broken gzip data") -
			       1;
		g->is_in_member = r == Z_OK;
	}
	return room - g->z.avail_out;
}

ssize_t gz_in_read(struct gz_in *g, void *to, size_t n)
{
	if (!g->is_known && !look(g))
		return -1;
	return g->is_gzip ? read_gzip(g, to, n) : read_plain(g, to, n);
}
