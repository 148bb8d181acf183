// SPDX-License-Identifier: Apache-2.0
/*
 * Writes the kernel's tables, and reads its counters.
 *
 * Tables have a generation. Arrays have a half for generations with an even number, and one for
 * those with an odd number; keys of stations and routes contain the generation. The put_...()
 * functions write one kind of entries each. They return 0, or -1 after complain().
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../common/percpu.h"
#include "../common/report.h"
#include "maps.h"

#define LEAST_RULES 512 /* there is room for so many at least */

static struct sff_hop_slot *hop_slots;
static struct sff_rule_slot *rule_slots;
static struct sff_rule_rest *rule_rests;
static __u32 known_interfaces[2][SFF_PORTS]; /* what `interfaces` has, by half and port; 0: none */
static __u32 counted[SFF_HOPS]; /* by counter: path, SPI << 8 | SI; 0: free */

static const char *const drop_names[SFF_VERDICTS] = {
	[SFF_TRUNCATED] = "truncated",
	[SFF_ENCAPSULATION] = "encapsulation",
	[SFF_VERSION] = "version",
	[SFF_MD_TYPE] = "md_type",
	[SFF_LENGTH] = "length",
	[SFF_OAM] = "oam",
	[SFF_TTL_EXHAUSTED] = "ttl",
	[SFF_SI_ZERO] = "si_zero",
	[SFF_NO_PATH] = "no_path",
	[SFF_WRONG_PORT] = "wrong_port",
	[SFF_NEXT_PROTOCOL] = "next_protocol",
	[SFF_UNPARSED] = "unparsed",
	[SFF_NOT_IP] = "not_ip",
	[SFF_NO_FLOW] = "no_flow",
	[SFF_NO_STATION] = "no_station",
	[SFF_OVERSIZE] = "oversize",
	[SFF_NO_ROOM] = "no_room",
};

/* Write an entry of a map. Returns 0, or -1 after complain(). */
static int put(struct bpf_map *map, const void *key, const void *value)
{
	int error = bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY);

	if (error) {
		complain("the kernel's table %s takes no more: %s", bpf_map__name(map),
			 strerror(-error));
		return -1;
	}
	return 0;
}

unsigned int maps_size(struct sff_bpf *skeleton, const struct tables *tables, unsigned int rules)
{
	__u32 slots = 1;

	if (rules < tables->rules.count)
		rules = tables->rules.count;
	if (rules < LEAST_RULES)
		rules = LEAST_RULES;
	while (slots < 2 * rules) /* at most half of them will be taken */
		slots *= 2;
	skeleton->rodata->rule_slots = slots;
	/* There are two generations, so the maps have twice the slots. */
	return bpf_map__set_max_entries(skeleton->maps.rules, 2 * slots) ||
			       bpf_map__set_max_entries(skeleton->maps.rule_rests, 2 * slots)
		       ? 0
		       : rules;
}

/* Map an array of the kernel into memory: its entries are then written without a system call
 * each. Returns NULL after complain(). */
static void *map_array(struct bpf_map *map)
{
	size_t bytes = (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map);
	void *slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (slots != MAP_FAILED)
		return slots;
	complain("cannot map the kernel's table %s: %s", bpf_map__name(map), strerror(errno));
	return NULL;
}

int maps_open(struct sff_bpf *skeleton)
{
	hop_slots = map_array(skeleton->maps.hops);
	rule_slots = map_array(skeleton->maps.rules);
	rule_rests = map_array(skeleton->maps.rule_rests);
	/* Slots that were never used are of generation 0, in which packets must not look. */
	skeleton->bss->settings.generation = 1;
	return hop_slots && rule_slots && rule_rests ? 0 : -1;
}

/* Return the slot that holds a path, or the free one where it belongs; NULL if there is no room
 * for it. */
static struct sff_hop_slot *hop_slot(__u32 path, __u32 generation)
{
	struct sff_hop_slot *half = &hop_slots[(generation & 1) * SFF_HOP_SLOTS];
	__u32 hash = sff_hash_path(path);

	for (__u32 i = 0; i < SFF_PROBES; i++) {
		struct sff_hop_slot *slot = &half[(hash + i) & (SFF_HOP_SLOTS - 1)];

		if (slot->generation != generation || slot->path == path)
			return slot;
	}
	return NULL;
}

