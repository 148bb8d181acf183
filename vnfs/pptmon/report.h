/* SPDX-License-Identifier: Apache-2.0 */
/* What pptmon says of itself: complaints on stderr, events on stdout (README.md). */
#ifndef SFCPERF_PPTMON_REPORT_H
#define SFCPERF_PPTMON_REPORT_H

#include <linux/types.h>

#include "kernel.h"
#include "options.h"

/* Say on stderr what went wrong; the last complaint is what report_failed() reports. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Take libbpf's warnings instead of letting it print them. */
void report_libbpf(void);

/* The last of them: of a verifier's log, its last lines. Never NULL. */
const char *report_libbpf_said(void);

/* {"event": "ready", ...}; `attach` is the kind of hook. */
void report_ready(const struct options *options, const char *attach);

/* {"event": "counters", ...}; values are by enum ppt_counter. */
void report_counters(const __u64 *values);

/* {"event": "check", ...} */
void report_check(const struct lacks *lacks, const char *attach);

/* {"event": "failed", ...}, written out. */
void report_failed(void);

#endif
