/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a capture, and how many of them are in no record. */
#pragma once

#include <stdio.h>

#include "../../dataplane/capture/capture.h"

/* A frame without its link layer. */
struct captured {
	uint64_t time_ns; /* Unix time */
	struct network network; /* valid until the next frame is read */
};

/* Open a capture; "-" is standard input. Returns false after complain(). */
bool frames_open(const char *name);

/* Read the next frame. Returns CAPTURE_FRAME, CAPTURE_END, or CAPTURE_DAMAGED after complain(). */
enum capture_status frames_next(struct captured *frame);

/* Count the latest frame as left out. */
void frames_leave_out(void);

/* Print {"event": "end", "frames": ..., "left_out": {...}}. */
void frames_print_end(FILE *out);
