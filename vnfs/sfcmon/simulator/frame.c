// SPDX-License-Identifier: Apache-2.0
/* Parses frames, in the steps of docs/reference/sfcmon.md. Functions return OK, or why the frame is
 * not monitored (enum sfcmon_reason). */
#include <string.h>

#include "frame.h"
#include "../../../dataplane/packet/headers.h"

enum { OK = -1 }; /* beside the reasons */

uint32_t key_path(struct path path)
{
	return __cpu_to_be32(path.spi << 8 | path.si);
}

uint32_t key_protocol(uint8_t proto, uint8_t version)
{
	return __cpu_to_be32((uint32_t)proto << 24 | (uint32_t)version << 16);
}

/* Steps 6 and 7: the IP header and the ports. `ethertype` is a constant, so that there is code for
 * each version of IP. */
static __always_inline int read_ip_header(struct cursor cursor, uint16_t ethertype,
					  struct path path, struct packet *packet)
{
	const bool ipv4 = ethertype == ETH_P_IP;
	struct ip ip;
	enum header header = ipv4 ? take_ipv4(&cursor, &ip) : take_ipv6(&cursor, &ip);

	if (header != HEADER_TAKEN)
		return header == HEADER_TRUNCATED ? SFCMON_TRUNCATED : SFCMON_IP;
	packet->words = ipv4 ? SFCMON_IPV4_WORDS : SFCMON_IPV6_WORDS;
	packet->size = ip.header_bytes + ip.payload_bytes;
	packet->key[0] = key_path(path);
	packet->key[1] = key_protocol(ip.protocol, ip.version);
	packet->key[2] = 0;
	memcpy(&packet->key[SFCMON_SOURCE_WORD], ip.addresses, ipv4 ? 8 : 32);
	switch (check_ports(cursor, &ip)) {
	case HEADER_TAKEN:
		memcpy(&packet->key[2], cursor.at, PORTS_BYTES);
		return OK;
	case HEADER_OTHER:
		return OK;
	case HEADER_TRUNCATED:
		return SFCMON_TRUNCATED;
	default:
		return SFCMON_IP;
	}
}

static int read_ip(struct cursor cursor, uint16_t ethertype, struct path path,
		   struct packet *packet)
{
	return ethertype == ETH_P_IP ? read_ip_header(cursor, ETH_P_IP, path, packet)
				     : read_ip_header(cursor, ETH_P_IPV6, path, packet);
}

/* Steps 4 and 5: NSH, and what it carries. */
static int read_nsh(struct cursor cursor, struct packet *packet)
{
	const struct nsh_hdr *nsh = (const void *)cursor.at;
	enum nsh_error error = take_nsh(&cursor);
	enum header header;
	uint16_t ethertype;

	if (error)
		return error == NSH_ERROR_TRUNCATED ? SFCMON_TRUNCATED : SFCMON_NSH;
	header = take_carried(&cursor, nsh->next_protocol, &ethertype);
	if (header == HEADER_TRUNCATED)
		return SFCMON_TRUNCATED;
	if (header != HEADER_TAKEN || !is_ip(ethertype))
		return SFCMON_NOT_IP;
	return read_ip(cursor, ethertype, (struct path){ nsh_spi(nsh), nsh->si }, packet);
}

/* A packet that has no NSH yet, and is put on this path. */
static int classify(struct network network, struct path path, struct packet *packet)
{
	if (!take_tags(&network.cursor, &network.ethertype, TAG_ANY, TAGS_UNLIMITED))
		return SFCMON_TRUNCATED;
	if (!is_ip(network.ethertype))
		return SFCMON_NOT_NSH;
	return read_ip(network.cursor, network.ethertype, path, packet);
}

/* Parse a frame; `path` as of frame_parse(). */
static int parse(const struct frame *frame, const struct path *path, struct packet *packet)
{
	struct network network = frame_network(frame);
	enum header header;

	if (!network.cursor.at)
		return SFCMON_TRUNCATED;
	if (network.ethertype == NSH_ETHERTYPE)
		return read_nsh(network.cursor, packet);
	/* Steps 2 and 3. */
	header = take_tunnel(&network.cursor, network.ethertype);
	if (header == HEADER_TAKEN)
		return read_nsh(network.cursor, packet);
	if (path)
		return classify(network, *path, packet);
	return header == HEADER_TRUNCATED ? SFCMON_TRUNCATED : SFCMON_NOT_NSH;
}

void frame_parse(const struct frame *frame, const struct path *path, struct packet *packet)
{
	int reason = parse(frame, path, packet);

	if (reason != OK) {
		packet->words = NOT_PARSED;
		packet->size = (uint32_t)reason;
	}
}
