/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* On the way out of the VNF: the hop's clock becomes its time; the sink removes the header. */
#pragma once

#include "restore.bpf.h"

#define NSH_RESERVED (sizeof(struct nsh_context_hdr) + 1) /* place in a context header */

#define MAX_SKEW_US 1000 /* of the clocks of two CPUs */

/* Return the time of this VNF's hop, ns, or why there is none (HOP_OF_OTHERS, HOP_UNKNOWN). For the
 * delay it is 0. `*standing` becomes the value that stands in the hop. */
static __noinline __s64 own_time_ns(struct __sk_buff *skb, const struct packet *packet,
				    __u64 now_ns, __u32 *standing)
{
	__u8 hop[PPT_HOP_BYTES] = { 0 };
	__u64 entered_ns, since_us;
	struct transit *transit;

	if (packet->carrier != PPT_CARRIER_NSH) {
		if (bpf_skb_load_bytes(skb, packet->hops_at, hop, sizeof(hop)))
			return HOP_OF_OTHERS;
	} else if (bpf_skb_load_bytes(skb, packet->hops_at, hop, 1) ||
		   bpf_skb_load_bytes(skb, packet->at + NSH_RESERVED, hop + 1, 1) ||
		   bpf_skb_load_bytes(skb, packet->hops_at + 1, hop + 2, 2)) {
		return HOP_OF_OTHERS;
	}
	if (hop[0] != settings.vnf_id)
		return HOP_OF_OTHERS;
	*standing = (__u32)hop[1] << 16 | be16(hop + 2);
	if (packet->metric != PPT_METRIC_TIME)
		return 0;
	transit = transit_of(*standing);
	if (!transit || !transit->used)
		return HOP_UNKNOWN;
	entered_ns = transit->entered_ns;
	if (transit->token == *standing && now_ns >= entered_ns)
		return (__s64)(now_ns - entered_ns);
	/* A later packet has the slot, perhaps of the same microsecond on another CPU; then the
	 * packet's own 24 bits are right up to 16.7 s. An earlier one in the slot means that this
	 * packet did not enter here. */
	since_us = ((__u32)(now_ns / 1000) - *standing) & PPT_VALUE_MAX;
	if (since_us > PPT_VALUE_MAX - MAX_SKEW_US)
		since_us = 0;
	return entered_ns + since_us * 1000 < now_ns ? HOP_UNKNOWN : (__s64)(since_us * 1000);
}

/* Write the final value into this VNF's hop, in the place of `standing`. Returns enum resized. */
static __noinline int write_value(struct __sk_buff *skb, struct work *work, __u32 standing,
				  __u32 value)
{
	struct packet *packet = &work->packet;
	__u8 before[PPT_HOP_BYTES] = { 0 }, after[PPT_HOP_BYTES] = { 0 };
	int udp = packet->carrier == PPT_CARRIER_L4 && packet->protocol == IPPROTO_UDP;
	__u8 upper = 0;

	put_hop(before, packet, standing);
	put_hop(after, packet, value);
	if (udp && discount_surplus(skb, work, 1))
		return RESIZE_SPOILT;
	if (bpf_skb_store_bytes(
		    skb, packet->hops_at, after,
		    packet->carrier == PPT_CARRIER_NSH ? PPT_NSH_HOP_BYTES : PPT_HOP_BYTES, 0))
		return udp ? RESIZE_SPOILT : RESIZE_REFUSED;
	if (packet->carrier == PPT_CARRIER_NSH) {
		if (bpf_skb_store_bytes(skb, packet->at + NSH_RESERVED, &upper, sizeof(upper), 0))
			return RESIZE_SPOILT;
		return finish_change(skb, work, RESIZED);
	}
	if (packet->carrier == PPT_CARRIER_L4 && packet->protocol == IPPROTO_TCP &&
	    change_sum(skb, packet,
		       (__u32)bpf_csum_diff((__be32 *)before, sizeof(before), (__be32 *)after,
					    sizeof(after), 0),
		       0))
		return RESIZE_SPOILT;
	return finish_change(skb, work, RESIZED);
}

/* Give this VNF's hop its time; a sink also removes the header. Returns the verdict on the
 * packet. */
static __noinline int finish_hop(struct __sk_buff *skb, struct work *work, __u64 now_ns)
{
	struct packet *packet = &work->packet;
	__u32 standing = 0;
	__s64 time_ns;

	if (open_header(skb, work))
		return TC_ACT_UNSPEC;
	time_ns = own_time_ns(skb, packet, now_ns, &standing);
	if (settings.mode == PPT_MODE_SINK || settings.mode == PPT_MODE_SOURCE_SINK)
		return report_and_restore(skb, work, now_ns, time_ns, standing);
	if (time_ns == HOP_OF_OTHERS) {
		if (!(packet->flags & PPT_FLAG_TRUNCATED))
			count(PPT_FOREIGN);
		return TC_ACT_UNSPEC;
	}
	return count_change(
		write_value(skb, work, standing, final_value(packet, time_ns, standing)),
		time_ns >= 0 ? PPT_MEASURED : PPT_FOREIGN);
}
