/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Where things are in a packet: Ethernet, VLAN tags, VXLAN-GPE, NSH, IP, TCP or UDP.
 *
 * Everything is an offset from the start of the frame.
 */
#pragma once

#include "../../packet/cursor_skb.bpf.h"
#include "../../packet/headers.h"
#include "work.bpf.h"

#define MAX_TAGS 2
#define MAX_EXTENSIONS 6

/* What locate() and its parts found. */
enum located {
	LOCATED, /* IP with TCP or UDP, or NSH with metadata */
	LOCATED_NOTHING, /* neither of these */
	LOCATED_FRAGMENT,
	LOCATED_UNSUPPORTED,
	LOCATED_MALFORMED,
};

/* Skip VLAN tags. `*type`, the EtherType in front of them, becomes that of what follows; 0: a tag
 * is cut off. */
static __always_inline void skip_tags(struct cursor *cursor, __u16 *type, struct packet *packet)
{
	__u32 at = cursor->at;

	if (!take_tags(cursor, type, TAG_CUSTOMER | TAG_SERVICE, MAX_TAGS))
		*type = 0;
	if (cursor->at != at)
		packet->tagged = 1;
}

/* Fields of an IP header, the outer or the inner one. `l4` and `end` are where the transport header
 * begins and the datagram ends. */
struct ip_fields {
	__u32 l4;
	__u32 end;
	__u8 version;
	__u8 protocol;
};

/* Read an IPv4 header at `at`. Returns enum located; LOCATED whatever it carries. */
static __noinline int parse_v4(struct __sk_buff *skb, __u32 at, struct ip_fields *fields)
{
	struct cursor cursor;
	__u32 header_bytes, total;
	const __u8 *ip;

	cursor.skb = skb;
	cursor.at = at;
	ip = peek(&cursor, IPV4_BYTES);
	header_bytes = ip ? ipv4_header_bytes(ip) : 0;
	if (!header_bytes)
		return LOCATED_MALFORMED;
	total = field16(ip + 2);
	fields->version = 4;
	fields->protocol = ip[9];
	fields->l4 = at + header_bytes;
	fields->end = at + total;
	if (total == 0) /* a super-packet beyond 64 KiB */
		return LOCATED_UNSUPPORTED;
	if (total < header_bytes || fields->end > skb->len)
		return LOCATED_MALFORMED;
	return ipv4_is_fragment(ip) ? LOCATED_FRAGMENT : LOCATED;
}

/* Read an IPv6 header at `at` with its extension headers. Returns enum located; LOCATED whatever it
 * carries. */
static __noinline int parse_v6(struct __sk_buff *skb, __u32 at, struct ip_fields *fields)
{
	struct cursor cursor;
	enum header header;
	struct ip ip;

	cursor.skb = skb;
	cursor.at = at;
	if (take_ipv6(&cursor, &ip) != HEADER_TAKEN)
		return LOCATED_MALFORMED;
	if (ip.payload_bytes == 0) /* a jumbogram, or nothing */
		return LOCATED_UNSUPPORTED;
	fields->version = 6;
	fields->end = cursor.at + ip.payload_bytes;
	if (fields->end > skb->len)
		return LOCATED_MALFORMED;
	header = take_extensions(&cursor, &ip, EXTENSION_OPTIONS, MAX_EXTENSIONS, 0);
	if (header != HEADER_TAKEN && header != HEADER_OTHER)
		return LOCATED_MALFORMED;
	fields->l4 = cursor.at;
	fields->protocol = ip.protocol;
	return ip.protocol == IPPROTO_FRAGMENT ? LOCATED_FRAGMENT : LOCATED;
}

/* Read an IP header at `at`, by its EtherType. Returns enum located; LOCATED_NOTHING: it is not
 * IP. */
static __always_inline int parse_ip(struct __sk_buff *skb, __u16 type, __u32 at,
				    struct ip_fields *fields)
{
	if (type == ETH_P_IP)
		return parse_v4(skb, at, fields);
	if (type == ETH_P_IPV6)
		return parse_v6(skb, at, fields);
	return LOCATED_NOTHING;
}

/* Find the length of the TCP header or the UDP datagram. For other protocols `packet->l4` becomes
 * 0. Returns enum located. */
static __noinline int locate_l4(struct __sk_buff *skb, struct packet *packet)
{
	__u8 header[20];

	if (packet->protocol == IPPROTO_TCP) {
		if (bpf_skb_load_bytes(skb, packet->l4, header, sizeof(header)))
			return LOCATED_MALFORMED;
		packet->l4_bytes = (header[12] >> 4) * 4;
		if (packet->l4_bytes < sizeof(header) ||
		    packet->l4 + packet->l4_bytes > packet->ip_end)
			return LOCATED_MALFORMED;
		return LOCATED;
	}
	if (packet->protocol == IPPROTO_UDP) {
		if (bpf_skb_load_bytes(skb, packet->l4, header, sizeof(struct udphdr)))
			return LOCATED_MALFORMED;
		packet->l4_bytes = be16(header + 4);
		if (packet->l4_bytes == 0) /* a jumbogram */
			return LOCATED_UNSUPPORTED;
		if (packet->l4_bytes < sizeof(struct udphdr) ||
		    packet->l4 + packet->l4_bytes > packet->ip_end)
			return LOCATED_MALFORMED;
		return LOCATED;
	}
	packet->l4 = 0;
	return LOCATED_NOTHING;
}

