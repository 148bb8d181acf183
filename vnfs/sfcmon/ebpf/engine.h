/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side and the user side of sfc-sfcmon share: the registers of
 * docs/reference/sfcmon.md. */
#pragma once

#include <linux/types.h>

#include "../sfcmon.h"

#define SFCMON_BANKS 2
#define SFCMON_BLOOM_WORD 64 /* bits */

/* What monitors packets. */
enum sfcmon_monitor {
	SFCMON_MONITOR_SKETCHES,
	SFCMON_MONITOR_TABLE, /* an entry for each flow */
	SFCMON_MONITOR_NONE,
};

/* Registers of a bank that are single numbers. */
struct sfcmon_bank {
	__u32 packets;
	__u32 unparsed[SFCMON_REASONS];
	__u32 threshold_eval;
	__u32 threshold_share;
	__u32 threshold_packets;
	__u32 untracked; /* packets of flows for which the table has no room */
};

/* A FlowID2, followed by zeros. It is the key of the table. */
struct sfcmon_flow {
	__u32 words[SFCMON_IPV6_WORDS];
};

/* An entry of the table. */
struct sfcmon_flow_counts {
	__u64 packets;
	__u64 bytes;
	__u32 stays; /* it was asked for, and is not removed when its flow is idle */
	__u32 unused;
};

/* State, in the section SFCMON_STATE: other programs with SFCMon in them have variables of their
 * own. */
struct sfcmon_state {
	struct sfcmon_bank banks[SFCMON_BANKS];
	__u32 active; /* bank that packets update */
};

/* Sizes, in the section SFCMON_SIZES. They are set before the program is loaded. */
struct sfcmon_sizes {
	__u32 cms_rows, cms_columns;
	__u32 bloom_bits, bloom_hashes;
	__u32 iblt_cells, iblt_hashes;
};

#define SFCMON_STATE ".data.sfcmon"
#define SFCMON_SIZES ".rodata.sfcmon"

/* Two counters of the CMS, because an array of the kernel has no elements smaller than 8 bytes.
 * They count past their maximum by the number of CPUs at most; readers see the maximum. */
struct sfcmon_counters {
	__u32 value[2];
};

/* A cell of the IBLT. It fills a cache line. */
struct sfcmon_cell {
	__u32 count;
	__u32 checksum;
	__u32 key_sum[SFCMON_IPV6_WORDS];
	__u32 packets;
	__u64 bytes;
};

/* What SFCMon takes from a frame. */
struct sfcmon_packet {
	__u32 flow[SFCMON_IPV6_WORDS]; /* FlowID2; the rest is zero */
	__u32 words; /* words of that FlowID2 */
	__u32 bytes; /* packet size */
};

/* Working memory of a CPU. */
struct sfcmon_work {
	__u64 turns; /* odd while it is at a packet: the user side waits for the old `active` */
	struct sfcmon_packet packet; /* not on the stack, of which sfc-sff leaves too little */
};

/* Return how many elements a row of the CMS has. Two counters share an element, and no row
 * shares one with the next row. */
static inline __attribute__((always_inline)) __u32 sfcmon_row_elements(__u32 columns)
{
	return (columns + 1) / 2;
}

static inline __attribute__((always_inline)) __u32 sfcmon_bloom_words(__u32 bits)
{
	return (bits + SFCMON_BLOOM_WORD - 1) / SFCMON_BLOOM_WORD;
}
