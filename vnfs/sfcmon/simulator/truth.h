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
	size_t used;
	uint64_t packets;
	uint64_t bytes;
};

void truth_create(struct truth *truth);
void truth_clear(struct truth *truth);
void truth_count(struct truth *truth, const struct packet *packets, unsigned int count,
		 const bool *heavy);
