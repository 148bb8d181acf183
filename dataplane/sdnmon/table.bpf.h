/* SPDX-License-Identifier: Apache-2.0 */
/* The monitoring table, what keeps flows out of it, and what counts them. */
#pragma once

#include "../common/table.bpf.h"
#include "parse.bpf.h"

struct sdnmon_live live SEC(SDNMON_LIVE) = {};

/* The sizes of keys and entries are set before the maps are created. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(struct sdnmon_key));
	__uint(value_size, sizeof(struct sdnmon_entry));
} table SEC(".maps");

/* An entry of zeros: a program has no room for one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct sdnmon_entry));
} blank SEC(".maps");

/* Flows that were removed. The user side writes it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(struct sdnmon_key));
	__uint(value_size, sizeof(__u8));
} excluded SEC(".maps");

/* Flows that sampling left out, in the mode SDNMON_BLOOM. */
struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 1);
	__uint(value_size, sizeof(struct sdnmon_key));
	__uint(map_extra, SDNMON_BLOOM_HASHES);
} unmonitored SEC(".maps");

/* A bit by hash for each entry that was added: without it, packets of flows outside of the sample need
 * not be looked up. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, SDNMON_MARK_BITS / 8);
} marks SEC(".maps");

TABLE(totals, BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, struct sdnmon_totals, 0);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} events SEC(".maps");

#define READ(place) (*(const volatile typeof(place) *)&(place))

/* --- marks of added entries --- */

static __always_inline __u64 *mark_word(__u64 hash)
{
	__u32 only = 0;
	__u64 *words = bpf_map_lookup_elem(&marks, &only);

	return words ? words + (hash >> 32 & (SDNMON_MARK_BITS - 1)) / 64 : NULL;
}

static __always_inline bool is_marked(__u64 hash)
{
	const __u64 *word = READ(live.marks) ? mark_word(hash) : NULL;

	return word && READ(*word) >> (hash >> 32 & 63) & 1;
}

static __always_inline void mark(__u64 hash)
{
	__u64 *word = mark_word(hash);

	if (word)
		__sync_fetch_and_or(word, 1ULL << (hash >> 32 & 63));
	live.marks = 1;
}

/* --- entries --- */

/* More entries than the controller wants: tell it once, until there were fewer. */
static __always_inline void notify_of(__u64 entries)
{
	struct sdnmon_event event = { .notify = READ(live.notify) };

	if (!event.notify || entries <= event.notify || !READ(live.armed) ||
	    !__sync_val_compare_and_swap(&live.armed, 1, 0))
		return;
	event.entries = entries;
	event.time_ns = bpf_ktime_get_ns();
	if (bpf_ringbuf_output(&events, &event, sizeof(event), 0))
		live.armed = 1;
	else
		__sync_fetch_and_add(&live.notifications, 1);
}

/* Room is taken before the entry is inserted, so that CPUs do not exceed the limit together. */
static __always_inline enum sdnmon_answer insert_blank(const struct sdnmon_key *key)
{
	__u32 only = 0;
	const void *zeros = bpf_map_lookup_elem(&blank, &only);
	__u64 before;
	long error;

	if (!zeros || READ(live.entries) >= READ(live.limit))
		return SDNMON_NO_ROOM;
	before = __sync_fetch_and_add(&live.entries, 1);
	if (before >= READ(live.limit)) {
		__sync_fetch_and_add(&live.entries, -1);
		return SDNMON_NO_ROOM;
	}
	error = bpf_map_update_elem(&table, key, zeros, BPF_NOEXIST);
	if (error) {
		__sync_fetch_and_add(&live.entries, -1);
		/* -EEXIST: another CPU was faster. */
		return error == -17 ? SDNMON_THERE_ALREADY : SDNMON_NO_ROOM;
	}
	notify_of(before + 1);
	return SDNMON_DONE;
}

/* The time to a few milliseconds, which costs less than the exact one. */
static __always_inline __u64 current_epoch(void)
{
	const struct sdnmon_clock *clock = &live.clocks[READ(live.clock) & 1];
	__u64 now = bpf_ktime_get_coarse_ns(), since = READ(clock->since_ns);

	return READ(clock->first) + (now > since ? (now - since) / READ(clock->interval_ns) : 0);
}

/* The first packet of an epoch keeps the counts as they were. Totals are never lost: a packet that
 * another CPU counts meanwhile is at worst in the epoch before. */
static __always_inline void begin_epoch(struct sdnmon_entry *entry, __u64 before, __u64 epoch)
{
	__u32 place = epoch % config.slots;
	struct sdnmon_slot *slot;

	if (__sync_val_compare_and_swap(&entry->epoch, before, epoch) != before)
		return;
	if (place >= config.slots)
		return;
	/* The addition stays behind the check, for the verifier. */
	barrier_var(place);
	slot = &entry->slots[place];
	slot->packets = READ(entry->packets);
	slot->bytes = READ(entry->bytes);
	/* Last, and not before the others: who reads a slot finds it whole, or as old. */
	__sync_lock_test_and_set(&slot->epoch, epoch);
}

static __always_inline void count(struct sdnmon_entry *entry, __u64 packets, __u64 bytes)
{
	__u64 epoch = current_epoch(), before = READ(entry->epoch);

	if (epoch > before)
		begin_epoch(entry, before, epoch);
	__sync_fetch_and_add(&entry->packets, packets);
	__sync_fetch_and_add(&entry->bytes, bytes);
}

/* --- sampling --- */

static __always_inline bool is_excluded(const struct sdnmon_key *key)
{
	return READ(live.exclusions) && bpf_map_lookup_elem(&excluded, key);
}

/* May a flow without an entry have one? */
static __always_inline enum sdnmon_total draw(const struct sdnmon_key *key)
{
	if (is_excluded(key))
		return SDNMON_EXCLUDED;
	/* Before it is drawn: a flow that finds no room is not marked. */
	if (READ(live.entries) >= READ(live.limit))
		return SDNMON_OVERFLOWED;
	if (config.mode == SDNMON_BLOOM && bpf_get_prandom_u32() >= READ(live.ratio)) {
		bpf_map_push_elem(&unmonitored, key, BPF_ANY);
		return SDNMON_UNSAMPLED;
	}
	return SDNMON_MONITORED;
}

/* Is the flow outside of the sample, as far as this is known without the table? */
static __always_inline bool left_out(const struct sdnmon_key *key, __u64 hash)
{
	if (config.mode == SDNMON_HASH)
		return hash >> 32 >= READ(live.ratio);
	return bpf_map_peek_elem(&unmonitored, (void *)key) == 0;
}

/* Count packets of a flow, if it is monitored. */
static __always_inline enum sdnmon_total monitor(const struct sdnmon_key *key, __u64 hash,
						 __u64 packets, __u64 bytes)
{
	bool outside = left_out(key, hash);
	struct sdnmon_entry *entry;
	enum sdnmon_total drawn;

	if (outside && !is_marked(hash))
		return SDNMON_UNSAMPLED;
	entry = bpf_map_lookup_elem(&table, key);
	if (entry && (!outside || entry->added)) {
		count(entry, packets, bytes);
		return SDNMON_MONITORED;
	}
	if (outside)
		return SDNMON_UNSAMPLED;
	drawn = draw(key);
	if (drawn != SDNMON_MONITORED)
		return drawn;
	if (insert_blank(key) == SDNMON_NO_ROOM)
		return SDNMON_OVERFLOWED;
	entry = bpf_map_lookup_elem(&table, key);
	if (!entry) /* removed since */
		return SDNMON_EXCLUDED;
	count(entry, packets, bytes);
	return SDNMON_MONITORED;
}
