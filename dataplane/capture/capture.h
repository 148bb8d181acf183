/* SPDX-License-Identifier: Apache-2.0 */
/* Captures, pcap or pcapng: frame by frame. */
#pragma once

#include <string.h>

#include "input.h"
#include "link.h"

enum capture_status {
	CAPTURE_FRAME,
	CAPTURE_END,
	CAPTURE_TRUNCATED, /* the capture ends within a frame */
	CAPTURE_DAMAGED, /* complained */
	CAPTURE_NOTHING, /* of a block of pcapng: it has no frame */
};

#define PCAPNG_INTERFACES 256 /* of a section, at most */

struct capture_interface {
	uint32_t link_type;
	uint32_t most_bytes; /* of a frame; 0: any */
	uint64_t ticks_per_s; /* 0: not supported */
	uint64_t offset_s;
};

struct capture {
	struct input input;
	/* Reads the next frame, whose bytes are valid until the one after it is read. */
	enum capture_status (*next)(struct capture *capture, struct frame *frame);
	bool swapped;
	struct capture_interface interfaces[PCAPNG_INTERFACES];
	unsigned int interface_count;
	uint64_t last_ns;
};

/* Open a capture; "-" is standard input. False: complained. */
bool capture_open(struct capture *capture, const char *name);

/* Of an input that was opened: whether it begins as a capture does; then, read its beginning. False
 * from capture_begin(): complained. */
bool capture_recognised(struct capture *capture);
bool capture_begin(struct capture *capture);

/* Whether an input is compressed: complained. */
bool capture_is_compressed(struct capture *capture);
