/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_out.c - writing a trace, plain or gzip
 */
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "tools/trace/trace_out.h"

static ssize_t gz_write(void *cookie, const char *buf, size_t len)
{
	return gzwrite(cookie, buf, (unsigned)len) == (int)len ? (ssize_t)len : 0;
}

bool trace_out_open(struct trace_out *out, const char *path, struct err *e)
{
	static const cookie_io_functions_t gz_functions = { .write = gz_write };
	size_t n = path ? strlen(path) : 0;

	memset(out, 0, sizeof(*out));
	if (n == 0 || strcmp(path, "-") == 0) {
		out->f = stdout;
		return true;
	}
	if (!outfile_open(&out->o, path, e))
		return false;
	out->f = out->o.f;
	if (n < 3 || strcmp(path + n - 3, ".gz") != 0)
		return true;
	out->gz = gzdopen(dup(fileno(out->o.f)), "wb");
	out->f = out->gz ? fopencookie(out->gz, "w", gz_functions) : NULL;
	if (out->f)
		return true;
	err_set(e, path, 0, "cannot write: out of memory");
	trace_out_abort(out);
	return false;
}

/* Close the gzip layer; false when something could not be written. */
static bool close_gz(struct trace_out *out)
{
	bool ok = true;

	if (out->gz) {
		if (out->f)
			ok = !ferror(out->f) && fclose(out->f) == 0;
		ok = gzclose(out->gz) == Z_OK && ok;
	}
	out->gz = NULL;
	out->f = NULL;
	return ok;
}

bool trace_out_commit(struct trace_out *out, struct err *e)
{
	if (out->f == stdout)
		return fflush(stdout) == 0 && !ferror(stdout)
			       ? true
			       : err_set(e, "(standard output)", 0, "cannot write");
	if (!close_gz(out)) {
		err_set(e, out->o.path, 0, "cannot write");
		outfile_abort(&out->o);
		return false;
	}
	return outfile_commit(&out->o, e);
}

void trace_out_abort(struct trace_out *out)
{
	if (out->f == stdout || !out->o.f)
		return;
	close_gz(out);
	outfile_abort(&out->o);
}
