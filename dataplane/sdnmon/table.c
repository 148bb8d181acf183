// SPDX-License-Identifier: Apache-2.0
/* Changes, prunes and prints the monitoring table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "../common/report.h"
#include "fields.h"
#include "hash.h"
#include "table.h"

#define BATCH 4096 /* read at once: the kernel reads whole buckets, and none has more */

/* --- changes --- */

/* Have the program in the kernel change the table. Returns its answer, or -1 after complain(), also
 * for SDNMON_FAILED. */
static int change(const struct program *program, struct sdnmon_change *asked)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = asked, .ctx_size_in = sizeof(*asked));
	int error = bpf_prog_test_run_opts(program->change_table, &run);

	if (!error && run.retval != SDNMON_FAILED)
		return (int)run.retval;
	complain("cannot change the monitoring table: %s",
		 error ? strerror(-error) : "the program in the kernel failed");
	return -1;
}

int table_add(const struct program *program, const struct sdnmon_key *key,
	      enum sdnmon_answer *answer)
{
	struct sdnmon_change asked = { .operation = SDNMON_ADD, .key = *key };
	int answered = change(program, &asked);

	*answer = (enum sdnmon_answer)answered;
	if (answered == SDNMON_NO_ROOM)
		return 0;
	if (answered != SDNMON_DONE && answered != SDNMON_THERE_ALREADY)
		return -1;
	/* This comes last: the flow has an entry now, so its packets do not look at exclusions. */
	bpf_map_delete_elem(program->excluded, key);
	return 0;
}

/* Exclude a flow, before its entry goes: otherwise its next packet would make a new one. Returns 0,
 * or -1 after complain(). */
static int keep_out(const struct program *program, const struct sdnmon_key *key)
{
	const __u8 yes = 1;
	int error;

	if (program->config->mode == SDNMON_BLOOM) {
		/* A Bloom filter has values only. */
		error = bpf_map_update_elem(program->unmonitored, NULL, key, BPF_ANY);
	} else {
		error = bpf_map_update_elem(program->excluded, key, &yes, BPF_ANY);
		program->live->exclusions = 1;
	}
	if (error)
		complain("cannot exclude the flow: %s",
			 error == -E2BIG ? "as many are excluded as the table has entries"
					 : strerror(-error));
	return error ? -1 : 0;
}

int table_remove(const struct program *program, const struct sdnmon_key *key,
		 enum sdnmon_answer *answer)
{
	struct sdnmon_change asked = { .operation = SDNMON_REMOVE, .key = *key };
	int answered;

	if (keep_out(program, key))
		return -1;
	answered = change(program, &asked);
	if (answered != SDNMON_DONE && answered != SDNMON_NOT_THERE)
		return -1;
	*answer = (enum sdnmon_answer)answered;
	return 0;
}

int table_set_notify(const struct program *program, __u64 entries)
{
	struct sdnmon_change asked = {
		.operation = SDNMON_SET_NOTIFY,
		.notify = entries,
		/* Lower, so that entries that come and go at the threshold notify once. */
		.rearm = entries * 9 / 10,
	};

	return change(program, &asked) == SDNMON_DONE ? 0 : -1;
}

/* --- walks --- */

/* Visits an entry, of which it gets a copy that it may change. Returns 0 to go on, or -1 after
 * complain(). */
typedef int (*entry_visitor)(const struct program *program, const struct sdnmon_key *key,
			     struct sdnmon_entry *entry, void *context);

static size_t key_bytes(const struct program *program)
{
	return program->config->words * sizeof(__u32);
}

static size_t entry_bytes(const struct program *program)
{
	return sizeof(struct sdnmon_entry) + program->config->slots * sizeof(struct sdnmon_slot);
}

/* Visit the entries that one system call has read. Returns 0, or -1 if a visitor did. */
static int visit_batch(const struct program *program, const char *keys, char *entries, __u32 count,
		       entry_visitor visit, void *context)
{
	for (__u32 i = 0; i < count; i++) {
		struct sdnmon_key key = { 0 };

		memcpy(&key, keys + i * key_bytes(program), key_bytes(program));
		if (visit(program, &key, (void *)(entries + i * entry_bytes(program)), context))
			return -1;
	}
	return 0;
}

/* Visit all entries. One system call reads thousands of them. An entry that is added or removed
 * meanwhile may be visited twice or not at all; each other entry is visited once. Returns 0, or -1
 * after complain(). */
static int walk(const struct program *program, entry_visitor visit, void *context)
{
	char *keys = malloc(BATCH * key_bytes(program));
	char *entries = malloc(BATCH * entry_bytes(program));
	__u32 place = 0, count;
	bool first = true;
	int error = keys && entries ? 0 : -ENOMEM, stopped = 0;

	while (!error && !stopped) {
		count = BATCH;
		error = bpf_map_lookup_batch(program->table, first ? NULL : &place, &place, keys,
					     entries, &count, NULL);
		if (!error || error == -ENOENT) /* -ENOENT: these are the last ones */
			stopped = visit_batch(program, keys, entries, count, visit, context);
		first = false;
	}
	free(keys);
	free(entries);
	if (!stopped && error != -ENOENT)
		complain("cannot read the monitoring table: %s", strerror(-error));
	return !stopped && error == -ENOENT ? 0 : -1;
}

