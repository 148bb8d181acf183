/* SPDX-License-Identifier: Apache-2.0 */
/* The classifier: 5-tuples, looked up once for each different mask of the rules. */
#pragma once

#include "../packet/headers.h"
#include "tables.bpf.h"

#define MOST_EXTENSIONS 4 /* IPv6 headers that are skipped to find the ports */

static __always_inline struct cursor start_of(const struct xdp_md *ctx)
{
	return (struct cursor){ (void *)(long)ctx->data, (void *)(long)ctx->data_end };
}

static __always_inline int carries_ip(const struct xdp_md *ctx)
{
	struct cursor cursor = start_of(ctx);
	__u16 ethertype;

	return take_ethernet(&cursor, &ethertype) && is_ip(ethertype);
}

/* Read the ports at the cursor. They stay 0 if the protocol has none or they are cut off. */
static __always_inline void read_ports(struct cursor cursor, struct sff_tuple *tuple)
{
	const __be16 *ports;

	if (tuple->protocol != IPPROTO_TCP && tuple->protocol != IPPROTO_UDP &&
	    tuple->protocol != IPPROTO_SCTP)
		return;
	ports = (const void *)peek(&cursor, PORTS_BYTES);
	if (!ports)
		return;
	tuple->source_port = ports[0];
	tuple->destination_port = ports[1];
}

/* Read the IPv4 header at the cursor, and the ports behind it. Returns 0, or -1 if the header is
 * cut off or malformed. */
static __always_inline int read_ipv4(struct cursor cursor, struct sff_tuple *tuple)
{
	const __u8 *ip = peek(&cursor, IPV4_BYTES);
	__u32 bytes = ip ? ipv4_header_bytes(ip) : 0;

	if (!bytes)
		return -1;
	tuple->version = 4;
	tuple->protocol = ip[9];
	tuple->source = *(const __be32 *)(ip + 12);
	tuple->destination = *(const __be32 *)(ip + 16);
	cursor.at += bytes;
	if (!ipv4_is_later_fragment(ip))
		read_ports(cursor, tuple);
	return 0;
}

/* Read the IPv6 header at the cursor, and the ports behind its extension headers. Returns 0, or -1
 * if a header is cut off or malformed, or there are more than MOST_EXTENSIONS extension headers. */
static __always_inline int read_ipv6(struct cursor cursor, struct sff_tuple *tuple)
{
	const __be32 *source, *destination;
	struct ip ip;

	if (take_ipv6(&cursor, &ip) != HEADER_TAKEN)
		return -1;
	source = (const void *)ip.addresses;
	destination = source + 4;
	tuple->version = 6;
	tuple->source = source[0];
	tuple->destination = destination[0];
	for (int i = 0; i < 3; i++) {
		tuple->source_rest[i] = source[i + 1];
		tuple->destination_rest[i] = destination[i + 1];
	}
	/* As with IPv4, nothing is compared with the length that the header announces. */
	ip.payload_bytes = PAYLOAD_UNCHECKED;
	if (take_extensions(&cursor, &ip, EXTENSION_USUAL, MOST_EXTENSIONS, IPV6_OFFSET) !=
	    HEADER_TAKEN)
		return -1;
	tuple->protocol = ip.protocol;
	/* IPV6_OFFSET above: only later fragments are meant, which have no ports. */
	if (!ip.fragment)
		read_ports(cursor, tuple);
	return 0;
}

/* Read the 5-tuple of the packet in an Ethernet frame; `port` and `mask` of the tuple become 0.
 * Returns 0, or -1 if the frame carries no IP, or its headers cannot be read. Global for the reason
 * that search_hop() is. */
__noinline int read_tuple(struct xdp_md *ctx, struct sff_tuple *tuple)
{
	struct cursor cursor = start_of(ctx);
	__u16 ethertype;

	/* Never so, but the verifier does not know that of a global function's argument. */
	if (!tuple)
		return -1;
	__builtin_memset(tuple, 0, sizeof(*tuple));
	if (!take_ethernet(&cursor, &ethertype))
		return -1;
	if (ethertype == ETH_P_IP)
		return read_ipv4(cursor, tuple);
	if (ethertype == ETH_P_IPV6)
		return read_ipv6(cursor, tuple);
	return -1;
}

/* Return the path of the first rule that matches a packet, SPI << 8 | SI; 0: none matches. The
 * tuple's `port` must be where the packet came in. Global for the reason that search_hop() is. */
__noinline __u32 classify(struct sff_tuple *tuple, __u32 generation)
{
	__u32 base = (generation & 1) * SFF_MASKS, rank = ~0U, path = 0;
	__u32 count = settings.masks[generation & 1];

	/* Never so, but the verifier does not know that of a global function's argument. */
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
		/* Masks are in the order of their best rules: from here on none can win. */
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
