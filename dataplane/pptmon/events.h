/* SPDX-License-Identifier: Apache-2.0 */
/* Prints events of pptmon on stdout (README.md). */
#pragma once

#include <linux/types.h>

#include "kernel.h"
#include "options.h"

/* Print {"event": "ready", ...}. `attach` is the kind of hook. */
void report_ready(const struct options *options, const char *attach);

/* Print {"event": "counters", ...}. `values` are by enum ppt_counter. */
void report_counters(const __u64 *values);

/* Print {"event": "check", ...}. */
void report_check(const struct lacks *lacks, const char *attach);

/* Print {"event": "failed", ...}, and write out all that is kept. */
void report_failed(void);

/* Return the nanoseconds to add to CLOCK_MONOTONIC for Unix time, as they are now. */
__s64 monotonic_to_unix_ns(void);

/* Print {"event": "sample", ...} to output_stream(). */
void print_sample(const struct ppt_event *event, __s64 to_unix_ns);
