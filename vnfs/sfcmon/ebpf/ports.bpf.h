/* SPDX-License-Identifier: Apache-2.0 */
/* Which packets at a port of an SFF have an NSH when it looks them up. */
#pragma once

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "../../../dataplane/common/ip.h"
#include "../../../dataplane/common/table.bpf.h"
#include "../../../dataplane/nsh/nsh.h"
#include "ports.h"

#define PORTS_HEADERS 1024 /* bytes: more than all headers that are read */

/* By ifindex. */
TABLE(ports, BPF_MAP_TYPE_HASH, SFCMON_PORTS, __u32, struct sfcmon_port, 0);

/* Is this a packet of the underlay that the SFF of this node, which has the address, does not
 * look up? Those are packets for other nodes, and Ethernet frames in VXLAN-GPE, which bypass the
 * chain. */
static __always_inline bool is_in_transit(struct __sk_buff *skb, __be32 address)
{
	struct {
		struct udphdr udp;
		struct vxlan_gpe_hdr vxlan;
	} tunnel;
	struct iphdr ip;

	if (skb->vlan_present || skb->protocol != bpf_htons(ETH_P_IP) ||
	    bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof(ip)))
		return false;
	if (ip.daddr != address)
		return true;
	return ip.protocol == IPPROTO_UDP && !(ip.frag_off & bpf_htons(IP_FRAGMENT)) &&
	       !bpf_skb_load_bytes(skb, ETH_HLEN + ip.ihl * 4, &tunnel, sizeof(tunnel)) &&
	       tunnel.udp.dest == bpf_htons(VXLAN_GPE_UDP_PORT) &&
	       vxlan_gpe_carries(&tunnel.vxlan, VXLAN_GPE_NEXT_ETHERNET);
}

/* Does a packet have the ports of a rule? Packets without ports, and all fragments, have the ports
 * 0, as Open vSwitch sees them, and always match: they enter the chain as well
 * (drivers/local/sff/match_fields.py). */
static __always_inline bool ports_match(struct __sk_buff *skb, const struct iphdr *ip,
					const struct sfcmon_port *port)
{
	__be16 both[2] = {};

	/* Where the packet ends too early, they stay 0. */
	if (!(ip->frag_off & bpf_htons(IP_FRAGMENT)))
		bpf_skb_load_bytes(skb, ETH_HLEN + ip->ihl * 4, both, sizeof(both));
	if (!both[0] && !both[1])
		return true;
	return (!port->source_port || port->source_port == both[0]) &&
	       (!port->destination_port || port->destination_port == both[1]);
}

/* Does a packet match the rule of a port? If the rule leaves all fields open, the EtherType alone
 * decides, and the IP header need not be good. */
static __always_inline bool matches(struct __sk_buff *skb, const struct sfcmon_port *port)
{
	bool has_ports = port->source_port || port->destination_port;
	struct iphdr ip;

	if (skb->vlan_present || skb->protocol != bpf_htons(ETH_P_IP))
		return false;
	if (!port->protocol && !port->source_mask && !port->destination_mask && !has_ports)
		return true;
	return !bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof(ip)) && ip.version == 4 &&
	       ip.ihl >= 5 && (!port->protocol || port->protocol == ip.protocol) &&
	       (ip.saddr & port->source_mask) == port->source &&
	       (ip.daddr & port->destination_mask) == port->destination &&
	       (!has_ports || ports_match(skb, &ip, port));
}

/* Does the SFF look up this packet? `*path` becomes SPI << 8 | SI of one that has no NSH yet, and
 * stays as it is for others. */
static __always_inline bool is_looked_up(struct __sk_buff *skb, __u32 *path)
{
	__u32 ifindex = skb->ifindex;
	const struct sfcmon_port *port = bpf_map_lookup_elem(&ports, &ifindex);

	if (!port)
		return false;
	switch (port->kind) {
	case SFCMON_PORT_NSH:
		return true;
	case SFCMON_PORT_UNDERLAY:
		return !is_in_transit(skb, port->address);
	default:
		*path = port->path;
		return matches(skb, port);
	}
}

/* Make headers readable that the kernel keeps outside of the linear part of the packet. Returns 0
 * if more can be read now, else an error: -1 if all headers could be read before. */
static __always_inline int make_accessible(struct __sk_buff *skb)
{
	__u32 bytes = skb->len < PORTS_HEADERS ? skb->len : PORTS_HEADERS;

	if (skb->data_end - skb->data >= bytes)
		return -1;
	return (int)bpf_skb_pull_data(skb, bytes);
}
