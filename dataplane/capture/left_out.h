/* SPDX-License-Identifier: Apache-2.0 */
/* How many frames of a capture a tool leaves out, and why. */
#pragma once

#include <stdio.h>

#include "link.h"

enum left_out_reason {
	LEFT_OUT_HEADERS, /* its headers are cut off, or contradict the packet */
	LEFT_OUT_IPV4_LENGTH_0, /* captured before its network card divided it (TSO) */
	LEFT_OUT_NSH, /* the NSH is damaged, or carries no IP */
	LEFT_OUT_REASONS,
};

struct left_out {
	uint64_t reasons[LEFT_OUT_REASONS];
	uint64_t ethertypes[1 << 16]; /* frames of other protocols, by EtherType */
};

/* Count a frame that a tool leaves out. `reached` is how far the tool could read it. */
void left_out_count(struct left_out *left_out, const struct network *reached);

/* Count a frame that a tool leaves out, of which it could read all up to the VLAN tags. */
void left_out_count_frame(struct left_out *left_out, const struct frame *frame);

/* Print `"left_out": {...}`: numbers of frames by reason, such as `ethertype_0x8847`. Numbers
 * that are 0 are left out. */
void left_out_print(FILE *out, const struct left_out *left_out);
