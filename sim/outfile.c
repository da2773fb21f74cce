/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outfile.c - temporary name, rename
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/outfile.h"
#include "sim/tempfile.h"

bool outfile_open(struct outfile *o, const char *path, struct err *e)
{
	size_t n = strlen(path) + sizeof(".tmp-") + 20;
	struct stat st;

	memset(o, 0, sizeof(*o));
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(e, path, 0, "cannot write: is a directory");
	o->path = x_strdup(path);
	o->tmp = x_calloc(n, 1);
	/* a device such as /dev/stdout is written in place: it has no name to be renamed to */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		snprintf(o->tmp, n, "%s", path);
	else
		snprintf(o->tmp, n, "%s.tmp-%ld", path, (long)getpid());
	o->f = fopen(o->tmp, "w");
	if (!o->f) {
		err_set(e, path, 0, "cannot write: %s", strerror(errno));
		free(o->path);
		free(o->tmp);
		memset(o, 0, sizeof(*o));
		return false;
	}
	if (strcmp(o->tmp, o->path) != 0)
		tempfile_add(o->tmp);
	return true;
}

static void outfile_free(struct outfile *o)
{
	tempfile_drop(o->tmp);
	free(o->path);
	free(o->tmp);
	memset(o, 0, sizeof(*o));
}

bool outfile_commit(struct outfile *o, struct err *e)
{
	bool is_ok = !ferror(o->f);

	errno = 0;
	is_ok = fclose(o->f) == 0 && is_ok;
	o->f = NULL;
	if (is_ok && strcmp(o->tmp, o->path) != 0)
		is_ok = rename(o->tmp, o->path) == 0;
	if (!is_ok) {
		err_set(e, o->path, 0, "cannot write: %s",
			errno ? strerror(errno) : "output error");
		if (strcmp(o->tmp, o->path) != 0)
			remove(o->tmp);
	}
	outfile_free(o);
	return is_ok;
}

void outfile_abort(struct outfile *o)
{
	if (!o->f)
		return;
	fclose(o->f);
	if (strcmp(o->tmp, o->path) != 0)
		remove(o->tmp);
	outfile_free(o);
}

bool outfile_make_dir(const char *path, const char *option, struct err *e)
{
	char *p = x_strdup(path);
	bool ok = true;

	for (char *s = p + 1; ok; s++) {
		char c = *s;

		if (c != '/' && c != '\0')
			continue;
		*s = '\0';
		if (mkdir(p, 0777) != 0 && errno != EEXIST)
			ok = err_set(e, NULL, 0, "%s %s: cannot make the folder: %s", option, path,
				     strerror(errno));
		*s = c;
		if (c == '\0')
			break;
	}
	free(p);
	return ok;
}

static bool is_one(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The folder that 'path' is in; free it. */
static char *folder_of(const char *path)
{
	char *folder = x_strdup(strchr(path, '/') ? path : "./");

	strrchr(folder, '/')[1] = '\0';
	return folder;
}

static const char *name_in(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool outfile_is_same(const char *a, const char *b)
{
	char *in_a = folder_of(a), *in_b = folder_of(b);
	bool is_same = strcmp(name_in(a), name_in(b)) == 0 && is_one(in_a, in_b);

	free(in_a);
	free(in_b);
	return is_same || is_one(a, b) || strcmp(a, b) == 0;
}
