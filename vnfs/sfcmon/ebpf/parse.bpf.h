/* SPDX-License-Identifier: Apache-2.0 */
/* From a frame to its keys, check by check as docs/reference/sfcmon.md lists them. */
#pragma once

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "../../../dataplane/common/ip.h"
#include "../../../dataplane/nsh/nsh.h"
#include "engine.h"

#define SFCMON_PARSED SFCMON_REASONS /* the frame is a packet */
#define SFCMON_AT_MOST 0x3ff /* offset of a header: far more than those before it can have */
#define SFCMON_PORTS_BYTES 4

/* How far the frame is read. */
struct sfcmon_cursor {
	const void *start, *end;
	__u32 at;
};

/* The next bytes, if they are there. */
static __always_inline const void *peek(const struct sfcmon_cursor *cursor, __u32 bytes)
{
	const void *here;

	if (cursor->at > SFCMON_AT_MOST)
		return NULL;
	here = cursor->start + cursor->at;
	return here + bytes <= cursor->end ? here : NULL;
}

static __always_inline bool lacks(const struct sfcmon_cursor *cursor, __u32 bytes)
{
	return cursor->start + cursor->at + bytes > cursor->end;
}

static __always_inline int skip_tunnel_ip(struct sfcmon_cursor *cursor, __be16 protocol)
{
	if (protocol == bpf_htons(ETH_P_IP)) {
		const struct iphdr *ip = peek(cursor, sizeof(*ip));

		if (!ip)
			return SFCMON_TRUNCATED;
		if (ip->version != 4 || ip->ihl < 5 || ip->protocol != IPPROTO_UDP ||
		    (ip->frag_off & bpf_htons(IP_FRAGMENT)))
			return SFCMON_NOT_NSH;
		cursor->at += ip->ihl * 4;
		return lacks(cursor, 0) ? SFCMON_TRUNCATED : SFCMON_PARSED;
	}
	if (protocol == bpf_htons(ETH_P_IPV6)) {
		const struct ipv6hdr *ip = peek(cursor, sizeof(*ip));

		if (!ip)
			return SFCMON_TRUNCATED;
		cursor->at += sizeof(*ip);
		return ip->version == 6 && ip->nexthdr == IPPROTO_UDP ? SFCMON_PARSED
								      : SFCMON_NOT_NSH;
	}
	return SFCMON_NOT_NSH;
}

static __always_inline int skip_vxlan_gpe(struct sfcmon_cursor *cursor)
{
	const struct vxlan_gpe_hdr *gpe;
	const struct udphdr *udp = peek(cursor, sizeof(*udp));

	if (!udp)
		return SFCMON_TRUNCATED;
	if (udp->dest != bpf_htons(VXLAN_GPE_UDP_PORT))
		return SFCMON_NOT_NSH;
	cursor->at += sizeof(*udp);
	gpe = peek(cursor, sizeof(*gpe));
	if (!gpe)
		return SFCMON_TRUNCATED;
	cursor->at += sizeof(*gpe);
	return vxlan_gpe_carries_nsh(gpe) ? SFCMON_PARSED : SFCMON_NOT_NSH;
}

/* The outer headers, and the NSH. `*next` becomes its next protocol. */
static __always_inline int read_path(struct sfcmon_cursor *cursor, struct sfcmon_packet *packet,
				     __u8 *next)
{
	const struct ethhdr *eth = peek(cursor, sizeof(*eth));
	const struct nsh_hdr *nsh;
	__u32 bytes;
	int reason;

	if (!eth)
		return SFCMON_TRUNCATED;
	cursor->at += sizeof(*eth);
	if (eth->h_proto != bpf_htons(NSH_ETHERTYPE)) {
		reason = skip_tunnel_ip(cursor, eth->h_proto);
		if (reason == SFCMON_PARSED)
			reason = skip_vxlan_gpe(cursor);
		if (reason != SFCMON_PARSED)
			return reason;
	}
	nsh = peek(cursor, sizeof(*nsh));
	if (!nsh)
		return SFCMON_TRUNCATED;
	bytes = nsh_bytes(nsh);
	if (nsh_check(nsh, NSH_MAX_BYTES) != NSH_OK)
		return SFCMON_NSH;
	packet->flow[0] = *(const __u32 *)nsh->spi;
	*next = nsh->next_protocol;
	cursor->at += bytes;
	return lacks(cursor, 0) ? SFCMON_TRUNCATED : SFCMON_PARSED;
}

/* Behind the IP header, of whose packet so many bytes are left. */
static __always_inline int observe_ports(const struct sfcmon_cursor *cursor, __u32 left,
					 struct sfcmon_packet *packet)
{
	const __u32 *ports;

