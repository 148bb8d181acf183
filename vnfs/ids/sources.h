/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flows that began in this pane and have had no record, by the address that began them.
 *
 * Each address that has such flows has an entry, and no other: so there are never more entries than
 * flows in the table, for which there is always room. An entry is looked up when a flow begins, and
 * when it has its early record; other packets do not come here.
 */
#pragma once

#include "table.h"

struct source; /* an entry */

struct sources {
	const struct table *table;
	struct source *index; /* open addressing, as many places as the table's index */
	uint32_t pane; /* number of the present pane; entries of others do not count */
};

/* Begin to count flows of `table`. Returns false if there is not enough memory. */
bool sources_open(struct sources *sources, const struct table *table);
void sources_close(struct sources *sources);

/* Begin a pane: no flow is counted yet. */
void sources_clear(struct sources *sources);

/* Count a flow that has begun. Returns how many flows of its client are counted now. */
uint32_t sources_add(struct sources *sources, struct flow *flow);

/* Count a flow no longer: it has a record, or leaves the table. */
void sources_remove(struct sources *sources, struct flow *flow);

/* Return the flow that began first, among the counted ones of the client of `newest`. `newest`
 * must have been added last. */
struct flow *sources_oldest(const struct sources *sources, const struct flow *newest);
