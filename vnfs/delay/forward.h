/* SPDX-License-Identifier: Apache-2.0 */
/* Forwards packets after a delay. */
#pragma once

#include <stdatomic.h>

#include "queue.h"

#define NS_PER_US 1000ULL
#define TUNS 2 /* devices: one for each direction, by which the kernel knows whence a packet came */

struct options {
	const char *tun; /* name of the TUN devices, before their number */
	const char *stats; /* NULL: counters on stdout only */
	uint64_t delay_ns;
	uint64_t spin_ns; /* so long before a packet is due, the clock is polled, not slept for */
	size_t buffer_bytes; /* room of the queue */
};

/* Counters that the thread which forwards packets writes, and the one which reports reads. */
struct statistics {
	_Atomic uint64_t received; /* IPv4 packets */
	_Atomic uint64_t forwarded;
	_Atomic uint64_t dropped_full; /* no room in the queue */
	_Atomic uint64_t dropped_send; /* the kernel did not take it back */
	_Atomic uint64_t delay_sum_ns; /* of forwarded packets, from receive to send */
	_Atomic uint64_t delay_min_ns; /* UINT64_MAX until a packet is forwarded */
	_Atomic uint64_t delay_max_ns;
};

/* Forward packets of the TUN devices, each to the device from which it came, until `stop` (an
 * eventfd) is readable. Returns 0, or -1 after complain(). */
int forward_packets(const struct options *options, const int tuns[TUNS], int stop,
		    struct queue *queue, struct statistics *statistics);
