/* SPDX-License-Identifier: Apache-2.0 */
/* An SF in the driver's receive path. Two functions: as one, clang would spill registers in the
 * firewall. */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "packet.h"

const volatile __u8 own_mac[ETH_ALEN];

/* Do what fwd_frame() does, and count its verdict in `counters`, which are FWD_VERDICTS many. */
static __always_inline enum fwd_verdict fwd_count(void *start, void *end, __u64 *counters,
						  fwd_path *path)
{
	enum fwd_verdict verdict = fwd_frame(start, end, own_mac, path);

	/* Always so, but the verifier must see it. */
	if (verdict < FWD_VERDICTS)
		counters[verdict]++;
	return verdict;
}

/* Return what XDP does with a frame after this verdict. */
static __always_inline int fwd_action(enum fwd_verdict verdict)
{
	return verdict == FWD_PASSED ? XDP_PASS : verdict == FWD_FORWARDED ? XDP_TX : XDP_DROP;
}