/* Return the slot that holds a rule, or the free one where it belongs; NULL if there is no room
 * for it. */
static struct sff_rule_slot *rule_slot(const struct sff_tuple *tuple, __u32 generation, __u32 slots)
{
	size_t half = (generation & 1) * (size_t)slots;
	__u32 hash = sff_hash_tuple(tuple);

	for (__u32 i = 0; i < SFF_PROBES; i++) {
		size_t place = half + ((hash + i) & (slots - 1));
		struct sff_rule_slot *slot = &rule_slots[place];

		if (slot->generation != generation ||
		    (memcmp(slot->tuple, tuple->words, sizeof(slot->tuple)) == 0 &&
		     memcmp(&rule_rests[place], &tuple->words[SFF_TUPLE_SHORT],
			    sizeof(rule_rests[place])) == 0))
			return slot;
	}
	return NULL;
}

/* Return the number of a path's counter, which a new path gets here; reuse_counters() has made sure
 * that one is free. A path keeps its counter, also when it is gone, while there are enough. */
static __u32 counter_of(__u32 path)
{
	__u32 vacant = 0;

	for (__u32 i = 1; i < SFF_HOPS; i++) {
		if (counted[i] == path)
			return i;
		if (!counted[i] && !vacant)
			vacant = i;
	}
	counted[vacant] = path;
	return vacant;
}

static bool has_hop(const struct tables *tables, __u32 path)
{
	for (unsigned int i = 0; i < tables->hops.count; i++)
		if (tables->hops.items[i].path == path)
			return true;
	return false;
}

/* If there are not enough counters for new tables, free those of paths that neither they nor the
 * tables in use have. Returns 0, or -1 after complain(). */
static int reuse_counters(struct sff_bpf *skeleton, const struct tables *tables, __u32 generation)
{
	int map = bpf_map__fd(skeleton->maps.counters), error;
	__u32 vacant = 0;

	for (__u32 i = 1; i < SFF_HOPS; i++)
		vacant += !counted[i];
	for (__u32 i = 1; vacant < tables->hops.count && i < SFF_HOPS; i++) {
		const struct sff_hop_slot *slot = hop_slot(counted[i], generation - 1);

		if (!counted[i] || has_hop(tables, counted[i]) ||
		    (slot && slot->generation == generation - 1))
			continue;
		error = percpu_clear(map, i, sizeof(struct sff_counter));
		if (error) {
			complain("a counter of a path cannot be used again: %s", strerror(-error));
			return -1;
		}
		counted[i] = 0;
		vacant++;
	}
	return 0;
}

/* Remove the interfaces that earlier tables have put into this generation's half of the map.
 * Returns 0, or -1 after complain(). */
static int clear_interfaces(struct sff_bpf *skeleton, __u32 generation)
{
	static const struct sff_port none;

	for (__u32 number = 0; number < SFF_PORTS; number++) {
		__u32 *index = &known_interfaces[generation & 1][number];
		__u32 place = (generation & 1) * SFF_IFINDEXES + *index;

		if (*index && put(skeleton->maps.interfaces, &place, &none))
			return -1;
		*index = 0;
	}
	return 0;
}

/* Write the ports, by number and by interface. */
static int put_ports(struct sff_bpf *skeleton, const struct tables *tables, const int *interfaces,
		     __u32 generation)
{
	if (clear_interfaces(skeleton, generation))
		return -1;
	for (__u32 number = 0; number < SFF_PORTS; number++) {
		struct sff_port port = tables->ports[number].port;
		__u32 place = (generation & 1) * SFF_PORTS + number;
		__u32 index = (__u32)interfaces[number];

		port.ifindex = index;
		port.number = (__u8)number;
		if (put(skeleton->maps.ports, &place, &port))
			return -1;
		if (!index)
			continue;
		if (put(skeleton->maps.xdp_ports, &place, &index))
			return -1;
		known_interfaces[generation & 1][number] = index;
		place = (generation & 1) * SFF_IFINDEXES + index;
		if (put(skeleton->maps.interfaces, &place, &port))
			return -1;
	}
	return 0;
}

/* Complain that there is no slot, and return -1. This hardly ever happens: at most a quarter of the
 * slots for paths is taken, and half of those for rules. */
