/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a capture, pcap or pcapng. */
#pragma once

#include <stdio.h>

#include "../sfcmon/simulator/link.h"

struct captured {
	uint64_t time_ns; /* Unix time */
	struct network network; /* valid until the next one is read */
};

enum capture_status { CAPTURE_FRAME, CAPTURE_END, CAPTURE_UNREADABLE /* complained */ };

/* "-" is standard input. False: complained. */
bool capture_open(const char *name);
enum capture_status capture_next(struct captured *frame);

/* Count the latest frame as left out. */
void capture_leave_out(void);

/* {"event": "end", "frames": ..., "left_out": {...}} */
void capture_print_end(FILE *out);
