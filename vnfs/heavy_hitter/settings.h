/* SPDX-License-Identifier: Apache-2.0 */
/* Settings and counters of an engine. Numbers are those of p4/heavy_hitter.p4. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define MOST_ROWS 8

/* What happens to the packets of a heavy hitter. */
enum on_heavy { ON_HEAVY_BLOCK, ON_HEAVY_REPORT, ON_HEAVY_MARK };

/* What an engine counts: frames. */
enum counter {
	COUNT_FORWARDED,
	COUNT_COUNTED, /* counted by the sketch */
	COUNT_HEAVY, /* packets of heavy hitters that are forwarded */
	COUNT_UNMONITORED, /* forwarded, and of no flow */
	COUNT_BLOCKED, /* from here on: frames that are not forwarded */
	COUNT_PASSED, /* not for this function */
	COUNT_TRUNCATED,
	COUNT_VERSION,
	COUNT_MD_TYPE,
	COUNT_LENGTH,
	COUNT_OAM,
	COUNT_SI_ZERO,
	COUNT_SI_EXHAUSTED,
	COUNT_ENCAPSULATION,
	COUNTS,
	COUNT_FIRST_DROPPED = COUNT_BLOCKED,
};

struct settings {
	uint32_t rows; /* 1 to MOST_ROWS */
	uint32_t columns; /* a power of two */
	uint32_t seed; /* of row 0 */
	uint32_t threshold; /* a flow's first packet above it makes the flow a heavy hitter */
	enum on_heavy on_heavy;
	uint32_t mark_dscp; /* of the packets of a heavy hitter that are marked */
	bool conservative; /* only the smallest counts of a flow grow */
	bool nsh_only; /* plain frames are not for this function */
	bool reflect; /* frames leave where they came in; else by the other port */
	uint32_t ports; /* number of ports by which frames come in, 1 or 2 */
	uint32_t flows; /* most heavy hitters that are known at a time */
	uint32_t expiry_s; /* a heavy hitter is forgotten so long after it was found */
	uint64_t mac; /* frames to other addresses are not for this function; 0: all are */
	const char *spec; /* engine swx: its program */
	const char *library; /* that program as generated code; NULL: it is interpreted */
};

/* A flow by its 5-tuple. IPv4 addresses are in the low words. */
struct flow_key {
	uint64_t source_high, source_low;
	uint64_t destination_high, destination_low;
	uint32_t ports; /* source << 16 | destination; 0 where there are none, and of fragments */
	uint32_t protocol; /* version of IP << 8 | protocol */
};

/* Reports that a flow was found to be a heavy hitter. */
struct report {
	struct flow_key key;
	uint32_t epoch; /* number of the window */
};
