/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Lengths and checksums of all headers around what was inserted or removed. */
#pragma once

#include "resize.bpf.h"

#define SUM_CHUNK 512 /* what bpf_csum_diff() takes at once */

/* Return the sum (RFC 1071, not folded) of bytes of the packet, as if the first were at an even
 * offset; 0 if they cannot be read. Global, so that the verifier walks through its loop once, and
 * not for every call: that is what starting pptmon costs. */
__noinline __u32 sum_of(struct __sk_buff *skb, struct work *work, __u32 at, __u32 bytes)
{
	__s64 sum = 0;

	if (!work || bytes == 0 || bytes > MAX_MOVED)
		return 0;
	bytes = BOUNDED(bytes, MAX_MOVED);
	if (bpf_skb_load_bytes(skb, at, work->moved, bytes))
		return 0;
	for (__u32 i = 0; i < 4; i++) /* zeros: bpf_csum_diff() takes multiples of 4 */
		work->moved[bytes + i] = 0;
	for (__u32 done = 0; done < MAX_MOVED; done += SUM_CHUNK) {
		__u32 chunk;

		if (done >= bytes)
			break;
		chunk = (bytes - done + 3) & ~3U;
		if (chunk > SUM_CHUNK)
			chunk = SUM_CHUNK;
		sum = bpf_csum_diff(NULL, 0, (__be32 *)(work->moved + done), chunk, (__u32)sum);
	}
	return (__u32)sum;
}

/* Fold a sum to the 16 bits of a checksum, not inverted. */
static __always_inline __u16 fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)sum;
}

/* Add `change` to a field of 16 bits; `before` and `after` become its values. As all functions that
 * change something here, it returns 0, or another value if the kernel refused. */
static __always_inline int add16(struct __sk_buff *skb, __u32 at, __s32 change, __be16 *before,
				 __be16 *after)
{
	if (bpf_skb_load_bytes(skb, at, before, sizeof(*before)))
		return -1;
	*after = bpf_htons((__u16)(bpf_ntohs(*before) + change));
	return (int)bpf_skb_store_bytes(skb, at, after, sizeof(*after), 0);
}

/* Add `change` to the length in an IP header, and update the checksum of IPv4. */
static __noinline int change_ip_length(struct __sk_buff *skb, __u32 ip, __u32 version, __s32 change)
{
	__be16 before, after;

	if (version == 6)
		return add16(skb, ip + 4, change, &before, &after);
	if (add16(skb, ip + 2, change, &before, &after))
		return -1;
	return (int)bpf_l3_csum_replace(skb, ip + 10, before, after, sizeof(after));
}

/* Return the sum of the UDP datagram in front of VXLAN-GPE, with its length once more for the
 * pseudo header. */
static __always_inline __u32 sum_outer(struct __sk_buff *skb, struct work *work)
{
	__be16 bytes = 0;

	if (bpf_skb_load_bytes(skb, work->packet.outer_udp + 4, &bytes, sizeof(bytes)))
		return 0;
	return fold(sum_of(skb, work, work->packet.outer_udp, bpf_ntohs(bytes))) + (__u32)bytes;
}

/* Before anything inside VXLAN-GPE is changed, keep what close_outer() needs: the outer checksum,
 * and the sum that it covers, or if it is unfinished, only the length. Returns 0, or -1 if the
 * packet cannot be changed. */
static __noinline int open_outer(struct __sk_buff *skb, struct work *work)
{
	struct packet *packet = &work->packet;
	__be16 bytes = 0;

	if (!packet->outer_udp)
		return checksums_known(packet) ? 0 : -1;
	if (bpf_skb_load_bytes(skb, packet->outer_udp + 6, &packet->outer_check,
			       sizeof(packet->outer_check)) ||
	    bpf_skb_load_bytes(skb, packet->outer_udp + 4, &bytes, sizeof(bytes)))
		return -1;
	if (outer_unfinished(packet))
		packet->outer_sum = bytes;
	else if (packet->outer_check && bpf_ntohs(bytes) > MAX_MOVED - MAX_GROWTH)
		return -1;
	else if (packet->outer_check)
		packet->outer_sum = sum_outer(skb, work);
	return checksums_known(packet) ? 0 : -1;
}

/* After the change, update the outer checksum by the difference (RFC 1624), so that a wrong one
 * stays wrong. */
static __noinline int close_outer(struct __sk_buff *skb, struct work *work)
{
	struct packet *packet = &work->packet;
	__be16 check;
	__u32 sum;

	/* What stands in it then is the sum of the pseudo header, of which the length changes. */
	if (outer_unfinished(packet)) {
		if (bpf_skb_load_bytes(skb, packet->outer_udp + 4, &check, sizeof(check)))
			return -1;
		check = fold(packet->outer_check + (__u16)~packet->outer_sum + (__u32)check);
		return (int)bpf_skb_store_bytes(skb, packet->outer_udp + 6, &check, sizeof(check),
						0);
	}
	if (!packet->outer_udp || !packet->outer_check)
		return 0;
	sum = (__u16)~packet->outer_check + (__u32)(__u16)~fold(packet->outer_sum);
	check = (__be16)~fold(sum + fold(sum_outer(skb, work)));
	if (check == 0) /* says that there is none */
		check = 0xffff;
	return (int)bpf_skb_store_bytes(skb, packet->outer_udp + 6, &check, sizeof(check), 0);
}

