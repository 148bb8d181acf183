/* SPDX-License-Identifier: Apache-2.0 */
/* Time as a number of nanoseconds. */
#pragma once

#include <stdint.h>
#include <time.h>

/* Return the time of a clock of clock_gettime(2) in ns. */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
