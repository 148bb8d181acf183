// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* PPTMon in the kernel: programs for both sides of a VNF. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include "pptmon.h"

const volatile struct ppt_settings settings;
struct ppt_gauges gauges;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PPT_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

SEC("tc")
int enter(struct __sk_buff *skb)
{
	return TC_ACT_UNSPEC;
}

SEC("tc")
int leave(struct __sk_buff *skb)
{
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
