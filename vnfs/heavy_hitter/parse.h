/* SPDX-License-Identifier: Apache-2.0 */
/* What the native engine knows of a frame. */
#pragma once

#include <stdint.h>

#include "settings.h"

struct parsed {
	uint8_t *nsh; /* in whatever state; NULL: a plain frame */
	uint8_t *tunnel; /* the IPv4 header of VXLAN-GPE; NULL: there is none */
	uint8_t *ip; /* of the flow */
	struct flow_key key;
	bool monitored;
};

/* Parse a frame as p4/heavy_hitter.p4 does: COUNT_FORWARDED, or why not. */
enum counter parse_frame(uint8_t *frame, uint32_t bytes, bool nsh_only, uint64_t mac,
			 struct parsed *parsed);
