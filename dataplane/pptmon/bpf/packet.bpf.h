/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Where things are in a packet: Ethernet, VLAN tags, VXLAN-GPE, NSH, IP, TCP or UDP.
 *
 * Everything is an offset from the start of the frame, read by bpf_skb_load_bytes(), which works
 * for packets of any layout in memory.
 */
#pragma once

#include "work.bpf.h"

#define MAX_TAGS 2
#define MAX_EXTENSIONS 6

enum located {
	LOCATED, /* IP with TCP or UDP, or NSH with metadata */
	LOCATED_NOTHING, /* neither of these */
	LOCATED_FRAGMENT,
	LOCATED_UNSUPPORTED,
	LOCATED_MALFORMED,
};

/* Skip VLAN tags: returns the EtherType behind them and moves `at` there. */
static __always_inline __u16 skip_tags(struct __sk_buff *skb, __u16 type, __u32 *at, __u8 *tagged)
{
	__u8 tag[4];

	for (int i = 0; i < MAX_TAGS; i++) {
		if (type != ETH_P_8021Q && type != ETH_P_8021AD)
			break;
		if (bpf_skb_load_bytes(skb, *at, tag, sizeof(tag)))
			return 0;
		type = be16(tag + 2);
		*at += sizeof(tag);
		*tagged = 1;
	}
	return type;
}

/* Fields of an IP header, for the outer and the inner one. */
struct ip_fields {
	__u32 l4;
	__u32 end;
	__u8 version;
	__u8 protocol;
};

static __noinline int parse_v4(struct __sk_buff *skb, __u32 at, struct ip_fields *fields)
{
	__u8 header[20];
	__u32 header_bytes, total;

	if (bpf_skb_load_bytes(skb, at, header, sizeof(header)))
		return LOCATED_MALFORMED;
	header_bytes = (header[0] & 0x0f) * 4;
	total = be16(header + 2);
	fields->version = 4;
	fields->protocol = header[9];
	fields->l4 = at + header_bytes;
	fields->end = at + total;
	if (header[0] >> 4 != 4 || header_bytes < sizeof(header))
		return LOCATED_MALFORMED;
	if (total == 0) /* a super-packet beyond 64 KiB */
		return LOCATED_UNSUPPORTED;
	if (total < header_bytes || fields->end > skb->len)
		return LOCATED_MALFORMED;
	return be16(header + 6) & 0x3fff ? LOCATED_FRAGMENT : LOCATED;
}

static __noinline int parse_v6(struct __sk_buff *skb, __u32 at, struct ip_fields *fields)
{
	__u8 header[40];
	__u8 next, extension[2];
	__u32 payload;

	if (bpf_skb_load_bytes(skb, at, header, sizeof(header)))
		return LOCATED_MALFORMED;
	if (header[0] >> 4 != 6)
		return LOCATED_MALFORMED;
	payload = be16(header + 4);
	fields->version = 6;
	fields->l4 = at + sizeof(header);
	fields->end = fields->l4 + payload;
	if (payload == 0) /* a jumbogram, or nothing */
		return LOCATED_UNSUPPORTED;
	if (fields->end > skb->len)
		return LOCATED_MALFORMED;
	next = header[6];
	for (int i = 0; i < MAX_EXTENSIONS; i++) {
		if (next == IPPROTO_FRAGMENT)
			return LOCATED_FRAGMENT;
		if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS)
			break;
		if (bpf_skb_load_bytes(skb, fields->l4, extension, sizeof(extension)))
			return LOCATED_MALFORMED;
		next = extension[0];
		fields->l4 += (extension[1] + 1) * 8;
		if (fields->l4 > fields->end)
			return LOCATED_MALFORMED;
	}
	fields->protocol = next;
	return LOCATED;
}

static __always_inline int parse_ip(struct __sk_buff *skb, __u16 type, __u32 at,
				    struct ip_fields *fields)
{
	if (type == ETH_P_IP)
		return parse_v4(skb, at, fields);
	if (type == ETH_P_IPV6)
		return parse_v6(skb, at, fields);
	return LOCATED_NOTHING;
}

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

/* Is this VXLAN-GPE with NSH? If so, it becomes the outer header. */
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

/* What NSH carries: EtherType (0: no IP), and where it begins. */
static __noinline int locate_nsh(struct __sk_buff *skb, struct packet *packet, __u32 *at,
				 __u16 *type)
{
	struct nsh_hdr nsh;
	__u8 ethernet[ETH_HLEN];

	*type = 0;
	if (bpf_skb_load_bytes(skb, packet->nsh, &nsh, sizeof(nsh)))
		return LOCATED_MALFORMED;
	if (nsh_check(&nsh, skb->len - packet->nsh) != NSH_OK)
		return LOCATED_MALFORMED;
	packet->nsh_bytes = nsh_bytes(&nsh);
	packet->md_type = nsh_md_type(&nsh);
	*at = packet->nsh + packet->nsh_bytes;
	switch (nsh.next_protocol) {
	case NSH_NEXT_IPV4:
		*type = ETH_P_IP;
		break;
	case NSH_NEXT_IPV6:
		*type = ETH_P_IPV6;
		break;
	case NSH_NEXT_ETHERNET:
		if (bpf_skb_load_bytes(skb, *at, ethernet, sizeof(ethernet)))
			return LOCATED_MALFORMED;
		*at += sizeof(ethernet);
		*type = skip_tags(skb, be16(ethernet + 12), at, &packet->tagged);
		break;
	}
	return LOCATED;
}

static __always_inline void take_fields(struct packet *packet, __u32 at,
					const struct ip_fields *fields)
{
	packet->ip = at;
	packet->l4 = fields->l4;
	packet->ip_end = fields->end;
	packet->version = fields->version;
	packet->protocol = fields->protocol;
}

/* Inside NSH, whose metadata can be used whatever the payload is. */
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

static __noinline int locate(struct __sk_buff *skb, struct packet *packet)
{
	struct ip_fields fields = { 0 };
	__u8 ethernet[ETH_HLEN];
	__u32 at = ETH_HLEN;
	__u16 type;
	int found;

	__builtin_memset(packet, 0, sizeof(*packet));
	packet->length = skb->len;
	packet->gso_size = skb->gso_size;
	if (bpf_skb_load_bytes(skb, 0, ethernet, sizeof(ethernet)))
		return LOCATED_NOTHING;
	type = skip_tags(skb, be16(ethernet + 12), &at, &packet->tagged);
	if (type == NSH_ETHERTYPE) {
		packet->nsh = at;
		return locate_inside(skb, packet);
	}
	found = parse_ip(skb, type, at, &fields);
	if (found != LOCATED)
		return found;
	take_fields(packet, at, &fields);
	if (locate_gpe(skb, packet))
		return locate_inside(skb, packet);
	return locate_l4(skb, packet);
}
