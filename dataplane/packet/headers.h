/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The headers of a packet, for BPF and userspace alike. A `take_` function checks the header at the
 * cursor, and if it is right, moves the cursor behind it; else the cursor stays in front of what is
 * wrong. A network function takes the headers that it wants, and decides what becomes of a packet
 * whose headers are cut off or malformed.
 *
 * All of it reads by peek(). A program whose packets cannot be read directly defines a `struct
 * cursor` and a peek() of its own, and HAS_CURSOR, before it includes this file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#ifdef __bpf__
#include <bpf/bpf_endian.h>
#endif

#include "../common/ip.h"
#include "../nsh/nsh.h"
#ifndef HAS_CURSOR
#include "cursor.h"
#endif

#define VLAN_BYTES 4
#define IPV4_BYTES 20 /* without options */
#define IPV6_BYTES 40
#define TCP_BYTES 20 /* without options */
#define UDP_BYTES 8
#define PORTS_BYTES 4
#define EXTENSION_BYTES 8 /* at least */
#define IPV6_FRAGMENT 0xfff9 /* in a fragment header: an offset, or more fragments */
#define IPV6_OFFSET 0xfff8

enum header {
	HEADER_TAKEN,
	HEADER_TRUNCATED, /* the capture ends within it */
	HEADER_MALFORMED, /* it contradicts itself or the packet around it */
	HEADER_OTHER, /* of another protocol */
};

/* Return a field of 16 bits as a number. In a header it is at an even address, so that BPF reads it
 * at once. */
static __always_inline __u16 field16(const __u8 *at)
{
#ifdef __bpf__
	return bpf_ntohs(*(const __be16 *)at);
#else
	return be16(at);
#endif
}

/* Loops whose bounds a BPF program knows. */
#ifdef __bpf__
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED
#endif

/* Return a number that is below `power`, a power of two. From then on, the verifier of BPF knows
 * only this of it, however it was computed. So the verifier follows what comes next only once, and
 * not for each way in which the number may come about. */
static __always_inline __u32 known_below(__u32 number, __u32 power)
{
#ifdef __bpf__
	barrier_var(number);
#endif
	return number & (power - 1);
}

/* --- link --- */

/* Take an Ethernet header; `ethertype` gets its EtherType. False: it is cut off. */
static __always_inline bool take_ethernet(struct cursor *cursor, __u16 *ethertype)
{
	const __u8 *at = peek(cursor, ETH_HLEN);

	if (!at)
		return false;
	*ethertype = field16(at + 12);
	cursor->at += ETH_HLEN;
	return true;
}

/* Kinds of VLAN tags, by EtherType. */
enum tag {
	TAG_CUSTOMER = 1, /* 0x8100 */
	TAG_SERVICE = 2, /* 0x88a8 */
	TAG_SERVICE_OLD = 4, /* 0x9100: before IEEE 802.1ad, and still in use */
	TAG_ANY = TAG_CUSTOMER | TAG_SERVICE | TAG_SERVICE_OLD,
};
#define TAGS_UNLIMITED (~0U)

static __always_inline bool is_tag(__u16 ethertype, unsigned int tags)
{
	return (ethertype == ETH_P_8021Q && tags & TAG_CUSTOMER) ||
	       (ethertype == ETH_P_8021AD && tags & TAG_SERVICE) ||
	       (ethertype == ETH_P_QINQ1 && tags & TAG_SERVICE_OLD);
}

/* Take VLAN tags of the kinds `tags`, at most so many; `ethertype` becomes that of what follows.
 * False: the capture ends within the tag at the cursor. */
static __always_inline bool take_tags(struct cursor *cursor, __u16 *ethertype, unsigned int tags,
				      unsigned int most)
{
	UNROLLED
	for (unsigned int i = 0; i < most && is_tag(*ethertype, tags); i++) {
		const __u8 *at = peek(cursor, VLAN_BYTES);

		if (!at)
			return false;
		*ethertype = field16(at + 2);
		cursor->at += VLAN_BYTES;
	}
	return true;
}

/* --- IP --- */

struct ip {
	const __u8 *addresses; /* the source, then the destination */
	__u32 header_bytes; /* with the extension headers that were taken */
	__u32 payload_bytes; /* that it announces behind them */
	__u8 version;
	__u8 traffic_class; /* the DSCP is in its upper six bits */
	__u8 protocol; /* what follows the headers that were taken */
	bool fragment; /* there are no ports, or only a part of the payload is behind them */
};

/* Return the length of an IPv4 header of which the first 20 bytes can be read; 0 if it is none. */
static __always_inline __u32 ipv4_header_bytes(const __u8 *at)
{
	__u32 bytes = (at[0] & 0x0fU) * 4;

	return at[0] >> 4 == 4 && bytes >= IPV4_BYTES ? bytes : 0;
}

static __always_inline bool ipv4_is_fragment(const __u8 *at)
{
	return field16(at + 6) & IP_FRAGMENT;
}

/* Later fragments have no header of what the first one carries. */
static __always_inline bool ipv4_is_later_fragment(const __u8 *at)
{
	return field16(at + 6) & IP_OFFSET;
}

