/* SPDX-License-Identifier: Apache-2.0 */
/* Algorithms 1 to 3 of the paper on the registers, in the order of docs/reference/sfcmon.md. */
#pragma once

#include <stdbool.h>

#include "../../../dataplane/common/table.bpf.h"
#include "../murmur.h"
#include "engine.h"
#include "parse.bpf.h"

/* The registers of a bank are one element, whose size the user side sets before it loads them:
 * that takes one lookup, where smaller elements take one for each hash function. */
#define REGISTERS(name)                                                                            \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(max_entries, SFCMON_BANKS);                                                 \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(key_size, sizeof(__u32));                                                   \
		__uint(value_size, sizeof(__u64));                                                 \
	} name SEC(".maps")

/* Each CPU has an IBLT of its own: its fields are sums and exclusive ors, which the user side adds
 * up. */
REGISTERS(cms);
REGISTERS(bloom);
REGISTERS(iblt);

struct sfcmon_lock {
	struct bpf_spin_lock lock;
};

TABLE(locks, BPF_MAP_TYPE_ARRAY, SFCMON_BANKS, __u32, struct sfcmon_lock, 0);

TABLE(work, BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, struct sfcmon_work, 0);

const volatile struct sfcmon_sizes sizes SEC(SFCMON_SIZES) = { 1, 1, 1, 1, 1, 1 };

struct sfcmon_state windows SEC(SFCMON_STATE) = {};

/* Add 1 to a counter, unless it is at `most`, where it stays: CPUs that count at the same time may
 * exceed that a little. Returns the new value. */
static __always_inline __u32 count(__u32 *counter, __u32 most)
{
	__u32 value = *(volatile __u32 *)counter;

	return value < most ? __sync_fetch_and_add(counter, 1) + 1 : most;
}

/* The hash of a key whose words went through murmur_word(). */
static __always_inline __u32 hash_words(const __u32 *mixed, const __u32 words, __u32 seed)
{
	__u32 state = seed;

#pragma unroll
	for (__u32 i = 0; i < words; i++)
		state = murmur_step(state, mixed[i]);
	return murmur_end(state, words * sizeof(__u32));
}

/* UpdateCMS and EstimateCMS in one: count a packet of FlowID1, and return the least of its
 * counters. `source_words`: words of the source address. */
static __always_inline __u32 update_cms(__u32 bank, const struct sfcmon_packet *packet,
					const __u32 source_words)
{
	__u32 mixed[SFCMON_ID1_WORDS], estimate = SFCMON_CMS_MAX;
	__u32 *counters = bpf_map_lookup_elem(&cms, &bank);
	const __u64 row_counters = 2 * sfcmon_row_elements(sizes.cms_columns);

	if (!counters)
		return 0;

	mixed[0] = murmur_word(packet->flow[0]);
#pragma unroll
	for (__u32 i = 0; i < source_words; i++)
		mixed[1 + i] = murmur_word(packet->flow[SFCMON_SOURCE_WORD + i]);
#pragma unroll
	for (__u32 row = 0; row < SFCMON_CMS_ROWS; row++) {
		__u32 counted, hash;
		__u64 column;

		if (row >= sizes.cms_rows)
			break;
		hash = hash_words(mixed, 1 + source_words, SFCMON_CMS_SEED + row);
		column = murmur_reduce(hash, sizes.cms_columns);
		/* As it always is, but the verifier does not know. */
		if (column >= sizes.cms_columns)
			break;
		counted = count(&counters[row * row_counters + column], SFCMON_CMS_MAX);
		if (counted < estimate)
			estimate = counted;
	}
	return estimate;
}

/* Return the word of the Bloom filter in which hash function `number` gives a flow a bit. `*shift`
 * becomes the place of the bit in it. Never NULL, but the verifier does not know. */
static __always_inline __u64 *bloom_word(__u64 *filter, const __u32 *mixed, const __u32 words,
					 __u32 number, __u32 *shift)
{
	__u32 hash = hash_words(mixed, words, SFCMON_BLOOM_SEED + number);
	__u32 index = murmur_reduce(hash, sizes.bloom_bits);
	__u64 place = index / SFCMON_BLOOM_WORD;

	*shift = index % SFCMON_BLOOM_WORD;
	if (place >= sfcmon_bloom_words(sizes.bloom_bits))
		return NULL;
	/* The addition stays behind the check, for the verifier of Linux 6.1. */
	barrier_var(place);
	return filter + place;
}

