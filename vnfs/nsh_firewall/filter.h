/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Bloom filter of the keys in the hash maps, with one hash function: most packets have no rule,
 * and one bit says so (Bloom, Space/time trade-offs in hash coding with allowable errors, 1970).
 *
 * Bits cannot be taken away one by one. They are of two generations, and a rule sets its bit in the
 * current one. When all rules of the other have expired, it is cleared and becomes the current one.
 */
#pragma once

#include "entries.h"

#define FW_FILTER_GENERATIONS 2
#define FW_FILTER_BITS_PER_RULE 16 /* of max_rules */

/* A place of the filter. Its bits of both generations are in one cache line. The lower 6 bits of a
 * key's hash are the number of its bit, and those above choose the word. */
struct fw_filter_word {
	__u64 bits[FW_FILTER_GENERATIONS];
};

/* State of the filter. It is behind the words, in as many places as it needs. The kernel side
 * does not look at it. */
struct fw_filter_state {
	__u64 current; /* the generation in which rules set bits: 0 or 1 */
	__u64 rules; /* that have set a bit of the current generation */
	__u64 until_ns[FW_FILTER_GENERATIONS]; /* when the last rule of each expires; 0: no rule */
};

/* How many places the state takes. */
#define FW_FILTER_STATE_PLACES (sizeof(struct fw_filter_state) / sizeof(struct fw_filter_word))

/* The finalizer of SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number
 * generators, 2014). */
static inline __u64 fw_mix(__u64 value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
	return value ^ value >> 31;
}

static inline __u64 fw_hash_source4(__be32 source)
{
	return fw_mix(source);
}

static inline __u64 fw_hash_address6(const struct fw_address6 *address)
{
	return fw_mix(fw_mix(address->words[0]) + address->words[1]);
}

/* Put ports and protocol into one number, which is never 0. It is no hash yet. */
static inline __u64 fw_hash_ports(__be16 low_port, __be16 high_port, __u8 protocol)
{
	return 1ULL << 63 | (__u64)low_port << 32 | (__u64)high_port << 16 | protocol;
}

static inline __u64 fw_hash_flow4(const struct fw_flow4 *flow)
{
	return fw_mix(((__u64)flow->low << 32 | flow->high) +
		      fw_mix(fw_hash_ports(flow->low_port, flow->high_port, flow->protocol)));
}

static inline __u64 fw_hash_flow6(const struct fw_flow6 *flow)
{
	return fw_mix(fw_hash_address6(&flow->low) +
		      fw_mix(fw_hash_address6(&flow->high) +
			     fw_hash_ports(flow->low_port, flow->high_port, flow->protocol)));
}
