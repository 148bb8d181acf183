/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "pptmon.h"

/* Nanoseconds to add to CLOCK_MONOTONIC for Unix time, now. */
__s64 monotonic_to_unix_ns(void);

/* {"event": "sample", ...} to output_stream(). */
void print_sample(const struct ppt_event *event, __s64 to_unix_ns);
