/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a captured frame into a packet. */
#pragma once

#include "../../../dataplane/capture/link.h"
#include "packet.h"

/* Path on which the classifier puts packets that come without an NSH. */
struct path {
	uint32_t spi;
	uint8_t si;
};

/* Parse a frame into `packet`, all of it but the time. A frame without an NSH is taken as the
 * classifier hands it to SFCMon, on `path`. Without a path (NULL) such a frame is only counted. */
void frame_parse(const struct frame *frame, const struct path *path, struct packet *packet);

/* Return the first word of a key, and the second one. */
uint32_t key_path(struct path path);
uint32_t key_protocol(uint8_t proto, uint8_t version);
