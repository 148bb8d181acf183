/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs and the tool share. */
#pragma once

#include <linux/types.h>

#include "../nsh/nsh.h"

/* The ports of a function: packets that arrive by one leave by the other. */
enum port {
	PORT_INGRESS,
	PORT_EGRESS,
	PORTS,
};

/* The header that networking-sfc sends: of MD type 1. */
struct header {
	struct nsh_hdr nsh;
	__u8 context[NSH_MD1_BYTES];
};

/* Of all frames since the start. */
struct proxy_counters {
	__u64 received[PORTS]; /* in NSH by a port, given to the function in plain IP */
	__u64 sent[PORTS]; /* from the function, in NSH out of a port */
	__u64 dropped_nsh; /* their NSH is damaged, or not of a kind that the proxy takes */
	__u64 dropped_si; /* their SI cannot be decremented */
	__u64 dropped_path; /* from the function, and no packet has shown a path in this direction */
};
