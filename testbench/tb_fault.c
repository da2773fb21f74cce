/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_fault.c - faults that the judge of random traces must notice, by its own words
 */
#include "testbench/tb_fault.h"

#include <CUnit/CUnit.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define SEEDS 400u
#define PATIENT "requester.rto=low_high", "requester.rto_min=1s", "requester.rto_max=1s"
#define SR "requester.recovery=sr", "responder.recovery=sr"
#define GBN "requester.recovery=gbn", "responder.recovery=gbn"

const struct gen_want fault_clean = { .is_clean = true, .is_plain_nic = true };
const struct gen_want fault_rarely_lossy = { .is_rarely_lossy = true, .is_plain_nic = true };
const struct gen_want fault_any = { .is_plain_nic = true };

const char *const fault_sr[] = { SR, NULL };
const char *const fault_patient_sr[] = { SR, PATIENT, NULL };
const char *const fault_patient_gbn[] = { GBN, PATIENT, NULL };

static bool has_word(uint64_t seed, const struct fault *f)
{
	struct gen_case g;
	bool has;

	if (!f->word)
		return true;
	gen_make(&g, seed, f->want);
	has = strstr(g.trace, f->word) != NULL;
	gen_free(&g);
	return has;
}

static bool is_part(const char *says, const char *text)
{
	char pattern[128];

	snprintf(pattern, sizeof(pattern), "*%s*", says);
	return text && fnmatch(pattern, text, FNM_NOESCAPE) == 0;
}

/* An event that never came may leave the run stuck as well: both are looked at. */
static bool is_said(struct tb_case *c, const char *says)
{
	return is_part(says, tb_events_verdict(c->events)) || is_part(says, tb_judge(c));
}

static bool is_noticed(const struct fault *f, uint64_t seed)
{
	static struct tb_case c;
	const char *what;
	bool noticed;

	CU_ASSERT_FATAL(
		tb_case_run_spoilt(&c, seed, f->want, f->sets, ORDER_FORWARD, false, f->before));
	if (f->rows)
		f->rows(&c);
	what = tb_case_refer(&c);
	if (f->rows) {
		noticed = is_part(f->says, what);
	} else if (f->before) {
		CU_ASSERT_PTR_NULL(what);
		noticed = is_said(&c, f->says);
	} else {
		CU_ASSERT_PTR_NULL(what);
		CU_ASSERT_PTR_NULL(tb_judge(&c));
		noticed = f->after(&c) && is_said(&c, f->says);
		if (noticed && f->mend)
			f->mend(&c);
	}
	tb_case_close(&c);
	return noticed;
}

void faults_are_noticed_as_said(const struct fault *f)
{
	for (; f->says; f++) {
		uint64_t seed = 1;

		while (seed < SEEDS && (!has_word(seed, f) || !is_noticed(f, seed)))
			seed++;
		CU_ASSERT(seed < SEEDS);
		if (seed == SEEDS)
			printf("\nno fault is noticed as \"%s\"\n", f->says);
	}
}

void fault_flip(struct tb_case *c, uint32_t mr, uint64_t addr)
{
	const struct host *h = &c->run.r.system->hosts[c->run.trace->mrs[mr].host];
	uint8_t b;

	space_read(h->space, addr, &b, 1);
	b ^= 0x80;
	space_write(h->space, addr, &b, 1);
}
