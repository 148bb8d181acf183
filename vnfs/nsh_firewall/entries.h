/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side and the user side of sfc-firewall share: rules, their order, counters. */
#pragma once

#include <linux/in.h>
#include <linux/types.h>

#include "../../dataplane/forwarding/forwarder.h"

/* Why a packet that the forwarder would return was dropped. */
enum fw_cause {
	FW_NONE, /* it was not dropped */
	FW_SOURCE_RULE,
	FW_FLOW_RULE,
	FW_UNPARSED, /* no rule can judge it: headers end too early, are too many, or unknown */
	FW_FAILED, /* fail-closed, and nobody has renewed the lease */
	FW_CAUSES,
};

/* Packets. Only those that the forwarder would return have a cause. */
struct fw_counters {
	__u64 verdicts[FWD_VERDICTS]; /* FWD_FORWARDED: also packets that have a cause */
	__u64 causes[FW_CAUSES]; /* FW_NONE: forwarded */
};

/* Keys of the hash maps. The two ends of a flow are in ascending order, so that both directions
 * have one key. The value of a key says when the rule expires: nanoseconds of CLOCK_MONOTONIC. */
struct fw_flow4 {
	__be32 low, high;
	__be16 low_port, high_port; /* 0 of protocols without ports */
	__u8 protocol;
	__u8 zero[3];
};

struct fw_address6 {
	__u64 words[2]; /* as in the packet */
};

struct fw_flow6 {
	struct fw_address6 low, high;
	__be16 low_port, high_port;
	__u8 protocol;
	__u8 zero[3];
};

/* Put the ends of a flow in order. Any order does, if it is always the same. */
static inline void fw_flow4_order(struct fw_flow4 *flow, __be32 one, __be16 one_port, __be32 other,
				  __be16 other_port)
{
	int swap = one > other || (one == other && one_port > other_port);

	flow->low = swap ? other : one;
	flow->high = swap ? one : other;
	flow->low_port = swap ? other_port : one_port;
	flow->high_port = swap ? one_port : other_port;
}

/* The same for IPv6. */
static inline void fw_flow6_order(struct fw_flow6 *flow, const struct fw_address6 *one,
				  __be16 one_port, const struct fw_address6 *other,
				  __be16 other_port)
{
	int swap = one->words[0] > other->words[0] ||
		   (one->words[0] == other->words[0] && one->words[1] > other->words[1]) ||
		   (one->words[0] == other->words[0] && one->words[1] == other->words[1] &&
		    one_port > other_port);

	flow->low = swap ? *other : *one;
	flow->high = swap ? *one : *other;
	flow->low_port = swap ? other_port : one_port;
	flow->high_port = swap ? one_port : other_port;
}