/* MembershipQueryBF: are all bits of the flow set? */
static __always_inline bool is_stored(__u32 bank, const __u32 *mixed, const __u32 words)
{
	__u64 *filter = bpf_map_lookup_elem(&bloom, &bank);
	bool stored = true;

	if (!filter)
		return true;
#pragma unroll
	for (__u32 i = 0; i < SFCMON_BLOOM_HASHES; i++) {
		const __u64 *word;
		__u32 shift;

		if (i >= sizes.bloom_hashes)
			break;
		word = bloom_word(filter, mixed, words, i, &shift);
		stored &= !word || (*(const volatile __u64 *)word >> shift & 1);
	}
	return stored;
}

/* Return a word with only the bit of hash function `number` set. `shifts`: a byte for each. */
static __always_inline __u64 bloom_bit(__u64 shifts, __u32 number)
{
	return 1ULL << (shifts >> 8 * number & (SFCMON_BLOOM_WORD - 1));
}

/* MembershipQueryBF once more, and InsertBF, in one: of packets of one flow on several CPUs, one
 * alone stores it. Returns whether the flow was stored before. */
static __always_inline bool store(__u32 bank, const __u32 *mixed, const __u32 words)
{
	__u64 *word[SFCMON_BLOOM_HASHES] = {}, shifts = 0; /* a byte each: the stack is small */
	__u64 *filter = bpf_map_lookup_elem(&bloom, &bank);
	struct sfcmon_lock *lock;
	bool stored = true;

	if (!filter)
		return true;

#pragma unroll
	for (__u32 i = 0; i < SFCMON_BLOOM_HASHES; i++) {
		__u32 shift;

		if (i >= sizes.bloom_hashes)
			break;
		word[i] = bloom_word(filter, mixed, words, i, &shift);
		shifts |= (__u64)shift << 8 * i;
	}
	lock = bpf_map_lookup_elem(&locks, &bank);
	if (!lock)
		return true;
	bpf_spin_lock(&lock->lock);
#pragma unroll
	for (__u32 i = 0; i < SFCMON_BLOOM_HASHES; i++) {
		if (i >= sizes.bloom_hashes || !word[i])
			break;
		stored &= (*word[i] & bloom_bit(shifts, i)) != 0;
		*word[i] |= bloom_bit(shifts, i);
	}
	bpf_spin_unlock(&lock->lock);
	return stored;
}

/* InsertIBLT in one cell. */
static __always_inline void insert(struct sfcmon_cell *cell, const struct sfcmon_packet *packet,
				   const __u32 words, __u32 checksum)
{
	cell->count++;
	cell->checksum ^= checksum;
	for (__u32 i = 0; i < words; i++)
		cell->key_sum[i] ^= packet->flow[i];
}

static __always_inline bool is_among(__u32 cell, const __u32 *cells, const __u32 count)
{
	bool among = false;

#pragma unroll
	for (__u32 i = 0; i < count; i++)
		among |= cells[i] == cell;
	return among;
}

/* InsertIBLT, if the flow was not stored, and UpdateIBLT. */
static __always_inline void update_iblt(__u32 bank, const struct sfcmon_packet *packet,
					const __u32 *mixed, const __u32 words, bool stored)
{
	__u32 checksum = stored ? 0 : hash_words(mixed, words, SFCMON_CHECKSUM_SEED);
	__u32 part = bpf_get_smp_processor_id() * SFCMON_BANKS + bank;
	struct sfcmon_cell *table = bpf_map_lookup_elem(&iblt, &part);
	__u32 cells[SFCMON_IBLT_HASHES];

	if (!table)
		return;

#pragma unroll
	for (__u32 i = 0; i < SFCMON_IBLT_HASHES; i++) {
		struct sfcmon_cell *cell;
		__u32 hash;

		if (i >= sizes.iblt_hashes)
			break;
		hash = hash_words(mixed, words, SFCMON_IBLT_SEED + i);
		cells[i] = murmur_reduce(hash, sizes.iblt_cells);
		/* A cell that the flow has already: take the next one, `i` times at most. */
#pragma unroll
		for (__u32 next = 0; next < i; next++)
			if (is_among(cells[i], cells, i))
				cells[i] = cells[i] + 1 == sizes.iblt_cells ? 0 : cells[i] + 1;
		if (cells[i] >= sizes.iblt_cells)
			return;
		cell = table + cells[i];
		if (!stored)
			insert(cell, packet, words, checksum);
		cell->packets++;
		cell->bytes += packet->bytes;
	}
}

