// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include "../../dataplane/common/ip.h"
#include "../../dataplane/common/ipv6_extensions.h"
#include "../../dataplane/nsh/nsh.h"
#include "packet.h"

#define VLAN_BYTES 4
#define TCP_FLAGS_AT 13
#define FRAGMENT_IPV6 0xfff9 /* IP_FRAGMENT in a fragment header */
#define MOST_EXTENSIONS 8

/* Not captured beyond `end`; the packet itself may be longer. */
struct bytes {
	const uint8_t *at;
	const uint8_t *end;
};

static uint32_t left(struct bytes bytes)
{
	return (uint32_t)(bytes.end - bytes.at);
}

/* The lower end first. */
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

/* The transport header, whose packet has `announced` bytes from there on. */
static enum parsed parse_transport(struct bytes rest, uint32_t announced, bool fragment,
				   uint16_t ports[2], struct packet *packet)
{
	uint32_t header = 0;

	if (!fragment && packet->key.protocol == IPPROTO_TCP) {
		if (left(rest) < sizeof(struct tcphdr) || announced < sizeof(struct tcphdr))
			return PARSED_MALFORMED;
		header = (uint32_t)(rest.at[12] >> 4) * 4;
		if (header < sizeof(struct tcphdr) || header > announced)
			return PARSED_MALFORMED;
		packet->tcp_flags = rest.at[TCP_FLAGS_AT];
	} else if (!fragment && packet->key.protocol == IPPROTO_UDP) {
		header = sizeof(struct udphdr);
		if (left(rest) < header || announced < header)
			return PARSED_MALFORMED;
	}
	if (header)
		memcpy(ports, rest.at, 4);
	packet->header_bytes += header;
	return PARSED;
}

static enum parsed parse_ipv4(struct bytes rest, struct packet *packet)
{
	const uint8_t *ip = rest.at;
	uint16_t ports[2] = { 0, 0 };
	uint32_t header, total;
	enum parsed parsed;

	if (left(rest) < sizeof(struct iphdr))
		return PARSED_MALFORMED;
	header = (ip[0] & 0x0f) * 4U;
	total = be16(ip + 2);
	if (ip[0] >> 4 != 4 || header < sizeof(struct iphdr) || total < header ||
	    left(rest) < header)
		return PARSED_MALFORMED;
	packet->bytes = total;
	packet->header_bytes = header;
	packet->dscp = ip[1] >> 2;
	packet->key.version = 4;
	packet->key.protocol = ip[9];
	rest.at += header;
	parsed = parse_transport(rest, total - header, be16(ip + 6) & IP_FRAGMENT, ports, packet);
	order_ends(packet, ip + 12, 4, ports[0], ports[1]);
	return parsed;
}

/* Leaves `rest` behind the extension headers, which are among `announced` bytes. */
static enum parsed skip_extensions(struct bytes *rest, uint32_t *announced, bool *fragment,
				   struct packet *packet)
{
	uint8_t protocol = packet->key.protocol;

	for (int i = 0; extension_bytes(protocol, 0) && !*fragment; i++) {
		const uint8_t *header = rest->at;
		uint32_t bytes;

		if (i == MOST_EXTENSIONS || left(*rest) < 8 || *announced < 8)
			return PARSED_MALFORMED;
		bytes = extension_bytes(protocol, header[1]);
		if (left(*rest) < bytes || *announced < bytes)
			return PARSED_MALFORMED;
		if (protocol == IPPROTO_FRAGMENT)
			*fragment = be16(header + 2) & FRAGMENT_IPV6;
		protocol = header[0];
		rest->at += bytes;
		*announced -= bytes;
		packet->header_bytes += bytes;
	}
	packet->key.protocol = protocol;
	return PARSED;
}

static enum parsed parse_ipv6(struct bytes rest, struct packet *packet)
{
	const uint8_t *ip = rest.at;
	uint16_t ports[2] = { 0, 0 };
	bool fragment = false;
	uint32_t announced;
	enum parsed parsed;

