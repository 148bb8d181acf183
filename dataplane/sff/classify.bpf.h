/* SPDX-License-Identifier: Apache-2.0 */
/* The classifier: 5-tuples, looked up once for each different mask of the rules. */
#pragma once

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>

#include "../common/ip.h"
#include "../common/ipv6_extensions.h"
#include "tables.bpf.h"

#define IPV6_EXTENSIONS 4 /* headers that are skipped to find the ports */
#define IPV6_AT_MOST 0x1fff

static __always_inline int carries_ip(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;

	return (void *)(eth + 1) <= (void *)(long)ctx->data_end &&
	       (eth->h_proto == bpf_htons(ETH_P_IP) || eth->h_proto == bpf_htons(ETH_P_IPV6));
}

static __always_inline void read_ports(const void *l4, const void *end, struct sff_tuple *tuple)
{
	const __be16 *ports = l4;

	if (tuple->protocol != IPPROTO_TCP && tuple->protocol != IPPROTO_UDP &&
	    tuple->protocol != IPPROTO_SCTP)
		return;
	if ((void *)(ports + 2) > end)
		return;
	tuple->source_port = ports[0];
	tuple->destination_port = ports[1];
}

static __always_inline int read_ipv4(const void *start, const void *end, struct sff_tuple *tuple)
{
	const struct iphdr *ip = start;

	if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl < 5)
		return -1;
	tuple->version = 4;
	tuple->protocol = ip->protocol;
	tuple->source = ip->saddr;
	tuple->destination = ip->daddr;
	/* Later fragments have no ports. */
	if (!(ip->frag_off & bpf_htons(IP_OFFSET)))
		read_ports(start + ip->ihl * 4, end, tuple);
	return 0;
}

static __always_inline int read_ipv6(const void *start, const void *end, struct sff_tuple *tuple)
{
	const struct ipv6hdr *ip = start;
	__u32 at = sizeof(*ip);

	if ((void *)(ip + 1) > end || ip->version != 6)
		return -1;
	tuple->version = 6;
	tuple->protocol = ip->nexthdr;
	tuple->source = ip->saddr.in6_u.u6_addr32[0];
	tuple->destination = ip->daddr.in6_u.u6_addr32[0];
	for (int i = 0; i < 3; i++) {
		tuple->source_rest[i] = ip->saddr.in6_u.u6_addr32[i + 1];
		tuple->destination_rest[i] = ip->daddr.in6_u.u6_addr32[i + 1];
	}
	for (int i = 0; i < IPV6_EXTENSIONS; i++) {
		const struct ipv6_fragment *option = start + at;
		__u8 here = tuple->protocol;
		__u32 bytes;

		if (!extension_bytes(here, 0))
			break;
		if (at > IPV6_AT_MOST || (void *)(option + 1) > end)
			return -1;
		bytes = extension_bytes(here, option->reserved);
		tuple->protocol = option->nexthdr;
		/* Later fragments have no ports. */
		if (here == IPPROTO_FRAGMENT && option->offset & bpf_htons(0xfff8))
			return 0;
		at += bytes;
	}
	if (at > IPV6_AT_MOST || extension_bytes(tuple->protocol, 0))
		return -1;
	read_ports(start + at, end, tuple);
	return 0;
}

/* The 5-tuple of the packet in an Ethernet frame. -1: it is not IP, or its protocol is out of reach. */
__noinline int read_tuple(struct xdp_md *ctx, struct sff_tuple *tuple)
{
	const void *end = (void *)(long)ctx->data_end;
	const struct ethhdr *eth = (void *)(long)ctx->data;

	if (!tuple)
		return -1;
	__builtin_memset(tuple, 0, sizeof(*tuple));
	if ((void *)(eth + 1) > end)
		return -1;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		return read_ipv4(eth + 1, end, tuple);
	if (eth->h_proto == bpf_htons(ETH_P_IPV6))
		return read_ipv6(eth + 1, end, tuple);
	return -1;
}

/* The path of a packet, SPI << 8 | SI; 0: no rule matches. */
__noinline __u32 classify(struct sff_tuple *tuple, __u32 generation)
{
	__u32 base = (generation & 1) * SFF_MASKS, rank = ~0U, path = 0;
	__u32 count = settings.masks[generation & 1];

	if (!tuple)
		return 0;
	for (__u32 i = 0; i < SFF_MASKS; i++) {
		__u32 number = base + i;
		const struct sff_mask *mask;
		const struct sff_rule_slot *slot;
		struct sff_tuple key;
		int place;

		if (i >= count)
			break;
		mask = bpf_map_lookup_elem(&masks, &number);
		/* They are in the order of their best rules. */
		if (!mask || mask->rank > rank)
			break;
		if (!sff_mask_has(mask, tuple->port))
			continue;
		for (__u32 word = 0; word < SFF_TUPLE_SHORT + SFF_TUPLE_REST; word++)
			key.words[word] = tuple->words[word] & mask->bits.words[word];
		key.mask = (__u8)i;
		place = find_rule(&key, generation);
		if (place < 0)
			continue;
		slot = bpf_map_lookup_elem(&rules, &place);
		if (slot && slot->rank < rank) {
			rank = slot->rank;
			path = slot->path;
		}
	}
	return path;
}
