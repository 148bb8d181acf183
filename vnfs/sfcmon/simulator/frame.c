// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <string.h>

#include "frame.h"
#include "../../../dataplane/common/ip.h"
#include "../../../dataplane/nsh/nsh.h"

#define ETH_BYTES 14
#define ETH_IPV4 0x0800
#define ETH_IPV6 0x86dd
#define IPV4_BYTES 20
#define IPV6_BYTES 40
#define UDP_BYTES 8
#define PORTS_BYTES 4

enum { OK = -1 }; /* beside the reasons */

/* What is left of a frame. */
struct rest {
	const uint8_t *data;
	size_t length;
};

static struct rest after(struct rest rest, size_t bytes)
{
	return (struct rest){ rest.data + bytes, rest.length - bytes };
}

static bool is_ip(uint16_t ethertype)
{
	return ethertype == ETH_IPV4 || ethertype == ETH_IPV6;
}

static bool is_fragment(const uint8_t *ipv4)
{
	return be16(ipv4 + 6) & IP_FRAGMENT;
}

uint32_t key_path(struct path path)
{
	return htonl(path.spi << 8 | path.si);
}

uint32_t key_protocol(uint8_t proto, uint8_t version)
{
	return htonl((uint32_t)proto << 24 | (uint32_t)version << 16);
}

/* Step 7 of the specification: `announced` bytes follow the IP header. */
static int read_ports(struct rest rest, size_t announced, struct packet *packet)
{
	if (announced < PORTS_BYTES)
		return SFCMON_IP;
	if (rest.length < PORTS_BYTES)
		return SFCMON_TRUNCATED;
	memcpy(&packet->key[2], rest.data, PORTS_BYTES);
	return OK;
}

static int read_ipv4(struct rest rest, struct path path, struct packet *packet)
{
	const uint8_t *ip = rest.data;
	uint32_t header, total;

	if (rest.length < IPV4_BYTES)
		return SFCMON_TRUNCATED;
	header = (ip[0] & 0x0f) * 4U;
	total = be16(ip + 2);
	if (ip[0] >> 4 != 4 || header < IPV4_BYTES || total < header)
		return SFCMON_IP;
	if (rest.length < header)
		return SFCMON_TRUNCATED;
	packet->words = SFCMON_IPV4_WORDS;
	packet->size = total;
	packet->key[0] = key_path(path);
	packet->key[1] = key_protocol(ip[9], 4);
	packet->key[2] = 0;
	memcpy(&packet->key[SFCMON_SOURCE_WORD], ip + 12, 8);
	if (!has_ports(ip[9]) || is_fragment(ip))
		return OK;
	return read_ports(after(rest, header), total - header, packet);
}

static int read_ipv6(struct rest rest, struct path path, struct packet *packet)
{
	const uint8_t *ip = rest.data;
	uint16_t payload;

	if (rest.length < IPV6_BYTES)
		return SFCMON_TRUNCATED;
	if (ip[0] >> 4 != 6)
		return SFCMON_IP;
	payload = be16(ip + 4);
	packet->words = SFCMON_IPV6_WORDS;
	packet->size = IPV6_BYTES + payload;
	packet->key[0] = key_path(path);
	packet->key[1] = key_protocol(ip[6], 6);
	packet->key[2] = 0;
	memcpy(&packet->key[SFCMON_SOURCE_WORD], ip + 8, 32);
	if (!has_ports(ip[6]))
		return OK;
	return read_ports(after(rest, IPV6_BYTES), payload, packet);
}

static int read_ip(struct rest rest, uint16_t ethertype, struct path path, struct packet *packet)
{
	return ethertype == ETH_IPV4 ? read_ipv4(rest, path, packet)
				     : read_ipv6(rest, path, packet);
}

