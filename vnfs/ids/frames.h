/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a capture, and how many of them are in no record. */
#pragma once

#include <stdio.h>

#include "../../dataplane/capture/capture.h"

struct captured {
	uint64_t time_ns; /* Unix time */
	struct network network; /* valid until the next one is read */
};

/* "-" is standard input. False: complained. */
bool frames_open(const char *name);

/* CAPTURE_FRAME, CAPTURE_END, or CAPTURE_DAMAGED after complain(). */
enum capture_status frames_next(struct captured *frame);

/* Count the latest frame as left out. */
void frames_leave_out(void);

/* {"event": "end", "frames": ..., "left_out": {...}} */
void frames_print_end(FILE *out);
