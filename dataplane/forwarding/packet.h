/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the forwarder does with one frame, the same for both engines.
 *
 * An SF decrements the SI and returns the packet to its SFF (RFC 8300 sections 2.3 and 3). It
 * leaves the TTL to SFFs (section 2.2).
 */
#pragma once

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>

#include "../common/ip.h"
#include "../nsh/nsh.h"
#include "forwarder.h"

/* Are these MAC addresses the same? Compared byte by byte: BPF has no memcmp() to call. */
static __always_inline int fwd_same_mac(const __u8 *a, const volatile __u8 *b)
{
	__u8 difference = 0;

	for (int i = 0; i < ETH_ALEN; i++)
		difference |= a[i] ^ b[i];
	return difference == 0;
}

static __always_inline void fwd_swap_macs(struct ethhdr *eth)
{
	__u8 mac[ETH_ALEN];

	__builtin_memcpy(mac, eth->h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, eth->h_source, ETH_ALEN);
	__builtin_memcpy(eth->h_source, mac, ETH_ALEN);
}

/* Check the NSH, behind whose start the packet has `available` bytes. If it is right, decrement its
 * SI, and let `path` have SPI and SI as they arrived. */
static __always_inline enum fwd_verdict fwd_serve(struct nsh_hdr *nsh, __u32 available,
						  fwd_path *path)
{
	switch (nsh_check(nsh, available)) {
	case NSH_OK:
		break;
	case NSH_ERROR_VERSION:
		return FWD_VERSION;
	case NSH_ERROR_MD_TYPE:
		return FWD_MD_TYPE;
	case NSH_ERROR_LENGTH:
		return FWD_LENGTH;
	default:
		return FWD_TRUNCATED;
	}
	if (nsh_is_oam(nsh))
		return FWD_OAM;
	if (nsh->si == 0)
		return FWD_SI_ZERO;
	if (nsh->si == 1)
		return FWD_SI_EXHAUSTED;
	*path = nsh_spi(nsh) << 8 | nsh->si;
	nsh->si--;
	return FWD_FORWARDED;
}

/* Decide on Ethernet / IPv4 / UDP 4790 / VXLAN-GPE / NSH, as fwd_frame() does; other packets are
 * left to the kernel. A forwarded packet goes back to the tunnel's other end. */
static __always_inline enum fwd_verdict fwd_vxlan_gpe(struct ethhdr *eth, void *end, fwd_path *path)
{
	struct iphdr *ip = (void *)(eth + 1);
	struct vxlan_gpe_hdr *gpe;
	enum fwd_verdict verdict;
	struct udphdr *udp;
	struct nsh_hdr *nsh;
	__u32 udp_bytes;
	__be32 address;

	if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl < 5 ||
	    ip->protocol != IPPROTO_UDP || (ip->frag_off & bpf_htons(IP_FRAGMENT)))
		return FWD_PASSED;
	udp = (void *)ip + ip->ihl * 4;
	if ((void *)(udp + 1) > end || udp->dest != bpf_htons(VXLAN_GPE_UDP_PORT))
		return FWD_PASSED;

	gpe = (void *)(udp + 1);
	if ((void *)(gpe + 1) > end)
		return FWD_TRUNCATED;
	if (!vxlan_gpe_carries_nsh(gpe))
		return FWD_ENCAPSULATION;

	/* A frame may be padded: the datagram's own length says where the packet ends. */
	nsh = (void *)(gpe + 1);
	udp_bytes = bpf_ntohs(udp->len);
	if ((void *)(nsh + 1) > end || udp_bytes < sizeof(*udp) + sizeof(*gpe) ||
	    udp_bytes > (__u32)(end - (void *)udp))
		return FWD_TRUNCATED;
	verdict = fwd_serve(nsh, udp_bytes - sizeof(*udp) - sizeof(*gpe), path);
	if (verdict != FWD_FORWARDED)
		return verdict;

	/* The IP checksum stays right, because the addresses are only swapped. There is no UDP
	 * checksum, as RFC 7348 section 5 prefers: the one that came may be partial, left to an
	 * offload that this frame never meets. */
	address = ip->saddr;
	ip->saddr = ip->daddr;
	ip->daddr = address;
	udp->check = 0;
	return FWD_FORWARDED;
}

/*
 * Decide on a frame and, when it is forwarded, change it in place: SI decremented, MAC (and
 * tunnel) addresses swapped. `own_mac` is the interface's address: frames to others are left to
 * the kernel. `path` is written for forwarded frames only.
 */
static __always_inline enum fwd_verdict fwd_frame(void *start, void *end,
						  const volatile __u8 *own_mac, fwd_path *path)
{
	enum fwd_verdict verdict = FWD_PASSED;
	struct ethhdr *eth = start;
	struct nsh_hdr *nsh;

	if ((void *)(eth + 1) > end || !fwd_same_mac(eth->h_dest, own_mac))
		return FWD_PASSED;
	if (eth->h_proto == bpf_htons(NSH_ETHERTYPE)) {
		nsh = (void *)(eth + 1);
		if ((void *)(nsh + 1) > end)
			return FWD_TRUNCATED;
		verdict = fwd_serve(nsh, end - (void *)nsh, path);
	} else if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		verdict = fwd_vxlan_gpe(eth, end, path);
	}
	if (verdict == FWD_FORWARDED)
		fwd_swap_macs(eth);
	return verdict;
}
