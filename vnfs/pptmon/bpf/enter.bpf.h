/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* On the way into the VNF: a header, or one more hop. */
#pragma once

#include "add.bpf.h"
#include "kernel.bpf.h"
#include "sampling.bpf.h"

/* Is nobody there any more to take everything out again? Filters of clsact outlive their process. */
static __always_inline int is_orphan(void)
{
	/* Signed: it may have been written after the clock was read here. */
	return (__s64)(bpf_ktime_get_ns() - *(volatile __u64 *)&gauges.alive_ns) >
	       (__s64)PPT_DEAD_NS;
}

static __noinline int relieve(struct __sk_buff *skb, struct work *work);

/* Transit and sink: a packet that carries a header gets one more hop. */
static __noinline int join(struct __sk_buff *skb, struct work *work)
{
	struct packet *packet = &work->packet;
	__u32 value;
	int done;

	if (is_orphan() || locate(skb, packet) != LOCATED)
		return TC_ACT_UNSPEC;
	done = find_ours(skb, packet);
	if (done == FOUND_MALFORMED)
		count(PPT_MALFORMED);
	if (done != FOUND)
		return TC_ACT_UNSPEC;
	packet->checksum_start = checksum_start(skb);
	if (open_outer(skb, work))
		return TC_ACT_UNSPEC;
	if (is_too_long(packet))
		return relieve(skb, work);
	if (lacks_room(packet, hop_at(packet), hop_bytes(packet)) >= 0) {
		done = mark_truncated(skb, work);
		return done == RESIZE_SPOILT ? TC_ACT_SHOT : TC_ACT_UNSPEC;
	}
	value = first_value(packet, bpf_ktime_get_ns());
	done = conclude(finish(skb, work, add_hop(skb, work, value)), PPT_ADDED);
	start_clock(packet, value);
	return done;
}

/* How a source would do it: 0, or -1 when this packet is not to be sampled. */
static __noinline int choose_carrier(struct packet *packet)
{
	/* In front of a checksum that is still to be computed NSH cannot grow; TCP options can. */
	int nsh = packet->nsh && packet->md_type == NSH_MD_TYPE_2 &&
		  (settings.carrier == PPT_CARRIER_NSH || packet->checksum_start < packet->nsh ||
		   !packet->l4);

	if (settings.carrier != PPT_CARRIER_L4 && nsh) {
		packet->carrier = PPT_CARRIER_NSH;
		return 0;
	}
	packet->carrier = PPT_CARRIER_L4;
	return settings.carrier == PPT_CARRIER_NSH || !packet->l4 ? -1 : 0;
}

/* Where a source's header begins, and its length with one hop. */
static __always_inline __u32 sample_at(const struct packet *packet)
{
	if (packet->carrier == PPT_CARRIER_NSH)
		return packet->nsh + (__u32)sizeof(struct nsh_hdr);
	if (packet->protocol == IPPROTO_TCP)
		return packet->l4 + (__u32)sizeof(struct tcphdr);
	return packet->l4 + packet->l4_bytes;
}

static __always_inline __u32 sample_bytes(const struct packet *packet)
{
	if (packet->carrier == PPT_CARRIER_NSH)
		return 16;
	if (settings.format == PPT_FORMAT_PAPER)
		return PPT_PAPER_HEADER + PPT_HOP_BYTES;
	if (packet->protocol == IPPROTO_TCP)
		return PPT_RFC_HEADER + PPT_HOP_BYTES;
	return (packet->l4_bytes & 1) + PPT_OCS_BYTES + PPT_RFC_HEADER + PPT_HOP_BYTES;
}

/* Is this a packet that can be sampled? -1: no, and nothing to count; else the counter, or
 * PPT_COUNTERS when it can. */
static __noinline int judge(struct __sk_buff *skb, struct packet *packet)
{
	int lack;

	switch (locate(skb, packet)) {
	case LOCATED:
		break;
	case LOCATED_FRAGMENT:
		return PPT_FRAGMENTS;
	case LOCATED_UNSUPPORTED:
		return PPT_UNSUPPORTED;
	default:
		return -1;
	}
	if (!is_wanted(skb, packet))
		return -1;
	switch (find_ours(skb, packet)) {
	case FOUND:
		return PPT_ALREADY;
	case FOUND_MALFORMED:
		return PPT_MALFORMED;
	}
	packet->at = 0;
	packet->bytes = 0;
	packet->checksum_start = checksum_start(skb);
	if (choose_carrier(packet))
		return -1;
	/* Somebody else's UDP options: the sink could not tell ours from them. */
	if (packet->carrier == PPT_CARRIER_L4 && packet->protocol == IPPROTO_UDP &&
	    packet->ip_end != packet->l4 + packet->l4_bytes)
		return PPT_UNSUPPORTED;
	lack = lacks_room(packet, sample_at(packet), sample_bytes(packet));
	return lack >= 0 ? lack : PPT_COUNTERS;
}

/* Source: a packet whose turn it is gets a header. */
static __noinline int sample(struct __sk_buff *skb, struct work *work)
{
	struct packet *packet = &work->packet;
	int judgement;
	__u32 number, value;
	int done;

	if (is_orphan())
		return TC_ACT_UNSPEC;
	judgement = judge(skb, packet);
	count(PPT_JUDGED);
	if (judgement < 0)
		return TC_ACT_UNSPEC;
	count(PPT_WANTED);
	if (judgement != PPT_COUNTERS) {
		count((enum ppt_counter)judgement);
		return TC_ACT_UNSPEC;
	}
	if (open_outer(skb, work)) {
		count(PPT_UNSUPPORTED);
		return TC_ACT_UNSPEC;
	}
	if (!claim())
		return TC_ACT_UNSPEC;
	number = __sync_fetch_and_add(&sampler.number, 1);
	packet->sample = (__u16)number;
	packet->flags = 0;
	packet->metric = PPT_METRIC_TIME;
	if (settings.metric_count)
		packet->metric =
			settings.metrics[number % settings.metric_count & (PPT_METRICS - 1)];
	packet->source_clock_us = (__u32)tai_us();
	value = first_value(packet, bpf_ktime_get_ns());
	done = packet->carrier == PPT_CARRIER_NSH ? add_context(skb, work, sample_at(packet), value)
						  : sample_l4(skb, work, value);
	done = conclude(finish(skb, work, done), PPT_SAMPLED);
	start_clock(packet, value);
	return done;
}