/* Take an IPv4 header with its options. Checksums are not verified. */
static __always_inline enum header take_ipv4(struct cursor *cursor, struct ip *ip)
{
	const __u8 *at = peek(cursor, IPV4_BYTES);
	__u32 bytes, total;

	if (!at)
		return HEADER_TRUNCATED;
	bytes = ipv4_header_bytes(at);
	total = field16(at + 2);
	if (!bytes || total < bytes)
		return HEADER_MALFORMED;
	if (!peek(cursor, bytes))
		return HEADER_TRUNCATED;
	*ip = (struct ip){
		.addresses = at + 12,
		.header_bytes = bytes,
		.payload_bytes = total - bytes,
		.version = 4,
		.traffic_class = at[1],
		.protocol = at[9],
		.fragment = ipv4_is_fragment(at),
	};
	cursor->at += bytes;
	return HEADER_TAKEN;
}

/* Take the fixed header of IPv6 alone. It does not say whether the packet is a fragment. */
static __always_inline enum header take_ipv6(struct cursor *cursor, struct ip *ip)
{
	const __u8 *at = peek(cursor, IPV6_BYTES);

	if (!at)
		return HEADER_TRUNCATED;
	if (at[0] >> 4 != 6)
		return HEADER_MALFORMED;
	*ip = (struct ip){
		.addresses = at + 8,
		.header_bytes = IPV6_BYTES,
		.payload_bytes = field16(at + 4),
		.version = 6,
		.traffic_class = (__u8)(field16(at) >> 4),
		.protocol = at[6],
	};
	cursor->at += IPV6_BYTES;
	return HEADER_TAKEN;
}

static __always_inline bool is_ip(__u16 ethertype)
{
	return ethertype == ETH_P_IP || ethertype == ETH_P_IPV6;
}

/* Extension headers of IPv6 that can be skipped (RFC 8200, RFC 4302). */
enum extension {
	EXTENSION_OPTIONS = 1, /* hop-by-hop and destination options, routing */
	EXTENSION_FRAGMENT = 2,
	EXTENSION_AUTHENTICATION = 4,
	EXTENSION_USUAL = EXTENSION_OPTIONS | EXTENSION_FRAGMENT | EXTENSION_AUTHENTICATION,
};
#define PAYLOAD_UNCHECKED (~0U) /* `payload_bytes`: extension headers may be longer than it */

/* Return how many bytes an extension header of this protocol takes; 0 if it is none of `kinds`.
 * `length` is the second byte of the header. */
static __always_inline __u32 extension_bytes(__u8 protocol, __u8 length, unsigned int kinds)
{
	switch (protocol) {
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_DSTOPTS:
		return kinds & EXTENSION_OPTIONS ? (length + 1) * 8 : 0;
	case IPPROTO_FRAGMENT:
		return kinds & EXTENSION_FRAGMENT ? 8 : 0;
	case IPPROTO_AH:
		return kinds & EXTENSION_AUTHENTICATION ? (length + 2) * 4 : 0;
	default:
		return 0;
	}
}

/* Take extension headers of IPv6, those of `kinds`. None is taken behind a fragment header that has
 * one of the bits `fragment`: IPV6_FRAGMENT, or IPV6_OFFSET for later fragments alone. The end of
 * the last header may be cut off, which the next peek() sees. HEADER_OTHER: there are more than
 * `most`. */
static __always_inline enum header take_extensions(struct cursor *cursor, struct ip *ip,
						   unsigned int kinds, unsigned int most,
						   __u16 fragment)
{
	/* With any length, extension_bytes() is not 0 if the protocol is one of `kinds`. */
	UNROLLED
	for (unsigned int i = 0; extension_bytes(ip->protocol, 0, kinds) && !ip->fragment; i++) {
		const __u8 *at;
		__u32 bytes;

		if (i == most)
			return HEADER_OTHER;
		if (ip->payload_bytes < EXTENSION_BYTES)
			return HEADER_MALFORMED;
		at = peek(cursor, EXTENSION_BYTES);
		if (!at)
			return HEADER_TRUNCATED;
		bytes = known_below(extension_bytes(ip->protocol, at[1], kinds), 0x1000);
		if (ip->payload_bytes < bytes)
			return HEADER_MALFORMED;
		if (ip->protocol == IPPROTO_FRAGMENT)
			ip->fragment = field16(at + 2) & fragment;
		ip->protocol = at[0];
		ip->header_bytes += bytes;
		ip->payload_bytes -= bytes;
		cursor->at += bytes;
	}
	return HEADER_TAKEN;
}

/* --- transport --- */

/* Are ports there? HEADER_OTHER: the protocol has none, or this is a fragment. The cursor stays in
 * front of them. */
static __always_inline enum header check_ports(struct cursor cursor, const struct ip *ip)
{
	if (!has_ports(ip->protocol) || ip->fragment)
		return HEADER_OTHER;
	if (ip->payload_bytes < PORTS_BYTES)
		return HEADER_MALFORMED;
	return peek(&cursor, PORTS_BYTES) ? HEADER_TAKEN : HEADER_TRUNCATED;
}

