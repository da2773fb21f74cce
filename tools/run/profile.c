/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - device presets: where they are, and what `rnicsim describe` tells of them
 *
 * The profiles of models/profiles are in the program, line by line (the Makefile makes profiles.inc of
 * them), so that they are found wherever it is built and run. A name with a slash is a file's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "models/rnic.h"
#include "tools/run/commands.h"
#include "sim/describe.h"

#define MAX_ALL 1024u
#define NO_NIC "pcie-bench" /* a device that does nothing but DMA */

/* Lines of all profiles, those of one behind each other, profiles sorted by name. */
static const struct profile_line {
	const char *profile, *text;
} lines[] = {
#include "profiles.inc"
};

static bool is_path(const char *name)
{
	return strchr(name, '/') != NULL;
}

/* The first line of profile 'name', or ARRAY_LEN(lines). */
static size_t find_profile(const char *name)
{
	size_t i = 0;

	while (i < ARRAY_LEN(lines) && strcmp(lines[i].profile, name) != 0)
		i++;
	return i;
}

/* The first line of the profile behind that of line 'i'. */
static size_t next_profile(size_t i)
{
	size_t k = i;

	while (k < ARRAY_LEN(lines) && strcmp(lines[k].profile, lines[i].profile) == 0)
		k++;
	return k;
}

/* "a, b, c" into 'buf'; 'is_nic': only those of NICs. */
static const char *name_all(char buf[MAX_ALL], bool is_nic)
{
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_LEN(lines); i = next_profile(i))
		if (!is_nic || strcmp(lines[i].profile, NO_NIC) != 0)
			at += (size_t)snprintf(buf + at, at < MAX_ALL ? MAX_ALL - at : 0, "%s%.64s",
					       at ? ", " : "", lines[i].profile);
	return buf;
}

/* Whether 'name' is one; if not, the error of 'file' and 'line' is set. */
static bool check_profile(const char *name, bool is_nic, const char *file, uint32_t line,
			  struct err *e)
{
	struct stat st = { 0 };
	char all[MAX_ALL];

	if (is_path(name) && stat(name, &st) != 0)
		return err_set(
			e, file, line,
			"profile '%s': cannot open: %s; allowed: a path from where rnicsim runs, "
			"or a name: %s",
			name, strerror(errno), name_all(all, is_nic));
	if (is_path(name) ? S_ISREG(st.st_mode) : find_profile(name) < ARRAY_LEN(lines))
		return true;
	return err_set(e, file, line, "there is no profile '%s'; allowed: %s, or a file's path",
		       name, name_all(all, is_nic));
}

/* All of a profile that is in the program; free it. */
static char *text_of(const char *name)
{
	size_t from = find_profile(name), to = next_profile(from), n = 0;
	char *text;

	for (size_t i = from; i < to; i++)
		n += strlen(lines[i].text);
	text = x_calloc(n + 1, 1);
	n = 0;
	for (size_t i = from; i < to; i++) {
		strcpy(text + n, lines[i].text);
		n += strlen(lines[i].text);
	}
	return text;
}

static bool read_profile(struct config *cfg, const char *name, const char *scope, struct err *e)
{
	char shown[128], *text;
	bool ok;

	if (is_path(name))
		return config_read_profile(cfg, name, scope, e);
	snprintf(shown, sizeof(shown), "%.100s.ini", name);
	text = text_of(name);
	ok = config_read_profile_text(cfg, shown, text, scope, e);
	free(text);
	return ok;
}

bool rnic_read_profile(struct config *cfg, const char *group, const char *host,
		       const char *otherwise, struct err *e)
{
	const struct setting *set = config_lookup(cfg, group, "nic", "profile");
	const char *name = set ? set->value : otherwise, *file = set ? set->file : NULL;
	uint32_t line = set ? (uint32_t)set->line : 0;
	char all[MAX_ALL];

	if (host && strcmp(name, NO_NIC) == 0)
		return err_set(
			e, file, line,
			"profile '%s' is no NIC, but the device of `rnicsim pcie-bench`; allowed: %s",
			name, name_all(all, true));
	return check_profile(name, host != NULL, file, line, e) &&
	       read_profile(cfg, name, group, e) && (!host || read_profile(cfg, name, host, e));
}

/* ---- describe ---- */

static void print_profiles(void)
{
	printf("## profiles\n\nDevice presets, for `profile` of [nic] and `--nic`; "
	       "`rnicsim describe profile NAME` prints one.\n\n| name | what |\n|---|---|\n");
	/* its first line says what it is */
	for (size_t i = 0; i < ARRAY_LEN(lines); i = next_profile(i))
		printf("| `%s` | %.*s |\n", lines[i].profile,
		       (int)strcspn(lines[i].text, "\n") - (int)strspn(lines[i].text, "; "),
		       lines[i].text + strspn(lines[i].text, "; "));
}

static bool print_file(const char *path, struct err *e)
{
	FILE *f = fopen(path, "r");
	int c;

	if (!f)
		return err_set(e, path, 0, "cannot open it");
	while ((c = getc(f)) != EOF)
		putchar(c);
	fclose(f);
	return true;
}

/* The profile as it is: every line of it has its evidence. What is no profile is not shown. */
static bool print_profile(const char *name, struct err *e)
{
	struct config cfg;
	struct err why = { 0 };
	char *text, all[MAX_ALL];
	bool ok = check_profile(name, false, "describe", 0, e);

	if (!ok)
		return false;
	if (!is_path(name)) {
		text = text_of(name);
		fputs(text, stdout);
		free(text);
		return true;
	}
	config_init(&cfg);
	ok = config_read_profile(&cfg, name, "nic0", &why);
	config_destroy(&cfg);
	if (!ok)
		return err_set(
			e, NULL, 0,
			"describe: '%s' is no profile; allowed: %s, or the path of a file of "
			"[section] and key = value",
			name, name_all(all, false));
	return print_file(name, e);
}

int cmd_describe(int argc, char **argv, struct err *e)
{
	int status;

	if (argc < 2 || strcmp(argv[1], "profile") != 0) {
		status = describe_command.run(argc, argv, e);
		if (argc == 1 && status == EXIT_OK) {
			printf("\n");
			print_profiles();
		}
		return status;
	}
	if (argc > 3) {
		err_set(e, NULL, 0, "describe: unknown argument '%.64s'; allowed: profile [NAME]",
			argv[3]);
		return EXIT_BAD_INPUT;
	}
	if (argc == 2)
		print_profiles();
	return argc == 2 || print_profile(argv[2], e) ? EXIT_OK : EXIT_BAD_INPUT;
}
