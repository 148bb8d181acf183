// SPDX-License-Identifier: Apache-2.0
/* SFCMon as a function, and at the ports of an SFF: one of the programs is loaded. */
#include <linux/pkt_cls.h>

#include "../../../dataplane/forwarding/xdp.bpf.h"
#include "ports.bpf.h"
#include "table.bpf.h"
#include "update.bpf.h"

TABLE(verdicts, BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, __u64[FWD_VERDICTS], 0);

const volatile __u32 monitor = SFCMON_MONITOR_SKETCHES; /* enum sfcmon_monitor */

/* Count a frame, and its flow in the table. `reason` is what sfcmon_parse() returned. */
static __always_inline void count_in_table(int reason, const struct sfcmon_packet *packet)
{
	__u32 bank = active_bank();
	struct sfcmon_bank *registers = &windows.banks[bank];

	if (count_frame(registers, reason) && !update_table(bank, packet))
		count(&registers->untracked, ~0U);
}

/* observe() of update.bpf.h, with the table in the place of the sketches. */
static __always_inline void observe_by_table(struct xdp_md *ctx)
{
	struct sfcmon_work *mine = begin();

	if (!mine)
		return;
	count_in_table(sfcmon_parse(ctx, 0, &mine->packet), &mine->packet);
	end(mine);
}

/* As an SF in the driver's receive path: monitors, then forwards as sfc-forwarder does. */
SEC("xdp")
int serve(struct xdp_md *ctx)
{
	__u64 *counters;
	__u32 only = 0;
	fwd_path path;

	counters = bpf_map_lookup_elem(&verdicts, &only);
	if (!counters)
		return XDP_ABORTED;
	if (monitor == SFCMON_MONITOR_SKETCHES)
		observe(ctx, 0);
	else if (monitor == SFCMON_MONITOR_TABLE)
		observe_by_table(ctx);
	return fwd_action(
		fwd_count((void *)(long)ctx->data, (void *)(long)ctx->data_end, counters, &path));
}

/* At the ports of an SFF that is not ours: before it gets a packet, or together with it. Only looks
 * at packets: TC_ACT_UNSPEC leaves them to the next program. */
SEC("tc")
int arrive(struct __sk_buff *skb)
{
	struct sfcmon_work *mine;
	__u32 path = 0;
	int reason;

	if (!is_looked_up(skb, &path))
		return TC_ACT_UNSPEC;
	mine = begin();
	if (!mine)
		return TC_ACT_UNSPEC;
	reason = skb->vlan_present ? SFCMON_NOT_NSH : sfcmon_parse_skb(skb, path, &mine->packet);
	/* Headers may be there that were not readable. */
	if (reason == SFCMON_TRUNCATED && !make_accessible(skb))
		reason = sfcmon_parse_skb(skb, path, &mine->packet);
	update_sketches(reason, &mine->packet);
	end(mine);
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Apache-2.0";
