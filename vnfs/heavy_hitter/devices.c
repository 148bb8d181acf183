// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_bus_vdev.h>
#include <rte_ethdev.h>

#include "../../dataplane/common/packet_ring.h"
#include "../../dataplane/common/report.h"
#include "devices.h"

#define FRAMES 2048 /* of a packet socket's ring, as of the forwarder */
#define PAGE_BYTES 4096U
#define HEADERS 160 /* of a frame in a packet socket's ring, with VLAN tags and some room */
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

static int arguments_of(const struct device *device, const char *where, char *words, size_t bytes)
{
	unsigned int room = device_room(&device->interface);
	unsigned int block = RTE_MAX(room, PAGE_BYTES);

	switch (device->kind) {
	case DEVICE_AF_PACKET:
		return snprintf(
			words, bytes,
			"iface=%s,qpairs=1,framesz=%u,blocksz=%u,framecnt=%u,qdisc_bypass=%d",
			where, room, block, FRAMES, device->shows_sent ? 0 : 1);
	case DEVICE_AF_XDP:
		return snprintf(words, bytes, "iface=%s", where);
	default:
		return snprintf(words, bytes, "path=%s,server=1,queues=1", where);
	}
}

static int add(struct device *device, const char *where, unsigned int number)
{
	static const char *const drivers[] = { "net_af_packet", "net_af_xdp", "net_virtio_user" };
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

static int start(struct device *device, struct rte_mempool *pool)
{
	/* It is DPDK's interrupt of the link that notices another end of vhost-user. */
	const struct rte_eth_conf conf = { .intr_conf.lsc = device->kind == DEVICE_VHOST_USER };
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

/* --- the socket of vhost-user --- */

static const char *awaited_at;

static void give_up(int number)
{
	(void)number;
	unlink(awaited_at);
	_exit(0);
}

/* DPDK would cut off a long path, and name no path that is taken. */
static int check_path(const char *path)
{
	if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path)) {
		complain("%s: the path of a socket has less than %zu characters", path,
			 sizeof(((struct sockaddr_un *)NULL)->sun_path));
		return -1;
	}
	if (!access(path, F_OK)) {
		complain("%s exists: end what serves it, or remove it", path);
		return -1;
	}
	return 0;
}

/* DPDK does not return before the other end has connected: until then, SIGTERM and SIGINT, which
 * are blocked, end the tool at once. */
static int await_other_end(struct device *device, const char *path, unsigned int number)
{
	const struct sigaction end = { .sa_handler = give_up };
	sigset_t ending;
	int status;

	if (check_path(path))
		return -1;
	awaited_at = path;
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	sigemptyset(&ending);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGINT);
	sigprocmask(SIG_UNBLOCK, &ending, NULL);
	status = add(device, path, number);
	sigprocmask(SIG_BLOCK, &ending, NULL);
	return status;
}

int device_open(struct device *device, enum device_kind kind, const char *where,
		unsigned int number, struct rte_mempool *pool)
{
	static const int families[] = { AF_PACKET, AF_XDP, -1 };
	struct sockets before, after;
	const int yes = 1;

	device->kind = kind;
	device->socket = -1;
	find_sockets(families[kind], &before);
	if (kind == DEVICE_VHOST_USER ? await_other_end(device, where, number)
				      : add(device, where, number))
		return -1;
	if (start(device, pool))
		return -1;
	find_sockets(families[kind], &after);
	for (unsigned int i = 0; i < after.count; i++)
		if (!has(&before, after.fds[i]))
			device->socket = after.fds[i];
	/* Else it would get what the host itself sends. */
	if (kind == DEVICE_AF_PACKET)
		return packet_option(device->socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes,
				     sizeof(yes), where);
	return 0;
}

/* --- counting --- */

uint64_t device_lost(struct device *device)
{
	if (device->kind == DEVICE_AF_PACKET) {
		device->lost += packet_drops(device->socket);
	} else if (device->kind == DEVICE_AF_XDP) {
		struct xdp_statistics all;
		socklen_t bytes = sizeof(all);

		if (!getsockopt(device->socket, SOL_XDP, XDP_STATISTICS, &all, &bytes))
			device->lost = all.rx_dropped + all.rx_ring_full;
	} else if (rte_eth_dev_is_valid_port(device->port)) {
		struct rte_eth_stats all;

		if (!rte_eth_stats_get(device->port, &all))
			device->lost = all.imissed + all.ierrors + all.rx_nombuf;
	}
	return device->lost;
}

void device_close(struct device *device)
{
	/* The last word: a closed port has none. */
	device_lost(device);
	rte_eth_dev_stop(device->port);
	rte_eth_dev_close(device->port);
}
