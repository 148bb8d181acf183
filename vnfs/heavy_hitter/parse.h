/* SPDX-License-Identifier: Apache-2.0 */
/* A frame as the native engine parses it. */
#pragma once

#include <stdint.h>

#include "settings.h"

struct parsed {
	uint8_t *nsh; /* also if it is malformed; NULL: a plain frame */
	uint8_t *tunnel; /* IPv4 header of VXLAN-GPE; NULL: there is no tunnel */
	uint8_t *ip; /* where an IP header is looked for; NULL: parsing ended before */
	struct flow_key key; /* of a frame that is monitored */
	bool monitored; /* it has a flow, in which it is counted */
};

/* Parse a frame as p4/heavy_hitter.p4 does. `mac`: frames to other addresses are not for this
 * function (0: all are). Returns COUNT_FORWARDED, or why the frame is not forwarded. */
enum counter parse_frame(uint8_t *frame, uint32_t bytes, bool nsh_only, uint64_t mac,
			 struct parsed *parsed);