/* Is a header of TCP or UDP there, all of it but TCP's options? HEADER_OTHER: of another protocol,
 * or a fragment. The cursor stays in front of it; `bytes` are those of the header with its
 * options. */
static __always_inline enum header check_transport(struct cursor cursor, const struct ip *ip,
						   __u32 *bytes)
{
	const bool tcp = ip->protocol == IPPROTO_TCP;
	const __u32 least = tcp ? TCP_BYTES : UDP_BYTES;
	const __u8 *at;

	if ((!tcp && ip->protocol != IPPROTO_UDP) || ip->fragment)
		return HEADER_OTHER;
	at = peek(&cursor, least);
	if (!at)
		return HEADER_TRUNCATED;
	*bytes = tcp ? (__u32)(at[12] >> 4) * 4 : least;
	return *bytes < least || *bytes > ip->payload_bytes ? HEADER_MALFORMED : HEADER_TAKEN;
}

/* --- NSH and its encapsulation --- */

/* Take an NSH. nsh_check() is told of the largest length, since peek() knows how much is there. */
static __always_inline enum nsh_error take_nsh(struct cursor *cursor)
{
	const struct nsh_hdr *nsh = (const void *)peek(cursor, sizeof(*nsh));
	enum nsh_error error = nsh ? nsh_check(nsh, NSH_MAX_BYTES) : NSH_ERROR_TRUNCATED;

	if (error != NSH_OK)
		return error;
	if (!peek(cursor, nsh_bytes(nsh)))
		return NSH_ERROR_TRUNCATED;
	cursor->at += nsh_bytes(nsh);
	return NSH_OK;
}

/* Take what is between the NSH and the packet that it carries: an Ethernet header, or nothing.
 * `ethertype` gets that of the packet. HEADER_OTHER: the NSH carries neither IP nor Ethernet. */
static __always_inline enum header take_carried(struct cursor *cursor, __u8 next_protocol,
						__u16 *ethertype)
{
	switch (next_protocol) {
	case NSH_NEXT_IPV4:
		*ethertype = ETH_P_IP;
		return HEADER_TAKEN;
	case NSH_NEXT_IPV6:
		*ethertype = ETH_P_IPV6;
		return HEADER_TAKEN;
	case NSH_NEXT_ETHERNET:
		return take_ethernet(cursor, ethertype) ? HEADER_TAKEN : HEADER_TRUNCATED;
	default:
		return HEADER_OTHER;
	}
}

/* Is a header of IP in front of UDP there? `bytes` gets its length; IPv4's options may be cut off.
 * The cursor stays in front of it. HEADER_OTHER: it is malformed, or in front of something else,
 * which a fragment is as well. */
static __always_inline enum header check_outer_ip(struct cursor cursor, __u16 ethertype,
						  __u32 *bytes)
{
	const __u8 *at;
	bool udp = false;

	if (ethertype == ETH_P_IP) {
		at = peek(&cursor, IPV4_BYTES);
		*bytes = at ? ipv4_header_bytes(at) : 0;
		udp = *bytes && at[9] == IPPROTO_UDP && !ipv4_is_fragment(at);
	} else if (ethertype == ETH_P_IPV6) {
		at = peek(&cursor, IPV6_BYTES);
		*bytes = IPV6_BYTES;
		udp = at && at[0] >> 4 == 6 && at[6] == IPPROTO_UDP;
	} else {
		return HEADER_OTHER;
	}
	if (!at)
		return HEADER_TRUNCATED;
	return udp ? HEADER_TAKEN : HEADER_OTHER;
}

/* Take the headers of UDP and VXLAN-GPE in front of an NSH. HEADER_OTHER: there are none. */
static __always_inline enum header take_vxlan_gpe(struct cursor *cursor)
{
	const __u32 bytes = UDP_BYTES + sizeof(struct vxlan_gpe_hdr);
	const __u8 *udp = peek(cursor, UDP_BYTES);

	if (!udp)
		return HEADER_TRUNCATED;
	if (field16(udp + 2) != VXLAN_GPE_UDP_PORT)
		return HEADER_OTHER;
	if (!peek(cursor, bytes))
		return HEADER_TRUNCATED;
	if (!vxlan_gpe_carries_nsh((const void *)(udp + UDP_BYTES)))
		return HEADER_OTHER;
	cursor->at += bytes;
	return HEADER_TAKEN;
}

/* Take the headers of IP, UDP and VXLAN-GPE in front of an NSH: all of them, or else none. */
static __always_inline enum header take_tunnel(struct cursor *cursor, __u16 ethertype)
{
	struct cursor rest = *cursor;
	__u32 bytes;
	enum header header = check_outer_ip(rest, ethertype, &bytes);

	if (header != HEADER_TAKEN)
		return header;
	if (!peek(&rest, bytes))
		return HEADER_TRUNCATED;
	rest.at += bytes;
	header = take_vxlan_gpe(&rest);
	if (header == HEADER_TAKEN)
		*cursor = rest;
	return header;
}