/* Add `change` to the lengths of all headers around the transport: of NSH when its metadata grew,
 * else of IP; and of the tunnel around. */
static __noinline int change_lengths(struct __sk_buff *skb, struct work *work, __s32 change)
{
	struct packet *packet = &work->packet;
	__be16 before, after;
	__u8 words;

	if (packet->carrier == PPT_CARRIER_NSH) {
		if (bpf_skb_load_bytes(skb, packet->nsh + 1, &words, sizeof(words)))
			return -1;
		words = (__u8)(words + (change >> 2)); /* BPF has no signed division */
		if (bpf_skb_store_bytes(skb, packet->nsh + 1, &words, sizeof(words), 0))
			return -1;
	} else if (change_ip_length(skb, packet->ip, packet->version, change)) {
		return -1;
	}
	if (!packet->outer_udp)
		return 0;
	if (change_ip_length(skb, packet->outer_ip, packet->outer_version, change))
		return -1;
	return add16(skb, packet->outer_udp + 4, change, &before, &after);
}

/* Update the checksum of TCP by the sum `change`. `flags` is BPF_F_PSEUDO_HDR if the pseudo header
 * changed, else 0. While a checksum of the packet is unfinished, the kernel's helper applies
 * changes of the pseudo header alone: who finishes it covers the rest. If the unfinished one is the
 * outer one, TCP's is complete, and is updated here. That of a super-packet does not matter:
 * segmentation computes it. */
static __noinline int change_sum(struct __sk_buff *skb, const struct packet *packet, __u32 change,
				 __u64 flags)
{
	__u32 at = packet->l4 + 16;
	__be16 check;

	if (packet->gso_size)
		return 0;
	if (!outer_unfinished(packet))
		return (int)bpf_l4_csum_replace(skb, at, 0, change, flags);
	if (bpf_skb_load_bytes(skb, at, &check, sizeof(check)))
		return -1;
	check = (__be16)~fold((__u16)~check + (__u32)fold(change));
	return (int)bpf_skb_store_bytes(skb, at, &check, sizeof(check), 0);
}

/* Update the TCP header after its options grew or shrank by `change`: the data offset, and the
 * checksum of the offset and of the length in the pseudo header. */
static __noinline int change_tcp(struct __sk_buff *skb, const struct packet *packet, __s32 change)
{
	__u32 tcp_bytes = packet->ip_end - packet->l4;
	__be16 before, after;

	/* The offset is in the upper 4 bits, and counts words. The sum of ~before and after is the
	 * change of the checksum. */
	if (add16(skb, packet->l4 + 12, change * (0x1000 / 4), &before, &after) ||
	    change_sum(skb, packet, (__u16)~before + (__u32)after, 0))
		return -1;
	before = bpf_htons((__u16)tcp_bytes);
	after = bpf_htons((__u16)(tcp_bytes + change));
	return change_sum(skb, packet, (__u16)~before + (__u32)after, BPF_F_PSEUDO_HDR);
}

/* A UDP checksum that the kernel or the hardware will compute also covers the surplus area, which
 * it must not. So the area's sum is subtracted from its start value (`give_back` 0), and added back
 * before the area changes (1). */
static __noinline int discount_surplus(struct __sk_buff *skb, struct work *work, int give_back)
{
	const struct packet *packet = &work->packet;
	__u32 surplus = packet->l4 + packet->l4_bytes;
	__u16 sum;

	if (packet->checksum_start != packet->l4 || packet->ip_end == surplus)
		return 0;
	sum = fold(sum_of(skb, work, surplus, packet->ip_end - surplus));
	if (packet->l4_bytes & 1) /* the area begins at an odd offset */
		sum = (__u16)(sum << 8 | sum >> 8);
	return (int)bpf_l4_csum_replace(skb, packet->l4 + 6, 0, give_back ? sum : (__u16)~sum,
					BPF_F_PSEUDO_HDR);
}

/* Write the option checksum of RFC 9868 section 9, of the surplus area and its length. */
static __noinline int set_ocs(struct __sk_buff *skb, struct work *work)
{
	const struct packet *packet = &work->packet;
	__u32 surplus = packet->l4 + packet->l4_bytes;
	__u32 at = surplus + (packet->l4_bytes & 1); /* at an even offset from UDP */
	__u32 bytes = packet->ip_end - surplus;
	__be16 ocs = 0;

	if (bpf_skb_store_bytes(skb, at, &ocs, sizeof(ocs), 0))
		return -1;
	ocs = (__be16)~fold(sum_of(skb, work, at, packet->ip_end - at) +
			    (__u32)bpf_htons((__u16)bytes));
	if (ocs == 0) /* 0 says that there is none */
		ocs = 0xffff;
	return (int)bpf_skb_store_bytes(skb, at, &ocs, sizeof(ocs), 0);
}
