/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A high dynamic range histogram: each octave has 128 buckets of the same width, so that a bucket's
 * width is at most 1/128 (0.8 %) of any value in it.
 */
#pragma once

#include <linux/types.h>

#define HISTOGRAM_DIGITS 7
#define HISTOGRAM_PART (1U << HISTOGRAM_DIGITS)
#define HISTOGRAM_MOST_DIGITS 36 /* 68 s in ns */
#define HISTOGRAM_BUCKETS ((HISTOGRAM_MOST_DIGITS - HISTOGRAM_DIGITS + 1) * HISTOGRAM_PART)

/* Return the place of a value's bucket. Values that are too large are in the last one. */
static inline __attribute__((always_inline)) __u32 histogram_bucket(__u64 value)
{
	__u32 octave = 0, place;

	if (value >> HISTOGRAM_MOST_DIGITS)
		return HISTOGRAM_BUCKETS - 1;
	/* __builtin_clzll() would do this, but BPF has no such instruction. */
	for (place = 16; place; place /= 2)
		if (value >> (HISTOGRAM_DIGITS + octave + place))
			octave += place;
	if (value >> (HISTOGRAM_DIGITS + octave))
		octave++;
	if (!octave)
		return (__u32)value;
	return octave * HISTOGRAM_PART + (__u32)(value >> (octave - 1)) - HISTOGRAM_PART;
}

/* Return the least value of a bucket. */
static inline __u64 histogram_least(__u32 bucket)
{
	__u32 octave = bucket / HISTOGRAM_PART;

	if (!octave)
		return bucket;
	return (__u64)(HISTOGRAM_PART + bucket % HISTOGRAM_PART) << (octave - 1);
}
