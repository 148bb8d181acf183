/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of records on their way from the thread that makes them to the one that exports them.
 * It is a bounded queue without locks, with one writer and one reader. */
#pragma once

#include <stdatomic.h>

#include "extractor.h"

#define RING_RECORDS 8192 /* a power of 2; they take 3 MB */

struct queued {
	uint64_t sequence; /* number of the record */
	struct record record;
};

struct ring {
	struct queued *records;
	/* Both numbers only grow. Each is on a cache line of its own, because two threads write
	 * them. */
	_Alignas(64) _Atomic uint64_t written;
	_Alignas(64) _Atomic uint64_t read;
};

/* Make a ring. Returns false if there is not enough memory. */
bool ring_open(struct ring *ring);

/* For the writer: return the number of free places; add a record, or return false if there is no
 * place. */
uint64_t ring_room(const struct ring *ring);
bool ring_put(struct ring *ring, const struct record *record, uint64_t sequence);

/* For the reader: return the oldest record, or NULL. It stays in the ring until ring_drop(). */
const struct queued *ring_oldest(const struct ring *ring);
void ring_drop(struct ring *ring);
