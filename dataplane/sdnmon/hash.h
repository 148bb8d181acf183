/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keyed hash of a flow, for BPF and userspace: strongly universal (MULTILINEAR; Lemire and
 * Kaser, "Strongly universal string hashing is fast", The Computer Journal 57(11), 2014), then the
 * finalizer of MurmurHash3 (A. Appleby, public domain), without which flows that are numbered
 * consecutively would be sampled too evenly or in runs.
 */
#pragma once

#include <linux/types.h>

/* Apply the finalizer of MurmurHash3 to the sum of MULTILINEAR: key 0 + each word of the flow times
 * its key, which the callers compute. Returns the hash. */
static inline __attribute__((always_inline)) __u64 sdnmon_finish(__u64 sum)
{
	sum = (sum ^ sum >> 33) * 0xff51afd7ed558ccdULL;
	sum = (sum ^ sum >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return sum ^ sum >> 33;
}

/* Return the next number of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), which makes all keys from
 * one secret. `*state` is the secret at first. */
static inline __u64 sdnmon_next_key(__u64 *state)
{
	__u64 mixed = *state += 0x9e3779b97f4a7c15ULL;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ULL;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebULL;
	return mixed ^ mixed >> 31;
}
