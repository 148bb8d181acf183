/* SPDX-License-Identifier: Apache-2.0 */
/* From a frame to its key, check by check as docs/reference/sdn-mon.md lists them. read.bpf.h puts
 * the parts together. */
#pragma once

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>

#include "../common/ip.h"
#include "../common/ipv6_extensions.h"
#include "../nsh/nsh.h"
#include "key.bpf.h"

/* The read_...() functions return SDNMON_READ, the total that counts a malformed frame, or
 * SDNMON_NOT_LINEAR. */
#define SDNMON_READ SDNMON_RECEIVED /* not malformed, as far as it was read */
#define SDNMON_NOT_LINEAR SDNMON_TOTALS /* headers are not where they can be read directly */

#define VLAN_TAGS 2 /* most that are read in front of a packet */
#define VLAN_PRESENT 0x1000 /* OFPVID_PRESENT */
#define VLAN_VID 0x0fff
#define ETH_LENGTH_MOST 0x05ff /* EtherTypes are greater */
#define IPV6_EXTENSIONS 4 /* most extension headers that are read */
#define IPV6_OFFSET 0xfff8 /* of a fragment header: bits of the offset */
#define AT_MOST 0x1fff /* greatest offset at which a header is read: the verifier needs a bound */
#define VXLAN_UDP_PORT 4789
#define SCTP_HEADER_BYTES 12
#define ICMP_HEADER_BYTES 4 /* that each ICMP message has: type, code, checksum */
#define TCP_FLAGS 0x0fff
#define OTHER_PROTOCOL 0 /* instead of an EtherType: what follows is not read */

struct vlan_tag {
	__be16 tci;
	__be16 type; /* EtherType of what follows */
};

/* What is known of a frame. Before it is read, the program sets `length`, `tagged`, `tci` and
 * `merged`. */
struct sdnmon_frame {
	struct sdnmon_key key;
	__u32 length; /* bytes of the frame, also those that cannot be read directly */
	__u32 header; /* bytes up to the end of the TCP, UDP or SCTP header; 0: none was read */
	__u32 at, limit; /* of the cursor, while no function has one */
	__be16 protocol; /* likewise */
	__u32 tci; /* of that tag */
	__u16 has; /* bits of SDNMON_PRESENCE */
	bool tagged; /* the kernel has taken a VLAN tag out of the frame */
	bool merged; /* it stands for several packets */
};

/* How far a frame has been read. */
struct cursor {
	const void *start, *end; /* of the bytes that can be read directly */
	__u32 at; /* offset of what is read next */
	/* Offset of the end of the frame, also if that cannot be read directly; in a tunnel, of the
	 * end of what the tunnel carries. */
	__u32 limit;
	__be16 protocol; /* EtherType of what is at `at` */
};

#define PEEK(cursor, type) ((const type *)peek(cursor, sizeof(type)))

/* Return the next bytes; NULL if they do not exist or cannot be read directly (lack() says
 * which). */
static __always_inline const void *peek(const struct cursor *cursor, __u32 bytes)
{
	const void *here;

	if (cursor->at > AT_MOST)
		return NULL;
	/* Ethernet may have padded what a tunnel carries. */
	if (config.looks_into_tunnels && cursor->at + bytes > cursor->limit)
		return NULL;
	here = cursor->start + cursor->at;
	return here + bytes <= cursor->end ? here : NULL;
}

/* Say why peek() returned NULL: the frame ends before, or the bytes cannot be read directly. */
static __always_inline int lack(const struct cursor *cursor, __u32 bytes)
{
	return cursor->at + bytes > cursor->limit ? SDNMON_TRUNCATED : SDNMON_NOT_LINEAR;
}

#define LACKS(cursor, type) lack(cursor, sizeof(type))

/* Put the fields of the outermost VLAN tag. */
static __always_inline void put_vlan(struct sdnmon_frame *frame, __u16 tci)
{
	PUT(&frame->key, SDNMON_VLAN_VID, __u16, bpf_htons((tci & VLAN_VID) | VLAN_PRESENT));
	PUT(&frame->key, SDNMON_VLAN_PCP, __u8, (tci >> 13));
	frame->has |= SDNMON_HAS_VLAN;
}

static __always_inline bool is_vlan(__be16 protocol)
{
	return protocol == bpf_htons(ETH_P_8021Q) || protocol == bpf_htons(ETH_P_8021AD);
}

