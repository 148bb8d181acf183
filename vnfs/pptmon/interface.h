/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SFCPERF_PPTMON_INTERFACE_H
#define SFCPERF_PPTMON_INTERFACE_H

#include <net/if.h>
#include <stdbool.h>

struct interface {
	char name[IF_NAMESIZE];
	int index;
	unsigned int mtu; /* bytes of a packet, without Ethernet */
	bool has_device; /* hardware or virtio, behind which no software segments packets */
};

/* Find an Ethernet interface that is up. 0, or -1 after complain(). */
int find_interface(const char *name, struct interface *interface);

/* Is it still in this network namespace? */
bool interface_remains(const struct interface *interface);

#endif
