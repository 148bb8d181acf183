/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What came in: by which port, in which encapsulation, and at which place of which path. Where it
 * goes is decided later, except for frames in transit to other nodes.
 *
 * Functions return SFF_FORWARDED for a packet on a path, which arrival->path then names;
 * SFF_BYPASSED for one that bypasses the chain or is in transit; or why it is dropped.
 */
#pragma once

#include "classify.bpf.h"
#include "reframe.bpf.h"
#include "tables.bpf.h"

/* What is done with a frame. `hop` is for a packet on a path, `station` for one that bypasses the
 * chain; both are NULL for others. */
struct sff_decision {
	const struct sff_hop *hop;
	const struct sff_station *station;
	const struct sff_port *leaves; /* where the finished frame leaves; NULL if it is dropped */
	__u32 generation; /* of the tables in which hop, station or route was found */
	__u32 port; /* number of the port where it leaves, in these tables */
	__u32 counter; /* of (SPI, SI); 0: none */
	__u64 identity; /* of a packet that is traced (identify()); 0: it is not */
	bool unchanged; /* in transit */
};

/* How a frame came. sff() fills in the first four, receive() the others. */
struct arrival {
	__u32 generation; /* of the tables, the same for all that is done to a packet */
	__u32 ifindex;
	__u32 port; /* number of `attached` */
	const struct sff_port *attached; /* the port where it came in */
	struct carriage carriage; /* how the packet came */
	__u32 path; /* SPI << 8 | SI; 0: it bypasses the chain */
	__u8 ttl; /* of the NSH; SFF_TTL if there is none. next_hop() decrements it */
};

/* Check the NSH behind `outer` bytes, and note what it says. `available` bytes are there from its
 * start to the end of the packet. */
static __always_inline enum sff_verdict read_nsh(struct xdp_md *ctx, struct arrival *arrival,
						 __u32 outer, __u32 available)
{
	void *end = (void *)(long)ctx->data_end;
	struct nsh_hdr *nsh = (void *)(long)ctx->data + outer;

	if ((void *)(nsh + 1) > end)
		return SFF_TRUNCATED;
	switch (nsh_check(nsh, available)) {
	case NSH_OK:
		break;
	case NSH_ERROR_VERSION:
		return SFF_VERSION;
	case NSH_ERROR_MD_TYPE:
		return SFF_MD_TYPE;
	case NSH_ERROR_LENGTH:
		return SFF_LENGTH;
	default:
		return SFF_TRUNCATED;
	}
	if (nsh_is_oam(nsh))
		return SFF_OAM;
	if (nsh->si == 0)
		return SFF_SI_ZERO;
	arrival->carriage.outer = outer;
	arrival->carriage.nsh = nsh_bytes(nsh);
	arrival->carriage.next_protocol = nsh->next_protocol;
	arrival->path = nsh_spi(nsh) << 8 | nsh->si;
	arrival->ttl = nsh_ttl(nsh);
	return SFF_FORWARDED;
}

/* From an SF that speaks NSH over Ethernet. */
static __always_inline enum sff_verdict from_nsh(struct xdp_md *ctx, struct arrival *arrival)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;

	if ((void *)(eth + 1) > end)
		return SFF_TRUNCATED;
	if (eth->h_proto != bpf_htons(NSH_ETHERTYPE) || !same_mac(eth->h_dest, settings.mac))
		return SFF_ENCAPSULATION;
	return read_nsh(ctx, arrival, ETH_BYTES, end - (void *)eth - ETH_BYTES);
}

/* Decide on a frame to another node or SF, which has this address: it leaves as it came, by the
 * port of its route. */
static __always_inline enum sff_verdict transit(__u32 generation, __be32 address,
						struct sff_decision *decision)
{
	struct sff_route_key key = { .address = address };
	const __u32 *port = find_in_generations(&routes, &key, &key.generation, generation);

	if (!port)
		return SFF_NO_STATION;
	decision->generation = key.generation;
	decision->port = *port;
	decision->unchanged = true;
	return SFF_BYPASSED;
}

/* From another node, or an SF that speaks NSH over VXLAN-GPE. */
static __always_inline enum sff_verdict from_underlay(struct xdp_md *ctx, struct arrival *arrival,
						      struct sff_decision *decision)
{
	void *end = (void *)(long)ctx->data_end;
	struct gpe_headers *gpe = (void *)(long)ctx->data;
	__u32 udp_bytes, ip_bytes, there;

