/* SPDX-License-Identifier: Apache-2.0 */
/* What docs/reference/sfcmon.md fixes: keys, seeds, reasons. */
#pragma once

#define SFCMON_CMS_SEED 1
#define SFCMON_BLOOM_SEED 9
#define SFCMON_IBLT_SEED 16
#define SFCMON_CHECKSUM_SEED 22

#define SFCMON_CMS_ROWS 8 /* at most */
#define SFCMON_BLOOM_HASHES 7
#define SFCMON_IBLT_HASHES 6

#define SFCMON_CMS_MAX 0xffffff /* a counter of the CMS stays there */

/* FlowID2 in words; FlowID1 is its first word and the source address. */
#define SFCMON_IPV4_WORDS 5
#define SFCMON_IPV6_WORDS 11
#define SFCMON_SOURCE_WORD 3
#define SFCMON_IPV4_SOURCE_WORDS 1
#define SFCMON_IPV6_SOURCE_WORDS 4
#define SFCMON_ID1_WORDS (1 + SFCMON_IPV6_SOURCE_WORDS) /* at most */

/* Why a frame is not monitored. */
enum sfcmon_reason {
	SFCMON_NOT_NSH,
	SFCMON_NSH,
	SFCMON_NOT_IP,
	SFCMON_IP,
	SFCMON_TRUNCATED,
	SFCMON_REASONS,
};
