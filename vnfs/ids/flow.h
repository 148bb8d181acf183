/* SPDX-License-Identifier: Apache-2.0 */
/* What is accumulated of a flow, and the features made from it. features.py defines each
 * feature. */
#pragma once

#include "packet.h"

/* Values of one quantity: whole numbers, in sums that are exact. A window of at most 60 s has
 * times below 2^26 us and less than 2^30 packets of less than 2^17 bytes. An early record has at
 * most 100 gaps of 2 windows. So nothing overflows. */
struct spread {
	uint64_t sum, squares; /* of the values, and of their squares */
	uint64_t least, most; /* 0: there are no values */
	uint64_t count;
};

enum direction { FORWARD, BACKWARD };

/* What is accumulated of one direction. What a packet changes is close together, because a
 * packet waits mostly for memory. */
struct way {
	struct spread length, interarrival;
	uint64_t latest_us; /* latest packet since the flow was idle */
	uint64_t header_bytes;
	uint32_t psh, urg;
	bool has_latest;
};

/* What is accumulated of a flow in one window, or for its early record. All times are Unix time. */
struct accumulator {
	uint64_t window; /* the window's name, see extractor.h */
	uint64_t first_ns, last_ns; /* first and last packet */
	uint64_t active_since_us; /* beginning of the present sub-flow */
	uint64_t packets;
	uint8_t dscp; /* the first one that is not 0 */
	struct way ways[2]; /* by direction */
	struct spread active, idle; /* us; `active` without the present sub-flow */
};

/* Number of numeric features behind the five that name the flow. Their order is that of
 * features.py. */
#define FEATURES_COUNTED 40

void accumulator_reset(struct accumulator *accumulator);

/* Count a packet. Times must never decrease from packet to packet. */
void accumulator_add(struct accumulator *accumulator, const struct packet *packet,
		     enum direction direction, uint64_t time_ns);

/* Compute the features total_fpackets to dscp of an accumulator with at least one packet. */
void accumulator_features(const struct accumulator *accumulator,
			  uint64_t features[FEATURES_COUNTED]);