	if ((void *)(gpe + 1) > end)
		return SFF_TRUNCATED;
	if (gpe->eth.h_proto != bpf_htons(ETH_P_IP))
		return SFF_ENCAPSULATION;
	if (gpe->ip.daddr != settings.address)
		return transit(arrival->generation, gpe->ip.daddr, decision);
	if (gpe->ip.version != 4 || gpe->ip.ihl != 5 || gpe->ip.protocol != IPPROTO_UDP ||
	    (gpe->ip.frag_off & bpf_htons(IP_FRAGMENT)) ||
	    gpe->udp.dest != bpf_htons(VXLAN_GPE_UDP_PORT) || vxlan_gpe_vni(&gpe->vxlan) ||
	    ip_checksum((void *)(&gpe->eth + 1)))
		return SFF_ENCAPSULATION;
	/* A frame may be padded: the datagram says where the packet ends. */
	udp_bytes = bpf_ntohs(gpe->udp.len);
	ip_bytes = bpf_ntohs(gpe->ip.tot_len);
	there = end - (void *)&gpe->udp; /* bytes from UDP on, with padding */
	if (udp_bytes < sizeof(gpe->udp) + sizeof(gpe->vxlan) ||
	    udp_bytes + sizeof(gpe->ip) > ip_bytes || ip_bytes > there + sizeof(gpe->ip))
		return SFF_TRUNCATED;
	arrival->carriage.padding = there - udp_bytes;
	if (vxlan_gpe_carries_nsh(&gpe->vxlan))
		return read_nsh(ctx, arrival, GPE_BYTES,
				udp_bytes - sizeof(gpe->udp) - sizeof(gpe->vxlan));
	if (!vxlan_gpe_carries(&gpe->vxlan, VXLAN_GPE_NEXT_ETHERNET))
		return SFF_ENCAPSULATION;
	if (udp_bytes < sizeof(gpe->udp) + sizeof(gpe->vxlan) + ETH_BYTES)
		return SFF_TRUNCATED;
	arrival->carriage.outer = GPE_BYTES;
	return SFF_BYPASSED;
}

/* From an SF behind the proxy. Its port names the path; if several paths share the SF, the flow
 * does, which remember_flow() noted. The proxy has decremented the SI, maybe to 0. */
static __always_inline enum sff_verdict from_plain(struct xdp_md *ctx, struct arrival *arrival)
{
	struct sff_tuple tuple;
	const struct sff_port *attached = arrival->attached;
	const __u32 *path;

	arrival->ttl = SFF_TTL;
	if (!(attached->flags & SFF_SHARED)) {
		if (!carries_ip(ctx))
			return SFF_NOT_IP;
		if (!(attached->flags & SFF_RETURNS))
			return SFF_NO_PATH;
		arrival->path = attached->spi << 8 | attached->si;
	} else {
		if (read_tuple(ctx, &tuple))
			return SFF_NOT_IP;
		tuple.port = (__u8)arrival->port;
		path = bpf_map_lookup_elem(&proxy_flows, &tuple);
		if (!path)
			return SFF_NO_FLOW;
		arrival->path = *path;
	}
	return arrival->path & 0xff ? SFF_FORWARDED : SFF_SI_ZERO;
}

/* From an endpoint: the classifier says whether the packet enters a path. */
static __always_inline enum sff_verdict from_endpoint(struct xdp_md *ctx, struct arrival *arrival)
{
	struct sff_tuple tuple;

	if (frame_bytes(ctx) < ETH_BYTES)
		return SFF_TRUNCATED;
	arrival->ttl = SFF_TTL;
	/* Dropped unless asked otherwise: the receiver may understand what we cannot read, and
	 * the packet would have gone round the chain. */
	if (read_tuple(ctx, &tuple))
		return arrival->attached->flags & SFF_BYPASS_UNPARSED ? SFF_BYPASSED : SFF_UNPARSED;
	tuple.port = (__u8)arrival->port;
	arrival->path = classify(&tuple, arrival->generation);
	return arrival->path ? SFF_FORWARDED : SFF_BYPASSED;
}

/* Note how a frame came, by the kind of its port. Only `from_underlay` decides where it goes. */
static __always_inline enum sff_verdict receive(struct xdp_md *ctx, struct arrival *arrival,
						struct sff_decision *decision)
{
	switch (arrival->attached->kind) {
	case SFF_PORT_ENDPOINT:
		return from_endpoint(ctx, arrival);
	case SFF_PORT_NSH:
		return from_nsh(ctx, arrival);
	case SFF_PORT_PLAIN:
		return from_plain(ctx, arrival);
	case SFF_PORT_UNDERLAY:
		return from_underlay(ctx, arrival, decision);
	default:
		return SFF_ENCAPSULATION;
	}
}
