/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tempfile.c - names to be removed when a signal ends the program
 */
#include "sim/tempfile.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/err.h"

#define MAX_FILES 64u /* outputs of one command; one more would stay behind */

static char *volatile names[MAX_FILES];

void tempfile_remove_all(void)
{
	for (unsigned i = 0; i < MAX_FILES; i++)
		if (names[i])
			unlink(names[i]);
}

static void on_signal(int number)
{
	tempfile_remove_all();
	signal(number, SIG_DFL);
	raise(number);
}

/* A signal that is ignored (nohup, a background job) stays so. */
static void watch(int number)
{
	if (signal(number, on_signal) == SIG_IGN)
		signal(number, SIG_IGN);
}

void tempfile_add(const char *path)
{
	static bool is_watching;
	char *copy = x_strdup(path);
	unsigned i = 0;

	if (!is_watching) {
		watch(SIGINT);
		watch(SIGTERM);
		is_watching = true;
	}
	while (i < MAX_FILES && names[i])
		i++;
	if (i < MAX_FILES)
		names[i] = copy;
	else
		free(copy);
}

void tempfile_drop(const char *path)
{
	for (unsigned i = 0; i < MAX_FILES; i++) {
		char *name = names[i];

		if (!name || strcmp(name, path) != 0)
			continue;
		names[i] = NULL;
		free(name);
		return;
	}
}
