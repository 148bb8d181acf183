/* SPDX-License-Identifier: Apache-2.0 */
/* Extraction from live packets, with one extractor for each thread that sees packets. */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

#include "extractor.h"

/* Open the extractors. The exporter must have been started. Returns 0, or -1 after complain(). */
int live_open(const struct extractor_settings *settings, unsigned int workers);

/* These are called by the threads; see `struct inspector` of the forwarder. */
void live_frame(unsigned int worker, const __u8 *frame, __u32 captured, __u64 time_ns);
bool live_rest(unsigned int worker, bool idle);
void live_end(unsigned int worker);

/* Print members of a JSON object, without its braces. */
void live_print(FILE *out);
