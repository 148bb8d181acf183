/* SPDX-License-Identifier: Apache-2.0 */
/* The thresholds of a window, and how they adapt (docs/reference/sfcmon.md). */
#pragma once

#include <stdint.h>

/* A packet belongs to a heavy hitter if all three are met: the window has `eval` packets so far,
 * and the source has this share of them (in units of 2^-32) and so many packets. */
struct thresholds {
	uint32_t eval, share, packets;
};

/* Turn the thresholds of this window into those of the next one, in which about `target` flows
 * (above 0) are to be reported. In this window, so many packets were monitored and so many flows
 * inserted. */
static inline void thresholds_adapt(struct thresholds *limits, uint32_t packets, uint64_t inserted,
				    uint32_t target)
{
	uint64_t now = limits->packets, next;

	if (limits->share) {
		/* The first window has a share: go on with the packets that it came to. */
		next = (uint64_t)limits->share * packets >> 32;
		limits->share = 0;
	} else {
		next = (uint64_t)((unsigned __int128)now * inserted / target);
		/* The limits keep one odd window from undoing many. */
		next = next < now / 4 ? now / 4 : next > 4 * now ? 4 * now : next;
	}
	limits->packets = next < 1 ? 1 : next > UINT32_MAX ? UINT32_MAX : (uint32_t)next;
}
