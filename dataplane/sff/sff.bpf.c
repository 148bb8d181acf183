// SPDX-License-Identifier: Apache-2.0
/*
 * Classifier, SFF and SFC proxy (RFC 7665, section 4), in the receive path of each port's veth.
 *
 * `sff` does everything to a frame in one pass and one change of size. It sends the frame on
 * itself if the other end of the port takes XDP frames; otherwise it passes the finished frame to
 * tc, where `output` sends it as a socket buffer.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include "receive.bpf.h"
#include "exits.bpf.h"
#include "trace.bpf.h"

/* vnfs/sfcmon/ebpf compiles this program once more, with a monitor here. */
#ifndef SFF_SHOW
#define SFF_SHOW(ctx, path) ((void)(ctx), (void)(path))
#endif

/* Show a monitor the frame as it came in, before it is looked up: with 0 if it has an NSH of its
 * own, else with its SPI << 8 | SI. Frames that bypass the chain are not shown. Some of the others
 * are going to be dropped. */
static __always_inline void show(struct xdp_md *ctx, const struct arrival *arrival,
				 enum sff_verdict verdict)
{
	__u8 kind = arrival->attached->kind;

	if (kind == SFF_PORT_NSH || kind == SFF_PORT_UNDERLAY) {
		if (verdict != SFF_BYPASSED)
			SFF_SHOW(ctx, 0);
	} else if (verdict == SFF_FORWARDED) {
		SFF_SHOW(ctx, arrival->path);
	}
}

/* --- where it goes --- */

/* Look up where a packet on a path goes, in the tables of its generation, else of the one before:
 * packets that are on their way when tables change finish their path. The TTL is decremented before
 * the lookup, and from 0 to 63 (RFC 8300, 2.2). Returns SFF_FORWARDED, or why it is dropped. */
static __always_inline enum sff_verdict next_hop(struct arrival *arrival,
						 struct sff_decision *decision)
{
	__u32 generation = arrival->generation, came_from = arrival->port;
	const struct sff_hop_slot *slot;
	const struct sff_hop *hop;

	arrival->ttl = (arrival->ttl - 1) & SFF_TTL;
	if (arrival->ttl == 0)
		return SFF_TTL_EXHAUSTED;
	slot = find_hop(arrival->path, generation);
	if (!slot) {
		/* The port may have another number in those tables. */
		const struct sff_port *before = port_of(arrival->ifindex, --generation);

		slot = find_hop(arrival->path, generation);
		came_from = before ? before->number : 0;
	}
	if (!slot)
		return SFF_NO_PATH;
	hop = &slot->hop;
	if (hop->from && hop->from != came_from)
		return SFF_WRONG_PORT;
	decision->hop = hop;
	decision->generation = generation;
	decision->port = hop->port;
	decision->counter = hop->counter;
	return SFF_FORWARDED;
}

/* Look up where a packet goes that bypasses the chain: to the station with its destination address.
 * Returns SFF_BYPASSED, or why it is dropped. */
static __always_inline enum sff_verdict bypass(struct xdp_md *ctx, struct arrival *arrival,
					       struct sff_decision *decision)
{
	struct sff_station_key key = {};
	struct ethhdr *eth = (void *)(long)ctx->data + arrival->carriage.outer;
	const struct sff_station *station;

	if ((void *)(eth + 1) > (void *)(long)ctx->data_end)
		return SFF_TRUNCATED;
	__builtin_memcpy(key.mac, eth->h_dest, ETH_ALEN);
	station = find_in_generations(&stations, &key, &key.generation, arrival->generation);
	if (!station)
		return SFF_NO_STATION;
	decision->station = station;
	decision->generation = key.generation;
	decision->port = station->port;
	return SFF_BYPASSED;
}

/* Remember by which path the flow went to an SF that several paths share, for from_plain(). With
 * other SFs the port where packets come back says it. */
static __always_inline void remember_flow(struct xdp_md *ctx, const struct sff_hop *hop, __u32 path,
					  __u32 generation)
{
	const struct sff_port *back = find_port(hop->back, generation);
	__u32 onward = (path & ~0xffU) | hop->back_si; /* SPI << 8 | SI when it is back */
	struct sff_tuple tuple;

	if (!back || !(back->flags & SFF_SHARED) || read_tuple(ctx, &tuple))
		return;
	tuple.port = hop->back;
	bpf_map_update_elem(&proxy_flows, &tuple, &onward, BPF_ANY);
}

