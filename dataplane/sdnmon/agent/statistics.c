// SPDX-License-Identifier: Apache-2.0
/* Makes statistics replies piece by piece. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "../../common/report.h"
#include "statistics.h"

#define BATCH_BYTES (1 << 20) /* entries that are read at once: as many as a cache holds */
#define MOST_ENTRIES (BATCH_BYTES / sizeof(struct sdnmon_entry))
#define CONTENT 24 /* length of what precedes the records of a message */
#define COUNTS 20 /* length of a record behind its key */
#define COUNTS_OF_SLOT 16

#define MORE 1 /* flag of a message */
#define ADDED 1 /* flag of a record */

/* What one system call has read of the table. */
static __u8 keys[MOST_ENTRIES * sizeof(struct sdnmon_key)];
static __u64 entries[BATCH_BYTES / sizeof(__u64)];

int statistics_begin(struct statistics *statistics, const struct program *program, bool with_slots)
{
	const struct sdnmon_config *config = program->config;
	__u64 first = program->live->clocks[program->live->clock & 1].first;
	__u64 epoch = program_epoch(program);
	int table = fcntl(program->table, F_DUPFD_CLOEXEC, 0);

	if (table < 0) {
		complain("cannot read the monitoring table: %s", strerror(errno));
		return -1;
	}
	statistics->active = true;
	statistics->begun = false;
	statistics->with_slots = with_slots;
	statistics->table = table;
	statistics->slots = config->slots;
	statistics->key_bytes = config->words * (__u32)sizeof(__u32);
	statistics->entry_bytes =
		(__u32)(sizeof(struct sdnmon_entry) + config->slots * sizeof(struct sdnmon_slot));
	statistics->record_bytes =
		statistics->key_bytes + COUNTS + (with_slots ? config->slots * COUNTS_OF_SLOT : 0);
	statistics->epoch = epoch;
	statistics->oldest = epoch >= first + config->slots ? epoch - config->slots + 1 : first;
	return 0;
}

void statistics_end(struct statistics *statistics)
{
	if (statistics->active)
		close(statistics->table);
	statistics->active = false;
}

/* --- a record --- */

/* Return the counts of an epoch, from those at its start and its end (the start of the next). It is
 * 0 if the end is less: a CPU that was held up when an epoch began may have kept later counts. */
static inline __u64 less(__u64 end, __u64 start)
{
	return end > start ? end - start : 0;
}

/* Write the counts of the epochs that the reply has, oldest first. Returns false if the copy of
 * the entry was made while a packet came, and has a slot that is newer than the totals. */
static inline bool put_slots(const struct statistics *statistics, const struct sdnmon_entry *entry,
			     __u8 *to)
{
	__u64 packets = entry->packets, bytes = entry->bytes; /* at the end of `epoch` */
	__u64 newest = entry->epoch > statistics->epoch ? entry->epoch : statistics->epoch;
	__u32 slots = statistics->slots, place = (__u32)(newest % slots);

	memset(to, 0, (size_t)slots * COUNTS_OF_SLOT);
	if (entry->epoch < statistics->oldest) /* no packets: all zeros */
		return true;
	for (__u32 i = 0; i < slots && newest - i >= statistics->oldest; i++) {
		const struct sdnmon_slot *slot = &entry->slots[place];
		__u64 epoch = newest - i;

		place = place ? place - 1 : slots - 1;
		if (slot->epoch != epoch)
			continue;
		if (slot->packets > entry->packets || slot->bytes > entry->bytes)
			return false;
		if (epoch <= statistics->epoch) {
			__u8 *counts =
				to + (slots - 1 - (statistics->epoch - epoch)) * COUNTS_OF_SLOT;

			put64(put64(counts, less(packets, slot->packets)),
			      less(bytes, slot->bytes));
		}
		packets = slot->packets;
		bytes = slot->bytes;
	}
	return true;
}

