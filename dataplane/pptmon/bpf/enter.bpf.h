/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* On the way into the VNF: insert a header, or one more hop. */
#pragma once

#include "restore.bpf.h"

/* Has the process not shown itself for long? Filters of clsact outlive their process; then the sink
 * would not remove headers. */
static __always_inline int is_process_dead(void)
{
	/* Signed: it may have been written after the clock was read here. */
	return (__s64)(bpf_ktime_get_ns() - *(volatile __u64 *)&alive_ns) > (__s64)PPT_DEAD_NS;
}

/* Transit and sink: add this VNF's hop to a packet that carries a header. Returns the verdict on
 * the packet. */
static __noinline int add_own_hop(struct __sk_buff *skb, struct work *work)
{
	struct packet *packet = &work->packet;
	__u32 value;
	int done;

	if (is_process_dead() || open_header(skb, work))
		return TC_ACT_UNSPEC;
	if (is_too_long(packet))
		return strip_header(skb, work);
	if (lacks_room(packet, hop_at(packet), hop_bytes(packet)) >= 0) { /* whatever lacks */
		done = mark_truncated(skb, work);
		return done == RESIZE_SPOILT ? TC_ACT_SHOT : TC_ACT_UNSPEC;
	}
	value = first_value(packet, bpf_ktime_get_ns());
	done = count_change(finish_change(skb, work, add_hop(skb, work, value)), PPT_ADDED);
	start_clock(packet, value);
	return done;
}

/* Of a source: choose what carries the header, and set `packet->carrier`. Returns 0, or -1 if this
 * packet is not to be sampled. */
static __noinline int choose_carrier(struct packet *packet)
{
	/* NSH cannot grow in front of a checksum that is still to be computed; TCP options can. */
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

/* Can this packet be sampled? Returns PPT_COUNTERS: yes; -1: no, and nothing counts it; else no,
 * and this counter says why. */
static __noinline int check_sampling(struct __sk_buff *skb, struct packet *packet)
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

/* Of a source: insert a header into a packet that was chosen. Returns the verdict on the packet. */
static __noinline int sample(struct __sk_buff *skb, struct work *work)
{
	struct packet *packet = &work->packet;
	int verdict;
	__u32 number, value;
	int done;

	if (is_process_dead())
		return TC_ACT_UNSPEC;
	verdict = check_sampling(skb, packet);
	count(PPT_JUDGED);
	if (verdict < 0)
		return TC_ACT_UNSPEC;
	count(PPT_WANTED);
	if (verdict != PPT_COUNTERS) {
		count((enum ppt_counter)verdict);
		return TC_ACT_UNSPEC;
	}
	if (open_outer(skb, work)) {
		count(PPT_UNSUPPORTED);
		return TC_ACT_UNSPEC;
	}
	/* Late, so that a packet that cannot be sampled does not take the period's sample. */
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
	done = count_change(finish_change(skb, work, done), PPT_SAMPLED);
	start_clock(packet, value);
	return done;
}
