/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Opening and closing gaps inside a packet. Lengths and checksums stay right, whether the sender,
 * the kernel or the hardware completes them.
 *
 * In a packet that is one on the wire, everything behind the gap moves. What is before it stays
 * where it was, and with it the offset from which an unfinished checksum (CHECKSUM_PARTIAL) is
 * computed.
 *
 * Super-packets (GSO) are too long for that, and their payload is in pages. Their headers are moved
 * instead, by bpf_skb_adjust_room(), which also corrects gso_size but not the offset of an
 * unfinished checksum. So that one is dropped first: when a packet is shortened beyond that offset,
 * the kernel takes its checksum for finished (skb_postpull_rcsum()). CHECKSUM_UNNECESSARY then says
 * that it is right, which it is on this machine; segmentation computes it again.
 */
#pragma once

#include "work.bpf.h"
#include "state.bpf.h"

#define MAX_GSO_SIZE 60000 /* leaves room for headers in gso_size, which has 16 bits */
#define MIN_GSO_SIZE 32 /* is left: gso_size makes room for headers, and must not fall below 1 */
#define MAX_GSO_HEADERS 160
#define MAX_GROWTH 256 /* bytes of ours in a packet, at most */

enum resized {
	RESIZED,
	RESIZE_REFUSED, /* nothing was changed */
	RESIZE_SPOILT, /* half changed: the packet must be dropped */
};

/* Is the outer UDP checksum unfinished, as when a process sends VXLAN-GPE? */
static __always_inline int outer_unfinished(const struct packet *packet)
{
	return packet->outer_udp && packet->checksum_start == packet->outer_udp;
}

/* Can an unfinished checksum be kept right here? It may be that of an inner packet, or one on which
 * a finished one around it depends. */
static __always_inline int checksums_known(const struct packet *packet)
{
	if (!packet->checksum_start || outer_unfinished(packet))
		return 1;
	if (packet->outer_udp && packet->outer_check)
		return 0;
	return packet->carrier == PPT_CARRIER_NSH || packet->checksum_start == packet->l4;
}

/* Can a gap at this offset be opened and closed in this packet? */
static __always_inline int resizable(const struct packet *packet, __u32 at)
{
	if (!checksums_known(packet))
		return 0;
	if (packet->gso_size)
		return !packet->nsh && !packet->tagged && packet->protocol == IPPROTO_TCP &&
		       packet->gso_size <= MAX_GSO_SIZE && at <= MAX_GSO_HEADERS;
	/* What is before the gap stays where it is. An unfinished checksum must begin there. */
	return packet->checksum_start < at;
}

/* Move what is behind `at`, so that a gap of `bytes` opens. Returns enum resized. */
static __noinline int open_tail(struct __sk_buff *skb, struct work *work, __u32 at, __u32 bytes)
{
	__u32 tail = skb->len - at;

	if (tail > MAX_MOVED)
		return RESIZE_REFUSED;
	if (tail && bpf_skb_load_bytes(skb, at, work->moved, BOUNDED(tail, MAX_MOVED)))
		return RESIZE_REFUSED;
	if (bpf_skb_change_tail(skb, skb->len + bytes, 0))
		return RESIZE_REFUSED;
	if (tail && bpf_skb_store_bytes(skb, at + bytes, work->moved, BOUNDED(tail, MAX_MOVED), 0))
		return RESIZE_SPOILT;
	return RESIZED;
}

/* Move what is behind a gap of `bytes` at `at`, so that it closes. Returns enum resized. */
static __noinline int close_tail(struct __sk_buff *skb, struct work *work, __u32 at, __u32 bytes)
{
	__u32 tail = skb->len - at - bytes;

	if (tail > MAX_MOVED)
		return RESIZE_REFUSED;
	if (tail && (bpf_skb_load_bytes(skb, at + bytes, work->moved, BOUNDED(tail, MAX_MOVED)) ||
		     bpf_skb_store_bytes(skb, at, work->moved, BOUNDED(tail, MAX_MOVED), 0)))
		return RESIZE_REFUSED;
	return bpf_skb_change_tail(skb, skb->len - bytes, 0) ? RESIZE_SPOILT : RESIZED;
}

/* Does the packet, or a segment of a super-packet, exceed the egress MTU because of its header? */
static __always_inline int is_too_long(const struct packet *packet)
{
	__u32 bytes = packet->nsh ? packet->length - ETH_HLEN : packet->ip_end - packet->ip;

	if (packet->gso_size)
		bytes = packet->l4 - packet->ip + packet->l4_bytes + packet->gso_size;
	return bytes > settings.mtu;
}

/* Move the headers before `at`, without Ethernet, so that a gap of `grow` bytes opens, or closes if
 * it is negative. Returns enum resized. */
static __noinline int move_headers(struct __sk_buff *skb, struct work *work, __u32 at, __s32 grow)
{
	__u64 flags = BPF_F_ADJ_ROOM_NO_CSUM_RESET;
	__s32 headers = (__s32)at - ETH_HLEN;
	__s32 out = grow < 0 ? headers - grow : headers; /* with the gap that closes */
	__u32 length;

	if (headers <= 0 || headers > MAX_GSO_HEADERS)
		return RESIZE_REFUSED;
	/* GRO joined packets that had each got the header: gso_size does not include it. */
	if (grow < 0 && is_too_long(&work->packet))
		flags |= BPF_F_ADJ_ROOM_FIXED_GSO;
	length = BOUNDED((__u32)headers, 256);
	if (bpf_skb_load_bytes(skb, ETH_HLEN, work->small, length))
		return RESIZE_REFUSED;
	/* First shorten the packet by all its headers, which drops the unfinished checksum. */
	if (work->packet.checksum_start) {
		if (bpf_skb_adjust_room(skb, -out, BPF_ADJ_ROOM_MAC, flags))
			return RESIZE_REFUSED;
		if (bpf_skb_adjust_room(skb, out + grow, BPF_ADJ_ROOM_MAC, flags))
			return RESIZE_SPOILT;
		bpf_csum_level(skb, BPF_CSUM_LEVEL_INC);
	} else if (bpf_skb_adjust_room(skb, grow, BPF_ADJ_ROOM_MAC, flags)) {
		return RESIZE_REFUSED;
	}
	return bpf_skb_store_bytes(skb, ETH_HLEN, work->small, length, 0) ? RESIZE_SPOILT : RESIZED;
}

/* Open a gap of `bytes` at `at`; what is in it is undefined. Returns enum resized. */
static __always_inline int open_gap(struct __sk_buff *skb, struct work *work, __u32 at, __u32 bytes)
{
	return work->packet.gso_size ? move_headers(skb, work, at, (__s32)bytes)
				     : open_tail(skb, work, at, bytes);
}

/* Remove `bytes` at `at`. Returns enum resized. */
static __always_inline int close_gap(struct __sk_buff *skb, struct work *work, __u32 at,
				     __u32 bytes)
{
	return work->packet.gso_size ? move_headers(skb, work, at, -(__s32)bytes)
				     : close_tail(skb, work, at, bytes);
}
