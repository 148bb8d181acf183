/* SPDX-License-Identifier: Apache-2.0 */
/* From a captured frame to a packet. */
#pragma once

#include "../../../dataplane/capture/link.h"
#include "packet.h"

/* Where the classifier puts packets that come without an NSH. */
struct path {
	uint32_t spi;
	uint8_t si;
};

/* Parse a frame into `packet`, all of it but the time. A frame without an NSH is taken as the
 * classifier hands it to SFCMon: on `path`; without a path (NULL) it is only counted. */
void frame_parse(const struct frame *frame, const struct path *path, struct packet *packet);

/* The first word of a key, and the third. */
uint32_t key_path(struct path path);
uint32_t key_protocol(uint8_t proto, uint8_t version);
