/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of the data plane, and how they are looked up. */
#pragma once

#include <stdbool.h>

#include "../common/table.bpf.h"
#include "entries.h"

#define READ_ONCE(variable) (*(const volatile typeof(variable) *)&(variable))

/* The user side makes `rules` and `rule_rests` larger before it loads them. `proxy_flows` has the
 * path (SPI << 8 | SI) on which a flow continues when it is back from a shared SF. */
TABLE(ports, BPF_MAP_TYPE_ARRAY, 2 * SFF_PORTS, __u32, struct sff_port, 0);
TABLE(interfaces, BPF_MAP_TYPE_ARRAY, 2 * SFF_IFINDEXES, __u32, struct sff_port, 0);
TABLE(xdp_ports, BPF_MAP_TYPE_DEVMAP, 2 * SFF_PORTS, __u32, __u32, 0);
TABLE(hops, BPF_MAP_TYPE_ARRAY, 2 * SFF_HOP_SLOTS, __u32, struct sff_hop_slot, BPF_F_MMAPABLE);
TABLE(stations, BPF_MAP_TYPE_HASH, 2 * SFF_STATIONS, struct sff_station_key, struct sff_station, 0);
TABLE(routes, BPF_MAP_TYPE_HASH, 2 * SFF_ROUTES, struct sff_route_key, __u32, 0);
TABLE(hop_exits, BPF_MAP_TYPE_ARRAY, 2 * SFF_HOPS, __u32, struct sff_exit, 0);
TABLE(exits, BPF_MAP_TYPE_LRU_HASH, 16 * SFF_PORTS, struct sff_exit_key, struct sff_exit, 0);
TABLE(rules, BPF_MAP_TYPE_ARRAY, 2, __u32, struct sff_rule_slot, BPF_F_MMAPABLE);
TABLE(rule_rests, BPF_MAP_TYPE_ARRAY, 2, __u32, struct sff_rule_rest, BPF_F_MMAPABLE);
TABLE(masks, BPF_MAP_TYPE_ARRAY, 2 * SFF_MASKS, __u32, struct sff_mask, 0);
TABLE(proxy_flows, BPF_MAP_TYPE_LRU_HASH, SFF_PROXY_FLOWS, struct sff_tuple, __u32, 0);
TABLE(totals_by_cpu, BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, struct sff_totals, 0);
TABLE(counters, BPF_MAP_TYPE_PERCPU_ARRAY, SFF_HOPS, __u32, struct sff_counter, 0);

struct sff_settings settings;

const volatile __u32 tap_near, tap_far; /* ifindexes of the tap's veth */
const volatile __u32 rule_slots = 1; /* of a generation, a power of 2 */

static __always_inline __u32 frame_bytes(const struct xdp_md *ctx)
{
	const void *start = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	/* The verifier takes differences of pointers in 64 bits alone. */
	barrier_var(start);
	barrier_var(end);
	return (__u32)(end - start);
}

/* Return the place of a port in `ports` and `xdp_ports`. Such arrays have a half for generations
 * with an even number, and one for those with an odd number. */
static __always_inline __u32 port_place(__u32 number, __u32 generation)
{
	return (generation & 1) * SFF_PORTS + (number & (SFF_PORTS - 1));
}

/* Return the place of a hop, by the number of its counter, in `hop_exits`. */
static __always_inline __u32 hop_place(__u32 counter, __u32 generation)
{
	return (generation & 1) * SFF_HOPS + (counter & (SFF_HOPS - 1));
}

/* Return the port of this number; NULL: there is none. */
static __always_inline const struct sff_port *find_port(__u32 number, __u32 generation)
{
	__u32 place = port_place(number, generation);
	const struct sff_port *port = bpf_map_lookup_elem(&ports, &place);

	return port && port->kind != SFF_PORT_NONE ? port : NULL;
}

/* Return the port that an interface is attached to; NULL: none. */
static __always_inline const struct sff_port *port_of(__u32 ifindex, __u32 generation)
{
	__u32 place = (generation & 1) * SFF_IFINDEXES + (ifindex & (SFF_IFINDEXES - 1));
	const struct sff_port *port = bpf_map_lookup_elem(&interfaces, &place);

	return port && port->kind != SFF_PORT_NONE ? port : NULL;
}

/* Look a key up in the tables of this generation, else in those of the one before: packets that are
 * on their way when tables change finish their path. `key_generation` is a field of the key, and
 * afterwards the generation of the last lookup. Returns NULL if neither has the key. */
