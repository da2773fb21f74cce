/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err.h - the two kinds of failure that stop a run, and allocation that cannot fail
 *
 * A user's mistake fills a struct err and returns false up to main.c, which prints it and exits 2.
 * A bug in the simulator stops at SIM_CHECK, which is on in every build. (Modelled errors, such as
 * a NAK, are data and use neither.)
 */
#ifndef SIM_ERR_H
#define SIM_ERR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct block;

/* A user's mistake. 'text' is "file:line: what is wrong, what is allowed", ready to print. */
struct err {
	bool is_set;
	char text[1024];
};

/*
 * Fill 'e', unless it is set already: the first mistake wins. 'file' may be NULL (nothing before the
 * message), 'line' 0 (no line number). Returns false, so that callers can return it.
 */
bool err_set(struct err *e, const char *file, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * The name in 'names' (n of them) that is nearest to 'word' by edit distance, or NULL when none is
 * near enough to be worth suggesting.
 */
const char *err_nearest(const char *word, const char *const *names, size_t n);

/* Print instance, cycle, place and condition to stderr, then abort. 'b' may be NULL. */
__attribute__((noreturn, cold)) void sim_check_failed(const char *cond, const char *file, int line,
						      const struct block *b);

/* Called by sim_check_failed before it aborts, when set: prints what else is known (the event log). */
extern void (*sim_check_report)(FILE *f);

/* Allocation while the net-list is built. Zeroed memory; never NULL: out of memory aborts. */
void *x_calloc(size_t n, size_t size);
void *x_realloc(void *p, size_t size);
char *x_strdup(const char *s);

#ifdef __cplusplus
}
#endif

#define SIM_CHECK(cond, b) \
	do { \
		if (__builtin_expect(!(cond), 0)) \
			sim_check_failed(#cond, __FILE__, __LINE__, (const struct block *)(b)); \
	} while (0)

#endif
