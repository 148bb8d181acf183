/* SPDX-License-Identifier: Apache-2.0 */
/* The filter, as the process that changes rules sees it. There is one such process at a time. */
#pragma once

#include <stddef.h>

#include "filter.h"

struct filter {
	struct fw_filter_word *words;
	struct fw_filter_state *state;
	__u32 mask; /* number of words - 1 */
	size_t bytes; /* of the mapping, with the state */
};

/* Return the number of words of a filter for so many rules of each kind: a power of 2. */
__u32 filter_words(unsigned int max_rules);

/* Map a filter into memory. Returns 0, or -1 after complain(). */
int filter_open(struct filter *filter, int map);
void filter_close(struct filter *filter);

/* Let packets whose key has this hash be looked up, for a rule that expires at `until_ns`. Times
 * are ns of CLOCK_MONOTONIC. */
void filter_add(struct filter *filter, __u64 hash, __u64 now_ns, __u64 until_ns);
