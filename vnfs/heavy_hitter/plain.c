// SPDX-License-Identifier: Apache-2.0
/* Decides which frames a hop in plain IP forwards, and addresses them. */
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ip.h>

#include "../../dataplane/common/report.h"
#include "plain.h"

#define MOST_ADDRESSES 32

struct ethernet {
	uint8_t destination[6], source[6];
	rte_be16_t type;
} __attribute__((packed));

static uint32_t addresses[MOST_ADDRESSES]; /* the host's own, in network order */
static unsigned int address_count;

int plain_learn_addresses(void)
{
	struct ifaddrs *all, *next;

	if (getifaddrs(&all)) {
		complain("cannot list addresses: %s", strerror(errno));
		return -1;
	}
	for (next = all; next && address_count < MOST_ADDRESSES; next = next->ifa_next)
		if (next->ifa_addr && next->ifa_addr->sa_family == AF_INET)
			addresses[address_count++] =
				((const struct sockaddr_in *)next->ifa_addr)->sin_addr.s_addr;
	freeifaddrs(all);
	return 0;
}

static bool is_own(uint32_t address)
{
	for (unsigned int i = 0; i < address_count; i++)
		if (addresses[i] == address)
			return true;
	return false;
}

/* Decide on an IPv4 packet. If it is forwarded, decrement its TTL. */
static enum plain_verdict take_ipv4(struct rte_ipv4_hdr *ip)
{
	uint32_t sum;

	if (is_own(ip->dst_addr))
		return PLAIN_PASSED;
	if (ip->time_to_live <= 1)
		return PLAIN_TTL_EXCEEDED;
	ip->time_to_live--;
	/* The word gets smaller by 0x100, so the checksum gets larger by it (RFC 1141). */
	sum = rte_be_to_cpu_16(ip->hdr_checksum) + 0x100U;
	ip->hdr_checksum = rte_cpu_to_be_16((uint16_t)(sum + (sum >> 16)));
	return PLAIN_FORWARD;
}

/* Decide on an IPv6 packet. If it is forwarded, decrement its hop limit. */
static enum plain_verdict take_ipv6(struct rte_ipv6_hdr *ip)
{
	/* Link-local addresses are not routed (RFC 4291, section 2.5.6); multicast is not for
	 * this hop. */
	if ((ip->dst_addr[0] == 0xfe && (ip->dst_addr[1] & 0xc0) == 0x80) ||
	    ip->dst_addr[0] == 0xff)
		return PLAIN_PASSED;
	if (ip->hop_limits <= 1)
		return PLAIN_TTL_EXCEEDED;
	ip->hop_limits--;
	return PLAIN_FORWARD;
}

enum plain_verdict plain_take(const struct plain_end *end, struct rte_mbuf *frame)
{
	struct ethernet *ethernet = rte_pktmbuf_mtod(frame, struct ethernet *);
	uint32_t bytes = rte_pktmbuf_data_len(frame);

	if (bytes < sizeof(*ethernet) || memcmp(ethernet->destination, end->own, 6) != 0)
		return PLAIN_PASSED;
	bytes -= sizeof(*ethernet);
	if (ethernet->type == rte_cpu_to_be_16(ETH_P_IP) && bytes >= sizeof(struct rte_ipv4_hdr))
		return take_ipv4((struct rte_ipv4_hdr *)(ethernet + 1));
	if (ethernet->type == rte_cpu_to_be_16(ETH_P_IPV6) && bytes >= sizeof(struct rte_ipv6_hdr))
		return take_ipv6((struct rte_ipv6_hdr *)(ethernet + 1));
	return PLAIN_PASSED;
}

void plain_leave(const struct plain_end *end, struct rte_mbuf *frame)
{
	struct ethernet *ethernet = rte_pktmbuf_mtod(frame, struct ethernet *);

	memcpy(ethernet->destination, end->next_hop, 6);
	memcpy(ethernet->source, end->own, 6);
}
