// SPDX-License-Identifier: Apache-2.0
/* Finds the first step of packets to an address, by rtnetlink. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/neighbour.h>

#include "../common/netlink.h"
#include "../common/report.h"
#include "path.h"

#define PATIENCE_MS 3000 /* time for three ARP requests, one second apart */
#define USABLE (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY)

/* What the kernel says about the route to an address. */
struct route {
	unsigned char type; /* RTN_UNICAST, ... */
	int interface; /* ifindex */
	struct in_addr from, gateway; /* gateway 0: the address is on the link */
};

/* What the kernel knows about a neighbour. */
struct neighbour {
	unsigned short state; /* NUD_...; 0: none */
	const struct rtattr *address; /* NULL: no MAC address is known; else not to be followed */
	unsigned char mac[ETH_ALEN];
};

static void visit_route(const struct nlmsghdr *answer, void *context)
{
	const struct rtmsg *fixed = NLMSG_DATA(answer);
	const struct rtattr *interface = netlink_find(answer, sizeof(*fixed), RTA_OIF);
	const struct rtattr *from = netlink_find(answer, sizeof(*fixed), RTA_PREFSRC);
	const struct rtattr *gateway = netlink_find(answer, sizeof(*fixed), RTA_GATEWAY);
	struct route *route = context;

	route->type = fixed->rtm_type;
	if (interface)
		memcpy(&route->interface, RTA_DATA(interface), sizeof(route->interface));
	if (from)
		memcpy(&route->from, RTA_DATA(from), sizeof(route->from));
	if (gateway)
		memcpy(&route->gateway, RTA_DATA(gateway), sizeof(route->gateway));
}

static void visit_neighbour(const struct nlmsghdr *answer, void *context)
{
	const struct ndmsg *fixed = NLMSG_DATA(answer);
	const struct rtattr *mac = netlink_find(answer, sizeof(*fixed), NDA_LLADDR);
	struct neighbour *neighbour = context;

	neighbour->state = fixed->ndm_state;
	neighbour->address = mac;
	if (mac && RTA_PAYLOAD(mac) == ETH_ALEN)
		memcpy(neighbour->mac, RTA_DATA(mac), ETH_ALEN);
}

/* Ask the kernel for the route to an address. Returns 0, or -errno. */
static int ask_route(int fd, struct in_addr to, struct route *route)
{
	union netlink_request request;
	struct rtmsg *fixed = netlink_begin(&request, RTM_GETROUTE, 0, sizeof(*fixed));

	fixed->rtm_family = AF_INET;
	fixed->rtm_dst_len = 32;
	netlink_put(&request, RTA_DST, &to, sizeof(to));
	return netlink_ask(fd, &request, visit_route, route);
}

/* Ask the kernel for a neighbour (RTM_GETNEIGH), or have it look for one (RTM_NEWNEIGH, with
 * `neighbour` NULL). Returns 0, or -errno. */
static int ask_neighbour(int fd, int type, int interface, struct in_addr hop,
			 struct neighbour *neighbour)
{
	union netlink_request request;
	int flags = type == RTM_NEWNEIGH ? NLM_F_CREATE : 0;
	struct ndmsg *fixed = netlink_begin(&request, type, flags, sizeof(*fixed));

	fixed->ndm_family = AF_INET;
	fixed->ndm_ifindex = interface;
	/* A new entry that is in use makes the kernel ask for the address, as it does before it
	 * sends. */
	if (type == RTM_NEWNEIGH)
		fixed->ndm_flags = NTF_USE;
	netlink_put(&request, NDA_DST, &hop, sizeof(hop));
	return netlink_ask(fd, &request, neighbour ? visit_neighbour : NULL, neighbour);
}

/* Find out the MAC address of the next hop. Returns 0, or -EHOSTUNREACH. */
static int resolve(int fd, int interface, struct in_addr hop, unsigned char *mac)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	struct neighbour neighbour = { 0 };

	for (int waited = 0; waited < PATIENCE_MS; waited += 10) {
		int error = ask_neighbour(fd, RTM_GETNEIGH, interface, hop, &neighbour);

		if (!error && (neighbour.state & USABLE) && neighbour.address) {
			memcpy(mac, neighbour.mac, ETH_ALEN);
			return 0;
		}
		if (error || neighbour.state == NUD_FAILED || !neighbour.state)
			ask_neighbour(fd, RTM_NEWNEIGH, interface, hop, NULL);
		nanosleep(&pause, NULL);
	}
	return -EHOSTUNREACH;
}

/* Complain that packets cannot be sent to an address. Returns -1. */
static int complain_of_path(struct in_addr to, const char *why)
{
	char text[INET_ADDRSTRLEN];

	complain("no way to %s: %s", inet_ntop(AF_INET, &to, text, sizeof(text)), why);
	return -1;
}

int find_path(const struct interface *interface, struct in_addr to, struct path *path)
{
	struct route route = { 0 };
	struct in_addr hop;
	int fd = netlink_open();
	int error = fd < 0 ? fd : ask_route(fd, to, &route);

	hop = route.gateway.s_addr ? route.gateway : to;
	path->from = route.from;
	path->to = to;
	memcpy(path->source, interface->mac, ETH_ALEN);
	if (!error && route.type == RTN_UNICAST && route.interface == interface->index)
		error = resolve(fd, interface->index, hop, path->next_hop);
	if (fd >= 0)
		close(fd);
	if (error)
		return complain_of_path(to, strerror(-error));
	if (route.type != RTN_UNICAST)
		return complain_of_path(to, "it is an address of this host, or of many");
	if (route.interface != interface->index)
		return complain_of_path(to, "its route leaves by another interface");
	return 0;
}
