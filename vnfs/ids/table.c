// SPDX-License-Identifier: Apache-2.0
/* The table of flows: a hash table with open addressing, of bounded size. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "table.h"

#define VICTIMS_SEEN 8 /* most flows looked at, so that no packet waits for the eviction */

/* Return so many bytes of memory that is zero, or NULL. */
static void *map(size_t bytes)
{
	/* It is only taken once it is written. */
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static size_t index_bytes(const struct table *table)
{
	return ((size_t)table->mask + 1) * sizeof(*table->index);
}

bool table_open(struct table *table, uint32_t capacity, unsigned int windows)
{
	uint32_t places = 16;

	/* At most half of the index is in use, so searches stay short. */
	while (places / 2 < capacity)
		places *= 2;
	*table = (struct table){
		.capacity = capacity,
		.unused_count = capacity,
		.mask = places - 1,
		.flow_bytes = (sizeof(struct flow) + windows * sizeof(struct accumulator) + 63) &
			      ~(size_t)63,
	};
	table->flows = map(capacity * table->flow_bytes);
	table->index = map(index_bytes(table));
	table->unused = map(capacity * sizeof(*table->unused));
	if (!table->flows || !table->index || !table->unused ||
	    getrandom(table->secret, sizeof(table->secret), 0) != sizeof(table->secret))
		return false;
	for (uint32_t i = 0; i < capacity; i++)
		table->unused[i] = capacity - 1 - i; /* the lowest place is taken first */
	return true;
}

void table_close(struct table *table)
{
	munmap(table->flows, table->capacity * table->flow_bytes);
	munmap(table->index, index_bytes(table));
	munmap(table->unused, table->capacity * sizeof(*table->unused));
}

/* Fold a 128-bit product: every input bit changes about half of the output (as in wyhash). */
static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint32_t table_hash(const struct table *table, const struct flow_key *key)
{
	uint64_t words[KEY_WORDS], hash = table->secret[0];

	memcpy(words, key, sizeof(words));
	for (size_t i = 0; i < KEY_WORDS; i++)
		hash = fold(hash ^ words[i], table->secret[1] ^ 0x9e3779b97f4a7c15ULL);
	return (uint32_t)(hash ^ hash >> 32);
}

static bool same_key(const struct flow_key *a, const struct flow_key *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

struct flow *table_find(const struct table *table, const struct flow_key *key, uint32_t hash)
{
	for (uint32_t i = hash & table->mask; table->index[i]; i = (i + 1) & table->mask) {
		struct flow *flow;

		if ((uint32_t)(table->index[i] >> 32) != hash)
			continue;
		flow = table_at(table, (uint32_t)table->index[i] - 1);
		if (same_key(&flow->key, key))
			return flow;
	}
	return NULL;
}

struct flow *table_add(struct table *table, const struct flow_key *key, uint32_t hash)
{
	uint32_t i = hash & table->mask, place;
	struct flow *flow;

	if (!table->unused_count)
		return NULL;
	place = table->unused[--table->unused_count];
	if (place >= table->places_used)
		table->places_used = place + 1;
	while (table->index[i])
		i = (i + 1) & table->mask;
	table->index[i] = (uint64_t)hash << 32 | (place + 1);
	flow = table_at(table, place);
	memset(flow, 0, table->flow_bytes);
	flow->key = *key;
	flow->hash = hash;
	flow->used = true;
	return flow;
}

/* Close the gap that a removed entry leaves, so that no search ends there (Knuth, The Art of
 * Computer Programming, vol. 3, 6.4, algorithm R). */
static void close_gap(struct table *table, uint32_t gap)
{
	for (uint32_t i = (gap + 1) & table->mask; table->index[i]; i = (i + 1) & table->mask) {
		uint32_t home = (uint32_t)(table->index[i] >> 32) & table->mask;

		/* The search for this entry begins behind the gap. */
		if (((i - home) & table->mask) < ((i - gap) & table->mask))
			continue;
		table->index[gap] = table->index[i];
		gap = i;
	}
	table->index[gap] = 0;
}

void table_remove(struct table *table, struct flow *flow)
{
	uint32_t place = table_place(table, flow);
	uint64_t entry = (uint64_t)flow->hash << 32 | (place + 1);
	uint32_t i = flow->hash & table->mask;

	while (table->index[i] != entry)
		i = (i + 1) & table->mask;
	close_gap(table, i);
	flow->used = false;
	table->unused[table->unused_count++] = place;
}

/* Find a flow to replace by the clock algorithm (Corbato, A paging experiment with the Multics
 * system, 1968): the hand goes round the flows, and spares once a flow that was seen again. The
 * search is bounded. */
struct flow *table_victim(struct table *table)
{
	struct flow *flow = NULL;

	for (int i = 0; i < VICTIMS_SEEN; i++) {
		flow = table_at(table, table->hand);
		table->hand = (table->hand + 1) % table->capacity;
		if (!flow->again)
			break;
		flow->again = false;
	}
	return flow;
}
