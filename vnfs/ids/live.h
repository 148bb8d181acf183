/* SPDX-License-Identifier: Apache-2.0 */
/* Extraction from packets on their way: one extractor for each thread that sees packets. */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

#include "extractor.h"

/* 0, or -1 after complain(). The exporter has been started. */
int live_open(const struct extractor_settings *settings, unsigned int workers);

/* What the threads call; see `struct inspector` of the forwarder. */
void live_frame(unsigned int worker, const __u8 *frame, __u32 captured, __u64 time_ns);
bool live_rest(unsigned int worker, bool idle);
void live_end(unsigned int worker);

/* Members of a JSON object, without its braces. */
void live_print(FILE *out);