static int no_slot(const char *what)
{
	complain("too many %s have similar hashes: leave one out or change one", what);
	return -1;
}

static int put_hops(struct sff_bpf *skeleton, const struct tables *tables, const int *interfaces,
		    __u32 generation)
{
	if (reuse_counters(skeleton, tables, generation))
		return -1;
	for (unsigned int i = 0; i < tables->hops.count; i++) {
		const struct hop_line *line = &tables->hops.items[i];
		struct sff_hop_slot *slot = hop_slot(line->path, generation);
		struct sff_exit there = { .ifindex = (__u32)interfaces[line->hop.port] };
		__u32 counter = counter_of(line->path);
		__u32 place = (generation & 1) * SFF_HOPS + counter;

		if (!slot)
			return no_slot("paths");
		slot->path = line->path;
		slot->hop = line->hop;
		slot->hop.counter = counter;
		__atomic_store_n(&slot->generation, generation, __ATOMIC_RELEASE);
		memcpy(there.mac, line->hop.dst_mac, sizeof(there.mac));
		if (put(skeleton->maps.hop_exits, &place, &there))
			return -1;
	}
	return 0;
}

static int put_stations(struct sff_bpf *skeleton, const struct tables *tables, __u32 generation)
{
	for (unsigned int i = 0; i < tables->stations.count; i++) {
		const struct station_line *line = &tables->stations.items[i];
		struct sff_station_key key = { .generation = generation };

		memcpy(key.mac, line->mac, sizeof(key.mac));
		if (put(skeleton->maps.stations, &key, &line->station))
			return -1;
	}
	return 0;
}

static int put_routes(struct sff_bpf *skeleton, const struct tables *tables, __u32 generation)
{
	for (unsigned int i = 0; i < tables->routes.count; i++) {
		const struct route_line *line = &tables->routes.items[i];
		struct sff_route_key key = { generation, line->address };

		if (put(skeleton->maps.routes, &key, &line->port))
			return -1;
	}
	return 0;
}

/* Write a rule. Of two rules with the same condition the first one wins. */
static int put_rule(const struct rule_line *line, __u32 generation, __u32 slots)
{
	struct sff_rule_slot *slot = rule_slot(&line->tuple, generation, slots);

	if (!slot)
		return no_slot("rules");
	if (slot->generation == generation)
		return 0;
	memcpy(slot->tuple, line->tuple.words, sizeof(slot->tuple));
	memcpy(&rule_rests[slot - rule_slots], &line->tuple.words[SFF_TUPLE_SHORT],
	       sizeof(*rule_rests));
	slot->has_rest = sff_has_rest(&line->tuple);
	slot->rank = line->rank;
	slot->path = line->path;
	__atomic_store_n(&slot->generation, generation, __ATOMIC_RELEASE);
	return 0;
}

static int put_rules(struct sff_bpf *skeleton, const struct tables *tables, __u32 generation)
{
	for (__u32 i = 0; i < tables->mask_count; i++) {
		__u32 place = (generation & 1) * SFF_MASKS + i;

		if (put(skeleton->maps.masks, &place, &tables->masks[i]))
			return -1;
	}
	for (unsigned int i = 0; i < tables->rules.count; i++)
		if (put_rule(&tables->rules.items[i], generation, skeleton->rodata->rule_slots))
			return -1;
	return 0;
}

/* Remove a map's entries of a generation. The generation is the first number of each key. */
static void forget(struct bpf_map *map, __u32 generation)
{
	size_t bytes = bpf_map__key_size(map);
	char keys[2][sizeof(struct sff_station_key)]; /* this key and the next, in turn */
	int fd = bpf_map__fd(map), turn = 0;
	int ended = bpf_map_get_next_key(fd, NULL, keys[turn]);

	while (!ended) {
		__u32 key_generation;

		/* The next key is fetched before this one is deleted: without this one the walk
		 * would begin anew. */
		ended = bpf_map_get_next_key(fd, keys[turn], keys[!turn]);
		memcpy(&key_generation, keys[turn], sizeof(key_generation));
		if (key_generation == generation)
			bpf_map__delete_elem(map, keys[turn], bytes, 0);
		turn = !turn;
	}
}

