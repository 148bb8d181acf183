/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Putting headers and hops into packets. */
#pragma once

#include "checksum.bpf.h"
#include "hop.bpf.h"

#define MAX_ADDED 32 /* bytes put into a packet at once */

/* Is there room for `bytes` more at `at`? Returns -1 if so, else the counter that says why not. */
static __noinline int lacks_room(const struct packet *packet, __u32 at, __u32 bytes)
{
	/* Bytes that the MTU limits. */
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

/* Insert `added` at `at` into TCP or UDP, and update lengths and checksums. Returns enum resized.
 * finish_udp() must follow. */
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
		/* The mask changes nothing: it is for the verifier. */
		if (change_sum(skb, packet,
			       (__u32)bpf_csum_diff(NULL, 0, (__be32 *)added, bytes & 0x1c, 0), 0))
			return RESIZE_SPOILT;
	}
	packet->ip_end += bytes;
	return RESIZED;
}

/* Change one byte of a header of ours in the packet. For TCP's checksum it matters whether the byte
 * is at an even distance from the TCP header. Returns 0, or another value if the kernel refused. */
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

/* After a change of the surplus area of UDP: write the OCS (format `rfc`), and keep the area out of
 * an unfinished checksum. Returns 0, or another value if the kernel refused. */
static __always_inline int finish_udp(struct __sk_buff *skb, struct work *work)
{
	const struct packet *packet = &work->packet;

	if (packet->carrier == PPT_CARRIER_NSH || packet->protocol != IPPROTO_UDP)
		return 0;
	if (packet->format == PPT_FORMAT_RFC && set_ocs(skb, work))
		return -1;
	return discount_surplus(skb, work, 0);
}

/* Return where a source's header begins. */
static __always_inline __u32 sample_at(const struct packet *packet)
{
	if (packet->carrier == PPT_CARRIER_NSH)
		return packet->nsh + (__u32)sizeof(struct nsh_hdr);
	if (packet->protocol == IPPROTO_TCP)
		return packet->l4 + (__u32)sizeof(struct tcphdr);
	return packet->l4 + packet->l4_bytes;
}

/* Return the bytes that a source inserts: a header with one hop, and in UDP also what precedes
 * it. */
static __always_inline __u32 sample_bytes(const struct packet *packet)
{
	if (packet->carrier == PPT_CARRIER_NSH)
		return 16; /* as add_context() builds it */
	if (settings.format == PPT_FORMAT_PAPER)
		return PPT_PAPER_HEADER + PPT_HOP_BYTES;
	if (packet->protocol == IPPROTO_TCP)
		return PPT_RFC_HEADER + PPT_HOP_BYTES;
	return (packet->l4_bytes & 1) + PPT_OCS_BYTES + PPT_RFC_HEADER + PPT_HOP_BYTES;
}

/* Insert a header with the first hop into TCP or UDP. Returns enum resized. */
static __noinline int sample_l4(struct __sk_buff *skb, struct work *work, __u32 value)
{
	struct packet *packet = &work->packet;
	__u8 *added = work->added;
	__u32 header = settings.format == PPT_FORMAT_RFC ? PPT_RFC_HEADER : PPT_PAPER_HEADER;
	__u32 bytes = sample_bytes(packet);
	__u8 *option;

	__builtin_memset(added, 0, sizeof(work->added));
	option = added + ((bytes - header - PPT_HOP_BYTES) & 3); /* behind what UDP needs */
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
	return add_to_l4(skb, work, sample_at(packet), added, bytes);
}

/* Insert a context header with one hop at `at`, in front of the others. Returns enum resized. */
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

/* Insert one more hop into the first context header of ours, in front of its hops: 3 bytes, for
 * which its padding may have room. Returns enum resized. */
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

/* Return by how many bytes one more hop makes the packet longer. */
static __always_inline __u32 hop_bytes(const struct packet *packet)
{
	__u32 padding;

	if (packet->carrier == PPT_CARRIER_L4)
		return PPT_HOP_BYTES;
	if (packet->bytes + PPT_NSH_HOP_BYTES > PPT_NSH_VALUE_MAX)
		return 16; /* a new context header */
	padding = -packet->bytes & (NSH_WORD - 1);
	return padding >= PPT_NSH_HOP_BYTES ? 0 : NSH_WORD;
}

/* Return where the packet changes when this VNF's hop is inserted. */
static __always_inline __u32 hop_at(const struct packet *packet)
{
	return packet->carrier == PPT_CARRIER_NSH ? packet->at : packet->hops_at;
}

/* Note in the header that a VNF had no room to add itself. Returns RESIZED or RESIZE_SPOILT. */
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

/* Insert this VNF's hop in front of the others. Returns enum resized. */
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

/* Count a change (enum resized), as `success` or as failed. Returns the verdict on the packet,
 * which is dropped if it was spoilt. */
static __always_inline int count_change(int done, enum ppt_counter success)
{
	count(done == RESIZED ? success : PPT_FAILED);
	return done == RESIZE_SPOILT ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

/* Take the last steps of a change that succeeded: the packet is whole again. Returns enum
 * resized. */
static __always_inline int finish_change(struct __sk_buff *skb, struct work *work, int done)
{
	if (done != RESIZED)
		return done;
	if (finish_udp(skb, work))
		return RESIZE_SPOILT;
	return close_outer(skb, work) ? RESIZE_SPOILT : RESIZED;
}
