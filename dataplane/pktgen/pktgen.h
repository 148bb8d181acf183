/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side and the user side of sfc-pktgen share: settings, state, counters. */
#pragma once

#include <linux/types.h>

#define PKTGEN_HEAD_BYTES 60 /* headers and stamp fill the least Ethernet frame, without FCS */
#define PKTGEN_FIRST_PORT 1024
#define PKTGEN_MOST_FLOWS 64512 /* one source port each */
#define PKTGEN_MOST_SOURCES 256
#define PKTGEN_SOURCE_STEP 256 /* difference from one source address to the next */
#define PKTGEN_PICKS 65536 /* the power of two that is next to PKTGEN_MOST_FLOWS */
#define PKTGEN_MOST_SIZES 64
#define PKTGEN_TICKS 16 /* binary digits of a nanosecond's fraction in the schedule */
/* A sender that was held up sends at once what was due in this time, or so many packets if these
 * are more. It makes good for what was due before by a schedule that is a tenth denser. */
#define PKTGEN_BURST_NS 100000ULL
#define PKTGEN_BURST 8
#define PKTGEN_DENSER 10
#define PKTGEN_WARMUP 1U /* bit that marks the run's number in packets that do not count */

/* A cell of Walker's alias method, which draws flows. */
struct pktgen_pick {
	__u32 threshold; /* a random 32-bit number below it takes the flow of the cell's number */
	__u32 other; /* the flow that other random numbers take */
};

struct pktgen_settings {
	__u8 head[PKTGEN_HEAD_BYTES]; /* each packet starts as this */
	__u32 ip_sum; /* sum of the IP header's 16-bit words but source and length, which change */
	__u32 transport_sum; /* the same of transport header, pseudo header and stamp */
	__u32 protocol; /* IPPROTO_* */
	__u32 flows;
	__u32 source; /* the first address, in host byte order */
	__u32 sources; /* number of addresses; each takes its turn with all flows */
	__u32 zipf; /* 0: flows take turns */
	__u32 size_count;
	__u32 sizes[PKTGEN_MOST_SIZES]; /* bytes without FCS; one is drawn for each packet */
	__u32 longest; /* of these sizes */
	__u32 interface; /* ifindex */
	__u64 interval; /* between packets, ns << PKTGEN_TICKS; 0: no limit */
	__u64 duration_ns;
};

/* How far the sender is. Times are CLOCK_MONOTONIC. */
struct pktgen_state {
	__u64 start_ns; /* 0: not started yet */
	__u64 next; /* when the next packet is due after the start, ns << PKTGEN_TICKS */
	__u64 random; /* of pktgen_random(), never 0 */
	__u64 packets; /* made, so that this is the next sequence number */
	__u64 bytes; /* of frames without FCS */
	__u64 owed; /* lost time of the schedule, not made good yet; unit as of `next` */
	__u64 last_ns; /* when the last packet was made */
	__u32 ended; /* the duration is over */
};

/* What the receiver counts, on each CPU. */
struct pktgen_counters {
	__u64 packets; /* of this run, duplicates included */
	__u64 bytes; /* of frames without FCS */
	__u64 duplicated;
	__u64 reordered; /* without duplicates */
	__u64 unjudged; /* came too late to say whether they came before */
	__u64 warmup; /* packets of its warm-up, which no other number counts */
};

#define PKTGEN_WINDOW (1U << 21) /* so many packets may follow before a duplicate is missed */
#define PKTGEN_BIN_NS 100000000ULL /* parts in which arrivals are counted are at most so long */
