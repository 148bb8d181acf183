/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Finding a header of ours in a packet that was located, and reading its hops. */
#pragma once

#include "packet.bpf.h"

#define MAX_CONTEXTS 16 /* of NSH, ours and others */
#define MAX_OWN_CONTEXTS 4
#define HOPS_IN_CONTEXT ((PPT_NSH_VALUE_MAX - PPT_NSH_HEADER) / PPT_NSH_HOP_BYTES)

/* Is a header of ours there? */
enum found {
	FOUND,
	FOUND_NONE,
	FOUND_MALFORMED,
};

/* Read the option at `at`, where `space` bytes are left, if it is ours, to `packet`. Returns enum
 * found; only with FOUND is `packet->at` set. */
static __noinline int read_option(struct __sk_buff *skb, struct packet *packet, __u32 at,
				  __u32 space, __u8 kind)
{
	__u8 option[PPT_RFC_HEADER] = { 0 };
	__u32 header;
	__u16 exid;

	if (space < PPT_PAPER_HEADER || bpf_skb_load_bytes(skb, at, option, PPT_PAPER_HEADER))
		return FOUND_NONE;
	exid = be16(option + 2);
	if (option[0] != kind)
		return FOUND_NONE;
	if (exid == PPT_EXID_RFC) {
		header = PPT_RFC_HEADER;
		packet->format = PPT_FORMAT_RFC;
	} else if ((exid & PPT_EXID_PAPER_MASK) == PPT_EXID_PAPER) {
		header = PPT_PAPER_HEADER;
		packet->format = PPT_FORMAT_PAPER;
	} else {
		return FOUND_NONE;
	}
	packet->bytes = option[1];
	if (packet->bytes < header + PPT_HOP_BYTES || packet->bytes > space ||
	    (packet->bytes - header) % PPT_HOP_BYTES)
		return FOUND_MALFORMED;
	if (header == PPT_RFC_HEADER && bpf_skb_load_bytes(skb, at, option, sizeof(option)))
		return FOUND_MALFORMED;
	packet->metric = header == PPT_RFC_HEADER ? option[4] : option[3] & 0x0f;
	packet->flags = packet->metric & PPT_FLAG_TRUNCATED;
	packet->metric &= (__u8)~PPT_FLAG_TRUNCATED;
	if (packet->metric >= PPT_METRICS)
		return FOUND_MALFORMED;
	packet->sample = be16(option + 6);
	packet->carrier = PPT_CARRIER_L4;
	packet->at = at;
	packet->hops_at = at + header;
	packet->hop_count = (packet->bytes - header) / PPT_HOP_BYTES;
	return FOUND;
}

/* Find a header of ours in TCP: the first option. Returns enum found. */
static __always_inline int find_in_tcp(struct __sk_buff *skb, struct packet *packet)
{
	__u32 options = packet->l4 + sizeof(struct tcphdr);
	int found = read_option(skb, packet, options, packet->l4 + packet->l4_bytes - options,
				PPT_TCP_KIND);

	packet->take_from = packet->at;
	packet->total = packet->bytes;
	return found;
}

/* Find a header of ours behind the data of UDP. The surplus area must be ours as a whole: otherwise
 * the sink could not know what to restore. In format `paper` the header begins there, in format
 * `rfc` behind the OCS. Returns enum found. */
static __always_inline int find_in_udp(struct __sk_buff *skb, struct packet *packet)
{
	__u32 surplus = packet->l4 + packet->l4_bytes;
	__u32 space = packet->ip_end - surplus;
	__u32 before = (packet->l4_bytes & 1) + PPT_OCS_BYTES;
	int found;

	if (space == 0)
		return FOUND_NONE;
	packet->take_from = surplus;
	packet->total = space;
	found = read_option(skb, packet, surplus, space, PPT_TCP_KIND);
	if (found == FOUND && packet->format == PPT_FORMAT_PAPER)
		return packet->bytes == space ? FOUND : FOUND_MALFORMED;
	packet->at = 0;
	if (found == FOUND_MALFORMED && packet->format == PPT_FORMAT_PAPER)
		return found;
	if (space <= before)
		return FOUND_NONE;
	found = read_option(skb, packet, surplus + before, space - before, PPT_UDP_KIND);
	if (found == FOUND && packet->format == PPT_FORMAT_RFC)
		return packet->bytes == space - before ? FOUND : FOUND_MALFORMED;
	packet->at = 0;
	return found == FOUND ? FOUND_NONE : found;
}

/* Read the context header of ours at `at`, whose value has `length` bytes. Returns FOUND or
 * FOUND_MALFORMED. */
static __always_inline int read_context(struct __sk_buff *skb, struct packet *packet, __u32 at,
					__u32 length)
{
	__u8 value[PPT_NSH_HEADER];

	if (length < PPT_NSH_HEADER + PPT_NSH_HOP_BYTES ||
	    (length - PPT_NSH_HEADER) % PPT_NSH_HOP_BYTES ||
	    bpf_skb_load_bytes(skb, at + sizeof(struct nsh_context_hdr), value, sizeof(value)))
		return FOUND_MALFORMED;
	packet->metric = value[0] & (__u8)~PPT_FLAG_TRUNCATED;
	packet->flags = value[0] & PPT_FLAG_TRUNCATED;
	if (packet->metric >= PPT_METRICS)
		return FOUND_MALFORMED;
	packet->sample = be16(value + 2);
	packet->source_clock_us = (__u32)be16(value + 4) << 16 | be16(value + 6);
	packet->carrier = PPT_CARRIER_NSH;
	packet->at = at;
	packet->take_from = at;
	packet->bytes = length;
	packet->hops_at = at + sizeof(struct nsh_context_hdr) + PPT_NSH_HEADER;
	packet->hop_count = (length - PPT_NSH_HEADER) / PPT_NSH_HOP_BYTES;
	return FOUND;
}

