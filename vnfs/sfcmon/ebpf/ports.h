/* SPDX-License-Identifier: Apache-2.0 */
/* Ports of an SFF that sfc-sfcmon watches at tc: which of their packets the SFF looks up. */
#pragma once

#include <linux/types.h>

#define SFCMON_PORTS 512

enum sfcmon_port_kind {
	SFCMON_PORT_NSH, /* what comes in has an NSH */
	SFCMON_PORT_UNDERLAY, /* what comes in by VXLAN-GPE to this node has an NSH */
	SFCMON_PORT_RULE, /* IPv4 packets that match get an NSH */
};

/* A port that is watched. A field that is zero is left open. Numbers are in network byte order. */
struct sfcmon_port {
	__u32 kind;
	__be32 address; /* UNDERLAY: of this node */
	__u32 path; /* RULE: SPI << 8 | SI that packets get, in the order of the machine */
	__u32 protocol;
	__be32 source, source_mask;
	__be32 destination, destination_mask;
	__be16 source_port, destination_port;
};