/* Read an Ethernet header with its VLAN tags. The cursor then has the EtherType of what follows.
 * Only the outermost Ethernet header gives fields, not one in a tunnel or an NSH. */
static __always_inline int read_link(struct cursor *cursor, struct sdnmon_frame *frame,
				     const bool outermost)
{
	const struct ethhdr *eth = PEEK(cursor, struct ethhdr);

	if (!eth)
		return LACKS(cursor, struct ethhdr);
	if (outermost) {
		put_mac(&frame->key, SDNMON_ETH_DST, eth->h_dest);
		put_mac(&frame->key, SDNMON_ETH_SRC, eth->h_source);
		if (frame->tagged)
			put_vlan(frame, (__u16)frame->tci);
	}
	cursor->protocol = eth->h_proto;
	cursor->at += sizeof(*eth);
#pragma unroll
	for (int i = 0; i < VLAN_TAGS; i++) {
		const struct vlan_tag *tag;

		/* A tag that the kernel has taken out is one of them. */
		if (!is_vlan(cursor->protocol) ||
		    (outermost && frame->tagged && i + 1 == VLAN_TAGS))
			break;
		tag = PEEK(cursor, struct vlan_tag);
		if (!tag)
			return LACKS(cursor, struct vlan_tag);
		if (outermost && !(frame->has & SDNMON_HAS_VLAN))
			put_vlan(frame, bpf_ntohs(tag->tci));
		cursor->protocol = tag->type;
		cursor->at += sizeof(*tag);
	}
	/* A length (IEEE 802.3) is no EtherType. All lengths become one value, so that they do not
	 * make different flows. */
	if (bpf_ntohs(cursor->protocol) <= ETH_LENGTH_MOST)
		cursor->protocol = bpf_htons(ETH_LENGTH_MOST);
	if (outermost)
		PUT(&frame->key, SDNMON_ETH_TYPE, __u16, cursor->protocol);
	return SDNMON_READ;
}

/* --- tunnels and NSH --- */

/* Read on behind an NSH or VXLAN-GPE header, which number the protocol that they carry (`next`)
 * alike: set the EtherType of what is there, behind its Ethernet header if it has one. */
static __always_inline int read_carried(struct cursor *cursor, struct sdnmon_frame *frame,
					__u8 next)
{
	switch (next) {
	case NSH_NEXT_IPV4:
		cursor->protocol = bpf_htons(ETH_P_IP);
		return SDNMON_READ;
	case NSH_NEXT_IPV6:
		cursor->protocol = bpf_htons(ETH_P_IPV6);
		return SDNMON_READ;
	case NSH_NEXT_ETHERNET:
		return read_link(cursor, frame, false);
	default:
		cursor->protocol = OTHER_PROTOCOL;
		return SDNMON_READ;
	}
}

/* Read an NSH, and the Ethernet header that it carries, if any. */
static __always_inline int read_nsh(struct cursor *cursor, struct sdnmon_frame *frame)
{
	const struct nsh_hdr *nsh = PEEK(cursor, struct nsh_hdr);

	if (!nsh)
		return LACKS(cursor, struct nsh_hdr);
	switch (nsh_check(nsh, cursor->limit - cursor->at)) {
	case NSH_OK:
		break;
	case NSH_ERROR_TRUNCATED:
		return SDNMON_TRUNCATED;
	default:
		return SDNMON_BAD_NSH;
	}
	PUT(&frame->key, SDNMON_NSH_SPI, __u32, bpf_htonl(nsh_spi(nsh)));
	PUT(&frame->key, SDNMON_NSH_SI, __u8, nsh->si);
	frame->has |= SDNMON_HAS_NSH;
	cursor->at += nsh_bytes(nsh);
	return read_carried(cursor, frame, nsh->next_protocol);
}

/* Return the bytes of the IP header at the cursor if UDP follows that is no fragment; else 0. */
static __always_inline __u32 udp_behind(const struct cursor *cursor)
{
	if (cursor->protocol == bpf_htons(ETH_P_IP)) {
		const struct iphdr *ip = PEEK(cursor, struct iphdr);

		if (ip && ip->version == 4 && ip->ihl >= 5 && ip->protocol == IPPROTO_UDP &&
		    !(ip->frag_off & bpf_htons(IP_FRAGMENT)))
			return ip->ihl * 4;
	} else if (cursor->protocol == bpf_htons(ETH_P_IPV6)) {
		const struct ipv6hdr *ip = PEEK(cursor, struct ipv6hdr);

		if (ip && ip->version == 6 && ip->nexthdr == IPPROTO_UDP)
			return sizeof(*ip);
	}
	return 0;
}

