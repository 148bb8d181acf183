// SPDX-License-Identifier: Apache-2.0
/* Engine `xdp`: the forwarder in the driver's receive path, frames returned by XDP_TX. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "packet.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fwd_counters);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, FWD_MAX_PATHS);
	__type(key, fwd_path);
	__type(value, __u64);
} paths SEC(".maps");

const volatile __u8 own_mac[ETH_ALEN];

static __always_inline void count_path(fwd_path path, struct fwd_counters *totals)
{
	__u64 *packets = bpf_map_lookup_elem(&paths, &path);
	__u64 first = 1;

	if (packets)
		(*packets)++;
	/* Another CPU may have just added it; then its slot of this CPU is there, at 0. */
	else if (bpf_map_update_elem(&paths, &path, &first, BPF_NOEXIST)) {
		packets = bpf_map_lookup_elem(&paths, &path);
		if (packets)
			(*packets)++;
		else
			totals->paths_untracked++;
	}
}

SEC("xdp")
int forward(struct xdp_md *context)
{
	void *end = (void *)(long)context->data_end;
	void *start = (void *)(long)context->data;
	struct fwd_counters *totals;
	enum fwd_verdict verdict;
	__u32 only = 0;
	fwd_path path;

	totals = bpf_map_lookup_elem(&counters, &only);
	if (!totals)
		return XDP_ABORTED;
	verdict = fwd_frame(start, end, own_mac, &path);
	if (verdict >= FWD_VERDICTS)
		return XDP_ABORTED;
	totals->verdicts[verdict]++;
	switch (verdict) {
	case FWD_FORWARDED:
		count_path(path, totals);
		return XDP_TX;
	case FWD_PASSED:
		return XDP_PASS;
	default:
		return XDP_DROP;
	}
}

char LICENSE[] SEC("license") = "Apache-2.0";
