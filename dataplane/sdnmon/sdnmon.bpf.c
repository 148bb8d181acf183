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

#define LINEAR_BYTES 256 /* so many the kernel is asked to put where they can be read directly */

/* Return for how many packets a frame stands, and let `*bytes` have the bytes of all of them: each
 * has the headers, and the tag that the kernel has taken out. */
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

static __always_inline void add_to_total(struct sdnmon_totals *mine, enum sdnmon_total total,
					 __u64 packets)
{
	if (total < SDNMON_TOTALS) /* it always is, but the verifier must see it */
		mine->packets[total] += packets;
}

/* Count the packets of a frame in the totals, and in the entry of their flow, if it is monitored.
 * `reason` is what reading the frame returned: SDNMON_READ, or the total of malformed frames that
 * counts it. */
static __always_inline void observe(struct sdnmon_frame *frame, int reason, __u64 packets,
				    __u64 bytes)
{
	struct sdnmon_totals *mine;
	__u32 only = 0;
	__u64 hash;

	mine = bpf_map_lookup_elem(&totals, &only);
	if (!mine)
		return;
	add_to_total(mine, SDNMON_RECEIVED, packets);
	if (reason == SDNMON_READ && !config.has_link_fields && !(frame->has & config.headers))
		reason = SDNMON_WITHOUT_FIELDS;
	if (reason == SDNMON_READ && config.mode != SDNMON_PARSE) {
		hash = hash_key(&frame->key);
		reason = monitor(&frame->key, hash, packets, bytes);
	}
	if (reason != SDNMON_READ)
		add_to_total(mine, (enum sdnmon_total)reason, packets);
}

/* Read and count a frame at tc. If its headers cannot be read directly, the kernel first puts them
 * in one piece. */
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

/* Read and count a frame at XDP, where it is in one piece, has all tags in it, and is one
 * packet. */
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

/* Count at a port with tcx or clsact. */
SEC("tc")
int arrive(struct __sk_buff *skb)
{
	observe_skb(skb);
	return TC_ACT_UNSPEC; /* programs of others come next */
}

/* XDP programs that were at interfaces before `arrive_xdp`, by SDNMON_XDP_PLACE(). They decide what
 * becomes of the frames. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, SDNMON_XDP_PLACES);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} forwarders SEC(".maps");

/* Count at a port with XDP, then call the program that was there before. */
SEC("xdp")
int arrive_xdp(struct xdp_md *ctx)
{
	observe_xdp(ctx);
	bpf_tail_call(ctx, &forwarders, SDNMON_XDP_PLACE(ctx->ingress_ifindex));
	return XDP_PASS; /* the call failed: that program is gone */
}

/* The benchmark's programs give an IPv4 packet another source address each time. `varied_turn`
 * is the last one. */
__u32 varied_turn;

/* Give the packet the next source address. Returns -1 if it is too short. */
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

/* Let the next crossing of the threshold notify, if there are few enough entries. */
static __always_inline void rearm(void)
{
	if (READ(live.entries) <= READ(live.rearm))
		live.armed = 1;
}

/* Insert an added entry, which sampling does not concern, or make one of an entry that is there,
 * which needs no room. */
static __always_inline enum sdnmon_answer add_entry(struct sdnmon_key *key)
{
	__u64 hash = hash_key(key);
	enum sdnmon_answer answer = insert_blank(key);
	struct sdnmon_entry *entry;

	entry = bpf_map_lookup_elem(&table, key);
	if (!entry)
		return answer == SDNMON_NO_ROOM ? answer : SDNMON_FAILED;
	entry->added = 1;
	mark(hash);
	return answer == SDNMON_NO_ROOM ? SDNMON_THERE_ALREADY : answer;
}

/* Remove an entry. With `unsampled`, it stays if it was added, or is sampled (mode SDNMON_HASH). */
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

/* Set the threshold of notifications. One that is exceeded already is notified at once. */
static __always_inline enum sdnmon_answer set_notify(const struct sdnmon_change *change)
{
	live.notify = change->notify;
	live.rearm = change->rearm;
	live.armed = 1;
	notify_of(READ(live.entries));
	return SDNMON_DONE;
}

/* Change the table for the user side. Returns enum sdnmon_answer. The kernel changes an entry and
 * counts it in one step, even if the process is killed meanwhile. */
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
