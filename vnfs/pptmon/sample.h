/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SFCPERF_PPTMON_SAMPLE_H
#define SFCPERF_PPTMON_SAMPLE_H

#include "pptmon.h"

/* Nanoseconds to add to CLOCK_MONOTONIC for Unix time, now. */
__s64 monotonic_to_unix_ns(void);

/* {"event": "sample", ...} to output_stream(). */
void print_sample(const struct ppt_event *event, __s64 to_unix_ns);

#endif
