/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of many keys of one length at a time: loops that a compiler turns into vector code. */
#pragma once

#include "packet.h"

struct lanes {
	unsigned int count;
	unsigned int words; /* of each key */
	uint16_t packet[BATCH]; /* whose key it is: place in the batch */
	_Alignas(64) uint32_t word[SFCMON_IPV6_WORDS][BATCH];
};

/* After the words are filled in: what is done to them for all seeds. */
void lanes_prepare(struct lanes *lanes);

/* The keys' hashes with a seed, reduced to indices below `cells`. */
void lanes_hash(const struct lanes *lanes, uint32_t seed, uint32_t cells, uint32_t *indices);
