// SPDX-License-Identifier: Apache-2.0
/*
 * An NSH-aware firewall in the driver's receive path: the forwarder, and two lookups of the packet
 * behind the NSH. A filter keeps packets without a rule from the hash maps.
 */
#include <linux/in6.h>
#include <linux/ipv6.h>

#include "../../dataplane/common/table.bpf.h"
#include "../../dataplane/forwarding/xdp.bpf.h"
#include "filter.h"

#define MOST_VLAN_TAGS 2
#define MOST_IPV6_HEADERS 6

TABLE(counters, BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, struct fw_counters, 0);

/* Memory grows with the rules, up to max_entries, which the user side sets. */
TABLE(flows4, BPF_MAP_TYPE_HASH, 1, struct fw_flow4, __u64, BPF_F_NO_PREALLOC);
TABLE(flows6, BPF_MAP_TYPE_HASH, 1, struct fw_flow6, __u64, BPF_F_NO_PREALLOC);
TABLE(sources4, BPF_MAP_TYPE_HASH, 1, __be32, __u64, BPF_F_NO_PREALLOC);
TABLE(sources6, BPF_MAP_TYPE_HASH, 1, struct fw_address6, __u64, BPF_F_NO_PREALLOC);

/* See filter.h; the user side sets max_entries. */
TABLE(filter, BPF_MAP_TYPE_ARRAY, 1, __u32, struct fw_filter_word, BPF_F_MMAPABLE);

/* The only entry says when the lease of whoever sets the rules ends: ns of CLOCK_MONOTONIC; 0:
 * there is none. */
TABLE(lease, BPF_MAP_TYPE_ARRAY, 1, __u32, __u64, 0);

const volatile __u8 fail_closed;
const volatile __u32 filter_mask;

struct vlan_tag {
	__be16 tci;
	__be16 protocol;
};

struct ports {
	__be16 source;
	__be16 destination;
};

/* Is there a rule with this key that has not expired? Expired rules stay in the map until they are
 * removed. */
static __always_inline int in_force(void *rules, const void *key, __u64 hash)
{
	const __u32 place = hash >> 6 & filter_mask;
	const struct fw_filter_word *word = bpf_map_lookup_elem(&filter, &place);
	const __u64 *expires_ns;

	if (word && !((word->bits[0] | word->bits[1]) >> (hash & 63) & 1))
		return 0; /* by the filter, no rule has this key */
	expires_ns = bpf_map_lookup_elem(rules, key);
	return expires_ns && *expires_ns > bpf_ktime_get_ns();
}

static __always_inline enum fw_cause judge_ipv4(const struct iphdr *ip, const void *end)
{
	struct fw_flow4 flow = {};
	const struct ports *ports;
	__be16 source = 0, destination = 0;

	if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl < 5)
		return FW_UNPARSED;
	if (in_force(&sources4, &ip->saddr, fw_hash_source4(ip->saddr)))
		return FW_SOURCE_RULE;
	flow.protocol = ip->protocol;
	if (has_ports(ip->protocol)) {
		/* Later fragments have no ports: without the first one they are of no use. */
		if (ip->frag_off & bpf_htons(IP_OFFSET))
			return FW_NONE;
		ports = (void *)ip + ip->ihl * 4;
		if ((void *)(ports + 1) > end)
			return FW_UNPARSED;
		source = ports->source;
		destination = ports->destination;
	}
	fw_flow4_order(&flow, ip->saddr, source, ip->daddr, destination);
	return in_force(&flows4, &flow, fw_hash_flow4(&flow)) ? FW_FLOW_RULE : FW_NONE;
}

/* Find the protocol behind extension headers. `*at` becomes the place of its header, NULL in later
 * fragments. Returns 0; -1 if a header is cut off or there are too many. */
static __always_inline int find_protocol(const struct ipv6hdr *ip, const void *end, __u8 *protocol,
					 const void **at)
{
	const void *next = ip + 1;
	__u8 kind = ip->nexthdr;

	for (int i = 0; i < MOST_IPV6_HEADERS; i++) {
		const __u8 *header = next;

		switch (kind) {
		case IPPROTO_HOPOPTS:
		case IPPROTO_ROUTING:
		case IPPROTO_DSTOPTS:
		case IPPROTO_MH:
			if ((void *)(header + 8) > end)
				return -1;
			next = header + 8 + header[1] * 8;
			break;
		case IPPROTO_AH:
			if ((void *)(header + 8) > end)
				return -1;
			next = header + 8 + header[1] * 4;
			break;
		case IPPROTO_FRAGMENT:
			if ((void *)(header + 8) > end)
				return -1;
			if (header[2] || header[3] & 0xf8) {
				*protocol = header[0];
				*at = NULL;
				return 0;
			}
			next = header + 8;
			break;
		default:
			*protocol = kind;
			*at = next;
			return 0;
		}
		kind = header[0];
	}
	return -1;
}

