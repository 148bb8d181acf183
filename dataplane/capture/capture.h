/* SPDX-License-Identifier: Apache-2.0 */
/* Reads captures, pcap or pcapng, frame by frame. */
#pragma once

#include <string.h>

#include "input.h"
#include "link.h"

enum capture_status {
	CAPTURE_FRAME, /* the next frame was read */
	CAPTURE_END,
	CAPTURE_TRUNCATED, /* the capture ends within a frame */
	CAPTURE_DAMAGED, /* the capture contradicts itself, and was complained about */
	CAPTURE_NOTHING, /* a block of pcapng that has no frame */
};

#define PCAPNG_INTERFACES 256 /* most interfaces of a section */

/* An interface on which frames were captured. */
struct capture_interface {
	uint32_t link_type; /* of pcap */
	uint32_t most_bytes; /* most bytes that are kept of a frame; 0: all */
	uint64_t ticks_per_s; /* of time stamps; 0: the resolution is not supported */
	uint64_t offset_s; /* to be added to time stamps */
};

struct capture {
	struct input input;
	/* Reads the next frame, whose bytes are valid until the one after it is read. */
	enum capture_status (*next)(struct capture *capture, struct frame *frame);
	bool swapped; /* its numbers have another byte order than this machine */
	struct capture_interface interfaces[PCAPNG_INTERFACES]; /* pcap has the first one alone */
	unsigned int interface_count; /* of pcapng: in the current section */
	uint64_t last_ns; /* of pcapng: time of the last packet that has one, Unix time */
};

/* Open a capture; "-" is standard input. Returns false after complain(). */
bool capture_open(struct capture *capture, const char *name);

/* Say whether an opened input begins as a capture does. If so, capture_begin() reads its
 * beginning; it returns false after complain(). */
bool capture_recognised(struct capture *capture);
bool capture_begin(struct capture *capture);

/* Say whether an input is compressed. If so, it was complained about. */
bool capture_is_compressed(struct capture *capture);
