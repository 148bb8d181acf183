/* SPDX-License-Identifier: Apache-2.0 */
/* The exact number of packets of each source in a window, to judge what the sketches report. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "packet.h"

struct source {
	_Alignas(32) uint32_t packets; /* 0: the place is free. In one line of the cache */
	uint16_t words; /* of the key */
	bool reported;
	uint32_t key[SFCMON_ID1_WORDS]; /* FlowID1, zeros behind it */
};

struct truth {
	struct source *sources; /* a hash table with open addressing */
	size_t places; /* a power of 2 */
	size_t used; /* number of sources */
	uint64_t packets; /* of all sources */
	uint64_t bytes; /* of these packets */
};

/* Create an empty table. This never fails: without memory, the tool ends. */
void truth_create(struct truth *truth);

/* Empty the table for the next window. */
void truth_clear(struct truth *truth);

/* Count packets, BATCH at most, of which frames that are not parsed are left out. `heavy` says for
 * each whether SFCMon found it to belong to a heavy hitter: then its source was reported. */
void truth_count(struct truth *truth, const struct packet *packets, unsigned int count,
		 const bool *heavy);