/* Is this VXLAN-GPE with NSH? If so, IP and UDP become the outer ones, and NSH is located. Returns
 * 1 or 0. */
static __noinline int locate_gpe(struct __sk_buff *skb, struct packet *packet)
{
	__u8 header[sizeof(struct udphdr) + sizeof(struct vxlan_gpe_hdr)];
	const struct vxlan_gpe_hdr *gpe = (const void *)(header + sizeof(struct udphdr));

	if (packet->protocol != IPPROTO_UDP)
		return 0;
	if (bpf_skb_load_bytes(skb, packet->l4, header, sizeof(header)))
		return 0;
	if (be16(header + 2) != VXLAN_GPE_UDP_PORT || !vxlan_gpe_carries_nsh(gpe))
		return 0;
	packet->outer_ip = packet->ip;
	packet->outer_udp = packet->l4;
	packet->outer_version = packet->version;
	packet->nsh = packet->l4 + sizeof(header);
	return 1;
}

/* Read the NSH. `*type` becomes the EtherType of what it carries (0: no IP), `*at` where that
 * begins. Returns LOCATED or LOCATED_MALFORMED. */
static __noinline int locate_nsh(struct __sk_buff *skb, struct packet *packet, __u32 *at,
				 __u16 *type)
{
	const struct nsh_hdr *nsh;
	struct cursor cursor;
	__u8 next;

	*type = 0;
	cursor.skb = skb;
	cursor.at = packet->nsh;
	nsh = (const void *)peek(&cursor, sizeof(*nsh));
	if (!nsh || nsh_check(nsh, skb->len - packet->nsh) != NSH_OK)
		return LOCATED_MALFORMED;
	packet->nsh_bytes = nsh_bytes(nsh);
	packet->md_type = nsh_md_type(nsh);
	next = nsh->next_protocol;
	cursor.at += packet->nsh_bytes;
	switch (take_carried(&cursor, next, type)) {
	case HEADER_TAKEN:
		skip_tags(&cursor, type, packet);
		break;
	case HEADER_OTHER:
		break;
	default:
		return LOCATED_MALFORMED;
	}
	*at = cursor.at;
	return LOCATED;
}

/* Let the packet have this IP header. */
static __always_inline void take_fields(struct packet *packet, __u32 at,
					const struct ip_fields *fields)
{
	packet->ip = at;
	packet->l4 = fields->l4;
	packet->ip_end = fields->end;
	packet->version = fields->version;
	packet->protocol = fields->protocol;
}

/* Locate NSH and the packet inside. If there is metadata of type 2, it can be used whatever the
 * packet is. Returns enum located. */
static __noinline int locate_inside(struct __sk_buff *skb, struct packet *packet)
{
	struct ip_fields fields = { 0 };
	__u32 at = 0;
	__u16 type = 0;
	int found = locate_nsh(skb, packet, &at, &type);

	packet->ip = 0;
	packet->l4 = 0;
	packet->ip_end = 0;
	packet->version = 0;
	packet->protocol = 0;
	if (found != LOCATED)
		return found;
	found = parse_ip(skb, type, at, &fields);
	if (found == LOCATED) {
		take_fields(packet, at, &fields);
		found = locate_l4(skb, packet);
		if (found != LOCATED)
			packet->l4 = 0;
	}
	return packet->l4 || packet->md_type == NSH_MD_TYPE_2 ? LOCATED : found;
}

/* Locate all headers of a frame. Returns enum located; only with LOCATED can the packet carry a
 * header of ours. */
static __noinline int locate(struct __sk_buff *skb, struct packet *packet)
{
	struct ip_fields fields = { 0 };
	struct cursor cursor;
	__u16 type;
	int found;

	__builtin_memset(packet, 0, sizeof(*packet));
	packet->length = skb->len;
	packet->gso_size = skb->gso_size;
	cursor.skb = skb;
	cursor.at = 0;
	if (!take_ethernet(&cursor, &type))
		return LOCATED_NOTHING;
	skip_tags(&cursor, &type, packet);
	if (type == NSH_ETHERTYPE) {
		packet->nsh = cursor.at;
		return locate_inside(skb, packet);
	}
	found = parse_ip(skb, type, cursor.at, &fields);
	if (found != LOCATED)
		return found;
	take_fields(packet, cursor.at, &fields);
	if (locate_gpe(skb, packet))
		return locate_inside(skb, packet);
	return locate_l4(skb, packet);
}
