// SPDX-License-Identifier: Apache-2.0
/* Remembers which flows were found in a window. */
#include <stdlib.h>
#include <string.h>

#include <rte_jhash.h>

#include "../../dataplane/common/report.h"
#include "found.h"

#define PLACES (2 * MOST_FOUND) /* at most half of them are taken */

int found_open(struct found *found)
{
	*found = (struct found){
		.flows = calloc(MOST_FOUND, sizeof(*found->flows)),
		.places = calloc(PLACES, sizeof(*found->places)),
	};
	if (found->flows && found->places)
		return 0;
	complain("no memory for %d heavy hitters", MOST_FOUND);
	return -1;
}

int found_add(struct found *found, const struct flow_key *flow)
{
	uint32_t at = rte_jhash(flow, sizeof(*flow), 0) & (PLACES - 1);

	for (; found->places[at]; at = (at + 1) & (PLACES - 1))
		if (memcmp(&found->flows[found->places[at] - 1], flow, sizeof(*flow)) == 0)
			return 0;
	if (found->count == MOST_FOUND)
		return -1;
	found->flows[found->count] = *flow;
	found->places[at] = ++found->count;
	return 1;
}

void found_clear(struct found *found)
{
	if (found->count) /* of a window without any, nothing is written */
		memset(found->places, 0, PLACES * sizeof(*found->places));
	found->count = 0;
}
