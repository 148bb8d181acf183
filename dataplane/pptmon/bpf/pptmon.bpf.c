// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* PPTMon in the kernel: a program for each side of a VNF. */
#include "enter.bpf.h"
#include "leave.bpf.h"
#include "prefilter.bpf.h"

/* At ingress: a source samples a packet, others add a hop to one that carries a header. */
SEC("tc")
int enter(struct __sk_buff *skb)
{
	int source = settings.mode == PPT_MODE_SOURCE || settings.mode == PPT_MODE_SOURCE_SINK;
	struct work *work;

	if (source ? !is_due() : !may_carry_header(skb))
		return TC_ACT_UNSPEC;
	work = get_work();
	if (!work)
		return TC_ACT_UNSPEC;
	return source ? sample(skb, work) : add_own_hop(skb, work);
}

/* At egress: give the hop its time; a sink removes the header. */
SEC("tc")
int leave(struct __sk_buff *skb)
{
	__u64 now_ns;
	struct work *work;
	int verdict;

	if (!may_carry_header(skb))
		return TC_ACT_UNSPEC;
	now_ns = bpf_ktime_get_ns();
	work = get_work();
	if (!work)
		return TC_ACT_UNSPEC;
	verdict = finish_hop(skb, work, now_ns);
	/* The packet's header offsets are stale now, and hardware would trust them: have the kernel
	 * segment such a super-packet, which finds the headers again. */
	if (settings.resolve_offloads && work->packet.gso_size && work->packet.at)
		bpf_csum_level(skb, BPF_CSUM_LEVEL_RESET);
	return verdict;
}

/* Reading the kernel's sk_buff is for GPL-compatible programs only. */
char LICENSE[] SEC("license") = "GPL";
