/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - device presets: where they are, and what `rnicsim describe` tells of them
 *
 * A name is looked for in $RNICSIM_PROFILES, else in models/profiles beside the program's own folder (so that it
 * works from anywhere), or below the current one. A name with a slash is a path.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/rnic.h"
#include "models/run/commands.h"
#include "sim/describe.h"

#define PATH_LEN 4096u
#define NAME_LEN 200
#define SUFFIX ".ini"
#define NO_NIC "pcie-bench" /* a device that does nothing but DMA */

/* Where profiles are. */
static void profile_dir(char dir[PATH_LEN / 2])
{
	const char *env = getenv("RNICSIM_PROFILES");
	char exe[PATH_LEN / 4];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (env) {
		snprintf(dir, PATH_LEN / 2, "%.1000s", env);
		return;
	}
	exe[n > 0 ? n : 0] = '\0';
	slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	snprintf(dir, PATH_LEN / 2, "%s/../models/profiles", exe);
	if (access(dir, R_OK) != 0)
		snprintf(dir, PATH_LEN / 2, "models/profiles");
}

static void profile_path(const char *name, char path[PATH_LEN])
{
	char dir[PATH_LEN / 2];

	profile_dir(dir);
	if (strchr(name, '/'))
		snprintf(path, PATH_LEN, "%.4000s", name);
	else
		snprintf(path, PATH_LEN, "%s/%.*s" SUFFIX, dir, NAME_LEN, name);
}

static int is_profile(const struct dirent *d)
{
	size_t n = strlen(d->d_name), k = strlen(SUFFIX);

	return n > k && strcmp(d->d_name + n - k, SUFFIX) == 0;
}

/* The names there are, sorted: each to be freed, and the list. Returns how many. */
static int profile_list(struct dirent ***names)
{
	char dir[PATH_LEN / 2];
	int n;

	profile_dir(dir);
	n = scandir(dir, names, is_profile, alphasort);
	for (int i = 0; i < n; i++)
		(*names)[i]->d_name[strlen((*names)[i]->d_name) - strlen(SUFFIX)] = '\0';
	return n > 0 ? n : 0;
}

static void profile_list_free(struct dirent **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	if (n)
		free(names);
}

/* "a, b, c" into 'buf'; 'is_nic': only those of NICs. */
static const char *name_all(char *buf, size_t len, bool is_nic)
{
	struct dirent **names;
	int n = profile_list(&names);
	size_t at = 0;

	buf[0] = '\0';
	for (int i = 0; i < n; i++) {
		if (is_nic && strcmp(names[i]->d_name, NO_NIC) == 0)
			continue;
		at += (size_t)snprintf(buf + at, at < len ? len - at : 0, "%s%.64s", at ? ", " : "",
				       names[i]->d_name);
	}
	profile_list_free(names, n);
	return buf;
}

bool rnic_read_profile(struct config *cfg, const char *group, const char *host,
		       const char *otherwise, struct err *e)
{
	const struct setting *set = config_lookup(cfg, group, "nic", "profile");
	const char *name = set ? set->value : otherwise, *file = set ? set->file : NULL;
	uint32_t line = set ? (uint32_t)set->line : 0;
	char path[PATH_LEN], all[512];

	if (host && strcmp(name, NO_NIC) == 0)
		return err_set(
			e, file, line,
			"profile '%s' is no NIC, but the device of `rnicsim pcie-bench`; allowed: %s",
			name, name_all(all, sizeof(all), true));
	profile_path(name, path);
	if (access(path, R_OK) != 0)
		return err_set(e, file, line, "there is no profile '%s'; allowed: %s, or a path",
			       name, name_all(all, sizeof(all), host != NULL));
	return config_read_profile(cfg, path, group, e) &&
	       (!host || config_read_profile(cfg, path, host, e));
}

/* ---- describe ---- */

/* Its first line says what it is. */
static void print_profile_line(const char *name)
{
	char path[PATH_LEN], line[512] = "";
	FILE *f;

	profile_path(name, path);
	f = fopen(path, "r");
	if (f && fgets(line, sizeof(line), f))
		line[strcspn(line, "\n")] = '\0';
	if (f)
		fclose(f);
	printf("| `%s` | %s |\n", name, line + strspn(line, "; "));
}

static void print_profiles(void)
{
	struct dirent **names;
	int n = profile_list(&names);

	printf("## profiles\n\nDevice presets, for `profile` of [nic] and `--nic`; "
	       "`rnicsim describe profile NAME` prints one.\n\n| name | what |\n|---|---|\n");
	for (int i = 0; i < n; i++)
		print_profile_line(names[i]->d_name);
	profile_list_free(names, n);
}

/* The file as it is: every line of it has its evidence. */
static bool print_profile(const char *name, struct err *e)
{
	char path[PATH_LEN], all[512];
	FILE *f;
	int c;

	profile_path(name, path);
	f = fopen(path, "r");
	if (!f)
		return err_set(e, NULL, 0,
			       "describe: there is no profile '%s'; allowed: %s, or a path", name,
			       name_all(all, sizeof(all), false));
	while ((c = getc(f)) != EOF)
		putchar(c);
	fclose(f);
	return true;
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
