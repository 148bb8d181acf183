/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The headers of a packet, for userspace. A `take_` function checks the header at the cursor, and if it
 * is right, moves the cursor behind it. A network function takes the headers that it wants, and decides
 * what becomes of a packet whose headers are cut off or malformed.
 */
#pragma once

#include <stdbool.h>

#include <linux/if_ether.h>
#include <linux/in.h>

#include "../common/ip.h"
#include "../common/ipv6_extensions.h"
#include "../nsh/nsh.h"
#include "cursor.h"

#define VLAN_BYTES 4
#define IPV4_BYTES 20 /* without options */
#define IPV6_BYTES 40
#define TCP_BYTES 20 /* without options */
#define UDP_BYTES 8
#define PORTS_BYTES 4
#define MOST_EXTENSIONS 8 /* of an IPv6 packet */
#define IPV6_FRAGMENT 0xfff9 /* in a fragment header: an offset, or more fragments */

enum header {
	HEADER_TAKEN,
	HEADER_TRUNCATED, /* the capture ends within it */
	HEADER_MALFORMED, /* it contradicts itself or the packet around it */
	HEADER_OTHER, /* of another protocol */
};

/* --- link --- */

static inline bool take_ethernet(struct cursor *cursor, uint16_t *ethertype)
{
	if (bytes_left(*cursor) < ETH_HLEN)
		return false;
	*ethertype = be16(cursor->at + 12);
	cursor->at += ETH_HLEN;
	return true;
}

/* VLAN tags, by EtherType. */
enum tag {
	TAG_CUSTOMER = 1, /* 0x8100 */
	TAG_SERVICE = 2, /* 0x88a8 */
	TAG_SERVICE_OLD = 4, /* 0x9100: before IEEE 802.1ad, and still in use */
	TAG_ANY = TAG_CUSTOMER | TAG_SERVICE | TAG_SERVICE_OLD,
};
#define TAGS_UNLIMITED UINT32_MAX

static inline bool is_tag(uint16_t ethertype, unsigned int tags)
{
	return (ethertype == ETH_P_8021Q && tags & TAG_CUSTOMER) ||
	       (ethertype == ETH_P_8021AD && tags & TAG_SERVICE) ||
	       (ethertype == ETH_P_QINQ1 && tags & TAG_SERVICE_OLD);
}

/* At most so many VLAN tags, of those in `tags`; `ethertype` becomes that of what follows. False: the
 * capture ends within the tag at the cursor. */
static inline bool take_tags(struct cursor *cursor, uint16_t *ethertype, unsigned int tags,
			     unsigned int most)
{
	while (is_tag(*ethertype, tags) && most--) {
		if (bytes_left(*cursor) < VLAN_BYTES)
			return false;
		*ethertype = be16(cursor->at + 2);
		cursor->at += VLAN_BYTES;
	}
	return true;
}

/* --- IP --- */

struct ip {
	const uint8_t *addresses; /* the source, then the destination */
	uint32_t header_bytes; /* with the extension headers that were taken */
	uint32_t payload_bytes; /* that it announces behind them */
	uint8_t version;
	uint8_t traffic_class; /* the DSCP is in its upper six bits */
	uint8_t protocol; /* what follows the headers that were taken */
	bool fragment; /* there are no ports, or only a part of the payload is behind them */
};

/* Bytes of an IPv4 header of which the first 20 can be read, or 0: it is none. */
static inline uint32_t ipv4_header_bytes(const uint8_t *at)
{
	uint32_t bytes = (at[0] & 0x0fU) * 4;

	return at[0] >> 4 == 4 && bytes >= IPV4_BYTES ? bytes : 0;
}

static inline bool ipv4_is_fragment(const uint8_t *at)
{
	return be16(at + 6) & IP_FRAGMENT;
}

