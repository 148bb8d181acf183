/* SPDX-License-Identifier: Apache-2.0 */
/* How many frames of a capture a tool leaves out, and why. */
#pragma once

#include <stdio.h>

#include "link.h"

enum left_out_reason {
	LEFT_OUT_HEADERS, /* they are cut off, or contradict the packet */
	LEFT_OUT_IPV4_LENGTH_0, /* captured before its network card divided it (TSO) */
	LEFT_OUT_NSH, /* it is damaged, or carries no IP */
	LEFT_OUT_REASONS,
};

struct left_out {
	uint64_t reasons[LEFT_OUT_REASONS];
	uint64_t ethertypes[1 << 16]; /* those of other protocols */
};

/* Count a frame of which a tool could not read more than up to there. */
void left_out_count(struct left_out *left_out, const struct network *reached);

/* The same of a whole frame: its VLAN tags could be read. */
void left_out_count_frame(struct left_out *left_out, const struct frame *frame);

/* "left_out": {...}: numbers by reason, such as `ethertype_0x8847`; without those that are 0. */
void left_out_print(FILE *out, const struct left_out *left_out);
