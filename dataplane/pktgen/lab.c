// SPDX-License-Identifier: Apache-2.0
/* Makes a private cable for calibration. */
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <linux/if_link.h>
#include <linux/veth.h>

#include "../common/netlink.h"
#include "../common/report.h"
#include "lab.h"

/* Content of the attribute IFLA_LINKINFO that asks for a veth with the peer `far`. */
struct veth_info {
	struct rtattr kind;
	char veth[8];
	struct rtattr data;
	struct rtattr peer;
	struct ifinfomsg link;
	struct rtattr name;
	char far[8];
};

/* Create a pair of veths, `near` and `far`. Returns 0, or -errno. */
static int add_cable(int fd)
{
	struct veth_info info = {
		/* The lengths include the padding of the texts: the next attribute begins behind
		 * it. */
		.kind = { RTA_LENGTH(sizeof(info.veth)), IFLA_INFO_KIND },
		.veth = "veth",
		.data = { sizeof(info) - offsetof(struct veth_info, data), IFLA_INFO_DATA },
		.peer = { sizeof(info) - offsetof(struct veth_info, peer), VETH_INFO_PEER },
		.name = { RTA_LENGTH(sizeof(info.far)), IFLA_IFNAME },
		.far = "far",
	};
	union netlink_request request;

	netlink_begin(&request, RTM_NEWLINK, NLM_F_CREATE, sizeof(struct ifinfomsg));
	netlink_put(&request, IFLA_IFNAME, "near", sizeof("near"));
	netlink_put(&request, IFLA_LINKINFO, &info, sizeof(info));
	return netlink_ask(fd, &request, NULL, NULL);
}

/* Set an interface up. Returns 0, or -errno. */
static int set_up(int fd, const struct interface *interface)
{
	union netlink_request request;
	struct ifinfomsg *link = netlink_begin(&request, RTM_NEWLINK, 0, sizeof(*link));

	link->ifi_index = interface->index;
	link->ifi_flags = link->ifi_change = IFF_UP;
	return netlink_ask(fd, &request, NULL, NULL);
}

int lab_enter(struct interface *near, struct interface *far)
{
	int fd, error, lost;

	if (unshare(CLONE_NEWNET)) {
		complain("no network namespace: %s%s", strerror(errno),
			 errno == EPERM ? " (it needs root)" : "");
		return -1;
	}
	fd = netlink_open();
	error = fd < 0 ? fd : add_cable(fd);
	lost = !error && (find_interface("near", near) || find_interface("far", far));
	if (!error && !lost)
		error = set_up(fd, near) ?: set_up(fd, far);
	if (fd >= 0)
		close(fd);
	if (error)
		complain("no pair of veths: %s", strerror(-error));
	return error || lost ? -1 : 0;
}
