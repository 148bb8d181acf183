/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers in front of a packet: taken off and put on by one change of size. Functions that return a
 * verdict return SFF_FORWARDED, or why the frame is dropped.
 */
#pragma once

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>

#include "../nsh/nsh.h"
#include "tables.bpf.h"

#define ETH_BYTES ((__u32)sizeof(struct ethhdr))
#define GPE_BYTES ((__u32)sizeof(struct gpe_headers))
#define NEW_NSH_BYTES (NSH_MD1_WORDS * NSH_WORD) /* MD type 1 with zero context */
#define UNDERLAY_TTL 64
#define DYNAMIC_PORTS 49152 /* first (RFC 6335); RFC 7348 recommends them for tunnels */

struct gpe_headers {
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp;
	struct vxlan_gpe_hdr vxlan;
} __attribute__((packed, aligned(2)));

/* What carries a packet: `outer` bytes, and then `nsh` bytes of NSH, precede it. The packet is an
 * Ethernet frame itself, unless `next_protocol` says otherwise. */
struct carriage {
	__u32 outer; /* 0: nothing */
	__u32 nsh; /* 0: none */
	__u32 padding; /* bytes behind the packet */
	__u8 next_protocol; /* of the NSH, if there is one */
};

static __always_inline bool same_mac(const __u8 *a, const __u8 *b)
{
	__u8 difference = 0;

	for (int i = 0; i < ETH_ALEN; i++)
		difference |= a[i] ^ b[i];
	return difference == 0;
}

/* Write an Ethernet header from this node to `to`. */
static __always_inline void put_ethernet(struct ethhdr *eth, const __u8 *to, __u16 protocol)
{
	__builtin_memcpy(eth->h_dest, to, ETH_ALEN);
	__builtin_memcpy(eth->h_source, settings.mac, ETH_ALEN);
	eth->h_proto = bpf_htons(protocol);
}

/* Return the checksum of an IPv4 header without options: 0 if it contains the right one already. */
static __always_inline __u16 ip_checksum(const void *ip)
{
	const __u16 *words = ip;
	__u32 sum = 0;

	for (__u32 i = 0; i < sizeof(struct iphdr) / sizeof(*words); i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)~sum;
}

/* Write the headers of a tunnel from this node to `mac` and `address`, in front of a packet; the
 * whole frame has `frame_bytes`. The source port is made of the hash `flow`, so that it tells flows
 * apart. There is no UDP checksum, as RFC 7348, section 5 prefers. */
static __always_inline void put_gpe(struct gpe_headers *gpe, __u32 frame_bytes, const __u8 *mac,
				    __be32 address, __u8 next_protocol, __u32 flow)
{
	__u16 ip_bytes = (__u16)(frame_bytes - ETH_BYTES);

	__builtin_memset(gpe, 0, sizeof(*gpe));
	put_ethernet(&gpe->eth, mac, ETH_P_IP);
	gpe->ip.version = 4;
	gpe->ip.ihl = 5;
	gpe->ip.tot_len = bpf_htons(ip_bytes);
	gpe->ip.frag_off = bpf_htons(0x4000); /* do not fragment */
	gpe->ip.ttl = UNDERLAY_TTL;
	gpe->ip.protocol = IPPROTO_UDP;
	gpe->ip.saddr = settings.address;
	gpe->ip.daddr = address;
	gpe->ip.check = ip_checksum((void *)(&gpe->eth + 1));
	gpe->udp.source = bpf_htons(DYNAMIC_PORTS | (flow & 0x3fff));
	gpe->udp.dest = bpf_htons(VXLAN_GPE_UDP_PORT);
	gpe->udp.len = bpf_htons((__u16)(ip_bytes - sizeof(gpe->ip)));
	gpe->vxlan.flags = VXLAN_GPE_FLAG_INSTANCE | VXLAN_GPE_FLAG_NEXT_PROTOCOL;
	gpe->vxlan.next_protocol = next_protocol;
}

/* Return a hash of addresses and ports of the frame at `at`; 0 if it is not IPv4. Fragments and
 * packets with IPv4 options are hashed by addresses alone. */
__noinline __u32 flow_of(struct xdp_md *ctx, __u32 at)
{
	/* `at` is smaller; the verifier must see it. */
	const struct ethhdr *eth = (void *)(long)ctx->data + (at & 0x1ff);
	const struct iphdr *ip = (void *)(eth + 1);
	const __u32 *ports = (void *)(ip + 1);
	__u32 hash;

	if ((void *)(ports + 1) > (void *)(long)ctx->data_end ||
	    eth->h_proto != bpf_htons(ETH_P_IP))
		return 0;
	hash = ip->saddr ^ (ip->daddr * 0x9e3779b1U);
	if (ip->ihl == 5 && !(ip->frag_off & bpf_htons(0x3fff)))
		hash ^= *ports * 0x85ebca6bU;
	return (hash ^ hash >> 15) * 0xc2b2ae35U >> 7;
}

/* Make the frame start with `headers` bytes in place of the first `taken`. Returns 0 if there is
 * room for them. */
static __always_inline int resize(struct xdp_md *ctx, __u32 taken, __u32 headers)
{
	return taken == headers ? 0 : (int)bpf_xdp_adjust_head(ctx, (int)taken - (int)headers);
}

/* Set the TTL of the NSH that a packet has, or write a new one for this path. Returns 0, or -1 if
 * it does not fit into the frame. */
