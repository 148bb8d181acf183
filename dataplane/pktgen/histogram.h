/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A high dynamic range histogram: each octave has 128 buckets of the same width, so that a bucket's
 * width is at most 1/128 (0.8 %) of any value in it.
 */
#pragma once

#include <linux/types.h>

#define HISTOGRAM_DIGITS 7 /* binary digits that tell the buckets of an octave apart */
#define HISTOGRAM_PART (1U << HISTOGRAM_DIGITS) /* buckets of an octave */
#define HISTOGRAM_MOST_DIGITS 36 /* of a value: 68 s in ns */
#define HISTOGRAM_BUCKETS ((HISTOGRAM_MOST_DIGITS - HISTOGRAM_DIGITS + 1) * HISTOGRAM_PART)

/* Return the place of a value's bucket, from 0 on. Values that are too large are in the last. */
static inline __attribute__((always_inline)) __u32 histogram_bucket(__u64 value)
{
	__u32 octave = 0, step; /* octave: binary digits of the value above HISTOGRAM_DIGITS */

	if (value >> HISTOGRAM_MOST_DIGITS)
		return HISTOGRAM_BUCKETS - 1;
	/* __builtin_clzll() would do this, but BPF has no such instruction. */
	for (step = 16; step; step /= 2)
		if (value >> (HISTOGRAM_DIGITS + octave + step))
			octave += step;
	if (value >> (HISTOGRAM_DIGITS + octave))
		octave++;
	if (!octave)
		return (__u32)value;
	/* The shifted value has HISTOGRAM_DIGITS + 1 digits, so it is HISTOGRAM_PART at least. */
	return octave * HISTOGRAM_PART + (__u32)(value >> (octave - 1)) - HISTOGRAM_PART;
}

/* Return the least value of a bucket; for HISTOGRAM_BUCKETS, the first value behind the last. */
static inline __u64 histogram_least(__u32 bucket)
{
	__u32 octave = bucket / HISTOGRAM_PART;

	if (!octave)
		return bucket;
	return (__u64)(HISTOGRAM_PART + bucket % HISTOGRAM_PART) << (octave - 1);
}
