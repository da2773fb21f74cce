/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tb_program.h - the built programs, as their user starts them
 */
#ifndef TESTBENCH_TB_PROGRAM_H
#define TESTBENCH_TB_PROGRAM_H

/* What a program said, and how it ended (-1: by a signal). */
struct tb_ended {
	int status;
	char *out, *err; /* out: NULL when it went to /dev/full */
};

/* Call 'check' with the path of each program that was built; the plain one must be there. */
void tb_programs_each(void (*check)(char *program));

/* Run it; '@' in an argument is the scratch directory. The standard output goes to the file 'out'. */
struct tb_ended tb_program_run_to(char *program, const char *args, const char *out);
struct tb_ended tb_program_run(char *program, const char *args);
void tb_ended_release(struct tb_ended *r);

#endif
