/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* On the way into the VNF: a header, or one more hop. */
#ifndef SFCPERF_PPTMON_ENTER_BPF_H
#define SFCPERF_PPTMON_ENTER_BPF_H

#include "header.bpf.h"
#include "kernel.bpf.h"
#include "resize.bpf.h"
#include "sampling.bpf.h"
#include "state.bpf.h"

#define MAX_ADDED 32 /* bytes put into a packet at once */

/* Is there room for so many bytes at this place? Gives the counter that says why not, or -1. */
static __noinline int lacks_room(const struct packet *packet, __u32 at, __u32 bytes)
{
	__u32 now = packet->nsh ? packet->length - ETH_HLEN : packet->ip_end - packet->ip;

	if (!resizable(packet, at))
		return PPT_UNSUPPORTED;
	if (packet->carrier == PPT_CARRIER_NSH) {
		if (packet->nsh_bytes + bytes > NSH_MAX_BYTES)
			return PPT_NO_ROOM_OPTIONS;
	} else if (packet->protocol == IPPROTO_TCP) {
		if (packet->l4_bytes + bytes > PPT_TCP_HEADER_MAX)
			return PPT_NO_ROOM_OPTIONS;
	} else if (packet->bytes + bytes > PPT_UDP_LENGTH_MAX) {
		return PPT_NO_ROOM_OPTIONS;
	}
	if (packet->gso_size)
		return now + bytes > 0xffff || packet->gso_size < bytes + MIN_GSO_SIZE
			       ? PPT_UNSUPPORTED
			       : -1;
	return now + bytes > settings.mtu ? PPT_NO_ROOM_MTU : -1;
}

/* What stands in the hop while the packet is inside: 24 bits. Of NSH's hop, which has 16, the upper
 * ones are in the reserved byte of the context header meanwhile. */
static __always_inline __u32 first_value(const struct packet *packet, __u64 now_ns)
{
	__u32 since;

	switch (packet->metric) {
	case PPT_METRIC_TIME:
		return (__u32)(now_ns / 1000) & PPT_VALUE_MAX;
	case PPT_METRIC_DELAY:
		if (packet->carrier != PPT_CARRIER_NSH)
			return (__u32)tai_us() & PPT_VALUE_MAX;
		since = (__u32)tai_us() - packet->source_clock_us;
		return to_float(since);
	default:
		return 0;
	}
}

static __always_inline void put_hop(__u8 *hop, const struct packet *packet, __u32 value)
{
	hop[0] = settings.vnf_id;
	if (packet->carrier == PPT_CARRIER_NSH) {
		hop[1] = (__u8)(value >> 8);
		hop[2] = (__u8)value;
	} else {
		hop[1] = (__u8)(value >> 16);
		hop[2] = (__u8)(value >> 8);
		hop[3] = (__u8)value;
	}
}

static __always_inline struct visit *visit_of(__u32 token)
{
	__u32 slot = token & (IN_FLIGHT_SLOTS - 1);

	return bpf_map_lookup_elem(&in_flight, &slot);
}

/* The last thing that is done: what comes after belongs to the VNF. */
static __always_inline void start_clock(const struct packet *packet, __u32 token)
{
	struct visit *visit = visit_of(token);

	if (packet->metric != PPT_METRIC_TIME || !visit)
		return;
	visit->token = token;
	visit->used = 1;
	visit->entered_ns = bpf_ktime_get_ns();
}

/* Put `bytes` of `work->small` at `at` in the transport's area, and make everything around right. */
static __noinline int add_to_l4(struct __sk_buff *skb, struct work *work, __u32 at, __u8 *added,
				__u32 bytes)
{
	struct packet *packet = &work->packet;
	int done;

	if (bytes == 0 || bytes > MAX_ADDED)
		return RESIZE_REFUSED;
	if (packet->protocol == IPPROTO_UDP && discount_surplus(skb, work, 1))
		return RESIZE_SPOILT;
	done = open_gap(skb, work, at, bytes);
	if (done != RESIZED) {
		if (packet->protocol == IPPROTO_UDP && discount_surplus(skb, work, 0))
			return RESIZE_SPOILT;
		return done;
	}
	if (bpf_skb_store_bytes(skb, at, added, BOUNDED(bytes, 32), 0) ||
	    change_lengths(skb, work, (__s32)bytes))
		return RESIZE_SPOILT;
	if (packet->protocol == IPPROTO_TCP) {
		if (change_tcp(skb, packet, (__s32)bytes))
			return RESIZE_SPOILT;
		if (change_sum(skb, packet,
			       (__u32)bpf_csum_diff(NULL, 0, (__be32 *)added, bytes & 0x1c, 0), 0))
			return RESIZE_SPOILT;
	}
	packet->ip_end += bytes;
	return RESIZED;
}

/* One byte of a header that is in the packet, at a distance from the TCP header that the checksum
 * has to know: even or odd. */
