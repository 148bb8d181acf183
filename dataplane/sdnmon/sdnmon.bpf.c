// SPDX-License-Identifier: Apache-2.0
/* SDN-Mon at the ports of a switch: frames that arrive are counted by flow. No frame is changed. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include "table.bpf.h"

#define SDNMON_CONTEXT struct __sk_buff
#define SDNMON_NAMED(name) name##_skb
#include "read.bpf.h"

#define SDNMON_CONTEXT struct xdp_md
#define SDNMON_NAMED(name) name##_xdp
#include "read.bpf.h"

#define LINEAR_BYTES 256 /* where headers are, when the kernel is asked to put them in front */

/* Packets for which a frame stands, and their bytes: each has the headers. */
static __always_inline __u64 packets_of(const struct __sk_buff *skb,
					const struct sdnmon_frame *frame, __u64 *bytes)
{
	__u64 tag = frame->tagged ? sizeof(struct vlan_tag) : 0;
	__u64 packets = 1, data = frame->length - frame->header, each = skb->gso_size;

	if (frame->merged)
		/* Frames of user space do not say how many. */
		packets = skb->gso_segs ? skb->gso_segs : (data + each - 1) / each;
	if (packets < 1)
		packets = 1;
	*bytes = frame->length + tag + (packets - 1) * (frame->header + tag);
	return packets;
}

static __always_inline void add(struct sdnmon_totals *mine, enum sdnmon_total total, __u64 packets)
{
	if (total < SDNMON_TOTALS)
		mine->packets[total] += packets;
}

/* Count a frame that was read: `reason` says how. */
static __always_inline void observe(struct sdnmon_frame *frame, int reason, __u64 packets,
				    __u64 bytes)
{
	struct sdnmon_totals *mine;
	__u32 only = 0;
	__u64 hash;

	mine = bpf_map_lookup_elem(&totals, &only);
	if (!mine)
		return;
	add(mine, SDNMON_RECEIVED, packets);
	if (reason == SDNMON_READ && !config.has_link_fields && !(frame->has & config.headers))
		reason = SDNMON_WITHOUT_FIELDS;
	if (reason == SDNMON_READ && config.mode != SDNMON_PARSE) {
		hash = hash_key(&frame->key);
		reason = monitor(&frame->key, hash, packets, bytes);
	}
	if (reason != SDNMON_READ)
		add(mine, (enum sdnmon_total)reason, packets);
}

static __always_inline void observe_skb(struct __sk_buff *skb)
{
	struct sdnmon_frame frame;
	__u64 packets, bytes;
	int reason;

	frame.length = skb->len;
	frame.tagged = skb->vlan_present;
	frame.tci = skb->vlan_tci;
	frame.merged = skb->gso_size != 0;
	reason = read_frame_skb(skb, &frame);
	if (reason == SDNMON_NOT_LINEAR) {
		bpf_skb_pull_data(skb, skb->len < LINEAR_BYTES ? skb->len : LINEAR_BYTES);
		reason = read_frame_skb(skb, &frame);
		if (reason == SDNMON_NOT_LINEAR)
			reason = SDNMON_TOO_LONG;
	}
	packets = packets_of(skb, &frame, &bytes);
	observe(&frame, reason, packets, bytes);
}

/* All of the frame is in one piece, its tags in it, and it is one packet. */
static __always_inline void observe_xdp(struct xdp_md *ctx)
{
	struct sdnmon_frame frame;
	int reason;

	frame.length = (__u32)(ctx->data_end - ctx->data);
	frame.tagged = false;
	frame.tci = 0;
	frame.merged = false;
	reason = read_frame_xdp(ctx, &frame);
	observe(&frame, reason == SDNMON_NOT_LINEAR ? SDNMON_TOO_LONG : reason, 1, frame.length);
}

SEC("tc")
int arrive(struct __sk_buff *skb)
{
	observe_skb(skb);
	return TC_ACT_UNSPEC; /* programs of others come next */
}

