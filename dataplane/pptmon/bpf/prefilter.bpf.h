/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Could a packet carry a header of ours? This runs for every packet, so that it alone reads packet
 * memory directly.
 */
#pragma once

#include "work.bpf.h"

static __always_inline int is_our_option(const __u8 *option)
{
	__u16 exid = be16(option + 2);

	return option[0] == PPT_TCP_KIND &&
	       (exid == PPT_EXID_RFC || (exid & PPT_EXID_PAPER_MASK) == PPT_EXID_PAPER);
}

/* Could TCP or UDP carry a header of ours? In doubt, yes. Our option is the first one, so that no
 * other needs to be parsed. `l4_space`: bytes behind the IP header, of which UDP's length leaves
 * some to a surplus area. */
static __always_inline int may_carry_header_l4(const void *l4, const void *end, __u8 protocol,
					       __u32 l4_space)
{
	const struct tcphdr *tcp = l4;
	const struct udphdr *udp = l4;

	if (protocol == IPPROTO_TCP) {
		if ((const void *)(tcp + 1) > end)
			return 1;
		if (tcp->doff == 5)
			return 0;
		if ((const void *)(tcp + 1) + 4 > end)
			return 1;
		return is_our_option((const __u8 *)(tcp + 1));
	}
	if (protocol == IPPROTO_UDP) {
		if ((const void *)(udp + 1) > end)
			return 1;
		return udp->dest == bpf_htons(VXLAN_GPE_UDP_PORT) ||
		       bpf_ntohs(udp->len) != l4_space;
	}
	return 0;
}

/* Could this frame carry a header of ours? In doubt, yes. */
static __always_inline int may_carry_header(struct __sk_buff *skb)
{
	const void *end = (const void *)(long)skb->data_end;
	const struct ethhdr *ethernet = (const void *)(long)skb->data;
	const struct iphdr *v4 = (const void *)(ethernet + 1);
	const struct ipv6hdr *v6 = (const void *)(ethernet + 1);

	if ((const void *)(ethernet + 1) > end)
		return 1;
	switch (ethernet->h_proto) {
	case bpf_htons(ETH_P_IP):
		if ((const void *)(v4 + 1) > end || v4->ihl != 5)
			return 1;
		if (v4->frag_off & bpf_htons(0x3fff))
			return 0;
		return may_carry_header_l4(v4 + 1, end, v4->protocol,
					   bpf_ntohs(v4->tot_len) - (__u32)sizeof(*v4));
	case bpf_htons(ETH_P_IPV6):
		if ((const void *)(v6 + 1) > end)
			return 1;
		switch (v6->nexthdr) {
		case IPPROTO_HOPOPTS:
		case IPPROTO_ROUTING:
		case IPPROTO_DSTOPTS:
			return 1;
		}
		return may_carry_header_l4(v6 + 1, end, v6->nexthdr, bpf_ntohs(v6->payload_len));
	case bpf_htons(ETH_P_8021Q):
	case bpf_htons(ETH_P_8021AD):
	case bpf_htons(NSH_ETHERTYPE):
		return 1;
	default:
		return 0;
	}
}
