/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* On the way out of the VNF: the hop's clock becomes its time; the sink removes the header. */
#pragma once

#include "enter.bpf.h"

#define NSH_RESERVED (sizeof(struct nsh_context_hdr) + 1)

/* Instead of a time. */
#define MAX_SKEW_US 1000 /* of the clocks of two CPUs */

#define HOP_OF_OTHERS -1
#define HOP_UNKNOWN -2 /* ours, but inserted before this program was attached */

/* The time of this VNF's hop, ns, or why there is none. */
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

/* The value that the hop keeps; PPT_VALUE_MAX for an unknown time. */
static __always_inline __u32 final_value(const struct packet *packet, __s64 time_ns, __u32 standing)
{
	__u64 value;

	if (packet->metric != PPT_METRIC_TIME)
		return standing;
	value = time_ns < 0 ? PPT_VALUE_MAX : ((__u64)time_ns + 500) / 1000;
	if (value >= PPT_VALUE_MAX) {
		value = PPT_VALUE_MAX;
		if (time_ns >= 0)
			count(PPT_SATURATED);
	}
	return packet->carrier == PPT_CARRIER_NSH ? to_float((__u32)value) : (__u32)value;
}

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

/* Remove the header: the packet is what it was before. */
static __noinline int restore(struct __sk_buff *skb, struct work *work)
{
	struct packet *packet = &work->packet;
	__u32 total = packet->total;
	__be32 removed[16] = { 0 }; /* options of TCP */
	int done;

	if (packet->carrier == PPT_CARRIER_L4 && packet->protocol == IPPROTO_TCP) {
		if (total == 0 || total > PPT_TCP_HEADER_MAX - sizeof(struct tcphdr) ||
		    bpf_skb_load_bytes(skb, packet->take_from, removed, BOUNDED(total, 64)))
			return RESIZE_REFUSED;
		if (change_sum(skb, packet, (__u32)bpf_csum_diff(removed, total & 0x3c, NULL, 0, 0),
			       0))
			return RESIZE_REFUSED;
		if (change_tcp(skb, packet, -(__s32)total))
			return RESIZE_SPOILT;
	} else if (packet->carrier == PPT_CARRIER_L4 && discount_surplus(skb, work, 1)) {
		return RESIZE_SPOILT;
	}
	done = close_gap(skb, work, packet->take_from, total);
	if (done != RESIZED)
		return RESIZE_SPOILT;
	if (change_lengths(skb, work, -(__s32)total) || close_outer(skb, work))
		return RESIZE_SPOILT;
	return RESIZED;
}

static __noinline int fill_event(struct __sk_buff *skb, struct work *work, __u64 now_ns)
{
	const struct packet *packet = &work->packet;
	struct ppt_event *event = &work->event;
	struct flow flow;
	struct nsh_hdr nsh;

	__builtin_memset(event, 0, sizeof(*event));
	if (read_flow(skb, packet, &flow))
		return -1;
	event->ktime_ns = now_ns;
	event->tai_us = tai_us();
	event->family = packet->version;
	event->protocol = packet->protocol;
	event->metric = packet->metric;
	event->flags = packet->flags;
	event->carrier = packet->carrier;
	event->format = packet->format;
	event->sample = packet->sample;
	event->source_clock_us = packet->source_clock_us;
	event->segments =
		packet->gso_size ? (packet->length + packet->gso_size - 1) / packet->gso_size : 0;
	event->source_port = flow.source_port;
	event->destination_port = flow.destination_port;
	__builtin_memcpy(event->source, flow.source, sizeof(flow.source));
	__builtin_memcpy(event->destination, flow.destination, sizeof(flow.destination));
	if (packet->nsh && bpf_skb_load_bytes(skb, packet->nsh, &nsh, sizeof(nsh)) == 0) {
		event->spi = nsh_spi(&nsh);
		event->si = nsh.si;
	}
	return packet->carrier == PPT_CARRIER_NSH ? read_nsh_hops(skb, work)
						  : read_l4_hops(skb, work);
}

static __always_inline __u32 as_read(const struct packet *packet, __u32 value)
{
	return packet->carrier == PPT_CARRIER_NSH ? from_float((__u16)value) : value;
}

/* User space polls the ring: waking it up would cost the packet more than all the rest. It is woken
 * only when the ring fills. */
static __always_inline int report(const struct ppt_event *event)
{
	__u64 flags = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > PPT_RING_BYTES / 4
			      ? BPF_RB_FORCE_WAKEUP
			      : BPF_RB_NO_WAKEUP;

	return (int)bpf_ringbuf_output(&events, (void *)event, sizeof(*event), flags);
}

/* Sink: report the path and restore the packet. */
static __noinline int report_and_restore(struct __sk_buff *skb, struct work *work, __u64 now_ns,
					 __s64 time_ns, __u32 standing)
{
	struct packet *packet = &work->packet;
	struct ppt_event *event = &work->event;
	int done;

	/* A header that cannot be removed stays: that is better than a broken packet. */
	if (!resizable(packet, packet->take_from)) {
		count(PPT_UNSUPPORTED);
		return TC_ACT_UNSPEC;
	}
	if (fill_event(skb, work, now_ns)) {
		count(PPT_MALFORMED);
		return TC_ACT_UNSPEC;
	}
	if (time_ns != HOP_OF_OTHERS)
		event->hops[0] = (__u32)settings.vnf_id << 24 |
				 as_read(packet, final_value(packet, time_ns, standing));
	if (time_ns >= 0) {
		event->own = 1;
		event->own_time_ns = time_ns > 0xffffffffLL ? 0xffffffff : (__u32)time_ns;
		count(PPT_MEASURED);
	} else if (time_ns == HOP_UNKNOWN || !(packet->flags & PPT_FLAG_TRUNCATED)) {
		count(PPT_FOREIGN);
	}
	done = restore(skb, work);
	if (done == RESIZED && report(event))
		count(PPT_EVENTS_LOST);
	return count_change(done, PPT_REPORTED);
}

/* On the way in, instead of adding a hop: remove the header from a packet that exceeds the MTU. */
static __noinline int strip_header(struct __sk_buff *skb, struct work *work)
{
	struct packet *packet = &work->packet;

	count(PPT_TRUNCATED);
	packet->flags |= PPT_FLAG_TRUNCATED;
	if (settings.mode == PPT_MODE_SINK)
		return report_and_restore(skb, work, bpf_ktime_get_ns(), HOP_OF_OTHERS, 0);
	if (!resizable(packet, packet->take_from))
		return TC_ACT_UNSPEC;
	return count_change(restore(skb, work), PPT_NO_ROOM_MTU);
}

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
