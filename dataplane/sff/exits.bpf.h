/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses that say where a finished frame goes: from the XDP program to the one in tc, which puts
 * the true address back. Those of hops are written with their tables (`hop_exits`); others are
 * learnt from frames (`exits`).
 */
#pragma once

#include "reframe.bpf.h"
#include "tables.bpf.h"

#define EXIT_ATTEMPTS 4 /* codes that are tried: the first ones may stand for other addresses */

/* Is this an address of struct sff_exit_key? */
static __always_inline bool is_exit(const __u8 *mac)
{
	return mac[0] == SFF_EXIT_MAC >> 8 && mac[1] == (SFF_EXIT_MAC & 0xff);
}

/* Write such an address, with its code. */
static __always_inline void put_exit(__u8 *mac, __u32 code)
{
	mac[0] = SFF_EXIT_MAC >> 8;
	mac[1] = SFF_EXIT_MAC & 0xff;
	mac[2] = (__u8)(code >> 24);
	mac[3] = (__u8)(code >> 16);
	mac[4] = (__u8)(code >> 8);
	mac[5] = (__u8)code;
}

/* Give a finished frame an address that stands for its true one and the interface where it leaves,
 * and note both in `exits`. Returns SFF_FORWARDED, or SFF_NO_ROOM if no address was free. */
static __always_inline enum sff_verdict pass_with_address(struct ethhdr *eth, __u32 ifindex)
{
	struct sff_exit there = { .ifindex = ifindex };
	__u32 hash;

	__builtin_memcpy(there.mac, eth->h_dest, ETH_ALEN);
	hash = (*(__u32 *)there.mac ^ *(__u16 *)(there.mac + 4) * 0x85ebca6bU) * 0x9e3779b1U >> 12;
	for (__u32 attempt = 0; attempt < EXIT_ATTEMPTS; attempt++) {
		struct sff_exit_key key = {};
		const struct sff_exit *known;

		put_exit(key.mac, ifindex << 20 | ((hash + attempt) & 0xfffff));
		known = bpf_map_lookup_elem(&exits, &key);
		if (known && !same_mac(known->mac, there.mac))
			continue;
		if (!known && bpf_map_update_elem(&exits, &key, &there, BPF_ANY))
			return SFF_NO_ROOM;
		__builtin_memcpy(eth->h_dest, key.mac, ETH_ALEN);
		return SFF_FORWARDED;
	}
	return SFF_NO_ROOM;
}
