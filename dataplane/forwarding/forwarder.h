/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side and the user side of sfc-forwarder share: verdicts and counters. */
#pragma once

#include <linux/types.h>

/* What happened to a frame. Each has a counter. */
enum fwd_verdict {
	FWD_FORWARDED,
	FWD_PASSED, /* not for the forwarder: left to the kernel */
	FWD_DROP_FIRST,
	FWD_TRUNCATED = FWD_DROP_FIRST, /* shorter than its headers say */
	FWD_ENCAPSULATION, /* VXLAN-GPE header that announces no NSH */
	FWD_VERSION, /* NSH version is not 0 */
	FWD_MD_TYPE, /* neither MD type 1 nor 2 */
	FWD_LENGTH, /* NSH length does not fit the MD type */
	FWD_OAM, /* O bit: this SF has no OAM procedures (RFC 8300, 2.2) */
	FWD_SI_ZERO, /* arrived with SI 0 */
	FWD_SI_EXHAUSTED, /* SI would become 0 */
	FWD_OVERSIZE, /* larger than the MTU: offloads are on somewhere */
	FWD_RING_FULL, /* arrived faster than the threads took them */
	FWD_TX_FAILED, /* the kernel refused to send it */
	FWD_VERDICTS,
};

#define FWD_MAX_PATHS 64 /* most (SPI, SI) pairs that get a counter of their own */

struct fwd_counters {
	__u64 verdicts[FWD_VERDICTS];
	__u64 paths_untracked; /* forwarded packets of further (SPI, SI) pairs */
};

/* Key of the counters by path: SPI << 8 | SI, with the SI as the packet arrived. */
typedef __u32 fwd_path;