static __always_inline void *find_in_generations(void *map, void *key, __u32 *key_generation,
						 __u32 generation)
{
	void *found;

	*key_generation = generation;
	found = bpf_map_lookup_elem(map, key);
	if (found)
		return found;
	*key_generation = generation - 1;
	return bpf_map_lookup_elem(map, key);
}

/* Return the place in `hops` of the slot with this hash. */
static __always_inline __u32 hop_slot_place(__u32 hash, __u32 generation)
{
	return (generation & 1) * SFF_HOP_SLOTS + (hash & (SFF_HOP_SLOTS - 1));
}

/* The place of a path in the hops of a generation, or -1. This function and find_rule() are global,
 * so that the verifier looks at them once, and not again for each way to call them. */
__noinline int search_hop(__u32 path, __u32 generation)
{
	__u32 hash = sff_hash_path(path);

	for (__u32 i = 0; i < SFF_PROBES; i++) {
		__u32 place = hop_slot_place(hash + i, generation);
		const struct sff_hop_slot *slot = bpf_map_lookup_elem(&hops, &place);

		if (!slot || slot->generation != generation)
			return -1;
		if (slot->path == path)
			return (int)place;
	}
	return -1;
}

/* Return the slot of a path; NULL: this generation has no such path. Most are in the slot of their
 * hash, so that only the others cost a call. */
static __always_inline const struct sff_hop_slot *find_hop(__u32 path, __u32 generation)
{
	__u32 place = hop_slot_place(sff_hash_path(path), generation);
	const struct sff_hop_slot *slot = bpf_map_lookup_elem(&hops, &place);

	if (slot && slot->generation == generation && slot->path == path)
		return slot;
	place = (__u32)search_hop(path, generation); /* -1 is no place: nothing is found there */
	return bpf_map_lookup_elem(&hops, &place);
}

/* Does the rule at this place have the same rests of IPv6 addresses as the tuple? */
static __always_inline bool same_rest(__u32 place, const struct sff_tuple *tuple)
{
	const struct sff_rule_rest *rest = bpf_map_lookup_elem(&rule_rests, &place);

	return rest && rest->tuple[0] == tuple->words[2] && rest->tuple[1] == tuple->words[3] &&
	       rest->tuple[2] == tuple->words[4];
}

/* The place of the rule with this condition in the rules of a generation, or -1. */
__noinline int find_rule(struct sff_tuple *tuple, __u32 generation)
{
	__u32 half = (generation & 1) * rule_slots, hash, has_rest;

	/* Never so, but the verifier does not know that of a global function's argument. */
	if (!tuple)
		return -1;
	hash = sff_hash_tuple(tuple);
	has_rest = sff_has_rest(tuple);
	for (__u32 i = 0; i < SFF_PROBES; i++) {
		__u32 place = half + ((hash + i) & (rule_slots - 1));
		const struct sff_rule_slot *slot = bpf_map_lookup_elem(&rules, &place);

		if (!slot || slot->generation != generation)
			return -1;
		if (slot->tuple[0] == tuple->words[0] && slot->tuple[1] == tuple->words[1] &&
		    slot->has_rest == has_rest && (!has_rest || same_rest(place, tuple)))
			return (int)place;
	}
	return -1;
}

/* Is this one of the packets that are timed? At random: every n-th would meet the same hop again
 * and again. The multiplier is Knuth's for a linear congruential generator of 64 bits. */
static __always_inline bool drawn(struct sff_totals *totals)
{
	totals->random = totals->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (totals->random >> 33) % SFF_SAMPLING == 0;
}

/* Count a packet that was timed, from `began` (CLOCK_MONOTONIC, ns) until now. */
static __always_inline void count_time(__u64 *timed, __u64 *time_ns, __u64 began)
{
	*timed += 1;
	*time_ns += bpf_ktime_get_ns() - began;
}

/* Count a frame that was looked up, in the counter of this number. `began` is as in count_time();
 * 0: the frame is not timed. */
static __always_inline void count_hop(__u32 number, __u32 bytes, __u64 began)
{
	struct sff_counter *counter = bpf_map_lookup_elem(&counters, &number);

	if (!counter)
		return;
	counter->packets++;
	counter->bytes += bytes;
	if (began)
		count_time(&counter->timed, &counter->time_ns, began);
}
