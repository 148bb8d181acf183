// SPDX-License-Identifier: Apache-2.0
/* Counts for each client its flows that began in this pane and have had no record. */
#include <stdlib.h>
#include <string.h>

#include "sources.h"

/* An entry: an address that has such flows. */
struct source {
	uint32_t pane; /* of struct sources; another: the place is free */
	uint32_t hash;
	uint32_t newest; /* place of the flow in the table; the others are a ring with it */
	uint32_t flows;
};

bool sources_open(struct sources *sources, const struct table *table)
{
	*sources = (struct sources){
		.table = table,
		/* The memory is zero, and is only taken once it is written. */
		.index = calloc((size_t)table->mask + 1, sizeof(struct source)),
		.pane = 1, /* not that of the entries, so all are free */
	};
	return sources->index != NULL;
}

void sources_close(struct sources *sources)
{
	free(sources->index);
}

void sources_clear(struct sources *sources)
{
	sources->pane++;
}

/* Return a key that has the client's address alone, for the hash. */
static struct flow_key client_of(const struct flow *flow)
{
	struct flow_key key = { .version = flow->key.version };

	memcpy(key.addresses[0], flow->key.addresses[flow->first_source], sizeof(key.addresses[0]));
	return key;
}

static bool same_client(const struct flow *a, const struct flow *b)
{
	return a->key.version == b->key.version &&
	       memcmp(a->key.addresses[a->first_source], b->key.addresses[b->first_source],
		      sizeof(a->key.addresses[0])) == 0;
}

static bool is_free(const struct sources *sources, uint32_t i)
{
	return sources->index[i].pane != sources->pane;
}

/* Return the entry of the flow's client, or the free place where it belongs. */
static struct source *find(const struct sources *sources, const struct flow *flow, uint32_t hash)
{
	uint32_t i = hash & sources->table->mask;

	for (; !is_free(sources, i); i = (i + 1) & sources->table->mask) {
		struct source *source = &sources->index[i];

		if (source->hash == hash &&
		    same_client(table_at(sources->table, source->newest), flow))
			break;
	}
	return &sources->index[i];
}

/* Return the hash of the flow's client. */
static uint32_t hash_of(const struct sources *sources, const struct flow *flow)
{
	struct flow_key client = client_of(flow);

	return table_hash(sources->table, &client);
}

/* Close the gap that a removed entry leaves, as in the table of flows (table.c). */
static void close_gap(struct sources *sources, uint32_t gap)
{
	const uint32_t mask = sources->table->mask;

	for (uint32_t i = (gap + 1) & mask; !is_free(sources, i); i = (i + 1) & mask) {
		uint32_t home = sources->index[i].hash & mask;

		/* The search for this entry begins behind the gap. */
		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		sources->index[gap] = sources->index[i];
		gap = i;
	}
	sources->index[gap].pane = sources->pane - 1; /* free */
}

uint32_t sources_add(struct sources *sources, struct flow *flow)
{
	const uint32_t place = table_place(sources->table, flow);
	uint32_t hash = hash_of(sources, flow);
	struct source *source = find(sources, flow, hash);

	if (source->pane != sources->pane) {
		*source = (struct source){ .pane = sources->pane, .hash = hash };
		flow->older = flow->newer = place;
	} else {
		struct flow *newest = table_at(sources->table, source->newest);

		/* The ring goes on from the newest flow to the oldest one. */
		flow->older = source->newest;
		flow->newer = newest->newer;
		table_at(sources->table, newest->newer)->older = place;
		newest->newer = place;
	}
	source->newest = place;
	return ++source->flows;
}

void sources_remove(struct sources *sources, struct flow *flow)
{
	struct source *source = find(sources, flow, hash_of(sources, flow));

	if (--source->flows == 0) {
		close_gap(sources, (uint32_t)(source - sources->index));
		return;
	}
	table_at(sources->table, flow->older)->newer = flow->newer;
	table_at(sources->table, flow->newer)->older = flow->older;
	if (source->newest == table_place(sources->table, flow))
		source->newest = flow->older;
}

struct flow *sources_oldest(const struct sources *sources, const struct flow *newest)
{
	return table_at(sources->table, newest->newer);
}
