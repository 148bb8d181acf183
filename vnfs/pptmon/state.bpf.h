/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Maps and settings of the programs. */
#ifndef SFCPERF_PPTMON_STATE_BPF_H
#define SFCPERF_PPTMON_STATE_BPF_H

#include "packet.bpf.h"

#define MAX_IN_FLIGHT 16384
#define NSH_TOKENS (1U << 24) /* keys of in_flight: 24 bits of L4, or 16 bits of NSH and this */

const volatile struct ppt_settings settings;
struct ppt_gauges gauges;

/* When the next sample is due, and how many there were. */
struct {
	__u64 due_ns;
	__u32 number;
} sampler;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PPT_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct work);
} works SEC(".maps");

/* Packets inside the VNF: what stands in their hop for now -> when they entered, ns. The packet
 * itself has only the low bits; here are all of them, so that neither a wrap nor a stranger's hop
 * is taken for a time. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_IN_FLIGHT);
	__type(key, __u32);
	__type(value, __u64);
} in_flight SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

static __always_inline void count(enum ppt_counter counter)
{
	__u32 key = counter;
	__u64 *value = bpf_map_lookup_elem(&counters, &key);

	if (value)
		(*value)++;
}

static __always_inline struct work *get_work(void)
{
	__u32 only = 0;

	return bpf_map_lookup_elem(&works, &only);
}

static __always_inline __u64 tai_us(void)
{
	return bpf_ktime_get_tai_ns() / 1000;
}

#endif
