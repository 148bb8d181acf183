/* SPDX-License-Identifier: Apache-2.0 */
/* The adaptive threshold of docs/reference/sfcmon.md. */
#pragma once

#include <linux/types.h>

/* threshold_packets of the next window, of whose flows `target` are to be reported, when
 * `threshold` reported so many. A step is at most fourfold: one odd window must not undo many. */
static inline __u32 sfcmon_adapt(__u32 threshold, __u64 reported, __u32 target)
{
	__u64 now = threshold, next;

	/* 2^32 flows with 2^32 packets fit into 64 bits. */
	next = now * reported / target;
	next = next < now / 4 ? now / 4 : next > 4 * now ? 4 * now : next;
	return next < 1 ? 1 : next > 0xffffffff ? 0xffffffff : (__u32)next;
}
