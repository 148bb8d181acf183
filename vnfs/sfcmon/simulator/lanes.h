/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes many keys of one length at a time: its loops become vector code. */
#pragma once

#include "packet.h"

/* Keys of the same length; each has a lane. */
struct lanes {
	unsigned int count; /* of the keys */
	unsigned int words; /* of each key */
	uint16_t packet[BATCH]; /* by lane: number of the packet whose key it is */
	_Alignas(64) uint32_t word[SFCMON_IPV6_WORDS][BATCH]; /* by word of the key and lane */
};

/* Do to the words what does not depend on the seed. Call it once, after they are filled in. */
void lanes_prepare(struct lanes *lanes);

/* Hash the keys with a seed. `indices` gets, by lane, the hashes reduced to indices below
 * `cells`. */
void lanes_hash(const struct lanes *lanes, uint32_t seed, uint32_t cells, uint32_t *indices);