static __noinline int change_byte(struct __sk_buff *skb, const struct packet *packet, __u32 at,
				  __u8 value)
{
	__u32 even =
		packet->protocol == IPPROTO_TCP && packet->l4 ? at - ((at - packet->l4) & 1) : at;
	__u8 before[4] = { 0 }, after[4] = { 0 };

	if (packet->carrier == PPT_CARRIER_NSH || packet->protocol == IPPROTO_UDP)
		return (int)bpf_skb_store_bytes(skb, at, &value, sizeof(value), 0);
	if (bpf_skb_load_bytes(skb, even, before, 2))
		return -1;
	after[0] = at == even ? value : before[0];
	after[1] = at == even ? before[1] : value;
	if (bpf_skb_store_bytes(skb, even, after, 2, 0))
		return -1;
	return change_sum(skb, packet,
			  (__u32)bpf_csum_diff((__be32 *)before, 4, (__be32 *)after, 4, 0), 0);
}

static __always_inline int finish_udp(struct __sk_buff *skb, struct work *work)
{
	const struct packet *packet = &work->packet;

	if (packet->carrier == PPT_CARRIER_NSH || packet->protocol != IPPROTO_UDP)
		return 0;
	if (packet->format == PPT_FORMAT_RFC && set_ocs(skb, work))
		return -1;
	return discount_surplus(skb, work, 0);
}

/* A header with the first hop into TCP or UDP. */
static __noinline int sample_l4(struct __sk_buff *skb, struct work *work, __u32 value)
{
	struct packet *packet = &work->packet;
	__u8 *added = work->added;
	__u32 at = 0, header = PPT_PAPER_HEADER;
	__u32 skipped = 0;
	__u8 *option;

	if (settings.format == PPT_FORMAT_RFC) {
		header = PPT_RFC_HEADER;
		if (packet->protocol == IPPROTO_UDP)
			skipped = PPT_OCS_BYTES + (packet->l4_bytes & 1);
	}
	at = packet->protocol == IPPROTO_TCP ? packet->l4 + (__u32)sizeof(struct tcphdr)
					     : packet->l4 + packet->l4_bytes;
	__builtin_memset(added, 0, sizeof(work->added));
	option = added + (skipped & 3);
	option[1] = (__u8)(header + PPT_HOP_BYTES);
	if (header == PPT_RFC_HEADER) {
		option[0] = packet->protocol == IPPROTO_TCP ? PPT_TCP_KIND : PPT_UDP_KIND;
		option[2] = PPT_EXID_RFC >> 8;
		option[3] = PPT_EXID_RFC & 0xff;
		option[4] = packet->metric;
		option[6] = (__u8)(packet->sample >> 8);
		option[7] = (__u8)packet->sample;
		put_hop(option + PPT_RFC_HEADER, packet, value);
	} else {
		option[0] = PPT_TCP_KIND;
		option[2] = PPT_EXID_PAPER >> 8;
		option[3] = (__u8)(PPT_EXID_PAPER | packet->metric);
		put_hop(option + PPT_PAPER_HEADER, packet, value);
	}
	packet->format = settings.format;
	return add_to_l4(skb, work, at, added, skipped + header + PPT_HOP_BYTES);
}

/* A context header with one hop, in front of the others. */
static __noinline int add_context(struct __sk_buff *skb, struct work *work, __u32 at, __u32 value)
{
	struct packet *packet = &work->packet;
	__u8 added[16] = { 0 };
	int done;

	added[0] = PPT_NSH_CLASS >> 8;
	added[1] = PPT_NSH_CLASS & 0xff;
	added[2] = PPT_NSH_TYPE;
	added[3] = PPT_NSH_HEADER + PPT_NSH_HOP_BYTES;
	added[4] = packet->metric | packet->flags;
	added[5] = (__u8)(value >> 16);
	added[6] = (__u8)(packet->sample >> 8);
	added[7] = (__u8)packet->sample;
	added[8] = (__u8)(packet->source_clock_us >> 24);
	added[9] = (__u8)(packet->source_clock_us >> 16);
	added[10] = (__u8)(packet->source_clock_us >> 8);
	added[11] = (__u8)packet->source_clock_us;
	put_hop(added + 12, packet, value);
	done = open_gap(skb, work, at, sizeof(added));
	if (done != RESIZED)
		return done;
	if (bpf_skb_store_bytes(skb, at, added, sizeof(added), 0) ||
	    change_lengths(skb, work, sizeof(added)))
		return RESIZE_SPOILT;
	return RESIZED;
}

