/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces as ports of DPDK. */
#pragma once

#include <stdbool.h>

#include <rte_mempool.h>

#include "../../dataplane/common/interface.h"

enum device_kind { DEVICE_AF_PACKET, DEVICE_AF_XDP };

struct device {
	enum device_kind kind;
	bool shows_sent; /* af_packet: to captures and tc, which takes longer; set before it opens */
	struct interface interface;
	char name[32]; /* DPDK's */
	uint16_t port;
	int socket; /* becomes readable with a frame */
	uint64_t lost;
};

/* Bytes that a frame needs in a buffer. */
unsigned int device_room(const struct interface *interface);

/* Port `number`, for an interface of the kernel that was found. 0, or -1 after complain(). */
int device_open(struct device *device, enum device_kind kind, const char *where,
		unsigned int number, struct rte_mempool *pool);

/* Frames that came faster than they were taken, since it was opened. DPDK does not tell. */
uint64_t device_lost(struct device *device);

void device_close(struct device *device);
