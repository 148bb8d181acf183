// SPDX-License-Identifier: Apache-2.0
/* Finds what is behind the link layer of a captured frame. */
#include <linux/if_ether.h>
#include <linux/in.h>

#include "link.h"
#include "../common/ip.h"

/* Link types of pcap (https://www.tcpdump.org/linktypes.html). */
enum link_type {
	LINK_ETHERNET = 1,
	LINK_RAW_BSD = 12,
	LINK_RAW_OPENBSD = 14,
	LINK_RAW = 101,
	LINK_SLL = 113,
	LINK_IPV4 = 228,
	LINK_IPV6 = 229,
	LINK_SLL2 = 276,
};

/* Let `bytes` have the length of the link layer's header, and `ethertype_at` where its EtherType
 * is. Returns false if there is no such header: the frame is an IP packet. */
static bool link_layout(uint32_t link_type, size_t *bytes, size_t *ethertype_at)
{
	switch (link_type) {
	case LINK_ETHERNET:
		*bytes = ETH_HLEN;
		*ethertype_at = 12;
		return true;
	case LINK_SLL:
		*bytes = 16;
		*ethertype_at = 14;
		return true;
	case LINK_SLL2:
		*bytes = 20;
		*ethertype_at = 0;
		return true;
	default:
		return false;
	}
}

static bool link_is_ip(uint32_t link_type)
{
	return link_type == LINK_RAW || link_type == LINK_RAW_BSD ||
	       link_type == LINK_RAW_OPENBSD || link_type == LINK_IPV4 || link_type == LINK_IPV6;
}

bool frame_link_known(uint32_t link_type)
{
	size_t bytes, at;

	return link_is_ip(link_type) || link_layout(link_type, &bytes, &at);
}

struct network frame_network(const struct frame *frame)
{
	const struct network cut = { 0 };
	const uint8_t *data = frame->data;
	const uint8_t *end = data + frame->bytes;
	size_t header, at;

	if (link_layout(frame->link_type, &header, &at)) {
		if (frame->bytes < header)
			return cut;
		return (struct network){ { data + header, end }, be16(data + at) };
	}
	/* The first bits of the packet say which version of IP it is. */
	if (!frame->bytes)
		return cut;
	return (struct network){ { data, end }, data[0] >> 4 == 6 ? ETH_P_IPV6 : ETH_P_IP };
}