/* One more hop into the context header that is there: 3 bytes, of which padding may have room. */
static __noinline int extend_context(struct __sk_buff *skb, struct work *work, __u32 value)
{
	struct packet *packet = &work->packet;
	__u32 begin = packet->hops_at;
	__u32 hops = packet->hop_count * PPT_NSH_HOP_BYTES;
	__u32 before = (packet->bytes + NSH_WORD - 1) / NSH_WORD;
	__u32 after = (packet->bytes + PPT_NSH_HOP_BYTES + NSH_WORD - 1) / NSH_WORD;
	__u32 value_at = packet->at + (__u32)sizeof(struct nsh_context_hdr);
	__u8 length = (__u8)(packet->bytes + PPT_NSH_HOP_BYTES);
	__u8 upper = (__u8)(value >> 16);
	__u32 zeros = 0, padding;
	int done;

	if (hops == 0 || hops > PPT_NSH_VALUE_MAX)
		return RESIZE_REFUSED;
	if (bpf_skb_load_bytes(skb, begin, work->small + PPT_NSH_HOP_BYTES, BOUNDED(hops, 128)))
		return RESIZE_REFUSED;
	if (after > before) {
		done = open_gap(skb, work, value_at + before * NSH_WORD, NSH_WORD);
		if (done != RESIZED)
			return done;
		if (change_lengths(skb, work, NSH_WORD))
			return RESIZE_SPOILT;
	}
	put_hop(work->small, packet, value);
	hops += PPT_NSH_HOP_BYTES;
	if (bpf_skb_store_bytes(skb, begin, work->small, BOUNDED(hops, 256), 0))
		return RESIZE_SPOILT;
	padding = after * NSH_WORD - length;
	if (padding &&
	    bpf_skb_store_bytes(skb, value_at + length, &zeros, BOUNDED(padding, NSH_WORD), 0))
		return RESIZE_SPOILT;
	if (bpf_skb_store_bytes(skb, value_at + 1, &upper, sizeof(upper), 0) ||
	    bpf_skb_store_bytes(skb, packet->at + 3, &length, sizeof(length), 0))
		return RESIZE_SPOILT;
	return RESIZED;
}

/* Bytes by which one more hop makes the packet longer. */
static __always_inline __u32 hop_bytes(const struct packet *packet)
{
	__u32 padding;

	if (packet->carrier == PPT_CARRIER_L4)
		return PPT_HOP_BYTES;
	if (packet->bytes + PPT_NSH_HOP_BYTES > PPT_NSH_VALUE_MAX)
		return 16;
	padding = -packet->bytes & (NSH_WORD - 1);
	return padding >= PPT_NSH_HOP_BYTES ? 0 : NSH_WORD;
}

/* Where the length of this hop goes in. */
static __always_inline __u32 hop_at(const struct packet *packet)
{
	return packet->carrier == PPT_CARRIER_NSH ? packet->at : packet->hops_at;
}

static __noinline int mark_truncated(struct __sk_buff *skb, struct work *work)
{
	struct packet *packet = &work->packet;
	__u32 at = packet->at + 4; /* of format rfc and of NSH */
	int udp = packet->carrier == PPT_CARRIER_L4 && packet->protocol == IPPROTO_UDP;
	__u8 value = packet->metric | PPT_FLAG_TRUNCATED;

	count(PPT_TRUNCATED);
	if (packet->carrier == PPT_CARRIER_L4 && packet->format == PPT_FORMAT_PAPER) {
		at = packet->at + 3;
		value |= PPT_EXID_PAPER & 0xff;
	}
	if (udp && discount_surplus(skb, work, 1))
		return RESIZE_SPOILT;
	if (change_byte(skb, packet, at, value))
		return RESIZE_SPOILT;
	if (udp && finish_udp(skb, work))
		return RESIZE_SPOILT;
	return close_outer(skb, work) ? RESIZE_SPOILT : RESIZED;
}

static __noinline int add_hop(struct __sk_buff *skb, struct work *work, __u32 value)
{
	struct packet *packet = &work->packet;
	__u8 hop[MAX_ADDED] = { 0 };
	__u8 length = (__u8)(packet->bytes + PPT_HOP_BYTES);
	int done;

	if (packet->carrier == PPT_CARRIER_NSH)
		return hop_bytes(packet) == 16 ? add_context(skb, work, packet->at, value)
					       : extend_context(skb, work, value);
	put_hop(hop, packet, value);
	done = add_to_l4(skb, work, packet->hops_at, hop, PPT_HOP_BYTES);
	if (done != RESIZED)
		return done;
	if (change_byte(skb, packet, packet->at + 1, length))
		return RESIZE_SPOILT;
	return RESIZED;
}

/* What becomes of a packet after a change, and what is counted. */
static __always_inline int conclude(int done, enum ppt_counter success)
{
	count(done == RESIZED ? success : PPT_FAILED);
	return done == RESIZE_SPOILT ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

/* The last touches of a change, when the packet is whole again. */
static __always_inline int finish(struct __sk_buff *skb, struct work *work, int done)
{
	if (done != RESIZED)
		return done;
	if (finish_udp(skb, work))
		return RESIZE_SPOILT;
	return close_outer(skb, work) ? RESIZE_SPOILT : RESIZED;
}

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

#endif