/* Give the frame the form in which it leaves. Returns a verdict, of which only drops count. */
static __always_inline enum sff_verdict rewrite(struct xdp_md *ctx, struct arrival *arrival,
						const struct sff_decision *decision)
{
	const struct sff_hop *hop = decision->hop;
	const struct carriage *carriage = &arrival->carriage;

	if (carriage->padding && bpf_xdp_adjust_tail(ctx, -(int)carriage->padding))
		return SFF_NO_ROOM;
	if (!hop) {
		const struct sff_station *station = decision->station;

		if (station->action == SFF_END)
			return strip(ctx, carriage, NULL);
		return to_ethernet_gpe(ctx, carriage, station->dst_mac, station->dst_ip);
	}
	switch (hop->action) {
	case SFF_TO_NSH:
		return to_nsh(ctx, carriage, hop, arrival->path, arrival->ttl);
	case SFF_TO_GPE:
		return to_nsh_gpe(ctx, carriage, hop, arrival->path, arrival->ttl);
	case SFF_TO_PLAIN: {
		enum sff_verdict verdict = strip(ctx, carriage, hop->dst_mac);

		if (verdict == SFF_FORWARDED)
			remember_flow(ctx, hop, arrival->path, decision->generation);
		return verdict;
	}
	case SFF_END:
		return strip(ctx, carriage, NULL);
	default: /* SFF_END_GPE */
		return to_ethernet_gpe(ctx, carriage, hop->dst_mac, hop->dst_ip);
	}
}

/* Decide on a frame, and rewrite it. Returns what becomes of it; if it is not dropped, it leaves by
 * decision->leaves. */
static __always_inline enum sff_verdict process(struct xdp_md *ctx, struct arrival *arrival,
						struct sff_decision *decision)
{
	enum sff_verdict verdict = receive(ctx, arrival, decision);
	const struct sff_port *leaves;

	show(ctx, arrival, verdict);
	if (verdict == SFF_FORWARDED) {
		verdict = next_hop(arrival, decision);
		/* Now, because rewriting moves the packet within the frame. */
		if (settings.trace)
			decision->identity =
				identify(ctx, arrival->carriage.outer + arrival->carriage.nsh,
					 arrival->path);
	} else if (verdict == SFF_BYPASSED && !decision->unchanged)
		verdict = bypass(ctx, arrival, decision);
	if (verdict >= SFF_DROP_FIRST)
		return verdict;
	if (!decision->unchanged) {
		enum sff_verdict rewritten = rewrite(ctx, arrival, decision);

		if (rewritten >= SFF_DROP_FIRST)
			return rewritten;
	}
	leaves = find_port(decision->port, decision->generation);
	if (!leaves)
		return SFF_NO_STATION;
	if (frame_bytes(ctx) > (__u32)leaves->mtu + ETH_BYTES)
		return SFF_OVERSIZE;
	decision->leaves = leaves;
	return verdict;
}

/* Take the tap's header off a frame that comes round, and read from it the interface where the
 * frame came in. Returns 0 unless that fails. */
static __always_inline int take_tapped(struct xdp_md *ctx, __u32 *ifindex)
{
	struct sff_tap_header *tap = (void *)(long)ctx->data;

	if ((void *)(tap + 1) > (void *)(long)ctx->data_end)
		return -1;
	*ifindex = tap->ifindex;
	return bpf_xdp_adjust_head(ctx, sizeof(*tap));
}

/* Pass a frame to `output`, which sends it round by the tap. One that looks finished is dropped,
 * because `output` would take it for one of ours. */
static __always_inline int pass_untouched(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;

	if ((void *)(eth + 1) > (void *)(long)ctx->data_end || is_exit(eth->h_dest))
		return XDP_DROP;
	return XDP_PASS;
}

/* Have a finished frame pass to `output`, with an address that says where it goes. Returns
 * SFF_FORWARDED, or why it is dropped. */
static __always_inline enum sff_verdict pass_finished(struct xdp_md *ctx,
						      const struct sff_decision *decision)
{
	struct ethhdr *eth = (void *)(long)ctx->data;

	if ((void *)(eth + 1) > (void *)(long)ctx->data_end)
		return SFF_TRUNCATED;
	if (!decision->hop || decision->hop->action == SFF_END)
		return pass_with_address(eth, decision->leaves->ifindex);
	put_exit(eth->h_dest, hop_place(decision->counter, decision->generation));
	return SFF_FORWARDED;
}