/* Programs that were at interfaces before `arrive_xdp`, and decide what becomes of their frames. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, SDNMON_XDP_PLACES);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} forwarders SEC(".maps");

/* In front of an XDP program that takes frames before tc. */
SEC("xdp")
int arrive_xdp(struct xdp_md *ctx)
{
	observe_xdp(ctx);
	bpf_tail_call(ctx, &forwarders, SDNMON_XDP_PLACE(ctx->ingress_ifindex));
	return XDP_PASS; /* it is gone */
}

/* Of the benchmark: the source address of an IPv4 packet is another one each time. */
__u32 varied_turn;

static __always_inline int vary(void *start, const void *end)
{
	struct iphdr *ip = start + sizeof(struct ethhdr);

	if ((void *)(ip + 1) > end)
		return -1;
	/* In an order that no cache foresees. */
	varied_turn = (varied_turn + 7919) % config.varied_flows;
	ip->saddr = varied_turn;
	return 0;
}

SEC("tc")
int varied(struct __sk_buff *skb)
{
	if (vary((void *)(long)skb->data, (void *)(long)skb->data_end))
		return TC_ACT_SHOT;
	observe_skb(skb);
	return TC_ACT_UNSPEC;
}

SEC("xdp")
int varied_xdp(struct xdp_md *ctx)
{
	if (vary((void *)(long)ctx->data, (void *)(long)ctx->data_end))
		return XDP_ABORTED;
	observe_xdp(ctx);
	return XDP_PASS;
}

/* --- changes of the table --- */

static __always_inline void rearm(void)
{
	if (READ(live.entries) <= READ(live.rearm))
		live.armed = 1;
}

static __always_inline enum sdnmon_answer add_entry(struct sdnmon_key *key)
{
	__u64 hash = hash_key(key);
	enum sdnmon_answer answer = insert_blank(key);
	struct sdnmon_entry *entry;

	if (answer == SDNMON_NO_ROOM)
		return bpf_map_lookup_elem(&table, key) ? SDNMON_THERE_ALREADY : answer;
	entry = bpf_map_lookup_elem(&table, key);
	if (!entry)
		return SDNMON_FAILED;
	entry->added = 1;
	mark(hash);
	return answer;
}

static __always_inline enum sdnmon_answer remove_entry(struct sdnmon_key *key, bool unsampled)
{
	__u64 hash = hash_key(key);
	const struct sdnmon_entry *entry = bpf_map_lookup_elem(&table, key);

	if (!entry || (unsampled && (entry->added || hash >> 32 < READ(live.ratio))))
		return SDNMON_NOT_THERE;
	if (bpf_map_delete_elem(&table, key))
		return SDNMON_NOT_THERE;
	__sync_fetch_and_add(&live.entries, -1);
	rearm();
	return SDNMON_DONE;
}

static __always_inline enum sdnmon_answer set_notify(const struct sdnmon_change *change)
{
	live.notify = change->notify;
	live.rearm = change->rearm;
	live.armed = 1;
	notify_of(READ(live.entries));
	return SDNMON_DONE;
}

/* In the kernel, so that a process that is killed does not leave an entry uncounted. */
SEC("syscall")
int change_table(struct sdnmon_change *change)
{
	struct sdnmon_key key;

#pragma unroll
	for (int i = 0; i < SDNMON_KEY_WORDS; i++)
		key.words[i] = change->key.words[i];
	switch (change->operation) {
	case SDNMON_ADD:
		return add_entry(&key);
	case SDNMON_REMOVE:
		return remove_entry(&key, false);
	case SDNMON_REMOVE_UNSAMPLED:
		return remove_entry(&key, true);
	case SDNMON_SET_NOTIFY:
		return set_notify(change);
	default:
		return SDNMON_FAILED;
	}
}

char LICENSE[] SEC("license") = "Apache-2.0";