/* Steps 4 and 5: NSH, and what it carries. */
static int read_nsh(struct rest rest, struct packet *packet)
{
	const struct nsh_hdr *nsh = (const void *)rest.data;
	enum nsh_error error = nsh_check(nsh, (__u32)rest.length);
	struct path path;
	uint16_t ethertype;
	uint8_t next;

	if (error)
		return error == NSH_ERROR_TRUNCATED ? SFCMON_TRUNCATED : SFCMON_NSH;
	path = (struct path){ nsh_spi(nsh), nsh->si };
	next = nsh->next_protocol;
	rest = after(rest, nsh_bytes(nsh));
	if (next == NSH_NEXT_IPV4 || next == NSH_NEXT_IPV6)
		return read_ip(rest, next == NSH_NEXT_IPV4 ? ETH_IPV4 : ETH_IPV6, path, packet);
	if (next != NSH_NEXT_ETHERNET)
		return SFCMON_NOT_IP;
	if (rest.length < ETH_BYTES)
		return SFCMON_TRUNCATED;
	ethertype = be16(rest.data + 12);
	if (!is_ip(ethertype))
		return SFCMON_NOT_IP;
	return read_ip(after(rest, ETH_BYTES), ethertype, path, packet);
}

/* Step 2: leaves `rest` at the UDP header of a tunnel. */
static int enter_udp(struct rest *rest, uint16_t ethertype)
{
	const uint8_t *ip = rest->data;
	size_t header = IPV6_BYTES;

	if (!is_ip(ethertype))
		return SFCMON_NOT_NSH;
	if (rest->length < (ethertype == ETH_IPV4 ? IPV4_BYTES : IPV6_BYTES))
		return SFCMON_TRUNCATED;
	if (ethertype == ETH_IPV4) {
		header = (ip[0] & 0x0f) * 4U;
		if (ip[0] >> 4 != 4 || header < IPV4_BYTES || ip[9] != IPPROTO_UDP ||
		    is_fragment(ip))
			return SFCMON_NOT_NSH;
	} else if (ip[0] >> 4 != 6 || ip[6] != IPPROTO_UDP) {
		return SFCMON_NOT_NSH;
	}
	if (rest->length < header)
		return SFCMON_TRUNCATED;
	*rest = after(*rest, header);
	return OK;
}

/* Steps 2 and 3: leaves `rest` at the NSH behind IP, UDP and VXLAN-GPE. */
static int enter_vxlan_gpe(struct rest *rest, uint16_t ethertype)
{
	const struct vxlan_gpe_hdr *gpe;
	int reason = enter_udp(rest, ethertype);

	if (reason != OK)
		return reason;
	if (rest->length < UDP_BYTES)
		return SFCMON_TRUNCATED;
	if (be16(rest->data + 2) != VXLAN_GPE_UDP_PORT)
		return SFCMON_NOT_NSH;
	*rest = after(*rest, UDP_BYTES);
	if (rest->length < sizeof(*gpe))
		return SFCMON_TRUNCATED;
	gpe = (const void *)rest->data;
	if (!vxlan_gpe_carries_nsh(gpe))
		return SFCMON_NOT_NSH;
	*rest = after(*rest, sizeof(*gpe));
	return OK;
}

/* A packet that has no NSH yet. */
static int classify(struct network network, struct path path, struct packet *packet)
{
	if (!network_skip_tags(&network))
		return SFCMON_TRUNCATED;
	if (!is_ip(network.ethertype))
		return SFCMON_NOT_NSH;
	return read_ip((struct rest){ network.data, network.bytes }, network.ethertype, path,
		       packet);
}

static int parse(const struct frame *frame, const struct path *path, struct packet *packet)
{
	struct network network = frame_network(frame);
	struct rest rest = { network.data, network.bytes };
	int reason;

	if (!network.data)
		return SFCMON_TRUNCATED;
	if (network.ethertype == NSH_ETHERTYPE)
		return read_nsh(rest, packet);
	reason = enter_vxlan_gpe(&rest, network.ethertype);
	if (reason == OK)
		return read_nsh(rest, packet);
	return path ? classify(network, *path, packet) : reason;
}

void frame_parse(const struct frame *frame, const struct path *path, struct packet *packet)
{
	int reason = parse(frame, path, packet);

	if (reason != OK) {
		packet->words = NOT_PARSED;
		packet->size = (uint32_t)reason;
	}
}
