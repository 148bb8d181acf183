/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Removing the header: the sink reports what it carried, and packets that became too long lose
 * it. */
#pragma once

#include "add.bpf.h"
#include "kernel.bpf.h"
#include "sampling.bpf.h"

/* Why there is no time, where functions take or return one. */
#define HOP_OF_OTHERS -1 /* the newest hop is not this VNF's */
#define HOP_UNKNOWN -2 /* ours, but inserted before this program was attached */

/* Find a header of ours, and prepare to change it. Returns 0, or -1 if there is none or it cannot
 * be changed. */
static __noinline int open_header(struct __sk_buff *skb, struct work *work)
{
	struct packet *packet = &work->packet;
	int found;

	if (locate(skb, packet) != LOCATED)
		return -1;
	found = find_ours(skb, packet);
	if (found == FOUND_MALFORMED)
		count(PPT_MALFORMED);
	if (found != FOUND)
		return -1;
	packet->checksum_start = checksum_start(skb);
	return open_outer(skb, work);
}

/* Return the value that the hop keeps when the packet leaves; PPT_VALUE_MAX for an unknown time.
 * `standing` is the value that stands in it. */
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

/* Remove the header: the packet is what it was before. Returns enum resized. */
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
		/* The mask changes nothing: it is for the verifier. */
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

/* Describe the packet and its hops in the event. Returns 0, or -1. */
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

/* Return a value as the event has it: 24 bits. */
static __always_inline __u32 as_read(const struct packet *packet, __u32 value)
{
	return packet->carrier == PPT_CARRIER_NSH ? from_float((__u16)value) : value;
}

/* Send the event to user space. Returns 0, or another value if the ring is full. User space polls
 * the ring: waking it up would cost the packet more than all the rest. It is woken only when the
 * ring fills. */
static __always_inline int report(const struct ppt_event *event)
{
	__u64 flags = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > PPT_RING_BYTES / 4
			      ? BPF_RB_FORCE_WAKEUP
			      : BPF_RB_NO_WAKEUP;

	return (int)bpf_ringbuf_output(&events, (void *)event, sizeof(*event), flags);
}

/* Of a sink: report the path, and restore the packet. `time_ns` is this VNF's time, or why there is
 * none; `standing` is what stands in its hop. Returns the verdict on the packet. */
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

/* On the way in, instead of adding a hop: remove the header from a packet that exceeds the MTU. A
 * sink reports what is in it. Returns the verdict on the packet. */
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
