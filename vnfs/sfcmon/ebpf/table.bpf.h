/* SPDX-License-Identifier: Apache-2.0 */
/* A table with an entry for each flow: what the paper compares SFCMon with (section 3.3). */
#pragma once

#include <stdbool.h>

#include "../../../dataplane/common/table.bpf.h"
#include "engine.h"
#include "parse.bpf.h"

/* One for each bank, with room for all entries from the start; the user side makes them larger. */
TABLE(flows0, BPF_MAP_TYPE_HASH, 1, struct sfcmon_flow, struct sfcmon_flow_counts, 0);
TABLE(flows1, BPF_MAP_TYPE_HASH, 1, struct sfcmon_flow, struct sfcmon_flow_counts, 0);

/* Return the counters of a packet's flow, in a new entry if it has none; NULL if there is no room
 * for one. */
static __always_inline struct sfcmon_flow_counts *flow_counts(void *table,
							      const struct sfcmon_packet *packet)
{
	struct sfcmon_flow_counts *counts = bpf_map_lookup_elem(table, packet->flow);
	const struct sfcmon_flow_counts none = {};

	if (counts)
		return counts;
	/* Another CPU may be first: then this fails, and there is an entry. */
	bpf_map_update_elem(table, packet->flow, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(table, packet->flow);
}

/* Count a packet in the entry of its flow. Returns false if there is no room for the flow. */
static __always_inline bool update_table(__u32 bank, const struct sfcmon_packet *packet)
{
	struct sfcmon_flow_counts *counts =
		bank ? flow_counts(&flows1, packet) : flow_counts(&flows0, packet);

	if (!counts)
		return false;
	__sync_fetch_and_add(&counts->packets, 1);
	__sync_fetch_and_add(&counts->bytes, packet->bytes);
	return true;
}
