/* SPDX-License-Identifier: Apache-2.0 */
/* A frame as the native engine parses it. */
#pragma once

#include <stdint.h>

#include "settings.h"

struct parsed {
	uint8_t *nsh; /* also if it is malformed; NULL: a plain frame */
	uint8_t *tunnel; /* IPv4 header of VXLAN-GPE; NULL: there is no tunnel */
	uint8_t *ip; /* IP header of the flow */
	struct flow_key key;
	bool monitored;
};

/* Parse a frame as p4/heavy_hitter.p4 does. Returns COUNT_FORWARDED, or why it is not forwarded. */
enum counter parse_frame(uint8_t *frame, uint32_t bytes, bool nsh_only, uint64_t mac,
			 struct parsed *parsed);
