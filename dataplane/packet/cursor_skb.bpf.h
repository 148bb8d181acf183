/* SPDX-License-Identifier: Apache-2.0 */
/* A place in a packet of any layout in memory, whose headers the kernel copies. */
#pragma once

#include <stddef.h>

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define HAS_CURSOR

/* A place in a packet. */
struct cursor {
	struct __sk_buff *skb;
	__u32 at; /* from the start of the frame */
	__u8 copy[40] __attribute__((aligned(8))); /* of what peek() read last */
};

/* Return a copy of the bytes at the cursor, at most 40, which stays valid until the next call; NULL
 * if there are not so many. */
static __always_inline const __u8 *peek(struct cursor *cursor, __u32 bytes)
{
	return bpf_skb_load_bytes(cursor->skb, cursor->at, cursor->copy, bytes) ? NULL
										: cursor->copy;
}