	if (left(rest) < sizeof(struct ipv6hdr) || ip[0] >> 4 != 6)
		return PARSED_MALFORMED;
	announced = be16(ip + 4);
	packet->bytes = (uint32_t)sizeof(struct ipv6hdr) + announced;
	packet->header_bytes = sizeof(struct ipv6hdr);
	packet->dscp = (uint8_t)(be16(ip) >> 6 & 0x3f);
	packet->key.version = 6;
	packet->key.protocol = ip[6];
	rest.at += sizeof(struct ipv6hdr);
	parsed = skip_extensions(&rest, &announced, &fragment, packet);
	if (parsed == PARSED)
		parsed = parse_transport(rest, announced, fragment, ports, packet);
	order_ends(packet, ip + 8, 16, ports[0], ports[1]);
	return parsed;
}

static enum parsed parse_network(struct bytes rest, uint16_t ethertype, struct packet *packet)
{
	if (ethertype == ETH_P_IP)
		return parse_ipv4(rest, packet);
	return ethertype == ETH_P_IPV6 ? parse_ipv6(rest, packet) : PARSED_NOT_IP;
}

static enum parsed parse_nsh(struct bytes rest, struct packet *packet)
{
	const struct nsh_hdr *nsh = (const void *)rest.at;

	if (left(rest) < sizeof(*nsh) || nsh_check((void *)rest.at, left(rest)) != NSH_OK)
		return PARSED_MALFORMED;
	rest.at += nsh_bytes(nsh);
	switch (nsh->next_protocol) {
	case NSH_NEXT_IPV4:
		return parse_ipv4(rest, packet);
	case NSH_NEXT_IPV6:
		return parse_ipv6(rest, packet);
	case NSH_NEXT_ETHERNET:
		if (left(rest) < ETH_HLEN)
			return PARSED_MALFORMED;
		rest.at += ETH_HLEN;
		return parse_network(rest, be16(rest.at - 2), packet);
	default:
		return PARSED_NOT_IP;
	}
}

/* The NSH in a VXLAN-GPE packet (IPv4, UDP 4790), or NULL. */
static const uint8_t *tunnelled_nsh(struct bytes rest)
{
	const uint8_t *ip = rest.at;
	const struct vxlan_gpe_hdr *gpe;
	uint32_t header;

	if (left(rest) < sizeof(struct iphdr) || ip[0] >> 4 != 4 || ip[9] != IPPROTO_UDP ||
	    be16(ip + 6) & IP_FRAGMENT)
		return NULL;
	header = (ip[0] & 0x0f) * 4U;
	if (header < sizeof(struct iphdr) ||
	    left(rest) < header + sizeof(struct udphdr) + sizeof(*gpe) ||
	    be16(ip + header + 2) != VXLAN_GPE_UDP_PORT)
		return NULL;
	gpe = (const void *)(ip + header + sizeof(struct udphdr));
	return vxlan_gpe_carries_nsh(gpe) ? (const uint8_t *)(gpe + 1) : NULL;
}

enum parsed packet_parse_payload(const uint8_t *data, uint32_t bytes, uint16_t ethertype,
				 struct packet *packet)
{
	struct bytes rest = { data, data + bytes };

	memset(packet, 0, sizeof(*packet));
	while ((ethertype == ETH_P_8021Q || ethertype == ETH_P_8021AD ||
		ethertype == ETH_P_QINQ1) &&
	       left(rest) >= VLAN_BYTES) {
		rest.at += VLAN_BYTES;
		ethertype = be16(rest.at - 2);
	}
	if (ethertype == NSH_ETHERTYPE)
		return parse_nsh(rest, packet);
	if (ethertype == ETH_P_IP) {
		const uint8_t *nsh = tunnelled_nsh(rest);

		if (nsh)
			return parse_nsh((struct bytes){ nsh, rest.end }, packet);
	}
	return parse_network(rest, ethertype, packet);
}

enum parsed packet_parse(const uint8_t *frame, uint32_t bytes, struct packet *packet)
{
	if (bytes < ETH_HLEN)
		return PARSED_NOT_IP;
	return packet_parse_payload(frame + ETH_HLEN, bytes - ETH_HLEN, be16(frame + 12), packet);
}
