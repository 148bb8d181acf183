/* SPDX-License-Identifier: Apache-2.0 */
/* Flows that were found to be heavy hitters in a window, each once. An engine reports a flow again
 * with each of its packets as long as its table has no room for it, and when it has forgotten it. */
#pragma once

#include "settings.h"

#define MOST_FOUND 65536 /* a power of two */

struct found {
	struct flow_key *flows; /* in the order in which they were found */
	uint32_t *places; /* a hash table of them: place in `flows` + 1; 0: free */
	uint32_t count;
};

/* Returns 0, or -1 after complain(). */
int found_open(struct found *found);

/* Add a flow. Returns 1 if it is new, 0 if it was found before, -1 if there is no room for it. */
int found_add(struct found *found, const struct flow_key *flow);

/* Forget all: a window begins. */
void found_clear(struct found *found);