static __always_inline enum fw_cause judge_ipv6(const struct ipv6hdr *ip, const void *end)
{
	struct fw_address6 source, destination;
	__be16 source_port = 0, destination_port = 0;
	struct fw_flow6 flow = {};
	const struct ports *ports;
	const void *header;

	if ((void *)(ip + 1) > end || ip->version != 6)
		return FW_UNPARSED;
	__builtin_memcpy(&source, &ip->saddr, sizeof(source));
	if (in_force(&sources6, &source, fw_hash_address6(&source)))
		return FW_SOURCE_RULE;
	if (find_protocol(ip, end, &flow.protocol, &header))
		return FW_UNPARSED;
	if (has_ports(flow.protocol)) {
		if (!header) /* a later fragment */
			return FW_NONE;
		ports = header;
		if ((void *)(ports + 1) > end)
			return FW_UNPARSED;
		source_port = ports->source;
		destination_port = ports->destination;
	}
	__builtin_memcpy(&destination, &ip->daddr, sizeof(destination));
	fw_flow6_order(&flow, &source, source_port, &destination, destination_port);
	return in_force(&flows6, &flow, fw_hash_flow6(&flow)) ? FW_FLOW_RULE : FW_NONE;
}

static __always_inline enum fw_cause judge_ethernet(const struct ethhdr *eth, const void *end)
{
	const void *next = eth + 1;
	__be16 protocol;

	if (next > end)
		return FW_UNPARSED;
	protocol = eth->h_proto;
	for (int i = 0; i < MOST_VLAN_TAGS; i++) {
		const struct vlan_tag *tag = next;

		if (protocol != bpf_htons(ETH_P_8021Q) && protocol != bpf_htons(ETH_P_8021AD))
			break;
		if ((void *)(tag + 1) > end)
			return FW_UNPARSED;
		protocol = tag->protocol;
		next = tag + 1;
	}
	if (protocol == bpf_htons(ETH_P_IP))
		return judge_ipv4(next, end);
	if (protocol == bpf_htons(ETH_P_IPV6))
		return judge_ipv6(next, end);
	/* What carries a packet that the receiver may read must not pass. */
	return protocol == bpf_htons(ETH_P_ARP) ? FW_NONE : FW_UNPARSED;
}

/* Judge the packet behind the NSH of a frame that the forwarder has found right. */
static __always_inline enum fw_cause judge(const void *start, const void *end)
{
	const struct ethhdr *eth = start;
	const struct iphdr *outer = (void *)(eth + 1);
	const struct nsh_hdr *nsh = (void *)(eth + 1);
	const void *inner;

	if ((void *)(outer + 1) > end)
		return FW_UNPARSED;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		nsh = (void *)outer + outer->ihl * 4 + sizeof(struct udphdr) +
		      sizeof(struct vxlan_gpe_hdr);
	if ((void *)(nsh + 1) > end)
		return FW_UNPARSED;
	inner = (void *)nsh + nsh_bytes(nsh);
	switch (nsh->next_protocol) {
	case NSH_NEXT_ETHERNET:
		return judge_ethernet(inner, end);
	case NSH_NEXT_IPV4:
		return judge_ipv4(inner, end);
	case NSH_NEXT_IPV6:
		return judge_ipv6(inner, end);
	default:
		return FW_UNPARSED;
	}
}

/* Does somebody set rules, whose lease has not ended? The coarse clock lags by a tick at most, and
 * costs next to nothing. */
static __always_inline int is_controlled(void)
{
	__u32 only = 0;
	const __u64 *until_ns = bpf_map_lookup_elem(&lease, &only);

	return until_ns && *until_ns > bpf_ktime_get_coarse_ns();
}

/* Do what the forwarder does; of packets that it would return, drop those that a rule is for, or
 * that nobody can judge. */
SEC("xdp")
int firewall(struct xdp_md *context)
{
	void *end = (void *)(long)context->data_end;
	void *start = (void *)(long)context->data;
	struct fw_counters *totals;
	enum fw_cause cause;
	__u32 only = 0;
	fwd_path path;
	int action;

	totals = bpf_map_lookup_elem(&counters, &only);
	if (!totals)
		return XDP_ABORTED;
	action = fwd_action(fwd_count(start, end, totals->verdicts, &path));
	if (action != XDP_TX)
		return action;
	cause = fail_closed && !is_controlled() ? FW_FAILED : judge(start, end);
	if (cause >= FW_CAUSES) /* never so, but the verifier must see it */
		return XDP_ABORTED;
	totals->causes[cause]++;
	return cause == FW_NONE ? XDP_TX : XDP_DROP;
}

char LICENSE[] SEC("license") = "Apache-2.0";
