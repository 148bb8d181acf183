/* SPDX-License-Identifier: Apache-2.0 */
/* The monitoring table, as the user side changes and reads it. Functions return 0, or -1 after
 * complain(). */
#pragma once

#include <stdio.h>

#include "program.h"

/* Monitor a flow, whatever sampling says. `*answer` is SDNMON_DONE, SDNMON_THERE_ALREADY or
 * SDNMON_NO_ROOM. */
int table_add(const struct program *program, const struct sdnmon_key *key,
	      enum sdnmon_answer *answer);

/* Stop monitoring a flow. `*answer` is SDNMON_DONE or SDNMON_NOT_THERE. */
int table_remove(const struct program *program, const struct sdnmon_key *key,
		 enum sdnmon_answer *answer);

/* Remove the entries of flows that are no longer sampled, because the ratio was lowered. `*removed`
 * becomes their number, also if it fails halfway. */
int table_prune(const struct program *program, unsigned long *removed);

/* Have a notification come when there are more entries; 0: never. */
int table_set_notify(const struct program *program, __u64 entries);

/* Print all entries as JSON, a line each. A first line says which epochs they cover, a last one how
 * many entries there are. */
int table_print(const struct program *program, FILE *out);