/* Does sampling choose this flow, which has an entry? In SDNMON_BLOOM the entry says so. */
static bool is_sampled(const struct program *program, const struct sdnmon_key *key)
{
	const struct sdnmon_config *config = program->config;
	__u64 sum = config->hash_keys[0];

	if (config->mode != SDNMON_HASH)
		return true;
	for (__u32 i = 0; i < config->words; i++)
		sum += key->words[i] * config->hash_keys[i + 1];
	return sdnmon_finish(sum) >> 32 < program->live->ratio;
}

/* Remove an entry that is sampled no longer, and that the controller has not added (entry_visitor).
 * `context` counts those that were removed. */
static int prune_one(const struct program *program, const struct sdnmon_key *key,
		     struct sdnmon_entry *entry, void *context)
{
	struct sdnmon_change asked = { .operation = SDNMON_REMOVE_UNSAMPLED, .key = *key };
	unsigned long *removed = context;
	int answered;

	if (entry->added || is_sampled(program, key))
		return 0;
	answered = change(program, &asked);
	*removed += answered == SDNMON_DONE;
	return answered < 0 ? -1 : 0;
}

int table_prune(const struct program *program, unsigned long *removed)
{
	*removed = 0;
	return walk(program, prune_one, removed);
}

/* --- counts --- */

/* What print_one() needs to know of the whole table. */
struct printing {
	FILE *out;
	__u64 epoch, oldest; /* the epoch of now, and the oldest one that is kept */
	unsigned long count;
};

/* Return the oldest epoch whose counts are in the buffers. */
static __u64 oldest_epoch(const struct program *program, __u64 epoch)
{
	__u64 first = program->live->clocks[program->live->clock].first;

	return epoch >= first + program->config->slots ? epoch - program->config->slots + 1 : first;
}

/* Is this copy of an entry consistent? One that was made while a packet came may have a slot
 * that is newer than the totals. */
static bool is_whole(const struct program *program, const struct sdnmon_entry *entry)
{
	for (__u32 i = 0; i < program->config->slots; i++)
		if (entry->slots[i].packets > entry->packets ||
		    entry->slots[i].bytes > entry->bytes)
			return false;
	return true;
}

/* Print [[epoch, packets, bytes], ...], the latest first. If a packet has begun an epoch since
 * the walk began, what it counts belongs to none of the printed epochs. */
static void print_intervals(const struct program *program, const struct sdnmon_entry *entry,
			    const struct printing *printing)
{
	__u64 packets = entry->packets, bytes = entry->bytes; /* at the end of `epoch` */
	__u64 newest = entry->epoch > printing->epoch ? entry->epoch : printing->epoch;
	const char *separator = "";

	fputs(", \"intervals\": [", printing->out);
	for (__u64 epoch = newest; epoch >= printing->oldest; epoch--) {
		const struct sdnmon_slot *slot = &entry->slots[epoch % program->config->slots];

		if (slot->epoch != epoch)
			continue;
		if (epoch <= printing->epoch) {
			fprintf(printing->out, "%s[%llu, %llu, %llu]", separator, epoch,
				packets - slot->packets, bytes - slot->bytes);
			separator = ", ";
		}
		packets = slot->packets;
		bytes = slot->bytes;
	}
	fputs("]", printing->out);
}

/* Print the line of an entry, unless it was removed meanwhile (entry_visitor). */
static int print_one(const struct program *program, const struct sdnmon_key *key,
		     struct sdnmon_entry *entry, void *context)
{
	struct printing *printing = context;
	FILE *out = printing->out;

	/* Read it again until no packet comes meanwhile. */
	while (!is_whole(program, entry))
		if (bpf_map_lookup_elem(program->table, key, entry))
			return 0; /* removed meanwhile */
	printing->count++;
	fputs("{\"flow\": ", out);
	fields_print_flow(program->config, key, out);
	fprintf(out, ", \"packets\": %llu, \"bytes\": %llu, \"added\": %s, \"sampled\": %s",
		entry->packets, entry->bytes, entry->added ? "true" : "false",
		is_sampled(program, key) ? "true" : "false");
	print_intervals(program, entry, printing);
	fputs("}\n", out);
	return 0;
}

int table_print(const struct program *program, FILE *out)
{
	struct printing printing = { .out = out, .epoch = program_epoch(program) };

	printing.oldest = oldest_epoch(program, printing.epoch);
	fprintf(out,
		"{\"event\": \"entries\", \"epoch\": %llu, \"oldest_epoch\": %llu, "
		"\"interval_ms\": %g}\n",
		printing.epoch, printing.oldest,
		(double)program->live->clocks[program->live->clock].interval_ns / 1e6);
	if (walk(program, print_one, &printing))
		return -1;
	fprintf(out, "{\"event\": \"end\", \"entries\": %lu}\n", printing.count);
	return 0;
}
