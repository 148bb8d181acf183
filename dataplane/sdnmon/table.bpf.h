/* SPDX-License-Identifier: Apache-2.0 */
/* The monitoring table, what keeps flows out of it, and what counts them. */
#pragma once

#include "../common/table.bpf.h"
#include "parse.bpf.h"

struct sdnmon_live live SEC(SDNMON_LIVE) = {};

/* The monitoring table: key -> struct sdnmon_entry. The user side sets the sizes of keys and
 * entries, here and below, before the maps are created. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(struct sdnmon_key));
	__uint(value_size, sizeof(struct sdnmon_entry));
} table SEC(".maps");

/* An entry of zeros, for insertion: a program has no room for one on its stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct sdnmon_entry));
} blank SEC(".maps");

/* Flows that the controller removed, in the mode SDNMON_HASH. The user side writes it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(struct sdnmon_key));
	__uint(value_size, sizeof(__u8));
} excluded SEC(".maps");

/* Flows that sampling left out or the controller removed, in the mode SDNMON_BLOOM. */
struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 1);
	__uint(value_size, sizeof(struct sdnmon_key));
	__uint(map_extra, SDNMON_BLOOM_HASHES);
} unmonitored SEC(".maps");

/* Bits, of which the hash of each added entry sets one. A flow outside of the sample needs no
 * lookup in the table if its bit is 0. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, SDNMON_MARK_BITS / 8);
} marks SEC(".maps");

TABLE(totals, BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, struct sdnmon_totals, 0);

/* Notifications, each a struct sdnmon_event. The user side reads them. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} events SEC(".maps");

/* Read a value that other CPUs or the user side may change at any time. */
#define READ(place) (*(const volatile typeof(place) *)&(place))

/* --- marks of added entries --- */

/* Return the word of `marks` that has the bit of this hash; NULL for the verifier alone. */
static __always_inline __u64 *mark_word(__u64 hash)
{
	__u32 only = 0;
	__u64 *words = bpf_map_lookup_elem(&marks, &only);

	return words ? words + (hash >> 32 & (SDNMON_MARK_BITS - 1)) / 64 : NULL;
}

/* May a flow with this hash have been added? */
static __always_inline bool is_marked(__u64 hash)
{
	const __u64 *word = READ(live.marks) ? mark_word(hash) : NULL;

	return word && READ(*word) >> (hash >> 32 & 63) & 1;
}

/* Note that a flow with this hash was added. */
static __always_inline void mark(__u64 hash)
{
	__u64 *word = mark_word(hash);

	if (word)
		__sync_fetch_and_or(word, 1ULL << (hash >> 32 & 63));
	live.marks = 1;
}

/* --- entries --- */

/* Notify if there are more entries than the threshold. After that, no more notifications come until
 * rearm() sees that enough entries were removed. */
static __always_inline void notify_of(__u64 entries)
{
	struct sdnmon_event event = { .notify = READ(live.notify) };

	if (!event.notify || entries <= event.notify || !READ(live.armed) ||
	    !__sync_val_compare_and_swap(&live.armed, 1, 0))
		return;
	event.entries = entries;
	event.time_ns = bpf_ktime_get_ns();
	if (bpf_ringbuf_output(&events, &event, sizeof(event), 0))
		/* The ring is full: the next entry tries again. */
		live.armed = 1;
	else
		__sync_fetch_and_add(&live.notifications, 1);
}

/* Insert an entry without counts. Returns SDNMON_DONE, SDNMON_NO_ROOM, or SDNMON_THERE_ALREADY if
 * another CPU was faster. Room is taken before the entry is inserted, so that CPUs do not exceed
 * the limit together. */
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
		/* -EEXIST */
		return error == -17 ? SDNMON_THERE_ALREADY : SDNMON_NO_ROOM;
	}
	notify_of(before + 1);
	return SDNMON_DONE;
}

/* Return the epoch of now. Its clock is right to a few milliseconds, and costs less than the exact
 * one. */
static __always_inline __u64 current_epoch(void)
{
	const struct sdnmon_clock *clock = &live.clocks[READ(live.clock) & 1];
	__u64 now = bpf_ktime_get_coarse_ns(), since = READ(clock->since_ns);

	return READ(clock->first) + (now > since ? (now - since) / READ(clock->interval_ns) : 0);
}

/* Begin an epoch of an entry, whose last one was `before`: the slot of the new one keeps the counts
 * as they are. Only one CPU does so. Counts are never lost: a packet that another CPU counts
 * meanwhile is at worst in the epoch before. */
static __always_inline void begin_epoch(struct sdnmon_entry *entry, __u64 before, __u64 epoch)
{
	__u32 place = epoch % config.slots;
	struct sdnmon_slot *slot;

	if (__sync_val_compare_and_swap(&entry->epoch, before, epoch) != before)
		return;
	/* For the verifier, as is the barrier: the addition stays behind this check. */
	if (place >= config.slots)
		return;
	barrier_var(place);
	slot = &entry->slots[place];
	slot->packets = READ(entry->packets);
	slot->bytes = READ(entry->bytes);
	/* The epoch comes last, so that whoever reads it finds the counts that belong to it. */
	__sync_lock_test_and_set(&slot->epoch, epoch);
}

/* Count packets in an entry. */
static __always_inline void count(struct sdnmon_entry *entry, __u64 packets, __u64 bytes)
{
	__u64 epoch = current_epoch(), before = READ(entry->epoch);

	if (epoch > before)
		begin_epoch(entry, before, epoch);
	__sync_fetch_and_add(&entry->packets, packets);
	__sync_fetch_and_add(&entry->bytes, bytes);
}

/* --- sampling --- */

/* Was the flow removed? As long as none was, nothing needs to be looked up. */
static __always_inline bool is_excluded(const struct sdnmon_key *key)
{
	return READ(live.exclusions) && bpf_map_lookup_elem(&excluded, key);
}

/* Decide whether a flow without an entry gets one. Returns SDNMON_MONITORED if so, else the total
 * that counts its packet. */
static __always_inline enum sdnmon_total draw(const struct sdnmon_key *key)
{
	if (is_excluded(key))
		return SDNMON_EXCLUDED;
	/* Before the draw, so that a flow that finds no room does not get into `unmonitored`. */
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

/* Count packets in the entry of their flow, which is made if the flow is to be monitored. Returns
 * the total that counts these packets. */
static __always_inline enum sdnmon_total monitor(const struct sdnmon_key *key, __u64 hash,
						 __u64 packets, __u64 bytes)
{
	bool outside = left_out(key, hash);
	struct sdnmon_entry *entry;
	enum sdnmon_total drawn;

	/* Outside of the sample only added entries count, and this flow has none. */
	if (outside && !is_marked(hash))
		return SDNMON_UNSAMPLED;
	entry = bpf_map_lookup_elem(&table, key);
	if (entry && (!outside || entry->added)) {
		count(entry, packets, bytes);
		return SDNMON_MONITORED;
	}
	if (outside) /* with no entry, or one from the time of a higher ratio */
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
