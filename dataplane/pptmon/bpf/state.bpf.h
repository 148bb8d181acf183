/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Maps and settings of the programs. */
#pragma once

#include "work.bpf.h"

#define IN_FLIGHT_SLOTS 65536

const volatile struct ppt_settings settings;
__u64 alive_ns; /* CLOCK_MONOTONIC: when the process last showed itself */

/* When the next sample is due, and how many there were. */
struct {
	__u64 due_ns; /* by sampling_clock() */
	__u32 number; /* samples of this source so far */
} sampler;

/* Once a sample is due, each packet is taken with this probability, in 2^-32. User space sets it
 * from the rate of packets (serve.c says why); at first every packet is taken. */
__u32 pick = 0xffffffff;

/* By enum ppt_counter. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PPT_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

/* Scratch memory of each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct work);
} works SEC(".maps");

/* A packet inside the VNF, as `in_flight` keeps it. */
struct transit {
	__u64 entered_ns;
	__u32 token; /* the value in its hop meanwhile */
	__u32 used; /* 0: no packet has had this slot yet */
};

/* By the low bits of the token. The packet has only the low bits of the clock; here are all of
 * them, so that neither a wrap nor a hop of others is taken for a time. An array, because its slots
 * exist already: the clock must be read and stored as the last step. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IN_FLIGHT_SLOTS);
	__type(key, __u32);
	__type(value, struct transit);
} in_flight SEC(".maps");

/* Samples, each a struct ppt_event. User space reads them. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, PPT_RING_BYTES);
} events SEC(".maps");

static __always_inline void count(enum ppt_counter counter)
{
	__u32 key = counter;
	__u64 *value = bpf_map_lookup_elem(&counters, &key);

	if (value)
		(*value)++;
}

/* Return the scratch memory of this CPU; NULL for the verifier alone. */
static __always_inline struct work *get_work(void)
{
	__u32 only = 0;

	return bpf_map_lookup_elem(&works, &only);
}

static __always_inline __u64 tai_us(void)
{
	return bpf_ktime_get_tai_ns() / 1000;
}