static __always_inline int put_nsh(struct nsh_hdr *nsh, const void *end,
				   const struct carriage *carriage, __u32 path, __u8 ttl)
{
	if ((void *)(nsh + 1) > end)
		return -1;
	if (carriage->nsh) {
		nsh_set_ttl(nsh, ttl);
		return 0;
	}
	if ((void *)nsh + NEW_NSH_BYTES > end)
		return -1;
	__builtin_memset(nsh + 1, 0, NEW_NSH_BYTES - sizeof(*nsh));
	nsh_init(nsh, 0, ttl, NSH_MD1_WORDS, NSH_MD_TYPE_1, NSH_NEXT_ETHERNET, path >> 8,
		 (__u8)path);
	return 0;
}

/* Make the frame Ethernet / NSH / packet. An NSH that is there stays; only what is in front of it
 * changes its size. */
static __always_inline enum sff_verdict to_nsh(struct xdp_md *ctx, const struct carriage *carriage,
					       const struct sff_hop *hop, __u32 path, __u8 ttl)
{
	__u32 headers = carriage->nsh ? ETH_BYTES : ETH_BYTES + NEW_NSH_BYTES;
	struct ethhdr *eth;
	const void *end;

	if (resize(ctx, carriage->outer, headers))
		return SFF_NO_ROOM;
	eth = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if ((void *)(eth + 1) > end || put_nsh((void *)(eth + 1), end, carriage, path, ttl))
		return SFF_TRUNCATED;
	put_ethernet(eth, hop->dst_mac, NSH_ETHERTYPE);
	return SFF_FORWARDED;
}

/* Make the frame Ethernet / IPv4 / UDP / VXLAN-GPE / NSH / packet, as to_nsh() does. */
static __always_inline enum sff_verdict to_nsh_gpe(struct xdp_md *ctx,
						   const struct carriage *carriage,
						   const struct sff_hop *hop, __u32 path, __u8 ttl)
{
	__u32 headers = carriage->nsh ? GPE_BYTES : GPE_BYTES + NEW_NSH_BYTES;
	__u32 nsh = carriage->nsh ? carriage->nsh : NEW_NSH_BYTES;
	struct gpe_headers *gpe;
	const void *end;

	if (resize(ctx, carriage->outer, headers))
		return SFF_NO_ROOM;
	gpe = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if ((void *)(gpe + 1) > end || put_nsh((void *)(gpe + 1), end, carriage, path, ttl))
		return SFF_TRUNCATED;
	put_gpe(gpe, frame_bytes(ctx), hop->dst_mac, hop->dst_ip, VXLAN_GPE_NEXT_NSH,
		flow_of(ctx, GPE_BYTES + nsh));
	return SFF_FORWARDED;
}

/* Bytes of the Ethernet header that the packet lacks: ETH_BYTES if its NSH carries bare IP, and
 * then *protocol is the EtherType for it; 0 if it has one, as all packets without an NSH do. -1:
 * the NSH carries something else, which this SFF cannot put into Ethernet. */
static __always_inline int missing_ethernet(const struct carriage *carriage, __u16 *protocol)
{
	*protocol = 0;
	if (!carriage->nsh || carriage->next_protocol == NSH_NEXT_ETHERNET)
		return 0;
	if (carriage->next_protocol != NSH_NEXT_IPV4 && carriage->next_protocol != NSH_NEXT_IPV6)
		return -1;
	*protocol = carriage->next_protocol == NSH_NEXT_IPV4 ? ETH_P_IP : ETH_P_IPV6;
	return ETH_BYTES;
}

/* Has the packet fewer than `needed` bytes? */
static __always_inline bool is_cut_short(struct xdp_md *ctx, const struct carriage *carriage,
					 __u32 needed)
{
	return frame_bytes(ctx) < carriage->outer + carriage->nsh + needed;
}

/* Make the frame the packet alone, in Ethernet, to `mac`; NULL: to the address that it has. */
static __always_inline enum sff_verdict strip(struct xdp_md *ctx, const struct carriage *carriage,
					      const __u8 *mac)
{
	__u16 protocol;
	int missing = missing_ethernet(carriage, &protocol);
	struct ethhdr *eth;

	/* Without an Ethernet header of its own the packet has no address to keep. */
	if (missing < 0 || (missing && !mac))
		return SFF_NEXT_PROTOCOL;
	if (is_cut_short(ctx, carriage, ETH_BYTES - (__u32)missing))
		return SFF_TRUNCATED;
	if (resize(ctx, carriage->outer + carriage->nsh, (__u32)missing))
		return SFF_NO_ROOM;
	eth = (void *)(long)ctx->data;
	if ((void *)(eth + 1) > (void *)(long)ctx->data_end)
		return SFF_TRUNCATED;
	if (missing)
		put_ethernet(eth, mac, protocol);
	else if (mac)
		__builtin_memcpy(eth->h_dest, mac, ETH_ALEN);
	return SFF_FORWARDED;
}

/* Make the frame Ethernet / IPv4 / UDP / VXLAN-GPE / packet, which must be an Ethernet frame. */
static __always_inline enum sff_verdict to_ethernet_gpe(struct xdp_md *ctx,
							const struct carriage *carriage,
							const __u8 *mac, __be32 address)
{
	struct gpe_headers *gpe;

	if (carriage->nsh && carriage->next_protocol != NSH_NEXT_ETHERNET)
		return SFF_NEXT_PROTOCOL;
	if (is_cut_short(ctx, carriage, ETH_BYTES))
		return SFF_TRUNCATED;
	if (resize(ctx, carriage->outer + carriage->nsh, GPE_BYTES))
		return SFF_NO_ROOM;
	gpe = (void *)(long)ctx->data;
	if ((void *)(gpe + 1) > (void *)(long)ctx->data_end)
		return SFF_TRUNCATED;
	put_gpe(gpe, frame_bytes(ctx), mac, address, VXLAN_GPE_NEXT_ETHERNET,
		flow_of(ctx, GPE_BYTES));
	return SFF_FORWARDED;
}
