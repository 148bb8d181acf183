// SPDX-License-Identifier: Apache-2.0
/*
 * Engine `userspace`: which thread takes a frame (PACKET_FANOUT_EBPF).
 *
 * The kernel's own flow hash sees one flow per SFF and SF, because it does not look into the NSH.
 * This one hashes the inner flow, so that flows spread and each keeps its order.
 */
#include <stdbool.h>

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "../common/ip.h"
#include "../common/mix.bpf.h"
#include "../nsh/nsh.h"

/* Read as many bytes as `*to` has, `offset` bytes behind the start of the network header. False:
 * they are not there. */
#define READ(skb, offset, to)                                                                      \
	(bpf_skb_load_bytes_relative(skb, offset, to, sizeof(*(to)), BPF_HDR_START_NET) == 0)

/* Whether both directions of a flow go to one thread, on whichever path each is. */
const volatile bool both_directions;

/* Mix something of the sender, and the same of the receiver, into the hash. In both directions the
 * result is the same if `both_directions`. */
static __always_inline __u32 mix_ends(__u32 hash, __u32 source, __u32 destination)
{
	if (both_directions)
		return mix(hash, mix(0, source) + mix(0, destination));
	return mix(mix(hash, source), destination);
}

/* Mix the protocol and its ports, if it has any, into the hash. Its header starts at `offset`. */
static __always_inline __u32 mix_ports(struct __sk_buff *skb, __u32 offset, __u8 protocol,
				       __u32 hash)
{
	__u16 ports[2];

	hash = mix(hash, protocol);
	if ((protocol == IPPROTO_TCP || protocol == IPPROTO_UDP) && READ(skb, offset, &ports))
		hash = mix_ends(hash, ports[0], ports[1]);
	return hash;
}

static __always_inline __u32 mix_ipv4(struct __sk_buff *skb, __u32 offset, __u32 hash)
{
	struct iphdr ip;

	if (!READ(skb, offset, &ip))
		return hash;
	hash = mix_ends(hash, ip.saddr, ip.daddr);
	/* Later fragments have no ports: all fragments of a datagram go by addresses alone. */
	if (ip.frag_off & bpf_htons(IP_FRAGMENT))
		return mix(hash, ip.protocol);
	return mix_ports(skb, offset + ip.ihl * 4, ip.protocol, hash);
}

static __always_inline __u32 mix_ipv6(struct __sk_buff *skb, __u32 offset, __u32 hash)
{
	struct ipv6hdr ip;

	if (!READ(skb, offset, &ip))
		return hash;
	for (int i = 0; i < 4; i++)
		hash = mix_ends(hash, ip.saddr.in6_u.u6_addr32[i], ip.daddr.in6_u.u6_addr32[i]);
	return mix_ports(skb, offset + sizeof(ip), ip.nexthdr, hash);
}

/* Returns a hash of the flow behind the NSH, which the kernel reduces to the number of a thread.
 * For frames without an NSH any number does, because threads leave them to the kernel. */
SEC("socket")
int fanout(struct __sk_buff *skb)
{
	__u32 offset = 0, hash;
	__u16 ethertype;
	struct nsh_hdr nsh;
	struct ethhdr eth;
	__u8 ver_ihl; /* version and header length of the outer IPv4 */

	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		if (!READ(skb, 0, &ver_ihl))
			return 0;
		offset =
			(ver_ihl & 0x0f) * 4 + sizeof(struct udphdr) + sizeof(struct vxlan_gpe_hdr);
	} else if (skb->protocol != bpf_htons(NSH_ETHERTYPE)) {
		return 0;
	}
	if (!READ(skb, offset, &nsh))
		return 0;
	hash = both_directions ? 0 : mix(0, nsh_spi(&nsh));
	offset += nsh_bytes(&nsh);

	switch (nsh.next_protocol) {
	case NSH_NEXT_IPV4:
		return mix_ipv4(skb, offset, hash);
	case NSH_NEXT_IPV6:
		return mix_ipv6(skb, offset, hash);
	case NSH_NEXT_ETHERNET:
		if (!READ(skb, offset, &eth))
			return hash;
		ethertype = bpf_ntohs(eth.h_proto);
		offset += sizeof(eth);
		if (ethertype == ETH_P_IP)
			return mix_ipv4(skb, offset, hash);
		if (ethertype == ETH_P_IPV6)
			return mix_ipv6(skb, offset, hash);
		return hash;
	default:
		return hash;
	}
}

char LICENSE[] SEC("license") = "Apache-2.0";
