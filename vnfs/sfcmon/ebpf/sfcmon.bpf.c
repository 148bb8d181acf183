// SPDX-License-Identifier: Apache-2.0
/* SFCMon as an SF in the driver's receive path: monitors, then forwards as sfc-forwarder does. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "../../forwarder/packet.h"
#include "table.bpf.h"
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
const volatile __u32 monitor = SFCMON_MONITOR_SKETCHES; /* enum sfcmon_monitor */

static __always_inline void observe(struct xdp_md *ctx)
{
	__u32 bank = *(volatile __u32 *)&active & (SFCMON_BANKS - 1), packets;
	struct sfcmon_bank *registers = &banks[bank];
	struct sfcmon_packet packet;
	int reason = sfcmon_parse(ctx, &packet);

	if (reason != SFCMON_PARSED) {
		if (reason >= 0 && reason < SFCMON_REASONS)
			count(&registers->unparsed[reason], ~0U);
		return;
	}
	packets = count(&registers->packets, ~0U);
	if (monitor == SFCMON_MONITOR_SKETCHES)
		update_sketches(bank, &packet, packets);
	else if (!update_table(bank, &packet))
		count(&registers->untracked, ~0U);
}

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
	if (monitor != SFCMON_MONITOR_NONE) {
		*(volatile __u64 *)turn += 1;
		observe(ctx);
		*(volatile __u64 *)turn += 1;
	}
	verdict = fwd_frame((void *)(long)ctx->data, (void *)(long)ctx->data_end, own_mac, &path);
	if (verdict >= FWD_VERDICTS)
		return XDP_ABORTED;
	counters[verdict]++;
	return verdict == FWD_FORWARDED ? XDP_TX : verdict == FWD_PASSED ? XDP_PASS : XDP_DROP;
}

char LICENSE[] SEC("license") = "Apache-2.0";
