/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes many keys of one length at a time: its loops become vector code. */
#pragma once

#include "packet.h"

struct lanes {
	unsigned int count;
	unsigned int words; /* of each key */
	uint16_t packet[BATCH]; /* place in the batch of the packet whose key it is */
	_Alignas(64) uint32_t word[SFCMON_IPV6_WORDS][BATCH];
};

/* Do to the words what is done to them for all seeds. Call it after they are filled in. */
void lanes_prepare(struct lanes *lanes);

/* Hash the keys with a seed. `indices` gets the hashes, reduced to indices below `cells`. */
void lanes_hash(const struct lanes *lanes, uint32_t seed, uint32_t cells, uint32_t *indices);
