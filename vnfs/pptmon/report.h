/* SPDX-License-Identifier: Apache-2.0 */
/* Events of pptmon on stdout (README.md), but for samples. */
#pragma once

#include <linux/types.h>

#include "kernel.h"
#include "options.h"

/* {"event": "ready", ...}; `attach` is the kind of hook. */
void report_ready(const struct options *options, const char *attach);

/* {"event": "counters", ...}; values are by enum ppt_counter. */
void report_counters(const __u64 *values);

/* {"event": "check", ...} */
void report_check(const struct lacks *lacks, const char *attach);

/* {"event": "failed", ...}, written out. */
void report_failed(void);
