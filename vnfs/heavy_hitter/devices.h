/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces as ports of DPDK. */
#pragma once

#include <stdbool.h>

#include <rte_mempool.h>

#include "../../dataplane/common/interface.h"

enum device_kind { DEVICE_AF_PACKET, DEVICE_AF_XDP };

struct device {
	enum device_kind kind;
	bool shows_sent; /* af_packet: to captures and tc, which takes longer; set before opening */
	struct interface interface;
	char name[32]; /* the name that DPDK knows */
	uint16_t port;
	int socket; /* DPDK's; becomes readable with a frame */
	uint64_t lost; /* frames, when they were counted last */
};

/* Return how many bytes a frame of this interface needs in a buffer. */
unsigned int device_room(const struct interface *interface);

/* Open port `number` for an interface of the kernel that was found. Returns 0, or -1 after
 * complain(). */
int device_open(struct device *device, enum device_kind kind, const char *where,
		unsigned int number, struct rte_mempool *pool);

/* Return how many frames came faster than they were taken, since the port was opened. The socket is
 * asked, because DPDK does not tell. */
uint64_t device_lost(struct device *device);

void device_close(struct device *device);