/* Decides on a frame that comes in by a port, directly or round by the tap. */
SEC("xdp")
int sff(struct xdp_md *ctx)
{
	struct sff_decision decision = {};
	struct arrival arrival = {};
	struct sff_totals *totals;
	enum sff_verdict verdict;
	__u32 ifindex = ctx->ingress_ifindex, only = 0, bytes;
	bool round = ifindex == tap_far, by_stack, timed; /* by_stack: `output` sends it */
	__u64 began = 0;

	totals = bpf_map_lookup_elem(&totals_by_cpu, &only);
	if (!totals)
		return XDP_ABORTED;
	if (round) {
		if (take_tapped(ctx, &ifindex))
			return XDP_ABORTED;
	} else if (settings.tap) { /* captures are to see it first */
		return pass_untouched(ctx);
	}
	bytes = frame_bytes(ctx);
	arrival.ifindex = ifindex;
	arrival.generation = READ_ONCE(settings.generation);
	arrival.attached = port_of(ifindex, arrival.generation);
	if (!arrival.attached)
		return XDP_ABORTED;
	arrival.port = arrival.attached->number;
	totals->seen++;
	timed = drawn(totals);
	if (timed || settings.trace)
		began = bpf_ktime_get_ns();

	verdict = process(ctx, &arrival, &decision);
	/* A frame that came round leaves by the stack too: captures are to see it. */
	by_stack = round || !decision.leaves || !(decision.leaves->flags & SFF_TAKES_XDP);
	if (by_stack && decision.leaves && verdict < SFF_DROP_FIRST) {
		enum sff_verdict passed = pass_finished(ctx, &decision);

		if (passed != SFF_FORWARDED)
			verdict = passed;
	}
	/* Never so, but the verifier must see it. */
	if (verdict >= SFF_VERDICTS)
		return XDP_ABORTED;
	totals->verdicts[verdict]++;
	if (decision.counter)
		count_hop(decision.counter, bytes, timed ? began : 0);
	else if (timed)
		count_time(&totals->timed, &totals->time_ns, began);
	if (decision.identity && verdict == SFF_FORWARDED)
		trace(decision.identity, arrival.path, decision.counter, began);
	if (verdict >= SFF_DROP_FIRST)
		return XDP_DROP;
	if (by_stack)
		return XDP_PASS;
	return bpf_redirect_map(&xdp_ports, port_place(decision.port, decision.generation), 0);
}

/* Send a frame round by the tap's veth, behind a header with the interface where it came in. */
static __always_inline int send_round(struct __sk_buff *skb)
{
	struct sff_tap_header tap = { .protocol = bpf_htons(SFF_TAP_PROTOCOL) };

	tap.ifindex = (__u16)skb->ifindex;
	if (bpf_skb_change_head(skb, sizeof(tap), 0) ||
	    bpf_skb_store_bytes(skb, 0, &tap, sizeof(tap), 0))
		return TC_ACT_SHOT;
	return bpf_redirect(tap_near, 0);
}

/* Frames here are finished, unless captures are to see them first: then they go round. Where the
 * XDP program is gone, because the process died, nothing leaves. */
SEC("tc")
int output(struct __sk_buff *skb)
{
	struct sff_exit_key key = {};
	const struct sff_exit *there;
	__u32 code;

	if (bpf_skb_load_bytes(skb, 0, key.mac, ETH_ALEN))
		return TC_ACT_SHOT;
	if (!is_exit(key.mac))
		return tap_near && skb->ifindex != tap_far ? send_round(skb) : TC_ACT_SHOT;
	code = (__u32)key.mac[2] << 24 | key.mac[3] << 16 | key.mac[4] << 8 | key.mac[5];
	/* A place of hop_exits has no bits where other codes have an ifindex. */
	there = code >> 20 ? bpf_map_lookup_elem(&exits, &key)
			   : bpf_map_lookup_elem(&hop_exits, &code);
	if (!there || bpf_skb_store_bytes(skb, 0, there->mac, ETH_ALEN, 0))
		return TC_ACT_SHOT;
	return bpf_redirect(there->ifindex, 0);
}

char LICENSE[] SEC("license") = "Apache-2.0";
