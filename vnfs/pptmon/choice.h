/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the packets that come when a sample is due a source takes. */
#ifndef SFCPERF_PPTMON_CHOICE_H
#define SFCPERF_PPTMON_CHOICE_H

#include "pptmon.h"

/* The probability for each of them, in 2^-32, from the counters so far; to be called every
 * `elapsed_ns`. */
__u32 choice_refresh(const __u64 *counters, __u64 period_ns, __u64 elapsed_ns);

#endif
