// SPDX-License-Identifier: Apache-2.0
/* A ring of records, with one writer and one reader. */
#include <stdlib.h>

#include "ring.h"

bool ring_open(struct ring *ring)
{
	ring->records = calloc(RING_RECORDS, sizeof(*ring->records));
	return ring->records != NULL;
}

uint64_t ring_room(const struct ring *ring)
{
	uint64_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);

	return RING_RECORDS - (written - atomic_load_explicit(&ring->read, memory_order_acquire));
}

bool ring_put(struct ring *ring, const struct record *record, uint64_t sequence)
{
	uint64_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);

	if (!ring_room(ring))
		return false;
	ring->records[written % RING_RECORDS] = (struct queued){ sequence, *record };
	atomic_store_explicit(&ring->written, written + 1, memory_order_release);
	return true;
}

const struct queued *ring_oldest(const struct ring *ring)
{
	uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);

	if (read == atomic_load_explicit(&ring->written, memory_order_acquire))
		return NULL;
	return &ring->records[read % RING_RECORDS];
}

void ring_drop(struct ring *ring)
{
	uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);

	atomic_store_explicit(&ring->read, read + 1, memory_order_release);
}
