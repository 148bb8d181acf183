/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where packets spend their time: some packets are recognised at each of their lookups, as in
 * trajectory sampling (Duffield, Grossglauser: "Trajectory Sampling for Direct Traffic
 * Observation", 2000). Which ones depends on parts of them that functions do not change, NAT
 * included.
 */
#pragma once

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>

#include "../common/mix.bpf.h"
#include "tables.bpf.h"

struct sff_traced {
	__u64 first_ns; /* when the SFF first received it */
	__u64 left_ns; /* when the SFF last sent it on */
	__u32 path; /* its SPI << 8 | SI then */
};

/* By what identify() returns. */
TABLE(traced, BPF_MAP_TYPE_LRU_HASH, 4096, __u64, struct sff_traced, 0);

/* Hash what tells an IPv4 packet from others and is not changed by functions: both numbers of TCP,
 * sequence number and data of ICMP, data of UDP. `l4` are the words behind the IP header, of which
 * four can be read; words that are behind `end` do not count. */
static __always_inline __u32 hash_l4(__u8 protocol, const __u32 *l4, const void *end)
{
	if (protocol == IPPROTO_TCP)
		return mix(mix(protocol, l4[1]), l4[2]);
	if (protocol == IPPROTO_ICMP)
		return mix(mix(protocol, l4[1] & bpf_htonl(0xffff)), l4[2]);
	if ((void *)(l4 + 6) > end)
		return mix(mix(protocol, l4[2]), l4[3]);
	return mix(mix(mix(mix(protocol, l4[2]), l4[3]), l4[4]), l4[5]);
}

/* Return what identifies the packet in the Ethernet frame at `at` at all its lookups: the SPI of
 * `path`, and a hash. 0: it is not traced, because it is not sampled or cannot be recognised. */
__noinline __u64 identify(struct xdp_md *ctx, __u32 at, __u32 path)
{
	const void *end = (void *)(long)ctx->data_end;
	/* `at` is smaller; the verifier must see it. */
	const struct ethhdr *eth = (void *)(long)ctx->data + (at & 0x1ff);
	const struct iphdr *ip = (void *)(eth + 1);
	const __u32 *l4 = (void *)(ip + 1);
	__u32 hash;

	if ((void *)(l4 + 4) > end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->ihl != 5)
		return 0;
	hash = hash_l4(ip->protocol, l4, end);
	if (hash & (settings.trace - 1))
		return 0;
	return (__u64)(path >> 8) << 32 | hash;
}

/* Note that a packet is looked up now. If the lookup before this one was noted, add the time since
 * then, and since the first one, to the counter. `began` is when the program started
 * (CLOCK_MONOTONIC, ns). */
static __always_inline void trace(__u64 identity, __u32 path, __u32 counter_number, __u64 began)
{
	struct sff_traced *before = bpf_map_lookup_elem(&traced, &identity);
	struct sff_counter *counter = bpf_map_lookup_elem(&counters, &counter_number);
	struct sff_traced entry = { .first_ns = began, .path = path };

	/* At the lookup before, the SI was one larger. */
	if (before && before->path == path + 1) {
		entry.first_ns = before->first_ns;
		if (counter) {
			counter->traced++;
			counter->away_ns += began - before->left_ns;
			counter->since_first_ns += began - before->first_ns;
		}
	}
	entry.left_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&traced, &identity, &entry, BPF_ANY);
}
