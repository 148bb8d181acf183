// SPDX-License-Identifier: Apache-2.0
/* Engine `xdp`: the forwarder in the driver's receive path, frames returned by XDP_TX. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "packet.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fwd_cpu);
} counters SEC(".maps");

const volatile __u8 own_mac[ETH_ALEN];

/* The SIs of a path are neighbours: their slots, too. */
static __always_inline __u32 first_slot(fwd_path path)
{
	return path + (path >> 8);
}

static __always_inline void count_path(fwd_path path, struct fwd_cpu *cpu)
{
	__u32 first = first_slot(path);

	for (__u32 i = 0; i < FWD_PATH_SLOTS; i++) {
		struct fwd_path_slot *slot = &cpu->slots[(first + i) % FWD_PATH_SLOTS];

		if (slot->packets && slot->path != path)
			continue;
		if (!slot->packets) {
			if (cpu->paths == FWD_MAX_PATHS)
				break;
			cpu->paths++;
			slot->path = path;
		}
		slot->packets++;
		return;
	}
	cpu->totals.paths_untracked++;
}

SEC("xdp")
int forward(struct xdp_md *context)
{
	void *end = (void *)(long)context->data_end;
	void *start = (void *)(long)context->data;
	enum fwd_verdict verdict;
	struct fwd_cpu *cpu;
	__u32 only = 0;
	fwd_path path;

	cpu = bpf_map_lookup_elem(&counters, &only);
	if (!cpu)
		return XDP_ABORTED;
	verdict = fwd_frame(start, end, own_mac, &path);
	if (verdict >= FWD_VERDICTS)
		return XDP_ABORTED;
	cpu->totals.verdicts[verdict]++;
	switch (verdict) {
	case FWD_FORWARDED:
		count_path(path, cpu);
		return XDP_TX;
	case FWD_PASSED:
		return XDP_PASS;
	default:
		return XDP_DROP;
	}
}

char LICENSE[] SEC("license") = "Apache-2.0";