/* Store the flow of a packet if it is new, and count the packet. The lock of store() is taken only
 * for flows that look new. `words`: those of the packet, as a constant, so that loops can be
 * unrolled. */
static __always_inline void report(__u32 bank, const struct sfcmon_packet *packet,
				   const __u32 words)
{
	__u32 mixed[SFCMON_IPV6_WORDS];

#pragma unroll
	for (__u32 i = 0; i < words; i++)
		mixed[i] = murmur_word(packet->flow[i]);
	update_iblt(bank, packet, mixed, words,
		    is_stored(bank, mixed, words) || store(bank, mixed, words));
}

/* report() for a packet of a heavy hitter. Global, so that the verifier looks at it once. Returns
 * 0. */
__noinline int sfcmon_report(struct sfcmon_packet *packet, __u32 bank)
{
	if (!packet)
		return 0;
	if (packet->words == SFCMON_IPV4_WORDS)
		report(bank, packet, SFCMON_IPV4_WORDS);
	else
		report(bank, packet, SFCMON_IPV6_WORDS);
	return 0;
}

/* Return the bank that packets update. The mask is for the verifier. */
static __always_inline __u32 active_bank(void)
{
	return *(volatile __u32 *)&windows.active & (SFCMON_BANKS - 1);
}

/* Count a frame, of which sfcmon_parse() returned `reason`. Returns the number of packets of the
 * window, with this one; 0 if the frame is not monitored. */
static __always_inline __u32 count_frame(struct sfcmon_bank *registers, int reason)
{
	if (reason == SFCMON_PARSED)
		return count(&registers->packets, ~0U);
	if (reason >= 0 && reason < SFCMON_REASONS)
		count(&registers->unparsed[reason], ~0U);
	return 0;
}

/* Count a frame, and a packet in the CMS. `reason` and `packet` are what sfcmon_parse() returned
 * and read. Returns the bank if the packet is that of a heavy hitter, else -1. Global, as the
 * others: none calls another, so that their stacks do not add up. */
__noinline int sfcmon_count(int reason, struct sfcmon_packet *packet)
{
	__u32 bank = active_bank(), packets, estimate;
	struct sfcmon_bank *registers = &windows.banks[bank];

	packets = count_frame(registers, reason);
	if (!packets || !packet)
		return -1;
	estimate = packet->words == SFCMON_IPV4_WORDS
			   ? update_cms(bank, packet, SFCMON_IPV4_SOURCE_WORDS)
			   : update_cms(bank, packet, SFCMON_IPV6_SOURCE_WORDS);
	if (packets < registers->threshold_eval || estimate < registers->threshold_packets ||
	    (__u64)estimate << 32 < (__u64)registers->threshold_share * packets)
		return -1;
	return (int)bank;
}

/* Note that this CPU is at a packet, before `active` is read. Returns the CPU's working memory,
 * which is for end(). Never NULL, but the verifier does not know. */
static __always_inline struct sfcmon_work *begin(void)
{
	__u32 only = 0;
	struct sfcmon_work *mine = bpf_map_lookup_elem(&work, &only);

	if (mine)
		*(volatile __u64 *)&mine->turns += 1;
	return mine;
}

/* Note that this CPU is done with its packet. */
static __always_inline void end(struct sfcmon_work *mine)
{
	*(volatile __u64 *)&mine->turns += 1;
}

/* Do what algorithm 1 does with a frame. `reason` and `packet` are what sfcmon_parse() returned and
 * read. */
static __always_inline void update_sketches(int reason, struct sfcmon_packet *packet)
{
	int bank = sfcmon_count(reason, packet);

	if (bank >= 0)
		sfcmon_report(packet, (__u32)bank & (SFCMON_BANKS - 1));
}

/* Monitor a frame by the sketches. `path` is that of sfcmon_parse(). */
static __always_inline void observe(struct xdp_md *ctx, __u32 path)
{
	struct sfcmon_work *mine = begin();

	if (!mine)
		return;
	update_sketches(sfcmon_parse(ctx, path, &mine->packet), &mine->packet);
	end(mine);
}
