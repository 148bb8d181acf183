/* SPDX-License-Identifier: Apache-2.0 */
/* Prints events of pptmon on stdout (README.md). */
#pragma once

#include <linux/types.h>

#include "kernel.h"
#include "options.h"

/* Print {"event": "ready", ...}. `attach` is the name of the hook. */
void report_ready(const struct options *options, const char *attach);

/* Print {"event": "counters", ...}. `values` are by enum ppt_counter. */
void report_counters(const __u64 *values);

/* Print {"event": "check", ...}. `attach` is the name of the hook; NULL: none works. */
void report_check(const struct lacks *lacks, const char *attach);

/* Print {"event": "failed", ...} with the last complaint, and write out all that is kept. */
void report_failed(void);

/* Return the nanoseconds to add to CLOCK_MONOTONIC for Unix time. They change when Unix time is
 * set. */
__s64 monotonic_to_unix_ns(void);

/* Print {"event": "sample", ...} to output_stream(). `to_unix_ns` is from
 * monotonic_to_unix_ns(). */
void print_sample(const struct ppt_event *event, __s64 to_unix_ns);
