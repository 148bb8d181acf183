/* SPDX-License-Identifier: Apache-2.0 */
/* Captured frames, and what is behind their link layer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../packet/cursor.h"

#define FRAME_MOST_BYTES (1 << 18) /* what libpcap captures at most (MAXIMUM_SNAPLEN) */

/* A captured frame. */
struct frame {
	const uint8_t *data;
	size_t bytes;
	uint32_t link_type; /* of pcap */
	uint64_t time_ns; /* Unix time */
};

/* What is behind the link layer of a frame. */
struct network {
	struct cursor cursor; /* its `at` is NULL if the header of the link layer is cut off */
	uint16_t ethertype;
};

/* Say whether frames of this link type can be read. */
bool frame_link_known(uint32_t link_type);

/* Return what is behind the link layer of a frame. */
struct network frame_network(const struct frame *frame);