/* Checksums are not verified. */
static inline enum header take_ipv4(struct cursor *cursor, struct ip *ip)
{
	const uint8_t *at = cursor->at;
	uint32_t bytes, total;

	if (bytes_left(*cursor) < IPV4_BYTES)
		return HEADER_TRUNCATED;
	bytes = ipv4_header_bytes(at);
	total = be16(at + 2);
	if (!bytes || total < bytes)
		return HEADER_MALFORMED;
	if (bytes_left(*cursor) < bytes)
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

/* The fixed header alone, which tells of no fragment. */
static inline enum header take_ipv6(struct cursor *cursor, struct ip *ip)
{
	const uint8_t *at = cursor->at;

	if (bytes_left(*cursor) < IPV6_BYTES)
		return HEADER_TRUNCATED;
	if (at[0] >> 4 != 6)
		return HEADER_MALFORMED;
	*ip = (struct ip){
		.addresses = at + 8,
		.header_bytes = IPV6_BYTES,
		.payload_bytes = be16(at + 4),
		.version = 6,
		.traffic_class = (uint8_t)(be16(at) >> 4),
		.protocol = at[6],
	};
	cursor->at += IPV6_BYTES;
	return HEADER_TAKEN;
}

static inline bool is_ip(uint16_t ethertype)
{
	return ethertype == ETH_P_IP || ethertype == ETH_P_IPV6;
}

/* The extension headers of IPv6, up to one that tells of a fragment. */
static inline enum header take_extensions(struct cursor *cursor, struct ip *ip)
{
	for (int i = 0; extension_bytes(ip->protocol, 0) && !ip->fragment; i++) {
		const uint8_t *at = cursor->at;
		uint32_t bytes;

		if (i == MOST_EXTENSIONS)
			return HEADER_MALFORMED;
		if (bytes_left(*cursor) < 8)
			return HEADER_TRUNCATED;
		bytes = extension_bytes(ip->protocol, at[1]);
		if (ip->payload_bytes < bytes)
			return HEADER_MALFORMED;
		if (bytes_left(*cursor) < bytes)
			return HEADER_TRUNCATED;
		if (ip->protocol == IPPROTO_FRAGMENT)
			ip->fragment = be16(at + 2) & IPV6_FRAGMENT;
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
static inline enum header check_ports(struct cursor cursor, const struct ip *ip)
{
	if (!has_ports(ip->protocol) || ip->fragment)
		return HEADER_OTHER;
	if (ip->payload_bytes < PORTS_BYTES)
		return HEADER_MALFORMED;
	return bytes_left(cursor) < PORTS_BYTES ? HEADER_TRUNCATED : HEADER_TAKEN;
}

/* Is a header of TCP or UDP there, all of it but TCP's options? HEADER_OTHER: of another protocol, or
 * a fragment. The cursor stays in front of it; `bytes` are those of the header with its options. */
static inline enum header check_transport(struct cursor cursor, const struct ip *ip,
					  uint32_t *bytes)
{
	const bool tcp = ip->protocol == IPPROTO_TCP;
	const uint32_t least = tcp ? TCP_BYTES : UDP_BYTES;

	if ((!tcp && ip->protocol != IPPROTO_UDP) || ip->fragment)
		return HEADER_OTHER;
	if (bytes_left(cursor) < least)
		return HEADER_TRUNCATED;
	*bytes = tcp ? (uint32_t)(cursor.at[12] >> 4) * 4 : least;
	return *bytes < least || *bytes > ip->payload_bytes ? HEADER_MALFORMED : HEADER_TAKEN;
}

/* --- NSH and its encapsulation --- */

static inline enum nsh_error take_nsh(struct cursor *cursor)
{
	const struct nsh_hdr *nsh = (const void *)cursor->at;
	enum nsh_error error = nsh_check(nsh, bytes_left(*cursor));

	if (error == NSH_OK)
		cursor->at += nsh_bytes(nsh);
	return error;
}

/* What the NSH carries, with its Ethernet header if it has one. HEADER_OTHER: neither IP nor Ethernet. */
static inline enum header take_carried(struct cursor *cursor, uint8_t next_protocol,
				       uint16_t *ethertype)
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

/* Bytes of the IP header in front of UDP, of which IPv4's options may be cut off. HEADER_OTHER: it is
 * malformed, or in front of something else. */
static inline enum header check_outer_ip(struct cursor cursor, uint16_t ethertype, uint32_t *bytes)
{
	const uint8_t *at = cursor.at;
	bool udp;

	if (!is_ip(ethertype))
		return HEADER_OTHER;
	if (bytes_left(cursor) < (ethertype == ETH_P_IP ? IPV4_BYTES : IPV6_BYTES))
		return HEADER_TRUNCATED;
	if (ethertype == ETH_P_IP) {
		*bytes = ipv4_header_bytes(at);
		udp = *bytes && at[9] == IPPROTO_UDP && !ipv4_is_fragment(at);
	} else {
		*bytes = IPV6_BYTES;
		udp = at[0] >> 4 == 6 && at[6] == IPPROTO_UDP;
	}
	return udp ? HEADER_TAKEN : HEADER_OTHER;
}

/* UDP and VXLAN-GPE in front of an NSH. HEADER_OTHER: in front of something else. */
static inline enum header take_vxlan_gpe(struct cursor *cursor)
{
	const uint8_t *udp = cursor->at;
	const uint32_t bytes = UDP_BYTES + sizeof(struct vxlan_gpe_hdr);

	if (bytes_left(*cursor) < UDP_BYTES)
		return HEADER_TRUNCATED;
	if (be16(udp + 2) != VXLAN_GPE_UDP_PORT)
		return HEADER_OTHER;
	if (bytes_left(*cursor) < bytes)
		return HEADER_TRUNCATED;
	if (!vxlan_gpe_carries_nsh((const void *)(udp + UDP_BYTES)))
		return HEADER_OTHER;
	cursor->at += bytes;
	return HEADER_TAKEN;
}

/* IP, UDP and VXLAN-GPE in front of an NSH. The cursor stays if they are not. */
static inline enum header take_tunnel(struct cursor *cursor, uint16_t ethertype)
{
	struct cursor rest = *cursor;
	uint32_t bytes;
	enum header header = check_outer_ip(rest, ethertype, &bytes);

	if (header != HEADER_TAKEN)
		return header;
	if (bytes_left(rest) < bytes)
		return HEADER_TRUNCATED;
	rest.at += bytes;
	header = take_vxlan_gpe(&rest);
	if (header == HEADER_TAKEN)
		*cursor = rest;
	return header;
}
