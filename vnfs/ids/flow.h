/* SPDX-License-Identifier: Apache-2.0 */
/* What is accumulated of one flow, and the features made from it. features.py defines each. */
#pragma once

#include "packet.h"

/* Values of one quantity: whole numbers, in sums that are exact. A window of at most 60 s has times
 * below 2^26 us and less than 2^30 packets of less than 2^17 bytes; what is accumulated for an early
 * record has at most 100 gaps of 2 windows. So nothing overflows. */
struct spread {
	uint64_t sum, squares;
	uint64_t least, most;
	uint64_t count;
};

enum direction { FORWARD, BACKWARD };

/* What a packet changes is close together: memory is what a packet waits for. */
struct way {
	struct spread length, interarrival;
	uint64_t latest_us; /* packet since the flow was idle */
	uint64_t header_bytes;
	uint32_t psh, urg;
	bool has_latest;
};

struct accumulator {
	uint64_t window; /* see extractor.h */
	uint64_t first_ns, last_ns;
	uint64_t active_since_us;
	uint64_t packets;
	uint8_t dscp;
	struct way ways[2]; /* by direction */
	struct spread active, idle;
};

/* Numeric features behind the five that name the flow, in the order of features.py. */
#define FEATURES_COUNTED 40

void accumulator_reset(struct accumulator *accumulator);

/* Times never decrease from packet to packet. */
void accumulator_add(struct accumulator *accumulator, const struct packet *packet,
		     enum direction direction, uint64_t time_ns);

/* The features total_fpackets to dscp of an accumulator with at least one packet. */
void accumulator_features(const struct accumulator *accumulator,
			  uint64_t features[FEATURES_COUNTED]);
