/* SPDX-License-Identifier: Apache-2.0 */
/* A hop in plain IP: which frames leave by the other of two interfaces, and how they are
 * addressed then. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "../../dataplane/common/interface.h"

/* One of the two interfaces. */
struct plain_end {
	uint8_t own[6]; /* MAC address */
	uint8_t next_hop[6]; /* MAC address to which frames leave here */
};

/* PLAIN_PASSED: the frame is left to the kernel. */
enum plain_verdict { PLAIN_FORWARD, PLAIN_PASSED, PLAIN_TTL_EXCEEDED };

/* Learn which IPv4 addresses are the host's own. Returns 0, or -1 after complain(). */
int plain_learn_addresses(void);

/* Decide whether a frame that came in here is forwarded. If so, its TTL (IPv6: hop limit) is
 * decremented. */
enum plain_verdict plain_take(const struct plain_end *end, struct rte_mbuf *frame);

/* Give a frame that leaves here its MAC addresses. */
void plain_leave(const struct plain_end *end, struct rte_mbuf *frame);
