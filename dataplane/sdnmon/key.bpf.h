/* SPDX-License-Identifier: Apache-2.0 */
/* Keys: what is put into them, and their hash. */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

#include "hash.h"
#include "sdnmon.h"

const volatile struct sdnmon_config config SEC(SDNMON_CONFIG) = {};

/* Put a value into the key, if its field is part of it. The verifier knows whether it is, and drops
 * the code if not. */
#define PUT(key, field, type, value)                                                               \
	do {                                                                                       \
		__u64 offset_ = config.offset[field];                                              \
		if (offset_ != SDNMON_NOT_CHOSEN)                                                  \
			*(type *)((void *)(key)->words + offset_) = (type)(value);                 \
	} while (0)

/* PUT() for the address of Ethernet, 6 bytes. */
static __always_inline void put_mac(struct sdnmon_key *key, enum sdnmon_field field,
				    const __u8 *mac)
{
	__u64 offset = config.offset[field];
	__u16 *there = (void *)key->words + offset;
	const __u16 *from = (const void *)mac;

	if (offset == SDNMON_NOT_CHOSEN)
		return;
	there[0] = from[0];
	there[1] = from[1];
	there[2] = from[2];
}

/* PUT() for an IPv6 address, 16 bytes. */
static __always_inline void put_ipv6(struct sdnmon_key *key, enum sdnmon_field field,
				     const __u32 *address)
{
	__u64 offset = config.offset[field];
	__u32 *there = (void *)key->words + offset;

	if (offset == SDNMON_NOT_CHOSEN)
		return;
	there[0] = address[0];
	there[1] = address[1];
	there[2] = address[2];
	there[3] = address[3];
}

/* Mask the key in place, and return its hash (docs/reference/sdn-mon.md, Sampling). */
static __always_inline __u64 hash_key(struct sdnmon_key *key)
{
	__u64 sum = config.hash_keys[0];

#pragma unroll
	for (__u32 i = 0; i < SDNMON_KEY_WORDS; i++) {
		if (i >= config.words)
			break;
		key->words[i] &= config.mask[i];
		sum += key->words[i] * config.hash_keys[i + 1];
	}
	return sdnmon_finish(sum);
}