/* Find the context headers of ours in NSH. They follow one another, the newest first, and others
 * may precede them. Returns enum found. */
static __noinline int find_in_nsh(struct __sk_buff *skb, struct packet *packet)
{
	__u32 at = packet->nsh + sizeof(struct nsh_hdr);
	__u32 end = packet->nsh + packet->nsh_bytes;
	struct nsh_context_hdr context;
	__u32 bytes;
	int found;

	for (int i = 0; i < MAX_CONTEXTS; i++) {
		if (at + sizeof(context) > end ||
		    bpf_skb_load_bytes(skb, at, &context, sizeof(context)))
			break;
		bytes = nsh_context_bytes(&context);
		if (at + bytes > end)
			return FOUND_MALFORMED;
		if (nsh_context_class(&context) != PPT_NSH_CLASS || context.type != PPT_NSH_TYPE) {
			if (packet->at)
				break;
		} else if (packet->at) {
			packet->total += bytes;
		} else {
			found = read_context(skb, packet, at, nsh_context_length(&context));
			if (found != FOUND)
				return found;
			packet->total = bytes;
		}
		at += bytes;
	}
	return packet->at ? FOUND : FOUND_NONE;
}

/* Find a header of ours, in NSH before TCP or UDP. Returns enum found. */
static __noinline int find_ours(struct __sk_buff *skb, struct packet *packet)
{
	int found = FOUND_NONE;

	packet->at = 0;
	if (packet->nsh && packet->md_type == NSH_MD_TYPE_2)
		found = find_in_nsh(skb, packet);
	if (found != FOUND_NONE || !packet->l4)
		return found;
	return packet->protocol == IPPROTO_TCP ? find_in_tcp(skb, packet)
					       : find_in_udp(skb, packet);
}

/* Return a value of 24 bits as the 16 bits of NSH, rounded to the nearest. */
static __always_inline __u16 to_float(__u32 value)
{
	__u32 exponent = 0;

	if (value >= PPT_VALUE_MAX)
		return PPT_FLOAT_MAX;
	for (int i = 0; i < 24 - PPT_FLOAT_MANTISSA_BITS; i++)
		if (value >> exponent >= 1 << PPT_FLOAT_MANTISSA_BITS)
			exponent++;
	if (exponent)
		value = (value + (1U << (exponent - 1))) >> exponent;
	if (value >> PPT_FLOAT_MANTISSA_BITS) {
		value >>= 1;
		exponent++;
	}
	return (__u16)(exponent << PPT_FLOAT_MANTISSA_BITS | value);
}

/* Return the value of 24 bits that 16 bits of NSH stand for; PPT_VALUE_MAX: this much or more. */
static __always_inline __u32 from_float(__u16 bits)
{
	__u32 mantissa = bits & ((1 << PPT_FLOAT_MANTISSA_BITS) - 1);
	__u32 value = mantissa << (bits >> PPT_FLOAT_MANTISSA_BITS);

	return bits == PPT_FLOAT_MAX || value > PPT_VALUE_MAX ? PPT_VALUE_MAX : value;
}

/* Read the hops of a header in TCP or UDP to the event. Returns 0, or -1. */
static __noinline int read_l4_hops(struct __sk_buff *skb, struct work *work)
{
	const struct packet *packet = &work->packet;
	__u32 count = packet->hop_count;
	__u32 bytes = count * PPT_HOP_BYTES;

	if (bytes == 0 || bytes > 255)
		return -1;
	if (bpf_skb_load_bytes(skb, packet->hops_at, work->small, BOUNDED(bytes, 256)))
		return -1;
	for (__u32 i = 0; i < 255 / PPT_HOP_BYTES && i < count; i++) {
		const __u8 *hop = work->small + i * PPT_HOP_BYTES;

		work->event.hops[i] = (__u32)be16(hop) << 16 | be16(hop + 2);
	}
	work->event.hop_count = (__u8)count;
	return 0;
}

/* Append the hops of one context header to the event. Its value is at `at` and has `length` bytes.
 * Returns 0, or -1. Global, as sum_of() is. */
__noinline int read_context_hops(struct __sk_buff *skb, struct work *work, __u32 at, __u32 length)
{
	__u32 count, before;

	if (!work || length <= PPT_NSH_HEADER || length > PPT_NSH_VALUE_MAX)
		return -1;
	if (bpf_skb_load_bytes(skb, at, work->small, BOUNDED(length, 128)))
		return -1;
	before = work->event.hop_count;
	count = (length - PPT_NSH_HEADER) / PPT_NSH_HOP_BYTES;
	for (__u32 i = 0; i < HOPS_IN_CONTEXT && i < count; i++) {
		const __u8 *hop = work->small + PPT_NSH_HEADER + i * PPT_NSH_HOP_BYTES;

		if (before + i >= PPT_MAX_HOPS)
			break;
		work->event.hops[before + i] = (__u32)hop[0] << 24 | from_float(be16(hop + 1));
		work->event.hop_count++;
	}
	return 0;
}

/* Read the hops of all context headers of ours to the event. Returns 0, or -1. */
static __noinline int read_nsh_hops(struct __sk_buff *skb, struct work *work)
{
	__u32 at = work->packet.take_from;
	__u32 end = at + work->packet.total;
	struct nsh_context_hdr context;

	for (int i = 0; i < MAX_OWN_CONTEXTS; i++) {
		if (at >= end || bpf_skb_load_bytes(skb, at, &context, sizeof(context)))
			break;
		if (read_context_hops(skb, work, at + sizeof(context),
				      nsh_context_length(&context)))
			return -1;
		at += nsh_context_bytes(&context);
	}
	return 0;
}