/* Is this header behind UDP to `port` one of VXLAN or VXLAN-GPE? `*next` becomes the number of the
 * protocol that it carries. */
static __always_inline bool tunnel_carries(const struct vxlan_gpe_hdr *vxlan, __be16 port,
					   __u8 *next)
{
	*next = port == bpf_htons(VXLAN_UDP_PORT) ? VXLAN_GPE_NEXT_ETHERNET : vxlan->next_protocol;
	if (port == bpf_htons(VXLAN_UDP_PORT))
		return vxlan->flags & VXLAN_GPE_FLAG_INSTANCE;
	/* Whatever follows: `*next` is what the header says, so only its flags are judged. */
	return port == bpf_htons(VXLAN_GPE_UDP_PORT) && vxlan_gpe_carries(vxlan, *next);
}

/* Move the cursor behind the headers of a VXLAN or VXLAN-GPE tunnel, up to the IP packet in it. It
 * stays if there is no tunnel, which is no error. */
static __always_inline int enter_tunnel(struct cursor *cursor, struct sdnmon_frame *frame)
{
	struct cursor inner = *cursor;
	const struct vxlan_gpe_hdr *vxlan;
	const struct udphdr *udp;
	__u32 ip_bytes = udp_behind(cursor);
	__be16 port;
	__u8 next;

	if (!ip_bytes)
		return SDNMON_READ;
	inner.at += ip_bytes;
	udp = PEEK(&inner, struct udphdr);
	if (!udp)
		return LACKS(&inner, struct udphdr);
	port = udp->dest;
	if (port != bpf_htons(VXLAN_UDP_PORT) && port != bpf_htons(VXLAN_GPE_UDP_PORT))
		return SDNMON_READ;
	/* Of several packets in one, the length may not be known. */
	if (!frame->merged) {
		__u32 bytes = bpf_ntohs(udp->len);

		if (bytes < sizeof(*udp) + sizeof(*vxlan))
			return SDNMON_BAD_TRANSPORT;
		if (inner.at + bytes > inner.limit)
			return SDNMON_TRUNCATED;
		inner.limit = inner.at + bytes;
	}
	inner.at += sizeof(*udp);
	vxlan = PEEK(&inner, struct vxlan_gpe_hdr);
	if (!vxlan)
		return LACKS(&inner, struct vxlan_gpe_hdr);
	if (!tunnel_carries(vxlan, port, &next))
		return SDNMON_READ;
	PUT(&frame->key, SDNMON_TUNNEL_ID, __u64, bpf_cpu_to_be64(vxlan_gpe_vni(vxlan)));
	frame->has |= SDNMON_HAS_TUNNEL;
	inner.at += sizeof(*vxlan);
	*cursor = inner;
	return next == VXLAN_GPE_NEXT_NSH ? read_nsh(cursor, frame)
					  : read_carried(cursor, frame, next);
}

/* --- IP --- */

/* Read a TCP header. `left`, here and below: bytes of the IP packet from the cursor on. */
static __always_inline int read_tcp(const struct cursor *cursor, struct sdnmon_frame *frame,
				    __u32 left)
{
	const struct tcphdr *tcp = PEEK(cursor, struct tcphdr);
	const __be16 *flags;

	if (left < sizeof(*tcp))
		return SDNMON_BAD_TRANSPORT;
	if (!tcp)
		return LACKS(cursor, struct tcphdr);
	if (tcp->doff * 4 < sizeof(*tcp) || tcp->doff * 4 > left)
		return SDNMON_BAD_TRANSPORT;
	flags = (const void *)tcp + 12; /* behind the data offset, 4 bits that are masked below */
	PUT(&frame->key, SDNMON_TP_SRC, __u16, tcp->source);
	PUT(&frame->key, SDNMON_TP_DST, __u16, tcp->dest);
	PUT(&frame->key, SDNMON_TCP_FLAGS, __u16, (*flags & bpf_htons(TCP_FLAGS)));
	frame->has |= SDNMON_HAS_PORTS | SDNMON_HAS_TCP;
	frame->header = cursor->at + tcp->doff * 4;
	return SDNMON_READ;
}

