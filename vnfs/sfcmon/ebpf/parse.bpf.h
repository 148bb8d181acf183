/* SPDX-License-Identifier: Apache-2.0 */
/* From a frame to its keys, check by check as docs/reference/sfcmon.md lists them. */
#pragma once

#include "../../../dataplane/packet/headers.h"
#include "engine.h"

#define SFCMON_PARSED SFCMON_REASONS /* the frame is a packet */

/* All functions here return SFCMON_PARSED, or why the frame is not monitored (enum
 * sfcmon_reason). */

/* Read the IP packet: the key but for the path, and the size. */
static __always_inline int read_ip(struct cursor cursor, const bool ipv4,
				   struct sfcmon_packet *packet)
{
	struct ip ip;
	enum header header = ipv4 ? take_ipv4(&cursor, &ip) : take_ipv6(&cursor, &ip);

	if (header != HEADER_TAKEN)
		return header == HEADER_TRUNCATED ? SFCMON_TRUNCATED : SFCMON_IP;
	packet->words = ipv4 ? SFCMON_IPV4_WORDS : SFCMON_IPV6_WORDS;
	packet->bytes = ip.header_bytes + ip.payload_bytes;
	/* These are the bytes 4 and 5 of the key. */
	packet->flow[1] = ip.protocol | ip.version << 8;
#pragma unroll
	for (int i = 0; i < (ipv4 ? 2 : 8); i++)
		packet->flow[SFCMON_SOURCE_WORD + i] = ((const __u32 *)ip.addresses)[i];
	switch (check_ports(cursor, &ip)) {
	case HEADER_TAKEN:
		packet->flow[2] = *(const __u32 *)cursor.at;
		return SFCMON_PARSED;
	case HEADER_OTHER:
		return SFCMON_PARSED;
	case HEADER_TRUNCATED:
		return SFCMON_TRUNCATED;
	default:
		return SFCMON_IP;
	}
}

/* Read the outer headers, and the path from the NSH. `*next` becomes the NSH's next protocol. */
static __always_inline int read_path(struct cursor *cursor, struct sfcmon_packet *packet,
				     __u8 *next)
{
	const struct nsh_hdr *nsh;
	enum nsh_error error;
	enum header header;
	__u16 ethertype;

	if (!take_ethernet(cursor, &ethertype))
		return SFCMON_TRUNCATED;
	if (ethertype != NSH_ETHERTYPE) {
		header = take_tunnel(cursor, ethertype);
		if (header != HEADER_TAKEN)
			return header == HEADER_TRUNCATED ? SFCMON_TRUNCATED : SFCMON_NOT_NSH;
	}
	nsh = (const void *)cursor->at;
	error = take_nsh(cursor);
	if (error != NSH_OK)
		return error == NSH_ERROR_TRUNCATED ? SFCMON_TRUNCATED : SFCMON_NSH;
	packet->flow[0] = *(const __u32 *)nsh->spi;
	*next = nsh->next_protocol;
	return SFCMON_PARSED;
}

/* Read what the NSH carries: a protocol of this number. */
static __always_inline int read_inner(struct cursor cursor, __u8 next, struct sfcmon_packet *packet)
{
	__u16 ethertype;
	enum header header = take_carried(&cursor, next, &ethertype);

	if (header == HEADER_TRUNCATED)
		return SFCMON_TRUNCATED;
	if (header == HEADER_TAKEN && ethertype == ETH_P_IP)
		return read_ip(cursor, true, packet);
	if (header == HEADER_TAKEN && ethertype == ETH_P_IPV6)
		return read_ip(cursor, false, packet);
	return SFCMON_NOT_IP;
}

/* Read a frame to `packet`. `path`: SPI << 8 | SI of an Ethernet frame whose NSH is only just about
 * to be written; 0: the frame has its NSH, with all that precedes it. */
static __always_inline int parse(const void *start, const void *end, __u32 path,
				 struct sfcmon_packet *packet)
{
	struct cursor cursor = { start, end };
	__u8 next = NSH_NEXT_ETHERNET;
	int reason = SFCMON_PARSED;

	__builtin_memset(packet, 0, sizeof(*packet));
	if (path)
		packet->flow[0] = bpf_htonl(path);
	else
		reason = read_path(&cursor, packet, &next);
	return reason == SFCMON_PARSED ? read_inner(cursor, next, packet) : reason;
}

/* parse() for XDP. The function is global, so that the verifier looks at it once. It then assumes
 * that `packet` may be NULL, so that must be checked. */
__noinline int sfcmon_parse(struct xdp_md *ctx, __u32 path, struct sfcmon_packet *packet)
{
	return packet ? parse((void *)(long)ctx->data, (void *)(long)ctx->data_end, path, packet)
		      : SFCMON_TRUNCATED;
}

/* The same for tc. */
__noinline int sfcmon_parse_skb(struct __sk_buff *ctx, __u32 path, struct sfcmon_packet *packet)
{
	return packet ? parse((void *)(long)ctx->data, (void *)(long)ctx->data_end, path, packet)
		      : SFCMON_TRUNCATED;
}
