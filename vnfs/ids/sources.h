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

struct source; /* an address */

struct sources {
	const struct table *table;
	struct source *index; /* open addressing, as many places as the table's index */
	uint32_t pane; /* a number of its own; entries of others are no more */
};

/* Of the flows in `table`. False: there is not enough memory. */
bool sources_open(struct sources *sources, const struct table *table);
void sources_close(struct sources *sources);

/* A pane begins: no flow is among them. */
void sources_clear(struct sources *sources);

/* A flow has begun. How many of its client's are among them now. */
uint32_t sources_add(struct sources *sources, struct flow *flow);

/* It has a record, or leaves the table. */
void sources_remove(struct sources *sources, struct flow *flow);

/* Of the client of `newest`, which was added last, the flow that began first. */
struct flow *sources_oldest(const struct sources *sources, const struct flow *newest);