/* Read the ports of UDP or SCTP, which begin alike. `bytes` is the length of the header. */
static __always_inline int read_ports(const struct cursor *cursor, struct sdnmon_frame *frame,
				      __u32 left, __u32 bytes)
{
	const struct udphdr *udp = PEEK(cursor, struct udphdr);

	if (left < bytes)
		return SDNMON_BAD_TRANSPORT;
	if (!udp)
		return LACKS(cursor, struct udphdr);
	PUT(&frame->key, SDNMON_TP_SRC, __u16, udp->source);
	PUT(&frame->key, SDNMON_TP_DST, __u16, udp->dest);
	frame->has |= SDNMON_HAS_PORTS;
	frame->header = cursor->at + bytes;
	return SDNMON_READ;
}

/* Read the type and code of ICMP or ICMPv6. */
static __always_inline int read_icmp(const struct cursor *cursor, struct sdnmon_frame *frame,
				     __u32 left)
{
	const __u8 *icmp = peek(cursor, ICMP_HEADER_BYTES);

	if (left < ICMP_HEADER_BYTES)
		return SDNMON_BAD_TRANSPORT;
	if (!icmp)
		return lack(cursor, ICMP_HEADER_BYTES);
	PUT(&frame->key, SDNMON_ICMP_TYPE, __u8, icmp[0]);
	PUT(&frame->key, SDNMON_ICMP_CODE, __u8, icmp[1]);
	frame->has |= SDNMON_HAS_ICMP;
	return SDNMON_READ;
}

/* Read a TCP, UDP or SCTP header. A merged frame is read so far for any fields, because
 * packets_of() needs to know how long its headers are. The callers read ICMP, because IPv4 and IPv6
 * have different numbers for it. */
static __always_inline int read_transport(const struct cursor *cursor, struct sdnmon_frame *frame,
					  __u8 protocol, __u32 left)
{
	if (config.depth < SDNMON_TO_TRANSPORT && !frame->merged)
		return SDNMON_READ;
	switch (protocol) {
	case IPPROTO_TCP:
		return read_tcp(cursor, frame, left);
	case IPPROTO_UDP:
		return read_ports(cursor, frame, left, sizeof(struct udphdr));
	case IPPROTO_SCTP:
		return read_ports(cursor, frame, left, SCTP_HEADER_BYTES);
	default:
		return SDNMON_READ;
	}
}

/* Put the fields that IPv4 and IPv6 have in common. */
static __always_inline void put_ip(struct sdnmon_frame *frame, __u8 protocol, __u8 traffic_class)
{
	PUT(&frame->key, SDNMON_IP_PROTO, __u8, protocol);
	PUT(&frame->key, SDNMON_IP_DSCP, __u8, (traffic_class >> 2));
	PUT(&frame->key, SDNMON_IP_ECN, __u8, (traffic_class & 3));
	frame->has |= SDNMON_HAS_IP;
}

/* Read an IPv4 header and what follows it. */
static __always_inline int read_ipv4(struct cursor *cursor, struct sdnmon_frame *frame)
{
	const struct iphdr *ip = PEEK(cursor, struct iphdr);
	__u32 there = cursor->limit - cursor->at, total, bytes; /* there: bytes from here on */
	__u8 protocol;
	bool later; /* a fragment other than the first: no transport header follows */

	if (!ip)
		return LACKS(cursor, struct iphdr);
	total = bpf_ntohs(ip->tot_len);
	bytes = ip->ihl * 4;
	if (total == 0 && frame->merged) /* more than 64 KiB */
		total = there;
	if (ip->version != 4 || ip->ihl < 5 || total < bytes)
		return SDNMON_BAD_IP;
	if (total > there)
		return SDNMON_TRUNCATED;
	protocol = ip->protocol;
	later = ip->frag_off & bpf_htons(IP_OFFSET);
	PUT(&frame->key, SDNMON_IPV4_SRC, __u32, ip->saddr);
	PUT(&frame->key, SDNMON_IPV4_DST, __u32, ip->daddr);
	put_ip(frame, protocol, ip->tos);
	frame->has |= SDNMON_HAS_IPV4;
	cursor->at += bytes;
	if (later)
		return SDNMON_READ;
	if (protocol == IPPROTO_ICMP)
		return config.depth == SDNMON_TO_TRANSPORT ? read_icmp(cursor, frame, total - bytes)
							   : SDNMON_READ;
	return read_transport(cursor, frame, protocol, total - bytes);
}

