/* SPDX-License-Identifier: Apache-2.0 */
/* From a captured frame to a packet. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "packet.h"

#define FRAME_MOST_BYTES (1 << 18) /* what libpcap captures at most (MAXIMUM_SNAPLEN) */

/* Where the classifier puts packets that come without an NSH. */
struct path {
	uint32_t spi;
	uint8_t si;
};

/* Whether frames of this link type (of pcap) can be read. */
int frame_link_known(uint32_t link_type);

/* Bytes of the link layer's header, and where its EtherType is. False: it has none, the frame is an
 * IP packet. */
bool frame_link_layout(uint32_t link_type, size_t *bytes, size_t *ethertype_at);

/* Parse a frame into `packet`, all of it but the time. A frame without an NSH is taken as the
 * classifier hands it to SFCMon: on `path`; without a path (NULL) it is only counted. */
void frame_parse(const uint8_t *data, size_t length, uint32_t link_type, const struct path *path,
		 struct packet *packet);

/* The first word of a key, and the third. */
uint32_t key_path(struct path path);
uint32_t key_protocol(uint8_t proto, uint8_t version);
