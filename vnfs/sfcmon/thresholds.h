/* SPDX-License-Identifier: Apache-2.0 */
/* The thresholds of a window, and how they adapt (docs/reference/sfcmon.md). */
#pragma once

#include <stdint.h>

struct thresholds {
	uint32_t eval, share, packets;
};

/* Set the thresholds of the next window, in which about `target` flows are to be reported. In
 * this window, so many packets were monitored and so many flows inserted. */
static inline void thresholds_adapt(struct thresholds *limits, uint32_t packets, uint64_t inserted,
				    uint32_t target)
{
	uint64_t now = limits->packets, next;

	if (limits->share) {
		next = (uint64_t)limits->share * packets >> 32;
		limits->share = 0;
	} else {
		next = (uint64_t)((unsigned __int128)now * inserted / target);
		/* The limits keep one odd window from undoing many. */
		next = next < now / 4 ? now / 4 : next > 4 * now ? 4 * now : next;
	}
	limits->packets = next < 1 ? 1 : next > UINT32_MAX ? UINT32_MAX : (uint32_t)next;
}
