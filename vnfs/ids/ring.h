/* SPDX-License-Identifier: Apache-2.0 */
/* Records on their way from a thread that makes them to the one that exports them: a bounded queue
 * without locks, of one writer and one reader. */
#pragma once

#include <stdatomic.h>

#include "extractor.h"

#define RING_RECORDS 8192 /* a power of 2; 3 MB */

struct queued {
	uint64_t sequence;
	struct record record;
};

struct ring {
	struct queued *records;
	/* Counted on for ever. Each on a cache line of its own: the two threads do not share one. */
	_Alignas(64) _Atomic uint64_t written;
	_Alignas(64) _Atomic uint64_t read;
};

/* False: there is not enough memory. */
bool ring_open(struct ring *ring);

/* The writer's: free places, and one more record; false when there is no place. */
uint64_t ring_room(const struct ring *ring);
bool ring_put(struct ring *ring, const struct record *record, uint64_t sequence);

/* The reader's: the oldest record, or NULL; it stays there until ring_drop(). */
const struct queued *ring_oldest(const struct ring *ring);
void ring_drop(struct ring *ring);
