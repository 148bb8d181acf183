// SPDX-License-Identifier: Apache-2.0
/*
 * An SFC proxy (RFC 7665, section 4.6) in front of a function with two ports, which knows nothing
 * of NSH: it takes the NSH off packets that arrive, and puts it on those that leave by the other
 * port, with the SI decremented.
 *
 * One chain at a time crosses the function. So packets that leave by a port get the NSH of those
 * that arrived last by the other one; the function may change whatever it likes in them.
 */
#include <stdbool.h>

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "../common/table.bpf.h"
#include "../nsh/nsh.h"
#include "proxy.h"

#define HEADER_BYTES (ETH_HLEN + NSH_MD1_WORDS * NSH_WORD)

struct outer {
	struct ethhdr eth;
	struct header header;
} __attribute__((packed));

TABLE(counters, BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, struct proxy_counters, 0);

/* By port: the header of packets that leave there. Its SPI is 0 as long as there is none. */
struct header leaving[PORTS];

const volatile __u32 ports[PORTS]; /* indexes of the interfaces */
const volatile __u8 port_macs[PORTS][ETH_ALEN];

static __always_inline struct proxy_counters *find_counters(void)
{
	__u32 only = 0;

	return bpf_map_lookup_elem(&counters, &only);
}

static __always_inline enum port port_of(__u32 ifindex)
{
	return ifindex == ports[PORT_EGRESS] ? PORT_EGRESS : PORT_INGRESS;
}

static __always_inline void copy_mac(__u8 *to, const volatile __u8 *from)
{
	for (int i = 0; i < ETH_ALEN; i++)
		to[i] = from[i];
}

static __always_inline bool is_for(const __u8 *address, const volatile __u8 *mac)
{
	__u8 difference = 0;

	for (int i = 0; i < ETH_ALEN; i++)
		difference |= address[i] ^ mac[i];
	return difference == 0;
}

/* Remember the header for packets that leave by this port. Another path begins rarely: what is
 * there already is not written again, so that CPUs share the memory. */
static __always_inline void remember(enum port out, const struct header *arrived)
{
	struct header *known = &leaving[out];
	const __u8 si = arrived->nsh.si - 1;

	if (nsh_spi(&known->nsh) == nsh_spi(&arrived->nsh) && known->nsh.si == si)
		return;
	*known = *arrived;
	known->nsh.si = si;
}

/* Where a frame arrives: take the NSH off, and leave the packet to the kernel. */
SEC("xdp")
int unwrap(struct xdp_md *context)
{
	struct proxy_counters *count = find_counters();
	const enum port port = port_of(context->ingress_ifindex);
	void *end = (void *)(long)context->data_end;
	struct outer *outer = (void *)(long)context->data;
	struct ethhdr *inner;

	if (!count || (void *)(outer + 1) > end || outer->eth.h_proto != bpf_htons(NSH_ETHERTYPE) ||
	    !is_for(outer->eth.h_dest, port_macs[port]))
		return XDP_PASS;
	if (nsh_check(&outer->header.nsh, sizeof(outer->header)) != NSH_OK ||
	    nsh_md_type(&outer->header.nsh) != NSH_MD_TYPE_1 || nsh_is_oam(&outer->header.nsh) ||
	    outer->header.nsh.next_protocol != NSH_NEXT_ETHERNET) {
		count->dropped_nsh++;
		return XDP_DROP;
	}
	if (outer->header.nsh.si <= 1) {
		count->dropped_si++;
		return XDP_DROP;
	}
	remember(port == PORT_EGRESS ? PORT_INGRESS : PORT_EGRESS, &outer->header);
	if (bpf_xdp_adjust_head(context, HEADER_BYTES))
		return XDP_DROP;
	inner = (void *)(long)context->data;
	if ((void *)(inner + 1) > (void *)(long)context->data_end) {
		count->dropped_nsh++;
		return XDP_DROP;
	}
	copy_mac(inner->h_dest, port_macs[port]);
	count->received[port]++;
	return XDP_PASS;
}

/* Where a packet leaves, behind all other programs: put it into NSH. The inner frame has the port's
 * address as its source already, because the kernel forwards as a router does. */
SEC("tc")
int wrap(struct __sk_buff *skb)
{
	struct proxy_counters *count = find_counters();
	const enum port port = port_of(skb->ifindex);
	struct outer outer = { .eth.h_proto = bpf_htons(NSH_ETHERTYPE) };

	if (!count || skb->protocol != bpf_htons(ETH_P_IP))
		return TC_ACT_UNSPEC;
	outer.header = leaving[port];
	if (!nsh_spi(&outer.header.nsh)) {
		count->dropped_path++;
		return TC_ACT_SHOT;
	}
	/* The switch knows the next hop by the port, and writes its address. */
	copy_mac(outer.eth.h_dest, port_macs[port]);
	copy_mac(outer.eth.h_source, port_macs[port]);
	outer.eth.h_dest[0] ^= 0x02;
	if (bpf_skb_change_head(skb, HEADER_BYTES, 0) ||
	    bpf_skb_store_bytes(skb, 0, &outer, sizeof(outer), 0))
		return TC_ACT_SHOT;
	count->sent[port]++;
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Apache-2.0";
