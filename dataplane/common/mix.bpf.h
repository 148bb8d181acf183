/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <linux/types.h>
#include <bpf/bpf_helpers.h>

/* Mix a value into a hash, by the finaliser of MurmurHash3: every input bit changes every output
 * bit. */
static __always_inline __u32 mix(__u32 hash, __u32 value)
{
	hash ^= value;
	hash ^= hash >> 16;
	hash *= 0x85ebca6b;
	hash ^= hash >> 13;
	hash *= 0xc2b2ae35;
	return hash ^ hash >> 16;
}
