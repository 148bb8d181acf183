/* SPDX-License-Identifier: Apache-2.0 */
/* The table of known flows: a hash table with open addressing, of bounded size. */
#pragma once

#include "flow.h"

/* A place of the table, with a flow if it is used. */
struct flow {
	struct flow_key key;
	uint32_t hash;
	bool used;
	bool again; /* seen again since the eviction passed by */
	bool early_made; /* the early record was made, or is not wanted */
	uint8_t first_source; /* which end sent the first packet: FORWARD is from there */
	uint64_t last_pane; /* with a packet of the flow */
	uint32_t older, newer; /* places of flows, a ring: see sources.h */
	struct accumulator early;
	struct accumulator windows[]; /* one for each window that is open at a time */
};

struct table {
	uint8_t *flows; /* `capacity` places of `flow_bytes` */
	uint64_t *index; /* hash << 32 | place + 1; 0: free */
	uint32_t *unused; /* places without a flow, a stack */
	uint64_t secret[2]; /* nobody outside knows which flows share a place of the index */
	size_t flow_bytes;
	/* `mask` is for places of the index, `hand` for table_victim(). */
	uint32_t capacity, unused_count, mask, hand;
	uint32_t places_used; /* all flows since the beginning were at places below it */
};

/* Make a table with room for so many flows. Returns false if there is not enough memory. */
bool table_open(struct table *table, uint32_t capacity, unsigned int windows);
void table_close(struct table *table);

/* Return the hash of a key, which differs from table to table. */
uint32_t table_hash(const struct table *table, const struct flow_key *key);

/* Fetch the place where table_find() will begin to search. */
static inline void table_prefetch(const struct table *table, uint32_t hash)
{
	__builtin_prefetch(&table->index[hash & table->mask]);
}

/* Return the place of the first flow that the search meets; 0 if it meets none. As a rule that is
 * the flow itself. */
static inline uint32_t table_likely(const struct table *table, uint32_t hash)
{
	uint64_t entry = table->index[hash & table->mask];

	return entry ? (uint32_t)entry - 1 : 0;
}

/* Return the flow with this key, or NULL. */
struct flow *table_find(const struct table *table, const struct flow_key *key, uint32_t hash);

/* Add a flow. Only its key and hash are set; the rest is zero. Returns NULL if the table is
 * full. */
struct flow *table_add(struct table *table, const struct flow_key *key, uint32_t hash);

/* Remove a flow. What it has counted is lost. */
void table_remove(struct table *table, struct flow *flow);

/* Return a flow of a full table that may go: rather one with a single packet than one that goes
 * on. */
struct flow *table_victim(struct table *table);

/* Return the place of a flow, for table_at(). */
static inline uint32_t table_place(const struct table *table, const struct flow *flow)
{
	return (uint32_t)((size_t)((const uint8_t *)flow - table->flows) / table->flow_bytes);
}

/* Return the flow at a place below `capacity`. `used` says whether there is one. */
static inline struct flow *table_at(const struct table *table, uint32_t place)
{
	return (struct flow *)(table->flows + place * table->flow_bytes);
}
