/* SPDX-License-Identifier: Apache-2.0 */
/* An Ethernet interface of this network namespace. */
#pragma once

#include <net/if.h>
#include <stdbool.h>

struct interface {
	char name[IF_NAMESIZE];
	int index;
	unsigned int mtu; /* bytes of a packet, without Ethernet */
	unsigned char mac[6];
	bool is_up;
	bool has_device; /* hardware or virtio, behind which no software segments packets */
};

/* Look up an Ethernet interface by its name. Returns 0, or -1 after complain(). */
int find_interface(const char *name, struct interface *interface);

/* Complain about an interface, and say which interfaces there are. */
void complain_of_interface(const char *name, const char *why);

/* Is the interface still in this network namespace? */
bool interface_remains(const struct interface *interface);
