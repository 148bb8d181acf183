// SPDX-License-Identifier: Apache-2.0
/* Looks up an Ethernet interface by rtnetlink. */
#include <errno.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/if_link.h>

#include "interface.h"
#include "netlink.h"
#include "report.h"

struct found {
	struct interface *interface;
	unsigned short kind; /* ARPHRD_ETHER or another one */
};

/* Take what the kernel says about the interface. */
static void visit(const struct nlmsghdr *answer, void *context)
{
	const struct ifinfomsg *link = NLMSG_DATA(answer);
	const struct rtattr *mtu = netlink_find(answer, sizeof(*link), IFLA_MTU);
	const struct rtattr *mac = netlink_find(answer, sizeof(*link), IFLA_ADDRESS);
	struct found *found = context;
	struct interface *interface = found->interface;

	found->kind = link->ifi_type;
	interface->index = link->ifi_index;
	interface->is_up = link->ifi_flags & IFF_UP;
	interface->has_device = netlink_find(answer, sizeof(*link), IFLA_PARENT_DEV_NAME) != NULL;
	if (mtu)
		memcpy(&interface->mtu, RTA_DATA(mtu), sizeof(interface->mtu));
	if (mac && RTA_PAYLOAD(mac) == sizeof(interface->mac))
		memcpy(interface->mac, RTA_DATA(mac), sizeof(interface->mac));
}

/* Ask the kernel for the interface of this name. Returns 0, or -errno. */
static int look_up(struct found *found)
{
	const char *name = found->interface->name;
	union netlink_request request;
	int fd = netlink_open();
	int error;

	if (fd < 0)
		return fd;
	netlink_begin(&request, RTM_GETLINK, 0, sizeof(struct ifinfomsg));
	netlink_put(&request, IFLA_IFNAME, name, strlen(name) + 1);
	error = netlink_ask(fd, &request, visit, found);
	close(fd);
	return error;
}

void complain_of_interface(const char *name, const char *why)
{
	struct if_nameindex *all = if_nameindex();
	char names[256] = "";
	size_t used = 0;

	/* A name is listed only where there is room for the longest name. */
	for (struct if_nameindex *next = all; next && next->if_index; next++)
		if (strcmp(next->if_name, "lo") != 0 && used < sizeof(names) - IF_NAMESIZE - 2)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 used ? ", " : "", next->if_name);
	if_freenameindex(all);
	complain("interface %.64s: %s; available: %s", name, why, used ? names : "none but lo");
}

int find_interface(const char *name, struct interface *interface)
{
	struct found found = { .interface = interface };
	int error = -ENODEV;

	memset(interface, 0, sizeof(*interface));
	if (strlen(name) < IF_NAMESIZE) {
		strcpy(interface->name, name);
		error = look_up(&found);
	}
	if (!error && found.kind == ARPHRD_ETHER)
		return 0;
	complain_of_interface(name, error ? strerror(-error) : "is not an Ethernet interface");
	return -1;
}

bool interface_remains(const struct interface *interface)
{
	char name[IF_NAMESIZE];

	return if_indextoname((unsigned int)interface->index, name) != NULL;
}
