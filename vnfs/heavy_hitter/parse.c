// SPDX-License-Identifier: Apache-2.0
/* Parses a frame for the native engine. */
#include <string.h>

#include <rte_byteorder.h>

#include "../../dataplane/packet/headers.h"
#include "parse.h"

static inline uint32_t be32(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return rte_be_to_cpu_32(word);
}

static inline uint64_t be64(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return rte_be_to_cpu_64(word);
}

static inline struct flow_key ipv4_key(const struct ip *ip)
{
	return (struct flow_key){
		.source_low = be32(ip->addresses),
		.destination_low = be32(ip->addresses + 4),
		.protocol = 4 << 8 | ip->protocol,
	};
}

static inline struct flow_key ipv6_key(const struct ip *ip)
{
	return (struct flow_key){
		.source_high = be64(ip->addresses),
		.source_low = be64(ip->addresses + 8),
		.destination_high = be64(ip->addresses + 16),
		.destination_low = be64(ip->addresses + 24),
		.protocol = 6 << 8 | ip->protocol,
	};
}

/* Take the ports of a flow, if it has some. Returns false if they are cut off, or if the IP header
 * announces too few bytes for them. */
static inline bool parse_ports(struct cursor cursor, const struct ip *ip, struct flow_key *key)
{
	enum header header = check_ports(cursor, ip);

	if (header == HEADER_TAKEN)
		key->ports = be32(cursor.at);
	return header == HEADER_TAKEN || header == HEADER_OTHER;
}

/* Take the key of the flow of an IP packet. Returns false if it is no IP packet, or a damaged
 * one. */
static inline bool parse_ip(struct cursor cursor, uint16_t ethertype, struct parsed *parsed)
{
	struct ip ip;

	parsed->ip = (uint8_t *)cursor.at;
	if (ethertype == ETH_P_IP && take_ipv4(&cursor, &ip) == HEADER_TAKEN)
		parsed->key = ipv4_key(&ip);
	else if (ethertype == ETH_P_IPV6 && take_ipv6(&cursor, &ip) == HEADER_TAKEN)
		parsed->key = ipv6_key(&ip);
	else
		return false;
	return parse_ports(cursor, &ip, &parsed->key);
}

/* Parse an NSH, and the packet inside. Returns COUNT_FORWARDED, or why the frame is not
 * forwarded. */
static enum counter parse_nsh(struct cursor cursor, struct parsed *parsed)
{
	const struct nsh_hdr *nsh = (const void *)cursor.at;
	uint16_t ethertype;

	parsed->nsh = (uint8_t *)nsh;
	switch (take_nsh(&cursor)) {
	case NSH_OK:
		break;
	case NSH_ERROR_VERSION:
		return COUNT_VERSION;
	case NSH_ERROR_MD_TYPE:
		return COUNT_MD_TYPE;
	case NSH_ERROR_LENGTH:
		return COUNT_LENGTH;
	default:
		return COUNT_TRUNCATED;
	}
	if (nsh_is_oam(nsh))
		return COUNT_OAM;
	if (nsh->si <= 1)
		return nsh->si ? COUNT_SI_EXHAUSTED : COUNT_SI_ZERO;
	parsed->monitored = take_carried(&cursor, nsh->next_protocol, &ethertype) == HEADER_TAKEN &&
			    take_tags(&cursor, &ethertype, TAG_CUSTOMER, 1) &&
			    parse_ip(cursor, ethertype, parsed);
	return COUNT_FORWARDED;
}

/* Are these IPv4 without options, no fragment, with UDP to the port of VXLAN-GPE? */
static inline bool is_tunnel(struct cursor cursor)
{
	const uint8_t *ip = cursor.at;

	return bytes_left(cursor) >= IPV4_BYTES + PORTS_BYTES && ip[0] == 0x45 &&
	       ip[9] == IPPROTO_UDP && !ipv4_is_fragment(ip) &&
	       be16(ip + IPV4_BYTES + 2) == VXLAN_GPE_UDP_PORT;
}

/* Parse a tunnel, and the NSH inside. Returns COUNT_FORWARDED, or why the frame is not
 * forwarded. */
static enum counter parse_tunnel(struct cursor cursor, struct parsed *parsed)
{
	const uint8_t *udp = cursor.at + IPV4_BYTES;
	enum header header;
	uint32_t udp_bytes;

	parsed->tunnel = (uint8_t *)cursor.at;
	cursor.at = udp;
	header = take_vxlan_gpe(&cursor);
	if (header != HEADER_TAKEN)
		return header == HEADER_TRUNCATED ? COUNT_TRUNCATED : COUNT_ENCAPSULATION;
	/* The packet ends where UDP's length says; padding of the frame may follow. */
	udp_bytes = be16(udp + 4);
	if (udp_bytes > (size_t)(cursor.end - udp) || udp + udp_bytes < cursor.at)
		return COUNT_TRUNCATED;
	cursor.end = udp + udp_bytes;
	return parse_nsh(cursor, parsed);
}

enum counter parse_frame(uint8_t *frame, uint32_t bytes, bool nsh_only, uint64_t mac,
			 struct parsed *parsed)
{
	struct cursor cursor = { frame, frame + bytes };
	uint16_t ethertype;

	*parsed = (struct parsed){ 0 };
	if (!take_ethernet(&cursor, &ethertype))
		return COUNT_TRUNCATED;
	if (mac && ((uint64_t)be16(frame) << 32 | be32(frame + 2)) != mac)
		return COUNT_PASSED;
	/* A frame may have two tags, of which only the first one may be a service tag. */
	if (!take_tags(&cursor, &ethertype, TAG_CUSTOMER | TAG_SERVICE, 1) ||
	    !take_tags(&cursor, &ethertype, TAG_CUSTOMER, 1))
		return COUNT_TRUNCATED;
	if (ethertype == NSH_ETHERTYPE)
		return parse_nsh(cursor, parsed);
	if (ethertype == ETH_P_IP && is_tunnel(cursor))
		return parse_tunnel(cursor, parsed);
	if (!nsh_only)
		parsed->monitored = parse_ip(cursor, ethertype, parsed);
	return nsh_only ? COUNT_PASSED : COUNT_FORWARDED;
}
