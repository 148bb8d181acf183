// SPDX-License-Identifier: Apache-2.0
/* Parses packets for the extraction. */
#include <string.h>

#include "../../dataplane/packet/headers.h"
#include "packet.h"

#define TCP_FLAGS_AT 13
#define MOST_EXTENSIONS 8

/* Set the ends in the packet's key, the lower one first, and which of them is the source.
 * `addresses`: source and destination. */
static void order_ends(struct packet *packet, const uint8_t *addresses, size_t address_bytes,
		       uint16_t source_port, uint16_t destination_port)
{
	int difference = memcmp(addresses, addresses + address_bytes, address_bytes);
	uint16_t ports[2] = { source_port, destination_port };

	if (difference == 0)
		difference = memcmp(&ports[0], &ports[1], sizeof(ports[0]));
	packet->source = difference > 0;
	memcpy(packet->key.addresses[packet->source], addresses, address_bytes);
	memcpy(packet->key.addresses[!packet->source], addresses + address_bytes, address_bytes);
	packet->key.ports[packet->source] = source_port;
	packet->key.ports[!packet->source] = destination_port;
}

/* Parse an IP packet. Each version gets code of its own, for a constant `ethertype`. */
static __always_inline enum parsed parse_version(struct cursor cursor, uint16_t ethertype,
						 struct packet *packet)
{
	const bool ipv4 = ethertype == ETH_P_IP;
	uint16_t ports[2] = { 0, 0 };
	uint32_t transport_bytes = 0;
	struct ip ip;

	if ((ipv4 ? take_ipv4(&cursor, &ip) : take_ipv6(&cursor, &ip)) != HEADER_TAKEN ||
	    (!ipv4 && take_extensions(&cursor, &ip, EXTENSION_USUAL, MOST_EXTENSIONS,
				      IPV6_FRAGMENT) != HEADER_TAKEN) ||
	    !peek(&cursor, 0)) /* the last extension header is cut off */
		return PARSED_MALFORMED;
	switch (check_transport(cursor, &ip, &transport_bytes)) {
	case HEADER_TAKEN:
		memcpy(ports, cursor.at, sizeof(ports));
		if (ip.protocol == IPPROTO_TCP)
			packet->tcp_flags = cursor.at[TCP_FLAGS_AT];
		break;
	case HEADER_OTHER:
		break;
	default:
		return PARSED_MALFORMED;
	}
	packet->bytes = ip.header_bytes + ip.payload_bytes;
	packet->header_bytes = ip.header_bytes + transport_bytes;
	packet->dscp = ip.traffic_class >> 2;
	packet->key.version = ip.version;
	packet->key.protocol = ip.protocol;
	order_ends(packet, ip.addresses, ipv4 ? 4 : 16, ports[0], ports[1]);
	return PARSED;
}

static enum parsed parse_network(struct cursor cursor, uint16_t ethertype, struct packet *packet)
{
	if (ethertype == ETH_P_IP)
		return parse_version(cursor, ETH_P_IP, packet);
	return ethertype == ETH_P_IPV6 ? parse_version(cursor, ETH_P_IPV6, packet) : PARSED_NOT_IP;
}

/* Parse an NSH, and the packet that it carries. */
static enum parsed parse_nsh(struct cursor cursor, struct packet *packet)
{
	const struct nsh_hdr *nsh = (const void *)cursor.at;
	uint16_t ethertype;

	if (take_nsh(&cursor) != NSH_OK)
		return PARSED_MALFORMED;
	switch (take_carried(&cursor, nsh->next_protocol, &ethertype)) {
	case HEADER_TAKEN:
		return parse_network(cursor, ethertype, packet);
	case HEADER_OTHER:
		return PARSED_NOT_IP;
	default:
		return PARSED_MALFORMED;
	}
}

enum parsed packet_parse_payload(struct cursor cursor, uint16_t ethertype, struct packet *packet)
{
	memset(packet, 0, sizeof(*packet));
	/* If a tag is cut off, `ethertype` stays that of a tag, and so is not IP. */
	take_tags(&cursor, &ethertype, TAG_ANY, TAGS_UNLIMITED);
	if (ethertype == NSH_ETHERTYPE ||
	    (ethertype == ETH_P_IP && take_tunnel(&cursor, ETH_P_IP) == HEADER_TAKEN))
		return parse_nsh(cursor, packet);
	return parse_network(cursor, ethertype, packet);
}

enum parsed packet_parse(const uint8_t *frame, uint32_t bytes, struct packet *packet)
{
	struct cursor cursor = { frame, frame + bytes };
	uint16_t ethertype;

	if (!take_ethernet(&cursor, &ethertype))
		return PARSED_NOT_IP;
	return packet_parse_payload(cursor, ethertype, packet);
}
