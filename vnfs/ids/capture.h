/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a capture, pcap or pcapng. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct captured {
	uint64_t time_ns; /* Unix time */
	const uint8_t
		*network; /* behind the link layer's header; valid until the next one is read */
	uint32_t bytes; /* from there on, as far as captured */
	uint16_t ethertype;
};

enum capture_status { CAPTURE_FRAME, CAPTURE_END, CAPTURE_UNREADABLE /* complained */ };

/* "-" is standard input. False: complained. */
bool capture_open(const char *name);
enum capture_status capture_next(struct captured *frame);
