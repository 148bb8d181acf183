/* SPDX-License-Identifier: Apache-2.0 */
/* The first step of packets to an address, as the kernel would send them. */
#pragma once

#include <linux/if_ether.h>
#include <netinet/in.h>

#include "../common/interface.h"

struct path {
	struct in_addr from, to; /* source and destination */
	unsigned char source[ETH_ALEN]; /* MAC address of the interface where packets leave */
	unsigned char next_hop[ETH_ALEN]; /* MAC address */
};

/* Ask the kernel for the route to an address, and find out the MAC address of the next hop.
 * Returns 0, or -1 after complain(). */
int find_path(const struct interface *interface, struct in_addr to, struct path *path);
