/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side and the user side of sfc-pktgen share: settings, state, counters. */
#pragma once

#include <linux/types.h>

#define PKTGEN_HEAD_BYTES 60 /* headers and stamp: the least Ethernet frame, without FCS */
#define PKTGEN_FIRST_PORT 1024
#define PKTGEN_MOST_FLOWS 64512 /* one source port each */
#define PKTGEN_MOST_SOURCES 256
#define PKTGEN_SOURCE_STEP 256 /* from one source address to the next */
#define PKTGEN_PICKS 65536 /* next power of two */
#define PKTGEN_MOST_SIZES 64
#define PKTGEN_TICKS 16 /* binary digits behind the nanosecond in the schedule */
/* A sender that was held up sends at once what was due in this time, or so many packets if these are
 * more. What was due before, it sends by a schedule that is a tenth denser. */
#define PKTGEN_BURST_NS 100000ULL
#define PKTGEN_BURST 8
#define PKTGEN_DENSER 10
#define PKTGEN_WARMUP 1U /* differs from the run's number in packets that do not count */

/* One cell of Walker's alias method. */
struct pktgen_pick {
	__u32 threshold; /* below it, in 2^32: the cell's own flow */
	__u32 other;
};

struct pktgen_settings {
	__u8 head[PKTGEN_HEAD_BYTES]; /* each packet starts as this */
	__u32 ip_sum; /* of the header's 16-bit words that never change: all but source and length */
	__u32 transport_sum; /* the same, with pseudo header and stamp */
	__u32 protocol;
	__u32 flows;
	__u32 source; /* the first address */
	__u32 sources; /* addresses: each takes its turn with all flows */
	__u32 zipf; /* 0: flows take turns */
	__u32 size_count;
	__u32 sizes[PKTGEN_MOST_SIZES]; /* bytes without FCS; one is drawn for each packet */
	__u32 longest;
	__u32 interface;
	__u64 interval; /* between packets, ns << PKTGEN_TICKS; 0: no limit */
	__u64 duration_ns;
};

struct pktgen_state {
	__u64 start_ns; /* 0: not yet */
	__u64 next; /* when a packet is due, after the start, ns << PKTGEN_TICKS */
	__u64 random;
	__u64 packets;
	__u64 bytes;
	__u64 owed; /* time of the schedule that was lost and not yet made good, as `next` */
	__u64 last_ns;
	__u32 ended;
};

/* What the receiver counts, on each CPU. */
struct pktgen_counters {
	__u64 packets; /* of this run, duplicates included */
	__u64 bytes;
	__u64 duplicated;
	__u64 reordered;
	__u64 unjudged; /* too late to say whether they came before */
	__u64 warmup;
};

#define PKTGEN_WINDOW (1U << 21) /* so many packets may follow before a duplicate is missed */
#define PKTGEN_BIN_NS 100000000ULL /* the parts of the duration are at most so long */
