/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What came in: by which port, in which encapsulation, and at which place of which path. Where it goes
 * is decided later, except for frames in transit to other nodes.
 */
#pragma once

#include "classify.bpf.h"
#include "reframe.bpf.h"
#include "tables.bpf.h"

struct sff_decision {
	const struct sff_hop *hop; /* along a path; else: */
	const struct sff_station *station;
	const struct sff_port *leaves;
	__u32 generation; /* of the tables that it was found in */
	__u32 port; /* number of that */
	__u32 counter; /* of (SPI, SI); 0: none */
	__u64 identity; /* of a packet that is traced; 0: it is not */
	bool unchanged; /* in transit */
};

struct arrival {
	__u32 generation; /* of the tables, the same for all that is done to a packet */
	__u32 ifindex;
	__u32 port; /* number */
	const struct sff_port *attached;
	struct carriage carriage; /* how the packet came */
	__u32 path; /* SPI << 8 | SI; 0: it bypasses the chain */
	__u8 ttl;
};

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

/* Frames to other nodes and SFs leave as they came. */
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

static __always_inline enum sff_verdict from_underlay(struct xdp_md *ctx, struct arrival *arrival,
						      struct sff_decision *decision)
{
	void *end = (void *)(long)ctx->data_end;
	struct gpe_headers *gpe = (void *)(long)ctx->data;
	__u32 bytes, ip_bytes, there;

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
	bytes = bpf_ntohs(gpe->udp.len);
	ip_bytes = bpf_ntohs(gpe->ip.tot_len);
	there = end - (void *)&gpe->udp;
	if (bytes < sizeof(gpe->udp) + sizeof(gpe->vxlan) || bytes + sizeof(gpe->ip) > ip_bytes ||
	    ip_bytes > there + sizeof(gpe->ip))
		return SFF_TRUNCATED;
	arrival->carriage.padding = there - bytes;
	if (vxlan_gpe_carries_nsh(&gpe->vxlan))
		return read_nsh(ctx, arrival, GPE_BYTES,
				bytes - sizeof(gpe->udp) - sizeof(gpe->vxlan));
	if (!vxlan_gpe_carries(&gpe->vxlan, VXLAN_GPE_NEXT_ETHERNET))
		return SFF_ENCAPSULATION;
	if (bytes < sizeof(gpe->udp) + sizeof(gpe->vxlan) + ETH_BYTES)
		return SFF_TRUNCATED;
	arrival->carriage.outer = GPE_BYTES;
	return SFF_BYPASSED;
}

static __always_inline enum sff_verdict from_plain(struct xdp_md *ctx, struct arrival *arrival)
{
	struct sff_tuple tuple;
	const struct sff_port *attached = arrival->attached;
	const __u32 *path;

	arrival->ttl = SFF_TTL;
	if (!(attached->flags & SFF_SHARED)) {
		if (!carries_ip(ctx))
			return SFF_NOT_IP;
		arrival->path = attached->spi << 8 | attached->si;
		return SFF_FORWARDED;
	}
	if (read_tuple(ctx, &tuple))
		return SFF_NOT_IP;
	tuple.port = (__u8)arrival->port;
	path = bpf_map_lookup_elem(&proxy_flows, &tuple);
	if (!path)
		return SFF_NO_FLOW;
	arrival->path = *path;
	return SFF_FORWARDED;
}

static __always_inline enum sff_verdict from_endpoint(struct xdp_md *ctx, struct arrival *arrival)
{
	struct sff_tuple tuple;

	if (frame_bytes(ctx) < ETH_BYTES)
		return SFF_TRUNCATED;
	arrival->ttl = SFF_TTL;
	/* The receiver may read what we cannot: it would go round the chain. */
	if (read_tuple(ctx, &tuple))
		return arrival->attached->flags & SFF_BYPASS_UNPARSED ? SFF_BYPASSED : SFF_UNPARSED;
	tuple.port = (__u8)arrival->port;
	arrival->path = classify(&tuple, arrival->generation);
	return arrival->path ? SFF_FORWARDED : SFF_BYPASSED;
}

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