	if (left < SFCMON_PORTS_BYTES)
		return SFCMON_IP;
	ports = peek(cursor, SFCMON_PORTS_BYTES);
	if (!ports)
		return SFCMON_TRUNCATED;
	packet->flow[2] = *ports;
	return SFCMON_PARSED;
}

static __always_inline int observe_ipv4(struct sfcmon_cursor *cursor, struct sfcmon_packet *packet)
{
	const struct iphdr *ip = peek(cursor, sizeof(*ip));
	__u32 bytes, total;

	if (!ip)
		return SFCMON_TRUNCATED;
	bytes = ip->ihl * 4;
	total = bpf_ntohs(ip->tot_len);
	if (ip->version != 4 || ip->ihl < 5 || total < bytes)
		return SFCMON_IP;
	packet->words = SFCMON_IPV4_WORDS;
	packet->bytes = total;
	packet->flow[1] = ip->protocol | 4 << 8;
	packet->flow[SFCMON_SOURCE_WORD] = ip->saddr;
	packet->flow[SFCMON_SOURCE_WORD + 1] = ip->daddr;
	cursor->at += bytes;
	if (lacks(cursor, 0))
		return SFCMON_TRUNCATED;
	if (!has_ports(ip->protocol) || (ip->frag_off & bpf_htons(IP_FRAGMENT)))
		return SFCMON_PARSED;
	return observe_ports(cursor, total - bytes, packet);
}

static __always_inline int observe_ipv6(struct sfcmon_cursor *cursor, struct sfcmon_packet *packet)
{
	const struct ipv6hdr *ip = peek(cursor, sizeof(*ip));
	__u32 payload;

	if (!ip)
		return SFCMON_TRUNCATED;
	if (ip->version != 6)
		return SFCMON_IP;
	payload = bpf_ntohs(ip->payload_len);
	packet->words = SFCMON_IPV6_WORDS;
	packet->bytes = sizeof(*ip) + payload;
	packet->flow[1] = ip->nexthdr | 6 << 8;
	__builtin_memcpy(&packet->flow[SFCMON_SOURCE_WORD], &ip->saddr, sizeof(ip->saddr));
	__builtin_memcpy(&packet->flow[SFCMON_SOURCE_WORD + 4], &ip->daddr, sizeof(ip->daddr));
	cursor->at += sizeof(*ip);
	return has_ports(ip->nexthdr) ? observe_ports(cursor, payload, packet) : SFCMON_PARSED;
}

/* What the NSH carries. */
static __always_inline int read_inner(struct sfcmon_cursor *cursor, __u8 next,
				      struct sfcmon_packet *packet)
{
	const struct ethhdr *eth;

	switch (next) {
	case NSH_NEXT_IPV4:
		return observe_ipv4(cursor, packet);
	case NSH_NEXT_IPV6:
		return observe_ipv6(cursor, packet);
	case NSH_NEXT_ETHERNET:
		eth = peek(cursor, sizeof(*eth));
		if (!eth)
			return SFCMON_TRUNCATED;
		cursor->at += sizeof(*eth);
		if (eth->h_proto == bpf_htons(ETH_P_IP))
			return observe_ipv4(cursor, packet);
		if (eth->h_proto == bpf_htons(ETH_P_IPV6))
			return observe_ipv6(cursor, packet);
		return SFCMON_NOT_IP;
	default:
		return SFCMON_NOT_IP;
	}
}

/* SFCMON_PARSED, or why the frame is not monitored. `path`: SPI << 8 | SI of an Ethernet frame whose
 * NSH is only just about to be written; 0: the frame has its NSH, with all that precedes it. */
static __always_inline int parse(const void *start, const void *end, __u32 path,
				 struct sfcmon_packet *packet)
{
	struct sfcmon_cursor cursor = { .start = start, .end = end };
	__u8 next = NSH_NEXT_ETHERNET;
	int reason = SFCMON_PARSED;

	__builtin_memset(packet, 0, sizeof(*packet));
	if (path)
		packet->flow[0] = bpf_htonl(path);
	else
		reason = read_path(&cursor, packet, &next);
	return reason == SFCMON_PARSED ? read_inner(&cursor, next, packet) : reason;
}

/* Global, so that the verifier looks at them once. */
__noinline int sfcmon_parse(struct xdp_md *ctx, __u32 path, struct sfcmon_packet *packet)
{
	return packet ? parse((void *)(long)ctx->data, (void *)(long)ctx->data_end, path, packet)
		      : SFCMON_TRUNCATED;
}

__noinline int sfcmon_parse_skb(struct __sk_buff *ctx, __u32 path, struct sfcmon_packet *packet)
{
	return packet ? parse((void *)(long)ctx->data, (void *)(long)ctx->data_end, path, packet)
		      : SFCMON_TRUNCATED;
}
