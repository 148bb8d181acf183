/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What __sk_buff does not tell: whether a packet's checksum is still to be computed, and from where
 * (CHECKSUM_PARTIAL). Read from the kernel's own structure, relocated when loaded (CO-RE).
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define CHECKSUM_PARTIAL 3

struct sk_buff {
	unsigned char *head;
	unsigned char *data;
	__u16 csum_start;
	__u8 ip_summed : 2;
} __attribute__((preserve_access_index));

/* Return the offset from the start of the frame from which the kernel or the hardware will compute
 * the checksum; 0 for a packet whose checksum is complete, or does not matter. */
static __noinline __u32 checksum_start(struct __sk_buff *skb)
{
	/* At run time the context is the kernel's own sk_buff. Stored and loaded, so that the
	 * verifier takes it for a number, which probe_read accepts. */
	volatile unsigned long address = (unsigned long)skb;
	struct sk_buff *kernel = (struct sk_buff *)address;
	unsigned char *head, *data;
	__u16 start = 0;

	if (BPF_CORE_READ_BITFIELD_PROBED(kernel, ip_summed) != CHECKSUM_PARTIAL)
		return 0;
	head = BPF_CORE_READ(kernel, head);
	data = BPF_CORE_READ(kernel, data);
	start = BPF_CORE_READ(kernel, csum_start);
	return start - (__u32)(data - head);
}
