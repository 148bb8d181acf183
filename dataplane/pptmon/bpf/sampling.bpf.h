/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Which packets a source samples. */
#pragma once

#include "state.bpf.h"

/* From this period on the clock is the coarse one, which steps with the kernel's tick: it is read
 * for every packet, and cheap. */
#define COARSE_FROM_NS 20000000ULL

/* Return the time by which samples are due, in ns. */
static __always_inline __u64 sampling_clock(void)
{
	return settings.period_ns >= COARSE_FROM_NS ? bpf_ktime_get_coarse_ns()
						    : bpf_ktime_get_ns();
}

/* Is a sample due, and this packet chosen for it? Nothing of the packet is read. */
static __always_inline int is_due(void)
{
	count(PPT_SEEN);
	if (settings.period_ns == 0)
		return 1;
	if (sampling_clock() < *(volatile __u64 *)&sampler.due_ns)
		return 0;
	return pick == 0xffffffff || bpf_get_prandom_u32() <= pick;
}

/* Claim this period's sample, for one packet on any CPU. Returns 1 if this packet has it, else
 * 0. */
static __always_inline int claim(void)
{
	__u64 due = *(volatile __u64 *)&sampler.due_ns;
	__u64 now, next;

	if (settings.period_ns == 0)
		return 1;
	now = sampling_clock();
	if (now < due)
		return 0;
	/* On a grid, so that waiting for a packet does not make samples rarer. */
	next = now - due < settings.period_ns ? due + settings.period_ns : now + settings.period_ns;
	return __sync_val_compare_and_swap(&sampler.due_ns, due, next) == due;
}

/* Are the bits of both addresses equal under the mask? */
static __always_inline int same_address(const __u8 *address, const volatile __u32 *wanted,
					const volatile __u32 *mask)
{
	const __u32 *words = (const __u32 *)address;

	for (int i = 0; i < 4; i++)
		if ((words[i] ^ wanted[i]) & mask[i])
			return 0;
	return 1;
}

struct flow {
	__u8 source[16];
	__u8 destination[16];
	__u16 source_port;
	__u16 destination_port;
};

/* Read addresses in network order and ports in host order; 0 where there are none. Returns 0, or
 * -1. */
static __always_inline int read_flow(struct __sk_buff *skb, const struct packet *packet,
				     struct flow *flow)
{
	__u8 ports[4] = { 0 };

	__builtin_memset(flow, 0, sizeof(*flow));
	if (packet->ip == 0)
		return 0;
	if (packet->version == 6) {
		if (bpf_skb_load_bytes(skb, packet->ip + 8, flow->source, 16) ||
		    bpf_skb_load_bytes(skb, packet->ip + 24, flow->destination, 16))
			return -1;
	} else if (bpf_skb_load_bytes(skb, packet->ip + 12, flow->source, 4) ||
		   bpf_skb_load_bytes(skb, packet->ip + 16, flow->destination, 4)) {
		return -1;
	}
	if (packet->l4 && bpf_skb_load_bytes(skb, packet->l4, ports, sizeof(ports)))
		return -1;
	flow->source_port = be16(ports);
	flow->destination_port = be16(ports + 2);
	return 0;
}

/* Does the packet pass the filter? */
static __noinline int is_wanted(struct __sk_buff *skb, const struct packet *packet)
{
	const volatile struct ppt_filter *filter = &settings.filter;
	struct flow flow;

	if (!settings.filtered)
		return 1;
	if (!packet->l4 || read_flow(skb, packet, &flow))
		return 0;
	return (!filter->family || filter->family == packet->version) &&
	       (!filter->protocol || filter->protocol == packet->protocol) &&
	       (!filter->source_port || filter->source_port == flow.source_port) &&
	       (!filter->destination_port || filter->destination_port == flow.destination_port) &&
	       same_address(flow.source, filter->source, filter->source_mask) &&
	       same_address(flow.destination, filter->destination, filter->destination_mask);
}
