// SPDX-License-Identifier: Apache-2.0
/* Takes frames from interfaces and sends them, in plain IP as a hop. */
#include <string.h>

#include <rte_ethdev.h>

#include "../../dataplane/common/counter.h"
#include "interfaces.h"
#include "live.h"

#define SPARE_FRAMES 8191 /* frames in queues of devices and in engines */

void io_discard(struct io *io, struct rte_mbuf *frame, enum io_counter reason)
{
	counter_add(&io->counters[reason], 1);
	rte_pktmbuf_free(frame);
}

int interfaces_open(struct interfaces *interfaces, const struct live *live, unsigned int waiting)
{
	unsigned int room = 0; /* bytes of a buffer: frames of each interface fit */
	struct rte_mempool *pool;

	interfaces->count = live->where[1] ? 2 : 1;
	interfaces->plain = interfaces->count == 2;
	if (interfaces->plain && plain_learn_addresses())
		return -1;
	for (unsigned int i = 0; i < interfaces->count; i++) {
		struct interface *interface = &interfaces->devices[i].interface;

		if (find_interface(live->where[i], interface))
			return -1;
		room = RTE_MAX(room, device_room(interface));
	}
	pool = frames_create(SPARE_FRAMES + waiting, room);
	for (unsigned int i = 0; i < interfaces->count; i++) {
		struct device *device = &interfaces->devices[i];
		struct plain_end *end = &interfaces->ends[i];

		/* The function works in place of the kernel, whose packets captures see. Proofs
		 * of a path need to see these too. */
		device->shows_sent = interfaces->plain;
		if (!pool || device_open(device, live->kind, live->where[i], i, pool))
			return -1;
		interfaces->longest[i] =
			device->interface.mtu + RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN;
		memcpy(end->own, device->interface.mac, sizeof(end->own));
		memcpy(end->next_hop, live->next_hops[i], sizeof(end->next_hop));
		pthread_mutex_init(&interfaces->sending[i], NULL);
	}
	return 0;
}

/* Is a frame that came in for the engines? If not, it is counted and freed. */
static bool is_ours(struct interfaces *interfaces, unsigned int port, struct rte_mbuf *frame,
		    struct io *io)
{
	if (rte_pktmbuf_pkt_len(frame) > interfaces->longest[port]) {
		io_discard(io, frame, IO_OVERSIZE);
		return false;
	}
	switch (interfaces->plain ? plain_take(&interfaces->ends[port], frame) : PLAIN_FORWARD) {
	case PLAIN_FORWARD:
		return true;
	case PLAIN_TTL_EXCEEDED:
		io_discard(io, frame, IO_TTL_EXCEEDED);
		return false;
	default:
		io_discard(io, frame, IO_PASSED);
		return false;
	}
}

unsigned int interfaces_take(struct interfaces *interfaces, unsigned int port,
			     struct rte_mbuf **frames, struct io *io)
{
	unsigned int count, ours = 0;

	count = rte_eth_rx_burst(interfaces->devices[port].port, 0, frames, BURST);
	for (unsigned int i = 0; i < count; i++)
		if (is_ours(interfaces, port, frames[i], io))
			frames[ours++] = frames[i];
	return ours;
}

void interfaces_send(struct interfaces *interfaces, unsigned int port, struct rte_mbuf **frames,
		     unsigned int count, struct io *io)
{
	unsigned int sent;

	for (unsigned int i = 0; i < count && interfaces->plain; i++)
		plain_leave(&interfaces->ends[port], frames[i]);
	pthread_mutex_lock(&interfaces->sending[port]);
	sent = rte_eth_tx_burst(interfaces->devices[port].port, 0, frames, (uint16_t)count);
	pthread_mutex_unlock(&interfaces->sending[port]);
	for (unsigned int i = sent; i < count; i++)
		io_discard(io, frames[i], IO_TX_FAILED);
}

uint64_t interfaces_lost(struct interfaces *interfaces)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < interfaces->count; i++)
		sum += device_lost(&interfaces->devices[i]);
	return sum;
}

uint64_t interfaces_mac(const struct interfaces *interfaces)
{
	uint64_t number = 0;

	for (unsigned int i = 0; i < sizeof(interfaces->ends[0].own); i++)
		number = number << 8 | interfaces->ends[0].own[i];
	return number;
}

void interfaces_close(struct interfaces *interfaces)
{
	for (unsigned int i = 0; i < interfaces->count; i++)
		device_close(&interfaces->devices[i]);
}
