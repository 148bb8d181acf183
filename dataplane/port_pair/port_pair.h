/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs and the tool share. */
#pragma once

#include <linux/types.h>

/* The ports of a pair. */
enum port {
	PORT_INGRESS,
	PORT_EGRESS,
	PORTS,
};

/* Of all frames since the start. */
struct port_pair_counters {
	__u64 received[PORTS]; /* from a port, led to the function */
	__u64 sent[PORTS]; /* from the function, sent out of a port */
	__u64 dropped; /* from the function, but not an NSH frame that it returns */
};
