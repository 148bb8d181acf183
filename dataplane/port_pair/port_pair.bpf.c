// SPDX-License-Identifier: Apache-2.0
/*
 * Connects an NSH-aware function that has one interface to the two ports of a port pair.
 *
 * A function returns a frame to the MAC address that it came from. So a frame gets, on its way in,
 * a source address that says by which port it came, and leaves by the other port.
 */
#include <stdbool.h>

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "../common/table.bpf.h"
#include "../nsh/nsh.h"
#include "port_pair.h"

TABLE(counters, BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, struct port_pair_counters, 0);

const volatile __u32 ports[PORTS]; /* indexes of the interfaces */
const volatile __u8 port_macs[PORTS][ETH_ALEN];
const volatile __u32 inside; /* index of the interface whose peer the function has */
const volatile __u8 function_mac[ETH_ALEN];

/* The source address of a frame that came by a port: this, then the number of the port. */
static const __u8 came_by[ETH_ALEN - 1] = { 0x02, 'p', 'o', 'r', 't' };

struct addresses {
	__u8 destination[ETH_ALEN];
	__u8 source[ETH_ALEN];
};

static __always_inline struct port_pair_counters *find_counters(void)
{
	__u32 only = 0;

	return bpf_map_lookup_elem(&counters, &only);
}

static __always_inline void copy_mac(__u8 *to, const volatile __u8 *from)
{
	for (int i = 0; i < ETH_ALEN; i++)
		to[i] = from[i];
}

static __always_inline bool is_nsh(const struct __sk_buff *skb)
{
	return skb->protocol == bpf_htons(NSH_ETHERTYPE) && !skb->vlan_present;
}

/* At ingress of both ports: lead NSH frames to the function. What is for others, such as frames
 * that the switch floods, is left to the kernel. */
SEC("tc")
int arrive(struct __sk_buff *skb)
{
	const enum port port = skb->ifindex == ports[PORT_EGRESS] ? PORT_EGRESS : PORT_INGRESS;
	struct port_pair_counters *count = find_counters();
	struct addresses addresses;
	__u8 difference = 0;

	if (!count || !is_nsh(skb) || bpf_skb_load_bytes(skb, 0, &addresses, sizeof(addresses)))
		return TC_ACT_UNSPEC;
	for (int i = 0; i < ETH_ALEN; i++)
		difference |= addresses.destination[i] ^ port_macs[port][i];
	if (difference)
		return TC_ACT_UNSPEC;
	copy_mac(addresses.destination, function_mac);
	__builtin_memcpy(addresses.source, came_by, sizeof(came_by));
	addresses.source[ETH_ALEN - 1] = port;
	if (bpf_skb_store_bytes(skb, 0, &addresses, sizeof(addresses), 0))
		return TC_ACT_UNSPEC;
	count->received[port]++;
	return (int)bpf_redirect(inside, 0);
}

/* By which port did the frame come that the function returns to this address? -1: it is none. */
static __always_inline int port_of(const __u8 *address)
{
	__u8 difference = 0;

	for (int i = 0; i < (int)sizeof(came_by); i++)
		difference |= address[i] ^ came_by[i];
	return difference || address[ETH_ALEN - 1] >= PORTS ? -1 : address[ETH_ALEN - 1];
}

/* At ingress of `inside`: send frames that the function returns out of the other port.
 *
 * Behind the last function of a chain, the cloud's switch takes the NSH off and forwards the inner
 * frame as any other. It would learn that the sender of the inner frame is at this port, and send
 * replies here. So the inner frame has this port's address as its source, as behind a router. */
SEC("tc")
int leave(struct __sk_buff *skb)
{
	struct port_pair_counters *count = find_counters();
	struct {
		struct addresses addresses;
		__be16 protocol;
		struct nsh_hdr nsh;
	} __attribute__((packed)) headers;
	__u8 mac[ETH_ALEN];
	enum port out;
	int came;

	if (!count)
		return TC_ACT_SHOT;
	if (!is_nsh(skb) || bpf_skb_load_bytes(skb, 0, &headers, sizeof(headers)))
		goto drop;
	came = port_of(headers.addresses.destination);
	if (came < 0)
		goto drop;
	out = came == PORT_EGRESS ? PORT_INGRESS : PORT_EGRESS;
	copy_mac(mac, port_macs[out]);
	if (bpf_skb_store_bytes(skb, ETH_ALEN, mac, sizeof(mac), 0))
		goto drop;
	if (headers.nsh.next_protocol == NSH_NEXT_ETHERNET &&
	    bpf_skb_store_bytes(skb, ETH_HLEN + nsh_bytes(&headers.nsh) + ETH_ALEN, mac,
				sizeof(mac), 0))
		goto drop;
	count->sent[out]++;
	return (int)bpf_redirect(ports[out], 0);
drop:
	count->dropped++;
	return TC_ACT_SHOT;
}

char LICENSE[] SEC("license") = "Apache-2.0";
