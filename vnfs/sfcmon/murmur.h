/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MurmurHash3_x86_32 (A. Appleby, public domain) of keys that are whole words, for BPF and
 * userspace.
 *
 * Words are read least significant byte first, as a little-endian machine loads them. What is done
 * to a word before it meets the state does not depend on the seed: it is done once for all seeds.
 * The state begins as the seed.
 */
#pragma once

#include <linux/types.h>

static inline __u32 murmur_rotate(__u32 value, int by)
{
	return value << by | value >> (32 - by);
}

/* Prepare a word, which does not depend on the seed. */
static inline __u32 murmur_word(__u32 word)
{
	return murmur_rotate(word * 0xcc9e2d51, 15) * 0x1b873593;
}

/* Take a word into the state. `word` comes from murmur_word(). */
static inline __u32 murmur_step(__u32 state, __u32 word)
{
	return murmur_rotate(state ^ word, 13) * 5 + 0xe6546b64;
}

/* Return the hash of a key of so many bytes, whose words are in the state. */
static inline __u32 murmur_end(__u32 state, __u32 bytes)
{
	state ^= bytes;
	state = (state ^ state >> 16) * 0x85ebca6b;
	state = (state ^ state >> 13) * 0xc2b2ae35;
	return state ^ state >> 16;
}

/* Return a hash value as an index below `cells`. */
static inline __u32 murmur_reduce(__u32 hash, __u32 cells)
{
	return (__u32)((__u64)hash * cells >> 32);
}
