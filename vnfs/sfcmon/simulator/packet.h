/* SPDX-License-Identifier: Apache-2.0 */
/* A packet as readers hand it to the sketches. */
#pragma once

#include <stdint.h>

#include "../sfcmon.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words of keys are loaded as MurmurHash3 reads them on little-endian machines only"
#endif

#define BATCH 1024 /* packets that are processed at a time */
#define NOT_PARSED 0 /* `words` of a frame that is only counted */

struct packet {
	uint64_t ts_ns;
	uint32_t size; /* of the IP packet, bytes; of a frame that is not parsed: the reason */
	uint32_t words; /* of the key */
	uint32_t key
		[SFCMON_IPV6_WORDS]; /* FlowID2; its bytes are in the order of the specification */
};

/* Return the number of words of a packet's FlowID1. */
static inline uint32_t source_words(const struct packet *packet)
{
	return packet->words == SFCMON_IPV4_WORDS ? 2 : 5;
}
