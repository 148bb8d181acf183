/* SPDX-License-Identifier: Apache-2.0 */
/* A packet as the extraction knows it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../dataplane/packet/cursor.h"

/* Key of a flow: its two ends, the lower one first (address, then port, as bytes in network
 * order), so that both directions have the same key. */
struct flow_key {
	uint8_t addresses[2][16]; /* IPv4: the first 4 bytes */
	uint16_t ports[2]; /* network order; 0 where the protocol has none, and of fragments */
	uint8_t protocol;
	uint8_t version; /* of IP */
	uint8_t zero[2]; /* keys are compared and hashed as bytes */
};

#define KEY_WORDS (sizeof(struct flow_key) / sizeof(uint64_t))

struct packet {
	struct flow_key key;
	uint64_t time_ns; /* Unix time */
	uint32_t bytes; /* of the IP packet, with its header */
	uint32_t header_bytes; /* of IP and its extension headers, and of TCP or UDP */
	uint8_t source; /* the end of the key that sent it */
	uint8_t tcp_flags; /* 0: not TCP */
	uint8_t dscp;
};

enum parsed {
	PARSED,
	PARSED_NOT_IP, /* a frame of something else, such as ARP */
	PARSED_MALFORMED, /* headers that are cut off or contradict their packet */
};

/* Parse a frame into all of `packet` but its time. It is Ethernet with VLAN tags, then NSH,
 * VXLAN-GPE with NSH, or IP; with an NSH, the packet inside is taken. `bytes` were captured, and
 * may end anywhere behind the headers. */
enum parsed packet_parse(const uint8_t *frame, uint32_t bytes, struct packet *packet);

/* Parse what follows a header with this EtherType, in the same way. */
enum parsed packet_parse_payload(struct cursor cursor, uint16_t ethertype, struct packet *packet);