/* Forget the hops, stations and routes of a generation. Rules need not be forgotten: they are
 * looked up only in the generation in use. */
static void forget_generation(struct sff_bpf *skeleton, __u32 generation)
{
	struct sff_hop_slot *half = &hop_slots[(generation & 1) * SFF_HOP_SLOTS];

	for (__u32 i = 0; i < SFF_HOP_SLOTS; i++)
		if (half[i].generation == generation)
			half[i].generation = 0;
	forget(skeleton->maps.stations, generation);
	forget(skeleton->maps.routes, generation);
}

/* Forget the rules of tables that were refused, because the next tables get the same generation. */
static void forget_rules(__u32 generation, __u32 slots)
{
	struct sff_rule_slot *half = &rule_slots[(generation & 1) * (size_t)slots];

	for (__u32 i = 0; i < slots; i++)
		if (half[i].generation == generation)
			half[i].generation = 0;
}

int maps_apply(struct sff_bpf *skeleton, const struct tables *tables, const int *interfaces)
{
	struct sff_settings *settings = &skeleton->bss->settings;
	__u32 generation = settings->generation + 1;

	/* The new generation gets the half of the arrays that the previous one had. */
	maps_forget_previous(skeleton);
	settings->masks[generation & 1] = tables->mask_count;
	if (put_ports(skeleton, tables, interfaces, generation) ||
	    put_hops(skeleton, tables, interfaces, generation) ||
	    put_stations(skeleton, tables, generation) ||
	    put_routes(skeleton, tables, generation) || put_rules(skeleton, tables, generation)) {
		forget_generation(skeleton, generation);
		forget_rules(generation, skeleton->rodata->rule_slots);
		return -1;
	}
	memcpy(settings->mac, tables->mac, sizeof(settings->mac));
	settings->address = tables->address;
	settings->tap = tables->tapped;
	settings->trace = tables->trace;
	__atomic_store_n(&settings->generation, generation, __ATOMIC_RELEASE);
	return 0;
}

void maps_forget_previous(struct sff_bpf *skeleton)
{
	forget_generation(skeleton, skeleton->bss->settings.generation - 1);
}

/* Print the member `hops` of a JSON object, with a comma in front. */
static void report_hops(struct sff_bpf *skeleton, FILE *out)
{
	int map = bpf_map__fd(skeleton->maps.counters);
	const char *separator = "";

	fputs(", \"hops\": [", out);
	for (__u32 i = 1; i < SFF_HOPS; i++) {
		struct sff_counter sum = { 0 };

		if (!counted[i])
			continue;
		percpu_sum(map, i, &sum, sizeof(sum));
		fprintf(out,
			"%s{\"spi\": %u, \"si\": %u, \"packets\": %llu, \"bytes\": %llu, "
			"\"timed\": %llu, \"time_ns\": %llu, \"traced\": %llu, "
			"\"away_ns\": %llu, \"since_first_ns\": %llu}",
			separator, counted[i] >> 8, counted[i] & 0xff, sum.packets, sum.bytes,
			sum.timed, sum.time_ns, sum.traced, sum.away_ns, sum.since_first_ns);
		separator = ", ";
	}
	fputs("]", out);
}

void maps_report(struct sff_bpf *skeleton, FILE *out)
{
	struct sff_totals totals = { 0 };
	__u64 dropped = 0;

	percpu_sum(bpf_map__fd(skeleton->maps.totals_by_cpu), 0, &totals, sizeof(totals));
	for (int i = SFF_DROP_FIRST; i < SFF_VERDICTS; i++)
		dropped += totals.verdicts[i];
	fprintf(out, "\"received\": %llu, \"forwarded\": %llu, \"bypassed\": %llu", totals.seen,
		totals.verdicts[SFF_FORWARDED], totals.verdicts[SFF_BYPASSED]);
	fprintf(out, ", \"dropped\": %llu, \"drops\": {", dropped);
	for (int i = SFF_DROP_FIRST; i < SFF_VERDICTS; i++)
		fprintf(out, "%s\"%s\": %llu", i == SFF_DROP_FIRST ? "" : ", ", drop_names[i],
			totals.verdicts[i]);
	fprintf(out, "}, \"timed\": %llu, \"time_ns\": %llu", totals.timed, totals.time_ns);
	report_hops(skeleton, out);
}