/* Write the record of an entry. Returns false as put_slots() does. */
static inline bool put_record(const struct statistics *statistics, const __u8 *key,
			      const struct sdnmon_entry *entry, __u8 *to)
{
	memcpy(to, key, statistics->key_bytes);
	to = put32(to + statistics->key_bytes, entry->added ? ADDED : 0);
	to = put64(put64(to, entry->packets), entry->bytes);
	return !statistics->with_slots || put_slots(statistics, entry, to);
}

/* --- messages --- */

/* Return how many records fit into a message. */
static __u32 records_of_message(const struct statistics *statistics)
{
	return (OPENFLOW_LONGEST - SDNMON_HEADER - CONTENT) / statistics->record_bytes;
}

/* Return how many entries a piece takes. The buffers that they are read to must have room too. */
static __u32 entries_of_piece(const struct statistics *statistics)
{
	__u32 messages = OUTPUT_STATISTICS / OPENFLOW_LONGEST;
	__u32 sent = messages * records_of_message(statistics);
	__u32 read = BATCH_BYTES / statistics->entry_bytes;

	return sent < read ? sent : read;
}

/* Write the records of `count` entries from `first` on in the buffers. Those that were removed
 * meanwhile are left out. Returns how many were written. */
static __u32 put_records(const struct statistics *statistics, __u32 first, __u32 count, __u8 *to)
{
	__u32 put = 0;

	for (__u32 i = first; i < first + count; i++) {
		const __u8 *key = keys + (size_t)i * statistics->key_bytes;
		struct sdnmon_entry *entry =
			(void *)((__u8 *)entries + (size_t)i * statistics->entry_bytes);
		bool is_there = true;

		while (is_there && !put_record(statistics, key, entry, to))
			is_there = bpf_map_lookup_elem(statistics->table, key, entry) == 0;
		if (!is_there)
			continue;
		to += statistics->record_bytes;
		put++;
	}
	return put;
}

/* Write a message with the next of `left` entries from `first` on in the buffers. Returns how many
 * of them it took. */
static __u32 put_message(const struct statistics *statistics, struct output *output, __u32 first,
			 __u32 left, bool is_last)
{
	__u32 most = records_of_message(statistics);
	__u32 count = left < most ? left : most, put;
	bool more = left > count || !is_last;
	size_t begun = output->end;
	__u8 *to = output_begin(output, statistics->version, statistics->xid,
				SDNMON_STATISTICS_REQUEST | SDNMON_REPLY,
				CONTENT + (size_t)count * statistics->record_bytes);

	put = put_records(statistics, first, count, to + CONTENT);
	to = put16(to, more ? MORE : 0);
	to = put16(to, (__u16)statistics->key_bytes);
	to = put16(to, (__u16)(statistics->with_slots ? statistics->slots : 0));
	to = put16(to, 0);
	to = put32(put32(to, put), 0);
	put64(to, statistics->epoch);
	/* Fewer records than there was room for: the message is shorter. */
	output->end -= (size_t)(count - put) * statistics->record_bytes;
	put16(output->bytes + begun + 2, (__u16)(output->end - begun));
	return count;
}

void statistics_continue(struct statistics *statistics, struct output *output)
{
	__u32 count = entries_of_piece(statistics), done = 0;
	int error = bpf_map_lookup_batch(statistics->table,
					 statistics->begun ? &statistics->place : NULL,
					 &statistics->place, keys, entries, &count, NULL);

	statistics->begun = true;
	if (error && error != -ENOENT) { /* -ENOENT: these are the last entries */
		complain("cannot read the monitoring table: %s", strerror(-error));
		output_error(output, statistics->version, statistics->xid, SDNMON_REFUSED,
			     last_complaint());
		statistics_end(statistics);
		return;
	}
	/* At least one message, because the last one says that it is. */
	do {
		done += put_message(statistics, output, done, count - done, error == -ENOENT);
	} while (done < count);
	if (error == -ENOENT)
		statistics_end(statistics);
}
