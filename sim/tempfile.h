/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tempfile.h - files that must not stay behind when the program is ended by SIGINT or SIGTERM
 */
#ifndef SIM_TEMPFILE_H
#define SIM_TEMPFILE_H

/* From the creation of 'path' (copied) until it is renamed or removed. The first call sets the signals' handler. */
void tempfile_add(const char *path);
void tempfile_drop(const char *path);

/* Remove all that are noted; allowed in a signal handler. */
void tempfile_remove_all(void);

#endif
