// SPDX-License-Identifier: Apache-2.0
/* Opens interfaces as ports of DPDK, and counts what they lose. */
#include <dirent.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_bus_vdev.h>
#include <rte_ethdev.h>

#include "../../dataplane/common/packet_ring.h"
#include "../../dataplane/common/report.h"
#include "devices.h"

#define FRAMES 2048 /* frames of a packet socket's ring: as many as the forwarder has */
#define PAGE_BYTES 4096U
#define HEADERS 160 /* room for headers in a packet socket's ring, with VLAN tags and some more */
#define DESCRIPTORS 1024
#define MOST_SOCKETS 64

unsigned int device_room(const struct interface *interface)
{
	unsigned int bytes = 2048;

	while (bytes < interface->mtu + HEADERS)
		bytes *= 2;
	return bytes;
}

/* --- the sockets behind a port, which DPDK keeps to itself --- */

struct sockets {
	int fds[MOST_SOCKETS];
	unsigned int count;
};

static bool has(const struct sockets *sockets, int fd)
{
	for (unsigned int i = 0; i < sockets->count; i++)
		if (sockets->fds[i] == fd)
			return true;
	return false;
}

/* Find all sockets of this process that are of an address family. */
static void find_sockets(int family, struct sockets *sockets)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	sockets->count = 0;
	while (folder && (entry = readdir(folder)) && sockets->count < MOST_SOCKETS) {
		int fd = atoi(entry->d_name), domain = -1;
		socklen_t bytes = sizeof(domain);

		if (!getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) && domain == family)
			sockets->fds[sockets->count++] = fd;
	}
	if (folder)
		closedir(folder);
}

/* --- opening --- */

/* Write the arguments of DPDK's driver for a device, as far as there is room. Returns how long they
 * are. */
static int arguments_of(const struct device *device, const char *where, char *words, size_t bytes)
{
	unsigned int room = device_room(&device->interface);
	unsigned int block = RTE_MAX(room, PAGE_BYTES);

	if (device->kind == DEVICE_AF_XDP)
		return snprintf(words, bytes, "iface=%s", where);
	return snprintf(words, bytes,
			"iface=%s,qpairs=1,framesz=%u,blocksz=%u,framecnt=%u,qdisc_bypass=%d",
			where, room, block, FRAMES, device->shows_sent ? 0 : 1);
}

/* Create the device's port by DPDK's driver. Returns 0, or -1 after complain(). */
static int add(struct device *device, const char *where, unsigned int number)
{
	static const char *const drivers[] = { "net_af_packet", "net_af_xdp" };
	char words[320];

	snprintf(device->name, sizeof(device->name), "%s%u", drivers[device->kind], number);
	if (arguments_of(device, where, words, sizeof(words)) >= (int)sizeof(words)) {
		complain("%s: the name is too long", where);
		return -1;
	}
	if (rte_vdev_init(device->name, words) ||
	    rte_eth_dev_get_port_by_name(device->name, &device->port)) {
		complain("DPDK's driver %s does not take %s", drivers[device->kind], where);
		return -1;
	}
	return 0;
}

/* Configure and start the port, with one queue each way. Returns 0, or a negative number after
 * complain(). */
static int start(struct device *device, struct rte_mempool *pool)
{
	const struct rte_eth_conf conf = { 0 };
	uint16_t port = device->port;
	int status = rte_eth_dev_configure(port, 1, 1, &conf);

	if (!status)
		status = rte_eth_rx_queue_setup(port, 0, DESCRIPTORS, 0, NULL, pool);
	if (!status)
		status = rte_eth_tx_queue_setup(port, 0, DESCRIPTORS, 0, NULL);
	if (!status)
		status = rte_eth_dev_start(port);
	if (status)
		complain("DPDK's port %s does not start: %s", device->name, strerror(-status));
	return status;
}

int device_open(struct device *device, enum device_kind kind, const char *where,
		unsigned int number, struct rte_mempool *pool)
{
	static const int families[] = { AF_PACKET, AF_XDP };
	struct sockets before, after;
	const int yes = 1;

	device->kind = kind;
	device->socket = -1;
	find_sockets(families[kind], &before);
	if (add(device, where, number) || start(device, pool))
		return -1;
	/* The port's socket is the one that was not there before. */
	find_sockets(families[kind], &after);
	for (unsigned int i = 0; i < after.count; i++)
		if (!has(&before, after.fds[i]))
			device->socket = after.fds[i];
	if (device->socket < 0) {
		complain("%s: DPDK's driver opened no socket", where);
		return -1;
	}
	/* Without this option the socket would get what the host itself sends. */
	if (kind == DEVICE_AF_PACKET)
		return packet_option(device->socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes,
				     sizeof(yes), where);
	return 0;
}

/* --- counting --- */

uint64_t device_lost(struct device *device)
{
	if (device->kind == DEVICE_AF_PACKET) {
		device->lost += packet_drops(device->socket); /* those since the last call */
	} else {
		struct xdp_statistics all;
		socklen_t bytes = sizeof(all);

		if (!getsockopt(device->socket, SOL_XDP, XDP_STATISTICS, &all, &bytes))
			device->lost = all.rx_dropped + all.rx_ring_full;
	}
	return device->lost;
}

void device_close(struct device *device)
{
	/* Read the losses once more: a closed port tells none. */
	device_lost(device);
	rte_eth_dev_stop(device->port);
	rte_eth_dev_close(device->port);
}
