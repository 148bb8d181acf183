// SPDX-License-Identifier: Apache-2.0
/* SFCMon as an SF in the driver's receive path: monitors, then forwards as sfc-forwarder does. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "../../forwarder/packet.h"
#include "update.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64[FWD_VERDICTS]);
} verdicts SEC(".maps");

/* Odd while a CPU is at a packet: the user side waits for those that read the old `active`. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} turns SEC(".maps");

const volatile __u8 own_mac[ETH_ALEN];

SEC("xdp")
int serve(struct xdp_md *ctx)
{
	enum fwd_verdict verdict;
	__u64 *counters, *turn;
	__u32 only = 0;
	fwd_path path;

	counters = bpf_map_lookup_elem(&verdicts, &only);
	turn = bpf_map_lookup_elem(&turns, &only);
	if (!counters || !turn)
		return XDP_ABORTED;
	*(volatile __u64 *)turn += 1;
	monitor(ctx);
	*(volatile __u64 *)turn += 1;
	verdict = fwd_frame((void *)(long)ctx->data, (void *)(long)ctx->data_end, own_mac, &path);
	if (verdict >= FWD_VERDICTS)
		return XDP_ABORTED;
	counters[verdict]++;
	return verdict == FWD_FORWARDED ? XDP_TX : verdict == FWD_PASSED ? XDP_PASS : XDP_DROP;
}

char LICENSE[] SEC("license") = "Apache-2.0";