/* Skip up to IPV6_EXTENSIONS extension headers at the cursor. `*protocol` is what is at the cursor,
 * before and after; `*left` are the bytes of the packet from there on. `*later` becomes true if the
 * packet is a later fragment: nothing behind its fragment header is skipped. Returns SDNMON_READ,
 * or why the packet cannot be read. */
static __always_inline int skip_extensions(struct cursor *cursor, __u8 *protocol, __u32 *left,
					   bool *later)
{
	for (int i = 0; i < IPV6_EXTENSIONS; i++) {
		/* All extension headers begin as this one; others have their length in
		 * `reserved`. */
		const struct ipv6_fragment *extension;
		__u32 bytes;

		if (!ipv6_extension_bytes(*protocol, 0)) /* it is no extension header */
			return SDNMON_READ;
		extension = PEEK(cursor, struct ipv6_fragment);
		if (*left < sizeof(*extension))
			return SDNMON_BAD_IP;
		if (!extension)
			return LACKS(cursor, struct ipv6_fragment);
		bytes = ipv6_extension_bytes(*protocol, extension->reserved);
		if (bytes > *left)
			return SDNMON_BAD_IP;
		if (*protocol == IPPROTO_FRAGMENT && extension->offset & bpf_htons(IPV6_OFFSET))
			*later = true;
		*protocol = extension->nexthdr;
		*left -= bytes;
		cursor->at += bytes;
		if (*later) /* what follows is no header */
			return SDNMON_READ;
	}
	return ipv6_extension_bytes(*protocol, 0) ? SDNMON_TOO_LONG : SDNMON_READ;
}

/* Read an IPv6 header with its extension headers, and what follows them. */
static __always_inline int read_ipv6(struct cursor *cursor, struct sdnmon_frame *frame)
{
	const struct ipv6hdr *ip = PEEK(cursor, struct ipv6hdr);
	__u32 there, left;
	bool later = false;
	__u8 protocol, class;
	int reason;

	if (!ip)
		return LACKS(cursor, struct ipv6hdr);
	if (ip->version != 6)
		return SDNMON_BAD_IP;
	there = cursor->limit - cursor->at - sizeof(*ip);
	left = bpf_ntohs(ip->payload_len);
	if (left == 0 && frame->merged) /* more than 64 KiB */
		left = there;
	if (left > there)
		return SDNMON_TRUNCATED;
	protocol = ip->nexthdr;
	class = (__u8)(ip->priority << 4 | ip->flow_lbl[0] >> 4);
	put_ipv6(&frame->key, SDNMON_IPV6_SRC, ip->saddr.in6_u.u6_addr32);
	put_ipv6(&frame->key, SDNMON_IPV6_DST, ip->daddr.in6_u.u6_addr32);
	cursor->at += sizeof(*ip);
	reason = skip_extensions(cursor, &protocol, &left, &later);
	if (reason != SDNMON_READ)
		return reason;
	put_ip(frame, protocol, class);
	frame->has |= SDNMON_HAS_IPV6;
	if (later)
		return SDNMON_READ;
	if (protocol == IPPROTO_ICMPV6)
		return config.depth == SDNMON_TO_TRANSPORT ? read_icmp(cursor, frame, left)
							   : SDNMON_READ;
	return read_transport(cursor, frame, protocol, left);
}

/* Read IP and what it carries, if the cursor is in front of IP. */
static __always_inline int read_ip(struct cursor *cursor, struct sdnmon_frame *frame)
{
	if (cursor->protocol == bpf_htons(ETH_P_IP))
		return read_ipv4(cursor, frame);
	if (cursor->protocol == bpf_htons(ETH_P_IPV6))
		return read_ipv6(cursor, frame);
	return SDNMON_READ;
}

/* Is the frame read beyond Ethernet? A merged one is for any fields, as read_transport() says. */
static __always_inline bool reads_ip(const struct sdnmon_frame *frame)
{
	return config.depth > SDNMON_TO_LINK || frame->merged;
}
