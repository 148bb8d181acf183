/* SPDX-License-Identifier: Apache-2.0 */
/* The registers of SFCMon, and what packets do to them (docs/reference/sfcmon.md). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "../sizes.h"
#include "../thresholds.h"
#include "packet.h"

/* A cell of the IBLT. */
struct cell {
	uint32_t count, checksum, packets;
	uint32_t key_sum[SFCMON_IPV6_WORDS];
	uint64_t bytes;
};

struct sketch {
	struct sizes sizes;
	struct thresholds thresholds;
	uint32_t packets;
	uint32_t unparsed[SFCMON_REASONS];
	uint32_t *cms; /* row after row */
	uint64_t *bloom; /* 64 bits in each word, the lowest first */
	struct cell *iblt;
};

/* Create empty sketches. This never fails: without memory, the tool ends. */
void sketch_create(struct sketch *sketch, const struct sizes *sizes,
		   const struct thresholds *thresholds);

/* Set all registers to 0; sizes and thresholds stay. */
void sketch_clear(struct sketch *sketch);

/* Process at most BATCH packets. `heavy` says for each whether it belongs to a heavy hitter. */
void sketch_process(struct sketch *sketch, const struct packet *packets, unsigned int count,
		    bool *heavy);

/* Return how many flows were inserted into the IBLT. */
uint64_t sketch_inserted(const struct sketch *sketch);

/* Return memory, which is zero. This never fails: without memory, the tool ends. */
void *allocate(size_t count, size_t size);
