/* SPDX-License-Identifier: Apache-2.0 */
/* The monitoring table from the user side. Functions return 0, or -1 after complain(). */
#pragma once

#include <stdio.h>

#include "program.h"

/* Monitor a flow, whatever sampling says. `*answer` is SDNMON_DONE, SDNMON_THERE_ALREADY or
 * SDNMON_NO_ROOM. */
int table_add(const struct program *program, const struct sdnmon_key *key,
	      enum sdnmon_answer *answer);

/* Monitor a flow no longer. `*answer` is SDNMON_DONE or SDNMON_NOT_THERE. */
int table_remove(const struct program *program, const struct sdnmon_key *key,
		 enum sdnmon_answer *answer);

/* Remove the entries of flows that are sampled no longer, since the ratio was lowered. */
int table_prune(const struct program *program, unsigned long *removed);

/* Notify when there are more entries; 0: never. */
int table_set_notify(const struct program *program, __u64 entries);

/* Print all entries, a line each, between a line that says what they are of and one with their number. */
int table_print(const struct program *program, FILE *out);
